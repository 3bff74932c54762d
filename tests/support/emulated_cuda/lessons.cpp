// The emulated lessons: a library beside the emulated engine that shares its devices, memory and streams.
#include "cuda/abi.hpp"

extern "C" const tapline::cuda_abi::Api* tapline_emulated_lessons();  // of emulated_cuda.cpp

extern "C" __attribute__((visibility("default"))) const tapline::cuda_abi::Api* tapline_cuda_entry(std::uint32_t) {
    return tapline_emulated_lessons();
}
