// The measured search behind `tapline tune`: every policy of every rung that has a choice, on one problem.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/shared/cuda_device.hpp"
#include "gpu_host/wisdom.hpp"

namespace tapline::cli {

/// One policy of one rung.
struct TuneCandidate {
    cuda_abi::Policy policy;
    std::string failure;  ///< why it was not measured: refused or wrong; empty if it was
    bool wrong = false;   ///< the output differs from the reference
    double error = 0;
    Timing cold;
    Timing warm;
};

/// One rung's candidates, the default policy first.
struct TuneRung {
    std::string name;
    std::vector<TuneCandidate> candidates;
    int best = -1;  ///< the candidate to remember; -1 if none is right
    [[nodiscard]] const TuneCandidate& kept() const { return candidates[static_cast<std::size_t>(best)]; }
    /// The default policy's time, or the best one's if the default failed.
    [[nodiscard]] double default_seconds() const;
};

struct TuneResult {
    Problem problem;
    cuda_abi::Problem plain;  ///< as the engine sees it
    Timing copy_cold;
    std::vector<TuneRung> rungs;  ///< empty: no rung that has a choice takes the problem
    int fastest = -1;             ///< of rungs; -1 if none is right
};

/// The problem to search for a shape: a correlation, mode same.
Problem tune_problem(std::int64_t length, std::int64_t taps, Dtype dtype, std::int64_t batch, bool per_row);

/// Each candidate is checked against the reference and then measured cold and warm for `seconds` together. `progress` hears of
/// every candidate before it is prepared. rounded_taps: see round_taps(). Throws Error if the device fails.
TuneResult tune_search(const CudaDevice& device, const Problem& problem, Accuracy accuracy, bool rounded_taps, double seconds,
                       const std::function<void(const std::string& rung, int candidate, int candidates)>& progress);

/// What the wisdom file shall hold of it.
std::vector<core::WisdomEntry> wisdom_entries(const TuneResult& result, const std::string& date);

/// "3 vectors, 256 threads, 4 tiles".
std::string describe_policy(const cuda_abi::Policy& policy);

}  // namespace tapline::cli
