// Signals and images whose parts lie in the memories of several emulated GPUs: any cuts, boundaries, batch axes and streams against
// the textbook.
#include <thread>

#include "gpu_host/devices/part_jobs.hpp"
#include "gpu_host/emulated/emulated_engine.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "support/errors.hpp"
#include "tapline/tapline.h"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

using gpu_host::DeviceBytes;
using gpu_host::StreamHandle;

// A packed array (rows, axis, inner) in host memory and its parts on devices.
struct Sharded {
    std::int64_t rows, length, inner, element_bytes;
    std::vector<unsigned char> whole;
    std::vector<DeviceBytes> parts;
    std::vector<Span> spans;

    [[nodiscard]] std::size_t row_bytes(std::int64_t positions) const {
        return static_cast<std::size_t>(positions * inner * element_bytes);
    }
    template <class Body>
    void for_each_row(std::size_t part, const Body& body) {
        const Span& s = spans[part];
        for (std::int64_t row = 0; row < rows; ++row) {
            body(static_cast<unsigned char*>(parts[part].get()) + row * static_cast<std::int64_t>(row_bytes(s.size())),
                 whole.data() + row * static_cast<std::int64_t>(row_bytes(length)) + row_bytes(s.first), row_bytes(s.size()));
        }
    }
    void add(int device, const Span& span) {
        spans.push_back(span);
        parts.push_back(gpu_host::allocate_device(
            emulated_api(), device, std::max<std::int64_t>(rows * static_cast<std::int64_t>(row_bytes(span.size())), 1)));
    }
    void scatter() {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            for_each_row(i, [](void* part, const void* own, std::size_t bytes) { std::memcpy(part, own, bytes); });
        }
    }
    void gather() {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            for_each_row(i, [](const void* part, void* own, std::size_t bytes) { std::memcpy(own, part, bytes); });
        }
    }
    [[nodiscard]] std::vector<void*> addresses() const {
        std::vector<void*> all;
        for (const DeviceBytes& part : parts) { all.push_back(part.get()); }
        return all;
    }
};

struct Case {
    Problem problem;
    std::int64_t rows = 1, inner = 1;
};

