#include "support/emulated_cuda/kernel.hpp"

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "core/problem/elements.hpp"
#include "core/problem/overflow.hpp"
#include "reference/numbers.hpp"
#include "tapline/types.hpp"

namespace tapline::emulated {

std::int64_t extended(Boundary boundary, std::int64_t p, std::int64_t n) {
    while (p < 0 || p >= n) {
        switch (boundary) {
            case Boundary::nearest:
                p = p < 0 ? 0 : n - 1;
                break;
            case Boundary::reflect:
                p = p < 0 ? -1 - p : 2 * n - 1 - p;
                break;
            case Boundary::mirror:
                p = n == 1 ? 0 : (p < 0 ? -p : 2 * n - 2 - p);
                break;
            case Boundary::wrap:
                p = p < 0 ? p + n : p - n;
                break;
            default:
                return -1;
        }
    }
    return p;
}

namespace {

using cuda_abi::Job;
using cuda_abi::Problem;
using Value = std::complex<double>;

Value load(const void* data, Dtype dtype, std::int64_t i) { return Value(reference::number_at(data, dtype, i)); }

void store(void* data, Dtype dtype, std::int64_t i, Value value) { reference::put_number(data, dtype, i, reference::Wide(value)); }

// As the constant would be if it were stored in the signal.
Value stored(const Problem& p, Value constant) {
    alignas(16) unsigned char element[16] = {};
    store(element, p.dtype, 0, constant);
    return load(element, p.dtype, 0);
}

Value product(Value x, Value h, bool complex_signal, bool complex_taps) {
    if (!complex_signal) { return x.real() * h.real(); }
    if (!complex_taps) { return {x.real() * h.real(), x.imag() * h.real()}; }
    return {x.real() * h.real() - x.imag() * h.imag(), x.real() * h.imag() + x.imag() * h.real()};
}

Value finished(const Problem& p, Value sum, bool complex_signal) {
    double real = p.scale == 1 && p.bias == 0 ? sum.real() : sum.real() * p.scale + p.bias;
    if (p.has_clamp) { real = real < p.clamp.low ? p.clamp.low : (real > p.clamp.high ? p.clamp.high : real); }
    return complex_signal ? Value(real, sum.imag() * p.scale) : Value(real);
}

// Bits of an integer, as 64-bit taps are kept.
std::int64_t load_bits(const void* data, Dtype dtype, std::int64_t i) {
    switch (dtype) {
        case Dtype::i64:
        case Dtype::u64:
            return static_cast<const std::int64_t*>(data)[i];
        case Dtype::boolean:
            return static_cast<const std::uint8_t*>(data)[i] != 0 ? 1 : 0;
        default:
            return static_cast<std::int64_t>(load(data, dtype, i).real());
    }
}

template <class T>
bool put_integer(void* data, std::int64_t i, const core::Int192& value) {
    static_cast<T*>(data)[i] = static_cast<T>(value.low);
    return core::fits<T>(value);
}

// Whether the type holds it.
bool store_exact(void* data, Dtype dtype, std::int64_t i, const core::Int192& value) {
    if (dtype == Dtype::f32) { static_cast<float*>(data)[i] = core::to_floating<float>(value); }
    if (dtype == Dtype::f64) { static_cast<double*>(data)[i] = core::to_floating<double>(value); }
    if (dtype == Dtype::boolean) { static_cast<std::uint8_t*>(data)[i] = value.is_zero() ? 0 : 1; }
    if (dtype == Dtype::boolean || !is_integer(dtype)) { return true; }
    return core::with_integer_type(dtype, [&]<class T>(T) { return put_integer<T>(data, i, value); });
}

// The axis inside the cut one: of a signal a single sample.
core::Axis inner_axis(const Problem& p) { return p.rank == 1 ? core::Axis{} : p.x; }

// The one between: of all but a volume a single row.
core::Axis middle_axis(const Problem& p) { return p.rank == 3 ? p.y : core::Axis{}; }

// Elements [0, length) of axes with strides.
struct Stepped {
    std::int64_t length, stride;
};
Reach reach_of(std::initializer_list<Stepped> axes) {
    Reach reach;
    for (const Stepped& axis : axes) {
        if (axis.length < 1) { return {0, -1}; }
        (axis.stride < 0 ? reach.low : reach.high) += (axis.length - 1) * axis.stride;
    }
    return reach;
}

// One output at a time.
class Kernel {
public:
    Kernel(const Problem& p, const void* taps, const Job& job)
        : p_(p),
          taps_(taps),
          job_(job),
          middle_(middle_axis(p)),
          inner_(inner_axis(p)),
          complex_signal_(is_complex(p.dtype)),
          complex_taps_(is_complex(p.taps_dtype)),
          constant_(stored(p, p.constant)) {}

