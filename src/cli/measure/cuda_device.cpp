#include "cli/measure/cuda_device.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/choice/engine.hpp"
#include "core/plan/taps_order.hpp"
#include "gpu_host/executable.hpp"
#include "gpu_host/library.hpp"
#include "gpu_host/problem.hpp"

namespace tapline::cli {
namespace {

constexpr cuda_abi::Stream* kStream = nullptr;  // the default one
constexpr std::size_t kStageBytes = std::size_t{16} << 20;

using gpu_host::call;

void add_rungs(std::vector<CudaRung>& rungs, const cuda_abi::Api& api, int rank) {
    for (std::int32_t i = 0; i < api.rung_count(); ++i) {
        const cuda_abi::RungInfo info = api.rung(i);
        if (info.rank == rank) { rungs.push_back({&api, i, info}); }
    }
}

}  // namespace

bool names_cuda(const std::string& device) { return device == "cuda" || device.rfind("cuda:", 0) == 0; }

std::string describe_policy(const Policy& policy) {
    const auto part = [](std::int32_t value, const char* one, const char* many) {
        return std::to_string(value) + " " + (value == 1 ? one : many);
    };
    std::string text;
    const auto add = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
    if (policy.vectors_per_thread != 0) { add(part(policy.vectors_per_thread, "vector", "vectors")); }
    if (policy.threads_per_block != 0) { add(part(policy.threads_per_block, "thread", "threads")); }
    if (policy.tiles_per_block > 0) { add(part(policy.tiles_per_block, "tile", "tiles")); }
    if (policy.tiles_per_block < 0) { add("full grid"); }
    if (policy.windows_per_warp > 0) { add(part(policy.windows_per_warp, "window a warp", "windows a warp")); }
    return text.empty() ? "its own" : text;
}

// ---- The device ----

CudaDevice::CudaDevice(const std::string& name) {
    // The engine knows what names there are and why one cannot be used.
    const std::string full = core::engine_for(name).info().devices.front().name;
    const bool is_one = names_cuda(full) && full.find(',') == full.npos;
    if (!is_one) { throw Error(ErrorCode::argument, "device: '" + name + "' is not one GPU; name cuda or cuda:N"); }
    api_ = gpu_host::library().api;
    call(api_->device, std::stoi(full.substr(full.find(':') + 1)), &facts_);
    stage_ = std::make_unique<CudaMemory>(*this, kStageBytes, CudaMemory::Kind::pinned);
}

CudaDevice::~CudaDevice() = default;

std::vector<CudaRung> CudaDevice::families(int rank) const {
    std::vector<CudaRung> rungs;
    add_rungs(rungs, *api_, rank);
    return rungs;
}

std::vector<CudaRung> CudaDevice::ladder(int rank, std::string& missing) const {
    std::vector<CudaRung> rungs;
    const gpu_host::CudaLibrary& lessons = gpu_host::lessons_library();
    if (lessons.api != nullptr) { add_rungs(rungs, *lessons.api, rank); }
    missing = lessons.reason;
    add_rungs(rungs, *api_, rank);
    const auto number = [](const CudaRung& rung) {
        return *rung.info.number == '\0' ? std::string("~") : std::string(rung.info.number);
    };
    std::ranges::stable_sort(rungs, {}, number);
    return rungs;
}

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
    call(api_->copy, index(), to, from, static_cast<std::int64_t>(bytes), kStream);
    synchronize();
}

void CudaDevice::poison(void* to, std::size_t bytes) const {
    call(api_->fill, index(), to, 0xFF, static_cast<std::int64_t>(bytes), kStream);
}

void CudaDevice::synchronize() const { call(api_->synchronize_stream, index(), kStream); }

CudaMemory::CudaMemory(const CudaDevice& device, std::size_t bytes, Kind kind)
    : device_(device),
      bytes_(bytes),
      kind_(kind),
      data_(call(kind == Kind::device ? device.api().allocate : device.api().allocate_pinned, device.index(),
                 static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1)))) {}

CudaMemory::~CudaMemory() { (kind_ == Kind::device ? device_.api().free : device_.api().free_pinned)(device_.index(), data_); }

// ---- A problem ----

struct CudaProblem::Asked {
    Asked(const Problem& problem, const void* given_taps, Accuracy accuracy)
        : resolved(core::resolve(problem)), taps(core::correlation_taps(resolved, given_taps, 0)) {
        core::Request request;
        request.accuracy = accuracy;
        request.facts = core::facts_of(resolved, taps.get());
        abi = gpu_host::to_abi(resolved, request);
        with_factors.emplace(resolved, taps.get(), request.facts);
    }
    core::Resolved resolved;
    core::AlignedBytes taps;  // in correlation order
    std::optional<gpu_host::TapsWithFactors> with_factors;
    cuda_abi::Problem abi;
};

struct CudaProblem::Prepared {
    gpu_host::PreparedHandle own;  // of a rung
    std::optional<Plan> plan;
    const cuda_abi::Api* api;
    const cuda_abi::Prepared* used;  // the rung's or the plan's
    Policy policy;
};

