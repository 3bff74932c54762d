// Lengths above 2^31. Signals and taps are small integers, so that every sum is exact in any order and must be equal.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "core/problem/half.hpp"
#include "gpu/gpu.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr std::int64_t kTwoTo31 = std::int64_t{1} << 31;

// An integer of -2..2 that depends on the whole index (splitmix64), so that no shift of the sequence looks like itself.
int element(std::int64_t index, std::uint64_t salt) {
    std::uint64_t z = static_cast<std::uint64_t>(index) + salt * 0x9E3779B97F4A7C15U;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return static_cast<int>((z ^ z >> 31) % 5) - 2;
}

constexpr std::uint64_t kSignalSalt = 1;
constexpr std::uint64_t kTapsSalt = 2;

// body(first, last) over [0, count) on all cores.
template <class Body>
void in_parallel(std::int64_t count, const Body& body) {
    const auto workers = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
    std::vector<std::thread> threads;
    for (std::int64_t w = 0; w < workers; ++w) {
        threads.emplace_back([&, w] { body(count * w / workers, count * (w + 1) / workers); });
    }
    for (std::thread& thread : threads) { thread.join(); }
}

std::int64_t host_bytes() { return static_cast<std::int64_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE); }

// Elements first, first+1, ... of the signal in the problem's type.
void fill_signal(void* to, Dtype dtype, std::int64_t first, std::int64_t count) {
    std::uint16_t halves[5];
    for (int v = -2; v <= 2; ++v) { halves[v + 2] = dtype == Dtype::bf16 ? core::to_bf16(v) : core::to_f16(v); }
    in_parallel(count, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const int value = element(first + i, kSignalSalt);
            if (dtype == Dtype::f32) {
                static_cast<float*>(to)[i] = static_cast<float>(value);
            } else {
                static_cast<std::uint16_t*>(to)[i] = halves[value + 2];
            }
        }
    });
}

// A signal that is never in host memory as a whole.
void upload_signal(const DeviceBuffer& to, Dtype dtype, std::int64_t n) {
    constexpr std::int64_t kChunk = std::int64_t{1} << 26;
    std::vector<std::byte> chunk(static_cast<std::size_t>(std::min(n, kChunk)) * size_of(dtype));
    for (std::int64_t first = 0; first < n; first += kChunk) {
        const std::int64_t count = std::min(kChunk, n - first);
        fill_signal(chunk.data(), dtype, first, count);
        to.write(chunk.data(), static_cast<std::size_t>(count) * size_of(dtype), static_cast<std::size_t>(first) * size_of(dtype));
    }
}

class Large : public GpuTest {
protected:
    // Reason to skip, or empty.
    static std::string lacks(std::int64_t device_bytes, std::int64_t wanted_host_bytes) {
        const std::int64_t device = api().free_bytes(0);
        if (device < device_bytes) {
            return "needs " + std::to_string(device_bytes >> 20) + " MiB of device memory, " + std::to_string(device >> 20) +
                   " are free";
        }
        if (host_bytes() < wanted_host_bytes) {
            return "needs " + std::to_string(wanted_host_bytes >> 20) + " MiB of host memory, " +
                   std::to_string(host_bytes() >> 20) + " are free";
        }
        return {};
    }

