// The block FFT alone: every target, every size up to three column passes, against transforms whose result is known.
#include "cpu/fft/fft.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "cpu/targets.hpp"
#include "support/sanitized.hpp"
#include "tapline/error.hpp"

namespace tapline::cpu {
namespace {

using Complex = std::complex<double>;

template <class T>
struct Buffer {
    explicit Buffer(std::int64_t elements) : bytes(static_cast<std::size_t>(elements) * sizeof(T) + 64) {
        const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
        data = reinterpret_cast<T*>(bytes.data() + (64 - at % 64) % 64);
        std::fill(data, data + elements, std::numeric_limits<T>::quiet_NaN());
    }
    std::vector<std::byte> bytes;
    T* data;
};

template <class T>
std::int64_t place(const FftTables<T>& t, std::int64_t i) {
    return i / t.columns * t.pitch + i % t.columns;
}

// exp(2 pi i f t / N) has one frequency: N in one place, zeros elsewhere, and no two f in the same place.
template <class T>
void check_single_frequencies(Target target, int log2_size, int count, double tolerance) {
    const BlockFft<T> fft(target, log2_size);
    const FftTables<T>& t = fft.tables();
    Buffer<T> data(t.extent), scratch(2 * t.scratch_extent + 1);
    std::mt19937_64 random(7);
    std::vector<bool> taken(static_cast<std::size_t>(t.size));
    for (int run = 0; run < count; ++run) {
        const std::int64_t f = count == t.size ? run : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(t.size));
        for (std::int64_t i = 0; i < t.size; ++i) {
            const Complex z =
                std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(f * i % t.size) / static_cast<double>(t.size));
            data.data[place(t, i)] = static_cast<T>(z.real());
            data.data[place(t, i) + t.im_offset] = static_cast<T>(z.imag());
        }
        fft.forward(data.data, scratch.data, 2);
        std::int64_t hits = 0;
        for (std::int64_t i = 0; i < t.size; ++i) {
            Complex z(data.data[place(t, i)], data.data[place(t, i) + t.im_offset]);
            z /= static_cast<double>(t.size);
            if (std::abs(z - 1.0) < 0.5) {
                ++hits;
                z -= 1.0;
                EXPECT_EQ(frequency_at(t, i / t.columns, i % t.columns), f);
                if (count == t.size) {
                    EXPECT_FALSE(taken[static_cast<std::size_t>(i)]);
                    taken[static_cast<std::size_t>(i)] = true;
                }
            }
            ASSERT_LE(std::abs(z), tolerance) << to_string(target) << " 2^" << log2_size << " frequency " << f << " at " << i;
        }
        ASSERT_EQ(hits, 1);
    }
}

// A delta at 5 as the filter delays random data by 5, through convolve and through forward and inverse.
template <class T>
void check_delay(Target target, int log2_size, double tolerance) {
    const BlockFft<T> fft(target, log2_size);
    const FftTables<T>& t = fft.tables();
    Buffer<T> data(t.extent), spectrum(t.extent), scratch(2 * t.scratch_extent + 1);
    std::fill(spectrum.data, spectrum.data + t.extent, T{0});
    spectrum.data[place(t, 5)] = T{1} / static_cast<T>(t.size);
    fft.forward(spectrum.data, scratch.data, 1);
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    std::vector<T> re(static_cast<std::size_t>(t.size)), im(re.size()), out_re(re.size(), NAN), out_im(re.size(), NAN);
    for (auto& v : re) { v = static_cast<T>(normal(random)); }
    for (auto& v : im) { v = static_cast<T>(normal(random)); }
    const std::int64_t re_count = t.size - 3, im_count = t.size / 2 + 1;  // what lies behind is not to be written
    EXPECT_TRUE(fft.convolve(data.data, spectrum.data, scratch.data, 2, {re.data(), im.data(), t.columns},
                             {out_re.data(), out_im.data(), t.columns, re_count, im_count, false}));
    // The same bits past the caches.
    Buffer<T> past_re(t.size), past_im(t.size);
    EXPECT_TRUE(fft.convolve(data.data, spectrum.data, scratch.data, 2, {re.data(), im.data(), t.columns},
                             {past_re.data, past_im.data, t.columns, re_count, im_count, true}));
    EXPECT_TRUE(std::equal(out_re.begin(), out_re.begin() + re_count, past_re.data)) << to_string(target) << " 2^" << log2_size;
    EXPECT_TRUE(std::equal(out_im.begin(), out_im.begin() + im_count, past_im.data)) << to_string(target) << " 2^" << log2_size;
    EXPECT_TRUE(std::isnan(past_re.data[re_count]) && std::isnan(past_im.data[im_count]))
        << to_string(target) << " 2^" << log2_size;
    for (std::int64_t i = 0; i < t.size; ++i) {
        const auto at = static_cast<std::size_t>(i), from = static_cast<std::size_t>((i - 5 + t.size) % t.size);
        ASSERT_EQ(std::isnan(out_re[at]), i >= re_count);
        ASSERT_EQ(std::isnan(out_im[at]), i >= im_count);
        if (i < re_count) { ASSERT_LE(std::abs(out_re[at] - re[from]), tolerance) << to_string(target) << " 2^" << log2_size; }
        if (i < im_count) { ASSERT_LE(std::abs(out_im[at] - im[from]), tolerance); }
        data.data[place(t, i)] = re[at];
        data.data[place(t, i) + t.im_offset] = im[at];
    }
    fft.forward(data.data, scratch.data, 1);
    fft.inverse(data.data, scratch.data, 2);
    for (std::int64_t i = 0; i < t.size; ++i) {
        ASSERT_LE(std::abs(data.data[place(t, i)] / static_cast<T>(t.size) - re[static_cast<std::size_t>(i)]), tolerance);
    }
}

