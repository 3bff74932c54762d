// A rung with its taps prepared, as the core sees it.
#pragma once

#include <atomic>
#include <memory>

#include "core/choice/engine.hpp"
#include "gpu_host/library.hpp"

namespace tapline::gpu_host {

struct ReleasePrepared {
    const cuda_abi::Api* api;
    void operator()(cuda_abi::Prepared* prepared) const { api->release(prepared); }
};
using PreparedHandle = std::unique_ptr<cuda_abi::Prepared, ReleasePrepared>;

/// What one device does of a call with host buffers: of the batch the items [first_item, first_item + items), with so many threads
/// of the CPU; `set` and `stop` as PipelineTask has them.
struct HostShare {
    std::int64_t first_item = 0, items = 0;
    int threads = 1;
    std::int64_t set = 0;
    std::atomic<bool>* stop = nullptr;
};

class CudaExecutable final : public core::Executable {
public:
    /// `problem` and `request`: what `prepared` was made for. `in_pairs`: that has complex samples where executions bring two
    /// channels.
    CudaExecutable(const cuda_abi::Api& api, const cuda_abi::Device& device, const cuda_abi::RungInfo& info,
                   PreparedHandle prepared, const core::Resolved& problem, const core::Request& request, bool in_pairs);

    [[nodiscard]] const cuda_abi::Prepared* prepared() const { return prepared_.get(); }
    [[nodiscard]] int device() const { return device_.index; }
    /// The problem laid out as it was prepared: packed where executions take host buffers.
    [[nodiscard]] core::Resolved layout() const;

    [[nodiscard]] bool takes_host_memory() const override { return false; }
    [[nodiscard]] std::size_t workspace_bytes() const override { return static_cast<std::size_t>(workspace_bytes_); }
    [[nodiscard]] std::size_t host_workspace_bytes() const override { return 0; }
    [[nodiscard]] std::int64_t granularity() const override { return granularity_; }
    [[nodiscard]] std::string describe() const override;

    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void* stream) const override;
    void execute_with_taps(const core::Output& output, const core::Input& input, const core::GivenTaps& taps,
                           std::span<std::byte> workspace, void* stream) const override;
    void execute_alone(const core::Output& output, const core::Input& input) const override;
    void execute_host(const core::Output& output, const core::Input& input, std::span<std::byte> workspace) const override;
    /// A part of execute_host(): of a problem without outer axes.
    void execute_host_share(const core::Output& output, const core::Input& input, const HostShare& share) const;

private:
    // What an execution brings as the prepared problem lies: of two channels, in GPU memory, that is one of complex samples, whose
    // strides no other layout has.
    [[nodiscard]] core::Output own(const core::Output& output) const;
    [[nodiscard]] core::Input own(const core::Input& input) const;

    const cuda_abi::Api& api_;
    cuda_abi::Device device_;
    bool takes_pieces_;
    PreparedHandle prepared_;
    std::int64_t granularity_;
    std::int64_t workspace_bytes_;
    core::Resolved problem_;
    bool host_buffers_, in_pairs_;
    int threads_;
};

/// The outputs and the input of an execution in device memory, of `batch` items. Throws Error (unsupported) for input in two
/// pieces.
cuda_abi::Job job_of(const core::Output& output, const core::Input& input, std::int64_t batch);

/// Everything of a problem.
cuda_abi::Job whole_job(const core::Resolved& problem, void* out, const void* in);

/// A plan's executable, for measurements. Throws Error (device) for a plan on the CPU, (unsupported) for one that repeats an
/// algorithm over batch axes that the algorithm does not know.
const CudaExecutable& executable_of(const Plan& plan);

}  // namespace tapline::gpu_host
