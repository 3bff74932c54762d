// Segments of samples of 16 bits that lie side by side and whose outputs are f32: widened where points are made of them.
#pragma once

#include "cuda/families/overlap_save/segment/overlap_save.cuh"

namespace tapline::cuda {

/// A sample of Raw: an integer of 16 bits, __half, __nv_bfloat16.
template <class Raw>
struct Narrow {
    Raw value;
};
template <class Raw>
struct Element<Narrow<Raw>> {
    using Sum = float;
    using Real = float;
    static __device__ Sum widen(Narrow<Raw> x) {
        if constexpr (std::is_integral_v<Raw>) {
            // The last bits of 2^23 + x, which a conversion would make at a quarter of the rate.
            constexpr bool kSigned = std::is_signed_v<Raw>;
            const auto bits = static_cast<unsigned>(static_cast<std::uint16_t>(x.value));
            return __uint_as_float(bits ^ (kSigned ? 0x4b008000U : 0x4b000000U)) - (kSigned ? 8421376.0F : 8388608.0F);
        } else {
            return Element<Raw>::widen(x.value);
        }
    }
};

template <class Raw>
__device__ Narrow<Raw> narrow_constant(const Arguments& a) {
    if constexpr (std::is_integral_v<Raw>) {
        return {static_cast<Raw>(a.constant_real)};
    } else {
        return {boundary_constant<Raw>(a)};
    }
}
template <>
__device__ inline Narrow<std::int16_t> boundary_constant(const Arguments& a) {
    return narrow_constant<std::int16_t>(a);
}
template <>
__device__ inline Narrow<std::uint16_t> boundary_constant(const Arguments& a) {
    return narrow_constant<std::uint16_t>(a);
}
template <>
__device__ inline Narrow<__half> boundary_constant(const Arguments& a) {
    return narrow_constant<__half>(a);
}
template <>
__device__ inline Narrow<__nv_bfloat16> boundary_constant(const Arguments& a) {
    return narrow_constant<__nv_bfloat16>(a);
}

namespace overlap_save {

/// Outputs are those of f32, but for sums that are formed directly.
template <class Raw, int kWarps>
struct SegmentOutputs<Narrow<Raw>, kWarps, 1> : SegmentOutputs<float, kWarps, 1> {
    using Base = SegmentOutputs<float, kWarps, 1>;
    static_assert(!Base::kSums);

    /// All of the thread's, whose segment is to be repaired.
    template <class P>
    __device__ __forceinline__ void store_slowly(const P* /*points*/, bool /*repair*/) const {
        float* const out = static_cast<float*>(this->a.out) + this->row * this->a.out_row;
#pragma unroll 1
        for (int u = 0; u < 64; ++u) {
            const int at = this->mine + Base::Parts::offset(u % 32) + (u < 32 ? 0 : Base::kM);
            if (at >= this->wanted) { continue; }
            const std::int64_t o = this->first_output + at;
            out[o] = finish(this->a, direct_sum<Narrow<Raw>, float>(this->a, this->g, this->row, o));
        }
    }
};

}  // namespace overlap_save
}  // namespace tapline::cuda
