// The FFT rung for images: what it supports, the mask's spectrum, how it is launched.
#include "cuda/ladder/conv2d/fft.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

#include "cuda/check.hpp"
#include "cuda/ladder/conv2d/07_fft.cuh"
#include "cuda/ladder/conv2d/direct.hpp"
#include "cuda/ladder/conv2d/production.hpp"
#include "tapline/types.hpp"

namespace tapline::cuda {
namespace {

namespace ft = image_fft_rung;
using Complex = std::complex<double>;

// Of a block and of each of its outputs (H200, tapline ladder --image 4096x4096[x3], masks of 3 to 63).
constexpr double kTileSeconds = 26.5e-6;
constexpr double kStoreSeconds = 0.52e-9;

constexpr std::size_t kSharedBytes = static_cast<std::size_t>(ft::kSharedElements) * sizeof(float2);

int reversed(int value, int bits) {
    int result = 0;
    for (int bit = 0; bit < bits; ++bit) { result |= (value >> bit & 1) << (bits - 1 - bit); }
    return result;
}

// The frequency at a position of a transformed line.
int frequency_at(int position) { return reversed(position / ft::kInner, 4) + ft::kOuter * reversed(position % ft::kInner, 3); }

// exp(-2 pi i m / 128).
Complex root(std::int64_t m) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(m % ft::kSide) / ft::kSide;
    return {std::cos(angle), std::sin(angle)};
}

// sum over the mask of tap (i, j) * exp(+2 pi i (f_y i + f_x j) / 128) / 128^2, at every position.
void append_spectrum(std::vector<float>& to, const float* taps, int height, int width) {
    std::vector<Complex> rows(static_cast<std::size_t>(height) * ft::kSide);
    for (int i = 0; i < height; ++i) {
        for (int px = 0; px < ft::kSide; ++px) {
            Complex sum = 0;
            for (int j = 0; j < width; ++j) {
                sum += static_cast<double>(taps[i * width + j]) * std::conj(root(std::int64_t{frequency_at(px)} * j));
            }
            rows[static_cast<std::size_t>(i) * ft::kSide + static_cast<std::size_t>(px)] = sum;
        }
    }
    for (int py = 0; py < ft::kSide; ++py) {
        for (int px = 0; px < ft::kSide; ++px) {
            Complex sum = 0;
            for (int i = 0; i < height; ++i) {
                sum += rows[static_cast<std::size_t>(i) * ft::kSide + static_cast<std::size_t>(px)] *
                       std::conj(root(std::int64_t{frequency_at(py)} * i));
            }
            sum /= ft::kSide * ft::kSide;
            to.push_back(static_cast<float>(sum.real()));
            to.push_back(static_cast<float>(sum.imag()));
        }
    }
}

class ImageFft final : public ImageRung {
public:
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "07";
        info.name = "image_fft";
        info.idea =
            "A tile and its halo are transformed in shared memory, multiplied by the mask's spectrum and transformed back: the "
            "work of "
            "a tile does not depend on the mask. Two tiles are the real and the imaginary part of one.";
        info.changed = "some 150 instructions a pixel of a tile, whatever the mask, instead of a product for each tap";
        info.requirements = "f32, real taps; mask sides of at most 97; 133 KB of shared memory; not under strict accuracy";
        info.limited_by = "shared memory, which every pixel passes fourteen times, and halos that give no outputs";
        info.source = "ladder/conv2d/07_fft.cuh";
        info.takes_pieces = 1;
        info.is_local = 0;
        return info;
    }

    [[nodiscard]] Refusal supports(const ImageProblem& p, const cuda_abi::Device& device) const override {
        if (p.dtype != kF32 || p.taps_dtype != kF32) { return "takes only f32, and real taps"; }
        if (p.accuracy == static_cast<std::int32_t>(Accuracy::strict)) {
            return "a transform's errors are those of its whole tile: not under strict accuracy";
        }
        if (p.mask_height > ft::kMostMask || p.mask_width > ft::kMostMask) {
            return "takes mask sides of at most " + std::to_string(ft::kMostMask);
        }
        if (kSharedBytes > shared_limit(device) - 1024) { return "its tile does not fit in shared memory"; }
        if (p.channels > 64 || p.masks > 64) { return "takes one channel at a time: at most 64"; }
        return {};
    }

