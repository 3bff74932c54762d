#include "cli/shared/cuda_device.hpp"

#include <algorithm>
#include <cstring>

namespace tapline::cli {
namespace {

constexpr cuda_abi::Stream* kStream = nullptr;  // the default one
constexpr std::size_t kStageBytes = std::size_t{16} << 20;

std::size_t output_bytes(const Problem& problem) {
    return static_cast<std::size_t>(output_extent(problem)) * size_of(output_dtype(problem));
}

}  // namespace

bool names_cuda(const std::string& device) { return device == "cuda" || device.rfind("cuda:", 0) == 0; }

CudaDevice::CudaDevice(const std::string& name) {
    // The engine knows what names there are and why one cannot be used.
    const std::string full = core::engine_for(name).info().devices.front().name;
    if (!names_cuda(full)) throw Error(ErrorCode::argument, "device: '" + name + "' is not a GPU; name cuda or cuda:N");
    api_ = core::cuda_library().api;
    cuda_call(api_->device, std::stoi(full.substr(full.find(':') + 1)), &facts_);
    stage_ = std::make_unique<CudaMemory>(*this, kStageBytes, CudaMemory::Place::pinned);
}

CudaDevice::~CudaDevice() = default;

void CudaDevice::upload(void* to, const void* from, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes; at += kStageBytes) {
        const std::size_t part = std::min(kStageBytes, bytes - at);
        std::memcpy(stage_->data(), static_cast<const std::byte*>(from) + at, part);
        copy(static_cast<std::byte*>(to) + at, stage_->data(), part);
    }
}

void CudaDevice::download(void* to, const void* from, std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes; at += kStageBytes) {
        const std::size_t part = std::min(kStageBytes, bytes - at);
        copy(stage_->data(), static_cast<const std::byte*>(from) + at, part);
        std::memcpy(static_cast<std::byte*>(to) + at, stage_->data(), part);
    }
}

void CudaDevice::copy(void* to, const void* from, std::size_t bytes) const {
    cuda_call(api_->copy, index(), to, from, static_cast<std::int64_t>(bytes), kStream);
    synchronize();
}

void CudaDevice::fill(void* to, int byte, std::size_t bytes) const {
    cuda_call(api_->fill, index(), to, byte, static_cast<std::int64_t>(bytes), kStream);
}

void CudaDevice::synchronize() const { cuda_call(api_->synchronize_stream, index(), kStream); }

CudaMemory::CudaMemory(const CudaDevice& device, std::size_t bytes, Place place)
    : device_(device),
      bytes_(bytes),
      place_(place),
      data_(cuda_call(place == Place::device ? device.api().allocate : device.api().allocate_pinned, device.index(),
                      static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1)))) {}

CudaMemory::~CudaMemory() { (place_ == Place::device ? device_.api().free : device_.api().free_pinned)(device_.index(), data_); }

CudaProblem::CudaProblem(const CudaDevice& device, const Problem& problem, const BenchData& data)
    : device_(device),
      element_bytes_(size_of(output_dtype(problem))),
      output_bytes_(output_bytes(problem)),
      in_(device, data.signal.size()),
      out_(device, std::max(output_bytes_, data.signal.size())) {
    const core::Resolved resolved = core::resolve(problem);
    job_ = {.out = out_.data(),
            .first = 0,
            .count = resolved.output_length,
            .out_row = resolved.out_row,
            .out_sample = resolved.out_sample,
            .in = in_.data(),
            .in_first = 0,
            .in_last = resolved.n,
            .in_row = resolved.in_row,
            .in_sample = resolved.in_sample,
            .row_first = 0,
            .rows = resolved.batch,
            .n = resolved.n};
    device.upload(in_.data(), data.signal.data(), data.signal.size());
}

void CudaProblem::poison() const { device_.fill(out_.data(), 0xFF, out_.size()); }

void CudaProblem::download(void* to, std::int64_t offset, std::int64_t count) const {
    const auto* from = static_cast<const std::byte*>(out_.data()) + static_cast<std::size_t>(offset) * element_bytes_;
    device_.download(to, from, static_cast<std::size_t>(count) * element_bytes_);
}

void CudaProblem::execute(const cuda_abi::Prepared& prepared, const CudaMemory& workspace) const {
    cuda_call(device_.api().execute, &prepared, &job_, workspace.data(), static_cast<std::int64_t>(workspace.size()), kStream);
}

Timing CudaProblem::measure(const cuda_abi::Prepared& prepared, const CudaMemory& workspace, bool cold, double seconds) const {
    return measure(&prepared, &workspace, cold, seconds);
}

Timing CudaProblem::measure_copy(bool cold, double seconds) const { return measure(nullptr, nullptr, cold, seconds); }

Timing CudaProblem::measure(const cuda_abi::Prepared* prepared, const CudaMemory* workspace, bool cold, double seconds) const {
    cuda_abi::Measurement m;
    cuda_call(device_.api().measure, device_.index(), prepared, &job_, workspace == nullptr ? nullptr : workspace->data(),
              static_cast<std::int64_t>(workspace == nullptr ? 0 : workspace->size()), static_cast<std::int64_t>(in_.size()), cold,
              seconds, &m);
    return {m.median_seconds, m.least_seconds, m.most_seconds, m.runs};
}

}  // namespace tapline::cli
