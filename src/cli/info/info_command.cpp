// tapline info: what this build and this machine offer.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/measure/copy_speed.hpp"
#include "cli/measure/cuda_device.hpp"
#include "cli/shared/numbers.hpp"
#include "tapline/info.hpp"

namespace tapline::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kCopyBytes = std::size_t{64} << 20;  // 2^24 floats: beyond every cache but a server's

Json gather(int threads) {
    Json json;
    json["version"] = version();
    json["engines"] = Json::array();
    for (const auto& engine : engines()) {
        Json entry{{"name", engine.name}, {"available", engine.available}, {"reason", engine.reason}, {"devices", Json::array()}};
        for (const auto& device : engine.devices) {
            entry["devices"].push_back({{"name", device.name},
                                        {"description", device.description},
                                        {"instruction_set", device.instruction_set},
                                        {"threads", device.threads},
                                        {"memory_bytes", device.memory_bytes}});
        }
        json["engines"].push_back(std::move(entry));
    }
    json["instruction_sets"] = cpu_targets();
    json["instruction_set"] = cpu_target();
    json["threads"] = threads;
    json["wisdom"] = wisdom_path();
    std::error_code ignored;
    json["wisdom_exists"] = std::filesystem::exists(wisdom_path(), ignored);
    const auto wisdom = wisdom_state();
    json["wisdom_entries"] = wisdom.entries;
    json["wisdom_ignored"] = wisdom.reason;
    const CopySpeed speed = measure_copy_speed(kCopyBytes, threads);
    json["copy_bytes_per_second"] = speed.memcpy_bytes_per_second;
    json["streaming_copy_bytes_per_second"] = speed.streaming_bytes_per_second;
    return json;
}

constexpr std::size_t kColumn = 19;

std::string line_of(std::string name, const std::string& text) {
    name.resize(std::max(name.size() + 1, kColumn), ' ');
    return name + text + "\n";
}

std::string lines_of(const EngineInfo& engine) {
    const std::string name = "engine " + engine.name;
    std::string text;
    for (const auto& device : engine.devices) text += line_of(name, device.name + ": " + device.description);
    return engine.available ? text : line_of(name, "not available: " + engine.reason);
}

std::string wisdom_note(const Json& json) {
    if (!json["wisdom_exists"].get<bool>()) return " (none yet; `tapline tune` measures which GPU kernels are the fastest here)";
    const auto reason = json["wisdom_ignored"].get<std::string>();
    if (!reason.empty()) return " (ignored: " + reason + ")";
    return " (" + std::to_string(json["wisdom_entries"].get<int>()) + " results)";
}

void print(const Json& json) {
    std::fputs(version_text().c_str(), stdout);
    std::string sets;
    const auto used = json["instruction_set"].get<std::string>();
    for (const auto& set : json["instruction_sets"]) {
        const auto name = set.get<std::string>();
        sets += (sets.empty() ? "" : ", ") + name + (name == used ? " (in use)" : "");
    }
    std::printf("instruction sets   %s\n", sets.c_str());
    std::printf("threads            %d\n", json["threads"].get<int>());
    std::printf("wisdom             %s%s\n", json["wisdom"].get<std::string>().c_str(), wisdom_note(json).c_str());
    std::printf("copy speed         %.1f GB/s, read plus write (memcpy on all threads, 64 MiB)\n",
                json["copy_bytes_per_second"].get<double>() / 1e9);
    std::printf("with streaming     %.1f GB/s\n", json["streaming_copy_bytes_per_second"].get<double>() / 1e9);
}

}  // namespace

std::string version_text() {
    std::string text = std::string("tapline ") + version() + "\n";
    for (const auto& engine : engines()) text += lines_of(engine);
    return text;
}

void add_info(CLI::App& app) {
    auto* sub = app.add_subcommand("info", "What this build and this machine offer");
    auto as_json = std::make_shared<bool>(false);
    sub->add_flag("--json", *as_json, "Print one JSON object");
    sub->footer(
        "Prints the version, the engines (and why one is not available), devices, CPU instruction sets,\n"
        "threads, the file in which tuning results are kept, and the measured speed of a memory copy:\n"
        "the yardstick of `tapline bench`. TAPLINE_TARGET=NAME forces an instruction set.");
    sub->callback([as_json] {
        const Json json = gather(available_threads());
        if (*as_json) {
            std::cout << json.dump(2) << '\n';
        } else {
            print(json);
        }
    });
}

}  // namespace tapline::cli
