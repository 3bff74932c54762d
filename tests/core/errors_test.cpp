// What wrong requests get: one exception type, a code, and a message that names the argument, the value and the remedy.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "support/errors.hpp"
#include "support/sanitized.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using test::expect_error;

void expect_invalid(ErrorCode code, std::initializer_list<std::string_view> words, const std::function<void(Problem&)>& change) {
    Problem problem{.length = 10, .taps = 3};
    validate(problem);
    change(problem);
    expect_error(code, words, [&] { validate(problem); });
}

TEST(Errors, Sizes) {
    expect_invalid(ErrorCode::argument, {"length", "0"}, [](Problem& p) { p.length = 0; });
    expect_invalid(ErrorCode::argument, {"length", "-5"}, [](Problem& p) { p.length = -5; });
    expect_invalid(ErrorCode::argument, {"length", "-1"}, [](Problem& p) { p.length = kUnknownLength; });
    expect_invalid(ErrorCode::argument, {"taps", "0"}, [](Problem& p) { p.taps = 0; });
    expect_invalid(ErrorCode::argument, {"batch", "0"}, [](Problem& p) { p.batch = 0; });
    expect_invalid(ErrorCode::argument, {"length", "2^56"},
                   [](Problem& p) { p.length = std::numeric_limits<std::int64_t>::max(); });
    expect_invalid(ErrorCode::argument, {"taps", "11", "valid", "same"}, [](Problem& p) {
        p.mode = Mode::valid;
        p.taps = 11;
    });
    expect_invalid(ErrorCode::argument, {"input", "2^60"}, [](Problem& p) {
        p.batch = std::int64_t{1} << 40;
        p.input_row_stride = std::int64_t{1} << 40;
    });
}

TEST(Errors, Strides) {
    expect_invalid(ErrorCode::argument, {"output_sample_stride", "0", "one place"}, [](Problem& p) { p.output_sample_stride = 0; });
    expect_invalid(ErrorCode::argument, {"output_row_stride", "0", "one place"}, [](Problem& p) {
        p.batch = 4;
        p.output_row_stride = 0;
    });
    for (const std::int64_t stride : {5, -5}) {
        expect_invalid(ErrorCode::argument, {"output stride", std::to_string(stride), "one place"}, [&](Problem& p) {
            p.batch = 4;
            p.output_row_stride = stride;
        });
    }
    expect_invalid(ErrorCode::argument, {"input_sample_stride", "2^56"},
                   [](Problem& p) { p.input_sample_stride = std::numeric_limits<std::int64_t>::min(); });
    expect_invalid(ErrorCode::argument, {"taps_row_stride", "0"}, [](Problem& p) {
        p.filters = Filters::per_row;
        p.taps_row_stride = 0;
    });
    // What is fine: shared and reversed inputs, reversed outputs, a single row's stride.
    Problem p{.length = 10, .taps = 3, .batch = 4, .input_row_stride = 0, .input_sample_stride = -1};
    p.output_sample_stride = -2;
    validate(p);
    p.batch = 1;
    p.output_row_stride = 0;
    validate(p);
}

TEST(Errors, Settings) {
    expect_invalid(ErrorCode::argument, {"scale", "NaN"}, [](Problem& p) { p.scale = NAN; });
    expect_invalid(ErrorCode::argument, {"bias", "NaN"}, [](Problem& p) { p.bias = NAN; });
    expect_invalid(ErrorCode::argument, {"clamp", "NaN"}, [](Problem& p) { p.clamp = Clamp{0, NAN}; });
    expect_invalid(ErrorCode::argument, {"clamp", "above"}, [](Problem& p) { p.clamp = Clamp{1, 0}; });
    expect_invalid(ErrorCode::argument, {"filter_count", "2", "per_row"}, [](Problem& p) { p.filter_count = 2; });
    expect_invalid(ErrorCode::argument, {"filter_count", "4", "6"}, [](Problem& p) {
        p.batch = 6;
        p.filters = Filters::per_row;
        p.filter_count = 4;
    });
    expect_invalid(ErrorCode::argument, {"dilation", "0"}, [](Problem& p) { p.dilation = 0; });
    expect_invalid(ErrorCode::argument, {"up", "0"}, [](Problem& p) { p.up = 0; });
    expect_invalid(ErrorCode::argument, {"down", "-3", "2^30"}, [](Problem& p) { p.down = -3; });
    expect_invalid(ErrorCode::argument, {"up", "2^56"}, [](Problem& p) {
        p.length = std::int64_t{1} << 40;
        p.up = 1 << 20;
    });
    expect_invalid(ErrorCode::argument, {"taps", "longer", "valid"}, [](Problem& p) {
        p.mode = Mode::valid;
        p.dilation = 5;
    });
    expect_invalid(ErrorCode::argument, {"enumeration"}, [](Problem& p) { p.mode = static_cast<Mode>(17); });
    expect_invalid(ErrorCode::argument, {"origin", "2^56"},
                   [](Problem& p) { p.origin = std::numeric_limits<std::int64_t>::min(); });
}

