// Rung 44: shapes and launches.
#include "cuda/families/integer/digits/integer_tensor.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace integer {
namespace {

constexpr int kLeastMajor = 8;

int most_before(const Digits& d) { return 16 / d.samples - 1; }

// Shared memory of a block.
struct Shape {
    int table_words = 0, plane_bytes = 0, planes_at = 0, stage_at = 0;
    std::int64_t bytes = 0;
};
Shape shape_of(const Problem& p, const Digits& d) {
    constexpr int kLine = 128;
    const int steps = tensor_steps(p.x.k, most_before(d));
    Shape s;
    s.table_words = table_words(steps);
    s.plane_bytes = kTensorOutputs + 32 * steps;
    s.planes_at = (4 * d.taps * s.table_words * 4 + kLine - 1) / kLine * kLine;
    s.stage_at = s.planes_at + d.samples * s.plane_bytes;
    s.bytes = s.stage_at + std::int64_t{kTensorOutputs} * stored_bytes(p.output_dtype);
    return s;
}

class IntegerTensor final : public DigitsRung {
public:
    static constexpr Head kHead{"44", "integer_tensor", "", R"(
Idea: samples and taps as bytes, whose products tensor cores add up exactly in 32 bits: a sum for each power of 256 that matters
Changed: hundreds of taps cost less than the memory that they run over
Requires: samples of at most 32 bits and outputs side by side; taps of 8 or 16 bits, at most 8,192; outputs that fit or wrap
Limited by: memory up to a hundred taps, then tensor cores and the shared memory that feeds them
)"};

    IntegerTensor()
        : DigitsRung(kHead,
                     {.source = "src/cuda/families/integer/digits/integer_tensor.cuh", .takes_pieces = 1, .takes_outer = 1}) {}
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        // In multiply-adds of f32 that take as long: a product of 16 x 32 by 32 x 8 bytes; what a warp does besides.
        // H100, 2^24 samples, wrapping: i16 with 31 and 2,047 taps 61 and 211 us, i32 90 and 366; to i64: i16 with 31, 127 and 511
        // taps 82, 85 and 103 us, u8 with 31 70; 20,000 rows of 300 i16 158 us.
        constexpr double kOfProduct = 256;
        constexpr double kOfWarp = 30000;
        constexpr double kOfPlane = 12000;   // of a warp
        constexpr double kOfEdges = 180000;  // of a row's two
        constexpr double kShareOfMoving = 0.85;
        const Digits d = digits_of(p);
        const double rows = static_cast<double>(p.batch.length * p.outer_length());
        const double warps = rows * static_cast<double>(divide_up(p.x.outputs + most_before(d), kTensorWarpOutputs));
        const double products = 4.0 * products_of(d) * tensor_steps(p.x.k, most_before(d) / 2);
        const double of_warp = products * kOfProduct + kOfWarp + d.samples * kOfPlane;
        const double computing = 2 * (warps * of_warp + rows * kOfEdges) / device.peak_flops;
        const double bytes = digits_bytes(p, kTensorOutputs);
        return kLaunchSeconds + kColdSeconds + overlapped(bytes / (kShareOfMoving * device.copy_bytes_per_second), computing, 3);
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenTensor>(prepared);
        chosen->digits = digits_of(p);
        chosen->shape = shape_of(p, chosen->digits);
        chosen->kernel = tensor_kernel(chosen->digits);
        load_kernel(chosen->kernel, static_cast<std::size_t>(chosen->shape.bytes), prepared.device);
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenTensor>();
        Tensor g{};
        g.signal = signal_of(prepared, job, on_device, nullptr);
        if (g.signal.a.in_sample != 1 || g.signal.a.out_sample != 1) { refuse_launch(); }
        g.taps = tap_digits_of(p, chosen.digits, on_device.tables);
        g.table_words = chosen.shape.table_words;
        g.plane_bytes = chosen.shape.plane_bytes;
        g.planes_at = chosen.shape.planes_at;
        g.stage_at = chosen.shape.stage_at;
        g.flip = turned_signs(p);
        // Windows of a row begin at any element of a vector.
        g.signal.a.tiles = divide_up(job.count + 16 / stored_bytes(p.output_dtype) - 1, kTensorOutputs);
        set_tiles(g.signal.rows, 1, g.signal.a.tiles);
        const std::int64_t blocks_at_once = std::int64_t{kBlocksAtOnce} * std::max(prepared.device.multiprocessors, 1);
        g.tiles_of_block = static_cast<int>(std::clamp<std::int64_t>(g.signal.rows.tiles / blocks_at_once, 1, kMostTilesOfBlock));
        const std::int64_t blocks = divide_up(g.signal.rows.tiles, g.tiles_of_block);
        if (blocks > kMostBlocks) { refuse_launch(); }
        launch_kernel(chosen.kernel, static_cast<unsigned>(blocks), 32 * kTensorWarps, static_cast<std::size_t>(chosen.shape.bytes),
                      stream, g);
    }

protected:
    [[nodiscard]] Refusal refuse_device(const cuda_abi::Device& device) const override {
        return device.major < kLeastMajor ? "needs tensor cores for bytes, from compute capability 8.0 on" : "";
    }
    [[nodiscard]] bool has_kernel(const Digits& digits) const override { return tensor_kernel(digits) != nullptr; }
    [[nodiscard]] std::int64_t shared_bytes(const Problem& p, const Digits& digits) const override {
        return shape_of(p, digits).bytes;
    }

private:
    static constexpr int kBlocksAtOnce = 16;  // of a multiprocessor, with those that follow
    static constexpr std::int64_t kMostTilesOfBlock = 4;

    struct ChosenTensor : ChosenDigits {
        using ChosenDigits::ChosenDigits;
        Shape shape;
        TensorKernel kernel = nullptr;
    };
};

}  // namespace
}  // namespace integer

const Rung& integer_tensor() { return core::only<integer::IntegerTensor>(); }

}  // namespace tapline::cuda
