// Rung 53: into how many digits integers are parted so that rounding is exact, the problem of their rows, launches.
#include "cuda/families/integer/passes/integer_long.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "core/problem/taps_facts.hpp"
#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/error_in_double.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/rung_inside.hpp"
#include "cuda/families/common/workspace.hpp"
#include "cuda/families/integer/integer_transforms.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace integer {
namespace {

constexpr std::int64_t kLeastLongTaps = 64;
constexpr int kMostDigits = 8;
constexpr double kShareByPasses = 0.7;  // of the copy's speed, by the passes

/// How samples and taps are parted.
struct Parts {
    Parting samples, taps;
    int kept = 0;  ///< bits of a sum that reach the output

    [[nodiscard]] bool is_possible() const { return samples.count > 0; }
    [[nodiscard]] int shift(int sample, int tap) const { return sample * samples.bits + tap * taps.bits; }
};
constexpr Parts kImpossible{{0, 64}, {0, 64}, 0};

// Bits of a sum that reach the output: its low ones; 64 where they hold it; or 128, which hold it, or 0.
int bits_kept(const Problem& p, const Bound& bound) {
    if (keeps_low_bits(p)) { return 8 * stored_bytes(p.output_dtype); }
    return sum_bits(p, bound) == 64 ? 64 : bound.largest < 0x1p127 ? 128 : 0;
}
int ordinary_bits_kept(const Problem& p) { return bits_kept(p, likely_bound(p)); }

template <class Visit>
void for_each_product(const Parts& parts, const Visit& visit) {
    for (int tap = 0; tap < parts.taps.count; ++tap) {
        for (int sample = 0; sample < parts.samples.count; ++sample) {
            if (parts.shift(sample, tap) < parts.kept) { visit(sample, tap); }
        }
    }
}
int products_of(const Parts& parts) {
    int products = 0;
    for_each_product(parts, [&](int, int) { ++products; });
    return products;
}

Parting parting_of(int bits, int count) { return {count, count == 1 ? 64 : static_cast<int>(divide_up(bits, count))}; }
// The largest magnitude of a digit of a number of so many bits with its sign.
double largest_digit(int bits, const Parting& digits) {
    return digits.count == 1 ? std::ldexp(1.0, bits - 1) : std::ldexp(1.0, digits.bits - 1) + 1;
}
int sample_bits(const Problem& p) { return bits_of(p.dtype) + (is_signed(p.dtype) ? 0 : 1); }

// A tap's digits, the lowest first, as the kernel's.
std::array<double, kMostDigits> digits_of_tap(std::int64_t tap, const Parting& digits, bool is_unsigned) {
    std::array<double, kMostDigits> all{};
    if (digits.count == 1 && is_unsigned) {
        all[0] = static_cast<double>(static_cast<std::uint64_t>(tap));
        return all;
    }
    std::int64_t rest = tap;
    for (int d = 0; d + 1 < digits.count; ++d) {
        all.at(static_cast<std::size_t>(d)) = static_cast<double>(take_digit(rest, digits.bits, is_unsigned && d == 0));
    }
    all.at(static_cast<std::size_t>(digits.count) - 1) = static_cast<double>(rest);
    return all;
}

// What an output of one product is off by at most, for each unit of the largest sample and of the taps' norm.
double unit_error(const Problem& p) {
    const auto taps = static_cast<double>(p.x.k);
    return error_in_double(static_cast<double>(p.x.n) + 2 * taps, taps, taps);
}

// The fewest products whose outputs round to the right integers. `norm(digits)`: of a filter's digits, the largest norm.
template <class Norm>
Parts parts_of(const Problem& p, int kept, int tap_bits, const Norm& norm) {
    const int of_sample = sample_bits(p);
    const double unit = unit_error(p);
    Parts best = kImpossible;
    int least = INT32_MAX;
    for (int taps = 1; taps <= kMostDigits && taps < least; ++taps) {
        const Parting of_taps = parting_of(tap_bits, taps);
        const double of_norm = unit * norm(of_taps);
        for (int samples = 1; samples <= kMostDigits; ++samples) {
            const Parts parts{parting_of(of_sample, samples), of_taps, kept};
            const bool splits_constant = samples > 1 && p.x.boundary == kConstant;
            if (splits_constant || of_norm * largest_digit(of_sample, parts.samples) > kMostError) { continue; }
            if (const int products = products_of(parts); products < least) {
                least = products;
                best = parts;
            }
        }
    }
    return best;
}

Parts ordinary_parts(const Problem& p) {
    constexpr int kOrdinaryBits = 15;
    const int bits = p.bits_of_tap == core::TapsFacts::kUnknownBits ? kOrdinaryBits : std::min<int>(p.bits_of_tap, 63);
    return parts_of(p, ordinary_bits_kept(p), bits + 1, [&](const Parting& digits) {
        return std::sqrt(static_cast<double>(p.x.k) / 3) * largest_digit(bits + 1, digits);
    });
}

Parts exact_parts(const Problem& p, int kept, const void* taps) {
    const auto* const all = static_cast<const std::int64_t*>(taps);
    const double largest = largest_tap(p, taps);
    const int bits = largest == 0 ? 2 : std::ilogb(largest) + 2;  // and no sign where that is rounded up
    return parts_of(p, kept, bits, [&](const Parting& digits) {
        double most = 0;
        for (std::int64_t f = 0; f < p.filters; ++f) {
            std::array<double, kMostDigits> squares{};
            for (std::int64_t t = f * p.x.k; t < (f + 1) * p.x.k; ++t) {
                const auto tap = digits_of_tap(all[t], digits, p.taps_dtype == kU64);
                for (std::size_t d = 0; d < static_cast<std::size_t>(digits.count); ++d) { squares.at(d) += tap.at(d) * tap.at(d); }
            }
            for (const double square : squares) { most = std::max(most, std::sqrt(square)); }
        }
        return most * (1 + 0x1p-20);
    });
}

// Rows of digits under digits of taps.
Problem real_problem(const Problem& p) {
    Problem inner = sums_alone(p, kF64);
    inner.taps_dtype = kF64;
    inner.overflow = core::Resolved{}.overflow;
    inner.whole_sums = false;
    inner.taps_finite = inner.has_negative_tap = true;
    inner.bits_of_taps = inner.bits_of_tap = core::TapsFacts::kUnknownBits;
    if (p.x.boundary == kConstant) { inner.constant = static_cast<double>(constant_of(p)); }
    const auto put = [&](const WalkSide& side, std::int64_t core::Axis::*sample, std::int64_t core::Batch::*row) {
        const WalkAxis& x = side.axes[WalkSide::kX];
        inner.x.*sample = x.length == 1 ? 1 : x.packed;
        inner.batch.*row = side.axes[WalkSide::kBatch].packed;
    };
    put(samples_of(p), &core::Axis::in_stride, &core::Batch::in_stride);
    put(outputs_of(p), &core::Axis::out_stride, &core::Batch::out_stride);
    return inner;
}

// Where everything is in the workspace.
struct Places {
    std::int64_t samples, outputs, sums, own;  // bytes from its beginning
    std::int64_t plane;                        // elements of one digit's rows
};
Places places_of(const Problem& p, const Parts& parts) {
    Places places{};
    places.plane = aligned_bytes(samples_of(p).walk.count * 8) / 8;
    const std::int64_t outputs = aligned_bytes(outputs_of(p).walk.count * 8);
    places.samples = kFoundBytes;
    places.outputs = places.samples + places.plane * 8 * parts.samples.count;
    places.sums = places.outputs + outputs;
    places.own = places.sums + (products_of(parts) > 1 ? outputs * (parts.kept > 64 ? 2 : 1) : 0);
    return places;
}

class IntegerLong final : public IntegerRung {
public:
    static constexpr Head kHead{"53", "integer_long", "", R"(
Idea: a pass makes digits in double of integers, the rung that is the fastest for real numbers convolves them, and a pass rounds
its outputs, which are proved to be off by less than one half
Changed: thousands and millions of taps cost what they cost in double, not a product each
Requires: 64 taps or more; whole signals; sums of up to 127 bits; workspace
Limited by: what limits the rung inside, once for each product of digits
)"};

