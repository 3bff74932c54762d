// Rows of any batch axes, and elements of any type: samples widened to sums, sums narrowed to outputs.
#pragma once

#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/epilogue.cuh"
#include "cuda/primitives/lines/lines.hpp"
#include "cuda/primitives/lines/runs.cuh"

namespace tapline::cuda {

/// A tile's place: its lines, counted along Rows::near, and where they begin in memory.
struct LineTile {
    std::int64_t in, out;  // elements from the job's first sample and output to those of line 0
    std::int64_t row;      // of the batch, of line 0: decides the filter
    int lines;             // that exist
    std::int64_t tile;     // along the rows
};

/// a / b of numbers that are not negative: by 32 bits, in a third of the time, where both have no more.
__device__ __forceinline__ std::int64_t divide(std::int64_t a, std::int64_t b) {
    if (((a | b) >> 32) == 0) { return static_cast<unsigned>(a) / static_cast<unsigned>(b); }
    return a / b;
}

/// A number whose digits have bases of their own.
struct Number {
    std::int64_t rest;

    /// The last digit, of base `length`, which it loses.
    __device__ __forceinline__ std::int64_t take(std::int64_t length) {
        const std::int64_t before = rest;
        rest = divide(rest, length);
        return before - rest * length;
    }
};

/// They are numbered by tiles along rows, then along Rows::near, then the other axes; where rows lie closer than samples along
/// Rows::near first, as blocks that work at a time should read what memory has side by side.
__device__ __forceinline__ LineTile line_tile(const Arguments& a, const Rows& g, std::int64_t tiles, std::int64_t number) {
    LineTile t{};
    Number rest{number};
    const auto take = [&](std::int64_t length) { return length == 1 ? std::int64_t{0} : rest.take(length); };
    const auto size = [](std::int64_t step) { return step < 0 ? -step : step; };
    const bool near_first = size(g.near.in) < size(a.in_sample) || size(g.near.out) < size(a.out_sample);
    std::int64_t near = near_first ? take(g.near_tiles) : 0;
    t.tile = take(tiles);
    if (!near_first) { near = take(g.near_tiles); }
    const std::int64_t first = near * g.lines;
    t.in = first * g.near.in;
    t.out = first * g.near.out;
    t.row = g.batch_axis < 0 ? first : 0;
    t.lines = static_cast<int>(min(g.near.length - first, std::int64_t{g.lines}));
#pragma unroll
    for (int i = 0; i < Rows::kMostOthers; ++i) {
        const std::int64_t at = take(g.others[i].length);
        t.in += at * g.others[i].in;
        t.out += at * g.others[i].out;
        if (g.batch_axis == i) { t.row = at; }
    }
    return t;
}

/// The filter of a line.
__device__ __forceinline__ std::int64_t filter_of(const Rows& g, const LineTile& tile, int line) {
    return g.filters == 1 ? 0 : (g.first_filter + tile.row + (g.batch_axis < 0 ? line : 0)) % g.filters;
}

/// kCount elements as sums of real numbers.
template <class X, class Raw, int kCount>
__device__ __forceinline__ void widen_raw(Dtype type, const Raw (&raw)[kCount], X (&x)[kCount]) {
    const auto each = [&](auto widen) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) { x[i] = static_cast<X>(widen(raw[i])); }
    };
    if constexpr (std::is_same_v<X, Raw>) {
        each([](Raw r) { return r; });
    } else if constexpr (sizeof(Raw) == 1) {
        if (type == kI8) {
            each([](Raw r) { return static_cast<int>(static_cast<std::int8_t>(r)); });
        } else {
            each([](Raw r) { return static_cast<int>(r); });
        }
    } else if constexpr (sizeof(Raw) == 2) {
        switch (type) {
            case kF16:
                return each([](Raw r) { return __half2float(__ushort_as_half(r)); });
            case kBf16:
                return each([](Raw r) { return __uint_as_float(static_cast<unsigned>(r) << 16); });
            case kI16:
                return each([](Raw r) { return static_cast<int>(static_cast<std::int16_t>(r)); });
            default:
                return each([](Raw r) { return static_cast<int>(r); });
        }
    } else if constexpr (sizeof(Raw) == 4) {
        switch (type) {
            case kF32:
                return each([](Raw r) { return __uint_as_float(r); });
            case kI32:
                return each([](Raw r) { return static_cast<int>(r); });
            default:
                return each([](Raw r) { return r; });
        }
    } else {
        switch (type) {
            case kF64:
                return each([](Raw r) { return __longlong_as_double(static_cast<long long>(r)); });
            case kI64:
                return each([](Raw r) { return static_cast<long long>(r); });
            default:
                return each([](Raw r) { return r; });
        }
    }
}

