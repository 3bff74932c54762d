#include "design/design.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>
#include <utility>

#include "design/text.hpp"

namespace tapline::design {
namespace {

constexpr std::int64_t kMaxTaps = std::int64_t{1} << 26;  // 512 MiB of doubles: a typing error, not a filter

std::string show(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", value);
    return text.data();
}

void check_count(const char* name, std::int64_t k) {
    if (k < 1 || k > kMaxTaps) {
        fail(std::string(name) + ": " + std::to_string(k) + " taps; give a number from 1 to " + std::to_string(kMaxTaps));
    }
}

void check_cutoffs(const char* name, const std::vector<double>& cutoffs) {
    double previous = 0;
    for (const double cutoff : cutoffs) {
        if (!(cutoff > 0 && cutoff < 0.5)) {
            fail(std::string(name) + ": the cutoff is " + show(cutoff) +
                 " of the sampling rate; it must lie between 0 and half the sampling rate");
        }
        if (!(cutoff > previous)) fail(std::string(name) + ": the cutoffs must rise, as in " + name + ":LO,HI with LO < HI");
        previous = cutoff;
    }
}

double sinc(double x) {
    if (x == 0) return 1;
    return std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

// Pass bands as (left, right) pairs in units of the Nyquist frequency.
using Bands = std::vector<std::pair<double, double>>;

// scipy.signal.firwin: the ideal response of the bands, a Hamming window, and gain 1 at one frequency of the first band.
std::vector<double> windowed_sinc(const Bands& bands, std::int64_t k) {
    std::vector<double> taps(static_cast<std::size_t>(k));
    const double middle = 0.5 * static_cast<double>(k - 1);
    const auto [first_left, first_right] = bands.front();
    const double unit_gain_at = first_left == 0 ? 0 : first_right == 1 ? 1 : 0.5 * (first_left + first_right);
    double gain = 0;
    for (std::int64_t i = 0; i < k; ++i) {
        const double m = static_cast<double>(i) - middle;
        double ideal = 0;
        for (const auto& [left, right] : bands) ideal += right * sinc(right * m) - left * sinc(left * m);
        const double phase = k > 1 ? 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(k - 1) : std::numbers::pi;
        const double tap = ideal * (0.54 - 0.46 * std::cos(phase));
        taps[static_cast<std::size_t>(i)] = tap;
        gain += tap * std::cos(std::numbers::pi * m * unit_gain_at);
    }
    for (double& tap : taps) tap /= gain;
    return taps;
}

std::vector<double> windowed_sinc(const char* name, const std::vector<double>& cutoffs, bool pass_zero, std::int64_t k) {
    check_cutoffs(name, cutoffs);
    if (k == 0) k = default_taps(cutoffs);
    check_count(name, k);
    std::vector<double> edges;
    if (pass_zero) edges.push_back(0);
    for (const double cutoff : cutoffs) edges.push_back(2 * cutoff);
    const bool passes_nyquist = edges.size() % 2 == 1;
    if (passes_nyquist) edges.push_back(1);
    if (passes_nyquist && k % 2 == 0) {
        fail(std::string(name) + ": " + std::to_string(k) + " taps; an even number cannot pass the highest frequency, use " +
             std::to_string(k + 1));
    }
    Bands bands;
    for (std::size_t i = 0; i + 1 < edges.size(); i += 2) bands.emplace_back(edges[i], edges[i + 1]);
    return windowed_sinc(bands, k);
}

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the same numbers on every machine, unlike std::normal_distribution.
class Noise {
public:
    explicit Noise(std::uint64_t seed) : state_(seed) {}
    /// Uniform in [-1, 1), 53 random bits.
    double next() {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
    }

private:
    std::uint64_t state_;
};

}  // namespace

std::vector<double> gaussian(double sigma) {
    if (!(sigma > 0) || !(4 * sigma + 0.5 < static_cast<double>(kMaxTaps / 2))) {
        fail("gaussian: sigma is " + show(sigma) + "; give a positive number of samples");
    }
    const auto radius = static_cast<std::int64_t>(std::llround(4 * sigma));
    std::vector<double> taps;
    for (std::int64_t x = -radius; x <= radius; ++x) {
        const auto position = static_cast<double>(x);
        taps.push_back(std::exp(-0.5 / (sigma * sigma) * position * position));
    }
    const double sum = std::accumulate(taps.begin(), taps.end(), 0.0);
    for (double& tap : taps) tap /= sum;
    return taps;
}

std::vector<double> box(std::int64_t k) {
    check_count("box", k);
    return std::vector<double>(static_cast<std::size_t>(k), 1 / static_cast<double>(k));
}

std::vector<double> lowpass(double cutoff, std::int64_t k) { return windowed_sinc("lowpass", {cutoff}, true, k); }
std::vector<double> highpass(double cutoff, std::int64_t k) { return windowed_sinc("highpass", {cutoff}, false, k); }
std::vector<double> bandpass(double low, double high, std::int64_t k) { return windowed_sinc("bandpass", {low, high}, false, k); }
std::vector<double> bandstop(double low, double high, std::int64_t k) { return windowed_sinc("bandstop", {low, high}, true, k); }

std::int64_t default_taps(const std::vector<double>& cutoffs) {
    double narrowest = 0.5;
    double previous = 0;
    for (const double cutoff : cutoffs) {
        narrowest = std::min(narrowest, cutoff - previous);
        previous = cutoff;
    }
    narrowest = std::min(narrowest, 0.5 - previous);
    constexpr double kHammingWidth = 3.3;  // transition width times taps; Oppenheim and Schafer, table of windows
    const double wanted = std::ceil(kHammingWidth / (narrowest / 4));
    if (!(wanted < static_cast<double>(kMaxTaps))) {
        fail(
            "the cutoffs are so close to each other, to 0 or to half the sampling rate that the filter would be too long; "
            "say how many taps it shall have");
    }
    return static_cast<std::int64_t>(wanted) | 1;
}

// The least-squares fit read at x = 0 is sum_m p_m(0) p_m(x) / |p_m|^2 over polynomials that are orthogonal on the k points.
// Their three-term recurrence (Gram, Stieltjes) keeps full accuracy where the normal equations lose it. The points are
// symmetric, so the recurrence has no middle term, and the taps read the same in both directions.
std::vector<double> savgol(std::int64_t k, std::int64_t order) {
    check_count("savgol", k);
    if (order < 0 || order >= k) {
        fail("savgol: order " + std::to_string(order) + " with " + std::to_string(k) + " taps; the order must be from 0 to " +
             std::to_string(k - 1));
    }
    const auto size = static_cast<std::size_t>(k);
    const double half = 0.5 * static_cast<double>(k - 1);
    const double step = half > 0 ? 1 / half : 1;  // points in [-1, 1]
    std::vector<double> before(size, 0.0);
    std::vector<double> current(size, 1.0);
    std::vector<double> taps(size, 0.0);
    double before_at_zero = 0;
    double at_zero = 1;
    double norm_before = 1;
    for (std::int64_t degree = 0; degree <= order; ++degree) {
        const double norm = std::inner_product(current.begin(), current.end(), current.begin(), 0.0);
        for (std::size_t i = 0; i < size; ++i) taps[i] += at_zero * current[i] / norm;
        const double beta = degree == 0 ? 0 : norm / norm_before;
        for (std::size_t i = 0; i < size; ++i) {
            const double x = (static_cast<double>(i) - half) * step;
            before[i] = std::exchange(current[i], x * current[i] - beta * before[i]);
        }
        before_at_zero = std::exchange(at_zero, -beta * before_at_zero);
        norm_before = norm;
    }
    return taps;
}

std::vector<double> room(double seconds, double sample_rate, std::uint64_t seed) {
    if (!(sample_rate > 0)) { fail("room: needs a signal with a sample rate; for raw, text or .npy files say it with --rate HZ"); }
    const double length = std::ceil(seconds * sample_rate);
    if (!(length >= 1 && length <= static_cast<double>(kMaxTaps))) {
        fail("room: " + show(seconds) + " seconds; give a positive time of at most " +
             show(std::floor(static_cast<double>(kMaxTaps) / sample_rate)) + " seconds");
    }
    Noise noise(seed);
    const double decay = -std::log(1000.0) / (seconds * sample_rate);  // -60 dB is a factor of 1/1000
    std::vector<double> taps(static_cast<std::size_t>(length));
    double energy = 0;
    for (std::size_t i = 0; i < taps.size(); ++i) {
        taps[i] = noise.next() * std::exp(decay * static_cast<double>(i));
        energy += taps[i] * taps[i];
    }
    for (double& tap : taps) tap /= std::sqrt(energy);
    return taps;
}

}  // namespace tapline::design
