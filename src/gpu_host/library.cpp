#include "gpu_host/library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tapline::core {
namespace {

constexpr const char* kVariable = "TAPLINE_CUDA_LIBRARY";
constexpr const char* kFileName = "libtapline_cuda.so";
// Where the library lies as seen from the folder of libtapline.so (beside it) or of the installed command.
constexpr std::array<const char*, 2> kFolders{".", TAPLINE_BIN_TO_LIB};

CudaLibrary absent(std::string reason) {
    CudaLibrary library;
    library.reason = std::move(reason);
    return library;
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

}  // namespace

CudaLibrary find_cuda_library(const char* asked) {
    if (asked != nullptr && *asked != 0) {
        const std::string path = asked;
        if (path.front() != '/') { return absent(std::string(kVariable) + ": '" + path + "' is not an absolute path"); }
        return load_cuda_library(path);
    }
    const std::string self = own_file();
    if (self.empty()) { return absent(std::string("no ") + kFileName + ": the system does not tell where tapline itself lies"); }
    const std::filesystem::path folder = std::filesystem::path(self).parent_path();
    for (const char* const place : kFolders) {
        const std::filesystem::path path = (folder / place / kFileName).lexically_normal();
        std::error_code ignored;
        if (std::filesystem::exists(path, ignored)) { return load_cuda_library(path.string()); }
    }
    return absent(std::string("no ") + kFileName + " beside " + self + "; build tapline with nvcc 12.4 or newer, or set " +
                  kVariable);
}

namespace {

// Fills in `devices`, or the reason why there are none.
void count_devices(CudaLibrary& library) {
    cuda_abi::Status status;
    library.devices = library.api->device_count(&status);
    if (library.devices >= 1) { return; }
    library.devices = 0;
    library.api = nullptr;
    library.reason = status.message[0] == 0 ? "no CUDA device" : status.message;
}

}  // namespace

CudaLibrary load_cuda_library(const std::string& path) {
    CudaLibrary library;
    library.path = path;
    if (path.empty() || path.front() != '/') { return absent("'" + path + "' is not an absolute path"); }
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: CUDA does not unload
    if (handle == nullptr) {
        const char* const error = dlerror();
        return absent(error == nullptr ? path + ": cannot be loaded" : error);
    }
    const auto entry = reinterpret_cast<cuda_abi::Entry>(dlsym(handle, cuda_abi::kEntryName));
    if (entry == nullptr) { return absent(path + ": is not tapline's CUDA engine: it has no " + cuda_abi::kEntryName); }
    library.api = entry(cuda_abi::kAbiVersion);
    const std::string wanted = std::to_string(cuda_abi::kAbiVersion);
    if (library.api == nullptr) {
        return absent(path + ": does not speak version " + wanted + " of the interface; install both of one build");
    }
    if (library.api->abi_version != cuda_abi::kAbiVersion || library.api->api_bytes != sizeof(cuda_abi::Api)) {
        return absent(path + ": speaks version " + std::to_string(library.api->abi_version) + " of the interface (" +
                      std::to_string(library.api->api_bytes) + " bytes), not " + wanted + " (" +
                      std::to_string(sizeof(cuda_abi::Api)) + " bytes); install both of one build");
    }
    const auto images = reinterpret_cast<cuda_abi::ImageEntry>(dlsym(handle, cuda_abi::kImageEntryName));
    library.images = images == nullptr ? nullptr : images(cuda_abi::kImageAbiVersion);
    if (library.images != nullptr && library.images->api_bytes != sizeof(cuda_abi::ImageApi)) { library.images = nullptr; }
    count_devices(library);
    return library;
}

const CudaLibrary& cuda_library() {
    static const CudaLibrary& library =
        *new CudaLibrary(find_cuda_library(secure_getenv(kVariable)));  // outlives every static object that uses it
    return library;
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

cuda_abi::Problem to_abi(const Resolved& problem, const Request& request) {
    // A stream's rungs are asked about a signal of this length before it is known: long, and far from any limit.
    constexpr std::int64_t kSomeLength = std::int64_t{1} << 24;
    const Problem& p = problem.problem;
    cuda_abi::Problem abi;
    const bool known = problem.x.n != kUnknownLength;
    abi.n = known ? problem.x.n : std::max(kSomeLength, problem.x.k);
    abi.k = problem.x.k;
    abi.batch = problem.batch.length;
    abi.origin = problem.x.origin;
    abi.output_length = known ? problem.x.outputs : output_length_of(p.mode, abi.n, abi.k);
    // Host buffers are packed on their way to the device.
    abi.in_row = request.host_buffers ? abi.n : problem.batch.in_stride;
    abi.in_sample = request.host_buffers ? 1 : problem.x.in_stride;
    abi.out_row = request.host_buffers ? abi.output_length : problem.batch.out_stride;
    abi.out_sample = request.host_buffers ? 1 : problem.x.out_stride;
    abi.filters = problem.filters;
    abi.dtype = static_cast<std::int32_t>(problem.dtype);
    abi.taps_dtype = static_cast<std::int32_t>(problem.taps_dtype);
    abi.output_dtype = static_cast<std::int32_t>(problem.output_dtype);
    abi.boundary = static_cast<std::int32_t>(p.boundary);
    abi.accuracy = static_cast<std::int32_t>(request.accuracy);
    abi.narrow_taps = request.narrow_taps ? 1 : 0;
    abi.taps_come_later = request.taps_come_later ? 1 : 0;
    abi.trivial_epilogue = problem.trivial_epilogue ? 1 : 0;
    abi.has_clamp = p.clamp ? 1 : 0;
    abi.constant_real = p.constant.real();
    abi.constant_imag = p.constant.imag();
    abi.scale = p.scale;
    abi.bias = p.bias;
    abi.low = p.clamp ? p.clamp->low : 0;
    abi.high = p.clamp ? p.clamp->high : 0;
    return abi;
}

}  // namespace tapline::core
