#include "tapline/info.hpp"

#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/choice/engine.hpp"
#include "cpu/targets.hpp"

#ifndef TAPLINE_VERSION
#error "the build defines TAPLINE_VERSION"
#endif

namespace tapline {

const char* version() noexcept { return TAPLINE_VERSION; }

int available_threads() noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        const int count = CPU_COUNT(&set);
        if (count > 0) { return count; }
    }
    const unsigned count = std::thread::hardware_concurrency();  // more than 1024 processors: the set above is too small
    return count == 0 ? 1 : static_cast<int>(count);
}

std::vector<std::string> cpu_targets() {
    std::vector<std::string> names;
    for (const cpu::Target target : cpu::runnable_targets()) { names.emplace_back(cpu::to_string(target)); }
    return names;
}

std::string cpu_target() { return cpu::to_string(cpu::current_target()); }

void force_cpu_target(const std::string& name) { cpu::force_target(name); }

std::string wisdom_path() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value == nullptr ? "" : value);
    };
    if (std::string path = variable("TAPLINE_WISDOM"); !path.empty()) { return path; }
    std::string cache = variable("XDG_CACHE_HOME");
    if (cache.empty()) {
        const std::string home = variable("HOME");
        if (home.empty()) { return {}; }
        cache = home + "/.cache";
    }
    return (std::filesystem::path(cache) / "tapline" / "wisdom.json").string();
}

}  // namespace tapline
