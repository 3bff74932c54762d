// How a thread holds points of columns, and where they lie in the ring of segments.
#pragma once

#include "cuda/families/overlap_save/overlap_save_outputs.cuh"

namespace tapline::cuda::overlap_save {

/// Points i of a thread that has 16 of each of two neighbouring columns, in registers i and 16 + i.
__device__ __forceinline__ float4 pair_at(const float* re, const float* im, int i) {
    return {re[i], im[i], re[16 + i], im[16 + i]};
}
__device__ __forceinline__ void take_pair(float* re, float* im, int i, const float4& pair) {
    re[i] = pair.x;
    im[i] = pair.y;
    re[16 + i] = pair.z;
    im[16 + i] = pair.w;
}

/// Where points of one column lie, kRow apart, of kRows rows: instructions hold distances below 8 MB, and columns are up to 32 MB
/// long. Pointers to rows in the middle of stretches of 16 MB, so that each point's address need not be computed: 2^22 points 10%
/// fewer instructions of columns.
template <class Point, int kRows, int kRow>
class PointsOfColumn {
public:
    __device__ __forceinline__ explicit PointsOfColumn(Point* row_0) {
#pragma unroll
        for (int i = 0; i < kStretches; ++i) {
            int middle = (2 * i + 1) * (kEach / 2) * kRow;
            middles_[i] = row_0 + middle;
            hide(middles_[i], middle);
        }
    }
    /// Of the rows below kRows, a constant where this is called from code without loops.
    [[nodiscard]] __device__ __forceinline__ Point* at(int row) const {
        return middles_[row / kEach] + (row % kEach - kEach / 2) * kRow;
    }

private:
    static constexpr std::int64_t kBytes = std::int64_t{kRows} * kRow * static_cast<std::int64_t>(sizeof(Point));
    static constexpr int kStretches = static_cast<int>(kBytes >> 24 > 1 ? kBytes >> 24 : 1);
    static constexpr int kEach = kRows / kStretches;
    Point* middles_[kStretches];
};

}  // namespace tapline::cuda::overlap_save
