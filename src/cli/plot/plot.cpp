#include "cli/plot/plot.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/commands.hpp"
#include "cli/plot/canvas.hpp"
#include "cli/shared/numbers.hpp"

namespace tapline::cli {
namespace {

constexpr double kWidth = 1280;
constexpr double kHeight = 980;

constexpr Colour kPaper = hex(0xFAFBFC);
constexpr Colour kSignal = hex(0x3572B0);
constexpr Colour kSignalPale = hex(0x9CBFE4);  // the wide line under the output's
constexpr Colour kTaps = hex(0xD9772B);
constexpr Colour kOutput = hex(0x1E8F6E);
constexpr Colour kBad = hex(0xC62828);

constexpr double kTickSize = 13;
constexpr double kTextSize = 14;
constexpr double kHeadingSize = 17;
constexpr double kTitleSize = 24;

constexpr double kDecibelRange = 120;

void draw_heading(Canvas& canvas, const Box& box, const std::string& what, const std::string& name, const std::string& details,
                  Colour colour) {
    const double baseline = box.top - 12;
    canvas.colour(colour);
    canvas.text(box.left, baseline, what, kHeadingSize, Align::left, true);
    const double after = box.left + 12 + canvas.text_width(what, kHeadingSize, true);
    canvas.colour(kGrey);
    const std::string right = canvas.fitted(details, kTextSize, box.width() * 0.6);
    const double right_width = canvas.text_width(right, kTextSize);
    canvas.text(box.right, baseline, right, kTextSize, Align::right);
    canvas.text(after, baseline, canvas.fitted(name, kTextSize, box.right - right_width - 20 - after), kTextSize);
}

void draw_grid(Canvas& canvas, const Box& box, const Axis& x, const Axis& y) {
    canvas.colour(kPaper);
    canvas.rectangle(box);
    for (const auto& tick : x.ticks) {
        canvas.colour(kGrid);
        canvas.line(x.at(tick.value), box.top, x.at(tick.value), box.bottom, 1);
    }
    for (const auto& tick : y.ticks) {
        const double at = y.at(tick.value);
        canvas.colour(kGrid);
        canvas.line(box.left, at, box.right, at, 1);
        canvas.colour(kGrey);
        canvas.text(box.left - 8, at + 4.5, tick.label, kTickSize, Align::right);
    }
}

void draw_x_labels(Canvas& canvas, const Box& box, const Axis& x, const std::string& title) {
    canvas.colour(kGrey);
    for (const auto& tick : x.ticks) canvas.text(x.at(tick.value), box.bottom + 18, tick.label, kTickSize, Align::centre);
    canvas.text((box.left + box.right) / 2, box.bottom + 38, title, kTextSize, Align::centre);
}

void draw_frame(Canvas& canvas, const Box& box) {
    canvas.colour(hex(0xC3CAD3));
    canvas.line(box.left, box.bottom, box.right, box.bottom, 1);
    canvas.line(box.left, box.top, box.left, box.bottom, 1);
}

// A range around the values with some air; around zero if they lie on both sides of it.
Axis value_axis(double least, double most, const Box& box, int wanted_ticks) {
    if (!(least <= most)) least = most = 0;
    if (least == most) (least > 0 ? least : most) = 0;
    const double size = std::max(std::abs(least), std::abs(most));
    if (size == 0) {
        least = -1;
        most = 1;
    } else if (least < 0 && most > 0 && std::min(-least, most) > 0.6 * size) {
        least = -1.08 * size;
        most = 1.08 * size;
    } else {
        const double air = std::max(0.06 * (most - least), 1e-3 * size);
        least = least < 0 || least > most - least ? least - air : -0.02 * most;
        most = most > 0 || most < least - most ? most + air : -0.02 * least;
    }
    return {.low = least,
            .high = most,
            .first = box.bottom,
            .last = box.top,
            .logarithmic = false,
            .ticks = linear_ticks(least, most, wanted_ticks)};
}

struct TimeUnit {
    double per_sample = 1;  ///< multiplies sample numbers
    std::string title = "samples";
};

TimeUnit time_unit(double samples, double rate) {
    if (rate <= 0) return {};
    const double seconds = samples / rate;
    if (seconds < 1e-3) return {1e6 / rate, "time / \xc2\xb5s"};
    if (seconds < 1) return {1e3 / rate, "time / ms"};
    if (seconds < 600) return {1 / rate, "time / s"};
    return {1 / rate / 60, "time / min"};
}

// Where NaN and infinite samples are.
void draw_bad(Canvas& canvas, const Box& box, const Envelope& envelope, const Axis& x, double unit) {
    const double bin_width = static_cast<double>(envelope.samples_per_bin()) * unit;
    std::vector<Box> boxes;
    for (std::size_t i = 0; i < envelope.bins().size(); ++i) {
        if (envelope.bins()[i].bad == 0) continue;
        const double left = x.at(static_cast<double>(i) * bin_width);
        boxes.push_back({left, box.top, std::max(left + 1, x.at(static_cast<double>(i + 1) * bin_width)), box.bottom});
    }
    canvas.colour(kBad, 0.5);
    if (!boxes.empty()) canvas.rectangles(boxes);
}

// Every sample of a short signal, with dots if there is room.
void draw_samples(Canvas& canvas, const Box& box, const Envelope& envelope, const Axis& x, const Axis& y, double unit,
                  Colour colour) {
    const double spacing = std::abs(x.at(unit) - x.at(0));
    const bool dots = spacing >= 7;
    canvas.colour(colour, dots ? 0.45 : 1);
    std::vector<Point> points;  // as far as samples are finite
    for (std::size_t i = 0; i <= envelope.bins().size(); ++i) {
        if (i < envelope.bins().size() && envelope.bins()[i].count > 0) {
            points.push_back({x.at(static_cast<double>(i) * unit), y.at(envelope.bins()[i].most)});
        } else if (!points.empty()) {
            canvas.polyline(std::exchange(points, {}), dots ? 1.5 : 1.3);
        }
    }
    canvas.colour(colour);
    for (std::size_t i = 0; dots && i < envelope.bins().size(); ++i) {
        const auto& bin = envelope.bins()[i];
        if (bin.count > 0) canvas.dot(x.at(static_cast<double>(i) * unit), y.at(bin.most), 3);
    }
    draw_bad(canvas, box, envelope, x, unit);
}

// Extremes in a light shade, mean plus and minus the standard deviation in a strong one.
void draw_bands(Canvas& canvas, const Box& box, const Envelope& envelope, const Axis& x, const Axis& y, double unit,
                Colour colour) {
    const double bin_width = static_cast<double>(envelope.samples_per_bin()) * unit;
    const auto bars = [&](auto low_of, auto high_of) {
        std::vector<Box> boxes;
        for (std::size_t i = 0; i < envelope.bins().size(); ++i) {
            const auto& bin = envelope.bins()[i];
            if (bin.count == 0) continue;
            const double left = x.at(static_cast<double>(i) * bin_width);
            const double top = y.at(high_of(bin));
            boxes.push_back({left, top, std::max(x.at(static_cast<double>(i + 1) * bin_width), left + 1),
                             std::max(y.at(low_of(bin)), top + 1)});
        }
        canvas.rectangles(boxes);
    };
    const auto deviation = [](const Envelope::Bin& bin) {
        const auto count = static_cast<double>(bin.count);
        return std::sqrt(std::max(0.0, bin.squares / count - bin.sum / count * (bin.sum / count)));
    };
    const auto mean = [](const Envelope::Bin& bin) { return bin.sum / static_cast<double>(bin.count); };
    canvas.colour({(colour.red + 1.2) / 2.2, (colour.green + 1.2) / 2.2, (colour.blue + 1.2) / 2.2});
    bars([](const auto& bin) { return bin.least; }, [](const auto& bin) { return bin.most; });
    canvas.colour(colour);
    bars([&](const auto& bin) { return std::max(bin.least, mean(bin) - deviation(bin)); },
         [&](const auto& bin) { return std::min(bin.most, mean(bin) + deviation(bin)); });
    draw_bad(canvas, box, envelope, x, unit);
}

void draw_lane(Canvas& canvas, const Box& box, const Envelope& envelope, const Axis& x, double least, double most, double unit,
               Colour colour, const std::string& label) {
    const Axis y = value_axis(least, most, box, box.height() > 150 ? 5 : 4);
    draw_grid(canvas, box, x, y);
    constexpr double kDotRoom = 4;
    canvas.clip({box.left - kDotRoom, box.top, box.right + kDotRoom, box.bottom});
    if (envelope.samples_per_bin() == 1) {
        draw_samples(canvas, box, envelope, x, y, unit, colour);
    } else {
        draw_bands(canvas, box, envelope, x, y, unit, colour);
    }
    canvas.unclip();
    draw_frame(canvas, box);
    canvas.colour(kGrey);
    canvas.upright_text(box.left - 58, (box.top + box.bottom) / 2, label, kTickSize);
}

// One panel over time; all lanes with the same scale.
void draw_waveform(Canvas& canvas, const Box& box, const Probe& probe, double samples, double rate, Colour colour) {
    const TimeUnit unit = time_unit(samples, rate);
    const double end = std::max(1.0, samples) * unit.per_sample;
    const Axis x{.low = 0,
                 .high = end,
                 .first = box.left,
                 .last = box.right,
                 .logarithmic = false,
                 .ticks = linear_ticks(0, end, 10, rate > 0 ? 0 : 1)};
    const auto& lanes = probe.lanes();
    double least = lanes.front().least();
    double most = lanes.front().most();
    for (const auto& lane : lanes) {
        least = std::min(least, lane.least());
        most = std::max(most, lane.most());
    }
    constexpr double kGap = 10;
    const auto count = static_cast<double>(lanes.size());
    const double height = (box.height() - (count - 1) * kGap) / count;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        const double top = box.top + static_cast<double>(i) * (height + kGap);
        std::string label;
        if (probe.complex()) {
            label = i == 0 ? "real" : "imaginary";
        } else if (lanes.size() == 2) {
            label = i == 0 ? "left" : "right";
        } else if (probe.channels() > 2) {
            label = "first of " + std::to_string(probe.channels()) + " channels";
        }
        draw_lane(canvas, {box.left, top, box.right, top + height}, lanes[i], x, least, most, unit.per_sample, colour, label);
    }
    draw_x_labels(canvas, box, x, unit.title);
}

struct Curve {
    std::string name;
    std::vector<double> power;  ///< at f / size of the sampling rate
    Colour colour;
    double width = 1.6;
    std::vector<double> decibels = {};  ///< one a pixel column
};

// The mean power of the bins that fall into [low, high) (fractions of the sampling rate), or the nearest bins' interpolation.
double power_between(const std::vector<double>& power, double low, double high) {
    const auto size = static_cast<double>(power.size());
    const auto at = [&](double bin) {
        const auto wrapped = static_cast<std::ptrdiff_t>(bin) % static_cast<std::ptrdiff_t>(power.size());
        return power[static_cast<std::size_t>(wrapped < 0 ? wrapped + static_cast<std::ptrdiff_t>(power.size()) : wrapped)];
    };
    const double first = std::ceil(low * size);
    const double last = std::ceil(high * size);
    if (last - first >= 1) {
        double sum = 0;
        for (double bin = first; bin < last; ++bin) sum += at(bin);
        return sum / (last - first);
    }
    const double position = (low + high) / 2 * size;
    const double below = std::floor(position);
    const double share = position - below;
    return at(below) * (1 - share) + at(below + 1) * share;
}

void draw_legend(Canvas& canvas, const Box& box, const std::vector<Curve>& curves) {
    double x = box.right;
    for (auto curve = curves.rbegin(); curve != curves.rend(); ++curve) {
        x -= canvas.text_width(curve->name, kTextSize);
        canvas.colour(kGrey);
        canvas.text(x, box.top - 12, curve->name, kTextSize);
        canvas.colour(curve->colour);
        canvas.line(x - 28, box.top - 17, x - 8, box.top - 17, 3);
        x -= 44;
    }
}

void draw_spectra(Canvas& canvas, const Box& box, std::vector<Curve> curves, double rate, bool two_sided) {
    const bool logarithmic = rate > 0 && !two_sided;
    const bool mega = two_sided && rate >= 2e6;
    const bool kilo = two_sided && rate >= 2e3 && !mega;
    const double unit = rate > 0 ? rate / (mega ? 1e6 : kilo ? 1e3 : 1) : 1;
    const double lowest = rate >= 8000 && rate <= 400000 ? 20 : rate / 2000;
    Axis x{.low = two_sided     ? -unit / 2
                  : logarithmic ? lowest
                                : 0,
           .high = unit / 2,
           .first = box.left,
           .last = box.right,
           .logarithmic = logarithmic,
           .ticks = {}};
    x.ticks = logarithmic ? logarithmic_ticks(x.low, x.high) : linear_ticks(x.low, x.high, 6);
    double highest = -1e9;
    double least = 1e9;
    for (auto& curve : curves) {
        for (double pixel = box.left; pixel <= box.right && !curve.power.empty(); ++pixel) {
            const double power = power_between(curve.power, x.value_at(pixel) / unit, x.value_at(pixel + 1) / unit);
            curve.decibels.push_back(power > 0 ? 10 * std::log10(power) : -1e9);
            highest = std::max(highest, curve.decibels.back());
            least = std::min(least, curve.decibels.back());
        }
    }
    if (highest < -1e8) highest = 0;
    const double top = 10 * std::ceil((highest + 3) / 10);
    const double bottom = std::min(top - 20, 10 * std::floor(std::max(least - 3, top - kDecibelRange) / 10));
    const Axis y{.low = bottom,
                 .high = top,
                 .first = box.bottom,
                 .last = box.top,
                 .logarithmic = false,
                 .ticks = linear_ticks(bottom, top, 6)};
    draw_grid(canvas, box, x, y);
    canvas.clip(box);
    for (const auto& curve : curves) {
        std::vector<Point> points;
        for (std::size_t i = 0; i < curve.decibels.size(); ++i) {
            points.push_back({box.left + static_cast<double>(i), y.at(std::max(curve.decibels[i], bottom - 50))});
        }
        canvas.colour(curve.colour);
        canvas.polyline(points, curve.width);
    }
    canvas.unclip();
    draw_frame(canvas, box);
    const std::string hertz = mega ? "frequency / MHz" : kilo ? "frequency / kHz" : "frequency / Hz";
    draw_x_labels(canvas, box, x, rate > 0 ? hertz : "frequency / sampling rate");
    draw_legend(canvas, box, curves);
}

std::vector<std::complex<double>> first_filter(const TapsSet& taps) {
    const Bytes bytes = taps.rows_as(Dtype::complex128, 0, 1);
    const auto* first = reinterpret_cast<const std::complex<double>*>(bytes.data());
    return {first, first + taps.taps};
}

}  // namespace

