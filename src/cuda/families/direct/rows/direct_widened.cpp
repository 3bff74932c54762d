// Rung 37: what it supports, what it costs, how it is launched.
#include "cuda/families/direct/rows/direct_widened.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/direct/direct.hpp"
#include "cuda/launch.hpp"
#include "cuda/primitives/lines/lines.hpp"

namespace tapline::cuda {
namespace {

using widened::kTile;

class DirectWidened final : public Rung {
public:
    static constexpr Head kHead{"37", "direct_widened", "", R"(
Idea: samples of 8 and 16 bits are widened on their way from memory to registers, where a window of them slides under taps that
are kernel parameters; sums leave as floats
Changed: few taps of integers and 16-bit floats cost what their bytes cost: nothing passes through shared memory before it is
summed
Requires: at most 36 taps of f32, one filter; samples of i8, u8, i16, u16, f16 or bf16 side by side; outputs of f32
Limited by: memory up to some thirty taps, then multiply-adds
)"};

    DirectWidened() : Rung(kHead, {.source = "src/cuda/families/direct/rows/direct_widened.cuh", .takes_pieces = 1}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device&) const override {
        if (p.x.k > few::kFewTaps) { return "more than " + std::to_string(few::kFewTaps) + " taps"; }
        if (p.is_exact() || p.taps_dtype != kF32 || p.output_dtype != kF32 || widened::kernel_of(p.dtype, p.x.k) == nullptr) {
            return "takes samples of 8 or 16 bits with taps and outputs of f32";
        }
        if (p.filters > 1) { return "rows have filters of their own"; }
        if (p.x.in_stride != 1 || p.x.out_stride != 1) { return "samples or outputs of a row do not lie side by side"; }
        if (!constant_fits(p)) { return "the boundary's constant is no value of the samples' type"; }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const auto rows = static_cast<double>(p.batch.length);
        const auto outputs = static_cast<double>(p.x.outputs);
        const double made = std::ceil(outputs / kTile) * kTile * rows;
        const double bytes = rows * (static_cast<double>(p.x.n) * stored_bytes(p.dtype) + outputs * stored_bytes(kF32));
        const double products = static_cast<double>(p.x.k) * kWaste + kOutputProducts;
        // A vector at an edge is read element by element, but where it is all zeros.
        const bool alike = rows == 1 || p.x.n * stored_bytes(p.dtype) % 16 == 0;
        const double tiles = p.x.boundary != kZero ? 2 : alike ? 0 : 1;  // of a row
        const double edges = tiles * kEdgeSeconds * std::max(rows / device.multiprocessors, 2.0);
        return kStartSeconds + edges +
               overlapped(bytes / (kMovingShare * device.copy_bytes_per_second),
                          2 * made * products / (kShareOfPeak * device.peak_flops), kNorm);
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenWidened>();
        chosen->kernel = widened::kernel_of(prepared.problem.dtype, prepared.problem.x.k);
        load_kernel(chosen->kernel);
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        Arguments a = arguments_of(prepared, job, on_device);
        a.taps = on_device.taps;
        a.plain_layout = a.in_sample == 1 && a.out_sample == 1;
        a.plain_store = !prepared.problem.changes_sums();
        const std::int64_t per_vector = 16 / stored_bytes(prepared.problem.dtype);
        a.tiles = divide_up(a.count + per_vector - 1, std::int64_t{kTile});
        const auto& taps = *reinterpret_cast<const few::TapsByValue<float>*>(prepared.host_taps.data());
        launch_kernel(prepared.chosen_as<ChosenWidened>().kernel,
                      grid_of_rows(divide_up(a.tiles, std::int64_t{widened::kThreads / 32}), a.rows), widened::kThreads,
                      widened::kSharedBytes, stream, a, taps);
    }

private:
    struct ChosenWidened : Chosen {
        widened::Kernel kernel = nullptr;
    };
    // H100: 2^24 samples of i16 and f16 with 9 and 31 taps 38 and 46 us, of u8 31 and 40; i16 with 31 taps, reflected, one row 53
    // us, 4,096 rows of 4,096 133 us.
    static constexpr double kStartSeconds = 2e-6;
    static constexpr double kEdgeSeconds = 1.4e-6;
    static constexpr double kMovingShare = 0.97;
    static constexpr double kWaste = 1.4;
    static constexpr double kOutputProducts = 10;
    static constexpr double kNorm = 3;
};

}  // namespace

const Rung& direct_widened() { return core::only<DirectWidened>(); }

}  // namespace tapline::cuda
