// Pinned and device memory, streams and events of one run of the host pipeline, kept for the next one.
#pragma once

#include <memory>
#include <vector>

#include "gpu_host/chunks.hpp"
#include "gpu_host/library.hpp"

namespace tapline::gpu_host {

/// A device's memory, pinned memory, stream or event with the function that frees it.
template <class T, void (*cuda_abi::Api::*kFree)(std::int32_t, T*)>
struct CudaDelete {
    const cuda_abi::Api* api = nullptr;
    int device = 0;
    void operator()(T* p) const { (api->*kFree)(device, p); }
};
using DeviceBytes = std::unique_ptr<void, CudaDelete<void, &cuda_abi::Api::free>>;
using PinnedBytes = std::unique_ptr<void, CudaDelete<void, &cuda_abi::Api::free_pinned>>;
using StreamHandle = std::unique_ptr<cuda_abi::Stream, CudaDelete<cuda_abi::Stream, &cuda_abi::Api::free_stream>>;
using EventHandle = std::unique_ptr<cuda_abi::Event, CudaDelete<cuda_abi::Event, &cuda_abi::Api::free_event>>;

/// Throw Error (memory, device).
DeviceBytes allocate_device(const cuda_abi::Api& api, int device, std::int64_t bytes);
PinnedBytes allocate_pinned(const cuda_abi::Api& api, int device, std::int64_t bytes);
StreamHandle make_stream(const cuda_abi::Api& api, int device);
EventHandle make_event(const cuda_abi::Api& api, int device);

/// A pinned buffer; `done`: the copy that used it last.
struct PinnedPiece {
    PinnedBytes bytes;
    EventHandle done;
};

/// A chunk's place on the device.
struct DeviceSlot {
    DeviceBytes in, out;
    EventHandle uploaded, computed, downloaded;
};

struct PipelineMemory {
    PipelineMemory(const cuda_abi::Api& api, int device);
    PipelineMemory(const PipelineMemory&) = delete;
    PipelineMemory& operator=(const PipelineMemory&) = delete;
    /// Frees everything, unless the device was reset: then it is gone already.
    ~PipelineMemory();

    /// Room for the chunks; keeps what is large enough.
    void reserve(const Chunks& chunks, std::int64_t workspace_bytes);
    void drop_device_memory();
    [[nodiscard]] std::int64_t device_bytes() const;
    [[nodiscard]] std::int64_t pinned_bytes() const;
    [[nodiscard]] bool was_reset() const;

    const cuda_abi::Api* api;
    int device;
    std::int64_t piece_bytes;
    StreamHandle upload, compute, download;
    std::uint64_t life;  ///< of the device
    std::vector<PinnedPiece> in_pieces, out_pieces;
    std::vector<DeviceSlot> slots;
    DeviceBytes workspace;
    std::int64_t slot_in_bytes = 0, slot_out_bytes = 0, workspace_bytes = 0;
};

/// One that a former call gave back and that no reset of the device has ended, or a new one.
std::unique_ptr<PipelineMemory> take_pipeline_memory(const cuda_abi::Api& api, int device);
/// For the next call, as far as PipelineSettings::kept_bytes allows. Nothing may use it any more.
void give_back(std::unique_ptr<PipelineMemory> memory);
/// Frees what waits for the next call.
void drop_idle_pipeline_memory(int device);

}  // namespace tapline::gpu_host
