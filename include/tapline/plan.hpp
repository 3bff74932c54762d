// A plan: a problem with its algorithm chosen and its taps prepared.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tapline/error.hpp"
#include "tapline/problem.hpp"

namespace tapline {

struct PlanOptions {
    /// "cpu"; "cuda" (the first GPU) or "cuda:N": for device pointers. For host buffers: "cuda:0,1", "cuda:all": as many of these
    /// as are of use; "auto": what has the result first, the CPU where that needs no more than 0.1 s.
    std::string device = "auto";
    Accuracy accuracy = Accuracy::standard;
    Effort effort = Effort::estimate;
    std::string algorithm = {};  ///< a name from algorithms(); empty: the library chooses
    int threads = 0;             ///< CPU threads, also for copying host buffers; 0: all that this process may run on
    /// On a CPU: no two rows of a batch share a transform, so that a row's bits do not depend on which rows are beside it. For
    /// parts of a batch (shard.hpp); short rows under long filters take up to twice as long.
    bool rows_alone = false;
};

namespace core {
struct PlanState;
}

/// Immutable and cheap to copy. Calls with separate workspaces may run at once.
class TAPLINE_EXPORT Plan {
public:
    /// out and in are in memory of the plan's device, the host's for a plan on the CPU, and laid out as the problem says; they
    /// must not overlap. `workspace` has at least workspace_bytes() bytes there at an address that is a multiple of 64; its
    /// contents need not be initialised. `stream` is a cudaStream_t for a CUDA plan and ignored on the CPU. Allocates nothing;
    /// on a GPU it does not wait for the result. A plan made for device "auto" takes host buffers on any device; if it runs on a
    /// GPU, this is execute_host().
    /// Throws Error for null or overlapping buffers, a workspace that is too small, memory or a stream of another device, an
    /// integer overflow (part of `out` is written then).
    void execute(void* out, const void* in, std::span<std::byte> workspace, void* stream = nullptr) const;

    /// Of a plan made without taps. `taps`: elements of type taps_dtype(problem()) in memory of the plan's GPU, laid out and in the
    /// order in which make_plan() takes them, filters too; they are read when the stream comes to it. What depends on them is made
    /// in the workspace.
    void execute_with_taps(void* out, const void* in, const void* taps, std::span<std::byte> workspace,
                           void* stream = nullptr) const;
    /// The same with taps of another type: where the plan's are f32 they may be f16 or bf16, which are widened as they are read.
    void execute_with_taps(void* out, const void* in, const void* taps, Dtype given, std::span<std::byte> workspace,
                           void* stream) const;

    /// execute() with a workspace of its own, kept by the calling thread up to 16 MiB and freed above that. On a GPU it runs on
    /// the default stream; if workspace_bytes() is not 0, it allocates device memory and waits for the result to free it.
    void execute(void* out, const void* in) const;

    /// out and in are in host memory, for a plan on any device. A CUDA plan lets chunks flow through pinned buffers, so that the
    /// signal may be larger than the GPU's memory; it may allocate, and it returns when `out` is complete. On the CPU the same
    /// as execute(out, in).
    void execute_host(void* out, const void* in) const;

    /// Host memory on any device. Sizes and element types are checked against the problem.
    template <Element Out, Element In>
    void execute(std::span<Out> out, std::span<const In> in) const {
        check_buffer("out", dtype_of<Out>, static_cast<std::int64_t>(out.size()), true);
        check_buffer("in", dtype_of<In>, static_cast<std::int64_t>(in.size()), false);
        execute_host(static_cast<void*>(out.data()), static_cast<const void*>(in.data()));
    }

    [[nodiscard]] std::size_t workspace_bytes() const noexcept;  ///< scratch memory that one execution uses, on the device
    /// Outputs along the only filtered axis, or the last of several.
    [[nodiscard]] std::int64_t output_length() const noexcept;
    /// Outputs along each filtered axis, the outermost first.
    [[nodiscard]] UpTo<std::int64_t, 3> output_shape() const;
    [[nodiscard]] const Problem& problem() const noexcept;        ///< what the plan was made for
    [[nodiscard]] const std::string& algorithm() const noexcept;  ///< the name of the chosen one, as algorithms() lists them
    [[nodiscard]] const std::string& device() const noexcept;     ///< "cpu", "cuda:N" or "cuda:0,1"
    [[nodiscard]] int threads() const noexcept;                   ///< CPU threads that an execution may use
    /// Whether execute() takes host memory: on the CPU, and for plans made for device "auto".
    [[nodiscard]] bool takes_host_memory() const noexcept;
    /// Why the algorithm was chosen, in words.
    [[nodiscard]] const std::string& reason() const noexcept;
    /// What the algorithm says about itself: tile or FFT sizes, instruction set.
    [[nodiscard]] std::string details() const;
    /// What the cost model expects of one execution, in seconds.
    [[nodiscard]] double predicted_seconds() const noexcept;
    /// Seconds of copying as many bytes, on the device whose memory execute() takes.
    [[nodiscard]] double predicted_copy_seconds() const noexcept;
    /// The problem, the algorithm, why it was chosen, the predicted time and its share of the copy's speed.
    [[nodiscard]] std::string explain() const;

    /// For Stream and the bindings: the internals, whose layout is not part of the interface.
    [[nodiscard]] const core::PlanState& state() const noexcept { return *state_; }
    explicit Plan(std::shared_ptr<const core::PlanState> state) : state_(std::move(state)) {}  ///< of those, too

private:
    void check_buffer(const char* name, Dtype dtype, std::int64_t size, bool is_output) const;

    std::shared_ptr<const core::PlanState> state_;
};

/// `taps` points to taps_extent(problem) elements of type taps_dtype(problem) in host memory; they are copied.
/// Throws Error if the problem is not valid or nothing can solve it.
TAPLINE_EXPORT Plan make_plan(const Problem& problem, const void* taps, const PlanOptions& options = {});

/// A plan for taps in GPU memory, which each execution brings: nothing waits for them. options.device names a GPU. Signals may have
/// filters of their own, images one mask for all: of up to 64 taps the algorithms of direct summation, of more also those by
/// transforms, as they are chosen with taps; a few need the taps beforehand and are left out. Many filters whose spectra would be
/// too much for a workspace are taken in groups. Throws Error (unsupported) where that leaves no algorithm; Effort::measure is not
/// for these plans.
TAPLINE_EXPORT Plan make_plan_without_taps(const Problem& problem, const PlanOptions& options);

/// make_plan(), checking type and size.
template <Element T>
Plan make_plan(const Problem& problem, std::span<const T> taps, const PlanOptions& options = {}) {
    if (dtype_of<T> != taps_dtype(problem)) {
        throw Error(ErrorCode::type, std::string("taps: elements are ") + to_string(dtype_of<T>) + ", the problem needs " +
                                         to_string(taps_dtype(problem)));
    }
    if (static_cast<std::int64_t>(taps.size()) < taps_extent(problem)) {
        throw Error(ErrorCode::argument, "taps: " + std::to_string(taps.size()) + " elements, the problem needs " +
                                             std::to_string(taps_extent(problem)));
    }
    return make_plan(problem, static_cast<const void*>(taps.data()), options);
}

/// make_plan(), checking type and size.
template <Element T>
Plan make_plan(const Problem& problem, const std::vector<T>& taps, const PlanOptions& options = {}) {
    return make_plan(problem, std::span<const T>(taps), options);
}

}  // namespace tapline
