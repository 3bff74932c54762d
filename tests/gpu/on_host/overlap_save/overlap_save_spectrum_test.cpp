// Spectra of many filters, the kernel that makes them by warps run on the host, against their polynomials' values in double.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::overlap_save {
alignas(128) float4 spectra_shared[test::on_host::kSharedBytes / sizeof(float4)];
}
#include "cuda/families/overlap_save/overlap_save_spectrum_warps.cuh"
#include "support/buffers.hpp"
#include "support/draw.hpp"

namespace tapline::test {
namespace {

using namespace cuda::overlap_save;
using Complex = std::complex<double>;

struct Case {
    int runs, k, skip;
    bool is_complex, real_taps;
    int filters = 3;
    SpectrumOrder order = SpectrumOrder::plain;
    bool for_block = false;
    int lags = 0, origin = 0;
};

Complex turn(double angle) { return std::polar(1.0, angle); }

Complex tap_of(const Case& c, const std::vector<float>& taps, int filter, int t) {
    const int parts = c.real_taps ? 1 : 2;
    const std::size_t at = static_cast<std::size_t>((filter * c.k + t) * parts);
    return {taps[at], parts == 2 ? -taps[at + 1] : 0};
}

// What a spectrum has for run N and frequency f: P(e^(i theta) e^(-2 pi i f/1024)) / M.
Complex value_of(const Case& c, const std::vector<float>& taps, int spectrum, int number, int f) {
    const double points = 1024.0 * c.runs;
    const double angle = ((c.is_complex ? 0 : std::numbers::pi / 2) + 2 * std::numbers::pi * number) / points;
    const double root = angle - 2 * std::numbers::pi * f / 1024;
    Complex sum;
    const int filter = c.lags > 0 ? spectrum / c.lags : spectrum;
    for (int t = 0; t < c.k; ++t) {
        const double power = c.lags > 0 ? c.origin - t - spectrum % c.lags * points : t + c.skip;
        if (c.lags > 1 && power >= points) { continue; }
        sum += tap_of(c, taps, filter, t) * turn(root * power);
    }
    return sum / points;
}

Complex value_at(const float2& stored, bool is_tangent) {
    return is_tangent ? Complex(stored.x, double{stored.x} * double{stored.y}) : Complex(stored.x, stored.y);
}

template <int kRuns>
void expect_right(const Case& c, std::uint64_t seed) {
    on_host::add_kernel(&spectra_by_warps_kernel<kRuns>, reinterpret_cast<char*>(spectra_shared));
    on_host::set_seed(seed);
    Random random(seed);
    std::vector<float> taps(static_cast<std::size_t>(c.filters * c.k * (c.real_taps ? 1 : 2)));
    fill_random(taps.data(), Dtype::f32, static_cast<std::int64_t>(taps.size()), random);
    const int spectra = c.filters * std::max(c.lags, 1);
    const int points = 1024 * c.runs;
    std::vector<float2> out(static_cast<std::size_t>(spectra * points), float2{NAN, NAN});
    SpectrumJob g{};
    g.given = taps.data();
    g.tables = out.data();
    g.k = c.k;
    g.is_complex = c.is_complex ? 1 : 0;
    g.real_taps = c.real_taps ? 1 : 0;
    g.spectra = spectra;
    g.shape = {.ready_bytes = 0, .skip = c.skip, .rows = 1, .warps = c.runs, .for_block = c.for_block ? 1 : 0, .order = c.order};
    g.of.pitch_bytes = c.k * (c.real_taps ? 1 : 2) * static_cast<int>(sizeof(float));
    g.of.filters = c.filters;
    g.of.lags = c.lags;
    g.of.origin = c.origin;
    if (kRuns == 0) {  // the sums of every run's terms
        for (int spectrum = 0; spectrum < spectra; ++spectrum) {
            for (int number = 0; number < c.runs; ++number) {
                const double step = ((c.is_complex ? 0 : std::numbers::pi / 2) + 2 * std::numbers::pi * number) / c.runs;
                for (int j = 0; j < 1024; ++j) {
                    Complex sum;
                    for (int q = 0; 1024 * q + j < c.k + c.skip; ++q) {
                        const int t = 1024 * q + j - c.skip;
                        if (t >= 0) { sum += tap_of(c, taps, spectrum, t) * turn(step * q); }
                    }
                    out[static_cast<std::size_t>(spectrum * points + 1024 * run_of(g.shape, number) + j)] = {
                        static_cast<float>(sum.real()), static_cast<float>(sum.imag())};
                }
            }
        }
    }
    cuda::launch_kernel(&spectra_by_warps_kernel<kRuns>, 2, 32 * kRunWarps<kRuns>, kRunBytes<kRuns>, nullptr, g);
    double error = 0, norm = 0;
    for (int i = 0; i < 400; ++i) {
        const auto spectrum = static_cast<int>(between(0, spectra - 1, random));
        const auto number = static_cast<int>(between(0, c.runs - 1, random));
        const auto f = static_cast<int>(between(0, 1023, random));
        const int run = run_of(g.shape, number);
        Complex wanted = value_of(c, taps, spectrum, number, f);
        int place = f;
        int at_row = f / 32;
        if (c.lags > 0) {
            place = place_of_row(c.order, c.runs, (number - f * c.runs) & (points - 1));
        } else {
            if (c.for_block) {
                const double angle = ((c.is_complex ? 0 : std::numbers::pi / 2) + 2 * std::numbers::pi * number) / points;
                wanted *= turn(-angle * (f % 32));
                if (c.runs == 2 && run == 1 && !c.is_complex) {
                    at_row = (at_row + 16) % 32;
                    if (f % 2 != 0) { wanted = -wanted; }
                }
            }
            place = 1024 * run + (c.order == SpectrumOrder::couples ? couple_place(at_row, f % 32) : 32 * at_row + f % 32);
        }
        const float2& stored = out[static_cast<std::size_t>(spectrum * points + place)];
        error += std::norm(value_at(stored, c.for_block) - wanted);
        norm += std::norm(wanted);
    }
    EXPECT_LE(std::sqrt(error), 5e-7 * std::sqrt(norm)) << c.runs << " runs, " << c.k << " taps, lags " << c.lags;
}

TEST(SpectraOnHost, OfSegments) {
    expect_right<1>({.runs = 1, .k = 700, .skip = 20, .is_complex = false, .real_taps = true, .for_block = true}, 1);
    expect_right<1>({.runs = 1, .k = 500, .skip = 0, .is_complex = true, .real_taps = false, .for_block = true}, 2);
    expect_right<2>({.runs = 2, .k = 3000, .skip = 31, .is_complex = false, .real_taps = true, .for_block = true}, 3);
    expect_right<2>({.runs = 2, .k = 1500, .skip = 3, .is_complex = true, .real_taps = true, .filters = 9, .for_block = true}, 4);
    expect_right<4>({.runs = 4, .k = 3000, .skip = 8, .is_complex = false, .real_taps = true, .order = SpectrumOrder::couples}, 5);
    expect_right<8>({.runs = 8, .k = 9000, .skip = 8, .is_complex = false, .real_taps = true, .for_block = true}, 6);
    expect_right<16>({.runs = 16, .k = 9000, .skip = 12, .is_complex = true, .real_taps = false}, 7);
}

TEST(SpectraOnHost, OfWholeRows) {
    const auto row = [](int runs, int k, int origin, int filters) {
        return Case{.runs = runs,
                    .k = k,
                    .skip = 0,
                    .is_complex = false,
                    .real_taps = true,
                    .filters = filters,
                    .order = runs == 16 ? SpectrumOrder::half_row : SpectrumOrder::square_row,
                    .lags = runs == 16 ? 2 : 1,
                    .origin = origin};
    };
    expect_right<1>(row(1, 1000, 999, 11), 1);
    expect_right<1>(row(1, 1000, 200, 3), 2);
    expect_right<4>(row(4, 4096, 4095, 5), 3);
    expect_right<4>(row(4, 3000, 1, 2), 4);
    expect_right<4>(row(4, 300, 299, 70), 6);
    expect_right<4>(row(4, 4096, 4095, 70), 7);
    expect_right<16>(row(16, 20000, 19999, 2), 5);
}

TEST(SpectraOnHost, OfRunsWhoseSumsAreThere) {
    expect_right<0>({.runs = 32, .k = 20000, .skip = 8, .is_complex = false, .real_taps = true, .filters = 1}, 1);
    expect_right<0>({.runs = 64, .k = 9000, .skip = 0, .is_complex = true, .real_taps = false, .filters = 2}, 2);
}

}  // namespace
}  // namespace tapline::test
