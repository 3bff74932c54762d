#include "core/problem/resolved.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "core/problem/arrange.hpp"
#include "core/problem/checks.hpp"
#include "core/problem/elements.hpp"

namespace tapline {
namespace core {
namespace {

// Bytes from a buffer's first element to its last.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60;
// Up, down, dilation: far below where positions of the widened signal overflow 64 bits.
constexpr std::int64_t kMaxFactor = std::int64_t{1} << 30;

[[noreturn]] void refuse(ErrorCode code, const std::string& message) { throw Error(code, message); }

// ---- Types and epilogue ----

void check_enums(const Problem& p) {
    check_enum("filters", p.filters, Filters::per_row);
    check_enum("mode", p.mode, Mode::leading);
    check_enum("boundary", p.boundary, Boundary::wrap);
    check_enum("operation", p.operation, Operation::correlation);
    check_enum("dtype", p.dtype, Dtype::bf16);
    check_enum("overflow", p.overflow, Overflow::truncate);
    if (p.output_dtype) { check_enum("output_dtype", *p.output_dtype, Dtype::bf16); }
    for (const FilteredAxis& axis : p.axes) {
        if (axis.mode) { check_enum("mode", *axis.mode, Mode::leading); }
        if (axis.boundary) { check_enum("boundary", *axis.boundary, Boundary::wrap); }
    }
}

void check_types(const Problem& p) {
    if (p.complex_taps && !is_complex(p.dtype)) {
        refuse(ErrorCode::type, std::string("complex_taps: the signal is ") + to_string(p.dtype) +
                                    "; complex taps need a complex signal: convert it to complex64 or complex128");
    }
    if (p.real_taps && (!is_integer(p.dtype) || (*p.real_taps != Dtype::f32 && *p.real_taps != Dtype::f64))) {
        refuse(ErrorCode::type, std::string("real_taps: ") + to_string(*p.real_taps) + " beside a " + to_string(p.dtype) +
                                    " signal; it is f32 or f64, for a signal of integers");
    }
    const Dtype out = output_dtype(p);
    if (p.overflow == Overflow::truncate && (!is_integer(out) || out == Dtype::boolean || is_integer(taps_dtype(p)))) {
        refuse(ErrorCode::argument, "overflow: truncate is for real taps and integer outputs other than bool");
    }
    if (is_complex(p.dtype) != is_complex(out)) {
        refuse(ErrorCode::type, std::string("output_dtype: ") + to_string(out) + " cannot hold the result of a " +
                                    to_string(p.dtype) +
                                    " signal; a complex signal gives a complex output, a real one a real output");
    }
}

void check_constant(const Problem& p) {
    const auto is_constant = [](const FilteredAxis& axis) { return axis.boundary == Boundary::constant; };
    if (p.boundary != Boundary::constant && std::none_of(p.axes.begin(), p.axes.end(), is_constant)) { return; }
    if (!is_complex(p.dtype) && p.constant.imag() != 0) {
        refuse(ErrorCode::type, std::string("constant: a complex boundary constant beside a ") + to_string(p.dtype) + " signal");
    }
    if (!is_integer(p.dtype)) { return; }
    const double c = p.constant.real();
    const int bits = 8 * static_cast<int>(size_of(p.dtype));
    const bool is_signed = p.dtype >= Dtype::i8 && p.dtype <= Dtype::i64;
    const double high = p.dtype == Dtype::boolean ? 2 : std::ldexp(1.0, is_signed ? bits - 1 : bits);  // exclusive
    const double low = is_signed ? -high : 0;
    if (!(c >= low && c < high && c == std::floor(c))) {
        refuse(ErrorCode::argument,
               "constant: " + std::to_string(c) + " is not a value of the signal's type " + to_string(p.dtype));
    }
}

void check_epilogue(const Problem& p) {
    if (std::isnan(p.scale)) { refuse(ErrorCode::argument, "scale: NaN; give a number"); }
    if (std::isnan(p.bias)) { refuse(ErrorCode::argument, "bias: NaN; give a number"); }
    if (!p.clamp) { return; }
    if (std::isnan(p.clamp->low) || std::isnan(p.clamp->high)) {
        refuse(ErrorCode::argument, "clamp: a limit is NaN; give numbers or infinities");
    }
    if (p.clamp->low > p.clamp->high) {
        refuse(ErrorCode::argument, "clamp: the lower limit " + std::to_string(p.clamp->low) + " is above the upper limit " +
                                        std::to_string(p.clamp->high));
    }
    if (is_complex(p.dtype)) { refuse(ErrorCode::type, "clamp: complex numbers have no order; clamp needs a real signal"); }
}

// ---- Filtered axes ----

// The short form's one axis, or those that are given.
UpTo<FilteredAxis, 3> axes_of(const Problem& p) {
    if (p.axes.empty()) {
        return {{.length = p.length,
                 .taps = p.taps,
                 .origin = p.origin,
                 .input_stride = p.input_sample_stride,
                 .output_stride = p.output_sample_stride,
                 .up = p.up,
                 .down = p.down,
                 .dilation = p.dilation}};
    }
    const bool both = p.length != 0 || p.taps != 0 || p.origin || p.input_sample_stride || p.output_sample_stride || p.up != 1 ||
                      p.down != 1 || p.dilation != 1;
    if (both) {
        refuse(
            ErrorCode::argument,
            "axes: given beside length, taps, origin, up, down, dilation or a sample stride, which describe one axis; use either");
    }
    return p.axes;
}

void check_factor(const char* name, std::int64_t value) {
    if (value < 1 || value > kMaxFactor) {
        refuse(ErrorCode::argument, std::string(name) + ": " + std::to_string(value) + "; it must be from 1 to 2^30");
    }
}

void check_stride(const char* name, const std::optional<std::int64_t>& value, bool may_be_zero) {
    if (!value) { return; }
    if (*value > kMaxCount || *value < -kMaxCount) {
        refuse(ErrorCode::argument, std::string(name) + ": " + std::to_string(*value) + " is more than 2^56 elements");
    }
    if (*value == 0 && !may_be_zero) {
        refuse(
            ErrorCode::argument,
            std::string(name) + ": 0 puts several outputs in one place; give a stride that is not 0, or none for packed outputs");
    }
}

// Positions of the signal with up - 1 zeros behind each sample, and of the filter with dilation.
std::int64_t widened(std::int64_t n, std::int64_t up, Mode mode) {
    return mode == Mode::full || mode == Mode::valid ? (n - 1) * up + 1 : n * up;
}
std::int64_t span_of(std::int64_t k, std::int64_t dilation) { return (k - 1) * dilation + 1; }

std::int64_t origin_of(Mode mode, std::int64_t span) {
    switch (mode) {
        case Mode::full:
        case Mode::causal:
            return span - 1;
        case Mode::same:
            return span / 2;
        case Mode::valid:
        case Mode::leading:
            return 0;
    }
    return 0;
}

// Products of two lengths stay below what 64 bits hold, since each is at most 2^56 and factors are checked here.
void check_positions(const char* name, std::int64_t count, std::int64_t factor) {
    if (static_cast<__int128>(count) * factor > kMaxCount) {
        refuse(ErrorCode::argument, std::string(name) + ": " + std::to_string(factor) + " times " + std::to_string(count) +
                                        " are more than 2^56 positions");
    }
}

Axis resolve_axis(const FilteredAxis& a, const Problem& p, bool allow_unknown_length) {
    const bool known = !(a.length == kUnknownLength && allow_unknown_length);
    if (known) { check_count("length", a.length, "a signal"); }
    check_count("taps", a.taps, "a filter");
    check_factor("up", a.up);
    check_factor("down", a.down);
    check_factor("dilation", a.dilation);
    check_positions("up", std::max<std::int64_t>(a.length, 1), a.up);
    check_positions("dilation", a.taps, a.dilation);
    check_stride(p.axes.empty() ? "input_sample_stride" : "input_stride", a.input_stride, true);
    check_stride(p.axes.empty() ? "output_sample_stride" : "output_stride", a.output_stride, false);
    if (a.origin && (*a.origin > kMaxCount || *a.origin < -kMaxCount)) {
        refuse(ErrorCode::argument, "origin: " + std::to_string(*a.origin) + " is more than 2^56 samples away");
    }
    const Mode mode = a.mode.value_or(p.mode);
    const std::int64_t span = span_of(a.taps, a.dilation);
    Axis axis{.n = a.length,
              .k = a.taps,
              .origin = a.origin.value_or(origin_of(mode, span)),
              .outputs = 0,
              .up = a.up,
              .down = a.down,
              .dilation = a.dilation,
              .boundary = a.boundary.value_or(p.boundary)};
    if (!known) { return axis; }
    const std::int64_t positions = widened(a.length, a.up, mode);
    if (mode == Mode::valid && span > positions) {
        refuse(ErrorCode::argument, "taps: " + std::to_string(a.taps) + " taps are longer than the signal's " +
                                        std::to_string(a.length) +
                                        " samples, so mode valid has no output; use mode full, same or causal");
    }
    axis.outputs = (output_length_of(mode, positions, span) + a.down - 1) / a.down;
    return axis;
}

// ---- Batch axes ----

// The short form's rows, or the axes that are given; the caller's strides.
UpTo<BatchAxis, 4> batches_of(const Problem& p) {
    if (!p.batch_axes.empty()) {
        const bool both = p.batch != 1 || p.filters != Filters::shared || p.filter_count != 0 || p.input_row_stride ||
                          p.output_row_stride || p.taps_row_stride;
        if (both) {
            refuse(ErrorCode::argument,
                   "batch_axes: given beside batch, filters, filter_count or a row stride, which describe one axis; use either");
        }
        return p.batch_axes;
    }
    check_count("batch", p.batch, "a batch");
    check_stride("input_row_stride", p.input_row_stride, true);
    check_stride("output_row_stride", p.output_row_stride, p.batch == 1);
    if (p.taps_row_stride && (*p.taps_row_stride < 1 || *p.taps_row_stride > kMaxCount)) {
        refuse(ErrorCode::argument, "taps_row_stride: " + std::to_string(*p.taps_row_stride) + "; it must be from 1 to 2^56");
    }
    if (!p.axes.empty() && p.filters == Filters::per_row && !p.taps_row_stride) {
        refuse(ErrorCode::argument, "filters: a filter a row beside axes; give batch_axes with a taps_stride");
    }
    const std::string given = "filter_count: " + std::to_string(p.filter_count);
    if (p.filter_count != 0 && p.filters != Filters::per_row) {
        refuse(ErrorCode::argument, given + " beside one filter for all rows; use per_row");
    }
    if (p.filter_count < 0 || (p.filter_count > 0 && p.batch % p.filter_count != 0)) {
        refuse(ErrorCode::argument,
               given + " does not divide the batch of " + std::to_string(p.batch) +
                   " rows, which use the filters in turn; give a divisor, or 0 for a filter of each row's own");
    }
    return {{.length = p.batch,
             .input_stride = p.input_row_stride,
             .output_stride = p.output_row_stride,
             .taps_stride = p.filters == Filters::per_row ? p.taps_row_stride.value_or(p.taps) : 0}};
}

void check_batch(const BatchAxis& axis) {
    check_count("length", axis.length, "a batch");
    check_stride("input_stride", axis.input_stride, true);
    check_stride("output_stride", axis.output_stride, axis.length == 1);
    if (axis.taps_stride < 0 || axis.taps_stride > kMaxCount) {
        refuse(ErrorCode::argument, "taps_stride: " + std::to_string(axis.taps_stride) + "; it must be from 0 to 2^56");
    }
}

// ---- Layout ----

std::int64_t checked_span(const char* what, __int128 elements, Dtype dtype) {
    if (elements * static_cast<__int128>(size_of(dtype)) > kMaxBytes) {
        refuse(ErrorCode::argument, std::string(what) + ": the axes and strides span more than 2^60 bytes");
    }
    return static_cast<std::int64_t>(elements);
}

// The smallest strides that step over all axes so far.
struct Steps {
    std::int64_t in = 1, out = 1;

