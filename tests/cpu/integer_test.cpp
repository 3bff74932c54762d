// Integer convolution is exact: every type, extreme values, every accumulator, every target.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/problem/int_range.hpp"
#include "reference/reference.hpp"
#include "support/buffers.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using core::Int128;
using core::Int192;
using core::Uint128;
using test::GuardedBuffer;
using test::Random;

constexpr Dtype kIntegers[] = {Dtype::boolean, Dtype::i8,  Dtype::i16, Dtype::i32, Dtype::i64,
                               Dtype::u8,      Dtype::u16, Dtype::u32, Dtype::u64};

int bits_of(Dtype dtype) { return dtype == Dtype::boolean ? 1 : 8 * static_cast<int>(size_of(dtype)); }
bool is_signed(Dtype dtype) { return dtype >= Dtype::i8 && dtype <= Dtype::i64; }
Int128 least(Dtype dtype) { return is_signed(dtype) ? -(Int128{1} << (bits_of(dtype) - 1)) : 0; }
Int128 greatest(Dtype dtype) { return (Int128{1} << (bits_of(dtype) - (is_signed(dtype) ? 1 : 0))) - 1; }

std::int64_t draw_between(std::int64_t low, std::int64_t high, Random& random) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

// Bytes of a buffer. The limit is for g++ 12, which otherwise imagines sizes near 2^64 and warns.
std::size_t bytes_of(std::int64_t elements, Dtype dtype) {
    return std::min(static_cast<std::size_t>(elements) * size_of(dtype), std::size_t{1} << 40);
}

// Little endian, as all supported machines are.
void put(void* data, Dtype dtype, std::int64_t i, Int128 value) {
    std::memcpy(static_cast<unsigned char*>(data) + static_cast<std::size_t>(i) * size_of(dtype), &value, size_of(dtype));
}

// Values of at most `bits` bits and a sign, often the extremes.
void fill(void* data, Dtype dtype, std::int64_t count, int bits, Random& random) {
    const Int128 low = std::max(least(dtype), -(Int128{1} << bits));
    const Int128 high = std::min(greatest(dtype), (Int128{1} << bits) - 1);
    for (std::int64_t i = 0; i < count; ++i) {
        const auto kind = random() % 8;
        const auto width = static_cast<Uint128>(high - low) + 1;
        put(data, dtype, i, kind == 0 ? low : (kind == 1 ? high : low + static_cast<Int128>(random() % width)));
    }
}

struct Case {
    Problem problem;
    int sample_bits = 0;
    int tap_bits = 0;
};

template <class T, std::size_t kCount>
T one_of(const T (&values)[kCount], Random& random) {
    return values[random() % kCount];
}

Case draw_case(Random& random, std::int64_t longest) {
    Case c;
    Problem& p = c.problem;
    p.dtype = one_of(kIntegers, random);
    p.length = draw_between(1, longest, random);
    p.taps = draw_between(1, longest, random);
    p.batch = draw_between(1, 3, random);
    p.filters = random() % 2 == 0 ? Filters::shared : Filters::per_row;
    p.mode = static_cast<Mode>(random() % 5);
    if (p.mode == Mode::valid && p.taps > p.length) { std::swap(p.taps, p.length); }
    p.boundary = static_cast<Boundary>(random() % 6);
    p.operation = static_cast<Operation>(random() % 2);
    if (random() % 4 == 0) { p.origin = draw_between(-5, p.taps + 5, random); }
    const int widest = bits_of(p.dtype);
    c.sample_bits = static_cast<int>(draw_between(1, widest, random));
    // The reference sums in 127 bits.
    c.tap_bits = static_cast<int>(draw_between(1, std::min<std::int64_t>(64, 126 - 13 - widest), random));
    if (random() % 4 == 0) { c.tap_bits = std::min(c.tap_bits, 15); }
    p.constant = static_cast<double>(std::min<std::int64_t>(static_cast<std::int64_t>(greatest(p.dtype) >> 2) + 1, 1 << 20));
    if (random() % 2 == 0) { p.output_dtype = one_of(kIntegers, random); }
    if (random() % 3 != 0) { p.overflow = Overflow::wrap; }
    p.input_sample_stride = draw_between(1, 2, random);
    p.output_sample_stride = draw_between(1, 2, random);
    return c;
}

