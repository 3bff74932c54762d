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

/// What an edge has to itself, so that both of a part are filled and computed at the same time.
struct OnEdge {
    DeviceBytes window;
    DeviceBytes scratch;                  ///< room for outputs of others
    DeviceBytes workspace;                ///< where edges are computed beside the inner outputs
    std::vector<std::size_t> reads_from;  ///< parts, without its own
    StreamHandle stream;                  ///< copies, and the edge where it may run beside the inner outputs
    EventHandle copied;                   ///< the window is there
    EventHandle made;                     ///< its outputs, on `stream`
};

/// An edge of another part that reads from this one.
struct Reader {
    std::size_t part = 0, edge = 0;
};

/// One device's part.
struct OnDevice {
    int device = 0;
    const CudaExecutable* executable = nullptr;
    std::unique_ptr<const core::Executable> own;  ///< of all but the first device, whose executable is the plan's
    PartJobs jobs;
    std::vector<Reader> read_by;
    DeviceBytes workspace;
    std::int64_t workspace_bytes = 0;
    std::vector<OnEdge> edges;
    EventHandle ready;            ///< the caller's stream has come to the execution
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
    [[nodiscard]] OnEdge edge_of(OnDevice& on, const Edge& edge) const;
    [[nodiscard]] DeviceBytes room_on(OnDevice& on, std::int64_t bytes) const;
    void reach(const OnDevice& on);

    const cuda_abi::Api* api_ = nullptr;
    const cuda_abi::Peers* peers_ = nullptr;
    core::Resolved one_;  ///< of one element of the outer axes
    PackedAxis in_, out_;
    bool edges_beside_ = true;  ///< inner outputs and edges at the same time
    std::vector<OnDevice> devices_;
    mutable std::mutex mutex_;  ///< executions enqueue one after the other
};

}  // namespace tapline::gpu_host
