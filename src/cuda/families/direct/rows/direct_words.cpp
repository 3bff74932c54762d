// Rung 60: what it supports, what that costs, how it is launched.
#include "cuda/families/direct/rows/direct_words.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/ordered_taps.hpp"
#include "cuda/families/common/shared_memory.hpp"
#include "cuda/families/direct/direct.hpp"
#include "cuda/families/direct/direct_policies.hpp"
#include "cuda/primitives/lines/lines.hpp"

namespace tapline::cuda {
namespace {

using words::kOutputs;
using words::kThreads;
using words::Words;

constexpr std::int64_t kMostTaps = 512;
constexpr std::int64_t kMostStep = 32;  // from sample to sample
constexpr std::int64_t kMostChannels = 16;
constexpr std::int64_t kMostBeyond = 4096;             // positions beyond a row's ends
constexpr std::int64_t kMost = std::int64_t{1} << 27;  // samples of a row, so that places in one are ints
constexpr std::int64_t kTapsBytes = 4 * (kMostTaps + kOutputs);

struct Beyond {
    std::int64_t before, behind;
};
// Positions beyond the ends of samples [in_first, in_last) that outputs [first, first + count) read.
Beyond beyond(const Problem& p, std::int64_t first, std::int64_t count, std::int64_t in_first, std::int64_t in_last) {
    const std::int64_t lowest = first - p.x.origin;
    const std::int64_t highest = lowest + count - 1 + p.x.k - 1;
    return {std::max<std::int64_t>(in_first - lowest, 0), std::max<std::int64_t>(highest - in_last + 1, 0)};
}

struct Axes {
    RowAxis channels{1, 1, 1};
    RowAxis recordings{1, 0, 0};
    bool fit = true;  // there are no more
};
Axes axes_of(const Rows& rows, std::int64_t out_sample) {
    Axes axes;
    const auto take = [&](const RowAxis& axis, bool as_channels) {
        if (axis.length == 1) { return; }
        RowAxis& to = as_channels ? axes.channels : axes.recordings;
        axes.fit = axes.fit && to.length == 1 && (!as_channels || axis.length <= kMostChannels);
        to = axis;
    };
    const bool alone = rows.others[0].length == 1;
    const bool interleaved = rows.near.in == 1 && rows.near.out == 1 && out_sample == rows.near.length;
    take(rows.near, !alone || (interleaved && rows.near.length <= kMostChannels));
    for (const RowAxis& axis : rows.others) { take(axis, false); }
    return axes;
}

bool follow_each_other(const Axes& axes, std::int64_t outputs, std::int64_t out_sample) {
    const std::int64_t channels = axes.channels.length;
    return out_sample == channels && (channels == 1 || axes.channels.out == 1) &&
           (axes.recordings.length == 1 || axes.recordings.out == outputs * channels);
}

class DirectWords final : public DirectRung {
public:
    static constexpr Head kHead{"60", "direct_words", "", R"(
Idea: a thread makes a few outputs of a row from samples that it reads itself, narrow ones by words of memory that it shifts to
where its row begins
Changed: short rows of narrow samples, and of such that lie apart, cost no look at each place of a line: only samples beyond a
row's ends are looked for, in a table
Requires: f32, or samples of 8 and 16 bits; one filter of at most 512 taps of f32; outputs side by side, rows of them one after the
other
Limited by: memory up to some twenty taps, then multiply-adds
)"};

