// Plain segments of 16-bit samples whose outputs are f32, and of f32 whose outputs are bytes (rung 27), their kernels run on the
// host, against the textbook: every type, boundaries, rows that begin between vectors, two jobs, a NaN.
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "gpu/on_host/cuda_on_host.hpp"

#include "gpu/on_host/rung_on_host.hpp"
#include "support/case.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"

namespace tapline::cuda::overlap_save {
const Rung& narrow_segments();
}

namespace tapline::test {
namespace {

void run(const Problem& p, Random& random) {
    SCOPED_TRACE(describe(p));
    const core::Resolved r = core::resolve(p);
    Case c = draw_case(p, random);
    on_host::set_seed(static_cast<std::uint64_t>(p.length + p.taps));
    // So many multiprocessors that every block has one segment: the emulation's blocks wait as a whole.
    PreparedOnHost prepared(cuda::overlap_save::narrow_segments(), r, c.taps.data(), 100'000);
    ASSERT_EQ(prepared.make(), "");
    const std::int64_t granularity = prepared.get().rung->granularity(prepared.get());
    const std::int64_t split = chance(0.5, random) ? r.x.outputs : r.x.outputs / 2 / granularity * granularity;
    for (const auto [first, count] : {std::pair{std::int64_t{0}, split}, std::pair{split, r.x.outputs - split}}) {
        if (count > 0) { prepared.launch(job_of(r, c.first_out(), c.first_in(), first, count)); }
    }
    EXPECT_TRUE(c.out.guards_intact() && c.gaps_untouched()) << "wrote outside the outputs";
    EXPECT_EQ(compare(p, c.first_out(), c.first_in(), c.taps.data(), false), "");
}

TEST(NarrowSegments, AgreeWithTheTextbook) {
    constexpr std::array kTypes{Dtype::i16, Dtype::u16, Dtype::f16, Dtype::bf16, Dtype::f32};
    constexpr std::array kBoundaries{Boundary::zero,    Boundary::constant, Boundary::nearest,
                                     Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    Random random(5);
    for (const Dtype dtype : kTypes) {
        for (const Boundary boundary : kBoundaries) {
            for (const std::int64_t k : {90, 700, 1000, 2001}) {
                if (k > 700 && boundary != Boundary::reflect && boundary != Boundary::zero) { continue; }
                Problem p{.length = between(500, 5000, random), .taps = k, .batch = between(1, 3, random), .mode = Mode::same};
                p.dtype = dtype;
                p.real_taps = is_integer(dtype) ? std::optional(Dtype::f32) : std::nullopt;
                p.output_dtype = dtype == Dtype::f32 ? Dtype::u8 : Dtype::f32;
                if (dtype == Dtype::f32) {
                    p.scale = 40;
                    p.bias = 100;
                }
                p.boundary = boundary;
                p.constant = boundary == Boundary::constant ? 3 : 0;
                run(p, random);
                if (HasFailure()) { return; }
            }
        }
    }
}

}  // namespace
}  // namespace tapline::test
