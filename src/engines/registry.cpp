#include <charconv>
#include <optional>

#include "gpu_host/library.hpp"
#include "core/choice/engine.hpp"

namespace tapline::core {
std::optional<int> cuda_index(const std::string& device) {
    if (device == "cuda") { return 0; }
    if (device.rfind("cuda:", 0) != 0) { return std::nullopt; }
    int index = -1;
    const char* const last = device.data() + device.size();
    const auto [end, error] = std::from_chars(device.data() + 5, last, index);
    if (error != std::errc() || end != last || index < 0) { return std::nullopt; }
    return index;
}

const Engine& engine_for(const std::string& device) {
    if (device == "auto" || device == "cpu") { return cpu_engine(); }
    const std::optional<int> index = cuda_index(device);
    if (!index) { throw Error(ErrorCode::argument, "device: '" + device + "' is not one of auto, cpu, cuda, cuda:N"); }
    return cuda_engine(*index);
}

}  // namespace tapline::core

namespace tapline {

std::vector<EngineInfo> engines() {
    const core::CudaLibrary& library = core::cuda_library();
    EngineInfo cuda{.name = "cuda", .available = false, .reason = library.reason, .devices = {}};
    for (int device = 0; device < library.devices; ++device) {
        try {
            const EngineInfo one = core::cuda_engine(device).info();
            cuda.devices.insert(cuda.devices.end(), one.devices.begin(), one.devices.end());
        } catch (const Error& error) { cuda.reason = error.what(); }
    }
    cuda.available = !cuda.devices.empty();
    if (cuda.available) { cuda.reason.clear(); }
    return {core::cpu_engine().info(), cuda};
}

}  // namespace tapline
