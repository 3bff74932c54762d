#include "cli/ladder/ladder_plots.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "cli/ladder/ladder_format.hpp"

namespace tapline::cli {
namespace {

constexpr double kWidth = 360;
constexpr double kRight = 18;    // half of the last length's label
constexpr double kLetter = 6.6;  // width of a letter of 12 pixels, at most; for what has to fit beside it

// Told apart without colours too: each has a dash pattern of its own when it comes round again.
constexpr std::array kColors = {"#c2410c", "#2563eb", "#15803d", "#7c3aed", "#be185d", "#0f766e", "#a16207", "#475569"};

class Svg {
public:
    Svg(double height, const std::string& title) {
        text_ = "<svg viewBox=\"0 0 " + number(kWidth) + " " + number(height) + "\" role=\"img\" aria-label=\"" +
                escape_html(title) + "\"><title>" + escape_html(title) + "</title>";
    }
    void rect(double x, double y, double width, double height, const char* style) {
        text_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) + "\" height=\"" +
                 number(height) + "\" class=\"" + style + "\"/>";
    }
    void line(double x1, double y1, double x2, double y2, const std::string& attributes) {
        text_ += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) + "\" " +
                 attributes + "/>";
    }
    void label(double x, double y, const std::string& words, const char* anchor, const char* style = "") {
        text_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\" class=\"" + style + "\">" +
                 escape_html(words) + "</text>";
    }
    void path(const std::vector<std::pair<double, double>>& points, const std::string& attributes) {
        text_ += "<polyline fill=\"none\" points=\"";
        for (const auto& [x, y] : points) text_ += number(x) + "," + number(y) + " ";
        text_ += "\" " + attributes + "/>";
    }
    void dot(double x, double y, const char* color) {
        text_ += "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"2.4\" fill=\"" + color + "\"/>";
    }
    std::string done() { return std::move(text_) + "</svg>\n"; }

private:
    static std::string number(double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.1f", value);
        return text;
    }
    std::string text_;
};

std::string shortened(const std::string& text, double width) {
    const auto letters = static_cast<std::size_t>(std::max(width / kLetter, 4.0));
    return text.size() <= letters ? text : text.substr(0, letters - 2) + "..";
}

struct Axis {
    double low, high;    // values
    double first, last;  // places
    bool logarithmic;
    [[nodiscard]] double place(double value) const {
        const double part = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
        return first + (last - first) * std::clamp(part, 0.0, 1.0);
    }
};

std::string color_attributes(std::size_t index, bool dashed) {
    std::string attributes =
        std::string("stroke=\"") + (dashed ? "#374151" : kColors[index % kColors.size()]) + "\" stroke-width=\"2\"";
    if (dashed) attributes += " stroke-dasharray=\"5 4\"";
    if (!dashed && index >= kColors.size()) attributes += " stroke-dasharray=\"2 2\"";
    return attributes;
}

// At most six values between the ends of a logarithmic axis: powers of ten, and their 2 and 5 fold where there is room.
std::vector<double> decades(double low, double high) {
    std::vector<double> ticks;
    const bool fine = high / low < 300;
    for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double value = power * factor;
            if ((factor == 1.0 || fine) && value >= low * 0.999 && value <= high * 1.001) ticks.push_back(value);
        }
    }
    while (ticks.size() > 7) {
        std::vector<double> fewer;
        for (std::size_t i = 0; i < ticks.size(); i += 2) fewer.push_back(ticks[i]);
        ticks = fewer;
    }
    return ticks;
}

void draw_y_axis(Svg& svg, const Axis& y, bool percent, double left) {
    std::vector<double> ticks;
    if (percent) {
        const double step = y.high > 3 ? 1 : y.high > 1.3 ? 0.5 : 0.25;
        for (double value = 0; value <= y.high * 1.001; value += step) ticks.push_back(value);
    } else {
        ticks = decades(y.low, y.high);
    }
    for (const double value : ticks) {
        char text[32];
        std::snprintf(text, sizeof text, percent ? "%.0f%%" : "%g", percent ? 100 * value : value);
        svg.line(left, y.place(value), kWidth - kRight, y.place(value), "class=\"grid\"");
        svg.label(left - 5, y.place(value) + 4, text, "end", "small");
    }
}

void draw_x_axis(Svg& svg, const Axis& x, double bottom, const std::string& label) {
    const int from = static_cast<int>(std::ceil(std::log2(x.low) - 1e-9));
    const int to = static_cast<int>(std::floor(std::log2(x.high) + 1e-9));
    const int step = to - from > 7 ? 2 : 1;
    for (int power = from; power <= to; power += step) {
        const double at = x.place(std::exp2(power));
        svg.line(at, bottom, at, bottom + 4, "class=\"axis\"");
        svg.label(at, bottom + 17, "2^" + std::to_string(power), "middle", "small");
    }
    svg.label((x.first + x.last) / 2, bottom + 33, label, "middle", "small");
}

