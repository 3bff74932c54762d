// Depthwise correlation and its gradients by plans without taps, whatever the cost model would say, against sums in float64.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "gpu/gpu.hpp"
#include "gpu_host/depthwise_plans.hpp"
#include "gpu_host/library.hpp"
#include "reference/numbers.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

constexpr int kDevice = 0;

double value_at(const std::byte* data, Dtype dtype, std::int64_t i) {
    return static_cast<double>(reference::number_at(data, dtype, i).real());
}

struct Tensor {
    Dtype dtype;
    std::vector<std::byte> bytes;
    DeviceBuffer there;

    Tensor(Dtype type, std::int64_t count, Random& random)
        : dtype(type), bytes(random_elements(type, count, random)), there(DeviceBuffer::of(bytes)) {}
    [[nodiscard]] double at(std::int64_t i) const { return value_at(bytes.data(), dtype, i); }
};

struct Expected {
    std::vector<double> y, of_x, of_taps;
};

Expected expected(const DepthwiseProblem& p, const Tensor& x, const Tensor& taps, const Tensor& grad) {
    const std::int64_t rows = p.batch * p.channels;
    Expected e{std::vector<double>(static_cast<std::size_t>(rows * p.outputs)),
               std::vector<double>(static_cast<std::size_t>(rows * p.length)),
               std::vector<double>(static_cast<std::size_t>(p.channels * p.taps))};
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t o = 0; o < p.outputs; ++o) {
            const std::int64_t out = row * p.outputs + o;
            const double g = grad.at(out);
            double sum = 0;
            const std::int64_t first = std::max<std::int64_t>(0, p.origin - o);
            const std::int64_t last = std::min(p.taps, p.length + p.origin - o);
            for (std::int64_t t = first; t < last; ++t) {
                const std::int64_t in = row * p.length + o + t - p.origin;
                const std::int64_t tap = row % p.channels * p.taps + t;
                sum += taps.at(tap) * x.at(in);
                e.of_x[static_cast<std::size_t>(in)] += taps.at(tap) * g;
                e.of_taps[static_cast<std::size_t>(tap)] += x.at(in) * g;
            }
            e.y[static_cast<std::size_t>(out)] = sum;
        }
    }
    return e;
}

// Relative in the L2 norm: transforms spread their rounding over a block, and storage rounds once.
void expect_close(const char* name, const DeviceBuffer& buffer, Dtype dtype, const std::vector<double>& wanted) {
    const double tolerance = dtype == Dtype::f64 ? 1e-14 : dtype == Dtype::f32 ? 1e-6 : dtype == Dtype::f16 ? 0x1p-11 : 0x1p-8;
    EXPECT_TRUE(buffer.guards_intact()) << name;
    std::vector<std::byte> got(wanted.size() * size_of(dtype));
    buffer.read(got.data(), got.size());
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double difference = value_at(got.data(), dtype, static_cast<std::int64_t>(i)) - wanted[i];
        error += difference * difference;
        norm += wanted[i] * wanted[i];
    }
    EXPECT_LE(std::sqrt(error), tolerance * std::sqrt(norm)) << name;
}

class DepthwisePlans : public GpuTest {
protected:
    static std::string told(const DepthwiseProblem& p) {
        return std::string(to_string(p.dtype)) + " (" + std::to_string(p.batch) + ", " + std::to_string(p.channels) + ", " +
               std::to_string(p.length) + "), " + std::to_string(p.outputs) + " outputs, " + std::to_string(p.taps) +
               " taps, origin " + std::to_string(p.origin);
    }

    using Order = gpu_host::GradientInPieces::Order;

    // `piece`: outputs of a piece, or 0: the gradient of taps by whole rows.
    static void check(const DepthwiseProblem& p, Random& random, std::int64_t piece = 0, Order order = Order::pieces_of_a_row,
                      std::int64_t most_bytes = gpu_host::kMostRowsBytes) {
        SCOPED_TRACE(told(p));
        const std::int64_t rows = p.batch * p.channels;
        const Tensor x(p.dtype, rows * p.length, random), taps(p.dtype, p.channels * p.taps, random);
        const Tensor grad(p.dtype, rows * p.outputs, random);
        const Expected wanted = expected(p, x, taps, grad);
        cuda_abi::Device device;
        gpu_host::call(gpu_host::api_for(kDevice, "").device, kDevice, &device);
        const auto rows_of = [&](std::int64_t n, std::int64_t outputs, std::int64_t origin) {
            gpu_host::FilteredRows made(
                {.rows = rows, .filters = p.channels, .n = n, .outputs = outputs, .k = p.taps, .origin = origin, .dtype = p.dtype},
                kDevice);
            made.prepare();
            return made;
        };
        const gpu_host::FilteredRows forward = rows_of(p.length, p.outputs, p.origin);
        const gpu_host::FilteredRows backward = rows_of(p.outputs, p.length, p.taps - 1 - p.origin);
        std::unique_ptr<gpu_host::TapsGradient> made_gradient;
        if (piece == 0) {
            made_gradient = std::make_unique<gpu_host::GradientOfTaps>(p, kDevice, device.copy_bytes_per_second);
        } else {
            made_gradient =
                std::make_unique<gpu_host::GradientInPieces>(p, piece, order, kDevice, device.copy_bytes_per_second, most_bytes);
        }
        gpu_host::TapsGradient& gradient = *made_gradient;
        gradient.prepare();
        const DeviceBuffer y(grad.bytes.size(), Guard::output), of_x(x.bytes.size(), Guard::output);
        const DeviceBuffer of_taps(taps.bytes.size(), Guard::output);
        const DeviceBuffer workspace(
            std::max({forward.workspace_bytes(), backward.workspace_bytes(), gradient.workspace_bytes(), std::size_t{1}}));
        const DeviceStream stream;
        forward.execute(y.data(), x.there.data(), {.data = taps.there.data(), .dtype = p.dtype}, workspace.span(), stream.get());
        backward.execute(of_x.data(), grad.there.data(), {.data = taps.there.data(), .reversed = true, .dtype = p.dtype},
                         workspace.span(), stream.get());
        gradient.execute(of_taps.data(), grad.there.data(), x.there.data(), workspace.span(), stream.get());
        stream.synchronize();
        EXPECT_TRUE(workspace.guards_intact()) << "workspace";
        expect_close("y", y, p.dtype, wanted.y);
        expect_close("grad_x", of_x, p.dtype, wanted.of_x);
        expect_close("grad_taps", of_taps, p.dtype, wanted.of_taps);
    }
};

