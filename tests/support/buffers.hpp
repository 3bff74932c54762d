// Test buffers: poisoned outputs between guard zones, and random data of every element type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "core/problem/half.hpp"
#include "tapline/types.hpp"

namespace tapline::test {

using Random = std::mt19937_64;

/// `bytes` bytes at a 64-byte boundary plus `offset`, filled with 0xFF (a NaN in every floating type), between guard zones.
class GuardedBuffer {
public:
    explicit GuardedBuffer(std::size_t bytes, std::size_t offset = 0) : bytes_(bytes), storage_(bytes + 2 * kGuard + 64 + offset) {
        std::fill(storage_.begin(), storage_.end(), kPattern);
        const auto address = reinterpret_cast<std::uintptr_t>(storage_.data()) + kGuard;
        data_ = storage_.data() + kGuard + (64 - address % 64) % 64 + offset;
        std::memset(data_, 0xFF, bytes_);
    }

    [[nodiscard]] unsigned char* data() { return data_; }
    [[nodiscard]] const unsigned char* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return bytes_; }
    [[nodiscard]] bool guards_intact() const {
        const auto is_pattern = [](unsigned char byte) { return byte == kPattern; };
        const unsigned char* begin = storage_.data();
        return std::all_of(begin, static_cast<const unsigned char*>(data_), is_pattern) &&
               std::all_of(static_cast<const unsigned char*>(data_) + bytes_, begin + storage_.size(), is_pattern);
    }

private:
    static constexpr std::size_t kGuard = 256;
    static constexpr unsigned char kPattern = 0xA5;
    std::size_t bytes_;
    std::vector<unsigned char> storage_;
    unsigned char* data_ = nullptr;
};

template <class T>
void fill_integers(void* data, std::int64_t count, Random& random, std::int64_t low, std::int64_t high) {
    std::uniform_int_distribution<std::int64_t> draw(low, high);
    for (std::int64_t i = 0; i < count; ++i) { static_cast<T*>(data)[i] = static_cast<T>(draw(random)); }
}

template <class R>
void fill_reals(void* data, std::int64_t count, Random& random) {
    std::normal_distribution<double> draw;
    for (std::int64_t i = 0; i < count; ++i) { static_cast<R*>(data)[i] = static_cast<R>(draw(random)); }
}

inline void fill_halves(void* data, Dtype dtype, std::int64_t count, Random& random) {
    std::normal_distribution<double> draw;
    for (std::int64_t i = 0; i < count; ++i) {
        const double value = draw(random);
        static_cast<std::uint16_t*>(data)[i] = dtype == Dtype::f16 ? core::to_f16(value) : core::to_bf16(value);
    }
}

/// `count` elements: normal deviates for floating types, moderate integers otherwise.
inline void fill_random(void* data, Dtype dtype, std::int64_t count, Random& random) {
    switch (dtype) {
        case Dtype::f32:
            return fill_reals<float>(data, count, random);
        case Dtype::f64:
            return fill_reals<double>(data, count, random);
        case Dtype::complex64:
            return fill_reals<float>(data, 2 * count, random);
        case Dtype::complex128:
            return fill_reals<double>(data, 2 * count, random);
        case Dtype::f16:
        case Dtype::bf16:
            return fill_halves(data, dtype, count, random);
        case Dtype::boolean:
            return fill_integers<std::uint8_t>(data, count, random, 0, 1);
        case Dtype::i8:
            return fill_integers<std::int8_t>(data, count, random, -128, 127);
        case Dtype::i16:
            return fill_integers<std::int16_t>(data, count, random, -32768, 32767);
        case Dtype::i32:
            return fill_integers<std::int32_t>(data, count, random, -100000, 100000);
        case Dtype::i64:
            return fill_integers<std::int64_t>(data, count, random, -100000, 100000);
        case Dtype::u8:
            return fill_integers<std::uint8_t>(data, count, random, 0, 255);
        case Dtype::u16:
            return fill_integers<std::uint16_t>(data, count, random, 0, 65535);
        case Dtype::u32:
            return fill_integers<std::uint32_t>(data, count, random, 0, 100000);
        default:
            return fill_integers<std::uint64_t>(data, count, random, 0, 100000);
    }
}

/// `count` elements as fill_random() draws them.
inline std::vector<std::byte> random_elements(Dtype dtype, std::int64_t count, Random& random) {
    std::vector<std::byte> elements(static_cast<std::size_t>(count) * size_of(dtype));
    fill_random(elements.data(), dtype, count, random);
    return elements;
}

}  // namespace tapline::test
