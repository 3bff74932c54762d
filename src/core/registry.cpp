#include <array>

#include "core/engine.hpp"

namespace tapline::core {
namespace {

bool names_cuda(const std::string& device) { return device == "cuda" || device.rfind("cuda:", 0) == 0; }

}  // namespace

std::span<const Engine* const> engine_registry() {
    static const std::array<const Engine*, 1> engines{&cpu_engine()};
    return engines;
}

const Engine& engine_for(const std::string& device) {
    if (device != "auto" && device != "cpu" && !names_cuda(device)) {
        throw Error(ErrorCode::argument, "device: '" + device + "' is not one of auto, cpu, cuda, cuda:N");
    }
    for (const Engine* engine : engine_registry()) {
        const EngineInfo info = engine->info();
        if (device == "auto" && info.available) { return *engine; }
        const bool wanted = device == info.name || (names_cuda(device) && info.name == "cuda");
        if (!wanted) { continue; }
        if (!info.available) { throw Error(ErrorCode::device, "device: '" + device + "' is not available: " + info.reason); }
        return *engine;
    }
    throw Error(ErrorCode::device, "device: '" + device + "' is not available: this build has no CUDA engine; use cpu or auto");
}

}  // namespace tapline::core

namespace tapline {

std::vector<EngineInfo> engines() {
    std::vector<EngineInfo> infos;
    bool has_cuda = false;
    for (const core::Engine* engine : core::engine_registry()) {
        infos.push_back(engine->info());
        has_cuda = has_cuda || infos.back().name == "cuda";
    }
    if (!has_cuda) {
        infos.push_back({.name = "cuda", .available = false, .reason = "this build has no CUDA engine", .devices = {}});
    }
    return infos;
}

}  // namespace tapline
