#include "gpu_host/engine.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <mutex>
#include <vector>

#include "core/choice/choice.hpp"
#include "core/problem/arrange.hpp"
#include "cuda/local_taps.hpp"
#include "gpu_host/executable.hpp"
#include "gpu_host/measuring_buffers.hpp"
#include "gpu_host/problem.hpp"
#include "gpu_host/wisdom.hpp"

namespace tapline::gpu_host {
namespace {

using core::Request;
using core::Resolved;
using core::Support;
using cuda_abi::Api;

class RungAlgorithm final : public core::Algorithm {
public:
    RungAlgorithm(const Api& api, const cuda_abi::Device& device, std::int32_t rung, bool in_parts)
        : api_(api), device_(device), rung_(rung), info_(api.rung(rung)), in_parts_(in_parts) {}

    [[nodiscard]] std::string_view name() const override { return info_.name; }
    [[nodiscard]] std::string_view summary() const override { return info_.idea; }
    [[nodiscard]] bool takes_rank(int rank) const override { return info_.rank == rank; }
    [[nodiscard]] bool is_local() const override { return info_.is_local != 0; }

    // Outer axes that step through filters are mostly repeated, each with its own; what comes from host memory is cut into pieces
    // of one.
    [[nodiscard]] bool takes_outer(const Resolved& problem, const Request& request) const override {
        if (in_parts_ || request.host_buffers) { return false; }
        if (core::filter_sets(problem) != 1) { return info_.takes_outer == 2 && supports(problem, request).ok; }
        if (info_.takes_outer == cuda_abi::kOuterWhereSupported) { return supports(problem, request).ok; }
        return info_.takes_outer != 0 || !asked(problem, request).has_outer();
    }

    [[nodiscard]] Support supports(const Resolved& problem, const Request& request) const override {
        if ((in_parts_ || request.host_buffers) && info_.takes_pieces == 0) {
            return Support::no("it takes whole signals or images in GPU memory, not pieces of one");
        }
        const cuda_abi::Problem abi = to_abi(asked(problem, request), request);
        cuda_abi::Status status;
        if (api_.supports(rung_, device_.index, &abi, &status)) { return Support::yes(); }
        return Support::no(status.message[0] == 0 ? "it does not say why" : status.message);
    }

    [[nodiscard]] double estimate_seconds(const Resolved& problem, const Request& request) const override {
        const cuda_abi::Problem abi = to_abi(asked(problem, request), request);
        const double seconds = api_.estimate_seconds(rung_, device_.index, &abi);
        return problem.x.n == kUnknownLength ? seconds / static_cast<double>(abi.x.n) : seconds;
    }

    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& problem, const void* taps,
                                                            const Request& request) const override {
        const Resolved laid_out = asked(problem, request);
        const cuda_abi::Problem abi = to_abi(laid_out, request);
        const TapsWithFactors with_factors(problem, taps, request.facts);
        const cuda_abi::HostTaps all = with_factors.get();
        // What `tapline tune` found for this device, rung and problem; without it the rung's own default.
        const std::optional<cuda_abi::Policy> tuned = tuned_policy(device_, info_.name, abi);
        const cuda_abi::Policy policy = tuned.value_or(cuda_abi::Policy{});
        cuda_abi::Status status;
        PreparedHandle prepared(api_.prepare(rung_, device_.index, &abi, &all, &policy, &status), {&api_});
        if (prepared == nullptr && tuned) {  // found for a neighbouring problem, which this one's sizes need not fit
            const cuda_abi::Policy own;
            prepared.reset(api_.prepare(rung_, device_.index, &abi, &all, &own, &status));
        }
        if (prepared == nullptr) { throw_status(status); }
        return std::make_unique<CudaExecutable>(api_, device_, info_, std::move(prepared), laid_out, request,
                                                laid_out.dtype != problem.dtype);
    }

private:
    // As rungs are asked about it in GPU memory: two channels are the parts of complex samples, those of images two channels.
    [[nodiscard]] Resolved asked(const Resolved& problem, const Request& request) const {
        if (in_parts_ || request.host_buffers) { return problem; }
        if (core::filter_sets(problem) != 1) { return problem; }  // sets of filters are in the order of its axes
        if (problem.rank > 1) { return core::with_parts(problem); }
        // Checked segments hold twice as many samples that are real, so that of these filters more than twice as many outputs: (37,
        // 39333, 2) f32 with 7,323 taps, H200, 236 us in pairs, its rows one after the other 55.
        constexpr std::int64_t kLeastApart = 6144;
        constexpr std::int64_t kMostApart = 12288;
        const bool apart = request.accuracy == Accuracy::strict && problem.x.k >= kLeastApart && problem.x.k <= kMostApart;
        return apart ? problem : core::with_pairs(problem);
    }

