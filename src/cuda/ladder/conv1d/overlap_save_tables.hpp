// What the overlap-save kernels read besides the signal, computed in double on the host.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "cuda/primitives/fft.cuh"

namespace tapline::cuda::overlap_save {

using Complex = std::complex<double>;

/// X[j] = sum_n x[n] e^(2 pi i nj/M), M a power of two. Its factors are computed once.
class HostTransform {
public:
    explicit HostTransform(std::int64_t size) : roots_(static_cast<std::size_t>(size / 2)) {
        for (std::size_t i = 0; i < roots_.size(); ++i) {
            roots_[i] = std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(size));
        }
    }

    /// In place; x has M elements.
    void operator()(std::vector<Complex>& x) const {
        const std::size_t size = x.size();
        for (std::size_t i = 1, j = 0; i < size; ++i) {
            std::size_t bit = size >> 1;
            for (; (j & bit) != 0; bit >>= 1) { j ^= bit; }
            j ^= bit;
            if (i < j) { std::swap(x[i], x[j]); }
        }
        for (std::size_t half = 1; half < size; half *= 2) {
            for (std::size_t block = 0; block < size; block += 2 * half) {
                for (std::size_t i = 0; i < half; ++i) {
                    const Complex a = x[block + i];
                    const Complex b = product(x[block + half + i], roots_[i * (size / (2 * half))]);
                    x[block + i] = a + b;
                    x[block + half + i] = a - b;
                }
            }
        }
    }

    /// As the four real products: operator* asks for NaN.
    static Complex product(const Complex& a, const Complex& b) {
        return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    }

private:
    std::vector<Complex> roots_;
};

/// Which warp's remainder has the polynomial's root of number reversed(warp), and its angle alpha: roots of X^warps = e^(i phi).
inline int reversed_warp(int warp, int warps) {
    int r = 0;
    for (int bit = 1; bit < warps; bit *= 2) { r = 2 * r + ((warp & bit) != 0 ? 1 : 0); }
    return r;
}
inline double angle_of_warp(int warp, int warps, bool is_complex) {
    const double phi = is_complex ? 0 : std::numbers::pi / 2;
    return (phi + 2 * std::numbers::pi * reversed_warp(warp, warps)) / warps;
}

/// The factors of filters' products for segments of 1024 * warps points.
class Spectra {
public:
    Spectra(int warps, bool is_complex)
        : warps_(warps),
          complex_(is_complex),
          m_(std::int64_t{1024} * warps),
          transform_(m_),
          turns_(static_cast<std::size_t>(m_)) {
        const double phi = is_complex ? 0 : std::numbers::pi / 2;
        for (std::size_t n = 0; n < turns_.size(); ++n) {
            turns_[n] = std::polar(1.0, phi * static_cast<double>(n) / static_cast<double>(m_));
        }
    }

    /// conj(sum_t taps[t] z^-(t + skip)) / M at the place that the kernel gives to z. tap(t): tap t of k as a complex number.
    template <class Tap>
    [[nodiscard]] std::vector<Complex> of(const Tap& tap, std::int64_t k, int skip) const {
        std::vector<Complex> folded(static_cast<std::size_t>(m_));
        for (std::int64_t t = 0; t < k; ++t) {
            const std::int64_t at = t + skip;
            const Complex value = std::conj(Complex(tap(t)));
            // z^M is 1 for complex segments, i for real ones.
            const Complex turned = complex_ || at < m_ ? value : Complex(-value.imag(), value.real());
            folded[static_cast<std::size_t>(at % m_)] += turned;
        }
        if (!complex_) {
            for (std::size_t n = 0; n < folded.size(); ++n) { folded[n] = HostTransform::product(folded[n], turns_[n]); }
        }
        transform_(folded);  // value j at the root e^(i (phi + 2 pi j)/M)
        std::vector<Complex> result(static_cast<std::size_t>(m_));
        for (int warp = 0; warp < warps_; ++warp) {
            for (std::int64_t f = 0; f < 1024; ++f) {
                const std::int64_t root = ((reversed_warp(warp, warps_) - f * warps_) % m_ + m_) % m_;
                result[static_cast<std::size_t>(warp * 1024 + f)] =
                    folded[static_cast<std::size_t>(root)] / static_cast<double>(m_);
            }
        }
        return result;
    }

private:
    int warps_;
    bool complex_;
    std::int64_t m_;
    HostTransform transform_;
    std::vector<Complex> turns_;
};

