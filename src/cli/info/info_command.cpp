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

void print_engine(const Json& engine) {
    const auto name = engine["name"].get<std::string>();
    if (!engine["available"].get<bool>()) {
        std::printf("engine %-5s       not available: %s\n", name.c_str(), engine["reason"].get<std::string>().c_str());
        return;
    }
    for (const auto& device : engine["devices"]) {
        std::printf("engine %-5s       %s: %s\n", name.c_str(), device["name"].get<std::string>().c_str(),
                    device["description"].get<std::string>().c_str());
    }
}

std::string wisdom_note(const Json& json) {
    if (!json["wisdom_exists"].get<bool>()) return " (none yet)";
    const auto reason = json["wisdom_ignored"].get<std::string>();
    if (!reason.empty()) return " (ignored: " + reason + ")";
    return " (" + std::to_string(json["wisdom_entries"].get<int>()) + " results)";
}

void print(const Json& json) {
    std::printf("tapline %s\n", json["version"].get<std::string>().c_str());
    for (const auto& engine : json["engines"]) print_engine(engine);
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
