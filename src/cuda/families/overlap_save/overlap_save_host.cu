// How overlap-save's launches are made.
#include "cuda/families/overlap_save/overlap_save_host.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "cuda/check.hpp"
#include "cuda/families/cost.hpp"
#include "cuda/families/overlap_save/cluster/overlap_save_cluster.hpp"
#include "cuda/families/overlap_save/row/overlap_save_row.hpp"
#include "cuda/families/overlap_save/overlap_save_tables.hpp"
#include "cuda/families/production.hpp"
#include "cuda/families/taken.hpp"

namespace tapline::cuda::overlap_save {
namespace {

// Outputs of a segment are a multiple of this, so that stores of all segments begin alike between 128-byte lines.
constexpr int kOutputsUnit = 32;
// Where memory limits and rounds are many, fewer warps that go on in steps read and write in a better order: 127 taps, 2^28
// samples, H200: 553 us with 12 warps a block, 568 with 16; 191 taps 553 and 567, 255 taps 558 and 559; of 2^24 samples 127
// taps 47.3 and 46.4 us.
constexpr int kManyOutputs = 1850;
constexpr int kManyRounds = 8;
constexpr int kFewSegments = 12;
// Where memory limits, warps take segments as they come (LaterPlace), if so many rounds are worth a number set to 0 before: then
// 16 warps are better, 127 taps 541 us, 12 554.
constexpr int kLeastOutputsTaken = 1700;
constexpr int kLeastRoundsTaken = 16;
// Blocks of fewer warps with places for spectra than this give way to blocks without.
constexpr int kLeastWarpsKeeping = 12;

}  // namespace

Type type_of(const Problem& p) {
    const bool complex_taps = p.taps_dtype == kComplex64 || p.taps_dtype == kComplex128;
    switch (p.dtype) {
        case kF64:
            return {8, 8, 16, false};
        case kComplex64:
            return {8, complex_taps ? 8 : 4, 8, true};
        case kComplex128:
            return {16, complex_taps ? 16 : 8, 16, true};
        case kF16:
        case kBf16:
            return {2, 4, 8, false};
        default:
            return {4, 4, 8, false};
    }
}

namespace {

Kernel cluster_kernel_of(const Problem& p, int group, bool plain) {
    switch (p.dtype) {
        case kF32:
            return cluster_kernel_f32(group, plain);
        case kF64:
            return cluster_kernel_f64(group, plain);
        case kF16:
            return cluster_kernel_f16(group, plain);
        case kBf16:
            return cluster_kernel_bf16(group, plain);
        case kComplex64:
            return cluster_kernel_complex64(group, plain);
        case kComplex128:
            return cluster_kernel_complex128(group, plain);
        default:
            return {};
    }
}

Kernel kernel_of(const Problem& p, int warps, bool plain, Spectrum spectrum) {
    if (warps >= kRemainders) {
        return spectrum == Spectrum::passing ? cluster_kernel_of(p, warps / kRemainders, plain) : Kernel{};
    }
    switch (p.dtype) {
        case kF32:
            return kernel_f32(warps, plain, spectrum);
        case kF64:
            return kernel_f64(warps, plain, spectrum);
        case kF16:
            return kernel_f16(warps, plain, spectrum);
        case kBf16:
            return kernel_bf16(warps, plain, spectrum);
        case kComplex64:
            return kernel_complex64(warps, plain, spectrum);
        case kComplex128:
            return kernel_complex128(warps, plain, spectrum);
        default:
            return {};
    }
}

}  // namespace

Cut cut_of(const Problem& p, int warps, std::int64_t taps) {
    const Type type = type_of(p);
    const int per_vector = 16 / type.bytes;
    Cut cut;
    cut.warps = warps;
    cut.taps = taps;
    cut.samples = kPoints * warps * (type.is_complex ? 1 : 2);
    const auto skip_to = [&](int multiple) { return static_cast<int>(((-p.x.origin) % multiple + multiple) % multiple); };
    const auto outputs_after = [&](int skip) {
        const std::int64_t room = cut.samples - (taps - 1) - skip;
        return room < kOutputsUnit ? 0 : static_cast<int>(room / kOutputsUnit) * kOutputsUnit;
    };
    cut.skip = skip_to(per_vector);
    cut.outputs = outputs_after(cut.skip);
    // Copies that begin within a line take longer, so segments begin at lines where that costs no outputs. 2^28 samples, 8,181 taps
    // 1,064 us instead of 1,195, 4,081 taps 962 instead of 979, 491 taps 599 instead of 605; complex64, 4,093 taps 1,096 instead of
    // 1,232.
    for (int multiple = kOutputsUnit; multiple > per_vector; multiple /= 2) {
        if (outputs_after(skip_to(multiple)) == cut.outputs) {
            cut.skip = skip_to(multiple);
            break;
        }
    }
    cut.used = cut.outputs == 0 ? 0 : static_cast<int>(cut.skip + cut.outputs + taps - 1);
    return cut;
}

int segments_of_block(const Kernel& kernel, int warps, const cuda_abi::Device& device) {
    if (kernel.function == nullptr || (kernel.blocks > 1 && device.major < 9)) { return 0; }
    const std::int64_t by_memory =
        (static_cast<std::int64_t>(shared_limit(device)) - kernel.layout.segments) / kernel.layout.segment_bytes;
    return static_cast<int>(std::clamp<std::int64_t>(by_memory, 0, kernel.most_threads * kernel.blocks / (32 * warps)));
}

bool plain_problem(const Problem& p) { return p.x.in_stride == 1 && p.x.out_stride == 1 && p.output_dtype == p.dtype; }

Kernel fast_kernel(const Problem& p, int warps, const cuda_abi::Device& device) {
    const Kernel passing = kernel_of(p, warps, true, Spectrum::passing);
    const Kernel keeping = kernel_of(p, warps, true, p.filters == 1 ? Spectrum::block : Spectrum::row);
    const int most = segments_of_block(passing, warps, device);
    const int least = p.filters == 1 ? 1 : std::max(1, std::min(most, kLeastWarpsKeeping / warps));
    return segments_of_block(keeping, warps, device) >= least ? keeping : passing;
}

Kernel slow_kernel(const Problem& p, int warps) { return kernel_of(p, warps, false, Spectrum::passing); }

// The layout does not matter: a stream's pieces lie otherwise than the signal of a plan that must give the same bits.
bool has_size(const Problem& p, int warps, std::int64_t taps, const cuda_abi::Device& device) {
    return cut_of(p, warps, taps).outputs != 0 && segments_of_block(fast_kernel(p, warps, device), warps, device) > 0 &&
           segments_of_block(slow_kernel(p, warps), warps, device) > 0;
}

namespace {

// Fitted to times on an H200, as `tapline tune --json` measures them: 2^20 to 2^28 samples of all types, 63 to 16,385 taps, every
// size of segment. They agree within 6% on average, 18% at most, and the size that is chosen takes at most 8% longer than the
// fastest.
constexpr double kMeasuredFlops = 6.69e13 / 132;  // of its multiprocessors each
constexpr double kStartSeconds = 8.4e-6;          // of a launch: instructions, tables, the first samples
// Less where some have a segment more, whose first samples come before the others': seen with 4.5 rounds, not with 1.5.
constexpr double kReadFirstSeconds = 2.5e-6;
constexpr double kReadFirstRounds = 3;
constexpr double kClusterStartSeconds = 17.5e-6;  // of clusters: 70,003 samples 35.5 us
constexpr double kPartStartSeconds = 17e-6;       // of one that adds to sums, back to back with others
// By warps a segment: what one takes of a multiprocessor that holds as many as it can, in float and double, and by itself. In float
// less than fitted by what 511, 1,023, 2,047, 4,095 and 8,191 taps won since, beside the version before: 2, 7, 5, 2 and 6%.
constexpr std::array<double, 5> kSegmentSeconds{0.382e-6, 0.94e-6, 2.33e-6, 5.98e-6, 13.4e-6};
constexpr std::array<double, 5> kWideSegmentSeconds{0.66e-6, 1.88e-6, 5.43e-6, 12.1e-6, 30e-6};
constexpr std::array<double, 5> kAloneSeconds{1.2e-6, 3.2e-6, 4.2e-6, 7.5e-6, 14e-6};
constexpr double kWideAloneFactor = 1.6;
// Of samples of 16 bits, by one warp or two, and by four: bf16, 19,000,000 samples, 135, 550, 1,100 and 2,300 taps take 45, 54, 64
// and 73 us, floats 48, 53 and, with 1,600 taps, 66.
constexpr double kHalfFactor = 1.2;
constexpr double kHalfFactorFour = 1.1;
// What a cluster takes for a segment of 32, 64 and 128 warps, one cluster for each `blocks` multiprocessors: 2^28 samples of f32
// and 16,385 taps 1,456 us, 65,535 taps 2,411 us, in a run in which segments of 16 warps took 8% longer than above; in
// double 8,300,011 samples take 137 and 131 us.
constexpr std::array<double, 3> kClusterSegmentSeconds{18e-6, 25e-6, 26.5e-6};
constexpr std::array<double, 3> kWideClusterSegmentSeconds{27e-6, 31e-6, 0};
// Of rows with filters of their own: (8, 2048, 8192) samples with 128 or 256 taps take 327 us, with 1,024 taps 513 by 1 warp, 507
// by 2, 821 by 4 and 862 by 8.
constexpr double kOwnSpectrumFactor = 1.23;
// Of a row that the kernel of rows takes as a whole, on a multiprocessor that has 16 or four: (64, 768, 1024) bf16 147 us,
// (64, 768, 4096) 753.
constexpr double kShortRowSeconds = 0.37e-6;
constexpr double kRowSeconds = 1.98e-6;
// Of a long one by a cluster of two multiprocessors: (64, 768, 32768) bf16 8,970 us.
constexpr double kLongRowSeconds = 12e-6;
// By halves, two multiprocessors having two rows: 8,640 us.
constexpr double kHalvesSeconds = 11.6e-6;
constexpr double kNorm = 2.5;  // of computing and moving: neither hides the other's waits completely

double segment_seconds(const Problem& p, int warps, const cuda_abi::Device& device) {
    const double others = kMeasuredFlops / (device.peak_flops / device.multiprocessors);
    if (warps >= kRemainders) {
        const auto at = static_cast<std::size_t>(std::find(kClusterWarpCounts.begin(), kClusterWarpCounts.end(), warps) -
                                                 kClusterWarpCounts.begin());
        return (type_of(p).point_bytes == 16 ? kWideClusterSegmentSeconds : kClusterSegmentSeconds).at(at) * others;
    }
    const auto at = static_cast<std::size_t>(std::find(kWarpCounts.begin(), kWarpCounts.end(), warps) - kWarpCounts.begin());
    // Chips for graphics have an eighth as many units for double.
    if (type_of(p).point_bytes == 16) { return kWideSegmentSeconds.at(at) * (device.minor == 0 ? 1 : 8) * others; }
    const double halves = type_of(p).bytes != 2 || warps > 4 ? 1 : warps == 4 ? kHalfFactorFour : kHalfFactor;
    return kSegmentSeconds.at(at) * others * halves;
}

double row_seconds(const Problem& p, int warps, const cuda_abi::Device& device) {
    if (takes_halves(p, warps, device)) { return kHalvesSeconds; }
    return warps == ShortRow::kWarps ? kShortRowSeconds : warps == Row::kWarps ? kRowSeconds : kLongRowSeconds;
}

double alone_seconds(const Type& type, int warps) {
    const auto at = static_cast<std::size_t>(std::find(kWarpCounts.begin(), kWarpCounts.end(), warps) - kWarpCounts.begin());
    return kAloneSeconds.at(at) * (type.point_bytes == 16 ? kWideAloneFactor : 1);
}

}  // namespace

double estimate(const Problem& p, const Cut& cut, const cuda_abi::Device& device) {
    const Type type = type_of(p);
    const double rows = static_cast<double>(p.batch.length);
    const bool by_rows = takes_rows(p, cut.warps, device);
    const double segments = by_rows ? rows : std::ceil(static_cast<double>(p.x.outputs) / cut.outputs) * rows;
    const Kernel kernel = fast_kernel(p, cut.warps, device);
    const double at_once = by_rows ? rows_at_once(cut.warps) : std::max(1, segments_of_block(kernel, cut.warps, device));
    const double each = segments / std::max(1, device.multiprocessors / kernel.blocks);
    const double others = kMeasuredFlops / (device.peak_flops / device.multiprocessors);
    const double seconds = by_rows ? row_seconds(p, cut.warps, device) * others
                                   : segment_seconds(p, cut.warps, device) * (p.filters > 1 ? kOwnSpectrumFactor : 1);
    const double alone = by_rows ? at_once * seconds : kernel.blocks > 1 ? seconds : alone_seconds(type, cut.warps);
    // The last round is not full, but takes at least as long as a segment alone.
    const double whole_rounds = std::floor(each / at_once) * at_once;
    const double left = std::ceil(each - whole_rounds);
    const double busy = whole_rounds * seconds + (left > 0 ? std::max(left * seconds, alone) : 0);
    const double bytes =
        type.bytes * rows * static_cast<double>(p.x.outputs + p.x.n) +
        (p.filters > 1 ? static_cast<double>(p.filters) * static_cast<double>(cut.warps) * kPoints * type.point_bytes : 0);
    const double moving = bytes / device.copy_bytes_per_second;
    const bool reads_first = !by_rows && p.filters == 1 && left > 0 && whole_rounds >= kReadFirstRounds * at_once;
    const double start = kernel.blocks > 1 ? kClusterStartSeconds : kStartSeconds - (reads_first ? kReadFirstSeconds : 0);
    return start + overlapped(busy, moving, kNorm);
}

double estimate_parts(const Problem& p, const Cut& cut, std::int64_t segments_at_once, const cuda_abi::Device& device) {
    const double segments =
        std::ceil(static_cast<double>(p.x.outputs) / cut.outputs) * static_cast<double>(p.batch.length) / device.multiprocessors;
    const double chunks = std::ceil(segments / static_cast<double>(segments_at_once));
    const double parts = static_cast<double>(parts_of(p.x.k, cut).size());
    return parts * (chunks * kPartStartSeconds + std::ceil(segments) * segment_seconds(p, cut.warps, device));
}

void append(std::vector<std::byte>& to, const std::vector<Complex>& points, bool wide) {
    for (const Complex& point : points) {
        const std::array<double, 2> exact{point.real(), point.imag()};
        const std::array<float, 2> rounded{static_cast<float>(point.real()), static_cast<float>(point.imag())};
        const auto* bytes =
            wide ? reinterpret_cast<const std::byte*>(exact.data()) : reinterpret_cast<const std::byte*>(rounded.data());
        to.insert(to.end(), bytes, bytes + (wide ? sizeof exact : sizeof rounded));
    }
}

Complex tap_at(const std::byte* taps, std::int64_t t, Dtype type) {
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

namespace {

std::int64_t shared_bytes(const Kernel& kernel, int segments) {
    return kernel.layout.segments + static_cast<std::int64_t>(segments) * kernel.layout.segment_bytes;
}

/// A launch of a kernel whose segments clusters share. Where it is it stays: the launch points to its attribute.
struct ClusterLaunch {
    cudaLaunchConfig_t config{};
    cudaLaunchAttribute attribute{};

    ClusterLaunch(const Kernel& kernel, std::int64_t blocks, cudaStream_t stream) {
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim = {static_cast<unsigned>(kernel.blocks), 1, 1};
        config.gridDim = dim3(static_cast<unsigned>(blocks));
        config.blockDim = dim3(static_cast<unsigned>(kernel.most_threads));
        config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes(kernel, 1));
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = 1;
    }
    ClusterLaunch(const ClusterLaunch&) = delete;
    ClusterLaunch& operator=(const ClusterLaunch&) = delete;
};

// Whole segments whose copies, which begin and end at 16-byte boundaries, stay inside every row's piece; and whether the others
// are copied up to the piece's edges, which then lie at such boundaries of theirs.
void set_copied(Segments& g, const Arguments& a, int bytes) {
    const std::int64_t margin = 16 / bytes;
    const std::int64_t length = a.in_last - a.in_first;
    const std::int64_t first = g.start >= margin ? 0 : divide_up(margin - g.start, g.outputs);
    const std::int64_t room = length - margin - g.used - g.start;
    const std::int64_t by_samples = room < 0 ? 0 : room / g.outputs + 1;
    const std::int64_t last = std::min<std::int64_t>({by_samples, a.count / g.outputs, g.segments});
    g.inner_first = static_cast<int>(std::min<std::int64_t>(first, g.segments));
    g.inner_last = static_cast<int>(std::max<std::int64_t>(last, g.inner_first));
    g.zero_edges = a.zero_vectors != 0 && length % margin == 0 && g.start % margin == 0 ? 1 : 0;
}

}  // namespace

void load_kernels(const Prepared& prepared, int warps) {
    for (const Kernel& kernel : {fast_kernel(prepared.problem, warps, prepared.device), slow_kernel(prepared.problem, warps)}) {
        const int segments = segments_of_block(kernel, warps, prepared.device);
        if (segments > 0) { allow_shared(kernel.function, static_cast<std::size_t>(shared_bytes(kernel, segments))); }
        if (segments > 0 && kernel.blocks > 1) {
            const ClusterLaunch launch(kernel, kernel.blocks, nullptr);
            check(cudaOccupancyMaxActiveClusters(&prepared.clusters, kernel.function, &launch.config), "clusters");
        }
    }
}

std::vector<Part> parts_of(std::int64_t taps, const Cut& cut) {
    std::vector<Part> parts;
    for (std::int64_t own = 0; own < taps; own += cut.taps) { parts.push_back({own, own, std::min(own + cut.taps, taps)}); }
    if (parts.size() > 1) { parts.back().first = divide_up(taps - cut.taps, kOutputsUnit) * kOutputsUnit; }
    return parts;
}

void in_parallel(std::int64_t count, const std::function<void(std::int64_t)>& body) {
    constexpr std::int64_t kLeastOfAThread = 8;
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
        try {
            for (std::int64_t i = next++; i < count; i = next++) { body(i); }
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
        }
    };
    const std::int64_t processors = std::max(std::thread::hardware_concurrency(), 1U);
    std::vector<std::thread> others;
    try {
        while (static_cast<std::int64_t>(others.size()) + 1 < std::min(processors, count / kLeastOfAThread)) {
            others.emplace_back(work);
        }
    } catch (const std::system_error&) {  // then by fewer
    }
    work();
    for (std::thread& other : others) { other.join(); }
    if (failure) { std::rethrow_exception(failure); }
}

