// Which device solves a problem under device "auto".
#pragma once

#include "core/choice/choice.hpp"

namespace tapline::core {

struct DeviceChoice {
    const Engine* engine = nullptr;
    Choice choice;
    Request request;  ///< the one that the choice was made for
};

/// The engine of a named device with its choice. Under "auto": the engine that has the result in host memory first. A GPU is asked
/// for only where the CPU needs long, or cannot solve the problem; an algorithm's name under "auto" is one of the CPU's.
DeviceChoice choose_device(const std::string& device, const Resolved& problem, const Request& request,
                           const std::string& algorithm);

/// The CPU's choice in place of a GPU's that failed while it was prepared; `failure` is its message. Throws Error if the CPU cannot
/// solve the problem.
DeviceChoice fall_back_to_host(const Resolved& problem, const Request& request, const std::string& failure);

}  // namespace tapline::core