/// Rounded to even, within limits that an int holds; NaN becomes 0.
__device__ __forceinline__ int round_within(float x, int low, int high) { return min(max(__float2int_rn(x), low), high); }
__device__ __forceinline__ int round_within(double x, int low, int high) {
    return isnan(x) ? 0 : min(max(__double2int_rn(x), low), high);
}
/// The same within what larger integers hold, as conversions saturate; only from f32 to 32 bits they make NaN 0.
__device__ __forceinline__ unsigned round_to_u32(float x) { return __float2uint_rn(x); }
__device__ __forceinline__ unsigned round_to_u32(double x) { return isnan(x) ? 0 : __double2uint_rn(x); }
__device__ __forceinline__ long long round_to_i64(float x) { return isnan(x) ? 0 : __float2ll_rn(x); }
__device__ __forceinline__ long long round_to_i64(double x) { return isnan(x) ? 0 : __double2ll_rn(x); }
__device__ __forceinline__ unsigned long long round_to_u64(float x) { return isnan(x) ? 0 : __float2ull_rn(x); }
__device__ __forceinline__ unsigned long long round_to_u64(double x) { return isnan(x) ? 0 : __double2ull_rn(x); }

__device__ __forceinline__ __half to_half(float x) { return __float2half_rn(x); }
__device__ __forceinline__ __half to_half(double x) { return __double2half(x); }
__device__ __forceinline__ __nv_bfloat16 to_bfloat16(float x) { return __float2bfloat16_rn(x); }
__device__ __forceinline__ __nv_bfloat16 to_bfloat16(double x) { return __double2bfloat16(x); }

/// A sum without its fraction, of which integers keep the low bits; f32 sums have 24.
template <class X>
__device__ __forceinline__ auto truncated(X x) {
    if constexpr (std::is_integral_v<X>) {
        return x;
    } else if constexpr (sizeof(X) == 4) {
        return static_cast<int>(x);
    } else {
        return static_cast<long long>(x);
    }
}

/// The inverse of widen_raw(): sums of real numbers as elements of a type of so many bytes. As store_converted(). Kernels have all
/// of this at each of their stores, so that types share code where limits are all that differs.
template <class X, class Raw, int kCount>
__device__ __forceinline__ void narrow_real_to_raw(Dtype type, const X (&x)[kCount], Raw (&raw)[kCount]) {
    const auto each = [&](auto narrow) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) { raw[i] = static_cast<Raw>(narrow(x[i])); }
    };
    const auto low_bits = [](X v) { return truncated(v); };
    if constexpr (std::is_integral_v<X>) {  // as floating-point numbers, or their low bits
        if (sizeof(Raw) == 4 && type == kF32) {
            return each([](X v) { return __float_as_uint(static_cast<float>(v)); });
        }
        if (sizeof(Raw) == 8 && type == kF64) {
            return each([](X v) { return __double_as_longlong(static_cast<double>(v)); });
        }
        each(low_bits);
    } else if constexpr (sizeof(Raw) == 1) {
        switch (type) {
            case kU8:
                return each([](X v) { return round_within(v, 0, 255); });
            case kLowBits:
                return each(low_bits);
            default:
                return each(
                    [low = type == kI8 ? -128 : 0, high = type == kI8 ? 127 : 1](X v) { return round_within(v, low, high); });
        }
    } else if constexpr (sizeof(Raw) == 2) {
        switch (type) {
            case kF16:
                return each([](X v) { return __half_as_ushort(to_half(v)); });
            case kBf16:
                return each([](X v) { return __bfloat16_as_ushort(to_bfloat16(v)); });
            case kLowBits:
                return each(low_bits);
            default:
                return each([low = type == kI16 ? -32768 : 0, high = type == kI16 ? 32767 : 65535](X v) {
                    return round_within(v, low, high);
                });
        }
    } else if constexpr (sizeof(Raw) == 4) {
        switch (type) {
            case kF32:
                return each([](X v) { return __float_as_uint(static_cast<float>(v)); });
            case kI32:
                return each([](X v) { return round_within(v, INT32_MIN, INT32_MAX); });
            case kLowBits:
                return each(low_bits);
            default:
                return each([](X v) { return round_to_u32(v); });
        }
    } else {
        switch (type) {
            case kF64:
                return each([](X v) { return __double_as_longlong(v); });
            case kI64:
                return each([](X v) { return round_to_i64(v); });
            case kLowBits:
                return each(low_bits);
            default:
                return each([](X v) { return round_to_u64(v); });
        }
    }
}

