// A GPU's instructions that put bytes of two words together, and compare halves of words.
#pragma once

#include <cstdint>

/// prmt: byte i of the result is the one of the eight of both that digit i of `which` names.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned which) {
    const std::uint64_t both = std::uint64_t{high} << 32 | low;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; ++i) { result |= static_cast<unsigned>(both >> (8 * (which >> (4 * i) & 7)) & 255) << (8 * i); }
    return result;
}
/// shf.r.wrap: the low word of both, moved to the right.
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits) {
    return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (bits & 31));
}
/// shf.l.wrap: the high word of both, moved to the left.
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned bits) {
    return static_cast<unsigned>((std::uint64_t{high} << 32 | low) << (bits & 31) >> 32);
}
/// The smaller ones of the halves of two words.
inline unsigned __vminu2(unsigned x, unsigned y) {
    const unsigned low = (x & 0xffff) < (y & 0xffff) ? x & 0xffff : y & 0xffff;
    return ((x >> 16) < (y >> 16) ? x >> 16 : y >> 16) << 16 | low;
}
