// The GPU's ladder: the rungs of libtapline_cuda.so, through its table of functions.
#include <algorithm>
#include <array>
#include <cstdio>

#include "cli/shared/cuda_device.hpp"
#include "cli/ladder/ladder_engine.hpp"
#include "cli/tune/tune_search.hpp"

namespace tapline::cli {
namespace {

using cuda_abi::Job;
using cuda_abi::Policy;

cuda_abi::Problem ladder_problem(const Problem& problem) {
    cuda_abi::Problem plain = core::to_abi(core::resolve(problem), {});
    plain.ladder = 1;
    return plain;
}

std::vector<float> correlation_taps(const Problem& problem, const BenchData& data) {
    const auto* taps = reinterpret_cast<const float*>(data.taps.data());
    std::vector<float> ordered(taps, taps + problem.taps);
    if (problem.operation == Operation::convolution) std::ranges::reverse(ordered);
    return ordered;
}

class CudaSite final : public LadderSite {
public:
    CudaSite(const CudaDevice& device, const Problem& problem, const BenchData& data)
        : device_(device),
          api_(device.api()),
          problem_(ladder_problem(problem)),
          taps_(correlation_taps(problem, data)),
          in_(device, bytes_of(problem_.n)),
          out_(device, bytes_of(std::max(problem_.n, problem_.output_length) + kGuard)),
          prepared_(nullptr, api_.release) {
        job_.out = out_.data();
        job_.count = job_.out_row = problem_.output_length;
        job_.in = in_.data();
        job_.in_last = job_.in_row = job_.n = problem_.n;
        job_.rows = 1;
        device.upload(in_.data(), data.signal.data(), data.signal.size());
    }

    [[nodiscard]] int policies(int rung) override {
        const int count = std::max(api_.policies(rung, device_.index(), &problem_, nullptr, 0), 0);
        policies_.assign(static_cast<std::size_t>(std::max(count, 1)), Policy{});
        api_.policies(rung, device_.index(), &problem_, policies_.data(), count);
        return std::max(count, 1);
    }

    void prepare(int rung, int policy) override {
        if (policy >= policies(rung)) throw Error(ErrorCode::argument, "policy: the rung has fewer");
        prepared_.reset();
        workspace_.reset();
        policy_ = policies_[static_cast<std::size_t>(policy)];
        prepared_.reset(cuda_call(api_.prepare, rung, device_.index(), &problem_, static_cast<const void*>(taps_.data()),
                                  static_cast<const Policy*>(&policy_)));
        workspace_bytes_ = api_.workspace_bytes(prepared_.get());
        if (workspace_bytes_ > 0) workspace_ = std::make_unique<CudaMemory>(device_, static_cast<std::size_t>(workspace_bytes_));
    }

    [[nodiscard]] std::string describe() const override {
        std::array<char, 256> text{};
        api_.describe(prepared_.get(), text.data(), text.size());
        text.back() = '\0';
        return text.front() != '\0' ? text.data() : describe_policy(policy_);
    }

    [[nodiscard]] Bytes run() override {
        Bytes out(bytes_of(problem_.output_length + kGuard));
        device_.fill(out_.data(), 0xFF, out_.size());
        cuda_call(api_.execute, prepared(), job(), workspace(), workspace_bytes_, kStream);
        device_.synchronize();
        device_.download(out.data(), out_.data(), out.size());
        return out;
    }

    [[nodiscard]] Timing measure(bool cold, double seconds) override { return measure(prepared(), cold, seconds); }
    [[nodiscard]] Timing measure_copy(bool cold, double seconds) override { return measure(nullptr, cold, seconds); }

private:
    static constexpr cuda_abi::Stream* kStream = nullptr;  // the default one
    static std::size_t bytes_of(std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); }
    [[nodiscard]] const cuda_abi::Prepared* prepared() const { return prepared_.get(); }
    [[nodiscard]] const Job* job() const { return &job_; }
    [[nodiscard]] void* workspace() const { return workspace_ ? workspace_->data() : nullptr; }