// A packed problem: a signal with batch axes before and behind it, or images.
Case draw_case(Random& random) {
    Case c;
    Problem& p = c.problem;
    constexpr std::array kModes{Mode::full, Mode::same, Mode::valid, Mode::causal, Mode::leading};
    constexpr std::array kBoundaries{Boundary::zero,    Boundary::constant, Boundary::nearest,
                                     Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    p.mode = pick(kModes, random);
    p.boundary = pick(kBoundaries, random);
    p.constant = 2;
    p.operation = chance(0.5, random) ? Operation::convolution : Operation::correlation;
    const std::int64_t n = between(4, 300, random);
    const std::int64_t k = chance(0.2, random) ? between(1, p.mode == Mode::valid ? n : 2 * n, random)
                                               : between(1, std::min<std::int64_t>(n, 20), random);
    if (chance(0.2, random)) {  // images
        p.dtype = chance(0.5, random) ? Dtype::f32 : Dtype::u8;
        if (p.dtype == Dtype::u8) { p.real_taps = Dtype::f32; }
        const std::int64_t width = between(1, 20, random), channels = between(1, 3, random);
        p.axes = {{.length = n, .taps = std::min(k, n)}, {.length = width, .taps = between(1, width, random)}};
        c.rows = between(1, 3, random);
        const auto shape = output_shape(p);
        p.batch_axes = {{.length = c.rows, .input_stride = n * width * channels, .output_stride = shape[0] * shape[1] * channels},
                        {.length = channels, .input_stride = 1, .output_stride = 1}};
        p.axes[0].input_stride = width * channels;
        p.axes[0].output_stride = shape[1] * channels;
        p.axes[1].input_stride = p.axes[1].output_stride = channels;
        c.inner = width * channels;
        return c;
    }
    constexpr std::array kTypes{Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::f16, Dtype::i16};
    p.dtype = pick(kTypes, random);
    p.axes = {{.length = n, .taps = k, .origin = chance(0.3, random) ? std::optional(between(-40, 40, random)) : std::nullopt}};
    c.rows = between(1, 4, random);
    c.inner = chance(0.4, random) ? between(1, 4, random) : 1;
    const std::int64_t outputs = output_shape(p)[0];
    p.axes[0].input_stride = p.axes[0].output_stride = c.inner;
    const std::int64_t filters = c.inner == 1 && chance(0.3, random) ? k : 0;
    p.batch_axes = {{.length = c.rows, .input_stride = n * c.inner, .output_stride = outputs * c.inner, .taps_stride = filters},
                    {.length = c.inner, .input_stride = 1, .output_stride = 1}};
    return c;
}

std::vector<std::int64_t> draw_cuts(std::int64_t n, std::size_t parts, Random& random) {
    std::vector<std::int64_t> cuts;
    std::int64_t before = 0;
    for (std::size_t i = 1; i < parts; ++i) {
        const std::int64_t left = static_cast<std::int64_t>(parts - i);
        cuts.push_back(between(before + 1, n - left, random));
        before = cuts.back();
    }
    return cuts;
}

Sharded sharded_input(const Case& c, Random& random) {
    const Problem& p = c.problem;
    Sharded in{c.rows, p.axes[0].length, c.inner, static_cast<std::int64_t>(size_of(p.dtype)), {}, {}, {}};
    in.whole.resize(static_cast<std::size_t>(c.rows) * in.row_bytes(in.length));
    fill_random(in.whole.data(), p.dtype, input_extent(p), random);
    return in;
}

Sharded sharded_output(const Case& c) {
    const Problem& p = c.problem;
    const auto shape = output_shape(p);
    const std::int64_t inner = p.axes.size() == 2 ? *p.axes[0].output_stride : c.inner;
    Sharded out{c.rows, shape[0], inner, static_cast<std::int64_t>(size_of(output_dtype(p))), {}, {}, {}};
    out.whole.assign(static_cast<std::size_t>(c.rows) * out.row_bytes(out.length), 0xFF);
    return out;
}

class SeveralDevices : public EmulatedCuda {
protected:
    void SetUp() override {
        EmulatedCuda::SetUp();
        setenv("TAPLINE_EMULATED_BLOCKS", "1", 1);
    }
    void TearDown() override {
        unsetenv("TAPLINE_EMULATED_BLOCKS");
        EmulatedCuda::TearDown();
    }
};

// Executes `times` times, the input's addresses being those of fresh copies. Empty, or what is wrong.
std::string failure_of(const Case& c, const DevicesPlan& plan, const std::vector<int>& devices, const void* taps, Random& random,
                       bool own_streams) {
    Sharded in = sharded_input(c, random), out = sharded_output(c);
    std::vector<StreamHandle> streams;
    std::vector<void*> raw;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        in.add(devices[i], plan.parts()[i].samples);
        out.add(devices[i], plan.parts()[i].outputs);
        if (own_streams) {
            streams.push_back(gpu_host::make_stream(emulated_api(), devices[i]));
            raw.push_back(streams.back().get());
        }
    }
    in.scatter();
    const std::vector<void*> from = in.addresses(), to = out.addresses();
    plan.execute(to, std::vector<const void*>(from.begin(), from.end()), raw);
    std::string failure;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        cuda_abi::Status status;
        auto* const stream = own_streams ? streams[i].get() : nullptr;
        if (!emulated_api().synchronize_stream(devices[i], stream, &status)) { failure = status.message; }
    }
    if (!failure.empty()) { return failure; }
    out.gather();
    return compare(c.problem, out.whole.data(), in.whole.data(), taps, true);
}