    std::string run() {
        for (std::int64_t item = 0; item < job_.batch; ++item) {
            for (std::int64_t o = 0; o < job_.count; ++o) {
                for (std::int64_t y = 0; y < middle_.outputs; ++y) {
                    for (std::int64_t x = 0; x < inner_.outputs; ++x) {
                        for (std::int64_t c = 0; c < p_.channels.length; ++c) { one(item, o, y, x, c); }
                    }
                }
            }
        }
        return failure_;
    }

private:
    void one(std::int64_t item, std::int64_t o, std::int64_t y, std::int64_t x, std::int64_t c) {
        const std::int64_t filter = p_.rank == 1 ? (job_.batch_first + item) % p_.filters : (p_.filters > 1 ? c : 0);
        std::int64_t tap = filter * p_.taps();
        Value sum = 0;
        core::Int192 exact;
        const bool is_exact = p_.is_exact();
        for (std::int64_t t = 0; t < p_.cut().k; ++t) {
            const std::int64_t at = position(job_.first + o + t - p_.cut().origin);
            for (std::int64_t i = 0; i < middle_.k; ++i) {
                const std::int64_t row = extended(middle_.boundary, y + i - middle_.origin, middle_.n);
                for (std::int64_t j = 0; j < inner_.k; ++j, ++tap) {
                    const std::int64_t inside = extended(inner_.boundary, x + j - inner_.origin, inner_.n);
                    const bool nothing = (at == kOutside && p_.cut().boundary == Boundary::zero) ||
                                         (row < 0 && middle_.boundary == Boundary::zero) ||
                                         (inside < 0 && inner_.boundary == Boundary::zero);
                    if (nothing) { continue; }
                    const bool there = at != kOutside && row >= 0 && inside >= 0;
                    const std::int64_t element = item * job_.in_batch + (at - job_.in_first) * job_.in_stride +
                                                 row * middle_.in_stride + inside * inner_.in_stride + c * p_.channels.in_stride;
                    if (is_exact) {
                        const std::int64_t value =
                            there ? load_bits(job_.in, p_.dtype, element) : static_cast<std::int64_t>(p_.constant.real());
                        const std::int64_t h = load_bits(taps_, p_.taps_dtype, tap);
                        if (p_.dtype == Dtype::u64) {
                            exact.add(static_cast<core::Uint128>(static_cast<std::uint64_t>(value)) * static_cast<std::uint64_t>(h),
                                      0);
                        } else {
                            exact.add(core::Int192(static_cast<core::Int128>(value) * h));
                        }
                        continue;
                    }
                    const Value value = there ? load(job_.in, p_.dtype, element) : constant_;
                    sum += product(value, load(taps_, p_.taps_dtype, tap), complex_signal_, complex_taps_);
                }
            }
        }
        const std::int64_t to = item * job_.out_batch + o * job_.out_stride + y * middle_.out_stride + x * inner_.out_stride +
                                c * p_.channels.out_stride;
        if (!is_exact && p_.overflow == Overflow::truncate) {
            const auto truncated = static_cast<std::int64_t>(finished(p_, sum, false).real());
            store_exact(job_.out, p_.output_dtype, to, core::Int192(truncated));
            return;
        }
        if (!is_exact) { return store(job_.out, p_.output_dtype, to, finished(p_, sum, complex_signal_)); }
        // No more than a double holds where there is an epilogue.
        if (p_.scale != 1 || p_.bias != 0 || p_.has_clamp) {
            return store(job_.out, p_.output_dtype, to, finished(p_, core::to_floating<double>(exact), false));
        }
        if (!store_exact(job_.out, p_.output_dtype, to, exact) && p_.overflow == Overflow::error) {
            failure_ = core::overflow_text(p_, item, job_.first + o, core::to_string(exact));
        }
    }

    // Which sample of the cut axis is read at a position; kOutside: the constant, or nothing.
    std::int64_t position(std::int64_t wanted) {
        const auto is_there = [&](std::int64_t at) { return at >= job_.in_first && at < job_.in_last; };
        if (is_there(wanted)) { return wanted; }
        const std::int64_t at = extended(p_.cut().boundary, wanted, job_.n);
        if (at < 0) { return kOutside; }
        if (is_there(at)) { return at; }
        failure_ = "sample " + std::to_string(at) + " is needed, which is not in [" + std::to_string(job_.in_first) + ", " +
                   std::to_string(job_.in_last) + ")";
        return kOutside;
    }

    static constexpr std::int64_t kOutside = INT64_MIN;  // a position of a piece may be negative

