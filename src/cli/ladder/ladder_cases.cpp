#include "cli/ladder/ladder_cases.hpp"

#include <numeric>

namespace tapline::cli {
namespace {

constexpr std::int64_t kTwo22 = std::int64_t{1} << 22;
constexpr std::int64_t kTwo24 = std::int64_t{1} << 24;
constexpr std::int64_t kTwo28 = std::int64_t{1} << 28;
// The write-ups of family E sweep the length; their filters are short. 33 is where four rungs differ and ours still
// moves at the copy's speed.
constexpr std::int64_t kEdgeTaps = 33;

std::vector<float> ramp(std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 0.0F);
    return values;
}

Problem correlation(std::int64_t length, std::int64_t taps, Mode mode) {
    return {.length = length, .taps = taps, .mode = mode, .operation = Operation::correlation, .dtype = Dtype::f32};
}

LadderCase block_puzzle() {
    return {.key = "A",
            .title = "block puzzle: one block, one output a thread",
            .problem = correlation(6, 3, Mode::leading),
            .known = {{Mode::leading, ramp(6), ramp(3), {5, 8, 11, 14, 5, 0}}}};
}

LadderCase boundary_puzzle() {
    return {.key = "A2",
            .title = "block-boundary puzzle: the next block's halo is loaded too",
            .problem = correlation(15, 4, Mode::leading),
            .known = {{Mode::leading, ramp(15), ramp(4), {14, 20, 26, 32, 38, 44, 50, 56, 62, 68, 74, 80, 41, 14, 0}}}};
}

LadderCase broadcast_block() {
    return {.key = "B",
            .title = "broadcast block: a window of loads, multiplied and summed along the taps",
            .problem = correlation(1'500'000, 2047, Mode::valid),
            .known = {{Mode::valid, {1, 2, 3, 4, 5}, {1, 0, -1}, {-2, -2, -2}}}};
}

LadderCase reduction() {
    return {.key = "C",
            .title = "from the naive reduction to the tuned one",
            .problem = {.length = 16384, .taps = 32, .mode = Mode::full, .dtype = Dtype::f32},
            .known = {}};
}

// The write-up prints -3 as the ninth output; the sum is 1 + 12 + 2 - 2 - 10 = 3.
LadderCase radius_and_padding() {
    const std::vector<float> signal = {2, 1, 4, 1, 1, 0, 1, 3, 1, 2, 2, 4};
    const std::vector<float> taps = {1, 4, 2, -1, -5};
    return {.key = "D",
            .title = "radius and padding: a tile with zeros at both ends",
            .problem = correlation(12, 5, Mode::same),
            .known = {{Mode::same, signal, taps, {-17, 1, 8, 18, 5, -11, -5, -1, 3, -11, 9, 18}},
                      {Mode::valid, signal, taps, {8, 18, 5, -11, -5, -1, 3, -11}}}};
}

LadderCase global_to_cached(std::int64_t length) {
    LadderCase edge{.key = "E",
                    .title = "basic, constant memory, tiled, cached halo; result clamped to [0, 1]",
                    .problem = correlation(length, kEdgeTaps, Mode::same),
                    .known = {},
                    .sweeps = true};
    edge.problem.clamp = Clamp{0, 1};
    return edge;
}

LadderCase ours(std::int64_t length) {
    return {.key = "ours",
            .title = "a long signal: what memory allows",
            .problem = {.length = length, .taps = kEdgeTaps, .mode = Mode::same, .dtype = Dtype::f32},
            .known = {}};
}

}  // namespace

std::vector<LadderCase> ladder_cases(bool gpu) {
    return {block_puzzle(),
            boundary_puzzle(),
            broadcast_block(),
            reduction(),
            radius_and_padding(),
            global_to_cached(gpu ? kTwo24 : kTwo22),
            ours(gpu ? kTwo28 : kTwo24)};
}

std::string ladder_case_keys() {
    std::string keys;
    for (const auto& one : ladder_cases(false)) keys += (keys.empty() ? "" : ", ") + one.key;
    return keys;
}

}  // namespace tapline::cli
