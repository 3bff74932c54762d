#include "gpu_host/host_chunks.hpp"

#include <string>

#include "tapline/error.hpp"

namespace tapline::core {
namespace {

// A chunk has at least so many outputs a row (or all): fewer would be launched for longer than they take.
constexpr std::int64_t kLeastOutputs = 1024;
// Rows that lie interleaved are read together, at least so many samples of each at a time.
constexpr std::int64_t kInterleavedOutputs = 4096;
// Samples before a chunk are uploaded again with it: at most a quarter more, if there is memory.
constexpr std::int64_t kOutputsPerTap = 4;
// Large chunks of a signal that they are cut from at least: the first one in and the last one out overlap with nothing.
constexpr std::int64_t kChunksOfALongSignal = 16;

bool interleaved(std::int64_t row_stride, std::int64_t sample_stride) { return row_stride < sample_stride; }

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct Sizes {
    std::int64_t in_element, out_element;
    std::int64_t halo;         // samples that a chunk reads beyond one for each output
    std::int64_t most_window;  // no chunk reads more samples of a row
    [[nodiscard]] std::int64_t window(std::int64_t outputs) const { return std::min(outputs + halo, most_window); }
    [[nodiscard]] std::int64_t row_bytes(std::int64_t outputs) const {
        return window(outputs) * in_element + outputs * out_element;
    }
};

Sizes sizes_of(const Resolved& problem, const Input& input, std::int64_t outputs) {
    Sizes sizes{};
    sizes.in_element = static_cast<std::int64_t>(size_of(problem.dtype));
    sizes.out_element = static_cast<std::int64_t>(size_of(problem.output_dtype));
    sizes.halo = problem.x.k - 1;
    sizes.most_window = outputs + sizes.halo;
    if (problem.x.boundary == Boundary::zero) { sizes.most_window = std::min(sizes.most_window, input.n); }
    return sizes;
}

// The most outputs a row, up to `wanted`, with which `rows` rows take at most `bytes`; 0: none.
std::int64_t outputs_within(const Sizes& sizes, std::int64_t rows, std::int64_t wanted, std::int64_t bytes) {
    if (sizes.row_bytes(wanted) <= bytes / rows) { return wanted; }
    // With as much of the window as these outputs need at most; the rest is outputs and the samples that come with them.
    const std::int64_t by_halo = (bytes / rows - sizes.halo * sizes.in_element) / (sizes.in_element + sizes.out_element);
    const std::int64_t by_window = (bytes / rows - sizes.most_window * sizes.in_element) / sizes.out_element;
    return std::clamp<std::int64_t>(std::max(by_halo, by_window), 0, wanted);
}

[[noreturn]] void refuse_memory(const Sizes& sizes, std::int64_t outputs, std::int64_t workspace_bytes, std::int64_t device_bytes) {
    throw Error(ErrorCode::memory, "device memory: " + std::to_string(sizes.row_bytes(outputs) + workspace_bytes) +
                                       " bytes are needed at once, " + std::to_string(device_bytes) +
                                       " are free; use fewer taps, free memory on the GPU, or use the CPU");
}

}  // namespace

HostPipelineSettings& host_pipeline_settings() {
    static HostPipelineSettings settings;
    return settings;
}

HostChunks cut_into_chunks(const Resolved& problem, const Output& output, const Input& input, bool takes_pieces,
                           std::int64_t workspace_bytes, std::int64_t device_bytes, std::int64_t granularity) {
    const HostPipelineSettings& settings = host_pipeline_settings();
    const std::int64_t room = device_bytes - workspace_bytes;
    Sizes sizes = sizes_of(problem, input, output.count);
    HostChunks chunks;
    if (!takes_pieces) {
        sizes.halo = sizes.most_window = input.n;
        if (sizes.row_bytes(output.count) > room / problem.batch.length) {
            throw Error(ErrorCode::memory, "device memory: " + std::to_string(device_bytes) +
                                               " bytes are free, not enough for the whole signal and its output, and this "
                                               "algorithm cannot work in pieces; use another, or the CPU");
        }
        chunks = {.whole = true, .slots = 1, .rows = problem.batch.length, .outputs = output.count};
    } else {
        const std::int64_t element = std::max(sizes.in_element, sizes.out_element);
        const bool is_long = problem.batch.length * output.count * element / kChunksOfALongSignal >= settings.large_chunk_bytes;
        const std::int64_t chunk_bytes = is_long ? settings.large_chunk_bytes : settings.chunk_bytes;
        const std::int64_t wanted_elements = std::max<std::int64_t>(chunk_bytes / element, 1);
        const std::int64_t row_elements = std::max(output.count, sizes.window(output.count));
        const bool rows_together =
            interleaved(input.main.batch_stride, input.main.stride) || interleaved(output.batch_stride, output.stride);
        const std::int64_t each = rows_together ? std::min(row_elements, kInterleavedOutputs) : row_elements;
        chunks.rows = std::clamp<std::int64_t>(wanted_elements / each, 1, problem.batch.length);
        const std::int64_t wanted =
            std::min(output.count, std::max(wanted_elements / chunks.rows, kOutputsPerTap * std::min(sizes.halo, output.count)));
        const std::int64_t least = std::min({kLeastOutputs, wanted_elements, wanted});
        for (chunks.slots = settings.slots;; --chunks.slots) {
            if (chunks.slots == 0 && chunks.rows > 1) {
                chunks.rows = 1;
                chunks.slots = settings.slots;
            }
            if (chunks.slots == 0) { refuse_memory(sizes, least, workspace_bytes, device_bytes); }
            chunks.outputs = outputs_within(sizes, chunks.rows, wanted, room / chunks.slots);
            // Fewer slots only where the chunks would become small beside what they read again.
            if (chunks.outputs >= (chunks.slots > 1 ? std::min(wanted, std::max(least, sizes.halo)) : least)) { break; }
        }
    }
    if (takes_pieces && chunks.outputs < output.count && chunks.outputs % granularity != 0) {
        const std::int64_t whole = std::min(std::max(chunks.outputs / granularity, std::int64_t{1}) * granularity, output.count);
        if (sizes.row_bytes(whole) <= room / chunks.slots / chunks.rows) { chunks.outputs = whole; }
    }
    chunks.row_groups = ceil_div(problem.batch.length, chunks.rows);
    chunks.blocks = ceil_div(output.count, chunks.outputs);
    chunks.slots = static_cast<int>(std::min<std::int64_t>(chunks.slots, chunks.count()));
    chunks.in_bytes = chunks.rows * sizes.window(chunks.outputs) * sizes.in_element;
    chunks.out_bytes = chunks.rows * chunks.outputs * sizes.out_element;
    return chunks;
}

HostChunk chunk_at(const HostChunks& chunks, const Resolved& problem, const Output& output, const Input& input,
                   std::int64_t index) {
    HostChunk chunk{};
    const std::int64_t group = index / chunks.blocks;
    const std::int64_t block = index % chunks.blocks;
    chunk.row = group * chunks.rows;
    chunk.rows = std::min(chunks.rows, problem.batch.length - chunk.row);
    chunk.first = output.first + block * chunks.outputs;
    chunk.count = std::min(chunks.outputs, output.first + output.count - chunk.first);
    chunk.in_first = chunk.first - problem.x.origin;
    chunk.in_last = chunk.in_first + chunk.count + problem.x.k - 1;
    if (chunks.whole) {
        chunk.in_first = 0;
        chunk.in_last = input.n;
    } else if (problem.x.boundary == Boundary::zero) {  // absent terms stay absent
        chunk.in_first = std::clamp<std::int64_t>(chunk.in_first, 0, input.n);
        chunk.in_last = std::clamp<std::int64_t>(chunk.in_last, chunk.in_first, input.n);
    }
    return chunk;
}

}  // namespace tapline::core
