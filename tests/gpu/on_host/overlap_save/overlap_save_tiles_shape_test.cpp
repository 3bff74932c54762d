// Which rows of tiles go together, which come by way of shared memory, how many teams take them: what launches and estimates ask.
#include <gtest/gtest.h>

#include "gpu/on_host/cuda_on_host.hpp"

#include "cuda/families/common/types.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_segments.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_tile_places.cuh"
#include "cuda/primitives/lines/lines.hpp"

namespace tapline::test {
namespace {

namespace overlap_save = cuda::overlap_save;

constexpr int kOneWarp = 1;

cuda_abi::Device device_of_132() {
    cuda_abi::Device device;
    device.major = 9;
    device.multiprocessors = 132;
    device.shared_bytes_per_block = 232448;
    return device;
}

// The shape of (n, rows) samples of a type filtered along the first axis, each row having so many segments of one warp.
overlap_save::TilesShape shape_of(std::int64_t n, std::int64_t rows, std::int64_t segments, Dtype dtype = cuda::kF32,
                                  Boundary boundary = Boundary::zero, bool by_lines = false) {
    cuda_abi::Problem p;
    p.dtype = p.sum_dtype = p.output_dtype = dtype;
    p.x.n = p.x.outputs = n;
    p.x.in_stride = rows;
    p.x.out_stride = by_lines ? 1 : rows;
    p.x.boundary = boundary;
    p.batch.length = rows;
    p.batch.in_stride = 1;
    p.batch.out_stride = by_lines ? n : 1;
    overlap_save::Kernel kernel;
    kernel.tiles = true;
    kernel.layout = overlap_save::tiles_layout<overlap_save::Shape<float, kOneWarp>, kOneWarp, float2>();
    return overlap_save::tiles_shape(p, cuda::rows_of(p), {p.x.in_stride, p.x.out_stride, 0}, segments, kernel, kOneWarp,
                                     overlap_save::kMostSegments, device_of_132());
}

TEST(TilesShape, TeamsOfASectorComeAhead) {
    const auto shape = shape_of(1 << 20, 64, 546);
    EXPECT_EQ(shape.lines, 8);
    EXPECT_TRUE(shape.ahead);
    EXPECT_EQ(shape.staging.bytes, 16);
    EXPECT_EQ(shape.teams, 2);
    EXPECT_EQ(shape.blocks, 132);
    EXPECT_EQ(shape.rounds(), 17);
}

TEST(TilesShape, OfFewRowsEachMultiprocessorHasSome) {
    const auto shape = shape_of(5390, 32, 4);
    EXPECT_EQ(shape.lines, 1);
    EXPECT_EQ(shape.tiles, 128);
    EXPECT_EQ(shape.staging.lines, 0);
    EXPECT_FALSE(shape.ahead);
    EXPECT_EQ(shape.rounds(), 1);
}

TEST(TilesShape, PiecesComeAheadWhereTimesLieClose) {
    EXPECT_TRUE(shape_of(1 << 20, 63, 546).ahead);
    EXPECT_EQ(shape_of(1 << 20, 63, 546).staging.bytes, 4);
    EXPECT_FALSE(shape_of(5094, 3402, 3).ahead) << "13 KB from one time to the next";
    EXPECT_FALSE(shape_of(403976, 83, 222, cuda::kF32, Boundary::zero, true).ahead) << "outputs row after row";
}

TEST(TilesShape, ComplexOnesComeAheadAtEdges) {
    EXPECT_FALSE(shape_of(1 << 19, 64, 300, cuda::kComplex64).ahead);
    EXPECT_TRUE(shape_of(1 << 19, 64, 300, cuda::kComplex64, Boundary::wrap).ahead);
    EXPECT_TRUE(shape_of(1482, 512, 3, cuda::kComplex64).ahead);
}

}  // namespace
}  // namespace tapline::test
