#include "cuda/primitives/lines/lines.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "core/problem/arrange.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/row_order.hpp"
#include "cuda/families/common/with_types.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {

RowOrder row_order(const Problem& p, const Job& job) {
    struct Axis {
        RowAxis axis;
        bool is_batch;
        std::int64_t step;
    };
    std::array<Axis, RowOrder::kAxes> all{};
    static_assert(RowOrder::kAxes == 1 + std::tuple_size_v<decltype(p.outer)>);
    std::size_t count = 0;
    const bool one_set = core::filter_sets(p) == 1;
    const bool shared = p.batch.taps_stride == 0;  // by the rows of a set
    all[count++] = {{job.batch, job.in_batch, job.out_batch}, true, one_set || !shared ? 1 : 0};
    std::int64_t set = shared ? 1 : p.batch.length;
    for (auto outer = p.outer.rbegin(); outer != p.outer.rend(); ++outer) {
        if (outer->length == 1) { continue; }
        const bool own = outer->taps_stride != 0;
        if (job.packed == 0) { all.at(count++) = {{outer->length, outer->in_stride, outer->out_stride}, false, own ? set : 0}; }
        set *= own ? outer->length : 1;
    }
    // The nearest first, axes of one row last. Nothing is allocated, as std::stable_sort would: this is part of an execution.
    const auto distance = [](const Axis& a) {
        const std::int64_t step = std::abs(a.axis.in == 0 ? a.axis.out : a.axis.in);
        return a.axis.length == 1 ? INT64_MAX : step;
    };
    std::reverse(all.begin() + 1, all.begin() + static_cast<std::ptrdiff_t>(count));  // axes that lie alike in their own order
    for (std::size_t i = 1; i < count; ++i) {
        for (std::size_t j = i; j > 0 && distance(all.at(j)) < distance(all.at(j - 1)); --j) {
            std::swap(all.at(j), all.at(j - 1));
        }
    }
    RowOrder order;
    for (std::size_t i = 0; i < count; ++i) {
        order.axes.at(i) = all.at(i).axis;
        order.steps.at(i) = all.at(i).step;
        if (all.at(i).is_batch) { order.batch = i; }
    }
    return order;
}

Rows rows_of(const Problem& p, const Job& job) {
    const RowOrder order = row_order(p, job);
    Rows rows{};
    rows.near = order.axes.front();
    std::copy(order.axes.begin() + 1, order.axes.end(), rows.others);
    rows.batch_axis = static_cast<int>(order.batch) - 1;
    rows.filters = p.filters;
    rows.first_filter = job.batch_first % p.filters;
    rows.input_type = p.dtype;
    raw_constant(p, rows.constant);
    rows.input_bytes = stored_bytes(p.dtype);
    rows.output_bytes = stored_bytes(p.output_dtype);
    return rows;
}

Rows rows_of(const Problem& p) {
    Job job;
    job.batch = p.batch.length;
    job.in_batch = p.batch.in_stride;
    job.out_batch = p.batch.out_stride;
    return rows_of(p, job);
}

void set_tiles(Rows& rows, int lines, std::int64_t tiles_of_row) {
    rows.lines = lines;
    rows.near_tiles = divide_up(rows.near.length, lines);
    rows.tiles = tiles_of_row;
    const auto times = [&](std::int64_t more) {
        if (more > 0 && rows.tiles > (std::int64_t{1} << 62) / more) { refuse_launch(); }
        rows.tiles *= more;
    };
    times(rows.near_tiles);
    for (const RowAxis& axis : rows.others) { times(axis.length); }
}

bool raw_constant(const Problem& p, unsigned char* to) {
    const double real = p.constant.real();
    const auto put = [&]<class T>(T value) {
        std::memcpy(to, &value, sizeof value);
        return true;
    };
    const auto put_integer = [&]<class I>(ElementType<I>) {
        // Its limits as doubles: the upper one is the first that does not fit.
        const double low = static_cast<double>(std::numeric_limits<I>::min());
        const double top = std::ldexp(1.0, std::numeric_limits<I>::digits);
        const bool fits = real >= low && real < top && real == std::floor(real);
        return fits && put(static_cast<I>(real));
    };
    if (p.dtype == kBoolean && real != 0 && real != 1) { return false; }
    if (is_integer(p.dtype)) { return with_integer_type(p.dtype, put_integer); }
    return with_sample_type(p.dtype, [&]<class S>(ElementType<S>) {
        if constexpr (kIsComplexElement<S>) {
            return put(std::complex<typename Element<S>::Real>(p.constant));
        } else {
            return put(S(real));
        }
    });
}

bool constant_fits(const Problem& p) {
    if (p.x.boundary != kConstant || !is_integer(p.dtype)) { return true; }
    std::array<unsigned char, 16> raw{};
    return raw_constant(p, raw.data());
}

}  // namespace tapline::cuda
