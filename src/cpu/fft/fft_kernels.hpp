// The FFT's inner loops, one table of functions per instruction set.
#pragma once

#include "cpu/fft/fft_tables.hpp"
#include "cpu/targets.hpp"

namespace tapline::cpu {

/// Where the natural-order side of a transform is, if not in the FFT's own arrays. Positions count from 0 to N-1.
template <class T>
struct FftSource {
    const T* re = nullptr;
    const T* im = nullptr;
    std::int64_t pitch = 0;  ///< elements from one row to the next
    std::int64_t ahead = 0;  ///< so much further on lies what the next transform reads; 0: unknown
};
template <class T>
struct FftSink {
    T* re = nullptr;
    T* im = nullptr;
    std::int64_t pitch = 0;
    std::int64_t re_count = 0, im_count = 0;  ///< only positions below these are stored
    bool stream = false;                      ///< past the caches; re and im must be multiples of 64 bytes
};

/// Where a convolution of f32 samples by transforms in double leaves its outputs, rounded to f32, and which of them are so small
/// that the transform's error might show in them.
struct CheckedSink {
    FftSink<float> to;
    double least = 0;                  ///< a re or im of at least this magnitude is large enough; NaN: none is
    std::uint8_t* small_re = nullptr;  ///< bit i % 8 of byte i / 8 is set where output i is not; others stay as they are
    std::uint8_t* small_im = nullptr;
};

/// Points of as many lines as a vector has lanes: point i of all of them is the vector at re[i] and, of the second part, im[i];
/// without `im` re[i] are pairs (re, im) of complex samples.
template <class T>
struct LaneRows {
    const T* const* re = nullptr;
    const T* const* im = nullptr;
    std::int64_t ahead = 0;  ///< so many elements on in each row ends what is read next; 0: unknown
};
/// Where their outputs go: point i at re + i * stride, below re_count, or pairs there.
template <class T>
struct LaneSink {
    T* re = nullptr;
    T* im = nullptr;
    std::int64_t stride = 0;
    std::int64_t re_count = 0, im_count = 0;
    bool pairs = false;
    bool far = false;  ///< not in the caches: lines are asked for before they are written to
};

/// Samples whose power FftKernels::power compares; the rows of all transforms are multiples of it.
inline constexpr std::int64_t kFftPassage = 32;

template <class T>
struct FftKernels {
    int lanes;
    /// One row (columns points in place, natural to permuted order), from `source` if given.
    void (*forward_row)(const FftTables<T>&, T* re, T* im);
    void (*inverse_row)(const FftTables<T>&, T* re, T* im);
    /// forward, product with the spectrum h, inverse of one row in place, depth first so that blocks stay in the caches.
    void (*convolve_row)(const FftTables<T>&, T* re, T* im, const T* h_re, const T* h_im);
    /// The whole of a one-row transform, reading `source` and storing to `sink` on the way. False if a stored value is
    /// infinite or NaN.
    bool (*convolve_segment)(const FftTables<T>&, T* re, T* im, const T* h_re, const T* h_im, const FftSource<T>&,
                             const FftSink<T>&);
    /// Column transforms of one strip from `source` to the rows of re, im; scratch holds scratch_extent elements.
    void (*forward_columns)(const FftTables<T>&, std::int64_t strip, const FftSource<T>&, T* re, T* im, T* scratch);
    /// Back, from the rows to `sink`. False as above.
    bool (*inverse_columns)(const FftTables<T>&, std::int64_t strip, const T* re, const T* im, const FftSink<T>&, T* scratch);
    /// acc += x * h, complex, count a multiple of the lanes. first: acc = x * h.
    void (*multiply_add)(T* acc_re, T* acc_im, const T* x_re, const T* x_im, const T* h_re, const T* h_im, std::int64_t count,
                         bool first);
    /// x *= f (by_re + i by_im), complex, of sign -1 its conjugate; count a multiple of the lanes.
    void (*turn)(T* x_re, T* x_im, const T* f_re, const T* f_im, T by_re, T by_im, T sign, std::int64_t count);
    /// (re, im) pairs to and from split arrays, any count and alignment.
    void (*split)(T* re, T* im, const T* pairs, std::int64_t count);
    void (*join)(T* pairs, const T* re, const T* im, std::int64_t count);
    /// Whether all values are finite.
    bool (*all_finite)(const T* values, std::int64_t count);
    /// The sum of the squares of `count` values, a multiple of kFftPassage, and of those at `im` unless it is null. Of each
    /// kFftPassage that follow each other, counted from `re`, it comes to *least if it is less.
    T (*power)(const T* re, const T* im, std::int64_t count, T* least);

    /// The convolution of a line in each lane, by the tables and a spectrum of one lane (Target::scalar). `re` and `im` have room
    /// for size * lanes elements. Bit l is set if an output of lane l is infinite or NaN.
    std::uint32_t (*convolve_lanes)(const FftTables<T>&, const LaneRows<T>&, T* re, T* im, const T* h_re, const T* h_im,
                                    const LaneSink<T>&);
    /// Each lane's sum of squares of `count` rows is added to its total and becomes its least where it is less; either may be null.
    void (*add_lane_power)(const T* const* rows, std::int64_t count, bool pairs, T* total, T* least);
    /// Of `count` rows each lane's sum of squares is added to its total. Of every kFftPassage rows from the first on it is left in
    /// `powers`, a vector each, and of every `together` of these that follow each other it becomes the least where it is less.
    void (*add_lane_passages)(const T* const* rows, std::int64_t count, bool pairs, std::int64_t together, T* powers, T* total,
                              T* least);
};

/// As FftKernels<double>, from samples of f32 to a CheckedSink. What returns bool: whether no output was small.
struct CheckedFftKernels {
    bool (*convolve_segment)(const FftTables<double>&, double* re, double* im, const double* h_re, const double* h_im,
                             const FftSource<float>&, const CheckedSink&);
    void (*forward_columns)(const FftTables<double>&, std::int64_t strip, const FftSource<float>&, double* re, double* im,
                            double* scratch);
    bool (*inverse_columns)(const FftTables<double>&, std::int64_t strip, const double* re, const double* im, const CheckedSink&,
                            double* scratch);
    /// The sum of the squares of `count` samples; NaN or infinite if one of them is.
    double (*energy)(const float* values, std::int64_t count);
};

const CheckedFftKernels& checked_fft_kernels(Target target);
const CheckedFftKernels& checked_fft_kernels_scalar();

template <class T>
const FftKernels<T>& fft_kernels(Target target);
template <class T>
const FftKernels<T>& fft_kernels_scalar();

}  // namespace tapline::cpu
