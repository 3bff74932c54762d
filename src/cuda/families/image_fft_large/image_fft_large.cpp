// Rung 49: what it supports, which tiles a plan has, how it is launched.
#include "cuda/families/image_fft_large/image_fft_large.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/images.hpp"
#include "cuda/families/common/workspace.hpp"
#include "cuda/families/image_fft/image_fft_tables.hpp"
#include "cuda/families/image_fft_large/image_fft_large_kernels.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace {

using namespace image_fft_large_rung;

constexpr int kSizes[] = {256, 512, 1024, 2048};
constexpr int kBlocksHeld = 2;  // of a multiprocessor, if it has the shared memory
constexpr double kMostTasks = 1 << 30;
constexpr double kMostElements = 1 << 30;  // of a row

// Seconds of a task while each multiprocessor has two (H100, f32, 4096 x 4096, masks of 31 to 1,001), and before the first ones are
// done; times as long of other types and of lines that lie closer than pixels.
constexpr double kStartSeconds = 8e-6;
constexpr double kTasksAlone = 1.6;
constexpr double kAnyType = 1.2;
constexpr double kLinesCloser = 1.15;
double task_seconds(int size) { return size == 256 ? 9.5e-6 : size == 512 ? 10.5e-6 : size == 1024 ? 12.8e-6 : 16e-6; }

int rounds_of(std::int64_t all, std::int64_t each) { return static_cast<int>(divide_up(all, each)); }

// What a plan launches.
struct Plan {
    int size = 0;  // of tiles: rows, and pixels of a row
    Passes passes{};
    std::int64_t tiles_x = 0, tiles_y = 0;
    Kernel kernel = nullptr;
    int shared_bytes = 0, tile_points = 0;
    double seconds = std::numeric_limits<double>::infinity();
};

bool has_any_type(const Problem& p) { return p.dtype != kF32; }

// Channels of a unit, as a power of two: those that share sectors of memory.
int group_bits_of(const Problem& p) {
    constexpr int kMostBits = 3;
    if (p.channels.length == 1 || std::abs(p.channels.in_stride) >= std::abs(p.x.in_stride)) { return 0; }
    int bits = 0;
    while (bits < kMostBits && p.channels.length % (std::int64_t{2} << bits) == 0) { ++bits; }
    return bits;
}

// Lines that lie closer than pixels: channels of a unit, rows.
int line_bits_of(int group_bits, std::int64_t pixel, std::int64_t row) {
    constexpr int kAll = 16;
    return group_bits != 0 ? group_bits : std::abs(row) < std::abs(pixel) ? kAll : 0;
}

template <class D>
Plan plan_of(const Problem& p, const cuda_abi::Device& device) {
    Plan plan;
    plan.size = D::kRows;
    if (p.y.k > D::kRows || p.x.k > D::kColumns) { return plan; }
    Passes& g = plan.passes;
    g.out_rows = static_cast<int>(std::min<std::int64_t>(D::kRows + 1 - p.y.k, p.y.outputs));
    g.out_columns = static_cast<int>(D::kColumns + 1 - p.x.k);
    plan.tiles_x = divide_up(p.x.outputs, g.out_columns);
    // Where it costs nothing, tiles alike, whose rows begin with a sector of 32 bytes.
    g.out_columns = std::min(g.out_columns, rounds_of(divide_up(p.x.outputs, plan.tiles_x), 8) * 8);
    plan.tiles_y = divide_up(p.y.outputs, g.out_rows);
    g.out_rows = rounds_of(p.y.outputs, plan.tiles_y);
    g.group_bits = group_bits_of(p);
    g.groups = static_cast<int>(p.channels.length >> g.group_bits);
    const int group = 1 << g.group_bits;
    const int rows_there = static_cast<int>(std::min<std::int64_t>(D::kRows, g.out_rows + p.y.k - 1));
    g.tasks[kThere] = rounds_of(rows_there * group, D::kLines);
    g.tasks[kDown] = group * (D::kPoints / D::kWidth);
    g.tasks[kBack] = rounds_of(g.out_rows * group, D::kLines);
    const int of_unit = g.tasks[kThere] + g.tasks[kDown] + g.tasks[kBack];
    const double units =
        static_cast<double>(plan.tiles_x) * static_cast<double>(plan.tiles_y) * static_cast<double>(p.batch.length) * g.groups;
    if (units * of_unit > kMostTasks) { return plan; }
    g.units = static_cast<int>(units);
    plan.tile_points = D::kRows * D::kPoints;
    // So many tasks lie between one and those that wait for it that the blocks of the device have finished it; but the ring is to
    // stay in the L2 cache, of which a block sees the half from near by. 101 x 101 taps, tiles of 512: a lag of 5, 6 and 8 units
    // (17, 19 and 23 MB) 215, 203 and 193 us, before the next task was asked for early 6 and 12 (31 MB) 225 and 232. 1,001 x 1,001
    // taps: a lag of none and 2 units 647 us, of one and three 751.
    constexpr double kMostRingBytes = 28e6;
    constexpr int kFewTasks = 64;
    const int held = device.shared_bytes_per_block >= kBlocksHeld * D::kSharedBytes ? kBlocksHeld : 1;
    const int blocks = held * std::max(device.multiprocessors, 1);
    const int at_once = rounds_of(of_unit < kFewTasks ? blocks * 4 / 3 : blocks, of_unit);
    const double unit_bytes = static_cast<double>(sizeof(float2)) * plan.tile_points * group;
    g.lag = at_once == 1 && 3 * unit_bytes > kMostRingBytes ? 0 : std::min(at_once, g.units);
    g.slots = std::min(g.lag == 0 ? 2 : 2 * g.lag + rounds_of(blocks, of_unit), g.units);
    g.spectrum = p.filters > 1 ? std::int64_t{D::kRows} * D::kPoints : 0;
    plan.kernel = kernel_of<D>(p.dtype == kF32 && p.output_dtype == kF32);
    plan.shared_bytes = D::kSharedBytes;
    const bool closer = group > 1 || std::abs(p.x.in_stride) > std::abs(p.y.in_stride);
    plan.seconds = kStartSeconds + (kTasksAlone + units * of_unit / blocks) * task_seconds(plan.size) *
                                       (has_any_type(p) ? kAnyType : 1) * (closer ? kLinesCloser : 1);
    return plan;
}

