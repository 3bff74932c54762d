// How launches of segments are made.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <utility>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/row_order.hpp"
#include "cuda/families/common/taken.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_segments.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda::overlap_save {
namespace {

// Where memory limits and rounds are many, fewer warps that go on in steps read and write in a better order: 127 taps, 2^28
// samples, H200: 553 us with 12 warps a block, 568 with 16; 191 taps 553 and 567, 255 taps 558 and 559; of 2^24 samples 127
// taps 47.3 and 46.4 us.
constexpr int kManyOutputs = 1850;
constexpr int kManyRounds = 8;
constexpr int kFewSegments = 12;
// Where memory limits, warps take segments as they come (LaterSegment), if so many rounds are worth a number set to 0 before: then
// 16 warps are better, 127 taps 541 us, 12 554.
constexpr int kLeastOutputsTaken = 1700;
constexpr int kLeastRoundsTaken = 16;
// Of tiles: blocks have a place for the spectrum where a segment has at most so many warps.
constexpr int kMostWarpsKeeping = 4;

std::size_t shared_bytes(const Kernel& kernel, int segments) {
    return static_cast<std::size_t>(kernel.layout.segments + std::int64_t{segments} * kernel.layout.segment_bytes);
}
// Whole segments whose copies, which begin and end at 16-byte boundaries, stay inside every row's piece; and whether the others
// are copied up to the piece's edges, which then lie at such boundaries of theirs.
void set_copied(Segments& g, const Arguments& a, int bytes) {
    const std::int64_t margin = 16 / bytes;
    const std::int64_t length = a.in_last - a.in_first;
    const std::int64_t first = g.start >= margin ? 0 : divide_up(margin - g.start, g.outputs);
    const std::int64_t room = length - margin - g.used - g.start;
    const std::int64_t by_samples = room < 0 ? 0 : room / g.outputs + 1;
    const std::int64_t last = std::min<std::int64_t>({by_samples, a.count / g.outputs, g.segments});
    g.inner_first = static_cast<int>(std::min<std::int64_t>(first, g.segments));
    g.inner_last = static_cast<int>(std::max<std::int64_t>(last, g.inner_first));
    g.zero_edges = a.zero_vectors != 0 && length % margin == 0 && g.start % margin == 0 ? 1 : 0;
}

LoadedKernel load(const Problem& p, const Kernel& kernel, const SegmentPlan& plan, const cuda_abi::Device& device) {
    const int warps = plan.cut.warps;
    LoadedKernel loaded{kernel, segments_of_block(kernel, warps, device)};
    if (loaded.in_block == 0) { return loaded; }
    if (kernel.tiles && warps <= kMostWarpsKeeping) {
        const std::size_t spectrum = static_cast<std::size_t>(warps) * kPoints * static_cast<std::size_t>(plan.type.point_bytes);
        const auto most = static_cast<std::size_t>(device.shared_bytes_per_block);
        if (shared_bytes(kernel, loaded.in_block) + spectrum <= most) { loaded.spectrum_bytes = spectrum; }
    }
    load_kernel(kernel.function, shared_bytes(kernel, loaded.in_block) + loaded.spectrum_bytes, device);
    loaded.may_come_ahead = may_come_ahead(p, warps, kernel, loaded.in_block, device);
    if (loaded.may_come_ahead) {
        load_kernel(ahead_kernel(plan.type.is_complex),
                    shared_bytes(kernel, loaded.in_block) + loaded.spectrum_bytes + kAheadStageBytes, device);
    }
    if (kernel.blocks > 1) {
        loaded.clusters =
            clusters_held(kernel.function, kernel.blocks, static_cast<unsigned>(kernel.most_threads), shared_bytes(kernel, 1));
    }
    return loaded;
}

// Segments and what they read and write, but for how many warps share them.
Segments segments_of(const Prepared& prepared, const SegmentPlan& plan, const Job& own, const Launch& launch,
                     const OnDevice& on_device) {
    const Problem& p = prepared.problem;
    const Cut& cut = plan.cut;
    const Part& part = plan.parts[static_cast<std::size_t>(launch.part)];
    const std::int64_t points = static_cast<std::int64_t>(cut.warps) * kPoints;
    Segments g{};
    g.tables = on_device.tables;
    g.spectrum_row = p.filters > 1 ? points : 0;
    g.spectrum_first = launch.part * p.filters * points;
    g.start = own.first - (p.x.origin - part.first) - cut.skip - own.in_first;
    g.outputs = cut.outputs;
    g.skip = cut.skip;
    g.used = static_cast<int>(cut.used - (part.first + cut.taps - part.own_end));
    g.sums_in = launch.sums_in;
    g.sums_out = launch.sums_out;
    g.sums_row = launch.sums_row;
    g.real_taps = plan.real_taps;
    return g;
}

using TileStep = std::array<std::int64_t, 2 + Rows::kMostOthers>;

// So many tiles as digits of their order.
void set_step(int (&to)[2 + Rows::kMostOthers], const Segments& g, std::int64_t tiles) {
    TileStep radix{g.rows.near_tiles, g.segments};
    if (g.near_first == 0) { std::swap(radix[0], radix[1]); }
    for (std::size_t i = 0; i < Rows::kMostOthers; ++i) { radix.at(2 + i) = g.rows.others[i].length; }
    for (std::size_t i = 0; i < radix.size(); ++i) {
        if (radix.at(i) > std::numeric_limits<int>::max()) { refuse_launch(); }
        to[i] = static_cast<int>(tiles % radix.at(i));
        tiles /= radix.at(i);
    }
}

void launch_tiles(const Prepared& prepared, const SegmentPlan& plan, const Job& own, Arguments a, const OnDevice& on_device,
                  const Launch& launch, cudaStream_t stream) {
    const Problem& p = prepared.problem;
    const LoadedKernel& kernel = plan.slow;
    if (kernel.in_block == 0) { throw CudaError(cuda_abi::Code::device, "overlap_save: no kernel for this launch"); }
    Segments g = segments_of(prepared, plan, own, launch, on_device);
    a.taps = static_cast<const char*>(on_device.taps) + plan.parts[static_cast<std::size_t>(launch.part)].own * plan.type.tap_bytes;
    g.filter_bytes = prepared.taps_pitch_bytes;
    g.segments = static_cast<int>(divide_up(a.count, plan.cut.outputs));
    g.rows = rows_of(p, own);
    const RowOrder order = row_order(p, own);
    g.row_steps.near = order.steps.front();
    std::copy(order.steps.begin() + 1, order.steps.end(), g.row_steps.others);
    const TilesShape shape = tiles_shape(p, g.rows, {a.in_sample, a.out_sample, reinterpret_cast<std::uintptr_t>(a.in)}, g.segments,
                                         kernel, plan.cut.warps, kernel.in_block, prepared.device);
    set_tiles(g.rows, shape.lines, g.segments);
    g.out_by_lines = std::abs(a.out_sample) < std::abs(g.rows.near.out) ? 1 : 0;
    g.near_first = std::abs(g.rows.near.in) < std::abs(a.in_sample) || std::abs(g.rows.near.out) < std::abs(a.out_sample) ? 1 : 0;
    const auto segments = static_cast<int>(shape.teams) * g.rows.lines;
    g.spectrum_in_block = kernel.spectrum_bytes != 0 && p.filters == 1 && g.spectrum_first == 0 ? 1 : 0;
    g.staged = shape.staging.bytes;
    // As often as a stage's units hold it.
    for (auto i = static_cast<std::size_t>(g.rows.input_bytes); i < sizeof g.rows.constant; ++i) {
        g.rows.constant[i] = g.rows.constant[i - static_cast<std::size_t>(g.rows.input_bytes)];
    }
    set_step(g.after, g, shape.blocks * shape.teams);
    const std::size_t bytes = shared_bytes(kernel, segments) + (g.spectrum_in_block != 0 ? kernel.spectrum_bytes : 0);
    launch_kernel(shape.ahead ? ahead_kernel(plan.type.is_complex) : kernel.function, static_cast<unsigned>(shape.blocks),
                  static_cast<unsigned>(32 * plan.cut.warps * segments), bytes + (shape.ahead ? kAheadStageBytes : 0), stream, a,
                  g);
}

// Whether so many clusters in steps would each do the same segment of all its rows, those at the ends, whose samples take longer,
// always the same ones, and one cluster fewer needs no more rounds. 64 rows of 2^20 with 16,385 taps, 66 clusters and 22 segments a
// row, H100: 667 us, one row as long as all 407.
bool stays_at_a_place(std::int64_t clusters, std::int64_t segments, std::int64_t rows) {
    const std::int64_t all = segments * rows;
    return rows > 1 && clusters > 1 && segments > 1 && clusters % segments == 0 &&
           divide_up(all, clusters) == divide_up(all, clusters - 1);
}

// What a checked kernel is told of a launch's rows.
Checks checks_of(const Prepared& prepared, const SegmentPlan& plan, const Job& own, const Launch& launch) {
    Checks checks = launch.checks;
    checks.filters = prepared.problem.filters;
    checks.first_filter = own.batch_first % checks.filters;
    checks.first_group = launch.row * checks.groups;
    checks.real_taps = plan.real_taps ? 1 : 0;
    return checks;
}

}  // namespace

