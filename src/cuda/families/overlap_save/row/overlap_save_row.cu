// Rows that one transform takes as a whole: when, their tables, their launch.
#include "cuda/families/overlap_save/row/overlap_save_causal_row.cuh"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "cuda/check.hpp"
#include "cuda/families/overlap_save/overlap_save_host.hpp"
#include "cuda/families/overlap_save/overlap_save_tables.hpp"
#include "cuda/families/production.hpp"

namespace tapline::cuda::overlap_save {
namespace {

constexpr std::size_t kLongRowBytes = (kLongRowLanes + kLongRowHalfTable + 16 * kLongRowRegion) * sizeof(float2) +
                                      kLongRowPoints / 2 * sizeof(float) + kLongRowBarriers * sizeof(CopyBarrier) +
                                      kLongRowPlaceBytes;
constexpr std::size_t kCausalRowBytes = (kLongRowLanes + kCausalRowTable + 16 * kLongRowRegion) * sizeof(float2) +
                                        kCausalRowKept * kLongRowThreads * sizeof(float4) + 2 * sizeof(CopyBarrier) +
                                        kLongRowPlaceBytes;
static_assert(2 * sizeof(PlaceInTurn) <= kLongRowPlaceBytes);

/// Which kernel: in place of segments of so many warps, and of long rows whether by halves.
struct Way {
    int warps;
    bool by_halves;
};

template <class S, bool kWhole>
const void* kernel_for(const Way& way) {
    const int warps = way.warps;
    if constexpr (sizeof(S) == 2) {
        if (way.by_halves) { return reinterpret_cast<const void*>(&overlap_save_causal_row_kernel<S, kWhole>); }
    }
    if (warps == kLongRowWarps) { return reinterpret_cast<const void*>(&overlap_save_long_row_kernel<S, kWhole>); }
    if (warps == ShortRow::kWarps) { return reinterpret_cast<const void*>(&overlap_save_row_kernel<S, ShortRow, kWhole>); }
    return warps == Row::kWarps ? reinterpret_cast<const void*>(&overlap_save_row_kernel<S, Row, kWhole>) : nullptr;
}

/// `whole`: for rows and outputs as long as the transform, which are copied and stored as they are.
const void* kernel_of(const Problem& p, const Way& way, bool whole) {
    switch (p.dtype) {
        case kF32:
            return whole ? kernel_for<float, true>(way) : kernel_for<float, false>(way);
        case kF16:
            return whole ? kernel_for<__half, true>(way) : kernel_for<__half, false>(way);
        case kBf16:
            return whole ? kernel_for<__nv_bfloat16, true>(way) : kernel_for<__nv_bfloat16, false>(way);
        default:
            return nullptr;
    }
}

constexpr std::int64_t kPointBytes = sizeof(float2);
constexpr double kPi = std::numbers::pi;

/// body(shape) with the shape of rows that are not long.
template <class Body>
auto with_shape(int warps, const Body& body) {
    return warps == ShortRow::kWarps ? body(ShortRow{}) : body(Row{});
}

/// At a time; of long rows half a one.
int rows_of_block(int warps, const cuda_abi::Device& device) {
    const auto limit = static_cast<std::int64_t>(shared_limit(device));
    if (warps == kLongRowWarps) { return device.major >= 9 && limit >= static_cast<std::int64_t>(kLongRowBytes) ? 1 : 0; }
    return with_shape(warps, [&]<class Shape>(Shape) {
        const std::int64_t room = limit - Shape::kTable * kPointBytes;
        const auto rows = static_cast<int>(std::clamp<std::int64_t>(room / (Shape::kBuffer * kPointBytes), 0, Shape::kMostRows));
        return rows >= kLeastRowsOfBlock ? rows : 0;
    });
}

std::size_t shared_bytes(const Way& way, int rows) {
    if (way.warps == kLongRowWarps) { return way.by_halves ? kCausalRowBytes : kLongRowBytes; }
    return with_shape(way.warps, [&]<class Shape>(Shape) {
        return static_cast<std::size_t>((Shape::kTable + rows * Shape::kBuffer) * kPointBytes);
    });
}

/// 0: of long rows.
int side_of(int warps) {
    return warps == kLongRowWarps ? 0 : with_shape(warps, [](auto shape) { return decltype(shape)::kSide; });
}

std::vector<Complex> row_table(int side) {
    std::vector<Complex> table;
    append_factors(table, side, side / 2, [&](int p) { return (kPi / 2 + 2 * kPi * p) / side; });
    append_factors(table, side, side / 4, [&](int p) { return 2 * kPi * p / side; });
    for (int m = 0; m < side / 2; ++m) {
        for (int thread = 0; thread < side; ++thread) {
            const double angle = kPi * (thread + side * m) / (2 * side * side);
            table.emplace_back(std::cos(angle), std::tan(angle));
            table.push_back(std::polar(1.0, 5 * angle));
        }
    }
    return table;
}

/// The warps' factors and twists, alpha(warp) being the angle of a warp's remainder modulo X^1024 - e^(i alpha).
template <class Alpha>
void append_warps_factors(std::vector<Complex>& table, const Alpha& alpha) {
    for (int warp = 0; warp < 16; ++warp) {
        append_factors(table, 1, 16, [&](int) { return alpha(warp); });
    }
    for (int i = 0; i < 512; ++i) {  // twists of a row
        const double angle = alpha(i / 32) * (i % 32) / 32;
        table.emplace_back(std::cos(angle), std::tan(angle));
    }
    for (int i = 0; i < 512; ++i) {  // shears of a lane, below 0.19
        const double angle = alpha(i / 32) * (i % 32) / 1024;
        table.emplace_back(std::tan(angle / 2), std::sin(angle));
    }
}

std::vector<Complex> causal_row_table() {
    std::vector<Complex> table;
    append_factors(table, 32, 16, [](int p) { return 2 * kPi * p / 32; });
    append_warps_factors(table, [](int warp) { return (kPi / 2 + 2 * kPi * fft::reversed(warp, 4)) / 16; });
    return table;
}

std::vector<Complex> long_row_table() {
    std::vector<Complex> table;
    append_factors(table, 32, 16, [](int p) { return 2 * kPi * p / 32; });
    for (int half = 0; half < 2; ++half) {
        const double phi = kPi / 4 + kPi * half;
        append_factors(table, 1, 8, [&](int) { return phi; });
        table.resize(table.size() + 2);
        for (int j = 0; j < 16; ++j) {  // Re lo of both is added, Re hi of block 1 is subtracted from block 0's
            const double turn = phi * j / 16;
            table.push_back(half == 0 ? std::polar(1.0, turn) : -std::polar(1.0, turn + kPi / 4));
            table.push_back(half == 0 ? std::polar(1.0, turn + kPi / 4) : std::polar(1.0, turn));
        }
        append_warps_factors(table, [&](int warp) { return (phi + 2 * kPi * fft::reversed(warp, 4)) / 16; });
    }
    return table;
}

/// The frequency of value `value` of a thread, of `block` among those of a long row.
int frequency_of(const Way& way, int block, int thread, int value) {
    const int side = side_of(way.warps);
    if (side > 0) { return thread + side * fft::reversed(value, fft::log2_of(side)); }
    if (way.by_halves) { return 16 * (thread % 32 + 32 * fft::reversed(value, 5)) + fft::reversed(thread / 32, 4); }
    return 32 * (thread % 32 + 32 * fft::reversed(value, 5)) + 2 * fft::reversed(thread / 32, 4) + block;
}

/// sum_t taps[t] z^(origin - t - lag) / M at z = e^(i (pi/2 + 2 pi j)/M), where z^M = i, M the transform's points, of powers
/// from -M to M; as threads read it, two values at a time.
void append_spectrum(std::vector<Complex>& to, const HostTransform& transform, int points, const Way& way, const std::byte* taps,
                     const Problem& p, std::int64_t lag) {
    std::vector<Complex> folded(static_cast<std::size_t>(points));
    for (std::int64_t t = 0; t < p.x.k; ++t) {
        const std::int64_t power = p.x.origin - t - lag;
        if (way.by_halves && power >= points) { continue; }
        const std::int64_t turns = power >= points ? 1 : power < 0 ? -1 : 0;
        const std::int64_t at = power - turns * points;
        const double angle = kPi / 2 * (static_cast<double>(turns) + static_cast<double>(at) / points);
        folded[static_cast<std::size_t>(at)] += HostTransform::product(tap_at(taps, t, p.taps_dtype), std::polar(1.0, angle));
    }
    transform(folded);
    // A warp reads two values of each lane at a time; of rows that are not long all their threads do.
    const int values = side_of(way.warps) > 0 ? side_of(way.warps) : 32;
    const int together = values;
    for (int first = 0; first < points / values; first += together) {
        for (int value = 0; value < values; value += 2) {
            for (int i = 0; i < 2 * together; ++i) {
                const int thread = first + i / 2;
                const int frequency = frequency_of(way, thread / kLongRowThreads, thread % kLongRowThreads, value + i % 2) % points;
                to.push_back(folded[static_cast<std::size_t>(frequency)] / static_cast<double>(points));
            }
        }
    }
}

Way way_of(const Problem& p, int warps, const cuda_abi::Device& device) { return {warps, takes_halves(p, warps, device)}; }

}  // namespace

int row_points(int warps) { return side_of(warps) > 0 ? side_of(warps) * side_of(warps) : kLongRowPoints; }

int rows_at_once(int warps) {
    return warps == kLongRowWarps ? 1 : with_shape(warps, [](auto shape) { return decltype(shape)::kMostRows; });
}

bool takes_rows(const Problem& p, int warps, const cuda_abi::Device& device) {
    if (kernel_of(p, {warps, false}, false) == nullptr || rows_of_block(warps, device) == 0) { return false; }
    const int points = row_points(warps);
    const bool short_enough = p.x.n > 0 && p.x.n <= points && p.x.outputs <= points && p.x.k <= points;
    return short_enough && p.x.origin >= 0 && p.x.origin <= points && p.x.boundary == kZero && p.filters > 1 && plain_problem(p);
}

bool takes_job(const Job& job, int warps) {
    const int points = row_points(warps);
    return job.n >= 0 && job.in_first >= 0 && job.in_last <= points && job.first >= 0 && job.first + job.count <= points &&
           job.in_stride == 1 && job.out_stride == 1 && job.batch <= kMostBlocks;
}

bool takes_halves(const Problem& p, int warps, const cuda_abi::Device& device) {
    // (16, 768, 32768) f32: 2.63 ms, by clusters 2.44; bf16 2.19 and 2.28.
    return warps == kLongRowWarps && p.dtype != kF32 && p.x.origin >= p.x.k - 1 && p.batch.length >= device.multiprocessors &&
           shared_limit(device) >= kCausalRowBytes;
}

std::int64_t row_workspace_bytes(const Prepared& prepared, int warps) {
    constexpr std::int64_t kLeftBytes = std::int64_t{kCausalRowLeft} * kLongRowThreads * sizeof(float4);
    return takes_halves(prepared.problem, warps, prepared.device) ? prepared.device.multiprocessors * kLeftBytes : 0;
}

void append_row_tables(std::vector<std::byte>& to, const Prepared& prepared, int warps) {
    const Problem& p = prepared.problem;
    const Way way = way_of(p, warps, prepared.device);
    append(to, side_of(warps) > 0 ? row_table(side_of(warps)) : way.by_halves ? causal_row_table() : long_row_table(), false);
    const std::size_t before = to.size();
    const auto each = static_cast<std::size_t>(row_points(warps) * kPointBytes);
    to.resize(before + static_cast<std::size_t>(p.filters) * each);
    // By halves: of lags in the first half of the samples, then of all before the output.
    const int points = way.by_halves ? row_points(warps) / 2 : row_points(warps);
    const HostTransform transform(points);
    in_parallel(p.filters, [&](std::int64_t filter) {
        const std::byte* taps = prepared.host_taps.data() + filter * prepared.taps_pitch_bytes;
        std::vector<std::byte> spectrum;
        spectrum.reserve(each);
        std::vector<Complex> factors;
        for (int lag = 0; lag < row_points(warps); lag += points) {
            append_spectrum(factors, transform, points, way, taps, p, lag);
        }
        append(spectrum, factors, false);
        std::copy(spectrum.begin(), spectrum.end(), to.begin() + static_cast<std::ptrdiff_t>(before + filter * each));
    });
}

void load_row_kernel(const Prepared& prepared, int warps) {
    for (const bool whole : {false, true}) {
        const Way way = way_of(prepared.problem, warps, prepared.device);
        allow_shared(kernel_of(prepared.problem, way, whole), shared_bytes(way, rows_of_block(warps, prepared.device)));
    }
}

void launch_rows(const Prepared& prepared, const Job& job, int warps, const void* tables, void* workspace, cudaStream_t stream) {
    const Problem& p = prepared.problem;
    const Way way = way_of(p, warps, prepared.device);
    const Type type = type_of(p);
    Arguments a = arguments_of(prepared, job);
    a.taps = prepared.taps;
    Segments g{};
    g.tables = tables;
    g.segments = 1;
    g.filters = p.filters;
    g.first_filter = job.batch_first % p.filters;
    void* arguments[] = {&a, &g};
    const auto is_whole = [&](std::int64_t bytes) { return bytes % 16 == 0; };
    g.zero_edges = prepared.device.major >= 9 && job.in_first == 0 && job.in_last > 0 && is_whole(job.in_last * type.bytes) &&
                   is_whole(job.in_batch * type.bytes) && reinterpret_cast<std::uintptr_t>(job.in) % 16 == 0;
    // Of long rows neighbouring outputs are stored together.
    const int stored = warps == kLongRowWarps ? 2 * type.bytes : type.bytes;
    const void* const kernel =
        kernel_of(p, way,
                  g.zero_edges != 0 && a.plain_store != 0 && job.in_last == row_points(warps) && job.first == 0 &&
                      job.count == row_points(warps) && job.out_batch * type.bytes % stored == 0 &&
                      reinterpret_cast<std::uintptr_t>(job.out) % static_cast<unsigned>(stored) == 0);
    if (way.by_halves) {
        g.kept = workspace;
        const std::int64_t blocks = std::min<std::int64_t>(prepared.device.multiprocessors, job.batch);
        cuda::launch(kernel, dim3(static_cast<unsigned>(blocks)), kLongRowThreads, arguments, shared_bytes(way, 1), stream);
        return;
    }
    if (warps == kLongRowWarps) {
        const std::int64_t clusters = std::min<std::int64_t>(std::max(1, prepared.clusters), job.batch);
        cudaLaunchAttribute attribute{};
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim = {2, 1, 1};
        cudaLaunchConfig_t config{};
        config.gridDim = dim3(static_cast<unsigned>(2 * clusters));
        config.blockDim = dim3(kLongRowThreads);
        config.dynamicSmemBytes = shared_bytes(way, 1);
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = 1;
        check(cudaLaunchKernelExC(&config, kernel, arguments), "launch");
        return;
    }
    // Few rows are spread over all multiprocessors.
    const std::int64_t of_each = divide_up(job.batch, std::int64_t{prepared.device.multiprocessors});
    const int in_block = static_cast<int>(std::min<std::int64_t>(rows_of_block(warps, prepared.device), of_each));
    const std::int64_t blocks = std::min<std::int64_t>(prepared.device.multiprocessors, divide_up(job.batch, in_block));
    g.run = static_cast<int>(divide_up(job.batch, blocks));
    cuda::launch(kernel, dim3(static_cast<unsigned>(blocks)), side_of(warps) * in_block, arguments, shared_bytes(way, in_block),
                 stream);
}

}  // namespace tapline::cuda::overlap_save
