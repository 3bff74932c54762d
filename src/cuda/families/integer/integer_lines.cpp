// Rungs 45, 14 and 48: which type holds a problem's sums of integers, and whose kernels form them.
#include "cuda/families/integer/integer_lines.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "core/problem/elements.hpp"
#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/rung_inside.hpp"
#include "cuda/families/direct/direct.hpp"
#include "cuda/families/image_tiles/image_tiles.hpp"
#include "cuda/families/integer/integer_finish.hpp"
#include "cuda/families/volume/volume.hpp"
#include "cuda/primitives/arguments.hpp"
#include "cuda/primitives/lines/lines.hpp"

namespace tapline::cuda {
namespace integer {
namespace {

// A type of sums: integers up to `most` are exact there, in any order of adding them up.
struct SumType {
    Dtype dtype;
    double most;
    const char* name;
};
constexpr std::array<SumType, 4> kSumTypes{{
    {kF32, 0x1p24, "f32"},
    {kI32, 0x1p31 - 1, "32 bits"},
    {kF64, 0x1p53, "f64"},
    {kI64, 0x1p63 - 1024, "64 bits"},
}};

// What rungs for real numbers do not do as it is promised of integers.
Refusal refuse_epilogue(const Problem& p) {
    if (core::is_half(p.output_dtype)) { return "gives no f16 and bf16"; }
    if (p.dtype == kBoolean || p.output_dtype == kBoolean) { return "takes no bool"; }
    if (p.scale != 1 || p.bias != 0) { return "scales no sums"; }
    if (p.has_clamp && !is_integer(p.output_dtype)) { return "limits no sums that become floating-point numbers"; }
    if (!knows_taps(p)) { return "the taps' magnitudes are not known"; }
    if (may_overflow(p, likely_bound(p))) { return "an output might not fit its type, and nothing would tell"; }
    return {};
}

// A limit as it is applied: an integer that the type of sums has; infinite ones are beyond all sums.
bool set_limit(double& limit, const SumType& type) {
    if (std::isinf(limit)) {
        limit = std::copysign(type.most, limit);
        return true;
    }
    limit = std::nearbyint(limit);
    return std::abs(limit) <= type.most;
}

// The problem with sums of such a type; whether they are exact.
bool ask(Problem& p, const SumType& type) {
    const Bound bound = likely_bound(p);
    const bool low_bits = keeps_low_bits(p) && is_integer(type.dtype) && stored_bytes(p.output_dtype) <= stored_bytes(type.dtype);
    if (bound.largest > type.most && !low_bits) { return false; }
    if (p.has_clamp && !(set_limit(p.clamp.low, type) && set_limit(p.clamp.high, type))) { return false; }
    p.taps_dtype = p.sum_dtype = type.dtype;
    p.trivial_epilogue = !p.has_clamp;
    p.whole_sums = true;
    p.narrow_taps = false;
    return true;
}

// A rung, and in which type it forms the sums.
struct RealWay {
    const Rung* rung = nullptr;
    Problem problem;
    const char* sums = "";
    double seconds = std::numeric_limits<double>::infinity();
};
RealWay best_way(const Problem& p, std::span<const Rung* const> rungs, const cuda_abi::Device& device) {
    RealWay best;
    for (const SumType& type : kSumTypes) {
        Problem asked = p;
        if (!ask(asked, type)) { continue; }
        for (const Rung* const rung : rungs) {
            if (p.has_outer() && rung->info().takes_outer == 0) { continue; }
            if (!rung->supports(asked, device).empty()) { continue; }
            const double seconds = rung->estimate_seconds(asked, device);
            if (seconds < best.seconds) { best = {rung, asked, type.name, seconds}; }
        }
    }
    return best;
}

template <class H>
void put_taps(std::byte* to, const std::int64_t* from, std::int64_t count) {
    for (std::int64_t t = 0; t < count; ++t) {
        const H tap = static_cast<H>(from[t]);
        std::memcpy(to + static_cast<std::size_t>(t) * sizeof tap, &tap, sizeof tap);
    }
}

// Rows of taps of the type of sums, as engines lay them out.
void lay_out_taps(Prepared& inner, const void* taps) {
    const Problem& p = inner.problem;
    const std::int64_t count = p.taps();
    inner.taps_pitch_bytes = (count * stored_bytes(p.taps_dtype) + 15) / 16 * 16;
    inner.host_taps.resize(static_cast<std::size_t>(inner.taps_pitch_bytes * p.filters + kTapSlackBytes));
    for (std::int64_t f = 0; f < p.filters; ++f) {
        std::byte* const to = inner.host_taps.data() + f * inner.taps_pitch_bytes;
        const auto* const from = static_cast<const std::int64_t*>(taps) + f * count;
        switch (p.taps_dtype) {
            case kF32:
                put_taps<float>(to, from, count);
                break;
            case kF64:
                put_taps<double>(to, from, count);
                break;
            case kI32:
                put_taps<std::int32_t>(to, from, count);
                break;
            default:
                put_taps<std::int64_t>(to, from, count);
                break;
        }
    }
}

class ByRealRungs final : public Rung {
public:
    static constexpr Head head(const char* number, const char* name) {
        return {number, name, "", R"(
Idea: where the taps say that no sum passes 2^24 (2^53), or that only 32 (64) bits of it matter, the kernels for real numbers form it
exactly in f32 (f64) or in integers of so many bits
Changed: integers have every layout that real numbers have: tiles, short rows, interleaved channels, gaps
Requires: known taps; outputs that fit their type, or wrap, or are limited; no bool; samples, taps and boundaries as the rung takes
them that does it
Limited by: what limits that rung
)"};
    }