std::string describe(const Problem& p) {
    return std::string(to_string(p.dtype)) + " -> " + to_string(output_dtype(p)) + ", n " + std::to_string(p.length) + ", k " +
           std::to_string(p.taps) + ", batch " + std::to_string(p.batch) + ", " + to_string(p.mode) + ", " + to_string(p.boundary) +
           ", " + to_string(p.operation) + ", origin " + std::to_string(origin(p)) + (p.overflow == Overflow::wrap ? ", wrap" : "");
}

// Runs the plan and compares all outputs with the exact sums: equal bits, or an overflow at the first that does not fit.
void check(const Problem& p, const void* in, const void* taps, int threads) {
    SCOPED_TRACE(describe(p));
    const Dtype type = output_dtype(p);
    const std::vector<Int128> sums = reference::integer_sums(p, in, taps);
    const auto fits = [&](Int128 sum) { return type == Dtype::boolean || (sum >= least(type) && sum <= greatest(type)); };
    const auto first_bad = std::find_if_not(sums.begin(), sums.end(), fits);
    GuardedBuffer out(bytes_of(output_extent(p), type));
    const Plan plan = make_plan(p, taps, {.device = "cpu", .algorithm = "integer", .threads = threads});
    if (p.overflow == Overflow::error && first_bad != sums.end()) {
        try {
            plan.execute(out.data(), in);
            ADD_FAILURE() << "no overflow reported";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::argument);
            const std::int64_t index = first_bad - sums.begin();
            const std::string message = error.what();
            EXPECT_NE(message.find("output " + std::to_string(index % plan.output_length()) + " "), std::string::npos) << message;
            EXPECT_NE(message.find(" is " + core::to_string(Int192(*first_bad)) + ","), std::string::npos) << message;
        }
        EXPECT_TRUE(out.guards_intact());
        return;
    }
    plan.execute(out.data(), in);
    EXPECT_TRUE(out.guards_intact());
    const std::int64_t stride = p.output_sample_stride.value_or(1);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const Int128 expected = type == Dtype::boolean ? Int128{sums[i] != 0} : sums[i];
        const std::size_t at = i * static_cast<std::size_t>(stride) * size_of(type);
        // rows follow one another: the default row stride is output length * sample stride
        if (std::memcmp(out.data() + at, &expected, size_of(type)) != 0 && wrong++ == 0) { ADD_FAILURE() << "output " << i; }
    }
    EXPECT_EQ(wrong, 0);
}

void check_random(const Case& c, Random& random, int threads) {
    const Problem& p = c.problem;
    GuardedBuffer in(bytes_of(input_extent(p), p.dtype));
    GuardedBuffer taps(bytes_of(taps_extent(p), taps_dtype(p)));
    fill(in.data(), p.dtype, input_extent(p), c.sample_bits, random);
    fill(taps.data(), taps_dtype(p), taps_extent(p), c.tap_bits, random);
    check(p, in.data(), taps.data(), threads);
}

TEST(Integer, EqualsTheExactSumsInEveryTypeModeAndBoundary) {
    Random random(1);
    for (int i = 0; i < 4000; ++i) {
        check_random(draw_case(random, 70), random, 1 + i % 3);
        if (HasFailure()) { FAIL() << "case " << i << " of seed 1"; }
    }
}

