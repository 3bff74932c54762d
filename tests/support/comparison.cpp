#include "support/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <sstream>

#include "reference/numbers.hpp"

namespace tapline::test {
namespace {

using reference::Wide;

bool is_half(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16; }

// Below this a result of f32 may have been flushed to zero on its way.
constexpr long double kUnderflow = 1e-37L;

// Of a floating-point type, or of the one in which it is summed.
long double epsilon_of(Dtype dtype) { return real_part_of(dtype) == Dtype::f32 || is_half(dtype) ? 0x1p-23L : 0x1p-52L; }

// Of the type in which sums are formed; exact sums of integers meet a floating-point type in their epilogue only.
long double sum_epsilon(const Problem& p) { return epsilon_of(is_integer(p.dtype) ? taps_dtype(p) : p.dtype); }

bool is_exact(const Problem& p) { return is_integer(p.dtype) && is_integer(taps_dtype(p)); }

// What storing a value of at most this size in 16 bits may change: half a unit in the last place.
long double half_rounding(Dtype dtype, long double size) {
    if (!is_half(dtype)) { return 0; }
    const int fraction_bits = dtype == Dtype::f16 ? 10 : 7;
    const int least_exponent = dtype == Dtype::f16 ? -14 : -126;  // of a normal number
    const int exponent = size == 0 || !std::isfinite(size) ? least_exponent : std::max(std::ilogb(size), least_exponent);
    return std::ldexp(0.5L, exponent - fraction_bits);
}

// f16 ends at 65504: from halfway to the next step on, infinity is right.
bool overflows(Dtype dtype, long double got, long double wanted, long double tolerance) {
    return dtype == Dtype::f16 && std::isinf(got) && got * wanted > 0 && std::abs(wanted) + tolerance >= 65520;
}

// One real component of one output.
struct Part {
    long double got = 0;
    long double wanted = 0;     ///< after the epilogue, not rounded
    long double tolerance = 0;  ///< of this element alone
    long double rounding = 0;   ///< what of it is the epilogue's and the storing's
};

// Whether the saturated cast of some number within the tolerance is what was got.
bool integer_is_right(Dtype dtype, const Part& part) {
    if (std::isnan(part.wanted)) { return part.got == 0; }
    const auto stored = [&](long double value) {
        std::uint64_t element = 0;
        reference::put_number(&element, dtype, 0, value);
        return reference::number_at(&element, dtype, 0).real();
    };
    return part.got >= stored(part.wanted - part.tolerance) && part.got <= stored(part.wanted + part.tolerance);
}

// Whether the wrapped cast of some number within the tolerance is what was got.
bool wrapped_is_right(Dtype type, const Part& part) {
    const auto low = static_cast<__int128>(std::nearbyint(part.wanted - part.tolerance));
    const auto high = static_cast<__int128>(std::nearbyint(part.wanted + part.tolerance));
    if (type == Dtype::boolean) { return part.got == 0 ? low <= 0 && high >= 0 : low != 0 || high != 0; }
    const __int128 values = static_cast<__int128>(1) << (8 * size_of(type));
    const __int128 behind = (static_cast<__int128>(part.got) - low) % values;
    return (behind < 0 ? behind + values : behind) <= high - low;
}

bool is_right(Dtype dtype, const Part& part) {
    if (is_integer(dtype)) { return integer_is_right(dtype, part); }
    if (std::isnan(part.wanted)) { return std::isnan(part.got); }
    if (std::isinf(part.wanted)) { return part.got == part.wanted; }
    return overflows(dtype, part.got, part.wanted, part.tolerance) || std::abs(part.got - part.wanted) <= part.tolerance;
}

// How many positions that are taken in hold each sample of an axis, and how many the constant.
struct Counts {
    std::vector<long double> samples;
    long double constants = 0;
    [[nodiscard]] long double inside() const { return std::accumulate(samples.begin(), samples.end(), 0.0L); }
};

// For outputs [first, last), which may lie past the axis' own, and `lookahead` positions more; `all`: every sample is taken in.
Counts counts_of(const reference::Axis& axis, std::int64_t first, std::int64_t last, std::int64_t lookahead, bool all) {
    const std::int64_t start = axis.position(first, 0);
    std::vector<bool> read(static_cast<std::size_t>(axis.position(last - 1, axis.k - 1) + lookahead - start + 1));
    for (std::int64_t o = first; o < last; ++o) {
        for (std::int64_t t = 0; t < axis.k; ++t) { read[static_cast<std::size_t>(axis.position(o, t) - start)] = true; }
    }
    std::fill(read.end() - lookahead, read.end(), true);
    Counts counts{std::vector<long double>(static_cast<std::size_t>(axis.n))};
    for (std::size_t i = 0; i < read.size(); ++i) {
        if (!read[i]) { continue; }
        const std::int64_t sample = reference::sample_at(axis, start + static_cast<std::int64_t>(i));
        if (sample >= 0) { counts.samples[static_cast<std::size_t>(sample)] += 1; }
        if (sample == reference::kConstantTerm) { counts.constants += 1; }
    }
    for (long double& count : counts.samples) { count = all ? std::max(count, 1.0L) : count; }
    return counts;
}

// The L2 norms of an error and of what an epilogue and storing add to it.
struct Errors {
    long double squares = 0, rounding_squares = 0;
};

// The squares of an element's finite components: real taps read a finite part beside a NaN in the other.
long double squares_of(const Wide& x) {
    long double squares = 0;
    for (const long double part : {x.real(), x.imag()}) { squares += std::isfinite(part) ? part * part : 0; }
    return squares;
}

}  // namespace

struct Expected::Parts {
    Problem problem;
    const void* in;
    const void* taps;
    reference::Shape shape;
    reference::Sums sums;
    std::vector<__int128> exact;  ///< of integers