    const Problem& p_;
    const void* taps_;
    const Job& job_;
    core::Axis middle_, inner_;
    bool complex_signal_, complex_taps_;
    Value constant_;
    std::string failure_;
};

}  // namespace

Reach reach_of_input(const Problem& p, const Job& job) {
    const core::Axis middle = middle_axis(p), inner = inner_axis(p);
    return reach_of({{job.batch, job.in_batch},
                     {job.in_last - job.in_first, job.in_stride},
                     {middle.n, middle.in_stride},
                     {inner.n, inner.in_stride},
                     {p.channels.length, p.channels.in_stride}});
}

Reach reach_of_output(const Problem& p, const Job& job) {
    const core::Axis middle = middle_axis(p), inner = inner_axis(p);
    return reach_of({{job.batch, job.out_batch},
                     {job.count, job.out_stride},
                     {middle.outputs, middle.out_stride},
                     {inner.outputs, inner.out_stride},
                     {p.channels.length, p.channels.out_stride}});
}

std::string run_job(const Problem& problem, const void* taps, const Job& job) { return Kernel(problem, taps, job).run(); }

void run_depthwise(const cuda_abi::Depthwise& p, void* y, const void* x, const void* taps) {
    for (std::int64_t row = 0; row < p.batch * p.channels; ++row) {
        for (std::int64_t o = 0; o < p.length; ++o) {
            double sum = 0;
            for (std::int64_t t = 0; t < p.k; ++t) {
                const std::int64_t i = o + t - p.origin;
                if (i < 0 || i >= p.n) { continue; }
                sum += (load(taps, p.dtype, row % p.channels * p.k + t) * load(x, p.dtype, row * p.n + i)).real();
            }
            store(y, p.dtype, row * p.length + o, sum);
        }
    }
}

void run_depthwise_gradients(const cuda_abi::Depthwise& p, void* grad_x, void* grad_taps, const void* grad_y, const void* x,
                             const void* taps) {
    std::vector<double> of_x(static_cast<std::size_t>(p.batch * p.channels * p.n));
    std::vector<double> of_taps(static_cast<std::size_t>(p.channels * p.k));
    for (std::int64_t row = 0; row < p.batch * p.channels; ++row) {
        for (std::int64_t o = 0; o < p.length; ++o) {
            const double g = load(grad_y, p.dtype, row * p.length + o).real();
            for (std::int64_t t = 0; t < p.k; ++t) {
                const std::int64_t i = o + t - p.origin;
                if (i < 0 || i >= p.n) { continue; }
                const std::int64_t tap = row % p.channels * p.k + t;
                if (grad_x != nullptr) { of_x[static_cast<std::size_t>(row * p.n + i)] += g * load(taps, p.dtype, tap).real(); }
                of_taps[static_cast<std::size_t>(tap)] += g * load(x, p.dtype, row * p.n + i).real();
            }
        }
    }
    for (std::size_t i = 0; grad_x != nullptr && i < of_x.size(); ++i) {
        store(grad_x, p.dtype, static_cast<std::int64_t>(i), of_x[i]);
    }
    for (std::size_t i = 0; i < of_taps.size(); ++i) { store(grad_taps, p.dtype, static_cast<std::int64_t>(i), of_taps[i]); }
}

void run_row_sum(const cuda_abi::RowSum& s) {
    for (std::int64_t i = 0; i < s.count; ++i) {
        double sum = s.before == nullptr ? 0 : load(s.before, s.from_dtype, i).real();
        for (std::int64_t row = 0; row < s.rows; ++row) { sum += load(s.from, s.from_dtype, row * s.count + i).real(); }
        store(s.to, s.to_dtype, i, sum);
    }
}

void copy_element(void* to, Dtype to_dtype, const void* array, Dtype dtype, std::int64_t from) {
    store(to, to_dtype, 0, load(array, dtype, from));
}

std::vector<std::byte> ordered(const cuda_abi::DeviceTaps& given, const Problem& p) {
    const std::int64_t bytes = static_cast<std::int64_t>(size_of(p.taps_dtype)), k = p.taps();
    const std::int64_t stride = p.filters > 1 ? p.batch.taps_stride : 0;
    std::vector<std::byte> taps(static_cast<std::size_t>(p.filters * k * bytes));
    for (std::int64_t t = 0; t < p.filters * k; ++t) {
        const std::int64_t from = t / k * stride + (given.reversed != 0 ? k - 1 - t % k : t % k);
        copy_element(taps.data() + t * bytes, p.taps_dtype, given.data, given.dtype, from);
    }
    if (given.conjugated == 0) { return taps; }
    const auto conjugate = [&]<class Real>(Real) {
        auto* const parts = reinterpret_cast<Real*>(taps.data());
        for (std::int64_t t = 0; t < p.filters * k; ++t) { parts[2 * t + 1] = -parts[2 * t + 1]; }
    };
    if (p.taps_dtype == Dtype::complex64) { conjugate(float{}); }
    if (p.taps_dtype == Dtype::complex128) { conjugate(double{}); }
    return taps;
}

}  // namespace tapline::emulated
