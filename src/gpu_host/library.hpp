// libtapline_cuda.so as the library sees it: loaded at first use, or the reason why not.
#pragma once

#include <string>

#include "cuda/passes_abi.hpp"
#include "cuda/peers_abi.hpp"

namespace tapline::gpu_host {

/// A loaded library, or why there is none.
struct CudaLibrary {
    const cuda_abi::Api* api = nullptr;
    std::string path;                          ///< of the file that was loaded
    std::string reason;                        ///< why api is null: no library, wrong version, no driver, no device
    int devices = 0;                           ///< usable ones, at least 1 if api is not null
    const cuda_abi::Peers* peers = nullptr;    ///< copies between devices; null where api is, or the library has none
    const cuda_abi::Passes* passes = nullptr;  ///< rounded passes; null likewise
};

/// Loads libtapline_cuda.so at the first call, from TAPLINE_CUDA_LIBRARY (an absolute path) or from beside libtapline.so or the
/// program that holds it; never from the current folder. Thread-safe; the answer does not change afterwards.
const CudaLibrary& library();

/// libtapline_lessons.so, from beside the file that library() loaded: the same interface, whose rungs are the ladder's lessons. For
/// `tapline ladder` and the tests only; both libraries work on the same devices, memory and streams.
const CudaLibrary& lessons_library();

/// What library() finds; `asked` is TAPLINE_CUDA_LIBRARY, nullptr if it is not set.
CudaLibrary find_library(const char* asked);

/// What lessons_library() finds beside `engine`.
CudaLibrary find_lessons_library(const CudaLibrary& engine);

/// The library in one file (an absolute path), loaded and asked for its devices: what library() does with the file it finds.
CudaLibrary load_library(const std::string& path);

/// The functions of library() for a device. Throws Error (device) with the reason if it cannot be used; `remedy` ends the message
/// where there is no library.
const cuda_abi::Api& api_for(int device, const char* remedy);

/// Copies between devices of library(). Throws Error (device) where it has none.
const cuda_abi::Peers& peers();

/// Rounded passes of library() on a device. Throws Error: device where that cannot be used, unsupported where the library has none.
const cuda_abi::Passes& passes_for(int device);

/// Throws the Error that a status describes.
[[noreturn]] void throw_status(const cuda_abi::Status& status);

/// Calls a function of the interface whose last argument is a Status; throws what that says if the result is false or null.
template <class Function, class... Arguments>
auto call(Function function, Arguments... arguments) {
    cuda_abi::Status status;
    const auto result = function(arguments..., &status);
    if (!result) { throw_status(status); }
    return result;
}

}  // namespace tapline::gpu_host
