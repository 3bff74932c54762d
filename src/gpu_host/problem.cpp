#include "gpu_host/problem.hpp"

#include <algorithm>

#include "core/problem/arrange.hpp"

namespace tapline::gpu_host {

PositionElements position_elements(const core::Resolved& r) {
    if (r.rank == 1) { return {}; }
    const std::int64_t rows_in = r.rank == 2 ? 1 : r.y.n, rows_out = r.rank == 2 ? 1 : r.y.outputs;
    return {rows_in * r.x.n * r.channels.length, rows_out * r.x.outputs * r.channels.length};
}

core::Resolved packed(core::Resolved r) {
    std::int64_t in = 1, out = 1;
    const auto lay = [&](std::int64_t& in_stride, std::int64_t& out_stride, std::int64_t n, std::int64_t outputs) {
        in_stride = in;
        out_stride = out;
        in *= n;
        out *= outputs;
    };
    lay(r.channels.in_stride, r.channels.out_stride, r.channels.length, r.channels.length);
    for (core::Axis* axis : {&r.x, &r.y, &r.z}) { lay(axis->in_stride, axis->out_stride, axis->n, axis->outputs); }
    lay(r.batch.in_stride, r.batch.out_stride, r.batch.length, r.batch.length);
    return r;
}

cuda_abi::Problem to_abi(const core::Resolved& problem, const core::Request& request) {
    // A stream's rungs are asked about a signal of this length before it is known: long, and far from any limit.
    constexpr std::int64_t kSomeLength = std::int64_t{1} << 24;
    cuda_abi::Problem abi;
    core::Resolved& r = abi;
    r = problem;
    if (r.x.n == kUnknownLength) {
        r.x.n = std::max(kSomeLength, r.x.k);
        r.x.outputs = core::output_length_of(r.mode, r.x.n, r.x.k);
    }
    if (request.host_buffers) { r = packed(r); }
    r.filters *= core::filter_sets(problem);
    abi.accuracy = request.accuracy;
    abi.taps_come_later = request.taps_come_later;
    abi.narrow_taps = problem.rank == 1 && request.facts.narrow;
    abi.equal_taps = problem.rank == 2 && request.facts.equal;
    abi.taps_finite = request.facts.finite;
    abi.has_negative_tap = request.facts.has_negative_tap;
    abi.bits_of_taps = static_cast<std::int8_t>(request.facts.bits_of_taps());
    abi.bits_of_tap = static_cast<std::int8_t>(request.facts.bits_of_tap());
    abi.separable = request.facts.rank();
    const auto& masks = request.facts.separable;
    abi.exact_specials =
        abi.separable > 0 && std::all_of(masks.begin(), masks.end(), [](const auto& m) { return m.exact_specials; });
    return abi;
}

TapsWithFactors::TapsWithFactors(const core::Resolved& problem, const void* taps, const core::TapsFacts& facts) : taps_(taps) {
    const auto rank = static_cast<std::size_t>(facts.rank());
    if (rank == 0) { return; }
    for (const core::SeparableMask& mask : facts.separable) {
        columns_.insert(columns_.end(), mask.columns.begin(), mask.columns.end());
        rows_.insert(rows_.end(), mask.rows.begin(), mask.rows.end());
        const std::size_t missing = rank - static_cast<std::size_t>(mask.rank);
        columns_.resize(columns_.size() + missing * static_cast<std::size_t>(problem.y.k));
        rows_.resize(rows_.size() + missing * static_cast<std::size_t>(problem.x.k));
    }
}

}  // namespace tapline::gpu_host
