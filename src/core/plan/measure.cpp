#include "core/plan/measure.hpp"

#include <chrono>
#include <cstring>
#include <random>

#include "gpu_host/host_memory.hpp"
#include "core/plan/host_memory.hpp"

namespace tapline::core {
namespace {

std::size_t extent_bytes(std::int64_t rows, std::int64_t row, std::int64_t samples, std::int64_t sample, Dtype dtype) {
    return static_cast<std::size_t>((rows - 1) * row + (samples - 1) * sample + 1) * size_of(dtype);
}
std::size_t in_bytes(const Resolved& r) { return extent_bytes(r.batch, r.in_row, r.n, r.in_sample, r.dtype); }
std::size_t out_bytes(const Resolved& r) { return extent_bytes(r.batch, r.out_row, r.output_length, r.out_sample, r.output_dtype); }

void fill_random(std::byte* bytes, std::size_t count, Dtype dtype) {
    std::mt19937 generator(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the data only has to be ordinary numbers
    std::uniform_real_distribution<float> uniform(-1, 1);
    const Dtype real = real_part_of(dtype);
    if (real == Dtype::f64) {
        for (std::size_t i = 0; i + 8 <= count; i += 8) {
            const double value = uniform(generator);
            std::memcpy(bytes + i, &value, 8);
        }
    } else if (real == Dtype::f32) {
        for (std::size_t i = 0; i + 4 <= count; i += 4) {
            const float value = uniform(generator);
            std::memcpy(bytes + i, &value, 4);
        }
    } else {
        std::fill_n(bytes, count, std::byte{1});
    }
}

class HostBuffers final : public MeasuringBuffers {
public:
    explicit HostBuffers(const Resolved& problem)
        : problem_(problem), in_(allocate(in_bytes(problem), "measuring")), out_(allocate(out_bytes(problem), "measuring")) {
        fill_random(in_.get(), in_bytes(problem), problem.dtype);
    }

    double seconds_of(const Executable& executable) override {
        constexpr int kRuns = 3;
        const std::size_t bytes = executable.workspace_bytes();
        const AlignedBytes workspace = allocate(bytes + 1, "workspace");
        double best = -1;
        for (int run = 0; run < kRuns; ++run) {
            const auto begin = std::chrono::steady_clock::now();
            executable.execute(whole_output(problem_, out_.get()), whole_input(problem_, in_.get()), {workspace.get(), bytes},
                               nullptr);
            const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            if (best < 0 || seconds < best) { best = seconds; }
        }
        return best;
    }

private:
    Resolved problem_;
    AlignedBytes in_, out_;
};

// The kernels alone: what crosses the link is the same for every candidate.
class CudaBuffers final : public MeasuringBuffers {
public:
    CudaBuffers(const Resolved& problem, int device)
        : problem_(problem),
          api_(*cuda_library().api),
          device_(device),
          in_(allocate_device(api_, device, static_cast<std::int64_t>(in_bytes(problem)))),
          out_(allocate_device(api_, device, static_cast<std::int64_t>(out_bytes(problem)))) {
        constexpr int kByte = 0x3C;  // repeated, a small positive number in every floating type
        cuda_abi::Status status;
        const bool filled = api_.fill(device, in_.get(), kByte, static_cast<std::int64_t>(in_bytes(problem)), nullptr, &status) &&
                            api_.synchronize_stream(device, nullptr, &status);
        if (!filled) { throw_status(status); }
    }

    double seconds_of(const Executable& executable) override {
        constexpr double kSeconds = 0.05;
        const auto bytes = static_cast<std::int64_t>(executable.workspace_bytes());
        const DeviceBytes workspace = bytes > 0 ? allocate_device(api_, device_, bytes) : DeviceBytes(nullptr, {&api_, device_});
        const cuda_abi::Job job{.out = out_.get(),
                                .first = 0,
                                .count = problem_.output_length,
                                .out_row = problem_.out_row,
                                .out_sample = problem_.out_sample,
                                .in = in_.get(),
                                .in_first = 0,
                                .in_last = problem_.n,
                                .in_row = problem_.in_row,
                                .in_sample = problem_.in_sample,
                                .row_first = 0,
                                .rows = problem_.batch,
                                .n = problem_.n};
        cuda_abi::Measurement measured;
        cuda_abi::Status status;
        const auto* prepared = static_cast<const CudaExecutable&>(executable).prepared();
        if (!api_.measure(device_, prepared, &job, workspace.get(), bytes, 0, false, kSeconds, &measured, &status)) {
            throw_status(status);
        }
        return measured.least_seconds;
    }

private:
    Resolved problem_;
    const cuda_abi::Api& api_;
    int device_;
    DeviceBytes in_, out_;
};

}  // namespace

std::unique_ptr<MeasuringBuffers> make_measuring_buffers(const Resolved& problem, int cuda_device) {
    if (cuda_device < 0) { return std::make_unique<HostBuffers>(problem); }
    return std::make_unique<CudaBuffers>(problem, cuda_device);
}

Input whole_input(const Resolved& r, const void* in) {
    return {
        .main = {.data = in, .first = 0, .last = r.n, .row_stride = r.in_row, .sample_stride = r.in_sample}, .extra = {}, .n = r.n};
}

Output whole_output(const Resolved& r, void* out) {
    return {.data = out, .first = 0, .count = r.output_length, .row_stride = r.out_row, .sample_stride = r.out_sample};
}

}  // namespace tapline::core