    void step_over(const Resolved& r, std::int64_t n, std::int64_t in_stride, std::int64_t outputs, std::int64_t out_stride) {
        const auto over = [](std::int64_t length, std::int64_t stride) {
            return static_cast<__int128>(std::max<std::int64_t>(length, 1)) * std::max<std::int64_t>(std::abs(stride), 1);
        };
        in = std::max(in, checked_span("input", over(n, in_stride), r.dtype));
        out = std::max(out, checked_span("output", over(outputs, out_stride), r.output_dtype));
    }
};

struct Stepped {
    std::int64_t length, stride;
};

Extent extent_of(const char* what, std::span<const Stepped> axes, Dtype dtype) {
    __int128 above = 0, below = 0;
    for (const Stepped& axis : axes) {
        const __int128 reach = static_cast<__int128>(axis.length - 1) * axis.stride;
        (reach < 0 ? below : above) += reach;
    }
    return {checked_span(what, above - below + 1, dtype), static_cast<std::int64_t>(-below)};
}

std::vector<Stepped> steps_of(const Resolved& r, bool output) {
    std::vector<Stepped> all;
    for (const Batch* b : {&r.outer[0], &r.outer[1], &r.outer[2], &r.outer[3], &r.batch, &r.channels}) {
        if (b->length > 1) { all.push_back({b->length, output ? b->out_stride : b->in_stride}); }
    }
    for (const Axis* a : {&r.z, &r.y, &r.x}) {
        const std::int64_t length = output ? a->outputs : a->n;
        if (length > 1) { all.push_back({length, output ? a->out_stride : a->in_stride}); }
    }
    return all;
}

// Two outputs must not share a place: in order of their strides, each axis steps over all that the smaller ones reach.
void check_output_layout(const Resolved& r) {
    std::vector<Stepped> all = steps_of(r, true);
    std::sort(all.begin(), all.end(), [](const Stepped& a, const Stepped& b) { return std::abs(a.stride) < std::abs(b.stride); });
    __int128 reach = 0;
    for (const Stepped& axis : all) {
        if (std::abs(axis.stride) <= reach) {
            refuse(ErrorCode::argument,
                   "output stride: " + std::to_string(axis.stride) + " of an axis of " + std::to_string(axis.length) +
                       " puts several outputs in one place, as what lies between takes " +
                       std::to_string(static_cast<std::int64_t>(reach) + 1) + " elements; give a larger stride");
        }
        reach += static_cast<__int128>(axis.length - 1) * std::abs(axis.stride);
    }
}

// An error of one axis of several names it.
template <class Body>
void on_axis(bool several, const std::string& name, const Body& body) {
    try {
        body();
    } catch (const Error& error) {
        if (!several) { throw; }
        throw Error(error.code(), name + ": " + error.what());
    }
}

void resolve_types(Resolved& r, const Problem& p) {
    r.dtype = p.dtype;
    r.taps_dtype = taps_dtype(p);
    r.output_dtype = output_dtype(p);
    r.sum_dtype = is_integer(p.dtype) && !is_integer(r.taps_dtype) ? r.taps_dtype : p.dtype;
    r.operation = p.operation;
    r.overflow = p.overflow;
    r.complex_taps = p.complex_taps;
    r.constant = p.constant;
    r.scale = p.scale;
    r.bias = p.bias;
    r.has_clamp = p.clamp.has_value();
    r.clamp = p.clamp.value_or(Clamp{0, 0});
    r.trivial_epilogue = p.scale == 1 && p.bias == 0 && !p.clamp && r.output_dtype == r.sum_dtype;
}

Steps resolve_axes(Resolved& r, const UpTo<FilteredAxis, 3>& axes, const Problem& p, bool allow_unknown_length) {
    r.rank = static_cast<int>(axes.size());
    Axis* const places[] = {&r.z, &r.y, &r.x};
    Steps packed;
    for (int i = r.rank - 1; i >= 0; --i) {
        const FilteredAxis& given = axes[static_cast<std::size_t>(i)];
        const std::string name = "axis " + std::to_string(i) + " (" + role_of_axis(i, r.rank) + ")";
        on_axis(r.rank > 1, name, [&] {
            Axis& axis = *places[3 - r.rank + i];
            axis = resolve_axis(given, p, allow_unknown_length);
            axis.in_stride = given.input_stride.value_or(packed.in);
            axis.out_stride = given.output_stride.value_or(packed.out);
            packed.step_over(r, axis.n, axis.in_stride, axis.outputs, axis.out_stride);
        });
    }
    r.mode = axes[axes.size() - 1].mode.value_or(p.mode);
    if (static_cast<__int128>(r.z.k) * r.y.k > kMaxCount || static_cast<__int128>(r.z.k * r.y.k) * r.x.k > kMaxCount) {
        refuse(ErrorCode::argument, "taps: the axes' taps multiply to more than any memory holds (2^56)");
    }
    return packed;
}

// `packed`: steps over all of the filtered axes.
std::vector<Batch> resolve_batches(const Resolved& r, const UpTo<BatchAxis, 4>& batches, const Problem& p, Steps packed) {
    std::vector<Batch> all(batches.size());
    for (std::size_t i = batches.size(); i-- > 0;) {
        on_axis(!p.batch_axes.empty(), "batch axis " + std::to_string(i), [&] {
            check_batch(batches[i]);
            all[i] = {batches[i].length, batches[i].input_stride.value_or(packed.in), batches[i].output_stride.value_or(packed.out),
                      batches[i].taps_stride};
            packed.step_over(r, all[i].length, all[i].in_stride, all[i].length, all[i].out_stride);
        });
    }
    // Filters in turn are two axes, of which only the inner one steps through the filters.
    if (p.batch_axes.empty() && p.filter_count > 0 && p.filter_count < p.batch) {
        const Batch rows = all[0];
        all = {{rows.length / p.filter_count, rows.in_stride * p.filter_count, rows.out_stride * p.filter_count, 0},
               {p.filter_count, rows.in_stride, rows.out_stride, rows.taps_stride}};
    }
    return all;
}

}  // namespace

const char* role_of_axis(int index, int rank) {
    constexpr const char* kRoles[] = {"z", "y", "x"};
    return kRoles[3 - rank + index];
}

std::int64_t output_length_of(Mode mode, std::int64_t n, std::int64_t k) {
    if (n == kUnknownLength) { return 0; }
    if (mode == Mode::full) { return n + k - 1; }
    return mode == Mode::valid ? n - k + 1 : n;
}

Extent input_extent_of(const Resolved& problem) { return extent_of("input", steps_of(problem, false), problem.dtype); }
Extent output_extent_of(const Resolved& problem) { return extent_of("output", steps_of(problem, true), problem.output_dtype); }

Resolved resolve(const Problem& problem, bool allow_unknown_length) {
    check_enums(problem);
    check_types(problem);
    const UpTo<FilteredAxis, 3> axes = axes_of(problem);
    Resolved r;
    resolve_types(r, problem);
    const Steps packed = resolve_axes(r, axes, problem, allow_unknown_length);
    check_constant(problem);
    check_epilogue(problem);
    const std::vector<Batch> batches = resolve_batches(r, batches_of(problem), problem, packed);
    arrange(r, batches);
    input_extent_of(r);
    output_extent_of(r);
    const bool known = r.x.n != kUnknownLength;
    if (!known && r.has_outer()) {
        refuse(ErrorCode::unsupported, "batch_axes: a stream has one batch axis, the rows that arrive side by side");
    }
    std::vector<Stepped> taps{{r.taps(), 1}};
    for (const Batch& b : batches) { taps.push_back({b.length, b.taps_stride}); }
    extent_of("taps", taps, r.taps_dtype);
    if (known) { check_output_layout(r); }
    return r;
}

}  // namespace core

UpTo<std::int64_t, 3> output_shape(const Problem& problem) {
    UpTo<std::int64_t, 3> shape;
    core::resolve(problem).for_each_axis([&](const core::Axis& axis) { shape.push_back(axis.outputs); });
    return shape;
}

UpTo<std::int64_t, 3> origins(const Problem& problem) {
    UpTo<std::int64_t, 3> all;
    core::resolve(problem).for_each_axis([&](const core::Axis& axis) { all.push_back(axis.origin); });
    return all;
}

std::int64_t output_length(const Problem& problem) { return core::resolve(problem).x.outputs; }

std::int64_t origin(const Problem& problem) { return core::resolve(problem).x.origin; }

Dtype output_dtype(const Problem& problem) noexcept {
    const bool exact = is_integer(problem.dtype) && !problem.real_taps;
    return problem.output_dtype.value_or(exact ? Dtype::i64 : problem.dtype);
}

Dtype taps_dtype(const Problem& problem) noexcept {
    if (is_integer(problem.dtype)) { return problem.real_taps.value_or(problem.dtype == Dtype::u64 ? Dtype::u64 : Dtype::i64); }
    if (core::is_half(problem.dtype)) { return Dtype::f32; }
    return problem.complex_taps ? problem.dtype : real_part_of(problem.dtype);
}

void validate(const Problem& problem) { core::resolve(problem); }

std::int64_t input_extent(const Problem& problem) { return core::input_extent_of(core::resolve(problem)).elements; }
std::int64_t output_extent(const Problem& problem) { return core::output_extent_of(core::resolve(problem)).elements; }
std::int64_t input_start(const Problem& problem) { return core::input_extent_of(core::resolve(problem)).start; }
std::int64_t output_start(const Problem& problem) { return core::output_extent_of(core::resolve(problem)).start; }

std::int64_t taps_extent(const Problem& problem) {
    const core::Resolved r = core::resolve(problem);
    std::int64_t last = r.taps() - 1;
    for (const core::Batch* b : {&r.outer[0], &r.outer[1], &r.outer[2], &r.outer[3], &r.channels}) {
        last += (b->length - 1) * b->taps_stride;
    }
    const std::int64_t of_batch = r.channels.taps_stride != 0 ? 1 : r.filters;
    return last + (of_batch - 1) * r.batch.taps_stride + 1;
}

}  // namespace tapline