SegmentPlan load_segments(KernelOf kernel_of, const Prepared& prepared, const Cut& cut) {
    const Problem& p = prepared.problem;
    SegmentPlan plan;
    plan.cut = cut;
    plan.type = point_type_of(p);
    if (slow_kernel(kernel_of, p, cut.warps).checked) { plan.type.point_bytes = 16; }
    plan.real_taps = has_real_taps(p);
    plan.parts = parts_of(p.x.k, cut);
    plan.fast = load(p, fast_kernel(kernel_of, p, cut.warps, prepared.device), plan, prepared.device);
    plan.slow = load(p, slow_kernel(kernel_of, p, cut.warps), plan, prepared.device);
    return plan;
}

Job job_of_launch(const Problem& p, const Job& job, const Launch& launch) {
    Job own = job;
    own.out = static_cast<char*>(job.out) +
              (launch.row * job.out_batch + launch.first_output * job.out_stride) * stored_bytes(p.output_dtype);
    own.in = static_cast<const char*>(job.in) + launch.row * job.in_batch * stored_bytes(p.dtype);
    own.first += launch.first_output;
    own.count = launch.count;
    own.batch_first += launch.row;
    own.batch = launch.rows;
    return own;
}

bool takes_segments(const Prepared& prepared, const Cut& cut, std::int64_t segments) {
    return cut.warps == 1 && cut.outputs >= kLeastOutputsTaken && prepared.problem.filters <= 1 &&
           segments < (std::int64_t{1} << 30) &&
           segments >= std::int64_t{kLeastRoundsTaken * kMostSegments} * prepared.device.multiprocessors;
}

