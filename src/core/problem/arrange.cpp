#include "core/problem/arrange.hpp"

#include <algorithm>
#include <optional>

namespace tapline::core {
namespace {

// `a` outside, `b` inside: memory steps as along one axis.
bool steps_on(const Batch& a, const Batch& b) {
    return a.in_stride == b.length * b.in_stride && a.out_stride == b.length * b.out_stride;
}

// The first pair (outer, inner) that `fits`.
struct Pair {
    std::size_t outer, inner;
};
template <class Fits>
std::optional<Pair> find_pair(const std::vector<Batch>& axes, const Fits& fits) {
    for (std::size_t a = 0; a < axes.size(); ++a) {
        for (std::size_t b = 0; b < axes.size(); ++b) {
            if (a != b && fits(axes[a], axes[b])) { return Pair{a, b}; }
        }
    }
    return std::nullopt;
}

void merge(std::vector<Batch>& axes, const Pair& pair) {
    axes[pair.inner].length *= axes[pair.outer].length;
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(pair.outer));
}

Batch take(std::vector<Batch>& axes, std::vector<Batch>::iterator at) {
    const Batch taken = *at;
    axes.erase(at);
    return taken;
}

void take_channels(Resolved& r, std::vector<Batch>& axes) {
    if (r.rank == 1) { return; }
    const auto interleaved = std::find_if(axes.begin(), axes.end(), [&](const Batch& b) {
        return b.in_stride == 1 && b.out_stride == 1 && (r.x.n == 1 || r.x.in_stride == b.length) &&
               (r.x.outputs == 1 || r.x.out_stride == b.length) && (b.taps_stride == 0 || b.taps_stride == r.taps());
    });
    if (interleaved != axes.end()) {
        r.channels = take(axes, interleaved);
        if (r.channels.taps_stride != 0) { r.filters = r.channels.length; }
    }
    // Where there is one pixel a row, how far the next would be says nothing.
    if (r.x.n == 1) { r.x.in_stride = r.channels.length; }
    if (r.x.outputs == 1) { r.x.out_stride = r.channels.length; }
}

// Rows that lie side by side and have filters of their own, if what else has filters is not repeated much oftener for their sake:
// a line of memory holds samples of several of them, and is read once for each row where they do not go together.
std::vector<Batch>::iterator nearest_with_filters(const Resolved& r, std::vector<Batch>& axes) {
    if (r.rank > 1) { return axes.end(); }
    const auto nearest = std::min_element(axes.begin(), axes.end(), [](const Batch& a, const Batch& b) {
        const auto step = [](const Batch& axis) { return axis.taps_stride == 0 ? INT64_MAX : std::abs(axis.in_stride); };
        return step(a) < step(b);
    });
    if (nearest == axes.end() || nearest->taps_stride == 0 || std::abs(nearest->in_stride) >= std::abs(r.x.in_stride)) {
        return axes.end();
    }
    constexpr std::int64_t kMostInALine = 16;
    constexpr double kSamplesOfALaunch = 1e5;  // that are read in its time, on a CPU fewer and on a GPU more
    double samples = static_cast<double>(r.x.n);
    double others = 1, longest = 1;
    for (const Batch& axis : axes) {
        samples *= static_cast<double>(axis.length);
        if (&axis == &*nearest || axis.taps_stride == 0) { continue; }
        others *= static_cast<double>(axis.length);
        longest = std::max(longest, static_cast<double>(axis.length));
    }
    const auto rows = static_cast<double>(nearest->length);
    const double again = samples * (static_cast<double>(std::min(nearest->length, kMostInALine)) - 1);
    return others - rows * others / longest <= again / kSamplesOfALaunch ? nearest : axes.end();
}

void take_batch(Resolved& r, std::vector<Batch>& axes) {
    if (r.rank == 1) {
        // Filters in turn: the outer of two axes repeats what the inner one has.
        const auto in_turn = find_pair(
            axes, [](const Batch& a, const Batch& b) { return steps_on(a, b) && a.taps_stride == 0 && b.taps_stride != 0; });
        if (in_turn) {
            r.filters = axes[in_turn->inner].length;
            merge(axes, *in_turn);
            r.batch = take(axes, axes.begin() + static_cast<std::ptrdiff_t>(in_turn->inner - (in_turn->outer < in_turn->inner)));
            return;
        }
    }
    if (const auto near = nearest_with_filters(r, axes); near != axes.end()) {
        r.batch = take(axes, near);
        r.filters = r.batch.length;
        return;
    }
    const auto longest = std::max_element(axes.begin(), axes.end(), [&](const Batch& a, const Batch& b) {
        const auto length = [&](const Batch& axis) { return r.rank > 1 && axis.taps_stride != 0 ? 0 : axis.length; };
        return length(a) < length(b);
    });
    if (longest == axes.end() || (r.rank > 1 && longest->taps_stride != 0)) { return; }
    r.batch = take(axes, longest);
    if (r.batch.taps_stride != 0) { r.filters = r.batch.length; }
}

}  // namespace

