// Plans without taps: executions bring them in GPU memory, and what depends on them is made there.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "gpu/gpu.hpp"
#include "support/comparison.hpp"
#include "support/errors.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr PlanOptions kOnDevice{.device = "cuda", .accuracy = Accuracy::standard, .effort = Effort::estimate};

class TapsOnDevice : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped() || HasFatalFailure()) { return; }
        if (!rung_named("overlap_save")) { TAPLINE_GPU_MISSING("this engine has no rung overlap_save"); }
    }

    static PlanOptions by_overlap_save(const char* name = "overlap_save") {
        PlanOptions options = kOnDevice;
        options.algorithm = name;
        return options;
    }

    static std::vector<std::byte> drawn(std::int64_t elements, Dtype dtype, Random& random) {
        return random_elements(dtype, elements, random);
    }

    static void expect_right(const Problem& p, std::span<const std::byte> in, std::span<const std::byte> taps, const Plan& plan,
                             std::size_t offset = 0) {
        const std::vector<std::byte> values = executed_with_taps(plan, in, taps, offset);
        EXPECT_EQ(compare(p, values.data(), in.data(), taps.data(), is_elementwise(plan)), "")
            << p.taps << " taps, " << plan.algorithm() << ": " << plan.explain();
    }

    // Calls body(dtype, whether the taps are complex).
    template <class Body>
    static void for_every_type(const Body& body) {
        for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::complex64, Dtype::complex128}) {
            body(dtype, false);
            if (is_complex(dtype)) { body(dtype, true); }
        }
    }

    // Those of direct summation that take the problem, and what is chosen among all.
    static std::vector<Plan> direct_plans(const Problem& p, Accuracy accuracy = Accuracy::standard) {
        PlanOptions options = kOnDevice;
        options.accuracy = accuracy;
        std::vector<Plan> plans{make_plan_without_taps(p, options)};
        for (const char* name : {"direct_few", "direct_window", "direct", "tensor_direct"}) {
            options.algorithm = name;
            try {
                plans.push_back(make_plan_without_taps(p, options));
            } catch (const Error& error) { EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what(); }
        }
        EXPECT_GE(plans.size(), 3U) << "direct_window and direct take everything";
        return plans;
    }
};

TEST_F(TapsOnDevice, OfEveryTypeAndSizeOfSegment) {
    Random random(91);
    for_every_type([&](Dtype dtype, bool complex_taps) {
        for (const std::int64_t k : {1, 2, 127, 1500, 3000, 6000}) {
            for (const Operation operation : {Operation::convolution, Operation::correlation}) {
                const Problem p{.length = k < 1000 ? 1003 : 403,
                                .taps = k,
                                .mode = operation == Operation::convolution && k < 1000 ? Mode::full : Mode::same,
                                .boundary = operation == Operation::convolution ? Boundary::zero : Boundary::reflect,
                                .operation = operation,
                                .dtype = dtype,
                                .complex_taps = complex_taps};
                const std::vector<std::byte> in = drawn(p.length, p.dtype, random);
                expect_right(p, in, drawn(k, taps_dtype(p), random), make_plan_without_taps(p, by_overlap_save()));
                if (HasFailure()) { return; }
            }
        }
    });
}

// (outer, samples, near) with a filter for each outer and near.
TEST_F(TapsOnDevice, FiltersAlongTwoAxes) {
    Random random(99);
    for (const std::int64_t k : {9, 700}) {
        Problem p;
        FilteredAxis axis;
        axis.length = 500;
        axis.taps = k;
        axis.mode = Mode::same;
        axis.input_stride = axis.output_stride = 6;
        p.axes = {axis};
        p.batch_axes = {{40, 3000, 3000, 6 * k}, {6, 1, 1, k}};
        const std::vector<std::byte> in = drawn(input_extent(p), p.dtype, random), taps = drawn(taps_extent(p), p.dtype, random);
        expect_right(p, in, taps, make_plan_without_taps(p, kOnDevice));
        expect_right(p, in, taps, make_plan_without_taps(p, by_overlap_save("transposed_rows")));
    }
}