    // Outputs of mode same at the ends, around powers of two and at random, exact or (transforms) to the nearest integer.
    static void expect_blocks(const Problem& p, const std::vector<float>& taps, const DeviceBuffer& out, bool exact) {
        constexpr std::int64_t kBlock = 65536;
        const std::int64_t n = p.length;
        std::vector<std::int64_t> starts{0, n - kBlock, (n - kBlock) / 2};
        for (const int power : {28, 29, 30, 31}) { starts.push_back((std::int64_t{1} << power) - kBlock / 2); }
        Random random(70);
        for (int i = 0; i < 64; ++i) { starts.push_back(std::uniform_int_distribution<std::int64_t>(0, n - kBlock)(random)); }
        const std::size_t size = size_of(p.dtype);
        for (const std::int64_t start : starts) {
            const std::int64_t first = std::clamp<std::int64_t>(start, 0, n - kBlock);
            std::vector<std::byte> bytes(kBlock * size);
            out.read(bytes.data(), bytes.size(), static_cast<std::size_t>(first) * size);
            for (std::int64_t i = 0; i < kBlock; ++i) {
                double wanted = 0;
                for (std::int64_t t = 0; t < p.taps; ++t) {
                    const std::int64_t at = first + i + t - p.taps / 2;
                    if (at >= 0 && at < n) {
                        wanted += static_cast<double>(taps[static_cast<std::size_t>(t)]) * element(at, kSignalSalt);
                    }
                }
                float got = 0;
                if (p.dtype == Dtype::f32) {
                    std::memcpy(&got, bytes.data() + static_cast<std::size_t>(i) * size, size);
                } else {
                    std::uint16_t bits = 0;
                    std::memcpy(&bits, bytes.data() + static_cast<std::size_t>(i) * size, size);
                    got = p.dtype == Dtype::bf16 ? core::from_bf16(bits) : core::from_f16(bits);
                }
                ASSERT_EQ(exact ? static_cast<double>(got) : std::round(static_cast<double>(got)), wanted)
                    << to_string(p.dtype) << ", output " << first + i;
            }
        }
    }

    static void expect_long_signal(Dtype dtype, std::int64_t k) {
        const Problem p{
            .length = kTwoTo31 + 4099, .taps = k, .mode = Mode::same, .operation = Operation::correlation, .dtype = dtype};
        const auto bytes = static_cast<std::size_t>(p.length) * size_of(dtype);
        if (const std::string reason = lacks(2 * static_cast<std::int64_t>(bytes) + (1 << 28), 1 << 30); !reason.empty()) {
            GTEST_SKIP() << reason;
        }
        std::vector<float> taps(static_cast<std::size_t>(k));
        for (std::int64_t t = 0; t < k; ++t) { taps[static_cast<std::size_t>(t)] = static_cast<float>(element(t, kTapsSalt)); }
        const Plan plan = make_plan(p, taps, {.device = "cuda"});
        const DeviceBuffer in(bytes, Guard::input);
        const DeviceBuffer out(bytes);
        const DeviceBuffer workspace(plan.workspace_bytes());
        upload_signal(in, dtype, p.length);
        const DeviceStream stream;
        plan.execute(out.data(), in.data(), workspace.span(), stream.get());
        stream.synchronize();
        EXPECT_TRUE(out.guards_intact() && in.guards_intact() && workspace.guards_intact());
        expect_blocks(p, taps, out, is_elementwise(plan));
    }
};

TEST_F(Large, SignalAbove2To31F32) { expect_long_signal(Dtype::f32, 17); }
TEST_F(Large, SignalAbove2To31F32ManyTaps) { expect_long_signal(Dtype::f32, 129); }
TEST_F(Large, SignalAbove2To31F16) { expect_long_signal(Dtype::f16, 33); }
TEST_F(Large, SignalAbove2To31Bf16) { expect_long_signal(Dtype::bf16, 4); }

