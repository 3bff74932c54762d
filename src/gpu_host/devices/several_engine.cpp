#include "gpu_host/devices/several_engine.hpp"

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/plan/repeated.hpp"
#include "gpu_host/devices/names.hpp"
#include "gpu_host/devices/shares.hpp"
#include "gpu_host/engine.hpp"
#include "gpu_host/executable.hpp"

namespace tapline::gpu_host {
namespace {

using core::Input;
using core::Output;
using core::Request;
using core::Resolved;

// The same algorithm on each device.
class SeveralExecutable final : public core::Executable {
public:
    SeveralExecutable(const Resolved& problem, int threads, std::vector<std::unique_ptr<core::Executable>> each)
        : problem_(problem), threads_(threads), each_(std::move(each)) {}

    [[nodiscard]] bool takes_host_memory() const override { return false; }
    [[nodiscard]] std::size_t workspace_bytes() const override { return each_.front()->workspace_bytes(); }
    [[nodiscard]] std::size_t host_workspace_bytes() const override { return 0; }
    [[nodiscard]] std::int64_t granularity() const override { return each_.front()->granularity(); }
    [[nodiscard]] std::string describe() const override {
        return std::to_string(each_.size()) + " devices, each " + each_.front()->describe();
    }

    [[nodiscard]] const core::Executable& first() const { return *each_.front(); }

    // In the memory of the first device.
    void execute(const Output& output, const Input& input, std::span<std::byte> workspace, void* stream) const override {
        each_.front()->execute(output, input, workspace, stream);
    }

    void execute_host(const Output& output, const Input& input, std::span<std::byte> /*workspace*/) const override {
        const std::vector<Share> shares = shares_of(problem_, output, granularity(), static_cast<int>(each_.size()));
        std::atomic<bool> stop{false};
        std::mutex mutex;
        std::exception_ptr failure;
        const auto run = [&](std::size_t device) {
            try {
                run_share(device, shares[device], output, input, stop);
            } catch (...) {
                stop = true;
                const std::lock_guard lock(mutex);
                if (!failure) { failure = std::current_exception(); }
            }
        };
        std::vector<std::thread> threads;
        try {
            for (std::size_t device = 1; device < each_.size(); ++device) {
                if (!shares[device].empty()) { threads.emplace_back(run, device); }
            }
            run(0);
        } catch (const std::system_error& error) {
            stop = true;
            const std::lock_guard lock(mutex);
            failure = std::make_exception_ptr(Error(
                ErrorCode::memory, std::string("threads: none could be started (") + error.what() + "); end some and try again"));
        }
        for (std::thread& thread : threads) { thread.join(); }
        if (failure) { std::rethrow_exception(failure); }
    }

private:
    void run_share(std::size_t device, const Share& share, const Output& output, const Input& input,
                   std::atomic<bool>& stop) const {
        if (share.empty()) { return; }
        const auto& executable = dynamic_cast<const CudaExecutable&>(*each_[device]);
        const int threads = std::max(threads_ / static_cast<int>(each_.size()), 1);
        for (std::int64_t i = 0; i < share.elements && !stop; ++i) {
            core::OuterElement element = core::outer_element(problem_, output, input, share.first_element + i);
            const std::int64_t skipped = (share.first - output.first) * output.stride;
            element.output.data =
                static_cast<std::byte*>(element.output.data) + skipped * static_cast<std::int64_t>(size_of(problem_.output_dtype));
            element.output.first = share.first;
            element.output.count = share.count;
            executable.execute_host_share(
                element.output, element.input,
                {.first_item = share.first_item, .items = share.items, .threads = threads, .stop = &stop});
        }
    }

    Resolved problem_;
    int threads_;
    std::vector<std::unique_ptr<core::Executable>> each_;
};

// A rung of all devices.
class SeveralAlgorithm final : public core::Algorithm {
public:
    explicit SeveralAlgorithm(std::vector<const core::Algorithm*> each) : each_(std::move(each)) {}

    [[nodiscard]] std::string_view name() const override { return first().name(); }
    [[nodiscard]] std::string_view summary() const override { return first().summary(); }
    [[nodiscard]] bool takes_rank(int rank) const override { return first().takes_rank(rank); }
    [[nodiscard]] bool is_local() const override { return first().is_local(); }
    [[nodiscard]] bool keeps_local(const Resolved& problem, const Request& request) const override {
        return first().keeps_local(core::without_outer(problem), of_host(request));
    }
    // Elements of outer axes are shared among the devices.
    [[nodiscard]] bool takes_outer(const Resolved& problem, const Request& /*request*/) const override {
        return core::filter_sets(problem) == 1;
    }
    [[nodiscard]] core::Support supports(const Resolved& problem, const Request& request) const override {
        return first().supports(core::without_outer(problem), of_host(request));
    }
    [[nodiscard]] double estimate_seconds(const Resolved& problem, const Request& request) const override {
        return static_cast<double>(problem.outer_length()) *
               first().estimate_seconds(core::without_outer(problem), of_host(request));
    }
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& problem, const void* taps,
                                                            const Request& request) const override {
        std::vector<std::unique_ptr<core::Executable>> each;
        for (const core::Algorithm* const on_device : each_) {
            each.push_back(on_device->prepare(core::without_outer(problem), taps, of_host(request)));
        }
        return std::make_unique<SeveralExecutable>(problem, request.threads, std::move(each));
    }

private:
    [[nodiscard]] const core::Algorithm& first() const { return *each_.front(); }
    static Request of_host(Request request) {
        request.host_buffers = true;
        return request;
    }

