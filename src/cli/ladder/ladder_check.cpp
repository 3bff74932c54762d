#include "cli/ladder/ladder_check.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "cli/measure/problems.hpp"

namespace tapline::cli {
namespace {

// One float whose bits are all ones, as poisoned memory has them.
bool poisoned(const float& value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits == 0xFFFFFFFFU;
}

std::string check_guard(const float* behind) {
    for (std::int64_t i = 0; i < kGuard; ++i) {
        if (!poisoned(behind[i])) return "writes behind the end of the output";
    }
    return {};
}

Bytes bytes_of(const std::vector<float>& values) {
    Bytes bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

}  // namespace

CaseData ladder_data(const LadderCase& contest) {
    const Problem& problem = contest.problem;
    CaseData data = make_case_data(problem, {.with_copy = false, .separable = contest.separable});
    if (!is_image(problem) && problem.clamp && std::isfinite(problem.clamp->high - problem.clamp->low)) {
        // Sums of k products of numbers uniform in [-1, 1) spread by sqrt(k) / 3.
        const double scale = (problem.clamp->high - problem.clamp->low) / std::sqrt(static_cast<double>(problem.taps));
        auto* taps = reinterpret_cast<float*>(data.taps.data());
        for (std::int64_t t = 0; t < problem.taps; ++t) taps[t] = static_cast<float>(taps[t] * scale);
    }
    return data;
}

CaseData data_of(const KnownAnswer& known) {
    CaseData data;
    data.signal = bytes_of(known.signal);
    data.taps = bytes_of(known.taps);
    return data;
}

Problem problem_of(const KnownAnswer& known, const Problem& like) {
    return {.length = static_cast<std::int64_t>(known.signal.size()),
            .taps = static_cast<std::int64_t>(known.taps.size()),
            .mode = known.mode,
            .operation = like.operation,
            .dtype = like.dtype};
}

std::string check_output(const ReferenceBlocks& expected, const Bytes& out, CheckResult& result) {
    result = expected.compare(Accuracy::standard, out.data());
    if (!result.ok()) return result.describe();
    const auto* end = reinterpret_cast<const float*>(out.data() + out.size());
    return check_guard(end - kGuard);
}

std::string check_known(const KnownAnswer& known, const Bytes& out) {
    const auto* values = reinterpret_cast<const float*>(out.data());
    for (std::size_t i = 0; i < known.expected.size(); ++i) {
        // Small integers: exact in any order of summation by products; a transform would round.
        if (std::abs(values[i] - known.expected[i]) <= 1e-4F) continue;
        char text[160];
        std::snprintf(text, sizeof text, "%zu samples with %zu taps, mode %s: output %zu is %g, the write-up says %g",
                      known.signal.size(), known.taps.size(), to_string(known.mode), i, static_cast<double>(values[i]),
                      static_cast<double>(known.expected[i]));
        return text;
    }
    return check_guard(values + known.expected.size());
}

}  // namespace tapline::cli
