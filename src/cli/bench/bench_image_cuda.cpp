#include "cli/bench/bench_image_cuda.hpp"

#include <algorithm>

#include "cli/shared/cuda_device.hpp"
#include "gpu_host/image_engine.hpp"

namespace tapline::cli {

CudaTimes time_image_on_gpu(const CudaDevice& device, const ImagePlan& plan, const Bytes& image, double seconds) {
    const core::ImagePlanState& state = plan.state();
    const core::ResolvedImage& r = state.resolved;
    const auto& executable = static_cast<const core::CudaImageExecutable&>(*state.executable);
    const auto out_bytes = static_cast<std::size_t>(image_output_extent(r.problem)) * size_of(r.output_dtype);
    const CudaMemory in(device, image.size());
    const CudaMemory out(device, std::max(image.size(), out_bytes));  // the copy's too
    const CudaMemory workspace(device, plan.workspace_bytes());
    device.upload(in.data(), image.data(), image.size());
    const cuda_abi::ImageJob job{.out = out.data(),
                                 .first = 0,
                                 .rows = r.out_height,
                                 .out_row = r.out_row,
                                 .out_image = r.out_image,
                                 .in = in.data(),
                                 .in_first = 0,
                                 .in_last = r.height,
                                 .in_row = r.in_row,
                                 .in_image = r.in_image,
                                 .images = r.batch};
    cuda_abi::Job copied;
    copied.out = out.data();
    copied.in = in.data();
    const auto timing_of = [](const cuda_abi::Measurement& m) {
        return Timing{m.median_seconds, m.least_seconds, m.most_seconds, m.runs};
    };
    const auto copy = [&](bool cold, double each) {
        cuda_abi::Measurement m;
        cuda_call(device.api().measure, device.index(), static_cast<const cuda_abi::Prepared*>(nullptr),
                  static_cast<const cuda_abi::Job*>(&copied), static_cast<void*>(nullptr), std::int64_t{0},
                  static_cast<std::int64_t>(image.size()), cold, each, &m);
        return timing_of(m);
    };
    const auto run = [&](bool cold, double each) {
        cuda_abi::Measurement m;
        cuda_call(core::cuda_library().images->measure, executable.prepared(), static_cast<const cuda_abi::ImageJob*>(&job),
                  workspace.data(), static_cast<std::int64_t>(plan.workspace_bytes()), cold, each, &m);
        return timing_of(m);
    };
    return time_in_turns(run, copy, seconds);
}

}  // namespace tapline::cli