    [[nodiscard]] Part part_of(const void* out, const reference::Item& item, std::size_t sum, std::int64_t index, bool real) const;
    void give_tolerance(Part& part, std::size_t sum, bool real, long double of_sum) const;
    [[nodiscard]] std::string compare_exact(const void* out) const;
    [[nodiscard]] std::string compare_part(const void* out, std::size_t item, std::int64_t first, std::int64_t last,
                                           std::optional<long double> allowed, Errors& errors) const;
    [[nodiscard]] std::string compare_norm(const void* out, std::size_t first_item, std::size_t last_item, std::int64_t first,
                                           const Block& block) const;
    [[nodiscard]] long double allowed_l2(const reference::Item& item, std::int64_t first, const Block& block) const;
    [[nodiscard]] std::string difference(std::size_t item, std::int64_t index, const Part& part) const;
    [[nodiscard]] std::string wrong_bool(const void* out) const;
};

Part Expected::Parts::part_of(const void* out, const reference::Item& item, std::size_t sum, std::int64_t index, bool real) const {
    const Wide got = reference::number_at(out, output_dtype(problem), shape.place(item, index));
    const long double whole = real ? sums.real[sum] : sums.imag[sum];
    return {.got = real ? got.real() : got.imag(), .wanted = reference::epilogue(problem, whole, real)};
}

// `of_sum`: what the sum alone may be off by. A sum that is not finite has no error, whatever the limits make of it.
void Expected::Parts::give_tolerance(Part& part, std::size_t sum, bool real, long double of_sum) const {
    const Dtype type = output_dtype(problem);
    const long double out_epsilon = is_integer(type) || is_half(type) ? 0 : epsilon_of(type);
    const long double whole = std::abs(problem.scale * (real ? sums.real[sum] : sums.imag[sum]));
    const bool finite = std::isfinite(whole);
    part.rounding = (sum_epsilon(problem) + out_epsilon) *
                    (std::abs(part.wanted) + (finite ? whole + std::abs(static_cast<long double>(problem.bias)) : 0));
    part.tolerance = part.rounding + kUnderflow + (finite ? std::abs(problem.scale) * of_sum : 0);
    const long double storing = half_rounding(type, std::abs(part.wanted) + part.tolerance);
    part.tolerance += storing;
    part.rounding += storing;
}

std::string Expected::Parts::difference(std::size_t item, std::int64_t index, const Part& part) const {
    const auto& [z, y, x] = shape.axes;
    std::ostringstream text;
    text.precision(12);
    text << "item " << item << ", output (" << index / (y.outputs * x.outputs) << ", " << index / x.outputs % y.outputs << ", "
         << index % x.outputs << "): " << part.got << " instead of " << part.wanted << " (tolerance " << part.tolerance << ")";
    return text.str();
}

// sum |taps| of the item's filter times the L2 norm of what the block that starts at an output takes in, times the factor.
long double Expected::Parts::allowed_l2(const reference::Item& item, std::int64_t first, const Block& block) const {
    std::array<Counts, 3> counts;
    for (std::size_t i = 0; i < 3; ++i) {
        const reference::Axis& axis = shape.axes[i];
        const bool is_cut = &axis == &shape.outermost() && block.outputs > 0;
        counts[i] = is_cut ? counts_of(axis, first, first + block.outputs, block.lookahead, false)
                           : counts_of(axis, 0, axis.outputs, 0, true);
    }
    const auto& [z, y, x] = shape.axes;
    long double squares = 0, all = 1, inside = 1;
    for (const Counts& c : counts) {
        all *= c.inside() + c.constants;
        inside *= c.inside();
    }
    if (all > inside) { squares += (all - inside) * squares_of(problem.constant); }
    for (std::int64_t i = 0; i < z.n; ++i) {
        for (std::int64_t j = 0; j < y.n; ++j) {
            const long double row = counts[0].samples[static_cast<std::size_t>(i)] * counts[1].samples[static_cast<std::size_t>(j)];
            if (row == 0) { continue; }
            for (std::int64_t l = 0; l < x.n; ++l) {
                const long double times = row * counts[2].samples[static_cast<std::size_t>(l)];
                if (times == 0) { continue; }
                squares += times * squares_of(reference::number_at(in, problem.dtype,
                                                                   item.in + i * z.in_stride + j * y.in_stride + l * x.in_stride));
            }
        }
    }
    long double sum = 0;
    for (std::int64_t t = 0; t < shape.taps(); ++t) {
        const long double size = std::abs(reference::number_at(taps, taps_dtype(problem), item.taps + t));
        if (std::isfinite(size)) { sum += size; }
    }
    return (sum_epsilon(problem) == 0x1p-23L ? 1e-6L : 1e-14L) * sum * std::sqrt(squares);
}

// Outputs [first, last) along the outermost axis of one item, whose sums may each be off by `allowed` (elementwise: by their own
// bound).
std::string Expected::Parts::compare_part(const void* out, std::size_t item, std::int64_t first, std::int64_t last,
                                          std::optional<long double> allowed, Errors& errors) const {
    const std::int64_t within = shape.outputs() / shape.outermost().outputs;  // outputs to one of the outermost axis
    const Dtype type = output_dtype(problem);
    const long double terms = static_cast<long double>(shape.taps() + 2) * sum_epsilon(problem);
    for (std::int64_t index = first * within; index < last * within; ++index) {
        const std::size_t sum = item * static_cast<std::size_t>(shape.outputs()) + static_cast<std::size_t>(index);
        for (int c = 0; c < (is_complex(problem.dtype) ? 2 : 1); ++c) {
            const long double magnitude = c == 0 ? sums.real_magnitude[sum] : sums.imag_magnitude[sum];
            Part part = part_of(out, shape.items[item], sum, index, c == 0);
            give_tolerance(part, sum, c == 0, allowed.value_or(terms * magnitude));
            if (!is_right(type, part)) { return difference(item, index, part); }
            if (is_integer(type) || !std::isfinite(part.wanted) || !std::isfinite(part.got)) { continue; }
            errors.squares += (part.got - part.wanted) * (part.got - part.wanted);
            errors.rounding_squares += part.rounding * part.rounding;
        }
    }
    return {};
}

// A block of some items in the L2 norm.
std::string Expected::Parts::compare_norm(const void* out, std::size_t first_item, std::size_t last_item, std::int64_t first,
                                          const Block& block) const {
    const std::int64_t outputs = shape.outermost().outputs;
    const std::int64_t last = block.outputs > 0 ? std::min(first + block.outputs, outputs) : outputs;
    long double squares = 0;
    for (std::size_t item = first_item; item < last_item; ++item) {
        squares += std::pow(allowed_l2(shape.items[item], first, block), 2.0L);
    }
    const long double allowed = std::sqrt(squares);
    Errors errors;
    for (std::size_t item = first_item; item < last_item; ++item) {
        std::string wrong = compare_part(out, item, first, last, allowed, errors);
        if (!wrong.empty()) { return wrong; }
    }
    const long double most = std::abs(problem.scale) * allowed + std::sqrt(errors.rounding_squares) + kUnderflow;
    if (std::sqrt(errors.squares) <= most) { return {}; }
    std::ostringstream text;
    text << "items from " << first_item << ", outputs " << first << " to " << last - 1 << ": L2 error " << std::sqrt(errors.squares)
         << " above " << most;
    return text.str();
}

// Integers of integers: the bits of the textbook. Through an epilogue in floating point that has its roundings.
std::string Expected::Parts::compare_exact(const void* out) const {
    const Dtype type = output_dtype(problem);
    const bool plain = problem.scale == 1 && problem.bias == 0 && !problem.clamp && is_integer(type);
    const bool wraps = is_integer(type) && problem.overflow == Overflow::wrap;
    std::size_t sum = 0;
    for (std::size_t item = 0; item < shape.items.size(); ++item) {
        for (std::int64_t index = 0; index < shape.outputs(); ++index, ++sum) {
            const std::int64_t place = shape.place(shape.items[item], index);
            if (plain) {
                std::uint64_t right = 0;
                reference::put_wrapped(&right, type, 0, exact[sum]);
                const __int128 got = reference::integer_at(out, type, place), wanted = reference::integer_at(&right, type, 0);
                if (got == wanted) { continue; }
                return difference(item, index, {static_cast<long double>(got), static_cast<long double>(wanted)});
            }
            Part part = part_of(out, shape.items[item], sum, index, true);
            give_tolerance(part, sum, true, 0);
            if (!(wraps ? wrapped_is_right(type, part) : is_right(type, part))) { return difference(item, index, part); }
        }
    }
    return {};
}

// A bool is 0 or 1, not just any byte that counts as true.
std::string Expected::Parts::wrong_bool(const void* out) const {
    if (output_dtype(problem) != Dtype::boolean) { return {}; }
    for (const reference::Item& item : shape.items) {
        for (std::int64_t index = 0; index < shape.outputs(); ++index) {
            const int byte = static_cast<const std::uint8_t*>(out)[shape.place(item, index)];
            if (byte > 1) { return "a bool of value " + std::to_string(byte); }
        }
    }
    return {};
}

Expected::Expected(const Problem& problem, const void* in, const void* taps) {
    Parts parts{problem, in, taps, reference::shape_of(problem), {}, {}};
    if (is_exact(problem)) {
        parts.exact = reference::integer_sums(problem, in, taps);
        parts.sums.real.assign(parts.exact.begin(), parts.exact.end());
    } else {
        parts.sums = reference::sums(problem, in, taps);
    }
    parts_ = std::make_unique<const Parts>(std::move(parts));
}

Expected::~Expected() = default;

std::string Expected::compare(const void* out, bool elementwise, const Block& block) const {
    if (std::string wrong = parts_->wrong_bool(out); !wrong.empty()) { return wrong; }
    if (is_exact(parts_->problem)) { return parts_->compare_exact(out); }
    const std::int64_t outputs = parts_->shape.outermost().outputs;
    const std::size_t items = parts_->shape.items.size();
    std::string wrong;
    // Of known blocks each is looked at instead, all rows of it together: two rows may share a transform, and the louder one's
    // error.
    const bool by_blocks = !elementwise && block.outputs > 0;
    for (std::size_t item = 0; item < items && wrong.empty() && !by_blocks; ++item) {
        Errors errors;
        wrong = elementwise ? parts_->compare_part(out, item, 0, outputs, std::nullopt, errors)
                            : parts_->compare_norm(out, item, item + 1, 0, {});
    }
    for (std::int64_t first = 0; first < outputs && wrong.empty() && by_blocks; first += block.outputs) {
        wrong = parts_->compare_norm(out, 0, items, first, block);
    }
    return wrong;
}

std::string compare(const Problem& problem, const void* out, const void* in, const void* taps, bool elementwise,
                    const Block& block) {
    return Expected(problem, in, taps).compare(out, elementwise, block);
}

}  // namespace tapline::test
