#include "cli/measure/copy_speed.hpp"

#include <algorithm>
#include <cstring>

#include "cli/shared/elements.hpp"
#include "cli/shared/timing.hpp"
#include "core/plan/parallel.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tapline::cli {
namespace {

constexpr std::size_t kLine = 64;

void stream_part(std::byte* out, const std::byte* in, std::size_t bytes) {
#if defined(__SSE2__)
    std::size_t i = 0;
    for (; i + kLine <= bytes; i += kLine) {
        __m128i parts[4];
        for (std::size_t p = 0; p < 4; ++p) parts[p] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i) + p);
        for (std::size_t p = 0; p < 4; ++p) _mm_stream_si128(reinterpret_cast<__m128i*>(out + i) + p, parts[p]);
    }
    std::memcpy(out + i, in + i, bytes - i);
    _mm_sfence();
#else
    std::memcpy(out, in, bytes);  // other processors recognise a long run of stores by themselves
#endif
}

// Waking a thread takes as long as copying some tens of KiB: smaller parts would make the yardstick slower, not the machine.
constexpr std::size_t kLeastPart = std::size_t{32} << 10;

template <class Part>
void in_parts(std::size_t bytes, int threads, Part part) {
    const std::size_t lines = (bytes + kLine - 1) / kLine;
    const std::size_t parts = std::clamp<std::size_t>(bytes / kLeastPart, 1, static_cast<std::size_t>(threads));
    if (parts == 1) {
        part(0, bytes);
        return;
    }
    core::parallel_for(static_cast<std::int64_t>(parts), threads, [&](std::int64_t task, int) {
        const std::size_t first = std::min(bytes, lines * static_cast<std::size_t>(task) / parts * kLine);
        const std::size_t last = std::min(bytes, lines * static_cast<std::size_t>(task + 1) / parts * kLine);
        part(first, last - first);
    });
}

}  // namespace

void copy(void* out, const void* in, std::size_t bytes, int threads) {
    auto* to = static_cast<std::byte*>(out);
    const auto* from = static_cast<const std::byte*>(in);
    in_parts(bytes, threads, [&](std::size_t first, std::size_t size) { std::memcpy(to + first, from + first, size); });
}

void streaming_copy(void* out, const void* in, std::size_t bytes, int threads) {
    auto* to = static_cast<std::byte*>(out);
    const auto* from = static_cast<const std::byte*>(in);
    in_parts(bytes, threads, [&](std::size_t first, std::size_t size) { stream_part(to + first, from + first, size); });
}

CopySpeed measure_copy_speed(std::size_t bytes, int threads) {
    const Bytes from(bytes);
    const Bytes to(bytes);
    std::memset(from.data(), 1, bytes);
    std::memset(to.data(), 2, bytes);
    constexpr int kRuns = 11;
    const auto times = time_in_turns({{[&] { copy(to.data(), from.data(), bytes, threads); }},
                                      {[&] { streaming_copy(to.data(), from.data(), bytes, threads); }}},
                                     {.least_turns = kRuns, .most_turns = kRuns, .warm_up = false});
    const auto moved = 2 * static_cast<double>(bytes);
    return {moved / times[0].median, moved / times[1].median};
}

}  // namespace tapline::cli