TEST(Fft, EveryFrequencyOfTheSmallestSize) {
    for (const Target target : runnable_targets()) {
        check_single_frequencies<float>(target, kMinLog2Fft, 1 << kMinLog2Fft, 3e-7);
        check_single_frequencies<double>(target, kMinLog2Fft, 1 << kMinLog2Fft, 1e-15);
    }
}

TEST(Fft, SomeFrequenciesOfEverySize) {
    for (const Target target : runnable_targets()) {
        for (int m = kMinLog2Fft + 1; m <= 18; ++m) {
            check_single_frequencies<float>(target, m, 2, 4e-7);
            check_single_frequencies<double>(target, m, 2, 2e-15);
        }
    }
    check_single_frequencies<float>(runnable_targets().front(), 21, 1, 5e-7);
}

TEST(Fft, DelayByADelta) {
    for (const Target target : runnable_targets()) {
        for (int m = kMinLog2Fft; m <= 18; ++m) {
            check_delay<float>(target, m, 4e-6);
            check_delay<double>(target, m, 8e-15);
        }
    }
}

TEST(Fft, ConvolveTellsOfNonFiniteValues) {
    for (const Target target : runnable_targets()) {
        for (const int m : {kMinLog2Fft, 12, 16}) {
            const BlockFft<float> fft(target, m);
            const FftTables<float>& t = fft.tables();
            for (const float bad : {NAN, INFINITY, -INFINITY}) {
                for (int i = 0; i < 4; ++i) {
                    const std::int64_t where = i % 2 == 0 ? 0 : t.size - 1;
                    Buffer<float> data(t.extent), spectrum(t.extent), scratch(t.scratch_extent + 1);
                    std::fill(spectrum.data, spectrum.data + t.extent, 0.0F);
                    spectrum.data[0] = 1;
                    fft.forward(spectrum.data, scratch.data, 1);
                    std::fill(data.data, data.data + t.extent, 1.0F);
                    data.data[place(t, where) + t.im_offset] = bad;
                    FftSink<float> sink = fft.sink(data.data, t.size / 2, 1);
                    sink.stream = i < 2;
                    EXPECT_FALSE(fft.convolve(data.data, spectrum.data, scratch.data, 1, fft.source(data.data), sink));
                }
            }
        }
    }
}

// Windows and taps whose roundings or magnitudes go one way, beside random ones.
std::vector<std::vector<double>> hard_signals(std::int64_t size) {
    std::mt19937_64 random(11);
    std::normal_distribution<double> normal;
    std::vector<std::vector<double>> all(6, std::vector<double>(static_cast<std::size_t>(size)));
    for (std::int64_t i = 0; i < size; ++i) {
        const auto at = static_cast<std::size_t>(i);
        all[0][at] = normal(random);
        all[1][at] = 1.0 / 3;
        all[2][at] = i % 2 == 0 ? 0.1 : -0.1;
        all[3][at] = i == 0 || i == size / 2 + 1 ? 0.7 : 0;
        all[4][at] = static_cast<double>(i) / 7;
        all[5][at] = normal(random) * (i < size / 2 ? 1 : 1e-12);
    }
    return all;
}