    [[nodiscard]] double estimate_seconds(const ImageProblem& p, const cuda_abi::Device& device) const override {
        const ft::Tiles g = tiles_of(p);
        const double blocks = static_cast<double>(divide_up(p.out_height, g.out_rows)) *
                              static_cast<double>(divide_up(p.out_width, 2 * g.out_columns)) *
                              static_cast<double>(p.batch * p.channels);
        const double tile = kTileSeconds + kStoreSeconds * 2 * g.out_rows * g.out_columns;
        const double rounds = std::ceil(blocks / std::max(device.multiprocessors, 1));
        return kLaunchSeconds + std::max(image_bytes(p) / (kShareOfCopy * device.copy_bytes_per_second), rounds * tile);
    }

    // exp(-2 pi i m / 128) for m < 128, then the spectra of the masks.
    [[nodiscard]] std::vector<std::byte> table(PreparedImage& prepared) const override {
        const ImageProblem& p = prepared.problem;
        if (!prepared.taps_finite) { return {}; }
        std::vector<float> to;
        for (int m = 0; m < ft::kSide; ++m) {
            to.push_back(static_cast<float>(root(m).real()));
            to.push_back(static_cast<float>(root(m).imag()));
        }
        const auto* taps = static_cast<const float*>(prepared.host.taps);
        const int height = static_cast<int>(p.mask_height);
        const int width = static_cast<int>(p.mask_width);
        for (std::int64_t mask = 0; mask < p.masks; ++mask, taps += height * width) { append_spectrum(to, taps, height, width); }
        std::vector<std::byte> bytes(to.size() * sizeof(float));
        std::memcpy(bytes.data(), to.data(), bytes.size());
        return bytes;
    }

    [[nodiscard]] std::int64_t band_rows(const PreparedImage& prepared) const override {
        return tiles_of(prepared.problem).out_rows;
    }
    [[nodiscard]] std::string describe(const PreparedImage& prepared) const override {
        if (!prepared.taps_finite) { return "term by term: the mask holds a NaN or an infinity"; }
        const ft::Tiles g = tiles_of(prepared.problem);
        return "two tiles of 128 x 128 pixels at once, " + std::to_string(g.out_rows) + " x " + std::to_string(g.out_columns) +
               " outputs each";
    }

    void load(const PreparedImage& prepared) const override {
        if (!prepared.taps_finite) { return image_direct_rung::load_exact(prepared); }
        allow_most_shared(reinterpret_cast<const void*>(&ft::kernel), prepared.device);
    }

    void launch(const PreparedImage& prepared, const ImageJob& job, void*, cudaStream_t stream) const override {
        if (!prepared.taps_finite) { return image_direct_rung::launch_exact(prepared, job, stream); }
        const ImageProblem& p = prepared.problem;
        ft::Tiles g = tiles_of(p);
        ImageArguments a = image_arguments_of(prepared, job);
        // One channel's plane a block.
        dim3 grid = image_grid(a, g.out_rows, 2 * g.out_columns * static_cast<int>(p.channels));
        if (grid.x * p.channels > kMostBlocks) {
            throw CudaError(cuda_abi::Code::unsupported, "problem: more tiles than one launch has blocks; divide the batch");
        }
        grid.x *= static_cast<unsigned>(p.channels);
        void* arguments[] = {&a, &g};
        cuda::launch(reinterpret_cast<const void*>(&ft::kernel), grid, ft::kThreads, arguments, kSharedBytes, stream);
    }

private:
    static ft::Tiles tiles_of(const ImageProblem& p) {
        return {ft::kSide + 1 - static_cast<int>(p.mask_height), ft::kSide + 1 - static_cast<int>(p.mask_width)};
    }
};

}  // namespace

const ImageRung& image_fft() {
    static const ImageFft instance;
    return instance;
}

}  // namespace tapline::cuda
