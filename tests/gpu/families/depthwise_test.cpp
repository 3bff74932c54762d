// Depthwise correlation and its gradients (src/cuda/depthwise) against sums in float64, between guard zones, at every alignment.
#include <cmath>
#include <limits>

#include "core/problem/half.hpp"
#include "gpu/gpu.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

// Values of one tensor as the type stores them.
struct Tensor {
    Dtype dtype;
    std::vector<std::byte> bytes;

    Tensor(Dtype type, std::int64_t count) : dtype(type), bytes(static_cast<std::size_t>(count) * size_of(type)) {}
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(bytes.size() / size_of(dtype)); }

    template <class T>
    [[nodiscard]] const T* as() const {
        return reinterpret_cast<const T*>(bytes.data());
    }
    [[nodiscard]] double at(std::int64_t i) const {
        switch (dtype) {
            case Dtype::f32:
                return as<float>()[i];
            case Dtype::f64:
                return as<double>()[i];
            case Dtype::f16:
                return core::from_f16(as<std::uint16_t>()[i]);
            default:
                return core::from_bf16(as<std::uint16_t>()[i]);
        }
    }
};

Tensor random_tensor(Dtype dtype, std::int64_t count, Random& random) {
    Tensor tensor(dtype, count);
    fill_random(tensor.bytes.data(), dtype, count, random);
    return tensor;
}

// A sum and the sum of its terms' magnitudes.
struct Sum {
    double value = 0, magnitude = 0;
    void add(double term) {
        value += term;
        magnitude += std::abs(term);
    }
};

struct Expected {
    std::vector<Sum> y, grad_x, grad_taps;
};

Expected expected(const DepthwiseProblem& p, const Tensor& x, const Tensor& taps, const Tensor& grad_y) {
    Expected e;
    e.y.resize(static_cast<std::size_t>(grad_y.size()));
    e.grad_x.resize(static_cast<std::size_t>(x.size()));
    e.grad_taps.resize(static_cast<std::size_t>(taps.size()));
    for (std::int64_t row = 0; row < p.batch * p.channels; ++row) {
        for (std::int64_t o = 0; o < p.outputs; ++o) {
            const std::int64_t out = row * p.outputs + o;
            for (std::int64_t t = 0; t < p.taps; ++t) {
                const std::int64_t i = o + t - p.origin;
                if (i < 0 || i >= p.length) { continue; }
                const std::int64_t tap = row % p.channels * p.taps + t;
                const std::int64_t in = row * p.length + i;
                e.y[static_cast<std::size_t>(out)].add(taps.at(tap) * x.at(in));
                e.grad_x[static_cast<std::size_t>(in)].add(taps.at(tap) * grad_y.at(out));
                e.grad_taps[static_cast<std::size_t>(tap)].add(x.at(in) * grad_y.at(out));
            }
        }
    }
    return e;
}

// Storage rounds once; sums of magnitude m in blocks and trees are off by a few units of m.
void expect_close(const char* name, const DeviceBuffer& buffer, Dtype dtype, const std::vector<Sum>& wanted) {
    constexpr double kUnitsOfSums = 16;
    const double sums = dtype == Dtype::f64 ? 0x1p-52 : 0x1p-23;
    const double unit = dtype == Dtype::f16 ? 0x1p-11 : dtype == Dtype::bf16 ? 0x1p-8 : sums;
    const double least = dtype == Dtype::f16 ? 0x1p-25 : 0;  // half the distance of f16's smallest numbers
    EXPECT_TRUE(buffer.guards_intact()) << name;
    Tensor got(dtype, static_cast<std::int64_t>(wanted.size()));
    buffer.read(got.bytes.data(), got.bytes.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double error = std::abs(got.at(static_cast<std::int64_t>(i)) - wanted[i].value);
        if (!std::isfinite(wanted[i].value)) {
            const double value = got.at(static_cast<std::int64_t>(i));
            ASSERT_TRUE(value == wanted[i].value || (std::isnan(value) && std::isnan(wanted[i].value)))
                << name << "[" << i << "]: " << value << " instead of " << wanted[i].value;
            continue;
        }
        const double tolerance = unit * std::abs(wanted[i].value) + least + kUnitsOfSums * sums * wanted[i].magnitude;
        ASSERT_TRUE(error <= tolerance) << name << "[" << i << "]: " << got.at(static_cast<std::int64_t>(i)) << " instead of "
                                        << wanted[i].value << ", off by " << error << ", " << tolerance << " is allowed";
    }
}

