// Ordinary host memory through the GPU: execute_host and Stream.
#include "gpu/driver.hpp"
#include "gpu/gpu.hpp"
#include "gpu/own_process.hpp"
#include "gpu_host/chunks.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

struct HostCase {
    Problem problem;
    std::vector<std::byte> in, taps;
};

HostCase make_case(const Problem& problem, Random& random) {
    HostCase c{problem, {}, {}};
    c.in.resize(bytes_of(input_extent(problem), problem.dtype));
    c.taps.resize(bytes_of(taps_extent(problem), taps_dtype(problem)));
    fill_random(c.in.data(), problem.dtype, input_extent(problem), random);
    fill_random(c.taps.data(), taps_dtype(problem), taps_extent(problem), random);
    return c;
}

// "" or what is wrong with a plan's execute_host.
std::string host_failure(const Plan& plan, const HostCase& c, std::size_t offset = 0) {
    const Problem& p = c.problem;
    GuardedBuffer out(bytes_of(output_extent(p), output_dtype(p)), offset * size_of(real_part_of(output_dtype(p))));
    plan.execute_host(out.data(), c.in.data());
    if (!out.guards_intact()) { return "wrote outside the output"; }
    return compare(p, out.data(), c.in.data(), c.taps.data(), is_elementwise(plan));
}

class HostBuffers : public GpuTest {};

TEST_F(HostBuffers, ProblemsDrawnAtRandom) {
    const std::int64_t cases = environment_number("TAPLINE_PROPERTY_CASES", 4000) / 8;
    for (std::int64_t i = 0; i < cases && !HasFailure(); ++i) {
        Random random(7000 + static_cast<std::uint64_t>(i));
        Problem p = draw_problem(700, 300, random);
        if (!is_complex(p.dtype) && chance(0.3, random) && p.boundary != Boundary::constant) {
            p.dtype = chance(0.5, random) ? Dtype::f16 : Dtype::bf16;
        }
        const HostCase c = make_case(p, random);
        try {
            const Plan plan = make_plan(p, c.taps.data(), {.device = "cuda"});
            EXPECT_EQ(host_failure(plan, c, static_cast<std::size_t>(between(0, 9, random))), "")
                << "case " << i << ": " << plan.algorithm() << ": " << describe(p);
        } catch (const std::exception& error) { ADD_FAILURE() << "case " << i << ": " << error.what() << ": " << describe(p); }
    }
}

Problem large(std::int64_t n, std::int64_t k, Boundary boundary) {
    return {.length = n, .taps = k, .mode = Mode::same, .boundary = boundary, .constant = boundary == Boundary::constant ? 0.5 : 0};
}

// Signals of many chunks: each boundary rule at both ends and every chunk's halo.
void expect_large_signals(std::int64_t n) {
    Random random(60);
    for (int b = 0; b <= 5; ++b) {
        const HostCase c = make_case(large(n, 33, static_cast<Boundary>(b)), random);
        const Plan plan = make_plan(c.problem, c.taps.data(), {.device = "cuda"});
        ASSERT_EQ(host_failure(plan, c), "") << describe(c.problem);
    }
    Problem rows = large(n / 8, 9, Boundary::reflect);
    rows.batch = 8;
    rows.filters = Filters::per_row;
    Problem interleaved = rows;
    interleaved.input_row_stride = interleaved.output_row_stride = 1;
    interleaved.input_sample_stride = interleaved.output_sample_stride = 8;
    Problem clamped = large(n / 2, 17, Boundary::zero);
    clamped.input_sample_stride = 2;
    clamped.clamp = Clamp{0, 1};
    Problem full = large(n / 2, 100, Boundary::zero);
    full.mode = Mode::full;
    full.dtype = Dtype::f64;
    for (const Problem& p : {rows, interleaved, clamped, full}) {
        const HostCase c = make_case(p, random);
        const Plan plan = make_plan(p, c.taps.data(), {.device = "cuda"});
        ASSERT_EQ(host_failure(plan, c), "") << describe(p);
    }
}

