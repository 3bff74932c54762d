#include "io/shape.hpp"

#include <limits>

#include "files.hpp"

namespace tapline::io::test {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kHalfBits = std::int64_t{1} << 32;

TEST(IoShape, ProductsUpToTheLastThatFits) {
    EXPECT_EQ(product_of({}), 1);
    EXPECT_EQ(product_of({7}), 7);
    EXPECT_EQ(product_of({2, 3, 5}), 30);
    EXPECT_EQ(product_of({kMost}), kMost);
    EXPECT_EQ(product_of({kMost, 1}), kMost);
    EXPECT_EQ(product_of({7, 7, 73, 127, 337, 92737, 649657}), kMost);
    EXPECT_EQ(product_of({kHalfBits, kHalfBits / 4}), std::int64_t{1} << 62);
}

TEST(IoShape, ProductsJustPastAreNoNumbers) {
    EXPECT_EQ(product_of({kHalfBits, kHalfBits / 2}), std::nullopt);  // 2^63
    EXPECT_EQ(product_of({kMost, 2}), std::nullopt);
    EXPECT_EQ(product_of({2, kMost}), std::nullopt);
    EXPECT_EQ(product_of({kHalfBits, kHalfBits}), std::nullopt);  // 2^64: 0 in 64 bits
    EXPECT_EQ(product_of({3037000500, 3037000500}), std::nullopt);
    EXPECT_EQ(product_of({3037000499, 3037000499}), std::int64_t{3037000499} * 3037000499);
}

TEST(IoShape, ZeroDoesNotExcuseTheOthers) {
    EXPECT_EQ(product_of({0}), 0);
    EXPECT_EQ(product_of({0, kMost}), 0);
    EXPECT_EQ(product_of({kMost, 0}), 0);
    EXPECT_EQ(product_of({0, kMost, 2}), std::nullopt);
    EXPECT_EQ(product_of({kMost, 0, 2}), std::nullopt);
    EXPECT_EQ(product_of({kMost, 2, 0}), std::nullopt);
}

TEST(IoShape, NegativeLengthsAreNoNumbers) {
    EXPECT_EQ(product_of({-1}), std::nullopt);
    EXPECT_EQ(product_of({-2, -3}), std::nullopt);
    EXPECT_EQ(product_of({0, -1}), std::nullopt);
    EXPECT_EQ(product_of({std::numeric_limits<std::int64_t>::min(), 1}), std::nullopt);
}

TEST(IoShape, ErrorsNameWhatTheLengthsAndARemedy) {
    EXPECT_EQ(checked_product({4, 5}, ErrorCode::argument, "shape", "cut it"), 20);
    expect_error(ErrorCode::argument, "shape: the product of (4, 9223372036854775807) is above 2^63 - 1; cut it", [] {
        checked_product({4, kMost}, ErrorCode::argument, "shape", "cut it");
    });
    expect_error(ErrorCode::io, "shape: a length of (4, -5) is negative; cut it", [] {
        checked_product({4, -5}, ErrorCode::io, "shape", "cut it");
    });
}

}  // namespace
}  // namespace tapline::io::test
