#include "gpu_host/measuring_buffers.hpp"

#include <algorithm>

#include "gpu_host/executable.hpp"
#include "gpu_host/memory.hpp"

namespace tapline::gpu_host {
namespace {

class DeviceBuffers final : public core::MeasuringBuffers {
public:
    explicit DeviceBuffers(int device) : api_(*library().api), device_(device), in_(none()), out_(none()) {}

    double seconds_of(const core::Executable& executable) override {
        constexpr double kSeconds = 0.05;
        const auto& rung = static_cast<const CudaExecutable&>(executable);
        const core::Resolved layout = rung.layout();
        const core::Extent in = input_extent_of(layout), out = output_extent_of(layout);
        reserve(bytes_of(in.elements, layout.dtype), bytes_of(out.elements, layout.output_dtype));
        const cuda_abi::Job job =
            whole_job(layout, at(out_, bytes_of(out.start, layout.output_dtype)), at(in_, bytes_of(in.start, layout.dtype)));
        const auto bytes = static_cast<std::int64_t>(rung.workspace_bytes());
        const DeviceBytes workspace = bytes > 0 ? allocate_device(api_, device_, bytes) : none();
        cuda_abi::Measurement measured;
        call(api_.measure, device_, rung.prepared(), &job, workspace.get(), bytes, 0, false, kSeconds, &measured);
        return measured.least_seconds;
    }

private:
    [[nodiscard]] DeviceBytes none() const { return DeviceBytes(nullptr, {&api_, device_}); }
    static std::byte* at(const DeviceBytes& memory, std::int64_t bytes) { return static_cast<std::byte*>(memory.get()) + bytes; }
    static std::int64_t bytes_of(std::int64_t elements, Dtype dtype) {
        return elements * static_cast<std::int64_t>(size_of(dtype));
    }

    // Executables have one layout but for outer axes, which some of them take.
    void reserve(std::int64_t in_bytes, std::int64_t out_bytes) {
        if (in_bytes <= in_bytes_ && out_bytes <= out_bytes_) { return; }
        in_bytes_ = std::max(in_bytes, in_bytes_);
        out_bytes_ = std::max(out_bytes, out_bytes_);
        in_ = allocate_device(api_, device_, in_bytes_);
        out_ = allocate_device(api_, device_, out_bytes_);
        constexpr int kByte = 0x3C;  // repeated, a small positive number in every floating type
        call(api_.fill, device_, in_.get(), kByte, in_bytes_, nullptr);
        call(api_.synchronize_stream, device_, nullptr);
    }

    const cuda_abi::Api& api_;
    int device_;
    DeviceBytes in_, out_;
    std::int64_t in_bytes_ = 0, out_bytes_ = 0;
};

}  // namespace

std::unique_ptr<core::MeasuringBuffers> measuring_buffers(int device) { return std::make_unique<DeviceBuffers>(device); }

}  // namespace tapline::gpu_host
