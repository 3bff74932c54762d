#include "cpu/caches.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <utility>

namespace tapline::cpu {
namespace {

// The last level of cache in the system's words: "32768K", and the processors behind it, "0-7,64-71". sysconf() tells a whole
// socket's, of which a core reaches an eighth on some.
struct Cache {
    double bytes = 0;
    int processors = 1;
};

double size_in(const std::string& text) {
    double size = 0;
    std::size_t at = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) { size = 10 * size + (text[at] - '0'); }
    const char unit = at < text.size() ? text[at] : ' ';
    return size * (unit == 'K' ? 1 << 10 : unit == 'M' ? 1 << 20 : unit == 'G' ? 1 << 30 : 1);
}

// Of a list such as "0-7,64-71".
int processors_in(const std::string& text) {
    int count = 0;
    int first = -1;
    int number = 0;
    for (const char c : text + ",") {
        if (c >= '0' && c <= '9') {
            number = 10 * number + (c - '0');
        } else if (c == '-') {
            first = std::exchange(number, 0);
        } else if (c == ',') {
            count += first < 0 ? 1 : std::max(number - first + 1, 1);
            first = -1;
            number = 0;
        }
    }
    return std::max(count, 1);
}

std::string first_word(const std::string& path) {
    std::string word;
    std::ifstream(path) >> word;
    return word;
}

Cache last_level() {
    Cache last;
    int level = 0;
    for (int index = 0; index < 10; ++index) {
        const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
        const std::string at = first_word(folder + "level");
        if (at.empty()) { break; }
        const double bytes = size_in(first_word(folder + "size"));
        if (size_in(at) <= level || bytes == 0) { continue; }
        level = static_cast<int>(size_in(at));
        last = {bytes, processors_in(first_word(folder + "shared_cpu_list"))};
    }
    return last;
}

// Where the system does not tell.
constexpr double kUsualBytes = 16 << 20;

// Of a cache that others share: a repeated call finds its data there, and what it reads is not all there is. f32 with 3 taps, 32
// MiB of cache: 8 MiB read and written take 144 us by plain stores and 336 past the caches, 16 MiB 190 to 750 and 450 to 700, 24
// MiB 540 to 1,200 and 660 to 1,200, 32 MiB 1,090 to 2,340 and 910 to 1,680 (one and two threads, AVX2).
constexpr double kShare = 0.5;

}  // namespace

double cache_bytes(int threads) {
    static const Cache kCache = last_level();
    if (kCache.bytes == 0) { return kUsualBytes; }
    return kCache.bytes * std::ceil(static_cast<double>(std::max(threads, 1)) / kCache.processors);
}

bool stores_past_caches(double bytes_read, double bytes_written, int threads) {
    return bytes_read + bytes_written > kShare * cache_bytes(threads);
}

std::int64_t elements_to_line(const void* address, std::int64_t element_bytes) {
    constexpr std::int64_t kLine = 64;
    const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) % kLine);
    return past == 0 || past % element_bytes != 0 ? 0 : (kLine - past) / element_bytes;
}

}  // namespace tapline::cpu