Plan plan_of(const Problem& p, const cuda_abi::Device& device, int size) {
    return with_shape(size, [&]<class D>() { return plan_of<D>(p, device); });
}

Plan plan_of(const Problem& p, const cuda_abi::Device& device) {
    Plan best;
    for (const int size : kSizes) {
        const Plan plan = plan_of(p, device, size);
        if (plan.seconds < best.seconds) { best = plan; }
    }
    return best;
}

// Pairs whose number n's pair i lies at numbers * i + n.
template <class Phi>
void append_pairs_across(std::vector<float>& to, int numbers, int points, const Phi& phi_of) {
    const std::size_t first = to.size();
    to.resize(first + static_cast<std::size_t>(numbers) * static_cast<std::size_t>(points));
    for (int n = 0; n < numbers; ++n) {
        std::vector<float> pairs;
        image_transforms::append_pairs(pairs, points, phi_of(n));
        for (int i = 0; i < points / 2; ++i) {
            const std::size_t at = first + 2 * static_cast<std::size_t>(numbers * i + n);
            to[at] = pairs[2 * static_cast<std::size_t>(i)];
            to[at + 1] = pairs[2 * static_cast<std::size_t>(i) + 1];
        }
    }
}

template <class D>
std::vector<float> constants_of() {
    using Along = typename D::Along;
    using Down = typename D::Down;
    constexpr double kPi = std::numbers::pi;
    std::vector<float> to;
    append_pairs_across(to, Along::kFar, Along::kNear, [](int q) { return (kPi / 2 + 2 * kPi * q) / Along::kFar; });
    append_pairs_across(to, Along::kNear, Along::kFar, [](int s) { return 2 * kPi * s / Along::kNear; });
    constexpr int kBefore = D::kRows / Down::kNear;  // frequencies before the last step, there and back
    constexpr int kBehind = D::kRows / Down::kFar;
    append_pairs_across(to, kBefore, Down::kNear, [](int q) { return 2 * kPi * q / kBefore; });
    append_pairs_across(to, kBehind, Down::kFar, [](int s) { return 2 * kPi * s / kBehind; });
    if constexpr (kIsLong<Down>) {
        append_pairs_across(to, Down::kFar, Down::kMid, [](int q) { return 2 * kPi * q / Down::kFar; });
        append_pairs_across(to, Down::kNear, Down::kMid, [](int s) { return 2 * kPi * s / Down::kNear; });
    }
    const std::vector<image_transforms::Complex> twiddles = image_transforms::roots_of(4 * D::kPoints);
    for (std::size_t x = 0; x < D::kPoints; ++x) { image_transforms::append(to, twiddles[x].real(), twiddles[x].imag()); }
    return to;
}