    IntegerLong() : IntegerRung(kHead, {.source = "src/cuda/families/integer/passes/integer_long.cu"}) {}
    [[nodiscard]] Refusal refuse_sums(const Problem& p, const cuda_abi::Device& device) const override {
        const int kept = ordinary_bits_kept(p);
        if (kept == 0) { return "its sums have 128 bits"; }
        if (p.x.k < kLeastLongTaps) { return "fewer than " + std::to_string(kLeastLongTaps) + " taps"; }
        const Parts parts = ordinary_parts(p);
        if (!parts.is_possible()) { return "no digits are so small that transforms in double are exact"; }
        if (device.memory_bytes > 0 && places_of(p, parts).own > device.memory_bytes / 3) {
            return "its digits and sums need more than a third of the device's memory";
        }
        return best_rung(real_problem(p), device).rung < 0 ? "no rung takes the digits" : "";
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const Parts parts = ordinary_parts(p);
        const int products = products_of(parts);
        const auto samples = static_cast<double>(samples_of(p).walk.count);
        const auto outputs = static_cast<double>(outputs_of(p).walk.count);
        const double bytes = samples * (stored_bytes(p.dtype) + 8.0 * parts.samples.count) +
                             outputs * (stored_bytes(p.output_dtype) + 8.0 + (8.0 + parts.kept / 4.0) * (products - 1));
        return (products + 1) * kLaunchSeconds + bytes / (kShareByPasses * device.copy_bytes_per_second) +
               products * best_rung(real_problem(p), device).seconds;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenLong>();
        if (!chosen.parts.is_possible()) { return chosen.road.describe(); }
        return std::to_string(chosen.products) + (chosen.products == 1 ? " product " : " products of digits, each ") +
               by_inside(*chosen.inside.front());
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenLong>(prepared);
        const void* const taps = prepared.given.taps;
        const int kept = bits_kept(p, chosen->bound);
        if (kept > 0) { chosen->parts = exact_parts(p, kept, taps); }
        if (!chosen->parts.is_possible()) {
            chosen->road.load(prepared, *chosen);
            return chosen;
        }
        chosen->places = places_of(p, chosen->parts);
        chosen->in = samples_of(p);
        chosen->out = outputs_of(p);
        chosen->products = products_of(chosen->parts);
        chosen->split = split_kernel();
        chosen->join = join_kernel(kept > 64);
        load_kernel(chosen->split);
        load_kernel(chosen->join);
        const Problem inner = real_problem(p);
        const std::int64_t count = p.filters * p.x.k;
        std::vector<double> digits(static_cast<std::size_t>(count));
        for (int d = 0; d < chosen->parts.taps.count; ++d) {
            for (std::int64_t t = 0; t < count; ++t) {
                const auto tap = digits_of_tap(static_cast<const std::int64_t*>(taps)[t], chosen->parts.taps, p.taps_dtype == kU64);
                digits[static_cast<std::size_t>(t)] = tap.at(static_cast<std::size_t>(d));
            }
            chosen->inside.push_back(prepare_inside(inner, digits.data(), prepared.device));
            chosen->own_bytes = std::max(chosen->own_bytes, chosen->inside.back()->workspace_bytes);
        }
        return chosen;
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenLong>();
        if (!chosen.parts.is_possible()) { return IntegerRung::workspace_bytes(prepared); }
        return kWorkspaceAlignment + chosen.places.own + chosen.own_bytes;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenLong>();
        Found* const found = chosen.begin(workspace, stream);
        if (chosen.parts.is_possible()) {
            launch_products(prepared, job, signal_of(prepared, job, on_device, found), workspace, stream);
        } else {
            chosen.road.launch(prepared, job, on_device, found, stream);
        }
        chosen.end(prepared, job, on_device, found, stream);
    }

private:
    struct ChosenLong final : ChosenInteger {
        using ChosenInteger::ChosenInteger;
        Parts parts = kImpossible;
        Places places{};
        WalkSide in{}, out{};
        int products = 0;
        SplitKernel split = nullptr;
        JoinKernel join = nullptr;
        std::vector<RungInside> inside;  // of each digit of the taps
        std::int64_t own_bytes = 0;      // of their workspace
        DirectRoad road;
    };