// More than one tile of outputs and one pass of taps.
TEST(Integer, EqualsTheExactSumsAcrossTilesAndPasses) {
    Random random(2);
    for (int i = 0; i < 40; ++i) {
        Case c = draw_case(random, 100);
        c.problem.length += 2000 + static_cast<std::int64_t>(random() % 2500);
        c.problem.taps += i % 3 == 0 ? 2000 + static_cast<std::int64_t>(random() % 300) : 0;
        c.problem.batch = 1;
        if (c.problem.mode == Mode::valid && c.problem.taps > c.problem.length) { c.problem.mode = Mode::same; }
        check_random(c, random, 1 + i % 3);
        if (HasFailure()) { FAIL() << "case " << i << " of seed 2"; }
    }
}

TEST(Integer, ManyShortRowsShareATask) {
    Random random(5);
    for (const std::int64_t batch : {1, 2, 100, 777}) {
        Case c = draw_case(random, 9);
        c.problem.batch = batch;
        check_random(c, random, 3);
    }
}

TEST(Integer, EveryTargetGivesTheSameSums) {
    for (const std::string& target : cpu_targets()) {
        force_cpu_target(target);
        Random random(3);
        for (int i = 0; i < 300; ++i) { check_random(draw_case(random, 200), random, 1); }
        const Problem p{.length = 8, .taps = 3, .dtype = Dtype::i32};
        const Plan plan = make_plan(p, std::vector<std::int64_t>{1, 2, 3}, {.device = "cpu", .algorithm = "integer"});
        EXPECT_NE(plan.explain().find(target), std::string::npos) << plan.explain();
        force_cpu_target("");
        if (HasFailure()) { FAIL() << target; }
    }
}

template <class T, class Tap>
Plan plan_of(const std::vector<T>& x, const std::vector<Tap>& taps, Problem p = {}, int threads = 1) {
    p.length = static_cast<std::int64_t>(x.size());
    p.taps = static_cast<std::int64_t>(taps.size());
    p.dtype = dtype_of<T>;
    return make_plan(p, taps, {.device = "cpu", .algorithm = "integer", .threads = threads});
}

template <class Out, class T, class Tap>
std::vector<Out> run(const std::vector<T>& x, const std::vector<Tap>& taps, Problem p = {}) {
    p.output_dtype = dtype_of<Out>;
    const Plan plan = plan_of(x, taps, p);
    std::vector<Out> out(static_cast<std::size_t>(plan.output_length()), static_cast<Out>(77));
    plan.execute(out.data(), x.data());
    return out;
}

// The bytes of a bool output.
template <class T, class Tap>
std::vector<unsigned char> run_bool(const std::vector<T>& x, const std::vector<Tap>& taps, Problem p = {}) {
    p.output_dtype = Dtype::boolean;
    const Plan plan = plan_of(x, taps, p);
    std::vector<unsigned char> out(static_cast<std::size_t>(plan.output_length()), 77);
    plan.execute(out.data(), x.data());
    return out;
}

template <class T, class Tap>
std::string overflow_of(const std::vector<T>& x, const std::vector<Tap>& taps, const Problem& p = {}, int threads = 1) {
    const Plan plan = plan_of(x, taps, p, threads);
    std::vector<std::int64_t> out(static_cast<std::size_t>(plan.output_length()));
    try {
        plan.execute(out.data(), x.data());
    } catch (const Error& error) { return error.what(); }
    return "";
}

using Signed = std::vector<std::int64_t>;
using Unsigned = std::vector<std::uint64_t>;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();

