// Exact convolution of bool and integer signals.
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/plan/parallel.hpp"
#include "cpu/algorithms.hpp"
#include "cpu/element_types.hpp"
#include "cpu/integer/integer_sums.hpp"

namespace tapline::cpu {
namespace {

using core::Input;
using core::Output;
using core::Resolved;

// Multiply-adds, with the cost of loading and storing an output counted as kOutputWork of them, of a task (about 5 us).
constexpr std::int64_t kTaskWork = std::int64_t{1} << 17;
constexpr double kWorkSeconds = 40e-12;
constexpr std::int64_t kOutputWork = 32;

// Of an element beside its row's next one where that is not its neighbour: in a line of the cache of its own, or in the same.
// 42,752 rows of 49 samples of 16 bits, 256 bytes apart, take 28 ns a sample.
double seconds_apart(std::int64_t stride, double bytes) {
    constexpr double kNearSeconds = 1e-9, kFarSeconds = 10e-9, kCacheLine = 64;
    if (stride == 1) { return 0; }
    return std::abs(static_cast<double>(stride)) * bytes < kCacheLine ? kNearSeconds : kFarSeconds;
}

// T: the C++ type of the signal, std::uint8_t for bool.
template <class T>
class IntegerExecutable final : public core::Executable {
public:
    IntegerExecutable(const Resolved& problem, const std::int64_t* taps, const core::Request& request)
        : problem_(problem), threads_(request.threads), target_(current_target()), sums_(problem_, taps) {}

    [[nodiscard]] std::size_t workspace_bytes() const override {
        return static_cast<std::size_t>(threads_) * sizeof(IntegerScratch);
    }

    void execute(const Output& output, const Input& input, std::span<std::byte> workspace, void* /*stream*/) const override {
        OverflowLog log;
        auto* const scratch = reinterpret_cast<IntegerScratch*>(workspace.data());
        const std::int64_t tiles = (output.count + kIntegerTile - 1) / kIntegerTile;  // of a row
        const std::int64_t all = problem_.batch.length * tiles;
        // Counted through all rows: short rows share a task.
        const std::int64_t tile_work = std::min(kIntegerTile, output.count + kOutputBlock) * (problem_.x.k + kOutputWork);
        const std::int64_t per_task = std::max<std::int64_t>(kTaskWork / tile_work, 1);
        const auto task = [&](std::int64_t index, int slot) {
            for (std::int64_t i = index * per_task; i < std::min((index + 1) * per_task, all); ++i) {
                const std::int64_t first = output.first + i % tiles * kIntegerTile;
                const std::int64_t count = std::min(kIntegerTile, output.first + output.count - first);
                sums_.tile(output, input, i / tiles, first, count, scratch[slot], log);
            }
        };
        core::parallel_for((all + per_task - 1) / per_task, threads_, std::cref(task),
                           static_cast<double>(all) * static_cast<double>(tile_work) * kWorkSeconds);
        log.check(problem_);
    }

    [[nodiscard]] std::string describe() const override {
        return sums_.describe() + "; tiles of " + std::to_string(kIntegerTile) + " outputs, " + cpu::to_string(target_);
    }

private:
    Resolved problem_;
    int threads_;
    Target target_;
    IntegerSums<T> sums_;
};

class IntegerAlgorithm final : public core::Algorithm {
public:
    [[nodiscard]] std::string_view name() const override { return "integer"; }
    [[nodiscard]] std::string_view summary() const override {
        return "exact sums of bool and integer signals, directly, in the narrowest accumulator that cannot overflow";
    }
    [[nodiscard]] core::Support supports(const Resolved& problem, const core::Request& /*request*/) const override {
        return supports_integers(problem);
    }

    [[nodiscard]] double estimate_seconds(const Resolved& problem, const core::Request& request) const override {
        // An output beside its products, on one core: with AVX-512 as measured with 3 taps on 2^20 samples, with AVX2 with 64 on
        // 30,000.
        constexpr TargetSeconds kOutputSeconds{.avx512 = 0.15e-9, .avx2 = 0.7e-9, .sse4 = 1e-9, .neon = 1e-9, .scalar = 1.5e-9};
        const int modulo_bits = IntegerEpilogue(problem).modulo_bits();
        const int bits = likely_bits(problem, request.facts, modulo_bits);
        const double product = seconds_of_product(level_of(request.facts, bits, modulo_bits));
        const auto in_bytes = static_cast<double>(size_of(problem.dtype)),
                   out_bytes = static_cast<double>(size_of(problem.output_dtype));
        const bool scaled = problem.scale != 1 || problem.bias != 0;
        constexpr double kScaleSeconds = 2.2e-9;
        constexpr double kCallSeconds = 0.2e-6;
        const bool unknown = problem.x.n == kUnknownLength;
        const bool absent = problem.x.boundary == Boundary::zero && !unknown;  // taps outside the signal are skipped
        const double k = static_cast<double>(absent ? std::min(problem.x.k, problem.x.n) : problem.x.k);
        const double each = kOutputSeconds.of(current_target()) + 0.05e-9 * (in_bytes + out_bytes) + (scaled ? kScaleSeconds : 0) +
                            seconds_apart(problem.x.in_stride, in_bytes) + seconds_apart(problem.x.out_stride, out_bytes);
        const double rows = static_cast<double>(problem.batch.length) / request.threads;
        if (unknown) { return (k * product + each) * rows; }
        // A tile of a row: 6 taps along rows of 23 take 170 ns a row, of which its products are the smaller part.
        constexpr double kTileSeconds = 110e-9;
        const auto tiles = static_cast<double>((problem.x.outputs + kIntegerTile - 1) / kIntegerTile);
        const auto padded = static_cast<double>((problem.x.outputs + kOutputBlock - 1) / kOutputBlock * kOutputBlock);
        return kCallSeconds + (padded * k * product + static_cast<double>(problem.x.outputs) * each +
                               (problem.batch.length > 1 ? tiles * kTileSeconds : 0)) *
                                  rows;
    }

    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& problem, const void* taps,
                                                            const core::Request& request) const override {
        const auto* const bits = static_cast<const std::int64_t*>(taps);  // of u64 taps, their bits
        return with_sample_type(problem.dtype, [&]<class T>(T) -> std::unique_ptr<core::Executable> {
            return std::make_unique<IntegerExecutable<T>>(problem, bits, request);
        });
    }
};

}  // namespace

const core::Algorithm& integer_algorithm() { return core::only<IntegerAlgorithm>(); }

}  // namespace tapline::cpu
