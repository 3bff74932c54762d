// The picture of a run: signal, output, taps, and the spectra of all three.
#pragma once

#include <string>

#include "cli/shared/probe.hpp"
#include "cli/shared/taps_source.hpp"
#include "io/output_file.hpp"

namespace tapline::cli {

/// Throws a usage error unless the name ends in .png or .svg.
void check_plot_name(const std::string& path);

/// The words around the curves.
struct PlotTexts {
    std::string title;     ///< "dry.wav * room:2 -> wet.wav"
    std::string subtitle;  ///< what was computed, and how
    std::string signal_name;
    std::string signal_details;  ///< "WAV, 16 bit, 48 kHz"
    std::string output_name;
    std::string taps_name;
};

/// Gathers while the signal passes; draws at the end. The file is created at once, so that a name that cannot be written fails
/// before the work, and takes its place at commit().
class PlotCollector {
public:
    /// `channels` of the signal. Throws Error(io).
    PlotCollector(const std::string& path, Dtype input, Dtype output, std::int64_t channels);

    /// `rate` in Hz, or 0: then times are samples and frequencies fractions of the sampling rate.
    void draw(const PlotTexts& texts, const TapsSet& taps, double rate);
    void commit() { file_.commit(); }

    Probe input;
    Probe output;

private:
    bool svg_;
    io::OutputFile file_;
};

}  // namespace tapline::cli