TEST(Integer, SumsBeyond128BitsAreExact) {
    // Twice (2^63)^2 leaves 127 bits; with the other two products 2^64 remains.
    const Signed x(4, kMin);
    const Signed taps = {kMin, kMin, kMax, kMax};
    const Problem valid{.mode = Mode::valid};
    EXPECT_EQ(run<double>(x, taps, valid), std::vector<double>{std::ldexp(1.0, 64)});
    EXPECT_NE(overflow_of(x, taps, valid).find(" 18446744073709551616,"), std::string::npos);
    EXPECT_EQ(run<std::int64_t>(x, taps, {.mode = Mode::valid, .overflow = Overflow::wrap}), Signed{0});
    EXPECT_EQ(run<double>(Signed(3, kMin), Signed(3, kMin), valid), std::vector<double>{std::ldexp(3.0, 126)});
    EXPECT_EQ(run<std::int64_t>(Signed{kMin, kMin, kMin, 1}, Signed{kMin, 0, -kMax, kMax},
                                {.mode = Mode::valid, .operation = Operation::correlation, .clamp = Clamp{-5, 5}}),
              Signed{5});

    const Unsigned top(2, kTop);
    EXPECT_NE(overflow_of(top, top, valid).find(" 680564733841876926852962238568698216450,"), std::string::npos);
    EXPECT_EQ(run<float>(top, top, valid), std::vector<float>{std::numeric_limits<float>::infinity()});
    EXPECT_EQ(run<std::uint64_t>(top, Unsigned{1}), top);
    EXPECT_EQ(run_bool(top, top, valid), std::vector<unsigned char>{1});
}

TEST(Integer, ExtremesThatFitAreNotOverflows) {
    EXPECT_EQ(run<std::int64_t>(Signed{kMin, kMax}, Signed{1}), (Signed{kMin, kMax}));
    EXPECT_NE(overflow_of(Signed{0, kMin}, Signed{-1}).find("output 1 is 9223372036854775808,"), std::string::npos);
    EXPECT_EQ(run<std::uint64_t>(Signed{0, kMin}, Signed{-1}), (Unsigned{0, std::uint64_t{1} << 63}));
    EXPECT_NE(overflow_of(Unsigned{kTop}, Unsigned{1}).find("output 0 is 18446744073709551615, which i64 cannot hold"),
              std::string::npos);
}

TEST(Integer, TheFirstOverflowIsReportedWhateverTheThreads) {
    std::vector<std::int32_t> x(200000, 1);
    x[123456] = x[150000] = x[199999] = 2;
    const Problem p{.mode = Mode::same, .output_dtype = Dtype::i8};
    const Signed taps = {100};
    const std::string expected = overflow_of(x, taps, p, 1);
    EXPECT_NE(expected.find("output 123456 is 200, which i8 cannot hold"), std::string::npos) << expected;
    for (int i = 0; i < 5; ++i) { EXPECT_EQ(overflow_of(x, taps, p, 4), expected); }
}

TEST(Integer, ClampComesBeforeTheRange) {
    const std::vector<std::uint8_t> x = {0, 10, 200, 255};
    const Signed taps = {3};
    EXPECT_EQ((run<std::uint8_t>(x, taps, {.clamp = Clamp{20, 255}})), (std::vector<std::uint8_t>{20, 30, 255, 255}));
    EXPECT_EQ((run<std::int8_t>(x, taps, {.clamp = Clamp{-HUGE_VAL, 99.5}})), (std::vector<std::int8_t>{0, 30, 100, 100}));
    EXPECT_EQ((run<float>(x, taps, {.clamp = Clamp{0.25, 700.5}})), (std::vector<float>{0.25, 30, 600, 700.5}));
    EXPECT_EQ((run<double>(x, taps, {.clamp = Clamp{HUGE_VAL, HUGE_VAL}}))[2], HUGE_VAL);
    EXPECT_THROW((run<std::int64_t>(x, taps, {.clamp = Clamp{1e30, 1e31}})), Error);
    EXPECT_EQ((run<std::uint64_t>(x, taps, {.clamp = Clamp{std::ldexp(1.0, 63), HUGE_VAL}})), Unsigned(4, std::uint64_t{1} << 63));
}