TEST(Errors, Types) {
    expect_invalid(ErrorCode::type, {"complex_taps", "f32", "complex64"}, [](Problem& p) { p.complex_taps = true; });
    expect_invalid(ErrorCode::type, {"output_dtype", "complex64"}, [](Problem& p) { p.output_dtype = Dtype::complex64; });
    expect_invalid(ErrorCode::type, {"clamp", "order"}, [](Problem& p) {
        p.dtype = Dtype::complex64;
        p.clamp = Clamp{0, 1};
    });
    expect_invalid(ErrorCode::type, {"constant"}, [](Problem& p) {
        p.boundary = Boundary::constant;
        p.constant = {0, 1};
    });
    expect_invalid(ErrorCode::type, {"real_taps", "f32", "f64"}, [](Problem& p) { p.real_taps = Dtype::f64; });
    expect_invalid(ErrorCode::type, {"real_taps", "i32"}, [](Problem& p) {
        p.dtype = Dtype::i16;
        p.real_taps = Dtype::i32;
    });
    expect_invalid(ErrorCode::argument, {"constant", "u8"}, [](Problem& p) {
        p.boundary = Boundary::constant;
        p.dtype = Dtype::u8;
        p.constant = 256;
    });
    expect_invalid(ErrorCode::argument, {"constant", "i64"}, [](Problem& p) {
        p.boundary = Boundary::constant;
        p.dtype = Dtype::i64;
        p.constant = NAN;
    });
}

// An axis is named by its number and its role.
TEST(Errors, NameTheAxis) {
    const auto with = [](UpTo<FilteredAxis, 3> axes, UpTo<BatchAxis, 4> batch_axes = {}) {
        Problem p;
        p.axes = axes;
        p.batch_axes = batch_axes;
        return [p] { validate(p); };
    };
    const FilteredAxis good{.length = 10, .taps = 3};
    expect_error(ErrorCode::argument, {"axis 0 (y)", "length", "0"}, with({{.length = 0, .taps = 3}, good}));
    expect_error(ErrorCode::argument, {"axis 1 (x)", "taps", "-2"}, with({good, {.length = 10, .taps = -2}}));
    expect_error(ErrorCode::argument, {"axis 0 (z)", "up", "0"}, with({{.length = 10, .taps = 3, .up = 0}, good, good}));
    expect_error(ErrorCode::argument, {"axis 1 (y)", "output_stride", "0"},
                 with({good, {.length = 10, .taps = 3, .output_stride = 0}, good}));
    expect_error(ErrorCode::argument, {"axis 2 (x)", "taps", "longer"},
                 with({good, good, {.length = 2, .taps = 3, .mode = Mode::valid}}));
    expect_error(ErrorCode::argument, {"batch axis 1", "length", "0"}, with({good}, {{.length = 2}, {.length = 0}}));
    expect_error(ErrorCode::argument, {"batch axis 0", "output_stride", "0"},
                 with({good, good}, {{.length = 2, .output_stride = 0}, {.length = 2}}));
    expect_error(ErrorCode::argument, {"batch axis 0", "taps_stride", "-3"}, with({good}, {{.length = 2, .taps_stride = -3}}));
    expect_error(ErrorCode::argument, {"output stride", "one place"}, with({good}, {{.length = 2, .output_stride = 4}}));
    expect_error(ErrorCode::argument, {"input", "2^60"},
                 with({{.length = std::int64_t{1} << 40, .taps = 1}, {.length = std::int64_t{1} << 40, .taps = 1}}));
    expect_error(ErrorCode::argument, {"taps", "2^56"},
                 with({{.length = 10, .taps = std::int64_t{1} << 40, .mode = Mode::same},
                       {.length = 10, .taps = std::int64_t{1} << 40, .mode = Mode::same}}));
}

TEST(Errors, OneFormOrTheOther) {
    expect_invalid(ErrorCode::argument, {"axes", "length"}, [](Problem& p) { p.axes = {{.length = 10, .taps = 3}}; });
    expect_invalid(ErrorCode::argument, {"batch_axes", "batch"}, [](Problem& p) {
        p.batch = 2;
        p.batch_axes = {{.length = 2}};
    });
    expect_invalid(ErrorCode::argument, {"filters", "batch_axes", "taps_stride"}, [](Problem& p) {
        p.length = p.taps = 0;
        p.axes = {{.length = 10, .taps = 3}, {.length = 10, .taps = 3}};
        p.batch = 2;
        p.filters = Filters::per_row;
    });
    expect_error(ErrorCode::argument, {"problem", "1", "two"}, [] { image_output_size(Problem{.length = 10, .taps = 3}); });
    expect_error(ErrorCode::argument, {"axes", "3"}, [] {
        UpTo<FilteredAxis, 3> many;
        for (int i = 0; i < 4; ++i) { many.push_back({}); }
    });
}

Problem small_problem() { return {.length = 10, .taps = 3}; }

