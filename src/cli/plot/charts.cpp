#include "cli/plot/charts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cli/plot/canvas.hpp"

namespace tapline::cli {
namespace {

constexpr double kWidth = 360;
constexpr double kRight = kWidth - 18;  // half of the last length's label
constexpr double kSmall = 11;
constexpr double kText = 12;
constexpr double kWiderFont = 1.1;  // the page's may be wider than the one that is measured

constexpr Colour kBar = hex(0x93C5FD);
constexpr Colour kStrong = hex(0xC2410C);
// Told apart without colours too: each is dashed when it comes round again.
constexpr std::array kColours = {hex(0xC2410C), hex(0x2563EB), hex(0x15803D), hex(0x7C3AED),
                                 hex(0xBE185D), hex(0x0F766E), hex(0xA16207), hex(0x475569)};

void draw_line(Canvas& canvas, const std::vector<Point>& points, std::size_t index, bool dashed) {
    canvas.colour(dashed ? kGrey : kColours[index % kColours.size()]);
    canvas.polyline(points, 2, dashed ? 5 : index >= kColours.size() ? 2 : 0);
}

void draw_axes(Canvas& canvas, const Axis& x, const Axis& y, const std::string& x_label) {
    for (const Tick& tick : y.ticks) {
        canvas.colour(kGrid);
        canvas.line(x.first, y.at(tick.value), x.last, y.at(tick.value), 1);
        canvas.colour(kInk);
        canvas.text(x.first - 5, y.at(tick.value) + 4, tick.label, kSmall, Align::right);
    }
    canvas.line(x.first, y.first, x.last, y.first, 1);
    for (const Tick& tick : x.ticks) {
        canvas.line(x.at(tick.value), y.first, x.at(tick.value), y.first + 4, 1);
        canvas.text(x.at(tick.value), y.first + 17, tick.label, kSmall, Align::centre);
    }
    canvas.text((x.first + x.last) / 2, y.first + 33, x_label, kSmall, Align::centre);
}

// At most eight.
std::vector<Tick> powers_of_two(double low, double high) {
    const int from = static_cast<int>(std::ceil(std::log2(low) - 1e-9));
    const int to = static_cast<int>(std::floor(std::log2(high) + 1e-9));
    std::vector<Tick> ticks;
    for (int power = from; power <= to; power += to - from > 7 ? 2 : 1) {
        ticks.push_back({std::exp2(power), "2^" + std::to_string(power)});
    }
    return ticks;
}

void draw_legend(Canvas& canvas, const std::vector<Curve>& curves, double top) {
    constexpr double kColumn = kWidth / 2;
    for (std::size_t i = 0; i < curves.size(); ++i) {
        const double x = kColumn * static_cast<double>(i % 2) + 4;
        const double y = top + 17 * static_cast<double>(i / 2);
        draw_line(canvas, {{x, y - 4}, {x + 18, y - 4}}, i, curves[i].dashed);
        canvas.colour(kInk);
        canvas.text(x + 23, y, canvas.fitted(curves[i].label, kSmall * kWiderFont, kColumn - 30), kSmall);
    }
}

struct Range {
    double low = std::numeric_limits<double>::infinity(), high = 0;
    void add(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
};

}  // namespace

std::string bars_svg(const std::string& title, const std::vector<Bar>& bars, double mark, const std::string& mark_label) {
    constexpr double kPitch = 34;
    constexpr double kTop = 4;
    const double height = kTop + kPitch * static_cast<double>(bars.size()) + (mark > 0 ? 18 : 2);
    Range range;
    for (const auto& bar : bars) range.add(bar.value);
    if (mark > 0) range.add(mark);
    // The shortest bar is long enough to be seen, the longest leaves no room unused.
    const Axis axis{
        .low = range.low / 2, .high = std::max(range.high, range.low * 2), .last = kWidth, .logarithmic = true, .ticks = {}};
    Canvas canvas(Canvas::Kind::inline_svg, kWidth, height, title);
    for (std::size_t i = 0; i < bars.size(); ++i) {
        const double y = kTop + kPitch * static_cast<double>(i);
        canvas.colour(kInk);
        const double value_width = canvas.text_width(bars[i].text, kText * kWiderFont);
        canvas.text(0, y + 12, canvas.fitted(bars[i].label, kText * kWiderFont, kWidth - value_width - 12), kText);
        canvas.text(kWidth, y + 12, bars[i].text, kText, Align::right);
        canvas.colour(bars[i].strong ? kStrong : kBar);
        canvas.rectangle({0, y + 17, axis.at(bars[i].value), y + 26});
        canvas.colour(kInk);
        // Only beside the bar: a line through the words would make them hard to read.
        if (mark > 0) canvas.line(axis.at(mark), y + 15, axis.at(mark), y + 28, 1.5);
    }
    if (mark > 0) {
        const double half = canvas.text_width(mark_label, kSmall * kWiderFont) / 2;
        canvas.text(std::clamp(axis.at(mark), half, kWidth - half), height - 4, mark_label, kSmall, Align::centre);
    }
    return canvas.finish();
}

std::string curves_svg(const std::string& title, const std::string& x_label, const std::vector<Curve>& curves, bool percent) {
    constexpr double kLeft = 46;
    constexpr double kTop = 10;
    constexpr double kBottom = 230;
    const double legend = 17 * std::ceil(static_cast<double>(curves.size()) / 2);
    const double unit = percent ? 100 : 1;
    Range xs;
    Range ys;
    for (const auto& curve : curves) {
        for (const auto& [x, y] : curve.points) {
            xs.add(x);
            ys.add(unit * y);
        }
    }
    Canvas canvas(Canvas::Kind::inline_svg, kWidth, kBottom + 52 + legend, title);
    if (!(xs.high > 0)) return canvas.finish();
    Axis x{.low = xs.low, .high = std::max(xs.high, 2 * xs.low), .first = kLeft, .last = kRight, .logarithmic = true, .ticks = {}};
    x.ticks = powers_of_two(x.low, x.high);
    Axis y{.low = ys.low / 1.3, .high = ys.high * 1.3, .first = kBottom, .last = kTop, .logarithmic = true, .ticks = {}};
    if (percent) {
        y = {.low = 0, .high = std::max(100.0, ys.high) * 1.04, .first = kBottom, .last = kTop, .ticks = {}};
        y.ticks = linear_ticks(y.low, y.high, 5);
        for (Tick& tick : y.ticks) tick.label += "%";
    } else {
        y.ticks = logarithmic_ticks(y.low, y.high, 7);
    }
    draw_axes(canvas, x, y, x_label);
    for (std::size_t i = 0; i < curves.size(); ++i) {
        std::vector<Point> places;
        for (const auto& [a, b] : curves[i].points) places.push_back({x.at(a), y.at(unit * b)});
        draw_line(canvas, places, i, curves[i].dashed);
        for (std::size_t p = 0; p < places.size() && !curves[i].dashed; ++p) canvas.dot(places[p].x, places[p].y, 2.4);
    }
    draw_legend(canvas, curves, kBottom + 56);
    return canvas.finish();
}

}  // namespace tapline::cli
