// Rung 12: the planes' problem, how many images go at a time, launches.
#include "cuda/families/image_planes/image_planes.hpp"

#include <algorithm>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/rung_inside.hpp"
#include "cuda/families/common/workspace.hpp"
#include "cuda/launch.hpp"
#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda {
namespace {

using image_planes_rung::Kernel;
using image_planes_rung::kThreads;
using image_planes_rung::Passage;

// Of the copy's speed, by the passes (H100, 1024 x 1024 x 32 f32: 192 us), and with few channels (H200: 6,451 x 1,118 x 3 f32 under
// one tap 216 us, 10,611 x 368 x 4 under 1 x 31 176).
constexpr double kShareMoved = 0.93;
constexpr double kShareOfFew = 0.6;
constexpr std::int64_t kFewChannels = 4;
// Of an element in a pass, in multiply-adds (H200: 511,986 x 28 x 4 f16, 2 x 21 taps 665 us, with planes as they are 360).
constexpr double kElementCost = 90;
constexpr double kElementCostOfMany = 45;

// Bytes of images' planes, before and after.
std::int64_t input_bytes(const Problem& p, std::int64_t images) {
    return aligned_bytes(images * p.channels.length * p.y.n * p.x.n * stored_bytes(p.dtype));
}
std::int64_t output_bytes(const Problem& p, std::int64_t images) {
    return aligned_bytes(images * p.channels.length * p.y.outputs * p.x.outputs * stored_bytes(p.output_dtype));
}

// The planes of so many images.
Problem planes_of(const Problem& p, std::int64_t images) {
    Problem inner = p;
    inner.x.in_stride = inner.x.out_stride = 1;
    inner.y.in_stride = p.x.n;
    inner.y.out_stride = p.x.outputs;
    inner.batch = {images * p.channels.length, p.x.n * p.y.n, p.x.outputs * p.y.outputs, 0};
    inner.channels = {};
    inner.separable = 0;  // its factors are not known here
    inner.exact_specials = false;
    return inner;
}

class ImagePlanes final : public Rung {
public:
    static constexpr Head kHead{"12", "image_planes", "", R"(
Idea: interleaved channels are turned into planes, the fastest rung for those filters them, and its outputs are turned back: each
pass reads and writes whole lines
Changed: many channels under large masks cost two copies more than planes, not a sector of memory for each element
Requires: two channels or more, side by side, under one mask; real samples; whole images; workspace
Limited by: the passes, and what limits the planes' rung
)"};

