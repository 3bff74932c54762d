// The kernel of rounded passes as C++.
#include "gpu/on_host/bytes_on_host.hpp"

namespace tapline::cuda::rounded_passes {
alignas(128) char shared[test::on_host::kSharedBytes];
}
#include "cuda/families/rounded_passes/rounded_passes.cpp"
#include "cuda/families/rounded_passes/rounded_passes.cu"

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    for (const int bytes : {1, 2}) {
        add_kernel(cuda::rounded_passes::doubles_kernel_of(bytes), cuda::rounded_passes::shared);
        for (const bool whole : {false, true}) {
            add_kernel(cuda::rounded_passes::kernel_of(bytes, whole), cuda::rounded_passes::shared);
        }
    }
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
