#include "support/images.hpp"

#include <cmath>
#include <sstream>

namespace tapline::test {
namespace {

long double part_at(const void* data, Dtype dtype, std::int64_t at, int part) {
    switch (dtype) {
        case Dtype::f32:
            return static_cast<const float*>(data)[at];
        case Dtype::f64:
            return static_cast<const double*>(data)[at];
        case Dtype::complex64:
            return static_cast<const float*>(data)[2 * at + part];
        case Dtype::complex128:
            return static_cast<const double*>(data)[2 * at + part];
        case Dtype::u8:
        case Dtype::boolean:
            return static_cast<const std::uint8_t*>(data)[at];
        case Dtype::u16:
            return static_cast<const std::uint16_t*>(data)[at];
        case Dtype::i16:
            return static_cast<const std::int16_t*>(data)[at];
        default:
            return static_cast<const std::int32_t*>(data)[at];
    }
}

long double finished(const ImageProblem& p, long double sum, int part) {
    long double value = p.scale == 1 ? sum : sum * p.scale;
    if (part == 0) { value += p.bias; }
    if (p.clamp) { value = value < p.clamp->low ? p.clamp->low : (value > p.clamp->high ? p.clamp->high : value); }
    return value;
}

struct Limits {
    long double low, high;
};

Limits limits_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::u8:
            return {0, 255};
        case Dtype::u16:
            return {0, 65535};
        case Dtype::i16:
            return {-32768, 32767};
        default:
            return {-2147483648.0L, 2147483647.0L};
    }
}

// Rounded and saturated: off by what the tolerance allows before rounding.
bool integer_is_right(Dtype dtype, long double got, long double wanted, long double tolerance) {
    if (std::isnan(wanted)) { return got == 0; }
    const Limits limits = limits_of(dtype);
    const auto stored = [&](long double value) { return std::clamp(std::nearbyint(value), limits.low, limits.high); };
    return got >= stored(wanted - tolerance) && got <= stored(wanted + tolerance);
}

// Sum |taps| of the largest mask and the L2 norm of a batch of images as their outputs read them.
struct Scale {
    long double taps = 0, norm = 0;
};

Scale scale_of(const ImageProblem& p, const void* in, const void* taps) {
    Scale scale;
    const std::int64_t row = p.input_row_stride == 0 ? p.width * p.channels : p.input_row_stride;
    const std::int64_t image = p.input_image_stride == 0 ? p.height * row : p.input_image_stride;
    const int parts = is_complex(p.dtype) ? 2 : 1, tap_parts = p.complex_taps ? 2 : 1;
    for (std::int64_t b = 0; b < p.batch; ++b) {
        for (std::int64_t y = 0; y < p.height; ++y) {
            for (std::int64_t e = 0; e < p.width * p.channels; ++e) {
                for (int part = 0; part < parts; ++part) {
                    const long double value = part_at(in, p.dtype, b * image + y * row + e, part);
                    if (std::isfinite(value)) { scale.norm += value * value; }
                }
            }
        }
    }
    const ImageSize size = image_output_size(p);
    const long double reads = static_cast<long double>((size.height + p.mask_height) * (size.width + p.mask_width));
    scale.norm *= std::max(1.0L, reads / static_cast<long double>(p.height * p.width) + 1);
    if (p.boundary == Boundary::constant && std::isfinite(std::norm(p.constant))) { scale.norm += std::norm(p.constant) * reads; }
    scale.norm = std::sqrt(scale.norm);
    for (std::int64_t t = 0; t < taps_extent(p); ++t) {
        for (int part = 0; part < tap_parts; ++part) {
            const long double tap = part_at(taps, taps_dtype(p), t, part);
            if (std::isfinite(tap)) { scale.taps += std::abs(tap); }
        }
    }
    return scale;
}

void put(void* data, Dtype dtype, std::int64_t at, double value) {
    if (real_part_of(dtype) == Dtype::f32) {
        static_cast<float*>(data)[at] = static_cast<float>(value);
    } else {
        static_cast<double*>(data)[at] = value;
    }
}

}  // namespace

void spoil(void* data, Dtype dtype, std::int64_t count, Random& random) {
    if (is_integer(dtype)) { return; }
    const double values[] = {NAN, HUGE_VAL, -HUGE_VAL, NAN};
    const std::int64_t scalars = is_complex(dtype) ? 2 * count : count;
    for (std::int64_t i = chance(0.2, random) ? scalars / 20 + 1 : between(1, 3, random); i > 0; --i) {
        put(data, dtype, between(0, scalars - 1, random), pick(values, random));
    }
}

