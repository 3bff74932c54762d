// Large segments of the CUDA engine without a GPU: the spectrum against its definition, and a segment with the tables that kernels
// read, its columns as the kernel's threads transform them.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <set>
#include <vector>

#include "cuda/families/overlap_save/large/overlap_save_large_order.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_tables.hpp"
#include "cuda/primitives/fft.cuh"
#include "support/draw.hpp"
#include "support/large_spectrum.hpp"
#include "support/sanitized.hpp"

namespace tapline::test {
namespace {

namespace fft = cuda::fft;
using cuda::overlap_save::Complex;
using cuda::overlap_save::HostTransform;
using cuda::overlap_save::large_spectrum;
using cuda::overlap_save::LargeTables;

double uniform(Random& random) { return std::uniform_real_distribution<double>(-1, 1)(random); }

std::vector<Complex> random_points(std::size_t count, bool is_complex, Random& random) {
    std::vector<Complex> points(count);
    for (Complex& x : points) { x = {uniform(random), is_complex ? uniform(random) : 0}; }
    return points;
}

TEST(CudaLargeTransform, TheSpectrumIsItsDefinition) {
    Random random(1);
    constexpr int kSkip = 5;
    for (const auto& [radix, warps] : {std::pair{8, 1}, {8, 4}, {4, 8}}) {
        for (const bool is_complex : {false, true}) {
            const std::int64_t width = std::int64_t{1024} * warps;
            const std::int64_t rows = std::int64_t{32} * radix;
            const auto m = static_cast<double>(rows * width);
            const std::vector<Complex> taps = random_points(60, is_complex, random);
            const auto tap = [&](std::int64_t t) { return taps[static_cast<std::size_t>(t)]; };
            const auto spectrum = large_spectrum(tap, static_cast<std::int64_t>(taps.size()), kSkip, radix, warps, is_complex);
            for (int i = 0; i < 50; ++i) {
                const std::int64_t row = between(0, rows - 1, random);
                const std::int64_t at = between(0, width - 1, random);
                const std::int64_t root = cuda::overlap_save::reversed_warp(static_cast<int>(at / 1024), warps) - at % 1024 * warps;
                const double phi = is_complex ? 0 : std::numbers::pi / 2;
                const double angle = (phi + 2 * std::numbers::pi * static_cast<double>(row + rows * root)) / m;
                Complex sum = 0;
                for (std::size_t t = 0; t < taps.size(); ++t) {
                    sum += taps[t] * std::polar(1.0, -angle * static_cast<double>(t + kSkip));
                }
                ASSERT_LE(std::abs(spectrum[static_cast<std::size_t>(row * width + at)] - std::conj(sum) / m), 1e-11 / m)
                    << "row " << row << ", place " << at << ", radix " << radix << ", warps " << warps;
            }
        }
    }
}

// Rows in float take a spectrum's factors in pairs, which their transform holds side by side.
TEST(CudaLargeTransform, SpectraInHalves) {
    std::vector<Complex> spectrum(2048);
    for (std::size_t f = 0; f < spectrum.size(); ++f) { spectrum[f] = static_cast<double>(f); }
    const std::vector<Complex> ordered = cuda::overlap_save::in_halves(spectrum);
    ASSERT_EQ(ordered.size(), spectrum.size());
    for (std::size_t run = 0; run < 2; ++run) {
        for (std::size_t value = 0; value < 32; ++value) {
            for (std::size_t lane = 0; lane < 32; ++lane) {
                const auto frequency = 32 * static_cast<std::size_t>(fft::reversed(static_cast<int>(value), 5)) + lane;
                ASSERT_EQ(ordered[1024 * run + value / 2 * 64 + 2 * lane + value % 2].real(), 1024 * run + frequency);
            }
        }
    }
}

// 32 kRadix rows of 1,024 points. Rows are transformed in double, by the host. kFours: of columns of 16 x 16 points.
template <int kRadix, bool kFours>
class LargeSegment {
public:
    explicit LargeSegment(bool is_complex)
        : complex_(is_complex),
          places_(kRadix, 1, !kFours && kRadix == 8),
          tables_(cuda::overlap_save::large_tables(kRadix, 1, is_complex, !kFours && kRadix == 8)) {}

    // Outputs i of sum_t taps[t] x[i + t + skip], where they do not wrap around.
    std::vector<Complex> convolve(const std::vector<Complex>& samples, const std::vector<Complex>& taps, int skip) const {
        const auto tap = [&](std::int64_t t) { return taps[static_cast<std::size_t>(t)]; };
        const auto spectrum = large_spectrum(tap, static_cast<std::int64_t>(taps.size()), skip, kRadix, 1, complex_);
        std::vector<std::complex<float>> z(kM);
        for (std::size_t i = 0; i < kM; ++i) {
            z[i] = std::complex<float>(complex_ ? samples[i] : Complex(samples[i].real(), samples[i + kM].real()));
        }
        for (std::size_t n = 0; n < kWidth; ++n) { there(&z[n], n); }
        for (std::size_t row = 0; row < kRows; ++row) { convolve_row(&z[row * kWidth], &spectrum[row * kWidth]); }
        for (std::size_t n = 0; n < kWidth; ++n) { back(&z[n], n); }
        return cuda::overlap_save::samples_of(z, complex_);
    }

private:
    static constexpr std::size_t kWidth = 1024;
    static constexpr std::size_t kRows = std::size_t{32} * kRadix;
    static constexpr std::size_t kM = kRows * kWidth;
    static constexpr int kOwn = kFours ? 16 : 32;
    static constexpr int kStride = kRadix * 32 / kOwn;
    static constexpr int kBits = fft::log2_of(kStride);
    static constexpr int kOwnBits = fft::log2_of(kOwn);
    using Floats = std::array<float, 32>;

