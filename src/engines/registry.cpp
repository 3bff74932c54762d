// The engines of this build, by the names of their devices: the only place that knows them all.
#include <cstdlib>

#include "core/choice/several_devices.hpp"
#include "cpu/engine.hpp"
#include "gpu_host/devices/names.hpp"
#include "gpu_host/devices/several_engine.hpp"
#include "gpu_host/engine.hpp"
#include "gpu_host/library.hpp"

namespace tapline::core {

const Engine& host_engine() { return cpu::engine(); }

const Engine* first_accelerator(std::string& reason) {
    const gpu_host::CudaLibrary& library = gpu_host::library();
    if (library.api == nullptr) {
        reason = library.reason;
        return nullptr;
    }
    return &gpu_host::engine(0);
}

const Engine& engine_for(const std::string& device) {
    if (device == "auto" || device == "cpu") { return host_engine(); }
    if (gpu_host::names_several(device)) { return gpu_host::engine_of_devices(gpu_host::devices_named(device)); }
    const std::optional<int> index = gpu_host::device_index(device);
    if (!index) {
        throw Error(ErrorCode::argument,
                    "device: '" + device + "' is not one of auto, cpu, cuda, cuda:N, several as cuda:0,1, and cuda:all");
    }
    return gpu_host::engine(*index);
}

std::optional<SeveralDevices> several_devices(const std::string& device) {
    if (!gpu_host::names_several(device)) { return std::nullopt; }
    const std::vector<int> devices = gpu_host::devices_named(device);
    const auto first = [devices](int count) -> const Engine& {
        return count == 1 ? gpu_host::engine(devices.front())
                          : gpu_host::engine_of_devices({devices.begin(), devices.begin() + count});
    };
    const char* const all = std::getenv("TAPLINE_CUDA_TAKE_ALL");
    return SeveralDevices{static_cast<int>(devices.size()), all != nullptr && *all == '1', first};
}

}  // namespace tapline::core

namespace tapline {

std::vector<EngineInfo> engines() {
    const gpu_host::CudaLibrary& library = gpu_host::library();
    EngineInfo cuda{.name = "cuda", .available = false, .reason = library.reason, .devices = {}};
    for (int device = 0; device < library.devices; ++device) {
        try {
            const EngineInfo one = gpu_host::engine(device).info();
            cuda.devices.insert(cuda.devices.end(), one.devices.begin(), one.devices.end());
        } catch (const Error& error) { cuda.reason = error.what(); }
    }
    cuda.available = !cuda.devices.empty();
    if (cuda.available) { cuda.reason.clear(); }
    return {core::host_engine().info(), cuda};
}

}  // namespace tapline
