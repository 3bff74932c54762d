// Parts of a problem that is larger than a device, a machine's memory or a machine: who makes which outputs from which samples, and
// plans for parts that give the bits of the whole. No transport: moving samples is left to whoever has them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tapline/plan.hpp"

namespace tapline {

/// [first, last) of an axis.
struct Span {
    std::int64_t first = 0;                                                              ///< the first position that belongs to it
    std::int64_t last = 0;                                                               ///< the one behind its last
    [[nodiscard]] constexpr std::int64_t size() const noexcept { return last - first; }  ///< how many positions
    [[nodiscard]] constexpr bool empty() const noexcept { return last <= first; }        ///< whether there are none
    friend constexpr bool operator==(const Span&, const Span&) = default;                ///< the same positions
};

/// Outputs that an algorithm makes together along an axis, blocks of which start at multiples of `outputs`, and how many samples
/// past the last window of a block it reads. ShardedPlan::blocks() tells them; direct summation has 1 and 0.
struct Blocks {
    std::int64_t outputs = 1;    ///< of a block
    std::int64_t lookahead = 0;  ///< samples past its last window
};

/// Where a run of the positions that a part reads has its samples: x(position + i) for 0 <= i < count.
struct Source {
    std::int64_t part = 0;      ///< who has them
    Span samples;               ///< of the whole axis, in its own order
    std::int64_t position = 0;  ///< of the first
    std::int64_t count = 0;     ///< positions
    /// 1: sample samples.first + i (with wrap those of the other end); -1: samples.last - 1 - i (reflect, mirror); 0: samples.first
    /// every time (nearest).
    int step = 1;
    friend bool operator==(const Source&, const Source&) = default;  ///< the same samples in the same places
};

/// One part of an axis. Outputs and samples are numbered along the whole axis.
struct Part {
    Span samples;   ///< that it has
    Span outputs;   ///< that it makes; may be empty
    Span computed;  ///< outputs of the whole blocks that hold them
    /// Positions that those blocks read. Under a zero or constant boundary only those inside the signal (the rule supplies the
    /// others), and one at least.
    Span window;
    /// Of `computed` the whole blocks that read nothing but the part's own samples and a zero or constant boundary: they need not
    /// wait for halos.
    Span inner;
    std::vector<Source> sources;  ///< together the window, in its order; the part's own samples are among them
    /// Samples that come from others, each as often as it is asked for.
    [[nodiscard]] TAPLINE_EXPORT std::int64_t halo_samples(std::int64_t own_part) const;
};

/// What each part of filtered axis `axis` (0 is the outermost) makes and needs. A pure function of its arguments.
///
/// `cuts`: where parts begin, ascending, within the axis' n samples, without 0: part i has samples [cuts[i-1], cuts[i]). It makes
/// the outputs of the same numbers; mode full's further k - 1 are the last part's, and of mode valid the last parts make fewer or
/// none. A filter may be longer than a part: halos come from as many parts as they reach over. Throws Error (argument) for cuts
/// that are not such, (unsupported) on an axis with up, down or dilation.
TAPLINE_EXPORT std::vector<Part> shard(const Problem& problem, std::size_t axis, std::span<const std::int64_t> cuts,
                                       const Blocks& blocks = {});

/// The same with cuts of the outputs given apart, as many: part i makes [output_cuts[i-1], output_cuts[i]).
TAPLINE_EXPORT std::vector<Part> shard(const Problem& problem, std::size_t axis, std::span<const std::int64_t> cuts,
                                       std::span<const std::int64_t> output_cuts, const Blocks& blocks = {});

/// The parts of an axis of the batch of so many elements: each makes what it has and needs nothing from others.
TAPLINE_EXPORT std::vector<Part> shard_batch(std::int64_t length, std::span<const std::int64_t> cuts);

/// A number for a problem with its taps and options, the same on every machine: parties that are to work on one problem compare it
/// before anything is sent.
TAPLINE_EXPORT std::uint64_t fingerprint(const Problem& problem, const void* taps, const PlanOptions& options = {});

/// What lies in the buffers of a part along a filtered axis. Strides count elements; default: packed.
struct PartAxis {
    Span samples;  ///< positions of the window that the input holds; it holds all that Part::window says, in order
    Span outputs;  ///< Part::computed, or some of its whole blocks
    std::optional<std::int64_t> input_stride = std::nullopt;   ///< elements from a sample to the next
    std::optional<std::int64_t> output_stride = std::nullopt;  ///< elements from an output to the next
};

/// The buffers of a part: an axis for each filtered axis of the problem, the outermost first, and a batch axis for each of its
/// own. Packed: batch axes outermost, then filtered axes, the last one fastest. taps_stride is the problem's and ignored here; an
/// axis with filters of its own is not cut.
struct PartShape {
    UpTo<PartAxis, 3> axes;         ///< filtered, the outermost first
    UpTo<BatchAxis, 4> batch_axes;  ///< the outermost first
};

namespace core {
struct ShardedState;
struct PartState;
}  // namespace core

/// Computes one part. Immutable and cheap to copy; calls with separate workspaces may run at once.
class TAPLINE_EXPORT PartPlan {
public:
    /// Host memory laid out as the PartShape says; the buffers must not overlap. `workspace`: at least workspace_bytes() bytes at a
    /// multiple of 64. Allocates nothing.
    void execute(void* out, const void* in, std::span<std::byte> workspace) const;
    /// With a workspace of its own, kept by the calling thread up to 16 MiB.
    void execute(void* out, const void* in) const;
    [[nodiscard]] std::size_t workspace_bytes() const noexcept;  ///< that an execution needs

