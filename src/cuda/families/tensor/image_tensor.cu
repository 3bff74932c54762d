// The rung on tensor cores for images: what it supports, its tables of taps, how it is launched.
#include "cuda/families/tensor/image_tensor.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cuda/families/common/images.hpp"
#include "cuda/families/direct/image_direct.hpp"
#include "cuda/families/tensor/image_tensor.cuh"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace {

namespace tc = image_tensor_rung;

// What an output costs, in multiply-adds of the f32 peak (H200, tapline ladder --image 4096x4096[x3]): loading, splitting and
// storing it, from a plane or from interleaved channels, and a step of 16 taps in three products.
constexpr double kOutputCost = 140;
constexpr double kInterleavedOutputCost = 300;
constexpr double kStepCost = 5.85;

// Steps that are added up in tensor cores alone, with masks of up to 15 x 17 taps.
constexpr std::int64_t kMostUnflushed = 30;

int steps_of(const Problem& p) { return tc::steps_of(static_cast<int>(p.x.k)); }

using Kernel = void (*)(ImageArguments, tc::Scales);

Kernel kernel_of(const Problem& p) {
    const int steps = steps_of(p);
    switch (steps) {
        case 2:
            return p.y.k * steps <= kMostUnflushed ? &tc::kernel<2, false> : &tc::kernel<2, true>;
        case 3:
            return &tc::kernel<3, true>;
        case 4:
            return &tc::kernel<4, true>;
        default:
            return &tc::kernel<5, true>;
    }
}

struct ChosenTensor final : Chosen {
    image_direct_rung::ExactKernel exact = nullptr;  // or else:
    Kernel kernel = nullptr;
    std::size_t shared_bytes = 0;
};

std::size_t shared_bytes(const Problem& p) {
    return static_cast<std::size_t>(tc::kTileRows + p.y.k - 1) * static_cast<std::size_t>(tc::pitch_of(steps_of(p)));
}

// Of the largest tap of all masks; 0 where all are zero.
int exponent_of(const float* taps, std::size_t count) {
    float largest = 0;
    for (std::size_t i = 0; i < count; ++i) { largest = std::max(largest, std::fabs(taps[i])); }
    return largest == 0 ? 0 : std::max(std::ilogb(largest), tensor::kTopExponent - 127);
}

std::size_t taps_of(const Problem& p) { return static_cast<std::size_t>(p.filters * p.y.k * p.x.k); }

class ImageTensor final : public Rung {
public:
    static constexpr Head kHead{"06", "image_tensor", "", R"(
Idea: A row of the mask is a product of matrices: rows of the image as they lie, and the row's taps in every position. Tensor
cores add up one product for each row of the mask in the same registers; floats are two halves each.
Changed: multiply-adds limited: tensor cores do sixteen times as many in half precision
Requires: compute capability 8.0; f32; mask rows of at most 65 taps, columns whose tile fits in shared memory; not under strict
accuracy
Limited by: the tensor cores: a quarter to a half of what they multiply is zeros around the taps
)"};

