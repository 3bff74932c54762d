// The rung for integers on tensor cores as C++; what it shares with others is in integer_on_host.cpp.
#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::cuda::integer {
alignas(128) uint4 digits_memory[test::on_host::kSharedBytes / sizeof(uint4)];
}
#define shared_memory (reinterpret_cast<char*>(::tapline::cuda::integer::digits_memory))
#include "gpu/on_host/bytes_on_host.hpp"
#include "gpu/on_host/tensor_on_host.hpp"

#include "cuda/families/integer/digits/integer_tensor.cpp"
#include "cuda/families/integer/digits/integer_tensor.cu"

namespace tapline::test::on_host {
namespace {

const bool added = [] {
    using cuda::integer::Digits;
    for (const Digits& digits : {Digits{1, 1, 1}, Digits{1, 2, 2}, Digits{2, 1, 2}, Digits{2, 2, 2}, Digits{2, 2, 3},
                                 Digits{4, 1, 4}, Digits{4, 2, 4}, Digits{4, 2, 5}}) {
        add_kernel(cuda::integer::tensor_kernel(digits), shared_memory);
    }
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