    std::vector<const core::Algorithm*> each_;
};

// Effort::measure times the first device's part of an executable.
class SeveralBuffers final : public core::MeasuringBuffers {
public:
    explicit SeveralBuffers(std::unique_ptr<core::MeasuringBuffers> of_first) : of_first_(std::move(of_first)) {}
    double seconds_of(const core::Executable& executable) override {
        return of_first_->seconds_of(dynamic_cast<const SeveralExecutable&>(executable).first());
    }

private:
    std::unique_ptr<core::MeasuringBuffers> of_first_;
};

class SeveralEngine final : public core::Engine {
public:
    explicit SeveralEngine(const std::vector<int>& devices) : name_(name_of_devices(devices)) {
        for (const int device : devices) { engines_.push_back(&engine(device)); }
        for (std::size_t i = 0; i < first().algorithms().size(); ++i) {
            std::vector<const core::Algorithm*> each;
            for (const core::Engine* const one : engines_) { each.push_back(one->algorithms()[i]); }
            rungs_.push_back(std::make_unique<SeveralAlgorithm>(std::move(each)));
        }
        for (const auto& rung : rungs_) { table_.push_back(rung.get()); }
    }

    [[nodiscard]] EngineInfo info() const override {
        EngineInfo info = first().info();
        DeviceInfo& all = info.devices.front();
        all.name = name_;
        all.description = std::to_string(engines_.size()) + " devices, each " + all.description;
        all.memory_bytes *= static_cast<std::int64_t>(engines_.size());
        return info;
    }
    [[nodiscard]] std::span<const core::Algorithm* const> algorithms() const override { return table_; }
    [[nodiscard]] core::Support accepts(const Resolved& problem, const Request& request) const override {
        return first().accepts(problem, request);
    }
    [[nodiscard]] std::optional<core::Measured> measured(const Resolved& problem, const Request& request,
                                                         const std::function<bool(const core::Algorithm&)>& accept) const override {
        const auto own = [this](const core::Algorithm& of_first) {
            const auto& all = first().algorithms();
            return table_[static_cast<std::size_t>(std::find(all.begin(), all.end(), &of_first) - all.begin())];
        };
        std::optional<core::Measured> found =
            first().measured(problem, request, [&](const core::Algorithm& of_first) { return accept(*own(of_first)); });
        if (found) { found->algorithm = own(*found->algorithm); }
        return found;
    }
    [[nodiscard]] std::int64_t local_taps(int rank) const override { return first().local_taps(rank); }
    [[nodiscard]] double copy_seconds(std::int64_t bytes, int threads) const override {
        return first().copy_seconds(bytes, threads);
    }
    [[nodiscard]] std::unique_ptr<core::MeasuringBuffers> measuring_buffers(const Resolved& problem) const override {
        return std::make_unique<SeveralBuffers>(first().measuring_buffers(problem));
    }

private:
    [[nodiscard]] const core::Engine& first() const { return *engines_.front(); }

    std::string name_;
    std::vector<const core::Engine*> engines_;
    std::vector<std::unique_ptr<SeveralAlgorithm>> rungs_;
    std::vector<const core::Algorithm*> table_;
};

struct Engines {
    std::mutex mutex;
    std::map<std::vector<int>, std::unique_ptr<SeveralEngine>> made;
};

}  // namespace

void check_same_model(const std::vector<int>& devices) {
    std::vector<cuda_abi::Device> facts(devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
        call(api_for(devices[i], "; use cpu or auto").device, devices[i], &facts[i]);
        const cuda_abi::Device& one = facts[i];
        const cuda_abi::Device& first = facts.front();
        if (std::string_view(one.name) == first.name && one.multiprocessors == first.multiprocessors) { continue; }
        throw Error(ErrorCode::unsupported,
                    "device: cuda:" + std::to_string(one.index) + " is " + one.name + ", cuda:" + std::to_string(first.index) +
                        " " + first.name + "; several devices are of one model, so that bits do not depend on which computes them");
    }
}

const core::Engine& engine_of_devices(const std::vector<int>& devices) {
    check_same_model(devices);
    static Engines& engines = *new Engines;  // as the library: never destroyed
    const std::lock_guard lock(engines.mutex);
    std::unique_ptr<SeveralEngine>& made = engines.made[devices];
    if (made == nullptr) { made = std::make_unique<SeveralEngine>(devices); }
    return *made;
}

}  // namespace tapline::gpu_host