    DirectWords()
        : DirectRung(kHead, {.source = "src/cuda/families/direct/rows/direct_words.cuh",
                             .takes_pieces = 1,
                             .takes_outer = cuda_abi::kOuterWhereSupported,
                             .truncates = 1}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device&) const override {
        if (p.is_exact()) { return "integers are exact on the CPU only"; }
        if (p.taps_dtype != kF32 || words::kernel_of(p.dtype) == nullptr) {
            return "samples are neither f32 nor of 8 and 16 bits, or taps not f32";
        }
        if (p.filters > 1) { return "rows have filters of their own"; }
        if (p.x.k > kMostTaps) { return "more than " + std::to_string(kMostTaps) + " taps"; }
        if (p.x.in_stride == 0 || std::abs(p.x.in_stride) > kMostStep) { return "samples of a row lie too far apart"; }
        const Axes axes = axes_of(rows_of(p), p.x.out_stride);
        if (!axes.fit || !follow_each_other(axes, p.x.outputs, p.x.out_stride)) { return "outputs do not follow each other"; }
        if (std::max(p.x.n, p.x.outputs) > kMost) { return "rows of more than 2^27 samples"; }
        const Beyond out = beyond(p, 0, p.x.outputs, 0, p.x.n);
        if (std::max(out.before, out.behind) > kMostBeyond) { return "windows that lie too far from their row"; }
        if (!constant_fits(p)) { return "the boundary's constant is no value of the samples' type"; }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const Axes axes = axes_of(rows_of(p), p.x.out_stride);
        const auto channels = static_cast<double>(axes.channels.length);
        const double rows = static_cast<double>(axes.recordings.length) * channels;
        const auto outputs = static_cast<double>(p.x.outputs);
        const auto taps = static_cast<double>(p.x.k);
        const int bytes_in = stored_bytes(p.dtype);
        const double different = axes.recordings.length > 1 && axes.recordings.in == 0 ? channels : rows;
        const double gaps = static_cast<double>(std::abs(p.x.in_stride)) / channels;
        const double bytes = different * static_cast<double>(p.x.n) * bytes_touched(static_cast<std::int64_t>(gaps), bytes_in) +
                             rows * outputs * stored_bytes(p.output_dtype);
        const double moving = bytes / (kMovingShare * device.copy_bytes_per_second);
        const double groups = std::floor(32 / channels);
        const double warps = std::ceil(static_cast<double>(axes.recordings.length) * std::ceil(outputs / kOutputs) / groups);
        const double chunks = 1 + (taps > 1 ? std::ceil(taps / kOutputs) : 0);
        const bool by_words = p.x.in_stride == 1 && bytes_in < 4 && channels == 1;
        const double at_ends = std::min(1.0, (32 * kOutputs + taps) / outputs);
        const double of_end = p.x.boundary <= kConstant ? kEndInstructions : kPlaceInstructions;
        // Lines of memory that a load of 32 lanes touches: as many as there are groups of channels, or as these reach over.
        const double apart = kOutputs * bytes_in * std::abs(static_cast<double>(p.x.in_stride));
        const double lines = std::clamp(groups * apart / kLineBytes, 1.0, groups);
        const double loads = by_words ? kOutputs * bytes_in / 4.0 : kOutputs;
        const double instructions = kInstructions + taps * kTapInstructions + chunks * (loads * lines + at_ends * of_end) +
                                    (p.trivial_epilogue ? 0 : kEpilogueInstructions) +
                                    (channels > 1 && stored_bytes(p.output_dtype) == 1 ? kByteInstructions : 0);
        const bool one_by_one = channels > 1 && bytes_in < 4;
        const double computing = warps * instructions * (one_by_one ? kOneByOne : 1) / (device.peak_flops / 64);
        return (by_words ? kStartSeconds : kOneByOneStartSeconds) + (p.taps_come_later ? kTapsOnDeviceSeconds : 0) +
               std::max(overlapped(moving, computing, kNorm), taps * kTapSeconds);
    }
    [[nodiscard]] std::string describe(const Prepared&) const override {
        return std::to_string(kOutputs) + " outputs a thread, " + std::to_string(kThreads) + " threads a block";
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenWords>(prepared);
        chosen->kernel = words::kernel_of(prepared.problem.dtype);
        if (chosen->kernel == nullptr) { refuse_policy(); }
        load_kernel(chosen->kernel, static_cast<std::size_t>(prepared.device.shared_bytes_per_block), prepared.device);
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        Arguments a = arguments_of(prepared, job, on_device);
        a.taps = on_device.taps;
        Words g{};
        const Axes axes = axes_of(rows_of(p, job), a.out_sample);
        if (!axes.fit) { refuse_launch(); }
        g.threads = divide_up(a.count, std::int64_t{kOutputs});
        g.recordings = axes.recordings.length;
        g.channels = static_cast<int>(axes.channels.length);
        g.groups = 32 / g.channels;
        g.in_recording = axes.recordings.in;
        g.out_recording = axes.recordings.out;
        g.in_channel = axes.channels.in;
        g.out_channel = axes.channels.out;
        const std::int64_t to_last = (g.recordings - 1) * g.in_recording;  // of one channel: others go sample by sample
        g.begin = std::min<std::int64_t>(to_last, 0);
        g.end = std::max<std::int64_t>(to_last, 0) + a.in_last - a.in_first;
        const Beyond out = beyond(p, a.first, a.count, a.in_first, a.in_last);
        if (std::max(out.before, out.behind) > kMostBeyond) { refuse_launch(); }
        g.before = static_cast<int>(out.before);
        g.behind = static_cast<int>(out.behind);
        const std::int64_t taps_bytes = std::min(kTapsBytes, divide_up(a.k + kOutputs, std::int64_t{4}) * 16);
        g.stage_at = static_cast<int>(taps_bytes);
        g.places_at = g.stage_at + kThreads / 32 * words::kStage * static_cast<int>(sizeof(float));
        const std::int64_t places = a.boundary > kConstant ? out.before + out.behind : 0;
        std::array<unsigned char, 16> constant{};
        raw_constant(p, constant.data());
        std::memcpy(g.constant, constant.data(), sizeof g.constant);
        g.input_type = p.dtype;
        g.output_bytes = stored_bytes(p.output_dtype);
        const std::int64_t warps = divide_up(g.recordings * g.threads, std::int64_t{g.groups});
        const std::int64_t blocks = divide_up(warps, std::int64_t{kThreads / 32});
        if (blocks > kMostBlocks) { refuse_launch(); }
        launch_kernel(prepared.chosen_as<ChosenWords>().kernel, static_cast<unsigned>(blocks), kThreads,
                      static_cast<std::size_t>(g.places_at + places * static_cast<std::int64_t>(sizeof(int))), stream, a, g);
    }

private:
    struct ChosenWords : OrderedTaps {
        using OrderedTaps::OrderedTaps;
        words::Kernel kernel = nullptr;
    };
    // Fitted on an H100. (50366, 70) f16 with 9 and 40 taps 17.7 and 34 us, (250000, 184) u8 with 2 taps 154, (628409, 25, 2) i16
    // with one 109, (755, 2343, 3) f32 with 6 taps 21, every second of (326370, 227) f16 with 60 taps 1,012, of (586558, 220) f32
    // with 73 2,147.
    static constexpr double kStartSeconds = 4.5e-6;
    static constexpr double kOneByOneStartSeconds = 6e-6;
    static constexpr double kTapsOnDeviceSeconds = 2e-6;
    static constexpr double kMovingShare = 0.95;
    static constexpr double kLineBytes = 128;
    static constexpr double kInstructions = 430;  // of a warp
    static constexpr double kTapInstructions = 30;
    static constexpr double kEndInstructions = 75;
    static constexpr double kPlaceInstructions = 170;
    static constexpr double kEpilogueInstructions = 180;
    // Of interleaved narrow samples, and outputs of 8 bits. H200: (42418, 271, 2) f16 with one tap 73 us, (93, 26647, 8) i16 with 2
    // 72, (12, 785161, 3) u8 with 2 taps 128.
    static constexpr double kOneByOne = 1.18;
    static constexpr double kByteInstructions = 200;
    static constexpr double kTapSeconds = 0.11e-6;  // a thread goes through all taps, however few outputs there are
    static constexpr double kNorm = 3;
};

}  // namespace

const Rung& direct_words() { return core::only<DirectWords>(); }

}  // namespace tapline::cuda
