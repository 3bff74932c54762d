// The spectrum of large segments, in double on the host: what their kernels make on the device, by other means.
#pragma once

#include <algorithm>

#include "cuda/families/overlap_save/large/overlap_save_large_tables.hpp"

namespace tapline::cuda::overlap_save {

/// The samples that points became: the real parts, then the imaginary ones, or complex ones.
inline std::vector<Complex> samples_of(const std::vector<std::complex<float>>& points, bool is_complex) {
    std::vector<Complex> samples(points.begin(), points.end());
    if (is_complex) { return samples; }
    for (Complex& sample : samples) { sample = sample.real(); }
    for (const std::complex<float>& point : points) { samples.emplace_back(point.imag()); }
    return samples;
}

/// e^(2 pi i e/2^bits) as a product of two numbers from small tables.
class Turns {
public:
    explicit Turns(int bits) : low_bits_(bits / 2), mask_((std::int64_t{1} << bits) - 1) {
        const double whole = 2 * std::numbers::pi / static_cast<double>(std::int64_t{1} << bits);
        const std::int64_t lows = std::int64_t{1} << low_bits_;
        for (std::int64_t i = 0; i < lows; ++i) { low_.push_back(std::polar(1.0, whole * static_cast<double>(i))); }
        for (std::int64_t i = 0; i < std::int64_t{1} << (bits - low_bits_); ++i) {
            high_.push_back(std::polar(1.0, whole * static_cast<double>(i * lows)));
        }
    }
    [[nodiscard]] Complex operator()(std::int64_t e) const {
        const std::int64_t at = e & mask_;
        const std::int64_t low = at & ((std::int64_t{1} << low_bits_) - 1);
        return HostTransform::product(high_[static_cast<std::size_t>(at >> low_bits_)], low_[static_cast<std::size_t>(low)]);
    }

private:
    int low_bits_;
    std::int64_t mask_;
    std::vector<Complex> low_, high_;
};

/// conj(sum_t taps[t] z^-(t + skip)) / M for all roots z of z^M = e^(i phi), in the order in which the rows of a segment hold them:
/// row m the roots e^(i (phi + 2 pi (m + R j))/M), R = 32 * radix rows, place 1024 w + f of it j = reversed(w) - f * warps. As four
/// steps: columns, turns, rows.
template <class Tap>
std::vector<Complex> large_spectrum(const Tap& tap, std::int64_t k, int skip, int radix, int warps, bool is_complex) {
    const std::int64_t rows = std::int64_t{32} * radix;
    const std::int64_t width = std::int64_t{1024} * warps;
    const std::int64_t m = rows * width;
    int bits = 2;  // quarter turns divided into M parts
    while ((std::int64_t{1} << (bits - 2)) < m) { ++bits; }
    const Turns turns(bits);
    const HostTransform of_column(rows);
    const HostTransform of_row(width);
    std::vector<Complex> points(static_cast<std::size_t>(m));
    for (std::int64_t t = 0; t < k; ++t) {
        const Complex value = std::conj(Complex(tap(t)));
        // z^M is 1 for complex segments, i for real ones.
        const std::int64_t at = t + skip;
        points[static_cast<std::size_t>(at % m)] += is_complex || at < m ? value : Complex(-value.imag(), value.real());
    }
    constexpr std::int64_t kTogether = 16;  // columns, so that lines of memory are used whole
    std::vector<std::vector<Complex>> columns(kTogether, std::vector<Complex>(static_cast<std::size_t>(rows)));
    for (std::int64_t c = 0; c < width; c += kTogether) {
        for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t i = 0; i < kTogether; ++i) {
                const std::int64_t n = r * width + c + i;
                const Complex& x = points[static_cast<std::size_t>(n)];
                columns[static_cast<std::size_t>(i)][static_cast<std::size_t>(r)] =
                    is_complex ? x : HostTransform::product(x, turns(n));
            }
        }
        for (auto& column : columns) { of_column(column); }
        for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t i = 0; i < kTogether; ++i) {
                points[static_cast<std::size_t>(r * width + c + i)] = HostTransform::product(
                    columns[static_cast<std::size_t>(i)][static_cast<std::size_t>(r)], turns(4 * r * (c + i)));
            }
        }
    }
    std::vector<Complex> row(static_cast<std::size_t>(width));
    for (std::int64_t r = 0; r < rows; ++r) {
        Complex* const own = points.data() + r * width;
        std::copy(own, own + width, row.begin());
        of_row(row);
        for (int w = 0; w < warps; ++w) {
            for (std::int64_t f = 0; f < 1024; ++f) {
                const std::int64_t root = ((reversed_warp(w, warps) - f * warps) % width + width) % width;
                own[w * 1024 + f] = row[static_cast<std::size_t>(root)] / static_cast<double>(m);
            }
        }
    }
    return points;
}

/// The order in which rows in float read a spectrum: of each run of 1,024 a lane's factors 2i and 2i + 1, i < 16, together, those
/// of values that are 512 apart.
inline std::vector<Complex> in_halves(const std::vector<Complex>& spectrum) {
    std::vector<Complex> ordered(spectrum.size());
    for (std::size_t at = 0; at < spectrum.size(); ++at) {
        const auto f = static_cast<int>(at % 1024);
        ordered[at - at % 1024 + static_cast<std::size_t>(fft::halves_place(f / 32, f % 32))] = spectrum[at];
    }
    return ordered;
}

}  // namespace tapline::cuda::overlap_save
