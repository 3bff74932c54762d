// tapline/passes.hpp on the emulated engine: arguments reach it, its refusals come back as Errors.
#include <cstring>

#include "gpu_host/emulated/emulated_engine.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

class EmulatedPasses : public EmulatedCuda {
protected:
    // Device memory that holds `values`.
    static gpu_host::DeviceBytes on_device(const std::vector<std::uint8_t>& values) {
        gpu_host::DeviceBytes memory = gpu_host::allocate_device(emulated_api(), 0, static_cast<std::int64_t>(values.size()));
        std::memcpy(memory.get(), values.data(), values.size());  // the emulated device shares the host's memory
        return memory;
    }

    const RoundedPasses passes_{.rows = 2,
                                .columns = 3,
                                .input_row_stride = 3,
                                .output_row_stride = 3,
                                .down = {.weights = {1, 1}, .origin = 1, .boundary = Boundary::constant, .divisor = 2},
                                .along = {.weights = {1, 1}, .boundary = Boundary::nearest, .divisor = 2},
                                .constant = 3};
};

TEST_F(EmulatedPasses, RoundInBetween) {
    const gpu_host::DeviceBytes x = on_device({0, 1, 2, 4, 5, 6});
    const gpu_host::DeviceBytes y = on_device(std::vector<std::uint8_t>(6));
    const RoundedPassesPlan plan(passes_, 0);
    EXPECT_GT(plan.predicted_seconds(), 0);
    plan.execute(y.get(), x.get(), nullptr);
    std::vector<std::uint8_t> got(6);
    std::memcpy(got.data(), y.get(), got.size());
    EXPECT_EQ(got, (std::vector<std::uint8_t>{1, 2, 2, 2, 3, 4}));
}

TEST_F(EmulatedPasses, Refuse) {
    const auto code = [](const RoundedPasses& passes, int device) {
        try {
            const RoundedPassesPlan plan(passes, device);
        } catch (const Error& error) { return error.code(); }
        return ErrorCode::io;
    };
    RoundedPasses wrong = passes_;
    wrong.down.weights.assign(129, 1.0);
    EXPECT_EQ(code(wrong, 0), ErrorCode::unsupported);
    wrong = passes_;
    wrong.along.origin = 2;
    EXPECT_EQ(code(wrong, 0), ErrorCode::unsupported);
    wrong = passes_;
    wrong.dtype = Dtype::f32;
    EXPECT_EQ(code(wrong, 0), ErrorCode::unsupported);
    EXPECT_EQ(code(passes_, 99), ErrorCode::device);
}

}  // namespace
}  // namespace tapline::test
