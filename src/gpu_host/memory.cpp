#include "gpu_host/memory.hpp"

#include <mutex>

namespace tapline::gpu_host {
namespace {

using cuda_abi::Api;

// Never destroyed: when static objects are, the CUDA runtime may be gone.
struct Pool {
    std::mutex mutex;
    std::vector<std::unique_ptr<PipelineMemory>> idle;
};

Pool& pool() {
    static Pool& instance = *new Pool;
    return instance;
}

std::uint64_t life_of(const Api& api, int device) { return api.life == nullptr ? 0 : api.life(device); }

void reserve_pieces(const PipelineMemory& memory, std::vector<PinnedPiece>& pieces, std::int64_t chunk_bytes, std::int64_t chunks) {
    const std::int64_t used = chunks * ((chunk_bytes + memory.piece_bytes - 1) / memory.piece_bytes);
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(pipeline_settings().pieces, used));
    while (pieces.size() < wanted) {
        EventHandle done = make_event(*memory.api, memory.device);
        pieces.push_back({allocate_pinned(*memory.api, memory.device, memory.piece_bytes), std::move(done)});
    }
}

}  // namespace

DeviceBytes allocate_device(const Api& api, int device, std::int64_t bytes) {
    return DeviceBytes(call(api.allocate, device, bytes), {&api, device});
}

PinnedBytes allocate_pinned(const Api& api, int device, std::int64_t bytes) {
    return PinnedBytes(call(api.allocate_pinned, device, bytes), {&api, device});
}

StreamHandle make_stream(const Api& api, int device) { return StreamHandle(call(api.make_stream, device), {&api, device}); }

EventHandle make_event(const Api& api, int device) { return EventHandle(call(api.make_event, device), {&api, device}); }

PipelineMemory::PipelineMemory(const Api& used_api, int used_device)
    : api(&used_api),
      device(used_device),
      piece_bytes(pipeline_settings().piece_bytes),
      upload(make_stream(used_api, used_device)),
      compute(make_stream(used_api, used_device)),
      download(make_stream(used_api, used_device)),
      life(life_of(used_api, used_device)) {}

PipelineMemory::~PipelineMemory() {
    if (!was_reset()) { return; }
    for (StreamHandle* stream : {&upload, &compute, &download}) { static_cast<void>(stream->release()); }
    for (std::vector<PinnedPiece>* pieces : {&in_pieces, &out_pieces}) {
        for (PinnedPiece& piece : *pieces) {
            static_cast<void>(piece.bytes.release());
            static_cast<void>(piece.done.release());
        }
    }
    for (DeviceSlot& slot : slots) {
        static_cast<void>(slot.in.release());
        static_cast<void>(slot.out.release());
        for (EventHandle* event : {&slot.uploaded, &slot.computed, &slot.downloaded}) { static_cast<void>(event->release()); }
    }
    static_cast<void>(workspace.release());
}

bool PipelineMemory::was_reset() const { return life_of(*api, device) != life; }

void PipelineMemory::reserve(const Chunks& chunks, std::int64_t wanted_workspace_bytes) {
    const bool fits = slot_in_bytes >= chunks.in_bytes && slot_out_bytes >= chunks.out_bytes &&
                      workspace_bytes >= wanted_workspace_bytes && slots.size() >= static_cast<std::size_t>(chunks.slots);
    if (!fits) {  // all new: together they must fit into what the chunks were cut for
        drop_device_memory();
        if (wanted_workspace_bytes > 0) {
            workspace = allocate_device(*api, device, wanted_workspace_bytes);
            workspace_bytes = wanted_workspace_bytes;
        }
        slot_in_bytes = std::max<std::int64_t>(chunks.in_bytes, 16);  // a window may be empty; its address must not be null
        slot_out_bytes = chunks.out_bytes;
        while (slots.size() < static_cast<std::size_t>(chunks.slots)) {
            slots.push_back({.in = allocate_device(*api, device, slot_in_bytes),
                             .out = allocate_device(*api, device, slot_out_bytes),
                             .uploaded = make_event(*api, device),
                             .computed = make_event(*api, device),
                             .downloaded = make_event(*api, device)});
        }
    }
    reserve_pieces(*this, in_pieces, chunks.in_bytes, chunks.count());
    reserve_pieces(*this, out_pieces, chunks.out_bytes, chunks.count());
}

void PipelineMemory::drop_device_memory() {
    slots.clear();
    workspace.reset();
    slot_in_bytes = slot_out_bytes = workspace_bytes = 0;
}

std::int64_t PipelineMemory::device_bytes() const {
    return static_cast<std::int64_t>(slots.size()) * (slot_in_bytes + slot_out_bytes) + workspace_bytes;
}

std::int64_t PipelineMemory::pinned_bytes() const {
    return static_cast<std::int64_t>(in_pieces.size() + out_pieces.size()) * piece_bytes;
}

std::unique_ptr<PipelineMemory> take_pipeline_memory(const Api& api, int device) {
    {
        Pool& p = pool();
        const std::lock_guard lock(p.mutex);
        std::erase_if(p.idle, [](const auto& idle) { return idle->was_reset(); });
        for (auto& idle : p.idle) {
            const bool fits = idle->api == &api && idle->device == device && idle->piece_bytes == pipeline_settings().piece_bytes;
            if (!fits) { continue; }
            std::swap(idle, p.idle.back());
            std::unique_ptr<PipelineMemory> taken = std::move(p.idle.back());
            p.idle.pop_back();
            return taken;
        }
    }
    return std::make_unique<PipelineMemory>(api, device);
}

void give_back(std::unique_ptr<PipelineMemory> memory) {
    const std::int64_t most = pipeline_settings().kept_bytes;
    Pool& p = pool();
    const std::lock_guard lock(p.mutex);
    std::int64_t device_bytes = 0;
    std::int64_t pinned_bytes = memory->pinned_bytes();
    for (const auto& idle : p.idle) {
        if (idle->device != memory->device) { continue; }
        device_bytes += idle->device_bytes();
        pinned_bytes += idle->pinned_bytes();
    }
    if (pinned_bytes > most) { return; }
    if (device_bytes + memory->device_bytes() > most) { memory->drop_device_memory(); }
    p.idle.push_back(std::move(memory));
}

void drop_idle_pipeline_memory(int device) {
    Pool& p = pool();
    const std::lock_guard lock(p.mutex);
    std::erase_if(p.idle, [&](const auto& idle) { return idle->device == device; });
}

}  // namespace tapline::gpu_host
