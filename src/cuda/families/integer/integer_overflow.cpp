#include "cuda/families/integer/integer_overflow.hpp"

#include "core/problem/overflow.hpp"
#include "cuda/check.hpp"

namespace tapline::cuda::integer {

std::string overflow_text(const Problem& p, const Found& found) {
    const auto of_row = static_cast<std::uint64_t>(p.z.outputs * p.y.outputs * p.x.outputs);
    const auto rows = static_cast<std::uint64_t>(p.batch.length * p.channels.length);
    const auto row = static_cast<std::int64_t>(found.output / of_row % rows);
    const auto output = static_cast<std::int64_t>(found.output % of_row);
    return core::overflow_text(p, row, output, core::overflow_value(p, value_of(found.sum)));
}

void report(const Problem& p, const void* found, cudaStream_t stream) {
    Found on_host{};
    check(cudaMemcpyAsync(&on_host, found, sizeof on_host, cudaMemcpyDeviceToHost, stream), "asking for overflows");
    check(cudaStreamSynchronize(stream), "waiting for overflows");
    if (on_host.output != kNone) { throw CudaError(cuda_abi::Code::argument, overflow_text(p, on_host)); }
}

}  // namespace tapline::cuda::integer
