// From a problem to a plan: the choice, the preparation, and what becomes of both where a GPU fails.
#include <algorithm>

#include "core/choice/device_choice.hpp"
#include "core/plan/plan_parts.hpp"
#include "core/plan/repeated.hpp"
#include "core/plan/taps_order.hpp"

namespace tapline::core {
namespace {

TapsFacts facts_of_sets(const Resolved& one, const std::vector<AlignedBytes>& sets) {
    TapsFacts all = facts_of(one, sets.front().get());
    for (std::size_t i = 1; i < sets.size(); ++i) {
        const TapsFacts facts = facts_of(one, sets[i].get());
        all.finite = all.finite && facts.finite;
        all.narrow = all.narrow && facts.narrow;
        all.equal = all.equal && facts.equal;
        all.largest_tap = std::max(all.largest_tap, facts.largest_tap);
        all.sum_of_taps = std::max(all.sum_of_taps, facts.sum_of_taps);
        all.norm_of_taps = std::max(all.norm_of_taps, facts.norm_of_taps);
        all.has_negative_tap = all.has_negative_tap || facts.has_negative_tap;
        // The worst of them: one that is no sum of separable masks, else the one of the largest rank.
        if (all.rank() != 0 && (facts.rank() == 0 || facts.rank() > all.rank())) { all.separable = facts.separable; }
    }
    return all;
}

// `only_first`: for a measurement, which executes one element of outer axes that the algorithm does not take.
std::unique_ptr<const Executable> prepare_sets(const Algorithm& algorithm, const Resolved& problem, const Request& request,
                                               const std::vector<AlignedBytes>& given, bool only_first) {
    if (algorithm.takes_outer(problem, request)) {
        if (request.taps_come_later) { return algorithm.prepare(problem, nullptr, request); }
        return algorithm.prepare(problem, given.size() == 1 ? given.front().get() : joined_sets(problem, given).get(), request);
    }
    const Resolved one = without_outer(problem);
    std::vector<const void*> sets;
    sets.reserve(given.size());
    for (const AlignedBytes& set : given) { sets.push_back(set.get()); }
    // Of taps that come later there is no set: a null pointer stands for them.
    if (only_first || request.taps_come_later) { sets.resize(1); }
    std::vector<std::unique_ptr<Executable>> each;
    for (const void* set : sets) {
        Request own = request;
        // Factors of masks are those of each set.
        if (sets.size() > 1) { own.facts = facts_of(one, set); }
        each.push_back(algorithm.prepare(one, set, own));
    }
    return repeat(only_first ? one : problem, std::move(each));
}

void resolve_into(PlanState& state, const Problem& problem, bool allow_unknown_length) {
    state.problem = problem;
    state.resolved = resolve(problem, allow_unknown_length);
    state.in_extent = input_extent_of(state.resolved);
    state.out_extent = output_extent_of(state.resolved);
}

class Maker {
public:
    Maker(PlanState& state, const PlanOptions& options, std::vector<AlignedBytes> sets)
        : state_(state), options_(options), one_(without_outer(state.resolved)), sets_(std::move(sets)) {}

    void make(const DeviceChoice& choice) {
        state_.request = choice.request;
        state_.device = choice.engine->info().devices.front().name;
        const bool measure =
            options_.effort == Effort::measure && options_.algorithm.empty() && one_.x.n != kUnknownLength && !one_.is_exact();
        if (measure) {
            measure_candidates(*choice.engine);
        } else {
            fill(choice.choice);
        }
        // Beside host memory the copy to compare with is the host's.
        const Engine& copier = state_.host_buffers ? host_engine() : *choice.engine;
        const std::int64_t samples = one_.x.n == kUnknownLength ? one_.batch.length : std::max(one_.samples(), one_.outputs());
        state_.predicted_copy_seconds = copier.copy_seconds(
            samples * one_.outer_length() * static_cast<std::int64_t>(size_of(one_.dtype)), state_.request.threads);
    }

private:
    std::unique_ptr<const Executable> prepare(const Algorithm& algorithm, bool only_first) const {
        return prepare_sets(algorithm, state_.resolved, state_.request, sets_, only_first);
    }

    void fill(const Choice& choice) {
        state_.algorithm = choice.algorithm->name();
        state_.reason = choice.reason;
        state_.predicted_seconds = choice.predicted_seconds;
        take(prepare(*choice.algorithm, false));
    }
    void take(std::unique_ptr<const Executable> executable) {
        state_.executable = std::move(executable);
        state_.host_buffers = state_.request.host_buffers && !state_.executable->takes_host_memory();
        state_.workspace_bytes =
            state_.host_buffers ? state_.executable->host_workspace_bytes() : state_.executable->workspace_bytes();
    }

