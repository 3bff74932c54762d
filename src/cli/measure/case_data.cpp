#include "cli/measure/case_data.hpp"

#include <cmath>

#include "cli/measure/problems.hpp"
#include "cli/measure/random.hpp"
#include "core/problem/half.hpp"

namespace tapline::cli {
namespace {

// Integers of 7 bits: sums of 2^48 products stay within 63.
template <class T>
T random_element(Random& random) {
    if constexpr (kIsComplex<T>) {
        using Real = typename T::value_type;
        const auto real = static_cast<Real>(random.uniform());
        return T(real, static_cast<Real>(random.uniform()));
    } else if constexpr (std::is_floating_point_v<T>) {
        return static_cast<T>(random.uniform());
    } else if constexpr (std::is_same_v<T, bool>) {
        return (random.bits() >> 63) != 0;
    } else if constexpr (std::is_unsigned_v<T>) {
        return static_cast<T>(random.bits() >> 57);
    } else {
        return static_cast<T>(static_cast<std::int64_t>(random.bits() >> 57) - 64);
    }
}

Bytes random_bytes(Dtype dtype, std::int64_t count, std::uint64_t seed) {
    Bytes bytes(static_cast<std::size_t>(count) * size_of(dtype));
    in_pieces(count, [&](std::int64_t first, std::int64_t last) {
        Random random(seed + (static_cast<std::uint64_t>(first) << 12));
        if (core::is_half(dtype)) {
            auto* elements = reinterpret_cast<std::uint16_t*>(bytes.data());
            for (std::int64_t i = first; i < last; ++i) {
                elements[i] = dtype == Dtype::f16 ? core::to_f16(random.uniform()) : core::to_bf16(random.uniform());
            }
            return;
        }
        visit_dtype(dtype, [&]<class T>(T) {
            auto* elements = reinterpret_cast<T*>(bytes.data());
            for (std::int64_t i = first; i < last; ++i) { elements[i] = random_element<T>(random); }
        });
    });
    return bytes;
}

// Positive taps whose sum is 1, as those of a blur: what is rounded to integers then uses their whole range. The first row and the
// first column are the factors of a separable mask.
template <class T>
void make_blur(T* taps, const ImageSize& mask, bool separable) {
    double sum = 0;
    std::vector<double> values(static_cast<std::size_t>(mask.height * mask.width));
    for (std::int64_t i = 0; i < mask.height * mask.width; ++i) {
        double& value = values[static_cast<std::size_t>(i)];
        value =
            std::abs(separable ? static_cast<double>(taps[i % mask.width]) * static_cast<double>(taps[i / mask.width * mask.width])
                               : static_cast<double>(taps[i]));
        sum += value;
    }
    for (std::int64_t i = 0; i < mask.height * mask.width; ++i) {
        taps[i] = static_cast<T>(values[static_cast<std::size_t>(i)] / sum);
    }
}

void round_taps(float* taps, std::int64_t count, Dtype dtype) {
    for (std::int64_t i = 0; i < count; ++i) {
        taps[i] = dtype == Dtype::f16 ? core::from_f16(core::to_f16(taps[i])) : core::from_bf16(core::to_bf16(taps[i]));
    }
}

}  // namespace

CaseData make_case_data(const Problem& problem, const DataOptions& options) {
    CaseData data;
    data.signal = random_bytes(problem.dtype, input_extent(problem), 1);
    data.taps = random_bytes(taps_dtype(problem), taps_extent(problem), 2);
    data.output = Bytes(static_cast<std::size_t>(output_extent(problem)) * size_of(output_dtype(problem)));
    if (is_image(problem) && !problem.complex_taps) {
        visit_dtype(taps_dtype(problem), [&]<class T>(T) {
            if constexpr (std::is_floating_point_v<T>) {
                make_blur(reinterpret_cast<T*>(data.taps.data()), image_sizes(problem).mask, options.separable);
            }
        });
    }
    if (options.rounded_taps) { round_taps(reinterpret_cast<float*>(data.taps.data()), taps_extent(problem), problem.dtype); }
    if (options.with_copy) {
        data.copied = Bytes(data.signal.size());
        std::memset(data.copied.data(), 0xFF, data.copied.size());
    }
    return data;
}

}  // namespace tapline::cli
