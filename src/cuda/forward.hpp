// What the host side of a rung is made of, by name: headers that kernels are compiled with need no more, and the standard library's
// take a compiler of kernels longer to read than all else.
#pragma once

#include <cuda_runtime.h>

namespace tapline::cuda_abi {
struct Device;
struct Job;
struct Problem;
}  // namespace tapline::cuda_abi

namespace tapline::cuda {

using cuda_abi::Job;
using cuda_abi::Problem;
class Rung;
struct OnDevice;
struct Prepared;

}  // namespace tapline::cuda
