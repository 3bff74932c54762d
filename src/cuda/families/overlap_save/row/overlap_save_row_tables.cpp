// What the kernels of rows read besides samples, computed in double on the host.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "cuda/families/overlap_save/overlap_save_points.hpp"
#include "cuda/families/overlap_save/overlap_save_tables.hpp"
#include "cuda/families/overlap_save/row/overlap_save_row.hpp"

namespace tapline::cuda::overlap_save {
namespace {

constexpr double kPi = std::numbers::pi;

std::vector<Complex> row_table(int side) {
    std::vector<Complex> table;
    append_factors(table, side, side / 2, [&](int p) { return (kPi / 2 + 2 * kPi * p) / side; });
    append_factors(table, side, side / 4, [&](int p) { return 2 * kPi * p / side; });
    for (int m = 0; m < side / 2; ++m) {
        for (int thread = 0; thread < side; ++thread) {
            const double angle = kPi * (thread + side * m) / (2 * side * side);
            table.emplace_back(std::cos(angle), std::tan(angle));
            table.push_back(std::polar(1.0, 5 * angle));
        }
    }
    return table;
}

/// The warps' factors and twiddles, alpha(warp) being the angle of a warp's remainder modulo X^1024 - e^(i alpha).
template <class Alpha>
void append_warps_factors(std::vector<Complex>& table, const Alpha& alpha) {
    for (int warp = 0; warp < 16; ++warp) {
        append_factors(table, 1, 16, [&](int) { return alpha(warp); });
    }
    for (int i = 0; i < 512; ++i) {  // twiddles of a row
        const double angle = alpha(i / 32) * (i % 32) / 32;
        table.emplace_back(std::cos(angle), std::tan(angle));
    }
    for (int i = 0; i < 512; ++i) {  // shears of a lane, below 0.19
        const double angle = alpha(i / 32) * (i % 32) / 1024;
        table.emplace_back(std::tan(angle / 2), std::sin(angle));
    }
}

std::vector<Complex> causal_row_table() {
    std::vector<Complex> table;
    append_factors(table, 32, 16, [](int p) { return 2 * kPi * p / 32; });
    append_warps_factors(table, [](int warp) { return (kPi / 2 + 2 * kPi * fft::reversed(warp, 4)) / 16; });
    return table;
}

std::vector<Complex> long_row_table() {
    std::vector<Complex> table;
    append_factors(table, 32, 16, [](int p) { return 2 * kPi * p / 32; });
    for (int half = 0; half < 2; ++half) {
        const double phi = kPi / 4 + kPi * half;
        append_factors(table, 1, 8, [&](int) { return phi; });
        table.resize(table.size() + 2);
        for (int j = 0; j < 16; ++j) {  // Re lo of both is added, Re hi of block 1 is subtracted from block 0's
            const double turn = phi * j / 16;
            table.push_back(half == 0 ? std::polar(1.0, turn) : -std::polar(1.0, turn + kPi / 4));
            table.push_back(half == 0 ? std::polar(1.0, turn + kPi / 4) : std::polar(1.0, turn));
        }
        append_warps_factors(table, [&](int warp) { return (phi + 2 * kPi * fft::reversed(warp, 4)) / 16; });
    }
    return table;
}

/// The frequency of value `value` of a thread, of `block` among those of a long row.
int frequency_of(const RowPlan& plan, int block, int thread, int value) {
    const int side = side_of(plan.warps);
    if (side > 0) { return thread + side * fft::reversed(value, fft::log2_of(side)); }
    if (plan.by_halves) { return 16 * (thread % 32 + 32 * fft::reversed(value, 5)) + fft::reversed(thread / 32, 4); }
    return 32 * (thread % 32 + 32 * fft::reversed(value, 5)) + 2 * fft::reversed(thread / 32, 4) + block;
}

/// sum_t taps[t] z^(origin - t - lag) / M at z = e^(i (pi/2 + 2 pi j)/M), where z^M = i, M the transform's points, of powers
/// from -M to M; as threads read it, two values at a time.
void append_spectrum(std::vector<Complex>& to, const HostTransform& transform, int points, const RowPlan& plan,
                     const std::byte* taps, const Problem& p, std::int64_t lag) {
    std::vector<Complex> folded(static_cast<std::size_t>(points));
    for (std::int64_t t = 0; t < p.x.k; ++t) {
        const std::int64_t power = p.x.origin - t - lag;
        if (plan.by_halves && power >= points) { continue; }
        const std::int64_t turns = power >= points ? 1 : power < 0 ? -1 : 0;
        const std::int64_t at = power - turns * points;
        const double angle = kPi / 2 * (static_cast<double>(turns) + static_cast<double>(at) / points);
        folded[static_cast<std::size_t>(at)] += HostTransform::product(tap_at(taps, t, p.taps_dtype), std::polar(1.0, angle));
    }
    transform(folded);
    // A warp reads two values of each lane at a time; of rows that are not long all their threads do.
    const int values = side_of(plan.warps) > 0 ? side_of(plan.warps) : 32;
    const int together = values;
    for (int first = 0; first < points / values; first += together) {
        for (int value = 0; value < values; value += 2) {
            for (int i = 0; i < 2 * together; ++i) {
                const int thread = first + i / 2;
                const int frequency =
                    frequency_of(plan, thread / kLongRowThreads, thread % kLongRowThreads, value + i % 2) % points;
                to.push_back(folded[static_cast<std::size_t>(frequency)] / static_cast<double>(points));
            }
        }
    }
}

/// Of one filter.
std::int64_t spectrum_bytes_of(const RowPlan& plan) { return row_points(plan.warps) * static_cast<std::int64_t>(sizeof(float2)); }
/// By halves: of lags in the first half of the samples, then of all before the output.
int points_of_spectrum(const RowPlan& plan) { return plan.by_halves ? row_points(plan.warps) / 2 : row_points(plan.warps); }

}  // namespace

void append_row_tables(std::vector<std::byte>& to, const RowPlan& plan) {
    const int side = side_of(plan.warps);
    append(to, side > 0 ? row_table(side) : plan.by_halves ? causal_row_table() : long_row_table(), false);
}

std::int64_t row_table_bytes(const RowPlan& plan) {
    const int points = side_of(plan.warps) > 0 ? with_shape(plan.warps, [](auto shape) { return decltype(shape)::kTable; })
                                               : kLongRowLanes + (plan.by_halves ? kCausalRowTable : 2 * kLongRowHalfTable);
    return points * static_cast<std::int64_t>(sizeof(float2));
}

std::int64_t all_row_bytes(const Problem& p, const RowPlan& plan) {
    return row_table_bytes(plan) + p.filters * spectrum_bytes_of(plan);
}

SpectrumPlan load_row_spectra(const Prepared& prepared, const RowPlan& plan) {
    const Problem& p = prepared.problem;
    const int points = points_of_spectrum(plan);
    if (p.x.origin >= row_points(plan.warps)) { return {}; }  // a power of a whole round
    return load_plan_spectra(prepared,
                             {.ready_bytes = 0,
                              .skip = 0,
                              .rows = 1,
                              .warps = points / kPoints,
                              .for_block = 0,
                              .order = side_of(plan.warps) > 0 ? SpectrumOrder::square_row
                                       : plan.by_halves        ? SpectrumOrder::half_row
                                                               : SpectrumOrder::long_row},
                             {.pitch_bytes = prepared.taps_pitch_bytes,
                              .filters = static_cast<int>(p.filters),
                              .lags = row_points(plan.warps) / points,
                              .origin = static_cast<int>(p.x.origin)});
}

void append_row_spectra(std::vector<std::byte>& to, const Prepared& prepared, const RowPlan& plan) {
    const Problem& p = prepared.problem;
    const int warps = plan.warps;
    const std::size_t before = to.size();
    const auto each = static_cast<std::size_t>(spectrum_bytes_of(plan));
    to.resize(before + static_cast<std::size_t>(p.filters) * each);
    const int points = points_of_spectrum(plan);
    const HostTransform transform(points);
    in_parallel(p.filters, [&](std::int64_t filter) {
        const std::byte* taps = prepared.host_taps.data() + filter * prepared.taps_pitch_bytes;
        std::vector<std::byte> spectrum;
        spectrum.reserve(each);
        std::vector<Complex> factors;
        for (int lag = 0; lag < row_points(warps); lag += points) {
            append_spectrum(factors, transform, points, plan, taps, p, lag);
        }
        append(spectrum, factors, false);
        std::copy(spectrum.begin(), spectrum.end(), to.begin() + static_cast<std::ptrdiff_t>(before + filter * each));
    });
}

}  // namespace tapline::cuda::overlap_save