TEST_F(SeveralDevices, AnyCutsAgreeWithTheTextbook) {
    const char* const cases = std::getenv("TAPLINE_PROPERTY_CASES");
    const std::int64_t count = cases == nullptr ? 300 : std::max<std::int64_t>(std::atoll(cases) / 16, 100);
    for (std::int64_t seed = 0; seed < count && !HasFailure(); ++seed) {
        Random random(static_cast<std::uint64_t>(seed));
        const Case c = draw_case(random);
        std::vector<int> devices{0, 1, 2, 3};
        std::shuffle(devices.begin(), devices.end(), random);
        devices.resize(static_cast<std::size_t>(between(1, 4, random)));
        std::string name = "cuda:";
        for (const int device : devices) { name += (name == "cuda:" ? "" : ",") + std::to_string(device); }
        std::vector<unsigned char> taps(static_cast<std::size_t>(taps_extent(c.problem)) * size_of(taps_dtype(c.problem)));
        fill_random(taps.data(), taps_dtype(c.problem), taps_extent(c.problem), random);
        const std::int64_t n = c.problem.axes[0].length;
        const std::vector<std::int64_t> cuts =
            chance(0.7, random) ? draw_cuts(n, devices.size(), random) : std::vector<std::int64_t>{};
        const bool exact = is_integer(c.problem.dtype);
        const std::string algorithm = c.problem.axes.size() == 1 && !exact && chance(0.6, random) ? "emulated_workspace" : "";
        const DevicesPlan plan(c.problem, taps.data(), {.device = name, .algorithm = algorithm}, cuts);
        for (const bool own_streams : {false, true}) {
            EXPECT_EQ(failure_of(c, plan, devices, taps.data(), random, own_streams), "")
                << "seed " << seed << ": " << describe(c.problem) << "\n"
                << plan.explain();
        }
    }
}

TEST_F(SeveralDevices, PlansSayWhatMoves) {
    const std::vector<float> taps(65, 1.0F);
    const Problem p{.length = 1000, .taps = 65, .mode = Mode::same};
    const DevicesPlan apart(p, taps.data(), {.device = "cuda:0,2"});
    ASSERT_EQ(apart.parts().size(), 2U);
    EXPECT_EQ(apart.parts()[1].device, "cuda:2");
    EXPECT_EQ(apart.parts()[0].samples, (Span{0, 500}));
    EXPECT_NE(apart.explain().find("samples a row from device to device, directly, while"), std::string::npos) << apart.explain();
    const DevicesPlan by_host(p, taps.data(), {.device = "cuda:0,1"});
    EXPECT_NE(by_host.explain().find("by way of the host"), std::string::npos) << by_host.explain();
    const Problem longer{.length = 100, .taps = 90, .mode = Mode::causal};
    const std::vector<float> many(90, 1.0F);
    EXPECT_NE(DevicesPlan(longer, many.data(), {.device = "cuda:all"}).explain().find("fewer devices move less"),
              std::string::npos);
    EXPECT_GT(by_host.device_bytes(), 0U);
}

TEST_F(SeveralDevices, WrongRequestsAreTold) {
    const std::vector<float> taps(9, 1.0F);
    const Problem p{.length = 100, .taps = 9, .batch = 3, .mode = Mode::same};
    const auto plan_of = [&](const Problem& problem, const std::string& device, const std::vector<std::int64_t>& cuts) {
        return [&taps, problem, device, cuts] { DevicesPlan(problem, taps.data(), {.device = device}, cuts); };
    };
    expect_error(ErrorCode::argument, {"cuts", "2 for 2 devices"}, plan_of(p, "cuda:0,1", {10, 20}));
    expect_error(ErrorCode::argument, {"cuts", "100"}, plan_of(p, "cuda:0,1", {100}));
    expect_error(ErrorCode::argument, {"names no GPUs"}, plan_of(p, "cpu", {}));
    expect_error(ErrorCode::argument, {"name fewer"}, plan_of({.length = 3, .taps = 1}, "cuda:all", {}));
    Problem strided = p;
    strided.input_row_stride = 200;
    expect_error(ErrorCode::unsupported, {"packed"}, plan_of(strided, "cuda:0,1", {}));
    Problem half = p;
    half.down = 2;
    expect_error(ErrorCode::unsupported, {"down"}, plan_of(half, "cuda:0,1", {}));
    const DevicesPlan plan(p, taps.data(), {.device = "cuda:0,1"});
    std::vector<void*> one(1), two(2);
    expect_error(ErrorCode::argument, {"2 devices"}, [&] { plan.execute(one, std::vector<const void*>(1)); });
    expect_error(ErrorCode::argument, {"null pointer for cuda:0"}, [&] { plan.execute(two, std::vector<const void*>(2)); });
}

