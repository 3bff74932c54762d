// Host buffers cut for a GPU: chunks and pieces cover everything once and fit the memory they were cut for.
#include "gpu_host/chunks.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "gpu_host/problem.hpp"
#include "support/draw.hpp"
#include "support/errors.hpp"
#include "tapline/error.hpp"

namespace tapline::gpu_host {
namespace {

struct Case {
    core::Resolved problem;
    core::Input input;
    core::Output output;
};

Case case_of(const Problem& p) {
    const core::Resolved r = core::resolve(p);
    return {r, core::whole_input(r, nullptr), core::whole_output(r, nullptr)};
}

std::int64_t bytes(Dtype dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

// The settings of one test.
class CudaChunks : public ::testing::Test {
protected:
    void TearDown() override { pipeline_settings() = {}; }
};

TEST_F(CudaChunks, CoverEveryOutputOnceAndFit) {
    test::Random random(1);
    for (int i = 0; i < 3000; ++i) {
        pipeline_settings().chunk_bytes = test::between(1, 3000, random);
        pipeline_settings().slots = static_cast<int>(test::between(1, 5, random));
        const bool image = test::chance(0.3, random);
        const Case c =
            case_of(image ? Problem(test::draw_image_problem(100, 30, 1000000000, random)) : test::draw_problem(2000, 400, random));
        const core::Axis& cut = c.problem.cut();
        const PositionElements elements = position_elements(c.problem);
        const std::int64_t room = test::between(1000, 200000, random);
        const std::int64_t workspace = test::between(0, 500, random);
        Chunks chunks;
        try {
            chunks = cut_into_chunks(c.problem, c.output, c.input, true, workspace, room);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::memory);
            continue;
        }
        ASSERT_LE(chunks.slots * (chunks.in_bytes + chunks.out_bytes) + workspace, room);
        ASSERT_LE(chunks.slots, pipeline_settings().slots);
        std::vector<int> seen(static_cast<std::size_t>(c.problem.batch.length * cut.outputs));
        for (std::int64_t index = 0; index < chunks.count(); ++index) {
            const Chunk chunk = chunk_at(chunks, c.problem, c.output, c.input, index);
            ASSERT_LE(chunk.items * (chunk.in_last - chunk.in_first) * elements.in * bytes(c.problem.dtype), chunks.in_bytes);
            ASSERT_LE(chunk.items * chunk.count * elements.out * bytes(c.problem.output_dtype), chunks.out_bytes);
            for (std::int64_t item = chunk.item; item < chunk.item + chunk.items; ++item) {
                for (std::int64_t o = chunk.first; o < chunk.first + chunk.count; ++o) {
                    ++seen[static_cast<std::size_t>(item * cut.outputs + o)];
                }
            }
        }
        ASSERT_TRUE(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
    }
}

TEST_F(CudaChunks, BlocksOfOutputsStayWhole) {
    const Problem p{.length = 100000, .taps = 33, .mode = Mode::same};
    const Case c = case_of(p);
    for (const std::int64_t bytes : {5000, 40000, 123456}) {
        pipeline_settings().chunk_bytes = bytes;
        const Chunks chunks = cut_into_chunks(c.problem, c.output, c.input, true, 0, std::int64_t{1} << 30, 1024);
        EXPECT_EQ(chunks.outputs % 1024, 0) << bytes;
        EXPECT_LE(chunks.outputs * 4, bytes);
        EXPECT_GE(chunks.blocks * chunks.outputs, p.length);
    }
    // A block is the least where the device has room for it; where it has not there are chunks all the same.
    pipeline_settings().chunk_bytes = 400;
    EXPECT_EQ(cut_into_chunks(c.problem, c.output, c.input, true, 0, std::int64_t{1} << 30, 1024).outputs, 1024);
    EXPECT_EQ(cut_into_chunks(c.problem, c.output, c.input, true, 0, 6000, 1024).outputs, 128);
}

TEST_F(CudaChunks, PiecesCoverARectangleInTheOrderOfMemory) {
    test::Random random(2);
    for (int i = 0; i < 2000; ++i) {
        const PackedPiece all{test::between(0, 5, random), test::between(1, 9, random), test::between(-5, 5, random),
                              test::between(0, 50, random)};
        const std::int64_t bytes = test::between(1, 300, random);
        std::int64_t at = 0;
        for_each_piece(all, 4, bytes, [&](const PackedPiece& piece) {
            ASSERT_EQ(at, (piece.item - all.item) * all.count + (piece.first - all.first));
            ASSERT_TRUE(piece.items == 1 || piece.count == all.count);
            ASSERT_LE(piece.items * piece.count * 4, std::max<std::int64_t>(bytes, 4));
            at += piece.items * piece.count;
        });
        ASSERT_EQ(at, all.items * all.count);
    }
}

TEST_F(CudaChunks, LongFiltersGetLongChunksWhileThereIsMemory) {
    const Problem p{.length = std::int64_t{1} << 28, .taps = std::int64_t{1} << 22};
    const Case c = case_of(p);
    const Chunks roomy = cut_into_chunks(c.problem, c.output, c.input, true, 0, std::int64_t{8} << 30);
    EXPECT_EQ(roomy.outputs, 4 * (p.taps - 1));
    EXPECT_EQ(roomy.slots, 4);
    const Chunks tight = cut_into_chunks(c.problem, c.output, c.input, true, 0, std::int64_t{64} << 20);
    EXPECT_LT(tight.outputs, roomy.outputs);
    EXPECT_GE(tight.outputs, p.taps - 1);
    test::expect_error(ErrorCode::memory, "fewer taps",
                       [&] { cut_into_chunks(c.problem, c.output, c.input, true, 0, std::int64_t{16} << 20); });
}

TEST_F(CudaChunks, ImagesAreCutIntoBandsOfRows) {
    const Case c =
        case_of(ImageProblem{.height = 1000, .width = 250, .channels = 4, .batch = 2, .mask_height = 9, .mask_width = 9});
    pipeline_settings().chunk_bytes = 400000;  // a hundred rows of 4,000 bytes
    const Chunks bands = cut_into_chunks(c.problem, c.output, c.input, true, 0, std::int64_t{1} << 30, 16);
    EXPECT_EQ(bands.items, 1);
    EXPECT_EQ(bands.outputs, 96);
    EXPECT_EQ(bands.in_bytes, (96 + 8) * 4000);
    const Chunk second = chunk_at(bands, c.problem, c.output, c.input, 1);
    EXPECT_EQ(second.first, 96);
    EXPECT_EQ(second.in_first, 92);
    EXPECT_EQ(second.in_last, 196);
    // Not one row less than a row: nine of input, one of output.
    EXPECT_EQ(cut_into_chunks(c.problem, c.output, c.input, true, 0, 40000, 16).outputs, 1);
    EXPECT_THROW(cut_into_chunks(c.problem, c.output, c.input, true, 0, 39999, 16), Error);
    // Small images go together.
    const Case many = case_of(ImageProblem{.height = 10, .width = 10, .batch = 100, .mask_height = 3, .mask_width = 3});
    pipeline_settings().chunk_bytes = 4000;
    EXPECT_EQ(cut_into_chunks(many.problem, many.output, many.input, true, 0, 1 << 20).items, 10);
}

TEST_F(CudaChunks, WhatCannotBeCutIsOneChunkWithTheWholeSignal) {
    const Problem p{.length = 1000, .taps = 30, .batch = 3, .boundary = Boundary::wrap};
    const Case c = case_of(p);
    const Chunks chunks = cut_into_chunks(c.problem, c.output, c.input, false, 0, 1 << 20);
    ASSERT_EQ(chunks.count(), 1);
    const Chunk chunk = chunk_at(chunks, c.problem, c.output, c.input, 0);
    EXPECT_EQ(chunk.in_first, 0);
    EXPECT_EQ(chunk.in_last, 1000);
    EXPECT_EQ(chunk.items, 3);
    EXPECT_EQ(chunk.count, 1029);
    EXPECT_THROW(cut_into_chunks(c.problem, c.output, c.input, false, 0, 10000), Error);
}

}  // namespace
}  // namespace tapline::gpu_host
