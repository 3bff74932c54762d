// How rows are cut into segments, and which kernels take them.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "cuda/check.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/types.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_segments.hpp"

namespace tapline::cuda::overlap_save {
namespace {

// Outputs of a segment are a multiple of this, so that stores of all segments begin alike between 128-byte lines.
constexpr int kOutputsUnit = 32;

// The problem that sizes are compared on: an endless signal, or rows as long as their filters, whatever this one's length, so that
// a stream, which does not know it, gives the same bits; or, of many rows under one filter, or of tiles, the problem itself.
Problem compared_on(KernelOf kernel_of, int least_warps, const Problem& p, const cuda_abi::Device& device) {
    // How tiles fill the multiprocessors is what counts: 32 rows side by side of 5,390 with 915 taps, H200, by one warp 11 us, by
    // two, which are better for an endless signal, 20.
    if (goes_by_tiles(kernel_of, p, least_warps)) { return p; }
    // Rows that fill the device by themselves are often no longer than their filters: then long segments would be half empty.
    // Rows of 4,096 with as many taps: 4 warps 1152 us, 8 warps 2380; with 1,024 taps in rows of 8,192: 1 warp 513 us, 2 warps 507.
    constexpr std::int64_t kRowsOfAMultiprocessor = 4;
    if (p.filters > 1 && p.batch.length >= kRowsOfAMultiprocessor * device.multiprocessors) {
        Problem rows = p;
        rows.x.n = rows.x.outputs = p.x.k;
        return rows;
    }
    // The same of one filter: what counts is how much of its last segment a row fills. 65,536 rows of 1,000 with 999 taps by one
    // warp, which holds a row, where two are better for an endless signal.
    if (p.batch.length >= kRowsOfAMultiprocessor * device.multiprocessors) { return p; }
    Problem endless = p;
    endless.x.n = endless.x.outputs = std::int64_t{1} << 28;
    endless.batch.length = 1;
    return endless;
}

}  // namespace

int best_warps(KernelOf kernel_of, std::span<const int> warp_counts, const Problem& p, const cuda_abi::Device& device) {
    const Problem compared = compared_on(kernel_of, warp_counts.front(), p, device);
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const int warps : warp_counts) {
        if (!has_size(kernel_of, p, warps, p.x.k, device)) { continue; }
        const double seconds = estimate(kernel_of, compared, cut_of(p, warps, p.x.k), device);
        if (seconds < least) {
            least = seconds;
            best = warps;
        }
    }
    return best;
}

Cut cut_of_plan(KernelOf kernel_of, std::span<const int> warp_counts, const Prepared& prepared) {
    const Problem& p = prepared.problem;
    const int asked = prepared.policy.threads_per_block / 32;
    const bool known = std::find(warp_counts.begin(), warp_counts.end(), asked) != warp_counts.end();
    if (asked != 0 && !(known && has_size(kernel_of, p, asked, p.x.k, prepared.device))) {
        throw CudaError(cuda_abi::Code::argument, "policy: no segments of this size");
    }
    return cut_of(p, asked != 0 ? asked : best_warps(kernel_of, warp_counts, p, prepared.device), p.x.k);
}

std::vector<Policy> policies_of(KernelOf kernel_of, std::span<const int> warp_counts, const Problem& p,
                                const cuda_abi::Device& device) {
    std::vector<Policy> all;
    const int best = best_warps(kernel_of, warp_counts, p, device);
    if (best != 0) { all.push_back({0, 32 * best, 0, 0}); }
    for (const int warps : warp_counts) {
        if (has_size(kernel_of, p, warps, p.x.k, device)) { all.push_back({0, 32 * warps, 0, 0}); }
    }
    return all;
}

std::string describe_cut(const Cut& cut, const Kernel& kernel) {
    const int blocks = kernel.blocks;
    const int sharing = blocks > 1 ? blocks : cut.warps;
    return "segments of " + std::to_string(cut.samples) + " samples, " + std::to_string(cut.outputs) + " outputs each, " +
           std::to_string(sharing) + (blocks > 1 ? " block" : " warp") + (sharing > 1 ? "s" : "") + " a segment";
}

