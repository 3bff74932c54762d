// The rungs for exact sums of integers as C++.
#include "gpu/on_host/cuda_on_host.hpp"

#include "cuda/primitives/arguments.hpp"

#define cudaMemcpyAsync(to, from, bytes, kind, stream) (std::memcpy(to, from, bytes), static_cast<void>(stream), cudaSuccess)
#define cudaStreamSynchronize(stream) (static_cast<void>(stream), cudaSuccess)
#define __cvta_generic_to_shared(address) reinterpret_cast<std::uintptr_t>(address)

namespace tapline::cuda::integer {
alignas(128) uint4 direct_memory[test::on_host::kSharedBytes / sizeof(uint4)];
alignas(128) double2 places[test::on_host::kSharedBytes / sizeof(double2)];
}  // namespace tapline::cuda::integer
#include "cuda/families/integer/digits/integer_digits.cpp"
#include "cuda/families/integer/integer_any.cpp"
#include "cuda/families/integer/integer_any.cu"
#include "cuda/families/integer/integer_direct.cpp"
#include "cuda/families/integer/integer_direct.cu"
#include "cuda/families/integer/integer_finish.cpp"
#include "cuda/families/integer/integer_lines.cpp"
#include "cuda/families/integer/integer_overflow.cpp"
#include "cuda/families/integer/integer_rung.cpp"
#include "cuda/families/integer/integer_transforms.cpp"
#include "cuda/families/integer/integer_transforms.cu"

namespace tapline::test::on_host {
namespace {

template <class T>
void add_all() {
    using namespace cuda::integer;
    add_kernel(&any_sums_kernel<T, Narrow>, nullptr);
    add_kernel(&any_sums_kernel<T, Exact>, nullptr);
    add_kernel(&found_sum_kernel<T>, nullptr);
}

const bool added = [] {
    add_all<std::int8_t>();
    add_all<std::int16_t>();
    add_all<std::int32_t>();
    add_all<std::int64_t>();
    add_all<std::uint8_t>();
    add_all<std::uint16_t>();
    add_all<std::uint32_t>();
    add_kernel(&cuda::integer::nothing_found_kernel, nullptr);
    char* const memory = reinterpret_cast<char*>(cuda::integer::direct_memory);
    add_kernel(&cuda::integer::direct_sums_kernel<cuda::integer::Sums::low32>, memory);
    add_kernel(&cuda::integer::direct_sums_kernel<cuda::integer::Sums::wide32>, memory);
    add_kernel(&cuda::integer::direct_sums_kernel<cuda::integer::Sums::low64>, memory);
    char* const places = reinterpret_cast<char*>(cuda::integer::places);
    add_kernel(&cuda::integer::transform_wholes_kernel, places);
    add_kernel(&cuda::integer::transform_limbs_kernel<cuda::integer::Way::two>, places);
    add_kernel(&cuda::integer::transform_limbs_kernel<cuda::integer::Way::four>, places);
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
