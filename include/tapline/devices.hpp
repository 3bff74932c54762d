// Signals and images whose parts lie in the memories of several GPUs of one process.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "tapline/shard.hpp"

namespace tapline {

/// What one device has of the samples and makes of the outputs, along the outermost filtered axis.
struct DevicePart {
    std::string device;  ///< "cuda:N"
    Span samples;        ///< that its input holds
    Span outputs;        ///< that its output holds; may be empty
};

namespace gpu_host {
class DevicesState;
}  // namespace gpu_host

/// The plan of a problem whose samples are divided over GPUs along the outermost filtered axis (x of a signal, y of an image).
/// Halos go from device to device while each computes the outputs that need none; algorithm and blocks are those of the whole, so
/// that the bits are those of one device. Immutable and cheap to copy; executions of one plan follow each other on the devices.
class TAPLINE_EXPORT DevicesPlan {
public:
    /// `options.device`: "cuda:0,1", "cuda:all" or one GPU, in the order of the parts. `cuts`: where parts begin, as shard() takes
    /// them, one less than devices; empty: as evenly as whole blocks of the algorithm allow. The problem is packed. Allocates all
    /// that executions need: workspaces, and room for halos. Throws Error as make_plan() and shard() do; (unsupported) for a
    /// problem that is not packed or has up, down or dilation, and for devices of several models.
    DevicesPlan(const Problem& problem, const void* taps, const PlanOptions& options, std::span<const std::int64_t> cuts = {});

    /// in[i] and out[i]: samples and outputs of parts()[i] in the memory of its device, packed as those of the problem, but as long
    /// along the cut axis as the part; out[i] may be null where it makes none. `streams`: a cudaStream_t for each device; none: the
    /// default streams. Outputs are there, and inputs may be changed, when each device's stream comes to it. Allocates nothing and
    /// does not wait. Throws Error; then nothing runs any more, and outputs are incomplete.
    void execute(std::span<void* const> out, std::span<const void* const> in, std::span<void* const> streams = {}) const;

    [[nodiscard]] std::span<const DevicePart> parts() const noexcept;  ///< in the order of the devices
    [[nodiscard]] const Problem& problem() const noexcept;             ///< what the plan was made for
    [[nodiscard]] const std::string& algorithm() const noexcept;       ///< its name
    [[nodiscard]] double predicted_seconds() const noexcept;           ///< of one execution
    [[nodiscard]] std::size_t device_bytes() const noexcept;           ///< GPU memory that the plan holds, on all devices together
    /// As Plan::explain(), and what goes from device to device by which way.
    [[nodiscard]] std::string explain() const;

private:
    std::shared_ptr<const gpu_host::DevicesState> state_;
};

}  // namespace tapline