std::int64_t spectrum_bytes(const Problem& p, const Cut& cut) { return std::int64_t{kPoints} * cut.warps * type_of(p).point_bytes; }

std::int64_t table_bytes(const Problem& p, const Cut& cut) {
    const std::int64_t spectra = p.filters * static_cast<std::int64_t>(parts_of(p.x.k, cut).size());
    return kernel_of(p, cut.warps, true, Spectrum::passing).table_points * std::int64_t{type_of(p).point_bytes} +
           spectra * spectrum_bytes(p, cut);
}

std::vector<std::byte> make_tables(const Prepared& prepared, const Cut& cut) {
    const Problem& p = prepared.problem;
    const Type type = type_of(p);
    const Kernel kernel = kernel_of(p, cut.warps, true, Spectrum::passing);
    const bool wide = type.point_bytes == 16;
    const std::vector<Part> parts = parts_of(p.x.k, cut);
    const auto spectra = p.filters * static_cast<std::int64_t>(parts.size());
    std::vector<std::byte> bytes;
    const auto each = static_cast<std::size_t>(spectrum_bytes(p, cut));
    bytes.reserve(static_cast<std::size_t>(kernel.table_points * type.point_bytes) + static_cast<std::size_t>(spectra) * each);
    const auto in_order = [&](const std::vector<Complex>& points) {
        const std::vector<Complex> factors = as_tangents(turn_rows(points, cut.warps, type.is_complex), wide);
        return kernel.in_couples ? in_couples(factors) : factors;
    };
    if (kernel.blocks > 1) {
        append(bytes, pairs_of_lanes(), wide);
        append(bytes, twists_of(cut.warps, type.is_complex, false), wide);
        if (cut.warps > kRemainders) { append(bytes, divisions_of(cut.warps, type.is_complex), wide); }
    } else {
        append(bytes, pairs_of_warps(cut.warps, type.is_complex, kernel.in_couples), wide);
        append(
            bytes,
            in_order(kernel.twist_table ? twists_of(cut.warps, type.is_complex, true) : twists_in_rows(cut.warps, type.is_complex)),
            wide);
    }
    const std::size_t before = bytes.size();
    bytes.resize(before + static_cast<std::size_t>(spectra) * each);
    const Spectra spectra_of(cut.warps, type.is_complex);
    in_parallel(spectra, [&](std::int64_t index) {
        const Part& part = parts[static_cast<std::size_t>(index / p.filters)];
        const std::byte* taps = prepared.host_taps.data() + index % p.filters * prepared.taps_pitch_bytes;
        const auto tap = [&](std::int64_t t) {
            return part.first + t < part.own ? Complex() : tap_at(taps, part.first + t, p.taps_dtype);
        };
        std::vector<std::byte> spectrum;
        spectrum.reserve(each);
        const std::vector<Complex> factors = spectra_of.of(tap, part.own_end - part.first, cut.skip);
        append(spectrum, kernel.blocks > 1 ? factors : in_order(undo_lanes(factors, cut.warps, type.is_complex)), wide);
        std::copy(spectrum.begin(), spectrum.end(), bytes.begin() + static_cast<std::ptrdiff_t>(before + index * each));
    });
    return bytes;
}

