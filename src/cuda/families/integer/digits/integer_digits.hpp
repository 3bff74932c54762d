// Integers as bytes: which of them sums need, the taps' ones, and what rungs have in common that add up products of bytes. Host
// code reads it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/families/integer/integer_signal.hpp"

namespace tapline::cuda::integer {

/// Bytes of a sample and of a tap, and powers of 256 that sums are kept of.
struct Digits {
    int samples, taps, sums;
};

/// body.operator()<samples, taps, sums>() with those of `d`, if they are among kAll, each a number of three digits.
template <int... kAll, class Body>
auto with_digits(const Digits& d, const Body& body) {
    decltype(body.template operator()<1, 1, 1>()) made{};
    const int wanted = 100 * d.samples + 10 * d.taps + d.sums;
    (static_cast<void>(wanted == kAll && ((made = body.template operator()<kAll / 100, kAll / 10 % 10, kAll % 10>()), true)), ...);
    return made;
}

/// Products of bytes for each tap.
int products_of(const Digits& d);

/// The taps of all filters: of each for each of its bytes `tap_words` words, then 64 bits that are added to each sum.
struct TapDigits {
    const unsigned* words;
    std::int64_t filter_words;
    int tap_words;
};
TapDigits tap_digits_of(const Problem& p, const Digits& d, const void* tables);

/// What turns the signs of four bytes of samples, so that none is negative; of samples of 64 bits, of every other four.
unsigned turned_signs(const Problem& p);

struct ChosenDigits : ChosenInteger {
    using ChosenInteger::ChosenInteger;
    Digits digits{};
};

/// Signals of integers as bytes, whose products are added up in 32 bits: a sum for each power of 256 that matters.
class DigitsRung : public IntegerRung {
public:
    using IntegerRung::IntegerRung;

    [[nodiscard]] Refusal refuse_sums(const Problem& p, const cuda_abi::Device& device) const final;
    [[nodiscard]] std::string describe(const Prepared& prepared) const final;
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const final;

protected:
    /// That all sums need, as there are kernels; samples 0: none.
    [[nodiscard]] Digits digits_of(const Problem& p) const;

    [[nodiscard]] virtual Refusal refuse_device(const cuda_abi::Device& device) const = 0;
    [[nodiscard]] virtual bool has_kernel(const Digits& digits) const = 0;
    /// Of a block.
    [[nodiscard]] virtual std::int64_t shared_bytes(const Problem& p, const Digits& digits) const = 0;
};

/// What moves, of a tile's samples those that others read too mostly from the L2 cache.
double digits_bytes(const Problem& p, int tile_outputs);

}  // namespace tapline::cuda::integer
