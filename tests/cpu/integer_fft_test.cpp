// Integers by transforms: limbs add up, rounding is exact at the bound, and nothing tells the result from direct sums.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <new>

#include "core/choice/engine.hpp"
#include "core/plan/host_memory.hpp"
#include "core/problem/elements.hpp"
#include "cpu/integer/integer_epilogue.hpp"
#include "cpu/integer/integer_fft.hpp"
#include "cpu/integer/integer_levels.hpp"
#include "support/buffers.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using core::Int128;
using core::Int192;
using core::Uint128;
using cpu::Limb;
using cpu::Limbs;
using test::Random;

std::int64_t draw_between(std::int64_t low, std::int64_t high, Random& random) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

// ---- Limbs ----

// Of magnitude up to 2^bits, the extremes among them.
std::int64_t draw_value(int bits, bool is_unsigned, Random& random) {
    const std::uint64_t top = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    const auto kind = random() % 8;
    const std::uint64_t magnitude = kind == 0 ? top : kind == 1 ? 0 : kind == 2 ? top & 0x8080808080808080U : random() & top;
    if (is_unsigned || random() % 2 == 0) { return static_cast<std::int64_t>(magnitude); }
    return static_cast<std::int64_t>(~magnitude);  // -magnitude - 1
}

void check_limbs(const Limbs& limbs, int bits, bool is_unsigned, Random& random) {
    const cpu::LimbKernels& kernels = cpu::limb_kernels(cpu::current_target());
    const std::int64_t count = draw_between(1, 37, random);
    std::vector<std::int64_t> x(static_cast<std::size_t>(count));
    for (auto& value : x) { value = draw_value(bits, is_unsigned, random); }
    std::vector<Uint128> sums(x.size(), 0);
    std::vector<double> limb(x.size());
    for (int j = 0; j < limbs.count; ++j) {
        const Limb part(limbs, j, is_unsigned);
        const double squares = kernels.split(limb.data(), x.data(), count, part);
        double expected = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const std::int64_t value = part.of(x[i]);
            ASSERT_EQ(limb[i], static_cast<double>(value)) << "limb " << j << " of " << x[i];
            ASSERT_LE(std::abs(static_cast<double>(value)), limbs.largest(j, bits)) << "limb " << j << " of " << x[i];
            sums[i] += static_cast<Uint128>(static_cast<Int128>(value)) << (limbs.base * j);
            expected += limb[i] * limb[i];
        }
        ASSERT_NEAR(squares, expected, 1e-9 * expected);
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
        const Uint128 whole =
            is_unsigned ? Uint128{static_cast<std::uint64_t>(x[i])} : static_cast<Uint128>(static_cast<Int128>(x[i]));
        const Uint128 mask = limbs.modulo_bits == 0 ? ~Uint128{0} : (Uint128{1} << limbs.modulo_bits) - 1;
        ASSERT_TRUE((sums[i] & mask) == (whole & mask)) << x[i];
    }
}

TEST(IntegerFft, LimbsAddUpOnEveryTarget) {
    for (const std::string& target : cpu_targets()) {
        force_cpu_target(target);
        Random random(1);
        for (int i = 0; i < 20000 && !::testing::Test::HasFatalFailure(); ++i) {
            const bool is_unsigned = random() % 2 == 0;
            const int bits = static_cast<int>(draw_between(0, is_unsigned ? 64 : 63, random));
            const int modulo_bits = random() % 3 == 0 ? (random() % 2 == 0 ? 32 : 64) : 0;
            Limbs taps{static_cast<int>(draw_between(2, 24, random)), static_cast<int>(draw_between(1, 4, random)), 0};
            for (const cpu::LimbWay& way : cpu::LimbWays(taps, bits, modulo_bits)) {
                if (way.samples.largest(way.samples.count - 1, bits) > std::ldexp(1.0, 50)) { continue; }  // never exact
                SCOPED_TRACE(::testing::Message() << target << ": base " << way.samples.base << ", " << way.samples.count
                                                  << " limbs, modulo " << way.samples.modulo_bits << ", bits " << bits);
                check_limbs(way.samples, bits, is_unsigned, random);
            }
        }
        force_cpu_target("");
    }
}

