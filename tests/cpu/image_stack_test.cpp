// Many small images, which are summed side by side: the bits of each image by itself.
#include <gtest/gtest.h>

#include "support/buffers.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using test::GuardedBuffer;
using test::Random;

std::size_t bytes_of(std::int64_t elements, Dtype dtype) { return static_cast<std::size_t>(elements) * size_of(dtype); }

ImageProblem draw_images(Random& random) {
    ImageProblem p;
    p.height = test::between(1, 20, random);
    p.width = test::between(1, 20, random);
    p.channels = test::chance(0.3, random) ? 3 : 1;
    p.batch = test::between(16, 150, random);
    p.mask_height = test::between(2, 7, random);
    p.mask_width = test::between(2, 7, random);
    p.mode = test::pick(std::vector<Mode>{Mode::same, Mode::full, Mode::causal}, random);
    p.boundary = test::pick(std::vector<Boundary>{Boundary::zero, Boundary::reflect, Boundary::wrap, Boundary::constant}, random);
    p.dtype = test::pick(std::vector<Dtype>{Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::u8, Dtype::u16, Dtype::f16}, random);
    if (p.boundary == Boundary::constant) { p.constant = 3; }
    if (p.dtype == Dtype::f32 && test::chance(0.5, random)) {
        p.output_dtype = Dtype::u8;
        p.scale = 20;
        p.bias = 100;
    }
    if (test::chance(0.3, random)) { p.input_row_stride = p.width * p.channels + test::between(1, 9, random); }
    if (test::chance(0.3, random)) { p.input_image_stride = 20 * 100 + test::between(0, 9, random); }
    return p;
}

TEST(ImageStack, TheBitsOfEachImageByItself) {
    Random random(31);
    int stacked = 0;
    for (int i = 0; i < 300; ++i) {
        const ImageProblem p = draw_images(random);
        ImageProblem one = p;
        one.batch = 1;
        const Problem all = p;
        const Dtype out_type = output_dtype(all);
        GuardedBuffer in(bytes_of(input_extent(p), p.dtype), 0), taps(bytes_of(taps_extent(p), taps_dtype(all)), 0);
        GuardedBuffer out(bytes_of(output_extent(p), out_type), 0), alone(bytes_of(output_extent(one), out_type), 0);
        test::fill_random(in.data(), p.dtype, input_extent(p), random);
        test::fill_random(taps.data(), taps_dtype(all), taps_extent(p), random);
        // Of f16 a NaN's payload is what narrows it, a vector or a number.
        if (p.dtype != Dtype::f16 && test::chance(0.3, random)) { test::spoil(in.data(), p.dtype, input_extent(p), random); }
        const PlanOptions options{.device = "cpu", .algorithm = "direct", .threads = 2};
        const Plan plan = make_plan(p, taps.data(), options), of_one = make_plan(one, taps.data(), options);
        stacked += plan.explain().find("images side by side") != std::string::npos ? 1 : 0;
        plan.execute(out.data(), in.data());
        ASSERT_TRUE(out.guards_intact()) << test::describe(p);
        const std::int64_t row = p.input_row_stride != 0 ? p.input_row_stride : p.width * p.channels;
        const std::int64_t step = p.input_image_stride != 0 ? p.input_image_stride : p.height * row;
        const std::size_t bytes = alone.size();
        for (std::int64_t image = 0; image < p.batch; ++image) {
            of_one.execute(alone.data(), in.data() + bytes_of(image * step, p.dtype));
            const auto* const got = out.data() + static_cast<std::size_t>(image) * bytes;
            ASSERT_EQ(std::memcmp(got, alone.data(), bytes), 0) << "image " << image << ": " << test::describe(p);
        }
    }
    EXPECT_GT(stacked, 200);
}

}  // namespace
}  // namespace tapline
