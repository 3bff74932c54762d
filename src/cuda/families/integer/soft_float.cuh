// Numbers of 64 significant bits, which a CPU's long double has and a GPU has not: as exact sums of integers are scaled.
#pragma once

#include "cuda/families/integer/integer_finish.hpp"

namespace tapline::cuda::integer {

__extension__ typedef unsigned __int128 Wide;

/// +-m 2^e, m with its highest bit set, or 0.
struct Soft {
    std::uint64_t m = 0;
    int e = 0;
    bool negative = false;
};

__device__ __forceinline__ int leading_zeros(std::uint64_t x) {
    int n = 0;
    for (int step = 32; step > 0; step /= 2) {
        if ((x >> (64 - step)) == 0) {
            n += step;
            x <<= step;
        }
    }
    return n;
}

/// m 2^e of 128 bits, and `sticky` if there is something below, rounded to even; m's highest bit is set.
__device__ inline Soft rounded(Wide m, int e, bool sticky, bool negative) {
    const auto rest = static_cast<std::uint64_t>(m);
    Soft r{static_cast<std::uint64_t>(m >> 64), e + 64, negative};
    const std::uint64_t half = std::uint64_t{1} << 63;
    if (rest > half || (rest == half && (sticky || (r.m & 1) != 0))) {
        if (++r.m == 0) {
            r.m = half;
            ++r.e;
        }
    }
    return r;
}

/// A sum's magnitude with its highest bit set: a number of 128 bits, whether there is something below; a sum of 0 stays that.
struct Normal {
    Wide m;
    int e;
    bool sticky, negative;
};
__device__ inline Normal normal_of(const Sum& sum) {
    std::uint64_t low = sum.low;
    std::uint64_t middle = sum.middle;
    auto high = static_cast<std::uint64_t>(sum.high);
    const bool negative = sum.high < 0;
    if (negative) {
        low = ~low + 1;
        middle = ~middle + (low == 0 ? 1 : 0);
        high = ~high + (low == 0 && middle == 0 ? 1 : 0);
    }
    int e = 64;
    for (int limb = 0; limb < 2 && high == 0; ++limb) {
        high = middle;
        middle = low;
        low = 0;
        e -= 64;
    }
    if (high == 0) { return {0, 0, false, false}; }
    const int zeros = leading_zeros(high);
    Wide m = static_cast<Wide>(high) << 64 | middle;
    if (zeros > 0) {
        m = m << zeros | low >> (64 - zeros);
        low <<= zeros;
    }
    return {m, e - zeros, low != 0, negative};
}
__device__ inline Soft soft_of(const Sum& sum) {
    const Normal n = normal_of(sum);
    if (n.m == 0) { return {}; }
    return rounded(n.m, n.e, n.sticky, n.negative);
}

/// Of a finite number, exactly.
__device__ inline Soft soft_of(double x) {
    const auto bits = static_cast<std::uint64_t>(__double_as_longlong(x));
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    const std::uint64_t m = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
    if (m == 0) { return {0, 0, bits >> 63 != 0}; }
    const int zeros = leading_zeros(m);
    return {m << zeros, (exponent == 0 ? 1 : exponent) - 1075 - zeros, bits >> 63 != 0};
}

__device__ inline Soft multiply(const Soft& a, const Soft& b) {
    if (a.m == 0 || b.m == 0) { return {0, 0, a.negative != b.negative}; }
    Wide m = static_cast<Wide>(a.m) * b.m;
    int e = a.e + b.e;
    if ((m >> 127) == 0) {
        m <<= 1;
        --e;
    }
    return rounded(m, e, false, a.negative != b.negative);
}

__device__ inline bool magnitude_below(const Soft& a, const Soft& b) {
    if (a.m == 0 || b.m == 0) { return a.m < b.m; }
    return a.e != b.e ? a.e < b.e : a.m < b.m;
}
__device__ inline bool below(const Soft& a, const Soft& b) {
    if (a.m == 0 && b.m == 0) { return false; }
    if (a.negative != b.negative) { return a.negative; }
    return a.negative ? magnitude_below(b, a) : magnitude_below(a, b);
}

__device__ inline Soft add(Soft a, Soft b) {
    if (magnitude_below(a, b)) {
        const Soft larger = b;
        b = a;
        a = larger;
    }
    if (b.m == 0) {
        a.negative = a.negative && (a.m != 0 || b.negative);  // zeros of both signs are 0
        return a;
    }
    // The larger one with 63 bits below it; of the smaller one what lies below those is only known to be there.
    const int distance = a.e - b.e;
    Wide m = static_cast<Wide>(a.m) << 63;
    int e = a.e - 63;
    Wide other = static_cast<Wide>(b.m) << 63;
    bool sticky = false;
    if (distance >= 127) {
        other = 0;
        sticky = true;
    } else {
        const Wide kept = other >> distance;
        sticky = (kept << distance) != other;
        other = kept;
    }
    if (a.negative == b.negative) {
        m += other;
    } else {
        m -= other;
        if (sticky) { --m; }  // what is there lies just below
        if (m == 0) { return {}; }
    }
    while ((m >> 127) == 0) {
        m <<= 1;
        --e;
    }
    return rounded(m, e, sticky, a.negative);
}

/// m 2^e rounded to a multiple of 2^least_e, half to even: how many of those. Fewer than 2^64 of them.
__device__ inline std::uint64_t multiples(std::uint64_t m, int e, int least_e) {
    const int drop = least_e - e;
    if (drop <= 0) { return m << -drop; }
    if (drop > 64) { return 0; }
    const std::uint64_t kept = drop == 64 ? 0 : m >> drop;
    const std::uint64_t rest = drop == 64 ? m : m << (64 - drop);
    const std::uint64_t half = std::uint64_t{1} << 63;
    return kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
}

/// Rounded to a floating-point type of so many significant bits and the least exponent of a bit.
__device__ inline double to_floating(const Soft& x, int digits, int least_e) {
    if (x.m == 0) { return x.negative ? -0.0 : 0.0; }
    const int e = max(x.e + 64 - digits, least_e);
    const double magnitude = ldexp(static_cast<double>(multiples(x.m, x.e, e)), min(e, 4000));
    return x.negative ? -magnitude : magnitude;
}
__device__ inline double to_double(const Soft& x) { return to_floating(x, 53, -1074); }
/// Beyond its range an infinity.
__device__ inline float to_float(const Soft& x) { return static_cast<float>(to_floating(x, 24, -149)); }

/// With its lowest bit set if anything lies below: rounds to fewer bits as the whole does.
__device__ inline Soft sticky_soft(const Sum& sum) {
    const Normal n = normal_of(sum);
    if (n.m == 0) { return {}; }
    const bool more = static_cast<std::uint64_t>(n.m) != 0 || n.sticky;
    return {static_cast<std::uint64_t>(n.m >> 64) | (more ? 1u : 0u), n.e + 64, n.negative};
}

}  // namespace tapline::cuda::integer