CudaProblem::CudaProblem(const CudaDevice& device, const Problem& problem, const CaseData& data, Accuracy accuracy,
                         std::size_t guard_bytes)
    : device_(device),
      asked_(std::make_unique<const Asked>(problem, data.taps.data(), accuracy)),
      output_bytes_(static_cast<std::size_t>(output_extent(problem)) * size_of(output_dtype(problem)) + guard_bytes),
      in_(device, data.signal.size()),
      out_(device, std::max(output_bytes_, data.signal.size())),
      job_(gpu_host::whole_job(asked_->resolved, out_.data(), in_.data())) {
    device.upload(in_.data(), data.signal.data(), data.signal.size());
}

CudaProblem::~CudaProblem() = default;

std::string CudaProblem::refusal(const CudaRung& rung) const {
    cuda_abi::Status status;
    if (rung.api->supports(rung.index, device_.index(), &asked_->abi, &status)) { return {}; }
    return status.message[0] != '\0' ? status.message : "not supported";
}

double CudaProblem::estimate_seconds(const CudaRung& rung) const {
    return rung.api->estimate_seconds(rung.index, device_.index(), &asked_->abi);
}

std::vector<Policy> CudaProblem::policies(const CudaRung& rung) const {
    const int count = std::max(rung.api->policies(rung.index, device_.index(), &asked_->abi, nullptr, 0), 0);
    std::vector<Policy> policies(static_cast<std::size_t>(count));
    rung.api->policies(rung.index, device_.index(), &asked_->abi, policies.data(), count);
    return policies;
}

bool CudaProblem::narrow_taps() const { return asked_->abi.narrow_taps; }

void CudaProblem::make_workspace(std::size_t bytes) {
    workspace_.reset();  // before the new one is asked for
    workspace_ = std::make_unique<CudaMemory>(device_, bytes);
}

void CudaProblem::prepare(const CudaRung& rung, const Policy& policy) {
    prepared_.reset();
    workspace_.reset();
    const cuda_abi::HostTaps taps = asked_->with_factors->get();
    auto* const own = call(rung.api->prepare, rung.index, device_.index(), &asked_->abi, &taps, &policy);
    prepared_ =
        std::make_unique<Prepared>(Prepared{gpu_host::PreparedHandle(own, {rung.api}), std::nullopt, rung.api, own, policy});
    job_ = gpu_host::whole_job(asked_->resolved, out_.data(), in_.data());
    make_workspace(static_cast<std::size_t>(std::max<std::int64_t>(rung.api->workspace_bytes(own), 0)));
}

void CudaProblem::prepare(const Plan& plan) {
    const auto* executable = dynamic_cast<const gpu_host::CudaExecutable*>(plan.state().executable.get());
    if (executable == nullptr) { throw Error(ErrorCode::device, "device: the plan is not one of a GPU"); }
    prepared_ = std::make_unique<Prepared>(Prepared{{}, plan, &device_.api(), executable->prepared(), {}});
    job_ = gpu_host::whole_job(executable->layout(), out_.data(), in_.data());
    make_workspace(plan.workspace_bytes());
}

std::string CudaProblem::describe() const {
    std::array<char, 256> text{};
    prepared_->api->describe(prepared_->used, text.data(), text.size());
    text.back() = '\0';
    return text.front() != '\0' ? text.data() : describe_policy(prepared_->policy);
}

void CudaProblem::execute() const {
    device_.poison(out_.data(), out_.size());
    if (prepared_->plan) {
        prepared_->plan->execute(out_.data(), in_.data(), workspace_->span(), kStream);
    } else {
        call(prepared_->api->execute, prepared_->used, &job_, workspace_->data(), static_cast<std::int64_t>(workspace_->size()),
             kStream);
    }
    device_.synchronize();
}

void CudaProblem::download(void* to, std::size_t offset, std::size_t bytes) const {
    device_.download(to, static_cast<const std::byte*>(out_.data()) + offset, bytes);
}

Timing CudaProblem::measure(bool cold, double seconds) const { return timed(prepared_->used, cold, seconds); }

Timing CudaProblem::measure_copy(bool cold, double seconds) const { return timed(nullptr, cold, seconds); }

Timing CudaProblem::timed(const cuda_abi::Prepared* prepared, bool cold, double seconds) const {
    const cuda_abi::Api& api = prepared == nullptr ? device_.api() : *prepared_->api;
    const CudaMemory* const workspace = prepared == nullptr ? nullptr : workspace_.get();
    cuda_abi::Measurement m;
    call(api.measure, device_.index(), prepared, &job_, workspace == nullptr ? nullptr : workspace->data(),
         static_cast<std::int64_t>(workspace == nullptr ? 0 : workspace->size()), static_cast<std::int64_t>(in_.size()), cold,
         seconds, &m);
    return {m.median_seconds, m.least_seconds, m.most_seconds, m.runs};
}

void CudaProblem::remember(const std::vector<TunedRung>& rungs, const std::string& date) const {
    const auto problem_class = gpu_host::class_of(asked_->abi);
    if (!problem_class) { return; }
    std::vector<gpu_host::WisdomEntry> entries;
    entries.reserve(rungs.size());
    for (const TunedRung& rung : rungs) {
        entries.push_back({.rung = rung.name,
                           .problem = *problem_class,
                           .accuracy = asked_->abi.accuracy,
                           .policy = rung.policy,
                           .seconds = rung.seconds,
                           .default_seconds = rung.default_seconds,
                           .date = date});
    }
    gpu_host::remember(device_.facts(), entries);
}

}  // namespace tapline::cli
