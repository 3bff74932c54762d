// Long filters of integers by transforms: the bound that makes rounding exact, tables, launches.
#include "cuda/families/integer/integer_transforms.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace integer {
namespace {

using Point = std::complex<long double>;

// Digit `limb` of a tap, as the kernels' limb_of().
double limb_of_tap(std::int64_t tap, int limb) {
    auto rest = static_cast<std::uint64_t>(tap);
    std::int16_t digit = 0;
    for (int i = 0; i <= limb; ++i) {
        digit = static_cast<std::int16_t>(rest);
        rest = (rest - static_cast<std::uint64_t>(static_cast<std::int64_t>(digit))) >> 16;
    }
    return digit;
}
double tap_as_number(Way way, const Problem& p, std::int64_t tap, int limb) {
    if (way != Way::whole) { return limb_of_tap(tap, limb); }
    return p.taps_dtype == kU64 ? static_cast<double>(static_cast<std::uint64_t>(tap)) : static_cast<double>(tap);
}

// e^(-2 pi i j / points), j < points / 2.
std::vector<Point> exact_roots(int points) {
    std::vector<Point> roots(static_cast<std::size_t>(points) / 2);
    for (std::size_t j = 0; j < roots.size(); ++j) {
        const long double angle = -2 * std::numbers::pi_v<long double> * static_cast<long double>(j) / points;
        roots[j] = {std::cos(angle), std::sin(angle)};
    }
    return roots;
}

// In place, in order.
void transform(std::vector<Point>& x, const std::vector<Point>& roots) {
    const std::size_t n = x.size();
    for (std::size_t i = 1, j = 0; i < n; ++i) {
        std::size_t bit = n / 2;
        for (; (j & bit) != 0; bit /= 2) { j ^= bit; }
        j ^= bit;
        if (i < j) { std::swap(x[i], x[j]); }
    }
    for (std::size_t length = 2; length <= n; length *= 2) {
        for (std::size_t base = 0; base < n; base += length) {
            for (std::size_t i = 0; i < length / 2; ++i) {
                const Point a = x[base + i];
                const Point w = roots[i * (n / length)];
                const Point b = x[base + i + length / 2];
                const Point turned(b.real() * w.real() - b.imag() * w.imag(), b.real() * w.imag() + b.imag() * w.real());
                x[base + i] = a + turned;
                x[base + i + length / 2] = a - turned;
            }
        }
    }
}

}  // namespace

// Every level of these transforms adds 5 u at most, as docs/numerics.md counts: a radix-8 pass is off by 3 u of its three
// additions, 2.5 u of the turns between them, and 8.1 u of the factors, products of up to three numbers of a table that are within
// 0.71 u each (0.71, 3.4 and 6.1 u), and of multiplying by them; one of radix 16 by 4, 2.7 and 10.9 u.
double error_of(Way way, const Problem& p, const void* taps) {
    constexpr double kUnit = 0x1p-53;
    constexpr double kRoundedUp = 1.0001;
    const double levels = 5.0 * points_bits(way) + 8;
    const int limbs = limbs_of(way);
    const double of_products = 2.9 * limbs + (limbs > 1 ? 10 : 0);  // and of parting spectra
    const double unit = (3 * levels + 2.1 + of_products) * kUnit * kRoundedUp;
    const int bits = bits_of(p.dtype) - (is_signed(p.dtype) ? 1 : 0);
    const double largest = way == Way::whole ? std::ldexp(1.0, bits) : 0x1p15;
    const double samples = std::sqrt(2.0 * points_of(way)) * largest;
    const auto* const all = static_cast<const std::int64_t*>(taps);
    double worst = 0;
    for (std::int64_t f = 0; f < p.filters; ++f) {
        std::array<double, 4> norms{};
        for (int l = 0; l < limbs; ++l) {
            double squares = 0;
            for (std::int64_t t = f * p.x.k; t < (f + 1) * p.x.k; ++t) {
                const double tap = tap_as_number(way, p, all[t], l);
                squares += tap * tap;
            }
            norms.at(static_cast<std::size_t>(l)) = std::sqrt(squares);
        }
        // The terms of both outputs of a complex signal.
        for (int last = std::min(1, limbs - 1); last < limbs; last += 2) {
            double terms = 0;
            for (int w = std::max(last - 1, 0); w <= last; ++w) {
                for (int l = 0; l <= w; ++l) { terms += norms.at(static_cast<std::size_t>(l)); }
            }
            worst = std::max(worst, terms);
        }
    }
    return unit * samples * worst;
}

