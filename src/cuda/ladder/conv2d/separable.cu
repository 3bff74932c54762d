// The separable rung: what it supports, its tiles, how it is launched.
#include "cuda/ladder/conv2d/separable.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/check.hpp"
#include "cuda/ladder/conv2d/05_separable.cuh"
#include "cuda/ladder/conv2d/production.hpp"
#include "tapline/types.hpp"

namespace tapline::cuda {
namespace {

namespace sep = image_separable_rung;
using sep::Layout;

constexpr int kPadding = 4;  // taps of a factor: 16 bytes
constexpr int kTileRows[] = {64, 48, 32, 16};
constexpr int kUsualRows = 32;  // more do not save enough of the halo
constexpr std::int64_t kMostMask = 512;
constexpr int kThreadsOne = 256;              // with one channel
constexpr std::size_t kReservedBytes = 1024;  // of each block, by the system
// In multiply-adds at the peak (H200, tapline ladder --image 4096x4096 --separable): a product, a pass of a rank, an output
// besides.
constexpr double kProductCost = 2.37;
constexpr double kRankCost = 70;
constexpr double kOutputCost = 53;

const void* kernel_of(const Layout& g, std::int64_t channels) {
    if (channels == 1) {
        return g.rank == 1 ? reinterpret_cast<const void*>(&sep::kernel<true, sep::kAcrossOne>)
                           : reinterpret_cast<const void*>(&sep::kernel<false, sep::kAcrossOne>);
    }
    return g.rank == 1 ? reinterpret_cast<const void*>(&sep::kernel<true, sep::kAcrossMany>)
                       : reinterpret_cast<const void*>(&sep::kernel<false, sep::kAcrossMany>);
}

int threads_of(const ImageProblem& p) { return p.channels == 1 ? kThreadsOne : sep::kMostThreads; }

std::size_t shared_bytes(const Layout& g, const ImageProblem& p) {
    const std::int64_t rows = g.tile_rows + p.mask_height - 1 + (g.rank == 1 ? 0 : g.tile_rows);
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(g.pitch) * sizeof(float);
}

// tile_rows = 0: no tile fits in shared memory.
Layout layout_of(const ImageProblem& p, const cuda_abi::Device& device) {
    Layout g{};
    const int channels = static_cast<int>(p.channels);
    g.lanes = channels == 1 ? 8 : channels <= 4 ? 4 : channels <= 8 ? 2 : 1;
    g.tile_pixels = g.lanes * (channels == 1 ? sep::kAcrossOne : sep::kAcrossMany);
    g.tile_elements = g.tile_pixels * channels;
    g.plane = g.tile_pixels + static_cast<int>(p.mask_width) - 1;
    if (channels > 1 && channels <= 4) {  // planes begin a 1 / channels of the banks apart, for lanes that go over them in turn
        const int apart = (32 + channels - 1) / channels;
        g.plane += std::min((apart - g.plane % 32 + 32) % 32, (64 - apart - g.plane % 32) % 32);
    }
    g.pitch = (channels * g.plane) | 1;
    g.rank = p.rank;
    g.padded_height = static_cast<int>(divide_up(p.mask_height, kPadding) * kPadding);
    g.padded_width = static_cast<int>(divide_up(p.mask_width, kPadding) * kPadding);
    const std::size_t limit = shared_limit(device);
    for (const std::size_t blocks : {3, 2, 1}) {  // of a multiprocessor
        const std::size_t room = limit / blocks - kReservedBytes;
        for (const int rows : kTileRows) {
            g.tile_rows = rows;
            const bool held = g.rank == 1 || rows * channels * g.lanes <= sep::kHeldStrips * threads_of(p);
            const bool tall = blocks == 1 || 2 * rows >= p.mask_height - 1;
            if (rows <= (blocks == 1 ? rows : kUsualRows) && held && tall && shared_bytes(g, p) <= room) { return g; }
        }
    }
    g.tile_rows = 0;
    return g;
}

class ImageSeparable final : public ImageRung {
public:
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "05";
        info.name = "image_separable";
        info.idea =
            "A mask of rank one is a column times a row: the window's columns are filtered in shared memory, in place, each by one "
            "thread, then its rows. A mask of rank 2 to 4 is the sum of so many.";
        info.changed = "k_h + k_w products an output instead of k_h k_w.";
        info.requirements = "f32, one mask for all channels, of rank 1 to 4; at most 32 channels; not under strict accuracy.";
        info.limited_by = "Multiply-adds and the loads that feed them; the column pass of a tile's halo.";
        info.source = "ladder/conv2d/05_separable.cuh";
        info.takes_pieces = 1;
        return info;
    }

