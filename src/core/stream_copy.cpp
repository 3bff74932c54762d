#include "core/stream_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tapline::core {

void stream_copy(void* to, const void* from, std::size_t bytes) {
#if defined(__SSE2__)
    constexpr std::size_t kVector = sizeof(__m128i);
    constexpr std::size_t kLine = 64;
    auto* out = static_cast<std::byte*>(to);
    const auto* in = static_cast<const std::byte*>(from);
    std::size_t i = std::min(bytes, (kVector - reinterpret_cast<std::uintptr_t>(to) % kVector) % kVector);
    std::memcpy(out, in, i);
    for (; i + kLine <= bytes; i += kLine) {
        __m128i parts[kLine / kVector];
        for (std::size_t p = 0; p < kLine / kVector; ++p) parts[p] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i) + p);
        for (std::size_t p = 0; p < kLine / kVector; ++p) _mm_stream_si128(reinterpret_cast<__m128i*>(out + i) + p, parts[p]);
    }
    std::memcpy(out + i, in + i, bytes - i);
    _mm_sfence();
#else
    std::memcpy(to, from, bytes);  // other processors recognise a long run of stores by themselves
#endif
}

}  // namespace tapline::core
