// Sums of products of bytes: which problems, which bytes, the taps' tables.
#include "cuda/families/integer/digits/integer_digits.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "cuda/families/common/grids.hpp"

namespace tapline::cuda::integer {
namespace {

constexpr std::int64_t kMostDigitTaps = 8192;  // whose sums of products of bytes, four a tap, 32 bits hold
constexpr std::int64_t kMostDigitFilters = 256;

// Words of a byte of all taps.
std::int64_t tap_words(const Problem& p) { return divide_up(p.x.k, 4); }

}  // namespace

int products_of(const Digits& d) {
    int products = 0;
    for (int i = 0; i < d.samples; ++i) { products += std::clamp(d.sums - i, 0, d.taps); }
    return products;
}

TapDigits tap_digits_of(const Problem& p, const Digits& d, const void* tables) {
    TapDigits t{};
    t.words = static_cast<const unsigned*>(tables);
    t.filter_words = (d.taps * tap_words(p) + 1) / 2 * 2 + 2;
    t.tap_words = static_cast<int>(tap_words(p));
    return t;
}

unsigned turned_signs(const Problem& p) {
    constexpr std::array<unsigned, 9> kSigns{0, 0x80808080, 0x80008000, 0, 0x80000000, 0, 0, 0, 0x80000000};
    return is_signed(p.dtype) ? kSigns.at(static_cast<std::size_t>(stored_bytes(p.dtype))) : 0;
}

Digits DigitsRung::digits_of(const Problem& p) const {
    const int sample = stored_bytes(p.dtype);
    const int out = stored_bytes(p.output_dtype);
    const int matter = keeps_low_bits(p) ? out : 8;
    const int needed = p.bits_of_tap <= 7 ? 1 : p.bits_of_tap <= 15 ? 2 : p.bits_of_tap <= 31 ? 4 : 8;
    const int most = std::min(matter, out < 8 ? 4 : 8);
    Digits d{sample, std::min(needed, matter), 0};
    for (d.sums = std::min(sample + d.taps - 1, most); d.sums <= 8; ++d.sums) {
        if (has_kernel(d)) { return d; }
    }
    return {};
}

Refusal DigitsRung::refuse_sums(const Problem& p, const cuda_abi::Device& device) const {
    if (Refusal refused = refuse_device(device); !refused.empty()) { return refused; }
    if (p.x.in_stride != 1 || p.x.out_stride != 1) { return "samples or outputs do not lie side by side"; }
    if (p.dtype == kBoolean || p.output_dtype == kBoolean || !is_integer(p.output_dtype)) {
        return "takes and gives integers only, no bool";
    }
    if (p.changes_sums()) { return "neither scales nor limits sums"; }
    if (!knows_taps(p)) { return "the taps' magnitudes are not known"; }
    if (may_overflow(p, likely_bound(p)) || sum_bits(p, likely_bound(p)) != 64) { return "an output might not fit its type"; }
    if (p.x.k > kMostDigitTaps) { return "more than " + std::to_string(kMostDigitTaps) + " taps"; }
    if (p.filters > kMostDigitFilters) { return "more than " + std::to_string(kMostDigitFilters) + " filters"; }
    const Digits d = digits_of(p);
    if (d.samples == 0) { return "it has no kernel for so many bytes of samples and taps"; }
    if (shared_bytes(p, d) > device.shared_bytes_per_block) { return "a tile is more than shared memory holds"; }
    return {};
}

std::string DigitsRung::describe(const Prepared& prepared) const {
    const Digits& d = prepared.chosen_as<ChosenDigits>().digits;
    return std::to_string(products_of(d)) + (products_of(d) == 1 ? " product" : " products") + " of bytes, " +
           std::to_string(d.sums) + (d.sums == 1 ? " sum" : " sums") + " of 32 bits";
}

std::vector<std::byte> DigitsRung::tables(Prepared& prepared) const {
    const Problem& p = prepared.problem;
    const Digits& d = prepared.chosen_as<ChosenDigits>().digits;
    const TapDigits shape = tap_digits_of(p, d, nullptr);
    const auto pitch = static_cast<std::size_t>(shape.filter_words) * 4;
    const auto plane = static_cast<std::size_t>(shape.tap_words) * 4;
    std::vector<std::byte> bytes(pitch * static_cast<std::size_t>(p.filters));
    const auto* const taps = static_cast<const std::int64_t*>(prepared.given.taps);
    for (std::int64_t f = 0; f < p.filters; ++f) {
        std::byte* const to = bytes.data() + static_cast<std::size_t>(f) * pitch;
        std::uint64_t sum = 0;
        for (std::int64_t t = 0; t < p.x.k; ++t) {
            const auto tap = static_cast<std::uint64_t>(taps[f * p.x.k + t]);
            sum += tap;
            for (int j = 0; j < d.taps; ++j) {
                to[static_cast<std::size_t>(j) * plane + static_cast<std::size_t>(t)] = static_cast<std::byte>(tap >> (8 * j));
            }
        }
        // What turned signs have added to every sample.
        const std::uint64_t added = is_signed(p.dtype) ? ~(sum << (bits_of(p.dtype) - 1)) + 1 : 0;
        std::memcpy(to + pitch - sizeof added, &added, sizeof added);
    }
    return bytes;
}

double digits_bytes(const Problem& p, int tile_outputs) {
    const double again = 1 + static_cast<double>(p.x.k) / tile_outputs / 4;  // mostly from the L2 cache
    return static_cast<double>(p.outer_length()) * (static_cast<double>(p.samples()) * stored_bytes(p.dtype) * again +
                                                    static_cast<double>(p.outputs()) * stored_bytes(p.output_dtype));
}

}  // namespace tapline::cuda::integer
