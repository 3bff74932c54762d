// Rung 47: what it supports, what it costs, how it is launched.
#include "cuda/families/tensor/short/short_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/ordered_taps.hpp"
#include "cuda/families/direct/direct_policies.hpp"
#include "cuda/launch.hpp"
#include "cuda/primitives/lines/lines.hpp"

namespace tapline::cuda {
namespace {

using short_rows::Apart;
using short_rows::groups;
using short_rows::kChunk;
using short_rows::kMostChunks;
using short_rows::kTileRows;
using short_rows::Shape;

constexpr std::int64_t kMostSamples = std::int64_t{kMostChunks} * kChunk;
// Entries of T are sums over the taps that a boundary brings to one sample: they are made anew in each launch.
constexpr std::int64_t kMostTapsRepeated = 1024;
constexpr std::int64_t kMostTaps = std::int64_t{1} << 30;  // positions are counted in 32 bits

int chunks_of(const Problem& p) { return static_cast<int>(divide_up(std::max(p.x.n, p.x.outputs), kChunk)); }

/// Samples that outputs [first, first + count) read, if nothing is repeated.
struct Read {
    std::int64_t begin, end;
};
Read read_of(const Problem& p, std::int64_t first, std::int64_t count) {
    if (p.x.boundary != kZero) { return {0, p.x.n}; }
    const std::int64_t begin = std::clamp<std::int64_t>(first - p.x.origin, 0, p.x.n);
    return {begin, std::clamp<std::int64_t>(first + count + p.x.k - 1 - p.x.origin, begin, p.x.n)};
}

constexpr std::int64_t kVector = 4;  // floats of 16 bytes
// Samples of a row are found by 32-bit numbers.
constexpr std::int64_t kMostStep = std::int64_t{1} << 23;

int parts_of(const Problem& p) { return is_complex(p.dtype) ? 2 : 1; }

// Whether samples of a row and its outputs are neighbours, and there is one axis of rows: as rungs of one layout have them.
bool follow_each_other(const Problem& p, const Job& job) {
    return !is_complex(p.dtype) && job.in_stride == 1 && job.out_stride == 1 && (job.packed != 0 || !p.has_outer());
}

Job whole_job(const Problem& p) {
    Job job;
    job.batch = p.batch.length;
    job.in_batch = p.batch.in_stride;
    job.out_batch = p.batch.out_stride;
    job.in_stride = p.x.in_stride;
    job.out_stride = p.x.out_stride;
    return job;
}

// The axes of rows: one whose elements are neighbours, if there is one, and one more at most; complex samples are two rows each.
// tile_recordings = 0: there are more.
Apart axes_of(const Problem& p, const Job& job) {
    const Rows rows = rows_of(p, job);
    const std::int64_t parts = parts_of(p);
    RowAxis channels{1, 1, 1};
    RowAxis recordings{1, 0, 0};
    int recording_axes = 0;
    const auto take = [&](const RowAxis& axis) {
        if (axis.length == 1) { return; }
        if (axis.in == 1 && axis.out == 1 && channels.length == 1) {
            channels = axis;
        } else {
            recordings = axis;
            ++recording_axes;
        }
    };
    take(rows.near);
    for (const RowAxis& axis : rows.others) { take(axis); }
    Apart a{};
    a.recordings = recordings.length;
    a.channels = channels.length * parts;
    a.in_recording = recordings.in * parts;
    a.out_recording = recordings.out * parts;
    a.in_channel = a.out_channel = 1;
    a.in_sample = job.in_stride * parts;
    a.out_sample = job.out_stride * parts;
    a.channel_tiles = divide_up(a.channels, std::int64_t{kTileRows});
    a.tile_channels = static_cast<int>(std::min<std::int64_t>(a.channels, kTileRows));
    const bool near_enough = std::max(std::abs(a.in_sample), std::abs(a.out_sample)) <= kMostStep;
    a.tile_recordings = recording_axes > 1 || !near_enough ? 0 : kTileRows / a.tile_channels;
    return a;
}

bool is_whole(std::int64_t elements) { return elements % kVector == 0; }

// Of which samples [first, first + samples) are read; whole_recordings = 0: tiles do not come and go in bulk.
Apart apart_of(const Problem& p, const Job& job, std::int64_t first, std::int64_t samples, std::int64_t outputs) {
    constexpr std::int64_t kMostBetween = 4;  // elements of memory for each sample
    Apart a = axes_of(p, job);
    if (a.tile_recordings == 0) { return a; }
    if (a.channel_tiles != 1) {
        const bool whole = is_whole(a.channels) && is_whole(a.in_sample) && is_whole(a.out_sample) && is_whole(a.in_recording) &&
                           is_whole(a.out_recording) && a.in_sample > 0;
        a.whole_recordings = whole ? a.recordings : 0;
        return a;
    }
    // Tiles of whole vectors, if there are any.
    const auto unit = [](std::int64_t step) { return kVector / std::gcd(kVector, step); };
    const std::int64_t vectors = std::max(unit(a.in_recording), unit(a.out_recording));
    if (a.tile_recordings >= vectors) { a.tile_recordings = static_cast<int>(a.tile_recordings / vectors * vectors); }
    const std::int64_t reach = (first + samples - 1) * std::abs(a.in_sample);
    const std::int64_t extent = reach + a.channels;
    const bool packed = a.out_sample == a.channels && a.out_recording == outputs * a.channels;
    const bool apart =
        std::abs(a.in_sample) >= a.channels && a.in_recording >= extent && a.in_recording <= kMostBetween * samples * a.channels;
    if (packed && apart && is_whole(a.tile_recordings * a.in_recording) && is_whole(a.tile_recordings * a.out_recording)) {
        a.in_front = a.in_sample < 0 ? reach : 0;
        a.whole_recordings = a.recordings - (a.in_recording > extent ? 1 : 0);
    }
    return a;
}
Apart apart_of(const Problem& p) { return apart_of(p, whole_job(p), 0, p.x.n, p.x.outputs); }

// Elements of a tile on its way in or out.
std::int64_t tile_elements(const Apart& a, std::int64_t samples, std::int64_t outputs) {
    if (a.channel_tiles != 1) { return kTileRows * std::max(samples, outputs); }
    return a.tile_recordings * std::max(a.in_recording, a.out_recording);
}

// Whether rows are those of the kernel for any steps.
bool are_apart(const Problem& p) {
    if (!follow_each_other(p, whole_job(p))) { return true; }
    return p.batch.in_stride != p.x.n && apart_of(p).whole_recordings > 0;  // gaps that come along
}

class ShortRows final : public DirectRung {
public:
    static constexpr Head kHead{"47", "short_rows", "", R"(
Idea: a row's outputs are its samples times one matrix, the same for all rows, in which each tap stands wherever it meets a
sample: rows go from memory to registers, through tensor cores, and back
Changed: a row is no band with room around it: what a window reads beyond its ends is not multiplied, or folded into the matrix
Requires: compute capability 9.0; f32, or complex64 under real taps; one filter; at most 128 samples and outputs a row, rows one
after the other or side by side, their samples in any steps; any boundary but a constant one; not under strict accuracy
Limited by: memory
)"};