TEST(Integer, ScaleAndBiasRoundHalfToEven) {
    const std::vector<std::int16_t> x = {1, 3, 5, -1, -3, 32767};
    EXPECT_EQ((run<std::int16_t>(x, Signed{1}, {.scale = 0.5})), (std::vector<std::int16_t>{0, 2, 2, 0, -2, 16384}));
    EXPECT_EQ((run<double>(x, Signed{1}, {.scale = 0.5, .bias = 1}))[0], 1.5);
    EXPECT_EQ(run_bool(x, Signed{1}, {.scale = 0.5}), (std::vector<unsigned char>{0, 1, 1, 0, 1, 1}));
    EXPECT_EQ((run<std::int64_t>(Signed{0, 0}, Signed{1}, {.scale = HUGE_VAL})), (Signed{0, 0}));
    EXPECT_THROW((run<std::int64_t>(Signed{0, 1}, Signed{1}, {.scale = HUGE_VAL})), Error);
    EXPECT_THROW((run<std::uint8_t>(Signed{255}, Signed{1}, {.bias = 1})), Error);
    EXPECT_EQ((run<std::uint8_t>(Signed{255, -1}, Signed{1}, {.bias = 2, .overflow = Overflow::wrap})),
              (std::vector<std::uint8_t>{1, 1}));
    EXPECT_EQ((run<std::uint64_t>(Signed{-1}, Signed{1}, {.bias = -2, .overflow = Overflow::wrap})), Unsigned{kTop - 2});
}

// Equal bytes, but that a floating 0 may have either sign.
bool same_outputs(Dtype type, const GuardedBuffer& a, const GuardedBuffer& b) {
    const std::size_t step = size_of(type);
    for (std::size_t at = 0; at < a.size(); at += step) {
        const auto is_zero = [&](const unsigned char* p) {
            return !is_integer(type) && (p[step - 1] & 0x7f) == 0 &&
                   std::all_of(p, p + step - 1, [](unsigned char byte) { return byte == 0; });
        };
        if (std::memcmp(a.data() + at, b.data() + at, step) != 0 && !(is_zero(a.data() + at) && is_zero(b.data() + at))) {
            return false;
        }
    }
    return true;
}

// Every output type, scales that make ties, limits between integers: the textbook's cast(clamp(scale * sum + bias)).
TEST(Integer, TheEpilogueIsTheTextbooks) {
    Random random(4);
    constexpr double kScales[] = {1, 1, 0.5, 1.0 / 6, -0.25, 1.0 / 3, 1e-3, 0.1, 7, 1e9, 1e12};
    constexpr double kBiases[] = {0, 0, 0.5, -2.25, 1e-9, 3, 1e10, -1e17};
    constexpr Dtype kOutputs[] = {Dtype::i8,  Dtype::i16, Dtype::i32, Dtype::i64, Dtype::u8,
                                  Dtype::u16, Dtype::u32, Dtype::f32, Dtype::f64};
    for (int i = 0; i < 3000; ++i) {
        Case c = draw_case(random, 40);
        Problem& p = c.problem;
        p.scale = one_of(kScales, random);
        p.bias = one_of(kBiases, random);
        const Dtype type = one_of(kOutputs, random);
        p.output_dtype = type;
        p.overflow = Overflow::error;
        const bool integer = is_integer(type);
        const double low = integer ? static_cast<double>(least(type)) : -HUGE_VAL;
        const double high = integer ? static_cast<double>(greatest(type) >> 1) : HUGE_VAL;
        p.clamp = i % 2 == 0 ? Clamp{low, high} : Clamp{std::max(low, -10.5), 77.5};
        GuardedBuffer in(bytes_of(input_extent(p), p.dtype));
        GuardedBuffer taps(bytes_of(taps_extent(p), taps_dtype(p)));
        fill(in.data(), p.dtype, input_extent(p), c.sample_bits, random);
        fill(taps.data(), taps_dtype(p), taps_extent(p), std::min(c.tap_bits, 60 - std::min(c.sample_bits, 55)), random);
        GuardedBuffer out(bytes_of(output_extent(p), type));
        GuardedBuffer expected(out.size());
        reference::convolve(p, expected.data(), in.data(), taps.data());
        make_plan(p, taps.data(), {.device = "cpu", .algorithm = "integer"}).execute(out.data(), in.data());
        ASSERT_TRUE(same_outputs(type, out, expected)) << "case " << i << " of seed 4: " << describe(p) << ", scale " << p.scale
                                                       << ", bias " << p.bias << ", clamp " << p.clamp->low << " " << p.clamp->high;
        ASSERT_TRUE(out.guards_intact());
    }
}

