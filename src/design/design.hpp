// Filters that are written, not read from a file: smoothing kernels, windowed-sinc filters, synthetic rooms.
//
// Every function returns the taps of one filter in convolution order. Cutoffs are fractions of the sampling rate, between 0
// and 0.5 exclusive. All throw Error (argument) for a value outside its range.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapline::design {

/// exp(-x^2 / (2 sigma^2)) for |x| <= int(4 sigma + 0.5), sum 1: scipy.ndimage.gaussian_filter1d. sigma in samples.
std::vector<double> gaussian(double sigma);

/// k taps of 1/k: the moving average.
std::vector<double> box(std::int64_t k);

/// Windowed-sinc filters with a Hamming window, gain exactly 1 at the middle of the first pass band (0 or the Nyquist
/// frequency where it touches one): scipy.signal.firwin(k, cutoff, fs=1). k = 0: default_taps(). A pass band that holds the
/// Nyquist frequency (highpass, bandstop) needs odd k.
std::vector<double> lowpass(double cutoff, std::int64_t k = 0);
std::vector<double> highpass(double cutoff, std::int64_t k = 0);
std::vector<double> bandpass(double low, double high, std::int64_t k = 0);
std::vector<double> bandstop(double low, double high, std::int64_t k = 0);

/// The odd k at which the transition (3.3 / k wide with a Hamming window) is a quarter of the narrowest band: the bands lie
/// between 0, the cutoffs in rising order, and 0.5.
std::int64_t default_taps(const std::vector<double>& cutoffs);

/// Savitzky-Golay smoothing, a least-squares polynomial of degree `order` through k samples, read in their middle:
/// scipy.signal.savgol_coeffs(k, order). order < k.
std::vector<double> savgol(std::int64_t k, std::int64_t order);

/// A synthetic room: white noise under an exponential that has fallen by 60 dB after `seconds`, where it ends. The sum of
/// squares is 1, so that a sound keeps its level on average. The same seed gives the same room on every machine.
std::vector<double> room(double seconds, double sample_rate, std::uint64_t seed = 1);

/// What a text such as "lowpass:3000" or "1,0,-1" stands for.
struct Design {
    std::vector<double> taps;
    std::vector<std::int64_t> integers;  ///< the same taps if they were written as integers, else empty
};

/// Whether the text is meant as a design: a known name before a colon, or numbers separated by commas. Such a text is never
/// taken for a file; "./1,0,-1" is one.
bool is_design(std::string_view text);

/// What to say of a text that is neither a design nor a file: the name that was probably meant ("lowpas:4000"). Empty if the text
/// does not look like a design's name.
std::string design_advice(std::string_view text);

/// The taps of a design. Cutoffs are in Hz if sample_rate > 0, else fractions of the sampling rate. Throws Error
/// (argument) that quotes the text and says what was expected.
Design parse(std::string_view text, double sample_rate);

/// One line for each design: what it looks like and what it makes. For --help and the documentation.
std::string help();

}  // namespace tapline::design
