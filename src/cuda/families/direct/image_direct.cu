// The direct rung for images: what it supports, how a mask is divided, how it is launched.
#include "cuda/families/direct/image_direct.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cuda/check.hpp"
#include "cuda/families/image_production.hpp"

namespace tapline::cuda {
namespace {

using image_direct_rung::kTapPadding;
using image_direct_rung::kThreads;
using image_direct_rung::kTileElements;
using image_direct_rung::kWarpsX;
using image_direct_rung::Pieces;
using image_direct_rung::SmallMask;

constexpr int kWindowBytes = 60 * 1024;  // of a piece: three blocks a multiprocessor, and within every device's limit
// In multiply-adds at the peak (H200, tapline ladder --image 4096x4096): a product, and an output besides, with staged windows or
// with the mask in the kernel's parameters.
constexpr double kProductCost = 1.54;
constexpr double kOutputCost = 154;
constexpr double kSmallOutputCost = 29;
constexpr std::int64_t kMostSide = std::int64_t{1} << 30;
constexpr std::int64_t kMostChannels = std::int64_t{1} << 30;

int rows_of_thread(int bytes) { return bytes == 16 ? 4 : bytes == 8 ? 8 : 16; }

struct Windows {
    Pieces pieces;
    std::size_t shared_bytes;
    int tile_rows;
};

Windows windows_of(const Prepared& prepared) {
    const Problem& p = prepared.problem;
    const int bytes = image_type_of(p, prepared.device).bytes;
    const int vector = 16 / bytes;
    Windows w{};
    w.tile_rows = kThreads / 32 / kWarpsX * rows_of_thread(bytes);
    const std::int64_t padded = divide_up(p.y.k, kTapPadding) * kTapPadding;
    w.pieces.rows = static_cast<int>(std::min<std::int64_t>(padded, bytes == 16 ? 16 : bytes == 8 ? 32 : 64));
    w.pieces.column_taps = static_cast<int>(padded);
    const int rows = w.tile_rows + static_cast<int>(std::min<std::int64_t>(w.pieces.rows, p.y.k)) - 1;
    const std::int64_t room = kWindowBytes / (rows * bytes) - kTileElements - 2 * (vector - 1);  // elements beyond a tile's own
    w.pieces.columns = static_cast<int>(std::clamp<std::int64_t>(room / p.channels.length + 1, 1, p.x.k));
    const std::int64_t beyond = (w.pieces.columns - 1) * p.channels.length;
    w.pieces.pitch = (kTileElements + static_cast<int>(beyond) + 2 * (vector - 1)) / vector * vector;
    w.shared_bytes = static_cast<std::size_t>(rows) * w.pieces.pitch * bytes;
    return w;
}

// The constant of an integer image must be a pixel's value to stand in a window.
bool constant_is_a_pixel(const Problem& p) {
    if (!is_pixel_type(p.dtype) || p.x.boundary != kConstant) { return true; }
    const double c = p.constant.real();
    return c >= 0 && c <= (p.dtype == kU8 ? 255 : 65535) && c == std::floor(c);
}

class ImageDirect final : public Rung {
public:
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "04";
        info.name = "image_direct";
        info.idea =
            "A thread makes a strip of outputs, one below the other, from a window that slides down a column in registers; lanes "
            "lie side by side, and a step of one tap along a row is `channels` elements: any number of channels costs the same.";
        info.changed =
            "A value loaded from shared memory feeds up to 16 products; small masks come with the kernel's parameters and are "
            "operands of the products themselves; boundary rules apply while loading.";
        info.requirements = "Nothing: every type, size, boundary and mask.";
        info.limited_by = "Memory up to 7 x 7 taps (f32), then multiply-adds.";
        info.source = "src/cuda/families/direct/image_direct.cuh";
        info.takes_pieces = 1;
        return info;
    }

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device&) const override {
        if (p.y.k > kMostSide || p.x.k > kMostSide || p.channels.length > kMostChannels) {
            return "counts the mask's rows and columns and the channels in 30 bits";
        }
        return {};
    }

    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const Type type = image_type_of(p, device);
        const double outputs =
            static_cast<double>(p.batch.length * p.channels.length) * static_cast<double>(p.y.outputs) * static_cast<double>(p.x.outputs);
        const double products = static_cast<double>(p.y.k) * static_cast<double>(p.x.k) * type.products;
        const double besides = small_mask(p) ? kSmallOutputCost : kOutputCost;
        return kLaunchSeconds + std::max(image_bytes(p) / (kShareOfCopy * device.copy_bytes_per_second),
                                         2 * outputs * (kProductCost * products + besides) / (type.rate * device.peak_flops));
    }

    // Column by column, for strips that run down columns.
    [[nodiscard]] std::vector<std::byte> table(Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        if (takes_small(prepared)) { return {}; }
        const auto bytes = static_cast<std::size_t>(image_type_of(p, prepared.device).tap_bytes);
        const auto height = static_cast<std::size_t>(p.y.k);
        const auto width = static_cast<std::size_t>(p.x.k);
        const std::size_t column = divide_up(p.y.k, kTapPadding) * kTapPadding;
        std::vector<std::byte> to(static_cast<std::size_t>(p.filters) * width * column * bytes);
        const auto* from = static_cast<const std::byte*>(prepared.host.taps);
        for (std::size_t mask = 0; mask < static_cast<std::size_t>(p.filters); ++mask) {
            for (std::size_t i = 0; i < height; ++i) {
                for (std::size_t j = 0; j < width; ++j, from += bytes) {
                    std::memcpy(to.data() + ((mask * width + j) * column + i) * bytes, from, bytes);
                }
            }
        }
        return to;
    }

    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        if (takes_exact(prepared)) { return "term by term: terms outside the image stay absent"; }
        const int rows = takes_small(prepared) ? image_direct_rung::kSmallTileRows : windows_of(prepared).tile_rows;
        return "tiles of " + std::to_string(rows) + " rows of " + std::to_string(kTileElements) + " elements";
    }

    void load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        if (takes_exact(prepared)) {
            image_direct_rung::load_exact(prepared);
        } else if (takes_small(prepared)) {
            allow_shared(image_direct_rung::small_kernel_of(static_cast<int>(p.x.k)), small_bytes(p));
        } else {
            allow_most_shared(image_direct_rung::kernel_of(p.dtype, p.taps_dtype), prepared.device);
        }
    }

    void launch(const Prepared& prepared, const Job& job, void*, cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        if (takes_exact(prepared)) {
            image_direct_rung::launch_exact(prepared, job, stream);
            return;
        }
        ImageArguments a = image_arguments_of(prepared, job);
        if (takes_small(prepared)) {
            const dim3 grid = image_grid(a, image_direct_rung::kSmallTileRows, kTileElements);
            SmallMask<image_direct_rung::kMostSmall> mask{};  // a smaller kernel reads its beginning
            static_assert(sizeof mask <= kTapsByValueBytes);
            std::memcpy(&mask, prepared.by_value.data(), sizeof mask);
            void* arguments[] = {&a, &mask};
            cuda::launch(image_direct_rung::small_kernel_of(static_cast<int>(p.x.k)), grid, kThreads, arguments,
                         small_bytes(p), stream);
            return;
        }
        Windows w = windows_of(prepared);
        const dim3 grid = image_grid(a, w.tile_rows, kTileElements);
        a.taps = prepared.table;
        a.mask_taps = p.filters > 1 ? p.x.k * w.pieces.column_taps : 0;
        void* arguments[] = {&a, &w.pieces};
        cuda::launch(image_direct_rung::kernel_of(p.dtype, p.taps_dtype), grid, kThreads, arguments, w.shared_bytes, stream);
    }

