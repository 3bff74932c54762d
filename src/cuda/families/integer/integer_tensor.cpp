// Rung 44: which digits a problem's sums need, tables, launches.
#include "cuda/families/integer/integer_tensor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace integer {
namespace {

constexpr std::int64_t kMostTaps = 8192;  // whose sums of products of bytes, two a tap, 32 bits hold
constexpr std::int64_t kMostFilters = 256;
constexpr int kLeastMajor = 8;

// Digits that all sums need, whose taps have such magnitudes; samples 0: none.
Digits digits_of(const Problem& p) {
    Digits d{};
    const int sample = stored_bytes(p.dtype);
    const int out = stored_bytes(p.output_dtype);
    const int matter = keeps_low_bits(p) ? out : 8;
    const int tap = p.bits_of_tap <= 7 || matter == 1 ? 1 : p.bits_of_tap <= 15 || matter == 2 ? 2 : 0;
    if (sample > 4 || tap == 0) { return d; }
    const int most = std::min(matter, out < 8 ? 4 : 8);
    d = {sample, tap, std::min(sample + tap - 1, most)};
    if (tensor_kernel(d) == nullptr) { d.sums = sample + tap - 1; }
    return tensor_kernel(d) == nullptr ? Digits{} : d;
}

int products_of(const Digits& d) {
    int products = 0;
    for (int i = 0; i < d.samples; ++i) { products += std::clamp(d.sums - i, 0, d.taps); }
    return products;
}

int most_before(const Digits& d) { return 16 / d.samples - 1; }

// Shared memory of a block.
struct Shape {
    int tap_words = 0, table_words = 0, plane_bytes = 0, planes_at = 0, stage_at = 0;
    std::int64_t bytes = 0;
};
Shape shape_of(const Problem& p, const Digits& d) {
    constexpr int kLine = 128;
    const int steps = tensor_steps(p.x.k, most_before(d));
    Shape s;
    s.tap_words = static_cast<int>(divide_up(p.x.k, 4));
    s.table_words = table_words(steps);
    s.plane_bytes = kTensorOutputs + 32 * steps;
    s.planes_at = (4 * d.taps * s.table_words * 4 + kLine - 1) / kLine * kLine;
    s.stage_at = s.planes_at + d.samples * s.plane_bytes;
    s.bytes = s.stage_at + std::int64_t{kTensorOutputs} * stored_bytes(p.output_dtype);
    return s;
}

// Of a filter's digits, with what is added to its sums.
std::int64_t filter_words(const Digits& d, const Shape& s) { return (d.taps * s.tap_words + 1) / 2 * 2 + 2; }

bool turns_signs(const Problem& p) { return is_signed(p.dtype); }

class IntegerTensor final : public IntegerRung {
public:
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "44";
        info.name = "integer_tensor";
        info.idea =
            "samples and taps as bytes, whose products tensor cores add up exactly in 32 bits: a sum for each power of 256 that "
            "matters";
        info.changed = "hundreds of taps cost less than the memory that they run over";
        info.requirements =
            "samples of at most 32 bits and outputs side by side; taps of 8 or 16 bits, at most 8,192; outputs that fit or wrap";
        info.limited_by = "memory up to a hundred taps, then tensor cores and the shared memory that feeds them";
        info.source = "src/cuda/families/integer/integer_tensor.cuh";
        info.takes_pieces = 1;
        info.takes_outer = 1;
        return info;
    }
    [[nodiscard]] Refusal refuse_sums(const Problem& p, const cuda_abi::Device& device) const override {
        if (device.major < kLeastMajor) { return "needs tensor cores for bytes, from compute capability 8.0 on"; }
        if (p.x.in_stride != 1 || p.x.out_stride != 1) { return "samples or outputs do not lie side by side"; }
        if (p.dtype == kBoolean || p.output_dtype == kBoolean || !is_integer(p.output_dtype)) {
            return "takes and gives integers only, no bool";
        }
        if (p.scale != 1 || p.bias != 0 || p.has_clamp) { return "neither scales nor limits sums"; }
        if (!knows_taps(p)) { return "the taps' magnitudes are not known"; }
        if (may_overflow(p, likely_bound(p)) || sum_bits(p, likely_bound(p)) != 64) { return "an output might not fit its type"; }
        if (p.x.k > kMostTaps) { return "more than " + std::to_string(kMostTaps) + " taps"; }
        if (p.filters > kMostFilters) { return "more than " + std::to_string(kMostFilters) + " filters"; }
        const Digits d = digits_of(p);
        if (d.samples == 0) { return "samples of 64 bits, or taps of more than 16"; }
        if (shape_of(p, d).bytes > device.shared_bytes_per_block) { return "a tile is more than shared memory holds"; }
        return {};
    }
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
        const double again = 1 + static_cast<double>(p.x.k) / kTensorOutputs / 4;  // mostly from the L2 cache
        const double outer = static_cast<double>(p.outer_length());
        const double bytes = outer * (static_cast<double>(p.samples()) * stored_bytes(p.dtype) * again +
                                      static_cast<double>(p.outputs()) * stored_bytes(p.output_dtype));
        return kLaunchSeconds + kColdSeconds + overlapped(bytes / (kShareOfMoving * device.copy_bytes_per_second), computing, 3);
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Digits& d = prepared.chosen_as<ChosenTensor>().digits;
        return std::to_string(products_of(d)) + (products_of(d) == 1 ? " product" : " products") + " of bytes, " +
               std::to_string(d.sums) + (d.sums == 1 ? " sum" : " sums") + " of 32 bits";
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
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenTensor>();
        const auto pitch = static_cast<std::size_t>(filter_words(chosen.digits, chosen.shape)) * 4;
        const auto plane = static_cast<std::size_t>(chosen.shape.tap_words) * 4;
        std::vector<std::byte> bytes(pitch * static_cast<std::size_t>(p.filters));
        const auto* const taps = static_cast<const std::int64_t*>(prepared.given.taps);
        for (std::int64_t f = 0; f < p.filters; ++f) {
            std::byte* const to = bytes.data() + static_cast<std::size_t>(f) * pitch;
            std::uint64_t sum = 0;
            for (std::int64_t t = 0; t < p.x.k; ++t) {
                const auto tap = static_cast<std::uint64_t>(taps[f * p.x.k + t]);
                sum += tap;
                for (int j = 0; j < chosen.digits.taps; ++j) {
                    to[static_cast<std::size_t>(j) * plane + static_cast<std::size_t>(t)] = static_cast<std::byte>(tap >> (8 * j));
                }
            }
            // What turned signs have added to every sample.
            const std::uint64_t added = turns_signs(p) ? ~(sum << (bits_of(p.dtype) - 1)) + 1 : 0;
            std::memcpy(to + plane * static_cast<std::size_t>(chosen.digits.taps), &added, sizeof added);
        }
        return bytes;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenTensor>();
        Tensor g{};
        g.signal = signal_of(prepared, job, on_device, nullptr);
        if (g.signal.a.in_sample != 1 || g.signal.a.out_sample != 1) { refuse_launch(); }
        g.taps = static_cast<const unsigned*>(on_device.tables);
        g.filter_words = filter_words(chosen.digits, chosen.shape);
        g.tap_words = chosen.shape.tap_words;
        g.table_words = chosen.shape.table_words;
        g.plane_bytes = chosen.shape.plane_bytes;
        g.planes_at = chosen.shape.planes_at;
        g.stage_at = chosen.shape.stage_at;
        constexpr std::array<unsigned, 5> kSigns{0, 0x80808080, 0x80008000, 0, 0x80000000};
        g.flip = turns_signs(p) ? kSigns.at(static_cast<std::size_t>(chosen.digits.samples)) : 0;
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

private:
    static constexpr int kBlocksAtOnce = 16;  // of a multiprocessor, with those that follow
    static constexpr std::int64_t kMostTilesOfBlock = 4;

    struct ChosenTensor : ChosenInteger {
        using ChosenInteger::ChosenInteger;
        Digits digits{};
        Shape shape;
        TensorKernel kernel = nullptr;
    };
};

}  // namespace
}  // namespace integer

const Rung& integer_tensor() {
    static const integer::IntegerTensor rung;
    return rung;
}

}  // namespace tapline::cuda
