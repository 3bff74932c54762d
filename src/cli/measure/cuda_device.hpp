// A GPU as the measuring commands use it: its memory, its rungs, one problem's data in it, and times by events. All that the
// command knows of the library's inside of a GPU is here.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cli/measure/case_data.hpp"
#include "cli/shared/timing.hpp"
#include "cuda/abi.hpp"
#include "gpu_host/wisdom.hpp"
#include "tapline/plan.hpp"

namespace tapline::cli {

using cuda_abi::Policy;
using gpu_host::wisdom_state;

/// "cuda", "cuda:0": a device's name, whether or not there is such a device.
bool names_cuda(const std::string& device);

/// "3 vectors, 256 threads, 4 tiles".
std::string describe_policy(const Policy& policy);

class CudaMemory;

/// A way to solve problems: a family of the library that ships, or a lesson of the one that teaches.
struct CudaRung {
    const cuda_abi::Api* api = nullptr;  ///< of its library
    std::int32_t index = 0;              ///< there
    cuda_abi::RungInfo info;
};

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

    /// What ships, for problems of `rank` filtered axes.
    [[nodiscard]] std::vector<CudaRung> families(int rank) const;
    /// The same with the lessons, in reading order: by number, what has none last. Without lessons `missing` says why.
    [[nodiscard]] std::vector<CudaRung> ladder(int rank, std::string& missing) const;

    /// Between memory of the device and pinned memory; waits until it is done.
    void copy(void* to, const void* from, std::size_t bytes) const;
    /// From and to ordinary memory, through pinned memory.
    void upload(void* to, const void* from, std::size_t bytes) const;
    void download(void* to, const void* from, std::size_t bytes) const;
    /// All ones: NaN in every floating type.
    void poison(void* to, std::size_t bytes) const;
    void synchronize() const;

private:
    const cuda_abi::Api* api_;
    cuda_abi::Device facts_;
    std::unique_ptr<CudaMemory> stage_;
};

/// Memory of the device, or host memory that it reaches without a detour (pinned).
class CudaMemory {
public:
    enum class Kind { device, pinned };
    /// At least one byte. `device` outlives it.
    CudaMemory(const CudaDevice& device, std::size_t bytes, Kind kind = Kind::device);
    ~CudaMemory();
    CudaMemory(const CudaMemory&) = delete;
    CudaMemory& operator=(const CudaMemory&) = delete;
    [[nodiscard]] void* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return bytes_; }
    [[nodiscard]] std::span<std::byte> span() const { return {static_cast<std::byte*>(data_), bytes_}; }

private:
    const CudaDevice& device_;
    std::size_t bytes_;
    Kind kind_;
    void* data_;
};

/// The fastest sizes of a rung, to be remembered.
struct TunedRung {
    std::string name;
    Policy policy;
    double seconds = 0, default_seconds = 0;  ///< with this policy and with the rung's own, cold L2 cache
};

/// One problem's signal, taps and output on a device, and what solves it: a rung that was prepared, or a plan.
class CudaProblem {
public:
    /// `guard_bytes` more are behind the output. `device` outlives it.
    CudaProblem(const CudaDevice& device, const Problem& problem, const CaseData& data, Accuracy accuracy,
                std::size_t guard_bytes = 0);
    ~CudaProblem();
    CudaProblem(const CudaProblem&) = delete;
    CudaProblem& operator=(const CudaProblem&) = delete;

    [[nodiscard]] const CudaDevice& device() const { return device_; }
    /// Empty: the rung takes the problem; else why not.
    [[nodiscard]] std::string refusal(const CudaRung& rung) const;
    [[nodiscard]] double estimate_seconds(const CudaRung& rung) const;
    /// Sizes that a rung may be launched with, its default first; empty for a rung without a choice.
    [[nodiscard]] std::vector<Policy> policies(const CudaRung& rung) const;
    /// Whether the taps are of the signal's 16-bit type.
    [[nodiscard]] bool narrow_taps() const;

    /// Throw Error, for a rung where the sizes do not fit too.
    void prepare(const CudaRung& rung, const Policy& policy);
    void prepare(const Plan& plan);
    [[nodiscard]] std::string describe() const;

    /// Once, into an output of ones (NaN); waits for it.
    void execute() const;
    /// Bytes of the output and of the guard behind it.
    void download(void* to, std::size_t offset, std::size_t bytes) const;

    /// About `seconds` long. Cold: the L2 cache is overwritten before each run.
    [[nodiscard]] Timing measure(bool cold, double seconds) const;
    /// Of a copy of the signal from device memory to device memory.
    [[nodiscard]] Timing measure_copy(bool cold, double seconds) const;

    /// Adds what was found for this problem's class to the wisdom file.
    void remember(const std::vector<TunedRung>& rungs, const std::string& date) const;

private:
    struct Prepared;
    [[nodiscard]] Timing timed(const cuda_abi::Prepared* prepared, bool cold, double seconds) const;
    void make_workspace(std::size_t bytes);

    const CudaDevice& device_;
    struct Asked;  // the problem as the libraries want it
    std::unique_ptr<const Asked> asked_;
    std::size_t output_bytes_;  // with the guard
    CudaMemory in_;
    CudaMemory out_;  // large enough for a copy of the signal too
    cuda_abi::Job job_;
    std::unique_ptr<Prepared> prepared_;
    std::unique_ptr<CudaMemory> workspace_;
};

}  // namespace tapline::cli