TEST_F(HostBuffers, SignalsOfManyChunks) {
    gpu_host::PipelineSettings& settings = gpu_host::pipeline_settings();
    const gpu_host::PipelineSettings before = settings;
    settings.chunk_bytes = 1 << 16;
    expect_large_signals(300'007);
    settings = before;
}

// 4 MiB of device memory and signals of 4.4 MB in, 4.4 MB out.
TEST_F(HostBuffers, SignalLargerThanTheDevicesMemory) {
    if (!in_own_process({"TAPLINE_CUDA_MEMORY_LIMIT=4194304"})) { return; }
    cuda_abi::Status status;
    void* all = api().allocate(0, std::int64_t{5} << 20, &status);
    ASSERT_EQ(all, nullptr) << "the limit does not hold";
    expect_large_signals(1'100'013);
}

TEST_F(HostBuffers, TheBitsAreThoseOfDeviceBuffers) {
    Random random(61);
    for (const std::int64_t k : {5, 65, 3000}) {
        const HostCase c = make_case(large(3'000'017, k, Boundary::mirror), random);
        const Plan plan = make_plan(c.problem, c.taps.data(), {.device = "cuda"});
        std::vector<float> out(static_cast<std::size_t>(c.problem.length));
        plan.execute_host(out.data(), c.in.data());
        EXPECT_EQ(out, execute_on_device<float>(plan, c.in.data())) << plan.algorithm();
    }
}

TEST_F(HostBuffers, BadOnesAreRefused) {
    Random random(62);
    const HostCase c = make_case(large(1000, 5, Boundary::zero), random);
    const Plan plan = make_plan(c.problem, c.taps.data(), {.device = "cuda"});
    std::vector<float> buffer(3000);
    auto* p = reinterpret_cast<std::byte*>(buffer.data());
    EXPECT_THROW(plan.execute_host(nullptr, p), Error);
    EXPECT_THROW(plan.execute_host(p, nullptr), Error);
    EXPECT_THROW(plan.execute_host(p, p), Error);
    EXPECT_THROW(plan.execute_host(p + 4 * 999, p), Error);
    EXPECT_THROW(plan.execute_host(p + 2, p + 8000), Error);
    EXPECT_EQ(host_failure(plan, c), "");
}

class DeviceStreams : public GpuTest {
protected:
    static std::vector<std::byte> streamed(const Problem& p, const HostCase& c, Random& random) {
        const std::size_t in_frame = bytes_of(p.batch, p.dtype);
        const std::size_t out_frame = bytes_of(p.batch, output_dtype(p));
        Stream stream(p, c.taps.data(), {.plan = {.device = "cuda"}, .samples_per_run = between(1, 5000, random)});
        std::vector<std::byte> out;
        const auto drain = [&] {
            std::vector<std::byte> frames(out_frame * 1000);
            while (const std::int64_t got = stream.take(frames.data(), 1000)) {
                out.insert(out.end(), frames.begin(), frames.begin() + got * static_cast<std::int64_t>(out_frame));
            }
        };
        for (std::int64_t at = 0; at < p.length;) {
            const std::int64_t frames = std::min(p.length - at, between(1, 3000, random));
            stream.push(c.in.data() + static_cast<std::size_t>(at) * in_frame, frames);
            drain();
            at += frames;
        }
        stream.flush();
        drain();
        return out;
    }
};

// Rows of `across` elements as columns.
template <class Bytes>
std::vector<std::byte> turned(const Bytes& from, std::int64_t down, std::int64_t across, std::size_t bytes) {
    std::vector<std::byte> to(static_cast<std::size_t>(down * across) * bytes);
    const auto* const elements = reinterpret_cast<const std::byte*>(from.data());
    for (std::int64_t i = 0; i < down; ++i) {
        for (std::int64_t j = 0; j < across; ++j) {
            std::memcpy(to.data() + static_cast<std::size_t>(j * down + i) * bytes,
                        elements + static_cast<std::size_t>(i * across + j) * bytes, bytes);
        }
    }
    return to;
}

TEST_F(DeviceStreams, GiveTheBitsOfTheWhole) {
    Random random(63);
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::f16}) {
        for (const Boundary boundary :
             {Boundary::zero, Boundary::constant, Boundary::nearest, Boundary::reflect, Boundary::mirror}) {
            for (const std::int64_t batch : {1, 2, 5}) {
                for (const std::int64_t k : {1, 9, 64, 1500}) {
                    // The emulated engine sums by the textbook.
                    Problem p = large(k > 1000 && !has_driver() ? 2011 : 20011, k, boundary);
                    p.dtype = dtype;
                    p.batch = batch;
                    p.mode = chance(0.5, random) ? Mode::full : Mode::causal;
                    p.input_row_stride = p.output_row_stride = 1;
                    p.input_sample_stride = p.output_sample_stride = batch;
                    const HostCase c = make_case(p, random);
                    // A plan of rows one behind the other, as those of a stream's chunks are on the device.
                    Problem rows = p;
                    rows.input_row_stride = rows.output_row_stride = std::nullopt;
                    rows.input_sample_stride = rows.output_sample_stride = std::nullopt;
                    const Plan plan = make_plan(rows, c.taps.data(), {.device = "cuda"});
                    std::vector<std::byte> whole(bytes_of(output_extent(p), output_dtype(p)));
                    plan.execute_host(whole.data(), turned(c.in, p.length, batch, size_of(dtype)).data());
                    ASSERT_EQ(streamed(p, c, random), turned(whole, batch, output_length(p), size_of(output_dtype(p))))
                        << plan.algorithm() << ": " << describe(p);
                }
            }
        }
    }
}

}  // namespace
}  // namespace tapline::test
