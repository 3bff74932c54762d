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

}  // namespace

int TapsFacts::rank() const {
    int largest = 0;
    for (const SeparableMask& mask : separable) {
        if (mask.rank == 0) { return 0; }
        largest = std::max(largest, mask.rank);
    }
    return largest;
}

TapsFacts facts_of(const Resolved& problem, const void* taps) {
    TapsFacts facts;
    if (taps == nullptr || is_integer(problem.taps_dtype)) { return facts; }
    const bool is_single = real_part_of(problem.taps_dtype) == Dtype::f32;
    const std::int64_t reals = problem.filters * problem.taps() * (is_complex(problem.taps_dtype) ? 2 : 1);
    facts.finite = is_single ? all_finite<float>(taps, reals) : all_finite<double>(taps, reals);
    if (!facts.finite) { return facts; }
    facts.narrow = problem.rank == 1 && is_half(problem.dtype) && problem.filters == 1 && are_narrow(problem, taps);
    if (problem.rank == 2) { facts.separable = separable_masks(problem, taps); }
    return facts;
}

}  // namespace tapline::core
