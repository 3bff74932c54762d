// What a plan for several GPUs keeps on each of them.
#pragma once

#include <mutex>

#include "gpu_host/devices/part_jobs.hpp"
#include "gpu_host/executable.hpp"
#include "gpu_host/memory.hpp"
#include "tapline/devices.hpp"

namespace tapline::gpu_host {

/// How a packed array (before, cut axis, after) steps: everything inside a position lies together.
struct PackedAxis {
    std::int64_t length = 1;    ///< positions in the whole
    std::int64_t position = 1;  ///< elements of one position
    std::int64_t rows = 1;      ///< runs of all positions
    std::int64_t element_bytes = 4;
    /// Elements from one row to the next where each has so many positions.
    [[nodiscard]] std::int64_t row(std::int64_t positions) const { return positions * position; }
    /// A stride of the whole in an array of so many positions a row.
    [[nodiscard]] std::int64_t stride(std::int64_t of_whole, std::int64_t positions) const {
        return of_whole >= length * position ? of_whole / length * positions : of_whole;
    }
};

/// Memory of an edge: its window, and room for outputs of others.
struct EdgeMemory {
    DeviceBytes window, scratch;
};

/// One device's part.
struct OnDevice {
    int device = 0;
    const CudaExecutable* executable = nullptr;
    std::unique_ptr<const core::Executable> own;  ///< of all but the first device, whose executable is the plan's
    PartJobs jobs;
    std::vector<std::size_t> reads_from, read_by;  ///< parts, without its own
    DeviceBytes workspace, edge_workspace;
    std::int64_t workspace_bytes = 0;
    std::vector<EdgeMemory> edges;
    StreamHandle halo;            ///< copies, and edges where they may run beside the inner outputs
    EventHandle ready;            ///< the caller's stream has come to the execution
    EventHandle copied;           ///< the windows are there
    EventHandle edges_made;       ///< on the halo stream
    EventHandle done;             ///< of one execution, for the next
    std::uint64_t life = 0;       ///< of the device
    std::int64_t held_bytes = 0;  ///< of its memory
};

class DevicesState {
public:
    DevicesState(const Problem& problem, const void* taps, const PlanOptions& options, std::span<const std::int64_t> cuts);
    DevicesState(const DevicesState&) = delete;
    DevicesState& operator=(const DevicesState&) = delete;
    /// Frees everything on devices that were not reset.
    ~DevicesState();

    void execute(std::span<void* const> out, std::span<const void* const> in, std::span<void* const> streams) const;

    /// Whether every part that makes outputs has some that wait for nobody.
    [[nodiscard]] bool has_inner_everywhere() const;
    [[nodiscard]] std::size_t held_bytes() const;  ///< of all devices' memory

    std::shared_ptr<core::PlanState> whole;
    std::vector<DevicePart> parts;
    std::int64_t halo_samples = 0;  ///< that go from one device to another, in all, of a row
    bool is_direct = true;          ///< every device reaches those that it reads from without the host
    double predicted_seconds = 0;

private:
    friend class DevicesRun;
    void choose(const void* taps, const PlanOptions& options);
    void divide(std::span<const std::int64_t> cuts);
    void allocate(OnDevice& on);
    void reach(OnDevice& on);

    const cuda_abi::Api* api_ = nullptr;
    const cuda_abi::Peers* peers_ = nullptr;
    core::Resolved one_;  ///< of one element of the outer axes
    PackedAxis in_, out_;
    bool edges_beside_ = true;  ///< inner outputs and edges at the same time
    std::vector<OnDevice> devices_;
    mutable std::mutex mutex_;  ///< executions enqueue one after the other
};

}  // namespace tapline::gpu_host
