// tapline/depthwise.hpp on the emulated engine: arguments reach it, its refusals come back as Errors.
#include <cstring>

#include "gpu_host/emulated/emulated_engine.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

class EmulatedDepthwise : public EmulatedCuda {
protected:
    // Device memory that holds `values`.
    static gpu_host::DeviceBytes on_device(const std::vector<float>& values) {
        const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(float));
        gpu_host::DeviceBytes memory = gpu_host::allocate_device(emulated_api(), 0, bytes);
        std::memcpy(memory.get(), values.data(), static_cast<std::size_t>(bytes));  // the emulated device shares the host's memory
        return memory;
    }
    static std::vector<float> read(const gpu_host::DeviceBytes& memory, std::size_t count) {
        std::vector<float> values(count);
        std::memcpy(values.data(), memory.get(), count * sizeof(float));
        return values;
    }

    const DepthwiseProblem problem_{.batch = 1, .channels = 2, .length = 3, .outputs = 3, .taps = 2, .origin = 1};
    const std::vector<float> samples_{1, 2, 3, 4, 5, 6};
    const std::vector<float> filters_{1, 10, 1, 100};
};

TEST_F(EmulatedDepthwise, Correlates) {
    const gpu_host::DeviceBytes x = on_device(samples_);
    const gpu_host::DeviceBytes taps = on_device(filters_);
    const gpu_host::DeviceBytes y = on_device(std::vector<float>(6));
    depthwise_correlate(problem_, y.get(), x.get(), taps.get(), 0, nullptr);
    EXPECT_EQ(read(y, 6), (std::vector<float>{10, 21, 32, 400, 504, 605}));
}

TEST_F(EmulatedDepthwise, MakesBothGradients) {
    const gpu_host::DeviceBytes x = on_device(samples_);
    const gpu_host::DeviceBytes taps = on_device(filters_);
    const gpu_host::DeviceBytes grad_y = on_device({1, 1, 1, 1, 0, 0});
    const gpu_host::DeviceBytes grad_x = on_device(std::vector<float>(6));
    const gpu_host::DeviceBytes grad_taps = on_device(std::vector<float>(4));
    const std::size_t bytes = depthwise_workspace_bytes(problem_, 0);
    const gpu_host::DeviceBytes workspace = gpu_host::allocate_device(emulated_api(), 0, static_cast<std::int64_t>(bytes));
    depthwise_gradients(problem_, grad_x.get(), grad_taps.get(), grad_y.get(), x.get(), taps.get(), workspace.get(), bytes, 0,
                        nullptr);
    EXPECT_EQ(read(grad_x, 6), (std::vector<float>{11, 11, 10, 100, 0, 0}));
    EXPECT_EQ(read(grad_taps, 4), (std::vector<float>{3, 6, 0, 4}));
}

TEST_F(EmulatedDepthwise, Refuses) {
    const gpu_host::DeviceBytes x = on_device(samples_);
    const gpu_host::DeviceBytes taps = on_device(filters_);
    const gpu_host::DeviceBytes y = on_device(std::vector<float>(6));
    const auto code = [&](int device, void* to) {
        try {
            depthwise_correlate(problem_, to, x.get(), taps.get(), device, nullptr);
        } catch (const Error& error) { return error.code(); }
        return ErrorCode::io;
    };
    std::vector<float> host(6);
    EXPECT_EQ(code(0, host.data()), ErrorCode::argument);
    EXPECT_EQ(code(4, y.get()), ErrorCode::device);
    EXPECT_EQ(code(-1, y.get()), ErrorCode::device);
}

}  // namespace
}  // namespace tapline::test
