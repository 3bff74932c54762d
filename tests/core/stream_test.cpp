// A stream gives the bits of the whole signal, however it is cut; its state survives saving; bad calls leave it as it was.
#include "tapline/stream.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>

#include "core/choice/engine.hpp"
#include "core/stream/stream_buffers.hpp"
#include "core/stream/stream_schedule.hpp"
#include "core/stream/stream_state.hpp"
#include "support/buffers.hpp"
#include "support/errors.hpp"
#include "support/sanitized.hpp"
#include "tapline/info.hpp"

namespace tapline {
namespace {

using test::expect_error;
using Bytes = std::vector<std::byte>;
using test::Random;

constexpr std::int64_t kWhole = std::numeric_limits<std::int64_t>::max();

std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

template <class T>
void put(Bytes& bytes, std::int64_t index, T value) {
    std::memcpy(bytes.data() + static_cast<std::size_t>(index) * sizeof(T), &value, sizeof(T));
}

Bytes random_elements(Random& random, Dtype dtype, std::int64_t count) {
    Bytes bytes(static_cast<std::size_t>(count) * size_of(dtype));
    test::fill_random(bytes.data(), dtype, count, random);
    return bytes;
}

// A few NaNs and infinities among floating samples.
void spoil(Bytes& bytes, Dtype dtype, Random& random) {
    const Dtype real = real_part_of(dtype);
    const auto count = static_cast<std::int64_t>(bytes.size() / size_of(real));
    for (std::int64_t i = 0; i < 3; ++i) {
        const std::int64_t at = draw(random, 0, count - 1);
        const double value =
            draw(random, 0, 1) == 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
        if (real == Dtype::f32) { put(bytes, at, static_cast<float>(value)); }
        if (real == Dtype::f64) { put(bytes, at, value); }
    }
}

template <class T>
bool all_nan(const std::byte* a, const std::byte* b) {
    T x = 0;
    T y = 0;
    std::memcpy(&x, a, sizeof(T));
    std::memcpy(&y, b, sizeof(T));
    return std::isnan(x) && std::isnan(y);
}

// The same bits; a NaN's sign and payload are nobody's promise.
bool same_bits(const Bytes& a, const Bytes& b, Dtype dtype) {
    if (a == b) { return true; }
    const Dtype real = real_part_of(dtype);
    if (a.size() != b.size() || is_integer(dtype)) { return false; }
    const std::size_t size = size_of(real);
    for (std::size_t i = 0; i < a.size(); i += size) {
        const bool nan = real == Dtype::f32 ? all_nan<float>(&a[i], &b[i]) : all_nan<double>(&a[i], &b[i]);
        if (!nan && std::memcmp(&a[i], &b[i], size) != 0) { return false; }
    }
    return true;
}

struct Case {
    Problem problem;  ///< with the signal's length
    PlanOptions options;
    Bytes signal;  ///< frames
    Bytes taps;

