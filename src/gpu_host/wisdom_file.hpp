// The wisdom file's contents and how it is read and replaced.
#pragma once

#include <string>
#include <vector>

#include "gpu_host/wisdom.hpp"

namespace tapline::gpu_host {

/// The entries that were measured on one device with one driver by one version.
struct WisdomSection {
    std::string device;
    std::int32_t driver = 0;  ///< as cuda_abi::Device::driver_version
    std::string version;      ///< of tapline
    std::vector<WisdomEntry> entries;
};

using WisdomSections = std::vector<WisdomSection>;

/// The text of a file. Throws Error (io) that says what is wrong with it.
WisdomSections parse_wisdom(const std::string& text);
std::string format_wisdom(const WisdomSections& sections);

/// Nothing for a file that does not exist or is empty. Throws Error (io).
WisdomSections read_wisdom(const std::string& path);

/// Reads the file under a lock, adds the section and replaces the file; remember() says how. Throws Error (io).
void update_wisdom(const std::string& path, const WisdomSection& added);

}  // namespace tapline::gpu_host
