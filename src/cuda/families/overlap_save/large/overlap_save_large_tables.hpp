// What the kernels of large segments read besides the signal, computed in double on the host.
#pragma once

#include <algorithm>

#include "cuda/families/overlap_save/large/overlap_save_large_places.hpp"
#include "cuda/families/overlap_save/overlap_save_tables.hpp"

namespace tapline::cuda::overlap_save {

/// LargeTables.
inline std::vector<Complex> large_tables(int radix, int warps, bool is_complex, bool wide) {
    const LargeTables places(radix, warps, wide);
    std::vector<Complex> tables(static_cast<std::size_t>(places.end));
    const double phi = is_complex ? 0 : std::numbers::pi / 2;
    const auto put_pairs = [&](int first, int count, int lanes, const auto& angle_of) {
        for (int i = 0; i < count; ++i) {
            int step = 0;
            while (i >= 1 << step) { ++step; }
            const int b = i == 0 ? 0 : i - (1 << (step - 1));
            for (int lane = 0; lane < lanes; ++lane) {
                const double angle = (angle_of(lane) + 2 * std::numbers::pi * b) / (2 << step);
                tables[static_cast<std::size_t>(first + lanes * i + lane)] = {std::cos(angle), std::tan(angle)};
            }
        }
    };
    const auto put = [&](int first, const std::vector<Complex>& all) { std::copy(all.begin(), all.end(), tables.begin() + first); };
    const auto factors_of = [](int threads, int count, const auto& phi_of) {
        std::vector<Complex> factors;
        append_factors(factors, threads, count, phi_of);
        return factors;
    };
    if (places.has_fours) {
        put(places.there, factors_of(16, 8, [&](int p) { return (phi + 2 * std::numbers::pi * p) / 16; }));
        put(places.back, factors_of(16, 8, [](int q) { return 2 * std::numbers::pi * q / 16; }));
    } else {
        put_pairs(places.there, radix / 2, 32, [&](int p) { return (phi + 2 * std::numbers::pi * p) / 32; });
        put_pairs(places.back, 16, radix, [&](int q) { return 2 * std::numbers::pi * q / radix; });
    }
    put(places.rows, wide ? pairs_of_lanes() : factors_of(32, 16, [](int p) { return 2 * std::numbers::pi * p / 32; }));
    put(places.twiddles, twiddles_of(warps, true, false));
    for (int r = 0; r < 32 * radix; ++r) {
        tables[static_cast<std::size_t>(places.unturns + r)] = std::polar(1.0, -phi * r / (32 * radix));
    }
    return tables;
}

}  // namespace tapline::cuda::overlap_save