void draw_legend(Svg& svg, const std::vector<Curve>& curves, double top) {
    constexpr double kColumn = kWidth / 2;
    for (std::size_t i = 0; i < curves.size(); ++i) {
        const double x = kColumn * static_cast<double>(i % 2) + 4;
        const double y = top + 17 * static_cast<double>(i / 2);
        svg.line(x, y - 4, x + 18, y - 4, color_attributes(i, curves[i].dashed));
        svg.label(x + 23, y, shortened(curves[i].label, kColumn - 30), "start", "small");
    }
}

}  // namespace

std::string escape_html(const std::string& text) {
    std::string safe;
    for (const char c : text) {
        switch (c) {
            case '<':
                safe += "&lt;";
                break;
            case '>':
                safe += "&gt;";
                break;
            case '&':
                safe += "&amp;";
                break;
            case '"':
                safe += "&quot;";
                break;
            case '\'':
                safe += "&#39;";
                break;
            default:
                safe += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
    }
    return safe;
}

std::string bars_svg(const std::string& title, const std::vector<Bar>& bars, double mark, const std::string& mark_label) {
    constexpr double kPitch = 34;
    constexpr double kTop = 4;
    const double height = kTop + kPitch * static_cast<double>(bars.size()) + (mark > 0 ? 18 : 2);
    double low = mark > 0 ? mark : std::numeric_limits<double>::infinity();
    double high = mark;
    for (const auto& bar : bars) {
        low = std::min(low, bar.value);
        high = std::max(high, bar.value);
    }
    // The shortest bar is long enough to be seen, the longest leaves no room unused.
    const Axis axis{low / 2, std::max(high, low * 2), 0, kWidth, true};
    Svg svg(height, title);
    for (std::size_t i = 0; i < bars.size(); ++i) {
        const double y = kTop + kPitch * static_cast<double>(i);
        const double value_width = kLetter * static_cast<double>(bars[i].text.size());
        svg.label(0, y + 12, shortened(bars[i].label, kWidth - value_width - 12), "start");
        svg.label(kWidth, y + 12, bars[i].text, "end");
        svg.rect(0, y + 17, axis.place(bars[i].value), 9, bars[i].strong ? "bar strong" : "bar");
        // Only beside the bar: a line through the words would make them hard to read.
        if (mark > 0) svg.line(axis.place(mark), y + 15, axis.place(mark), y + 28, "class=\"mark\"");
    }
    if (mark > 0) {
        const double at = axis.place(mark);
        const double width = kLetter * static_cast<double>(mark_label.size());
        const char* anchor = at < width / 2 ? "start" : at > kWidth - width / 2 ? "end" : "middle";
        svg.label(anchor[0] == 's' ? 0 : anchor[0] == 'e' ? kWidth : at, height - 4, mark_label, anchor, "small");
    }
    return svg.done();
}

std::string curves_svg(const std::string& title, const std::string& x_label, const std::vector<Curve>& curves, bool percent) {
    constexpr double kLeft = 46;
    constexpr double kTop = 10;
    constexpr double kBottom = 230;
    const double legend = 17 * std::ceil(static_cast<double>(curves.size()) / 2);
    double x_low = std::numeric_limits<double>::infinity();
    double y_low = x_low;
    double x_high = 0;
    double y_high = percent ? 1 : 0;
    for (const auto& curve : curves) {
        for (const auto& [x, y] : curve.points) {
            x_low = std::min(x_low, x);
            x_high = std::max(x_high, x);
            y_low = std::min(y_low, y);
            y_high = std::max(y_high, y);
        }
    }
    Svg svg(kBottom + 52 + legend, title);
    if (!(x_high > 0)) return svg.done();
    const Axis x{x_low, std::max(x_high, 2 * x_low), kLeft, kWidth - kRight, true};
    const Axis y = percent ? Axis{0, y_high * 1.04, kBottom, kTop, false} : Axis{y_low / 1.3, y_high * 1.3, kBottom, kTop, true};
    draw_y_axis(svg, y, percent, kLeft);
    svg.line(kLeft, kBottom, kWidth - kRight, kBottom, "class=\"axis\"");
    draw_x_axis(svg, x, kBottom, x_label);
    for (std::size_t i = 0; i < curves.size(); ++i) {
        std::vector<std::pair<double, double>> places;
        for (const auto& [a, b] : curves[i].points) places.emplace_back(x.place(a), y.place(b));
        svg.path(places, color_attributes(i, curves[i].dashed));
        if (curves[i].dashed) continue;
        for (const auto& [a, b] : places) svg.dot(a, b, kColors[i % kColors.size()]);
    }
    draw_legend(svg, curves, kBottom + 56);
    return svg.done();
}

}  // namespace tapline::cli