TEST_F(TapsOnDevice, OfLongSegmentsRowsAndStrides) {
    Random random(92);
    Problem p;
    p.length = 3001;
    p.taps = 12000;
    p.mode = Mode::causal;
    expect_right(p, drawn(p.length, p.dtype, random), drawn(p.taps, p.dtype, random), make_plan_without_taps(p, by_overlap_save()));
    p.length = 5001;
    p.taps = 700;
    p.batch = 3;
    p.input_sample_stride = 3;
    p.input_row_stride = 1;
    p.scale = 0.5;
    p.bias = 2;
    expect_right(p, drawn(input_extent(p), p.dtype, random), drawn(p.taps, p.dtype, random),
                 make_plan_without_taps(p, by_overlap_save()));
}

TEST_F(TapsOnDevice, OfSegmentsInClustersAndInMemory) {
    Random random(95);
    for (const char* name : {"overlap_save_cluster", "overlap_save_large"}) {
        if (!rung_named(name)) { TAPLINE_GPU_MISSING(std::string("this engine has no rung ") + name); }
        for (const Dtype dtype : {Dtype::f32, Dtype::complex64, Dtype::f64}) {
            for (const std::int64_t k : {5000, 9000}) {
                const Problem p{.length = 803,
                                .taps = k,
                                .mode = Mode::same,
                                .operation = k == 5000 ? Operation::correlation : Operation::convolution,
                                .dtype = dtype,
                                .complex_taps = dtype == Dtype::complex64};
                try {
                    const Plan plan = make_plan_without_taps(p, by_overlap_save(name));
                    expect_right(p, drawn(p.length, dtype, random), drawn(k, dtype, random), plan);
                } catch (const Error& error) {  // clusters need compute capability 9.0 and are not for every size
                    EXPECT_TRUE(error.code() == ErrorCode::unsupported && name == std::string("overlap_save_cluster"))
                        << error.what();
                }
            }
        }
    }
}

// So many that most are better zero: the bound grows with the sum of all, also of those that no output reads.
std::vector<std::byte> drawn_here_and_there(const Problem& p, Random& random) {
    constexpr std::int64_t kDrawn = 1000;
    const Dtype dtype = taps_dtype(p);
    std::vector<std::byte> taps(bytes_of(p.taps, dtype));
    for (const std::int64_t first : {std::int64_t{0}, p.taps / 2 - kDrawn, p.taps / 2, p.taps - kDrawn}) {
        fill_random(taps.data() + bytes_of(first, dtype), dtype, kDrawn, random);
    }
    return taps;
}

// Segments of 2^19 points on an H200, whose kernel makes the spectrum itself, of taps of every type, and keeps them for what is
// made again directly.
TEST_F(TapsOnDevice, OfLargeSegmentsOfEveryType) {
    Random random(97);
    const char* const name = "overlap_save_large";
    if (!rung_named(name)) { TAPLINE_GPU_MISSING(std::string("this engine has no rung ") + name); }
    struct Case {
        Dtype dtype;
        bool complex_taps;
    };
    constexpr std::array<Case, 6> kCases{{{Dtype::f32, false},
                                          {Dtype::f16, false},
                                          {Dtype::bf16, false},
                                          {Dtype::complex64, false},
                                          {Dtype::complex64, true},
                                          {Dtype::complex128, true}}};
    for (const Case& c : kCases) {
        for (const Operation operation : {Operation::convolution, Operation::correlation}) {
            Problem p;
            p.length = 803;
            p.taps = is_complex(c.dtype) ? 90001 : 180001;
            p.dtype = c.dtype;
            p.complex_taps = c.complex_taps;
            p.operation = operation;
            p.mode = Mode::same;
            expect_right(p, drawn(p.length, p.dtype, random), drawn_here_and_there(p, random),
                         make_plan_without_taps(p, by_overlap_save(name)));
            if (HasFailure()) { return; }
        }
    }
}

// More segments than places for them, and samples that are not finite, whose terms come from the taps.
TEST_F(TapsOnDevice, OfManyLargeSegments) {
    Random random(98);
    const char* const name = "overlap_save_large";
    if (!rung_named(name)) { TAPLINE_GPU_MISSING(std::string("this engine has no rung ") + name); }
    for (const std::int64_t k : {4500, 180001}) {
        Problem p;
        p.length = 200;
        p.batch = 40;
        p.taps = k;
        p.mode = Mode::same;
        const Plan plan = make_plan_without_taps(p, by_overlap_save(name));
        const std::vector<std::byte> taps = drawn_here_and_there(p, random);
        std::vector<float> in = random_floats(p.length * p.batch, random);
        expect_right(p, std::as_bytes(std::span(in)), taps, plan);
        for (const std::size_t row : {0, 1, 20, 39}) {
            in[200 * row + 3 * row + 11] =
                row % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
        }
        expect_right(p, std::as_bytes(std::span(in)), taps, plan);
        if (HasFailure()) { return; }
    }
}

