#include "cuda/check.hpp"

namespace tapline::cuda {
namespace {

// Errors after which every further call of the process fails with the same one.
bool is_sticky(cudaError_t error) {
    switch (error) {
        case cudaErrorIllegalAddress:
        case cudaErrorLaunchTimeout:
        case cudaErrorAssert:
        case cudaErrorHardwareStackError:
        case cudaErrorIllegalInstruction:
        case cudaErrorMisalignedAddress:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorLaunchFailure:
        case cudaErrorECCUncorrectable:
        case cudaErrorUnknown:
            return true;
        default:
            return false;
    }
}

cuda_abi::Code code_of(cudaError_t error) {
    return error == cudaErrorMemoryAllocation ? cuda_abi::Code::memory : cuda_abi::Code::device;
}

}  // namespace

void check(cudaError_t result, const char* what) {
    if (result == cudaSuccess) { return; }
    cudaGetLastError();  // what is not sticky is forgotten
    std::string message = std::string(what) + ": " + cudaGetErrorString(result) + " (" + cudaGetErrorName(result) + ")";
    if (is_sticky(result)) { message += "; this process cannot use the GPU any more: the CPU engine goes on"; }
    throw CudaError(code_of(result), message, is_sticky(result));
}

void check_launch(const char* kernel) { check(cudaPeekAtLastError(), kernel); }

DeviceScope::DeviceScope(int device) {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    if (previous_ != device) {
        check(cudaSetDevice(device), "cudaSetDevice");
    } else {
        previous_ = -1;
    }
}

DeviceScope::~DeviceScope() {
    if (previous_ >= 0) { cudaSetDevice(previous_); }
}

}  // namespace tapline::cuda