TEST_F(DepthwisePlans, AgainstFloat64) {
    constexpr std::array<Dtype, 4> kTypes{Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16};
    Random random(11);
    for (const Dtype dtype : kTypes) {
        for (const std::int64_t k : {97, 300, 1000}) {
            for (const bool causal : {true, false}) {
                const std::int64_t n = k == 300 ? 1400 : 1000;
                const std::int64_t origin = causal ? k - 1 : 5;
                check({.batch = 3,
                       .channels = 2,
                       .length = n,
                       .outputs = causal ? n : n + 10 - std::min<std::int64_t>(k, 700),
                       .taps = k,
                       .origin = origin,
                       .dtype = dtype},
                      random);
                if (HasFailure()) { return; }
            }
        }
    }
}

TEST_F(DepthwisePlans, OfOneRow) {
    Random random(12);
    for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
        check({.batch = 1, .channels = 1, .length = 3000, .outputs = 3000, .taps = 2500, .origin = 2499, .dtype = dtype}, random);
        check({.batch = 1, .channels = 3, .length = 3000, .outputs = 3000, .taps = 200, .origin = 100, .dtype = dtype}, random);
    }
}

// Whose first and last outputs read beyond the row, or reach beyond what meets it.
TEST_F(DepthwisePlans, RowsInPieces) {
    Random random(14);
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16}) {
        for (const std::int64_t origin : {0, 5, 199, 250, -3}) {
            for (const std::int64_t outputs : {6000, 5800, 6400}) {
                for (const Order order : {Order::pieces_of_a_row, Order::channels_of_a_piece}) {
                    check({.batch = origin == 5 ? 2 : 1,
                           .channels = outputs == 6400 ? 3 : 1,
                           .length = 6000,
                           .outputs = outputs,
                           .taps = 200,
                           .origin = origin,
                           .dtype = dtype},
                          random, origin == 250 ? 512 : 1000, order);
                    if (HasFailure()) { return; }
                }
            }
        }
    }
}

// Neither all channels nor all pieces fit: 20 channels are taken together, four of eight correlations wait.
TEST_F(DepthwisePlans, MoreChannelsInPiecesThanFit) {
    Random random(15);
    for (const std::int64_t batch : {1, 2}) {
        const DepthwiseProblem p{.batch = batch, .channels = 60, .length = 3600, .outputs = 3600, .taps = 300, .origin = 299};
        check(p, random, 512, Order::channels_of_a_piece, 100 << 10);
    }
}

// As training calls it: the workspace is what the functions ask for, and one that is too small is refused.
TEST_F(DepthwisePlans, BehindTheFunctions) {
    Random random(13);
    const DepthwiseProblem p{.batch = 4, .channels = 96, .length = 4096, .outputs = 4096, .taps = 4096, .origin = 4095};
    const auto tiny = DepthwiseProblem{.batch = 1, .channels = 1, .length = 100, .outputs = 100, .taps = 4, .origin = 3};
    EXPECT_EQ(depthwise_correlate_workspace_bytes(tiny, kDevice), 0U);
    const std::size_t needed = depthwise_correlate_workspace_bytes(p, kDevice);
    ASSERT_GT(needed, 0U) << "filters as long as their rows are summed directly";
    const Tensor x(p.dtype, p.batch * p.channels * p.length, random), taps(p.dtype, p.channels * p.taps, random);
    const DeviceBuffer y(x.bytes.size(), Guard::output), direct(x.bytes.size(), Guard::output);
    const DeviceBuffer workspace(needed);
    EXPECT_THROW(
        depthwise_correlate(p, y.data(), x.there.data(), taps.there.data(), workspace.data(), needed - 1, kDevice, nullptr), Error);
    const DeviceStream stream;
    depthwise_correlate(p, y.data(), x.there.data(), taps.there.data(), workspace.data(), needed, kDevice, stream.get());
    depthwise_correlate(p, direct.data(), x.there.data(), taps.there.data(), kDevice, stream.get());
    stream.synchronize();
    EXPECT_TRUE(workspace.guards_intact() && y.guards_intact());
    const auto by_plan = y.values<float>(), summed = direct.values<float>();
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < summed.size(); ++i) {
        error += std::pow(double{by_plan[i]} - double{summed[i]}, 2);
        norm += std::pow(double{summed[i]}, 2);
    }
    EXPECT_LE(std::sqrt(error), 2e-6 * std::sqrt(norm));
}

}  // namespace
}  // namespace tapline::test