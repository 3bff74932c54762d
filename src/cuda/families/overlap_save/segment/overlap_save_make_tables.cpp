// What kernels of segments read besides the signal.
#include <algorithm>

#include "cuda/families/overlap_save/overlap_save_tables.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_segments.hpp"

namespace tapline::cuda::overlap_save {

std::int64_t spectrum_bytes(const SegmentPlan& plan) { return std::int64_t{kPoints} * plan.cut.warps * plan.type.point_bytes; }

std::int64_t table_bytes(const Problem& p, const SegmentPlan& plan) {
    const std::int64_t spectra = p.filters * static_cast<std::int64_t>(plan.parts.size());
    return plan.slow.table_points * std::int64_t{plan.type.point_bytes} + spectra * spectrum_bytes(plan);
}

std::vector<std::byte> make_tables(const Prepared& prepared, const SegmentPlan& plan) {
    const Cut& cut = plan.cut;
    const Problem& p = prepared.problem;
    const PointType& type = plan.type;
    const Kernel& kernel = plan.slow;  // all kernels of a size have the same tables
    const bool wide = type.is_wide();
    const std::vector<Part>& parts = plan.parts;
    const auto spectra = p.filters * static_cast<std::int64_t>(parts.size());
    std::vector<std::byte> bytes;
    const auto each = static_cast<std::size_t>(spectrum_bytes(plan));
    bytes.reserve(static_cast<std::size_t>(kernel.table_points * type.point_bytes) + static_cast<std::size_t>(spectra) * each);
    const auto in_order = [&](const std::vector<Complex>& points) {
        const std::vector<Complex> factors = as_tangents(turn_rows(points, cut.warps, type.is_complex), wide);
        return kernel.in_couples ? in_couples(factors) : factors;
    };
    if (kernel.blocks > 1) {
        append(bytes, pairs_of_lanes(), wide);
        append(bytes, twiddles_of(cut.warps, type.is_complex, false), wide);
        if (cut.warps > kRemainders) { append(bytes, divisions_of(cut.warps, type.is_complex), wide); }
    } else {
        append(bytes, pairs_of_warps(cut.warps, type.is_complex, kernel.in_couples), wide);
        append(bytes,
               in_order(kernel.twiddle_table ? twiddles_of(cut.warps, type.is_complex, true)
                                             : twiddles_in_rows(cut.warps, type.is_complex)),
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

}  // namespace tapline::cuda::overlap_save
