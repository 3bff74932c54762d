// The rung of overlap-save: what it supports, how it is launched, which sizes are worth measuring.
#include "cuda/ladder/conv1d/overlap_save.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "cuda/check.hpp"
#include "cuda/ladder/conv1d/overlap_save_tables.hpp"
#include "cuda/primitives/arguments.cuh"

namespace tapline::cuda {
namespace overlap_save {
namespace {

constexpr double kLaunchSeconds = 2.5e-6;  // of a kernel inside a graph
constexpr std::int64_t kMostBlocks = 0x7fffffff;
constexpr std::array<int, 5> kWarps{1, 2, 4, 8, 16};
// Outputs of a segment are a multiple of this, so that stores of all segments begin alike between 128-byte lines.
constexpr int kOutputsUnit = 32;

struct Type {
    int bytes;        // of a sample
    int point_bytes;  // of a complex point
    bool is_complex;
    bool complex_taps;
};

Type type_of(const Problem& p) {
    const bool complex_taps = p.taps_dtype == kComplex64 || p.taps_dtype == kComplex128;
    switch (p.dtype) {
        case kF64:
            return {8, 16, false, complex_taps};
        case kComplex64:
            return {8, 8, true, complex_taps};
        case kComplex128:
            return {16, 16, true, complex_taps};
        case kF16:
        case kBf16:
            return {2, 8, false, complex_taps};
        default:
            return {4, 8, false, complex_taps};
    }
}

Kernel kernel_of(const Problem& p, int warps, bool plain, bool shared_spectrum) {
    switch (p.dtype) {
        case kF32:
            return kernel_f32(warps, plain, shared_spectrum);
        case kF64:
            return kernel_f64(warps, plain, shared_spectrum);
        case kF16:
            return kernel_f16(warps, plain, shared_spectrum);
        case kBf16:
            return kernel_bf16(warps, plain, shared_spectrum);
        case kComplex64:
            return kernel_complex64(warps, plain, shared_spectrum);
        case kComplex128:
            return kernel_complex128(warps, plain, shared_spectrum);
        default:
            return {};
    }
}

// How a problem's rows are cut, whatever the signal's length and place are: bits of outputs depend on nothing else.
struct Cut {
    int warps = 0;    // of a segment
    int samples = 0;  // of a segment
    int skip = 0;     // samples that a segment begins early, so that all begin at a multiple of 16 bytes if sample 0 does
    int outputs = 0;  // of a segment
    int used = 0;     // samples that its outputs read, `skip` included
};

Cut cut_of(const Problem& p, int warps) {
    const Type type = type_of(p);
    const int per_vector = 16 / type.bytes;
    Cut cut;
    cut.warps = warps;
    cut.samples = kPoints * warps * (type.is_complex ? 1 : 2);
    cut.skip = static_cast<int>(((-p.origin) % per_vector + per_vector) % per_vector);
    const std::int64_t room = cut.samples - (p.k - 1) - cut.skip;
    cut.outputs = room < kOutputsUnit ? 0 : static_cast<int>(room / kOutputsUnit) * kOutputsUnit;
    cut.used = cut.outputs == 0 ? 0 : static_cast<int>(cut.skip + cut.outputs + p.k - 1);
    return cut;
}

std::int64_t shared_limit(const cuda_abi::Device& device) {
    switch (10 * device.major + device.minor) {
        case 75:
            return 64 * 1024;
        case 86:
        case 89:
        case 120:
            return 99 * 1024;
        case 80:
        case 87:
            return 163 * 1024;
        default:
            return 227 * 1024;
    }
}

// Segments that a block holds at a time; 0: not even one.
int segments_of_block(const Kernel& kernel, int warps, const cuda_abi::Device& device) {
    if (kernel.function == nullptr) { return 0; }
    const std::int64_t by_memory = (shared_limit(device) - kernel.layout.segments) / kernel.layout.segment_bytes;
    return static_cast<int>(std::clamp<std::int64_t>(by_memory, 0, kernel.most_threads / (32 * warps)));
}

// Whether a launch's stores may be plain ones; else all goes through the kernels for anything.
bool plain_problem(const Problem& p) { return p.in_sample == 1 && p.out_sample == 1 && p.output_dtype == p.dtype; }

Kernel fast_kernel(const Problem& p, int warps, const cuda_abi::Device& device) {
    if (p.filters == 1) {
        const Kernel shared = kernel_of(p, warps, true, true);
        if (segments_of_block(shared, warps, device) > 0) { return shared; }
    }
    return kernel_of(p, warps, true, false);
}

// Sizes whose tables hold for every kernel that a prepared problem may need: the plain ones, and those for anything.
bool has_size(const Problem& p, int warps, const cuda_abi::Device& device) {
    if (cut_of(p, warps).outputs == 0) { return false; }
    const bool anything = segments_of_block(kernel_of(p, warps, false, false), warps, device) > 0;
    return plain_problem(p) ? segments_of_block(fast_kernel(p, warps, device), warps, device) > 0 : anything;
}

// What a segment takes, in seconds of a multiprocessor: measured on an H200, f32, 2^28 samples.
double segment_seconds(const Problem& p, int warps, const cuda_abi::Device& device) {
    constexpr double kSecondsOfWarp = 0.47e-6 / 2.2e12;  // times flops a second of a multiprocessor
    const double wide = type_of(p).point_bytes == 16 ? 2.5 : 1;
    const double passes = warps == 1 ? 1 : (warps == 2 ? 1.3 : 1.8);
    return kSecondsOfWarp * 2.2e12 * wide * passes * warps * (6.7e13 / device.peak_flops) * device.multiprocessors / 132.0;
}

double estimate(const Problem& p, int warps, const cuda_abi::Device& device) {
    const Cut cut = cut_of(p, warps);
    const Type type = type_of(p);
    const double rows = static_cast<double>(p.batch);
    const double segments = std::ceil(static_cast<double>(p.output_length) / cut.outputs) * rows;
    const int at_once = std::max(1, segments_of_block(fast_kernel(p, warps, device), warps, device));
    // Whole rounds of all multiprocessors, whose segments take `at_once` times as long together as one alone would.
    const double rounds = std::ceil(segments / (static_cast<double>(device.multiprocessors) * at_once));
    const double busy = std::max(rounds * at_once, segments / device.multiprocessors) * segment_seconds(p, warps, device);
    const double bytes = type.bytes * rows * static_cast<double>(p.output_length + p.n) +
                         (p.filters > 1 ? rows * static_cast<double>(cut.warps) * kPoints * type.point_bytes : 0);
    constexpr double kStartSeconds = 4e-6;  // tables to shared memory, the first segment's samples
    return kLaunchSeconds + kStartSeconds + std::max(busy, bytes / (0.93 * device.copy_bytes_per_second));
}

int best_warps(const Problem& p, const cuda_abi::Device& device) {
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const int warps : kWarps) {
        if (!has_size(p, warps, device)) { continue; }
        const double seconds = estimate(p, warps, device);
        if (seconds < least) {
            least = seconds;
            best = warps;
        }
    }
    return best;
}

void append(std::vector<std::byte>& to, const std::vector<Complex>& points, bool wide) {
    for (const Complex& point : points) {
        const std::array<double, 2> exact{point.real(), point.imag()};
        const std::array<float, 2> rounded{static_cast<float>(point.real()), static_cast<float>(point.imag())};
        const auto* bytes = wide ? reinterpret_cast<const std::byte*>(exact.data()) : reinterpret_cast<const std::byte*>(rounded.data());
        to.insert(to.end(), bytes, bytes + (wide ? sizeof exact : sizeof rounded));
    }
}

Complex tap_at(const std::byte* taps, std::int64_t t, int type) {
    const auto read = [&]<class T>(T, std::int64_t at) {
        T value;
        std::memcpy(&value, taps + at * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
        return static_cast<double>(value);
    };
    switch (type) {
        case kF64:
            return read(double{}, t);
        case kComplex128:
            return {read(double{}, 2 * t), read(double{}, 2 * t + 1)};
        case kComplex64:
            return {read(float{}, 2 * t), read(float{}, 2 * t + 1)};
        default:
            return read(float{}, t);
    }
}

void load_kernel(const Kernel& kernel, std::int64_t shared_bytes) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel.function), "loading a kernel");
    if (shared_bytes > 48 * 1024) {
        check(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
              "shared memory");
    }
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

class OverlapSave final : public Rung {
public:
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "21";
        info.name = "overlap_save";
        info.idea =
            "segments are transformed, multiplied by the filter's spectrum and transformed back in registers; they overlap by what "
            "the filter spoils. One kernel reads the signal once and writes once";
        info.changed = "an output no longer costs a product a tap, but a share of two transforms, whatever the number of taps";
        info.requirements = "fewer taps than a segment has samples (2,048 to 32,768); not for strict accuracy";
        info.limited_by = "instructions and shared memory about alike, then the signal that is read and transformed twice";
        info.source = "ladder/conv1d/21_overlap_save.cuh";
        info.takes_pieces = 1;
        info.is_local = 0;
        return info;
    }
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (kernel_of(p, 1, true, false).function == nullptr) { return "integers are exact on the CPU only"; }
        if (p.accuracy == kStrict) { return "strict accuracy needs direct summation"; }
        if (best_warps(p, device) == 0) {
            return std::to_string(p.k) + " taps: more than a segment in a multiprocessor's shared memory has room for";
        }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        return estimate(p, best_warps(p, device), device) * (plain_problem(p) ? 1 : 2);
    }
    [[nodiscard]] std::vector<Policy> policies(const Problem& p, const cuda_abi::Device& device) const override {
        std::vector<Policy> all;
        const int best = best_warps(p, device);
        if (best != 0) { all.push_back({0, 32 * best, 0, 0}); }
        for (const int warps : kWarps) {
            if (has_size(p, warps, device)) { all.push_back({0, 32 * warps, 0, 0}); }
        }
        return all;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Cut cut = cut_of(prepared.problem, warps_of(prepared));
        return "segments of " + std::to_string(cut.samples) + " samples, " + std::to_string(cut.outputs) + " outputs each, " +
               std::to_string(cut.warps) + (cut.warps == 1 ? " warp a segment" : " warps a segment");
    }
    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override {
        return cut_of(prepared.problem, warps_of(prepared)).outputs;
    }
    [[nodiscard]] std::vector<std::byte> tables(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        const Type type = type_of(p);
        const int warps = warps_of(prepared);
        const Cut cut = cut_of(p, warps);
        const Kernel kernel = kernel_of(p, warps, true, false);
        const bool wide = type.point_bytes == 16;
        std::vector<std::byte> bytes;
        bytes.reserve(static_cast<std::size_t>((kernel.table_points + p.filters * kPoints * warps) * type.point_bytes));
        append(bytes, pairs_of_lanes(), wide);
        append(bytes, twists_of(warps, type.is_complex, kernel.twist_table), wide);
        for (std::int64_t row = 0; row < p.filters; ++row) {
            const std::byte* taps = prepared.host_taps.data() + row * prepared.taps_pitch_bytes;
            const auto tap = [&](std::int64_t t) { return tap_at(taps, t, p.taps_dtype); };
            append(bytes, spectrum_of(tap, p.k, cut.skip, warps, type.is_complex), wide);
        }
        return bytes;
    }
    void load(const Prepared& prepared) const override {
        const int warps = warps_of(prepared);
        for (const bool plain : {true, false}) {
            const Kernel kernel = plain ? fast_kernel(prepared.problem, warps, prepared.device)
                                        : kernel_of(prepared.problem, warps, false, false);
            const int segments = segments_of_block(kernel, warps, prepared.device);
            if (segments > 0) { load_kernel(kernel, shared_bytes(kernel, segments)); }
        }
    }
    void launch(const Prepared& prepared, const Job& job, void*, cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        const Type type = type_of(p);
        const int warps = warps_of(prepared);
        const Cut cut = cut_of(p, warps);
        Arguments a = arguments_of(prepared, job);
        // Pairs of real numbers need not be aligned as a whole; plain stores want them so.
        const bool plain = a.plain_layout != 0 && reinterpret_cast<std::uintptr_t>(job.out) % static_cast<std::uintptr_t>(type.bytes) == 0;
        const Kernel kernel = plain ? fast_kernel(p, warps, prepared.device) : kernel_of(p, warps, false, false);
        const int in_block = segments_of_block(kernel, warps, prepared.device);
        if (in_block == 0) {
            throw CudaError(cuda_abi::Code::argument, "out: complex elements on an address that is no multiple of their size");
        }
        Segments g{};
        g.tables = prepared.tables;
        g.spectrum_row = p.filters > 1 ? static_cast<std::int64_t>(warps) * kPoints : 0;
        g.row_first = p.filters > 1 ? job.row_first : 0;
        g.start = job.first - p.origin - cut.skip - job.in_first;
        g.outputs = cut.outputs;
        g.skip = cut.skip;
        g.used = cut.used;
        const std::int64_t segments = divide_up(job.count, cut.outputs);
        const std::int64_t blocks_wanted = segments > kMostBlocks ? kMostBlocks : divide_up(segments * job.rows, in_block);
        if (segments > kMostBlocks || job.rows > (std::int64_t{1} << 62) / segments) {
            throw CudaError(cuda_abi::Code::unsupported, "problem: more segments than one launch counts; divide the batch");
        }
        g.segments = static_cast<int>(segments);
        if (plain) { set_inner(g, a, type.bytes); }
        const std::int64_t blocks = std::min<std::int64_t>(blocks_wanted, prepared.device.multiprocessors);
        g.step_rows = blocks * in_block / segments;
        g.step_segments = static_cast<int>(blocks * in_block % segments);
        void* arguments[] = {&a, &g};
        check(cudaLaunchKernel(kernel.function, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(32 * warps * in_block)),
                               arguments, static_cast<std::size_t>(shared_bytes(kernel, in_block)), stream),
              "launch");
    }

