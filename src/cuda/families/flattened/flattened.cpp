// Rung 08: what it supports, which rung for signals it takes, how it is launched.
#include "cuda/families/flattened/flattened.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/rung_inside.hpp"
#include "cuda/families/common/workspace.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace {

using flattened::FlatAxis;
using flattened::Kernels;
using flattened::kThreads;
using flattened::kUnits;
using flattened::Planes;
using flattened::Sheet;

constexpr std::int64_t kLine = 32;  // elements whose multiples signals begin at

// Sizes of the signal that a plane becomes.
struct Signal {
    std::int64_t row, length, outputs, taps;
};
Signal signal_of(const Problem& p) {
    Signal s{};
    s.row = p.x.outputs + p.x.k - 1;
    const std::int64_t rows_y = p.y.outputs + p.y.k - 1;
    s.length = (p.z.outputs + p.z.k - 1) * rows_y * s.row;
    s.taps = ((p.z.k - 1) * rows_y + p.y.k - 1) * s.row + p.x.k;
    s.outputs = ((p.z.outputs - 1) * rows_y + p.y.outputs - 1) * s.row + p.x.outputs;
    return s;
}
std::int64_t planes_of(const Problem& p) { return p.batch.length * p.channels.length; }

std::int64_t whole_lines(std::int64_t elements) { return divide_up(elements, kLine) * kLine; }

// The signals of so many planes.
Problem signals_of(const Problem& p, std::int64_t planes) {
    const Signal s = signal_of(p);
    Problem inner = sums_alone(p, sums_of(p));
    inner.rank = 1;
    inner.z = inner.y = inner.x = {};
    inner.channels = {};
    inner.outer = {};
    inner.x.n = s.length;
    inner.x.k = s.taps;
    inner.x.outputs = s.outputs;
    inner.x.in_stride = inner.x.out_stride = 1;
    inner.batch = {planes, whole_lines(s.length), whole_lines(s.outputs), p.filters > 1 ? s.taps : 0};
    inner.mode = Mode::valid;
    inner.operation = Operation::correlation;
    inner.taps_come_later = false;
    return inner;
}

// Bytes of workspace for one plane: its signal, its results, and where samples are that are not finite.
std::int64_t plane_bytes(const Problem& p) {
    const Signal s = signal_of(p);
    const std::int64_t bytes = stored_bytes(sums_of(p));
    return whole_lines(s.length) * (bytes + 4) + whole_lines(s.outputs) * bytes;
}

class Flattened final : public Rung {
public:
    static constexpr Head head(int rank) {
        return {rank == 2 ? "08" : "09", "flattened", "", R"(
Idea: an image whose rows have as much room between them as the mask is wide is one long signal, and the mask with its rows as far
apart one long filter: the transforms for long filters convolve it
Changed: masks of any size cost about the same, where tiles in shared memory ended at some thirty taps a side; volumes go the same
way
Requires: workspace for the signal and its result; not for strict accuracy, nor masks that are not finite beside a zero boundary
Limited by: memory: the image is laid out, transformed and taken back, each a pass
)"};
    }

