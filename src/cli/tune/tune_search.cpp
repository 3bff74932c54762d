#include "cli/tune/tune_search.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/problem/narrow_taps.hpp"

namespace tapline::cli {
namespace {

// Another policy than the default has to be faster by more than two measurements of the same one differ.
constexpr double kWorthChanging = 1.01;

struct Release {
    const cuda_abi::Api* api;
    void operator()(cuda_abi::Prepared* prepared) const { api->release(prepared); }
};
using PreparedHandle = std::unique_ptr<cuda_abi::Prepared, Release>;

std::vector<cuda_abi::Policy> policies_of(const CudaDevice& device, std::int32_t rung, const cuda_abi::Problem& plain) {
    const int count = device.api().policies(rung, device.index(), &plain, nullptr, 0);
    std::vector<cuda_abi::Policy> policies(static_cast<std::size_t>(std::max(count, 0)));
    device.api().policies(rung, device.index(), &plain, policies.data(), count);
    return policies;
}

class Search {
public:
    Search(const CudaDevice& device, const Problem& problem, const cuda_abi::Problem& plain, Accuracy accuracy,
           const BenchData& data)
        : device_(device),
          problem_(problem),
          plain_(plain),
          accuracy_(accuracy),
          data_(data),
          expected_(problem, data_),
          on_device_(device, problem, data_) {}

    [[nodiscard]] Timing copy(double seconds) const { return on_device_.measure_copy(true, seconds); }

    [[nodiscard]] TuneCandidate measure(std::int32_t rung, const cuda_abi::Policy& policy, double seconds) const {
        TuneCandidate candidate{.policy = policy, .failure = {}, .wrong = false, .error = 0, .cold = {}, .warm = {}};
        cuda_abi::Status status;
        const PreparedHandle prepared(device_.api().prepare(rung, device_.index(), &plain_, data_.taps.data(), &policy, &status),
                                      {&device_.api()});
        if (prepared == nullptr) {
            if (status.sticky != 0) core::throw_status(status);
            candidate.failure = status.message;
            return candidate;
        }
        const auto bytes = device_.api().workspace_bytes(prepared.get());
        const CudaMemory workspace(device_, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0)));
        on_device_.poison();
        on_device_.execute(*prepared, workspace);
        const CheckResult checked = compare();
        candidate.error = checked.error;
        if (!checked.ok()) {
            candidate.wrong = true;
            candidate.failure = "wrong result: " + checked.describe();
            return candidate;
        }
        candidate.cold = on_device_.measure(*prepared, workspace, true, seconds / 2);
        candidate.warm = on_device_.measure(*prepared, workspace, false, seconds / 2);
        return candidate;
    }

private:
    // Only the blocks are downloaded: the whole output would take longer than all measurements.
    [[nodiscard]] CheckResult compare() const {
        Bytes block;
        return expected_.compare(accuracy_, [&](const ReferenceBlocks::Block& b) {
            block = Bytes(static_cast<std::size_t>(b.count) * size_of(output_dtype(problem_)));
            on_device_.download(block.data(), b.offset, b.count);
            return static_cast<const std::byte*>(block.data());
        });
    }

    const CudaDevice& device_;
    Problem problem_;
    cuda_abi::Problem plain_;
    Accuracy accuracy_;
    const BenchData& data_;
    ReferenceBlocks expected_;
    CudaProblem on_device_;
};

int best_of(const std::vector<TuneCandidate>& candidates) {
    int best = -1;
    for (int i = 0; i < static_cast<int>(candidates.size()); ++i) {
        const TuneCandidate& c = candidates[static_cast<std::size_t>(i)];
        if (!c.failure.empty()) continue;
        if (best < 0 || c.cold.median < candidates[static_cast<std::size_t>(best)].cold.median) best = i;
    }
    if (best > 0 && candidates.front().failure.empty() &&
        candidates.front().cold.median < kWorthChanging * candidates[static_cast<std::size_t>(best)].cold.median) {
        return 0;
    }
    return best;
}

}  // namespace

double TuneRung::default_seconds() const {
    return candidates.front().failure.empty() ? candidates.front().cold.median : kept().cold.median;
}