void check_plot_name(const std::string& path) {
    if (!path.ends_with(".png") && !path.ends_with(".svg")) {
        throw usage_error("--plot: '" + path + "' is neither a .png nor a .svg file");
    }
}

PlotCollector::PlotCollector(const std::string& path, Dtype input_dtype, Dtype output_dtype, std::int64_t channels)
    : input(input_dtype, channels), output(output_dtype, channels), svg_(path.ends_with(".svg")) {
    file_.create(path, false);
}

void PlotCollector::draw(const PlotTexts& texts, const TapsSet& taps, double rate) {
    Canvas canvas(svg_ ? Canvas::Kind::svg : Canvas::Kind::png, kWidth, kHeight);
    const double left = 84;
    const double right = kWidth - 36;
    canvas.colour(kInk);
    canvas.text(left, 46, canvas.fitted(texts.title, kTitleSize, right - left, true), kTitleSize, Align::left, true);
    canvas.colour(kGrey);
    canvas.text(left, 72, canvas.fitted(texts.subtitle, kTextSize, right - left), kTextSize);

    const double samples = static_cast<double>(std::max(input.frames(), output.frames()));
    const Box signal_box{left, 122, right, 318};
    draw_heading(canvas, signal_box, "Signal", texts.signal_name, texts.signal_details, kSignal);
    draw_waveform(canvas, signal_box, input, samples, rate, kSignal);
    const Box output_box{left, 400, right, 596};
    draw_heading(canvas, output_box, "Output", texts.output_name, format_count(output.frames()) + " samples", kOutput);
    draw_waveform(canvas, output_box, output, samples, rate, kOutput);

    const auto filter = first_filter(taps);
    Probe taps_probe(is_complex(taps.dtype) ? Dtype::complex128 : Dtype::f64, 1);
    const Bytes plain = taps.rows_as(is_complex(taps.dtype) ? Dtype::complex128 : Dtype::f64, 0, 1);
    taps_probe.add(plain.data(), taps.taps, 1);
    const Box taps_box{left, 678, left + 530, 910};
    const std::string others = taps.filters > 1 ? ", first of " + std::to_string(taps.filters) : "";
    draw_heading(canvas, taps_box, "Taps", texts.taps_name, format_count(taps.taps) + " coefficients" + others, kTaps);
    constexpr std::int64_t kCounted = 1000;  // fewer are counted, more are a time
    draw_waveform(canvas, taps_box, taps_probe, static_cast<double>(taps.taps), taps.taps < kCounted ? 0 : rate, kTaps);

    const bool two_sided = input.complex() || output.complex();
    const Box spectra_box{left + 620, 678, right, 910};
    draw_heading(canvas, spectra_box, "Spectra / dB", "", "", kInk);
    draw_spectra(
        canvas, spectra_box,
        {{"signal", input.power(), kSignalPale, 4}, {"taps", power_response(filter), kTaps}, {"output", output.power(), kOutput}},
        rate, two_sided);
    const std::string bytes = canvas.finish();
    file_.write(bytes.data(), bytes.size());
}

}  // namespace tapline::cli
