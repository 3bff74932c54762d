// Rung 47: what it supports, what it costs, how it is launched.
#include "cuda/families/tensor/short/short_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/ordered_taps.hpp"
#include "cuda/families/direct/direct_policies.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace {

using short_rows::groups;
using short_rows::kChunk;
using short_rows::kMostChunks;
using short_rows::kTileRows;
using short_rows::Shape;

constexpr std::int64_t kMostSamples = std::int64_t{kMostChunks} * kChunk;
// Entries of T are sums over the taps that a boundary brings to one sample: they are made anew in each launch.
constexpr std::int64_t kMostTapsRepeated = 1024;
constexpr std::int64_t kMostTaps = std::int64_t{1} << 30;  // positions are counted in 32 bits

int chunks_of(const Problem& p) { return static_cast<int>(divide_up(std::max(p.x.n, p.x.outputs), kChunk)); }

/// Samples that outputs [first, first + count) read, if nothing is repeated.
struct Read {
    std::int64_t begin, end;
};
Read read_of(const Problem& p, std::int64_t first, std::int64_t count) {
    if (p.x.boundary != kZero) { return {0, p.x.n}; }
    const std::int64_t begin = std::clamp<std::int64_t>(first - p.x.origin, 0, p.x.n);
    return {begin, std::clamp<std::int64_t>(first + count + p.x.k - 1 - p.x.origin, begin, p.x.n)};
}

class ShortRows final : public DirectRung {
public:
    static constexpr Head kHead{"47", "short_rows", "", R"(
Idea: a row's outputs are its samples times one matrix, the same for all rows, in which each tap stands wherever it meets a
sample: rows go from memory to registers, through tensor cores, and back
Changed: a row is no band with room around it: what a window reads beyond its ends is not multiplied, or folded into the matrix
Requires: compute capability 9.0; f32; one filter; rows and outputs of at most 128 side by side; any boundary but a constant one;
not under strict accuracy
Limited by: memory
)"};

    ShortRows()
        : DirectRung(kHead, {.source = "src/cuda/families/tensor/short/short_rows.cuh",
                             .takes_pieces = 1,
                             .granularity = static_cast<std::int32_t>(kMostSamples)}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.is_exact()) { return "integers are exact on the CPU only"; }
        if (device.major != 9 || short_rows::kernel_of(1) == nullptr) {
            return "the device's tensor cores do not have its products (compute capability 9.0)";
        }
        if (p.accuracy == Accuracy::strict) { return "tensor cores cut sums off: not under strict accuracy"; }
        if (p.filters > 1) { return "rows have filters of their own"; }
        if (p.dtype != kF32 || p.taps_dtype != kF32 || p.output_dtype != kF32) { return "samples, taps and outputs must be f32"; }
        if (p.x.n < 1 || p.x.n > kMostSamples || p.x.outputs > kMostSamples) {
            return "rows of more than " + std::to_string(kMostSamples) + " samples or outputs";
        }
        if (p.x.in_stride != 1 || p.x.out_stride != 1) { return "samples must lie side by side"; }
        if (p.x.boundary == kConstant) { return "a constant boundary adds what is no product with samples"; }
        if (std::max(std::abs(p.x.origin), p.x.k) > kMostTaps) { return "a window too far from its outputs"; }
        if (p.x.boundary != kZero && p.x.k > kMostTapsRepeated) {
            return "more than " + std::to_string(kMostTapsRepeated) + " taps meet repeated samples";
        }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const bool in_bulk = p.batch.in_stride == p.x.n && p.batch.out_stride == p.x.outputs;
        const bool alike = p.x.n % 4 == 0 && p.batch.in_stride % 4 == 0 && p.x.outputs % 4 == 0 && p.batch.out_stride % 4 == 0;
        const double bytes = 4.0 * static_cast<double>(p.batch.length) * static_cast<double>(p.x.n + p.x.outputs);
        const double share = in_bulk ? kShareInBulk : alike ? kShareOfVectors : kShareOneByOne;
        const int chunks = chunks_of(p);
        const int held = in_bulk ? groups_held(p.x.n, p.x.outputs, chunks, device) : groups(chunks);
        const double tiles = std::ceil(static_cast<double>(divide_up(p.batch.length, kTileRows)) / device.multiprocessors);
        const double computing = tiles * (kTileSeconds + kChunkSeconds * chunks) / std::max(held, 1);
        return kStartSeconds + overlapped(bytes / (share * device.copy_bytes_per_second), computing, kNorm);
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        return std::to_string(kTileRows) + " rows times a matrix of " + std::to_string(p.x.n) + " x " + std::to_string(p.x.outputs);
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenRows>(prepared);
        chosen->chunks = chunks_of(prepared.problem);
        chosen->kernel = short_rows::kernel_of(chosen->chunks);
        if (chosen->kernel == nullptr) { refuse_policy(); }
        load_kernel(chosen->kernel, static_cast<std::size_t>(prepared.device.shared_bytes_per_block), prepared.device);
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenRows>();
        const Problem& p = prepared.problem;
        const Arguments a = arguments_of(prepared, job, on_device);
        // What no output reads must not change a row's scale, whoever has it in the piece.
        const Read read = read_of(p, a.first, a.count);
        const std::int64_t begin = std::max(read.begin, a.in_first);
        const std::int64_t end = std::max(std::min(read.end, a.in_last), begin);
        Shape g{};
        g.first_sample = static_cast<int>(begin - a.in_first);
        g.samples = static_cast<int>(end - begin);
        g.outputs = static_cast<int>(a.count);
        g.in_vectors = lie_whole(static_cast<const float*>(a.in) + g.first_sample, g.samples, a.in_row) ? 1 : 0;
        g.out_vectors = lie_whole(a.out, a.count, a.out_row) ? 1 : 0;
        g.tiles = divide_up(a.rows, kTileRows);
        const auto lies_on_16 = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; };
        int threads = short_rows::threads(chosen.chunks);
        int shared = short_rows::entries_bytes(chosen.chunks);
        const int held = groups_held(g.samples, g.outputs, chosen.chunks, prepared.device);
        if (a.in_row == g.samples && a.out_row == g.outputs && lies_on_16(a.in) && lies_on_16(a.out) && a.rows > 1 && held > 0) {
            g.buffer_bytes = buffer_bytes(g.samples, g.outputs);
            threads = held * tensor::kThreads;
            shared += held * short_rows::kBuffers * g.buffer_bytes;
        }
        const std::int64_t blocks = std::min<std::int64_t>(g.tiles, prepared.device.multiprocessors);
        launch_kernel(chosen.kernel, static_cast<unsigned>(blocks), static_cast<unsigned>(threads),
                      static_cast<std::size_t>(shared), stream, a, g);
    }

