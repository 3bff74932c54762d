// The table of rungs for images, in reading order: one line a rung; and what the teaching rungs have in common.
#include <limits>

#include "cuda/check.hpp"
#include "lessons/images/01_basic.cuh"
#include "lessons/images/02_constant_memory.cuh"
#include "lessons/images/03_tiled.cuh"

namespace tapline::cuda {
namespace {

constexpr double kTeachingLaunchSeconds = 3e-6;
constexpr double kTeachingSecondsPerProduct = 4.5e-13;
constexpr std::int64_t kMostElements = std::int64_t{1} << 31;
// Of the smallest output tile of any of them along y; gridDim.y is limited.
constexpr std::int64_t kMostRows = 65535 * 16;

}  // namespace

void launch_image_kernel(const void* kernel, dim3 grid, dim3 block, const Image& image, cudaStream_t stream) {
    Image copy = image;
    void* arguments[] = {&copy};
    check(cudaLaunchKernel(kernel, grid, block, arguments, 0, stream), "launch");
}

const std::vector<const Rung*>& image_ladder() {
    static const std::vector<const Rung*> rungs = {
        // Teaching rungs.
        &image_basic::rung(),
        &image_constant_memory::rung(),
        &image_tiled::rung(),
        // Production rungs: any plan may take them.
        &image_direct(),
        &image_separable(),
        &image_tensor(),
        &image_fft(),
    };
    return rungs;
}

Refusal TeachingImageRung::supports(const Problem& p, const cuda_abi::Device&) const {
    if (info().ladder_only != 0 && p.ladder == 0) { return "keeps its mask in one place for all plans: runs only in the ladder"; }
    if (p.dtype != kF32 || p.taps_dtype != kF32 || p.output_dtype != kF32) { return "takes only f32, and real taps"; }
    if (p.batch.length != 1) { return "takes one image, not " + std::to_string(p.batch.length); }
    if (p.filters != 1) { return "takes one mask for all channels"; }
    if (p.x.boundary != kZero) { return "takes only the zero boundary"; }
    if (p.scale != 1 || p.bias != 0) { return "has no scale and no bias"; }
    if (p.y.outputs != p.y.n || p.x.outputs != p.x.n) { return "takes only outputs as large as the image (mode same)"; }
    const std::int64_t row = p.x.n * p.channels.length;
    if ((p.y.in_stride != row && p.y.n > 1) || (p.y.out_stride != row && p.y.n > 1)) { return "takes only packed rows"; }
    if (row * p.y.n >= kMostElements || p.y.k * p.x.k >= kMostElements) { return "counts elements in 31 bits"; }
    const auto far = [](std::int64_t origin) { return origin <= -kMostElements / 2 || origin >= kMostElements / 2; };
    if (far(p.y.origin) || far(p.x.origin) || std::max(p.y.k, p.x.k) >= kMostElements / 4 ||
        std::max(p.y.n, p.x.n) >= kMostElements / 4) {
        return "counts positions in 31 bits";
    }
    if (p.y.n > kMostRows) { return "a grid has at most 65535 rows of blocks"; }
    return requires_more(p);
}

double TeachingImageRung::estimate_seconds(const Problem& p, const cuda_abi::Device&) const {
    return kTeachingLaunchSeconds + static_cast<double>(p.y.n * p.x.n * p.channels.length) *
                                        static_cast<double>(p.y.k * p.x.k) * kTeachingSecondsPerProduct;
}

void TeachingImageRung::load(const Prepared&) const {
    for (const void* kernel : {kernel_entry(), reinterpret_cast<const void*>(&image_basic::kernel)}) {
        cudaFuncAttributes attributes{};
        check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
    }
}

void TeachingImageRung::launch(const Prepared& prepared, const Job& job, void*, cudaStream_t stream) const {
    const Problem& p = prepared.problem;
    const RungInfo rung = info();
    const std::int64_t row = p.x.n * p.channels.length;
    const bool packed = p.y.n == 1 || (job.in_stride == row && job.out_stride == row);
    if (job.first != 0 || job.count != p.y.outputs || job.in_first != 0 || job.in_last != p.y.n || job.batch != 1 || !packed) {
        throw CudaError(cuda_abi::Code::unsupported, std::string(rung.name) + ": takes only whole images, not pieces of them");
    }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const bool clamped = p.has_clamp;
    const Image image{.out = static_cast<float*>(job.out),
                      .in = static_cast<const float*>(job.in),
                      .mask = static_cast<const float*>(prepared.taps),
                      .height = static_cast<int>(p.y.n),
                      .width = static_cast<int>(p.x.n),
                      .channels = static_cast<int>(p.channels.length),
                      .mask_height = static_cast<int>(p.y.k),
                      .mask_width = static_cast<int>(p.x.k),
                      .origin_y = static_cast<int>(p.y.origin),
                      .origin_x = static_cast<int>(p.x.origin),
                      .low = clamped ? static_cast<float>(p.clamp.low) : -kInfinity,
                      .high = clamped ? static_cast<float>(p.clamp.high) : kInfinity};
    if (prepared.taps_finite) {
        launch_image(image, stream);
    } else {
        // The tiled rung stands zeros in for pixels that are not there; an infinite tap must not meet one: 0 * inf is NaN.
        launch_image_kernel(reinterpret_cast<const void*>(&image_basic::kernel), image_basic::grid_of(image),
                            dim3(image_basic::kSide, image_basic::kSide), image, stream);
    }
    check_launch(rung.name);
}

}  // namespace tapline::cuda
