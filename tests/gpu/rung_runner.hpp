// Runs one rung of the ladder on one problem, as the command's ladder does: through the engine's table, without a plan.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gpu/gpu.hpp"
#include "gpu_host/executable.hpp"

namespace tapline::test {

/// The problem as the ladder asks for it.
cuda_abi::Problem ladder_problem(const Problem& problem);

/// Empty if the rung solves the problem, else its reason.
std::string refusal(const Rung& rung, const Problem& problem);

/// A problem as rungs see it: a correlation of f32, zero boundary.
Problem correlation_of(std::int64_t n, std::int64_t k, Mode mode = Mode::same);

/// What the rung may be run with: first what it chooses itself, then every choice.
std::vector<cuda_abi::Policy> policies_of(const Rung& rung, const Problem& problem);

/// The whole problem on buffers that hold it.
cuda_abi::Job whole_job(const Problem& problem, void* out, const void* in);

template <class T>
struct RungRunOf {
    std::vector<T> out;
    std::string failure;  ///< of the execution or of a guard zone; empty: none
};
using RungRun = RungRunOf<float>;

/// A problem of any type on one rung with guard zones and a poisoned output; `taps` in the user's order, one filter.
RungRunOf<std::byte> run_rung_bytes(const Rung& rung, const Problem& problem, std::span<const std::byte> in, const void* taps,
                                    const cuda_abi::Policy& policy = {});

/// One of f32.
RungRun run_rung(const Rung& rung, const Problem& problem, const std::vector<float>& in, const std::vector<float>& taps,
                 const cuda_abi::Policy& policy = {});

}  // namespace tapline::test
