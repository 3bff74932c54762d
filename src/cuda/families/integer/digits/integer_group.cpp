// Rung 50: shapes and launches.
#include "cuda/families/integer/digits/integer_group.hpp"

#include <algorithm>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace integer {
namespace {

constexpr int kMajor = 9;  // no other generation has these products

int most_before(const Digits& d) { return 16 / d.samples - 1; }

// Shared memory of a block.
struct Shape {
    int table_words = 0, part_bytes = 0, raw_at = 0, planes_at = 0, stage_at = 0;
    std::int64_t bytes = 0;
};
Shape shape_of(const Problem& p, const Digits& d) {
    constexpr int kLine = 128;
    const auto up = [](int bytes) { return (bytes + kLine - 1) / kLine * kLine; };
    const int steps = group_steps(p.x.k, most_before(d)) + 1;  // taps are read in pairs of steps
    Shape s;
    // The four shifts lie in different banks.
    s.table_words = (kGroupTapLead + 8 * steps + 39) / 32 * 32 + 8;
    // Eight threads that store vectors of all four parts meet in no bank.
    const int lines = group_lines(d) + steps / 2 + 1;
    s.part_bytes = 16 * ((lines + 1) / 4 * 4 + 2);
    s.raw_at = up(kGroupHeader + 16 * d.taps * s.table_words);
    s.planes_at = s.raw_at + up((most_before(d) + group_outputs(d) + static_cast<int>(p.x.k) + 16 / d.samples) * d.samples);
    s.stage_at = s.planes_at + up(4 * d.samples * s.part_bytes);
    s.bytes = s.stage_at + std::int64_t{group_outputs(d)} * stored_bytes(p.output_dtype);
    return s;
}

std::int64_t blocks_at_once(const Shape& s, const Digits& d, const cuda_abi::Device& device) {
    constexpr std::int64_t kSharedBytes = 228 * 1024;  // of a multiprocessor
    constexpr std::int64_t kReserved = 1024;           // of them, for each block
    const std::int64_t blocks = std::clamp<std::int64_t>(kSharedBytes / (s.bytes + kReserved), 1, group_blocks(d));
    return blocks * std::max(device.multiprocessors, 1);
}

class IntegerGroup final : public DigitsRung {
public:
    static constexpr Head kHead{"50", "integer_group", "", R"(
Idea: bytes that four warps multiply together: the tensor cores read samples from shared memory themselves, taps wait in registers
Changed: tensor cores run at twice the rate; samples of 64 bits and taps of 32 as well; the next tile is copied meanwhile
Requires: compute capability 9.0; samples and outputs side by side; taps of at most 32 bits, at most 8,192; outputs that fit or
wrap
Limited by: memory up to some hundred taps, then tensor cores
)"};

    IntegerGroup()
        : DigitsRung(kHead, {.source = "src/cuda/families/integer/digits/integer_group.cuh", .takes_pieces = 1, .takes_outer = 1}) {
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        // In multiply-adds of f32 that take as long: a product of 64 x 32 by 32 x 1 bytes; what a tile takes besides.
        // H100, 2^24 samples that wrap, taps of 7 bits: i16 with 31, 511 and 2,047 taps 34, 46 and 100 us; i32 58 (31) and 205
        // (2,047); u8 24 (31) and 30 (511). Taps of 15 bits: i16 38 and 154, to i64 69, 89 and 211. i64 with taps of 31 bits 143
        // and 1,264. 1,000 rows of 5,000 i16 to i64 38 us, 2^20 and 2^14 samples of i16 11.4 and 10.6.
        constexpr double kOfLine = 75;
        constexpr double kOfSampleByte = 8;
        constexpr double kOfOutput = 8;
        constexpr double kOfOutputByte = 5;
        constexpr double kOfEdges = 800000;  // of a row's two
        constexpr double kAlone = 3.5e-6;    // of a tile that no other's work hides
        constexpr double kOfOne = 4;  // of a multiprocessor's only block: what it does besides products hides behind no other's
        constexpr double kOfTwo = 1.6;
        constexpr double kShareOfMoving = 0.95;
        const Digits d = digits_of(p);
        const double rows = static_cast<double>(p.batch.length * p.outer_length());
        const double tiles = rows * static_cast<double>(divide_up(p.x.outputs + most_before(d), group_outputs(d)));
        const double products = static_cast<double>(products_of(d)) * group_steps(p.x.k, most_before(d) / 2);
        const std::int64_t at_once = blocks_at_once(shape_of(p, d), d, device);
        const double unhidden = at_once > 2 * device.multiprocessors ? 1 : at_once > device.multiprocessors ? kOfTwo : kOfOne;
        const double besides = kOfSampleByte * d.samples * (group_outputs(d) + static_cast<double>(p.x.k)) +
                               (kOfOutput + kOfOutputByte * stored_bytes(p.output_dtype)) * group_outputs(d);
        const double of_tile = products * group_lines(d) * kOfLine + unhidden * besides;
        const double computing = 2 * (tiles * of_tile + rows * kOfEdges) / device.peak_flops;
        const double moving = digits_bytes(p, group_outputs(d)) / (kShareOfMoving * device.copy_bytes_per_second);
        const double alone = kAlone * std::min(1.0, static_cast<double>(at_once) / tiles);
        return kLaunchSeconds + kColdSeconds + alone + overlapped(moving, computing, 3);
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenGroup>(prepared);
        chosen->digits = digits_of(p);
        chosen->shape = shape_of(p, chosen->digits);
        chosen->kernel = group_kernel(chosen->digits);
        load_kernel(chosen->kernel, static_cast<std::size_t>(chosen->shape.bytes), prepared.device);
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenGroup>();
        const Digits& d = chosen.digits;
        Group g{};
        g.signal = signal_of(prepared, job, on_device, nullptr);
        if (g.signal.a.in_sample != 1 || g.signal.a.out_sample != 1) { refuse_launch(); }
        g.taps = tap_digits_of(p, d, on_device.tables);
        g.table_words = chosen.shape.table_words;
        g.part_bytes = chosen.shape.part_bytes;
        g.raw_at = chosen.shape.raw_at;
        g.planes_at = chosen.shape.planes_at;
        g.stage_at = chosen.shape.stage_at;
        g.flip = turned_signs(p);
        // A row's outputs begin at any element of a vector.
        g.signal.a.tiles = divide_up(job.count + 16 / stored_bytes(p.output_dtype) - 1, group_outputs(d));
        set_tiles(g.signal.rows, 1, g.signal.a.tiles);
        launch_kernel(chosen.kernel,
                      static_cast<unsigned>(std::min(g.signal.rows.tiles, blocks_at_once(chosen.shape, d, prepared.device))),
                      kGroupThreads, static_cast<std::size_t>(chosen.shape.bytes), stream, g);
    }

protected:
    [[nodiscard]] Refusal refuse_device(const cuda_abi::Device& device) const override {
        return device.major != kMajor ? "needs the products that four warps make together, of compute capability 9.0" : "";
    }
    [[nodiscard]] bool has_kernel(const Digits& digits) const override { return group_kernel(digits) != nullptr; }
    [[nodiscard]] std::int64_t shared_bytes(const Problem& p, const Digits& digits) const override {
        return shape_of(p, digits).bytes;
    }

private:
    struct ChosenGroup : ChosenDigits {
        using ChosenDigits::ChosenDigits;
        Shape shape;
        GroupKernel kernel = nullptr;
    };
};

}  // namespace
}  // namespace integer

const Rung& integer_group() { return core::only<integer::IntegerGroup>(); }

}  // namespace tapline::cuda