// Of what passes by themselves took, as each finds in the L2 cache what the one before left, of 8 and 16 bits and of others: on an
// H200 84 drawn images of up to 4 million pixels 0.75 to 0.79 times as long, 72 of 8 and 16 bits 0.71 times, 28 of up to 8 million
// 0.86 and 0.76; of more some took as long as predicted. Planes of many channels leave nothing.
double together(const Problem& p, const cuda_abi::Device& device) {
    constexpr std::int64_t kManyChannels = 16;
    constexpr double kOfPart = 0.78, kNarrowOfPart = 0.72;
    constexpr double kOfCache = 0.87, kNarrowOfCache = 0.78;
    constexpr double kNarrowBeyond = 0.9;
    const double bytes = 2 * sizeof(float) * static_cast<double>(p.samples());
    const auto cache = static_cast<double>(device.l2_bytes);
    const bool is_narrow = stored_bytes(p.dtype) <= 2;
    if (p.channels.length >= kManyChannels) { return 1; }
    if (2 * bytes <= cache) { return is_narrow ? kNarrowOfPart : kOfPart; }
    return bytes <= cache ? (is_narrow ? kNarrowOfCache : kOfCache) : is_narrow ? kNarrowBeyond : 1;
}

class ImageFftLarge final : public Rung {
public:
    static constexpr Head kHead{"49", "image_fft_large", "", R"(
Idea: tiles of up to 2048 x 2048 pixels are transformed in three passes, rows, columns there and back, rows, by blocks that take
tasks of all passes from one queue; the tiles under way stay in the L2 cache
Changed: a tile is no longer what shared memory holds, so that masks of a hundred taps a side leave most of it to outputs;
channels that share sectors of memory are read together
Requires: f32, or real pixels of 8 or 16 bits, f32 taps; whole images; workspace for the tiles under way; not under strict
accuracy
Limited by: the L2 cache and instructions alike
)"};

