// The staged kernel: sizes and loading.
#include "cuda/families/direct/direct_staged.hpp"

#include <algorithm>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/direct/direct_policies.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda::staged {

// Fitted to 70,003 to 25,000,000 samples of all types, one row and 700, with 3 to 1,900 taps, on an H200: within 8%, root of the
// mean square.
constinit const Cost kStagedCost{7.5e-6, {1.2, 1.32, 1.22, 1.22, 1.51}, 1.33, 9.1, 1.97, 0.216, 5.74e-6, 0};

double serial_seconds(double taps, const cuda_abi::Device& device) {
    constexpr double kFlopsOfTap = 24 * 256;
    return taps * kFlopsOfTap / (device.peak_flops / device.multiprocessors);
}

Staged load(const Prepared& prepared, int vectors, std::int64_t segment_taps) {
    const Problem& p = prepared.problem;
    const Type type = type_of(p, prepared.device);
    Staged s{};
    s.kernel = kernel_of(p.dtype, p.taps_dtype, vectors);
    if (s.kernel == nullptr) { refuse_policy(); }
    s.per_vector = type.per_vector();
    s.tile = 32 * vectors * s.per_vector;
    s.segments = static_cast<int>(divide_up(p.x.k, segment_taps));
    s.segment_taps = segment_taps;

    constexpr int kWarps = kThreads / 32;
    const bool row_taps = p.filters > 1;
    const auto bytes = [&](std::int64_t chunk) {
        const bool changing = row_taps || segment_taps > chunk;
        const std::int64_t windows = 2 * (s.tile + chunk) * type.bytes;
        const std::int64_t tap_chunk = chunk * type.tap_bytes;
        return changing ? kWarps * (windows + 2 * tap_chunk) : kWarps * windows + tap_chunk;
    };
    const std::int64_t wanted = segment_taps <= kTapsAtOnce && !row_taps ? kTapsAtOnce : kTapChunk;
    std::int64_t chunk = divide_up(std::min(segment_taps, wanted), kChunkUnit) * kChunkUnit;
    while (chunk > kChunkUnit && bytes(chunk) > prepared.device.shared_bytes_per_block) { chunk -= kChunkUnit; }
    s.chunk = static_cast<int>(chunk);
    s.shared_bytes = static_cast<std::size_t>(bytes(chunk));
    load_kernel(s.kernel, s.shared_bytes, prepared.device);
    s.edges =
        load_edges(prepared, {s.tile, s.tile + divide_up(segment_taps, s.per_vector) * s.per_vector, s.segments, segment_taps});
    return s;
}

}  // namespace tapline::cuda::staged
