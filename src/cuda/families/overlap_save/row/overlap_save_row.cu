// Rows that one transform takes as a whole: when, and their launch.
#include <algorithm>

#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/with_types.hpp"
#include "cuda/families/overlap_save/overlap_save_points.hpp"
#include "cuda/families/overlap_save/row/overlap_save_long_row.hpp"
#include "cuda/families/overlap_save/row/overlap_save_row.cuh"
#include "cuda/launch.hpp"

namespace tapline::cuda::overlap_save {
namespace {

constexpr std::size_t kLongRowBytes = (kLongRowLanes + kLongRowHalfTable + 16 * kLongRowRegion) * sizeof(float2) +
                                      kLongRowPoints / 2 * sizeof(float) + kLongRowBarriers * sizeof(CopyBarrier) +
                                      kLongRowTurnBytes;
constexpr std::size_t kCausalRowBytes = (kLongRowLanes + kCausalRowTable + 16 * kLongRowRegion) * sizeof(float2) +
                                        kCausalRowKept * kLongRowThreads * sizeof(float4) + 2 * sizeof(CopyBarrier) +
                                        kLongRowTurnBytes;

constexpr std::int64_t kPointBytes = sizeof(float2);

/// In place of segments of so many warps, and of long rows whether by halves; null if there is none.
template <bool kWhole>
SegmentKernel kernel_of(Dtype dtype, int warps, bool by_halves) {
    if (warps == kLongRowWarps) { return long_row_kernel(dtype, kWhole, by_halves); }
    return with_float_sums(dtype, [&]<class S>(ElementType<S>) -> SegmentKernel {
        if (warps == ShortRow::kWarps) { return &overlap_save_row_kernel<S, ShortRow, kWhole>; }
        if (warps == Row::kWarps) { return &overlap_save_row_kernel<S, Row, kWhole>; }
        return nullptr;
    });
}

/// At a time; of long rows half a one.
int rows_of_block(int warps, const cuda_abi::Device& device) {
    const std::int64_t limit = device.shared_bytes_per_block;
    if (warps == kLongRowWarps) { return has_long_rows(device) && limit >= static_cast<std::int64_t>(kLongRowBytes) ? 1 : 0; }
    return with_shape(warps, [&]<class Shape>(Shape) {
        const std::int64_t room = limit - Shape::kTable * kPointBytes;
        const auto rows = static_cast<int>(std::clamp<std::int64_t>(room / (Shape::kBuffer * kPointBytes), 0, Shape::kMostRows));
        return rows >= kLeastRowsOfBlock ? rows : 0;
    });
}

std::size_t shared_bytes(const RowPlan& plan, int rows) {
    if (plan.warps == kLongRowWarps) { return plan.by_halves ? kCausalRowBytes : kLongRowBytes; }
    return with_shape(plan.warps, [&]<class Shape>(Shape) {
        return static_cast<std::size_t>((Shape::kTable + rows * Shape::kBuffer) * kPointBytes);
    });
}

}  // namespace

int row_points(int warps) { return side_of(warps) > 0 ? side_of(warps) * side_of(warps) : kLongRowPoints; }

int rows_at_once(int warps) {
    return warps == kLongRowWarps ? 1 : with_shape(warps, [](auto shape) { return decltype(shape)::kMostRows; });
}

bool takes_rows(const Problem& p, int warps, const cuda_abi::Device& device) {
    if (kernel_of<false>(p.dtype, warps, false) == nullptr || rows_of_block(warps, device) == 0) { return false; }
    const int points = row_points(warps);
    const bool short_enough = p.x.n > 0 && p.x.n <= points && p.x.outputs <= points && p.x.k <= points;
    return short_enough && p.x.origin >= 0 && p.x.origin <= points && p.x.boundary == kZero && p.filters > 1 && plain_problem(p);
}

bool takes_halves(const Problem& p, int warps, const cuda_abi::Device& device) {
    // (16, 768, 32768) f32: 2.63 ms, by clusters 2.44; bf16 2.19 and 2.28.
    return warps == kLongRowWarps && p.dtype != kF32 && p.x.origin >= p.x.k - 1 && p.batch.length >= device.multiprocessors &&
           device.shared_bytes_per_block >= static_cast<std::int64_t>(kCausalRowBytes);
}

RowPlan load_rows(const Prepared& prepared, int warps) {
    const Problem& p = prepared.problem;
    RowPlan plan;
    plan.warps = warps;
    plan.by_halves = takes_halves(p, warps, prepared.device);
    plan.some = kernel_of<false>(p.dtype, warps, plan.by_halves);
    plan.whole = kernel_of<true>(p.dtype, warps, plan.by_halves);
    plan.in_block = rows_of_block(warps, prepared.device);
    plan.sample_bytes = point_type_of(p).bytes;
    for (const SegmentKernel kernel : {plan.some, plan.whole}) {
        load_kernel(kernel, shared_bytes(plan, plan.in_block), prepared.device);
    }
    if (plan.by_halves) {
        constexpr std::int64_t kLeftBytes = std::int64_t{kCausalRowLeft} * kLongRowThreads * sizeof(float4);
        plan.workspace_bytes = prepared.device.multiprocessors * kLeftBytes;
    } else if (warps == kLongRowWarps) {
        plan.clusters = clusters_held(plan.some, 2, kLongRowThreads, shared_bytes(plan, 1));
    }
    return plan;
}

std::string describe_rows(const RowPlan& plan) {
    return "whole rows, " + std::string(plan.by_halves ? "for each half " : "") + "a transform of " +
           std::to_string(row_points(plan.warps) / (plan.by_halves ? 2 : 1)) + " points" + (plan.by_halves ? "" : " each");
}

bool takes_job(const RowPlan& plan, const Job& job) {
    const int points = row_points(plan.warps);
    return job.n >= 0 && job.in_first >= 0 && job.in_last <= points && job.first >= 0 && job.first + job.count <= points &&
           job.in_stride == 1 && job.out_stride == 1 && job.batch <= kMostBlocks;
}

void launch_rows(const Prepared& prepared, const RowPlan& plan, const Job& job, const OnDevice& on_device, void* workspace,
                 cudaStream_t stream) {
    const Problem& p = prepared.problem;
    const bool is_long = plan.warps == kLongRowWarps;
    const std::int64_t bytes = plan.sample_bytes;
    Arguments a = arguments_of(prepared, job, on_device);
    a.taps = on_device.taps;
    Segments g{};
    g.tables = on_device.tables;
    g.segments = 1;
    g.filters = p.filters;
    g.first_filter = job.batch_first % p.filters;
    const auto is_vector = [](std::int64_t of) { return of % 16 == 0; };
    g.zero_edges = prepared.device.major >= 9 && job.in_first == 0 && job.in_last > 0 && is_vector(job.in_last * bytes) &&
                   is_vector(job.in_batch * bytes) && reinterpret_cast<std::uintptr_t>(job.in) % 16 == 0;
    const int points = row_points(plan.warps);
    // Of long rows neighbouring outputs are stored together.
    const std::int64_t stored = is_long ? 2 * bytes : bytes;
    const bool whole = g.zero_edges != 0 && a.plain_store != 0 && job.in_last == points && job.first == 0 && job.count == points &&
                       job.out_batch * bytes % stored == 0 &&
                       reinterpret_cast<std::uintptr_t>(job.out) % static_cast<std::uintptr_t>(stored) == 0;
    const SegmentKernel kernel = whole ? plan.whole : plan.some;
    if (plan.by_halves) {
        g.kept = workspace;
        const std::int64_t blocks = std::min<std::int64_t>(prepared.device.multiprocessors, job.batch);
        return launch_kernel(kernel, static_cast<unsigned>(blocks), kLongRowThreads, shared_bytes(plan, 1), stream, a, g);
    }
    if (is_long) {
        const std::int64_t clusters = std::min<std::int64_t>(plan.clusters, job.batch);
        return launch_clusters(kernel, 2, static_cast<unsigned>(2 * clusters), kLongRowThreads, shared_bytes(plan, 1), stream, a,
                               g);
    }
    // Few rows are spread over all multiprocessors.
    const std::int64_t of_each = divide_up(job.batch, std::int64_t{prepared.device.multiprocessors});
    const int in_block = static_cast<int>(std::min<std::int64_t>(plan.in_block, of_each));
    const std::int64_t blocks = std::min<std::int64_t>(prepared.device.multiprocessors, divide_up(job.batch, in_block));
    g.run = static_cast<int>(divide_up(job.batch, blocks));
    launch_kernel(kernel, static_cast<unsigned>(blocks), static_cast<unsigned>(side_of(plan.warps) * in_block),
                  shared_bytes(plan, in_block), stream, a, g);
}

}  // namespace tapline::cuda::overlap_save
