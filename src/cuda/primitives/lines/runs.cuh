// Runs of neighbouring bytes between global and shared memory, as they are: by vectors of 16 bytes where both sides begin alike.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cuda/primitives/copy_async.cuh"

namespace tapline::cuda {

/// Elements as they lie in memory, by their size.
template <int kBytes>
struct RawOf {
    using Type = std::conditional_t<
        kBytes == 1, std::uint8_t,
        std::conditional_t<kBytes == 2, std::uint16_t,
                           std::conditional_t<kBytes == 4, std::uint32_t, std::conditional_t<kBytes == 8, std::uint64_t, uint4>>>>;
    static_assert(sizeof(Type) == kBytes);
};

/// body(Raw()) with elements of so many bytes, a power of 2 of up to kMost; what such a body returns by default for others.
template <int kMost, int kBytes = 1, class Body>
auto with_elements_of(int bytes, const Body& body) {
    using Raw = typename RawOf<kBytes>::Type;
    if (bytes == kBytes) { return body(Raw{}); }
    if constexpr (kBytes < kMost) { return with_elements_of<kMost, 2 * kBytes>(bytes, body); }
    return decltype(body(Raw{}))();
}

/// A thread's neighbouring elements to memory past the caches: by vectors, or the first `count` of them, `step` elements apart.
template <class Raw, int kCount>
__device__ __forceinline__ void store_neighbours(Raw* to, const Raw (&raw)[kCount], bool by_vectors, int count, std::int64_t step) {
    constexpr int kBytes = kCount * static_cast<int>(sizeof(Raw));
    constexpr int kVectorBytes = kBytes < 16 ? kBytes : 16;
    using Vector = typename RawOf<kVectorBytes>::Type;
    if (by_vectors) {
        Vector vectors[kBytes / kVectorBytes];
        memcpy(vectors, raw, kBytes);
#pragma unroll
        for (int v = 0; v < kBytes / kVectorBytes; ++v) { __stcs(reinterpret_cast<Vector*>(to) + v, vectors[v]); }
    } else {
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            if (i < count) { to[i * step] = raw[i]; }
        }
    }
}

/// So many threads that work together, this one's number.
struct Team {
    int thread, threads;
};

/// `runs` runs of `length` elements each, `from_step` and `to_step` bytes from one to the next.
struct Runs {
    const char* from;
    char* to;
    std::int64_t from_step, to_step;
    int runs, length;
};

__device__ __forceinline__ int past_16(const void* address) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(address) % 16);
}

/// An element of 1 to 16 bytes, asynchronously where the chip can; the address is a multiple of its size.
template <int kBytes>
__device__ __forceinline__ void copy_element_async(char* to_shared, const char* from) {
    if constexpr (kBytes == 1) {
        *to_shared = *from;
    } else if constexpr (kBytes == 2) {
        *reinterpret_cast<std::uint16_t*>(to_shared) = *reinterpret_cast<const std::uint16_t*>(from);
    } else if constexpr (kBytes == 4) {
        copy_4_async(to_shared, from);
    } else if constexpr (kBytes == 8) {
        copy_8_async(to_shared, from);
    } else {
        copy_16_async(to_shared, from);
    }
}

/// Pairs (outer, inner), inner < size, as a team meets them: neighbouring threads have neighbouring inner ones.
struct PairWalk {
    int outer, inner, size, step_outer, step_inner;
    __device__ __forceinline__ PairWalk(const Team& team, int inner_size) : size(inner_size) {
        outer = team.thread / size;
        inner = team.thread - outer * size;
        step_outer = team.threads / size;
        step_inner = team.threads - step_outer * size;
    }
    [[nodiscard]] __device__ __forceinline__ bool is_there(int outer_size) const { return outer < outer_size; }
    __device__ __forceinline__ void advance() {
        outer += step_outer;
        inner += step_inner;
        if (inner >= size) {
            inner -= size;
            ++outer;
        }
    }
};

/// The same of one outer one, without a division.
struct LineWalk {
    static constexpr int outer = 0;
    int inner, size, threads;
    __device__ __forceinline__ LineWalk(const Team& team, int inner_size)
        : inner(team.thread), size(inner_size), threads(team.threads) {}
    [[nodiscard]] __device__ __forceinline__ bool is_there(int) const { return inner < size; }
    __device__ __forceinline__ void advance() { inner += threads; }
};

/// body(run, byte) for every element of short runs, neighbouring threads having neighbouring elements.
template <int kBytes, class Body>
__device__ __forceinline__ void for_each_element(const Runs& r, const Team& team, const Body& body) {
    for (PairWalk at(team, r.length); at.outer < r.runs; at.advance()) { body(at.outer, at.inner * kBytes); }
}