    ByRealRungs(const Head& head, int rank, std::vector<const Rung*> rungs)
        : Rung(head, {.source = "src/cuda/families/integer/integer_lines.cpp",
                      .rank = rank,
                      .takes_pieces = 1,
                      .takes_outer = rank == 1 ? 1 : 0}),
          rungs_(std::move(rungs)) {}

    [[nodiscard]] bool takes_exact() const override { return true; }
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (Refusal refused = refuse_epilogue(p); !refused.empty()) { return refused; }
        return best_way(p, rungs_, device).rung == nullptr ? "no rung takes them in a type that holds the sums" : "";
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        return best_way(p, rungs_, device).seconds;
    }
    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override {
        const Prepared& inner = prepared.chosen_as<ChosenWay>().inner;
        return inner.rung->granularity(inner);
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenWay>();
        return std::string("sums in ") + chosen.sums + " " + by_inside(chosen.inner);
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenWay>();
        RealWay way = best_way(prepared.problem, rungs_, prepared.device);
        chosen->sums = way.sums;
        Prepared& inner = chosen->inner;
        inner.rung = way.rung;
        inner.device = prepared.device;
        inner.context = prepared.context;
        inner.problem = way.problem;
        lay_out_taps(inner, prepared.given.taps);
        inner.given.taps = inner.host_taps.data();
        inner.chosen = inner.rung->load(inner);
        chosen->tables = inner.host_taps;
        chosen->tables.resize((chosen->tables.size() + kAlignment - 1) / kAlignment * kAlignment);
        chosen->inner_tables_at = static_cast<std::int64_t>(chosen->tables.size());
        const std::vector<std::byte> own = inner.rung->tables(inner);
        chosen->tables.insert(chosen->tables.end(), own.begin(), own.end());
        inner.given = {};
        return chosen;
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const Prepared& inner = prepared.chosen_as<ChosenWay>().inner;
        return inner.rung->workspace_bytes(inner);
    }
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        return prepared.chosen_as<ChosenWay>().tables;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenWay>();
        const OnDevice inner{on_device.tables, static_cast<const std::byte*>(on_device.tables) + chosen.inner_tables_at};
        chosen.inner.rung->launch(chosen.inner, job, inner, workspace, stream);
    }

private:
    static constexpr std::size_t kAlignment = 256;
    struct ChosenWay final : Chosen {
        Prepared inner;
        const char* sums = "";
        std::vector<std::byte> tables;  // the taps, then those of the rung inside
        std::int64_t inner_tables_at = 0;
    };

    std::vector<const Rung*> rungs_;
};

}  // namespace
}  // namespace integer

const Rung& integer_lines() {
    static const integer::ByRealRungs rung(integer::ByRealRungs::head("45", "integer_lines"), 1,
                                           {&direct_tiles(), &direct_rows(), &direct_across(), &direct_columns()});
    return rung;
}
const Rung& integer_tiles() {
    static const integer::ByRealRungs rung(integer::ByRealRungs::head("14", "integer_tiles"), 2, {&image_tiles()});
    return rung;
}

const Rung& integer_planes() {
    static const integer::ByRealRungs rung(integer::ByRealRungs::head("48", "integer_planes"), 3, {&volume_direct()});
    return rung;
}

}  // namespace tapline::cuda