    static void launch_products(const Prepared& prepared, const Job& job, const Signal& signal, void* workspace,
                                cudaStream_t stream) {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenLong>();
        const Places& places = chosen.places;
        char* const memory = aligned(workspace);
        auto* const digits = reinterpret_cast<double*>(memory + places.samples);
        auto* const outputs = reinterpret_cast<double*>(memory + places.outputs);
        void* const sums = memory + places.sums;
        Split split{signal, sample_walk(chosen.in, p, job), digits, places.plane, chosen.parts.samples};
        launch_kernel(chosen.split, pass_blocks(split.walk.count), kPassThreads, 0, stream, split);
        Join join{signal, output_walk(chosen.out, p, job), outputs, chosen.products > 1 ? sums : nullptr, 0, 1, 0};
        int done = 0;
        for_each_product(chosen.parts, [&](int sample, int tap) {
            const RungInside& inner = chosen.inside.at(static_cast<std::size_t>(tap));
            const Problem& real = inner->problem;
            Job rows;
            rows.in = digits + sample * places.plane;
            rows.in_last = rows.n = p.x.n;
            rows.in_batch = real.batch.in_stride;
            rows.in_stride = real.x.in_stride;
            rows.out = outputs;
            rows.count = p.x.outputs;
            rows.out_batch = real.batch.out_stride;
            rows.out_stride = real.x.out_stride;
            rows.batch = p.batch.length;
            inner->rung->launch(*inner, rows, inner->on_device, memory + places.own, stream);
            join.shift = chosen.parts.shift(sample, tap);
            join.is_first = done == 0 ? 1 : 0;
            join.is_last = ++done == chosen.products ? 1 : 0;
            launch_kernel(chosen.join, pass_blocks(join.walk.count), kPassThreads, 0, stream, join);
        });
    }
};

}  // namespace
}  // namespace integer

const Rung& integer_long() { return core::only<integer::IntegerLong>(); }

}  // namespace tapline::cuda