std::pair<Case, std::vector<float>> one_signal(Mode mode, std::int64_t length, std::int64_t taps, Random& random) {
    Case c;
    c.problem.mode = mode;
    c.problem.axes = {{.length = length, .taps = taps}};
    c.problem.batch_axes = {{.length = 1}};
    std::vector<float> values(static_cast<std::size_t>(taps));
    fill_reals<float>(values.data(), taps, random);
    return {std::move(c), std::move(values)};
}

TEST_F(SeveralDevices, FromC) {
    Random random(11);
    const auto [c, taps] = one_signal(Mode::causal, 300, 21, random);
    tapline_problem problem;
    ASSERT_EQ(tapline_problem_init(&problem), TAPLINE_OK);
    problem.length = 300;
    problem.taps = 21;
    problem.mode = TAPLINE_CAUSAL;
    tapline_plan_options options;
    ASSERT_EQ(tapline_plan_options_init(&options), TAPLINE_OK);
    options.device = "cuda:2,0";
    const std::array<std::int64_t, 1> cuts{77};
    tapline_devices_plan* plan = nullptr;
    ASSERT_EQ(tapline_devices_plan_create(&plan, &problem, taps.data(), &options, cuts.data(), 1), TAPLINE_OK)
        << tapline_last_error();
    ASSERT_EQ(tapline_devices_plan_parts(plan), 2U);
    EXPECT_NE(std::string(tapline_devices_plan_explain(plan)).find("from device to device"), std::string::npos);
    Sharded in = sharded_input(c, random), out = sharded_output(c);
    for (std::size_t i = 0; i < 2; ++i) {
        int device = -1;
        std::array<std::int64_t, 2> samples{}, outputs{};
        ASSERT_EQ(tapline_devices_plan_part(plan, i, &device, samples.data(), outputs.data()), TAPLINE_OK);
        EXPECT_EQ(device, i == 0 ? 2 : 0);
        in.add(device, {samples[0], samples[1]});
        out.add(device, {outputs[0], outputs[1]});
    }
    EXPECT_EQ(in.spans[1], (Span{77, 300}));
    in.scatter();
    const std::vector<void*> from = in.addresses(), to = out.addresses();
    const std::vector<const void*> read(from.begin(), from.end());
    ASSERT_EQ(tapline_devices_plan_execute(plan, to.data(), read.data(), nullptr), TAPLINE_OK) << tapline_last_error();
    for (const int device : {2, 0}) {
        cuda_abi::Status status;
        ASSERT_TRUE(emulated_api().synchronize_stream(device, nullptr, &status)) << status.message;
    }
    tapline_devices_plan_destroy(plan);
    out.gather();
    EXPECT_EQ(compare(c.problem, out.whole.data(), in.whole.data(), taps.data(), true), "");
}

