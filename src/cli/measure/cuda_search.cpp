#include "cli/measure/cuda_search.hpp"

namespace tapline::cli {
namespace {

// Another policy than the default has to be faster by more than two measurements of the same one differ.
constexpr double kWorthChanging = 1.01;

// Only the blocks are downloaded: the whole output would take longer than all measurements.
CheckResult compare(const CudaProblem& problem, const ReferenceBlocks& expected, Accuracy accuracy) {
    Bytes block;
    return expected.compare(accuracy, [&](const ReferenceBlocks::Block& b) {
        const std::size_t element = expected.element_bytes();
        block = Bytes(static_cast<std::size_t>(b.span) * element);
        problem.download(block.data(), static_cast<std::size_t>(b.offset) * element, block.size());
        return static_cast<const std::byte*>(block.data());
    });
}

Candidate measured(CudaProblem& problem, const CudaRung& rung, const Policy& policy, const ReferenceBlocks& expected,
                   const SearchOptions& options) {
    Candidate candidate{.policy = policy, .failure = {}, .cold = {}, .warm = {}};
    try {
        problem.prepare(rung, policy);
    } catch (const Error& error) {
        candidate.failure = error.what();
        problem.device().synchronize();  // throws where it is not the policy but the device that fails
        return candidate;
    }
    problem.execute();
    const CheckResult checked = compare(problem, expected, options.accuracy);
    candidate.error = checked.error;
    if (!checked.ok()) {
        candidate.wrong = true;
        candidate.failure = "wrong result: " + checked.describe();
        return candidate;
    }
    candidate.cold = problem.measure(true, options.seconds / 2);
    candidate.warm = problem.measure(false, options.seconds / 2);
    return candidate;
}

int best_of(const std::vector<Candidate>& candidates) {
    int best = -1;
    for (int i = 0; i < static_cast<int>(candidates.size()); ++i) {
        const Candidate& c = candidates[static_cast<std::size_t>(i)];
        if (!c.failure.empty()) { continue; }
        if (best < 0 || c.cold.median < candidates[static_cast<std::size_t>(best)].cold.median) { best = i; }
    }
    if (best > 0 && candidates.front().failure.empty() &&
        candidates.front().cold.median < kWorthChanging * candidates[static_cast<std::size_t>(best)].cold.median) {
        return 0;
    }
    return best;
}

}  // namespace

double SearchedRung::default_seconds() const {
    return candidates.front().failure.empty() ? candidates.front().cold.median : kept().cold.median;
}

SearchResult search(CudaProblem& problem, const std::vector<CudaRung>& rungs, const ReferenceBlocks& expected,
                    const SearchOptions& options) {
    SearchResult result;
    std::vector<std::vector<Policy>> policies;
    for (const CudaRung& rung : rungs) {
        policies.push_back(problem.policies(rung));
        if (policies.back().empty()) { policies.back().emplace_back(); }  // its own
        result.of += static_cast<int>(policies.back().size());
    }
    const Stopwatch watch;
    for (std::size_t i = 0; i < rungs.size(); ++i) {
        SearchedRung searched{.rung = rungs[i], .candidates = {}};
        for (const Policy& policy : policies[i]) {
            if (result.measured > 0 && watch.seconds() > options.most_seconds) { break; }
            options.progress(searched, static_cast<int>(policies[i].size()), result.measured);
            searched.candidates.push_back(measured(problem, rungs[i], policy, expected, options));
            ++result.measured;
        }
        searched.best = best_of(searched.candidates);
        result.rungs.push_back(std::move(searched));
        const SearchedRung& now = result.rungs.back();
        const auto fastest = static_cast<std::size_t>(result.fastest);
        if (now.best >= 0 && (result.fastest < 0 || now.kept().cold.median < result.rungs[fastest].kept().cold.median)) {
            result.fastest = static_cast<int>(i);
        }
    }
    return result;
}

}  // namespace tapline::cli
