// The transforms of the CUDA engine without a GPU: its primitives, and a segment of overlap-save with the tables that kernels read.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "cuda/families/overlap_save/overlap_save_tables.hpp"
#include "cuda/primitives/fft.cuh"
#include "support/draw.hpp"
#include "support/large_spectrum.hpp"

namespace tapline::test {
namespace {

namespace fft = cuda::fft;
using cuda::overlap_save::Complex;

// A transform rounds log2(points) times or so.
constexpr double kTolerance = 4 * 0x1p-23;

double uniform(Random& random) { return std::uniform_real_distribution<double>(-1, 1)(random); }

// The polynomial's values at the roots of X^points = e^(i phi), in the order of the primitives.
std::vector<Complex> values_at_roots(const std::vector<Complex>& coefficients, double phi) {
    const int points = static_cast<int>(coefficients.size());
    std::vector<Complex> values;
    for (int m = 0; m < points; ++m) {
        const double angle = (phi + 2 * std::numbers::pi * fft::reversed(m, fft::log2_of(points))) / points;
        Complex sum = 0;
        for (int n = 0; n < points; ++n) { sum += coefficients[static_cast<std::size_t>(n)] * std::polar(1.0, angle * n); }
        values.push_back(sum);
    }
    return values;
}

template <int kPointCount, class Transform>
double relative_error(double phi, const Transform& transform, Random& random) {
    std::array<float, kPointCount> re{};
    std::array<float, kPointCount> im{};
    std::vector<Complex> exact;
    for (std::size_t i = 0; i < kPointCount; ++i) {
        re[i] = static_cast<float>(uniform(random));
        im[i] = static_cast<float>(uniform(random));
        exact.emplace_back(re[i], im[i]);
    }
    exact = values_at_roots(exact, phi);
    transform(re.data(), im.data());
    double error = 0;
    double norm = 0;
    for (std::size_t i = 0; i < kPointCount; ++i) {
        error += std::norm(Complex(re[i], im[i]) - exact[i]);
        norm += std::norm(exact[i]);
    }
    return std::sqrt(error / norm);
}

template <int... kEach>
using Sizes = std::integer_sequence<int, kEach...>;

TEST(CudaFft, TransformsOfEverySizeAndAngle) {
    Random random(1);
    const auto check = [&]<int kPointCount, int kPhi, int kParts>(std::integer_sequence<int, kPointCount, kPhi, kParts>) {
        const auto transform = [](float* re, float* im) { fft::transform<kPointCount, kPhi, kParts>(re, im); };
        EXPECT_LE(relative_error<kPointCount>(std::numbers::pi * kPhi / kParts, transform, random), kTolerance)
            << kPointCount << " points, phi " << kPhi << "/" << kParts;
        const auto in_fours = [](float* re, float* im) { fft::transform_in_fours<kPointCount, kPhi, kParts>(re, im); };
        EXPECT_LE(relative_error<kPointCount>(std::numbers::pi * kPhi / kParts, in_fours, random), kTolerance)
            << kPointCount << " points in fours, phi " << kPhi << "/" << kParts;
    };
    const auto check_all = [&](auto... sizes) { (check(sizes), ...); };
    check_all(Sizes<2, 0, 1>{}, Sizes<2, 1, 2>{}, Sizes<4, 0, 1>{}, Sizes<4, 1, 2>{}, Sizes<8, 1, 2>{}, Sizes<16, 0, 2>{},
              Sizes<16, 1, 2>{}, Sizes<32, 0, 1>{}, Sizes<32, 1, 2>{}, Sizes<32, 5, 4>{}, Sizes<64, 0, 1>{}, Sizes<64, 1, 2>{});
    EXPECT_LE(relative_error<32>(
                  -std::numbers::pi / 2, [](float* re, float* im) { fft::transform<32, -1, 2>(re, im); }, random),
              kTolerance);
}

// Angles near pi/2, too, where tangents are large.
TEST(CudaFft, TransformsByFours) {
    Random random(5);
    const auto check = [&]<int kPointCount>(std::integral_constant<int, kPointCount>) {
        for (int p = 0; p < 64; ++p) {
            const double phi = 2 * std::numbers::pi * p / 64;
            const auto transform = [&](float* re, float* im) {
                fft::four_steps_by<kPointCount>(re, im, [&](int i) {
                    const fft::Four<double> four = fft::four_of_steps(phi, i);
                    return fft::Four<float>{static_cast<float>(four.c1), static_cast<float>(four.t1), static_cast<float>(four.t3),
                                            static_cast<float>(four.ratio)};
                });
                fft::transform_by<kPointCount, fft::log2_of(kPointCount), 4>(re, im, [&](int i, float* c, float* t) {
                    const int step = fft::log2_of(i + 1) - 1;
                    const int first = 1 << step;
                    const double angle = fft::pair_angle(phi, step + 1, i - first);
                    *c = static_cast<float>(std::cos(angle));
                    *t = static_cast<float>(std::tan(angle));
                });
            };
            EXPECT_LE(relative_error<kPointCount>(phi, transform, random), kTolerance) << kPointCount << " points, p " << p;
        }
    };
    check(std::integral_constant<int, 16>{});
    check(std::integral_constant<int, 32>{});
    check(std::integral_constant<int, 64>{});
}

TEST(CudaFft, TransformsByThePairsOfEveryLane) {
    Random random(2);
    const std::vector<Complex> pairs = cuda::overlap_save::pairs_of_lanes();
    for (int lane = 0; lane < 32; ++lane) {
        const auto transform = [&](float* re, float* im) {
            fft::transform_by<32>(re, im, [&](int i, float* c, float* t) {
                const Complex pair = pairs[static_cast<std::size_t>(32 * i + lane)];
                *c = static_cast<float>(pair.real());
                *t = static_cast<float>(pair.imag());
            });
        };
        EXPECT_LE(relative_error<32>(2 * std::numbers::pi * lane / 32, transform, random), kTolerance) << "lane " << lane;
    }
}

// As the kernels read them: two at once, when the first of the two is wanted.
TEST(CudaFft, TransformsByCouplesOfPairsInTheirTurn) {
    Random random(4);
    const std::vector<Complex> couples = cuda::overlap_save::pairs_of_warps(1, true, true);
    for (int lane = 0; lane < 32; ++lane) {
        std::array<Complex, 2> both;
        int turns = 0;
        const auto transform = [&](float* re, float* im) {
            turns = 0;
            fft::transform_by<32>(re, im, [&](int i, float* c, float* t) {
                EXPECT_EQ(fft::pair_turn(i), turns);
                const int place = turns / 2 * 64 + 2 * lane;
                if (turns % 2 == 0) { std::copy_n(couples.begin() + place, 2, both.begin()); }
                const Complex pair = both[static_cast<std::size_t>(turns++ % 2)];
                *c = static_cast<float>(pair.real());
                *t = static_cast<float>(pair.imag());
            });
        };
        EXPECT_LE(relative_error<32>(2 * std::numbers::pi * lane / 32, transform, random), kTolerance) << "lane " << lane;
        EXPECT_EQ(turns, 16);
    }
}

TEST(CudaFft, TheHostsTransform) {
    Random random(3);
    std::vector<Complex> x(64);
    for (Complex& v : x) { v = {uniform(random), uniform(random)}; }
    std::vector<Complex> exact = values_at_roots(x, 0);
    cuda::overlap_save::HostTransform(64)(x);
    for (int m = 0; m < 64; ++m) {
        EXPECT_LE(std::abs(x[static_cast<std::size_t>(fft::reversed(m, 6))] - exact[static_cast<std::size_t>(m)]), 1e-12);
    }
}

// A segment as the kernel's threads do it, in float: remainders of the warps, twiddles, 32 x 32 transforms, and back.
template <int kWarps>
class Segment {
public:
    explicit Segment(bool is_complex)
        : complex_(is_complex),
          pairs_(cuda::overlap_save::pairs_of_warps(kWarps, is_complex, false)),
          twiddles_(cuda::overlap_save::as_tangents(
              cuda::overlap_save::turn_rows(cuda::overlap_save::twiddles_of(kWarps, is_complex, true), kWarps, is_complex),
              false)) {}