private:
    static int warps_of(const Prepared& prepared) {
        const int asked = prepared.policy.threads_per_block / 32;
        if (asked == 0) { return best_warps(prepared.problem, prepared.device); }
        if (!has_size(prepared.problem, asked, prepared.device)) {
            throw CudaError(cuda_abi::Code::argument, "policy: no segments of this size");
        }
        return asked;
    }
    static std::int64_t shared_bytes(const Kernel& kernel, int segments) {
        return kernel.layout.segments + static_cast<std::int64_t>(segments) * kernel.layout.segment_bytes;
    }
    // Whole segments whose copies, which begin and end at 16-byte boundaries, stay inside every row's piece.
    static void set_inner(Segments& g, const Arguments& a, int bytes) {
        const std::int64_t margin = 16 / bytes;
        const std::int64_t length = a.in_last - a.in_first;
        const std::int64_t first = g.start >= margin ? 0 : divide_up(margin - g.start, g.outputs);
        const std::int64_t room = length - margin - g.used - g.start;
        const std::int64_t by_samples = room < 0 ? 0 : room / g.outputs + 1;
        const std::int64_t last = std::min<std::int64_t>({by_samples, a.count / g.outputs, g.segments});
        g.inner_first = static_cast<int>(std::min<std::int64_t>(first, g.segments));
        g.inner_last = static_cast<int>(std::max<std::int64_t>(last, g.inner_first));
    }
};

}  // namespace
}  // namespace overlap_save

const Rung& overlap_save_rung() {
    static const overlap_save::OverlapSave rung;
    return rung;
}

}  // namespace tapline::cuda
