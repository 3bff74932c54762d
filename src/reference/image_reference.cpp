#include "reference/image_reference.hpp"

#include <cmath>

namespace tapline::reference {
namespace {

using Wide = std::complex<long double>;

// A number of any type that images and masks have.
Wide number(const void* data, Dtype dtype, std::int64_t at) {
    switch (dtype) {
        case Dtype::f32:
            return static_cast<const float*>(data)[at];
        case Dtype::f64:
            return static_cast<const double*>(data)[at];
        case Dtype::complex64:
            return {static_cast<const float*>(data)[2 * at], static_cast<const float*>(data)[2 * at + 1]};
        case Dtype::complex128:
            return {static_cast<const double*>(data)[2 * at], static_cast<const double*>(data)[2 * at + 1]};
        case Dtype::u8:
            return static_cast<const std::uint8_t*>(data)[at];
        default:
            return static_cast<const std::uint16_t*>(data)[at];
    }
}

// One axis of x(): the index that a position reads, -1 for the zero or constant boundary. By walking, not by a formula.
std::int64_t walked(Boundary boundary, std::int64_t position, std::int64_t n) {
    while (position < 0 || position >= n) {
        switch (boundary) {
            case Boundary::zero:
            case Boundary::constant:
                return -1;
            case Boundary::nearest:
                return position < 0 ? 0 : n - 1;
            case Boundary::reflect:
                position = position < 0 ? -1 - position : 2 * n - 1 - position;
                break;
            case Boundary::mirror:
                if (n == 1) { return 0; }
                position = position < 0 ? -position : 2 * n - 2 - position;
                break;
            case Boundary::wrap:
                position += position < 0 ? n : -n;
                break;
        }
    }
    return position;
}

struct Term {
    Wide x, tap;
};

// Real products, so that an infinity stays what IEEE 754 makes of it; products with parts that a type lacks are absent.
void add(Sums& sums, const ImageProblem& p, std::size_t at, const Term& term) {
    const auto real = [&](long double product, long double sign) {
        sums.real[at] += sign * product;
        sums.real_magnitude[at] += std::abs(product);
    };
    const auto imag = [&](long double product) {
        sums.imag[at] += product;
        sums.imag_magnitude[at] += std::abs(product);
    };
    real(term.tap.real() * term.x.real(), 1);
    if (is_complex(p.dtype)) { imag(term.tap.real() * term.x.imag()); }
    if (p.complex_taps) {
        real(term.tap.imag() * term.x.imag(), -1);
        imag(term.tap.imag() * term.x.real());
    }
}

// The tap that multiplies x(y + i - origin_y, x + j - origin_x).
Wide tap_at(const ImageProblem& p, const void* taps, std::int64_t channel, std::int64_t i, std::int64_t j) {
    const bool turned = p.operation == Operation::convolution;
    const std::int64_t row = turned ? p.mask_height - 1 - i : i, column = turned ? p.mask_width - 1 - j : j;
    const std::int64_t mask = p.masks == Masks::per_channel ? channel : 0;
    const Wide tap = number(taps, taps_dtype(p), (mask * p.mask_height + row) * p.mask_width + column);
    return turned ? tap : std::conj(tap);
}

}  // namespace

Sums image_sums(const ImageProblem& p, const void* in, const void* taps) {
    const ImageSize size = image_output_size(p), zero = image_origin(p);
    const std::int64_t row_stride = p.input_row_stride == 0 ? p.width * p.channels : p.input_row_stride;
    const std::int64_t image_stride = p.input_image_stride == 0 ? p.height * row_stride : p.input_image_stride;
    Sums sums;
    const auto count = static_cast<std::size_t>(p.batch * size.height * size.width * p.channels);
    for (auto* part : {&sums.real, &sums.imag, &sums.real_magnitude, &sums.imag_magnitude}) { part->assign(count, 0); }
    std::size_t at = 0;
    for (std::int64_t image = 0; image < p.batch; ++image) {
        for (std::int64_t y = 0; y < size.height; ++y) {
            for (std::int64_t x = 0; x < size.width; ++x) {
                for (std::int64_t c = 0; c < p.channels; ++c, ++at) {
                    for (std::int64_t i = 0; i < p.mask_height; ++i) {
                        const std::int64_t row = walked(p.boundary, y + i - zero.height, p.height);
                        for (std::int64_t j = 0; j < p.mask_width; ++j) {
                            const std::int64_t column = walked(p.boundary, x + j - zero.width, p.width);
                            const bool outside = row < 0 || column < 0;
                            if (outside && p.boundary == Boundary::zero) { continue; }
                            Wide value(static_cast<long double>(p.constant.real()), static_cast<long double>(p.constant.imag()));
                            if (real_part_of(p.dtype) == Dtype::f32) {
                                value = Wide(static_cast<float>(p.constant.real()), static_cast<float>(p.constant.imag()));
                            }
                            if (!outside) {
                                value = number(in, p.dtype, image * image_stride + row * row_stride + column * p.channels + c);
                            }
                            add(sums, p, at, {value, tap_at(p, taps, c, i, j)});
                        }
                    }
                }
            }
        }
    }
    return sums;
}

}  // namespace tapline::reference