    ImageFftLarge() : Rung(kHead, {.source = "src/cuda/families/image_fft_large/image_fft_large.cuh", .rank = 2, .is_local = 0}) {}

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.taps_dtype != kF32 || is_complex(p.dtype) || (p.dtype != kF32 && stored_bytes(p.dtype) > 2)) {
            return "takes f32, or real pixels of 8 or 16 bits, with f32 taps";
        }
        if (p.accuracy == Accuracy::strict) {
            return "a transform's errors are those of its whole tile: not under strict accuracy";
        }
        if (!p.taps_finite) { return "a mask that is not finite needs direct summation"; }
        if (!std::isfinite(p.constant.real())) { return "takes a constant outside the image that is finite"; }
        if (p.filters != 1 && p.filters != p.channels.length) { return "takes one mask for all images"; }
        if (static_cast<double>(p.x.n) > kMostElements) { return "takes rows of at most 2^30 pixels"; }
        const Plan plan = plan_of(p, device);
        if (plan.kernel == nullptr) { return "takes mask sides of at most 2048 and at most 2^30 tasks"; }
        if (static_cast<std::size_t>(plan.shared_bytes) > shared_limit(device)) { return "its tasks do not fit in shared memory"; }
        return refuse_boundaries(p);
    }

    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        return kLaunchSeconds + std::max(seconds_to_move(p, device), together(p, device) * plan_of(p, device).seconds);
    }

    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Plan& plan = prepared.chosen_as<ChosenPlan>().plan;
        const std::string size = std::to_string(plan.size);
        return "tiles of " + size + " x " + size + " pixels, " + std::to_string(plan.passes.out_rows) + " x " +
               std::to_string(plan.passes.out_columns) + " outputs each";
    }

    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenPlan>();
        // A policy's threads of a block are a tile's rows here.
        const int size = prepared.policy.threads_per_block;
        if (std::find(std::begin(kSizes), std::end(kSizes), size) != std::end(kSizes)) {
            chosen->plan = plan_of(prepared.problem, prepared.device, size);
        } else {
            chosen->plan = plan_of(prepared.problem, prepared.device);
        }
        if (chosen->plan.kernel == nullptr) { throw CudaError(cuda_abi::Code::argument, "policy: no tiles of this size"); }
        load_kernel(chosen->plan.kernel, static_cast<std::size_t>(chosen->plan.shared_bytes), prepared.device);
        load_kernels_around();
        return chosen;
    }

    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        const std::vector<float> constants =
            with_shape(prepared.chosen_as<ChosenPlan>().plan.size, []<class D>() { return constants_of<D>(); });
        std::vector<std::byte> bytes(constants.size() * sizeof(float));
        std::memcpy(bytes.data(), constants.data(), bytes.size());
        return bytes;
    }
    // The spectra; behind them one mask's rows in double, while they are made.
    [[nodiscard]] std::int64_t filled_table_bytes(const Prepared& prepared) const override {
        const Plan& plan = prepared.chosen_as<ChosenPlan>().plan;
        const Problem& p = prepared.problem;
        return spectra_bytes(p, plan) + p.y.k * (plan.tile_points / plan.size) * static_cast<std::int64_t>(sizeof(double2));
    }
    void fill_tables(const Prepared& prepared, void* to, cudaStream_t stream) const override {
        const Plan& plan = prepared.chosen_as<ChosenPlan>().plan;
        const Problem& p = prepared.problem;
        MakeSpectrum m{};
        m.height = static_cast<int>(p.y.k);
        m.width = static_cast<int>(p.x.k);
        m.rows = plan.size;
        m.points = plan.tile_points / plan.size;
        m.rows_of_mask = reinterpret_cast<double2*>(static_cast<char*>(to) + spectra_bytes(p, plan));
        for (std::int64_t filter = 0; filter < p.filters; ++filter) {
            m.taps = reinterpret_cast<const float*>(static_cast<const char*>(prepared.on_device.taps) +
                                                    filter * prepared.taps_pitch_bytes);
            m.spectrum = static_cast<float2*>(to) + filter * plan.tile_points;
            make_spectrum(m, stream);
        }
        check(cudaStreamSynchronize(stream), "making a spectrum");
    }

    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const Plan& plan = prepared.chosen_as<ChosenPlan>().plan;
        return kWorkspaceAlignment + notes_bytes(prepared.problem, plan) +
               (std::int64_t{plan.passes.slots} << plan.passes.group_bits) * plan.tile_points *
                   static_cast<std::int64_t>(sizeof(float2));
    }

    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const Plan& plan = prepared.chosen_as<ChosenPlan>().plan;
        const Problem& p = prepared.problem;
        ImageArguments a = image_arguments_of(prepared, job, on_device);
        a.tiles_x = plan.tiles_x;
        a.tiles_y = plan.tiles_y;
        if (has_any_type(p)) { a.common.converts = 1; }  // from floats
        // The constant is a pixel; integers keep any.
        if (p.dtype == kF16) { a.common.constant_real = __half2float(__half(p.constant.real())); }
        if (p.dtype == kBf16) { a.common.constant_real = __bfloat162float(__nv_bfloat16(p.constant.real())); }
        Passes g = plan.passes;
        g.units = static_cast<int>(g.units / p.batch.length * job.batch);
        g.steps = {p.x.in_stride, p.channels.in_stride, p.x.out_stride, p.channels.out_stride};
        if (job.packed != 0) { g.steps = {p.channels.length, 1, p.channels.length, 1}; }
        g.in_bits = line_bits_of(g.group_bits, g.steps.in_pixel, a.in_row);
        g.out_bits = line_bits_of(g.group_bits, g.steps.out_pixel, a.out_row);
        g.input_type = p.dtype;
        g.input_bytes = stored_bytes(p.dtype);
        g.output_bytes = stored_bytes(p.output_dtype);
        g.tables = static_cast<const float2*>(on_device.tables);
        char* const memory = aligned(workspace);
        g.counts = reinterpret_cast<unsigned*>(memory);
        g.bad = g.counts + 1 + 3 * std::int64_t{plan.passes.units};
        g.points = reinterpret_cast<float2*>(memory + notes_bytes(p, plan));
        check(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(notes_bytes(p, plan)), stream), "cudaMemsetAsync");
        const int held = kBlocksHeld * std::max(prepared.device.multiprocessors, 1);
        const double tasks = static_cast<double>(g.units) * (g.tasks[kThere] + g.tasks[kDown] + g.tasks[kBack]);
        launch_kernel(plan.kernel, static_cast<unsigned>(std::min<double>(held, tasks)), kThreads,
                      static_cast<std::size_t>(plan.shared_bytes), stream, a, g);
        repair(a, g, held, stream);
    }

private:
    struct ChosenPlan final : Chosen {
        Plan plan;
    };

    static std::int64_t spectra_bytes(const Problem& p, const Plan& plan) {
        return p.filters * plan.tile_points * static_cast<std::int64_t>(sizeof(float2));
    }
    // What blocks tell each other, and whether rows have samples that are not finite.
    static std::int64_t notes_bytes(const Problem& p, const Plan& plan) {
        const std::int64_t notes = 2 + 3 * std::int64_t{plan.passes.units} + p.batch.length * p.channels.length * p.y.n;
        return aligned_bytes(notes * static_cast<std::int64_t>(sizeof(unsigned)));
    }
};

}  // namespace

const Rung& image_fft_large() { return core::only<ImageFftLarge>(); }

}  // namespace tapline::cuda