// Partial sums stay below 2^24 (their spread is 2 sqrt(2^31) = 92,682), so f32 holds each of them.
TEST_F(Large, SignalAndTapsBothNear2To31) {
    constexpr std::int64_t kOutputs = 7;
    Problem p;
    p.length = kTwoTo31 + 1031;
    p.taps = p.length - kOutputs + 1;
    p.mode = Mode::valid;
    p.operation = Operation::correlation;
    const auto bytes = p.length * static_cast<std::int64_t>(sizeof(float));
    // The plan keeps two copies of the taps beside the caller's while it is made.
    if (const std::string reason = lacks(2 * bytes + (std::int64_t{1} << 30), 4 * bytes); !reason.empty()) {
        GTEST_SKIP() << reason;
    }
    std::unique_ptr<float[]> taps(new float[static_cast<std::size_t>(p.taps)]);
    in_parallel(p.taps, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
            taps[static_cast<std::size_t>(t)] = static_cast<float>(element(t, kTapsSalt));
        }
    });
    const Plan plan = make_plan(p, taps.get(), {.device = "cuda"});
    const DeviceBuffer in(static_cast<std::size_t>(bytes), Guard::input);
    upload_signal(in, Dtype::f32, p.length);
    const DeviceBuffer out(kOutputs * sizeof(float));
    const DeviceBuffer workspace(plan.workspace_bytes());
    const DeviceStream stream;
    plan.execute(out.data(), in.data(), workspace.span(), stream.get());
    std::vector<std::int64_t> wanted(kOutputs);
    std::vector<std::vector<std::int64_t>> parts(std::max(1U, std::thread::hardware_concurrency()),
                                                 std::vector<std::int64_t>(kOutputs));
    in_parallel(static_cast<std::int64_t>(parts.size()), [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t part = first; part < last; ++part) {
            const auto count = static_cast<std::int64_t>(parts.size());
            std::int64_t sums[kOutputs] = {};
            int window[kOutputs];  // signal elements t .. t+6
            const std::int64_t begin = p.taps / count * part;
            const std::int64_t end = part + 1 == count ? p.taps : p.taps / count * (part + 1);
            for (std::int64_t o = 0; o < kOutputs; ++o) { window[o] = element(begin + o, kSignalSalt); }
            for (std::int64_t t = begin; t < end; ++t) {
                const auto tap = static_cast<int>(taps[static_cast<std::size_t>(t)]);
                for (std::int64_t o = 0; o < kOutputs; ++o) { sums[o] += tap * window[o]; }
                for (std::int64_t o = 0; o + 1 < kOutputs; ++o) { window[o] = window[o + 1]; }
                window[kOutputs - 1] = element(t + kOutputs, kSignalSalt);
            }
            std::copy(std::begin(sums), std::end(sums), parts[static_cast<std::size_t>(part)].begin());
        }
    });
    for (const auto& part : parts) {
        for (std::size_t o = 0; o < wanted.size(); ++o) { wanted[o] += part[o]; }
    }
    stream.synchronize();
    EXPECT_TRUE(out.guards_intact() && in.guards_intact() && workspace.guards_intact());
    const std::vector<float> got = out.values<float>();
    for (std::size_t o = 0; o < wanted.size(); ++o) {
        EXPECT_EQ(static_cast<double>(got[o]), static_cast<double>(wanted[o])) << "output " << o;
    }
}

// The same exactness on every algorithm that takes filters as long as the signal, at a size that any device and the emulated
// engine can hold.
TEST_F(Large, LongFiltersAreExact) {
    Problem p;
    p.length = 1 << 20;
    p.taps = p.length - 4;
    p.mode = Mode::valid;
    p.operation = Operation::correlation;
    std::vector<float> in(static_cast<std::size_t>(p.length));
    std::vector<float> taps(static_cast<std::size_t>(p.taps));
    fill_signal(in.data(), Dtype::f32, 0, p.length);
    for (std::int64_t t = 0; t < p.taps; ++t) { taps[static_cast<std::size_t>(t)] = static_cast<float>(element(t, kTapsSalt)); }
    std::vector<float> wanted(5);
    for (std::size_t o = 0; o < wanted.size(); ++o) {
        double sum = 0;
        for (std::size_t t = 0; t < taps.size(); ++t) { sum += static_cast<double>(taps[t]) * static_cast<double>(in[o + t]); }
        wanted[o] = static_cast<float>(sum);
    }
    int ran = 0;
    for (const AlgorithmInfo& info : algorithms(p, "cuda")) {
        if (!info.supported || rung_named(info.name).info().is_local == 0) { continue; }
        const Plan plan = make_plan(p, taps, {.device = "cuda", .algorithm = info.name});
        EXPECT_EQ(execute_on_device<float>(plan, in.data()), wanted) << info.name;
        ++ran;
    }
    EXPECT_GT(ran, 0);
}

}  // namespace
}  // namespace tapline::test
