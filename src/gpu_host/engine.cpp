// The CUDA engine as the rest of the library sees engines: one per device, its algorithms are the ladder's rungs.
#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <vector>

#include "core/choice/choice.hpp"
#include "gpu_host/host_pipeline.hpp"
#include "gpu_host/library.hpp"
#include "gpu_host/wisdom.hpp"

namespace tapline::core {
namespace {

using cuda_abi::Api;

struct ReleasePrepared {
    const Api* api;
    void operator()(cuda_abi::Prepared* prepared) const { api->release(prepared); }
};
using PreparedHandle = std::unique_ptr<cuda_abi::Prepared, ReleasePrepared>;

class RungExecutable final : public CudaExecutable {
public:
    RungExecutable(const Api& api, const cuda_abi::Device& device, const cuda_abi::RungInfo& info, PreparedHandle prepared,
                   const Resolved& problem, int threads)
        : api_(api),
          device_(device),
          takes_pieces_(info.takes_pieces != 0),
          prepared_(std::move(prepared)),
          granularity_(api.granularity(prepared_.get())),
          workspace_bytes_(api.workspace_bytes(prepared_.get())),
          problem_(problem),
          threads_(threads) {}

    [[nodiscard]] const cuda_abi::Prepared* prepared() const override { return prepared_.get(); }
    [[nodiscard]] int device() const override { return device_.index; }
    [[nodiscard]] std::size_t workspace_bytes() const override { return static_cast<std::size_t>(workspace_bytes_); }
    [[nodiscard]] std::int64_t granularity() const override { return granularity_; }

    void execute(const Output& output, const Input& input, std::span<std::byte> workspace, void* stream) const override {
        const cuda_abi::Job job = job_of(output, input);
        cuda_abi::Status status;
        if (!api_.execute(prepared_.get(), &job, workspace.data(), static_cast<std::int64_t>(workspace.size()),
                          static_cast<cuda_abi::Stream*>(stream), &status)) {
            throw_status(status);
        }
    }

    void execute_with_taps(const Output& output, const Input& input, const cuda_abi::DeviceTaps& taps,
                           std::span<std::byte> workspace, void* stream) const override {
        const cuda_abi::Job job = job_of(output, input);
        cuda_abi::Status status;
        if (!api_.execute_with_taps(prepared_.get(), &job, &taps, workspace.data(), static_cast<std::int64_t>(workspace.size()),
                                    static_cast<cuda_abi::Stream*>(stream), &status)) {
            throw_status(status);
        }
    }

    void execute_host(const Output& output, const Input& input, std::span<std::byte> /*workspace*/) const override {
        run_host_pipeline({.api = &api_,
                           .device = device_.index,
                           .prepared = prepared_.get(),
                           .problem = &problem_,
                           .takes_pieces = takes_pieces_,
                           .granularity = granularity_,
                           .workspace_bytes = workspace_bytes_,
                           .threads = threads_},
                          output, input);
    }

    [[nodiscard]] std::string describe() const override {
        std::array<char, 512> text{};
        api_.describe(prepared_.get(), text.data(), text.size());
        const std::string details = text.data();
        return std::string(device_.name) + (details.empty() ? "" : ", " + details);
    }

private:
    [[nodiscard]] cuda_abi::Job job_of(const Output& output, const Input& input) const {
        if (input.extra.first < input.extra.last) {
            throw Error(ErrorCode::unsupported, "in: a GPU reads one piece of device memory; use execute_host");
        }
        return {.out = output.data,
                .first = output.first,
                .count = output.count,
                .out_row = output.batch_stride,
                .out_sample = output.stride,
                .in = input.main.data,
                .in_first = input.main.first,
                .in_last = input.main.last,
                .in_row = input.main.batch_stride,
                .in_sample = input.main.stride,
                .row_first = 0,
                .rows = problem_.batch.length,
                .n = input.n};
    }

    const Api& api_;
    cuda_abi::Device device_;
    bool takes_pieces_;
    PreparedHandle prepared_;
    std::int64_t granularity_;
    std::int64_t workspace_bytes_;
    Resolved problem_;
    int threads_;
};

class RungAlgorithm final : public Algorithm {
public:
    RungAlgorithm(const Api& api, const cuda_abi::Device& device, std::int32_t rung)
        : api_(api), device_(device), rung_(rung), info_(api.rung(rung)) {}

    [[nodiscard]] std::string_view name() const override { return info_.name; }
    [[nodiscard]] std::string_view summary() const override { return info_.idea; }
    [[nodiscard]] bool is_local() const override { return info_.is_local != 0; }
    [[nodiscard]] bool by_name_only() const override { return info_.takes_pieces == 0; }

    [[nodiscard]] Support supports(const Resolved& problem, const Request& request) const override {
        if (is_integer(problem.dtype)) { return Support::no("integers are exact on the CPU only; use --device cpu"); }
        if (request.host_buffers && info_.takes_pieces == 0) {
            return Support::no("it takes whole signals in GPU memory, not pieces of one");
        }
        const cuda_abi::Problem abi = to_abi(problem, request);
        cuda_abi::Status status;
        if (api_.supports(rung_, device_.index, &abi, &status)) { return Support::yes(); }
        return Support::no(status.message[0] == 0 ? "it does not say why" : status.message);
    }