void make_separable(void* taps, const ImageProblem& p, int rank, Random& random) {
    std::normal_distribution<double> draw;
    const auto h = static_cast<std::size_t>(p.mask_height), w = static_cast<std::size_t>(p.mask_width);
    const std::int64_t masks = taps_extent(p) / (p.mask_height * p.mask_width);
    for (std::int64_t mask = 0; mask < masks; ++mask) {
        std::vector<double> sums(h * w, 0.0);
        for (int r = 0; r < rank; ++r) {
            std::vector<double> column(h), row(w);
            for (double& value : column) { value = chance(0.1, random) ? 0 : draw(random); }
            for (double& value : row) { value = chance(0.1, random) ? 0 : draw(random); }
            for (std::size_t t = 0; t < sums.size(); ++t) { sums[t] += column[t / w] * row[t % w]; }
        }
        for (std::size_t t = 0; t < sums.size(); ++t) {
            put(taps, taps_dtype(p), mask * static_cast<std::int64_t>(h * w) + static_cast<std::int64_t>(t), sums[t]);
        }
    }
}

ImageProblem draw_image_problem(std::int64_t most_side, std::int64_t most_mask, std::int64_t most_products, Random& random) {
    static constexpr std::array<Dtype, 9> kDtypes{Dtype::f32, Dtype::f32, Dtype::f32,       Dtype::f64,       Dtype::f64,
                                                  Dtype::u8,  Dtype::u16, Dtype::complex64, Dtype::complex128};
    static constexpr std::array<Dtype, 6> kOutputs{Dtype::f32, Dtype::f64, Dtype::i16, Dtype::i32, Dtype::u8, Dtype::u16};
    ImageProblem p;
    do {
        p.height = awkward_size(most_side, random);
        p.width = awkward_size(most_side, random);
        p.mask_height = chance(0.1, random) ? p.height : awkward_size(most_mask, random);
        p.mask_width = chance(0.1, random) ? p.width : awkward_size(most_mask, random);
        p.channels = chance(0.4, random) ? 1 : between(1, chance(0.1, random) ? 40 : 5, random);
        p.batch = chance(0.8, random) ? 1 : between(2, 3, random);
    } while (p.height * p.width * p.channels * p.batch * p.mask_height * p.mask_width > most_products);
    p.masks = chance(0.3, random) ? Masks::per_channel : Masks::shared;
    p.mode = chance(0.4, random) ? Mode::same : static_cast<Mode>(between(0, 4, random));
    if (p.mode == Mode::valid && p.mask_height > p.height) { std::swap(p.mask_height, p.height); }
    if (p.mode == Mode::valid && p.mask_width > p.width) { std::swap(p.mask_width, p.width); }
    p.boundary = static_cast<Boundary>(between(0, 5, random));
    p.dtype = pick(kDtypes, random);
    p.complex_taps = is_complex(p.dtype) && chance(0.5, random);
    if (p.boundary == Boundary::constant) {
        p.constant = {is_integer(p.dtype) ? 7 : std::normal_distribution<double>()(random), is_complex(p.dtype) ? 0.5 : 0.0};
    }
    if (chance(0.2, random)) { p.origin_y = between(-p.mask_height - 3, 2 * p.mask_height + 3, random); }
    if (chance(0.2, random)) { p.origin_x = between(-p.mask_width - 3, 2 * p.mask_width + 3, random); }
    p.operation = chance(0.5, random) ? Operation::convolution : Operation::correlation;
    if (!is_complex(p.dtype) && chance(0.2, random)) { p.output_dtype = pick(kOutputs, random); }
    if (chance(0.25, random)) {
        if (chance(0.5, random)) { p.scale = std::normal_distribution<double>(0, 2)(random); }
        if (chance(0.5, random)) { p.bias = std::normal_distribution<double>(0, 2)(random); }
        if (!is_complex(p.dtype) && chance(0.5, random)) { p.clamp = Clamp{chance(0.2, random) ? -HUGE_VAL : -2.5, 3.0}; }
    }
    const ImageSize size = image_output_size(p);
    if (chance(0.3, random)) { p.input_row_stride = p.width * p.channels + between(0, 20, random); }
    if (chance(0.3, random)) { p.output_row_stride = size.width * p.channels + between(0, 20, random); }
    if (chance(0.2, random)) {
        p.input_image_stride = p.height * std::max(p.input_row_stride, p.width * p.channels) + between(0, 9, random);
        p.output_image_stride = size.height * std::max(p.output_row_stride, size.width * p.channels) + between(0, 9, random);
    }
    return p;
}