class DepthwiseTest : public GpuTest {
protected:
    // `offset`: elements by which the tensors miss a 256-byte boundary; `infinite`: a tap of f32 that is, of the first channel.
    static void check(const DepthwiseProblem& p, int offset, Random& random, std::int64_t infinite = -1) {
        const std::int64_t rows = p.batch * p.channels;
        const Tensor x = random_tensor(p.dtype, rows * p.length, random);
        Tensor taps = random_tensor(p.dtype, p.channels * p.taps, random);
        if (infinite >= 0) { reinterpret_cast<float*>(taps.bytes.data())[infinite] = std::numeric_limits<float>::infinity(); }
        const Tensor grad_y = random_tensor(p.dtype, rows * p.outputs, random);
        const Expected wanted = expected(p, x, taps, grad_y);
        const std::size_t at = static_cast<std::size_t>(offset) * size_of(p.dtype);
        const DeviceBuffer x_there = DeviceBuffer::of(x.bytes, at);
        const DeviceBuffer taps_there = DeviceBuffer::of(taps.bytes);
        const DeviceBuffer grad_y_there = DeviceBuffer::of(grad_y.bytes, at);
        const DeviceBuffer y(grad_y.bytes.size(), Guard::output, at);
        const DeviceBuffer grad_x(x.bytes.size(), Guard::output, at);
        const DeviceBuffer grad_taps(taps.bytes.size());
        const DeviceBuffer alone(taps.bytes.size());
        const std::size_t bytes = depthwise_workspace_bytes(p, kDevice);
        const DeviceBuffer workspace(std::max<std::size_t>(bytes, 1));
        depthwise_correlate(p, y.data(), x_there.data(), taps_there.data(), kDevice, nullptr);
        depthwise_gradients(p, grad_x.data(), grad_taps.data(), grad_y_there.data(), x_there.data(), taps_there.data(),
                            workspace.data(), bytes, kDevice, nullptr);
        depthwise_gradients(p, nullptr, alone.data(), grad_y_there.data(), x_there.data(), nullptr, workspace.data(), bytes,
                            kDevice, nullptr);
        cuda_abi::Status status;
        require(api().synchronize_stream(kDevice, nullptr, &status), status, "synchronize");
        SCOPED_TRACE(std::string(to_string(p.dtype)) + ", (" + std::to_string(p.batch) + ", " + std::to_string(p.channels) + ", " +
                     std::to_string(p.length) + "), " + std::to_string(p.taps) + " taps, origin " + std::to_string(p.origin) +
                     ", " + std::to_string(p.outputs) + " outputs, offset " + std::to_string(offset));
        expect_close("y", y, p.dtype, wanted.y);
        expect_close("grad_x", grad_x, p.dtype, wanted.grad_x);
        expect_close("grad_taps", grad_taps, p.dtype, wanted.grad_taps);
        EXPECT_TRUE(workspace.guards_intact());
        EXPECT_EQ(alone.values<std::byte>(), grad_taps.values<std::byte>()) << "without grad_x";
    }
};

TEST_F(DepthwiseTest, AgainstFloat64) {
    const auto seed = static_cast<std::uint64_t>(environment_number("TAPLINE_PROPERTY_SEED", 20));
    Random random(seed);
    SCOPED_TRACE("TAPLINE_PROPERTY_SEED=" + std::to_string(seed));
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16}) {
        for (const std::int64_t k : {1, 2, 3, 4, 5, 8, 9, 31, 70}) {
            for (const std::int64_t n : {1, 3, 8, 64, 255, 1030, 4104}) {
                const std::int64_t rows = n > 1000 ? 2 : 3;
                for (const std::int64_t origin : {k - 1, (k - 1) / 2, std::int64_t{0}, k + 2}) {
                    check({.batch = 2, .channels = rows, .length = n, .outputs = n, .taps = k, .origin = origin, .dtype = dtype},
                          static_cast<int>(n % 3), random);
                }
                check({.batch = 1, .channels = rows, .length = n, .outputs = n + k, .taps = k, .origin = k, .dtype = dtype}, 0,
                      random);
                if (HasFatalFailure() || HasNonfatalFailure()) { return; }
            }
        }
    }
}