    /// Of a copy of the signal if nothing is `prepared`.
    [[nodiscard]] Timing measure(const cuda_abi::Prepared* what, bool cold, double seconds) const {
        cuda_abi::Measurement m;
        cuda_call(api_.measure, device_.index(), what, job(), workspace(), workspace_bytes_, static_cast<std::int64_t>(in_.size()),
                  cold, seconds, &m);
        return {m.median_seconds, m.least_seconds, m.most_seconds, m.runs};
    }

    const CudaDevice& device_;
    const cuda_abi::Api& api_;
    cuda_abi::Problem problem_;
    std::vector<float> taps_;  // in correlation order
    CudaMemory in_;
    CudaMemory out_;  // large enough for a copy of the signal and for the guard
    Job job_;
    std::vector<Policy> policies_;
    Policy policy_;
    std::unique_ptr<cuda_abi::Prepared, void (*)(cuda_abi::Prepared*)> prepared_;
    std::int64_t workspace_bytes_ = 0;
    std::unique_ptr<CudaMemory> workspace_;
};

class CudaLadder final : public LadderEngine {
public:
    explicit CudaLadder(const std::string& name) : device_(name) {
        for (std::int32_t i = 0; i < device_.api().rung_count(); ++i) {
            const cuda_abi::RungInfo info = device_.api().rung(i);
            lessons_.push_back({.number = info.number,
                                .name = info.name,
                                .origin = info.origin,
                                .idea = info.idea,
                                .changed = info.changed,
                                .requirements = info.requirements,
                                .limited_by = info.limited_by,
                                .source = info.source});
        }
    }

    [[nodiscard]] LadderDevice device() const override {
        const cuda_abi::Device& facts = device_.facts();
        LadderDevice device{.engine = "cuda", .name = device_.name(), .description = facts.name, .facts = {}};
        char text[64];
        const auto add = [&](const char* name, const char* format, auto... values) {
            std::snprintf(text, sizeof text, format, values...);
            device.facts.emplace_back(name, text);
        };
        add("compute capability", "%d.%d", facts.major, facts.minor);
        add("multiprocessors", "%d", facts.multiprocessors);
        add("memory", "%.1f GiB", static_cast<double>(facts.memory_bytes) / 0x1p30);
        add("L2 cache", "%.0f MiB", static_cast<double>(facts.l2_bytes) / 0x1p20);
        add("driver", "CUDA %d.%d", facts.driver_version / 1000, facts.driver_version % 1000 / 10);
        return device;
    }

    [[nodiscard]] const std::vector<Lesson>& rungs() const override { return lessons_; }

    [[nodiscard]] std::string refusal(int rung, const Problem& problem) const override {
        cuda_abi::Status status;
        const cuda_abi::Problem plain = ladder_problem(problem);
        if (device_.api().supports(rung, device_.index(), &plain, &status)) return {};
        return status.message[0] != '\0' ? status.message : "not supported";
    }

    [[nodiscard]] double estimate_seconds(int rung, const Problem& problem) const override {
        const cuda_abi::Problem plain = ladder_problem(problem);
        return device_.api().estimate_seconds(rung, device_.index(), &plain);
    }

    [[nodiscard]] bool measures_cold() const override { return true; }

    [[nodiscard]] std::unique_ptr<LadderSite> site(const Problem& problem, const BenchData& data) const override {
        return std::make_unique<CudaSite>(device_, problem, data);
    }

private:
    CudaDevice device_;
    std::vector<Lesson> lessons_;
};

}  // namespace

std::unique_ptr<LadderEngine> cuda_ladder(const std::string& device) { return std::make_unique<CudaLadder>(device); }

std::unique_ptr<LadderEngine> ladder_engine(const std::string& device) {
    if (device == "auto") return core::cuda_library().api != nullptr ? cuda_ladder("cuda:0") : cpu_ladder();
    // Names that are no device's are refused there.
    return device == "cpu" ? cpu_ladder() : cuda_ladder(device);
}

}  // namespace tapline::cli
