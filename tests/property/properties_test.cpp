// What convolution is without a textbook: an impulse gives the taps, sums and shifts of inputs those of outputs, and the full mode
// does not care which of the two is the signal. For signals, images and volumes with every algorithm of the CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/buffers.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

using Floats = std::vector<float>;
using Sizes = std::vector<std::int64_t>;

std::int64_t product(const Sizes& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

Problem problem_of(const Sizes& samples, const Sizes& taps) {
    Problem p;
    for (std::size_t i = 0; i < samples.size(); ++i) { p.axes.push_back({.length = samples[i], .taps = taps[i]}); }
    return p;
}

Floats random_floats(std::int64_t count, std::uint64_t seed) {
    Random random(seed);
    Floats values(static_cast<std::size_t>(count));
    fill_reals<float>(values.data(), count, random);
    return values;
}

double norm(const Floats& values) { return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0)); }

double distance(const Floats& a, const Floats& b) {
    double squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) { squares += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2); }
    return std::sqrt(squares);
}

struct Sides {
    Sizes samples, taps;
};

class Properties : public ::testing::TestWithParam<Sides> {
protected:
    const Sizes& samples_ = GetParam().samples;
    const Sizes& taps_sizes_ = GetParam().taps;
    const Problem problem_ = problem_of(samples_, taps_sizes_);
    const Floats taps_ = random_floats(product(taps_sizes_), 5);
    const Floats in_ = random_floats(product(samples_), 6);

    static Floats run(const Problem& p, const Floats& taps, const Floats& in, const std::string& algorithm) {
        Floats out(static_cast<std::size_t>(output_extent(p)), NAN);
        make_plan(p, taps, {.device = "cpu", .algorithm = algorithm}).execute(std::span<float>(out), std::span<const float>(in));
        return out;
    }

    // What is supported for both problems and takes at most a second or so.
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const AlgorithmInfo& info : algorithms(problem_, "cpu", Accuracy::standard, 1, taps_.data())) {
            if (info.supported && info.predicted_seconds < 0.1) { names.push_back(info.name); }
        }
        EXPECT_FALSE(names.empty());
        return names;
    }

    // The array with `values` put into zeros of another size, so many places on along every axis.
    static Floats placed(const Floats& values, const Sizes& from, const Sizes& to, std::int64_t shift) {
        Floats all(static_cast<std::size_t>(product(to)));
        for (std::size_t i = 0; i < values.size(); ++i) {
            std::int64_t rest = static_cast<std::int64_t>(i), at = 0, step = 1;
            for (std::size_t axis = from.size(); axis-- > 0;) {
                at += (rest % from[axis] + shift) * step;
                rest /= from[axis];
                step *= to[axis];
            }
            all[static_cast<std::size_t>(at)] = values[i];
        }
        return all;
    }

    [[nodiscard]] Sizes output_sizes() const {
        const auto shape = output_shape(problem_);
        return {shape.begin(), shape.end()};
    }
};

TEST_P(Properties, AnImpulseGivesTheTaps) {
    const std::int64_t at = std::min<std::int64_t>(samples_.front() / 2, 13);
    const Floats impulse = placed({1}, Sizes(samples_.size(), 1), samples_, at);
    const Floats wanted = placed(taps_, taps_sizes_, output_sizes(), at);
    for (const std::string& name : names()) {
        const Floats out = run(problem_, taps_, impulse, name);
        for (std::size_t i = 0; i < out.size(); ++i) { ASSERT_LE(std::abs(out[i] - wanted[i]), 1e-5F) << name << " output " << i; }
    }
}

TEST_P(Properties, SumsOfSignalsGiveSumsOfOutputs) {
    const Floats other = random_floats(product(samples_), 7);
    Floats sum(in_.size());
    for (std::size_t i = 0; i < sum.size(); ++i) { sum[i] = 2 * in_[i] - 3 * other[i]; }
    for (const std::string& name : names()) {
        const Floats a = run(problem_, taps_, in_, name), b = run(problem_, taps_, other, name);
        Floats wanted(a.size());
        for (std::size_t i = 0; i < a.size(); ++i) { wanted[i] = 2 * a[i] - 3 * b[i]; }
        EXPECT_LE(distance(run(problem_, taps_, sum, name), wanted) / norm(wanted), 2e-6) << name;
    }
}

TEST_P(Properties, AShiftedSignalGivesShiftedOutputs) {
    constexpr std::int64_t kShift = 3;
    Sizes longer = samples_, outputs = output_sizes();
    for (std::int64_t& size : longer) { size += kShift; }
    for (std::int64_t& size : outputs) { size += kShift; }
    const Problem problem = problem_of(longer, taps_sizes_);
    for (const std::string& name : names()) {
        const Floats wanted = placed(run(problem_, taps_, in_, name), output_sizes(), outputs, kShift);
        EXPECT_LE(distance(run(problem, taps_, placed(in_, samples_, longer, kShift), name), wanted) / norm(wanted), 2e-6) << name;
    }
}

TEST_P(Properties, TheFullModeCommutes) {
    const Problem swapped = problem_of(taps_sizes_, samples_);
    for (const AlgorithmInfo& info : algorithms(swapped, "cpu", Accuracy::standard, 1, in_.data())) {
        const std::vector<std::string> all = names();
        if (!info.supported || info.predicted_seconds > 0.1 || std::find(all.begin(), all.end(), info.name) == all.end()) {
            continue;
        }
        const Floats out = run(problem_, taps_, in_, info.name);
        EXPECT_LE(distance(run(swapped, in_, taps_, info.name), out) / norm(out), 2e-6) << info.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Signals, Properties,
                         ::testing::Values(Sides{{20000}, {7}}, Sides{{20000}, {400}}, Sides{{20000}, {5000}}));
INSTANTIATE_TEST_SUITE_P(Images, Properties, ::testing::Values(Sides{{130, 211}, {3, 5}}, Sides{{97, 130}, {21, 18}}));
INSTANTIATE_TEST_SUITE_P(Volumes, Properties, ::testing::Values(Sides{{18, 21, 30}, {2, 3, 5}}));

}  // namespace
}  // namespace tapline::test