long double norm_of(const std::vector<double>& x, const std::vector<double>& y) {
    long double sum = 0;
    for (const double v : x) { sum += static_cast<long double>(v) * v; }
    for (const double v : y) { sum += static_cast<long double>(v) * v; }
    return std::sqrt(sum);
}

// The largest error of some outputs over the norms of what they were made of.
double largest_error(Target target, int log2_size, const std::vector<double>& re, const std::vector<double>& im,
                     const std::vector<double>& taps) {
    const BlockFft<double> fft(target, log2_size);
    const FftTables<double>& t = fft.tables();
    Buffer<double> data(t.extent), spectrum(t.extent), scratch(t.scratch_extent + 1);
    std::fill(spectrum.data, spectrum.data + t.extent, 0.0);
    for (std::int64_t i = 0; i < t.size; ++i) {
        spectrum.data[place(t, i)] = taps[static_cast<std::size_t>(i)] / static_cast<double>(t.size);
    }
    fft.forward(spectrum.data, scratch.data, 1);
    std::vector<double> out_re(re.size(), NAN), out_im(re.size(), NAN);
    EXPECT_TRUE(fft.convolve(data.data, spectrum.data, scratch.data, 1, {re.data(), im.data(), t.columns},
                             {out_re.data(), out_im.data(), t.columns, t.size, t.size, false}));
    long double worst = 0;
    for (std::int64_t o = 0; o < t.size; o += std::max<std::int64_t>(t.size / 37, 1)) {
        long double sum_re = 0, sum_im = 0;
        for (std::int64_t i = 0; i < t.size; ++i) {
            const auto x = static_cast<std::size_t>(i), h = static_cast<std::size_t>((o - i + t.size) % t.size);
            sum_re += static_cast<long double>(re[x]) * taps[h];
            sum_im += static_cast<long double>(im[x]) * taps[h];
        }
        const auto at = static_cast<std::size_t>(o);
        worst = std::max({worst, std::abs(out_re[at] - sum_re), std::abs(out_im[at] - sum_im)});
    }
    return static_cast<double>(worst / (norm_of(re, im) * norm_of(taps, {})));
}

TEST(Fft, ErrorsStayBelowTheProvedBound) {
    for (const Target target : runnable_targets()) {
        for (const int m : {kMinLog2Fft, 11, 14, 16}) {
            if (test::kSanitized && m > 11) { break; }
            const auto signals = hard_signals(std::int64_t{1} << m);
            double largest = 0;
            for (std::size_t i = 0; i < signals.size(); ++i) {
                for (std::size_t j = 0; j < signals.size(); j += m < 14 ? 1 : 3) {
                    largest =
                        std::max(largest, largest_error(target, m, signals[i], signals[(i + j) % signals.size()], signals[j]));
                }
            }
            EXPECT_LE(largest, proved_error(m)) << to_string(target) << " 2^" << m;
            // Roundings are random and spread over all outputs, so the bound itself is never met.
            EXPECT_GE(largest, proved_error(m) / (100 * std::exp2(m / 2.0))) << "errors are smaller than they can be";
        }
    }
}

TEST(Fft, NaturalOrder) {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    for (std::int64_t size = 1; size <= 256; size *= 2) {
        std::vector<Complex> x;
        for (std::int64_t i = 0; i < size; ++i) { x.emplace_back(normal(random), normal(random)); }
        std::vector<Complex> y = x;
        NaturalFft(size).forward(y.data());
        for (std::int64_t f = 0; f < size; ++f) {
            std::complex<long double> sum = 0;
            for (std::int64_t i = 0; i < size; ++i) {
                sum += std::complex<long double>(x[static_cast<std::size_t>(i)]) *
                       std::polar(1.0L, -2 * std::numbers::pi_v<long double> * static_cast<long double>(f * i % size) / size);
            }
            EXPECT_LE(std::abs(std::complex<long double>(y[static_cast<std::size_t>(f)]) - sum), 1e-13 * static_cast<double>(size));
        }
    }
    EXPECT_THROW(NaturalFft(0), Error);
    EXPECT_THROW(NaturalFft(12), Error);
}

}  // namespace
}  // namespace tapline::cpu