    explicit Flattened(int rank)
        : Rung(head(rank), {.source = "src/cuda/families/flattened/flattened.cu", .rank = rank, .is_local = 0}) {}

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.accuracy == Accuracy::strict) { return "strict accuracy needs direct summation"; }
        if (!p.taps_finite) { return "a mask that is not finite needs direct summation"; }
        constexpr std::int64_t kMostTaps = std::int64_t{1} << 30;
        constexpr std::int64_t kMostSamples = std::int64_t{1} << 40;
        const auto too_long = [](const core::Axis& a) { return a.n > kMostTaps || a.k > kMostTaps || a.outputs > kMostTaps; };
        const bool wide = too_long(p.x) || too_long(p.y) || too_long(p.z);
        const double samples = wide ? 0
                                    : static_cast<double>(p.z.outputs + p.z.k) * static_cast<double>(p.y.outputs + p.y.k) *
                                          static_cast<double>(p.x.outputs + p.x.k);
        if (wide || samples > static_cast<double>(kMostSamples)) { return "more than 2^40 samples with the room between rows"; }
        if (best_rung(signals_of(p, planes_of(p)), device).rung < 0) {
            return "no rung for signals takes what becomes of the mask";
        }
        return {};
    }

    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        // Of the launches before and after, and of what is laid out or taken back once (H100: 115 images of 21 x 67 u8 44 us, 4,000
        // of 64 x 64 f32 592, 58,906 x 39 x 32 f16 5,130).
        constexpr double kAroundSeconds = 33e-6;
        constexpr double kTimesMoved = 1.2;
        // Rows that are short are laid out and taken back in pieces (H200: 344 x 12 u8, 271 x 2 taps, 725 images 338 us; 660,751 x
        // 10 f32, 73 x 3, 2 images 496; 81,636 x 44, 111 x 47, 234; 1,979 x 2,219, 15 x 1,003, 4 images 430).
        constexpr double kMostOfPieces = 1.3;
        constexpr double kPiecesPixels = 120;
        const Problem inner = signals_of(p, planes_of(p));
        const double bytes = stored_bytes(inner.dtype);
        const double planes = static_cast<double>(planes_of(p));
        const Signal s = signal_of(p);
        // Of a few interleaved channels neighbouring planes find what came along in the caches.
        const auto touched = [&](std::int64_t x, std::int64_t y, Dtype dtype) {
            const double all = bytes_touched(std::min(std::abs(x), std::abs(y)), stored_bytes(dtype));
            return p.channels.length > 1 && all < kSectorBytes ? stored_bytes(dtype) : all;
        };
        const double of_sample = touched(p.x.in_stride, p.y.in_stride, p.dtype);
        const double of_output = touched(p.x.out_stride, p.y.out_stride, p.output_dtype);
        const double moved =
            kTimesMoved * (1 + std::min(kMostOfPieces, kPiecesPixels / static_cast<double>(p.x.n))) * planes *
            (static_cast<double>(p.z.n * p.y.n * p.x.n) * of_sample + static_cast<double>(s.length + s.outputs) * bytes +
             static_cast<double>(p.z.outputs * p.y.outputs * p.x.outputs) * of_output);
        return kAroundSeconds + moved / (kShareMoved * device.copy_bytes_per_second) + best_rung(inner, device).seconds;
    }

    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenSignals>();
        return "a signal of " + std::to_string(chosen.signal.length) + " samples and " + std::to_string(chosen.signal.taps) +
               " taps for each channel, " + by_inside(*chosen.inner);
    }

    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenSignals>();
        chosen->signal = signal_of(p);
        chosen->kernels = flattened::load_kernels(sums_of(p));
        // As many planes at a time as half of the device's memory holds.
        const std::int64_t room = std::max<std::int64_t>(prepared.device.memory_bytes / 2 / plane_bytes(p), 1);
        const std::int64_t filters = p.filters;
        chosen->planes = std::min(planes_of(p), std::max(room / filters, std::int64_t{1}) * filters);
        const Problem inner = signals_of(p, chosen->planes);
        const std::vector<std::byte> taps = taps_in_rows(prepared, chosen->signal);
        chosen->inner = prepare_inside(inner, taps.data(), prepared.device);
        return chosen;
    }

    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenSignals>();
        return kFoundBytes + chosen.planes * plane_bytes(prepared.problem) + chosen.inner->workspace_bytes + kWorkspaceAlignment;
    }

    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenSignals>();
        const std::int64_t bytes = stored_bytes(sums_of(p));
        Planes g{};
        g.z = axis_of(p.z);
        g.y = axis_of(p.y);
        g.x = axis_of(p.x);
        g.in_channel = p.channels.in_stride;
        g.out_channel = p.channels.out_stride;
        if (job.packed != 0) { pack_inside(g, p); }
        FlatAxis& cut = info().rank == 2 ? g.y : g.z;
        cut.in_stride = job.in_stride;
        cut.out_stride = job.out_stride;
        g.in = static_cast<const char*>(job.in) - job.in_first * job.in_stride * stored_bytes(p.dtype);  // of row 0
        g.out = job.out;
        g.row = chosen.signal.row;
        g.signal_pitch = whole_lines(chosen.signal.length);
        g.result_pitch = whole_lines(chosen.signal.outputs);
        auto* memory = static_cast<char*>(workspace);
        g.found = reinterpret_cast<unsigned*>(memory);
        memory += kFoundBytes;
        g.signals = memory;
        memory += chosen.planes * g.signal_pitch * bytes;
        void* const results = memory;
        g.results = results;
        memory += chosen.planes * g.result_pitch * bytes;
        g.next = reinterpret_cast<int*>(memory);
        memory += chosen.planes * g.signal_pitch * 4;
        void* const inner_workspace = aligned(memory);
        g.masks = on_device.taps;
        g.mask_bytes = prepared.taps_pitch_bytes;
        g.channels = p.channels.length;
        g.filters = p.filters;
        g.in_batch = job.in_batch;
        g.out_batch = job.out_batch;
        g.input_type = p.dtype;
        g.input_bytes = stored_bytes(p.dtype);
        g.output_bytes = stored_bytes(p.output_dtype);
        g.real_taps = is_complex(p.taps_dtype) ? 0 : 1;
        set_epilogue(g.common, p);
        const std::int64_t all = job.batch * g.channels;
        for (g.first_plane = 0; g.first_plane < all; g.first_plane += chosen.planes) {
            g.planes = std::min(chosen.planes, all - g.first_plane);
            check(cudaMemsetAsync(g.found, 0, sizeof *g.found, stream), "cudaMemsetAsync");
            const Sheet signals_sheet = sheet_of(g.planes, g.row, g.y.outputs + g.y.taps - 1, g.z.outputs + g.z.taps - 1);
            launch_over(chosen.kernels.lay_out, divide_up(signals_sheet.units, kUnits), prepared, g, signals_sheet, stream);
            launch_over(chosen.kernels.find_next, divide_up(g.planes * signals_sheet.rows_y * signals_sheet.rows_z, kThreads / 32),
                        prepared, g, signals_sheet, stream);
            const Problem& inner = chosen.inner->problem;
            Job signals;
            signals.out = results;
            signals.count = inner.x.outputs;
            signals.out_batch = g.result_pitch;
            signals.in = g.signals;
            signals.in_last = signals.n = inner.x.n;
            signals.in_batch = g.signal_pitch;
            signals.batch = g.planes;
            chosen.inner->rung->launch(*chosen.inner, signals, chosen.inner->on_device, inner_workspace, stream);
            const Sheet results_sheet = sheet_of(g.planes, g.x.outputs, g.y.outputs, g.z.outputs);
            launch_over(chosen.kernels.take_back, divide_up(results_sheet.units, kUnits), prepared, g, results_sheet, stream);
        }
    }

