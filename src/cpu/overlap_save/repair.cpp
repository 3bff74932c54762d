#include "cpu/overlap_save/repair.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tapline::cpu {
namespace {

constexpr std::int64_t kChunk = 1024;

// Calls visit(i, values, count) for the samples first + i of [first, first + count) of a row, a chunk at a time; values are
// (re, im) pairs for a complex signal. Samples of a zero boundary are absent and left out.
template <class T, class Visit>
void visit_samples(const core::Resolved& problem, const Call& call, std::int64_t row, std::int64_t first, std::int64_t count,
                   const Visit& visit) {
    std::int64_t begin = 0, end = count;
    if (problem.x.boundary == Boundary::zero) {
        begin = std::max<std::int64_t>(-first, 0);
        if (call.input.n != kUnknownLength) { end = std::min(end, call.input.n - first); }
    }
    std::complex<T> chunk[kChunk];
    for (std::int64_t i = begin; i < end; i += kChunk) {
        const std::int64_t samples = std::min(kChunk, end - i);
        if (is_complex(problem.dtype)) {
            core::gather(chunk, problem, call.input, row, first + i, samples);
        } else {
            core::gather(reinterpret_cast<T*>(chunk), problem, call.input, row, first + i, samples);
        }
        visit(i, reinterpret_cast<const T*>(chunk), samples);
    }
}

}  // namespace

template <class T>
template <class Visit>
void Repair<T>::visit_runs(T* part, std::int64_t first, std::int64_t last, const Visit& visit) const {
    const FftTables<T>& t = fft_.tables();
    for (std::int64_t at = first; at < last;) {
        const std::int64_t column = at % t.columns;
        const std::int64_t count = std::min(t.columns - column, last - at);
        visit(part + at / t.columns * t.pitch + column, at, count);
        at += count;
    }
}

template <class T>
const T* Repair<T>::filter(const Unit& unit, int side) const {
    const std::int64_t row = unit.row[side] % problem_.filters;
    return taps_.taps.data() + row * problem_.x.k * (taps_.complex_taps ? 2 : 1);
}

template <class T>
int Repair<T>::exponent(const Call& call, const Unit& unit) const {
    const std::int64_t parts = io_.is_complex_signal() ? 2 : 1;
    T largest = 0;
    for (int side = 0; side < (unit.both ? 2 : 1); ++side) {
        const std::int64_t begin = io_.window_begin(unit, side);
        const std::int64_t outputs = io_.wanted(call, unit, side).first + io_.wanted(call, unit, side).count;
        // All samples that the transform reads, also those past the wanted outputs: they must not overflow either.
        const std::int64_t count =
            std::min(std::max(outputs + problem_.x.k - 1, fft_.size() + problem_.x.k), call.needed_end - begin);
        visit_samples<T>(problem_, call, unit.row[side], begin, count, [&](std::int64_t, const T* values, std::int64_t samples) {
            for (std::int64_t i = 0; i < samples * parts; ++i) {
                const T magnitude = std::abs(values[i]);
                if (std::isfinite(magnitude)) { largest = std::max(largest, magnitude); }
            }
        });
    }
    return largest == 0 ? 0 : std::ilogb(largest);
}

template <class T>
void Repair<T>::clean(T* data, int exponent) const {
    const FftTables<T>& t = fft_.tables();
    const PowerOfTwo<T> scale(-exponent);
    for (int part = 0; part < 2; ++part) {
        visit_runs(data + part * t.im_offset, 0, t.size, [&](T* values, std::int64_t, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i) {
                values[i] = std::isfinite(values[i]) ? values[i] * scale.first * scale.second : T{0};
            }
        });
    }
}

template <class T>
void Repair<T>::finish(const Call& call, const Unit& unit, T* data, int exponent) const {
    const FftTables<T>& t = fft_.tables();
    const PowerOfTwo<T> scale(exponent), taps_scale(taps_.unscale_exponent);
    // Large and small factors in turn, so that nothing overflows on the way to a result that does not.
    std::array<T, 4> factors = {scale.first, scale.second, taps_scale.first, taps_scale.second};
    if (exponent > 0) { std::rotate(factors.begin(), factors.begin() + 2, factors.end()); }
    for (int part = 0; part < io_.parts(unit); ++part) {
        const auto want = io_.wanted(call, unit, part);
        visit_runs(data + part * t.im_offset, want.first, want.first + want.count,
                   [&](T* values, std::int64_t, std::int64_t count) {
                       for (const T factor : factors) {
                           if (factor == 1) { continue; }
                           for (std::int64_t i = 0; i < count; ++i) { values[i] *= factor; }
                       }
                   });
    }
    add_sample_terms(call, unit, data);
    if (!taps_.special.empty()) { add_tap_terms(call, unit, data); }
}

