// Signals that strict accuracy is tried on, and its bound, output by output.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/problem/resolved.hpp"
#include "reference/reference.hpp"
#include "support/buffers.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {

using Floats = std::vector<float>;

inline Floats random_samples(std::int64_t count, std::uint64_t seed) {
    Random random(seed);
    Floats values(static_cast<std::size_t>(count));
    fill_reals<float>(values.data(), count, random);
    return values;
}

/// A low pass and what it leaves over: sums of a constant signal cancel.
inline Floats high_pass(std::int64_t k) {
    Floats taps(static_cast<std::size_t>(k));
    double sum = 0;
    for (std::int64_t t = 0; t < k; ++t) {
        const double turn = 2 * M_PI * (static_cast<double>(t) + 0.5) / static_cast<double>(k);
        taps[static_cast<std::size_t>(t)] = static_cast<float>(std::cos(turn) - 1);
        sum += taps[static_cast<std::size_t>(t)];
    }
    taps[static_cast<std::size_t>(k / 2)] -= static_cast<float>(sum);
    return taps;
}

inline int reals_of(Dtype dtype) { return is_complex(dtype) ? 2 : 1; }

/// The same numbers as T, which for double have all its bits.
template <class T>
std::vector<T> widened(const Floats& values) {
    std::vector<T> wide(values.begin(), values.end());
    if constexpr (sizeof(T) > sizeof(float)) {
        Random random(values.size());
        for (T& value : wide) { value *= 1 + std::ldexp(static_cast<T>(random() >> 11), -53 - 24); }
    }
    return wide;
}

/// The outputs, component by component, that miss |error| <= (k + 2) eps S; what is no number has to be what the textbook has.
template <class T>
std::int64_t misses(const Problem& p, const std::vector<T>& taps, const std::vector<T>& in, const std::vector<T>& out,
                    double factor = 1) {
    const reference::Sums sums = reference::sums(p, in.data(), taps.data());
    const int reals = reals_of(p.dtype);
    const auto k = static_cast<double>(core::resolve(p).taps());
    std::int64_t count = 0;
    for (std::size_t o = 0; o < sums.real.size(); ++o) {
        for (int part = 0; part < reals; ++part) {
            const long double wanted = part == 0 ? sums.real[o] : sums.imag[o];
            const long double magnitude = part == 0 ? sums.real_magnitude[o] : sums.imag_magnitude[o];
            const T got = out[o * static_cast<std::size_t>(reals) + static_cast<std::size_t>(part)];
            if (!std::isfinite(wanted)) {
                count += std::isnan(wanted) ? !std::isnan(got) : got != static_cast<T>(wanted);
                continue;
            }
            using Limits = std::numeric_limits<T>;
            const long double allowed = factor * (k + 2) * static_cast<long double>(Limits::epsilon()) * magnitude +
                                        static_cast<long double>(Limits::denorm_min()) * k;
            count += !(std::abs(got - wanted) <= allowed);
        }
    }
    return count;
}

struct Signal {
    const char* name;
    std::function<void(Floats&)> make;  ///< of normal deviates
};

inline void scale(Floats& x, std::size_t first, std::size_t last, float factor) {
    for (std::size_t i = first; i < std::min(last, x.size()); ++i) { x[i] *= factor; }
}

