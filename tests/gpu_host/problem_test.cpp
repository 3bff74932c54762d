// What the CUDA library is told of a problem and its taps.
#include "gpu_host/problem.hpp"

#include <gtest/gtest.h>

#include "tapline/image.hpp"

namespace tapline::gpu_host {
namespace {

// An ordinary request but for one change.
template <class Change>
core::Request request_with(const Change& change) {
    core::Request request;
    change(request);
    return request;
}
const core::Request kHostBuffers = request_with([](core::Request& r) { r.host_buffers = true; });

TEST(CudaProblem, FactsOfTheTapsAndTheRequest) {
    const core::Resolved signal = core::resolve(Problem{.length = 10, .taps = 2, .dtype = Dtype::bf16});
    const auto with = [&](const auto& change) { return to_abi(signal, request_with(change)); };
    EXPECT_FALSE(to_abi(signal, {}).narrow_taps);
    EXPECT_TRUE(to_abi(signal, {}).taps_finite);
    EXPECT_TRUE(with([](core::Request& r) { r.facts.narrow = true; }).narrow_taps);
    EXPECT_FALSE(with([](core::Request& r) { r.facts.finite = false; }).taps_finite);
    EXPECT_TRUE(with([](core::Request& r) { r.taps_come_later = true; }).taps_come_later);
    EXPECT_EQ(with([](core::Request& r) { r.accuracy = Accuracy::strict; }).accuracy, Accuracy::strict);
}

TEST(CudaProblem, EqualTapsAreOfImages) {
    const core::Request request = request_with([](core::Request& r) { r.facts.equal = r.facts.narrow = true; });
    const core::Resolved image = core::resolve(ImageProblem{.height = 4, .width = 5, .mask_height = 3, .mask_width = 3});
    EXPECT_TRUE(to_abi(image, request).equal_taps);
    EXPECT_FALSE(to_abi(image, request).narrow_taps);
    const core::Resolved signal = core::resolve(Problem{.length = 10, .taps = 2, .dtype = Dtype::bf16});
    EXPECT_FALSE(to_abi(signal, request).equal_taps);
    EXPECT_TRUE(to_abi(signal, request).narrow_taps);
}

TEST(CudaProblem, AnUnknownLengthBecomesALongOne) {
    const core::Resolved stream = core::resolve(Problem{.length = kUnknownLength, .taps = 5, .mode = Mode::full}, true);
    const cuda_abi::Problem p = to_abi(stream, kHostBuffers);
    EXPECT_GE(p.x.n, 1 << 20);
    EXPECT_EQ(p.x.outputs, p.x.n + 4);
}

TEST(CudaProblem, HostBuffersArePackedOnTheDevice) {
    const core::Resolved image = core::resolve(ImageProblem{.height = 4,
                                                            .width = 5,
                                                            .channels = 3,
                                                            .batch = 2,
                                                            .mask_height = 2,
                                                            .mask_width = 2,
                                                            .mode = Mode::full,
                                                            .input_row_stride = 99});
    const cuda_abi::Problem p = to_abi(image, kHostBuffers);
    EXPECT_EQ(p.x.in_stride, 3);
    EXPECT_EQ(p.y.in_stride, 15);
    EXPECT_EQ(p.batch.in_stride, 60);
    EXPECT_EQ(p.y.out_stride, 18);
    EXPECT_EQ(p.batch.out_stride, 90);
    EXPECT_EQ(to_abi(image, {}).y.in_stride, 99);
    const PositionElements row = position_elements(image);
    EXPECT_EQ(row.in, 15);
    EXPECT_EQ(row.out, 18);
}

// Masks of a lower rank than others have zeros for what they lack.
TEST(CudaProblem, FactorsOfEveryMask) {
    const core::Resolved image = core::resolve(
        ImageProblem{.height = 9, .width = 9, .channels = 2, .mask_height = 3, .mask_width = 3, .masks = Masks::per_channel});
    const std::vector<float> taps{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 2, 4, 2, 1, 2, 5};
    const core::Request request{.facts = core::facts_of(image, taps.data())};
    EXPECT_EQ(to_abi(image, request).separable, 2);
    const TapsWithFactors all(image, taps.data(), request.facts);
    ASSERT_NE(all.get().columns, nullptr);
    for (std::size_t mask = 0; mask < 2; ++mask) {
        for (std::size_t i = 0; i < 9; ++i) {
            double sum = 0;
            for (std::size_t r = 0; r < 2; ++r) {
                sum += all.get().columns[(mask * 2 + r) * 3 + i / 3] * all.get().rows[(mask * 2 + r) * 3 + i % 3];
            }
            EXPECT_NEAR(sum, taps[mask * 9 + i], 1e-6);
        }
    }
}

}  // namespace
}  // namespace tapline::gpu_host