void launch_segments(const Prepared& prepared, const SegmentPlan& plan, const Job& job, const OnDevice& on_device,
                     const Launch& launch, cudaStream_t stream) {
    const Problem& p = prepared.problem;
    const PointType& type = plan.type;
    const Cut& cut = plan.cut;
    const Part& part = plan.parts[static_cast<std::size_t>(launch.part)];
    const Job own = job_of_launch(p, job, launch);
    Arguments a = arguments_of(prepared, own, on_device);
    a.k = part.own_end - part.own;
    a.origin = p.x.origin - part.own;
    // Pairs of real numbers need not be aligned as a whole; plain stores want them so.
    const bool aligned = reinterpret_cast<std::uintptr_t>(a.out) % static_cast<std::uintptr_t>(stored_bytes(p.output_dtype)) == 0;
    if (takes_narrow(p, cut.warps)) { a.plain_layout = a.in_sample == 1 && a.out_sample == 1; }
    const bool plain = a.plain_layout != 0 && (aligned || launch.sums_out != nullptr);
    const bool by_tiles = plan.slow.tiles && (!plain || plan.fast.function == nullptr || p.has_outer());
    const LoadedKernel& kernel = plain && !by_tiles ? plan.fast : plan.slow;
    if (by_tiles) { return launch_tiles(prepared, plan, own, a, on_device, launch, stream); }
    if (p.filters > 1 && !kernel.in_runs) {
        // Launches whose rows have filters one after the other.
        const std::int64_t rows = p.filters - own.batch_first % p.filters;
        if (launch.rows > rows) {
            const auto at = [&](void* sums) {
                return sums == nullptr ? nullptr : static_cast<char*>(sums) + rows * launch.sums_row * type.sum_bytes();
            };
            Launch first = launch;
            first.rows = rows;
            Launch rest = launch;
            rest.row += rows;
            rest.rows -= rows;
            rest.sums_in = at(launch.sums_in);
            rest.sums_out = at(launch.sums_out);
            launch_segments(prepared, plan, job, on_device, first, stream);
            return launch_segments(prepared, plan, job, on_device, rest, stream);
        }
    }
    int in_block = kernel.in_block;
    if (in_block == 0) { throw CudaError(cuda_abi::Code::device, "overlap_save: no kernel for this launch"); }
    const std::int64_t segments = divide_up(a.count, cut.outputs);
    if (segments > kMostBlocks || a.rows > (std::int64_t{1} << 40) / segments) {
        throw CudaError(cuda_abi::Code::unsupported, "problem: more segments than one launch counts; divide the batch");
    }
    const std::int64_t held = std::int64_t{in_block} * prepared.device.multiprocessors;
    const bool takes = launch.taken != nullptr && !kernel.in_runs && takes_segments(prepared, cut, segments * a.rows);
    if (!takes && cut.warps == 1 && cut.outputs >= kManyOutputs && segments * a.rows >= kManyRounds * held) {
        in_block = std::min(in_block, kFewSegments);
    }
    Segments g = segments_of(prepared, plan, own, launch, on_device);
    const std::int64_t first_filter = own.batch_first % p.filters;
    g.filters = kernel.in_runs ? p.filters : 0;
    g.first_filter = first_filter;
    if (!kernel.in_runs) { g.spectrum_first += first_filter * kPoints * cut.warps; }
    a.taps = static_cast<const char*>(on_device.taps) + (kernel.in_runs ? 0 : first_filter * a.taps_row_bytes) +
             part.own * type.tap_bytes;
    g.segments = static_cast<int>(segments);
    if (plain) { set_copied(g, a, type.bytes); }
    // Of few segments every multiprocessor, or cluster, gets its share. Fewer at once, so that the last of several rounds is full
    // too, or the next round's samples brought into the L2 cache at the start made 2^24 samples slower: 511 taps 53.6 and 55.2 us,
    // not 51.8.
    const std::int64_t at_once = kernel.blocks > 1 ? kernel.clusters : prepared.device.multiprocessors;
    in_block = static_cast<int>(std::min<std::int64_t>(in_block, divide_up(segments * a.rows, at_once)));
    std::int64_t blocks = std::min<std::int64_t>(divide_up(segments * a.rows, in_block), at_once);
    if (kernel.blocks > 1 && stays_at_a_place(blocks, segments, a.rows)) { --blocks; }
    g.step_rows = kernel.in_runs ? 0 : blocks * in_block / segments;
    g.step_segments = kernel.in_runs ? 1 : static_cast<int>(blocks * in_block % segments);
    g.longer = kernel.in_runs ? 0 : static_cast<int>(segments * a.rows % (blocks * in_block));
    g.run = static_cast<int>(divide_up(segments * a.rows, blocks * in_block));
    if (kernel.checked) { g.checks = checks_of(prepared, plan, own, launch); }
    if (takes) { g.taken = start_taking(launch.taken, stream); }
    if (kernel.blocks > 1) {
        return launch_clusters(kernel.function, kernel.blocks, static_cast<unsigned>(blocks * kernel.blocks),
                               static_cast<unsigned>(kernel.most_threads), shared_bytes(kernel, 1), stream, a, g);
    }
    launch_kernel(kernel.function, static_cast<unsigned>(blocks), static_cast<unsigned>(32 * cut.warps * in_block),
                  shared_bytes(kernel, in_block), stream, a, g);
}

}  // namespace tapline::cuda::overlap_save