    ImagePlanes() : Rung(kHead, {.source = "src/cuda/families/image_planes/image_planes.cu", .rank = 2}) {}

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.channels.length < 2 || !p.has_packed_pixels() || p.channels.in_stride != 1 || p.channels.out_stride != 1) {
            return "takes channels that lie side by side";
        }
        if (p.filters != 1) { return "takes one mask for all channels"; }
        // A complex element lies where its parts may, so that it is no raw element of its size.
        if (is_complex(p.dtype)) { return "takes no complex samples"; }
        if (input_bytes(p, 1) + output_bytes(p, 1) > device.memory_bytes / 2 && device.memory_bytes > 0) {
            return "the planes of an image need more than half of the device's memory";
        }
        return best_rung(planes_of(p, p.batch.length), device, asks_for_local(p)).rung < 0 ? "no rung takes the planes" : "";
    }

    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        // H200: 1,663 images of 26 x 9 x 4 f16, 11 x 3 taps 48 us, 2,880 of 17 x 21 x 2 f64, 18 x 7 105; 297 x 213 x 4 u8, 18 x
        // 2 33.
        constexpr double kImageSeconds = 20e-9;
        constexpr double kAroundSeconds = 8e-6;
        constexpr double kAroundBytesSeconds = 18e-6;
        constexpr double kTimesInner = 1.25;
        const double share = p.channels.length <= kFewChannels ? kShareOfFew : kShareMoved;
        const auto passing = [&](std::int64_t bytes, Dtype dtype) {
            const double elements = static_cast<double>(bytes) / stored_bytes(dtype);
            return std::max(
                2 * static_cast<double>(bytes) / (share * device.copy_bytes_per_second),
                2 * (p.channels.length <= kFewChannels ? kElementCost : kElementCostOfMany) * elements / device.peak_flops);
        };
        return (stored_bytes(p.dtype) == 1 ? kAroundBytesSeconds : kAroundSeconds) +
               kImageSeconds * static_cast<double>(p.batch.length) + passing(input_bytes(p, p.batch.length), p.dtype) +
               passing(output_bytes(p, p.batch.length), p.output_dtype) +
               kTimesInner * best_rung(planes_of(p, p.batch.length), device, asks_for_local(p)).seconds;
    }

    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        return "planes " + by_inside(*prepared.chosen_as<ChosenPlanes>().inner);
    }

    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenPlanes>();
        const std::int64_t room =
            prepared.device.memory_bytes / 2 / std::max<std::int64_t>(input_bytes(p, 1) + output_bytes(p, 1), 1);
        chosen->images = std::clamp<std::int64_t>(room, 1, p.batch.length);
        chosen->to_planes = image_planes_rung::to_planes(stored_bytes(p.dtype));
        chosen->from_planes = image_planes_rung::from_planes(stored_bytes(p.output_dtype));
        load_kernel(chosen->to_planes);
        load_kernel(chosen->from_planes);
        chosen->inner = prepare_inside(planes_of(p, chosen->images), prepared.given.taps, prepared.device, asks_for_local(p));
        return chosen;
    }

    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenPlanes>();
        return kWorkspaceAlignment + input_bytes(prepared.problem, chosen.images) + output_bytes(prepared.problem, chosen.images) +
               chosen.inner->workspace_bytes;
    }

    void launch(const Prepared& prepared, const Job& job, const OnDevice&, void* workspace, cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenPlanes>();
        char* const memory = aligned(workspace);
        char* const before = memory;
        char* const after = before + input_bytes(p, chosen.images);
        char* const inner_workspace = after + output_bytes(p, chosen.images);
        const Problem& inner = chosen.inner->problem;
        for (std::int64_t first = 0; first < job.batch; first += chosen.images) {
            const std::int64_t images = std::min(chosen.images, job.batch - first);
            const auto* in =
                static_cast<const char*>(job.in) + (first * job.in_batch - job.in_first * job.in_stride) * stored_bytes(p.dtype);
            pass(chosen.to_planes, stored_bytes(p.dtype),
                 {in, before, p.x.n, p.y.n, images, p.channels.length, job.in_stride, job.in_batch, 0, 0, 0, 0, 0}, stream);
            Job planes;
            planes.out = after;
            planes.count = p.y.outputs;
            planes.out_batch = inner.batch.out_stride;
            planes.out_stride = inner.y.out_stride;
            planes.in = before;
            planes.in_last = planes.n = p.y.n;
            planes.in_batch = inner.batch.in_stride;
            planes.in_stride = inner.y.in_stride;
            planes.batch = images * p.channels.length;
            chosen.inner->rung->launch(*chosen.inner, planes, chosen.inner->on_device, inner_workspace, stream);
            auto* out = static_cast<char*>(job.out) + first * job.out_batch * stored_bytes(p.output_dtype);
            pass(chosen.from_planes, stored_bytes(p.output_dtype),
                 {after, out, p.x.outputs, p.y.outputs, images, p.channels.length, job.out_stride, job.out_batch, 0, 0, 0, 0, 0},
                 stream);
        }
    }

private:
    struct ChosenPlanes final : Chosen {
        std::int64_t images = 1;  // at a time
        Kernel to_planes = nullptr, from_planes = nullptr;
        RungInside inner;
    };

    static void pass(Kernel kernel, int bytes, Passage p, cudaStream_t stream) {
        // Rows one after the other are one.
        if (p.row == p.width * p.channels) {
            p.width *= p.height;
            p.height = 1;
        }
        constexpr std::int64_t kWarp = 32;
        p.tile_channels = static_cast<int>(std::min<std::int64_t>(p.channels, image_planes_rung::kChannels));
        p.tile_pixels =
            static_cast<int>(image_planes_rung::kChannels * image_planes_rung::pixels(bytes) / p.tile_channels / kWarp * kWarp);
        // Channels begin so far apart that neighbours of a few pixels meet in no bank.
        const int of_word = image_planes_rung::elements_of_word(bytes);
        p.pitch = p.tile_pixels + of_word * static_cast<int>(divide_up(image_planes_rung::kChannels, p.tile_channels));
        p.pixel_tiles = divide_up(p.width, p.tile_pixels);
        p.channel_tiles = divide_up(p.channels, p.tile_channels);
        const double blocks = static_cast<double>(p.pixel_tiles) * static_cast<double>(p.channel_tiles) *
                              static_cast<double>(p.height) * static_cast<double>(p.images);
        if (blocks > static_cast<double>(kMostBlocks)) { refuse_launch(); }
        launch_kernel(kernel, static_cast<unsigned>(p.pixel_tiles * p.channel_tiles * p.height * p.images), kThreads, 0, stream, p);
    }
};

}  // namespace

const Rung& image_planes() { return core::only<ImagePlanes>(); }

}  // namespace tapline::cuda