/// The same of any sums; of complex numbers Raw is a pair.
template <class X, class Raw, int kCount>
__device__ __forceinline__ void narrow_to_raw(Dtype type, const X (&x)[kCount], Raw (&raw)[kCount]) {
    if constexpr (std::is_same_v<X, Raw>) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) { raw[i] = x[i]; }
    } else if constexpr (kIsComplexElement<X>) {
        using R = typename Element<Raw>::Real;
#pragma unroll
        for (int i = 0; i < kCount; ++i) { raw[i] = Raw{static_cast<R>(x[i].x), static_cast<R>(x[i].y)}; }
    } else {
        narrow_real_to_raw(type, x, raw);
    }
}

/// body(Raw()) with real elements of so many bytes.
template <class Body>
__device__ __forceinline__ void with_raw(int bytes, const Body& body) {
    switch (bytes) {
        case 1:
            return body(std::uint8_t{});
        case 2:
            return body(std::uint16_t{});
        case 4:
            return body(std::uint32_t{});
        default:
            return body(std::uint64_t{});
    }
}

/// The type of sums X.
template <class X>
inline constexpr Dtype kOwnType = kIsComplexElement<X>    ? (sizeof(X) == 8 ? kComplex64 : kComplex128)
                                  : std::is_integral_v<X> ? (sizeof(X) == 4 ? kI32 : kI64)
                                  : sizeof(X) == 4        ? kF32
                                                          : kF64;

/// body(Raw()) with elements of samples of real numbers whose sums are X: X itself where they are sums as they come. Where that was
/// one of the types of its size, the compiler asked for it at every element, some thirty instructions each.
template <class X, class Body>
__device__ __forceinline__ void with_input(Dtype type, int bytes, const Body& body) {
    if (type == kOwnType<X>) {
        body(X{});
    } else {
        with_raw(bytes, body);
    }
}

/// The same with elements of outputs, complex ones too.
template <class X, class Body>
__device__ __forceinline__ void with_output(Dtype type, int bytes, const Body& body) {
    if constexpr (!kIsComplexElement<X>) {
        with_input<X>(type, bytes, body);
    } else if (type == kComplex64) {
        body(float2{});
    } else {
        body(double2{});
    }
}

/// An element of any type.
template <class X>
__device__ __noinline__ X load_any(Dtype type, int bytes, const void* from, std::int64_t index) {
    if constexpr (kIsComplexElement<X>) {
        return load_element(static_cast<const X*>(from) + index);
    } else {
        X x[1];
        with_raw(bytes, [&](auto raw) {
            using Raw = decltype(raw);
            const Raw one[1] = {static_cast<const Raw*>(from)[index]};
            widen_raw(type, one, x);
        });
        return x[0];
    }
}

}  // namespace tapline::cuda
