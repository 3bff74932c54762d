// Runs one rung of the ladder on one problem, as the command's ladder does: through the engine's table, without a plan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/choice/engine.hpp"
#include "gpu/gpu.hpp"

namespace tapline::test {

/// The problem as the ladder asks for it.
cuda_abi::Problem ladder_problem(const Problem& problem);

/// Empty if the rung solves the problem, else its reason.
std::string refusal(const Rung& rung, const Problem& problem);

/// A problem as rungs see it: a correlation of f32, zero boundary.
Problem correlation_of(std::int64_t n, std::int64_t k, Mode mode = Mode::same);

/// What the rung may be run with: first what it chooses itself, then every choice.
std::vector<cuda_abi::Policy> policies_of(const Rung& rung, const Problem& problem);

/// Taps as rungs take them: reversed for a convolution (real taps, one filter).
std::vector<float> correlation_order(const Problem& problem, std::vector<float> taps);

struct ReleasePrepared {
    const cuda_abi::Api* library;
    void operator()(cuda_abi::Prepared* prepared) const { library->release(prepared); }
};
using PreparedRung = std::unique_ptr<cuda_abi::Prepared, ReleasePrepared>;

/// `taps` in the user's order. Null with the status filled if the rung refuses.
PreparedRung prepare_rung(const Rung& rung, const Problem& problem, const std::vector<float>& taps, const cuda_abi::Policy& policy,
                          cuda_abi::Status& status);

/// The whole problem on buffers that hold it.
cuda_abi::Job whole_job(const Problem& problem, void* out, const void* in);

struct RungRun {
    std::vector<float> out;
    std::string failure;  ///< of the execution or of a guard zone; empty: none
};

/// An f32 problem on one rung with guard zones and a poisoned output.
RungRun run_rung(const Rung& rung, const Problem& problem, const std::vector<float>& in, const std::vector<float>& taps,
                 const cuda_abi::Policy& policy = {});

}  // namespace tapline::test
