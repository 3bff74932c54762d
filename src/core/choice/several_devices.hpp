// One or several devices for what lies in host memory.
#pragma once

#include <functional>
#include <optional>

#include "core/choice/device_choice.hpp"

namespace tapline::core {

/// What a name of several devices stands for: engines whose plans share the work of host buffers.
struct SeveralDevices {
    int count = 1;
    bool takes_all = false;                        ///< asked for, for measurements: whatever the choice expects
    std::function<const Engine&(int)> engine_for;  ///< of the first so many of them
};

/// Nothing for a name of one device. Throws Error as engine_for() does. src/engines.
std::optional<SeveralDevices> several_devices(const std::string& device);

/// As many of them as are of use, and why: all share the host's memory, each has a link and kernels of its own. A stream goes
/// through one.
DeviceChoice choose_among(const SeveralDevices& devices, const Resolved& problem, Request request, const std::string& algorithm);

}  // namespace tapline::core
