// Several GPUs against one: the same bits, whatever the cuts. With one GPU the plans of one part are tried.
#include <numeric>

#include "gpu/gpu.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

int devices() { return gpu_host::library().devices; }

std::string all_devices() { return "cuda:all"; }

class Devices : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (!IsSkipped() && devices() < 2) { GTEST_SKIP() << "one GPU"; }
    }
};

// A packed problem of floating samples (rows, n) and its data.
struct Case {
    Problem problem;
    std::int64_t rows = 1;
    std::vector<std::byte> in, taps;
};

Case make_case(Problem p, std::int64_t rows, Random& random) {
    p.batch = rows;
    Case c{p, rows, {}, {}};
    c.in.resize(bytes_of(input_extent(p), p.dtype));
    c.taps.resize(bytes_of(taps_extent(p), taps_dtype(p)));
    fill_random(c.in.data(), p.dtype, input_extent(p), random);
    fill_random(c.taps.data(), taps_dtype(p), taps_extent(p), random);
    return c;
}

// A part's rows as they lie in its buffer; `scatter`: from the whole to it, else back.
void copy_rows(bool scatter, std::vector<std::byte>& part, std::byte* whole, std::int64_t rows, std::int64_t length,
               const Span& span, std::int64_t bytes) {
    for (std::int64_t row = 0; row < rows; ++row) {
        std::byte* const there = part.data() + row * span.size() * bytes;
        std::byte* const here = whole + (row * length + span.first) * bytes;
        std::memcpy(scatter ? there : here, scatter ? here : there, static_cast<std::size_t>(span.size() * bytes));
    }
}

std::vector<std::byte> in_parts(const Case& c, const std::string& algorithm, const std::vector<std::int64_t>& cuts) {
    const Problem& p = c.problem;
    const DevicesPlan plan(p, c.taps.data(), {.device = all_devices(), .algorithm = algorithm}, cuts);
    const std::int64_t n = p.length, m = output_length(p);
    const auto in_bytes = static_cast<std::int64_t>(size_of(p.dtype)),
               out_bytes = static_cast<std::int64_t>(size_of(output_dtype(p)));
    std::vector<DeviceBuffer> in, out;
    std::vector<DeviceStream> streams;
    std::vector<void*> to, raw;
    std::vector<const void*> from;
    std::vector<std::byte> whole_in = c.in;
    for (int device = 0; device < devices(); ++device) {
        const DevicePart& part = plan.parts()[static_cast<std::size_t>(device)];
        std::vector<std::byte> own(static_cast<std::size_t>(c.rows * part.samples.size() * in_bytes));
        copy_rows(true, own, whole_in.data(), c.rows, n, part.samples, in_bytes);
        in.push_back(DeviceBuffer::of(own, 0, device));
        out.emplace_back(static_cast<std::size_t>(c.rows * part.outputs.size() * out_bytes), Guard::output, 0, device);
        streams.emplace_back(device);
        from.push_back(in.back().data());
        to.push_back(out.back().data());
        raw.push_back(streams.back().get());
    }
    for (int twice = 0; twice < 2; ++twice) { plan.execute(to, from, raw); }  // the second one behind the first
    std::vector<std::byte> result(static_cast<std::size_t>(c.rows * m * out_bytes));
    for (int device = 0; device < devices(); ++device) {
        const auto i = static_cast<std::size_t>(device);
        streams[i].synchronize();
        EXPECT_TRUE(in[i].guards_intact() && out[i].guards_intact()) << plan.explain();
        std::vector<std::byte> own = out[i].values<std::byte>();
        copy_rows(false, own, result.data(), c.rows, m, plan.parts()[i].outputs, out_bytes);
    }
    return result;
}

std::vector<std::byte> on_one(const Case& c, const std::string& algorithm) {
    const Plan plan = make_plan(c.problem, c.taps.data(), {.device = "cuda", .algorithm = algorithm});
    return execute_on_device<std::byte>(plan, c.in.data());
}

TEST_F(Devices, EveryAlgorithmGivesTheBitsOfOne) {
    const std::int64_t cases = environment_number("TAPLINE_PROPERTY_CASES", 2000) / 20;
    constexpr std::array kModes{Mode::full, Mode::same, Mode::valid, Mode::causal, Mode::leading};
    constexpr std::array kBoundaries{Boundary::zero,    Boundary::constant, Boundary::nearest,
                                     Boundary::reflect, Boundary::mirror,   Boundary::wrap};
    constexpr std::array kTypes{Dtype::f32, Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::f16};
    for (std::int64_t i = 0; i < cases && !HasFailure(); ++i) {
        Random random(900 + static_cast<std::uint64_t>(i));
        const std::int64_t n = chance(0.5, random) ? between(20000, 300000, random) : between(2 * devices(), 5000, random);
        const std::int64_t k = chance(0.6, random) ? between(1, std::min<std::int64_t>(n, 200), random)
                                                   : between(1, std::min<std::int64_t>(n, 40000), random);
        Problem p{.length = n, .taps = k, .mode = pick(kModes, random), .boundary = pick(kBoundaries, random), .constant = 2};
        p.dtype = pick(kTypes, random);
        const Case c = make_case(p, chance(0.7, random) ? 1 : between(2, 5, random), random);
        std::vector<std::int64_t> cuts;
        for (int d = 1; chance(0.5, random) && d < devices(); ++d) { cuts.push_back(n * d / devices() + between(-1, 0, random)); }
        if (cuts.size() + 1 != static_cast<std::size_t>(devices())) { cuts.clear(); }
        for (const AlgorithmInfo& info : algorithms(c.problem, "cuda")) {
            if (!info.supported) { continue; }
            try {
                EXPECT_EQ(in_parts(c, info.name, cuts), on_one(c, info.name))
                    << "case " << i << ": " << info.name << ": " << describe(c.problem);
            } catch (const Error& error) {
                if (error.code() != ErrorCode::unsupported) { ADD_FAILURE() << info.name << ": " << error.what(); }
            }
        }
    }
}

TEST_F(Devices, HostBuffersGiveTheBitsOfOne) {
    setenv("TAPLINE_CUDA_TAKE_ALL", "1", 1);
    for (const std::int64_t k : {9, 127, 2047}) {
        for (const std::int64_t rows : {1, 40}) {
            Random random(31);
            const Case c = make_case({.length = 3000000 / rows, .taps = k, .mode = Mode::same}, rows, random);
            std::vector<std::byte> one(bytes_of(output_extent(c.problem), Dtype::f32)), all(one.size());
            make_plan(c.problem, c.taps.data(), {.device = "cuda"}).execute_host(one.data(), c.in.data());
            const Plan plan = make_plan(c.problem, c.taps.data(), {.device = all_devices()});
            plan.execute(all.data(), c.in.data());
            EXPECT_EQ(one, all) << plan.explain();
        }
    }
    unsetenv("TAPLINE_CUDA_TAKE_ALL");
}

TEST_F(Devices, WithoutPeerAccessByWayOfTheHost) {
    setenv("TAPLINE_CUDA_PEER_ACCESS", "0", 1);
    Random random(5);
    const Case c = make_case({.length = 100000, .taps = 127, .mode = Mode::same}, 3, random);
    const DevicesPlan plan(c.problem, c.taps.data(), {.device = all_devices()});
    EXPECT_NE(plan.explain().find("by way of the host"), std::string::npos) << plan.explain();
    EXPECT_EQ(in_parts(c, plan.algorithm(), {}), on_one(c, plan.algorithm()));
    unsetenv("TAPLINE_CUDA_PEER_ACCESS");
}

}  // namespace
}  // namespace tapline::test