    // Outputs i of sum_t taps[t] x[i + t + skip].
    std::vector<Complex> convolve(const std::vector<Complex>& samples, const std::vector<Complex>& taps, int skip) const {
        const auto spectrum = cuda::overlap_save::Spectra(kWarps, complex_)
                                  .of([&](std::int64_t t) { return taps[static_cast<std::size_t>(t)]; },
                                      static_cast<std::int64_t>(taps.size()), skip);
        const auto factors = cuda::overlap_save::as_tangents(
            cuda::overlap_save::turn_rows(cuda::overlap_save::undo_lanes(spectrum, kWarps, complex_), kWarps, complex_), false);
        std::vector<std::complex<float>> z(kM);
        for (std::size_t n = 0; n < kM; ++n) {
            z[n] = complex_
                       ? std::complex<float>(samples[n])
                       : std::complex<float>(static_cast<float>(samples[n].real()), static_cast<float>(samples[n + kM].real()));
        }
        for (std::size_t n = 0; n < 1024; ++n) { remainders(&z[n]); }
        for (std::size_t warp = 0; warp < kWarps; ++warp) {
            std::complex<float>* const own = &z[1024 * warp];
            if (cuda::overlap_save::turns_rows(static_cast<int>(warp), kWarps, complex_)) {
                std::rotate(own, own + 512, own + 1024);
            }
            // There the twiddles' first lane for all, back all of them.
            transform(own, warp, [&](std::size_t row, std::size_t) { return twiddles_[1024 * warp + 32 * row]; });
            transform(own, warp, [&](std::size_t row, std::size_t lane) { return factors[1024 * warp + 32 * row + lane]; });
            for (std::size_t n = 0; n < 1024; ++n) { own[n] *= std::conj(factor_of(twiddles_[1024 * warp + n])); }
            if (cuda::overlap_save::turns_rows(static_cast<int>(warp), kWarps, complex_)) {
                std::rotate(own, own + 512, own + 1024);
            }
        }
        for (std::size_t n = 0; n < 1024; ++n) { together(&z[n]); }
        return cuda::overlap_save::samples_of(z, complex_);
    }

private:
    static constexpr std::size_t kM = 1024 * kWarps;