private:
    struct ChosenRows : OrderedTaps {
        using OrderedTaps::OrderedTaps;
        int chunks = 0;
        short_rows::Kernel kernel = nullptr;
    };

    static bool lie_whole(const void* first, std::int64_t size, std::int64_t row) {
        return reinterpret_cast<std::uintptr_t>(first) % 16 == 0 && size % 4 == 0 && row % 4 == 0;
    }
    static int buffer_bytes(std::int64_t samples, std::int64_t outputs) {
        constexpr std::int64_t kLine = 128;
        return static_cast<int>(divide_up(kTileRows * 4 * std::max(samples, outputs), kLine) * kLine);
    }
    /// Warpgroups that have room for their buffers.
    static int groups_held(std::int64_t samples, std::int64_t outputs, int chunks, const cuda_abi::Device& device) {
        const int room = device.shared_bytes_per_block - short_rows::entries_bytes(chunks);
        return std::min(room / (short_rows::kBuffers * buffer_bytes(samples, outputs)), groups(chunks));
    }
    // Fitted on an H100 (copy 2.9 TB/s): in bulk 800,000 rows of 128, 120 and 96 358, 345 and 243 us, 10^6 of 101 and 100 323 and
    // 328, 1,500,000 of 64 297, 3,000,000 of 32 286, whatever the taps; by vectors, before there were copies in bulk, 128, 100 and
    // 64 420, 559 and 364, one by one 101 684.
    static constexpr double kStartSeconds = 12e-6;
    static constexpr double kShareInBulk = 0.97;
    static constexpr double kShareOfVectors = 0.5;
    static constexpr double kShareOneByOne = 0.4;
    static constexpr double kTileSeconds = 0.5e-6;   // of a warpgroup
    static constexpr double kChunkSeconds = 1.5e-6;  // for each chunk of a row
    static constexpr double kNorm = 4;
};

}  // namespace

const Rung& short_rows_rung() { return core::only<ShortRows>(); }

}  // namespace tapline::cuda
