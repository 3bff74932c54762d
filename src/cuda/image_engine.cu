// libtapline_cuda.so's second entry: the table of functions of image_abi.hpp.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "cuda/engine_state.hpp"
#include "cuda/image_rung.hpp"

namespace tapline::cuda_abi {

struct Prepared : cuda::Prepared {};

}  // namespace tapline::cuda_abi

namespace tapline::cuda {
namespace {

using cuda_abi::Code;
using cuda_abi::Device;
using cuda_abi::ImageApi;
using cuda_abi::ImageTaps;
using cuda_abi::Measurement;
using cuda_abi::Status;
using cuda_abi::Stream;

const Rung& rung_of(std::int32_t index) { return *image_ladder().at(static_cast<std::size_t>(index)); }

std::int32_t rung_count() { return static_cast<std::int32_t>(image_ladder().size()); }

RungInfo rung(std::int32_t index) { return rung_of(index).info(); }

Refusal refusal(const Rung& rung, const Problem& problem, const Device& device) {
    if (rung.info().ladder_only != 0 && problem.ladder == 0) { return "it runs in `tapline ladder` only"; }
    return rung.supports(problem, device);
}

bool supports(std::int32_t index, std::int32_t device, const Problem* problem, Status* status) {
    return guarded(status, false, [&] {
        const Refusal reason = refusal(rung_of(index), *problem, device_of(device));
        if (!reason.empty()) { throw CudaError(Code::unsupported, reason); }
        return true;
    });
}

double estimate_seconds(std::int32_t index, std::int32_t device, const Problem* problem) {
    return guarded(nullptr, HUGE_VAL, [&] { return rung_of(index).estimate_seconds(*problem, device_of(device)); });
}

/// Device memory that is given back unless it is kept.
class Upload {
public:
    Upload(int device, const void* from, std::int64_t bytes, cudaStream_t stream) : device_(device) {
        if (bytes == 0) { return; }
        memory_ = allocate_device(device, bytes);
        const cudaError_t copied = cudaMemcpyAsync(memory_, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream);
        if (copied != cudaSuccess) { free_device(device, memory_); }
        check(copied, "copying the mask");
    }
    ~Upload() {
        if (memory_ != nullptr) { free_device(device_, memory_); }
    }
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;
    void* keep() { return std::exchange(memory_, nullptr); }

private:
    int device_;
    void* memory_ = nullptr;
};

struct StreamOwner {
    cudaStream_t stream = nullptr;
    StreamOwner() { check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate"); }
    ~StreamOwner() { cudaStreamDestroy(stream); }
    StreamOwner(const StreamOwner&) = delete;
    StreamOwner& operator=(const StreamOwner&) = delete;
};

cuda_abi::Prepared* prepare(std::int32_t index, std::int32_t device, const Problem* problem, const ImageTaps* taps,
                                 Status* status) {
    return guarded<cuda_abi::Prepared*>(status, nullptr, [&]() -> cuda_abi::Prepared* {
        const Rung& rung = rung_of(index);
        auto made = std::make_unique<cuda_abi::Prepared>();
        made->device = device_of(device);
        const Refusal reason = refusal(rung, *problem, made->device);
        if (!reason.empty()) { throw CudaError(Code::unsupported, reason); }
        const DeviceScope scope(device);
        const RelaxedCapture relaxed;
        check(cudaFree(nullptr), "starting the device");  // the context exists from here on
        made->rung = &rung;
        made->problem = *problem;
        made->context = context_id();
        made->host = *taps;
        const auto* bytes_of_taps = static_cast<const std::byte*>(taps->taps);
        const std::int64_t bytes = problem->masks * problem->mask_height * problem->mask_width * bytes_of_tap(problem->taps_dtype);
        made->by_value.resize(kTapsByValueBytes);
        std::memcpy(made->by_value.data(), bytes_of_taps, std::min(kTapsByValueBytes, static_cast<std::size_t>(bytes)));
        made->taps_finite = all_finite(bytes_of_taps, bytes, problem->taps_dtype);
        const std::vector<std::byte> table = rung.table(*made);
        made->host = {};
        made->workspace_bytes = rung.workspace_bytes(*made);
        rung.load(*made);
        const StreamOwner stream;
        Upload on_device(device, bytes_of_taps, bytes, stream.stream);
        Upload table_on_device(device, table.data(), static_cast<std::int64_t>(table.size()), stream.stream);
        check(cudaStreamSynchronize(stream.stream), "copying the mask");
        made->taps = on_device.keep();
        made->table = table_on_device.keep();
        return made.release();
    });
}

void release(cuda_abi::Prepared* prepared) {
    if (prepared == nullptr) { return; }
    guarded(nullptr, false, [&] {
        const int device = prepared->device.index;
        const DeviceScope scope(device);
        if (context_id() == prepared->context) {
            free_device(device, const_cast<void*>(prepared->taps));
            if (prepared->table != nullptr) { free_device(device, const_cast<void*>(prepared->table)); }
        }
        return true;
    });
    delete prepared;
}

std::int64_t workspace_bytes(const cuda_abi::Prepared* prepared) { return prepared->workspace_bytes; }

std::int64_t band_rows(const cuda_abi::Prepared* prepared) { return prepared->rung->band_rows(*prepared); }

void describe(const cuda_abi::Prepared* prepared, char* text, std::size_t bytes) {
    const std::string description = guarded(nullptr, std::string(), [&] { return prepared->rung->describe(*prepared); });
    std::snprintf(text, bytes, "%s", description.c_str());
}

void check_job(const cuda_abi::Prepared& prepared, const Job& job, const void* workspace, std::int64_t workspace_size) {
    const int device = prepared.device.index;
    if (context_id() != prepared.context) {
        throw CudaError(Code::device, "plan: cuda:" + std::to_string(device) + " was reset after the plan was made; make it again");
    }
    if (job.count < 1 || job.batch < 1) { return; }
    check_pointer("out", job.out, device);
    if (job.in_last > job.in_first) { check_pointer("in", job.in, device); }
    if (prepared.workspace_bytes > 0) {
        if (workspace == nullptr || workspace_size < prepared.workspace_bytes) {
            throw CudaError(Code::argument, "workspace: " + std::to_string(workspace_size) + " bytes; the plan needs " +
                                                std::to_string(prepared.workspace_bytes));
        }
        check_pointer("workspace", workspace, device);
    }
}

bool execute(const cuda_abi::Prepared* prepared, const Job* job, void* workspace, std::int64_t workspace_size,
             Stream* stream, Status* status) {
    return guarded(status, false, [&] {
        const int device = prepared->device.index;
        const DeviceScope scope(device);
        check_job(*prepared, *job, workspace, workspace_size);
        if (job->rows < 1 || job->images < 1) { return true; }
        check_stream(reinterpret_cast<cudaStream_t>(stream), device);
        if (take_injected_loss(device)) {
            throw CudaError(Code::device,
                            "launch: the device was lost (injected); this process cannot use the GPU any more: the CPU "
                            "engine goes on",
                            true);
        }
        prepared->rung->launch(*prepared, *job, workspace, reinterpret_cast<cudaStream_t>(stream));
        check_launch(prepared->rung->info().name);
        return true;
    });
}

bool measure_job(const cuda_abi::Prepared* prepared, const Job* job, void* workspace, std::int64_t workspace_size,
                 bool cold, double seconds, Measurement* to, Status* status) {
    return guarded(status, false, [&] {
        {
            const DeviceScope scope(prepared->device.index);
            check_job(*prepared, *job, workspace, workspace_size);
        }
        const auto launch = [&](cudaStream_t stream) { prepared->rung->launch(*prepared, *job, workspace, stream); };
        *to = measure_launches(prepared->device.index, launch, cold, seconds);
        return true;
    });
}

constexpr ImageApi kImageApi{
    .abi_version = cuda_abi::kImageAbiVersion,
    .api_bytes = sizeof(ImageApi),
    .rung_count = rung_count,
    .rung = rung,
    .supports = supports,
    .estimate_seconds = estimate_seconds,
    .prepare = prepare,
    .release = release,
    .workspace_bytes = workspace_bytes,
    .band_rows = band_rows,
    .describe = describe,
    .execute = execute,
    .measure = measure_job,
};

}  // namespace
}  // namespace tapline::cuda

/// The engine's table for images, or null for a caller of another version.
extern "C" __attribute__((visibility("default"))) const tapline::cuda_abi::ImageApi* tapline_cuda_images(std::uint32_t version) {
    return version == tapline::cuda_abi::kImageAbiVersion ? &tapline::cuda::kImageApi : nullptr;
}