inline const Signal kSignals[] = {
    {"noise", [](Floats&) {}},
    {"a half louder by 1e12", [](Floats& x) { scale(x, x.size() / 2, x.size(), 1e12F); }},
    {"a half louder by 1e30", [](Floats& x) { scale(x, x.size() / 2, x.size(), 1e30F); }},
    {"steps of 1e12",
     [](Floats& x) {
         for (std::size_t i = 0; i < x.size(); i += 1400) { scale(x, i, i + 700, 1e12F); }
     }},
    {"one loud sample", [](Floats& x) { x[x.size() / 3] = 1e20F; }},
    {"silence", [](Floats& x) { std::fill(x.begin(), x.end(), 0.0F); }},
    {"mostly silence", [](Floats& x) { std::fill(x.begin() + static_cast<std::ptrdiff_t>(x.size() / 10), x.end(), 0.0F); }},
    {"an impulse",
     [](Floats& x) {
         std::fill(x.begin(), x.end(), 0.0F);
         x[x.size() / 2] = 3;
     }},
    {"sparse impulses",
     [](Floats& x) {
         for (std::size_t i = 0; i < x.size(); ++i) { x[i] = i % 997 == 0 ? x[i] : 0; }
     }},
    {"a constant", [](Floats& x) { std::fill(x.begin(), x.end(), 0.7F); }},
    {"alternating",
     [](Floats& x) {
         for (std::size_t i = 0; i < x.size(); ++i) { x[i] = i % 2 == 0 ? 1e3F : -1e3F; }
     }},
    {"a step", [](Floats& x) { std::fill(x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end(), 1e5F); }},
    {"denormals", [](Floats& x) { scale(x, 0, x.size(), 1e-41F); }},
    {"denormals beside numbers", [](Floats& x) { scale(x, 0, x.size() / 2, 1e-41F); }},
    {"the largest",
     [](Floats& x) {
         for (float& value : x) { value = value > 0 ? 3e38F : -3e38F; }
     }},
    {"a NaN and infinities",
     [](Floats& x) {
         x[x.size() / 4] = NAN;
         x[x.size() / 2] = INFINITY;
         x[x.size() / 2 + 1] = -INFINITY;
         x.back() = INFINITY;
     }},
    {"a growing one",
     [](Floats& x) {
         for (std::size_t i = 0; i < x.size(); ++i) {
             x[i] *= static_cast<float>(std::pow(10.0, 60.0 * static_cast<double>(i) / static_cast<double>(x.size()) - 30));
         }
     }},
};

/// Sums of the largest numbers overflow, of small taps they do not.
inline Floats taps_for(const Signal& signal, Floats taps) {
    if (std::string(signal.name) == "the largest") { scale(taps, 0, taps.size(), 1e-5F); }
    return taps;
}

/// expect(taps, samples, what) for every such signal of the problem's length under random taps and a high pass.
template <class Expect>
void for_every_signal(const Problem& p, std::uint64_t seed, const Expect& expect) {
    for (const Signal& signal : kSignals) {
        Floats in = random_samples(p.length, seed);
        signal.make(in);
        expect(taps_for(signal, random_samples(p.taps, seed + 1)), in, signal.name);
        expect(taps_for(signal, high_pass(p.taps)), in, std::string(signal.name) + " through a high pass");
    }
}

/// expect(problem, taps, samples, what) for every such complex signal, also with one component that is all zero.
template <class Expect>
void for_every_complex_signal(std::int64_t length, Mode mode, const Expect& expect, Dtype dtype = Dtype::complex64) {
    for (const bool complex_taps : {false, true}) {
        const Problem p{.length = length, .taps = 257, .mode = mode, .dtype = dtype, .complex_taps = complex_taps};
        for (const Signal& signal : kSignals) {
            for (const int only : {-1, 0, 1}) {
                Floats in = random_samples(2 * p.length, 5);
                signal.make(in);
                for (std::size_t i = 0; i < in.size() && only >= 0; ++i) { in[i] = static_cast<int>(i % 2) == only ? 0 : in[i]; }
                const Floats taps = taps_for(signal, random_samples(complex_taps ? 2 * p.taps : p.taps, 6));
                expect(p, taps, in, std::string(signal.name) + (complex_taps ? ", complex taps" : ", real taps"));
            }
        }
    }
}

/// expect(problem, taps, samples) for rows, also under filters of their own, whose first `loud` samples are.
template <class Expect>
void for_rows_beside_quiet_ones(std::size_t loud, const Expect& expect, Dtype dtype = Dtype::f32) {
    for (const std::int64_t batch : {2, 3, 5}) {
        for (const Filters filters : {Filters::shared, Filters::per_row}) {
            const Problem p{.length = 3000, .taps = 400, .batch = batch, .filters = filters, .mode = Mode::same, .dtype = dtype};
            Floats in = random_samples(input_extent(p), 7);
            scale(in, 0, loud, 1e12F);
            expect(p, random_samples(taps_extent(p), 8), in);
        }
    }
}

}  // namespace tapline::test
