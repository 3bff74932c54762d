// Golden values: scipy.signal.firwin, scipy.ndimage's Gaussian kernel (SciPy 1.17), exact rational least squares for savgol.
#include "design/design.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

#include "tapline/error.hpp"

namespace tapline::design {
namespace {

void expect_taps(const std::vector<double>& taps, const std::vector<double>& golden) {
    ASSERT_EQ(taps.size(), golden.size());
    for (std::size_t i = 0; i < taps.size(); ++i) EXPECT_LE(std::abs(taps[i] - golden[i]), 1e-12) << "tap " << i;
}

double gain_at(const std::vector<double>& taps, double frequency) {
    std::complex<double> sum = 0;
    for (std::size_t i = 0; i < taps.size(); ++i) {
        sum += taps[i] * std::polar(1.0, -2 * std::numbers::pi * frequency * static_cast<double>(i));
    }
    return std::abs(sum);
}

std::string message_of(const std::string& text, double rate) {
    try {
        (void)parse(text, rate);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::argument);
        return error.what();
    }
    return "no error";
}

TEST(Design, GaussianIsSciPys) {
    expect_taps(gaussian(1),
                {0.00013383062461474175, 0.0044318616200312655, 0.05399112742070441, 0.24197144565660073, 0.39894346935609776,
                 0.24197144565660073, 0.05399112742070441, 0.0044318616200312655, 0.00013383062461474175});
    expect_taps(gaussian(0.4),
                {3.4256063613481042e-06, 0.040387616547241253, 0.9192179156927948, 0.040387616547241253, 3.4256063613481042e-06});
    expect_taps(gaussian(0.1), {1});
}

TEST(Design, LowpassIsFirwin) {
    expect_taps(lowpass(0.1, 11), {7.391423150963729e-19, 0.009304283145018147, 0.04757776613441745, 0.12236354636114467,
                                   0.20224655842984032, 0.23701569185915894, 0.20224655842984032, 0.12236354636114467,
                                   0.04757776613441745, 0.009304283145018147, 7.391423150963729e-19});
    expect_taps(parse("lowpass:1000,8", 8000).taps,
                {0.003560172702628888, 0.03808372279569934, 0.1610318523331153, 0.2973242521685565, 0.2973242521685565,
                 0.1610318523331153, 0.03808372279569934, 0.003560172702628888});
    expect_taps(lowpass(0.25, 1), {1});
}

TEST(Design, HighpassBandpassBandstopAreFirwin) {
    expect_taps(highpass(0.2, 9),
                {0.006005491128324559, 0.013283243818447995, -0.05010656809194722, -0.25981830099222375, 0.5951320395796939,
                 -0.25981830099222375, -0.05010656809194722, 0.013283243818447995, 0.006005491128324559});
    expect_taps(bandpass(0.1, 0.3, 9),
                {0.0031508195962250607, -0.047767192162582614, -0.18018566092504518, 0.13631534486215918, 0.5449697059558427,
                 0.13631534486215918, -0.18018566092504518, -0.047767192162582614, 0.0031508195962250607});
    expect_taps(bandpass(0.1, 0.3, 8), {-0.005471269271154707, -0.09697074332967343, -0.10250690632494945, 0.4569275651312268,
                                        0.4569275651312268, -0.10250690632494945, -0.09697074332967343, -0.005471269271154707});
    expect_taps(bandstop(0.1, 0.3, 9),
                {-0.0031684745385269653, 0.048034845386069155, 0.18119529265739592, -0.13707915868104245, 0.8220349903522088,
                 -0.13707915868104245, 0.18119529265739592, 0.048034845386069155, -0.0031684745385269653});
}

TEST(Design, SavgolIsTheExactLeastSquaresFit) {
    expect_taps(savgol(7, 2), {-0.09523809523809523, 0.14285714285714285, 0.2857142857142857, 0.3333333333333333,
                               0.2857142857142857, 0.14285714285714285, -0.09523809523809523});
    expect_taps(savgol(6, 3), {-0.09375, 0.21875, 0.375, 0.375, 0.21875, -0.09375});
    expect_taps(
        savgol(25, 7),
        {-0.028550241008527995, 0.041527623285131626,  0.031777659557318115,   -0.005416646515451952, -0.03802937241056891,
         -0.049781560832486985, -0.03601594788344368,  -5.701733174159949e-05, 0.0499436190224073,    0.10367651488347507,
         0.15085835689964866,   0.18293060600429836,   0.19427281265988397,    0.18293060600429836,   0.15085835689964866,
         0.10367651488347507,   0.0499436190224073,    -5.701733174159949e-05, -0.03601594788344368,  -0.049781560832486985,
         -0.03802937241056891,  -0.005416646515451952, 0.031777659557318115,   0.041527623285131626,  -0.028550241008527995});
    expect_taps(savgol(5, 4), {0, 0, 1, 0, 0});
    expect_taps(savgol(1, 0), {1});
    expect_taps(savgol(4, 0), {0.25, 0.25, 0.25, 0.25});
}

TEST(Design, DefaultLengthIsOddAndSharpEnough) {
    for (const double cutoff : {0.01, 0.1, 0.25, 0.45}) {
        const auto taps = lowpass(cutoff);
        EXPECT_EQ(taps.size() % 2, 1U);
        const double quarter = std::min(cutoff, 0.5 - cutoff) / 4;
        EXPECT_LE(std::abs(gain_at(taps, cutoff - quarter) - 1), 0.01);
        EXPECT_LE(gain_at(taps, cutoff + quarter), 0.01);
    }
    EXPECT_EQ(parse("bandpass:300,3400", 48000).taps.size(),
              static_cast<std::size_t>(default_taps({300.0 / 48000, 3400.0 / 48000})));
}

TEST(Design, RoomDecaysBySixtyDecibelsAndKeepsTheLevel) {
    const auto taps = room(2, 8000, 7);
    ASSERT_EQ(taps.size(), 16000U);
    EXPECT_LE(std::abs(std::inner_product(taps.begin(), taps.end(), taps.begin(), 0.0) - 1), 1e-12);
    const auto energy = [&](std::size_t first) { return std::inner_product(&taps[first], &taps[first + 1000], &taps[first], 0.0); };
    const double fall_db = 10 * std::log10(energy(0) / energy(15000));
    EXPECT_LE(std::abs(fall_db - 56.25), 1);  // 15/16 of 60 dB
    EXPECT_EQ(taps, room(2, 8000, 7));
    EXPECT_NE(taps, room(2, 8000, 8));
}

TEST(Design, ListsKeepIntegers) {
    EXPECT_EQ(parse("1,0,-1", 0).integers, (std::vector<std::int64_t>{1, 0, -1}));
    EXPECT_EQ(parse("9007199254740993", 0).integers, (std::vector<std::int64_t>{9007199254740993}));
    EXPECT_TRUE(parse("1, 0.5", 0).integers.empty());
    expect_taps(parse("+1,.5,-2e-1", 0).taps, {1, 0.5, -0.2});
}

TEST(Design, OnlyDesignsAreDesigns) {
    for (const char* text : {"gaussian:2", "box:", "lowpass:x", "1,0,-1", "5", "-.5,1", "1,,2"})
        EXPECT_TRUE(is_design(text)) << text;
    for (const char* text : {"gaussian", "gauss:2", "-", "./1,0,-1", "room.wav", "1.wav", "2026-01-05", "inf", "", "C:\\x"}) {
        EXPECT_FALSE(is_design(text)) << text;
    }
}

TEST(Design, MistakesAreExplained) {
    const auto expect = [](const std::string& text, double rate, const std::string& part) {
        EXPECT_NE(message_of(text, rate).find(part), std::string::npos) << text << ": " << message_of(text, rate);
    };
    expect("gaussian:0", 0, "positive number of samples");
    expect("gaussian:nan", 0, "not a finite number");
    expect("gaussian:1e300", 0, "sigma");
    expect("gaussian:", 0, "not a finite number");
    expect("box:0", 0, "0 taps");
    expect("box:2.5", 0, "whole number");
    expect("box:1e15", 0, "taps; give a number");
    expect("lowpass:3000", 0, "fractions");
    expect("lowpass:30000", 48000, "between 0 and 24000 Hz");
    expect("lowpass:0.1,0", 0, "at least 1");
    expect("lowpass:1,2,3", 0, "lowpass:CUTOFF[,K]");
    expect("highpass:0.1,10", 0, "use 11");
    expect("bandpass:0.3,0.1", 0, "must rise");
    expect("bandpass:0.3", 0, "wrong number of values");
    expect("savgol:5,5", 0, "from 0 to 4");
    expect("room:2", 0, "--rate");
    expect("room:-1", 48000, "positive time");
    expect("1,,2", 0, "'' is not a finite number");
    expect("lowpass:1e-9", 0, "too long");
}

TEST(Design, AWrongNameSuggestsTheNearOne) {
    EXPECT_EQ(design_advice("lowpas:4000"),
              "'lowpas:4000' is neither a file nor a filter; did you mean lowpass:4000? (lowpass:CUTOFF[,K])");
    EXPECT_NE(design_advice("gausian:2,3").find("did you mean gaussian:2,3?"), std::string::npos);
    EXPECT_NE(design_advice("bandpas").find("did you mean bandpass?"), std::string::npos);
    EXPECT_NE(design_advice("lowpass").find("its form is lowpass:CUTOFF[,K]"), std::string::npos);
    EXPECT_NE(design_advice("hamming:5").find("filters are gaussian, box, lowpass"), std::string::npos);
    for (const char* const file : {"taps.npy", "room.wav", "", "a", "x:y", "/tmp/x:1", "Voice:1.wav", "1:2"}) {
        const std::string advice = design_advice(file);
        EXPECT_TRUE(advice.empty() || advice.find("filters are") != std::string::npos) << file << ": " << advice;
    }
    EXPECT_EQ(design_advice("taps.npy"), "");
    EXPECT_EQ(design_advice("/tmp/x:1"), "");
}

}  // namespace
}  // namespace tapline::design
