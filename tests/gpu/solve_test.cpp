// libtapline_solve.so: solve(input, kernel, output, input_size, kernel_size) on device pointers, mode valid, correlation.
#include <dlfcn.h>

#include <unistd.h>
#include <array>
#include <climits>
#include <cmath>

#include "gpu/driver.hpp"
#include "gpu/gpu.hpp"

namespace tapline::test {
namespace {

using SolveFunction = void (*)(const float* input, const float* kernel, float* output, int input_size, int kernel_size);

std::string folder_of_this_program() {
    std::array<char, PATH_MAX> self{};
    if (readlink("/proc/self/exe", self.data(), self.size() - 1) <= 0) { return {}; }
    const std::string path = self.data();
    return path.substr(0, path.rfind('/'));
}

class Solve : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped() || HasFatalFailure()) { return; }
        if (!has_driver()) { TAPLINE_GPU_MISSING("solve() needs a CUDA driver"); }
        const std::string folder = folder_of_this_program();
        for (const std::string& path : {folder + "/libtapline_solve.so", folder + "/lib/libtapline_solve.so"}) {
            if (library_ == nullptr) { library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }
        }
        ASSERT_NE(library_, nullptr) << dlerror();
        solve_ = reinterpret_cast<SolveFunction>(dlsym(library_, "solve"));
        ASSERT_NE(solve_, nullptr) << "libtapline_solve.so has no solve()";
    }

    std::vector<float> solve(const std::vector<float>& in, const std::vector<float>& taps) {
        const DeviceBuffer device_in = DeviceBuffer::of(in);
        const DeviceBuffer device_taps = DeviceBuffer::of(taps);
        const DeviceBuffer out((in.size() - taps.size() + 1) * sizeof(float));
        solve_(static_cast<const float*>(device_in.data()), static_cast<const float*>(device_taps.data()),
               static_cast<float*>(out.data()), static_cast<int>(in.size()), static_cast<int>(taps.size()));
        synchronize_device();
        EXPECT_TRUE(out.guards_intact() && device_in.guards_intact() && device_taps.guards_intact());
        return out.values<float>();
    }

    void* library_ = nullptr;
    SolveFunction solve_ = nullptr;
};

TEST_F(Solve, ItsOwnCase) { EXPECT_EQ(solve({1, 2, 3, 4, 5}, {1, 0, -1}), (std::vector<float>{-2, -2, -2})); }

TEST_F(Solve, AwkwardSizesAndTheLargest) {
    Random random(95);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const std::vector<std::pair<std::size_t, std::size_t>> sizes{{1, 1},    {2, 2},       {33, 32},      {2047, 2047},   {2048, 1},
                                                                 {2049, 2}, {4099, 1031}, {100003, 257}, {1500000, 2047}};
    for (const auto& [n, k] : sizes) {
        std::vector<float> in(n);
        std::vector<float> taps(k);
        for (float& x : in) { x = uniform(random); }
        for (float& x : taps) { x = uniform(random); }
        const std::vector<float> out = solve(in, taps);
        ASSERT_EQ(out.size(), n - k + 1);
        const std::size_t step = out.size() > 20000 ? 307 : 1;
        for (std::size_t o = 0; o < out.size(); o += step) {
            double sum = 0;
            for (std::size_t t = 0; t < k; ++t) { sum += static_cast<double>(taps[t]) * static_cast<double>(in[o + t]); }
            ASSERT_LE(std::abs(static_cast<double>(out[o]) - sum), 1e-4 * std::max(1.0, std::abs(sum)))
                << n << " x " << k << ", output " << o;
        }
    }
}

// The taps are the caller's device memory: read when the kernel runs, not remembered from the call before.
TEST_F(Solve, OtherTapsAtTheSameAddress) {
    const DeviceBuffer in = DeviceBuffer::of(std::vector<float>{1, 2, 3, 4, 5});
    const DeviceBuffer taps = DeviceBuffer::of(std::vector<float>{1, 0, -1});
    const DeviceBuffer out(3 * sizeof(float));
    const auto call = [&] {
        solve_(static_cast<const float*>(in.data()), static_cast<const float*>(taps.data()), static_cast<float*>(out.data()), 5, 3);
        synchronize_device();
        return out.values<float>();
    };
    EXPECT_EQ(call(), (std::vector<float>{-2, -2, -2}));
    const std::vector<float> other{0, 1, 0};
    taps.write(other.data(), 12);
    EXPECT_EQ(call(), (std::vector<float>{2, 3, 4}));
}

}  // namespace
}  // namespace tapline::test
