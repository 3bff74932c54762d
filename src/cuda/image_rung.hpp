// What a rung for images is: rung.hpp in two dimensions. image_ladder.cu lists them all.
#pragma once

#include "cuda/image_abi.hpp"
#include "cuda/rung.hpp"

namespace tapline::cuda {

using cuda_abi::ImageJob;
using cuda_abi::ImageProblem;

/// A rung's mask on one device.
struct PreparedImage {
    const class ImageRung* rung = nullptr;
    cuda_abi::Device device;
    unsigned long long context = 0;  ///< which life of the device the taps belong to
    ImageProblem problem;
    cuda_abi::ImageTaps host;         ///< valid during table() only
    const void* taps = nullptr;       ///< device memory: (masks, mask_height, mask_width) in correlation order
    const void* table = nullptr;      ///< device memory: what table() made, 16-byte aligned; null if nothing
    std::vector<std::byte> by_value;  ///< the taps' first kTapsByValueBytes bytes, zeros after them, or what table() put there
    std::int32_t tap_exponent = 0;    ///< table() may set it
    bool taps_finite = true;
    std::int64_t workspace_bytes = 0;
};

inline constexpr std::size_t kTapsByValueBytes = 1024;

class ImageRung {
public:
    ImageRung() = default;
    ImageRung(const ImageRung&) = delete;
    ImageRung& operator=(const ImageRung&) = delete;
    virtual ~ImageRung() = default;

    [[nodiscard]] virtual RungInfo info() const = 0;
    [[nodiscard]] virtual Refusal supports(const ImageProblem&, const cuda_abi::Device&) const = 0;
    /// Seconds of one execution on a warm device, launch included.
    [[nodiscard]] virtual double estimate_seconds(const ImageProblem&, const cuda_abi::Device&) const = 0;
    [[nodiscard]] virtual std::int64_t workspace_bytes(const PreparedImage&) const { return 0; }
    /// ImageApi::band_rows.
    [[nodiscard]] virtual std::int64_t band_rows(const PreparedImage&) const { return 1; }
    /// Another form of the taps for the device.
    [[nodiscard]] virtual std::vector<std::byte> table(PreparedImage&) const { return {}; }
    [[nodiscard]] virtual std::string describe(const PreparedImage&) const { return ""; }
    /// Loads the kernels that launch() will use, so that launching allocates nothing.
    virtual void load(const PreparedImage&) const = 0;
    /// Launches on the current device. Throws CudaError.
    virtual void launch(const PreparedImage&, const ImageJob&, void* workspace, cudaStream_t) const = 0;
};

/// Every rung for images, in reading order.
const std::vector<const ImageRung*>& image_ladder();
const ImageRung& image_direct();
const ImageRung& image_separable();
const ImageRung& image_tensor();
const ImageRung& image_fft();

/// The lower rungs' problem: packed f32, zero boundary, out (height, width, channels) =
/// clamp(sum_{i,j} mask[i][j] * image(y + i - origin_y, x + j - origin_x, c)), image() zero outside (height, width).
struct Image {
    float* out;
    const float* in;
    const float* mask;  // (mask_height, mask_width), correlation order
    int height, width, channels, mask_height, mask_width, origin_y, origin_x;
    float low, high;  // limits of the output, -inf and inf without a clamp
};

/// Launches a kernel that takes an Image.
void launch_image_kernel(const void* kernel, dim3 grid, dim3 block, const Image& image, cudaStream_t stream);

/// A rung on that problem: it says what it needs beyond and launches.
class TeachingImageRung : public ImageRung {
public:
    [[nodiscard]] Refusal supports(const ImageProblem&, const cuda_abi::Device&) const final;
    [[nodiscard]] double estimate_seconds(const ImageProblem&, const cuda_abi::Device&) const final;
    void launch(const PreparedImage&, const ImageJob&, void* workspace, cudaStream_t) const final;
    void load(const PreparedImage&) const final;

protected:
    [[nodiscard]] virtual Refusal requires_more(const ImageProblem&) const { return {}; }
    [[nodiscard]] virtual const void* kernel_entry() const = 0;
    virtual void launch_image(const Image&, cudaStream_t) const = 0;
};

}  // namespace tapline::cuda
