// What a rung for images is: rung.hpp in two dimensions. image_ladder.cu lists them all.
#pragma once

#include "cuda/image_abi.hpp"
#include "cuda/rung.hpp"

namespace tapline::cuda {

using cuda_abi::Job;
using cuda_abi::Problem;

/// A rung's mask on one device.
struct Prepared {
    const class Rung* rung = nullptr;
    cuda_abi::Device device;
    unsigned long long context = 0;  ///< which life of the device the taps belong to
    Problem problem;
    cuda_abi::ImageTaps host;         ///< valid during table() only
    const void* taps = nullptr;       ///< device memory: (masks, mask_height, mask_width) in correlation order
    const void* table = nullptr;      ///< device memory: what table() made, 16-byte aligned; null if nothing
    std::vector<std::byte> by_value;  ///< the taps' first kTapsByValueBytes bytes, zeros after them, or what table() put there
    std::int32_t tap_exponent = 0;    ///< table() may set it
    bool taps_finite = true;
    std::int64_t workspace_bytes = 0;
};

inline constexpr std::size_t kTapsByValueBytes = 1024;

class Rung {
public:
    Rung() = default;
    Rung(const Rung&) = delete;
    Rung& operator=(const Rung&) = delete;
    virtual ~Rung() = default;

    [[nodiscard]] virtual RungInfo info() const = 0;
    [[nodiscard]] virtual Refusal supports(const Problem&, const cuda_abi::Device&) const = 0;
    /// Seconds of one execution on a warm device, launch included.
    [[nodiscard]] virtual double estimate_seconds(const Problem&, const cuda_abi::Device&) const = 0;
    [[nodiscard]] virtual std::int64_t workspace_bytes(const Prepared&) const { return 0; }
    /// ImageApi::band_rows.
    [[nodiscard]] virtual std::int64_t band_rows(const Prepared&) const { return 1; }
    /// Another form of the taps for the device.
    [[nodiscard]] virtual std::vector<std::byte> table(Prepared&) const { return {}; }
    [[nodiscard]] virtual std::string describe(const Prepared&) const { return ""; }
    /// Loads the kernels that launch() will use, so that launching allocates nothing.
    virtual void load(const Prepared&) const = 0;
    /// Launches on the current device. Throws CudaError.
    virtual void launch(const Prepared&, const Job&, void* workspace, cudaStream_t) const = 0;
};

/// Every rung for images, in reading order.
const std::vector<const Rung*>& image_ladder();
const Rung& image_direct();
const Rung& image_separable();
const Rung& image_tensor();
const Rung& image_fft();

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
class TeachingImageRung : public Rung {
public:
    [[nodiscard]] Refusal supports(const Problem&, const cuda_abi::Device&) const final;
    [[nodiscard]] double estimate_seconds(const Problem&, const cuda_abi::Device&) const final;
    void launch(const Prepared&, const Job&, void* workspace, cudaStream_t) const final;
    void load(const Prepared&) const final;

protected:
    [[nodiscard]] virtual Refusal requires_more(const Problem&) const { return {}; }
    [[nodiscard]] virtual const void* kernel_entry() const = 0;
    virtual void launch_image(const Image&, cudaStream_t) const = 0;
};

}  // namespace tapline::cuda