    ShortRows()
        : DirectRung(kHead, {.source = "src/cuda/families/tensor/short/short_rows.cuh",
                             .takes_pieces = 1,
                             .takes_outer = cuda_abi::kOuterWhereSupported,
                             .granularity = static_cast<std::int32_t>(kMostSamples)}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.is_exact()) { return "integers are exact on the CPU only"; }
        if (device.major != 9 || short_rows::kernel_of(1, false) == nullptr) {
            return "the device's tensor cores do not have its products (compute capability 9.0)";
        }
        if (p.accuracy == Accuracy::strict) { return "tensor cores cut sums off: not under strict accuracy"; }
        if (p.filters > 1) { return "rows have filters of their own"; }
        if ((p.dtype != kF32 && p.dtype != kComplex64) || p.taps_dtype != kF32 || p.output_dtype != p.dtype) {
            return "samples and outputs must be f32 or complex64, taps f32";
        }
        if (is_complex(p.dtype) && p.bias != 0) { return "a bias of complex outputs"; }
        if (p.x.n < 1 || p.x.n > kMostSamples || p.x.outputs > kMostSamples) {
            return "rows of more than " + std::to_string(kMostSamples) + " samples or outputs";
        }
        if (are_apart(p) && apart_of(p).whole_recordings == 0) {
            return "neither samples nor rows lie side by side, or with gaps that are too large";
        }
        if (p.x.boundary == kConstant) { return "a constant boundary adds what is no product with samples"; }
        if (std::max(std::abs(p.x.origin), p.x.k) > kMostTaps) { return "a window too far from its outputs"; }
        // A piece from host memory has the positions that windows reach, and nothing else: what a boundary repeats is found there
        // only if all of the row is.
        if (p.x.boundary != kZero && (p.x.origin < 0 || p.x.outputs + p.x.k - 1 - p.x.origin < p.x.n)) {
            return "windows that leave out samples of a row, some of which a boundary repeats";
        }
        if (p.x.boundary != kZero && p.x.k > kMostTapsRepeated) {
            return "more than " + std::to_string(kMostTapsRepeated) + " taps meet repeated samples";
        }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const bool apart = are_apart(p);
        const Apart rows = apart_of(p);
        const bool in_bulk = apart || (p.batch.in_stride == p.x.n && p.batch.out_stride == p.x.outputs);
        const bool alike = p.x.n % 4 == 0 && p.batch.in_stride % 4 == 0 && p.x.outputs % 4 == 0 && p.batch.out_stride % 4 == 0;
        const double of_row = apart && rows.channel_tiles == 1
                                  ? static_cast<double>(rows.in_recording + rows.out_recording) / static_cast<double>(rows.channels)
                                  : static_cast<double>(p.x.n + p.x.outputs);
        const double bytes = 4.0 * static_cast<double>(p.batch.length * p.outer_length() * parts_of(p)) * of_row;
        const std::int64_t all_tiles = apart ? tiles_of(rows) : divide_up(p.batch.length, kTileRows);
        const double tiles = std::ceil(static_cast<double>(all_tiles) / device.multiprocessors);
        if (apart && rows.channel_tiles != 1) {
            const double of_run = kRunSeconds + kRunChunkSeconds * chunks_of(p);
            return kStartSeconds + tiles * static_cast<double>(p.x.n + p.x.outputs) * of_run;
        }
        const double share = apart ? kShareApart : in_bulk ? kShareInBulk : alike ? kShareOfVectors : kShareOneByOne;
        const int chunks = chunks_of(p);
        const std::int64_t elements = apart ? tile_elements(rows, p.x.n, p.x.outputs) : kTileRows * std::max(p.x.n, p.x.outputs);
        const int held = in_bulk ? groups_held(elements, chunks, device) : groups(chunks);
        const double of_tile = apart ? kApartTileSeconds + (kApartChunkSeconds + kApartProductSeconds * chunks) * chunks
                                     : kTileSeconds + kChunkSeconds * chunks;
        const double computing = tiles * of_tile / std::max(held, 1);
        return kStartSeconds + (apart ? kApartStartSeconds * chunks : 0) +
               overlapped(bytes / (share * device.copy_bytes_per_second), computing, kNorm);
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        return std::to_string(kTileRows) + " rows times a matrix of " + std::to_string(p.x.n) + " x " + std::to_string(p.x.outputs);
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenRows>(prepared);
        chosen->chunks = chunks_of(prepared.problem);
        chosen->kernel = short_rows::kernel_of(chosen->chunks, are_apart(prepared.problem));
        if (chosen->kernel == nullptr) { refuse_policy(); }
        load_kernel(chosen->kernel, static_cast<std::size_t>(prepared.device.shared_bytes_per_block), prepared.device);
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenRows>();
        const Problem& p = prepared.problem;
        const Arguments a = arguments_of(prepared, job, on_device);
        // What no output reads must not change a row's scale, whoever has it in the piece.
        const Read read = read_of(p, a.first, a.count);
        const std::int64_t begin = std::max(read.begin, a.in_first);
        const std::int64_t end = std::max(std::min(read.end, a.in_last), begin);
        Shape g{};
        g.first_sample = static_cast<int>(begin - a.in_first);
        g.samples = static_cast<int>(end - begin);
        g.outputs = static_cast<int>(a.count);
        const bool apart = chosen.kernel == short_rows::kernel_of(chosen.chunks, true);
        if (apart) {
            g.apart = apart_of(p, job, g.first_sample, g.samples, g.outputs);
            g.tiles = tiles_of(g.apart);
        } else {
            g.in_vectors = lie_whole(static_cast<const float*>(a.in) + g.first_sample, g.samples, a.in_row) ? 1 : 0;
            g.out_vectors = lie_whole(a.out, a.count, a.out_row) ? 1 : 0;
            g.tiles = divide_up(a.rows, kTileRows);
        }
        const auto lies_on_16 = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; };
        int threads = short_rows::threads(chosen.chunks);
        int shared = short_rows::entries_bytes(chosen.chunks);
        const std::int64_t elements =
            apart ? tile_elements(g.apart, g.samples, g.outputs) : kTileRows * std::max<std::int64_t>(g.samples, g.outputs);
        const int held = groups_held(elements, chosen.chunks, prepared.device);
        const auto* const lowest = static_cast<const float*>(a.in) - (apart ? g.apart.in_front : 0);
        const bool in_bulk = apart ? g.apart.whole_recordings > 0 : a.in_row == g.samples && a.out_row == g.outputs && a.rows > 1;
        if (in_bulk && lies_on_16(lowest) && lies_on_16(a.out) && held > 0) {
            g.buffer_bytes = buffer_bytes(elements);
            threads = held * tensor::kThreads;
            shared += held * short_rows::kBuffers * g.buffer_bytes;
        }
        const std::int64_t blocks = std::min<std::int64_t>(g.tiles, prepared.device.multiprocessors);
        launch_kernel(chosen.kernel, static_cast<unsigned>(blocks), static_cast<unsigned>(threads),
                      static_cast<std::size_t>(shared), stream, a, g);
    }

private:
    struct ChosenRows : OrderedTaps {
        using OrderedTaps::OrderedTaps;
        int chunks = 0;
        short_rows::Kernel kernel = nullptr;
    };

