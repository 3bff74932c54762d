// Few taps of interleaved rows, one filter for all or one each, the kernels run on the host, against the textbook.
#include <gtest/gtest.h>

#include "gpu/on_host/cuda_on_host.hpp"

inline unsigned __funnelshift_r(unsigned low, unsigned high, int bits) {
    return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (bits & 31));
}
namespace tapline::cuda::few {
alignas(128) uint4 shared[test::on_host::kSharedBytes / sizeof(uint4)];
}
#include "cuda/families/direct/direct.hpp"
#include "cuda/families/direct/rows/direct_few_interleaved_kernels.cu"
#include "cuda/families/direct/rows/direct_few_rows.cpp"
#include "cuda/families/direct/rows/direct_few_rows_kernels.cu"
#include "gpu/on_host/rung_on_host.hpp"
#include "support/case.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"

namespace tapline::test {
namespace {

void run_interleaved(std::int64_t channels, bool own, std::uint64_t seed) {
    Random random(seed);
    Problem p{.length = between(1, 700, random), .taps = between(1, cuda::few::kFewTaps, random), .batch = channels};
    p.mode = pick(std::array{Mode::full, Mode::same, Mode::causal, Mode::leading}, random);
    p.filters = own ? Filters::per_row : Filters::shared;
    p.operation = chance(0.5, random) ? Operation::convolution : Operation::correlation;
    p.scale = chance(0.3, random) ? 2 : 1;
    p.input_row_stride = p.output_row_stride = 1;
    p.input_sample_stride = p.output_sample_stride = channels;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(p));
    const core::Resolved r = core::resolve(p);
    Case c = draw_case(p, random);
    const FencedBuffer in(c.in.data(), c.in.size(), false);  // which begins on 16 bytes
    on_host::set_seed(seed);
    const PreparedOnHost prepared(cuda::direct_tiles(), r, c.taps.data());
    const cuda::Prepared& of_rung = prepared.get();
    if (!of_rung.problem.taps_finite) { return; }  // tiles take those
    const cuda::few::Way way = cuda::few::way_of(of_rung.problem);
    ASSERT_EQ(way, !own ? cuda::few::Way::interleaved : channels == 2 ? cuda::few::Way::own_of_two : cuda::few::Way::own_of_four);
    const cuda::few::AnyRowsKernel kernel = cuda::few::kernel_of(way, of_rung.problem);
    std::visit([](auto of_type) { on_host::add_kernel(of_type, reinterpret_cast<char*>(cuda::few::shared)); }, kernel);
    const auto filters = static_cast<const float*>(of_rung.given.taps);
    const cuda::few::TapsByValue<float4> taps = cuda::few::own_taps(filters, r.filters, r.x.k);
    const std::int64_t split = chance(0.4, random) ? 4 * between(0, r.x.outputs / 4, random) : r.x.outputs;
    for (const auto [first, count] : {std::pair{std::int64_t{0}, split}, std::pair{split, r.x.outputs - split}}) {
        if (count == 0) { continue; }
        const cuda::Job job = job_of(r, c.first_out(), in.data(), first, count);
        const cuda::Arguments a = cuda::arguments_of(of_rung, job, of_rung.on_device);
        ASSERT_TRUE(cuda::few::launch(way, kernel, a, &taps, nullptr));
    }
    EXPECT_TRUE(c.out.guards_intact() && c.gaps_untouched()) << "wrote outside the outputs";
    EXPECT_EQ(compare(p, c.first_out(), c.first_in(), c.taps.data(), true), "");
}

TEST(DirectFewInterleaved, AgreesWithTheTextbook) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        run_interleaved(3, false, seed);
        run_interleaved(4, false, seed);
        run_interleaved(2, true, seed);
        run_interleaved(4, true, seed);
        if (HasFailure()) { return; }
    }
}

}  // namespace
}  // namespace tapline::test
