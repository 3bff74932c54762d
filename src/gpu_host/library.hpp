// libtapline_cuda.so as the core sees it: loaded at first use, or the reason why not.
#pragma once

#include <optional>
#include <string>

#include "core/choice/engine.hpp"
#include "cuda/abi.hpp"
#include "cuda/image_abi.hpp"

namespace tapline::core {

/// The loaded library, or why there is none.
struct CudaLibrary {
    const cuda_abi::Api* api = nullptr;
    const cuda_abi::ImageApi* images = nullptr;  ///< null: the library has none for this version
    std::string path;                            ///< of the file that was loaded
    std::string reason;                          ///< why api is null: no library, wrong version, no driver, no device
    int devices = 0;                             ///< usable ones, at least 1 if api is not null
};

/// Loads at the first call, from TAPLINE_CUDA_LIBRARY (an absolute path) or from beside libtapline.so or the program that holds
/// it; never from the current folder. Thread-safe; the answer does not change afterwards.
const CudaLibrary& cuda_library();

/// What cuda_library() finds; `asked` is TAPLINE_CUDA_LIBRARY, nullptr if it is not set.
CudaLibrary find_cuda_library(const char* asked);

/// The library in one file (an absolute path), loaded and asked for its devices: what cuda_library() does with the file it finds.
CudaLibrary load_cuda_library(const std::string& path);

/// The problem as the library wants it. An unknown length becomes some large one; with request.host_buffers the strides are those
/// of packed rows.
cuda_abi::Problem to_abi(const Resolved& problem, const Request& request);

/// The device of a name: 0 of "cuda", N of "cuda:N"; nothing for another name.
std::optional<int> cuda_index(const std::string& device);

/// Throws the Error that a status describes.
[[noreturn]] void throw_status(const cuda_abi::Status& status);

/// The engine of one device, "cuda:N"; each device has an engine of its own, since each may choose differently.
/// Throws Error (device) with the reason if it cannot be used.
const Engine& cuda_engine(int device);

/// What a CUDA plan's executable is; for the command's measurements and the tests.
class CudaExecutable : public Executable {
public:
    [[nodiscard]] virtual const cuda_abi::Prepared* prepared() const = 0;
    [[nodiscard]] virtual int device() const = 0;
    /// execute() of what was prepared without taps.
    virtual void execute_with_taps(const Output& output, const Input& input, const cuda_abi::DeviceTaps& taps,
                                   std::span<std::byte> workspace, void* stream) const = 0;
    [[nodiscard]] bool takes_host_memory() const final { return false; }
    [[nodiscard]] std::size_t host_workspace_bytes() const final { return 0; }
};

}  // namespace tapline::core
