// Rung 17: which rows go which way, what that costs, how it is launched.
#include "cuda/families/direct/direct_few_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda::few {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 30;  // samples, so that places in a row are ints
constexpr std::int64_t kV = 4;                         // floats of a vector

// H100: 10^6 rows of 100 with 9 and 19 taps 268 and 294 us, 100,000 of 777 210 and 262 us, 2^18 of 256 with 15 taps 187 us, where
// the copy takes 269, 211 and 182.
constexpr double kStartSeconds = 3e-6;
constexpr double kThreadInstructions = 80;  // of a vector of outputs
constexpr double kTapInstructions = 6.5;
constexpr double kEndInstructions = 35;  // of a tap, in warps that have an end of a row on a line
constexpr double kShareOfCopyRows = 0.99;
constexpr double kNorm = 3;

std::int64_t chunks_of(std::int64_t k) { return divide_up(k, kV); }

bool is_interleaved(std::int64_t channels, std::int64_t in_sample, std::int64_t in_row, std::int64_t out_sample,
                    std::int64_t out_row) {
    return channels >= 2 && channels <= 4 && in_sample == channels && out_sample == channels && in_row == 1 && out_row == 1;
}

std::int64_t channels_of(Way way, std::int64_t rows) { return way == Way::own_of_two ? 2 : way == Way::own_of_four ? 4 : rows; }

// Interleaved rows as one whose taps are so many samples apart.
Arguments as_one_row(Arguments a) {
    const std::int64_t channels = a.rows;
    for (std::int64_t* each : {&a.first, &a.count, &a.in_first, &a.in_last, &a.n, &a.origin}) { *each *= channels; }
    a.rows = a.in_sample = a.out_sample = 1;
    a.in_row = a.out_row = 0;
    a.plain_layout = a.zero_vectors = 1;
    return a;
}

}  // namespace

Way way_of(const Problem& p) {
    constexpr std::int64_t kShort = 2048;
    constexpr std::int64_t kLeastOnLine = 16;
    const bool takes = p.dtype == kF32 && p.output_dtype == kF32 && p.batch.length > 1 && p.x.k <= kFewTaps && !p.taps_come_later &&
                       p.taps_finite && (p.x.boundary == kZero || p.x.boundary == kConstant) &&
                       std::max(p.x.n, p.x.outputs) < kMost;
    if (!takes) { return Way::none; }
    if (is_interleaved(p.batch.length, p.x.in_stride, p.batch.in_stride, p.x.out_stride, p.batch.out_stride)) {
        if (p.x.boundary != kZero) { return Way::none; }
        if (p.filters == p.batch.length) {
            return p.filters == 2 ? Way::own_of_two : p.filters == 4 ? Way::own_of_four : Way::none;
        }
        return p.filters == 1 && p.batch.length > 2 ? Way::interleaved : Way::none;
    }
    if (p.x.in_stride != 1 || p.x.out_stride != 1) { return Way::none; }
    if (p.batch.in_stride % kV == 0) { return p.x.outputs <= kShort ? Way::rows : Way::none; }
    const bool on_a_line = p.batch.in_stride == p.x.n && p.batch.out_stride == p.x.n && p.x.outputs == p.x.n;
    return on_a_line && p.filters == 1 && p.x.n >= kLeastOnLine ? Way::line : Way::none;
}

double seconds_of(Way way, const Problem& p, const cuda_abi::Device& device) {
    const auto rows = static_cast<double>(p.batch.length);
    const auto outputs = static_cast<double>(p.x.outputs);
    const auto taps = static_cast<double>(p.x.k);
    const double at_ends = way == Way::line ? kEndInstructions * taps * std::min(1.0, (128 + taps) / outputs) : 0;
    const double instructions = kThreadInstructions + kTapInstructions * taps + at_ends;
    const double warps = rows * std::ceil(outputs / kV) / 32;
    const double computing = warps * instructions / (device.peak_flops / 64);
    const double of_rows = p.batch.in_stride == 0 ? 1 : rows;
    // What does not lie on 16 bytes is stored element by element.
    const double stored = way == Way::rows && p.batch.out_stride % kV != 0 ? 2 : 1;
    const double bytes = 4 * (static_cast<double>(p.x.n) * of_rows + stored * outputs * rows + (p.filters > 1 ? taps * rows : 0));
    return kStartSeconds + overlapped(bytes / (kShareOfCopyRows * device.copy_bytes_per_second), computing, kNorm);
}

AnyRowsKernel kernel_of(Way way, const Problem& p) {
    const auto chunks = static_cast<int>(chunks_of(p.x.k));
    switch (way) {
        case Way::rows:
            return rows_kernel(chunks, p.filters > 1);
        case Way::line:
            return line_kernel(chunks);
        case Way::interleaved:
            return interleaved_kernel(static_cast<int>(p.batch.length), chunks);
        case Way::own_of_two:
            return own_pairs_kernel(chunks);
        case Way::own_of_four:
            return own_fours_kernel(chunks);
        default:
            return RowsKernel{};
    }
}

TapsByValue<float4> own_taps(const float* taps, std::int64_t filters, std::int64_t k) {
    TapsByValue<float4> all{};
    auto* const to = reinterpret_cast<float*>(all.value);
    for (std::int64_t t = 0; t < k; ++t) {
        for (std::int64_t f = 0; f < filters; ++f) { to[t * filters + f] = taps[f * k + t]; }
    }
    return all;
}

bool launch(Way way, const AnyRowsKernel& kernel, const Arguments& a, const void* taps, cudaStream_t stream) {
    const std::int64_t offset = a.first - a.origin - a.in_first;
    if (a.converts != 0 || reinterpret_cast<std::uintptr_t>(a.in) % 16 != 0 || std::abs(offset) > kMost ||
        std::max(a.count, a.in_last - a.in_first) > kMost) {
        return false;
    }
    std::int64_t threads = kRowThreads;
    std::size_t shared_bytes = 0;
    std::int64_t all = 0;  // threads of all blocks
    Arguments own = a;
    if (way == Way::interleaved || way == Way::own_of_two || way == Way::own_of_four) {
        if (a.rows != channels_of(way, a.rows) || !is_interleaved(a.rows, a.in_sample, a.in_row, a.out_sample, a.out_row)) {
            return false;
        }
        own = as_one_row(a);
        threads = kInterleavedThreads;
        shared_bytes = kInterleavedBytes;
        all = divide_up(own.count + kV - 1, kInterleavedVectors * kV);
        own.tiles = divide_up(all, std::int64_t{32});
        all = own.tiles * 32;
    } else {
        if (a.in_sample != 1 || a.out_sample != 1) { return false; }
        const std::int64_t outputs = kV * row_vectors(static_cast<int>(chunks_of(a.k)));  // of a thread
        own.tiles = divide_up(a.count, outputs);
        all = a.rows * own.tiles;
        if (way == Way::line) {
            const bool whole = a.first == 0 && a.in_first == 0 && a.count == a.n && a.in_last == a.n;
            if (!whole || a.in_row != a.n || a.out_row != a.n) { return false; }
            all = divide_up(a.rows * a.n, outputs);
        } else if (a.in_row % kV != 0) {
            return false;
        }
    }
    const std::int64_t blocks = divide_up(all, threads);
    if (blocks > kMostBlocks) { return false; }
    std::visit(
        [&]<class H>(KernelOfRows<H> of_type) {
            launch_kernel(of_type, static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared_bytes, stream, own,
                          *static_cast<const TapsByValue<H>*>(taps));
        },
        kernel);
    return true;
}

}  // namespace tapline::cuda::few
