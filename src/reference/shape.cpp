// Lengths, origins and strides from the problem's fields, as tapline/problem.hpp describes them.
#include <algorithm>
#include <cstdlib>

#include "reference/reference.hpp"

namespace tapline::reference {
namespace {

std::int64_t origin_of(Mode mode, std::int64_t covered) {
    if (mode == Mode::full || mode == Mode::causal) { return covered - 1; }
    return mode == Mode::same ? covered / 2 : 0;
}

// `taps` cover so many positions of the widened signal.
Axis axis_of(const Problem& p, const FilteredAxis& given) {
    const Mode mode = given.mode.value_or(p.mode);
    const bool inside = mode == Mode::full || mode == Mode::valid;
    const std::int64_t widened = inside ? (given.length - 1) * given.up + 1 : given.length * given.up;
    const std::int64_t covered = (given.taps - 1) * given.dilation + 1;
    const std::int64_t all = mode == Mode::full ? widened + covered - 1 : (mode == Mode::valid ? widened - covered + 1 : widened);
    return {.n = given.length,
            .k = given.taps,
            .origin = given.origin.value_or(origin_of(mode, covered)),
            .outputs = (all + given.down - 1) / given.down,
            .up = given.up,
            .down = given.down,
            .dilation = given.dilation,
            .boundary = given.boundary.value_or(p.boundary)};
}

// The step over everything inside, which has `length` steps of `stride`.
std::int64_t over(std::int64_t length, std::int64_t stride) { return length * std::max<std::int64_t>(std::abs(stride), 1); }

struct Steps {
    std::int64_t in = 1, out = 1;
};

Steps fill_axes(Shape& shape, const Problem& p) {
    UpTo<FilteredAxis, 3> given = p.axes;
    if (given.empty()) {
        given.push_back({.length = p.length,
                         .taps = p.taps,
                         .origin = p.origin,
                         .input_stride = p.input_sample_stride,
                         .output_stride = p.output_sample_stride,
                         .up = p.up,
                         .down = p.down,
                         .dilation = p.dilation});
    }
    shape.rank = static_cast<int>(given.size());
    Steps packed;
    for (std::size_t i = given.size(); i-- > 0;) {
        Axis& axis = shape.axes[3 - given.size() + i];
        axis = axis_of(p, given[i]);
        axis.in_stride = given[i].input_stride.value_or(packed.in);
        axis.out_stride = given[i].output_stride.value_or(packed.out);
        packed = {over(axis.n, axis.in_stride), over(axis.outputs, axis.out_stride)};
    }
    return packed;
}

void fill_rows(Shape& shape, const Problem& p, const Steps& packed) {
    const Item step{p.input_row_stride.value_or(packed.in), p.output_row_stride.value_or(packed.out),
                    p.taps_row_stride.value_or(p.taps)};
    const std::int64_t filters = p.filters == Filters::shared ? 1 : (p.filter_count != 0 ? p.filter_count : p.batch);
    for (std::int64_t row = 0; row < p.batch; ++row) {
        shape.items.push_back({row * step.in, row * step.out, row % filters * step.taps});
    }
}

void fill_batch_axes(Shape& shape, const UpTo<BatchAxis, 4>& axes, Steps packed) {
    std::vector<Item> steps(axes.size());
    for (std::size_t i = axes.size(); i-- > 0;) {
        steps[i] = {axes[i].input_stride.value_or(packed.in), axes[i].output_stride.value_or(packed.out), axes[i].taps_stride};
        packed = {over(axes[i].length, steps[i].in), over(axes[i].length, steps[i].out)};
    }
    shape.items.push_back({});
    for (std::size_t i = 0; i < axes.size(); ++i) {
        std::vector<Item> finer;
        for (const Item& item : shape.items) {
            for (std::int64_t j = 0; j < axes[i].length; ++j) {
                finer.push_back({item.in + j * steps[i].in, item.out + j * steps[i].out, item.taps + j * steps[i].taps});
            }
        }
        shape.items = std::move(finer);
    }
}

}  // namespace

// Walks outward one sample at a time, as the pictures in tapline/types.hpp do: slow, and nothing to get wrong.
std::int64_t sample_at(const Axis& axis, std::int64_t position) {
    const std::int64_t n = axis.n;
    std::int64_t rest = position % axis.up;
    if (rest < 0) { rest += axis.up; }
    if (rest != 0) { return kNoTerm; }
    std::int64_t p = (position - rest) / axis.up;
    while (p < 0 || p >= n) {
        switch (axis.boundary) {
            case Boundary::zero:
                return kNoTerm;
            case Boundary::constant:
                return kConstantTerm;
            case Boundary::nearest:
                p = p < 0 ? 0 : n - 1;
                break;
            case Boundary::reflect:
                p = p < 0 ? -1 - p : 2 * n - 1 - p;
                break;
            case Boundary::mirror:
                if (n == 1) { return 0; }
                p = p < 0 ? -p : 2 * (n - 1) - p;
                break;
            case Boundary::wrap:
                p = p < 0 ? p + n : p - n;
                break;
        }
    }
    return p;
}

std::int64_t Shape::place(const Item& item, std::int64_t index) const {
    const auto& [z, y, x] = axes;
    return item.out + index / (y.outputs * x.outputs) * z.out_stride + index / x.outputs % y.outputs * y.out_stride +
           index % x.outputs * x.out_stride;
}

Shape shape_of(const Problem& problem) {
    Shape shape;
    const Steps packed = fill_axes(shape, problem);
    if (problem.batch_axes.empty()) {
        fill_rows(shape, problem, packed);
    } else {
        fill_batch_axes(shape, problem.batch_axes, packed);
    }
    return shape;
}

}  // namespace tapline::reference
