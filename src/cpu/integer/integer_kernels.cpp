// The integer kernels in Highway, compiled once for each instruction set.
#include "cpu/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/integer/integer_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/integer/integer_kernels.hpp"

// The baseline of x86 without SSE4 is plain C++ of its own (integer_kernels_scalar.cpp).
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
HWY_BEFORE_NAMESPACE();
namespace tapline::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors of outputs kept in registers while all taps pass. Each needs an unaligned load a tap, and they share the
// broadcast of the tap: with 8 the loads are 9/8 of the least possible; the sums' latency (1 to 2 cycles) is long hidden.
constexpr std::size_t kVectors = 8;

// Calls sums[v] = step(sums[v], x vector, tap vector) for every tap; tap t reads x at o + stride * t.
template <std::size_t kCount, class D, class Step, class T = hn::TFromD<D>>
HWY_INLINE void sweep(D d, T* acc, const T* x, const T* h, std::int64_t outputs, std::int64_t taps, std::int64_t stride,
                      const Step& step) {
    constexpr std::size_t kLanes = hn::MaxLanes(d);
    static_assert(kOutputBlock % (kCount * kLanes) == 0);
    for (std::int64_t o = 0; o < outputs; o += kCount * kLanes) {
        hn::Vec<D> sums[kCount];
        for (std::size_t v = 0; v < kCount; ++v) { sums[v] = hn::LoadU(d, acc + o + v * kLanes); }
        for (std::int64_t t = 0; t < taps; ++t) {
            const auto tap = hn::Set(d, h[t]);
            const T* const samples = x + o + stride * t;
            for (std::size_t v = 0; v < kCount; ++v) { sums[v] = step(sums[v], hn::LoadU(d, samples + v * kLanes), tap); }
        }
        for (std::size_t v = 0; v < kCount; ++v) { hn::StoreU(sums[v], d, acc + o + v * kLanes); }
    }
}

void pairs16(std::int32_t* acc, const std::int32_t* x, const std::int32_t* h, std::int64_t outputs, std::int64_t pairs) {
    const hn::ScalableTag<std::int32_t> d;
    sweep<kVectors>(d, acc, x, h, outputs, pairs, 2, [d](auto sum, auto samples, auto taps) {
#if HWY_ARCH_X86
        const hn::Repartition<std::int16_t, decltype(d)> d16;
        auto unused = hn::Zero(d);
        return hn::ReorderWidenMulAccumulate(d, hn::BitCast(d16, samples), hn::BitCast(d16, taps), sum, unused);  // vpmaddwd
#else
        // Elsewhere the instruction may pair other lanes; two multiplications of sign-extended halves keep the order.
        const auto low = [](auto v) { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); };
        const auto high = [](auto v) { return hn::ShiftRight<16>(v); };
        return sum + low(samples) * low(taps) + high(samples) * high(taps);
#endif
    });
}

void low32(std::int32_t* acc, const std::int32_t* x, const std::int32_t* h, std::int64_t outputs, std::int64_t taps) {
    const hn::ScalableTag<std::int32_t> d;
    sweep<kVectors>(d, acc, x, h, outputs, taps, 1, [](auto sum, auto samples, auto tap) { return sum + samples * tap; });
}

void wide32(std::int64_t* acc, const std::int64_t* x, const std::int64_t* h, std::int64_t outputs, std::int64_t taps) {
    const hn::ScalableTag<std::int64_t> d;
    const hn::Repartition<std::int32_t, decltype(d)> d32;
    sweep<kVectors>(d, acc, x, h, outputs, taps, 1, [d32](auto sum, auto samples, auto tap) {
        return sum + hn::MulEven(hn::BitCast(d32, samples), hn::BitCast(d32, tap));
    });
}

// x * h = lo(x) lo(h) + 2^32 (lo(x) hi(h) + hi(x) lo(h)) modulo 2^64, from 32 x 32 -> 64 bit products: an instruction for
// the whole product exists only in AVX-512, where it is three multiplications as well. The second sum is kept apart and
// shifted once at the end; its upper half is of no account.
void low64(std::int64_t* acc, const std::int64_t* x, const std::int64_t* h, std::int64_t outputs, std::int64_t taps) {
    const hn::ScalableTag<std::uint64_t> d;
    const hn::Repartition<std::uint32_t, decltype(d)> d32;
    constexpr std::size_t kLanes = hn::MaxLanes(d);
    constexpr std::size_t kCount = 4;  // two sums each
    auto* const out = reinterpret_cast<std::uint64_t*>(acc);
    const auto* const in = reinterpret_cast<const std::uint64_t*>(x);
    const auto multiply = [d32](auto a, auto b) { return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b)); };
    for (std::int64_t o = 0; o < outputs; o += kCount * kLanes) {
        hn::Vec<decltype(d)> sums[kCount], upper[kCount];
        for (std::size_t v = 0; v < kCount; ++v) {
            sums[v] = hn::LoadU(d, out + o + v * kLanes);
            upper[v] = hn::Zero(d);
        }
        for (std::int64_t t = 0; t < taps; ++t) {
            const auto tap = hn::Set(d, static_cast<std::uint64_t>(h[t]));
            const auto tap_high = hn::ShiftRight<32>(tap);
            for (std::size_t v = 0; v < kCount; ++v) {
                const auto samples = hn::LoadU(d, in + o + t + v * kLanes);
                sums[v] = sums[v] + multiply(samples, tap);
                upper[v] = upper[v] + multiply(samples, tap_high) + multiply(hn::ShiftRight<32>(samples), tap);
            }
        }
        for (std::size_t v = 0; v < kCount; ++v) { hn::StoreU(sums[v] + hn::ShiftLeft<32>(upper[v]), d, out + o + v * kLanes); }
    }
}

}  // namespace

const IntegerKernels& kernels() {
    static constexpr IntegerKernels kKernels = {pairs16, low32, wide32, low64};
    return kKernels;
}

}  // namespace tapline::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace tapline::cpu {

const IntegerKernels& integer_kernels(Target target) { TAPLINE_RETURN_TABLE_OF(target, kernels, integer_kernels_scalar()) }

}  // namespace tapline::cpu
#endif
