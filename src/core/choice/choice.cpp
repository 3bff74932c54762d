#include "core/choice/choice.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/problem/arrange.hpp"

namespace tapline::core {
namespace {

std::string names_of(const std::vector<Candidate>& all) {
    std::string names;
    for (const Candidate& candidate : all) {
        names += names.empty() ? "" : ", ";
        names += candidate.algorithm->name();
    }
    return names;
}

Choice named(const std::vector<Candidate>& all, const std::string& name) {
    for (const Candidate& candidate : all) {
        if (candidate.algorithm->name() != name) { continue; }
        if (!candidate.support.ok) {
            throw Error(ErrorCode::unsupported, "algorithm: '" + name + "' cannot solve this problem: " + candidate.support.reason);
        }
        return {candidate.algorithm, candidate.predicted_seconds, "asked for by name"};
    }
    throw Error(ErrorCode::argument, "algorithm: '" + name + "' is not one of " + names_of(all));
}

// What the cost model says of each, best first: "direct 1.2 ms; overlap_save no (reason)".
std::string estimates_of(const std::vector<Candidate>& all, const Resolved& problem) {
    const bool known = problem.x.n != kUnknownLength;  // else the estimates are seconds a sample
    std::string text;
    for (const Candidate& candidate : all) {
        text += (text.empty() ? "" : "; ") + std::string(candidate.algorithm->name()) + " ";
        text += candidate.support.ok ? format_seconds(candidate.alone_seconds) + (known ? "" : " a sample")
                                     : "no (" + candidate.support.reason + ")";
    }
    return text;
}

}  // namespace

std::string format_seconds(double seconds) {
    struct Unit {
        double seconds;
        const char* name;
    };
    constexpr std::array<Unit, 4> kUnits{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
    const Unit* unit = &kUnits.back();
    for (const Unit& candidate : kUnits) {
        if (seconds >= candidate.seconds) {
            unit = &candidate;
            break;
        }
    }
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3g %s", seconds / unit->seconds, unit->name);
    return text.data();
}

std::vector<Candidate> candidates(const Engine& engine, const Resolved& problem, const Request& request) {
    const Support accepted = engine.accepts(problem, request);
    const bool changes_rate = problem.changes_rate();
    const Resolved one = without_outer(problem);
    const auto times = static_cast<double>(problem.outer_length());
    Request alone = request;
    alone.threads = 1;
    std::vector<Candidate> all;
    for (const Algorithm* algorithm : engine.algorithms()) {
        if (!algorithm->takes_rank(problem.rank)) { continue; }
        const bool whole = algorithm->takes_outer(problem, request);
        const Resolved& asked = whole ? problem : one;
        Candidate candidate{algorithm, accepted};
        if (accepted.ok && changes_rate && !algorithm->changes_rate()) {
            candidate.support = Support::no("it does not change rates: up, down and dilation are 1 there");
        } else if (accepted.ok) {
            candidate.support = algorithm->supports(asked, request);
        }
        if (candidate.support.ok) {
            const auto seconds = [&](const Request& by) { return algorithm->estimate_seconds(asked, by) * (whole ? 1 : times); };
            candidate.alone_seconds = seconds(alone);
            candidate.predicted_seconds = request.threads == 1 ? candidate.alone_seconds : seconds(request);
            candidate.keeps_local = algorithm->keeps_local(asked, request);
        }
        all.push_back(std::move(candidate));
    }
    return all;
}

Choice choose(const Engine& engine, const Resolved& problem, const Request& request, const std::string& algorithm) {
    std::vector<Candidate> all = candidates(engine, problem, request);
    if (!algorithm.empty()) { return named(all, algorithm); }
    const bool local_first = problem.taps() <= engine.local_taps(problem.rank) && request.accuracy == Accuracy::standard;
    std::stable_sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
        if (a.support.ok != b.support.ok) { return a.support.ok; }
        if (!a.support.ok) { return false; }
        if (local_first && a.keeps_local != b.keeps_local) { return a.keeps_local; }
        return a.alone_seconds < b.alone_seconds;
    });
    if (all.empty() || !all.front().support.ok) {
        if (const Support accepted = engine.accepts(problem, request); !accepted.ok) {
            throw Error(ErrorCode::unsupported, "problem: " + accepted.reason);
        }
        std::string message = "problem: no algorithm of this engine can solve it";
        for (const Candidate& candidate : all) {
            message += "; " + std::string(candidate.algorithm->name()) + ": " + candidate.support.reason;
        }
        throw Error(ErrorCode::unsupported, message);
    }
    const std::string estimates = estimates_of(all, problem);
    const auto find = [&](const Algorithm& a) {
        return std::find_if(all.begin(), all.end(), [&](const Candidate& c) { return c.algorithm == &a; });
    };
    // A measurement overrules the estimates, not what makes an algorithm eligible.
    const auto accept = [&](const Algorithm& a) {
        const auto candidate = find(a);
        return candidate != all.end() && candidate->support.ok &&
               (!local_first || candidate->keeps_local == all.front().keeps_local);
    };
    if (const auto measured = engine.measured(problem, request, accept)) {
        return {measured->algorithm, find(*measured->algorithm)->predicted_seconds,
                measured->reason + "; the cost model says: " + estimates};
    }
    const bool by_threads = all.front().alone_seconds != all.front().predicted_seconds;
    const std::string which =
        std::string(local_first ? " of those whose errors stay local" : "") + (by_threads ? ", on one thread: " : ": ");
    return {all.front().algorithm, all.front().predicted_seconds, "fastest by the cost model" + which + estimates};
}

}  // namespace tapline::core