Cut cut_of(const Problem& p, int warps, std::int64_t taps) {
    const PointType type = point_type_of(p);
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

namespace {

constexpr int kMostWarpsNarrow = 4;

bool is_narrow(Dtype dtype) { return dtype == kI16 || dtype == kU16 || dtype == kF16 || dtype == kBf16; }

Kernel narrow_kernel_of(Dtype dtype, int warps) {
    switch (dtype) {
        case kI16:
            return pick_narrow_kernel<std::int16_t>(warps);
        case kU16:
            return pick_narrow_kernel<std::uint16_t>(warps);
        case kF16:
            return pick_narrow_kernel<__half>(warps);
        case kBf16:
            return pick_narrow_kernel<__nv_bfloat16>(warps);
        case kF32:
            return pick_to_bytes_kernel(warps);
        default:
            return {};
    }
}

}  // namespace

bool takes_narrow(const Problem& p, int warps) {
    const bool widens = is_narrow(p.dtype) && p.output_dtype == kF32;
    const bool to_bytes = p.dtype == kF32 && p.output_dtype == kU8 && p.overflow != Overflow::truncate;
    return warps <= kMostWarpsNarrow && (widens || to_bytes) && p.taps_dtype == kF32 && p.filters <= 1 && constant_fits(p);
}

Kernel segment_kernel_of(const Problem& p, int warps, bool plain, Spectrum spectrum) {
    if (plain && takes_narrow(p, warps)) { return narrow_kernel_of(p.dtype, warps); }
    const auto pick = [&]<class S>(ElementType<S>) {
        if (plain) { return pick_segment_kernel<S>(warps, spectrum); }
        if constexpr (sizeof(S) >= 4) {
            if (spectrum == Spectrum::passing) { return pick_tiles_kernel<S>(warps); }
        }
        return Kernel{};
    };
    return with_sample_type(plain || p.dtype == kF32 ? p.dtype : sums_of(p), pick);
}

int segments_of_block(const Kernel& kernel, int warps, const cuda_abi::Device& device) {
    if (kernel.function == nullptr || (kernel.blocks > 1 && device.major < 9)) { return 0; }
    const std::int64_t by_memory = (device.shared_bytes_per_block - kernel.layout.segments) / kernel.layout.segment_bytes;
    return static_cast<int>(std::clamp<std::int64_t>(by_memory, 0, kernel.most_threads * kernel.blocks / (32 * warps)));
}

Kernel fast_kernel(KernelOf kernel_of, const Problem& p, int warps, const cuda_abi::Device& device) {
    const Kernel passing = kernel_of(p, warps, true, Spectrum::passing);
    const Kernel keeping = kernel_of(p, warps, true, p.filters == 1 ? Spectrum::block : Spectrum::row);
    const int most = segments_of_block(passing, warps, device);
    const int least = p.filters == 1 ? 1 : std::max(1, std::min(most, least_keeping(warps)));
    return segments_of_block(keeping, warps, device) >= least ? keeping : passing;
}

Kernel slow_kernel(KernelOf kernel_of, const Problem& p, int warps) { return kernel_of(p, warps, false, Spectrum::passing); }

bool has_size(KernelOf kernel_of, const Problem& p, int warps, std::int64_t taps, const cuda_abi::Device& device) {
    const auto held = [&](const Kernel& kernel) { return segments_of_block(kernel, warps, device) > 0; };
    return cut_of(p, warps, taps).outputs != 0 && held(slow_kernel(kernel_of, p, warps)) &&
           (is_integer(p.dtype) || held(fast_kernel(kernel_of, p, warps, device)));
}

std::vector<Part> parts_of(std::int64_t taps, const Cut& cut) {
    std::vector<Part> parts;
    for (std::int64_t own = 0; own < taps; own += cut.taps) { parts.push_back({own, own, std::min(own + cut.taps, taps)}); }
    if (parts.size() > 1) { parts.back().first = divide_up(taps - cut.taps, kOutputsUnit) * kOutputsUnit; }
    return parts;
}

}  // namespace tapline::cuda::overlap_save