/// Elements too small to be copied asynchronously: loads of a thread are under way together. One at a time 187 transposed rows of
/// 241,441 i16 took 450 us, H100.
template <int kBytes>
__device__ __forceinline__ void copy_small_elements(const Runs& r, const Team& team) {
    using Raw = typename RawOf<kBytes>::Type;
    constexpr int kAtOnce = 8;
    PairWalk at(team, r.length);
#pragma unroll 1
    while (at.outer < r.runs) {
        Raw x[kAtOnce];
        int to[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
            to[i] = at.outer < r.runs ? at.outer * static_cast<int>(r.to_step) + at.inner * kBytes : -1;
            if (to[i] >= 0) { x[i] = *reinterpret_cast<const Raw*>(r.from + at.outer * r.from_step + at.inner * kBytes); }
            at.advance();
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
            if (to[i] >= 0) { *reinterpret_cast<Raw*>(r.to + to[i]) = x[i]; }
        }
    }
}

/// Runs of whole vectors whose both ends lie on 16 bytes.
template <class Copy>
__device__ __forceinline__ void copy_short_vectors(const Runs& r, int bytes, const Team& team, const Copy& copy) {
    Runs vectors = r;
    vectors.length = bytes / 16;
    for_each_element<16>(vectors, team,
                         [&](int run, int at) { copy(r.to + run * r.to_step + at, r.from + run * r.from_step + at); });
}

/// One run after the other: vectors in the middle, elements at both ends. Both addresses lie alike between 16-byte boundaries.
template <int kBytes, class Vector, class One>
__device__ __forceinline__ void copy_long_runs(const Runs& r, const Team& team, const Vector& copy_vector, const One& copy_one) {
    const int bytes = r.length * kBytes;
#pragma unroll 1
    for (int run = 0; run < r.runs; ++run) {
        const char* const from = r.from + run * r.from_step;
        char* const to = r.to + run * r.to_step;
        const int head = min((16 - past_16(from)) % 16, bytes);
        const int end = head + (bytes - head) / 16 * 16;
        for (int at = head + 16 * team.thread; at < end; at += 16 * team.threads) { copy_vector(to + at, from + at); }
        constexpr int kMost = 16 / kBytes;  // elements at an end
        if (team.thread < 2 * kMost) {
            const int at = team.thread < kMost ? team.thread * kBytes : end + (team.thread - kMost) * kBytes;
            if (at < (team.thread < kMost ? head : bytes)) { copy_one(to + at, from + at); }
        }
    }
}

/// Runs of at least so many bytes are copied one after the other.
inline constexpr int kLongRun = 256;

/// Each the fastest way that the addresses allow; copy_elements() has short runs that lie otherwise.
template <int kBytes, class Vector, class One, class Elements>
__device__ __forceinline__ void copy_runs(const Runs& r, const Team& team, const Vector& copy_vector, const One& copy_one,
                                          const Elements& copy_elements) {
    if (r.length <= 0) { return; }
    const int bytes = r.length * kBytes;
    if (bytes >= kLongRun) {
        if (past_16(r.from) == past_16(r.to) && (r.from_step - r.to_step) % 16 == 0) {
            copy_long_runs<kBytes>(r, team, copy_vector, copy_one);
            return;
        }
    } else if (past_16(r.from) == 0 && past_16(r.to) == 0 && (r.from_step | r.to_step | bytes) % 16 == 0) {
        copy_short_vectors(r, bytes, team, copy_vector);
        return;
    }
    copy_elements();
}

/// To shared memory; the caller commits and waits. Elements' addresses are multiples of their size.
template <int kBytes>
__device__ __forceinline__ void copy_in(const Runs& r, const Team& team) {
    const auto copy_one = [](char* to, const char* from) { copy_element_async<kBytes>(to, from); };
    copy_runs<kBytes>(
        r, team, [](char* to, const char* from) { copy_16_async(to, from); }, copy_one,
        [&] {
            if constexpr (kBytes < 4) {
                copy_small_elements<kBytes>(r, team);
            } else {
                for_each_element<kBytes>(
                    r, team, [&](int run, int at) { copy_one(r.to + run * r.to_step + at, r.from + run * r.from_step + at); });
            }
        });
}

/// From shared memory, streaming.
template <int kBytes>
__device__ __forceinline__ void copy_out(const Runs& r, const Team& team) {
    const auto copy_one = [](char* to, const char* from) {
        using Raw = typename RawOf<kBytes>::Type;
        *reinterpret_cast<Raw*>(to) = *reinterpret_cast<const Raw*>(from);
    };
    copy_runs<kBytes>(
        r, team, [](char* to, const char* from) { __stcs(reinterpret_cast<uint4*>(to), *reinterpret_cast<const uint4*>(from)); },
        copy_one,
        [&] {
            for_each_element<kBytes>(
                r, team, [&](int run, int at) { copy_one(r.to + run * r.to_step + at, r.from + run * r.from_step + at); });
        });
}

}  // namespace tapline::cuda