private:
    static bool takes_exact(const Prepared& prepared) {
        const Problem& p = prepared.problem;
        return (p.x.boundary == kZero && !prepared.taps_finite) || !constant_is_a_pixel(p);
    }
    static std::size_t small_bytes(const Problem& p) {
        return static_cast<std::size_t>(image_direct_rung::kSmallTileRows + p.y.k - 1) * image_direct_rung::kSmallPitch *
               sizeof(float);
    }
    static bool small_mask(const Problem& p) {
        if (p.dtype != kF32 || p.filters != 1 || p.y.k != p.x.k || p.x.k > image_direct_rung::kMostSmall) {
            return false;
        }
        const std::int64_t elements = kTileElements + (p.x.k - 1) * p.channels.length + 6;  // of a window's row, whatever its lead
        return image_direct_rung::small_kernel_of(static_cast<int>(p.x.k)) != nullptr &&
               elements <= image_direct_rung::kSmallPitch;
    }
    static bool takes_small(const Prepared& prepared) { return small_mask(prepared.problem) && !takes_exact(prepared); }
};

}  // namespace

namespace image_direct_rung {

void load_exact(const Prepared& prepared) {
    allow_shared(exact_kernel_of(prepared.problem.dtype, prepared.problem.taps_dtype), 0);
}

void launch_exact(const Prepared& prepared, const Job& job, cudaStream_t stream) {
    ImageArguments a = image_arguments_of(prepared, job);
    const dim3 grid = image_grid(a, 1, kThreads);
    void* arguments[] = {&a};
    cuda::launch(exact_kernel_of(prepared.problem.dtype, prepared.problem.taps_dtype), grid, kThreads, arguments, 0, stream);
}

}  // namespace image_direct_rung

const Rung& image_direct() {
    static const ImageDirect instance;
    return instance;
}

}  // namespace tapline::cuda
