// What every way of overlap-save does on the host: types of points, taps as complex numbers, tables as kernels read them.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "cuda/rung.hpp"

namespace tapline::cuda::overlap_save {

struct PointType {
    int bytes;  // of a sample
    int tap_bytes;
    int point_bytes;  // of a complex point
    bool is_complex;  // samples

    [[nodiscard]] bool is_wide() const { return point_bytes == 16; }
    [[nodiscard]] std::int64_t sum_bytes() const { return is_complex ? point_bytes : point_bytes / 2; }
};
PointType point_type_of(const Problem& p);
inline bool has_real_taps(const Problem& p) { return p.taps_dtype == Dtype::f32 || p.taps_dtype == Dtype::f64; }

/// Whether unit strides and types allow plain launches at all.
inline bool plain_problem(const Problem& p) { return p.x.in_stride == 1 && p.x.out_stride == 1 && p.output_dtype == p.dtype; }

/// Points as the kernels read them, appended.
void append(std::vector<std::byte>& to, const std::vector<std::complex<double>>& points, bool wide);
/// Tap t of taps of a type.
std::complex<double> tap_at(const std::byte* taps, std::int64_t t, Dtype type);
/// body(i) for 0 <= i < count, by several threads if there are many: a filter a channel makes thousands of spectra.
void in_parallel(std::int64_t count, const std::function<void(std::int64_t)>& body);

}  // namespace tapline::cuda::overlap_save