TEST(Errors, Options) {
    const std::vector<float> taps(3, 1.0F);
    const auto with = [&](const PlanOptions& options) { return [&taps, options] { make_plan(small_problem(), taps, options); }; };
    expect_error(ErrorCode::argument, {"threads", "-1"}, with({.threads = -1}));
    expect_error(ErrorCode::argument, {"threads", "100000", "1024"}, with({.threads = 100000}));
    expect_error(ErrorCode::argument, {"device", "tpu"}, with({.device = "tpu"}));
    expect_error(ErrorCode::device, {"device", "cuda:99"}, with({.device = "cuda:99"}));
    expect_error(ErrorCode::argument, {"algorithm", "magic", "textbook"}, with({.algorithm = "magic"}));
    expect_error(ErrorCode::unsupported, {"integer"}, with({.algorithm = "integer"}));
    expect_error(ErrorCode::unsupported, {"partitioned", "strict"},
                 with({.accuracy = Accuracy::strict, .algorithm = "partitioned"}));
    Problem to_halves = small_problem();
    to_halves.output_dtype = Dtype::bf16;
    expect_error(ErrorCode::unsupported, {"f16 and bf16", "GPU", "f32"}, [&] { make_plan(to_halves, taps, {.device = "cpu"}); });
    Problem halves = small_problem();
    halves.dtype = Dtype::f16;
    halves.up = 2;
    expect_error(ErrorCode::unsupported, {"f16 and bf16", "rate", "GPU", "f32"},
                 [&] { make_plan(halves, taps, {.device = "cpu"}); });
}

TEST(Errors, Buffers) {
    const std::vector<float> taps(3, 1.0F);
    const Plan plan = make_plan(small_problem(), taps, {.device = "cpu"});
    std::vector<float> memory(64, 1.0F);
    expect_error(ErrorCode::argument, {"out", "null"}, [&] { plan.execute(nullptr, memory.data()); });
    expect_error(ErrorCode::argument, {"in", "null"}, [&] { plan.execute(memory.data(), nullptr); });
    expect_error(ErrorCode::argument, {"overlaps"}, [&] { plan.execute(memory.data() + 5, memory.data()); });
    expect_error(ErrorCode::argument, {"overlaps"}, [&] { plan.execute(memory.data(), memory.data() + 11); });
    plan.execute(memory.data(), memory.data() + 12);  // side by side is fine
    const auto* odd = reinterpret_cast<const char*>(memory.data()) + 50;
    expect_error(ErrorCode::argument, {"in", "aligned"}, [&] { plan.execute(memory.data() + 30, odd); });
    std::vector<float> in(10);
    std::vector<float> out(11);
    expect_error(ErrorCode::argument, {"out", "11", "12"},
                 [&] { plan.execute(std::span<float>(out), std::span<const float>(in)); });
    std::vector<double> wrong(12);
    expect_error(ErrorCode::type, {"out", "f64", "f32"},
                 [&] { plan.execute(std::span<double>(wrong), std::span<const float>(in)); });
    alignas(64) std::array<std::byte, 64> small{};
    if (plan.workspace_bytes() > 0) {
        expect_error(ErrorCode::argument, {"workspace"},
                     [&] { plan.execute(memory.data(), memory.data() + 12, std::span<std::byte>(small).first(0)); });
    }
    expect_error(ErrorCode::argument, {"workspace", "64"}, [&] {
        std::vector<std::byte> large(plan.workspace_bytes() + 128);
        auto* p = large.data();
        while (reinterpret_cast<std::uintptr_t>(p) % 64 != 1) { ++p; }
        plan.execute(memory.data(), memory.data() + 12, {p, plan.workspace_bytes()});
    });
}

TEST(Errors, OneCallFunctions) {
    const std::vector<float> empty;
    const std::vector<float> three(3, 1.0F);
    expect_error(ErrorCode::argument, {"length", "0"}, [&] { convolve(empty, three); });
    expect_error(ErrorCode::argument, {"taps", "0"}, [&] { convolve(three, empty); });
    std::vector<float> out(4);
    expect_error(ErrorCode::argument, {"out", "4", "5"}, [&] { convolve(out, three, three); });
    expect_error(ErrorCode::type, {"taps", "18446744073709551615"},
                 [&] { convolve(std::vector<int>{1}, std::vector<std::uint64_t>{~std::uint64_t{0}}); });
    expect_error(ErrorCode::type, {"taps", "-1", "u64"}, [&] { convolve(std::vector<std::uint64_t>{1}, std::vector<int>{-1}); });
    expect_error(ErrorCode::argument, {"taps", "null"}, [&] { make_plan(small_problem(), nullptr); });
}

TEST(Errors, OutOfMemoryIsAnErrorOfItsOwn) {
    if (test::kSanitized) { GTEST_SKIP() << "the sanitizers' allocators end the program instead"; }
    const Problem p{.length = 1, .taps = std::int64_t{1} << 50};
    const float tap = 1;
    expect_error(ErrorCode::memory, {"bytes"}, [&] { make_plan(p, &tap); });
}

TEST(Errors, ForcedTargetMustExist) {
    expect_error(ErrorCode::argument, {"altivec"}, [] { force_cpu_target("altivec"); });
    force_cpu_target("scalar");
    EXPECT_EQ(cpu_target(), "scalar");
    force_cpu_target("");
}

}  // namespace
}  // namespace tapline
