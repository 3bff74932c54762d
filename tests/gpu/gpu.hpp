// What every GPU test stands on: the loaded engine, device buffers between guard zones, streams.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu_host/library.hpp"
#include "support/case.hpp"
#include "tapline/plan.hpp"

namespace tapline::test {

/// TAPLINE_REQUIRE_GPU=1: what would be skipped for want of a GPU fails instead.
bool gpu_required();

inline std::size_t bytes_of(std::int64_t elements, Dtype dtype) { return static_cast<std::size_t>(elements) * size_of(dtype); }

/// As fill_random() draws them.
std::vector<float> random_floats(std::int64_t count, std::uint64_t seed);
std::vector<float> random_floats(std::int64_t count, Random& random);

/// `count` values, those of `some` again and again: drawing as many takes longer than what is tested with them.
template <class T>
std::vector<T> repeated(const std::vector<T>& some, std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) { values[i] = some[i % some.size()]; }
    return values;
}

/// The engine's table of functions. Only after GpuTest::SetUp let a test begin.
const cuda_abi::Api& api();

/// Throws std::runtime_error with the status's message unless `ok`. For steps that a test only stands on.
void require(bool ok, const cuda_abi::Status& status, const char* what);

/// A rung of the ladder: a family, which the engine's library has, or a lesson of the other one.
struct Rung {
    const cuda_abi::Api* library = nullptr;  ///< null: no rung
    std::int32_t index = 0;
    explicit operator bool() const { return library != nullptr; }
    [[nodiscard]] cuda_abi::RungInfo info() const { return library->rung(index); }
    [[nodiscard]] bool is_lesson() const { return library != &api(); }
};

/// Those for problems of so many filtered axes, in reading order; without those for integers alone, which plans test.
std::vector<Rung> rungs_of_rank(int rank);

/// The rung of this name, or none.
Rung rung_named(const std::string& name, int rank = 1);

/// Whether a rung (or what is none: the CPU's) keeps the bound of strict accuracy for each output, not only the norm's: it does not
/// refuse strict plans.
bool is_elementwise(const Rung& rung);

/// The same of a plan.
bool is_elementwise(const Plan& plan);

/// Skips every test with the reason if there is no GPU, or fails it (gpu_required()).
class GpuTest : public ::testing::Test {
protected:
    void SetUp() override;
    static constexpr int kDevice = 0;
};

/// Skips or fails a test that needs something a machine may lack.
#define TAPLINE_GPU_MISSING(reason)                                  \
    do {                                                             \
        if (::tapline::test::gpu_required()) { FAIL() << (reason); } \
        GTEST_SKIP() << (reason);                                    \
    } while (false)

/// Bytes around a device buffer that nobody may touch. `input` zones are NaN in every floating type, so that a kernel that
/// reads them spoils its result.
enum class Guard { input, output };

/// `bytes` bytes of device memory `offset` bytes behind a 256-byte boundary, all 0xFF (NaN), between guard zones.
/// TAPLINE_GPU_GUARD_BYTES=0 leaves the zones out: compute-sanitizer then sees every byte that is read past the end.
class DeviceBuffer {
public:
    explicit DeviceBuffer(std::size_t bytes, Guard guard = Guard::output, std::size_t offset = 0, int device = 0);
    /// The same holding a copy of `bytes`.
    static DeviceBuffer of(std::span<const std::byte> bytes, std::size_t offset = 0, int device = 0);
    template <class T>
    static DeviceBuffer of(const std::vector<T>& values, std::size_t offset = 0, int device = 0) {
        return of(std::as_bytes(std::span(values)), offset, device);
    }
    DeviceBuffer(DeviceBuffer&&) noexcept = default;
    DeviceBuffer& operator=(DeviceBuffer&&) noexcept = default;

