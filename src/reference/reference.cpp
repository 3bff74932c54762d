#include "reference/reference.hpp"

#include <cmath>

#include "reference/numbers.hpp"

namespace tapline::reference {
namespace {

// What each position that an axis reads holds, looked up once.
class Reads {
public:
    explicit Reads(const Axis& axis) : axis_(axis), first_(axis.position(0, 0)) {
        const std::int64_t last = axis.position(axis.outputs - 1, axis.k - 1);
        for (std::int64_t p = first_; p <= last; ++p) { samples_.push_back(sample_at(axis, p)); }
    }
    [[nodiscard]] std::int64_t at(std::int64_t o, std::int64_t t) const {
        return samples_[static_cast<std::size_t>(axis_.position(o, t) - first_)];
    }

private:
    const Axis& axis_;
    std::int64_t first_;
    std::vector<std::int64_t> samples_;
};

// Every sum of a problem over elements of type T, which get(data, dtype, i) reads: terms that are present go to add(x, tap), which
// finish() ends.
template <class T>
class Summing {
public:
    Summing(const Problem& problem, const Shape& shape, T constant)
        : problem_(problem), shape_(shape), constant_(constant), z_(shape.axes[0]), y_(shape.axes[1]), x_(shape.axes[2]) {}

    template <class Get, class Add, class Finish>
    void run(const void* in, const void* taps, const Get& get, const Add& add, const Finish& finish) {
        const auto& [z, y, x] = shape_.axes;
        for (const Item& item : shape_.items) {
            load(in, taps, item, get);
            for (std::int64_t i = 0; i < z.outputs; ++i) {
                for (std::int64_t j = 0; j < y.outputs; ++j) {
                    for (std::int64_t l = 0; l < x.outputs; ++l) {
                        sum(i, j, l, add);
                        finish();
                    }
                }
            }
        }
    }

private:
    template <class Get>
    void load(const void* in, const void* taps, const Item& item, const Get& get) {
        const auto& [z, y, x] = shape_.axes;
        samples_.clear();
        for (std::int64_t i = 0; i < z.n; ++i) {
            for (std::int64_t j = 0; j < y.n; ++j) {
                for (std::int64_t l = 0; l < x.n; ++l) {
                    samples_.push_back(get(in, problem_.dtype, item.in + i * z.in_stride + j * y.in_stride + l * x.in_stride));
                }
            }
        }
        taps_.clear();
        for (std::int64_t t = 0; t < shape_.taps(); ++t) { taps_.push_back(get(taps, taps_dtype(problem_), item.taps + t)); }
    }

    template <class Add>
    void sum(std::int64_t i, std::int64_t j, std::int64_t l, const Add& add) const {
        const auto& [z, y, x] = shape_.axes;
        const bool turned = problem_.operation == Operation::convolution;
        for (std::int64_t a = 0; a < z.k; ++a) {
            for (std::int64_t b = 0; b < y.k; ++b) {
                const std::int64_t plane = z_.at(i, a), row = y_.at(j, b);
                if (plane == kNoTerm || row == kNoTerm) { continue; }
                const std::int64_t tap_row = turned ? (z.k - 1 - a) * y.k + (y.k - 1 - b) : a * y.k + b;
                for (std::int64_t c = 0; c < x.k; ++c) {
                    const std::int64_t column = x_.at(l, c);
                    if (column == kNoTerm) { continue; }
                    const bool outside = plane == kConstantTerm || row == kConstantTerm || column == kConstantTerm;
                    const std::int64_t tap = tap_row * x.k + (turned ? x.k - 1 - c : c);
                    add(outside ? constant_ : samples_[static_cast<std::size_t>((plane * y.n + row) * x.n + column)],
                        taps_[static_cast<std::size_t>(tap)]);
                }
            }
        }
    }