bool takes_segments(const Prepared& prepared, const Cut& cut, std::int64_t segments) {
    return cut.warps == 1 && cut.outputs >= kLeastOutputsTaken && prepared.problem.filters <= 1 &&
           segments < (std::int64_t{1} << 30) &&
           segments >= std::int64_t{kLeastRoundsTaken * kMostSegments} * prepared.device.multiprocessors;
}

void launch_segments(const Prepared& prepared, const Job& job, const Cut& cut, const Launch& launch, cudaStream_t stream) {
    const Problem& p = prepared.problem;
    const Type type = type_of(p);
    const Part part = parts_of(p.x.k, cut)[static_cast<std::size_t>(launch.part)];
    Job own = job;
    const std::int64_t out_bytes = stored_bytes(p.output_dtype);
    own.out = static_cast<char*>(job.out) + (launch.row * job.out_batch + launch.first_output * job.out_stride) * out_bytes;
    own.in = static_cast<const char*>(job.in) + launch.row * job.in_batch * type.bytes;
    own.first += launch.first_output;
    own.count = launch.count;
    own.row_first += launch.row;
    own.rows = launch.rows;
    Arguments a = arguments_of(prepared, own);
    a.k = part.own_end - part.own;
    a.origin = p.x.origin - part.own;
    // Pairs of real numbers need not be aligned as a whole; plain stores want them so.
    const bool aligned = reinterpret_cast<std::uintptr_t>(a.out) % static_cast<std::uintptr_t>(type.bytes) == 0;
    const bool plain = a.plain_layout != 0 && (aligned || launch.sums_out != nullptr);
    const Kernel kernel = plain ? fast_kernel(p, cut.warps, prepared.device) : slow_kernel(p, cut.warps);
    if (p.filters > 1 && !kernel.in_runs) {
        // Launches whose rows have filters one after the other.
        const std::int64_t rows = p.filters - own.row_first % p.filters;
        if (launch.rows > rows) {
            const std::int64_t sum_bytes = type.is_complex ? type.point_bytes : type.point_bytes / 2;
            const auto at = [&](void* sums) {
                return sums == nullptr ? nullptr : static_cast<char*>(sums) + rows * launch.sums_row * sum_bytes;
            };
            Launch first = launch;
            first.rows = rows;
            Launch rest = launch;
            rest.row += rows;
            rest.rows -= rows;
            rest.sums_in = at(launch.sums_in);
            rest.sums_out = at(launch.sums_out);
            launch_segments(prepared, job, cut, first, stream);
            return launch_segments(prepared, job, cut, rest, stream);
        }
    }
    int in_block = segments_of_block(kernel, cut.warps, prepared.device);
    if (in_block == 0) { throw CudaError(cuda_abi::Code::device, "overlap_save: no kernel for this launch"); }
    const std::int64_t segments = divide_up(a.count, cut.outputs);
    if (segments > kMostBlocks || a.rows > (std::int64_t{1} << 40) / segments) {
        throw CudaError(cuda_abi::Code::unsupported, "problem: more segments than one launch counts; divide the batch");
    }
    const std::int64_t held = std::int64_t{in_block} * prepared.device.multiprocessors;
    const bool takes = launch.taken != nullptr && !kernel.in_runs && takes_segments(prepared, cut, segments * a.rows);
    if (!takes && cut.warps == 1 && cut.outputs >= kManyOutputs && segments * a.rows >= kManyRounds * held) {
        in_block = std::min(in_block, kFewSegments);
    }
    Segments g{};
    g.tables = prepared.tables;
    const std::int64_t points = static_cast<std::int64_t>(cut.warps) * kPoints;
    const std::int64_t first_filter = own.row_first % p.filters;
    g.filters = kernel.in_runs ? p.filters : 0;
    g.first_filter = first_filter;
    g.spectrum_row = p.filters > 1 ? points : 0;
    g.spectrum_first = (launch.part * p.filters + (kernel.in_runs ? 0 : first_filter)) * points;
    a.taps = static_cast<const char*>(prepared.taps) + (kernel.in_runs ? 0 : first_filter * a.taps_row_bytes) +
             part.own * type.tap_bytes;
    g.start = own.first - (p.x.origin - part.first) - cut.skip - own.in_first;
    g.outputs = cut.outputs;
    g.skip = cut.skip;
    g.used = static_cast<int>(cut.used - (part.first + cut.taps - part.own_end));
    g.sums_in = launch.sums_in;
    g.sums_out = launch.sums_out;
    g.sums_row = launch.sums_row;
    g.real_taps = p.taps_dtype == kF32 || p.taps_dtype == kF64;
    g.segments = static_cast<int>(segments);
    if (plain) { set_copied(g, a, type.bytes); }
    // Of few segments every multiprocessor, or cluster, gets its share. Fewer at once, so that the last of several rounds is full
    // too, or the next round's samples brought into the L2 cache at the start made 2^24 samples slower: 511 taps 53.6 and 55.2 us,
    // not 51.8.
    const std::int64_t at_once = kernel.blocks > 1 ? std::max(1, prepared.clusters) : prepared.device.multiprocessors;
    in_block = static_cast<int>(std::min<std::int64_t>(in_block, divide_up(segments * a.rows, at_once)));
    const std::int64_t blocks = std::min<std::int64_t>(divide_up(segments * a.rows, in_block), at_once);
    g.step_rows = blocks * in_block / segments;
    g.step_segments = static_cast<int>(blocks * in_block % segments);
    g.longer = kernel.in_runs ? 0 : static_cast<int>(segments * a.rows % (blocks * in_block));
    g.run = static_cast<int>(divide_up(segments * a.rows, blocks * in_block));
    if (takes) { g.taken = start_taking(launch.taken, stream); }
    void* arguments[] = {&a, &g};
    if (kernel.blocks > 1) {
        const ClusterLaunch shared(kernel, blocks * kernel.blocks, stream);
        check(cudaLaunchKernelExC(&shared.config, kernel.function, arguments), "launch");
        return;
    }
    check(cudaLaunchKernel(kernel.function, dim3(static_cast<unsigned>(blocks)),
                           dim3(static_cast<unsigned>(32 * cut.warps * in_block)), arguments,
                           static_cast<std::size_t>(shared_bytes(kernel, in_block)), stream),
          "launch");
}

}  // namespace tapline::cuda::overlap_save
