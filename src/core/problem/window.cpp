#include "core/problem/window.hpp"

#include <algorithm>
#include <cstring>

#include "core/problem/elements.hpp"
#include "core/problem/half.hpp"

namespace tapline::core {
namespace {

// Samples [first, last) of a piece, which holds them, to packed elements.
template <class T>
void copy_from(T* destination, const Piece& piece, std::int64_t row, std::int64_t first, std::int64_t count) {
    const T* source = static_cast<const T*>(piece.data) + row * piece.batch_stride + (first - piece.first) * piece.stride;
    if (piece.stride == 1) {
        std::memcpy(destination, source, static_cast<std::size_t>(count) * sizeof(T));
        return;
    }
    // With a distance that is known the compiler shuffles whole vectors: 2^20 samples of f32 read backwards with 63 taps took 1.8
    // ms instead of 2.3 on one thread, every second sample 2.03 instead of 2.32.
    if (piece.stride == -1) {
        for (std::int64_t i = 0; i < count; ++i) { destination[i] = source[-i]; }
    } else if (piece.stride == 2) {
        for (std::int64_t i = 0; i < count; ++i) { destination[i] = source[2 * i]; }
    } else {
        for (std::int64_t i = 0; i < count; ++i) { destination[i] = source[i * piece.stride]; }
    }
}

bool holds(const Piece& piece, std::int64_t position) { return position >= piece.first && position < piece.last; }

template <class T>
T boundary_constant(const Resolved& problem) {
    const std::complex<double> c = problem.x.boundary == Boundary::constant ? problem.constant : 0.0;
    if constexpr (std::is_same_v<T, std::uint16_t>) {
        if (problem.dtype == Dtype::f16) { return to_f16(c.real()); }
        if (problem.dtype == Dtype::bf16) { return to_bf16(c.real()); }
    }
    return element_of<T>(c);
}

template <class T>
T sample_at(const Resolved& problem, const Input& input, std::int64_t row, std::int64_t position, T constant) {
    std::int64_t index = position;
    if (!holds(input.main, index) && !holds(input.extra, index)) {
        index = boundary_index(problem.x.boundary, position, input.n);
        if (index < 0) { return constant; }
    }
    T value{};
    if (holds(input.main, index)) {
        copy_from(&value, input.main, row, index, 1);
    } else if (holds(input.extra, index)) {
        copy_from(&value, input.extra, row, index, 1);
    }
    return value;
}

// Positions [begin, end) on one side of a signal that is one piece, and no further from it than it is long: without a call for
// each. False: others, which are looked up one by one.
template <class T>
bool look_up(T* destination, const Resolved& problem, const Input& input, std::int64_t row, std::int64_t begin, std::int64_t end) {
    const Piece& main = input.main;
    const std::int64_t n = input.n;
    const bool whole = input.extra.first >= input.extra.last && n != kUnknownLength && main.first == 0 && main.last == n;
    if (!whole || begin <= -n || end >= 2 * n || (begin < 0) != (end <= 0)) { return false; }
    const T* const source = static_cast<const T*>(main.data) + row * main.batch_stride;
    const auto from = [&](std::int64_t first, std::int64_t step) {  // the sample of the first position, and how it goes on
        for (std::int64_t i = 0; i < end - begin; ++i) { destination[i] = source[(first + i * step) * main.stride]; }
        return true;
    };
    switch (problem.x.boundary) {
        case Boundary::nearest:
            return from(begin < 0 ? 0 : n - 1, 0);
        case Boundary::reflect:
            return from(begin < 0 ? -begin - 1 : 2 * n - 1 - begin, -1);
        case Boundary::mirror:
            return from(begin < 0 ? -begin : 2 * n - 2 - begin, -1);
        case Boundary::wrap:
            return from(begin < 0 ? begin + n : begin - n, 1);
        default:
            return false;
    }
}

}  // namespace

Input whole_input(const Resolved& r, const void* in) {
    const Axis& cut = r.cut();
    return {.main = {.data = in, .first = 0, .last = cut.n, .batch_stride = r.batch.in_stride, .stride = cut.in_stride},
            .extra = {},
            .n = cut.n};
}

Output whole_output(const Resolved& r, void* out) {
    const Axis& cut = r.cut();
    return {.data = out, .first = 0, .count = cut.outputs, .batch_stride = r.batch.out_stride, .stride = cut.out_stride};
}

std::int64_t boundary_index(Boundary boundary, std::int64_t position, std::int64_t n) {
    const bool known = n != kUnknownLength;
    if (position >= 0 && (!known || position < n)) { return position; }
    const auto modulo = [](std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; };
    // Near the ends, where most are that anybody asks for, without a division.
    switch (boundary) {
        case Boundary::zero:
        case Boundary::constant:
            return -1;
        case Boundary::nearest:
            return position < 0 ? 0 : n - 1;
        case Boundary::reflect: {
            if (!known || (position < 0 && position >= -n)) { return -position - 1; }
            if (position >= n && position < 2 * n) { return 2 * n - 1 - position; }
            const std::int64_t m = modulo(position, 2 * n);
            return m < n ? m : 2 * n - 1 - m;
        }
        case Boundary::mirror: {
            if (!known || (position < 0 && position > -n)) { return -position; }
            if (n == 1) { return 0; }
            if (position >= n && position < 2 * n - 1) { return 2 * n - 2 - position; }
            const std::int64_t m = modulo(position, 2 * n - 2);
            return m < n ? m : 2 * n - 2 - m;
        }
        case Boundary::wrap:
            if (!known) { return -1; }
            if (position < 0 && position >= -n) { return position + n; }
            return position >= n && position < 2 * n ? position - n : modulo(position, n);
    }
    return -1;
}

template <class T>
void gather(T* destination, const Resolved& problem, const Input& input, std::int64_t row, std::int64_t first, std::int64_t count) {
    const std::int64_t last = first + count;
    // [from, to): what `main` holds as it is; beside it every sample is looked up, but for long runs of the constant.
    const std::int64_t from = std::clamp(input.main.first, first, last);
    const std::int64_t to = std::clamp(input.main.last, from, last);
    if (to > from) { copy_from(destination + (from - first), input.main, row, from, to - from); }
    const T constant = boundary_constant<T>(problem);
    const bool plain = problem.x.boundary == Boundary::zero || problem.x.boundary == Boundary::constant;
    const bool alone = input.extra.first >= input.extra.last;
    const auto fill = [&](std::int64_t begin, std::int64_t end) {
        if (plain && alone) {
            // Beside the main piece lie samples that are missing, and beyond the signal's ends the constant.
            const std::int64_t start = std::clamp<std::int64_t>(0, begin, end);
            const std::int64_t stop = input.n == kUnknownLength ? end : std::clamp(input.n, start, end);
            std::fill(destination + (begin - first), destination + (start - first), constant);
            std::fill(destination + (start - first), destination + (stop - first), T{});
            std::fill(destination + (stop - first), destination + (end - first), constant);
            return;
        }
        if (look_up(destination + (begin - first), problem, input, row, begin, end)) { return; }
        for (std::int64_t p = begin; p < end; ++p) { destination[p - first] = sample_at(problem, input, row, p, constant); }
    };
    if (from > first) { fill(first, from); }
    if (to < last) { fill(to, last); }
}

#define TAPLINE_GATHER(T) template void gather<T>(T*, const Resolved&, const Input&, std::int64_t, std::int64_t, std::int64_t)
TAPLINE_GATHER(float);
TAPLINE_GATHER(double);
TAPLINE_GATHER(std::complex<float>);
TAPLINE_GATHER(std::complex<double>);
TAPLINE_FOR_INTEGERS(TAPLINE_GATHER);
#undef TAPLINE_GATHER

}  // namespace tapline::core
