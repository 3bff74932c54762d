#include "gpu_host/library.hpp"

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tapline/error.hpp"

namespace tapline::gpu_host {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "TAPLINE_CUDA_LIBRARY";
constexpr const char* kFileName = "libtapline_cuda.so";
constexpr const char* kLessonsFileName = "libtapline_lessons.so";
// Where the library lies as seen from the folder of libtapline.so (beside it) or of the installed command.
constexpr std::array<const char*, 2> kFolders{".", TAPLINE_BIN_TO_LIB};

CudaLibrary absent(std::string reason) {
    CudaLibrary none;
    none.reason = std::move(reason);
    return none;
}

// The file that holds this code, as an absolute path without links; empty if the system does not say. The memory map knows it
// even where the program was started by a relative name, which is all that dladdr() remembers then.
std::string own_file() {
    const auto address = reinterpret_cast<std::uintptr_t>(&own_file);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::istringstream fields(line);
        std::uintptr_t first = 0;
        std::uintptr_t last = 0;
        char dash = 0;
        fields >> std::hex >> first >> dash >> last;
        if (!fields || address < first || address >= last) { continue; }
        const std::size_t path = line.find('/');
        return path == std::string::npos ? std::string() : line.substr(path);
    }
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&own_file), &info) == 0 || info.dli_fname == nullptr || info.dli_fname[0] != '/') {
        return {};
    }
    return info.dli_fname;
}

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

// Fills in `devices`, or the reason why there are none.
void count_devices(CudaLibrary& loaded) {
    cuda_abi::Status status;
    loaded.devices = loaded.api->device_count(&status);
    if (loaded.devices >= 1) { return; }
    loaded.devices = 0;
    loaded.api = nullptr;
    const std::string said = status.message[0] == 0 ? "no CUDA device" : status.message;
    loaded.reason =
        said + (said.find("driver") == said.npos ? "; if this machine has an NVIDIA GPU, see nvidia-smi and CUDA_VISIBLE_DEVICES"
                                                 : "; for the GPU install NVIDIA's driver, or a newer one (see nvidia-smi)");
}

}  // namespace

CudaLibrary load_library(const std::string& path) {
    if (path.empty() || path.front() != '/') { return absent("'" + path + "' is not an absolute path"); }
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: CUDA does not unload
    if (handle == nullptr) {
        const char* const error = dlerror();
        return absent(error == nullptr ? path + ": cannot be loaded" : error);
    }
    const auto entry = reinterpret_cast<cuda_abi::Entry>(dlsym(handle, cuda_abi::kEntryName));
    if (entry == nullptr) { return absent(path + ": is not tapline's CUDA engine: it has no " + cuda_abi::kEntryName); }
    CudaLibrary loaded;
    loaded.path = path;
    loaded.api = entry(cuda_abi::kAbiVersion);
    const std::string wanted = std::to_string(cuda_abi::kAbiVersion);
    if (loaded.api == nullptr) {
        return absent(path + ": does not speak version " + wanted + " of the interface; install both of one build");
    }
    if (loaded.api->abi_version != cuda_abi::kAbiVersion || loaded.api->api_bytes != sizeof(cuda_abi::Api)) {
        return absent(path + ": speaks version " + std::to_string(loaded.api->abi_version) + " of the interface (" +
                      std::to_string(loaded.api->api_bytes) + " bytes), not " + wanted + " (" +
                      std::to_string(sizeof(cuda_abi::Api)) + " bytes); install both of one build");
    }
    count_devices(loaded);
    const auto peers_entry = reinterpret_cast<cuda_abi::PeersEntry>(dlsym(handle, cuda_abi::kPeersEntryName));
    if (loaded.api != nullptr && peers_entry != nullptr) { loaded.peers = peers_entry(cuda_abi::kPeersVersion); }
    const auto passes_entry = reinterpret_cast<cuda_abi::PassesEntry>(dlsym(handle, cuda_abi::kPassesEntryName));
    if (loaded.api != nullptr && passes_entry != nullptr) { loaded.passes = passes_entry(cuda_abi::kPassesVersion); }
    return loaded;
}