private:
    static constexpr std::int64_t kFoundBytes = 256;
    static constexpr double kShareMoved = 0.35;

    struct ChosenSignals : Chosen {
        Signal signal{};
        std::int64_t planes = 0;  // at a time
        Kernels kernels;
        RungInside inner;
    };

    static FlatAxis axis_of(const core::Axis& a) {
        return {a.n, a.outputs, a.origin, a.in_stride, a.out_stride, static_cast<int>(a.k), a.boundary};
    }
    static void pack_inside(Planes& g, const Problem& p) {
        g.in_channel = g.out_channel = 1;
        g.x.in_stride = g.x.out_stride = p.channels.length;
        g.y.in_stride = p.channels.length * p.x.n;
        g.y.out_stride = p.channels.length * p.x.outputs;
    }
    static Sheet sheet_of(std::int64_t planes, std::int64_t row, std::int64_t rows_y, std::int64_t rows_z) {
        constexpr int kThreadBits = 8;
        static_assert(1 << kThreadBits == kThreads);
        Sheet s{};
        s.row = row;
        s.rows_y = rows_y;
        s.rows_z = rows_z;
        while (s.width_bits < kThreadBits && (std::int64_t{1} << s.width_bits) < row) { ++s.width_bits; }
        s.rows_bits = kThreadBits - s.width_bits;
        s.stretches = divide_up(row, std::int64_t{1} << s.width_bits);
        s.units = divide_up(planes * rows_y * rows_z, std::int64_t{1} << s.rows_bits) * s.stretches;
        return s;
    }
    static void launch_over(flattened::Kernel kernel, std::int64_t blocks, const Prepared& prepared, const Planes& g,
                            const Sheet& sheet, cudaStream_t stream) {
        constexpr std::int64_t kBlocksHeld = 8 * 4;  // of a multiprocessor, in rounds
        const std::int64_t most = kBlocksHeld * prepared.device.multiprocessors;
        launch_kernel(kernel, static_cast<unsigned>(std::min(blocks, most)), kThreads, 0, stream, g, sheet);
    }
    // Masks with their rows as far apart as the signal's.
    static std::vector<std::byte> taps_in_rows(const Prepared& prepared, const Signal& s) {
        const Problem& p = prepared.problem;
        const auto bytes = static_cast<std::size_t>(stored_bytes(p.taps_dtype));
        const std::size_t line = static_cast<std::size_t>(p.x.k) * bytes;
        std::vector<std::byte> to(static_cast<std::size_t>(p.filters * s.taps) * bytes);
        const auto* from = static_cast<const std::byte*>(prepared.given.taps);
        for (std::int64_t mask = 0; mask < p.filters; ++mask) {
            for (std::int64_t i = 0; i < p.z.k; ++i) {
                for (std::int64_t j = 0; j < p.y.k; ++j, from += line) {
                    const std::int64_t at = mask * s.taps + (i * (p.y.outputs + p.y.k - 1) + j) * s.row;
                    std::memcpy(to.data() + static_cast<std::size_t>(at) * bytes, from, line);
                }
            }
        }
        return to;
    }
};

}  // namespace

const Rung& flattened_images() { return core::only_of<Flattened, 2>(); }
const Rung& flattened_volumes() { return core::only_of<Flattened, 3>(); }

}  // namespace tapline::cuda
