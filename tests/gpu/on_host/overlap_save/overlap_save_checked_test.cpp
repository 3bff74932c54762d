// Checked segments (rung 43), their kernels run on the host: strict accuracy's own bound for every output, whatever lies beside it
// in its segment, and which outputs are summed directly.
#include <gtest/gtest.h>

#include "gpu/on_host/cuda_on_host.hpp"

#include "core/problem/arrange.hpp"
#include "cuda/families/overlap_save/checked/overlap_save_checked.hpp"
#include "gpu/on_host/rung_on_host.hpp"
#include "support/case.hpp"
#include "support/strict_signals.hpp"

namespace tapline::test {
namespace {

struct Result {
    Floats out;
    std::int64_t listed = 0;  // groups of outputs that were summed directly
    std::string plan;
};

// `warps`: of a segment, 0: the rung's choice. `split`: outputs of the first of two jobs, as a stream has them.
Result run(const Problem& p, const Floats& taps, const Floats& in, int warps = 0, std::int64_t split = 0) {
    const core::Resolved r = core::resolve(p);
    on_host::set_seed(static_cast<std::uint64_t>(p.length + p.taps));
    // So many multiprocessors that every block has one segment: the emulation's blocks wait as a whole.
    PreparedOnHost prepared(cuda::overlap_save_checked(), r, taps.data(), 100'000, 9, Accuracy::strict, 32 * warps);
    EXPECT_EQ(prepared.make(), "");
    Result result{Floats(static_cast<std::size_t>(output_extent(p) * reals_of(p.dtype)), NAN), 0,
                  prepared.get().rung->describe(prepared.get())};
    const std::int64_t granularity = prepared.get().rung->granularity(prepared.get());
    const std::int64_t first = split == 0 ? r.x.outputs : std::min(split / granularity * granularity, r.x.outputs);
    for (const auto [begin, count] : {std::pair{std::int64_t{0}, first}, std::pair{first, r.x.outputs - first}}) {
        if (count == 0) { continue; }
        prepared.launch(job_of(r, result.out.data(), in.data(), begin, count));
        unsigned listed = 0;
        std::memcpy(&listed, prepared.workspace(), sizeof listed);
        result.listed += listed;
    }
    return result;
}

// Fewer where a thread a fiber takes its time.
std::vector<Signal> signals_for(int warps) {
    std::vector<Signal> some;
    for (std::size_t i = 0; i<std::size(kSignals); i += warps> 2 ? 3 : 1) { some.push_back(kSignals[i]); }
    return some;
}

void expect_kept(const Problem& p, const Floats& taps, const Floats& in, const std::string& what, int warps = 0) {
    const Result result = run(p, taps, in, warps);
    EXPECT_EQ(misses(p, taps, in, result.out), 0)
        << what << ", " << p.taps << " taps, " << to_string(p.mode) << ", " << result.plan;
}

TEST(CheckedSegments, EverySignalKeepsItsBound) {
    for (const int warps : {1, 2, 4, 8}) {
        const Problem p{.length = 2500 * warps, .taps = 301 * warps, .mode = Mode::same};
        for (const Signal& signal : signals_for(warps)) {
            Floats in = random_samples(p.length, 1);
            signal.make(in);
            expect_kept(p, taps_for(signal, random_samples(p.taps, 2)), in, signal.name, warps);
            if (warps < 4) {
                expect_kept(p, taps_for(signal, high_pass(p.taps)), in, std::string(signal.name) + ", high pass", warps);
            }
        }
    }
}

TEST(CheckedSegments, ModesBoundariesAndLengths) {
    for (const std::int64_t n : {1, 100, 1500, 4099}) {
        for (const std::int64_t k : {1, 65, 129, 700, 1900}) {
            for (const Mode mode : {Mode::full, Mode::same, Mode::valid, Mode::causal, Mode::leading}) {
                if (mode == Mode::valid && k > n) { continue; }
                for (const Boundary boundary :
                     {Boundary::zero, Boundary::constant, Boundary::nearest, Boundary::reflect, Boundary::mirror, Boundary::wrap}) {
                    if (n * k > 100'000 && boundary != Boundary::zero && boundary != Boundary::wrap) { continue; }
                    const Problem p{.length = n, .taps = k, .mode = mode, .boundary = boundary, .constant = 2};
                    Floats in = random_samples(n, 3);
                    scale(in, 0, in.size() / 3, 1e9F);
                    expect_kept(p, random_samples(k, 4), in, to_string(boundary));
                }
            }
        }
    }
}

TEST(CheckedSegments, ComplexSignals) {
    for (const int warps : {1, 2, 4}) {
        for (const bool complex_taps : {false, true}) {
            const Problem p{.length = 1300 * warps,
                            .taps = 257 * warps,
                            .mode = Mode::same,
                            .dtype = Dtype::complex64,
                            .complex_taps = complex_taps};
            for (const Signal& signal : signals_for(warps)) {
                for (const int only : {-1, 0, 1}) {  // one component is all zero: whatever the size
                    if (only >= 0 && warps > 1) { continue; }
                    Floats in = random_samples(2 * p.length, 5);
                    signal.make(in);
                    for (std::size_t i = 0; i < in.size() && only >= 0; ++i) {
                        in[i] = static_cast<int>(i % 2) == only ? 0 : in[i];
                    }
                    const Floats taps = taps_for(signal, random_samples(complex_taps ? 2 * p.taps : p.taps, 6));
                    expect_kept(p, taps, in, std::string(signal.name) + (complex_taps ? ", complex taps" : ", real taps"), warps);
                }
            }
        }
    }
}

TEST(CheckedSegments, RowsAndFiltersOfTheirOwn) {
    for_rows_beside_quiet_ones(2000,
                               [](const Problem& p, const Floats& taps, const Floats& in) { expect_kept(p, taps, in, "rows"); });
}

// Ordinary outputs are the transform's; where a quiet passage, silence or a NaN lies beside others, just the groups that it reaches
// are listed; sums that cancel are seen to keep their bound by their largest terms.
TEST(CheckedSegments, WhatIsSummedDirectly) {
    const Problem p{.length = 12'000, .taps = 301, .mode = Mode::valid};
    const Floats taps = random_samples(p.taps, 9);
    const Floats noise = random_samples(p.length, 10);
    EXPECT_EQ(run(p, taps, noise).listed, 0);

    Floats loud = noise;
    loud[6000] = 1e16F;  // its segments' other outputs are lost in its roundings
    const std::int64_t beside = run(p, taps, loud).listed;
    EXPECT_GT(beside, 20);
    EXPECT_LT(beside, 2 * 2048 / 32);
    EXPECT_EQ(misses(p, taps, loud, run(p, taps, loud).out), 0);

    Floats spoilt = noise;
    spoilt[6000] = NAN;
    EXPECT_GT(run(p, taps, spoilt).listed, 301 / 32);
    EXPECT_LE(run(p, taps, spoilt).listed, 2 * 2048 / 32);

    const Floats constant(static_cast<std::size_t>(p.length), 0.7F);
    EXPECT_EQ(run(p, high_pass(p.taps), constant).listed, 0);
    EXPECT_EQ(misses(p, high_pass(p.taps), constant, run(p, high_pass(p.taps), constant).out, 0.01), 0);

    Floats nan_tap = taps;
    nan_tap[5] = NAN;
    const Result all = run(p, nan_tap, noise);
    EXPECT_EQ(all.listed, (p.length - p.taps + 1 + 31) / 32);
    EXPECT_TRUE(std::all_of(all.out.begin(), all.out.end(), [](float x) { return std::isnan(x); }));
}

// A tap that is not finite meets no sample outside the signal.
TEST(CheckedSegments, AbsentTermsStayAbsent) {
    const Problem p{.length = 3000, .taps = 201, .mode = Mode::same};
    Floats taps = random_samples(p.taps, 11);
    taps[0] = INFINITY;
    taps[200] = NAN;
    expect_kept(p, taps, random_samples(p.length, 12), "infinite taps");
}

TEST(CheckedSegments, BitsDoNotDependOnWhereAJobBegins) {
    const Problem p{.length = 9000, .taps = 301, .mode = Mode::same};
    const Floats taps = random_samples(p.taps, 13);
    for (const Signal& signal : kSignals) {
        Floats in = random_samples(p.length, 14);
        signal.make(in);
        const Floats one = run(p, taps, in).out;
        const Floats two = run(p, taps, in, 0, 5000).out;
        EXPECT_EQ(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)), 0) << signal.name;
    }
}

TEST(CheckedSegments, Epilogue) {
    Problem p{.length = 5000, .taps = 301, .mode = Mode::same};
    const Floats taps = random_samples(p.taps, 15);
    Floats in = random_samples(p.length, 16);
    scale(in, 2000, 2200, 1e12F);
    const Floats plain = run(p, taps, in).out;
    p.scale = 0.5;
    p.bias = 3;
    p.clamp = {-20, 20};
    const Floats finished = run(p, taps, in).out;
    for (std::size_t o = 0; o < plain.size(); ++o) {
        const double wanted = std::clamp(0.5 * static_cast<double>(plain[o]) + 3, -20.0, 20.0);
        EXPECT_NEAR(finished[o], wanted, 4e-6) << o;
    }
}

// Where samples lie apart, backwards or across memory bits are the same; some are summed directly.
TEST(CheckedSegments, SamplesApart) {
    for (const int warps : {1, 2, 4}) {
        for (const Dtype type : {Dtype::f32, Dtype::complex64}) {
            Problem p{.length = 2300 * warps, .taps = 301 * warps, .batch = 3, .mode = Mode::same, .boundary = Boundary::mirror};
            p.dtype = type;
            const std::int64_t parts = reals_of(type);
            const Floats taps = random_samples(p.taps, 18);
            Floats in = random_samples(p.batch * p.length * parts, 19);
            scale(in, in.size() / 2, in.size() / 2 + 30, 1e15F);
            const Result plain = run(p, taps, in, warps);
            EXPECT_GT(plain.listed, 0);
            for (const std::int64_t step : {2, -1, -3, 3}) {
                if (warps == 4 && step != -3) { continue; }
                Problem apart = p;
                apart.input_sample_stride = step;
                apart.input_row_stride = step == 3 ? 1 : p.length * std::abs(step) + 1;
                const std::int64_t start = input_start(apart);
                Floats from(static_cast<std::size_t>(input_extent(apart) * parts), NAN);
                for (std::int64_t at = 0; at < p.batch * p.length * parts; ++at) {
                    const std::int64_t sample = at / parts;
                    const std::int64_t place = start + sample / p.length * *apart.input_row_stride + sample % p.length * step;
                    from[static_cast<std::size_t>(place * parts + at % parts)] = in[static_cast<std::size_t>(at)];
                }
                Floats out(plain.out.size(), NAN);
                const core::Resolved r = core::resolve(apart);
                PreparedOnHost prepared(cuda::overlap_save_checked(), r, taps.data(), 100'000, 9, Accuracy::strict, 32 * warps);
                ASSERT_EQ(prepared.make(), "");
                prepared.launch(job_of(r, out.data(), from.data() + start * parts, 0, r.x.outputs));
                EXPECT_EQ(std::memcmp(out.data(), plain.out.data(), out.size() * sizeof(float)), 0)
                    << warps << " warps, steps of " << step;
            }
        }
    }
}

// The inequalities: an output just large enough keeps the bound with all of the proved error, one a little smaller is not said to.
TEST(CheckedSegments, TheBoundIsTight) {
    const Floats taps = random_samples(511, 17);
    const auto bound = cuda::overlap_save::bound_of(reinterpret_cast<const std::byte*>(taps.data()), 511, Dtype::f32, 4);
    double squares = 0;
    for (const float tap : taps) { squares += static_cast<double>(tap) * tap; }
    const double error = (60 * 12 + 256) * 0x1p-53 * std::sqrt(squares);
    const double allowed = 513 * 0x1p-23;
    EXPECT_LE(error + 0x1p-24 * bound.least_output, allowed * (bound.least_output - error));
    EXPECT_GT(error + 0x1p-24 * 0.999 * bound.least_output, allowed * (0.999 * bound.least_output - error));
    EXPECT_LE(error + 0x1p-24 * (bound.least_sum + error), allowed * bound.least_sum);
    EXPECT_GT(error + 0x1p-24 * (0.999 * bound.least_sum + error), allowed * 0.999 * bound.least_sum);
}

}  // namespace
}  // namespace tapline::test