TEST(Integer, BooleansAreZeroOrOne) {
    GuardedBuffer in(5);
    const unsigned char bytes[5] = {0, 1, 255, 0, 2};  // any nonzero byte is true
    std::memcpy(in.data(), bytes, 5);
    const Problem p{.length = 5, .taps = 2, .mode = Mode::valid, .dtype = Dtype::boolean};
    const Plan plan = make_plan(p, Signed{1, 1}, {.device = "cpu"});
    EXPECT_EQ(plan.algorithm(), "integer");
    Signed out(4);
    plan.execute(out.data(), in.data());
    EXPECT_EQ(out, (Signed{1, 2, 1, 1}));
}

// 10 samples, a million taps: only those that meet the signal cost anything.
TEST(Integer, AFilterMuchLongerThanTheSignal) {
    Signed taps(1000000);
    for (std::size_t i = 0; i < taps.size(); ++i) { taps[i] = static_cast<std::int64_t>(i * 2654435761U % 1000003U); }
    const Signed x = {1, 0, -2, 0, 0, 3, 0, 0, 0, 1};
    const auto out = run<std::int64_t>(x, taps);
    for (std::size_t o = 9; o < taps.size(); o += 997) {
        EXPECT_EQ(out[o], taps[o] - 2 * taps[o - 2] + 3 * taps[o - 5] + taps[o - 9]) << o;
    }
}

TEST(Int192, RoundsOnceAndPrints) {
    const Int192 two_to_128(0, 1);
    EXPECT_EQ(core::to_string(two_to_128), "340282366920938463463374607431768211456");
    EXPECT_EQ(core::to_string(two_to_128.negated()), "-340282366920938463463374607431768211456");
    EXPECT_EQ(core::to_string(Int192()), "0");
    EXPECT_EQ(core::to_floating<double>(two_to_128), std::ldexp(1.0, 128));
    // 2^128 + 2^75 is halfway between two doubles and goes down to even; one more and it goes up.
    EXPECT_EQ(core::to_floating<double>(Int192(Uint128{1} << 75, 1)), std::ldexp(1.0, 128));
    EXPECT_EQ(core::to_floating<double>(Int192((Uint128{1} << 75) + 1, 1)), std::ldexp(1.0, 128) + std::ldexp(1.0, 76));
    EXPECT_EQ(core::to_floating<double>(Int192((Uint128{1} << 75) + 1, 1).negated()), -std::ldexp(1.0, 128) - std::ldexp(1.0, 76));
    for (const double value :
         {0.0, 1.0, -5.0, std::ldexp(1.0, 63), -std::ldexp(1.0, 63), std::ldexp(3.0, 100), -std::ldexp(7.0, 180)}) {
        EXPECT_EQ(core::to_floating<double>(core::to_int192(value)), value);
    }
    EXPECT_EQ(core::to_floating<double>(core::to_int192(1e300)), std::ldexp(1.0, 190));
    EXPECT_TRUE(core::fits<std::uint64_t>(core::to_int192(std::ldexp(1.0, 63))));
    EXPECT_FALSE(core::fits<std::int64_t>(core::to_int192(std::ldexp(1.0, 63))));
    EXPECT_TRUE(core::fits<std::int64_t>(core::to_int192(-std::ldexp(1.0, 63))));
}

}  // namespace
}  // namespace tapline
