// Samples of a line on their way from memory to halves in shared memory, and what else a tile of lines is made of.
#pragma once

#include "cuda/families/tensor/lines/tensor_lines.hpp"
#include "cuda/primitives/lines/lines.cuh"
#include "cuda/primitives/matrix_fragments.cuh"

namespace tapline::cuda::tensor_lines {

/// Whether samples have a scale, or may be something else than numbers.
__device__ __forceinline__ bool needs_largest(Dtype type) { return type == kF32 || type == kF16 || type == kBf16; }
/// Whether a sample is two halves.
__device__ __forceinline__ bool has_low_halves(Dtype type) { return type == kF32 || type == kI16 || type == kU16; }

/// The exponent of a line's scale, by its largest magnitude: 2^(kTopExponent - exponent) times its samples are halves.
__device__ __forceinline__ int exponent_of(Dtype type, unsigned largest) {
    const int exponent = static_cast<int>(largest >> 23) - 127;
    if (exponent == 128) { return tensor::kNotFinite; }
    if (type == kF32 || type == kBf16) { return max(exponent, tensor::kTopExponent - 127); }
    // The largest of 16 bits must not become infinite; all others are halves as they are.
    return tensor::kTopExponent + (type == kI16 || type == kU16 ? 1 : 0);
}

/// Eight neighbouring samples of a line, as they came.
template <class Raw>
struct Unit {
    static constexpr int kWords = kUnit * static_cast<int>(sizeof(Raw)) / 4;
    static constexpr int kPerWord = 4 / static_cast<int>(sizeof(Raw));
    unsigned words[kWords];

    Unit() = default;
    /// From shared memory, where they lie `apart` elements from each other or side by side (0).
    __device__ __forceinline__ Unit(const char* from, int apart) {
        if (apart != 0) {
            Raw x[kUnit];
#pragma unroll
            for (int i = 0; i < kUnit; ++i) { x[i] = reinterpret_cast<const Raw*>(from)[i * apart]; }
            memcpy(words, x, sizeof x);
        } else if constexpr (sizeof(Raw) == 1) {
            const uint2 vector = *reinterpret_cast<const uint2*>(from);
            memcpy(words, &vector, sizeof vector);
        } else {
            uint4 vectors[kWords / 4];
#pragma unroll
            for (int v = 0; v < kWords / 4; ++v) { vectors[v] = reinterpret_cast<const uint4*>(from)[v]; }
            memcpy(words, vectors, sizeof vectors);
        }
    }
    /// Zeros outside places [first, needed), where no output of the line looks: bits must not depend on what lies there.
    __device__ __forceinline__ void mask(int at, int first, int needed) {
        if (at >= first && at + kUnit <= needed) { return; }
        constexpr unsigned kBits = sizeof(Raw) == 4 ? 0xffffffffU : (1U << 8 * sizeof(Raw) % 32) - 1;
#pragma unroll
        for (int w = 0; w < kWords; ++w) {
            unsigned keep = 0;
#pragma unroll
            for (int i = 0; i < kPerWord; ++i) {
                const int place = at + w * kPerWord + i;
                if (place >= first && place < needed) { keep |= kBits << i * 8 * static_cast<int>(sizeof(Raw)) % 32; }
            }
            words[w] &= keep;
        }
    }
    /// The largest magnitude so far and that of these, floating-point numbers; NaN stays. f16 are read as bf16: in the same order.
    [[nodiscard]] __device__ __forceinline__ float largest(float most) const {
#pragma unroll
        for (int w = 0; w < kWords; ++w) {
            if constexpr (sizeof(Raw) == 4) {
                most = tensor::max_or_nan(most, __uint_as_float(words[w]));
            } else {
                most = tensor::max_or_nan(most, __uint_as_float(words[w] << 16));
                most = tensor::max_or_nan(most, __uint_as_float(words[w] & 0xffff0000U));
            }
        }
        return most;
    }
    /// Of 8 bits: 1024 + x is a half whose last bits are x.
    __device__ __forceinline__ void bytes_to_halves(uint4& high, bool is_signed) const {
        const unsigned flip = is_signed ? 0x80808080U : 0;
        const __half2 offset = __half2half2(is_signed ? __half(1152.0F) : __half(1024.0F));
        unsigned h[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const unsigned pair = __byte_perm(words[i / 2] ^ flip, 0x64646464U, i % 2 == 0 ? 0x4140 : 0x4342);
            __half2 x;
            memcpy(&x, &pair, sizeof x);
            x = __hsub2(x, offset);
            memcpy(&h[i], &x, sizeof x);
        }
        high = uint4{h[0], h[1], h[2], h[3]};
    }
    /// Scaled, as two halves each.
    __device__ __forceinline__ void split(uint4& high, uint4& low, Dtype type, float scale) const {
        unsigned h[4];
        unsigned l[4];
        if constexpr (sizeof(Raw) == 4) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                tensor::split(__uint_as_float(words[2 * i]) * scale, __uint_as_float(words[2 * i + 1]) * scale, h[i], l[i]);
            }
        } else {
            if constexpr (sizeof(Raw) == 1) {
                bytes_to_halves(high, type == kI8);
                return;
            }
            if (type == kF16) {
                high = uint4{words[0], words[1], words[2], words[3]};
                return;
            }
            Raw each[kUnit];
            memcpy(each, words, sizeof each);
            float x[kUnit];
            widen_raw(type, each, x);
            if (type == kBf16) {
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const __half2 pair = __floats2half2_rn(x[2 * i] * scale, x[2 * i + 1] * scale);
                    memcpy(&h[i], &pair, sizeof pair);
                }
                high = uint4{h[0], h[1], h[2], h[3]};
                return;
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) { tensor::split(x[2 * i] * scale, x[2 * i + 1] * scale, h[i], l[i]); }
        }
        high = uint4{h[0], h[1], h[2], h[3]};
        low = uint4{l[0], l[1], l[2], l[3]};
    }
};