std::string describe(const ImageProblem& p) {
    std::ostringstream text;
    text << p.batch << " x " << p.height << " x " << p.width << " x " << p.channels << " " << to_string(p.dtype) << " -> "
         << to_string(output_dtype(p)) << ", mask " << p.mask_height << " x " << p.mask_width << " " << to_string(p.masks)
         << (p.complex_taps ? " complex" : "") << ", " << to_string(p.mode) << " " << to_string(p.operation) << ", "
         << to_string(p.boundary) << ", origin " << image_origin(p).height << "," << image_origin(p).width << ", strides "
         << p.input_row_stride << "," << p.input_image_stride << " " << p.output_row_stride << "," << p.output_image_stride
         << ", scale " << p.scale << ", bias " << p.bias;
    if (p.clamp) { text << ", clamp " << p.clamp->low << "," << p.clamp->high; }
    return text.str();
}

std::string compare(const ImageProblem& p, const void* out, const void* in, const void* taps, bool direct) {
    const reference::Sums exact = reference::image_sums(p, in, taps);
    const ImageSize size = image_output_size(p);
    const std::int64_t row = p.output_row_stride == 0 ? size.width * p.channels : p.output_row_stride;
    const std::int64_t image = p.output_image_stride == 0 ? size.height * row : p.output_image_stride;
    const Dtype type = output_dtype(p);
    const bool single = real_part_of(p.dtype) == Dtype::f32 || is_integer(p.dtype);
    const long double eps = single ? 0x1p-23L : 0x1p-52L;
    const long double out_eps = is_integer(type) ? 0 : (real_part_of(type) == Dtype::f32 ? 0x1p-23L : 0x1p-52L);
    const Scale scale = scale_of(p, in, taps);
    const long double allowed_l2 = (single ? 1e-6L : 1e-14L) * scale.taps * scale.norm * std::abs(p.scale);
    const auto terms = static_cast<long double>(p.mask_height * p.mask_width + 2);
    long double squares = 0, rounding_squares = 0;
    std::size_t at = 0;
    for (std::int64_t b = 0; b < p.batch; ++b) {
        for (std::int64_t y = 0; y < size.height; ++y) {
            for (std::int64_t e = 0; e < size.width * p.channels; ++e, ++at) {
                for (int part = 0; part < (is_complex(p.dtype) ? 2 : 1); ++part) {
                    const long double got = part_at(out, type, b * image + y * row + e, part);
                    const long double sum = part == 0 ? exact.real[at] : exact.imag[at];
                    const long double magnitude = part == 0 ? exact.real_magnitude[at] : exact.imag_magnitude[at];
                    const long double wanted = finished(p, sum, part);
                    const long double rounding =
                        (eps + out_eps) * (std::abs(wanted) + std::abs(p.scale * sum) + std::abs(static_cast<long double>(p.bias)));
                    long double tolerance = direct ? std::abs(p.scale) * terms * eps * magnitude : allowed_l2;
                    tolerance += rounding + 1e-37L;
                    bool right = false;
                    if (is_integer(type)) {
                        right = integer_is_right(type, got, wanted, std::isfinite(tolerance) ? tolerance : 0);
                    } else if (std::isnan(wanted)) {
                        right = std::isnan(got);
                    } else if (std::isinf(wanted)) {
                        right = got == wanted;
                    } else {
                        const long double error = std::abs(got - wanted);
                        right = error <= tolerance;
                        squares += error * error;
                        rounding_squares += rounding * rounding;
                    }
                    if (!right) {
                        std::ostringstream text;
                        text.precision(12);
                        text << "image " << b << ", row " << y << ", element " << e << ": " << got << " instead of " << wanted
                             << " (tolerance " << tolerance << ")";
                        return text.str();
                    }
                }
            }
        }
    }
    if (!direct && !(std::sqrt(squares) <= allowed_l2 + std::sqrt(rounding_squares) + 1e-37L)) {
        return "L2 error " + std::to_string(static_cast<double>(std::sqrt(squares))) + " above " +
               std::to_string(static_cast<double>(allowed_l2));
    }
    return {};
}

}  // namespace tapline::test
