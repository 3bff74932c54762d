// Random numbers and large arrays, by all threads: drawing or looking through a GiB takes one longer than measuring what it is for.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/plan/parallel.hpp"
#include "tapline/info.hpp"

namespace tapline::cli {

/// xorshift64* (Vigna, 2016): 2^28 numbers in a fraction of a second.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t bits() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545F4914F6CDD1DU;
    }
    /// In [-1, 1).
    double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-52 - 1; }
    /// In [0, most].
    std::int64_t up_to(std::int64_t most) { return static_cast<std::int64_t>((uniform() + 1) / 2 * static_cast<double>(most)); }

private:
    std::uint64_t state_;
};

/// body(first, last) for pieces of [0, count), of 2^20 each.
template <class Body>
void in_pieces(std::int64_t count, const Body& body) {
    constexpr std::int64_t kPiece = std::int64_t{1} << 20;
    core::parallel_for((count + kPiece - 1) / kPiece, available_threads(),
                       [&](std::int64_t piece, int /*slot*/) { body(piece * kPiece, std::min((piece + 1) * kPiece, count)); });
}

}  // namespace tapline::cli
