// Exact convolution of bool and integer signals.
#include <algorithm>
#include <cstddef>

#include "core/plan/parallel.hpp"
#include "cpu/algorithms.hpp"
#include "cpu/element_types.hpp"
#include "cpu/integer/integer_epilogue.hpp"
#include "cpu/integer/integer_kernels.hpp"
#include "cpu/integer/integer_levels.hpp"

namespace tapline::cpu {
namespace {

using core::Input;
using core::Output;
using core::Resolved;

// Outputs of a tile and taps of one pass over it. A pass converts kTile + kPass samples to the accumulator's form (about 2
// cycles each) for kTile * kPass multiply-adds (at best 32 a cycle): 6% at the most. The window (32 KiB at 8 bytes) and
// the sums stay in the L2 cache, the part of the window that a register block sweeps in L1.
constexpr std::int64_t kTile = 2048;
constexpr std::int64_t kPass = 2048;  // even: pairs of taps are not divided
constexpr std::int64_t kWindow = kTile + kPass + kOutputBlock;

// Multiply-adds, with the cost of loading and storing an output counted as kOutputWork of them, that make a task worth
// giving to a thread (about 20 us).
constexpr std::int64_t kTaskWork = std::int64_t{1} << 19;
constexpr std::int64_t kOutputWork = 32;

// Scratch of one thread, large enough for the widest types.
struct Scratch {
    alignas(64) std::byte window[kWindow * sizeof(std::int64_t)];   // samples in the accumulator's form
    alignas(64) std::byte samples[kWindow * sizeof(std::int64_t)];  // in their own type, when they must be gathered
    alignas(64) std::byte sums[kTile * sizeof(core::Int192)];
};

// One call of execute.
struct Call {
    const Output& output;
    const Input& input;
    Scratch* scratch;
    std::int64_t tiles;           // of a row
    std::int64_t tiles_per_task;  // counted through all rows: short rows share a task
    OverflowLog& log;
};

// Samples of a window in the form that a level's kernel reads, then zeros up to `padded`.
template <class T>
void to_pairs(std::int32_t* window, const T* samples, std::int64_t count, std::int64_t padded) {
    const auto half = [](T sample) { return static_cast<std::uint32_t>(static_cast<std::uint16_t>(sample)); };
    for (std::int64_t i = 0; i + 1 < count; ++i) {
        window[i] = static_cast<std::int32_t>(half(samples[i]) | half(samples[i + 1]) << 16);
    }
    window[count - 1] = static_cast<std::int32_t>(half(samples[count - 1]));
    std::fill(window + count, window + padded, 0);
}

template <class To, class T>
void to_wide(To* window, const T* samples, std::int64_t count, std::int64_t padded) {
    for (std::int64_t i = 0; i < count; ++i) { window[i] = static_cast<To>(samples[i]); }
    std::fill(window + count, window + padded, To{0});
}

// T: the C++ type of the signal, std::uint8_t for bool.
template <class T>
class IntegerExecutable final : public core::Executable {
public:
    IntegerExecutable(const Resolved& problem, const std::int64_t* taps, const core::Request& request)
        : problem_(problem),
          threads_(request.threads),
          target_(current_target()),
          kernels_(integer_kernels(target_)),
          epilogue_(problem) {
        filters_.reserve(static_cast<std::size_t>(problem.filters));
        for (std::int64_t f = 0; f < problem.filters; ++f) {
            filters_.emplace_back(taps + f * problem.x.k, problem.x.k, problem.dtype == Dtype::u64, epilogue_.modulo_bits());
        }
    }

    [[nodiscard]] std::size_t workspace_bytes() const override { return static_cast<std::size_t>(threads_) * sizeof(Scratch); }

    void execute(const Output& output, const Input& input, std::span<std::byte> workspace, void* /*stream*/) const override {
        OverflowLog log;
        const std::int64_t tiles = (output.count + kTile - 1) / kTile;
        const std::int64_t tile_work = std::min(kTile, output.count + kOutputBlock) * (problem_.x.k + kOutputWork);
        const std::int64_t all = problem_.batch.length * tiles;
        const Call call{
            output, input, reinterpret_cast<Scratch*>(workspace.data()), tiles, std::max<std::int64_t>(kTaskWork / tile_work, 1),
            log};
        core::parallel_for((all + call.tiles_per_task - 1) / call.tiles_per_task, threads_,
                           [this, &call](std::int64_t task, int slot) {
                               const std::int64_t first = task * call.tiles_per_task;
                               const std::int64_t last = std::min(first + call.tiles_per_task, problem_.batch.length * call.tiles);
                               for (std::int64_t i = first; i < last; ++i) {
                                   tile(call, i / call.tiles, i % call.tiles, call.scratch[slot]);
                               }
                           });
        log.check(problem_);
    }

