// The block FFT as a whole: tables and kernels of one size, on one or all threads.
#pragma once

#include <complex>
#include <vector>

#include "cpu/fft/fft_kernels.hpp"

namespace tapline::cpu {

/// Complex transforms of 2^log2_size points in the layout of FftTables. Data is one block of extent() elements whose im part
/// starts im_offset elements behind the re part; scratch holds threads * tables().scratch_extent elements (none for small
/// sizes, which run in the calling thread). The results' bits do not depend on the number of threads.
template <class T>
class BlockFft {
public:
    BlockFft(Target target, int log2_size)
        : kernels_(&fft_kernels<T>(target)), tables_(fft_tables<T>(log2_size, fft_kernels<T>(target).lanes)) {}

    [[nodiscard]] const FftTables<T>& tables() const { return *tables_; }
    [[nodiscard]] const FftKernels<T>& kernels() const { return *kernels_; }
    [[nodiscard]] std::int64_t size() const { return tables_->size; }
    [[nodiscard]] std::int64_t extent() const { return tables_->extent; }

    /// Natural to permuted order, in place.
    void forward(T* data, T* scratch, int threads) const;
    /// Permuted to natural order, in place, times 2^log2_size.
    void inverse(T* data, T* scratch, int threads) const;
    /// What is done to columns of several rows, in place: forward() is this and then forward_row of each row, inverse() the
    /// opposite. Nothing if there is one row.
    void forward_columns(T* data, T* scratch, int threads) const;
    void inverse_columns(T* data, T* scratch, int threads, const FftSink<T>& sink) const;
    /// inverse(forward(source) * spectrum) to sink, by way of data. False if a stored value is infinite or NaN.
    bool convolve(T* data, const T* spectrum, T* scratch, int threads, const FftSource<T>& source, const FftSink<T>& sink) const;
    /// The data itself as source or sink.
    [[nodiscard]] FftSource<T> source(const T* data) const;
    [[nodiscard]] FftSink<T> sink(T* data, std::int64_t re_count, std::int64_t im_count) const;

private:
    const FftKernels<T>* kernels_;
    std::shared_ptr<const FftTables<T>> tables_;
};

/// Convolutions of f32 samples by transforms in double, which say of every output whether it is large beside the transform's
/// error. Spectra are those of BlockFft<double>.
class CheckedFft {
public:
    CheckedFft(Target target, int log2_size) : fft_(target, log2_size), kernels_(&checked_fft_kernels(target)) {}

    [[nodiscard]] const BlockFft<double>& wide() const { return fft_; }
    [[nodiscard]] const CheckedFftKernels& kernels() const { return *kernels_; }
    /// As BlockFft::convolve. Whether no output was small: so the bits of the sink, which the caller has cleared, are all 0.
    bool convolve(double* data, const double* spectrum, double* scratch, int threads, const FftSource<float>& source,
                  const CheckedSink& sink) const;

private:
    BlockFft<double> fft_;
    const CheckedFftKernels* kernels_;
};

/// How far a convolution by double transforms of 2^log2_size points may be off: every output's error, each real component's, is
/// at most this times the L2 norm of the (complex) window times the L2 norm of the taps. Proved in docs/numerics.md, "What a
/// transform can be proved to keep", for these kernels on every target; overflow and underflow apart.
double proved_error(int log2_size);

/// A plain complex FFT in double with natural order on both sides, for plots and tests: y[f] = sum x[t] exp(-2 pi i f t / N).
class NaturalFft {
public:
    /// `size` must be a power of two, at least 1. Throws Error (argument) otherwise.
    explicit NaturalFft(std::int64_t size);
    [[nodiscard]] std::int64_t size() const { return size_; }
    /// In place; `data` holds size() values.
    void forward(std::complex<double>* data) const;

private:
    std::int64_t size_;
    std::vector<std::complex<double>> roots_;  ///< exp(-2 pi i j / size), j < size / 2
};

}  // namespace tapline::cpu
