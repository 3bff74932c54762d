// A GPU as the measuring commands use it: its memory, one problem's data in it, and times by events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cli/bench/bench_case.hpp"
#include "gpu_host/library.hpp"
#include "tapline/error.hpp"

namespace tapline::cli {

/// Calls a function of the engine whose last argument is a Status; throws what that says if the result is false or null.
template <class Function, class... Arguments>
auto cuda_call(Function function, Arguments... arguments) {
    cuda_abi::Status status;
    auto result = function(arguments..., &status);
    if (!result) core::throw_status(status);
    return result;
}

/// "cuda", "cuda:0": a device's name, whether or not there is such a device.
bool names_cuda(const std::string& device);

class CudaMemory;

class CudaDevice {
public:
    /// "cuda" or "cuda:N". Throws Error (device) with the reason if it cannot be used.
    explicit CudaDevice(const std::string& name);
    ~CudaDevice();
    CudaDevice(const CudaDevice&) = delete;
    CudaDevice& operator=(const CudaDevice&) = delete;

    [[nodiscard]] const cuda_abi::Api& api() const { return *api_; }
    [[nodiscard]] int index() const { return facts_.index; }
    [[nodiscard]] const cuda_abi::Device& facts() const { return facts_; }
    [[nodiscard]] std::string name() const { return "cuda:" + std::to_string(facts_.index); }

    /// Between memory of the device and pinned memory; waits until it is done.
    void copy(void* to, const void* from, std::size_t bytes) const;
    /// From and to ordinary memory, through pinned memory.
    void upload(void* to, const void* from, std::size_t bytes) const;
    void download(void* to, const void* from, std::size_t bytes) const;
    void fill(void* to, int byte, std::size_t bytes) const;
    void synchronize() const;

private:
    const cuda_abi::Api* api_;
    cuda_abi::Device facts_;
    std::unique_ptr<CudaMemory> stage_;
};

/// Memory of the device, or host memory that it reaches without a detour (pinned).
class CudaMemory {
public:
    enum class Place { device, pinned };
    /// At least one byte. `device` outlives it.
    CudaMemory(const CudaDevice& device, std::size_t bytes, Place place = Place::device);
    ~CudaMemory();
    CudaMemory(const CudaMemory&) = delete;
    CudaMemory& operator=(const CudaMemory&) = delete;
    [[nodiscard]] void* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return bytes_; }

private:
    const CudaDevice& device_;
    std::size_t bytes_;
    Place place_;
    void* data_;
};

/// One problem's packed signal and output on a device.
class CudaProblem {
public:
    CudaProblem(const CudaDevice& device, const Problem& problem, const BenchData& data);

    [[nodiscard]] const CudaDevice& device() const { return device_; }
    [[nodiscard]] void* out() const { return out_.data(); }
    [[nodiscard]] const void* in() const { return in_.data(); }

    /// Fills the output with ones: NaN.
    void poison() const;
    /// The output's elements [offset, offset + count); waits for what runs.
    void download(void* to, std::int64_t offset, std::int64_t count) const;
    /// The whole problem, once.
    void execute(const cuda_abi::Prepared& prepared, const CudaMemory& workspace) const;

    /// Of the whole problem, about `seconds` long. Cold: the L2 cache is overwritten before each run.
    [[nodiscard]] Timing measure(const cuda_abi::Prepared& prepared, const CudaMemory& workspace, bool cold, double seconds) const;
    /// Of a device-to-device copy of the signal.
    [[nodiscard]] Timing measure_copy(bool cold, double seconds) const;

private:
    [[nodiscard]] Timing measure(const cuda_abi::Prepared* prepared, const CudaMemory* workspace, bool cold, double seconds) const;

    const CudaDevice& device_;
    std::size_t element_bytes_;  // of the output
    std::size_t output_bytes_;
    CudaMemory in_;
    CudaMemory out_;  // large enough for a copy of the signal too
    cuda_abi::Job job_;
};

}  // namespace tapline::cli