/// A thread's units of its line in shared memory: the first is at `from`, the next ones `next` bytes and `step` places on. A unit's
/// samples lie `apart` elements from each other, or side by side (0).
struct OwnUnits {
    const char* from;
    int next, apart, step;
};

/// A number of elements that the compiler knows.
template <int kElements>
struct Apart {
    __device__ __forceinline__ operator int() const { return kElements; }  // NOLINT(google-explicit-constructor): stands for an int
};

/// body(apart) with a number of rows known to the compiler where there are as many as lines.
template <class Body>
__device__ __forceinline__ void with_apart(int apart, const Body& body) {
    switch (apart) {
        case 0:
            return body(Apart<0>{});
        case 8:
            return body(Apart<8>{});
        case 16:
            return body(Apart<16>{});
        case 32:
            return body(Apart<32>{});
        case 64:
            return body(Apart<64>{});
        default:
            return body(apart);
    }
}

/// The largest magnitude's bits at places [first, needed) from the first unit on; infinity where one is no number.
template <class Raw>
[[nodiscard]] __device__ __forceinline__ unsigned largest_of(const OwnUnits& own, Dtype type, int first, int needed) {
    float most = 0;
    with_apart(own.apart, [&](auto apart) {
        const char* from = own.from;
#pragma unroll 2
        for (int at = 0; at < needed; at += own.step) {
            Unit<Raw> unit(from, apart);
            unit.mask(at, first, needed);
            most = unit.largest(most);
            from += own.next;
        }
    });
    const unsigned bits = __float_as_uint(most) & 0x7fffffffU;
    return type == kF16 ? (bits >= 0x7c000000U ? 0x7f800000U : 0) : bits;
}

/// Units as halves at `to`, low ones `low_at` bytes on; `count` places.
template <class Raw>
__device__ __forceinline__ void store_halves(const OwnUnits& own, Dtype type, int low_at, char* to, float scale, int first,
                                             int needed, int count) {
    const bool low = has_low_halves(type);
    with_apart(own.apart, [&](auto apart) {
        const char* from = own.from;
        int at = 0;
#pragma unroll 2
        for (; at < needed; at += own.step) {
            Unit<Raw> unit(from, apart);
            unit.mask(at, first, needed);
            uint4 high;
            uint4 rest{};
            unit.split(high, rest, type, scale);
            *reinterpret_cast<uint4*>(to) = high;
            if (low) { *reinterpret_cast<uint4*>(to + low_at) = rest; }
            from += own.next;
            to += 2 * own.step;
        }
#pragma unroll 1
        for (; at < count; at += own.step) {
            *reinterpret_cast<uint4*>(to) = uint4{};
            if (low) { *reinterpret_cast<uint4*>(to + low_at) = uint4{}; }
            to += 2 * own.step;
        }
    });
}

/// Notes a line's largest magnitude of `lanes` neighbouring threads.
__device__ __forceinline__ void note_largest(unsigned* largest, unsigned bits, int line, int lanes) {
    for (int step = 1; step < lanes; step *= 2) { bits = max(bits, __shfl_xor_sync(0xffffffffU, bits, step)); }
    if (static_cast<int>(threadIdx.x) % lanes == 0) { atomicMax(largest + line, bits); }
}

