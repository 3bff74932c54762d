// What this build and this machine offer.
#pragma once

#include <string>
#include <vector>

#include "tapline/problem.hpp"

namespace tapline {

/// "MAJOR.MINOR.PATCH" of the library that is running.
TAPLINE_EXPORT const char* version() noexcept;

struct DeviceInfo {
    std::string name = {};         ///< "cpu", "cuda:0": what PlanOptions::device takes
    std::string description = {};  ///< the processor's or GPU's own name
    std::string instruction_set = {};
    int threads = 0;                ///< CPU: threads that a plan uses by default
    std::int64_t memory_bytes = 0;  ///< GPU: its memory
};

struct EngineInfo {
    std::string name = {};  ///< "cpu", "cuda"
    bool available = false;
    std::string reason = {};  ///< why it is not available, else empty
    std::vector<DeviceInfo> devices = {};
};

/// Every engine that this build knows, usable or not.
TAPLINE_EXPORT std::vector<EngineInfo> engines();

struct AlgorithmInfo {
    std::string name = {};
    std::string summary = {};
    bool supported = false;
    std::string reason = {};       ///< why the problem cannot be solved with it, else empty
    double predicted_seconds = 0;  ///< if supported
};

/// The algorithms of a device with what each says about the problem, in the order of the engine's table. `taps` as for make_plan,
/// or null: then what depends on their values (whether the signal's type holds them) is answered with no.
TAPLINE_EXPORT std::vector<AlgorithmInfo> algorithms(const Problem& problem, const std::string& device = "cpu",
                                                     Accuracy accuracy = Accuracy::standard, int threads = 0,
                                                     const void* taps = nullptr);

/// The CPU instruction sets that this build and machine can run, best first: "avx512", "avx2", "sse4", "scalar", "neon".
/// The environment variable TAPLINE_TARGET forces one; a name that cannot run here is an Error at the first plan.
TAPLINE_EXPORT std::vector<std::string> cpu_targets();
/// The one in use. Throws Error if TAPLINE_TARGET names one that cannot run here.
TAPLINE_EXPORT std::string cpu_target();
/// Forces a target for plans made from now on in this process (tests); "" returns to the default. Throws Error if it cannot run
/// here.
TAPLINE_EXPORT void force_cpu_target(const std::string& name);

/// Where `tune` remembers what it measured ($TAPLINE_WISDOM, else $XDG_CACHE_HOME or ~/.cache, tapline/wisdom.json); may not exist.
TAPLINE_EXPORT std::string wisdom_path();

/// Threads that this process may run on (its CPU affinity), at least 1.
TAPLINE_EXPORT int available_threads() noexcept;

}  // namespace tapline
