// Rung 36: what it supports, taps as bytes, how it is launched.
#include "cuda/families/bytes/bytes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/shared_memory.hpp"
#include "cuda/launch.hpp"
#include "cuda/prepared.hpp"

namespace tapline::cuda {
namespace {

using namespace bytes_rung;

constexpr int kLeads = 4;
constexpr std::int64_t kMostTaps = kMostSteps * kStepTaps - (kGroup - 1) - (kLeads - 1);
constexpr double kBytes = 256;  // values of a byte
constexpr double kSlack = 2;    // roundings of a sum in double, and of the bias, as sums count
// Of a launch, however small: images of 15 x 15 to 505 x 505 take 16 to 20 us, H100.
constexpr double kStartSeconds = 14e-6;
constexpr int kVectorBytes = 16;
constexpr double kUnlike = 2;  // rows that begin between 16 bytes: 3,234 x 3,234 under 40 taps 36 us
constexpr double kNorm = 2;
// Of an output: 4096 x 4096 with 25, 49 and 81 taps take an H100 20, 26 and 35 us.
constexpr double kOutputSeconds = 8e-13, kStepSeconds = 3e-13;

// A filter as the kernel multiplies with it.
struct Parts {
    std::vector<unsigned> taps;  // times 2^fraction, modulo 2^32
    unsigned bias = 0, doubtful = 0;
    int fraction = 0;
    bool saturates = false, has_negative = false;
};

// With so many bits behind the point; false where sums need more than 32, or taps more than their bytes have.
bool set_parts(Parts& parts, const Problem& p, const double* taps, int fraction) {
    constexpr double kMostTap = 1 << 23;
    const double one = std::ldexp(1.0, fraction);
    parts.taps.clear();
    parts.fraction = fraction;
    double above = 0;  // by which true sums may be larger than those in whole numbers, and smaller
    double below = 0;
    double least = 0;
    double largest = 0;
    bool fits = true;
    for (std::int64_t t = 0; t < p.x.k; ++t) {
        const double exact = taps[t] * p.scale * one;
        const double rounded = std::nearbyint(exact);
        fits = fits && std::fabs(rounded) < kMostTap;
        (exact > rounded ? above : below) += std::fabs(exact - rounded) * (kBytes - 1);
        (rounded < 0 ? least : largest) += rounded * (kBytes - 1);
        parts.has_negative = parts.has_negative || taps[t] < 0;
        parts.taps.push_back(fits ? static_cast<unsigned>(static_cast<std::int32_t>(rounded)) : 0);
    }
    const double too_small = std::ceil(above) + kSlack;
    const double off = too_small + std::ceil(below) + kSlack;
    const double bias = std::nearbyint((p.bias + 0.5) * one) + too_small;
    least += bias - off;
    largest += bias;
    parts.saturates = fraction != kFraction || least < -off || largest >= std::ldexp(1.0, 32);
    if (!fits || (parts.saturates && std::max(-least, largest) >= std::ldexp(1.0, 31))) { return false; }
    parts.bias = static_cast<unsigned>(static_cast<std::int64_t>(bias));
    parts.doubtful = static_cast<unsigned>(std::min(off + 1, one));
    return true;
}

std::uint8_t output_of(const Problem& p, double sum) {
    return static_cast<std::uint8_t>(std::clamp(std::nearbyint(sum * p.scale + p.bias), 0.0, kBytes - 1));
}

// Of taps that are integers: times one number, with which every sum that there may be has the right output, so that none is
// doubtful; false where there is no such number, or too many sums.
bool set_whole_parts(Parts& parts, const Problem& p, const double* taps) {
    constexpr double kMostSums = 1 << 20;
    constexpr double kMostTap = 1 << 23;
    const double one = std::ldexp(1.0, kFraction);
    const double unit = std::ceil(p.scale * one);
    const double bias = std::nearbyint((p.bias + 0.5) * one);
    double largest = 0;
    for (std::int64_t t = 0; t < p.x.k; ++t) {
        if (taps[t] < 0 || taps[t] != std::nearbyint(taps[t]) || taps[t] * unit >= kMostTap) { return false; }
        largest += taps[t] * (kBytes - 1);
    }
    if (!(unit > 0) || bias < 0 || largest > kMostSums || unit * largest + bias >= std::ldexp(1.0, 32)) { return false; }
    for (std::int64_t sum = 0; sum <= static_cast<std::int64_t>(largest); ++sum) {
        const std::uint64_t made =
            static_cast<std::uint64_t>(unit) * static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(bias);
        if (made >> kFraction != output_of(p, static_cast<double>(sum))) { return false; }
    }
    for (std::int64_t t = 0; t < p.x.k; ++t) { parts.taps.push_back(static_cast<unsigned>(taps[t] * unit)); }
    parts.bias = static_cast<unsigned>(bias);
    parts.fraction = kFraction;
    return true;
}

Parts parts_of(const Problem& p, const double* taps) {
    Parts parts;
    if (set_whole_parts(parts, p, taps)) { return parts; }
    for (int fraction = kFraction; fraction >= 0; --fraction) {
        if (set_parts(parts, p, taps, fraction)) { return parts; }
    }
    // Sums in double only.
    parts = {};
    parts.taps.assign(static_cast<std::size_t>(p.x.k), 0);
    parts.doubtful = 1;
    parts.has_negative = true;
    return parts;
}

bool lies_along(std::int64_t in_step, std::int64_t out_step) { return in_step == 1 && out_step == 1; }

// What comes of samples that are all the same.
std::uint8_t output_of_flat(const Problem& p, const double* taps, int sample) {
    double sum = 0;
    for (std::int64_t t = 0; t < p.x.k; ++t) { sum = std::fma(static_cast<double>(sample), taps[t], sum); }
    return output_of(p, sum);
}

class DirectBytes final : public Rung {
public:
    static constexpr Head kHead{"36", "direct_bytes", "", R"(
Idea: bytes times the three bytes of a tap are exact on tensor cores: outputs are rounded from sums in whole numbers, and where
those are too near to the next integer to tell, from the sum in double
Changed: bytes filtered to bytes with sums in double cost little more than bytes that are copied
Requires: u8 samples and outputs, one filter of f64 taps
Limited by: instructions around the products; where many sums are close to integers (what is flat, or rises evenly) a pass takes
two to four times as long
)"};