    /// What ShardedPlan::part() makes.
    explicit PartPlan(std::shared_ptr<const core::PartState> state) : state_(std::move(state)) {}

private:
    std::shared_ptr<const core::PartState> state_;
};

/// The plan of a whole problem that is executed in parts: algorithm and blocks are chosen for the whole, once, so that parts give
/// the bits of one plan with PlanOptions::rows_alone over everything, however it is cut. On the CPU: `options.device` is "cpu" or
/// "auto". The strides of `problem` are those that the whole would have in one memory; parts lie as their PartShapes say.
class TAPLINE_EXPORT ShardedPlan {
public:
    /// Throws Error as make_plan() does, and (unsupported) for three filtered axes, up, down, dilation or another device.
    ShardedPlan(const Problem& problem, const void* taps, const PlanOptions& options = {});

    /// Along filtered axis `axis`.
    [[nodiscard]] Blocks blocks(std::size_t axis) const;
    /// shard() with this plan's blocks.
    [[nodiscard]] std::vector<Part> shard(std::size_t axis, std::span<const std::int64_t> cuts) const;
    /// Throws Error (argument) where the input lacks positions that the blocks read, or outputs are not whole blocks of them.
    [[nodiscard]] PartPlan part(const PartShape& shape) const;
    /// The plan of the whole, for its names and predictions.
    [[nodiscard]] const Plan& whole() const noexcept;

private:
    std::shared_ptr<const core::ShardedState> state_;
};

/// Moves bytes between the parties that have the parts, 0 <= party < the number of parts. Both functions are called by
/// execute_part() in its own thread, for each pair of parties in the same order on both sides; what they throw goes through.
struct Transport {
    /// Sends `bytes` bytes at `data`, which stay as they are until finish(). It must not wait for their receiver.
    std::function<void(std::int64_t to, const void* data, std::size_t bytes)> send;
    /// Waits for as many bytes as the other party sent.
    std::function<void(std::int64_t from, void* data, std::size_t bytes)> receive;
    /// Waits until what was sent may be changed; called once, at the end. May be empty where send() copies.
    std::function<void()> finish = {};
};

/// Computes the outputs of part `own` of signals whose parts lie with several parties: sends what others need, computes what needs
/// no halo while halos are on their way, receives, computes the rest. All parties call it with the same plan and parts (compare
/// fingerprint()s first). The problem has one filtered axis.
///
/// `in`: the part's own samples, `out`: its outputs; of each row of the batch, packed, rows in the order of the batch axes.
/// Allocates the window. Throws Error, and what the transport throws; `out` is then incomplete.
TAPLINE_EXPORT void execute_part(void* out, const void* in, const ShardedPlan& plan, std::span<const Part> parts, std::int64_t own,
                                 const Transport& transport);

}  // namespace tapline