// Rows of four and eight warps.
TEST_F(TapsOnDevice, OfSegmentsWithLongRows) {
    Random random(96);
    const char* const name = "overlap_save_large";
    if (!rung_named(name)) { TAPLINE_GPU_MISSING(std::string("this engine has no rung ") + name); }
    for (const Dtype dtype : {Dtype::f32, Dtype::complex64, Dtype::f64}) {
        for (const std::int64_t k : {350001, 600001}) {
            Problem p;
            p.length = 803;
            p.taps = is_complex(dtype) ? k / 2 : k;
            p.dtype = dtype;
            p.complex_taps = is_complex(dtype);
            p.mode = Mode::same;
            p.operation = k == 350001 ? Operation::correlation : Operation::convolution;
            const std::vector<std::byte> taps = drawn_here_and_there(p, random);
            expect_right(p, drawn(p.length, dtype, random), taps, make_plan_without_taps(p, by_overlap_save(name)));
        }
    }
}

TEST_F(TapsOnDevice, FewOfEveryTypeAndBoundary) {
    Random random(97);
    constexpr std::array<Boundary, 6> kBoundaries{Boundary::zero,    Boundary::constant, Boundary::nearest,
                                                  Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    constexpr std::array<std::int64_t, 6> kTaps{1, 2, 9, 33, 36, 64};
    for_every_type([&](Dtype dtype, bool complex_taps) {
        for (std::size_t b = 0; b < kBoundaries.size(); ++b) {
            for (const Operation operation : {Operation::convolution, Operation::correlation}) {
                const Problem p{.length = 2003,
                                .taps = kTaps[(b + (operation == Operation::convolution ? 0 : 3)) % kTaps.size()],
                                .mode = b % 2 == 0 ? Mode::full : Mode::same,
                                .boundary = kBoundaries[b],
                                .constant = 3,
                                .operation = operation,
                                .dtype = dtype,
                                .complex_taps = complex_taps};
                const std::vector<std::byte> in = drawn(p.length, dtype, random);
                const std::vector<std::byte> taps = drawn(p.taps, taps_dtype(p), random);
                const std::size_t offset = b % 3 == 1 ? size_of(dtype) : 0;
                for (const Plan& plan : direct_plans(p)) { expect_right(p, in, taps, plan, offset); }
                if (HasFailure()) { return; }
            }
        }
    });
}

// As many outputs as fill the device: other sizes, and tiles one after the other. The order of the sums is the same as with taps
// that were known before, which other tests compare with the textbook's.
TEST_F(TapsOnDevice, FewForLongSignals) {
    Random random(98);
    struct Case {
        Dtype dtype;
        std::int64_t length, taps;
    };
    constexpr std::array<Case, 5> kCases{{{Dtype::f32, 1700011, 9},
                                          {Dtype::f32, 1700011, 30},
                                          {Dtype::bf16, 2500001, 9},
                                          {Dtype::f64, 620011, 12},
                                          {Dtype::complex64, 620011, 64}}};
    for (const Case& c : kCases) {
        const Problem p{.length = c.length, .taps = c.taps, .mode = Mode::same, .dtype = c.dtype};
        const std::vector<std::byte> in = drawn(p.length, p.dtype, random);
        const std::vector<std::byte> taps = drawn(p.taps, taps_dtype(p), random);
        for (const Plan& plan : direct_plans(p)) {
            PlanOptions options = kOnDevice;
            options.algorithm = plan.algorithm();
            const std::vector<std::byte> wanted = execute_on_device<std::byte>(make_plan(p, taps.data(), options), in.data());
            EXPECT_TRUE(executed_with_taps(plan, in, taps) == wanted) << p.taps << " taps, " << plan.explain();
        }
    }
}

TEST_F(TapsOnDevice, FewForRowsStridesAndEpilogues) {
    Random random(99);
    for_every_type([&](Dtype dtype, bool complex_taps) {
        Problem p;
        p.length = 803;  // rows begin anywhere between two vectors
        p.batch = 5;
        p.taps = 21;
        p.dtype = dtype;
        p.complex_taps = complex_taps;
        p.mode = Mode::causal;
        p.operation = Operation::correlation;
        p.scale = 0.5;
        p.bias = 2;
        const std::vector<std::byte> taps = drawn(p.taps, taps_dtype(p), random);
        const std::vector<std::byte> in = drawn(input_extent(p), dtype, random);
        for (const Plan& plan : direct_plans(p)) { expect_right(p, in, taps, plan); }
        p.input_sample_stride = 5;
        p.input_row_stride = 1;
        p.output_sample_stride = 2;
        p.boundary = Boundary::mirror;
        const std::vector<std::byte> apart = drawn(input_extent(p), dtype, random);
        for (const Plan& plan : direct_plans(p)) { expect_right(p, apart, taps, plan); }
    });
}

TEST_F(TapsOnDevice, ManyAreSummedDirectlyUnderStrictAccuracy) {
    Random random(101);
    Problem p;
    p.length = 5003;
    for (const std::int64_t k : {300, 3000}) {
        p.taps = k;
        PlanOptions options = kOnDevice;
        options.accuracy = Accuracy::strict;
        expect_right(p, drawn(p.length, p.dtype, random), drawn(k, p.dtype, random), make_plan_without_taps(p, options));
    }
}

// A NaN or an infinity at the taps' ends meets what lies outside the signal: there is nothing.
TEST_F(TapsOnDevice, FewThatAreNotFiniteMeetNoSamplesOutside) {
    Random random(100);
    constexpr std::int64_t kTaps = 35;
    int cases = 0;
    const auto check = [&]<class T>(Dtype dtype, T) {
        for (const std::int64_t at : {std::int64_t{0}, std::int64_t{17}, kTaps - 1}) {
            for (const Mode mode : {Mode::full, Mode::same, Mode::causal}) {
                const T value = ++cases % 2 == 0 ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity();
                Problem p;
                p.length = 1100;  // the textbook is slow with infinities
                p.batch = 2;
                p.taps = kTaps;
                p.dtype = dtype;
                p.mode = mode;
                if (mode == Mode::causal) { p.scale = 2; }
                if (mode == Mode::same && at == 0) { p.origin = -70; }
                std::vector<std::byte> taps = drawn(kTaps, taps_dtype(p), random);
                std::memcpy(taps.data() + static_cast<std::size_t>(at) * sizeof(T), &value, sizeof(T));
                std::vector<std::byte> in = drawn(2 * p.length, dtype, random);
                for (const std::int64_t zero : {std::int64_t{0}, std::int64_t{900}, p.length - 1, 2 * p.length - 1}) {
                    std::memset(in.data() + bytes_of(zero, dtype), 0, size_of(dtype));
                }
                const std::size_t offset = at == 17 ? size_of(dtype) : 0;
                for (const Plan& plan : direct_plans(p)) { expect_right(p, in, taps, plan, offset); }
                if (HasFailure()) { return; }
            }
        }
    };
    check(Dtype::f32, float{});
    check(Dtype::f16, float{});
    check(Dtype::bf16, float{});
    check(Dtype::complex64, float{});
    check(Dtype::f64, double{});
}

// So many that tensor_direct keeps 16-bit samples in registers. The textbook takes half a minute for so many infinities.
TEST_F(TapsOnDevice, FewThatAreNotFiniteBesideAVeryLongSignal) {
    Random random(102);
    const Problem p{.length = 12000003, .taps = 3, .mode = Mode::same, .dtype = Dtype::bf16};
    const std::vector<std::byte> in = drawn(p.length, p.dtype, random);
    const std::vector<float> taps{std::numeric_limits<float>::infinity(), 0.5F, -2.0F};
    PlanOptions options = kOnDevice;
    options.algorithm = "tensor_direct";
    std::vector<std::byte> out;
    try {
        out = executed_with_taps(make_plan_without_taps(p, options), in, std::as_bytes(std::span(taps)));
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
        return;
    }
    constexpr unsigned kSign = 0x8000;
    constexpr unsigned kInfinity = 0x7f80;
    const auto word = [](const std::vector<std::byte>& bytes, std::int64_t at) {
        std::uint16_t value = 0;
        std::memcpy(&value, bytes.data() + 2 * at, 2);
        return unsigned{value};
    };
    const auto number = [&](const std::vector<std::byte>& bytes, std::int64_t at) {
        return std::bit_cast<float>(std::uint32_t{word(bytes, at)} << 16);
    };
    std::int64_t wrong = 0;
    for (std::int64_t o = 0; o + 1 < p.length; ++o) {  // infinity times sample o + 1
        const unsigned x = word(in, o + 1);
        const unsigned y = word(out, o);
        const bool is_nan = (y & ~kSign) > kInfinity;
        wrong += (x & ~kSign) == 0 ? !is_nan : y != (kInfinity | (x & kSign));
    }
    EXPECT_EQ(wrong, 0);
    const float last = 0.5F * number(in, p.length - 1) - 2 * number(in, p.length - 2);
    EXPECT_NEAR(number(out, p.length - 1), last, 0.01F * std::abs(last));
}

TEST_F(TapsOnDevice, ThatAreNotFiniteReachWhatTheyReachOtherwise) {
    Random random(93);
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        for (const Mode mode : {Mode::full, Mode::same}) {
            const Problem p{.length = 5000, .taps = 600, .mode = mode};
            std::vector<float> taps = random_floats(p.taps, random);
            taps[77] = value;
            std::vector<float> in = random_floats(p.length, random);
            in[900] = 0;
            expect_right(p, std::as_bytes(std::span(in)), std::as_bytes(std::span(taps)),
                         make_plan_without_taps(p, by_overlap_save()));
        }
    }
}

