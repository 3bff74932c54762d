// Which transform size: the cost model and the memory bound of the overlap-save algorithms.
#pragma once

#include <cstdint>

#include "core/choice/engine.hpp"

namespace tapline::cpu {

/// Two real segments travel as the real and imaginary part of one complex signal; which two never depends on strides, on the
/// number of threads or on the signal's length, so that streams give the same bits.
enum class Pairing {
    complex_signal,  ///< none: a segment is complex
    rows,            ///< rows 2i and 2i + 1 at the same segment; the last of an odd number of rows as below
    segments,        ///< segments 2j and 2j + 1 of one row
};
/// `rows_alone`: Request::rows_alone.
Pairing pairing_of(const core::Resolved& problem, bool rows_alone = false);

/// Sizes of one plan. Segment j of a row is its outputs [j block, (j + 1) block).
struct OverlapSaveShape {
    int log2_size = 0;            ///< of the transform; 0: nothing fits
    std::int64_t block = 0;       ///< outputs of a segment
    std::int64_t partitions = 1;  ///< of `block` taps each; 1: all taps
    std::int64_t group = 1;       ///< units whose sums are kept at once (partitioned)
    bool shared = false;          ///< one buffer and all threads inside each transform, instead of a buffer for each thread
    int slots = 1;                ///< units or groups in work at once; 1 if shared
    double seconds = 0;           ///< predicted, one execution on one thread; per output while n is unknown
    double unit_seconds = 0;      ///< predicted, of one unit: what one transform computes
    Pairing pairing = Pairing::segments;
};

/// Outputs of a row that are computed together.
std::int64_t overlap_save_granularity(const core::Resolved& problem, const OverlapSaveShape& shape);

/// The cheapest shape within the memory bound. Only `shared` and `slots` depend on the number of threads; they do not touch the
/// bits.
OverlapSaveShape overlap_save_shape(const core::Resolved& problem, int threads, bool rows_alone = false);
/// The same under strict accuracy, every output checked: samples of f32 in double, those of f64 in two parts.
OverlapSaveShape checked_shape(const core::Resolved& problem, int threads, bool rows_alone = false);
OverlapSaveShape partitioned_shape(const core::Resolved& problem, int threads, bool rows_alone = false);

/// Units of all rows, two segments each or one complex one; with n unknown, of one output.
double units_of(const core::Resolved& problem, std::int64_t block, Pairing pairing);

/// Sets `shared` and `slots`. `wanted`: tasks that could run side by side, `fitting`: for which there is memory.
void set_slots(OverlapSaveShape& shape, const core::Resolved& problem, double wanted, std::int64_t fitting, int threads);

/// Of real and complex filters of transforms: bytes that a plan and its execution may take, while a plan is made and afterwards, if
/// the taps are so many bytes. Input and output are not counted.
struct MemoryBound {
    explicit MemoryBound(double filter_bytes);
    double preparing, executing;
};

/// Blocks are multiples of this, so that an aligned output stays aligned from block to block.
inline constexpr std::int64_t kBlockMultiple = 16;

/// Seconds of one transform of 2^log2_size complex points with its product and inverse, on one thread; dtype: f32 or f64.
double transform_seconds(int log2_size, Dtype dtype);
/// The same of checked ones, in double: of samples of f32, or of f64 in two parts.
double checked_transform_seconds(int log2_size, Dtype dtype);

/// `seconds` of a checked_shape() on all threads.
double checked_seconds_on(const core::Resolved& problem, const OverlapSaveShape& shape, int threads);

/// `seconds` of another shape on all threads.
double seconds_on(const OverlapSaveShape& shape, int threads);

}  // namespace tapline::cpu
