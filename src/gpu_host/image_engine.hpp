// Image rungs of the CUDA engine as algorithms of the core.
#pragma once

#include "gpu_host/library.hpp"
#include "core/choice/engine.hpp"

namespace tapline::core {

/// The table of a device. Throws Error (device) with the reason if it cannot be used for images.
std::span<const ImageAlgorithm* const> cuda_image_algorithms(int device);

/// Seconds to copy so many bytes on a device, which cuda_image_algorithms() accepted.
double cuda_image_copy_seconds(int device, std::int64_t bytes);

/// Bytes that go to the device and come back in an execution from and to host memory.
double image_transfer_bytes(const Resolved& problem);

/// The problem as the library wants it; with request.host_buffers the strides are those of packed rows.
cuda_abi::ImageProblem to_abi(const Resolved& problem, const Request& request);

class CudaImageExecutable : public ImageExecutable {
public:
    [[nodiscard]] bool takes_host_memory() const final { return false; }
    [[nodiscard]] virtual const cuda_abi::PreparedImage* prepared() const = 0;
    [[nodiscard]] virtual int device() const = 0;
    /// Device memory; does not wait.
    virtual void execute_on(void* out, const void* in, std::span<std::byte> workspace, void* stream) const = 0;
    /// Host memory; waits for the result.
    virtual void execute_host(void* out, const void* in) const = 0;
};

/// What a run from and to host memory needs.
struct ImageHostTask {
    const cuda_abi::Api* api = nullptr;
    const cuda_abi::ImageApi* images = nullptr;
    int device = 0;
    const cuda_abi::PreparedImage* prepared = nullptr;
    const Resolved* problem = nullptr;
    bool takes_pieces = true;  ///< else whole images only
    std::int64_t workspace_bytes = 0;
};

/// All outputs, from and to pageable host memory: whole, image by image or in bands of rows, as memory allows. Throws Error;
/// nothing runs any more then.
void run_image_on_host_memory(const ImageHostTask& task, void* out, const void* in);

}  // namespace tapline::core