    [[nodiscard]] double estimate_seconds(const Resolved& problem, const Request& request) const override {
        const cuda_abi::Problem abi = to_abi(problem, request);
        const double seconds = api_.estimate_seconds(rung_, device_.index, &abi);
        return problem.x.n == kUnknownLength ? seconds / static_cast<double>(abi.n) : seconds;
    }

    [[nodiscard]] std::unique_ptr<Executable> prepare(const Resolved& problem, const void* taps,
                                                      const Request& request) const override {
        const cuda_abi::Problem abi = to_abi(problem, request);
        // What `tapline tune` found for this device, rung and problem; without it the rung's own default.
        const std::optional<cuda_abi::Policy> tuned = tuned_policy(device_, info_.name, abi);
        const cuda_abi::Policy policy = tuned.value_or(cuda_abi::Policy{});
        cuda_abi::Status status;
        PreparedHandle prepared(api_.prepare(rung_, device_.index, &abi, taps, &policy, &status), {&api_});
        if (prepared == nullptr && tuned) {  // found for a neighbouring problem, which this one's sizes need not fit
            const cuda_abi::Policy own;
            prepared.reset(api_.prepare(rung_, device_.index, &abi, taps, &own, &status));
        }
        if (prepared == nullptr) { throw_status(status); }
        return std::make_unique<RungExecutable>(api_, device_, info_, std::move(prepared), problem, request.threads);
    }

private:
    const Api& api_;
    cuda_abi::Device device_;
    std::int32_t rung_;
    cuda_abi::RungInfo info_;
};

std::string version_text(std::int32_t version) {  // 13000 is 13.0
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string power_of_two(std::int32_t exponent) { return "2^" + std::to_string(exponent); }

// "9 taps, 2^20 outputs a row, 2^4 rows": which problems the entry was measured for.
std::string class_text(const ProblemClass& c) {
    std::string text = std::to_string(c.taps) + (c.taps == 1 ? " tap, " : " taps, ") + power_of_two(c.outputs_log2) + " outputs";
    return c.batch_log2 == 0 ? text : text + " a row, " + power_of_two(c.batch_log2) + " rows";
}

class CudaEngine final : public Engine {
public:
    CudaEngine(const Api& api, const cuda_abi::Device& device) : device_(device) {
        for (std::int32_t rung = 0; rung < api.rung_count(); ++rung) {
            if (api.rung(rung).ladder_only == 0) { rungs_.push_back(std::make_unique<RungAlgorithm>(api, device, rung)); }
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

    [[nodiscard]] std::span<const Algorithm* const> algorithms() const override { return table_; }

    [[nodiscard]] std::optional<Measured> measured(const Resolved& problem, const Request& request,
                                                   const std::function<bool(const Algorithm&)>& accept) const override {
        const auto named = [this](const std::string& rung) {  // nullptr: the file may name what this library has not
            const auto found = std::find_if(table_.begin(), table_.end(), [&](const Algorithm* a) { return a->name() == rung; });
            return found == table_.end() ? nullptr : *found;
        };
        const auto fastest = tuned_rung(device_, to_abi(problem, request), [&](const std::string& rung) {
            const Algorithm* const algorithm = named(rung);
            return algorithm != nullptr && accept(*algorithm);
        });
        if (!fastest) { return std::nullopt; }
        return Measured{named(fastest->rung), "fastest as `tapline tune` measured on this device: " + fastest->rung + " " +
                                                  format_seconds(fastest->seconds) + " for " + class_text(fastest->problem)};
    }

    // With 127 taps direct summation takes 2.2 times as long as transforms (H200, 2^28 samples): too much for what it keeps.
    [[nodiscard]] std::int64_t local_taps() const override { return 64; }

    [[nodiscard]] double copy_seconds(std::int64_t bytes, int /*threads*/) const override {
        constexpr double kLaunchSeconds = 2e-6;
        return kLaunchSeconds + 2 * static_cast<double>(bytes) / device_.copy_bytes_per_second;
    }

private:
    cuda_abi::Device device_;
    std::vector<std::unique_ptr<RungAlgorithm>> rungs_;
    std::vector<const Algorithm*> table_;
};

// Each device's engine is made when it is first asked for; asking again after a failure tries again.
struct Engines {
    std::mutex mutex;
    std::vector<std::unique_ptr<CudaEngine>> made;
};

}  // namespace

const Engine& cuda_engine(int device) {
    const CudaLibrary& library = cuda_library();
    const std::string name = "device: 'cuda:" + std::to_string(device) + "' is not available: ";
    if (library.api == nullptr) { throw Error(ErrorCode::device, name + library.reason + "; use cpu or auto"); }
    if (device < 0 || device >= library.devices) {
        throw Error(ErrorCode::device, name + "this machine has " + std::to_string(library.devices) +
                                           (library.devices == 1 ? " CUDA device, cuda:0" : " CUDA devices, numbered from cuda:0"));
    }
    static Engines& engines = *new Engines;  // as the library: never destroyed
    const std::lock_guard lock(engines.mutex);
    engines.made.resize(static_cast<std::size_t>(library.devices));
    std::unique_ptr<CudaEngine>& engine = engines.made[static_cast<std::size_t>(device)];
    if (engine == nullptr) {
        cuda_abi::Device properties;
        cuda_abi::Status status;
        if (!library.api->device(device, &properties, &status)) { throw_status(status); }
        engine = std::make_unique<CudaEngine>(*library.api, properties);
    }
    return *engine;
}

}  // namespace tapline::core