    auto pair_of(int first, int step, int lane) const {
        return [this, first, step, lane](int i, float* c, float* t) {
            const int at = first + step * i + lane;
            const Complex& pair = tables_[static_cast<std::size_t>(at)];
            *c = static_cast<float>(pair.real());
            *t = static_cast<float>(pair.imag());
        };
    }
    // e^(i (phi + 2 pi m) n/M), of value m of column n.
    std::complex<float> turn(std::size_t value, std::size_t n) const {
        const double phi = complex_ ? 0 : std::numbers::pi / 2;
        const double angle = (phi + 2 * std::numbers::pi * static_cast<double>(value)) * static_cast<double>(n);
        return std::complex<float>(std::polar(1.0, angle / kM));
    }

    // Of kCount points by the table at `first`: each lane's factors.
    template <int kCount>
    void transform_by_table(float* re, float* im, int first, int lanes, std::size_t lane) const {
        if constexpr (kFours) {
            fft::four_steps_by<kCount>(re, im, [&](int i) {
                const auto at = static_cast<std::size_t>(first) + 2 * (static_cast<std::size_t>(lanes * i) + lane);
                const std::complex<float> a(tables_[at]);
                const std::complex<float> b(tables_[at + 1]);
                return fft::Four<float>{a.real(), a.imag(), b.real(), b.imag()};
            });
        } else {
            fft::transform_by<kCount>(re, im, pair_of(first, lanes, static_cast<int>(lane)));
        }
    }

    void there(std::complex<float>* column, std::size_t n) const {
        std::vector<Floats> re(kStride);
        std::vector<Floats> im(kStride);
        for (std::size_t q = 0; q < kStride; ++q) {
            for (std::size_t i = 0; i < kOwn; ++i) {
                re[q][i] = column[(q + kStride * i) * kWidth].real();
                im[q][i] = column[(q + kStride * i) * kWidth].imag();
            }
            if (complex_) {
                fft::transform<kOwn>(re[q].data(), im[q].data());
            } else {
                fft::transform<kOwn, 1, 2>(re[q].data(), im[q].data());
            }
        }
        for (std::size_t p = 0; p < kOwn; ++p) {
            const auto held = static_cast<std::size_t>(fft::reversed(static_cast<int>(p), kOwnBits));
            Floats x{};
            Floats y{};
            for (std::size_t q = 0; q < kStride; ++q) {
                x[q] = re[q][held];
                y[q] = im[q][held];
            }
            transform_by_table<kStride>(x.data(), y.data(), places_.there, kOwn, p);
            for (std::size_t s = 0; s < kStride; ++s) {
                const auto at = static_cast<std::size_t>(fft::reversed(static_cast<int>(s), kBits));
                column[(p + kOwn * s) * kWidth] = std::complex<float>(x[at], y[at]) * turn(p + kOwn * s, n);
            }
        }
    }
    void back(std::complex<float>* column, std::size_t n) const {
        std::vector<Floats> re(kStride);
        std::vector<Floats> im(kStride);
        for (std::size_t p = 0; p < kOwn; ++p) {
            Floats x{};
            Floats y{};
            for (std::size_t s = 0; s < kStride; ++s) {
                const auto value = column[(p + kOwn * s) * kWidth] * std::conj(turn(p + kOwn * s, n));
                x[s] = value.real();
                y[s] = value.imag();
            }
            fft::transform<kStride>(y.data(), x.data());
            for (std::size_t q = 0; q < kStride; ++q) {
                const auto at = static_cast<std::size_t>(fft::reversed(static_cast<int>(q), kBits));
                re[q][p] = x[at];
                im[q][p] = y[at];
            }
        }
        for (std::size_t q = 0; q < kStride; ++q) {
            transform_by_table<kOwn>(im[q].data(), re[q].data(), places_.back, kStride, q);
            for (std::size_t i = 0; i < kOwn; ++i) {
                const auto at = static_cast<std::size_t>(fft::reversed(static_cast<int>(i), kOwnBits));
                const std::size_t r = q + kStride * i;
                column[r * kWidth] = std::complex<float>(re[q][at], im[q][at]) *
                                     std::complex<float>(tables_[static_cast<std::size_t>(places_.unturns) + r]);
            }
        }
    }
    // Place f of the spectrum belongs to the root e^(-2 pi i f/1024).
    static void convolve_row(std::complex<float>* row, const Complex* spectrum) {
        const HostTransform transform(kWidth);
        std::vector<Complex> x(row, row + kWidth);
        transform(x);
        for (std::size_t j = 0; j < kWidth; ++j) {
            x[j] = std::conj(HostTransform::product(x[j], std::conj(spectrum[(kWidth - j) % kWidth])));
        }
        transform(x);
        for (std::size_t j = 0; j < kWidth; ++j) { row[j] = std::complex<float>(std::conj(x[j])); }
    }