    ImageTensor() : Rung(kHead, {.source = "src/cuda/families/tensor/image_tensor.cuh", .rank = 2, .takes_pieces = 1}) {}

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.dtype != kF32 || p.taps_dtype != kF32) { return "takes only f32, and real taps"; }
        if (device.major < 8) { return "the device's tensor cores do not have its products (compute capability 8.0)"; }
        if (p.accuracy == Accuracy::strict) { return "tensor cores cut sums off: not under strict accuracy"; }
        if (p.x.k > tc::kMostWidth) { return "takes mask rows of at most " + std::to_string(tc::kMostWidth) + " taps"; }
        if (p.y.k > 1024 || shared_bytes(p) > shared_limit(device) - 1024) { return "its tile does not fit in shared memory"; }
        if (p.channels.length > 64) { return "takes one channel at a time: at most 64"; }
        return refuse_image(p);
    }

    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const double factor = device.major >= 9 ? 1 : device.minor == 0 ? 0.7 : 3;  // as for signals
        const double besides = p.channels.length == 1 ? kOutputCost : kInterleavedOutputCost;
        const double products = kStepCost * factor * steps_of(p) * static_cast<double>(p.y.k);
        // A block by itself: H100, 303 x 91 with 292 x 15 taps 184 us, 59 x 1091 with 35 x 1 30, 7 of 61 x 48, nearest, with 1 x
        // 36 26.
        constexpr double kBlockSeconds = 7e-6;
        constexpr double kEdgeSeconds = 7e-6;
        constexpr double kRowSeconds = 0.6e-6;
        const double alone =
            kBlockSeconds + (image_boundary(p) == kZero ? 0 : kEdgeSeconds) + kRowSeconds * static_cast<double>(p.y.k);
        return kLaunchSeconds +
               std::max({seconds_to_move_planes(p, device), alone,
                         2 * outputs_in_tiles(p, tc::kTileRows, tc::kTileColumns) * (besides + products) / device.peak_flops});
    }

    // For each row of each mask: pairs of neighbouring taps that begin at even and at odd places of the row, its high halves, then
    // the low ones (as tensor::split_taps_to_halves).
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        if (!p.taps_finite) { return {}; }
        const auto* taps = static_cast<const float*>(prepared.given.taps);
        const int width = static_cast<int>(p.x.k);
        const int entries = tc::entries_of(steps_of(p));
        const int exponent = exponent_of(taps, taps_of(p));
        const std::int64_t rows = p.filters * p.y.k;
        std::vector<std::byte> table(static_cast<std::size_t>(rows) * 4 * entries * 8);
        std::byte* to = table.data();
        const auto half_of = [&](const float* row, int place, bool low) {
            const int t = place - tc::kLead;
            const float tap = t >= 0 && t < width ? std::ldexp(row[t], tensor::kTopExponent - exponent) : 0.0F;
            const __half high = __float2half_rn(tap);
            return low ? __float2half_rn(tap - __half2float(high)) : high;
        };
        for (std::int64_t r = 0; r < rows; ++r) {
            for (int kind = 0; kind < 4; ++kind) {
                for (int entry = 0; entry < entries; ++entry) {
                    for (int word = 0; word < 2; ++word) {
                        for (int side = 0; side < 2; ++side, to += sizeof(__half)) {
                            const __half value = half_of(taps + r * width, 2 * (entry + 4 * word) + kind % 2 + side, kind >= 2);
                            std::memcpy(to, &value, sizeof value);
                        }
                    }
                }
            }
        }
        prepared.tap_exponent = exponent;
        return table;
    }

    // A tile has one scale.
    [[nodiscard]] std::int64_t granularity(const Prepared&) const override { return tc::kTileRows; }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        if (!prepared.problem.taps_finite) { return "term by term: the mask holds a NaN or an infinity"; }
        return "tiles of " + std::to_string(tc::kTileRows) + " x " + std::to_string(tc::kTileColumns) + " pixels, " +
               std::to_string(steps_of(prepared.problem)) + " steps of 16 taps for each row of the mask";
    }

    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenTensor>();
        if (p.taps_finite) {
            chosen->kernel = kernel_of(p);
            chosen->shared_bytes = shared_bytes(p);
            load_kernel(chosen->kernel, chosen->shared_bytes, prepared.device);
        } else {
            chosen->exact = image_direct_rung::load_exact(p);
        }
        return chosen;
    }

    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenTensor>();
        if (chosen.exact != nullptr) { return image_direct_rung::launch_exact(chosen.exact, prepared, job, on_device, stream); }
        ImageArguments a = image_arguments_of(prepared, job, on_device);
        const dim3 grid = image_grid_of_planes(a, tc::kTileRows, tc::kTileColumns);
        tc::Scales s{};
        s.tap_exponent = prepared.tap_exponent;
        s.plain_pairs = a.channels == 1 && a.common.plain_store != 0 && a.common.converts == 0 &&
                        reinterpret_cast<std::uintptr_t>(a.out) % 8 == 0 && a.out_row % 2 == 0 && a.out_image % 2 == 0;
        launch_kernel(chosen.kernel, grid, tc::kThreads, chosen.shared_bytes, stream, a, s);
    }
};

}  // namespace

const Rung& image_tensor() { return core::only<ImageTensor>(); }

}  // namespace tapline::cuda
