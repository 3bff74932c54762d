// Drawn problems of integers with exact sums, and what the CPU's textbook makes of them: outputs bit by bit, or the error that
// names the first output that does not fit.
#pragma once

#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "support/case.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {

inline constexpr std::array<Dtype, 9> kIntegerTypes{Dtype::boolean, Dtype::i8,  Dtype::i16, Dtype::i32, Dtype::i64,
                                                    Dtype::u8,      Dtype::u16, Dtype::u32, Dtype::u64};

/// Of any layout, boundary, epilogue and type of output.
inline Problem draw_exact_problem(int rank, std::int64_t most_samples, std::int64_t most_taps, Random& random) {
    Problem p = draw_problem({.rank = rank,
                              .most_samples = most_samples,
                              .most_taps = most_taps,
                              .most_products = 200000,
                              .integers = true,
                              .layouts = chance(0.7, random)},
                             random);
    p.dtype = pick(kIntegerTypes, random);
    p.complex_taps = false;
    p.real_taps.reset();
    p.constant = p.dtype == Dtype::boolean ? 1 : 100;
    p.output_dtype.reset();
    if (chance(0.6, random)) { p.output_dtype = pick(kIntegerTypes, random); }
    if (chance(0.15, random)) { p.output_dtype = chance(0.5, random) ? Dtype::f32 : Dtype::f64; }
    p.overflow = chance(0.6, random) ? Overflow::wrap : Overflow::error;
    p.scale = 1;
    p.bias = 0;
    p.clamp.reset();
    if (chance(0.3, random)) {
        p.scale = pick(std::array<double, 6>{0.5, -3, 1.0 / 3, 1e-12, 1e10, 0x1p-40}, random);
        p.bias = pick(std::array<double, 5>{0, 0.25, -1000.125, 1e6, 1e-3}, random);
    }
    if (chance(0.25, random)) {
        p.clamp =
            pick(std::array<Clamp, 5>{Clamp{-100, 100}, Clamp{0, 255}, Clamp{0.2, 0.8}, Clamp{-0.5, 2.5}, Clamp{-1e18, HUGE_VAL}},
                 random);
    }
    return p;
}

/// Values of any size that the type holds, often its ends.
inline void fill_integers(void* data, Dtype dtype, std::int64_t count, Random& random) {
    const auto bytes = size_of(dtype);
    const int kept = static_cast<int>(between(1, 64, random));
    for (std::int64_t i = 0; i < count; ++i) {
        std::uint64_t bits = random();
        const std::int64_t kind = between(0, 11, random);
        const bool is_signed = dtype == Dtype::i8 || dtype == Dtype::i16 || dtype == Dtype::i32 || dtype == Dtype::i64;
        const std::uint64_t greatest = ~std::uint64_t{0} >> (64 - 8 * static_cast<int>(bytes) + (is_signed ? 1 : 0));
        if (kind == 0) { bits = greatest; }
        if (kind == 1) { bits = is_signed ? ~greatest : 0; }
        if (kind > 1) {
            bits = is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> (64 - kept)) : bits >> (64 - kept);
        }
        std::memcpy(static_cast<unsigned char*>(data) + static_cast<std::size_t>(i) * bytes, &bits, bytes);
    }
}

/// A case of the problem, filled.
inline Case exact_case(const Problem& p, Random& random) {
    Case c = draw_case(p, random);
    fill_integers(c.in.data(), p.dtype, input_extent(p), random);
    fill_integers(c.taps.data(), taps_dtype(p), taps_extent(p), random);
    return c;
}

/// What the textbook makes of a case.
struct ExactResult {
    std::string error;
    std::vector<std::byte> out;  ///< the whole buffer; of no use beside an error
};
inline ExactResult textbook_result(Case& c) {
    ExactResult result;
    try {
        make_plan(c.problem, c.taps.data(), {.device = "cpu", .algorithm = "textbook"}).execute(c.first_out(), c.first_in());
    } catch (const Error& error) { result.error = error.what(); }
    result.out.resize(c.out.size());
    std::memcpy(result.out.data(), c.out.data(), c.out.size());
    std::memset(c.out.data(), 0xFF, c.out.size());
    return result;
}

/// "" or how what was found in the case's buffer differs from it.
inline std::string difference(Case& c, const ExactResult& wanted, const std::string& error) {
    if (!c.out.guards_intact()) { return "wrote outside the outputs"; }
    if (error != wanted.error) { return "error: " + error + "; wanted: " + wanted.error; }
    if (!error.empty() || std::memcmp(c.out.data(), wanted.out.data(), wanted.out.size()) == 0) { return {}; }
    std::size_t at = 0;
    while (c.out.data()[at] == static_cast<unsigned char>(wanted.out[at])) { ++at; }
    return "byte " + std::to_string(at) + " of " + std::to_string(wanted.out.size()) + " differs";
}

}  // namespace tapline::test
