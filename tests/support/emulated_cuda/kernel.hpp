// The emulated device's only kernel: a cuda_abi::Job computed output by output.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cuda/abi.hpp"

namespace tapline::emulated {

/// Positions outside [0, n), one step of the boundary's picture at a time; -1: the constant (or nothing).
std::int64_t extended(Boundary boundary, std::int64_t p, std::int64_t n);

/// Elements of a strided array: where the lowest and the highest lie as seen from the first. Empty: low > high.
struct Reach {
    std::int64_t low = 0, high = 0;
};
Reach reach_of_input(const cuda_abi::Problem& problem, const cuda_abi::Job& job);
Reach reach_of_output(const cuda_abi::Problem& problem, const cuda_abi::Job& job);

/// Signals and images. taps: problem.filters rows of problem.taps(). Returns what is wrong with the job (a sample was needed that
/// is not there), or nothing.
std::string run_job(const cuda_abi::Problem& problem, const void* taps, const cuda_abi::Job& job);

/// cuda_abi::Api::depthwise_forward and depthwise_backward, sums in f64.
void run_depthwise(const cuda_abi::Depthwise& problem, void* y, const void* x, const void* taps);
void run_depthwise_gradients(const cuda_abi::Depthwise& problem, void* grad_x, void* grad_taps, const void* grad_y, const void* x,
                             const void* taps);

/// cuda_abi::Api::sum_rows, sums in f64.
void run_row_sum(const cuda_abi::RowSum& sum);

/// Element `from` of an array, converted.
void copy_element(void* to, Dtype to_dtype, const void* array, Dtype dtype, std::int64_t from);

/// A problem's taps as run_job() takes them, from memory of the device.
std::vector<std::byte> ordered(const cuda_abi::DeviceTaps& given, const cuda_abi::Problem& p);

}  // namespace tapline::emulated