    [[nodiscard]] Refusal supports(const ImageProblem& p, const cuda_abi::Device& device) const override {
        if (p.dtype != kF32 || p.taps_dtype != kF32) { return "takes only f32, and real taps"; }
        if (p.masks != 1) { return "takes one mask for all channels"; }
        if (p.rank < 1 || p.rank > sep::kMostRank) { return "the mask is no sum of a few products of a column and a row"; }
        if (p.accuracy == static_cast<std::int32_t>(Accuracy::strict)) {
            return "rounds between its passes: not under strict accuracy";
        }
        if (p.channels > 32) { return "takes at most 32 channels"; }
        if (p.mask_height > kMostMask || p.mask_width > kMostMask || layout_of(p, device).tile_rows == 0) {
            return "no tile with its halo fits in shared memory";
        }
        return {};
    }

    [[nodiscard]] double estimate_seconds(const ImageProblem& p, const cuda_abi::Device& device) const override {
        const Layout g = layout_of(p, device);
        const double outputs =
            static_cast<double>(p.batch * p.channels) * static_cast<double>(p.out_height) * static_cast<double>(p.out_width);
        const double halo = 1 + static_cast<double>(p.mask_width - 1) / g.tile_pixels;
        const double products = static_cast<double>(p.mask_height) * halo + static_cast<double>(p.mask_width);
        const double cost = p.rank * (kProductCost * products + kRankCost) + kOutputCost;
        return kLaunchSeconds +
               std::max(image_bytes(p) / (kShareOfCopy * device.copy_bytes_per_second), 2 * cost * outputs / device.peak_flops);
    }

    // columns (rank, padded_height), rows (rank, padded_width), the mask itself.
    [[nodiscard]] std::vector<std::byte> table(PreparedImage& prepared) const override {
        const ImageProblem& p = prepared.problem;
        const Layout g = layout_of(p, prepared.device);
        const auto height = static_cast<std::size_t>(p.mask_height);
        const auto width = static_cast<std::size_t>(p.mask_width);
        std::vector<float> to;
        const auto append = [&to](const double* from, std::size_t count, int padded) {
            for (std::size_t i = 0; i < static_cast<std::size_t>(padded); ++i) {
                to.push_back(i < count ? static_cast<float>(from[i]) : 0.0F);
            }
        };
        for (std::size_t r = 0; r < static_cast<std::size_t>(g.rank); ++r) {
            append(prepared.host.columns + r * height, height, g.padded_height);
        }
        for (std::size_t r = 0; r < static_cast<std::size_t>(g.rank); ++r) {
            append(prepared.host.rows + r * width, width, g.padded_width);
        }
        const auto* mask = static_cast<const float*>(prepared.host.taps);
        to.insert(to.end(), mask, mask + height * width);
        std::vector<std::byte> bytes(to.size() * sizeof(float));
        std::memcpy(bytes.data(), to.data(), bytes.size());
        return bytes;
    }

    // A tile that holds a NaN or an infinity is summed up in another order than one that does not.
    [[nodiscard]] std::int64_t band_rows(const PreparedImage& prepared) const override {
        return layout_of(prepared.problem, prepared.device).tile_rows;
    }
    [[nodiscard]] std::string describe(const PreparedImage& prepared) const override {
        const Layout g = layout_of(prepared.problem, prepared.device);
        return "rank " + std::to_string(g.rank) + ", tiles of " + std::to_string(g.tile_rows) + " rows of " +
               std::to_string(g.tile_elements) + " elements";
    }

    void load(const PreparedImage& prepared) const override {
        const Layout g = layout_of(prepared.problem, prepared.device);
        allow_most_shared(kernel_of(g, prepared.problem.channels), prepared.device);
    }

    void launch(const PreparedImage& prepared, const ImageJob& job, void*, cudaStream_t stream) const override {
        Layout g = layout_of(prepared.problem, prepared.device);
        ImageArguments a = image_arguments_of(prepared, job);
        const dim3 grid = image_grid(a, g.tile_rows, g.tile_elements);
        a.taps = prepared.table;
        void* arguments[] = {&a, &g};
        cuda::launch(kernel_of(g, prepared.problem.channels), grid, threads_of(prepared.problem), arguments,
                     shared_bytes(g, prepared.problem), stream);
    }
};

}  // namespace

const ImageRung& image_separable() {
    static const ImageSeparable instance;
    return instance;
}

}  // namespace tapline::cuda
