// 26: warps that stay: the tables in shared memory, one segment after the other.
#pragma once

#include "lessons/25_warp_transform.cuh"

namespace tapline::cuda::transforms::persistent {

inline constexpr RungInfo kInfo{
    .number = "26",
    .name = "persistent_transform",
    .origin = "",
    .idea =
        "As many blocks as the chip has multiprocessors; each copies the tables and the spectrum to its shared memory once, and "
        "its "
        "12 warps go from segment to segment.",
    .changed = "The loop around the segment: the tables are read once a block and no longer once a segment.",
    .requirements = "At most 1,537 taps; 121 KB of shared memory a block; not for strict accuracy.",
    .limited_by = "A segment's samples: a warp waits for them with nothing else to do, and 12 warps are few to hide it.",
    .source = "lessons/26_persistent_transform.cuh",
    .is_local = 0,
};

inline constexpr int kWarps = 12;
inline constexpr int kTables = warps::kPairs + 2 * warps::kPoints;  // pairs, twiddles, spectrum
inline constexpr int kSharedBytes = (kTables + kWarps * warps::kBufferPoints) * static_cast<int>(sizeof(float2));

static __global__ void __launch_bounds__(32 * kWarps, 1) kernel(Signal s) {
    extern __shared__ uint4 shared[];
    auto* const tables = reinterpret_cast<float2*>(shared);
    overlap_save::copy_by_block<float2>(tables, static_cast<const float2*>(s.tables), kTables);
    __syncthreads();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const float2* const twiddles = tables + warps::kPairs;
    float2* const exchange = tables + kTables + warp * warps::kBufferPoints;
    const std::int64_t outputs = outputs_of(s.k);
    const std::int64_t step = std::int64_t{gridDim.x} * kWarps * outputs;
    for (std::int64_t first = (std::int64_t{blockIdx.x} * kWarps + warp) * outputs; first < s.m; first += step) {
        float re[32];
        float im[32];
        warps::load_points(s, first - s.origin, lane, re, im);
        warps::convolve_points(re, im, tables, twiddles, twiddles + warps::kPoints, exchange, lane);
        warps::store_points(s, first, lane, re, im);
    }
}

}  // namespace tapline::cuda::transforms::persistent

namespace tapline::cuda::transforms {

class PersistentTransform final : public TransformLesson {
public:
    [[nodiscard]] RungInfo info() const override { return persistent::kInfo; }

protected:
    [[nodiscard]] std::vector<std::complex<double>> points(const float* taps, int k) const override { return warp_tables(taps, k); }
    [[nodiscard]] Refusal requires_device(const cuda_abi::Device& device) const override {
        if (device.shared_bytes_per_block >= persistent::kSharedBytes) { return {}; }
        return "a block would need " + std::to_string(persistent::kSharedBytes / 1024) + " KB of shared memory";
    }
    void load_kernels(const cuda_abi::Device& device) const override {
        load_kernel(&persistent::kernel, persistent::kSharedBytes, device);
    }
    void launch_signal(const Signal& s, cudaStream_t stream) const override {
        const std::int64_t segments = ceil_div(s.m, outputs_of(s.k));
        const std::int64_t blocks = std::min<std::int64_t>(ceil_div(segments, persistent::kWarps), s.multiprocessors);
        persistent::kernel<<<static_cast<unsigned>(blocks), 32 * persistent::kWarps, persistent::kSharedBytes, stream>>>(s);
    }
};

}  // namespace tapline::cuda::transforms