CudaLibrary find_library(const char* asked) {
    if (asked != nullptr && *asked != 0) {
        const std::string path = asked;
        if (path.front() != '/') { return absent(std::string(kVariable) + ": '" + path + "' is not an absolute path"); }
        return load_library(path);
    }
    const std::string self = own_file();
    if (self.empty()) { return absent(std::string("no ") + kFileName + ": the system does not tell where tapline itself lies"); }
    const fs::path folder = fs::path(self).parent_path();
    for (const char* const place : kFolders) {
        const fs::path path = (folder / place / kFileName).lexically_normal();
        if (is_there(path)) { return load_library(path.string()); }
    }
    return absent(std::string("no ") + kFileName + " beside " + self + "; build tapline with nvcc 12.4 or newer, or set " +
                  kVariable);
}

CudaLibrary find_lessons_library(const CudaLibrary& engine) {
    const std::string none = std::string("no ") + kLessonsFileName;
    if (engine.path.empty()) { return absent(none + ": " + engine.reason); }
    std::error_code ignored;
    for (const fs::path& file : {fs::path(engine.path), fs::canonical(engine.path, ignored)}) {  // which may be a link
        const fs::path path = file.parent_path() / kLessonsFileName;
        if (is_there(path)) { return load_library(path.string()); }
    }
    return absent(none + " beside " + engine.path);
}

const CudaLibrary& library() {
    static const CudaLibrary& found =
        *new CudaLibrary(find_library(secure_getenv(kVariable)));  // outlives every static object that uses it
    return found;
}

const CudaLibrary& lessons_library() {
    static const CudaLibrary& found = *new CudaLibrary(find_lessons_library(library()));
    return found;
}

const cuda_abi::Api& api_for(int device, const char* remedy) {
    const CudaLibrary& found = library();
    const std::string name = "device: 'cuda:" + std::to_string(device) + "' is not available: ";
    if (found.api == nullptr) { throw Error(ErrorCode::device, name + found.reason + remedy); }
    if (device < 0 || device >= found.devices) {
        throw Error(ErrorCode::device, name + "this machine has " + std::to_string(found.devices) +
                                           (found.devices == 1 ? " CUDA device, cuda:0" : " CUDA devices, numbered from cuda:0"));
    }
    return *found.api;
}

const cuda_abi::Peers& peers() {
    const CudaLibrary& found = library();
    if (found.peers == nullptr) {
        throw Error(ErrorCode::device,
                    "device: " + (found.api == nullptr ? found.reason
                                                       : found.path + " does not copy between GPUs; install both of one build"));
    }
    return *found.peers;
}

const cuda_abi::Passes& passes_for(int device) {
    api_for(device, "");
    const CudaLibrary& found = library();
    if (found.passes == nullptr) { throw Error(ErrorCode::unsupported, "rounded passes: " + found.path + " has none"); }
    return *found.passes;
}

void throw_status(const cuda_abi::Status& status) {
    const auto code = static_cast<int>(status.code);
    const bool known = code >= static_cast<int>(cuda_abi::Code::argument) && code <= static_cast<int>(cuda_abi::Code::device);
    // The interface counts from 1, tapline::ErrorCode from 0.
    static_assert(static_cast<int>(cuda_abi::Code::device) == static_cast<int>(ErrorCode::device) + 1);
    std::string message = status.message[0] == 0 ? "device: the CUDA engine failed without a message" : status.message;
    if (status.sticky != 0) { message += "; this process cannot use the GPU any more, the CPU goes on"; }
    throw Error(known ? static_cast<ErrorCode>(code - 1) : ErrorCode::device, message);
}

}  // namespace tapline::gpu_host