/// Padded taps as tables of halves, by the whole block, which waits for each other's; the exponent of the largest, or kNotFinite.
/// Entry i of a table is pair i and pair i + 4; there are four tables of `entries`: pairs that begin at even elements and at odd
/// ones, of high halves; the same of low ones.
__device__ __forceinline__ int split_taps(uint2* tables, int entries, const float* padded, int steps) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float largest = 0;
#pragma unroll 1
    for (int e = lane; e < tensor::padded_taps(steps); e += 32) { largest = tensor::max_or_nan(largest, padded[e]); }
    const int exponent = tensor::largest_exponent(largest);
    const float scale = tensor::power_of_two(tensor::kTopExponent - exponent);
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < 2 * entries; i += kThreads) {
        const int odd = i >= entries ? 1 : 0;
        const float* const pair = padded + 2 * (i - odd * entries) + odd;
        uint2 high;
        uint2 low;
        tensor::split(pair[0] * scale, pair[1] * scale, high.x, low.x);
        tensor::split(pair[8] * scale, pair[9] * scale, high.y, low.y);
        tables[i] = high;
        tables[2 * entries + i] = low;
    }
    return exponent;
}

/// A 16 x 8 fragment of samples, 16 times of 8 lines; `address`: of lanes 0 to 15, a line's first and second eight.
__device__ __forceinline__ void load_column(unsigned (&to)[2], unsigned address) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(address) : "memory");
#endif
}

/// The sums of line i of a lane's two times 2^exponent; in two steps where one factor alone might overflow although the outputs do
/// not.
__device__ __forceinline__ void scale_back(float (&sum)[8][4], int i, int exponent) {
    const bool once = exponent >= -126 && exponent <= 127;
    const float factor = tensor::power_of_two(once ? exponent : exponent / 2);
#pragma unroll
    for (int p = 0; p < 8; ++p) {
        sum[p][i] *= factor;
        sum[p][2 + i] *= factor;
    }
    if (!once) {
        const float rest = tensor::power_of_two(exponent - exponent / 2);
#pragma unroll
        for (int p = 0; p < 8; ++p) {
            sum[p][i] *= rest;
            sum[p][2 + i] *= rest;
        }
    }
}

/// Where a lane's outputs of a line go: output 8 i, 0 <= i < 16, to element `at` + 8 i out_sample if begin <= 8 i < end.
struct OwnLine {
    std::int64_t at;
    int begin, end;
};

template <class Out, class Value>
__device__ __forceinline__ void store_line(const OwnLine& line, Out* to, std::int64_t step, const Value& value) {
    to += line.at;
    if (line.begin <= 0 && line.end > kColumn - kUnit) {
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            *to = value(i);
            to += step;
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        if (8 * i >= line.begin && 8 * i < line.end) { *to = value(i); }
        to += step;
    }
}

/// A lane's sums of its two lines, finished, in the output's type: time 8 i of line j is sum[i / 2][i % 2 * 2 + j].
__device__ __forceinline__ void store_lines(const Arguments& a, const Rows& rows, const Shape& g, float (&sum)[8][4],
                                            const OwnLine (&own)[2]) {
    if (!a.plain_store) {
#pragma unroll
        for (int p = 0; p < 8; ++p) {
#pragma unroll
            for (int i = 0; i < 4; ++i) { sum[p][i] = finish(a, sum[p][i]); }
        }
    }
    const std::int64_t step = kUnit * a.out_sample;
    if (g.pairs != 0 && own[0].end == own[1].end) {
        const OwnLine both{own[0].at / 2, own[0].begin, own[0].end};
        store_line(both, static_cast<float2*>(a.out), step / 2, [&](int i) {
            return float2{sum[i / 2][i % 2 * 2], sum[i / 2][i % 2 * 2 + 1]};
        });
        return;
    }
    with_output<float>(a.output_type, rows.output_bytes, [&](auto element) {
        using Out = decltype(element);
#pragma unroll 1
        for (int j = 0; j < 2; ++j) {
            const bool second = j != 0;
            const OwnLine line{second ? own[1].at : own[0].at, second ? own[1].begin : own[0].begin,
                               second ? own[1].end : own[0].end};
            float x[16];
            Out raw[16];
#pragma unroll
            for (int i = 0; i < 16; ++i) { x[i] = second ? sum[i / 2][i % 2 * 2 + 1] : sum[i / 2][i % 2 * 2]; }
            narrow_to_raw(a.output_type, x, raw);
            store_line(line, static_cast<Out*>(a.out), step, [&](int i) { return raw[i]; });
        }
    });
}

}  // namespace tapline::cuda::tensor_lines