    const Problem& problem_;
    const Shape& shape_;
    T constant_;
    Reads z_, y_, x_;
    std::vector<T> samples_, taps_;
};

struct Sum {
    long double real = 0, imag = 0, real_magnitude = 0, imag_magnitude = 0;
};

// Real products, so that an infinity stays what IEEE 754 makes of it; products with parts that a type lacks are absent.
void add_product(Sum& sum, const Wide& x, const Wide& tap, bool complex_signal, bool complex_taps) {
    const auto real = [&](long double product, long double sign) {
        sum.real += sign * product;
        sum.real_magnitude += std::abs(product);
    };
    const auto imag = [&](long double product) {
        sum.imag += product;
        sum.imag_magnitude += std::abs(product);
    };
    real(x.real() * tap.real(), 1);
    if (!complex_signal) { return; }
    imag(x.imag() * tap.real());
    if (!complex_taps) { return; }
    real(x.imag() * tap.imag(), -1);
    imag(x.real() * tap.imag());
}

}  // namespace

Sums sums(const Problem& problem, const void* in, const void* taps) {
    const Shape shape = shape_of(problem);
    const bool complex_signal = is_complex(problem.dtype), conjugated = problem.operation == Operation::correlation;
    Sums all;
    Sum sum;
    Summing<Wide>(problem, shape, rounded_to(problem.constant, problem.dtype))
        .run(
            in, taps, number_at,
            [&](const Wide& x, const Wide& tap) {
                add_product(sum, x, conjugated ? std::conj(tap) : tap, complex_signal, problem.complex_taps);
            },
            [&] {
                all.real.push_back(sum.real);
                all.imag.push_back(sum.imag);
                all.real_magnitude.push_back(sum.real_magnitude);
                all.imag_magnitude.push_back(sum.imag_magnitude);
                sum = {};
            });
    return all;
}

std::vector<__int128> integer_sums(const Problem& problem, const void* in, const void* taps) {
    const Shape shape = shape_of(problem);
    std::vector<__int128> all;
    __int128 sum = 0;
    const bool has_constant = std::isfinite(problem.constant.real());
    Summing<__int128>(problem, shape, has_constant ? static_cast<__int128>(problem.constant.real()) : 0)
        .run(
            in, taps, integer_at, [&](__int128 x, __int128 tap) { sum += x * tap; },
            [&] {
                all.push_back(sum);
                sum = 0;
            });
    return all;
}

long double epilogue(const Problem& p, long double sum, bool is_real_part) {
    long double value = p.scale == 1 ? sum : sum * p.scale;
    if (is_real_part && p.bias != 0) { value += p.bias; }
    if (p.clamp) {
        if (value < p.clamp->low) { value = p.clamp->low; }
        if (value > p.clamp->high) { value = p.clamp->high; }
    }
    return value;
}

void convolve(const Problem& problem, void* out, const void* in, const void* taps) {
    const Shape shape = shape_of(problem);
    const Dtype out_type = output_dtype(problem);
    const auto each = [&](const auto& body) {
        std::size_t at = 0;
        for (const Item& item : shape.items) {
            for (std::int64_t i = 0; i < shape.outputs(); ++i) { body(at++, shape.place(item, i)); }
        }
    };
    if (is_integer(problem.dtype) && is_integer(taps_dtype(problem))) {
        const bool plain = problem.scale == 1 && problem.bias == 0 && !problem.clamp;
        const std::vector<__int128> exact = integer_sums(problem, in, taps);
        each([&](std::size_t at, std::int64_t place) {
            const long double value = epilogue(problem, static_cast<long double>(exact[at]), true);
            if (plain && is_integer(out_type)) {
                put_wrapped(out, out_type, place, exact[at]);
            } else if (is_integer(out_type) && problem.overflow == Overflow::wrap) {
                put_wrapped(out, out_type, place, static_cast<__int128>(std::nearbyint(value)));
            } else {
                put_number(out, out_type, place, value);
            }
        });
        return;
    }
    const Sums exact = sums(problem, in, taps);
    each([&](std::size_t at, std::int64_t place) {
        const long double imag = is_complex(problem.dtype) ? epilogue(problem, exact.imag[at], false) : 0;
        put_number(out, out_type, place, {epilogue(problem, exact.real[at], true), imag});
    });
}

}  // namespace tapline::reference