    void remainders(std::complex<float>* z) const {
        std::array<float, kWarps> re{};
        std::array<float, kWarps> im{};
        for (std::size_t j = 0; j < kWarps; ++j) {
            re[j] = z[1024 * j].real();
            im[j] = z[1024 * j].imag();
        }
        if (complex_) {
            fft::transform<kWarps>(re.data(), im.data());
        } else {
            fft::transform<kWarps, 1, 2>(re.data(), im.data());
        }
        // One warp takes its segment modulo X^1024 - i as it is.
        for (std::size_t j = 0; j < kWarps; ++j) { z[1024 * j] = {re[j], im[j]}; }
    }

    void together(std::complex<float>* z) const {
        std::array<float, kWarps> re{};
        std::array<float, kWarps> im{};
        for (int j = 0; j < kWarps; ++j) {
            const auto at = static_cast<std::size_t>(j);
            const std::complex<float> value = z[1024 * fft::reversed(j, fft::log2_of(kWarps))];
            re[at] = value.real();
            im[at] = value.imag();
        }
        fft::transform<kWarps>(im.data(), re.data());
        for (int m = 0; m < kWarps; ++m) {
            const int j = fft::reversed(m, fft::log2_of(kWarps));
            const auto at = static_cast<std::size_t>(m);
            const Complex turn = std::polar(1.0, complex_ ? 0.0 : -std::numbers::pi / 2 * j / kWarps);
            z[1024 * j] = std::complex<float>(Complex(re[at], im[at]) * turn);
        }
    }

    static std::complex<float> factor_of(const Complex& pair) {
        const auto c = static_cast<float>(pair.real());
        return {c, c * static_cast<float>(pair.imag())};
    }