TEST_F(SeveralDevices, WrongCallsFromCAreTold) {
    const std::vector<float> taps(9, 1.0F);
    tapline_problem problem;
    ASSERT_EQ(tapline_problem_init(&problem), TAPLINE_OK);
    problem.length = 100;
    problem.taps = 9;
    tapline_plan_options options;
    ASSERT_EQ(tapline_plan_options_init(&options), TAPLINE_OK);
    options.device = "cuda:0,1";
    tapline_devices_plan* plan = nullptr;
    const auto create = [&](const void* given, std::size_t cuts) {
        return tapline_devices_plan_create(&plan, &problem, given, &options, nullptr, cuts);
    };
    EXPECT_EQ(create(nullptr, 0), TAPLINE_ARGUMENT);
    EXPECT_NE(std::string(tapline_last_error()).find("taps"), std::string::npos);
    EXPECT_EQ(create(taps.data(), 1), TAPLINE_ARGUMENT);
    EXPECT_NE(std::string(tapline_last_error()).find("cuts"), std::string::npos);
    EXPECT_EQ(tapline_devices_plan_create(nullptr, &problem, taps.data(), &options, nullptr, 0), TAPLINE_ARGUMENT);
    ASSERT_EQ(create(taps.data(), 0), TAPLINE_OK) << tapline_last_error();
    EXPECT_EQ(tapline_devices_plan_part(plan, 2, nullptr, nullptr, nullptr), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_devices_plan_part(plan, 1, nullptr, nullptr, nullptr), TAPLINE_OK);
    EXPECT_EQ(tapline_devices_plan_execute(plan, nullptr, nullptr, nullptr), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_devices_plan_execute(nullptr, nullptr, nullptr, nullptr), TAPLINE_ARGUMENT);
    EXPECT_EQ(tapline_devices_plan_parts(nullptr), 0U);
    EXPECT_EQ(tapline_devices_plan_explain(nullptr), nullptr);
    tapline_devices_plan_destroy(plan);
    tapline_devices_plan_destroy(nullptr);
}

TEST_F(SeveralDevices, ExecutionsFollowEachOther) {
    Random random(7);
    const auto [c, taps] = one_signal(Mode::same, 2000, 33, random);
    const DevicesPlan plan(c.problem, taps.data(), {.device = "cuda:all", .algorithm = "emulated_workspace"});
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            Random own(thread);
            for (int i = 0; i < 5; ++i) { EXPECT_EQ(failure_of(c, plan, {0, 1, 2, 3}, taps.data(), own, true), ""); }
        });
    }
    for (std::thread& thread : threads) { thread.join(); }
}

TEST_F(SeveralDevices, FailuresLeaveNothingRunning) {
    Random random(7);
    Case c;
    c.problem.axes = {{.length = 500, .taps = 33}};
    c.problem.batch_axes = {{.length = 2}};
    c.rows = 2;
    std::vector<float> taps(33);
    fill_reals<float>(taps.data(), 33, random);
    int told = 0;
    for (const char* name : {"peer_copy", "record", "wait", "execute", "kernel"}) {
        for (const int count : {1, 2, 3, 4, 7}) {
            const DevicesPlan plan(c.problem, taps.data(), {.device = "cuda:0,1"});
            inject("fail " + std::string(name) + " " + std::to_string(count));
            try {
                told += failure_of(c, plan, {0, 1}, taps.data(), random, true).find("as injected") != std::string::npos ? 1 : 0;
            } catch (const Error& error) {
                ++told;
                EXPECT_NE(std::string(error.what()).find("as injected"), std::string::npos) << error.what();
            }
            inject("nothing");
            EXPECT_EQ(failure_of(c, plan, {0, 1}, taps.data(), random, true), "") << "after " << name << " " << count;
        }
    }
    EXPECT_GT(told, 15);
    for (const char* name : {"allocate", "make_event", "reach", "prepare"}) {
        inject("fail " + std::string(name) + " 1");
        EXPECT_THROW(DevicesPlan(c.problem, taps.data(), {.device = "cuda:0,1"}), Error) << name;
    }
}

TEST_F(SeveralDevices, AResetEndsPlans) {
    const std::vector<float> taps(9, 1.0F);
    {
        const DevicesPlan plan({.length = 100, .taps = 9}, taps.data(), {.device = "cuda:0,1"});
        inject("reset");
    }
    inject("nothing");
}

}  // namespace
}  // namespace tapline::test