TEST(IntegerFft, SamplesOfEveryTypeAreConverted) {
    for (const std::string& target : cpu_targets()) {
        force_cpu_target(target);
        const cpu::LimbKernels& kernels = cpu::limb_kernels(cpu::current_target());
        const auto check = [&]<class T>(T) {
            Random random(2);
            std::vector<T> x(29);
            for (T& value : x) { value = static_cast<T>(random() >> (sizeof(T) == 8 ? 14 : 0)); }
            x[0] = std::numeric_limits<T>::min() / (sizeof(T) == 8 ? 1 << 14 : 1);
            x[1] = std::numeric_limits<T>::max() / (sizeof(T) == 8 ? 1 << 14 : 1);
            std::vector<double> values(x.size());
            std::vector<std::int64_t> wide(x.size());
            double squares = 0;
            const double got = kernels.of<T>().convert(values.data(), x.data(), 29);
            kernels.of<T>().widen(wide.data(), x.data(), 29);
            for (std::size_t i = 0; i < x.size(); ++i) {
                EXPECT_EQ(values[i], static_cast<double>(x[i]));
                EXPECT_EQ(wide[i], static_cast<std::int64_t>(x[i]));
                EXPECT_EQ(kernels.of<T>().or_bits(x.data() + i, 1), cpu::or_bits(x.data() + i, 1));
                squares += values[i] * values[i];
            }
            EXPECT_NEAR(got, squares, 1e-9 * squares);
            std::vector<T> sparse(200);
            for (std::size_t i = 0; i < sparse.size(); ++i) {
                sparse[i] = static_cast<T>(-static_cast<T>(1 << (i % 7)));
                EXPECT_EQ(kernels.of<T>().or_bits(sparse.data(), 200), cpu::or_bits(sparse.data(), 200));
                sparse[i] = 0;
            }
        };
        check(std::int8_t{}), check(std::int16_t{}), check(std::int32_t{}), check(std::int64_t{});
        check(std::uint8_t{}), check(std::uint16_t{}), check(std::uint32_t{}), check(std::uint64_t{});
        force_cpu_target("");
    }
}

TEST(IntegerFft, RoundedOutputsAreJoined) {
    Random random(3);
    for (int i = 0; i < 2000; ++i) {
        const int outputs = static_cast<int>(draw_between(1, 14, random)), base = static_cast<int>(draw_between(1, 16, random));
        if (base * (outputs - 1) > 140) { continue; }  // beyond 192 bits
        const bool fits_64 = base * (outputs - 1) < 64;
        constexpr std::int64_t kCount = 131;
        std::vector<std::vector<double>> values(static_cast<std::size_t>(outputs), std::vector<double>(kCount));
        std::vector<const double*> rows;
        std::vector<Int192> expected(kCount);
        for (int w = 0; w < outputs; ++w) {
            for (std::size_t at = 0; at < kCount; ++at) {
                const std::int64_t value = draw_between(-(std::int64_t{1} << 45), std::int64_t{1} << 45, random);
                const double off = static_cast<double>(draw_between(-44, 44, random)) / 100;
                values[static_cast<std::size_t>(w)][at] = static_cast<double>(value) + off;
                Int192 term(static_cast<Int128>(value));
                for (int bit = 0; bit < base * w; ++bit) { term.add(Int192(term)); }
                expected[at].add(term);
            }
            rows.push_back(values[static_cast<std::size_t>(w)].data());
        }
        std::int64_t narrow[kCount];
        Int128 wide[kCount];
        Int192 widest[kCount];
        const cpu::LimbKernels& kernels = cpu::limb_kernels(cpu::current_target());
        if (fits_64) { kernels.join64(narrow, rows.data(), outputs, base, kCount); }
        cpu::join128(kernels, wide, rows.data(), outputs, base, kCount);
        cpu::join192(kernels, widest, rows.data(), outputs, base, kCount);
        for (std::size_t at = 0; at < kCount; ++at) {
            if (fits_64) { ASSERT_EQ(narrow[at], static_cast<std::int64_t>(expected[at].low)); }
            ASSERT_TRUE(static_cast<Uint128>(wide[at]) == expected[at].low);
            ASSERT_TRUE(widest[at] == expected[at]) << outputs << " outputs of " << base;
        }
    }
}