void arrange(Resolved& r, std::vector<Batch> axes) {
    // A single axis keeps its strides even where it is one long: those of a stream's and a plan's one row are asked for.
    const bool single = axes.size() == 1;
    if (!single) {
        std::erase_if(axes, [](const Batch& b) { return b.length == 1; });
    }
    while (const auto whole = find_pair(
               axes, [](const Batch& a, const Batch& b) { return steps_on(a, b) && a.taps_stride == b.length * b.taps_stride; })) {
        merge(axes, *whole);
    }
    take_channels(r, axes);
    take_batch(r, axes);
    std::copy(axes.begin(), axes.end(), r.outer.begin());
}

Resolved with_pairs(const Resolved& problem) {
    const bool is_real = problem.dtype == Dtype::f32 || problem.dtype == Dtype::f64;
    const bool keeps_parts_apart = problem.bias == 0 && !problem.has_clamp;
    const bool same_types = problem.output_dtype == problem.dtype && problem.taps_dtype == problem.dtype;
    if (problem.rank != 1 || problem.filters != 1 || problem.changes_rate() || !is_real || !same_types || !keeps_parts_apart) {
        return problem;
    }
    std::vector<Batch> axes;
    if (problem.batch.length > 1) { axes.push_back(problem.batch); }
    for (const Batch& outer : problem.outer) {
        if (outer.length > 1) { axes.push_back(outer); }
    }
    const auto channels = std::find_if(axes.begin(), axes.end(), [](const Batch& b) {
        return b.length == 2 && b.in_stride == 1 && b.out_stride == 1 && b.taps_stride == 0;
    });
    if (channels == axes.end()) { return problem; }
    axes.erase(channels);
    Resolved r = problem;
    bool even = true;
    const auto halve = [&](std::int64_t& stride) {
        even = even && stride % 2 == 0;
        stride /= 2;
    };
    halve(r.x.in_stride);
    halve(r.x.out_stride);
    for (Batch& axis : axes) {
        halve(axis.in_stride);
        halve(axis.out_stride);
    }
    if (!even) { return problem; }
    r.dtype = r.output_dtype = r.sum_dtype = problem.dtype == Dtype::f32 ? Dtype::complex64 : Dtype::complex128;
    r.constant = {problem.constant.real(), problem.constant.real()};
    r.batch = {};
    r.outer = {};
    if (axes.empty()) { axes.push_back({1, r.x.n * r.x.in_stride, r.x.outputs * r.x.out_stride, 0}); }
    arrange(r, std::move(axes));
    return r;
}

Resolved with_parts(const Resolved& problem) {
    const bool parts_alike = (problem.constant.real() == problem.constant.imag() ||
                              (problem.x.boundary != Boundary::constant && problem.y.boundary != Boundary::constant)) &&
                             problem.bias == 0;
    if (problem.rank != 2 || problem.y.k == 1 || problem.filters != 1 || problem.changes_rate() || !is_complex(problem.dtype) ||
        is_complex(problem.taps_dtype) || problem.output_dtype != problem.dtype || !parts_alike) {
        return problem;
    }
    Resolved r = problem;
    for (Axis* axis : {&r.x, &r.y}) {
        axis->in_stride *= 2;
        axis->out_stride *= 2;
    }
    r.batch.in_stride *= 2;
    r.batch.out_stride *= 2;
    for (Batch& axis : r.outer) {
        axis.in_stride *= 2;
        axis.out_stride *= 2;
    }
    r.channels = {2 * problem.channels.length, 1, 1, 0};
    r.dtype = r.output_dtype = r.sum_dtype = real_part_of(problem.dtype);
    r.constant = problem.constant.real();
    return r;
}

Resolved without_outer(const Resolved& problem) {
    Resolved one = problem;
    one.outer = {};
    return one;
}

}  // namespace tapline::core
