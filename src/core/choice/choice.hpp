// Which algorithm solves a problem, and why.
#pragma once

#include <string>
#include <vector>

#include "core/choice/engine.hpp"

namespace tapline::core {

struct Candidate {
    const Algorithm* algorithm = nullptr;
    Support support;
    double predicted_seconds = 0;  ///< if supported
    double alone_seconds = 0;      ///< on one thread: what is compared, so that bits do not depend on the number of threads
    bool keeps_local = false;      ///< errors stay local; if supported
};

struct Choice {
    const Algorithm* algorithm = nullptr;
    double predicted_seconds = 0;
    std::string reason;
};

/// Every algorithm of the engine with what it says about the problem, in table order.
std::vector<Candidate> candidates(const Engine& engine, const Resolved& problem, const Request& request);

/// The named algorithm, or the one that Engine::measured() remembers, or the fastest by the cost model; with few taps (accuracy
/// `fast` apart) the fastest whose errors are local. Pure: the same arguments and the same wisdom give the same choice.
/// Throws Error (argument) for an unknown name, (unsupported) with the reasons if nothing can solve the problem.
Choice choose(const Engine& engine, const Resolved& problem, const Request& request, const std::string& algorithm);

/// Seconds as "12.3 ms".
std::string format_seconds(double seconds);

}  // namespace tapline::core