    bool complex_;
    LargeTables places_;
    std::vector<Complex> tables_;
};

template <int kRadix, bool kFours = false>
void expect_convolution(bool is_complex, Random& random) {
    constexpr int kSkip = 17;
    constexpr std::size_t kM = std::size_t{32} * kRadix * 1024;
    const std::vector<Complex> samples = random_points(is_complex ? kM : 2 * kM, is_complex, random);
    const std::vector<Complex> taps = random_points(301, is_complex, random);
    const auto outputs = LargeSegment<kRadix, kFours>(is_complex).convolve(samples, taps, kSkip);
    double error = 0;
    double norm = 0;
    const auto last = static_cast<std::int64_t>(samples.size() - taps.size() - kSkip);
    for (int i = 0; i < 400; ++i) {
        const auto o = static_cast<std::size_t>(i == 0 ? 0 : i == 1 ? last : between(0, last, random));
        Complex sum = 0;
        for (std::size_t t = 0; t < taps.size(); ++t) { sum += taps[t] * samples[o + t + kSkip]; }
        error += std::norm(outputs[o] - sum);
        norm += std::norm(sum);
    }
    EXPECT_LE(std::sqrt(error / norm), 5e-7) << "radix " << kRadix << (is_complex ? ", complex" : ", real");
}

TEST(CudaLargeTransform, ASegmentIsConvolved) {
    Random random(2);
    for (const bool is_complex : {false, true}) {
        expect_convolution<8>(is_complex, random);
        expect_convolution<8, true>(is_complex, random);
        expect_convolution<16>(is_complex, random);
        if constexpr (!kSanitized) { expect_convolution<32>(is_complex, random); }
    }
}

// A block that waits for a task which nobody has taken yet would wait for ever.
TEST(CudaLargeTransform, TasksComeAfterWhatTheyWaitFor) {
    struct Ring {
        int lag, slots, together_bits;
        bool alternates;
    };
    const std::vector<Ring> rings{{1, 3, 0, false}, {8, 13, 0, false}, {4, 7, 0, false},  {7, 13, 1, false}, {1, 4, 1, false},
                                  {1, 3, 1, false}, {2, 6, 2, false},  {1, 16, 3, false}, {1, 2, 0, true},   {2, 5, 1, true},
                                  {3, 6, 1, true},  {2, 4, 1, true},   {5, 10, 2, true}};
    for (const Ring& ring : rings) {
        for (const int segments : {1, 2, 3, 39, 40}) {
            const auto order =
                cuda::overlap_save::LargeOrder::of(ring.lag, ring.together_bits, ring.slots, ring.alternates, segments);
            const int bits = segments % 6;
            const int parts = 1 << bits;
            std::vector<std::set<int>> columns(static_cast<std::size_t>(segments));
            std::vector<std::set<int>> rows(static_cast<std::size_t>(segments));
            int complete = 0;
            for (unsigned number = 0; complete < 2 * segments; ++number) {
                ASSERT_LT(number, 4U * static_cast<unsigned>((segments + 16) * parts)) << "some tasks never come";
                const auto task = order.task(number, bits);
                if (task.segment < 0 || task.segment >= segments) { continue; }
                const auto all_of = [&](const std::vector<std::set<int>>& done, int segment) {
                    return static_cast<int>(done[static_cast<std::size_t>(segment)].size()) == parts;
                };
                ASSERT_EQ(task.slot, task.segment % order.slots);
                ASSERT_TRUE(task.part >= 0 && task.part < parts);
                auto& done = task.is_columns != 0 ? columns : rows;
                ASSERT_TRUE(done[static_cast<std::size_t>(task.segment)].insert(task.part).second) << "twice: task " << number;
                if (task.is_columns == 0) {
                    ASSERT_TRUE(all_of(columns, task.segment)) << "rows of " << task.segment << ", lag " << order.lag;
                } else if (task.segment >= order.slots) {
                    ASSERT_TRUE(all_of(rows, task.segment - order.slots)) << "columns of " << task.segment;
                }
                complete += all_of(done, task.segment) ? 1 : 0;
            }
        }
    }
}

// The slots of a ring by a multiplication.
TEST(CudaLargeTransform, TurnsOfASlot) {
    for (int slots = 2; slots <= 16; ++slots) {
        const auto order = cuda::overlap_save::LargeOrder::of(1, 0, slots, false, 1 << 20);
        for (int segment = 0; segment <= (1 << 20) + 16; ++segment) {
            ASSERT_EQ(order.turn_of(segment), segment / slots) << segment << " in " << slots;
        }
    }
}

}  // namespace
}  // namespace tapline::test
