// What all lessons have in common: the problems they take, and the way from a Job to them. ladder.cu lists them all.
#pragma once

#include <limits>

#include "cuda/launch.hpp"
#include "cuda/rung.hpp"

namespace tapline::cuda {

/// Limits of the output.
inline float low_of(const Problem& p) {
    return p.has_clamp ? static_cast<float>(p.clamp.low) : -std::numeric_limits<float>::infinity();
}
inline float high_of(const Problem& p) {
    return p.has_clamp ? static_cast<float>(p.clamp.high) : std::numeric_limits<float>::infinity();
}

/// The lessons' problem: f32, one signal, unit strides, zero boundary:
/// out[o] = clamp(sum_t taps[t] * x(o + t - origin)), 0 <= o < m, x() zero outside [0, n).
struct Signal {
    float* out;         // (m)
    const float* in;    // (n)
    const float* taps;  // (k), correlation order
    std::int64_t n, k, m, origin;
    float low, high;               // limits of the output, -inf and inf without a clamp
    const void* tables = nullptr;  // what the lesson's tables() returned
    int multiprocessors = 0;       // of the device
};

/// A lesson on that problem: it says what it needs beyond and launches.
class SignalLesson : public Rung {
public:
    [[nodiscard]] Refusal supports(const Problem&, const cuda_abi::Device&) const final;
    [[nodiscard]] double estimate_seconds(const Problem&, const cuda_abi::Device&) const final;
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared&) const final;
    void launch(const Prepared&, const Job&, const OnDevice&, void* workspace, cudaStream_t) const final;

protected:
    /// What this lesson needs besides f32, one signal, unit strides, zero boundary, finite sizes.
    [[nodiscard]] virtual Refusal requires_more(const Problem&) const { return {}; }
    /// What it needs of the device.
    [[nodiscard]] virtual Refusal requires_device(const cuda_abi::Device&) const { return {}; }
    [[nodiscard]] virtual bool clamps() const { return false; }
    /// Rough cost: seconds a product, and seconds at least.
    [[nodiscard]] virtual double seconds_per_product() const = 0;
    /// load_kernel() of all that launch_signal() launches.
    virtual void load_kernels(const cuda_abi::Device&) const = 0;
    virtual void launch_signal(const Signal&, cudaStream_t) const = 0;
};

/// The lessons' problem for images: packed f32, zero boundary, out (height, width, channels) =
/// clamp(sum_{i,j} mask[i][j] * image(y + i - origin_y, x + j - origin_x, c)), image() zero outside (height, width).
struct Image {
    float* out;
    const float* in;
    const float* mask;  // (mask_height, mask_width), correlation order
    int height, width, channels, mask_height, mask_width, origin_y, origin_x;
    float low, high;  // limits of the output, -inf and inf without a clamp
};

/// A lesson on that problem: it says what it needs beyond and launches.
class ImageLesson : public Rung {
public:
    [[nodiscard]] Refusal supports(const Problem&, const cuda_abi::Device&) const final;
    [[nodiscard]] double estimate_seconds(const Problem&, const cuda_abi::Device&) const final;
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared&) const final;
    void launch(const Prepared&, const Job&, const OnDevice&, void* workspace, cudaStream_t) const final;

protected:
    [[nodiscard]] virtual Refusal requires_more(const Problem&) const { return {}; }
    virtual void load_kernels() const = 0;
    virtual void launch_image(const Image&, cudaStream_t) const = 0;
};

/// images/ladder.cu.
std::vector<const Rung*> image_lessons();

}  // namespace tapline::cuda
