#include "cpu/fft/fft.hpp"

#include <atomic>
#include <functional>
#include <numbers>
#include <string>
#include <utility>

#include "core/plan/parallel.hpp"
#include "tapline/error.hpp"

namespace tapline::cpu {

template <class T>
FftSource<T> BlockFft<T>::source(const T* data) const {
    return {data, data + tables_->im_offset, tables_->pitch};
}

template <class T>
FftSink<T> BlockFft<T>::sink(T* data, std::int64_t re_count, std::int64_t im_count) const {
    return {data, data + tables_->im_offset, tables_->pitch, re_count, im_count, false};
}

template <class T>
void BlockFft<T>::forward_columns(T* data, T* scratch, int threads) const {
    const FftTables<T>& t = *tables_;
    if (t.rows == 1) { return; }
    const FftSource<T> from = source(data);
    const auto columns = [&](std::int64_t strip, int slot) {
        kernels_->forward_columns(t, strip, from, data, data + t.im_offset, scratch + slot * t.scratch_extent);
    };
    core::parallel_for(t.columns / t.strip, threads, std::cref(columns));
}

template <class T>
void BlockFft<T>::inverse_columns(T* data, T* scratch, int threads, const FftSink<T>& sink) const {
    const FftTables<T>& t = *tables_;
    if (t.rows == 1) { return; }
    const auto columns = [&](std::int64_t strip, int slot) {
        kernels_->inverse_columns(t, strip, data, data + t.im_offset, sink, scratch + slot * t.scratch_extent);
    };
    core::parallel_for(t.columns / t.strip, threads, std::cref(columns));
}

template <class T>
void BlockFft<T>::forward(T* data, T* scratch, int threads) const {
    const FftTables<T>& t = *tables_;
    forward_columns(data, scratch, threads);
    const auto rows = [&](std::int64_t row, int) {
        T* const re = data + row * t.pitch;
        kernels_->forward_row(t, re, re + t.im_offset);
    };
    core::parallel_for(t.rows, threads, std::cref(rows));
}

template <class T>
void BlockFft<T>::inverse(T* data, T* scratch, int threads) const {
    const FftTables<T>& t = *tables_;
    const auto rows = [&](std::int64_t row, int) {
        T* const re = data + row * t.pitch;
        kernels_->inverse_row(t, re, re + t.im_offset);
    };
    core::parallel_for(t.rows, threads, std::cref(rows));
    inverse_columns(data, scratch, threads, sink(data, t.size, t.size));
}

namespace {

// `ends`: the kernels that know source and sink; `rows_of`: the one between them.
template <class T, class Ends, class Source, class Sink>
bool convolve_with(const FftTables<T>& t, const FftKernels<T>& rows_of, const Ends& ends, T* data, const T* spectrum, T* scratch,
                   int threads, const Source& source, const Sink& sink) {
    T* const im = data + t.im_offset;
    const T* const spectrum_im = spectrum + t.im_offset;
    if (t.rows == 1) { return ends.convolve_segment(t, data, im, spectrum, spectrum_im, source, sink); }
    const auto forward_columns = [&](std::int64_t strip, int slot) {
        ends.forward_columns(t, strip, source, data, im, scratch + slot * t.scratch_extent);
    };
    const auto rows = [&](std::int64_t row, int) {
        const std::int64_t at = row * t.pitch;
        rows_of.convolve_row(t, data + at, im + at, spectrum + at, spectrum_im + at);
    };
    std::atomic<bool> good = true;
    const auto inverse_columns = [&](std::int64_t strip, int slot) {
        if (!ends.inverse_columns(t, strip, data, im, sink, scratch + slot * t.scratch_extent)) { good = false; }
    };
    core::parallel_for(t.columns / t.strip, threads, std::cref(forward_columns));
    core::parallel_for(t.rows, threads, std::cref(rows));
    core::parallel_for(t.columns / t.strip, threads, std::cref(inverse_columns));
    return good;
}

}  // namespace

template <class T>
bool BlockFft<T>::convolve(T* data, const T* spectrum, T* scratch, int threads, const FftSource<T>& source,
                           const FftSink<T>& sink) const {
    return convolve_with(*tables_, *kernels_, *kernels_, data, spectrum, scratch, threads, source, sink);
}

bool CheckedFft::convolve(double* data, const double* spectrum, double* scratch, int threads, const FftSource<float>& source,
                          const CheckedSink& sink) const {
    return convolve_with(fft_.tables(), fft_.kernels(), *kernels_, data, spectrum, scratch, threads, source, sink);
}

template class BlockFft<float>;
template class BlockFft<double>;

double proved_error(int log2_size) {
    // In units of 2^-53: three transforms of log2_size levels, of 3.1 for the arithmetic and 1.9 for the factor of each; in
    // each the product of two factors between columns and rows; the product of the spectra.
    constexpr double kLevel = 3.1 + 1.9, kBetween = 8, kProduct = 2.1;
    const double roundoffs = 3 * (kLevel * log2_size + kBetween) + kProduct;
    return 1.0001 * roundoffs * 0x1p-53;  // the products of errors are below 10^-12 of their sum
}

NaturalFft::NaturalFft(std::int64_t size) : size_(size) {
    if (size < 1 || (size & (size - 1)) != 0) {
        throw Error(ErrorCode::argument, "size: " + std::to_string(size) + " is not a power of two; pad the data to the next one");
    }
    roots_.reserve(static_cast<std::size_t>(size / 2));
    for (std::int64_t j = 0; j < size / 2; ++j) {
        roots_.push_back(std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(size)));
    }
}

void NaturalFft::forward(std::complex<double>* data) const {
    for (std::int64_t i = 1, reversed = 0; i < size_; ++i) {  // bit reversal
        std::int64_t bit = size_ >> 1;
        for (; (reversed & bit) != 0; bit >>= 1) { reversed ^= bit; }
        reversed ^= bit;
        if (i < reversed) { std::swap(data[i], data[reversed]); }
    }
    for (std::int64_t half = 1; half < size_; half *= 2) {
        for (std::int64_t block = 0; block < size_; block += 2 * half) {
            for (std::int64_t j = 0; j < half; ++j) {
                const std::complex<double> a = data[block + j];
                const std::complex<double> w = roots_[static_cast<std::size_t>(j * (size_ / (2 * half)))];
                const std::complex<double> b = data[block + half + j];
                const std::complex<double> product(b.real() * w.real() - b.imag() * w.imag(),
                                                   b.real() * w.imag() + b.imag() * w.real());
                data[block + j] = a + product;
                data[block + half + j] = a - product;
            }
        }
    }
}

}  // namespace tapline::cpu