Problem tune_problem(std::int64_t length, std::int64_t taps, Dtype dtype, std::int64_t batch, bool per_row) {
    Problem problem{.length = length, .taps = taps, .batch = batch, .mode = Mode::same, .dtype = dtype};
    problem.filters = per_row ? Filters::per_row : Filters::shared;
    problem.operation = Operation::correlation;  // real taps then reach the kernels as they are
    return problem;
}

TuneResult tune_search(const CudaDevice& device, const Problem& problem, Accuracy accuracy, bool rounded_taps, double seconds,
                       const std::function<void(const std::string& rung, int candidate, int candidates)>& progress) {
    const cuda_abi::Api& api = device.api();
    core::Request request;
    request.accuracy = accuracy;
    const core::Resolved resolved = core::resolve(problem);
    BenchData data = make_bench_data(problem, false);
    if (rounded_taps) round_taps(data, problem);
    request.narrow_taps = core::taps_are_narrow(resolved, data.taps.data());
    TuneResult result{.problem = problem, .plain = core::to_abi(resolved, request), .copy_cold = {}, .rungs = {}};
    std::unique_ptr<Search> search;  // not before some rung wants it: the reference takes its time
    for (std::int32_t rung = 0; rung < api.rung_count(); ++rung) {
        const cuda_abi::RungInfo info = api.rung(rung);
        cuda_abi::Status ignored;
        if (info.ladder_only != 0 || !api.supports(rung, device.index(), &result.plain, &ignored)) continue;
        const auto policies = policies_of(device, rung, result.plain);
        if (policies.empty() || (policies.size() == 1 && info.takes_pieces == 0)) continue;
        if (!search) {
            search = std::make_unique<Search>(device, problem, result.plain, accuracy, data);
            result.copy_cold = search->copy(seconds);
        }
        TuneRung measured{.name = info.name, .candidates = {}};
        for (const cuda_abi::Policy& policy : policies) {
            progress(measured.name, static_cast<int>(measured.candidates.size()), static_cast<int>(policies.size()));
            measured.candidates.push_back(search->measure(rung, policy, seconds));
        }
        measured.best = best_of(measured.candidates);
        result.rungs.push_back(std::move(measured));
        const TuneRung& now = result.rungs.back();
        const auto index = static_cast<int>(result.rungs.size()) - 1;
        if (now.best < 0) continue;
        if (result.fastest < 0 ||
            now.kept().cold.median < result.rungs[static_cast<std::size_t>(result.fastest)].kept().cold.median) {
            result.fastest = index;
        }
    }
    return result;
}

std::vector<core::WisdomEntry> wisdom_entries(const TuneResult& result, const std::string& date) {
    std::vector<core::WisdomEntry> entries;
    const auto problem_class = core::class_of(result.plain);
    if (!problem_class) return entries;
    for (const TuneRung& rung : result.rungs) {
        if (rung.best < 0) continue;
        entries.push_back({.rung = rung.name,
                           .problem = *problem_class,
                           .accuracy = result.plain.accuracy,
                           .policy = rung.kept().policy,
                           .seconds = rung.kept().cold.median,
                           .default_seconds = rung.default_seconds(),
                           .date = date});
    }
    return entries;
}

std::string describe_policy(const cuda_abi::Policy& policy) {
    const auto part = [](std::int32_t value, const char* one, const char* many) {
        return std::to_string(value) + " " + (value == 1 ? one : many);
    };
    std::string text;
    const auto add = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
    if (policy.vectors_per_thread != 0) add(part(policy.vectors_per_thread, "vector", "vectors"));
    if (policy.threads_per_block != 0) add(part(policy.threads_per_block, "thread", "threads"));
    if (policy.tiles_per_block > 0) add(part(policy.tiles_per_block, "tile", "tiles"));
    if (policy.tiles_per_block < 0) add("full grid");
    if (policy.windows_per_warp > 0) add(part(policy.windows_per_warp, "window a warp", "windows a warp"));
    return text.empty() ? "its own" : text;
}

}  // namespace tapline::cli
