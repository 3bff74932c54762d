// What kernels of segments read besides the signal.
#include <algorithm>

#include "cuda/families/common/grids.hpp"
#include "cuda/families/overlap_save/overlap_save_tables.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_segments.hpp"

namespace tapline::cuda::overlap_save {

std::int64_t spectrum_bytes(const SegmentPlan& plan) { return std::int64_t{kPoints} * plan.cut.warps * plan.type.point_bytes; }

namespace {

std::int64_t spectra_of(const Problem& p, const SegmentPlan& plan) {
    return p.filters * static_cast<std::int64_t>(plan.parts.size());
}

// As kernels that are not shared by a cluster's blocks take factors.
std::vector<Complex> in_order(const SegmentPlan& plan, const std::vector<Complex>& points) {
    const std::vector<Complex> factors = as_tangents(turn_rows(points, plan.cut.warps, plan.type.is_complex), plan.type.is_wide());
    return plan.slow.in_couples ? in_couples(factors) : factors;
}

}  // namespace

std::int64_t all_spectra_bytes(const Problem& p, const SegmentPlan& plan) { return spectra_of(p, plan) * spectrum_bytes(plan); }

std::int64_t table_bytes(const Problem& p, const SegmentPlan& plan) {
    return spectrum_shape(plan).ready_bytes + all_spectra_bytes(p, plan);
}

SpectrumShape spectrum_shape(const SegmentPlan& plan) {
    const Kernel& kernel = plan.slow;
    return {.ready_bytes = kernel.table_points * std::int64_t{plan.type.point_bytes},
            .skip = plan.cut.skip,
            .rows = 1,
            .warps = plan.cut.warps,
            .for_block = kernel.blocks == 1 ? 1 : 0,
            .order = kernel.in_couples ? SpectrumOrder::couples : SpectrumOrder::plain};
}

SpectrumPlan load_spectra_on_device(const Prepared& prepared, const SegmentPlan& plan) {
    const Problem& p = prepared.problem;
    const std::int64_t points = spectra_of(p, plan) * kPoints * plan.cut.warps;
    const bool many = p.taps_come_later || points >= kLeastPointsOnDevice;
    if (!many || spectra_of(p, plan) > kMostBlocks) { return {}; }
    const auto parts = static_cast<int>(plan.parts.size());
    return load_plan_spectra(p, spectrum_shape(plan),
                             {.pitch_bytes = prepared.taps_pitch_bytes,
                              .filters = static_cast<int>(p.filters),
                              .parts = parts,
                              .part_taps = parts > 1 ? static_cast<int>(plan.cut.taps) : 0,
                              .last_first = static_cast<int>(plan.parts.back().first)});
}

std::vector<std::byte> make_tables(const SegmentPlan& plan) {
    const Cut& cut = plan.cut;
    const PointType& type = plan.type;
    const Kernel& kernel = plan.slow;  // all kernels of a size have the same tables
    const bool wide = type.is_wide();
    std::vector<std::byte> bytes;
    if (kernel.blocks > 1) {
        append(bytes, pairs_of_lanes(), wide);
        append(bytes, twiddles_of(cut.warps, type.is_complex, false), wide);
        if (cut.warps > kRemainders) { append(bytes, divisions_of(cut.warps, type.is_complex), wide); }
    } else {
        append(bytes, pairs_of_warps(cut.warps, type.is_complex, kernel.in_couples), wide);
        append(bytes,
               in_order(plan, kernel.twiddle_table ? twiddles_of(cut.warps, type.is_complex, true)
                                                   : twiddles_in_rows(cut.warps, type.is_complex)),
               wide);
    }
    return bytes;
}

void append_spectra(std::vector<std::byte>& bytes, const Prepared& prepared, const SegmentPlan& plan) {
    const Cut& cut = plan.cut;
    const Problem& p = prepared.problem;
    const bool is_complex = plan.type.is_complex;
    const auto each = static_cast<std::size_t>(spectrum_bytes(plan));
    const std::size_t before = bytes.size();
    bytes.resize(before + static_cast<std::size_t>(spectra_of(p, plan)) * each);
    const Spectra spectra(cut.warps, is_complex);
    in_parallel(spectra_of(p, plan), [&](std::int64_t index) {
        const Part& part = plan.parts[static_cast<std::size_t>(index / p.filters)];
        const std::byte* taps = prepared.host_taps.data() + index % p.filters * prepared.taps_pitch_bytes;
        const auto tap = [&](std::int64_t t) {
            return part.first + t < part.own ? Complex() : tap_at(taps, part.first + t, p.taps_dtype);
        };
        std::vector<std::byte> spectrum;
        spectrum.reserve(each);
        const std::vector<Complex> factors = spectra.of(tap, part.own_end - part.first, cut.skip);
        append(spectrum, plan.slow.blocks > 1 ? factors : in_order(plan, undo_lanes(factors, cut.warps, is_complex)),
               plan.type.is_wide());
        std::copy(spectrum.begin(), spectrum.end(), bytes.begin() + static_cast<std::ptrdiff_t>(before + index * each));
    });
}

}  // namespace tapline::cuda::overlap_save