    const Api& api_;
    cuda_abi::Device device_;
    std::int32_t rung_;
    cuda_abi::RungInfo info_;
    bool in_parts_;
};

std::string version_text(std::int32_t version) {  // 13000 is 13.0
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string power_of_two(std::int32_t exponent) { return "2^" + std::to_string(exponent); }

// "9 taps, 2^20 outputs a row, 2^4 rows": which problems the entry was measured for.
std::string class_text(const ProblemClass& c) {
    const bool is_image = c.rank > 1;
    const std::string size = (is_image ? std::to_string(c.taps_y) + " x " : "") + std::to_string(c.taps);
    std::string text = size + (is_image || c.taps != 1 ? " taps, " : " tap, ") + power_of_two(c.outputs_log2) + " outputs";
    if (c.channels > 1) { text += " a channel, " + std::to_string(c.channels) + " channels"; }
    if (c.batch_log2 == 0) { return text; }
    return text + (is_image ? ", " : " a row, ") + power_of_two(c.batch_log2) + (is_image ? " images" : " rows");
}

// `tapline tune` measures signals and images whose samples lie side by side.
bool is_like_measured(const Resolved& problem) {
    const bool side_by_side = problem.rank > 1 || (problem.x.in_stride == 1 && problem.x.out_stride == 1);
    return side_by_side && !problem.has_outer() && (problem.rank > 1 || problem.dtype == problem.output_dtype);
}

class CudaEngine final : public core::Engine {
public:
    CudaEngine(const Api& api, const cuda_abi::Device& device, bool in_parts) : device_(device) {
        for (std::int32_t rung = 0; rung < api.rung_count(); ++rung) {
            rungs_.push_back(std::make_unique<RungAlgorithm>(api, device, rung, in_parts));
        }
        for (const auto& rung : rungs_) { table_.push_back(rung.get()); }
    }

    [[nodiscard]] EngineInfo info() const override {
        const std::string capability = std::to_string(device_.major) + "." + std::to_string(device_.minor);
        std::array<char, 32> memory{};
        std::snprintf(memory.data(), memory.size(), "%.1f GiB", static_cast<double>(device_.memory_bytes) / 0x1p30);
        EngineInfo info{.name = "cuda", .available = true, .reason = {}, .devices = {}};
        info.devices.push_back({.name = "cuda:" + std::to_string(device_.index),
                                .description = std::string(device_.name) + ", compute capability " + capability + ", " +
                                               memory.data() + ", driver for CUDA " + version_text(device_.driver_version),
                                .instruction_set = "sm_" + std::to_string(device_.major) + std::to_string(device_.minor),
                                .threads = 0,
                                .memory_bytes = device_.memory_bytes});
        return info;
    }

    [[nodiscard]] std::span<const core::Algorithm* const> algorithms() const override { return table_; }

    [[nodiscard]] Support accepts(const Resolved& problem, const Request& /*request*/) const override {
        if (problem.changes_rate()) {
            return Support::no("up, down or dilation other than 1: only the CPU's textbook solves these yet; use --device cpu");
        }
        return Support::yes();
    }

    [[nodiscard]] std::optional<core::Measured> measured(const Resolved& problem, const Request& request,
                                                         const std::function<bool(const core::Algorithm&)>& accept) const override {
        if (!is_like_measured(problem)) { return std::nullopt; }
        const auto named = [this](const std::string& rung) {  // nullptr: the file may name what this library has not
            const auto found =
                std::find_if(table_.begin(), table_.end(), [&](const core::Algorithm* a) { return a->name() == rung; });
            return found == table_.end() ? nullptr : *found;
        };
        const auto fastest = tuned_rung(device_, to_abi(problem, request), [&](const std::string& rung) {
            const core::Algorithm* const algorithm = named(rung);
            return algorithm != nullptr && accept(*algorithm);
        });
        if (!fastest) { return std::nullopt; }
        return core::Measured{named(fastest->rung), "fastest as `tapline tune` measured on this device: " + fastest->rung + " " +
                                                        core::format_seconds(fastest->seconds) + " for " +
                                                        class_text(fastest->problem)};
    }

    [[nodiscard]] std::int64_t local_taps(int /*rank*/) const override { return cuda_abi::kLocalTaps; }

    [[nodiscard]] double copy_seconds(std::int64_t bytes, int /*threads*/) const override {
        constexpr double kLaunchSeconds = 2e-6;
        return kLaunchSeconds + 2 * static_cast<double>(bytes) / device_.copy_bytes_per_second;
    }

    [[nodiscard]] std::unique_ptr<core::MeasuringBuffers> measuring_buffers(const Resolved& /*problem*/) const override {
        return gpu_host::measuring_buffers(device_.index);
    }

private:
    cuda_abi::Device device_;
    std::vector<std::unique_ptr<RungAlgorithm>> rungs_;
    std::vector<const core::Algorithm*> table_;
};

// Each device's engine is made when it is first asked for; asking again after a failure tries again.
class Engines {
public:
    const CudaEngine& of(int device, bool in_parts) {
        const Api& api = api_for(device, "; use cpu or auto");
        const std::lock_guard lock(mutex_);
        made_.resize(static_cast<std::size_t>(library().devices));
        std::unique_ptr<CudaEngine>& made = made_[static_cast<std::size_t>(device)];
        if (made == nullptr) {
            cuda_abi::Device properties;
            call(api.device, device, &properties);
            made = std::make_unique<CudaEngine>(api, properties, in_parts);
        }
        return *made;
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<CudaEngine>> made_;
};

}  // namespace

std::optional<int> device_index(const std::string& name) {
    if (name == "cuda") { return 0; }
    if (name.rfind("cuda:", 0) != 0) { return std::nullopt; }
    int index = -1;
    const char* const last = name.data() + name.size();
    const auto [end, error] = std::from_chars(name.data() + 5, last, index);
    if (error != std::errc() || end != last || index < 0) { return std::nullopt; }
    return index;
}

const core::Engine& engine(int device) {
    static Engines& engines = *new Engines;  // as the library: never destroyed
    return engines.of(device, false);
}

const core::Engine& engine_of_parts(int device) {
    static Engines& engines = *new Engines;
    return engines.of(device, true);
}

}  // namespace tapline::gpu_host
