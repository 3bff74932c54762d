// Names of several GPUs: "cuda:0,1" and "cuda:all".
#pragma once

#include <string>
#include <vector>

namespace tapline::gpu_host {

/// Whether a name is one of a list of GPUs, well formed or not: "cuda:" followed by "all", by nothing, or by something with a
/// comma.
bool names_several(const std::string& name);

/// The devices of such a name, in its order. Throws Error (argument) for a list with an empty place, with what is no number or
/// with a device twice, (device) where a device is not there or there is none at all.
std::vector<int> devices_named(const std::string& name);

/// "cuda:0,1".
std::string name_of_devices(const std::vector<int>& devices);

}  // namespace tapline::gpu_host
