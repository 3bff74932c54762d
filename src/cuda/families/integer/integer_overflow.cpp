#include "cuda/families/integer/integer_overflow.hpp"

#include "core/problem/overflow.hpp"
#include "cuda/check.hpp"

namespace tapline::cuda::integer {

std::string overflow_text(const Problem& p, const Found& found) {
    return core::overflow_text(p, found.row, found.place, core::overflow_value(p, value_of(found.sum)));
}

void report(const Problem& p, const void* found, cudaStream_t stream) {
    Found on_host{};
    check(cudaMemcpyAsync(&on_host, found, sizeof on_host, cudaMemcpyDeviceToHost, stream), "asking for overflows");
    check(cudaStreamSynchronize(stream), "waiting for overflows");
    if (on_host.output != kNone) { throw CudaError(cuda_abi::Code::argument, overflow_text(p, on_host)); }
}

}  // namespace tapline::cuda::integer