// Filters whose taps and rows whose outputs do not fit a tile, and those next to them.
TEST_F(DepthwiseTest, LongFilters) {
    Random random(22);
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16}) {
        for (const std::int64_t k : {11, 12, 24, 32, 33, 255, 256, 257, 600}) {
            for (const std::int64_t n : {200, 3072, 3073}) {
                for (const std::int64_t origin : {k - 1, k / 2}) {
                    check({.batch = 1, .channels = 2, .length = n, .outputs = n, .taps = k, .origin = origin, .dtype = dtype},
                          static_cast<int>(k % 3), random);
                }
                if (HasFatalFailure() || HasNonfatalFailure()) { return; }
            }
        }
    }
}

// What lies outside a row is absent: an infinite tap does not make a NaN of it.
TEST_F(DepthwiseTest, InfiniteTapsMeetOnlySamplesThatAreThere) {
    Random random(23);
    for (const std::int64_t k : {3, 8, 12, 40, 300}) {
        for (const std::int64_t infinite : {std::int64_t{0}, k / 2, k - 1}) {
            for (const std::int64_t origin : {k - 1, std::int64_t{0}}) {
                check({.batch = 2, .channels = 2, .length = 3200, .outputs = 3200, .taps = k, .origin = origin}, 0, random,
                      infinite);
                if (HasFatalFailure() || HasNonfatalFailure()) { return; }
            }
        }
    }
}

// One channel whose tiles many blocks share.
TEST_F(DepthwiseTest, LongRowsAndTheSameBits) {
    Random random(21);
    for (const std::int64_t k : {4, 12}) {
        const DepthwiseProblem p{.batch = 1, .channels = 1, .length = 300'008, .outputs = 300'008, .taps = k, .origin = k - 1};
        check(p, 0, random);
        const Tensor x = random_tensor(p.dtype, p.length, random);
        const DeviceBuffer there = DeviceBuffer::of(x.bytes);
        const DeviceBuffer grad_taps(static_cast<std::size_t>(k) * sizeof(float));
        const std::size_t bytes = depthwise_workspace_bytes(p, kDevice);
        const DeviceBuffer workspace(std::max<std::size_t>(bytes, 1));
        std::vector<float> first;
        for (int run = 0; run < 5; ++run) {
            grad_taps.poison();
            depthwise_gradients(p, nullptr, grad_taps.data(), there.data(), there.data(), nullptr, workspace.data(), bytes, kDevice,
                                nullptr);
            cuda_abi::Status status;
            require(api().synchronize_stream(kDevice, nullptr, &status), status, "synchronize");
            if (run == 0) { first = grad_taps.values<float>(); }
            EXPECT_EQ(grad_taps.values<float>(), first);
        }
    }
}

TEST_F(DepthwiseTest, Refusals) {
    const DeviceBuffer x = DeviceBuffer::of(std::vector<float>{1, 2, 3});
    std::vector<float> host(3);
    const auto message = [&](DepthwiseProblem p, void* y, int device) -> std::string {
        try {
            depthwise_correlate(p, y, x.data(), x.data(), device, nullptr);
        } catch (const Error& error) { return error.what(); }
        return "done";
    };
    const DepthwiseProblem good{.length = 3, .outputs = 3, .taps = 2, .origin = 1};
    EXPECT_NE(message(good, host.data(), kDevice).find("not in GPU memory"), std::string::npos);
    EXPECT_NE(message(good, x.data(), 1000).find("cuda:1000"), std::string::npos);
    DepthwiseProblem wrong = good;
    wrong.taps = 0;
    EXPECT_NE(message(wrong, x.data(), kDevice).find("at least 1"), std::string::npos);
    wrong = good;
    wrong.dtype = Dtype::complex64;
    EXPECT_NE(message(wrong, x.data(), kDevice).find("f32, f64, f16 or bf16"), std::string::npos);
}

}  // namespace
}  // namespace tapline::test