// Nothing waits on the host: each execution has the taps that are there when the stream comes to it.
TEST_F(TapsOnDevice, AreReadInTheStreamsOrder) {
    Random random(94);
    for (const std::int64_t k : {9, 64, 511}) {
        const Problem p{.length = 40000, .taps = k, .mode = Mode::same};
        const Plan plan = make_plan_without_taps(p, kOnDevice);
        const std::vector<float> in = random_floats(p.length, random);
        const DeviceBuffer device_in = DeviceBuffer::of(in);
        const DeviceBuffer taps(bytes_of(p.taps, p.dtype));
        const DeviceBuffer workspace(plan.workspace_bytes());
        constexpr int kTimes = 4;
        std::vector<std::vector<float>> all;
        std::vector<DeviceBuffer> on_device;
        std::vector<DeviceBuffer> outs;
        for (int i = 0; i < kTimes; ++i) {
            all.push_back(random_floats(p.taps, random));
            on_device.push_back(DeviceBuffer::of(all.back()));
            outs.emplace_back(bytes_of(p.length, p.dtype));
        }
        const DeviceStream stream;
        for (int i = 0; i < kTimes; ++i) {
            cuda_abi::Status status;
            require(api().copy(kDevice, taps.data(), on_device[i].data(), static_cast<std::int64_t>(taps.size()), stream.abi(),
                               &status),
                    status, "copy");
            plan.execute_with_taps(outs[i].data(), device_in.data(), taps.data(), workspace.span(), stream.get());
        }
        stream.synchronize();
        for (int i = 0; i < kTimes; ++i) {
            EXPECT_EQ(compare(p, outs[i].values<float>().data(), in.data(), all[i].data(), false), "") << "execution " << i;
        }
    }
}