// ---- Whole convolutions ----

enum class Values { random, least, greatest, alternating, balanced, sparse, small };
constexpr Values kValues[] = {Values::random,   Values::least,  Values::greatest, Values::alternating,
                              Values::balanced, Values::sparse, Values::small};

// One value of a type, as its low bits. `balanced`: all limbs of 16 bits are as large as they get.
std::uint64_t value_of(Values values, Dtype dtype, int bits, std::int64_t i, Random& random) {
    return core::with_integer_type(dtype, [&]<class T>(T) -> std::uint64_t {
        const int width = std::is_same_v<T, bool> ? 1 : static_cast<int>(8 * sizeof(T));
        const int shift = std::max(width - bits, 0);
        const auto low = static_cast<std::uint64_t>(static_cast<std::int64_t>(std::numeric_limits<T>::min()) >> shift);
        const auto high = static_cast<std::uint64_t>(std::numeric_limits<T>::max()) >> shift;
        switch (values) {
            case Values::least:
                return low;
            case Values::greatest:
                return high;
            case Values::alternating:
                return i % 2 == 0 ? low : high;
            case Values::balanced:
                return 0x8000800080008000U & high;
            case Values::sparse:
                return random() % 50 == 0 ? high : 0;
            case Values::small:
                return random() % 2;
            default:
                return std::is_signed_v<T> ? static_cast<std::uint64_t>(static_cast<std::int64_t>(random()) >> (64 - width + shift))
                                           : random() >> (64 - width + shift);
        }
    });
}

std::vector<std::byte> values_of(Values values, Dtype dtype, int bits, std::int64_t count, Random& random) {
    std::vector<std::byte> data(static_cast<std::size_t>(count) * size_of(dtype));
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t value = value_of(values, dtype, bits, i, random);
        std::memcpy(data.data() + static_cast<std::size_t>(i) * size_of(dtype), &value, size_of(dtype));
    }
    return data;
}

