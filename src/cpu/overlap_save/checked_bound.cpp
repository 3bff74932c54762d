#include "cpu/overlap_save/checked_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/fft/fft.hpp"

namespace tapline::cpu {
namespace {

// What the sums and roots in this file, in double, may be off by.
constexpr double kSafe = 1.0001;
template <class T>
constexpr double kEpsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
template <class T>
constexpr double kRounding = kEpsilon<T> / 2;
// One tap is enough for a steady signal, whose sums cancel; a few more for one that is zero here and there.
constexpr std::size_t kLargest = 8;

}  // namespace

template <class T>
OutputBound<T>::OutputBound(const core::Resolved& problem, int log2_size, const T* taps, const TapPlaces& places)
    : proved_error_(kSafe * proved_error(log2_size)), allowed_(static_cast<double>(problem.taps() + 2) * kEpsilon<T>) {
    const int parts = problem.complex_taps ? 2 : 1;
    const std::int64_t count = problem.taps(), width = places.width == 0 ? count : places.width;
    for (std::int64_t f = 0; f < problem.filters; ++f, taps += count * parts) {
        Filter filter;
        double squares[2] = {0, 0};
        std::vector<LargeTap> all;
        for (std::int64_t t = 0; t < count; ++t) {
            const LargeTap tap{t / width * places.pitch + t % width * places.step, std::abs(static_cast<double>(taps[t * parts])),
                               parts == 2 ? std::abs(static_cast<double>(taps[t * parts + 1])) : 0};
            squares[0] += tap.re * tap.re;
            squares[1] += tap.im * tap.im;
            all.push_back(tap);
        }
        filter.norm = std::sqrt(squares[0] + squares[1]);
        filter.degenerate = parts == 2 && (squares[0] == 0 || squares[1] == 0);
        const auto last = all.begin() + static_cast<std::ptrdiff_t>(std::min(kLargest, all.size()));
        std::partial_sort(all.begin(), last, all.end(), [](const LargeTap& x, const LargeTap& y) {
            const double a = std::max(x.re, x.im), b = std::max(y.re, y.im);
            return a != b ? a > b : x.position < y.position;
        });
        filter.largest.assign(all.begin(), last);
        filters_.push_back(std::move(filter));
    }
}

template <class T>
double OutputBound<T>::error(std::int64_t filter, double energy) const {
    return proved_error_ * std::sqrt(energy) * filters_[static_cast<std::size_t>(filter)].norm;
}

// error + eps / 2 |output| <= allowed S, where |output| <= S + error.
template <class T>
double OutputBound<T>::least_sum(double error) const {
    return kSafe * error * (1 + kRounding<T>) / (allowed_ - kRounding<T>);
}

// The same, where S >= |output| - error.
template <class T>
double OutputBound<T>::least_output(double error) const {
    return kSafe * error * (1 + allowed_) / (allowed_ - kRounding<T>);
}

// S is at most the product of both norms (Cauchy and Schwarz).
template <class T>
bool OutputBound<T>::is_hopeless(std::int64_t filter, double local, double energy) const {
    return std::sqrt(local) * filters_[static_cast<std::size_t>(filter)].norm < least_sum(filter, energy);
}

template <class T>
bool OutputBound<T>::reaches(double* lacking, std::int64_t filter, const T* a, const T* b, std::int64_t first,
                             std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i) { lacking[i] *= kSafe; }
    for (const LargeTap& tap : largest(filter)) {
        const std::int64_t at = first + tap.position;
        for (std::int64_t i = 0; i < count; ++i) { lacking[i] -= tap.re * static_cast<double>(std::abs(a[at + i])); }
        for (std::int64_t i = 0; i < count && b != nullptr; ++i) {
            lacking[i] -= tap.im * static_cast<double>(std::abs(b[at + i]));
        }
        int enough = 0;
        for (std::int64_t i = 0; i < count; ++i) { enough += lacking[i] <= 0 ? 1 : 0; }  // not of NaN
        if (enough == count) { return true; }
    }
    return false;
}

template class OutputBound<float>;
template class OutputBound<double>;

}  // namespace tapline::cpu