    [[nodiscard]] std::string describe() const override {
        const Level level = filters_.front().level(or_bits_of(problem_.dtype));
        const Level best = filters_.front().level(0);
        std::string text = std::string("sums in ") + to_string(level);
        if (best != level) { text += std::string(", or where a tile's samples are small as little as ") + to_string(best); }
        return text + "; tiles of " + std::to_string(kTile) + " outputs, " + cpu::to_string(target_);
    }

private:
    struct TapRange {
        std::int64_t first, last;
    };

    // The taps that meet samples: with a zero boundary, those of the signal alone. An even start keeps pairs whole.
    [[nodiscard]] TapRange tap_range(const Call& call, std::int64_t first, std::int64_t count) const {
        if (problem_.x.boundary != Boundary::zero) { return {0, problem_.x.k}; }
        const std::int64_t position = first - problem_.x.origin;  // of the sample that the first output's tap 0 meets
        const std::int64_t begin = std::clamp<std::int64_t>(-(position + count - 1), 0, problem_.x.k) & ~std::int64_t{1};
        const std::int64_t end =
            call.input.n == kUnknownLength ? problem_.x.k : std::clamp<std::int64_t>(call.input.n - position, begin, problem_.x.k);
        return {begin, end};
    }

    // Samples [first, first + count) of the extended row, count <= kWindow.
    const T* samples(const Call& call, std::int64_t row, std::int64_t first, std::int64_t count, Scratch& scratch) const {
        const bool is_bool = problem_.dtype == Dtype::boolean;
        if (!is_bool) {
            if (const T* view = core::direct_view<T>(call.input, row, first, count)) { return view; }
        }
        T* const gathered = reinterpret_cast<T*>(scratch.samples);
        core::gather<T>(gathered, problem_, call.input, row, first, count);
        if (is_bool) {  // any nonzero byte is true
            for (std::int64_t i = 0; i < count; ++i) { gathered[i] = gathered[i] != 0; }
        }
        return gathered;
    }

    // The level of a tile: what its samples need, where their type alone does not already allow the filter's cheapest.
    Level level_of(const Call& call, const IntegerTaps& filter, std::int64_t row, std::int64_t position, std::int64_t count,
                   Scratch& scratch) const {
        const Level level = filter.level(or_bits_of(problem_.dtype));
        if (level == filter.level(0)) { return level; }
        std::uint64_t bits = 0;
        for (std::int64_t i = 0; i < count; i += kWindow) {
            const std::int64_t part = std::min(kWindow, count - i);
            bits |= or_bits(samples(call, row, position + i, part, scratch), part);
        }
        return filter.level(bits);
    }

    void tile(const Call& call, std::int64_t row, std::int64_t index, Scratch& scratch) const {
        const std::int64_t first = call.output.first + index * kTile;
        const std::int64_t count = std::min(kTile, call.output.first + call.output.count - first);
        if (call.log.before(row, first)) { return; }
        const IntegerTaps& filter = filters_[static_cast<std::size_t>(row % problem_.filters)];
        const TapRange range = tap_range(call, first, count);
        const std::int64_t position = first - problem_.x.origin + range.first;
        switch (level_of(call, filter, row, position, count - 1 + range.last - range.first, scratch)) {
            case Level::pairs16:
                return sum<Level::pairs16, std::int32_t>(call, filter, range, row, first, count, scratch);
            case Level::low32:
                return sum<Level::low32, std::int32_t>(call, filter, range, row, first, count, scratch);
            case Level::wide32:
                return sum<Level::wide32, std::int64_t>(call, filter, range, row, first, count, scratch);
            case Level::low64:
                return sum<Level::low64, std::int64_t>(call, filter, range, row, first, count, scratch);
            case Level::wide128:
                return sum<Level::wide128, core::Int128>(call, filter, range, row, first, count, scratch);
            case Level::wide192:
                return sum<Level::wide192, core::Int192>(call, filter, range, row, first, count, scratch);
        }
    }

    template <Level kLevel, class Acc>
    void sum(const Call& call, const IntegerTaps& filter, TapRange range, std::int64_t row, std::int64_t first, std::int64_t count,
             Scratch& scratch) const {
        Acc* const sums = reinterpret_cast<Acc*>(scratch.sums);
        const std::int64_t outputs = (count + kOutputBlock - 1) / kOutputBlock * kOutputBlock;
        std::fill(sums, sums + outputs, Acc{});
        for (std::int64_t t = range.first; t < range.last; t += kPass) {
            const std::int64_t taps = std::min(kPass, range.last - t);
            const std::int64_t needed = count - 1 + taps;
            const T* const in = samples(call, row, first - problem_.x.origin + t, needed, scratch);
            pass<kLevel>(sums, filter, in, t, needed, outputs, taps, scratch);
        }
        epilogue_.store(call.output, row, first, count, sums, call.log);
    }

