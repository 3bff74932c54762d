// The door for rounded passes.
#include <memory>

#include "cuda/engine_state.hpp"
#include "cuda/families/rounded_passes/rounded_passes.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda_abi {

struct PreparedPasses {
    cuda::rounded_passes::Prepared launched;
    int device = 0;
    unsigned long long context = 0;  // memory of an earlier life of the device is gone
    std::unique_ptr<cuda::DeviceMemory> tables;

    ~PreparedPasses() {
        std::int32_t its = device;
        cuda::on_device(its, nullptr, [&] {
            if (tables != nullptr && cuda::context_id() != context) { tables->release(); }
        });
    }
};

}  // namespace tapline::cuda_abi

namespace tapline::cuda {
namespace {

using cuda_abi::PreparedPasses;
using cuda_abi::RoundedPasses;
using cuda_abi::Status;
using cuda_abi::Stream;

PreparedPasses* prepare(std::int32_t device, const RoundedPasses* passes, double* seconds, Status* status) {
    std::unique_ptr<PreparedPasses> prepared;
    const bool done = on_device(device, status, [&] {
        const cuda_abi::Device its = device_of(device);
        prepared = std::make_unique<PreparedPasses>();
        prepared->device = device;
        prepared->launched = rounded_passes::prepare_passes(*passes, its);
        const rounded_passes::Prepared& launched = prepared->launched;
        rounded_passes::load_passes(launched, its);
        *seconds = launched.seconds;
        const std::size_t bytes = launched.tables.size() * sizeof(std::uint32_t);
        if (bytes == 0) { return; }
        const RelaxedCapture relaxed;
        prepared->context = context_id();
        prepared->tables = std::make_unique<DeviceMemory>(device, static_cast<std::int64_t>(bytes));
        check(cudaMemcpy(prepared->tables->pointer, launched.tables.data(), bytes, cudaMemcpyHostToDevice), "weights");
    });
    return done ? prepared.release() : nullptr;
}

void release(PreparedPasses* prepared) { delete prepared; }

bool execute(const PreparedPasses* prepared, void* out, const void* in, Stream* stream, Status* status) {
    return on_device(prepared->device, status, [&] {
        check_pointer("output", out, prepared->device);
        check_pointer("input", in, prepared->device);
        check_stream(native(stream), prepared->device);
        const void* const tables = prepared->tables == nullptr ? nullptr : prepared->tables->pointer;
        rounded_passes::launch_passes(prepared->launched, tables, out, in, native(stream));
        check_launch("rounded passes");
    });
}

constexpr cuda_abi::Passes kPasses{.version = cuda_abi::kPassesVersion,
                                   .bytes = sizeof(cuda_abi::Passes),
                                   .prepare = prepare,
                                   .release = release,
                                   .execute = execute};

}  // namespace
}  // namespace tapline::cuda

/// The table for rounded passes, or null for a caller of another version.
extern "C" __attribute__((visibility("default"))) const tapline::cuda_abi::Passes* tapline_cuda_passes_entry(
    std::uint32_t version) {
    return version == tapline::cuda_abi::kPassesVersion ? &tapline::cuda::kPasses : nullptr;
}
