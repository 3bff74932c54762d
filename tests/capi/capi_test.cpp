// The C interface: the same results as the C++ one, and a status for whatever goes wrong.
#include "tapline/tapline.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tapline/tapline.hpp"

extern "C" {
// Weak: a build without the C source still links, and the test says that it was skipped.
__attribute__((weak)) const char* tapline_capi_c_test(void);
}

namespace {

struct PlanDelete {
    void operator()(tapline_plan* plan) const { tapline_plan_destroy(plan); }
};
using PlanHandle = std::unique_ptr<tapline_plan, PlanDelete>;
struct StreamDelete {
    void operator()(tapline_stream* stream) const { tapline_stream_destroy(stream); }
};
using StreamHandle = std::unique_ptr<tapline_stream, StreamDelete>;

tapline_problem problem_of(std::int64_t length, std::int64_t taps, int mode = TAPLINE_FULL) {
    tapline_problem problem;
    EXPECT_EQ(tapline_problem_init(&problem), TAPLINE_OK);
    problem.length = length;
    problem.taps = taps;
    problem.mode = mode;
    return problem;
}

bool last_error_has(const std::string& text) { return std::string(tapline_last_error()).find(text) != std::string::npos; }

const std::vector<float> kSignal = {1, 2, 3, 4, 5, 6};
const std::vector<float> kTaps = {1, 0.5, -2};

TEST(CApi, TheHeaderIsC) {
    if (tapline_capi_c_test == nullptr) { GTEST_SKIP() << "capi_c_test.c is not part of this build"; }
    const char* const failure = tapline_capi_c_test();
    EXPECT_EQ(failure, nullptr) << failure << ": " << tapline_last_error();
}

TEST(CApi, InitialisedStructuresAreTheCxxDefaults) {
    const tapline_problem c = problem_of(7, 3);
    const tapline::Problem p;
    EXPECT_EQ(c.struct_size, sizeof c);
    EXPECT_EQ(c.batch, p.batch);
    EXPECT_EQ(c.filters, static_cast<int>(p.filters));
    EXPECT_EQ(c.boundary, static_cast<int>(p.boundary));
    EXPECT_EQ(c.operation, static_cast<int>(p.operation));
    EXPECT_EQ(c.dtype, static_cast<int>(p.dtype));
    EXPECT_EQ(c.overflow, static_cast<int>(p.overflow));
    EXPECT_EQ(c.scale, p.scale);
    EXPECT_EQ(c.bias, p.bias);
    EXPECT_EQ(c.has_origin + c.has_clamp + c.has_output_dtype + c.complex_taps, 0);
    EXPECT_EQ(c.up * c.down * c.dilation, 1);
    std::int64_t length = 0;
    EXPECT_EQ(tapline_output_length(&length, &c), TAPLINE_OK);
    EXPECT_EQ(length, 9);
}

TEST(CApi, PlansGiveTheBitsOfTheCxxOnes) {
    tapline_problem c = problem_of(6, 3, TAPLINE_SAME);
    c.boundary = TAPLINE_BOUNDARY_CONSTANT;
    c.constant_real = 0.25;
    c.operation = TAPLINE_CORRELATION;
    c.has_origin = 1;
    c.origin = 2;
    c.scale = 3;
    c.bias = -1;
    c.has_clamp = 1;
    c.clamp_low = -20;
    c.clamp_high = 2;
    c.output_sample_stride = 2;
    const tapline::Problem p{.length = 6,
                             .taps = 3,
                             .mode = tapline::Mode::same,
                             .boundary = tapline::Boundary::constant,
                             .constant = 0.25,
                             .origin = 2,
                             .operation = tapline::Operation::correlation,
                             .scale = 3,
                             .bias = -1,
                             .clamp = tapline::Clamp{-20, 2},
                             .output_sample_stride = 2};
    std::vector<float> expected(11, 99);
    tapline::make_plan(p, kTaps, {.device = "cpu"}).execute(expected.data(), kSignal.data());

    std::int64_t in = 0, out = 0, taps = 0;
    EXPECT_EQ(tapline_input_extent(&in, &c), TAPLINE_OK);
    EXPECT_EQ(tapline_output_extent(&out, &c), TAPLINE_OK);
    EXPECT_EQ(tapline_taps_extent(&taps, &c), TAPLINE_OK);
    EXPECT_EQ(in, 6);
    EXPECT_EQ(out, 11);
    EXPECT_EQ(taps, 3);
    tapline_plan_options options;
    ASSERT_EQ(tapline_plan_options_init(&options), TAPLINE_OK);
    options.device = "cpu";
    options.accuracy = TAPLINE_STRICT;
    options.threads = 1;
    tapline_plan* made = nullptr;
    ASSERT_EQ(tapline_plan_create(&made, &c, kTaps.data(), &options), TAPLINE_OK) << tapline_last_error();
    const PlanHandle plan(made);
    EXPECT_EQ(tapline_plan_output_length(made), 6);
    EXPECT_STREQ(tapline_plan_device(made), "cpu");
    EXPECT_GT(tapline_plan_predicted_seconds(made), 0);
    EXPECT_NE(std::string(tapline_plan_explain(made)).find(tapline_plan_algorithm(made)), std::string::npos);

    std::vector<float> simple(11, 99), with_workspace(11, 99);
    EXPECT_EQ(tapline_plan_execute_simple(made, simple.data(), kSignal.data()), TAPLINE_OK) << tapline_last_error();
    EXPECT_EQ(simple, expected);
    std::vector<std::byte> storage(tapline_plan_workspace_bytes(made) + 64);
    std::byte* const workspace = storage.data() + (64 - reinterpret_cast<std::uintptr_t>(storage.data()) % 64) % 64;
    EXPECT_EQ(
        tapline_plan_execute(made, with_workspace.data(), kSignal.data(), workspace, tapline_plan_workspace_bytes(made), nullptr),
        TAPLINE_OK)
        << tapline_last_error();
    EXPECT_EQ(with_workspace, expected);
}

TEST(CApi, OneCallFunctionsConvolve) {
    const std::vector<double> x = {1, 2, 3}, h = {1, 1};
    std::vector<double> out(5, 99);
    EXPECT_EQ(tapline_convolve_f64(out.data(), 5, x.data(), 3, h.data(), 2, TAPLINE_FULL), TAPLINE_OK);
    EXPECT_EQ(out, (std::vector<double>{1, 3, 5, 3, 99}));
    EXPECT_EQ(tapline_convolve_f64(out.data(), 3, x.data(), 3, h.data(), 2, TAPLINE_FULL), TAPLINE_ARGUMENT);
    EXPECT_TRUE(last_error_has("out_capacity: 3")) << tapline_last_error();
    EXPECT_EQ(tapline_convolve_f64(out.data(), 5, x.data(), 3, h.data(), 2, 17), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_convolve_f64(out.data(), 5, x.data(), 0, h.data(), 2, TAPLINE_FULL), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_convolve_f64(out.data(), 5, nullptr, 3, h.data(), 2, TAPLINE_FULL), TAPLINE_ARGUMENT);
    EXPECT_TRUE(last_error_has("signal: null")) << tapline_last_error();
    EXPECT_EQ(tapline_convolve_f32(nullptr, 5, kSignal.data(), 6, kTaps.data(), 3, TAPLINE_FULL), TAPLINE_ARGUMENT);
}

TEST(CApi, StatusesTellWhatWentWrong) {
    tapline_problem c = problem_of(6, 3);
    c.complex_taps = 1;
    std::int64_t length = 0;
    EXPECT_EQ(tapline_output_length(&length, &c), TAPLINE_TYPE);
    c = problem_of(6, 3);
    c.dtype = TAPLINE_F16;
    c.up = 2;
    tapline_plan_options on_cpu;
    ASSERT_EQ(tapline_plan_options_init(&on_cpu), TAPLINE_OK);
    on_cpu.device = "cpu";
    tapline_plan* none = nullptr;
    EXPECT_EQ(tapline_plan_create(&none, &c, kTaps.data(), &on_cpu), TAPLINE_UNSUPPORTED);
    EXPECT_EQ(none, nullptr);
    c = problem_of(6, 3);
    c.scale = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(tapline_output_length(&length, &c), TAPLINE_ARGUMENT);
    EXPECT_TRUE(last_error_has("scale")) << tapline_last_error();
    c = problem_of(6, 3);
    c.dtype = -1;
    EXPECT_EQ(tapline_output_length(&length, &c), TAPLINE_ARGUMENT);

    c = problem_of(6, 3);
    tapline_plan_options options;
    ASSERT_EQ(tapline_plan_options_init(&options), TAPLINE_OK);
    tapline_plan* plan = reinterpret_cast<tapline_plan*>(&c);
    options.device = "abacus";
    EXPECT_NE(tapline_plan_create(&plan, &c, kTaps.data(), &options), TAPLINE_OK);
    EXPECT_EQ(plan, nullptr);
    options.device = nullptr;
    options.accuracy = 3;
    EXPECT_EQ(tapline_plan_create(&plan, &c, kTaps.data(), &options), TAPLINE_ARGUMENT);
    EXPECT_TRUE(last_error_has("accuracy: 3")) << tapline_last_error();
}

TEST(CApi, IntegerOverflowIsAStatus) {
    tapline_problem c = problem_of(1, 1);
    c.dtype = TAPLINE_I32;
    c.has_output_dtype = 1;
    c.output_dtype = TAPLINE_I8;
    int dtype = -1;
    EXPECT_EQ(tapline_taps_dtype(&dtype, &c), TAPLINE_OK);
    EXPECT_EQ(dtype, TAPLINE_I64);
    EXPECT_EQ(tapline_output_dtype(&dtype, &c), TAPLINE_OK);
    EXPECT_EQ(dtype, TAPLINE_I8);
    const std::int32_t x = 100;
    const std::int64_t tap = 2;
    std::int8_t out = 0;
    for (const int overflow : {TAPLINE_OVERFLOW_ERROR, TAPLINE_OVERFLOW_WRAP}) {
        c.overflow = overflow;
        tapline_plan* made = nullptr;
        ASSERT_EQ(tapline_plan_create(&made, &c, &tap, nullptr), TAPLINE_OK) << tapline_last_error();
        const PlanHandle plan(made);
        EXPECT_EQ(tapline_plan_execute_simple(made, &out, &x), overflow == TAPLINE_OVERFLOW_ERROR ? TAPLINE_ARGUMENT : TAPLINE_OK);
    }
    EXPECT_EQ(out, -56);
    EXPECT_TRUE(last_error_has("overflow")) << tapline_last_error();
}

TEST(CApi, NullPointersAreRefused) {
    const tapline_problem c = problem_of(6, 3);
    tapline_plan* made = nullptr;
    EXPECT_EQ(tapline_problem_init(nullptr), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_output_length(nullptr, &c), TAPLINE_ARGUMENT);
    std::int64_t length = 0;
    EXPECT_EQ(tapline_output_length(&length, nullptr), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_plan_create(nullptr, &c, kTaps.data(), nullptr), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_plan_create(&made, nullptr, kTaps.data(), nullptr), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_plan_create(&made, &c, nullptr, nullptr), TAPLINE_ARGUMENT);
    ASSERT_EQ(tapline_plan_create(&made, &c, kTaps.data(), nullptr), TAPLINE_OK);
    const PlanHandle plan(made);
    std::vector<float> out(8);
    EXPECT_EQ(tapline_plan_execute_simple(nullptr, out.data(), kSignal.data()), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_plan_execute_simple(made, nullptr, kSignal.data()), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_plan_execute_simple(made, out.data(), nullptr), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_plan_execute(made, out.data(), kSignal.data(), nullptr, 64, nullptr), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_plan_workspace_bytes(nullptr), 0U);
    EXPECT_EQ(tapline_plan_output_length(nullptr), -1);
    EXPECT_EQ(tapline_plan_explain(nullptr), nullptr);
    EXPECT_EQ(tapline_stream_available(nullptr), -1);
    EXPECT_EQ(tapline_stream_push(nullptr, kSignal.data(), 1), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_stream_flush(nullptr), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_stream_restore(nullptr, out.data(), 1), TAPLINE_ARGUMENT);
    tapline_plan_destroy(nullptr);
    tapline_stream_destroy(nullptr);
}

// A program compiled with a newer header: fields that this library does not know are ignored if zero, else refused.
TEST(CApi, StructuresMayGrow) {
    struct Newer {
        tapline_problem problem;
        std::int64_t further[2];
    } newer{problem_of(6, 3), {0, 0}};
    newer.problem.struct_size = sizeof newer;
    std::int64_t length = 0;
    EXPECT_EQ(tapline_output_length(&length, &newer.problem), TAPLINE_OK) << tapline_last_error();
    newer.further[1] = 1;
    EXPECT_EQ(tapline_output_length(&length, &newer.problem), TAPLINE_UNSUPPORTED);
    newer.problem.struct_size = 8;
    EXPECT_EQ(tapline_output_length(&length, &newer.problem), TAPLINE_ARGUMENT);
    EXPECT_TRUE(last_error_has("_init")) << tapline_last_error();
}

TEST(CApi, MessagesBelongToTheirThread) {
    EXPECT_EQ(tapline_problem_init(nullptr), TAPLINE_ARGUMENT);
    std::string other = "unset";
    std::thread([&] { other = tapline_last_error(); }).join();
    EXPECT_EQ(other, "");
    EXPECT_TRUE(last_error_has("problem: null"));
    EXPECT_STREQ(tapline_version(), tapline::version());
}

// The stereo signal frame by frame: the bits of the plan, also when a second stream goes on from a saved state.
TEST(CApi, StreamsGiveTheBitsOfThePlan) {
    constexpr std::int64_t kFrames = 1000;
    std::vector<float> x(2 * kFrames), expected(2 * kFrames, 99), out(2 * kFrames, 99);
    for (std::size_t i = 0; i < x.size(); ++i) { x[i] = static_cast<float>(i * 37 % 101) - 50; }
    tapline_problem c = problem_of(kFrames, 3, TAPLINE_SAME);
    c.batch = 2;
    c.input_row_stride = c.output_row_stride = 1;
    c.input_sample_stride = c.output_sample_stride = 2;
    tapline_plan* made = nullptr;
    ASSERT_EQ(tapline_plan_create(&made, &c, kTaps.data(), nullptr), TAPLINE_OK) << tapline_last_error();
    const PlanHandle plan(made);
    ASSERT_EQ(tapline_plan_execute_simple(made, expected.data(), x.data()), TAPLINE_OK) << tapline_last_error();

    c.length = TAPLINE_UNKNOWN_LENGTH;
    tapline_stream* first = nullptr;
    tapline_stream* second = nullptr;
    ASSERT_EQ(tapline_stream_create(&first, &c, kTaps.data(), nullptr, nullptr), TAPLINE_OK) << tapline_last_error();
    const StreamHandle owner(first);
    ASSERT_EQ(tapline_stream_push(first, x.data(), 301), TAPLINE_OK) << tapline_last_error();
    std::int64_t taken = 0;
    ASSERT_EQ(tapline_stream_take(first, out.data(), kFrames, &taken), TAPLINE_OK) << tapline_last_error();

    std::size_t bytes = 0;
    ASSERT_EQ(tapline_stream_save(first, nullptr, 0, &bytes), TAPLINE_OK) << tapline_last_error();
    std::vector<std::byte> state(bytes);
    EXPECT_EQ(tapline_stream_save(first, state.data(), bytes - 1, &bytes), TAPLINE_ARGUMENT);
    EXPECT_EQ(bytes, state.size());
    ASSERT_EQ(tapline_stream_save(first, state.data(), bytes, &bytes), TAPLINE_OK);
    ASSERT_EQ(tapline_stream_create(&second, &c, kTaps.data(), nullptr, nullptr), TAPLINE_OK);
    const StreamHandle second_owner(second);
    ASSERT_EQ(tapline_stream_restore(second, state.data(), bytes), TAPLINE_OK) << tapline_last_error();
    EXPECT_EQ(tapline_stream_frames_in(second), 301);
    EXPECT_EQ(tapline_stream_frames_out(second), taken);

    ASSERT_EQ(tapline_stream_push(second, x.data() + 2 * 301, kFrames - 301), TAPLINE_OK);
    ASSERT_EQ(tapline_stream_flush(second), TAPLINE_OK) << tapline_last_error();
    EXPECT_EQ(tapline_stream_available(second), kFrames - taken);
    std::int64_t rest = 0;
    ASSERT_EQ(tapline_stream_take(second, out.data() + 2 * taken, kFrames, &rest), TAPLINE_OK);
    EXPECT_EQ(taken + rest, kFrames);
    EXPECT_EQ(out, expected);
    EXPECT_EQ(tapline_stream_push(second, x.data(), 1), TAPLINE_ARGUMENT);
    EXPECT_GE(tapline_stream_latency_frames(second), 0);
}

}  // namespace