    // Effort::measure: the candidates within reach of the best estimate.
    void measure_candidates(const Engine& engine) {
        constexpr double kWorthTrying = 8;  // an estimate is rarely off by more
        std::vector<Candidate> all = candidates(engine, state_.resolved, state_.request);
        std::erase_if(all, [](const Candidate& c) { return !c.support.ok; });
        const auto best_estimate = std::min_element(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
                                       return a.predicted_seconds < b.predicted_seconds;
                                   })->predicted_seconds;
        const auto takes_outer = [&](const Candidate& c) { return c.algorithm->takes_outer(state_.resolved, state_.request); };
        const bool any_takes_outer = std::any_of(all.begin(), all.end(), takes_outer);
        const std::unique_ptr<MeasuringBuffers> buffers = engine.measuring_buffers(any_takes_outer ? state_.resolved : one_);
        const Candidate* winner = nullptr;
        double best = 0;
        std::string timings;
        for (const Candidate& c : all) {
            if (c.predicted_seconds > kWorthTrying * best_estimate) { continue; }
            const double times = takes_outer(c) ? 1 : static_cast<double>(state_.resolved.outer_length());
            const double seconds = times * buffers->seconds_of(*prepare(*c.algorithm, true));
            timings += (timings.empty() ? " " : "; ") + std::string(c.algorithm->name()) + " " + format_seconds(seconds);
            if (winner == nullptr || seconds < best) {
                best = seconds;
                winner = &c;
            }
        }
        fill({winner->algorithm, best, "fastest as measured now:" + timings});
    }

    PlanState& state_;
    const PlanOptions& options_;
    Resolved one_;
    std::vector<AlignedBytes> sets_;
};

}  // namespace

TapsFacts facts_of_all(const Resolved& problem, const void* taps) {
    const Resolved one = without_outer(problem);
    return taps == nullptr ? facts_of(one, nullptr) : facts_of_sets(one, ordered_sets(problem, taps));
}

std::unique_ptr<const Executable> prepare_part(const PlanState& state, const Resolved& part, const void* taps) {
    const auto all = engine_for(state.device).algorithms();
    const auto same = std::find_if(all.begin(), all.end(), [&](const Algorithm* algorithm) {
        return algorithm->name() == state.algorithm && algorithm->takes_rank(part.rank);
    });
    Request request = state.request;
    request.whole = &state.resolved;
    return prepare_sets(**same, part, request, ordered_sets(part, taps), false);
}

std::shared_ptr<const PlanState> make_state_without_taps(const Problem& problem, const PlanOptions& options) {
    if (!options.device.starts_with("cuda") || options.effort == Effort::measure) {
        throw Error(ErrorCode::argument, "taps: a plan without is for a GPU that options.device names, with Effort::estimate");
    }
    auto state = std::make_shared<PlanState>();
    resolve_into(*state, problem, false);
    const Request request{
        .accuracy = options.accuracy, .threads = resolve_threads(options.threads), .taps_come_later = true, .facts = {}};
    Maker maker(*state, options, {});
    maker.make(choose_device(options.device, state->resolved, request, options.algorithm));
    return state;
}

std::shared_ptr<const PlanState> make_state(const Problem& problem, const void* taps, const PlanOptions& options,
                                            bool allow_unknown_length) {
    try {
        auto state = std::make_shared<PlanState>();
        resolve_into(*state, problem, allow_unknown_length);
        if (taps == nullptr) { throw Error(ErrorCode::argument, "taps: a null pointer; give the filter's coefficients"); }
        if (options.accuracy < Accuracy::standard || options.accuracy > Accuracy::fast) {
            throw Error(ErrorCode::argument, "accuracy: an unknown value");
        }
        std::vector<AlignedBytes> sets = ordered_sets(state->resolved, taps);
        const Request request{.accuracy = options.accuracy,
                              .threads = resolve_threads(options.threads),
                              .host_buffers = allow_unknown_length,  // a stream's memory is the host's
                              .rows_alone = options.rows_alone,
                              .facts = facts_of_sets(without_outer(state->resolved), sets)};
        Maker maker(*state, options, std::move(sets));
        const DeviceChoice choice = choose_device(options.device, state->resolved, request, options.algorithm);
        try {
            maker.make(choice);
        } catch (const Error& error) {  // "auto" may take the CPU where the GPU has no memory left or fails
            const bool gpu_failed = error.code() == ErrorCode::memory || error.code() == ErrorCode::device;
            if (options.device != "auto" || choice.engine == &host_engine() || !gpu_failed) { throw; }
            maker.make(fall_back_to_host(state->resolved, request, error.what()));
        }
        return state;
    } catch (const std::bad_alloc&) {
        throw Error(ErrorCode::memory, "plan: out of memory while preparing " + std::to_string(problem.taps) + " taps");
    }
}

}  // namespace tapline::core