    // Times the factors, real and imaginary parts exchanged, transformed.
    template <class Factors>
    void transform(std::complex<float>* own, std::size_t warp, const Factors& factors) const {
        std::vector<std::complex<float>> exchanged(1024);
        std::array<float, 32> x{};
        std::array<float, 32> y{};
        for (std::size_t lane = 0; lane < 32; ++lane) {
            for (std::size_t i = 0; i < 32; ++i) {
                const std::complex<float> product = own[32 * i + lane] * factor_of(factors(i, lane));
                x[i] = product.imag();
                y[i] = product.real();
            }
            fft::transform<32>(x.data(), y.data());
            for (int i = 0; i < 32; ++i) {
                exchanged[static_cast<std::size_t>(32 * fft::reversed(i, 5)) + lane] = {x[static_cast<std::size_t>(i)],
                                                                                        y[static_cast<std::size_t>(i)]};
            }
        }
        for (std::size_t lane = 0; lane < 32; ++lane) {
            for (std::size_t i = 0; i < 32; ++i) {
                x[i] = exchanged[32 * lane + i].real();
                y[i] = exchanged[32 * lane + i].imag();
            }
            fft::transform_by<32>(x.data(), y.data(), [&](int i, float* c, float* t) {
                const Complex pair = pairs_[512 * warp + static_cast<std::size_t>(32 * i) + lane];
                *c = static_cast<float>(pair.real());
                *t = static_cast<float>(pair.imag());
            });
            for (int i = 0; i < 32; ++i) {
                own[static_cast<std::size_t>(32 * fft::reversed(i, 5)) + lane] = {x[static_cast<std::size_t>(i)],
                                                                                  y[static_cast<std::size_t>(i)]};
            }
        }
    }

    bool complex_;
    std::vector<Complex> pairs_;
    std::vector<Complex> twiddles_;
};

template <int kWarps>
void check_segments() {
    Random random(4);
    for (const bool is_complex : {false, true}) {
        const Segment<kWarps> segment(is_complex);
        const int samples = 1024 * kWarps * (is_complex ? 1 : 2);
        for (const int k : {1, 2, 33, samples / 3, samples - 40}) {
            for (const int skip : {0, 3}) {
                std::vector<Complex> x(static_cast<std::size_t>(samples));
                std::vector<Complex> taps(static_cast<std::size_t>(k));
                double taps_sum = 0;
                double squares = 0;
                for (Complex& v : x) {
                    v = {static_cast<float>(uniform(random)), is_complex ? static_cast<float>(uniform(random)) : 0};
                }
                for (Complex& v : taps) {
                    v = {static_cast<float>(uniform(random)), is_complex ? static_cast<float>(uniform(random)) : 0};
                }
                for (const Complex& v : x) { squares += std::norm(v); }
                for (const Complex& v : taps) { taps_sum += std::abs(v); }
                const std::vector<Complex> outputs = segment.convolve(x, taps, skip);
                const int valid = samples - (k - 1) - skip;
                double error = 0;
                for (int i = 0; i < valid; i += std::max(1, valid / 64)) {
                    Complex sum = 0;
                    for (int t = 0; t < k; ++t) {
                        sum += taps[static_cast<std::size_t>(t)] * x[static_cast<std::size_t>(i + t + skip)];
                    }
                    error += std::norm(sum - outputs[static_cast<std::size_t>(i)]);
                }
                EXPECT_LE(std::sqrt(error), 1e-6 * taps_sum * std::sqrt(squares))
                    << kWarps << " warps, " << k << " taps, skip " << skip << (is_complex ? ", complex" : ", real");
            }
        }
    }
}

TEST(CudaFft, SegmentsOfOneWarp) { check_segments<1>(); }
TEST(CudaFft, SegmentsOfTwoWarps) { check_segments<2>(); }
TEST(CudaFft, SegmentsOfFourWarps) { check_segments<4>(); }
TEST(CudaFft, SegmentsOfSixteenWarps) { check_segments<16>(); }

}  // namespace
}  // namespace tapline::test
