#include "cuda/primitives/lines/lines.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/with_types.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {

Rows rows_of(const Problem& p, const Job& job) {
    struct Axis {
        RowAxis axis;
        bool is_batch;
    };
    std::array<Axis, 1 + std::tuple_size_v<decltype(p.outer)>> all{};
    std::size_t count = 0;
    all[count++] = {{job.batch, job.in_batch, job.out_batch}, true};
    for (const core::Batch& outer : p.outer) {
        if (outer.length > 1 && job.packed == 0) { all[count++] = {{outer.length, outer.in_stride, outer.out_stride}, false}; }
    }
    // The nearest first, axes of one row last. Nothing is allocated, as std::stable_sort would: this is part of an execution.
    const auto distance = [](const Axis& a) {
        const std::int64_t step = std::abs(a.axis.in == 0 ? a.axis.out : a.axis.in);
        return a.axis.length == 1 ? INT64_MAX : step;
    };
    for (std::size_t i = 1; i < count; ++i) {
        for (std::size_t j = i; j > 0 && distance(all.at(j)) < distance(all.at(j - 1)); --j) {
            std::swap(all.at(j), all.at(j - 1));
        }
    }
    Rows rows{};
    rows.near = all[0].axis;
    rows.batch_axis = -1;
    for (int i = 0; i < Rows::kMostOthers; ++i) {
        const auto from = static_cast<std::size_t>(i) + 1;
        rows.others[i] = from < count ? all[from].axis : RowAxis{};
        if (from < count && all[from].is_batch) { rows.batch_axis = i; }
    }
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