struct Outcome {
    std::vector<std::byte> out;
    std::string error;
    friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome outcome_of(const Problem& p, const void* in, const std::function<void(void*, const void*)>& execute) {
    Outcome outcome{std::vector<std::byte>(static_cast<std::size_t>(output_extent(p)) * size_of(output_dtype(p)), std::byte{0x5a}),
                    ""};
    try {
        execute(outcome.out.data(), in);
    } catch (const Error& error) {
        outcome.error = error.what();
        outcome.out.clear();  // part of it is written
    }
    return outcome;
}

Outcome of_algorithm(const Problem& p, const void* in, const void* taps, const std::string& algorithm, int threads) {
    const Plan plan = make_plan(p, taps, {.device = "cpu", .algorithm = algorithm, .threads = threads});
    return outcome_of(p, in, [&](void* out, const void* from) { plan.execute(out, from); });
}

// What a plan makes of a problem, with another shape if asked for, and without the direct sums that a unit may take.
using Reshape = std::function<void(cpu::IntegerFftShape&, const core::Resolved&, const core::TapsFacts&)>;
Outcome of_transforms(const Problem& p, const void* in, const void* taps, int threads, const Reshape& reshape = {}) {
    const core::Resolved resolved = core::resolve(p);
    std::vector<std::int64_t> ordered(static_cast<std::size_t>(resolved.filters * resolved.x.k));
    const auto* const given = static_cast<const std::int64_t*>(taps);
    for (std::int64_t f = 0; f < resolved.filters; ++f) {
        for (std::int64_t t = 0; t < resolved.x.k; ++t) {
            const std::int64_t from = p.operation == Operation::convolution ? resolved.x.k - 1 - t : t;
            ordered[static_cast<std::size_t>(f * resolved.x.k + t)] = given[f * resolved.x.k + from];
        }
    }
    const core::Request request{.threads = threads, .facts = core::facts_of(resolved, ordered.data())};
    const int modulo_bits = cpu::IntegerEpilogue(resolved).modulo_bits();
    auto shape = cpu::integer_fft_shape(resolved, request.facts, modulo_bits, threads);
    EXPECT_NE(shape.blocks.log2_size, 0);
    if (reshape) { reshape(shape, resolved, request.facts); }
    const auto executable = cpu::prepare_integer_fft(resolved, ordered.data(), request, shape, false);
    const core::AlignedBytes workspace = core::allocate(executable->workspace_bytes() + 1, "workspace");
    return outcome_of(p, in, [&](void* out, const void* from) {
        executable->execute(core::whole_output(resolved, out), core::whole_input(resolved, from),
                            {workspace.get(), executable->workspace_bytes()}, nullptr);
    });
}

std::string describe(const Problem& p) {
    return std::string(to_string(p.dtype)) + " -> " + to_string(output_dtype(p)) + ", n " + std::to_string(p.length) + ", k " +
           std::to_string(p.taps) + ", batch " + std::to_string(p.batch) + ", " + to_string(p.mode) + ", " + to_string(p.boundary) +
           (p.overflow == Overflow::wrap ? ", wrap" : "");
}

constexpr Dtype kIntegers[] = {Dtype::boolean, Dtype::i8,  Dtype::i16, Dtype::i32, Dtype::i64,
                               Dtype::u8,      Dtype::u16, Dtype::u32, Dtype::u64};

Problem draw_problem(std::int64_t longest, std::int64_t most_taps, Random& random) {
    constexpr Dtype kOutputs[] = {Dtype::i64, Dtype::i64, Dtype::u64, Dtype::i32,
                                  Dtype::i16, Dtype::f64, Dtype::f32, Dtype::boolean};
    Problem p;
    p.dtype = kIntegers[random() % std::size(kIntegers)];
    p.length = draw_between(1, longest, random);
    p.taps = draw_between(1, most_taps, random);
    p.batch = random() % 3 == 0 ? draw_between(2, 5, random) : 1;
    p.filters = random() % 2 == 0 ? Filters::shared : Filters::per_row;
    p.mode = static_cast<Mode>(random() % 5);
    if (p.mode == Mode::valid && p.taps > p.length) { std::swap(p.taps, p.length); }
    p.boundary = static_cast<Boundary>(random() % 6);
    p.constant = p.dtype == Dtype::boolean ? 1.0 : 7.0;
    p.operation = static_cast<Operation>(random() % 2);
    p.output_dtype = kOutputs[random() % std::size(kOutputs)];
    if (random() % 2 == 0) { p.overflow = Overflow::wrap; }
    if (random() % 6 == 0) { p.scale = 0.37, p.bias = -3; }
    if (random() % 6 == 0) { p.clamp = Clamp{-100, 1e9}; }
    return p;
}

void check_like_direct(const Problem& p, Random& random, int threads) {
    SCOPED_TRACE(describe(p));
    const Dtype tap_type = taps_dtype(p);
    const int bits = static_cast<int>(draw_between(1, 8 * static_cast<std::int64_t>(size_of(p.dtype)), random));
    const int tap_bits = static_cast<int>(draw_between(1, 64, random));
    const auto in = values_of(kValues[random() % std::size(kValues)], p.dtype, bits, input_extent(p), random);
    const auto taps = values_of(kValues[random() % std::size(kValues)], tap_type, tap_bits, taps_extent(p), random);
    const Outcome expected = of_algorithm(p, in.data(), taps.data(), "integer", threads);
    ASSERT_TRUE(of_transforms(p, in.data(), taps.data(), threads) == expected) << expected.error;
    ASSERT_TRUE(of_algorithm(p, in.data(), taps.data(), "integer_fft", threads) == expected) << expected.error;
}

TEST(IntegerFft, EqualsDirectSumsInEveryTypeModeAndBoundary) {
    Random random(4);
    for (int i = 0; i < 1500; ++i) {
        check_like_direct(draw_problem(900, 400, random), random, 1 + i % 3);
        if (HasFailure()) { FAIL() << "case " << i << " of seed 4"; }
    }
}

TEST(IntegerFft, EqualsDirectSumsOfLongFilters) {
    Random random(5);
    for (int i = 0; i < 30; ++i) {
        check_like_direct(draw_problem(20000, 6000, random), random, 1 + i % 3);
        if (HasFailure()) { FAIL() << "case " << i << " of seed 5"; }
    }
}

TEST(IntegerFft, EveryTargetEqualsDirectSums) {
    for (const std::string& target : cpu_targets()) {
        force_cpu_target(target);
        Random random(6);
        for (int i = 0; i < 60; ++i) { check_like_direct(draw_problem(2000, 500, random), random, 1); }
        force_cpu_target("");
        if (HasFailure()) { FAIL() << target; }
    }
}

// Parts of 256 taps, whose limbs have 9 bits, with spectra that are kept and such that are not.
TEST(IntegerFft, FiltersInPartsEqualDirectSums) {
    Random random(11);
    for (int i = 0; i < 300; ++i) {
        const Problem p = draw_problem(random() % 2 == 0 ? 200 : 6000, 3000, random);
        SCOPED_TRACE(::testing::Message() << "case " << i << " of seed 11: " << describe(p));
        const auto reshape = [&](cpu::IntegerFftShape& shape, const core::Resolved& resolved, const core::TapsFacts& facts) {
            const int bits = facts.largest_tap <= 1 ? 1 : static_cast<int>(std::ceil(std::log2(facts.largest_tap))) + 1;
            const int modulo_bits = cpu::IntegerEpilogue(resolved).modulo_bits();
            const int kept = modulo_bits == 0 ? bits : std::min(bits, modulo_bits);
            shape = {};
            shape.blocks = {.log2_size = 9, .block = 256, .partitions = (resolved.x.k + 255) / 256};
            shape.blocks.group = draw_between(1, 3, random);
            shape.blocks.slots = static_cast<int>(draw_between(1, 2, random));
            shape.taps = kept <= 9 ? Limbs{} : Limbs{9, (kept + 8) / 9, bits > kept ? kept : 0};
            shape.most_outputs = 20;
            shape.keeps_spectra = random() % 2 == 0 || shape.blocks.partitions == 1;
        };
        const int bits = static_cast<int>(draw_between(1, 8 * static_cast<std::int64_t>(size_of(p.dtype)), random));
        const auto in = values_of(kValues[random() % std::size(kValues)], p.dtype, bits, input_extent(p), random);
        const auto taps = values_of(kValues[random() % std::size(kValues)], taps_dtype(p),
                                    static_cast<int>(draw_between(1, 64, random)), taps_extent(p), random);
        const Outcome expected = of_algorithm(p, in.data(), taps.data(), "integer", 2);
        ASSERT_TRUE(of_transforms(p, in.data(), taps.data(), 2, reshape) == expected) << expected.error;
    }
}

// Every pair of types' extremes, where nothing averages out: outputs are as large and errors as much as they get.
TEST(IntegerFft, ExtremesOfEveryTypeAreExact) {
    Random random(7);
    for (const Dtype dtype : kIntegers) {
        for (const Values x : kValues) {
            for (const Values h : kValues) {
                Problem p{.length = 3000, .taps = 700, .mode = Mode::full, .dtype = dtype};
                SCOPED_TRACE(describe(p) + ", samples " + std::to_string(static_cast<int>(x)) + ", taps " +
                             std::to_string(static_cast<int>(h)));
                const auto in = values_of(x, dtype, 64, p.length, random);
                for (const int tap_bits : {8, 16, 32, 64}) {
                    const auto taps = values_of(h, taps_dtype(p), tap_bits, p.taps, random);
                    p.overflow = tap_bits == 32 ? Overflow::error : Overflow::wrap;
                    p.output_dtype = tap_bits == 16 ? Dtype::f64 : Dtype::i64;
                    const Outcome expected = of_algorithm(p, in.data(), taps.data(), "integer", 1);
                    ASSERT_TRUE(of_transforms(p, in.data(), taps.data(), 1) == expected) << expected.error;
                }
            }
        }
    }
}

// One limb at the very bound: constant samples and taps, whose spectra are one large value beside nothing.
TEST(IntegerFft, ProductsAtTheBoundAreExact) {
    Random random(8);
    for (const std::int64_t k : {64, 1000, 5000}) {
        for (int bits = 12; bits <= 20; ++bits) {
            Problem p{.length = 4 * k, .taps = k, .mode = Mode::same, .dtype = Dtype::i32};
            for (const Values x : {Values::least, Values::alternating, Values::random}) {
                const auto in = values_of(x, p.dtype, bits, p.length, random);
                const auto taps = values_of(x, taps_dtype(p), 64 - 2 * bits + 20, p.taps, random);
                p.overflow = Overflow::wrap;
                ASSERT_TRUE(of_transforms(p, in.data(), taps.data(), 1) == of_algorithm(p, in.data(), taps.data(), "integer", 1))
                    << k << " taps, " << bits << " bits, " << static_cast<int>(x);
            }
        }
    }
}

// A proof in numbers: what a plan calls exact is so by the bound, also for samples that are as bad as there may be.
TEST(IntegerFft, APlansLimbsAreExactForAnySamples) {
    Random random(9);
    for (int i = 0; i < 300; ++i) {
        const Problem p = draw_problem(100000, 20000, random);
        const core::Resolved resolved = core::resolve(p);
        const auto taps =
            values_of(Values::random, taps_dtype(p), static_cast<int>(draw_between(1, 64, random)), taps_extent(p), random);
        const core::TapsFacts facts = core::facts_of(resolved, taps.data());
        const int modulo_bits = cpu::IntegerEpilogue(resolved).modulo_bits();
        const auto shape = cpu::integer_fft_shape(resolved, facts, modulo_bits, 1);
        ASSERT_NE(shape.blocks.log2_size, 0) << describe(p);
        for (int bits = 0; bits <= cpu::bits_of(cpu::or_bits_of(p.dtype)); ++bits) {
            bool exact = false;
            for (const cpu::LimbWay& way : cpu::LimbWays(shape.taps, bits, modulo_bits)) {
                if (std::max(way.products.outputs, way.products.samples) > shape.most_outputs) { continue; }
                std::array<double, cpu::LimbWays::kMostLimbs> samples{}, taps_norms{};
                const double window =
                    std::sqrt(std::ldexp(2.0, shape.blocks.log2_size) * static_cast<double>(shape.blocks.partitions));
                for (int j = 0; j < way.samples.count; ++j) {
                    samples[static_cast<std::size_t>(j)] = way.samples.largest(j, bits) * window;
                }
                const double root = std::sqrt(static_cast<double>(p.taps));
                for (int l = 0; l < shape.taps.count; ++l) {
                    const bool is_rest = l + 1 == shape.taps.count && shape.taps.modulo_bits == 0;
                    taps_norms[static_cast<std::size_t>(l)] =
                        !is_rest ? shape.taps.largest(l, 0) * root
                                 : std::ldexp(facts.norm_of_taps, -shape.taps.base * l) + (l > 0 ? root : 0);
                }
                exact = exact || cpu::error_of(way, samples.data(), taps_norms.data(), shape.blocks.log2_size,
                                               shape.blocks.partitions) <= 0.5;
            }
            ASSERT_TRUE(exact) << describe(p) << ", " << bits << " bits";
        }
    }
}

// Spectra of all limbs and parts of this filter would take more than the plan may have.
TEST(IntegerFft, AMillionTapsOfEveryWidthFitTheMemory) {
    Random random(12);
    for (const int tap_bits : {4, 16, 40, 63}) {
        for (const Dtype dtype : {Dtype::u8, Dtype::i16, Dtype::i64}) {
            const Problem p{.length = 1 << 20, .taps = 1 << 20, .mode = Mode::same, .dtype = dtype, .overflow = Overflow::wrap};
            const auto taps = values_of(Values::random, Dtype::i64, tap_bits, p.taps, random);
            const core::Resolved resolved = core::resolve(p);
            const core::TapsFacts facts = core::facts_of(resolved, taps.data());
            for (const int threads : {1, 8}) {
                const auto shape = cpu::integer_fft_shape(resolved, facts, 64, threads);
                ASSERT_NE(shape.blocks.log2_size, 0) << to_string(dtype) << ", " << tap_bits << " bits";
                EXPECT_TRUE(shape.keeps_spectra || shape.blocks.partitions > 1);
            }
        }
    }
}

TEST(IntegerFft, IsChosenForLongFilters) {
    std::vector<std::int64_t> taps(2047);
    for (std::size_t i = 0; i < taps.size(); ++i) { taps[i] = static_cast<std::int64_t>(i * 2654435761U % 60013U) - 30000; }
    for (const Dtype dtype : {Dtype::i16, Dtype::i32, Dtype::i64, Dtype::u8}) {
        const Problem p{.length = 1 << 18, .taps = 2047, .mode = Mode::same, .dtype = dtype};
        EXPECT_EQ(make_plan(p, taps, {.device = "cpu", .threads = 1}).algorithm(), "integer_fft") << to_string(dtype);
    }
    const Problem few{.length = 1 << 18, .taps = 15, .mode = Mode::same, .dtype = Dtype::i16};
    EXPECT_NE(make_plan(few, taps, {.device = "cpu", .threads = 1}).algorithm(), "integer_fft");
}

TEST(IntegerFft, TheFirstOverflowIsTheOneOfDirectSums) {
    Random random(10);
    for (int i = 0; i < 20; ++i) {
        const Problem p{
            .length = 60000, .taps = 600, .batch = 3, .mode = Mode::same, .dtype = Dtype::i32, .output_dtype = Dtype::i32};
        auto in = values_of(Values::small, p.dtype, 32, p.length * p.batch, random);
        const auto taps = values_of(Values::small, Dtype::i64, 64, p.taps, random);
        for (int spikes = 0; spikes < 3; ++spikes) {
            const std::int32_t large = std::numeric_limits<std::int32_t>::max() - static_cast<std::int32_t>(random() % 200);
            std::memcpy(in.data() + random() % (180000) * sizeof large, &large, sizeof large);
        }
        const Outcome expected = of_algorithm(p, in.data(), taps.data(), "integer", 1);
        for (const int threads : {1, 2, 4}) {
            ASSERT_TRUE(of_algorithm(p, in.data(), taps.data(), "integer_fft", threads) == expected);
            ASSERT_TRUE(of_transforms(p, in.data(), taps.data(), threads) == expected);
        }
    }
}

}  // namespace
}  // namespace tapline