// One sample that is not finite (component from_part of the transform's input) at `position` of the window; positions ascend.
template <class T>
void Repair<T>::add_sample(const Unit& unit, int from_part, std::int64_t position, T value, std::int64_t outputs, T* data,
                           Settled* settled) const {
    const FftTables<T>& t = fft_.tables();
    const std::int64_t k = problem_.x.k;
    const std::int64_t first = std::max<std::int64_t>(position - k + 1, 0);
    const std::int64_t last = std::min(position + 1, outputs);
    const int side = io_.is_complex_signal() ? 0 : from_part;
    const T* const taps = filter(unit, side);
    const std::int64_t stride = taps_.complex_taps ? 2 : 1;
    for (int tap_part = 0; tap_part < stride; ++tap_part) {
        const int to_part = from_part ^ tap_part;
        const T signed_value = from_part == 1 && tap_part == 1 ? -value : value;
        T* const part = data + to_part * t.im_offset;
        Settled& done = settled[to_part];
        done.nan_until = std::max(done.nan_until, first);
        while (done.nan_until < last && std::isnan(part[done.nan_until / t.columns * t.pitch + done.nan_until % t.columns])) {
            ++done.nan_until;
        }
        std::int64_t start = done.nan_until;
        if (!taps_.one_sign.empty() && taps_.one_sign[static_cast<std::size_t>(unit.row[side] % problem_.filters)]) {
            if (done.infinity == signed_value) { start = std::max(start, done.infinity_until); }
            done.infinity = signed_value;
            done.infinity_until = last;
        }
        visit_runs(part, start, last, [&](T* y, std::int64_t at, std::int64_t count) {
            const T* const tap = taps + (position - at) * stride + tap_part;
            for (std::int64_t i = 0; i < count; ++i) { y[i] += tap[-i * stride] * signed_value; }
        });
    }
}

template <class T>
void Repair<T>::add_sample_terms(const Call& call, const Unit& unit, T* data) const {
    const bool complex_signal = io_.is_complex_signal();
    const int parts = complex_signal ? 2 : 1;
    for (int side = 0; side < (unit.both ? 2 : 1); ++side) {
        const auto want = io_.wanted(call, unit, side);
        if (want.count == 0) { continue; }
        const std::int64_t outputs = want.first + want.count;
        for (const bool nan : {true, false}) {
            Settled settled[2];
            visit_samples<T>(problem_, call, unit.row[side], io_.window_begin(unit, side), outputs + problem_.x.k - 1,
                             [&](std::int64_t at, const T* values, std::int64_t samples) {
                                 if (fft_.kernels().all_finite(values, samples * parts)) { return; }
                                 for (std::int64_t i = 0; i < samples * parts; ++i) {
                                     if (std::isfinite(values[i]) || std::isnan(values[i]) != nan) { continue; }
                                     add_sample(unit, complex_signal ? static_cast<int>(i % 2) : side, at + i / parts, values[i],
                                                outputs, data, settled);
                                 }
                             });
        }
    }
}

template <class T>
void Repair<T>::add_tap_terms(const Call& call, const Unit& unit, T* data) const {
    const FftTables<T>& t = fft_.tables();
    const bool complex_signal = io_.is_complex_signal();
    const bool absent_outside = problem_.x.boundary == Boundary::zero;
    for (int side = 0; side < (unit.both ? 2 : 1); ++side) {
        const auto want = io_.wanted(call, unit, side);
        const T* const taps = filter(unit, side);
        for (const std::int64_t tap : taps_.special[static_cast<std::size_t>(unit.row[side] % problem_.filters)]) {
            const std::int64_t begin = io_.window_begin(unit, side) + want.first + tap;
            const bool all_present = begin >= 0 && (call.input.n == kUnknownLength || begin + want.count <= call.input.n);
            bool all_nan = all_present || !absent_outside;
            visit_samples<T>(
                problem_, call, unit.row[side], begin, want.count, [&](std::int64_t at, const T* values, std::int64_t samples) {
                    for (std::int64_t i = 0; i < samples; ++i) {
                        const std::int64_t o = want.first + at + i;
                        T* const re = data + (complex_signal ? 0 : side) * t.im_offset + o / t.columns * t.pitch + o % t.columns;
                        T* const im = re + t.im_offset;
                        if (!complex_signal) {
                            *re += taps[tap] * values[i];
                        } else if (!taps_.complex_taps) {
                            *re += taps[tap] * values[2 * i];
                            *im += taps[tap] * values[2 * i + 1];
                        } else {
                            *re += taps[2 * tap] * values[2 * i] - taps[2 * tap + 1] * values[2 * i + 1];
                            *im += taps[2 * tap] * values[2 * i + 1] + taps[2 * tap + 1] * values[2 * i];
                        }
                        all_nan = all_nan && std::isnan(*re) && (!complex_signal || std::isnan(*im));
                    }
                });
            if (all_nan) { break; }
        }
    }
}

template class Repair<float>;
template class Repair<double>;

}  // namespace tapline::cpu
