// How rows are cut into segments, and which kernels take them.
#include <algorithm>

#include "cuda/families/common/grids.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_segments.hpp"

namespace tapline::cuda::overlap_save {
namespace {

// Outputs of a segment are a multiple of this, so that stores of all segments begin alike between 128-byte lines.
constexpr int kOutputsUnit = 32;
// Blocks of fewer warps with places for spectra than this give way to blocks without.
constexpr int kLeastWarpsKeeping = 12;

}  // namespace

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

Kernel segment_kernel_of(const Problem& p, int warps, bool plain, Spectrum spectrum) {
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
    const int least = p.filters == 1 ? 1 : std::max(1, std::min(most, kLeastWarpsKeeping / warps));
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