std::vector<std::byte> transform_tables(Way way, const Problem& p, const void* taps) {
    const int points = points_of(way);
    const int limbs = limbs_of(way);
    const std::vector<Point> roots = exact_roots(points);
    std::vector<double> table;
    for (const Point& root : roots) {
        table.push_back(static_cast<double>(root.real()));
        table.push_back(static_cast<double>(root.imag()));
    }
    const auto* const all = static_cast<const std::int64_t*>(taps);
    const auto own = static_cast<std::size_t>(spectrum_doubles(way));
    for (std::int64_t f = 0; f < p.filters; ++f) {
        std::vector<double> spectrum(own);
        for (int l = 0; l < limbs; ++l) {
            std::vector<Point> x(static_cast<std::size_t>(points));
            for (std::int64_t t = 0; t < p.x.k; ++t) {
                x[static_cast<std::size_t>(t)] = static_cast<long double>(tap_as_number(way, p, all[f * p.x.k + t], l));
            }
            transform(x, roots);
            const int products = way == Way::whole ? points : points / 2 + 1;
            for (int i = 0; i < products; ++i) {
                const int bits = points_bits(way);
                // As threads read them: point 8 i + j of `whole` is factor j of thread i.
                const int place = way == Way::whole ? i % (points / 8) * 8 + i / (points / 8) : place_of_pair(i, bits);
                const auto at =
                    2 * (static_cast<std::size_t>(l) * static_cast<std::size_t>(products) + static_cast<std::size_t>(i));
                const Point value =
                    std::conj(x[static_cast<std::size_t>(frequency_at(place, bits))]) / static_cast<long double>(points);
                spectrum[at] = static_cast<double>(value.real());
                spectrum[at + 1] = static_cast<double>(value.imag());
            }
        }
        table.insert(table.end(), spectrum.begin(), spectrum.end());
    }
    std::vector<std::byte> bytes(table.size() * sizeof(double));
    std::memcpy(bytes.data(), table.data(), bytes.size());
    return bytes;
}

namespace {

constexpr std::int64_t kLeastTaps = 64;
constexpr std::int64_t kMostFilters = 256;

class IntegerTransforms final : public IntegerRung {
public:
    static constexpr Head kHead{"42", "integer_transforms", "", R"(
Idea: transforms of overlapping segments in double whose outputs are proved to be off by less than one half, so that the nearest
integer is exact
Changed: hundreds and thousands of taps no longer cost a product each; wide integers are digits of 16 bits
Requires: 64 to 6,144 taps; direct sums take over where taps are so large that the bound does not hold
Limited by: arithmetic in double and the barriers between its passes
)"};