    // Adds taps [t, t + taps) to the sums. `in` holds `needed` samples.
    template <Level kLevel, class Acc>
    void pass(Acc* sums, const IntegerTaps& filter, const T* in, std::int64_t t, std::int64_t needed, std::int64_t outputs,
              std::int64_t taps, Scratch& scratch) const {
        auto* const narrow = reinterpret_cast<std::int32_t*>(scratch.window);
        auto* const wide = reinterpret_cast<std::int64_t*>(scratch.window);
        const std::int64_t padded = outputs + taps;
        constexpr bool kUnsigned = std::is_same_v<T, std::uint64_t>;
        if constexpr (kLevel == Level::pairs16) {
            to_pairs(narrow, in, needed, padded);
            kernels_.pairs16(sums, narrow, filter.pairs(t), outputs, (taps + 1) / 2);
        } else if constexpr (kLevel == Level::low32) {
            to_wide(narrow, in, needed, padded);
            kernels_.low32(sums, narrow, filter.narrow(t), outputs, taps);
        } else {
            to_wide(wide, in, needed, padded);
            if constexpr (kLevel == Level::wide32) { kernels_.wide32(sums, wide, filter.wide(t), outputs, taps); }
            if constexpr (kLevel == Level::low64) { kernels_.low64(sums, wide, filter.wide(t), outputs, taps); }
            if constexpr (kLevel == Level::wide128) { accumulate128(sums, wide, filter.wide(t), outputs, taps, kUnsigned); }
            if constexpr (kLevel == Level::wide192) { accumulate192(sums, wide, filter.wide(t), outputs, taps, kUnsigned); }
        }
    }

    Resolved problem_;
    int threads_;
    Target target_;
    const IntegerKernels& kernels_;
    IntegerEpilogue epilogue_;
    std::vector<IntegerTaps> filters_;
};

class IntegerAlgorithm final : public core::Algorithm {
public:
    [[nodiscard]] std::string_view name() const override { return "integer"; }
    [[nodiscard]] std::string_view summary() const override {
        return "exact sums of bool and integer signals, directly, in the narrowest accumulator that cannot overflow";
    }
    [[nodiscard]] core::Support supports(const Resolved& problem, const core::Request& /*request*/) const override {
        if (problem.is_exact()) { return core::Support::yes(); }
        return core::Support::no(std::string("the signal is ") + to_string(problem.dtype) + " and the taps are " +
                                 to_string(problem.taps_dtype) + ": not both integers");
    }

    [[nodiscard]] double estimate_seconds(const Resolved& problem, const core::Request& request) const override {
        // Of one core with AVX-512, measured with 3, 31 and 511 taps on 2^20 samples: multiply-adds a second for signals of up to
        // 16 bits (pairs16: 34 to 65e9) and wider ones (wide32: 9 to 13e9; the taps, which decide, are not known here), and the
        // time that an output takes beside them.
        const double rate = size_of(problem.dtype) <= 2 ? 60e9 : 12e9;
        const double seconds_per_output =
            0.15e-9 + 0.05e-9 * static_cast<double>(size_of(problem.dtype) + size_of(problem.output_dtype));
        const bool scaled = problem.scale != 1 || problem.bias != 0;
        constexpr double kScaleSeconds = 2.2e-9;
        constexpr double kCallSeconds = 0.2e-6;
        const bool unknown = problem.x.n == kUnknownLength;
        const bool absent = problem.x.boundary == Boundary::zero && !unknown;  // taps outside the signal are skipped
        const double k = static_cast<double>(absent ? std::min(problem.x.k, problem.x.n) : problem.x.k);
        const double per_output = (k / rate + seconds_per_output + (scaled ? kScaleSeconds : 0)) *
                                  static_cast<double>(problem.batch.length) / request.threads;
        return unknown ? per_output : kCallSeconds + per_output * static_cast<double>(problem.x.outputs);
    }

    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& problem, const void* taps,
                                                            const core::Request& request) const override {
        const auto* const bits = static_cast<const std::int64_t*>(taps);  // of u64 taps, their bits
        return core::with_integer_type(problem.dtype, [&]<class T>(T) -> std::unique_ptr<core::Executable> {
            using Sample = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
            return std::make_unique<IntegerExecutable<Sample>>(problem, bits, request);
        });
    }
};

}  // namespace

const core::Algorithm& integer_algorithm() {
    static const IntegerAlgorithm algorithm;
    return algorithm;
}

}  // namespace tapline::cpu
