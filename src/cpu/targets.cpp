#include "cpu/targets.hpp"

#include <hwy/targets.h>

#include <atomic>
#include <cstdlib>

#include "cpu/simd_targets.hpp"
#include "tapline/error.hpp"

namespace tapline::cpu {
namespace {

struct Known {
    Target target;
    const char* name;
    std::int64_t highway;  ///< Highway's bit, 0 where this build has no such code
};

// Best first.
constexpr Known kKnown[] = {
    {Target::avx512, "avx512", HWY_TARGETS& HWY_AVX3},
    {Target::avx2, "avx2", HWY_TARGETS& HWY_AVX2},
    {Target::sse4, "sse4", HWY_TARGETS& HWY_SSE4},
    {Target::neon, "neon", HWY_TARGETS& TAPLINE_NEON},
    {Target::scalar, "scalar", 0},
};

bool runs_here(const Known& known) {
    // Beside what the processor says it has: what the compiler was told that every processor has.
    return known.target == Target::scalar || ((hwy::SupportedTargets() | HWY_STATIC_TARGET) & known.highway) != 0;
}

Target best_target() {
    static const Target kBest = runnable_targets().front();
    return kBest;
}

std::string runnable_names() {
    std::string names;
    for (const Target target : runnable_targets()) {
        names += names.empty() ? "" : ", ";
        names += to_string(target);
    }
    return names;
}

Target target_of(const std::string& name, const char* argument) {
    for (const Known& known : kKnown) {
        if (name != known.name) { continue; }
        if (runs_here(known)) { return known.target; }
        throw Error(ErrorCode::argument, std::string(argument) + ": '" + name + "' cannot run " +
                                             (known.highway == 0 ? "in this build" : "on this processor") + "; give one of " +
                                             runnable_names());
    }
    throw Error(ErrorCode::argument,
                std::string(argument) + ": '" + name + "' is not an instruction set; give one of " + runnable_names());
}

constexpr int kNotForced = -1;
std::atomic<int> forced_target{kNotForced};

}  // namespace

const char* to_string(Target target) {
    for (const Known& known : kKnown) {
        if (known.target == target) { return known.name; }
    }
    return "unknown";
}

std::vector<Target> runnable_targets() {
    std::vector<Target> targets;
    for (const Known& known : kKnown) {
        if (runs_here(known)) { targets.push_back(known.target); }
    }
    return targets;
}

Target current_target() {
    const int forced = forced_target.load(std::memory_order_relaxed);
    if (forced != kNotForced) { return static_cast<Target>(forced); }
    const char* name = std::getenv("TAPLINE_TARGET");
    return name != nullptr && *name != '\0' ? target_of(name, "TAPLINE_TARGET") : best_target();
}

void force_target(const std::string& name) {
    forced_target.store(name.empty() ? kNotForced : static_cast<int>(target_of(name, "target")), std::memory_order_relaxed);
}

}  // namespace tapline::cpu
