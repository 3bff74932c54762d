#include "cpu/integer/integer_sums.hpp"

#include <algorithm>
#include <type_traits>

#include "core/problem/elements.hpp"

namespace tapline::cpu {
namespace {

// Samples of a window in the form that a level's kernel reads, then zeros up to `padded`.
template <class T>
void to_pairs(std::int32_t* window, const T* samples, std::int64_t count, std::int64_t padded) {
    const auto half = [](T sample) { return static_cast<std::uint32_t>(static_cast<std::uint16_t>(sample)); };
    for (std::int64_t i = 0; i + 1 < count; ++i) {
        window[i] = static_cast<std::int32_t>(half(samples[i]) | half(samples[i + 1]) << 16);
    }
    window[count - 1] = static_cast<std::int32_t>(half(samples[count - 1]));
    std::fill(window + count, window + padded, 0);
}

template <class To, class T>
void to_wide(To* window, const T* samples, std::int64_t count, std::int64_t padded) {
    for (std::int64_t i = 0; i < count; ++i) { window[i] = static_cast<To>(samples[i]); }
    std::fill(window + count, window + padded, To{0});
}

}  // namespace

template <class T>
IntegerSums<T>::IntegerSums(const core::Resolved& problem, const std::int64_t* taps)
    : problem_(problem), kernels_(integer_kernels(current_target())), limbs_(limb_kernels(current_target())), epilogue_(problem) {
    filters_.reserve(static_cast<std::size_t>(problem.filters));
    for (std::int64_t f = 0; f < problem.filters; ++f) {
        filters_.emplace_back(taps + f * problem.x.k, problem.x.k, problem.dtype == Dtype::u64, epilogue_.modulo_bits());
    }
}

template <class T>
std::string IntegerSums<T>::describe() const {
    const Level widest = level(0, or_bits_of(problem_.dtype));
    const Level best = level(0, 0);
    std::string text = std::string("sums in ") + to_string(widest);
    if (best != widest) { text += std::string(", or where a tile's samples are small as little as ") + to_string(best); }
    return text;
}

// The taps that meet samples: with a zero boundary, those of the signal alone. An even start keeps pairs whole.
template <class T>
typename IntegerSums<T>::TapRange IntegerSums<T>::tap_range(const Call& call, std::int64_t first, std::int64_t count) const {
    if (problem_.x.boundary != Boundary::zero) { return {0, problem_.x.k}; }
    const std::int64_t position = first - problem_.x.origin;  // of the sample that the first output's tap 0 meets
    const std::int64_t begin = std::clamp<std::int64_t>(-(position + count - 1), 0, problem_.x.k) & ~std::int64_t{1};
    const std::int64_t end =
        call.input.n == kUnknownLength ? problem_.x.k : std::clamp<std::int64_t>(call.input.n - position, begin, problem_.x.k);
    return {begin, end};
}

// Samples [first, first + count) of the extended row, count <= kIntegerWindow.
template <class T>
const T* IntegerSums<T>::samples(const Call& call, std::int64_t row, std::int64_t first, std::int64_t count) const {
    const bool is_bool = problem_.dtype == Dtype::boolean;
    if (!is_bool) {
        if (const T* view = core::direct_view<T>(call.input, row, first, count)) { return view; }
    }
    T* const gathered = reinterpret_cast<T*>(call.scratch.samples);
    core::gather<T>(gathered, problem_, call.input, row, first, count);
    if (is_bool) {  // any nonzero byte is true
        for (std::int64_t i = 0; i < count; ++i) { gathered[i] = gathered[i] != 0; }
    }
    return gathered;
}

// The level of a tile: what its samples need, where their type alone does not already allow the filter's cheapest.
template <class T>
Level IntegerSums<T>::level_of(const Call& call, const IntegerTaps& filter, std::int64_t row, std::int64_t position,
                               std::int64_t count) const {
    const Level level = filter.level(or_bits_of(problem_.dtype));
    if (level == filter.level(0)) { return level; }
    std::uint64_t bits = 0;
    for (std::int64_t i = 0; i < count; i += kIntegerWindow) {
        const std::int64_t part = std::min(kIntegerWindow, count - i);
        bits |= limbs_.of<T>().or_bits(samples(call, row, position + i, part), part);
    }
    return filter.level(bits);
}

template <class T>
void IntegerSums<T>::tile(const core::Output& output, const core::Input& input, std::int64_t row, std::int64_t first,
                          std::int64_t count, IntegerScratch& scratch, OverflowLog& log) const {
    if (log.before(row, first)) { return; }
    const Call call{output, input, scratch, log};
    const IntegerTaps& filter = filter_of(row);
    const TapRange range = tap_range(call, first, count);
    const std::int64_t position = first - problem_.x.origin + range.first;
    switch (level_of(call, filter, row, position, count - 1 + range.last - range.first)) {
        case Level::pairs16:
            return sum<Level::pairs16, std::int32_t>(call, filter, range, row, first, count);
        case Level::low32:
            return sum<Level::low32, std::int32_t>(call, filter, range, row, first, count);
        case Level::wide32:
            return sum<Level::wide32, std::int64_t>(call, filter, range, row, first, count);
        case Level::low64:
            return sum<Level::low64, std::int64_t>(call, filter, range, row, first, count);
        case Level::wide128:
            return sum<Level::wide128, core::Int128>(call, filter, range, row, first, count);
        case Level::wide192:
            return sum<Level::wide192, core::Int192>(call, filter, range, row, first, count);
    }
}

template <class T>
template <Level kLevel, class Acc>
void IntegerSums<T>::sum(const Call& call, const IntegerTaps& filter, TapRange range, std::int64_t row, std::int64_t first,
                         std::int64_t count) const {
    Acc* const sums = reinterpret_cast<Acc*>(call.scratch.sums);
    const std::int64_t outputs = (count + kOutputBlock - 1) / kOutputBlock * kOutputBlock;
    std::fill(sums, sums + outputs, Acc{});
    for (std::int64_t t = range.first; t < range.last; t += kIntegerPass) {
        const std::int64_t taps = std::min(kIntegerPass, range.last - t);
        const std::int64_t needed = count - 1 + taps;
        const T* const in = samples(call, row, first - problem_.x.origin + t, needed);
        pass<kLevel>(sums, filter, in, t, needed, outputs, taps, call.scratch);
    }
    epilogue_.store(call.output, row, first, count, sums, call.log);
}

// Adds taps [t, t + taps) to the sums. `in` holds `needed` samples.
template <class T>
template <Level kLevel, class Acc>
void IntegerSums<T>::pass(Acc* sums, const IntegerTaps& filter, const T* in, std::int64_t t, std::int64_t needed,
                          std::int64_t outputs, std::int64_t taps, IntegerScratch& scratch) const {
    auto* const narrow = reinterpret_cast<std::int32_t*>(scratch.window);
    auto* const wide = reinterpret_cast<std::int64_t*>(scratch.window);
    const std::int64_t padded = outputs + taps;
    constexpr bool kUnsigned = std::is_same_v<T, std::uint64_t>;
    if constexpr (kLevel == Level::pairs16) {
        to_pairs(narrow, in, needed, padded);
        kernels_.pairs16(sums, narrow, filter.pairs(t), outputs, (taps + 1) / 2);
    } else if constexpr (kLevel == Level::low32) {
        to_wide(narrow, in, needed, padded);
        kernels_.low32(sums, narrow, filter.narrow(t), outputs, taps);
    } else {
        to_wide(wide, in, needed, padded);
        if constexpr (kLevel == Level::wide32) { kernels_.wide32(sums, wide, filter.wide(t), outputs, taps); }
        if constexpr (kLevel == Level::low64) { kernels_.low64(sums, wide, filter.wide(t), outputs, taps); }
        if constexpr (kLevel == Level::wide128) { accumulate128(sums, wide, filter.wide(t), outputs, taps, kUnsigned); }
        if constexpr (kLevel == Level::wide192) { accumulate192(sums, wide, filter.wide(t), outputs, taps, kUnsigned); }
    }
}

#define TAPLINE_SUMS(T) template class IntegerSums<T>
TAPLINE_FOR_INTEGERS(TAPLINE_SUMS);
#undef TAPLINE_SUMS

}  // namespace tapline::cpu
