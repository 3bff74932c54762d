#include "cpu/overlap_save/split_fft.hpp"

#include "core/plan/parallel.hpp"

namespace tapline::cpu {
namespace {

// Bits of the first parts: their products' sums stay far below 2^51, to which Rounding reaches.
constexpr int kMostBits = 24;
// What is less than this beside the largest tap is left out of a second part: 2^-50 of the error that is allowed for.
constexpr int kLeastExponent = -120;
// Three products of spectra are added up, which rounds twice more, in proportion to a bound of some 150 to 330 roundings.
constexpr double kThreeProducts = 1.1;

/// Rounds to multiples of 2^exponent what is smaller than 2^51 of them.
class Rounding {
public:
    explicit Rounding(int exponent) : shift_(std::ldexp(1.5, exponent + 52)) {}
    double operator()(double x) const { return x + shift_ - shift_; }

private:
    double shift_;
};

double norm_of(const double* values, std::int64_t count) {
    double squares = 0;
    for (std::int64_t i = 0; i < count; ++i) { squares += values[i] * values[i]; }
    return std::sqrt(squares);
}

// The most bits with which x1 * h1 is off by less than a quarter: windows are of 2^log2_size complex samples at most 2^bits in both
// parts, the taps of a filter have at most this norm before they are rounded.
int bits_of(int log2_size, double norm, double reals) {
    const double each = proved_error(log2_size) * std::sqrt(std::ldexp(2.0, log2_size));
    int bits = kMostBits;
    while (bits > 1 && each * std::ldexp(std::ldexp(norm, bits) + std::sqrt(reals), bits) > 0.25) { --bits; }
    return bits;
}

template <class Row>
void for_each_row(std::int64_t positions, std::int64_t columns, int threads, const Row& row) {
    const auto task = [&](std::int64_t r, int) { row(r, std::min(columns, positions - r * columns)); };
    core::parallel_for((positions + columns - 1) / columns, threads, std::cref(task));
}

}  // namespace

SplitFilters split_filters(int log2_size, const double* taps, std::int64_t filters, std::int64_t reals,
                           const std::function<OverlapSaveTaps<double>(const double* taps)>& spectra) {
    SplitFilters result;
    std::vector<double> low(taps, taps + filters * reals);
    double norm = 0;
    for (double* filter = low.data(); filter != low.data() + filters * reals; filter += reals) {
        SplitFilters::Facts facts;
        double largest = 0;
        for (std::int64_t t = 0; t < reals; ++t) { largest = std::max(largest, std::abs(filter[t])); }
        if (largest > 0) { facts.exponent = std::ilogb(largest) + 1; }
        const PowerOfTwo<double> down(-facts.exponent);
        for (std::int64_t t = 0; t < reals; ++t) { filter[t] *= down.first; }
        for (std::int64_t t = 0; t < reals; ++t) { filter[t] *= down.second; }
        norm = std::max(norm, norm_of(filter, reals));
        result.filters.push_back(facts);
    }
    result.bits = bits_of(log2_size, norm, static_cast<double>(reals));
    const Rounding rounded(-result.bits);
    const double least = std::ldexp(1.0, kLeastExponent);
    std::vector<double> high(low.size());
    for (std::size_t i = 0; i < low.size(); ++i) {
        high[i] = rounded(low[i]);
        low[i] -= high[i];
        if (std::abs(low[i]) < least) { low[i] = 0; }
    }
    for (std::int64_t f = 0; f < filters; ++f) {
        SplitFilters::Facts& facts = result.filters[static_cast<std::size_t>(f)];
        facts.high_norm = norm_of(high.data() + f * reals, reals);
        facts.low_norm = norm_of(low.data() + f * reals, reals);
    }
    result.high = spectra(high.data());
    result.low = spectra(low.data());
    result.high.taps = result.low.taps = {};  // only repairs of another kind need them
    return result;
}

SplitFft::SplitFft(Target target, int log2_size) : fft_(target, log2_size), proved_error_(proved_error(log2_size)) {}

double SplitFft::convolve(double* buffers, double* scratch, int threads, const SplitFilters& taps, std::int64_t filter,
                          const FftSource<double>& window, const Loudness& loudness, const FftSink<double>& sink) const {
    const FftTables<double>& t = fft_.tables();
    double *const high = buffers, *const low = high + fft_.extent(), *const rest = low + fft_.extent();
    const int exponent = loudness.largest > 0 ? std::ilogb(loudness.largest) + 1 : 0;  // the largest sample is below its power
    const int unit = exponent - taps.bits;
    const Rounding rounded(unit);
    for_each_row(t.size, t.columns, threads, [&](std::int64_t r, std::int64_t count) {
        const double* const parts[2] = {window.re, window.im};
        for (int part = 0; part < 2; ++part) {
            const double* const x = parts[part] + r * window.pitch;
            double* const first = high + part * t.im_offset + r * t.pitch;
            double* const second = low + part * t.im_offset + r * t.pitch;
            for (std::int64_t i = 0; i < count; ++i) {
                const double whole = rounded(x[i]);
                second[i] = x[i] - whole;
                first[i] = whole;
            }
        }
    });
    fft_.forward(high, scratch, threads);
    fft_.forward(low, scratch, threads);
    multiply(rest, high, taps.low.spectrum(fft_, 1, filter, 0), true, threads);
    multiply(rest, low, taps.high.spectrum(fft_, 1, filter, 0), false, threads);
    multiply(rest, low, taps.low.spectrum(fft_, 1, filter, 0), false, threads);
    multiply(low, high, taps.high.spectrum(fft_, 1, filter, 0), true, threads);
    fft_.inverse(low, scratch, threads);
    fft_.inverse(rest, scratch, threads);
    const SplitFilters::Facts& facts = taps.filters[static_cast<std::size_t>(filter)];
    const Rounding whole(unit - taps.bits);
    const PowerOfTwo<double> scale(facts.exponent);
    for (int part = 0; part < 2; ++part) {
        double* const to = part == 0 ? sink.re : sink.im;
        for_each_row(part == 0 ? sink.re_count : sink.im_count, t.columns, threads, [&](std::int64_t r, std::int64_t count) {
            const double* const exact = low + part * t.im_offset + r * t.pitch;
            const double* const others = rest + part * t.im_offset + r * t.pitch;
            double* const y = to + r * sink.pitch;
            for (std::int64_t i = 0; i < count; ++i) { y[i] = (whole(exact[i]) + others[i]) * scale.first * scale.second; }
        });
    }
    const double low_norm = std::ldexp(std::sqrt(std::ldexp(2.0, t.log2_size)), unit - 1);
    const double products =
        (std::sqrt(loudness.energy) + low_norm) * facts.low_norm + low_norm * (facts.high_norm + facts.low_norm);
    return kThreeProducts * proved_error_ * products * scale.first * scale.second;
}

void SplitFft::multiply(double* sum, const double* x, const double* spectrum, bool first, int threads) const {
    const FftTables<double>& t = fft_.tables();
    for_each_row(t.size, t.columns, threads, [&](std::int64_t r, std::int64_t) {
        const std::int64_t at = r * t.pitch;
        fft_.kernels().multiply_add(sum + at, sum + t.im_offset + at, x + at, x + t.im_offset + at, spectrum + at,
                                    spectrum + t.im_offset + at, t.columns, first);
    });
}

}  // namespace tapline::cpu