    DirectBytes() : Rung(kHead, {.source = "src/cuda/families/bytes/bytes.cuh"}) {}

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.dtype != kU8 || p.output_dtype != kU8 || p.taps_dtype != kF64) { return "takes only u8 to u8 with f64 taps"; }
        if (device.major < 8) { return "needs tensor cores that multiply bytes (compute capability 8.0)"; }
        if (p.filters != 1 || p.taps_come_later) { return "takes one filter, known when the plan is made"; }
        if (p.x.k > kMostTaps) { return "takes at most " + std::to_string(kMostTaps) + " taps"; }
        if (p.has_clamp || !p.taps_finite) { return "takes no clamp, and finite taps"; }
        if (!lies_along(p.x.in_stride, p.x.out_stride) && !lies_along(p.batch.in_stride, p.batch.out_stride)) {
            return "samples and outputs lie side by side neither along rows nor across them";
        }
        const double constant = p.constant.real();
        if (p.x.boundary == kConstant && !(constant >= 0 && constant < kBytes && constant == std::floor(constant))) {
            return "the boundary's constant is no byte";
        }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device&) const override {
        const double outputs = static_cast<double>(p.x.outputs) * static_cast<double>(p.batch.length);
        const bool alike = p.batch.length == 1 ||
                           (p.batch.in_stride % kVectorBytes == 0 && p.batch.out_stride % kVectorBytes == 0) ||
                           (p.x.in_stride % kVectorBytes == 0 && p.x.out_stride % kVectorBytes == 0);
        const double working = outputs * (kOutputSeconds + kStepSeconds * steps_of(p.x.k + kLeads - 1)) * (alike ? 1 : kUnlike);
        return kLaunchSeconds + overlapped(kStartSeconds, working, kNorm);
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        return std::to_string(prepared.chosen_as<ChosenBytes>().steps) + " steps of " + std::to_string(kStepTaps) +
               " places, tiles of " + std::to_string(kLines) + " rows by " + std::to_string(kOutputs) + " outputs";
    }

    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        const auto* const taps = static_cast<const double*>(prepared.given.taps);
        auto chosen = std::make_unique<ChosenBytes>();
        const std::int64_t lead = lies_along(p.x.in_stride, p.x.out_stride) ? lead_of(p, 0) % kLeads : 0;
        const bool fits = p.x.k + lead <= kStepTaps * steps_of(p.x.k) - (kGroup - 1);
        chosen->steps = steps_of(p.x.k + (fits ? 0 : kLeads - 1));
        for (const bool across : {false, true}) {
            load_kernel(kernel_of(chosen->steps, across), shared_bytes(chosen->steps, across), prepared.device);
        }
        chosen->parts = parts_of(p, taps);
        chosen->flat_zero = output_of_flat(p, taps, 0);
        return chosen;
    }

    // Fragments with 0 .. 3 places before the taps, the taps, what comes of samples that are all alike.
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenBytes>();
        const auto* const taps = static_cast<const double*>(prepared.given.taps);
        std::vector<std::byte> to(static_cast<std::size_t>(taps_at(chosen.steps)));
        for (int lead = 0; lead < kLeads; ++lead) {
            for (int i = 0; i < chosen.steps * kParts * 32; ++i) {
                const int lane = i % 32;
                const int part = i / 32 % kParts;
                const int step = i / 32 / kParts;
                for (int byte = 0; byte < 8; ++byte) {
                    const int place = step * kStepTaps + byte / 4 * 16 + lane % 4 * 4 + byte % 4;
                    const int tap = place - lane / 4 - lead;
                    const unsigned value = tap >= 0 && tap < p.x.k ? chosen.parts.taps[static_cast<std::size_t>(tap)] : 0;
                    to[std::size_t{8} * static_cast<std::size_t>(lead * chosen.steps * kParts * 32 + i) +
                       static_cast<std::size_t>(byte)] = static_cast<std::byte>(value >> (8 * part) & 0xff);
                }
            }
        }
        const auto* const exact = reinterpret_cast<const std::byte*>(taps);
        to.insert(to.end(), exact, exact + static_cast<std::size_t>(p.x.k) * sizeof(double));
        for (int sample = 0; sample < kBytes; ++sample) { to.push_back(static_cast<std::byte>(output_of_flat(p, taps, sample))); }
        return to;
    }

    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenBytes>();
        BytesArguments a{};
        a.out = static_cast<std::uint8_t*>(job.out);
        a.in = static_cast<const std::uint8_t*>(job.in);
        a.n = job.n;
        a.first = job.first;
        a.outputs = job.count;
        a.in_first = job.in_first;
        a.in_last = job.in_last;
        a.lines = job.batch;
        a.in_line = job.in_batch;
        a.out_line = job.out_batch;
        a.in_step = job.in_stride;
        a.out_step = job.out_stride;
        a.tiles = divide_up(a.outputs, kOutputs);
        a.boundary = p.x.boundary;
        a.constant = p.x.boundary == kConstant ? static_cast<std::uint8_t>(p.constant.real()) : std::uint8_t{0};
        a.taps = static_cast<int>(p.x.k);
        const bool across = lies_along(a.in_line, a.out_line) && !lies_along(a.in_step, a.out_step);
        const auto whole = [](const void* at, std::int64_t step, std::int64_t bytes) {
            return reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(bytes) == 0 && step % bytes == 0;
        };
        const auto way = [](bool side_by_side, bool aligned) {
            return !side_by_side ? Loads::bytes : aligned ? Loads::aligned : Loads::anywhere;
        };
        if (across) {
            a.loads = way(true, whole(a.in, a.in_step, 4));
            a.stores = way(true, whole(a.out, a.out_step, 16));
        } else {
            a.stores = way(a.out_step == 1, whole(a.out, a.out_line, 16));
            const std::int64_t before = lead_of(p, a.first - a.in_first);
            const bool fits = p.x.k + before % kLeads <= kStepTaps * chosen.steps - (kGroup - 1);
            a.loads = way(a.in_step == 1, fits && whole(a.in, a.in_line, 16));
            a.lead = a.loads == Loads::aligned ? static_cast<int>(before % kLeads) : 0;
            a.ahead = a.loads == Loads::aligned ? static_cast<int>(before - before % kLeads) : 0;
        }
        a.begin = -p.x.origin - a.lead;
        a.bias = chosen.parts.bias;
        a.doubtful = chosen.parts.doubtful;
        a.fraction = chosen.parts.fraction;
        a.saturates = chosen.parts.saturates;
        a.trust_zeros = p.bias == -0.5 && chosen.flat_zero == 0 && !chosen.parts.has_negative;
        const auto* const tables = static_cast<const char*>(on_device.tables);
        a.fragments = reinterpret_cast<const uint2*>(tables) + a.lead * chosen.steps * kParts * 32;
        a.exact_taps = reinterpret_cast<const double*>(tables + taps_at(chosen.steps));
        a.flat = reinterpret_cast<const std::uint8_t*>(a.exact_taps + p.x.k);
        a.scale = p.scale;
        a.offset = p.bias;
        const std::int64_t groups = divide_up(a.lines, kLines);
        if (static_cast<double>(a.tiles) * static_cast<double>(groups) > static_cast<double>(kMostBlocks)) { refuse_launch(); }
        launch_kernel(kernel_of(chosen.steps, across), static_cast<unsigned>(a.tiles * groups), kThreads,
                      shared_bytes(chosen.steps, across), stream, a);
    }

private:
    struct ChosenBytes final : Chosen {
        int steps = 1;
        Parts parts;
        std::uint8_t flat_zero = 0;
    };
    // Bytes from the last 16-byte boundary to the first tap's sample of an output that begins on one.
    static std::int64_t lead_of(const Problem& p, std::int64_t first) { return ((first - p.x.origin) % 16 + 16) % 16; }
    static std::int64_t taps_at(int steps) { return std::int64_t{8} * kLeads * steps * kParts * 32; }
};

}  // namespace

const Rung& direct_bytes() { return core::only<DirectBytes>(); }

}  // namespace tapline::cuda