/// e^(i alpha n/1024) for every warp and n; as one table (warp, n), or else as factors (warp, n / 32) and (warp, n % 32).
inline std::vector<Complex> twists_of(int warps, bool is_complex, bool one_table) {
    std::vector<Complex> twists;
    const auto append = [&](int count, int step) {
        for (int warp = 0; warp < warps; ++warp) {
            for (int n = 0; n < count; ++n) {
                twists.push_back(std::polar(1.0, angle_of_warp(warp, warps, is_complex) * n * step / 1024));
            }
        }
    };
    if (one_table) {
        append(1024, 1);
    } else {
        append(32, 32);
        append(32, 1);
    }
    return twists;
}

/// How the `warps` / 32 = G warps of each of 32 remainders modulo X^1024G - e^(i alpha) take it apart and put it together: G / 2
/// pairs (c, t) of fft::transform_by with phi = alpha, and e^(-i alpha j/G), j < G.
inline std::vector<Complex> divisions_of(int warps, bool is_complex) {
    std::vector<Complex> divisions;
    const int group = warps / 32;
    for (int remainder = 0; remainder < 32; ++remainder) {
        const double alpha = angle_of_warp(remainder, 32, is_complex);
        for (int i = 0; i < group / 2; ++i) {
            int step = 0;
            while (i >= 1 << step) { ++step; }
            const int b = i == 0 ? 0 : i - (1 << (step - 1));
            const double angle = (alpha + 2 * std::numbers::pi * b) / (2 << step);
            divisions.emplace_back(std::cos(angle), std::tan(angle));
        }
        for (int j = 0; j < group; ++j) { divisions.push_back(std::polar(1.0, -alpha * j / group)); }
    }
    return divisions;
}

/// (c, t) of lane p's transform at phi = 2 pi p/32, pair i at (i, p).
inline std::vector<Complex> pairs_of_lanes() {
    std::vector<Complex> pairs;
    for (int i = 0; i < 16; ++i) {
        int step = 0;
        while (i >= 1 << step) { ++step; }
        const int b = i == 0 ? 0 : i - (1 << (step - 1));
        for (int p = 0; p < 32; ++p) {
            const double angle = (2 * std::numbers::pi * p / 32 + 2 * std::numbers::pi * b) / (2 << step);
            pairs.emplace_back(std::cos(angle), std::tan(angle));
        }
    }
    return pairs;
}

/// The same, of every lane those in the order in which transform_by takes them.
inline std::vector<Complex> pairs_in_turn() {
    const std::vector<Complex> pairs = pairs_of_lanes();
    std::vector<Complex> in_turn(pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        in_turn[static_cast<std::size_t>(32 * fft::pair_turn(static_cast<int>(i / 32))) + i % 32] = pairs[i];
    }
    return in_turn;
}

/// Elements (i, lane) of 32 lanes, for lanes that read elements i and i + 1 at once: (i / 2, lane, i % 2).
inline std::vector<Complex> in_couples(const std::vector<Complex>& elements) {
    std::vector<Complex> couples(elements.size());
    for (std::size_t at = 0; at < elements.size(); ++at) {
        const std::size_t i = at / 32;
        couples[i / 2 * 64 + at % 32 * 2 + i % 2] = elements[at];
    }
    return couples;
}

}  // namespace tapline::cuda::overlap_save