    [[nodiscard]] std::size_t in_frame() const { return size_of(problem.dtype) * static_cast<std::size_t>(problem.batch); }
    [[nodiscard]] std::size_t out_frame() const { return size_of(output_dtype(problem)) * static_cast<std::size_t>(problem.batch); }
    [[nodiscard]] const std::byte* frame(std::int64_t index) const {
        return signal.data() + static_cast<std::size_t>(index) * in_frame();
    }
};

std::string describe(const Case& c) {
    const Problem& p = c.problem;
    std::ostringstream text;
    text << c.options.algorithm << " " << to_string(p.dtype) << (p.complex_taps ? " complex taps" : "") << " n=" << p.length
         << " k=" << p.taps << " batch=" << p.batch << " " << to_string(p.filters) << " " << to_string(p.mode) << " "
         << to_string(p.boundary) << " origin=" << origin(p) << " threads=" << c.options.threads;
    return text.str();
}

Case draw_case(Random& random, std::int64_t most_samples, std::int64_t most_taps, bool integers) {
    Case c;
    Problem& p = c.problem;
    p.length = draw(random, 1, draw(random, 1, most_samples));
    p.taps = draw(random, 1, draw(random, 1, most_taps));
    p.batch = draw(random, 0, 1) == 0 ? 1 : draw(random, 1, 5);
    p.filters = static_cast<Filters>(draw(random, 0, 1));
    p.mode = static_cast<Mode>(draw(random, 0, 4));
    p.boundary = static_cast<Boundary>(draw(random, 0, 5));
    p.operation = static_cast<Operation>(draw(random, 0, 1));
    p.constant = 3;
    if (draw(random, 0, 2) == 0) { p.origin = draw(random, -2 * p.taps - 5, 3 * p.taps + 5); }
    if (p.mode == Mode::valid) { p.taps = std::min(p.taps, p.length); }
    constexpr Dtype kFloats[] = {Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::complex128};
    constexpr Dtype kIntegers[] = {Dtype::boolean, Dtype::i8,  Dtype::i16, Dtype::i32, Dtype::i64,
                                   Dtype::u8,      Dtype::u16, Dtype::u32, Dtype::u64};
    p.dtype = integers ? kIntegers[draw(random, 0, 8)] : kFloats[draw(random, 0, 3)];
    if (p.dtype == Dtype::boolean) { p.constant = 1; }
    p.complex_taps = is_complex(p.dtype) && draw(random, 0, 1) == 1;
    if (!is_complex(p.dtype) && draw(random, 0, 3) == 0) {
        p.scale = 0.5;
        p.bias = 1;
        p.output_dtype = draw(random, 0, 1) == 0 ? Dtype::i16 : Dtype::f64;
        p.overflow = Overflow::wrap;
    }
    c.options.threads = static_cast<int>(draw(random, 1, 2));
    c.signal = random_elements(random, p.dtype, p.length * p.batch);
    if (draw(random, 0, 4) == 0) { spoil(c.signal, p.dtype, random); }
    c.taps = random_elements(random, taps_dtype(p), p.taps * (p.filters == Filters::per_row ? p.batch : 1));
    return c;
}

// Those that take at most a second or so.
std::vector<std::string> supported_algorithms(const Problem& problem) {
    std::vector<std::string> names;
    for (const AlgorithmInfo& info : algorithms(problem)) {
        if (info.supported && info.predicted_seconds < 0.2) { names.push_back(info.name); }
    }
    return names;
}

Plan whole_plan(const Case& c) {
    Problem problem = c.problem;
    problem.input_row_stride = problem.output_row_stride = 1;
    problem.input_sample_stride = problem.output_sample_stride = problem.batch;
    return make_plan(problem, c.taps.data(), c.options);
}

Bytes whole_signal(const Case& c) {
    const Plan plan = whole_plan(c);
    Bytes out(static_cast<std::size_t>(plan.output_length()) * c.out_frame(), std::byte{0xff});  // NaN
    plan.execute(static_cast<void*>(out.data()), c.signal.data());
    return out;
}

struct Cut {
    std::int64_t most_frames = kWhole;  ///< of one push
    std::int64_t samples_per_run = 0;
    bool known_length = true;
    bool save_and_restore = false;
    std::int64_t tail_frames = -1;  ///< -1: as few as allowed
};

Stream stream_of(const Case& c, const Cut& cut) {
    StreamOptions options{.plan = c.options, .samples_per_run = cut.samples_per_run};
    if (c.problem.boundary == Boundary::wrap) {
        const std::int64_t needed = std::clamp<std::int64_t>(origin(c.problem), 0, c.problem.length);
        options.tail_frames = std::clamp(cut.tail_frames, needed, c.problem.length);
        options.tail = c.frame(c.problem.length - options.tail_frames);
    }
    Problem problem = c.problem;
    if (!cut.known_length) { problem.length = kUnknownLength; }
    return Stream(problem, c.taps.data(), options);
}

void take_into(Stream& stream, Bytes& out, std::size_t frame_bytes, std::int64_t most) {
    const std::int64_t frames = std::min(stream.available(), most);
    const std::size_t old = out.size();
    out.resize(old + static_cast<std::size_t>(frames) * frame_bytes, std::byte{0xff});
    ASSERT_EQ(stream.take(out.data() + old, frames), frames);
}

Bytes streamed(const Case& c, const Cut& cut, Random& random) {
    Stream stream = stream_of(c, cut);
    Bytes out;
    for (std::int64_t at = 0; at < c.problem.length;) {
        const std::int64_t left = c.problem.length - at;
        const std::int64_t frames = cut.most_frames == kWhole ? left : std::min(left, draw(random, 0, cut.most_frames));
        // A copy of exactly this size, so that reading past its end is seen by the sanitizers.
        const Bytes chunk(c.frame(at), c.frame(at) + static_cast<std::size_t>(frames) * c.in_frame());
        stream.push(chunk.data(), frames);
        at += frames;
        if (draw(random, 0, 2) > 0) { take_into(stream, out, c.out_frame(), draw(random, 0, 1) == 0 ? kWhole : 3); }
        if (cut.save_and_restore && draw(random, 0, 3) == 0) {
            const Bytes state = stream.save();
            Stream other = stream_of(c, cut);
            other.restore(state);
            EXPECT_EQ(other.save(), state);
            stream = std::move(other);
        }
    }
    stream.flush();
    EXPECT_EQ(stream.frames_in(), c.problem.length);
    take_into(stream, out, c.out_frame(), kWhole);
    EXPECT_EQ(stream.frames_out(), output_length(c.problem));
    return out;
}

bool same_blocks(const Case& c, const Cut& cut) {
    const Plan whole = whole_plan(c);
    const Stream stream = stream_of(c, cut);
    return whole.algorithm() == stream.plan().algorithm() &&
           whole.state().executable->describe() == stream.plan().state().executable->describe();
}

bool is_one_transform(const Case& c) {
    return c.problem.taps >= 4096 && whole_plan(c).state().executable->describe().starts_with("as an image");
}

// Streams of one case in several cuts; all must give the same bits, and those of a plan with the same blocks.
void check_case(Case c, Random& random) {
    std::vector<std::string> names = supported_algorithms(c.problem);
    names.emplace_back();
    for (const std::string& name : names) {
        c.options.algorithm = name;
        SCOPED_TRACE(describe(c));
        const Bytes expected = whole_signal(c);
        for (const bool known : {true, false}) {
            if (!known && c.problem.mode == Mode::valid && c.problem.taps > c.problem.length) { continue; }
            Bytes reference;
            if (same_blocks(c, {.known_length = known})) {
                reference = expected;
            } else {
                // But for signals about as long as their filter, which a plan holds as a whole (docs/streaming.md).
                ASSERT_TRUE(!known || is_one_transform(c)) << "a known length must lead to the plan's choice";
                reference = streamed(c, {.known_length = known}, random);
            }
            const Cut cut{.most_frames = draw(random, 0, 1) == 0 ? kWhole : draw(random, 1, 2 * c.problem.length),
                          .samples_per_run = draw(random, 0, 2) == 0 ? 0 : draw(random, 1, 3 * c.problem.length),
                          .known_length = known,
                          .save_and_restore = draw(random, 0, 1) == 0,
                          .tail_frames = draw(random, 0, c.problem.length)};
            SCOPED_TRACE("known length " + std::to_string(known) + ", pushes up to " + std::to_string(cut.most_frames) +
                         ", samples a run " + std::to_string(cut.samples_per_run) + ", saved " +
                         std::to_string(cut.save_and_restore));
            ASSERT_TRUE(same_bits(streamed(c, cut, random), reference, output_dtype(c.problem)));
        }
    }
}

// TAPLINE_STREAM_CASES multiplies the number of cases.
void check_cases(std::uint64_t seed, int count, std::int64_t most_samples, std::int64_t most_taps, bool integers) {
    const char* factor = std::getenv("TAPLINE_STREAM_CASES");
    for (int i = 0; i < count * (factor == nullptr ? 1 : std::max(std::atoi(factor), 1)); ++i) {
        Random random(seed + static_cast<std::uint64_t>(i));
        SCOPED_TRACE("seed " + std::to_string(seed + static_cast<std::uint64_t>(i)));
        check_case(draw_case(random, most_samples, most_taps, integers), random);
        if (testing::Test::HasFailure()) { return; }
    }
}

TEST(Stream, GivesTheBitsOfTheWholeSignal) { check_cases(1000, test::kSanitized ? 500 : 1500, 150, 40, false); }
TEST(Stream, GivesTheBitsOfTheWholeSignalForIntegers) { check_cases(100000, 500, 150, 40, true); }
TEST(Stream, GivesTheBitsOfTheWholeSignalOverManyBlocks) { check_cases(200000, 25, 60000, 500, false); }
TEST(Stream, GivesTheBitsOfTheWholeSignalWithLongFilters) { check_cases(300000, test::kSanitized ? 4 : 15, 30000, 20000, false); }

Case plain_case(std::int64_t n, std::int64_t k, Mode mode = Mode::same, Boundary boundary = Boundary::zero) {
    Random random(7);
    Case c;
    c.problem = {.length = n, .taps = k, .mode = mode, .boundary = boundary};
    c.options.threads = 1;
    c.signal = random_elements(random, Dtype::f32, n);
    c.taps = random_elements(random, Dtype::f32, k);
    return c;
}

TEST(Stream, OutputsComeAfterItsLatencyAtTheLatest) {
    for (const std::int64_t origin : {-20, 0, 4, 8, 30}) {
        for (const bool known : {true, false}) {
            Case c = plain_case(3000, 9, Mode::same);
            c.problem.origin = origin;
            c.options.algorithm = "textbook";
            Stream stream = stream_of(c, {.samples_per_run = 10, .known_length = known});
            const std::int64_t latency = stream.latency_frames();
            std::int64_t least_lag = kWhole;
            std::int64_t most_lag = 0;
            for (std::int64_t i = 0; i < 2900; ++i) {
                // Output o's last input is frame o - origin + 8; `next` is the first output that is not there yet.
                const std::int64_t next = stream.available();
                if (next > 100) {
                    const std::int64_t lag = stream.frames_in() - (next - origin + 9);
                    most_lag = std::max(most_lag, lag + 1);
                    least_lag = std::min(least_lag, lag + 1);
                }
                stream.push(c.frame(i), 1);
            }
            EXPECT_LE(most_lag, latency) << "origin " << origin << " known " << known;
            EXPECT_GE(most_lag, latency) << "origin " << origin << " known " << known;
        }
    }
}

TEST(Stream, OneSampleARunMeansOutputsAtOnce) {
    Case c = plain_case(100, 5, Mode::causal);
    c.options.algorithm = "textbook";
    Stream stream = stream_of(c, {.samples_per_run = 1, .known_length = false});
    EXPECT_EQ(stream.latency_frames(), 0);
    for (std::int64_t i = 0; i < 100; ++i) {
        stream.push(c.frame(i), 1);
        ASSERT_EQ(stream.available(), i + 1);
    }
}

TEST(Stream, TheChoiceWithAKnownLengthIsThePlans) {
    for (const std::int64_t k : {3, 100, 3000}) {
        const Case c = plain_case(50000, k);
        EXPECT_TRUE(same_blocks(c, {}));
    }
}

TEST(Stream, BadCallsLeaveItUnchanged) {
    const Case c = plain_case(50, 5);
    Stream stream = stream_of(c, {});
    stream.push(c.frame(0), 20);
    const Bytes before = stream.save();
    expect_error(ErrorCode::argument, "frames: -1", [&] { stream.push(c.frame(0), -1); });
    expect_error(ErrorCode::argument, "null pointer", [&] { stream.push(nullptr, 1); });
    expect_error(ErrorCode::argument, "after 20 of 50", [&] { stream.push(c.frame(0), 31); });
    expect_error(ErrorCode::argument, "20 of 50", [&] { stream.flush(); });
    expect_error(ErrorCode::argument, "max_frames: -2", [&] { stream.take(nullptr, -2); });
    EXPECT_EQ(stream.save(), before);
    stream.push(nullptr, 0);
    stream.push(c.frame(20), 30);
    stream.flush();
    stream.flush();
    expect_error(ErrorCode::argument, "after flush", [&] { stream.push(c.frame(0), 1); });
    expect_error(ErrorCode::argument, "null pointer", [&] { stream.take(nullptr, 1); });
    Bytes out;
    take_into(stream, out, 4, kWhole);
    EXPECT_TRUE(out == whole_signal(c));
}

TEST(Stream, RefusesSignalsThatHaveNoOutput) {
    const Case c = plain_case(50, 5, Mode::valid);
    Stream stream = stream_of(c, {.known_length = false});
    expect_error(ErrorCode::argument, "at least 1", [&] { stream.flush(); });
    stream.push(c.frame(0), 4);
    expect_error(ErrorCode::argument, "5 taps", [&] { stream.flush(); });
    stream.push(c.frame(4), 1);
    stream.flush();
    EXPECT_EQ(stream.available(), 1);
}

TEST(Stream, ChecksItsOptions) {
    const Case c = plain_case(50, 5);
    expect_error(ErrorCode::argument, "samples_per_run", [&] { stream_of(c, {.samples_per_run = -1}); });
    expect_error(ErrorCode::argument, "taps", [&] { Stream(c.problem, nullptr); });
    const StreamOptions needless{.plan = {}, .tail = c.frame(0), .tail_frames = 3};
    expect_error(ErrorCode::argument, "tail", [&] { Stream(c.problem, c.taps.data(), needless); });
    Problem problem = c.problem;
    problem.length = 0;
    expect_error(ErrorCode::argument, "length", [&] { Stream(problem, c.taps.data()); });
}

TEST(Stream, WrapNeedsItsTail) {
    const Case c = plain_case(50, 9, Mode::same, Boundary::wrap);
    const auto make = [&](std::int64_t length, std::int64_t tail_frames, const void* tail) {
        Problem problem = c.problem;
        problem.length = length;
        return Stream(problem, c.taps.data(), {.plan = c.options, .tail = tail, .tail_frames = tail_frames});
    };
    expect_error(ErrorCode::argument, "tail: missing", [&] { make(kUnknownLength, 0, nullptr); });
    expect_error(ErrorCode::argument, "tail: a null pointer", [&] { make(50, 4, nullptr); });
    expect_error(ErrorCode::argument, "tail_frames: -1", [&] { make(50, -1, c.frame(0)); });
    expect_error(ErrorCode::argument, "tail_frames: 3", [&] { make(50, 3, c.frame(47)); });
    expect_error(ErrorCode::argument, "tail_frames: 4", [&] { make(2, 4, c.frame(46)); });
    // Shorter than the origin: then it is the whole signal, whose length is known by that.
    Stream whole = make(kUnknownLength, 3, c.frame(0));
    expect_error(ErrorCode::argument, "whole signal", [&] { whole.push(c.frame(0), 4); });
    // A signal shorter than its tail.
    Stream longer = make(kUnknownLength, 30, c.frame(20));
    longer.push(c.frame(0), 29);
    expect_error(ErrorCode::argument, "tail", [&] { longer.flush(); });
}

TEST(Stream, AnOverflowIsFinalUntilRestored) {
    Case c = plain_case(40, 3);
    c.problem.dtype = Dtype::i64;
    c.signal = Bytes(40 * 8);
    c.taps = Bytes(3 * 8);
    for (int i = 0; i < 3; ++i) { put(c.taps, i, std::int64_t{4}); }
    for (int i = 0; i < 40; ++i) { put(c.signal, i, i < 20 ? std::int64_t{1} : std::numeric_limits<std::int64_t>::max()); }
    if (supported_algorithms(c.problem).empty()) { GTEST_SKIP() << "no algorithm for integers in this build"; }
    Stream stream = stream_of(c, {.samples_per_run = 1, .known_length = false});
    stream.push(c.frame(0), 20);
    const Bytes good = stream.save();
    const std::int64_t ready = stream.available();
    expect_error(ErrorCode::argument, "", [&] { stream.push(c.frame(20), 20); });
    expect_error(ErrorCode::argument, "failed before", [&] { stream.push(c.frame(0), 1); });
    expect_error(ErrorCode::argument, "failed before", [&] { stream.flush(); });
    expect_error(ErrorCode::argument, "failed before", [&] { (void)stream.save(); });
    EXPECT_GE(stream.available(), ready);
    stream.restore(good);
    EXPECT_EQ(stream.frames_in(), 20);
    stream.push(c.frame(0), 20);
    stream.flush();
    EXPECT_EQ(stream.available(), 40);
}

TEST(Stream, StatesOfOtherStreamsAreRefused) {
    const Case c = plain_case(500, 20);
    Stream stream = stream_of(c, {.samples_per_run = 64});
    stream.push(c.frame(0), 300);
    const Bytes state = stream.save();
    Case other = c;
    other.problem.mode = Mode::causal;
    expect_error(ErrorCode::argument, "problem", [&] { stream_of(other, {}).restore(state); });
    other = c;
    put(other.taps, 3, 17.0F);
    expect_error(ErrorCode::argument, "filter", [&] { stream_of(other, {}).restore(state); });
    expect_error(ErrorCode::argument, "problem", [&] { stream_of(c, {.known_length = false}).restore(state); });
    const auto names = supported_algorithms(c.problem);
    for (const std::string& name : names) {
        if (name == stream.plan().algorithm()) { continue; }
        other = c;
        other.options.algorithm = name;
        expect_error(ErrorCode::argument, "algorithm", [&] { stream_of(other, {}).restore(state); });
    }
    // Another size of runs changes only when outputs come.
    Stream same = stream_of(c, {.samples_per_run = 7});
    same.restore(state);
    EXPECT_EQ(same.save(), state);
}

// Writes the checksum that belongs to the bytes, so that a mutation reaches the checks behind it.
void seal(Bytes& state) {
    const std::uint64_t hash = core::hash_bytes(state.data(), state.size() - 8);
    for (std::size_t i = 0; i < 8; ++i) { state[state.size() - 8 + i] = static_cast<std::byte>(hash >> (8 * i) & 0xff); }
}

void mutate(Bytes& state, Random& random) {
    const auto place = [&] { return static_cast<std::size_t>(draw(random, 0, static_cast<std::int64_t>(state.size()) - 1)); };
    switch (draw(random, 0, 4)) {
        case 0:
            state[place()] ^= static_cast<std::byte>(1 << draw(random, 0, 7));
            break;
        case 1:
            state[place()] = static_cast<std::byte>(draw(random, 0, 255));
            break;
        case 2:
            state.resize(place());
            break;
        case 3:
            state.insert(state.begin() + static_cast<std::ptrdiff_t>(place()), 8, static_cast<std::byte>(draw(random, 0, 255)));
            break;
        default:
            state.resize(state.size() + static_cast<std::size_t>(draw(random, 1, 40)), std::byte{0});
            break;
    }
}

TEST(Stream, DamagedStatesAreRefusedAndChangeNothing) {
    const Case c = plain_case(90, 7, Mode::full, Boundary::wrap);
    Stream stream = stream_of(c, {.samples_per_run = 8, .known_length = false});
    stream.push(c.frame(0), 50);
    const Bytes state = stream.save();
    Stream victim = stream_of(c, {.samples_per_run = 8, .known_length = false});
    victim.push(c.frame(0), 20);
    const Bytes before = victim.save();
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        Random random(seed);
        Bytes damaged = state;
        mutate(damaged, random);
        if (damaged == state) { continue; }
        try {
            victim.restore(damaged);
            FAIL() << "seed " << seed;
        } catch (const Error& error) { ASSERT_EQ(error.code(), ErrorCode::argument) << "seed " << seed; }
    }
    EXPECT_EQ(victim.save(), before);
    victim.restore(state);
    EXPECT_EQ(victim.save(), state);
}

// A forged state with a valid checksum may be accepted; whatever it holds, the stream then works within its buffers.
TEST(Stream, ForgedStatesAreHarmless) {
    int accepted = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        Random random(seed);
        Case c = plain_case(90, 7, static_cast<Mode>(draw(random, 0, 4)), static_cast<Boundary>(draw(random, 0, 5)));
        const Cut cut{.samples_per_run = draw(random, 1, 20), .known_length = draw(random, 0, 1) == 0};
        Stream stream = stream_of(c, cut);
        stream.push(c.frame(0), draw(random, 0, 90));
        if (stream.frames_in() == 90 && draw(random, 0, 1) == 0) { stream.flush(); }
        Bytes state = stream.save();
        const auto offset = static_cast<std::size_t>(draw(random, 0, static_cast<std::int64_t>(state.size()) - 9));
        state[offset] ^= static_cast<std::byte>(draw(random, 1, 255));
        if (draw(random, 0, 3) == 0) { mutate(state, random); }
        if (state.size() < 8) { continue; }
        seal(state);
        try {
            stream.restore(state);
            ++accepted;
            const std::int64_t left = 90 - stream.frames_in();
            if (left > 0) { stream.push(c.frame(0), std::min<std::int64_t>(left, 90)); }
            stream.flush();
            Bytes out;
            take_into(stream, out, c.out_frame(), kWhole);
        } catch (const Error& error) { ASSERT_EQ(error.code(), ErrorCode::argument) << "seed " << seed << ": " << error.what(); }
    }
    EXPECT_GT(accepted, 100);  // samples changed, counters not
}

TEST(FrameHistory, SlidesWithinItsTarget) {
    core::FrameHistory history(sizeof(std::int32_t), 1000);
    Random random(3);
    std::int32_t next = 0;
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::int32_t> frames(static_cast<std::size_t>(draw(random, 0, std::min<std::int64_t>(history.room(), 300))));
        for (std::int32_t& frame : frames) { frame = next++; }
        history.append(frames.data(), static_cast<std::int64_t>(frames.size()));
        ASSERT_EQ(history.last(), next);
        ASSERT_LE(history.capacity(), 1000);
        const auto held = history.from(history.first());
        for (std::int64_t i = history.first(); i < history.last(); ++i) {
            std::int32_t value = 0;
            std::memcpy(&value, held.data() + static_cast<std::size_t>(i - history.first()) * sizeof(value), sizeof(value));
            ASSERT_EQ(value, i);
        }
        history.discard_before(std::max(history.first(), history.last() - draw(random, 0, 500)));
        history.settle(300);
    }
}

}  // namespace
}  // namespace tapline
