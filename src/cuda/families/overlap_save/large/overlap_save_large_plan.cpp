#include "cuda/families/overlap_save/large/overlap_save_large_plan.hpp"

#include <algorithm>
#include <array>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/types.hpp"
#include "cuda/families/overlap_save/overlap_save_points.hpp"

namespace tapline::cuda::overlap_save {

bool is_wide(const Problem& p) { return point_type_of(p).is_wide(); }

LargeKernel kernel_of(const Problem& p, int bits) {
    if (is_wide(p) && bits > kMostWideBits) { return {}; }
    return with_sample_type(p.dtype, [&]<class S>(ElementType<S>) { return large_kernel_of<S>(bits); });
}

std::int64_t blocks_at_once(const Problem& p, const cuda_abi::Device& device) {
    return (is_wide(p) ? 1 : 2) * static_cast<std::int64_t>(device.multiprocessors);
}

Ring ring_of(const Problem& p, const LargeCut& cut, const cuda_abi::Device& device) {
    const bool wide = is_wide(p);
    const std::int64_t least_bytes = (wide ? 26 : 28) << 20;  // nearly half of the H200's cache
    constexpr std::int64_t kMostBytesTogether = 32 << 20;     // of a segment: a ring of six is a few times the cache still
    const std::int64_t segment_bytes = cut.points * point_type_of(p).point_bytes;
    const std::int64_t bytes = std::max(least_bytes, device.l2_bytes / 5 * 2);
    const std::int64_t most = std::clamp<std::int64_t>(bytes / segment_bytes, 3, kMostSlots);
    const std::int64_t blocks = blocks_at_once(p, device);
    const std::int64_t rows =
        std::clamp<std::int64_t>(blocks / (2 * tasks_of(cut)), 1, std::min<std::int64_t>(most - 2, kMostSlots / 2));
    const std::int64_t columns = divide_up(15 * blocks, 16 * tasks_of(cut));
    const bool is_short = most >= kMostSlots / 2;
    const bool is_long = !wide && 3 * segment_bytes > device.l2_bytes * 2 / 3 && segment_bytes <= kMostBytesTogether;
    const int more = (is_short && !wide) || is_long ? 1 : 0;
    const std::int64_t lag = std::clamp<std::int64_t>(columns - more, 1, most - 1 - rows);
    const bool alternates = is_long && 2 * segment_bytes >= device.l2_bytes;
    const std::int64_t slots = std::max<std::int64_t>(lag + 1 + rows + more, alternates ? 6 : is_long ? 5 : 0);
    return {static_cast<int>(lag), static_cast<int>(slots), more, is_long, alternates};
}

LargeOrder order_of(const Problem& p, const LargeCut& cut, const Ring& ring, int segments, const cuda_abi::Device& device) {
    constexpr int kFew = 16;
    const bool all_stay = !is_wide(p) && segments * cut.points * point_type_of(p).point_bytes <= device.l2_bytes;
    if (all_stay) { return LargeOrder::of(ring.lag, 1, ring.slots, false, segments); }
    const bool alternates = ring.alternates || (ring.is_long && segments <= kFew);
    return LargeOrder::of(alternates ? ring.slots / 2 : ring.lag, ring.together_bits, ring.slots, alternates, segments);
}

double estimate(const Problem& p, const LargeCut& cut, const cuda_abi::Device& device) {
    // Of a multiprocessor, for 8,192 points there and back, by bits of a segment: 2^28 samples of f32 on an H200. Few long segments
    // leave the L2 cache: 65,535 taps with 2^18 points take 1,455 us, 262,143 with 2^20 1,832, 524,287 with 2^21 2,060 and
    // 1,048,575 with 2^22 2,168.
    constexpr std::array<double, kMostLargeBits - kLeastLargeBits + 1> kTaskSeconds{10.05e-6, 11.6e-6, 12.75e-6,
                                                                                    14.1e-6,  15.1e-6, 22.3e-6};
    constexpr double kMeasuredFlops = 6.69e13 / 132;
    constexpr double kHalfFactor = 0.95;   // of samples of 16 bits
    constexpr double kWideFactor = 2.8;    // 2^17 samples a segment and less, 5,600 to 15,000 taps
    constexpr double kLongWide = 15.7e-6;  // before that factor: 2^22 points in double, whose columns and rows do not alternate
    const bool wide = is_wide(p);
    const bool half = p.dtype == kF16 || p.dtype == kBf16;
    const double factor = (wide   ? kWideFactor * (has_fast_double(device) ? 1 : 8)
                           : half ? kHalfFactor
                                  : 1) *
                          kMeasuredFlops / (device.peak_flops / device.multiprocessors);
    const auto segments = static_cast<double>(divide_up(p.x.outputs, cut.outputs) * p.batch.length);
    const double tasks = segments * static_cast<double>(tasks_of(cut)) / device.multiprocessors;
    // Columns, rows, columns: the first and the last ones of all find few others at work, the more segments are between them. f32,
    // 65,535 taps, 2^20 samples take 33 us, 2^21 34, 2^22 46, 2^23 70 and 2^24 116. In double a task is long enough to hide most
    // of it.
    const double in_a_row = wide ? 0.55 : (half ? 1.8 : 1.5) + 0.9 * std::min(1.0, segments / 14);
    const double task =
        wide && cut.bits == kMostWideBits ? kLongWide : kTaskSeconds.at(static_cast<std::size_t>(cut.bits - kLeastLargeBits));
    return 2 * kLaunchSeconds + factor * task * (std::max(tasks, wide ? 0.8 : 1.0) + in_a_row);
}

}  // namespace tapline::cuda::overlap_save
