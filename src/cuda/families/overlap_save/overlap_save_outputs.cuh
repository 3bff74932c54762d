// Where a segment's outputs go from a thread's registers: to the signal's output or to sums for the filter's next part, fast where
// they lie side by side, one by one elsewhere, and computed directly where the transform was not finite.
#pragma once

#include <type_traits>

#include "cuda/families/overlap_save/overlap_save.hpp"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/epilogue.cuh"
#include "cuda/primitives/segment.cuh"
#include "cuda/primitives/widened.cuh"

namespace tapline::cuda::overlap_save {

/// A finished value with the output's type and stride.
template <class S, class X>
__device__ __forceinline__ void store_anywhere(const Arguments& a, S* out, std::int64_t at, X value) {
    if (a.converts) {
        store_converted(a, out, at, value);
    } else {
        store_element(out + at, Element<S>::narrow(value));
    }
}

/// Stores past the first-level cache, where outputs would take the place of what segments share: spectra of a block's rows, (64,
/// 768, 4096) bf16 831 us instead of 846, or pairs of 16 warps, 8,191 taps and 2^28 samples 1,082 us instead of 1,100.
template <class S>
__device__ __forceinline__ void store_past(S* to, const S& value) {
    if constexpr (sizeof(S) == 2) {
        std::uint16_t bits;
        memcpy(&bits, &value, 2);
        asm volatile("st.global.L1::no_allocate.b16 [%0], %1;" ::"l"(to), "h"(bits) : "memory");
    } else if constexpr (sizeof(S) == 4) {
        std::uint32_t bits;
        memcpy(&bits, &value, 4);
        asm volatile("st.global.L1::no_allocate.b32 [%0], %1;" ::"l"(to), "r"(bits) : "memory");
    } else {
        static_assert(sizeof(S) == 8);
        std::uint64_t bits;
        memcpy(&bits, &value, 8);
        asm volatile("st.global.L1::no_allocate.b64 [%0], %1;" ::"l"(to), "l"(bits) : "memory");
    }
}

/// Reads past the first-level cache, which samples that are read once would fill: 65,535 taps and 2^28 samples 1,479 us instead of
/// 1,504.
__device__ __forceinline__ std::uint32_t load_past(const std::uint32_t* from) {
    std::uint32_t x;
    asm volatile("ld.global.L1::no_allocate.b32 %0, [%1];" : "=r"(x) : "l"(from));
    return x;
}
__device__ __forceinline__ uint2 load_past(const uint2* from) {
    uint2 x;
    asm volatile("ld.global.L1::no_allocate.v2.b32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(from));
    return x;
}
__device__ __forceinline__ uint4 load_past(const uint4* from) {
    uint4 x;
    asm volatile("ld.global.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "l"(from));
    return x;
}

/// Two neighbouring samples or outputs, read or written past the cache.
template <class S>
using StreamedPair = std::conditional_t<sizeof(S) == 2, std::uint32_t, std::conditional_t<sizeof(S) == 4, uint2, uint4>>;
template <class S>
__device__ __forceinline__ void load_pair(const S* from, S (&two)[2]) {
#if defined(__CUDA_ARCH__)
    const auto pair = load_past(reinterpret_cast<const StreamedPair<S>*>(from));
#else
    const auto pair = *reinterpret_cast<const StreamedPair<S>*>(from);
#endif
    static_assert(sizeof pair == sizeof two);
    memcpy(two, &pair, sizeof pair);
}
template <class S>
__device__ __forceinline__ void store_pair(S* to, const S (&two)[2]) {
    StreamedPair<S> pair;
    memcpy(&pair, two, sizeof pair);
    __stcs(reinterpret_cast<StreamedPair<S>*>(to), pair);
}

/// What is computed from these afterwards is not known before: else the compiler computes the constant parts of addresses before
/// all segments and keeps them in local memory.
template <class P>
__device__ __forceinline__ void hide(P*& pointer, int& number) {
    asm volatile("" : "+l"(pointer), "+r"(number));
}

/// The thread's number as one that is not known from before, for the same reason.
__device__ __forceinline__ int thread_anew() {
    int thread = static_cast<int>(threadIdx.x);
    asm volatile("" : "+r"(thread));
    return thread;
}

/// The sum of output o of a row, directly: what a transform would spread, a NaN or an overflow, stays where it belongs.
template <class S, class H>
__device__ __noinline__ typename Element<S>::Sum direct_sum(const Arguments& a, const Segments& g, std::int64_t row,
                                                            std::int64_t o) {
    const S* in = static_cast<const S*>(a.in) + row * a.in_row;
    const std::int64_t filter = g.filters == 0 ? row : (g.first_filter + row) % g.filters;
    const H* taps = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + filter * a.taps_row_bytes);
    if (a.boundary == kZero) { return exact_sum<S, H>(a, in, taps, a.first + o, 0, a.k); }
    typename Element<S>::Sum sum{};
#pragma unroll 1
    for (std::int64_t t = 0; t < a.k; ++t) {
        multiply_add(sum, Element<S>::widen(sample(a, in, a.first + o - a.origin + t)), taps[t]);
    }
    return sum;
}

/// As Division, of a segment that a cluster's blocks share: a thread has every 32 kWarps-th point.
template <int kWarps>
struct SharedDivision {
    static constexpr int kSpan = 32 * kWarps;
    static __device__ constexpr int offset(int u) { return kSpan * u; }
    static __device__ constexpr int held(int u) { return fft::reversed(u, 5); }
    static __device__ constexpr int staged(int /*stages*/, int /*stage*/, int v) { return v; }
};

/// A thread's outputs of one segment: output mine + Parts::offset(u), u < 32, is register Parts::held(u); those of a real segment
/// are its 32 real parts, and kM outputs on its 32 imaginary ones. `wanted` of the segment exist. kBlocks blocks share a segment:
/// each has shared memory for the points of its own threads.
template <class S, int kWarps, int kBlocks = 1>
struct SegmentOutputs {
    using T = typename Element<S>::Real;
    using Sum = typename Element<S>::Sum;
    static constexpr bool kComplex = kIsComplexElement<S>;
    using Parts = std::conditional_t<kBlocks == 1, Division<kWarps, kComplex>, SharedDivision<kWarps>>;
    static constexpr int kM = kPoints * kWarps;
    static constexpr bool kSums = kBlocks == 1 && kWarps >= kLeastWarpsOfParts;  // else none go in or out
    static constexpr int kStages = kBlocks == 1 ? Shape<T, kWarps>::kStages : 1;
    static constexpr int kOfStage = 32 / kStages;
    static constexpr bool kPastFirstLevel = kBlocks == 1 && !Shape<T, kWarps>::kPairsInShared && sizeof(S) <= 8;

    const Arguments& a;
    const Segments& g;
    std::int64_t row, first_output;
    int wanted, thread, mine;

    [[nodiscard]] __device__ __forceinline__ bool keeps_sums() const { return kSums && g.sums_out != nullptr; }

    /// body(sum, register, whether it is its imaginary part) for those of the stage's outputs that are wanted.
    template <int kStage, class Body>
    __device__ __forceinline__ void for_sums(void* all, const Body& body) const {
        Sum* sums = static_cast<Sum*>(all) + (row * g.sums_row + first_output + mine);
        int left = wanted - mine;
        hide(sums, left);
        fft::for_each_index<0, kOfStage>([&](auto output) {
            constexpr int u = Parts::staged(kStages, kStage, decltype(output)::value);
            constexpr int r = Parts::held(u);
            if (left > Parts::offset(u)) { body(sums[Parts::offset(u)], r, false); }
            if (!kComplex && left > Parts::offset(u) + kM) { body(sums[Parts::offset(u) + kM], r, true); }
        });
    }
    /// Of the filter's parts before.
    template <int kStage = 0>
    __device__ __forceinline__ void add_sums(T* re, T* im) const {
        if (!kSums || g.sums_in == nullptr) { return; }
        for_sums<kStage>(g.sums_in, [&](const Sum& sum, int r, bool imaginary) {
            if constexpr (kComplex) {
                re[r] += sum.x;
                im[r] += sum.y;
            } else {
                (imaginary ? im[r] : re[r]) += sum;
            }
        });
    }
    /// For the filter's part after.
    template <int kStage = 0>
    __device__ __forceinline__ void keep_sums(const T* re, const T* im) const {
        for_sums<kStage>(g.sums_out, [&](Sum& sum, int r, bool imaginary) {
            if constexpr (kComplex) {
                sum = Sum{re[r], im[r]};
            } else {
                sum = imaginary ? im[r] : re[r];
            }
        });
    }

    /// finish() of a stage, its numbers converted once.
    template <int kStage = 0>
    __device__ __forceinline__ void finish_all(T* re, T* im) const {
        const T scale = static_cast<T>(a.scale);
        const T bias = static_cast<T>(a.bias);
        const T low = a.has_clamp && !kComplex ? static_cast<T>(a.low) : -INFINITY;
        const T high = a.has_clamp && !kComplex ? static_cast<T>(a.high) : INFINITY;
        fft::for_each_index<0, kOfStage>([&](auto output) {
            constexpr int r = Parts::held(Parts::staged(kStages, kStage, decltype(output)::value));
            re[r] = clamp_pass_nan(re[r] * scale + bias, low, high);
            im[r] = clamp_pass_nan(im[r] * scale + (kComplex ? 0 : bias), low, high);
        });
    }

    /// A stage's outputs side by side, of the signal's type. Registers go in groups, of which at most one a part is not whole.
    template <int kStage = 0>
    __device__ __forceinline__ void store_plain(const T* re, const T* im) const {
        constexpr int kGroup = 8;
        S* out = static_cast<S*>(a.out) + row * a.out_row + first_output + mine;
        int left = (keeps_sums() ? 0 : wanted) - mine;
        hide(out, left);
        const int left_of_all = left + thread % Parts::kSpan;
        const auto store_part = [&](auto part, auto value_of) {
            fft::for_each_index<0, kOfStage / kGroup>([&](auto group) {
                constexpr int kFrom = decltype(part)::value;
                constexpr int kFirst = decltype(group)::value * kGroup;
                constexpr int kEnd = kFirst + kGroup;
                if (left_of_all >= kFrom + Parts::offset(Parts::staged(kStages, kStage, kEnd - 1)) + Parts::kSpan) {
                    fft::for_each_index<kFirst, kEnd>([&](auto output) {
                        constexpr int u = Parts::staged(kStages, kStage, decltype(output)::value);
                        constexpr int r = Parts::held(u);
                        constexpr int kAt = kFrom + Parts::offset(u);
                        store_output(out + kAt, Element<S>::narrow(value_of(r)));
                    });
                } else if (left_of_all > kFrom + Parts::offset(Parts::staged(kStages, kStage, kFirst))) {
                    fft::for_each_index<kFirst, kEnd>([&](auto output) {
                        constexpr int u = Parts::staged(kStages, kStage, decltype(output)::value);
                        constexpr int r = Parts::held(u);
                        constexpr int kAt = kFrom + Parts::offset(u);
                        if (left > kAt) { store_output(out + kAt, Element<S>::narrow(value_of(r))); }
                    });
                }
            });
        };
        if constexpr (kComplex) {
            store_part(std::integral_constant<int, 0>{}, [&](int r) { return Sum{re[r], im[r]}; });
        } else {
            store_part(std::integral_constant<int, 0>{}, [&](int r) { return re[r]; });
            store_part(std::integral_constant<int, kM>{}, [&](int r) { return im[r]; });
        }
    }

    /// A stage's outputs, those that are not wanted too: place_at(offset) is that of output mine + offset.
    template <int kStage, class PlaceAt>
    __device__ __forceinline__ void put(const T* re, const T* im, const PlaceAt& place_at) const {
        fft::for_each_index<0, kOfStage>([&](auto output) {
            constexpr int u = Parts::staged(kStages, kStage, decltype(output)::value);
            constexpr int r = Parts::held(u);
            if constexpr (kComplex) {
                place_at(Parts::offset(u)) = S{re[r], im[r]};
            } else {
                place_at(Parts::offset(u)) = re[r];
                place_at(Parts::offset(u) + kM) = im[r];
            }
        });
    }
    /// body(offset) for those of outputs mine + offset that are wanted, one after the other.
    template <class Body>
    __device__ __forceinline__ void for_wanted(const Body& body) const {
#pragma unroll 1
        for (int u = 0; u < (kComplex ? 32 : 64); ++u) {
            const int offset = Parts::offset(u % 32) + (u < 32 ? 0 : kM);
            if (mine + offset < wanted) { body(offset); }
        }
    }
    /// The same of the thread's outputs summed directly, sum_of_output(o), which may be sums for the filter's part after.
    template <class SumOf, class PlaceAt>
    __device__ __forceinline__ void repair_into(const SumOf& sum_of_output, const PlaceAt& place_at) const {
        for_wanted([&](int offset) {
            const int at = mine + offset;
            Sum sum = sum_of_output(first_output + at);
            const std::int64_t sums_at = row * g.sums_row + first_output + at;
            if (kSums && g.sums_in != nullptr) { multiply_add(sum, static_cast<const Sum*>(g.sums_in)[sums_at], T{1}); }
            if (keeps_sums()) {
                static_cast<Sum*>(g.sums_out)[sums_at] = sum;
            } else {
                place_at(offset) = finish(a, sum);
            }
        });
    }

    /// The thread's own in `points`, where the calls for each output find them: nothing is in registers then.
    template <class P>
    __device__ __forceinline__ void to_shared(P* points, const T* re, const T* im) const {
        fft::for_each_index<0, 32>([&](auto output) {
            constexpr int u = decltype(output)::value;
            constexpr int r = Parts::held(u);
            points[kept_at(u)] = P{re[r], im[r]};
        });
        __syncwarp();
    }
    /// One by one: from `points`, or directly if the segment is to be repaired.
    template <class P>
    __device__ __forceinline__ void store_slowly(const P* points, bool repair) const {
#pragma unroll 1
        for (int u = 0; u < (kComplex ? 32 : 64); ++u) {
            const int at = mine + Parts::offset(u % 32) + (u < 32 ? 0 : kM);
            if (at >= wanted) { continue; }
            if (repair) {
                store_repaired(at);
            } else if (!keeps_sums()) {
                if constexpr (kComplex) {
                    store_anywhere(a, static_cast<S*>(a.out), place_of(at), points[kept_at(u)]);
                } else {
                    const P p = points[kept_at(u % 32)];
                    store_anywhere(a, static_cast<S*>(a.out), place_of(at), u < 32 ? p.x : p.y);
                }
            }
        }
    }

private:
    static __device__ __forceinline__ void store_output(S* to, const S& value) {
        if constexpr (kIsWidened<S>) {
            store_widened(to, value);
        } else if constexpr (kPastFirstLevel) {
            store_past(to, value);
        } else {
            __stcs(to, value);
        }
    }
    [[nodiscard]] __device__ __forceinline__ int kept_at(int u) const {
        return kBlocks == 1 ? mine + Parts::offset(u) : static_cast<int>(threadIdx.x) + 32 * kWarps / kBlocks * u;
    }
    [[nodiscard]] __device__ __forceinline__ std::int64_t place_of(int at) const {
        return row * a.out_row + (first_output + at) * a.out_sample;
    }
    [[nodiscard]] __device__ __forceinline__ Sum sum_of(int at) const {
        if constexpr (kComplex) {
            if (!g.real_taps) { return direct_sum<S, S>(a, g, row, first_output + at); }
        }
        return direct_sum<S, T>(a, g, row, first_output + at);
    }
    __device__ __forceinline__ void store_repaired(int at) const {
        Sum sum = sum_of(at);
        const std::int64_t sums_at = row * g.sums_row + first_output + at;
        if (kSums && g.sums_in != nullptr) { multiply_add(sum, static_cast<const Sum*>(g.sums_in)[sums_at], T{1}); }
        if (keeps_sums()) {
            static_cast<Sum*>(g.sums_out)[sums_at] = sum;
        } else {
            store_anywhere(a, static_cast<S*>(a.out), place_of(at), finish(a, sum));
        }
    }
};

}  // namespace tapline::cuda::overlap_save
