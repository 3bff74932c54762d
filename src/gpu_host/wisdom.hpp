// What `tapline tune` measured, remembered in one JSON file (wisdom_path()) for the device, driver and version it was measured on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "cuda/abi.hpp"

namespace tapline::gpu_host {

/// Problems that are taken to behave alike: what is tuned for one is used for all of its class.
struct ProblemClass {
    std::int32_t rank = 1;  ///< filtered axes
    Dtype dtype = Dtype::f32, taps_dtype = Dtype::f32, output_dtype = Dtype::f32;
    std::int64_t taps = 1;          ///< along x; exact up to 64, above that the next of 96, 128, 192, 256, ...
    std::int64_t taps_y = 1;        ///< of an image, likewise
    std::int32_t outputs_log2 = 0;  ///< of one item's and channel's outputs, rounded
    std::int32_t batch_log2 = 0;    ///< of the rows or images, rounded; 0 is one
    std::int64_t channels = 1;      ///< exact up to 4, above that the next power of two
    std::int32_t separable = 0;     ///< as in cuda_abi::Problem
    bool per_row = false;           ///< a filter for every row or channel
    bool strided = false;           ///< samples that are not neighbours in memory
    bool narrow_taps = false;       ///< tuned on such taps; policies serve others too
    bool equal_taps = false;        ///< likewise
    friend bool operator==(const ProblemClass&, const ProblemClass&) = default;
};

/// Nothing for a problem whose length is not known (a stream's).
std::optional<ProblemClass> class_of(const cuda_abi::Problem& problem);

/// The policy that was fastest for the rung and the problem's class; without an entry of that class the nearest one whose outputs
/// are up to four times as many or few and whose taps differ by at most a quarter; entries of another accuracy serve where there
/// are none of the problem's, those of taps of the signal's 16-bit type for other taps and the other way round. Nothing: use the
/// rung's default. Never throws; thread-safe.
std::optional<cuda_abi::Policy> tuned_policy(const cuda_abi::Device& device, const std::string& rung,
                                             const cuda_abi::Problem& problem);

/// What became of the file, for `tapline info` and `tapline tune`.
struct WisdomState {
    std::string path;
    std::string reason;  ///< why the file is ignored; empty if it is used or does not exist
    int entries = 0;     ///< of all devices
};

/// Loads at the first call of this or of tuned_*. Never throws but for want of memory.
WisdomState wisdom_state();

/// Forgets what was loaded: the next question reads the file again.
void forget_wisdom() noexcept;

/// One measured fact: a rung's fastest policy for a class.
struct WisdomEntry {
    std::string rung;
    ProblemClass problem;
    Accuracy accuracy = Accuracy::standard;
    cuda_abi::Policy policy;
    double seconds = 0;          ///< with this policy, cold L2
    double default_seconds = 0;  ///< with the rung's default policy
    std::string date;            ///< "2026-11-21T10:00:00Z"
};

/// The entry of the rung that was fastest, of those that `accept` takes by name, for the problem's accuracy, its kind of taps and
/// its class or the nearest, as above; its policy is the one that tuned_policy() gives for the rung. Throws only what `accept`
/// throws.
std::optional<WisdomEntry> tuned_rung(const cuda_abi::Device& device, const cuda_abi::Problem& problem,
                                      const std::function<bool(const std::string& rung)>& accept);

/// Adds the entries to the file: entries of the same device, driver, version, class, accuracy and rung are replaced, all others
/// stay. The file is read again under a lock and replaced by renaming, so that several tuners keep each other's entries and a
/// reader sees the old or the new one. A damaged file is kept beside it as FILE.damaged. Throws Error (io).
void remember(const cuda_abi::Device& device, std::span<const WisdomEntry> entries);

}  // namespace tapline::gpu_host