    [[nodiscard]] void* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return bytes_; }
    [[nodiscard]] std::span<std::byte> span() const { return {static_cast<std::byte*>(data_), bytes_}; }
    void write(const void* from, std::size_t bytes, std::size_t at = 0) const;
    void read(void* to, std::size_t bytes, std::size_t at = 0) const;
    void poison() const;
    [[nodiscard]] bool guards_intact() const;
    template <class T>
    [[nodiscard]] std::vector<T> values() const {
        std::vector<T> result(bytes_ / sizeof(T));
        read(result.data(), result.size() * sizeof(T));
        return result;
    }

private:
    struct Free {
        int device;
        void operator()(void* p) const { api().free(device, p); }
    };
    int device_;
    std::size_t bytes_, front_, behind_;
    unsigned char pattern_;
    std::unique_ptr<void, Free> storage_;
    void* data_;
};

class DeviceStream {
public:
    explicit DeviceStream(int device = 0);
    DeviceStream(DeviceStream&&) noexcept = default;
    [[nodiscard]] void* get() const { return stream_.get(); }
    [[nodiscard]] cuda_abi::Stream* abi() const { return stream_.get(); }
    void synchronize() const;

private:
    struct Free {
        int device;
        void operator()(cuda_abi::Stream* s) const { api().free_stream(device, s); }
    };
    int device_;
    std::unique_ptr<cuda_abi::Stream, Free> stream_;
};

/// Waits for all work of a device; throws if some of it failed.
void synchronize_device(int device = 0);

/// The address of an element.
inline void* element_at(const DeviceBuffer& buffer, std::int64_t index, Dtype dtype) {
    return static_cast<std::byte*>(buffer.data()) + bytes_of(index, dtype);
}

/// Executes a plan on device buffers with a workspace of its own, waits, and returns the output's bytes as elements of T. `in` is
/// the input's lowest address.
template <class T>
std::vector<T> execute_on_device(const Plan& plan, const void* in, std::size_t out_offset = 0, std::size_t in_offset = 0) {
    const Problem& p = plan.problem();
    const std::size_t in_bytes = bytes_of(input_extent(p), p.dtype);
    const DeviceBuffer device_in = DeviceBuffer::of({static_cast<const std::byte*>(in), in_bytes}, in_offset);
    const DeviceBuffer device_out(bytes_of(output_extent(p), output_dtype(p)), Guard::output, out_offset);
    const DeviceBuffer workspace(plan.workspace_bytes());
    const DeviceStream stream;
    plan.execute(element_at(device_out, output_start(p), output_dtype(p)), element_at(device_in, input_start(p), p.dtype),
                 workspace.span(), stream.get());
    stream.synchronize();
    EXPECT_TRUE(device_in.guards_intact()) << plan.algorithm() << " wrote outside the input";
    EXPECT_TRUE(device_out.guards_intact()) << plan.algorithm() << " wrote outside the output";
    EXPECT_TRUE(workspace.guards_intact()) << plan.algorithm() << " wrote outside the workspace";
    return device_out.values<T>();
}

/// The output of a plan without taps. Signal, output and taps lie `offset` bytes behind a boundary of 256, taps where their type
/// allows it.
inline std::vector<std::byte> executed_with_taps(const Plan& plan, std::span<const std::byte> in, std::span<const std::byte> taps,
                                                 std::size_t offset = 0) {
    const Problem& p = plan.problem();
    const DeviceBuffer device_in = DeviceBuffer::of(in, offset);
    const DeviceBuffer device_taps = DeviceBuffer::of(taps, (offset + 3) / 4 * 4);
    const DeviceBuffer out(bytes_of(output_extent(p), output_dtype(p)), Guard::output, offset);
    const DeviceBuffer workspace(plan.workspace_bytes());
    const DeviceStream stream;
    plan.execute_with_taps(out.data(), device_in.data(), device_taps.data(), workspace.span(), stream.get());
    stream.synchronize();
    EXPECT_TRUE(device_in.guards_intact() && device_taps.guards_intact()) << "wrote outside the inputs";
    EXPECT_TRUE(out.guards_intact() && workspace.guards_intact()) << "wrote outside the outputs";
    return out.values<std::byte>();
}

}  // namespace tapline::test
