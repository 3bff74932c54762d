// What the overlap-save kernels read besides the signal, computed in double on the host.
#pragma once

#include <algorithm>
#include <cmath>
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
inline std::vector<Complex> twiddles_of(int warps, bool is_complex, bool one_table) {
    std::vector<Complex> twiddles;
    const auto append = [&](int count, int step) {
        for (int warp = 0; warp < warps; ++warp) {
            for (int n = 0; n < count; ++n) {
                twiddles.push_back(std::polar(1.0, angle_of_warp(warp, warps, is_complex) * n * step / 1024));
            }
        }
    };
    if (one_table) {
        append(1024, 1);
    } else {
        append(32, 32);
        append(32, 1);
    }
    return twiddles;
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

/// (c, t) of lane p's transform at phi = (2 pi p - alpha)/32, pair i at (i, p).
inline std::vector<Complex> pairs_of_lanes(double alpha = 0) {
    std::vector<Complex> pairs;
    for (int i = 0; i < 16; ++i) {
        int step = 0;
        while (i >= 1 << step) { ++step; }
        const int b = i == 0 ? 0 : i - (1 << (step - 1));
        for (int p = 0; p < 32; ++p) {
            const double angle = ((2 * std::numbers::pi * p - alpha) / 32 + 2 * std::numbers::pi * b) / (2 << step);
            pairs.emplace_back(std::cos(angle), std::tan(angle));
        }
    }
    return pairs;
}

/// What threads p read whose transforms have phi(p): the factors of fft::four_steps_by at (i, p), then couples of the other steps'
/// pairs (c, t) up to `count` in their turn.
template <class Phi>
void append_factors(std::vector<Complex>& to, int threads, int count, const Phi& phi) {
    for (int i = 0; i < fft::kFours; ++i) {
        for (int p = 0; p < threads; ++p) {
            const fft::Four<double> four = fft::four_of_steps(phi(p), i);
            to.emplace_back(four.c1, four.t1);
            to.emplace_back(four.t3, four.ratio);
        }
    }
    for (int i = 8; i < count; i += 2) {
        for (int p = 0; p < threads; ++p) {
            for (int j = i; j < i + 2; ++j) {
                const int pair = fft::pair_turn(j);
                int step = 0;
                while (pair >= 1 << step) { ++step; }
                const double angle = fft::pair_angle(phi(p), step, pair - (1 << (step - 1)));
                to.emplace_back(std::cos(angle), std::tan(angle));
            }
        }
    }
}

/// The same, of every lane those in the order in which transform_by takes them.
inline std::vector<Complex> in_turn(const std::vector<Complex>& pairs) {
    std::vector<Complex> turned(pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        turned[static_cast<std::size_t>(32 * fft::pair_turn(static_cast<int>(i / 32))) + i % 32] = pairs[i];
    }
    return turned;
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

// Where a segment's warps have tables of their own (rung 27): the twiddle e^(i alpha n/1024) of a point n = 32 r + p, which the
// exchange of real and imaginary parts makes its conjugate, is left to register r by one half, e^(i alpha r/32), and to the second
// transform by the other, as a part of its phi. The way back has the same pairs: there spectra undo what it has too much.
//
// The second warp of two that share a real segment has row (r + 16) % 32 of its points in register r. Transforming rows so turned
// changes the sign of every odd lane; its last step, with the other signs, turns the result's rows alike.

inline bool turns_rows(int warp, int warps, bool is_complex) { return warp == 1 && warps == 2 && !is_complex; }

/// Points (warp, row, lane), of which twiddles and spectra are, as those warps take them.
inline std::vector<Complex> turn_rows(const std::vector<Complex>& points, int warps, bool is_complex) {
    std::vector<Complex> turned = points;
    if (!turns_rows(1, warps, is_complex)) { return turned; }
    for (std::size_t n = 0; n < 1024; ++n) {
        const Complex& point = points[1024 + (n + 512) % 1024];
        turned[1024 + n] = n % 2 == 0 ? point : -point;
    }
    return turned;
}

/// Pairs of every warp's lanes, in couples in their turn or as they are.
inline std::vector<Complex> pairs_of_warps(int warps, bool is_complex, bool couples) {
    std::vector<Complex> all;
    for (int warp = 0; warp < warps; ++warp) {
        std::vector<Complex> own = pairs_of_lanes(angle_of_warp(warp, warps, is_complex));
        if (turns_rows(warp, warps, is_complex)) {
            for (std::size_t i = own.size() / 2; i < own.size(); ++i) { own[i] = {-own[i].real(), own[i].imag()}; }
        }
        if (couples) { own = in_couples(in_turn(own)); }
        all.insert(all.end(), own.begin(), own.end());
    }
    return all;
}

/// A spectrum for them.
inline std::vector<Complex> undo_lanes(std::vector<Complex> spectrum, int warps, bool is_complex) {
    for (std::size_t at = 0; at < spectrum.size(); ++at) {
        const double alpha = angle_of_warp(static_cast<int>(at / 1024), warps, is_complex);
        spectrum[at] = HostTransform::product(spectrum[at], std::polar(1.0, -alpha * static_cast<double>(at % 32) / 1024));
    }
    return spectrum;
}

/// The twiddles' factors: e^(i alpha r/32) of warp w at (r, w), e^(i alpha p/1024) at (p, 16 + w), of 32 x 32.
inline std::vector<Complex> twiddles_in_rows(int warps, bool is_complex) {
    std::vector<Complex> rows(std::size_t{32} * 32, Complex(1));
    for (int i = 0; i < 32; ++i) {
        for (int warp = 0; warp < warps; ++warp) {
            const double alpha = angle_of_warp(warp, warps, is_complex);
            rows[static_cast<std::size_t>(32 * i + warp)] = std::polar(1.0, alpha * i / 32);
            rows[static_cast<std::size_t>(32 * i + 16 + warp)] = std::polar(1.0, alpha * i / 1024);
        }
    }
    return rows;
}

/// Factors as (c, t), c (1 + i t). Where c would be too small for t, it is not: that changes the factor by less than its rounding.
inline std::vector<Complex> as_tangents(std::vector<Complex> factors, bool wide) {
    const double least = wide ? 0x1p-60 : 0x1p-30;
    for (Complex& f : factors) {
        const double c = std::copysign(std::max(std::abs(f.real()), least * std::abs(f.imag())), f.real());
        f = {c, c == 0 ? 0 : f.imag() / c};
    }
    return factors;
}

}  // namespace tapline::cuda::overlap_save
