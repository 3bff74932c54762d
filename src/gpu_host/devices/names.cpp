#include "gpu_host/devices/names.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

#include "gpu_host/library.hpp"
#include "tapline/error.hpp"

namespace tapline::gpu_host {
namespace {

constexpr std::string_view kPrefix = "cuda:";
constexpr const char* kRemedy = "; use cpu or auto";

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
    throw Error(ErrorCode::argument, "device: '" + name + "' " + why + "; write cuda:N, cuda:0,1 or cuda:all");
}

int number_of(std::string_view text, const std::string& name) {
    int index = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (text.empty()) { refuse(name, "has an empty place in its list"); }
    if (error != std::errc() || end != text.data() + text.size() || index < 0) {
        refuse(name, "lists '" + std::string(text) + "', which is no number of a GPU");
    }
    return index;
}

}  // namespace

bool names_several(const std::string& name) {
    if (!name.starts_with(kPrefix)) { return false; }
    const std::string_view list = std::string_view(name).substr(kPrefix.size());
    return list.empty() || list == "all" || list.find(',') != list.npos;
}

std::vector<int> devices_named(const std::string& name) {
    std::string_view list = std::string_view(name).substr(kPrefix.size());
    if (list.empty()) { refuse(name, "names no GPU"); }
    std::vector<int> devices;
    if (list == "all") {
        static_cast<void>(api_for(0, kRemedy));
        devices.resize(static_cast<std::size_t>(library().devices));
        std::iota(devices.begin(), devices.end(), 0);
        return devices;
    }
    for (bool more = true; more;) {
        const std::size_t comma = list.find(',');
        const int index = number_of(list.substr(0, comma), name);
        if (std::find(devices.begin(), devices.end(), index) != devices.end()) {
            refuse(name, "names cuda:" + std::to_string(index) + " twice");
        }
        devices.push_back(index);
        more = comma != list.npos;
        if (more) { list.remove_prefix(comma + 1); }
    }
    for (const int device : devices) { static_cast<void>(api_for(device, kRemedy)); }
    return devices;
}

std::string name_of_devices(const std::vector<int>& devices) {
    std::string name(kPrefix);
    for (const int device : devices) { name += (name.size() == kPrefix.size() ? "" : ",") + std::to_string(device); }
    return name;
}

}  // namespace tapline::gpu_host