TEST_F(TapsOnDevice, AreAskedForAndRefusedWithAReason) {
    const Problem p{.length = 3000, .taps = 200};
    const Plan plan = make_plan_without_taps(p, by_overlap_save());
    const std::vector<float> taps(200, 1.0F);
    const DeviceBuffer in(bytes_of(p.length, p.dtype));
    const DeviceBuffer out(bytes_of(output_length(p), p.dtype));
    const DeviceBuffer on_device = DeviceBuffer::of(taps);
    const DeviceBuffer workspace(plan.workspace_bytes());
    expect_error(ErrorCode::argument, "taps", [&] { plan.execute(out.data(), in.data(), workspace.span()); });
    expect_error(ErrorCode::argument, "taps",
                 [&] { plan.execute_with_taps(out.data(), in.data(), taps.data(), workspace.span()); });
    expect_error(ErrorCode::argument, "workspace", [&] { plan.execute_with_taps(out.data(), in.data(), on_device.data(), {}); });
    const Plan prepared = make_plan(p, taps, by_overlap_save());
    const DeviceBuffer large(std::max<std::size_t>(prepared.workspace_bytes(), 64));
    expect_error(ErrorCode::argument, "taps",
                 [&] { prepared.execute_with_taps(out.data(), in.data(), on_device.data(), large.span()); });
    expect_error(ErrorCode::argument, "taps", [&] { make_plan_without_taps(p, {.device = "cpu"}); });
}

}  // namespace
}  // namespace tapline::test
