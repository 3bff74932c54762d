#include "support/draw.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/numbers.hpp"

namespace tapline::test {
namespace {

constexpr std::array kFloats{Dtype::f32, Dtype::f32, Dtype::f64, Dtype::f64, Dtype::complex64, Dtype::complex128};
constexpr std::array kIntegers{Dtype::boolean, Dtype::i8,  Dtype::i16, Dtype::i32, Dtype::i64,
                               Dtype::u8,      Dtype::u16, Dtype::u32, Dtype::u64};
constexpr std::array kRealOutputs{Dtype::f32, Dtype::f64, Dtype::boolean, Dtype::i8,  Dtype::i16, Dtype::i32,
                                  Dtype::i64, Dtype::u8,  Dtype::u16,     Dtype::u32, Dtype::u64};

bool is_half(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16; }

// ---- Types, operation, mode ----

void draw_dtype(Problem& p, bool integers, bool halves, Random& random) {
    if (halves && chance(0.15, random)) {
        p.dtype = chance(0.7, random) ? Dtype::f16 : Dtype::bf16;
        if (chance(0.4, random)) { p.output_dtype = pick(kRealOutputs, random); }
        return;
    }
    p.dtype = integers && chance(0.2, random) ? pick(kIntegers, random) : pick(kFloats, random);
    p.complex_taps = is_complex(p.dtype) && chance(0.5, random);
    if (is_integer(p.dtype)) {
        if (chance(0.5, random)) { p.real_taps = chance(0.7, random) ? Dtype::f32 : Dtype::f64; }
        p.overflow = Overflow::wrap;
    }
    if (!is_complex(p.dtype) && chance(is_integer(p.dtype) ? 0.4 : 0.1, random)) { p.output_dtype = pick(kRealOutputs, random); }
}

void draw_rules(Problem& p, Random& random) {
    p.mode = static_cast<Mode>(between(0, 4, random));
    p.boundary = static_cast<Boundary>(between(0, 5, random));
    p.operation = chance(0.5, random) ? Operation::convolution : Operation::correlation;
}

void draw_constant(Problem& p, Random& random) {
    p.constant = is_integer(p.dtype) || is_half(p.dtype) ? 1.0 : std::normal_distribution<double>()(random);
    if (is_complex(p.dtype)) { p.constant += std::complex<double>(0, 0.5); }
}

// ---- Filtered axes ----

FilteredAxis draw_axis(const Drawing& drawing, Random& random) {
    FilteredAxis axis;
    axis.length = awkward_size(drawing.most_samples, random);
    axis.taps = chance(0.1, random) ? axis.length : awkward_size(drawing.most_taps, random);
    return axis;
}

void draw_rate(FilteredAxis& axis, Random& random) {
    if (chance(0.6, random)) { axis.up = between(1, 4, random); }
    if (chance(0.6, random)) { axis.down = between(1, 5, random); }
    if (chance(0.4, random)) { axis.dilation = between(1, 4, random); }
}

// Mode valid has outputs only where the filter fits.
void fit(FilteredAxis& axis, Mode mode) {
    if (mode != Mode::valid) { return; }
    if (axis.taps > axis.length) { std::swap(axis.taps, axis.length); }
    if ((axis.taps - 1) * axis.dilation > (axis.length - 1) * axis.up) { axis.up = axis.dilation = 1; }
}

double products_of(const UpTo<FilteredAxis, 3>& axes) {
    double products = 1;
    for (const FilteredAxis& axis : axes) {
        products *= static_cast<double>((axis.length + axis.taps) * axis.taps) * static_cast<double>(axis.up);
    }
    return products;
}

UpTo<FilteredAxis, 3> draw_axes(const Problem& p, const Drawing& drawing, Random& random) {
    UpTo<FilteredAxis, 3> axes;
    do {
        axes = {};
        for (int i = 0; i < drawing.rank; ++i) { axes.push_back(draw_axis(drawing, random)); }
    } while (products_of(axes) > static_cast<double>(drawing.most_products));
    const bool rates = drawing.rates && chance(0.3, random), differ = drawing.layouts && drawing.rank > 1 && chance(0.2, random);
    for (FilteredAxis& axis : axes) {
        if (rates) { draw_rate(axis, random); }
        if (differ && chance(0.5, random)) { axis.mode = static_cast<Mode>(between(0, 4, random)); }
        if (differ && chance(0.5, random)) { axis.boundary = static_cast<Boundary>(between(0, 5, random)); }
        fit(axis, axis.mode.value_or(p.mode));
        if (chance(0.25, random)) { axis.origin = between(-axis.taps - 3, 2 * axis.taps + 3, random); }
    }
    return axes;
}

// ---- Layouts of the long form ----

UpTo<BatchAxis, 4> draw_batch_axes(std::int64_t taps, Random& random) {
    UpTo<BatchAxis, 4> axes;
    const std::int64_t count = between(0, chance(0.2, random) ? 4 : 2, random);
    for (std::int64_t i = 0; i < count; ++i) { axes.push_back({.length = between(1, count > 2 ? 3 : 5, random)}); }
    std::int64_t step = taps + (chance(0.2, random) ? between(0, 4, random) : 0);
    for (std::size_t i = axes.size(); i-- > 0;) {  // the last axis has the filters that lie side by side
        if (chance(0.7, random)) { continue; }
        axes[i].taps_stride = step;
        step *= axes[i].length;
    }
    return axes;
}

// Where the strides of one buffer are to be written, the outermost axis first.
struct Slot {
    std::int64_t length;
    std::optional<std::int64_t>* stride;
    double shared;  ///< how likely all of it reads one place
};

// Axes side by side in an order of their own, some backwards, with gaps.
void lay_out(std::vector<Slot> slots, bool gaps, Random& random) {
    std::int64_t step = 1 + (gaps && chance(0.2, random) ? between(0, 2, random) : 0);
    for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) {
        if (chance(slot->shared, random)) {
            *slot->stride = 0;
            continue;
        }
        *slot->stride = chance(0.12, random) ? -step : step;
        step *= slot->length;
        if (gaps && chance(0.3, random)) { step += between(0, 5, random); }
    }
}

void draw_layout(Problem& p, Random& random) {
    if (chance(0.3, random)) { return; }  // packed
    const UpTo<std::int64_t, 3> outputs = output_shape(p);
    std::vector<std::size_t> order(p.batch_axes.size() + p.axes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (!p.batch_axes.empty() && chance(0.5, random)) {  // channels beside one another
        std::rotate(order.begin() + static_cast<std::ptrdiff_t>(p.batch_axes.size()) - 1,
                    order.begin() + static_cast<std::ptrdiff_t>(p.batch_axes.size()), order.end());
    }
    const bool gaps = chance(0.5, random);
    for (const bool is_output : {false, true}) {
        if (chance(0.3, random)) { std::shuffle(order.begin(), order.end(), random); }
        std::vector<Slot> slots;
        for (const std::size_t i : order) {
            if (i < p.batch_axes.size()) {
                BatchAxis& axis = p.batch_axes[i];
                slots.push_back({axis.length, is_output ? &axis.output_stride : &axis.input_stride, is_output ? 0 : 0.15});
            } else {
                FilteredAxis& axis = p.axes[i - p.batch_axes.size()];
                slots.push_back({is_output ? outputs[i - p.batch_axes.size()] : axis.length,
                                 is_output ? &axis.output_stride : &axis.input_stride, is_output ? 0 : 0.02});
            }
        }
        lay_out(std::move(slots), gaps, random);
    }
}

// ---- The short form ----

// The strides of rows and samples of one buffer.
void draw_row_layout(std::optional<std::int64_t>& row, std::optional<std::int64_t>& sample, std::int64_t batch, std::int64_t length,
                     Random& random) {
    if (chance(0.25, random)) {  // interleaved, as audio is
        row = 1;
        sample = batch + (chance(0.5, random) ? 0 : between(0, 3, random));
    } else if (chance(0.3, random)) {
        sample = between(1, 3, random);
        row = length * *sample + between(0, 5, random);
    }
}

void to_short_form(Problem& p, Random& random) {
    const FilteredAxis axis = p.axes[0];
    p.axes = {};
    p.length = axis.length;
    p.taps = axis.taps;
    p.origin = axis.origin;
    p.up = axis.up;
    p.down = axis.down;
    p.dilation = axis.dilation;
    p.batch = chance(0.6, random) ? 1 : between(2, 5, random);
    p.filters = chance(0.3, random) ? Filters::per_row : Filters::shared;
    if (p.filters == Filters::per_row && p.batch % 2 == 0 && chance(0.5, random)) { p.filter_count = p.batch / 2; }
    draw_row_layout(p.input_row_stride, p.input_sample_stride, p.batch, p.length, random);
    draw_row_layout(p.output_row_stride, p.output_sample_stride, p.batch, output_length(p), random);
    if (chance(0.2, random)) { p.taps_row_stride = p.taps + between(0, 4, random); }
}

}  // namespace

std::int64_t awkward_size(std::int64_t most, Random& random) {
    static constexpr std::array<std::int64_t, 26> kSizes{1,  2,  3,  4,  5,  7,   8,   9,   15,  16,  17,  31,  32,
                                                         33, 47, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 511};
    const std::int64_t size = chance(0.75, random) ? pick(kSizes, random) : between(1, most, random);
    return std::min(size, most);
}

Problem draw_problem(const Drawing& drawing, Random& random) {
    Problem p;
    draw_dtype(p, drawing.integers, drawing.halves, random);
    draw_rules(p, random);
    Drawing axes = drawing;
    axes.rates = drawing.rates && !is_half(p.dtype);
    p.axes = draw_axes(p, axes, random);
    const auto is_constant = [](const FilteredAxis& axis) { return axis.boundary == Boundary::constant; };
    if (p.boundary == Boundary::constant || std::any_of(p.axes.begin(), p.axes.end(), is_constant)) { draw_constant(p, random); }
    if (drawing.rank == 1 && !(drawing.layouts && chance(0.5, random))) {
        to_short_form(p, random);
    } else if (drawing.layouts) {
        std::int64_t taps = 1;
        for (const FilteredAxis& axis : p.axes) { taps *= axis.taps; }
        p.batch_axes = draw_batch_axes(taps, random);
        draw_layout(p, random);
    }
    if (chance(0.25, random)) { draw_epilogue(p, random); }
    return p;
}

Problem draw_problem(std::int64_t most_samples, std::int64_t most_taps, Random& random) {
    return draw_problem({.most_samples = most_samples, .most_taps = most_taps}, random);
}

ImageProblem draw_image_problem(std::int64_t most_side, std::int64_t most_mask, std::int64_t most_products, Random& random) {
    static constexpr std::array kTypes{Dtype::f32, Dtype::f32, Dtype::f32,       Dtype::f64,       Dtype::f64,
                                       Dtype::u8,  Dtype::u16, Dtype::complex64, Dtype::complex128};
    static constexpr std::array kOutputs{Dtype::f32, Dtype::f64, Dtype::i16, Dtype::i32, Dtype::u8, Dtype::u16};
    ImageProblem p;
    do {
        p.height = awkward_size(most_side, random);
        p.width = awkward_size(most_side, random);
        p.mask_height = chance(0.1, random) ? p.height : awkward_size(most_mask, random);
        p.mask_width = chance(0.1, random) ? p.width : awkward_size(most_mask, random);
        p.channels = chance(0.4, random) ? 1 : between(1, chance(0.1, random) ? 40 : 5, random);
        p.batch = chance(0.8, random) ? 1 : between(2, 3, random);
    } while (p.height * p.width * p.channels * p.batch * p.mask_height * p.mask_width > most_products);
    Problem common;
    draw_rules(common, random);
    common.dtype = pick(kTypes, random);
    if (common.boundary == Boundary::constant) { draw_constant(common, random); }
    if (chance(0.25, random)) { draw_epilogue(common, random); }
    p.masks = chance(0.3, random) ? Masks::per_channel : Masks::shared;
    p.mode = chance(0.4, random) ? Mode::same : common.mode;
    if (p.mode == Mode::valid && p.mask_height > p.height) { std::swap(p.mask_height, p.height); }
    if (p.mode == Mode::valid && p.mask_width > p.width) { std::swap(p.mask_width, p.width); }
    p.boundary = common.boundary;
    p.constant = common.constant;
    p.operation = common.operation;
    p.dtype = common.dtype;
    p.complex_taps = is_complex(p.dtype) && chance(0.5, random);
    p.scale = common.scale;
    p.bias = common.bias;
    p.clamp = common.clamp;
    if (chance(0.2, random)) { p.origin_y = between(-p.mask_height - 3, 2 * p.mask_height + 3, random); }
    if (chance(0.2, random)) { p.origin_x = between(-p.mask_width - 3, 2 * p.mask_width + 3, random); }
    if (!is_complex(p.dtype) && chance(0.2, random)) { p.output_dtype = pick(kOutputs, random); }
    const ImageSize size = image_output_size(p);
    if (chance(0.3, random)) { p.input_row_stride = p.width * p.channels + between(0, 20, random); }
    if (chance(0.3, random)) { p.output_row_stride = size.width * p.channels + between(0, 20, random); }
    if (chance(0.2, random)) {
        p.input_image_stride = p.height * std::max(p.input_row_stride, p.width * p.channels) + between(0, 9, random);
        p.output_image_stride = size.height * std::max(p.output_row_stride, size.width * p.channels) + between(0, 9, random);
    }
    return p;
}

void draw_epilogue(Problem& problem, Random& random) {
    if (chance(0.5, random)) { problem.scale = std::normal_distribution<double>(0, 2)(random); }
    if (chance(0.5, random)) { problem.bias = std::normal_distribution<double>(0, 2)(random); }
    if (!is_complex(problem.dtype) && chance(0.5, random)) {
        problem.clamp = Clamp{chance(0.2, random) ? -HUGE_VAL : -2.5, chance(0.2, random) ? HUGE_VAL : 3.0};
    }
    // Exact sums that wrap do so after the epilogue, which the comparison cannot follow: they keep their size in a floating type.
    const bool exact = is_integer(problem.dtype) && !problem.real_taps;
    if (exact && is_integer(output_dtype(problem))) { problem.output_dtype = chance(0.5, random) ? Dtype::f32 : Dtype::f64; }
}

void spoil(void* data, Dtype dtype, std::int64_t count, Random& random) {
    if (is_integer(dtype)) { return; }
    const double values[] = {NAN, HUGE_VAL, -HUGE_VAL, NAN};
    const std::int64_t scalars = is_complex(dtype) ? 2 * count : count;
    for (std::int64_t i = chance(0.2, random) ? scalars / 20 + 1 : between(1, 3, random); i > 0; --i) {
        reference::put_number(data, real_part_of(dtype), between(0, scalars - 1, random), pick(values, random));
    }
}

void make_uneven(void* data, Dtype dtype, std::int64_t count, Random& random) {
    if (is_integer(dtype) || size_of(dtype) == 2 || count == 0) { return; }
    const Dtype real = real_part_of(dtype);
    const std::int64_t scalars = is_complex(dtype) ? 2 * count : count;
    for (std::int64_t i = between(1, 4, random); i > 0; --i) {
        const std::int64_t first = between(0, scalars - 1, random), last = between(first, scalars - 1, random);
        const double scale = std::pow(10.0, static_cast<double>(between(-15, 15, random)));
        const std::int64_t kind = between(0, 9, random);
        for (std::int64_t at = first; at <= last; ++at) {
            const auto value = static_cast<double>(reference::number_at(data, real, at).real());
            if (!std::isfinite(value)) { continue; }
            const bool keeps = kind > 0 && (kind != 2 || chance(0.02, random));
            const double scaled = kind == 1 ? scale : value * scale;
            // Far from where sums of f32 overflow, and from where they lose digits.
            reference::put_number(data, real, at, keeps && std::abs(scaled) > 1e-30 ? std::clamp(scaled, -1e30, 1e30) : 0);
        }
    }
}

void make_separable(void* taps, const Problem& p, int rank, Random& random) {
    std::normal_distribution<double> draw;
    const auto h = static_cast<std::size_t>(p.axes[0].taps), w = static_cast<std::size_t>(p.axes[1].taps);
    const auto count = static_cast<std::int64_t>(h * w);
    for (std::int64_t mask = 0; mask < taps_extent(p) / count; ++mask) {
        std::vector<double> sums(h * w, 0.0);
        for (int r = 0; r < rank; ++r) {
            std::vector<double> column(h), row(w);
            for (double& value : column) { value = chance(0.1, random) ? 0 : draw(random); }
            for (double& value : row) { value = chance(0.1, random) ? 0 : draw(random); }
            for (std::size_t t = 0; t < sums.size(); ++t) { sums[t] += column[t / w] * row[t % w]; }
        }
        for (std::int64_t t = 0; t < count; ++t) {
            reference::put_number(taps, taps_dtype(p), mask * count + t, sums[static_cast<std::size_t>(t)]);
        }
    }
}

}  // namespace tapline::test
