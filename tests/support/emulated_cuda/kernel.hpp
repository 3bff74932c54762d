// The emulated device's only kernel: a cuda_abi::Job computed output by output.
#pragma once

#include <string>

#include "cuda/abi.hpp"

namespace tapline::emulated {

std::int64_t element_bytes(std::int32_t dtype);

/// taps: problem.filters rows of problem.k. Returns what is wrong with the job (a sample was needed that is not there), or nothing.
std::string run_job(const cuda_abi::Problem& problem, const void* taps, const cuda_abi::Job& job);

/// cuda_abi::Api::depthwise_forward and depthwise_backward, sums in f64.
void run_depthwise(const cuda_abi::Depthwise& problem, void* y, const void* x, const void* taps);
void run_depthwise_gradients(const cuda_abi::Depthwise& problem, void* grad_x, void* grad_taps, const void* grad_y, const void* x,
                             const void* taps);

}  // namespace tapline::emulated
