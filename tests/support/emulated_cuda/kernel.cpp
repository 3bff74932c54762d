#include "support/emulated_cuda/kernel.hpp"

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "core/problem/half.hpp"
#include "tapline/types.hpp"

namespace tapline::emulated {
namespace {

using cuda_abi::Job;
using cuda_abi::Problem;
using Value = std::complex<double>;

Value load(const void* data, std::int32_t dtype, std::int64_t i) {
    switch (static_cast<Dtype>(dtype)) {
        case Dtype::f32:
            return static_cast<const float*>(data)[i];
        case Dtype::f64:
            return static_cast<const double*>(data)[i];
        case Dtype::complex64:
            return static_cast<const std::complex<float>*>(data)[i];
        case Dtype::f16:
            return core::from_f16(static_cast<const std::uint16_t*>(data)[i]);
        case Dtype::bf16:
            return core::from_bf16(static_cast<const std::uint16_t*>(data)[i]);
        default:
            return static_cast<const std::complex<double>*>(data)[i];
    }
}

template <class T>
void store_integer(void* data, std::int64_t i, double value) {
    constexpr auto kLow = std::numeric_limits<T>::min();
    constexpr auto kHigh = std::numeric_limits<T>::max();
    const double rounded = std::nearbyint(value);
    T result = std::isnan(value) ? T{0} : T{};
    if (!std::isnan(value)) {
        result =
            rounded <= static_cast<double>(kLow) ? kLow : (rounded >= static_cast<double>(kHigh) ? kHigh : static_cast<T>(rounded));
    }
    static_cast<T*>(data)[i] = result;
}

void store(void* data, std::int32_t dtype, std::int64_t i, Value value) {
    switch (static_cast<Dtype>(dtype)) {
        case Dtype::f32:
            static_cast<float*>(data)[i] = static_cast<float>(value.real());
            return;
        case Dtype::f64:
            static_cast<double*>(data)[i] = value.real();
            return;
        case Dtype::complex64:
            static_cast<std::complex<float>*>(data)[i] = std::complex<float>(value);
            return;
        case Dtype::complex128:
            static_cast<std::complex<double>*>(data)[i] = value;
            return;
        case Dtype::f16:
            static_cast<std::uint16_t*>(data)[i] = core::to_f16(value.real());
            return;
        case Dtype::bf16:
            static_cast<std::uint16_t*>(data)[i] = core::to_bf16(value.real());
            return;
        case Dtype::boolean:
            return store_integer<bool>(data, i, value.real());
        case Dtype::i8:
            return store_integer<std::int8_t>(data, i, value.real());
        case Dtype::i16:
            return store_integer<std::int16_t>(data, i, value.real());
        case Dtype::i32:
            return store_integer<std::int32_t>(data, i, value.real());
        case Dtype::i64:
            return store_integer<std::int64_t>(data, i, value.real());
        case Dtype::u8:
            return store_integer<std::uint8_t>(data, i, value.real());
        case Dtype::u16:
            return store_integer<std::uint16_t>(data, i, value.real());
        case Dtype::u32:
            return store_integer<std::uint32_t>(data, i, value.real());
        case Dtype::u64:
            return store_integer<std::uint64_t>(data, i, value.real());
    }
}

// As the constant would be if it were stored in the signal.
Value stored(const Problem& p, Value constant) {
    alignas(16) unsigned char element[16] = {};
    store(element, p.dtype, 0, constant);
    return load(element, p.dtype, 0);
}

// Positions outside [0, n), one step of the boundary's picture at a time; -1: the constant (or nothing).
std::int64_t extended(std::int32_t boundary, std::int64_t p, std::int64_t n) {
    while (p < 0 || p >= n) {
        switch (static_cast<Boundary>(boundary)) {
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

Value product(Value x, Value h, bool complex_signal, bool complex_taps) {
    if (!complex_signal) { return x.real() * h.real(); }
    if (!complex_taps) { return {x.real() * h.real(), x.imag() * h.real()}; }
    return {x.real() * h.real() - x.imag() * h.imag(), x.real() * h.imag() + x.imag() * h.real()};
}

Value finished(const Problem& p, Value sum, bool complex_signal) {
    double real = p.scale == 1 && p.bias == 0 ? sum.real() : sum.real() * p.scale + p.bias;
    if (p.has_clamp != 0) { real = real < p.low ? p.low : (real > p.high ? p.high : real); }
    return complex_signal ? Value(real, sum.imag() * p.scale) : Value(real);
}

}  // namespace

std::int64_t element_bytes(std::int32_t dtype) {
    switch (static_cast<Dtype>(dtype)) {
        case Dtype::boolean:
        case Dtype::i8:
        case Dtype::u8:
            return 1;
        case Dtype::i16:
        case Dtype::u16:
        case Dtype::f16:
        case Dtype::bf16:
            return 2;
        case Dtype::f32:
        case Dtype::i32:
        case Dtype::u32:
            return 4;
        case Dtype::complex128:
            return 16;
        default:
            return 8;
    }
}

std::string run_job(const Problem& p, const void* taps, const Job& job) {
    const auto is_complex_type = [](std::int32_t t) {
        return t == static_cast<std::int32_t>(Dtype::complex64) || t == static_cast<std::int32_t>(Dtype::complex128);
    };
    const bool complex_signal = is_complex_type(p.dtype);
    const bool complex_taps = is_complex_type(p.taps_dtype);
    const Value constant = stored(p, {p.constant_real, p.constant_imag});
    for (std::int64_t row = 0; row < job.rows; ++row) {
        const std::int64_t first_tap = (job.row_first + row) % p.filters * p.k;
        for (std::int64_t i = 0; i < job.count; ++i) {
            Value sum = 0;
            for (std::int64_t t = 0; t < p.k; ++t) {
                std::int64_t at = job.first + i + t - p.origin;
                Value x = constant;
                if (at < job.in_first || at >= job.in_last) {
                    at = extended(p.boundary, at, job.n);
                    if (at < 0 && static_cast<Boundary>(p.boundary) == Boundary::zero) { continue; }
                    if (at >= 0 && (at < job.in_first || at >= job.in_last)) {
                        return "output " + std::to_string(job.first + i) + " needs sample " + std::to_string(at) +
                               ", which is not in [" + std::to_string(job.in_first) + ", " + std::to_string(job.in_last) + ")";
                    }
                }
                if (at >= job.in_first && at < job.in_last) {
                    x = load(job.in, p.dtype, row * job.in_row + (at - job.in_first) * job.in_sample);
                }
                sum += product(x, load(taps, p.taps_dtype, first_tap + t), complex_signal, complex_taps);
            }
            store(job.out, p.output_dtype, row * job.out_row + i * job.out_sample, finished(p, sum, complex_signal));
        }
    }
    return {};
}

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

}  // namespace tapline::emulated
