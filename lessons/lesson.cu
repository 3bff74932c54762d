// From a Job to a lesson's Signal.
#include "lessons/lesson.hpp"

#include "lessons/12_basic.cuh"

namespace tapline::cuda {
namespace {

constexpr double kLaunchSeconds = 3e-6;

bool is_whole(const Problem& p, const Job& job) {
    return job.first == 0 && job.count == p.x.outputs && job.out_stride == 1 && job.in_first == 0 && job.in_last == p.x.n &&
           job.in_stride == 1 && job.batch_first == 0 && job.batch == 1;
}

}  // namespace

Refusal SignalLesson::supports(const Problem& p, const cuda_abi::Device& device) const {
    if (p.dtype != kF32 || p.taps_dtype != kF32 || p.output_dtype != kF32) { return "takes only f32, and real taps"; }
    if (p.batch.length != 1) { return "takes one signal, not " + std::to_string(p.batch.length); }
    if (p.x.in_stride != 1 || p.x.out_stride != 1) { return "takes only samples that lie side by side (stride 1)"; }
    if (p.x.boundary != kZero) { return "takes only the zero boundary"; }
    if (p.scale != 1 || p.bias != 0) { return "has no scale and no bias"; }
    if (p.has_clamp && !clamps()) { return "has no clamp"; }
    if (p.x.n < 1 || p.x.k < 1 || p.x.outputs < 1) { return "needs to know the signal's length, at least 1"; }
    const Refusal more = requires_more(p);
    return more.empty() ? requires_device(device) : more;
}

double SignalLesson::estimate_seconds(const Problem& p, const cuda_abi::Device&) const {
    return kLaunchSeconds + static_cast<double>(p.x.outputs) * static_cast<double>(p.x.k) * seconds_per_product();
}

std::unique_ptr<const Chosen> SignalLesson::load(const Prepared& prepared) const {
    load_kernels(prepared.device);
    load_kernel(&basic::kernel);
    return std::make_unique<Chosen>();
}

void SignalLesson::launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const {
    const Problem& p = prepared.problem;
    if (!is_whole(p, job)) {
        throw CudaError(cuda_abi::Code::unsupported, std::string(info().name) + ": takes only whole signals, not pieces of them");
    }
    const Signal signal{.out = static_cast<float*>(job.out),
                        .in = static_cast<const float*>(job.in),
                        .taps = static_cast<const float*>(on_device.taps),
                        .n = p.x.n,
                        .k = p.x.k,
                        .m = p.x.outputs,
                        .origin = p.x.origin,
                        .low = low_of(p),
                        .high = high_of(p),
                        .tables = on_device.tables,
                        .multiprocessors = prepared.device.multiprocessors};
    if (p.taps_finite) {
        launch_signal(signal, stream);
    } else {
        // Most lessons stand zeros in for samples that are not there; an infinite tap must not meet one: 0 * inf is NaN.
        launch_kernel(&basic::kernel, grid_of(signal.m, basic::kThreads), basic::kThreads, 0, stream, signal);
    }
    check_launch(info().name);
}

}  // namespace tapline::cuda
