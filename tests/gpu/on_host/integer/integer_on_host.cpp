// The rungs for exact sums of integers as C++.
#include "gpu/on_host/cuda_on_host.hpp"

#include "cuda/primitives/arguments.hpp"

#define cudaMemcpyAsync(to, from, bytes, kind, stream) (std::memcpy(to, from, bytes), static_cast<void>(stream), cudaSuccess)
#define cudaStreamSynchronize(stream) (static_cast<void>(stream), cudaSuccess)

namespace tapline::cuda::integer {
alignas(128) uint4 direct_memory[test::on_host::kSharedBytes / sizeof(uint4)];
alignas(128) double2 places[test::on_host::kSharedBytes / sizeof(double2)];
}  // namespace tapline::cuda::integer
#include "cuda/families/common/walk.cpp"
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
#include "cuda/families/integer/passes/integer_checked.cpp"
#include "cuda/families/integer/passes/integer_checked.cu"
#include "cuda/families/integer/passes/integer_long.cpp"
#include "cuda/families/integer/passes/integer_long.cu"
#include "cuda/prepared.hpp"

namespace tapline::cuda {
namespace {

// In place of all rungs for real numbers: sums in double, one after the other, of any layout.
class RealSums final : public Rung {
public:
    RealSums() : Rung({.name = "real_sums"}) {}
    [[nodiscard]] Refusal supports(const Problem&, const cuda_abi::Device&) const override { return {}; }
    [[nodiscard]] double estimate_seconds(const Problem&, const cuda_abi::Device&) const override { return 1; }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared&) const override { return nullptr; }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared&) const override { return 64; }
    void launch(const Prepared& prepared, const Job& job, const OnDevice&, void* workspace, cudaStream_t) const override {
        std::memset(workspace, 0xFF, 64);
        const Problem& p = prepared.problem;
        const auto* const taps = reinterpret_cast<const double*>(prepared.host_taps.data());
        const auto* const in = static_cast<const double*>(job.in);
        auto* const out = static_cast<double*>(job.out);
        for (std::int64_t outer = 0; outer < p.outer_length(); ++outer) {
            std::int64_t in_row = 0;
            std::int64_t out_row = 0;
            std::int64_t rest = outer;
            for (const core::Batch& axis : p.outer) {
                in_row += rest % axis.length * axis.in_stride;
                out_row += rest % axis.length * axis.out_stride;
                rest /= axis.length;
            }
            for (std::int64_t row = 0; row < job.batch; ++row) {
                for (std::int64_t o = 0; o < job.count; ++o) {
                    double sum = 0;
                    for (std::int64_t t = 0; t < p.x.k; ++t) {
                        const std::int64_t at = o + t - p.x.origin;
                        const std::int64_t index = at >= 0 && at < p.x.n ? at : near_boundary_index(p.x.boundary, at, p.x.n);
                        const double x = index >= 0                  ? in[in_row + row * job.in_batch + index * job.in_stride]
                                         : p.x.boundary == kConstant ? p.constant.real()
                                                                     : 0;
                        sum += taps[row % p.filters * p.x.k + t] * x;
                    }
                    out[out_row + row * job.out_batch + o * job.out_stride] = sum;
                }
            }
        }
    }
};
const RealSums real_sums;

}  // namespace

void release(cuda_abi::Prepared* prepared) { delete prepared; }
BestRung best_rung(const Problem&, const cuda_abi::Device&, bool) { return {0, 1}; }
RungInside prepare_inside(const Problem& problem, const void* taps, const cuda_abi::Device& device, bool) {
    RungInside inside(new cuda_abi::Prepared);
    inside->rung = &real_sums;
    inside->device = device;
    inside->problem = problem;
    if (problem.is_exact()) {  // one output a thread
        inside->rung = problem.rank == 1 ? &integer_signals() : problem.rank == 2 ? &integer_images() : &integer_volumes();
        inside->taps_pitch_bytes = (problem.taps() * 8 + 15) / 16 * 16;
        inside->host_taps.resize(static_cast<std::size_t>(problem.filters * inside->taps_pitch_bytes));
        for (std::int64_t f = 0; f < problem.filters; ++f) {
            std::memcpy(inside->host_taps.data() + f * inside->taps_pitch_bytes,
                        static_cast<const std::byte*>(taps) + f * problem.taps() * 8, static_cast<std::size_t>(problem.taps()) * 8);
        }
        inside->on_device.taps = inside->host_taps.data();
        inside->given.taps = taps;
        inside->chosen = inside->rung->load(*inside);
        inside->workspace_bytes = inside->rung->workspace_bytes(*inside);
        return inside;
    }
    inside->host_taps.resize(static_cast<std::size_t>(problem.filters * problem.taps()) * sizeof(double));
    std::memcpy(inside->host_taps.data(), taps, inside->host_taps.size());
    inside->workspace_bytes = real_sums.workspace_bytes(*inside);
    return inside;
}

}  // namespace tapline::cuda

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
    add_kernel(&cuda::integer::largest_sample_kernel, nullptr);
    add_kernel(&cuda::integer::split_samples_kernel, nullptr);
    add_kernel(&cuda::integer::join_products_kernel<std::uint64_t>, nullptr);
    add_kernel(&cuda::integer::join_products_kernel<core::Uint128>, nullptr);
    add_kernel(&cuda::integer::transform_wholes_kernel, places);
    add_kernel(&cuda::integer::transform_limbs_kernel<cuda::integer::Way::two>, places);
    add_kernel(&cuda::integer::transform_limbs_kernel<cuda::integer::Way::four>, places);
    return true;
}();

}  // namespace
}  // namespace tapline::test::on_host
