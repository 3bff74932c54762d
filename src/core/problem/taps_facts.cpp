#include "core/problem/taps_facts.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/problem/elements.hpp"
#include "core/problem/half.hpp"

namespace tapline::core {
namespace {

bool are_f16(std::span<const float> taps) {
    float largest = 0;
    for (const float tap : taps) { largest = std::max(largest, std::fabs(tap)); }
    // As the kernels scale them (tensor::kTopExponent), whose factor is a float.
    constexpr int kTopExponent = 14;
    constexpr int kLeastExponent = kTopExponent - 126;
    const int shift = kTopExponent - (largest > 0 ? std::max(std::ilogb(largest), kLeastExponent) : kLeastExponent);
    return std::all_of(taps.begin(), taps.end(), [&](float tap) {
        const float scaled = std::ldexp(tap, shift);
        return from_f16(to_f16(scaled)) == scaled;
    });
}

bool are_narrow(const Resolved& problem, const void* taps) {
    const std::span all(static_cast<const float*>(taps), static_cast<std::size_t>(problem.x.k));
    if (problem.dtype == Dtype::f16) { return are_f16(all); }
    return std::all_of(all.begin(), all.end(), [](float tap) { return from_bf16(to_bf16(tap)) == tap; });
}

template <class T>
bool all_finite(const void* values, std::int64_t count) {
    const T* v = static_cast<const T*>(values);
    return std::all_of(v, v + count, [](T value) { return std::isfinite(value); });
}

template <class T>
bool are_equal(const Resolved& problem, const void* values) {
    const T* v = static_cast<const T*>(values);
    const std::int64_t taps = problem.taps();
    for (std::int64_t f = 0; f < problem.filters; ++f, v += taps) {
        if (!std::all_of(v, v + taps, [&](T value) { return value == *v; })) { return false; }
    }
    return true;
}

std::vector<SeparableMask> separable_masks(const Resolved& r, const void* taps) {
    std::vector<SeparableMask> masks(static_cast<std::size_t>(r.filters));
    if (is_complex(r.taps_dtype) || r.y.k == 1 || r.x.k == 1) { return masks; }
    const auto bytes = static_cast<std::size_t>(r.taps()) * size_of(r.taps_dtype);
    for (std::size_t mask = 0; mask < masks.size(); ++mask) {
        masks[mask] = separate(static_cast<const std::byte*>(taps) + mask * bytes, r.y.k, r.x.k, r.taps_dtype);
        if (masks[mask].rank == 0) { break; }
    }
    return masks;
}

void note_magnitudes(TapsFacts& facts, const Resolved& r, const std::int64_t* taps) {
    constexpr double kRoundedUp = 1 + 1e-6;  // the sums have 2^33 terms at most, each rounded to 2^-53
    const auto not_less = [](double sum) { return sum < 0x1p53 ? sum : sum * kRoundedUp; };  // below it is exact
    facts.has_negative_tap = false;
    for (std::int64_t f = 0; f < r.filters; ++f) {
        double sum = 0, squares = 0;
        for (std::int64_t t = f * r.taps(); t < (f + 1) * r.taps(); ++t) {
            const bool is_unsigned = r.taps_dtype == Dtype::u64;
            const double tap =
                is_unsigned ? static_cast<double>(static_cast<std::uint64_t>(taps[t])) : static_cast<double>(taps[t]);
            const double magnitude = std::abs(tap);
            facts.has_negative_tap = facts.has_negative_tap || tap < 0;
            facts.largest_tap = std::max(facts.largest_tap, magnitude);
            sum += magnitude;
            squares += magnitude * magnitude;
        }
        facts.sum_of_taps = std::max(facts.sum_of_taps, not_less(sum));
        facts.norm_of_taps = std::max(facts.norm_of_taps, std::sqrt(squares) * kRoundedUp);
    }
}

void note_any_taps(TapsFacts& facts, const Resolved& r) {
    const auto taps = static_cast<double>(r.taps());
    facts.largest_tap = std::ldexp(1.0, r.taps_dtype == Dtype::u64 ? 64 : 63);
    facts.sum_of_taps = facts.largest_tap * taps;
    facts.norm_of_taps = facts.largest_tap * std::sqrt(taps);
}

}  // namespace

int TapsFacts::rank() const {
    int largest = 0;
    for (const SeparableMask& mask : separable) {
        if (mask.rank == 0) { return 0; }
        largest = std::max(largest, mask.rank);
    }
    return largest;
}

int TapsFacts::bits_of_taps() const {
    if (sum_of_taps == 0) { return kUnknownBits; }
    return std::min(static_cast<int>(std::ceil(std::log2(sum_of_taps))), kUnknownBits);
}

int TapsFacts::bits_of_tap() const {
    if (largest_tap == 0) { return kUnknownBits; }
    return static_cast<int>(std::floor(std::log2(largest_tap))) + 1;
}

TapsFacts facts_of(const Resolved& problem, const void* taps) {
    TapsFacts facts;
    if (taps == nullptr) {
        if (problem.is_exact()) { note_any_taps(facts, problem); }
        return facts;
    }
    if (is_integer(problem.taps_dtype)) {
        note_magnitudes(facts, problem, static_cast<const std::int64_t*>(taps));
        return facts;
    }
    const bool is_single = real_part_of(problem.taps_dtype) == Dtype::f32;
    const std::int64_t reals = problem.filters * problem.taps() * (is_complex(problem.taps_dtype) ? 2 : 1);
    facts.finite = is_single ? all_finite<float>(taps, reals) : all_finite<double>(taps, reals);
    if (!facts.finite) { return facts; }
    facts.narrow = problem.rank == 1 && is_half(problem.dtype) && problem.filters == 1 && are_narrow(problem, taps);
    if (problem.rank <= 2 && !is_complex(problem.taps_dtype)) {
        facts.equal = is_single ? are_equal<float>(problem, taps) : are_equal<double>(problem, taps);
    }
    if (problem.rank == 2) { facts.separable = separable_masks(problem, taps); }
    return facts;
}

}  // namespace tapline::core
