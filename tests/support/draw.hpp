// Draws problems: awkward sizes x modes x boundaries x types x strides.
#pragma once

#include <array>
#include <string>

#include "support/buffers.hpp"
#include "tapline/problem.hpp"

namespace tapline::test {

template <class Container>
auto pick(const Container& from, Random& random) {
    return from[std::uniform_int_distribution<std::size_t>(0, std::size(from) - 1)(random)];
}

inline bool chance(double probability, Random& random) { return std::bernoulli_distribution(probability)(random); }

inline std::int64_t between(std::int64_t low, std::int64_t high, Random& random) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

/// Mostly sizes next to those where code changes its path: vectors, tiles, powers of two; otherwise anything up to `most`.
inline std::int64_t awkward_size(std::int64_t most, Random& random) {
    static constexpr std::array<std::int64_t, 26> kSizes{1,  2,  3,  4,  5,  7,   8,   9,   15,  16,  17,  31,  32,
                                                         33, 47, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 511};
    const std::int64_t size = chance(0.75, random) ? pick(kSizes, random) : between(1, most, random);
    return std::min(size, most);
}

inline void draw_layout(Problem& problem, Random& random) {
    const std::int64_t m = output_length(problem);
    if (chance(0.25, random)) {  // interleaved, as audio is
        problem.input_row_stride = 1;
        problem.input_sample_stride = problem.batch + (chance(0.5, random) ? 0 : between(0, 3, random));
    } else if (chance(0.3, random)) {
        problem.input_sample_stride = between(1, 3, random);
        problem.input_row_stride = problem.length * problem.input_sample_stride + between(0, 5, random);
    }
    if (chance(0.25, random)) {
        problem.output_row_stride = 1;
        problem.output_sample_stride = problem.batch + (chance(0.5, random) ? 0 : between(0, 3, random));
    } else if (chance(0.3, random)) {
        problem.output_sample_stride = between(1, 3, random);
        problem.output_row_stride = m * problem.output_sample_stride + between(0, 5, random);
    }
    if (chance(0.2, random)) { problem.taps_row_stride = problem.taps + between(0, 4, random); }
}

inline void draw_epilogue(Problem& problem, Random& random) {
    if (chance(0.5, random)) { problem.scale = std::normal_distribution<double>(0, 2)(random); }
    if (chance(0.5, random)) { problem.bias = std::normal_distribution<double>(0, 2)(random); }
    if (!is_complex(problem.dtype) && chance(0.5, random)) {
        problem.clamp = Clamp{chance(0.2, random) ? -HUGE_VAL : -2.5, chance(0.2, random) ? HUGE_VAL : 3.0};
    }
}

/// A valid floating-point problem with at most `most_samples` samples in a row and `most_taps` taps.
inline Problem draw_problem(std::int64_t most_samples, std::int64_t most_taps, Random& random) {
    static constexpr std::array<Dtype, 6> kDtypes{Dtype::f32, Dtype::f32,       Dtype::f64,
                                                  Dtype::f64, Dtype::complex64, Dtype::complex128};
    static constexpr std::array<Dtype, 11> kOutputs{Dtype::f32, Dtype::f64, Dtype::boolean, Dtype::i8,  Dtype::i16, Dtype::i32,
                                                    Dtype::i64, Dtype::u8,  Dtype::u16,     Dtype::u32, Dtype::u64};
    Problem problem;
    problem.length = awkward_size(most_samples, random);
    problem.taps = chance(0.1, random) ? problem.length : awkward_size(most_taps, random);
    problem.batch = chance(0.6, random) ? 1 : between(2, 5, random);
    problem.filters = chance(0.3, random) ? Filters::per_row : Filters::shared;
    if (problem.filters == Filters::per_row && problem.batch % 2 == 0 && chance(0.5, random)) {
        problem.filter_count = problem.batch / 2;
    }
    problem.mode = static_cast<Mode>(between(0, 4, random));
    if (problem.mode == Mode::valid && problem.taps > problem.length) { std::swap(problem.taps, problem.length); }
    problem.boundary = static_cast<Boundary>(between(0, 5, random));
    problem.dtype = pick(kDtypes, random);
    problem.complex_taps = is_complex(problem.dtype) && chance(0.5, random);
    if (problem.boundary == Boundary::constant) {
        problem.constant = {std::normal_distribution<double>()(random), is_complex(problem.dtype) ? 0.5 : 0.0};
    }
    if (chance(0.25, random)) { problem.origin = between(-problem.taps - 3, 2 * problem.taps + 3, random); }
    problem.operation = chance(0.5, random) ? Operation::convolution : Operation::correlation;
    if (!is_complex(problem.dtype) && chance(0.1, random)) { problem.output_dtype = pick(kOutputs, random); }
    draw_layout(problem, random);
    if (chance(0.25, random)) { draw_epilogue(problem, random); }
    return problem;
}

/// For messages: every field that is not its default.
inline std::string describe(const Problem& p) {
    std::string text = "length " + std::to_string(p.length) + ", taps " + std::to_string(p.taps) + ", batch " +
                       std::to_string(p.batch) + " " + to_string(p.filters) +
                       (p.filter_count != 0 ? " " + std::to_string(p.filter_count) : std::string()) + ", " + to_string(p.mode) +
                       " " + to_string(p.operation) + ", boundary " + to_string(p.boundary) + ", " + to_string(p.dtype) +
                       (p.complex_taps ? " complex taps" : "") + " -> " + to_string(output_dtype(p));
    if (p.origin) { text += ", origin " + std::to_string(*p.origin); }
    text += ", strides in " + std::to_string(p.input_row_stride) + "," + std::to_string(p.input_sample_stride) + " out " +
            std::to_string(p.output_row_stride) + "," + std::to_string(p.output_sample_stride) + " taps " +
            std::to_string(p.taps_row_stride);
    text += ", scale " + std::to_string(p.scale) + ", bias " + std::to_string(p.bias);
    if (p.clamp) { text += ", clamp " + std::to_string(p.clamp->low) + "," + std::to_string(p.clamp->high); }
    return text;
}

}  // namespace tapline::test