    IntegerTransforms()
        : IntegerRung(kHead, {.source = "src/cuda/families/integer/integer_transforms.cuh", .takes_pieces = 1, .takes_outer = 1}) {}
    [[nodiscard]] Refusal refuse_sums(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.x.k < kLeastTaps) { return "fewer than " + std::to_string(kLeastTaps) + " taps"; }
        if (p.filters > kMostFilters) { return "more than " + std::to_string(kMostFilters) + " filters"; }
        const Way way = ordinary_way(p);
        if (way == Way::impossible) { return "its sums have 64 bits and its segments room for 3,072 taps, or 6,144 of 32 bits"; }
        if (static_cast<std::int64_t>(transform_shared_bytes(way)) > device.shared_bytes_per_block) {
            return "a segment is more than shared memory holds";
        }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        // Operations of a point, both ways: of a transform, and of what lies around it. H100, 2^24 samples, 2,047 taps: i16 259 us,
        // i32 with taps of 31 bits 484, i64 1,335.
        constexpr double kOfTransform = 2 * 50;
        constexpr double kAround = 40;
        constexpr double kShareOfDouble = 0.39;
        const Way way = ordinary_way(p);
        const double signals = way == Way::whole ? 0.5 : way == Way::two ? 1 : 2;
        const double outputs = static_cast<double>(points_of(way) - p.x.k + 1);
        const double rows = static_cast<double>(p.batch.length * p.outer_length());
        const double segments = std::ceil(static_cast<double>(p.x.outputs) / outputs / (way == Way::whole ? 2 : 1)) * rows;
        const double points = segments * points_of(way) * (way == Way::whole ? 1 : signals);
        const double rounds = std::max(1.0, segments / device.multiprocessors);
        const double flops = device.peak_flops / device.single_to_double;
        const double of_round =
            points / segments * (kOfTransform + kAround) * device.multiprocessors / (kShareOfDouble * flops / 2);
        return kLaunchSeconds + kColdSeconds + rounds * of_round;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenTransforms>();
        if (chosen.way == Way::impossible) { return chosen.road.describe(); }
        const int limbs = limbs_of(chosen.way);
        return "segments of " + std::to_string(points_of(chosen.way)) + " points, " +
               (limbs == 1 ? "samples as they are" : std::to_string(limbs) + " digits of 16 bits");
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenTransforms>(prepared);
        chosen->way = way_of(prepared, *chosen);
        if (chosen->way == Way::impossible) {
            chosen->road.load(prepared, *chosen);
            return chosen;
        }
        chosen->kernel = transform_kernel(chosen->way);
        load_kernel(chosen->kernel, transform_shared_bytes(chosen->way), prepared.device);
        chosen->outputs = points_of(chosen->way) - p.x.k + 1;
        return chosen;
    }
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenTransforms>();
        if (chosen.way == Way::impossible) { return {}; }
        return transform_tables(chosen.way, prepared.problem, prepared.given.taps);
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenTransforms>();
        Found* const found = chosen.begin(workspace, stream);
        if (chosen.way == Way::impossible) {
            chosen.road.launch(prepared, job, on_device, found, stream);
        } else {
            Transforms g{};
            g.signal = signal_of(prepared, job, on_device, found);
            g.roots = static_cast<const double2*>(on_device.tables);
            g.spectra = reinterpret_cast<const double*>(g.roots + points_of(chosen.way) / 2);
            g.outputs = chosen.outputs;
            g.work = divide_up(job.count, chosen.way == Way::whole ? 2 * chosen.outputs : chosen.outputs);
            g.signal.a.tiles = g.work;
            set_tiles(g.signal.rows, 1, g.work);
            if (g.signal.rows.tiles > kMostBlocks) { refuse_launch(); }
            launch_kernel(chosen.kernel, static_cast<unsigned>(g.signal.rows.tiles), kTransformThreads,
                          transform_shared_bytes(chosen.way), stream, g);
        }
        chosen.end(prepared, job, on_device, found, stream);
    }

private:
    struct ChosenTransforms : ChosenInteger {
        using ChosenInteger::ChosenInteger;
        Way way = Way::impossible;
        TransformKernel kernel = nullptr;
        std::int64_t outputs = 0;
        DirectRoad road;
    };

    // The first that holds the sums, of filters whose taps are known to be small enough, or assumed to be.
    template <class Holds>
    static Way first_way(const Problem& p, Sums sums, const Holds& holds) {
        if (sums == Sums::exact) { return Way::impossible; }
        for (const Way way : {Way::whole, Way::two, Way::four}) {
            if (way == Way::two && sums != Sums::low32) { continue; }
            if (p.x.k <= most_taps(way) && holds(way)) { return way; }
        }
        return Way::impossible;
    }
    static Way ordinary_way(const Problem& p) {
        return first_way(p, ordinary_sums(p), [&](Way way) { return way != Way::whole || bits_of(p.dtype) <= 16; });
    }
    static Way way_of(const Prepared& prepared, const ChosenInteger& chosen) {
        const Problem& p = prepared.problem;
        if (chosen.reports && p.has_outer()) { return Way::impossible; }
        const Sums sums = sums_of(p, chosen.bound, largest_tap(p, prepared.given.taps));
        return first_way(p, sums, [&](Way way) { return error_of(way, p, prepared.given.taps) <= kMostError; });
    }
};

}  // namespace
}  // namespace integer

const Rung& integer_transforms() { return core::only<integer::IntegerTransforms>(); }

}  // namespace tapline::cuda
