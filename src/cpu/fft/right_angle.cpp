#include "cpu/fft/right_angle.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/plan/parallel.hpp"

namespace tapline::cpu {
namespace {

// Points that are turned together: their factors stay in the L1 cache.
constexpr std::int64_t kMostRun = 1024;
// Runs of a task.
constexpr std::int64_t kRunsOfATask = 32;

std::complex<double> power(std::int64_t exponent, int log2_size) {
    return std::polar(1.0, M_PI / 2 * std::ldexp(static_cast<double>(exponent), -log2_size));
}

}  // namespace

template <class T>
RightAngle<T>::RightAngle(const BlockFft<T>& fft) : fft_(fft), run_(std::min(fft.tables().columns, kMostRun)) {
    const int log2_size = fft.tables().log2_size;
    const auto fill = [&](std::vector<T>& re, std::vector<T>& im, std::int64_t count, std::int64_t step) {
        for (std::int64_t j = 0; j < count; ++j) {
            const std::complex<double> factor = power(j * step, log2_size);
            re.push_back(static_cast<T>(factor.real()));
            im.push_back(static_cast<T>(factor.imag()));
        }
    };
    fill(fine_re_, fine_im_, run_, 1);
    fill(coarse_re_, coarse_im_, fft.size() / run_, run_);
}

template <class T>
void RightAngle<T>::turn_by(T* data, int threads, T sign) const {
    const FftTables<T>& t = fft_.tables();
    const std::int64_t runs = t.size / run_;
    const auto task = [&](std::int64_t index, int) {
        for (std::int64_t r = index * kRunsOfATask; r < std::min((index + 1) * kRunsOfATask, runs); ++r) {
            const std::int64_t first = r * run_;
            T* const re = data + first / t.columns * t.pitch + first % t.columns;
            const auto at = static_cast<std::size_t>(r);
            fft_.kernels().turn(re, re + t.im_offset, fine_re_.data(), fine_im_.data(), coarse_re_[at], coarse_im_[at], sign, run_);
        }
    };
    core::parallel_for((runs + kRunsOfATask - 1) / kRunsOfATask, threads, std::cref(task));
}

template <class T>
std::vector<T> RightAngle<T>::folded(int log2_size, const T* values, const std::vector<std::int64_t>& positions) {
    const std::int64_t points = std::int64_t{1} << log2_size, length = 2 * points;
    std::vector<T> of_powers(static_cast<std::size_t>(length));  // of u^j
    for (std::size_t t = 0; t < positions.size(); ++t) {
        const std::int64_t turns = (positions[t] + length - 1) / length;  // u^-p = (-1)^turns u^(turns length - p)
        of_powers[static_cast<std::size_t>(turns * length - positions[t])] += turns % 2 == 0 ? values[t] : -values[t];
    }
    std::vector<T> filter(static_cast<std::size_t>(length));
    for (std::int64_t j = 0; j < points; ++j) {
        const std::complex<double> both(of_powers[static_cast<std::size_t>(j)], of_powers[static_cast<std::size_t>(j + points)]);
        const std::complex<double> turned = both * power(j, log2_size);
        const auto tap = static_cast<std::size_t>((points - j) % points);  // a tap at t is a power of -t
        filter[2 * tap] = static_cast<T>(turned.real());
        filter[2 * tap + 1] = static_cast<T>(turned.imag());
    }
    return filter;
}

template class RightAngle<float>;
template class RightAngle<double>;

}  // namespace tapline::cpu
