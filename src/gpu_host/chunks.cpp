#include "gpu_host/chunks.hpp"

#include <string>

#include "gpu_host/problem.hpp"
#include "tapline/error.hpp"

namespace tapline::gpu_host {
namespace {

using core::Input;
using core::Output;
using core::Resolved;

// A signal's chunk has at least so many outputs an item (or all): fewer would be launched for longer than they take.
constexpr std::int64_t kLeastOutputs = 1024;
// Rows of signals that lie interleaved are read together, at least so many samples of each at a time.
constexpr std::int64_t kInterleavedOutputs = 4096;
// What is read before a chunk is uploaded again with it: at most a quarter more, if there is memory.
constexpr std::int64_t kOutputsPerTap = 4;
// Large chunks of a problem that they are cut from at least: the first one in and the last one out overlap with nothing.
constexpr std::int64_t kChunksOfALongSignal = 16;

bool interleaved(std::int64_t batch_stride, std::int64_t stride) { return std::abs(batch_stride) < std::abs(stride); }

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// What lies outside an image stays away, and the rung tells it from a constant; a signal's constant is uploaded with it.
bool absent_outside(const Resolved& problem) {
    const Boundary boundary = problem.cut().boundary;
    return boundary == Boundary::zero || (problem.rank > 1 && boundary == Boundary::constant);
}

struct Sizes {
    std::int64_t in_bytes, out_bytes;  // of a position along the cut axis
    std::int64_t halo;                 // positions that a chunk reads beyond one for each output
    std::int64_t most_window;          // no chunk reads more positions of an item
    [[nodiscard]] std::int64_t window(std::int64_t outputs) const { return std::min(outputs + halo, most_window); }
    [[nodiscard]] std::int64_t item_bytes(std::int64_t outputs) const { return window(outputs) * in_bytes + outputs * out_bytes; }
};

Sizes sizes_of(const Resolved& problem, const Input& input, std::int64_t outputs) {
    const PositionElements elements = position_elements(problem);
    Sizes sizes{};
    sizes.in_bytes = elements.in * static_cast<std::int64_t>(size_of(problem.dtype));
    sizes.out_bytes = elements.out * static_cast<std::int64_t>(size_of(problem.output_dtype));
    sizes.halo = problem.cut().k - 1;
    sizes.most_window = outputs + sizes.halo;
    if (absent_outside(problem)) { sizes.most_window = std::min(sizes.most_window, input.n); }
    return sizes;
}

// The most outputs an item, up to `wanted`, with which `items` items take at most `bytes`; 0: none.
std::int64_t outputs_within(const Sizes& sizes, std::int64_t items, std::int64_t wanted, std::int64_t bytes) {
    if (sizes.item_bytes(wanted) <= bytes / items) { return wanted; }
    // With as much of the window as these outputs need at most; the rest is outputs and the positions that come with them.
    const std::int64_t by_halo = (bytes / items - sizes.halo * sizes.in_bytes) / (sizes.in_bytes + sizes.out_bytes);
    const std::int64_t by_window = (bytes / items - sizes.most_window * sizes.in_bytes) / sizes.out_bytes;
    return std::clamp<std::int64_t>(std::max(by_halo, by_window), 0, wanted);
}

[[noreturn]] void refuse_memory(const Sizes& sizes, std::int64_t outputs, std::int64_t workspace_bytes, std::int64_t device_bytes) {
    throw Error(ErrorCode::memory, "device memory: " + std::to_string(sizes.item_bytes(outputs) + workspace_bytes) +
                                       " bytes are needed at once, " + std::to_string(device_bytes) +
                                       " are free; use fewer taps, free memory on the GPU, or use the CPU");
}

Chunks one_chunk(const Resolved& problem, const Output& output, Sizes& sizes, std::int64_t room, std::int64_t device_bytes) {
    if (sizes.item_bytes(output.count) > room / problem.batch.length) {
        throw Error(ErrorCode::memory, "device memory: " + std::to_string(device_bytes) +
                                           " bytes are free, not enough for all of the input and its output, and this "
                                           "algorithm cannot work in pieces; use another, or the CPU");
    }
    return {.whole = true, .slots = 1, .items = problem.batch.length, .outputs = output.count};
}

// As many and as large as the settings say, smaller where `room` is short.
Chunks pieces_within(const Resolved& problem, const Output& output, const Input& input, const Sizes& sizes, std::int64_t room,
                     std::int64_t workspace_bytes) {
    const PipelineSettings& settings = pipeline_settings();
    Chunks chunks;
    const std::int64_t position = std::max(sizes.in_bytes, sizes.out_bytes);
    const bool is_long = problem.batch.length * output.count * position / kChunksOfALongSignal >= settings.large_chunk_bytes;
    const std::int64_t chunk_bytes = is_long ? settings.large_chunk_bytes : settings.chunk_bytes;
    const std::int64_t wanted_positions = std::max<std::int64_t>(chunk_bytes / position, 1);
    const std::int64_t item_positions = std::max(output.count, sizes.window(output.count));
    const bool items_together = problem.rank == 1 && (interleaved(input.main.batch_stride, input.main.stride) ||
                                                      interleaved(output.batch_stride, output.stride));
    const std::int64_t each = items_together ? std::min(item_positions, kInterleavedOutputs) : item_positions;
    chunks.items = std::clamp<std::int64_t>(wanted_positions / each, 1, problem.batch.length);
    const std::int64_t wanted =
        std::min(output.count, std::max(wanted_positions / chunks.items, kOutputsPerTap * std::min(sizes.halo, output.count)));
    const std::int64_t least = std::min({problem.rank == 1 ? kLeastOutputs : std::int64_t{1}, wanted_positions, wanted});
    for (chunks.slots = settings.slots;; --chunks.slots) {
        if (chunks.slots == 0 && chunks.items > 1) {
            chunks.items = 1;
            chunks.slots = settings.slots;
        }
        if (chunks.slots == 0) { refuse_memory(sizes, least, workspace_bytes, room + workspace_bytes); }
        chunks.outputs = outputs_within(sizes, chunks.items, wanted, room / chunks.slots);
        // Fewer slots only where the chunks would become small beside what they read again.
        if (chunks.outputs >= (chunks.slots > 1 ? std::min(wanted, std::max(least, sizes.halo)) : least)) { return chunks; }
    }
}

}  // namespace

PipelineSettings& pipeline_settings() {
    static PipelineSettings settings;
    return settings;
}

Chunks cut_into_chunks(const Resolved& problem, const Output& output, const Input& input, bool takes_pieces,
                       std::int64_t workspace_bytes, std::int64_t device_bytes, std::int64_t granularity) {
    const std::int64_t room = device_bytes - workspace_bytes;
    Sizes sizes = sizes_of(problem, input, output.count);
    Chunks chunks;
    if (!takes_pieces) {
        sizes.halo = sizes.most_window = input.n;
        chunks = one_chunk(problem, output, sizes, room, device_bytes);
    } else {
        chunks = pieces_within(problem, output, input, sizes, room, workspace_bytes);
    }
    if (takes_pieces && chunks.outputs < output.count && chunks.outputs % granularity != 0) {
        const std::int64_t whole = std::min(std::max(chunks.outputs / granularity, std::int64_t{1}) * granularity, output.count);
        if (sizes.item_bytes(whole) <= room / chunks.slots / chunks.items) { chunks.outputs = whole; }
    }
    chunks.item_groups = ceil_div(problem.batch.length, chunks.items);
    chunks.blocks = ceil_div(output.count, chunks.outputs);
    chunks.slots = static_cast<int>(std::min<std::int64_t>(chunks.slots, chunks.count()));
    chunks.in_bytes = chunks.items * sizes.window(chunks.outputs) * sizes.in_bytes;
    chunks.out_bytes = chunks.items * chunks.outputs * sizes.out_bytes;
    return chunks;
}

Chunk chunk_at(const Chunks& chunks, const Resolved& problem, const Output& output, const Input& input, std::int64_t index) {
    const core::Axis& cut = problem.cut();
    const std::int64_t group = index / chunks.blocks;
    const std::int64_t block = index % chunks.blocks;
    Chunk chunk{};
    chunk.item = group * chunks.items;
    chunk.items = std::min(chunks.items, problem.batch.length - chunk.item);
    chunk.first = output.first + block * chunks.outputs;
    chunk.count = std::min(chunks.outputs, output.first + output.count - chunk.first);
    chunk.in_first = chunk.first - cut.origin;
    chunk.in_last = chunk.in_first + chunk.count + cut.k - 1;
    if (chunks.whole) {
        chunk.in_first = 0;
        chunk.in_last = input.n;
    } else if (absent_outside(problem)) {
        chunk.in_first = std::clamp<std::int64_t>(chunk.in_first, 0, input.n);
        chunk.in_last = std::clamp<std::int64_t>(chunk.in_last, chunk.in_first, input.n);
    }
    return chunk;
}

}  // namespace tapline::gpu_host
