// Host buffers cut for a GPU: chunks and pieces cover everything once and fit the memory they were cut for.
#include "gpu_host/host_chunks.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/draw.hpp"
#include "tapline/error.hpp"

namespace tapline::core {
namespace {

struct Case {
    Resolved problem;
    Input input;
    Output output;
};

Case case_of(const Problem& p) {
    Case c{resolve(p), {}, {}};
    const Resolved& r = c.problem;
    c.input = {.main = {nullptr, 0, r.n, r.in_row, r.in_sample}, .extra = {}, .n = r.n};
    c.output = {nullptr, 0, r.output_length, r.out_row, r.out_sample};
    return c;
}

// The settings of one test.
class CudaHostChunks : public ::testing::Test {
protected:
    void TearDown() override { host_pipeline_settings() = {}; }
};

TEST_F(CudaHostChunks, CoverEveryOutputOnceAndFit) {
    test::Random random(1);
    for (int i = 0; i < 3000; ++i) {
        host_pipeline_settings().chunk_bytes = test::between(1, 3000, random);
        host_pipeline_settings().slots = static_cast<int>(test::between(1, 5, random));
        const Case c = case_of(test::draw_problem(2000, 400, random));
        const std::int64_t room = test::between(1000, 200000, random);
        const std::int64_t workspace = test::between(0, 500, random);
        HostChunks chunks;
        try {
            chunks = cut_into_chunks(c.problem, c.output, c.input, true, workspace, room);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::memory);
            continue;
        }
        ASSERT_LE(chunks.slots * (chunks.in_bytes + chunks.out_bytes) + workspace, room);
        ASSERT_LE(chunks.slots, host_pipeline_settings().slots);
        std::vector<int> seen(static_cast<std::size_t>(c.problem.batch * c.problem.output_length));
        for (std::int64_t index = 0; index < chunks.count(); ++index) {
            const HostChunk chunk = chunk_at(chunks, c.problem, c.output, c.input, index);
            ASSERT_LE(chunk.rows * (chunk.in_last - chunk.in_first) * static_cast<std::int64_t>(size_of(c.problem.dtype)),
                      chunks.in_bytes);
            ASSERT_LE(chunk.rows * chunk.count * static_cast<std::int64_t>(size_of(c.problem.output_dtype)), chunks.out_bytes);
            for (std::int64_t row = chunk.row; row < chunk.row + chunk.rows; ++row) {
                for (std::int64_t o = chunk.first; o < chunk.first + chunk.count; ++o) {
                    ++seen[static_cast<std::size_t>(row * c.problem.output_length + o)];
                }
            }
        }
        ASSERT_TRUE(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
    }
}

TEST_F(CudaHostChunks, BlocksOfOutputsStayWhole) {
    Problem p;
    p.length = 100000;
    p.taps = 33;
    p.mode = Mode::same;
    const Case c = case_of(p);
    for (const std::int64_t bytes : {5000, 40000, 123456}) {
        host_pipeline_settings().chunk_bytes = bytes;
        const HostChunks chunks = cut_into_chunks(c.problem, c.output, c.input, true, 0, std::int64_t{1} << 30, 1024);
        EXPECT_EQ(chunks.outputs % 1024, 0) << bytes;
        EXPECT_LE(chunks.outputs * 4, bytes);
        EXPECT_GE(chunks.blocks * chunks.outputs, p.length);
    }
    // A block is the least where the device has room for it; where it has not there are chunks all the same.
    host_pipeline_settings().chunk_bytes = 400;
    EXPECT_EQ(cut_into_chunks(c.problem, c.output, c.input, true, 0, std::int64_t{1} << 30, 1024).outputs, 1024);
    EXPECT_EQ(cut_into_chunks(c.problem, c.output, c.input, true, 0, 6000, 1024).outputs, 128);
}

TEST_F(CudaHostChunks, PiecesCoverARectangleInTheOrderOfMemory) {
    test::Random random(2);
    for (int i = 0; i < 2000; ++i) {
        const HostPiece all{test::between(0, 5, random), test::between(1, 9, random), test::between(-5, 5, random),
                            test::between(0, 50, random)};
        const std::int64_t bytes = test::between(1, 300, random);
        std::int64_t at = 0;
        for_each_piece(all, 4, bytes, [&](const HostPiece& piece) {
            ASSERT_EQ(at, (piece.row - all.row) * all.count + (piece.first - all.first));
            ASSERT_TRUE(piece.rows == 1 || piece.count == all.count);
            ASSERT_LE(piece.rows * piece.count * 4, std::max<std::int64_t>(bytes, 4));
            at += piece.rows * piece.count;
        });
        ASSERT_EQ(at, all.rows * all.count);
    }
}

TEST_F(CudaHostChunks, LongFiltersGetLongChunksWhileThereIsMemory) {
    Problem p;
    p.length = std::int64_t{1} << 28;
    p.taps = std::int64_t{1} << 22;
    const Case c = case_of(p);
    const HostChunks roomy = cut_into_chunks(c.problem, c.output, c.input, true, 0, std::int64_t{8} << 30);
    EXPECT_EQ(roomy.outputs, 4 * (p.taps - 1));
    EXPECT_EQ(roomy.slots, 4);
    const HostChunks tight = cut_into_chunks(c.problem, c.output, c.input, true, 0, std::int64_t{64} << 20);
    EXPECT_LT(tight.outputs, roomy.outputs);
    EXPECT_GE(tight.outputs, p.taps - 1);
    try {
        cut_into_chunks(c.problem, c.output, c.input, true, 0, std::int64_t{16} << 20);
        ADD_FAILURE() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::memory);
        EXPECT_NE(std::string(error.what()).find("fewer taps"), std::string::npos);
    }
}

TEST_F(CudaHostChunks, WhatCannotBeCutIsOneChunkWithTheWholeSignal) {
    Problem p;
    p.length = 1000;
    p.taps = 30;
    p.batch = 3;
    p.boundary = Boundary::wrap;
    const Case c = case_of(p);
    const HostChunks chunks = cut_into_chunks(c.problem, c.output, c.input, false, 0, 1 << 20);
    ASSERT_EQ(chunks.count(), 1);
    const HostChunk chunk = chunk_at(chunks, c.problem, c.output, c.input, 0);
    EXPECT_EQ(chunk.in_first, 0);
    EXPECT_EQ(chunk.in_last, 1000);
    EXPECT_EQ(chunk.rows, 3);
    EXPECT_EQ(chunk.count, 1029);
    EXPECT_THROW(cut_into_chunks(c.problem, c.output, c.input, false, 0, 10000), Error);
}

}  // namespace
}  // namespace tapline::core
