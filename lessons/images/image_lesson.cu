// From a Job to a lesson's Image.
#include "lessons/images/01_basic.cuh"

namespace tapline::cuda {
namespace {

constexpr double kLaunchSeconds = 3e-6;
constexpr double kSecondsPerProduct = 4.5e-13;
constexpr std::int64_t kMostElements = std::int64_t{1} << 31;
// Of the smallest output tile of any of them along y; gridDim.y is limited.
constexpr std::int64_t kMostRows = 65535 * 16;

bool is_whole(const Problem& p, const Job& job) {
    const std::int64_t row = p.x.n * p.channels.length;
    const bool packed = p.y.n == 1 || (job.in_stride == row && job.out_stride == row);
    return job.first == 0 && job.count == p.y.outputs && job.in_first == 0 && job.in_last == p.y.n && job.batch == 1 && packed;
}

}  // namespace

Refusal ImageLesson::supports(const Problem& p, const cuda_abi::Device&) const {
    if (p.dtype != kF32 || p.taps_dtype != kF32 || p.output_dtype != kF32) { return "takes only f32, and real taps"; }
    if (p.batch.length != 1) { return "takes one image, not " + std::to_string(p.batch.length); }
    if (p.filters != 1) { return "takes one mask for all channels"; }
    if (p.x.boundary != kZero || p.y.boundary != kZero) { return "takes only the zero boundary"; }
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

double ImageLesson::estimate_seconds(const Problem& p, const cuda_abi::Device&) const {
    return kLaunchSeconds +
           static_cast<double>(p.y.n * p.x.n * p.channels.length) * static_cast<double>(p.y.k * p.x.k) * kSecondsPerProduct;
}

std::unique_ptr<const Chosen> ImageLesson::load(const Prepared&) const {
    load_kernels();
    load_kernel(&image_basic::kernel);
    return std::make_unique<Chosen>();
}

void ImageLesson::launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const {
    const Problem& p = prepared.problem;
    if (!is_whole(p, job)) {
        throw CudaError(cuda_abi::Code::unsupported, std::string(info().name) + ": takes only whole images, not pieces of them");
    }
    const Image image{.out = static_cast<float*>(job.out),
                      .in = static_cast<const float*>(job.in),
                      .mask = static_cast<const float*>(on_device.taps),
                      .height = static_cast<int>(p.y.n),
                      .width = static_cast<int>(p.x.n),
                      .channels = static_cast<int>(p.channels.length),
                      .mask_height = static_cast<int>(p.y.k),
                      .mask_width = static_cast<int>(p.x.k),
                      .origin_y = static_cast<int>(p.y.origin),
                      .origin_x = static_cast<int>(p.x.origin),
                      .low = low_of(p),
                      .high = high_of(p)};
    if (p.taps_finite) {
        launch_image(image, stream);
    } else {
        // The tiled lesson stands zeros in for pixels that are not there; an infinite tap must not meet one: 0 * inf is NaN.
        image_basic::launch(image, stream);
    }
    check_launch(info().name);
}

}  // namespace tapline::cuda
