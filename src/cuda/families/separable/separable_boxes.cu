// The separable kernel for means: its sizes, its cost, how it is launched.
#include "cuda/families/separable/separable_boxes.cuh"

#include <algorithm>
#include <cmath>

#include "cuda/families/common/images.hpp"
#include "cuda/families/separable/separable_launch.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda::image_separable_rung {
namespace {

namespace boxes = image_boxes_rung;

struct BoxSizes {
    int tile_columns, threads;
    boxes::Window down, along;
    std::size_t bytes;
};

// Strips as wide as a block's threads allow, of equal width.
BoxSizes sizes_of(std::int64_t outputs, std::int64_t height, std::int64_t width) {
    const std::int64_t threads = 2 * width <= boxes::kUsualThreads ? boxes::kUsualThreads : boxes::kMostThreads;
    const std::int64_t most = (threads - width + 1) / boxes::kRun * boxes::kRun;
    const std::int64_t strips = divide_up(outputs, most);
    BoxSizes s{};
    s.tile_columns = static_cast<int>(divide_up(divide_up(outputs, strips), boxes::kRun) * boxes::kRun);
    s.threads = boxes::threads_of(s.tile_columns, static_cast<int>(width));
    s.down = boxes::window_of(static_cast<int>(height));
    s.along = boxes::window_of(static_cast<int>(width));
    s.bytes = boxes::bytes_of(s.threads, s.down);
    return s;
}

Strips box_strips(const BoxSizes& s, std::int64_t outputs, std::int64_t rows, std::int64_t images, std::int64_t height) {
    // A block's beginning is added up down columns only. H100, 101 x 101 taps, 512 x 512, 1024 x 1024, 2048 x 2048 and 4096 x 4096
    // pixels 8.4, 10.7, 22.3 and 72.3 us; 201 x 201 taps 1024 x 1024 and 4096 x 4096 17 and 96.
    constexpr double kHaloCost = 0.25;
    Strips strips{};
    strips.strips = divide_up(outputs, s.tile_columns) * images;
    strips.rows = rows;
    strips.bytes = s.bytes;
    strips.most_held = boxes::kBlocks;
    strips.halo_rows = kHaloCost * static_cast<double>(height);
    return strips;
}

using BoxesKernel = void (*)(ImageArguments, boxes::Boxes);

struct ChosenBoxes final : ChosenKernel {
    explicit ChosenBoxes(const Prepared& prepared)
        : sizes(sizes_of(prepared.problem.x.outputs, prepared.problem.y.k, prepared.problem.x.k)),
          kernel(sizes.threads <= boxes::kUsualThreads ? &boxes::march_boxes<boxes::kUsualThreads>
                                                       : &boxes::march_boxes<boxes::kMostThreads>) {
        march.tile_columns = sizes.tile_columns;
        march.pitch = boxes::pitch_of(sizes.threads);
        march.down = sizes.down;
        march.along = sizes.along;
        march.tap = static_cast<const float*>(prepared.given.taps)[0];
        load_kernel(kernel, sizes.bytes, prepared.device);
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, cudaStream_t stream) const override {
        ImageArguments a = image_arguments_of(prepared, job, on_device);
        boxes::Boxes g = march;
        const Strips strips = box_strips(sizes, a.out_elements, a.rows, a.images, a.mask_height);
        g.segment_rows = segments_of(strips, prepared.device).segment_rows;
        const dim3 grid = image_grid(a, g.segment_rows, g.tile_columns);
        launch_kernel(kernel, grid, static_cast<unsigned>(sizes.threads), sizes.bytes, stream, a, g);
    }
    [[nodiscard]] std::string describe() const override {
        return "a mean, down strips of " + std::to_string(march.tile_columns) + " pixels, " + std::to_string(boxes::kRun) +
               " rows a step";
    }

    BoxSizes sizes;
    BoxesKernel kernel;
    boxes::Boxes march{};
};

}  // namespace

bool takes_boxes(const Problem& p, const cuda_abi::Device& device) {
    return std::min(p.y.k, p.x.k) >= boxes::kRun && p.x.k <= boxes::kMostWidth && p.channels.length == 1 &&
           sizes_of(p.x.outputs, p.y.k, p.x.k).bytes + kReservedBytes <= shared_limit(device);
}

double boxes_seconds(const Problem& p, const cuda_abi::Device& device) {
    // As measured above; of a run down columns with 401 x 31 taps, 93 us for 4096 x 4096 pixels.
    constexpr double kStepSeconds = 1.7e-6, kWideStepSeconds = 2.2e-6, kRunSeconds = 0.065e-6;
    const BoxSizes sizes = sizes_of(p.x.outputs, p.y.k, p.x.k);
    const double step = (sizes.threads <= boxes::kUsualThreads ? kStepSeconds : kWideStepSeconds) + kRunSeconds * sizes.down.runs;
    const Strips strips = box_strips(sizes, p.x.outputs, p.y.outputs, p.batch.length, p.y.k);
    return kLaunchSeconds + kColdSeconds +
           std::max(seconds_to_move(p, device), segments_of(strips, device).rows / boxes::kRun * step);
}

std::unique_ptr<const ChosenKernel> load_boxes(const Prepared& prepared) { return std::make_unique<ChosenBoxes>(prepared); }

}  // namespace tapline::cuda::image_separable_rung