    static std::int64_t tiles_of(const Apart& a) {
        return divide_up(a.recordings, std::int64_t{std::max(a.tile_recordings, 1)}) * a.channel_tiles;
    }
    static bool lie_whole(const void* first, std::int64_t size, std::int64_t row) {
        return reinterpret_cast<std::uintptr_t>(first) % 16 == 0 && size % 4 == 0 && row % 4 == 0;
    }
    static int buffer_bytes(std::int64_t elements) {
        constexpr std::int64_t kLine = 128;
        return static_cast<int>(divide_up(4 * elements, kLine) * kLine);
    }
    /// Warpgroups that have room for their buffers.
    static int groups_held(std::int64_t elements, int chunks, const cuda_abi::Device& device) {
        const int room = device.shared_bytes_per_block - short_rows::entries_bytes(chunks);
        return std::min(room / (short_rows::kBuffers * buffer_bytes(elements)), groups(chunks));
    }
    // Fitted on an H100 (copy 2.9 TB/s): in bulk 800,000 rows of 128, 120 and 96 358, 345 and 243 us, 10^6 of 101 and 100 323 and
    // 328, 1,500,000 of 64 297, 3,000,000 of 32 286, whatever the taps; by vectors, before there were copies in bulk, 128, 100 and
    // 64 420, 559 and 364, one by one 101 684.
    static constexpr double kStartSeconds = 12e-6;
    static constexpr double kShareInBulk = 0.97;
    // Rows of other steps, reflected, 9 to 99 taps: 1,118,505 of 9, 400,000 of 33, 100,000 and 10^6 of 100 complex64 193, 149, 107
    // and 755 us, 441,843 of 29 times 8 channels 303, 100,000 of 100 times 3 164, 20,000 of 60 times 32 138; of more channels than
    // a tile has rows, with a run for each sample and output, (30, 1000000), (100, 262144) and (128, 200000) 124, 157 and 160.
    static constexpr double kShareApart = 0.95;
    static constexpr double kApartStartSeconds = 3e-6;
    static constexpr double kApartTileSeconds = 1.6e-6;
    static constexpr double kApartChunkSeconds = 1.2e-6;
    static constexpr double kApartProductSeconds = 0.17e-6;
    static constexpr double kRunSeconds = 13e-9;
    static constexpr double kRunChunkSeconds = 2.5e-9;
    static constexpr double kShareOfVectors = 0.5;
    static constexpr double kShareOneByOne = 0.4;
    static constexpr double kTileSeconds = 0.5e-6;   // of a warpgroup
    static constexpr double kChunkSeconds = 1.5e-6;  // for each chunk of a row
    static constexpr double kNorm = 4;
};

}  // namespace

const Rung& short_rows_rung() { return core::only<ShortRows>(); }

}  // namespace tapline::cuda
