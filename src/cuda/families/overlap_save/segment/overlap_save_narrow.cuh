// Segments of samples that lie side by side whose type is not the outputs': of 16 bits, widened where points are made of them, with
// outputs of f32; of f32 with outputs of bytes.
#pragma once

#include "cuda/families/overlap_save/segment/overlap_save.cuh"

namespace tapline::cuda {

/// A sample of Raw: an integer of 16 bits, __half, __nv_bfloat16.
template <class Raw>
struct Narrow {
    Raw value;
};
template <class Raw>
struct Element<Narrow<Raw>> : SumsInF32 {
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

/// A sample of f32 whose outputs are u8.
struct ToBytes {
    float value;
};
template <>
struct Element<ToBytes> : SumsInF32 {
    static __device__ Sum widen(ToBytes x) { return x.value; }
};
template <>
__device__ inline ToBytes boundary_constant(const Arguments& a) {
    return {static_cast<float>(a.constant_real)};
}

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

/// Those of f32, rounded and saturated where they are stored.
template <int kWarps>
struct SegmentOutputs<ToBytes, kWarps, 1> : SegmentOutputs<float, kWarps, 1> {
    using Base = SegmentOutputs<float, kWarps, 1>;
    static_assert(!Base::kSums);

    template <int kStage = 0>
    __device__ __forceinline__ void store_plain(const float* re, const float* im) const {
        std::uint8_t* out = first_byte() + this->first_output + this->mine;
        int left = this->wanted - this->mine;
        hide(out, left);
        const auto store_part = [&](auto part, const float* sums) {
            fft::for_each_index<0, Base::kOfStage>([&](auto output) {
                constexpr int u = Base::Parts::staged(Base::kStages, kStage, decltype(output)::value);
                constexpr int kAt = decltype(part)::value + Base::Parts::offset(u);
                if (left > kAt) { __stcs(out + kAt, byte_of(sums[Base::Parts::held(u)])); }
            });
        };
        store_part(std::integral_constant<int, 0>{}, re);
        store_part(std::integral_constant<int, Base::kM>{}, im);
    }
    /// All of the thread's, whose segment is to be repaired.
    template <class P>
    __device__ __forceinline__ void store_slowly(const P* /*points*/, bool /*repair*/) const {
#pragma unroll 1
        for (int u = 0; u < 64; ++u) {
            const int at = this->mine + Base::Parts::offset(u % 32) + (u < 32 ? 0 : Base::kM);
            if (at >= this->wanted) { continue; }
            const std::int64_t o = this->first_output + at;
            first_byte()[o] = byte_of(finish(this->a, direct_sum<ToBytes, float>(this->a, this->g, this->row, o)));
        }
    }

private:
    [[nodiscard]] __device__ __forceinline__ std::uint8_t* first_byte() const {
        return static_cast<std::uint8_t*>(this->a.out) + this->row * this->a.out_row;
    }
    /// To even; NaN becomes 0.
    static __device__ __forceinline__ std::uint8_t byte_of(float x) {
        return static_cast<std::uint8_t>(min(max(__float2int_rn(x), 0), 255));
    }
};

}  // namespace overlap_save
}  // namespace tapline::cuda
