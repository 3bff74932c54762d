#include "cli/plot/canvas.hpp"

#include <cairo-svg.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "tapline/error.hpp"

namespace tapline::cli {
namespace {

constexpr double kPngScale = 1.25;

cairo_status_t append(void* to, const unsigned char* data, unsigned length) {
    static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), length);
    return CAIRO_STATUS_SUCCESS;
}

cairo_surface_t* make_surface(Canvas::Kind kind, double width, double height, std::string* bytes) {
    if (kind == Canvas::Kind::svg) return cairo_svg_surface_create_for_stream(append, bytes, width, height);
    return cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width * kPngScale),
                                      static_cast<int>(height * kPngScale));
}

std::string printed(const char* format, int digits, double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), format, digits, value);
    return text.data();
}

// "-" is narrow and low in most fonts; the typographic minus matches "+".
std::string with_minus(std::string text) {
    if (text.starts_with('-')) text.replace(0, 1, "\xe2\x88\x92");
    return text;
}

}  // namespace

Canvas::Canvas(Kind kind, double width, double height)
    : kind_(kind), surface_(make_surface(kind, width, height, &bytes_)), cairo_(cairo_create(surface_)) {
    if (kind == Kind::png) cairo_scale(cairo_, kPngScale, kPngScale);
    colour(hex(0xFFFFFF));
    cairo_paint(cairo_);
    cairo_set_line_join(cairo_, CAIRO_LINE_JOIN_ROUND);
}

Canvas::~Canvas() {
    cairo_destroy(cairo_);
    cairo_surface_destroy(surface_);
}

void Canvas::colour(Colour c, double opacity) { cairo_set_source_rgba(cairo_, c.red, c.green, c.blue, opacity); }

double Canvas::text_width(const std::string& text, double size, bool bold) {
    cairo_select_font_face(cairo_, "sans-serif", CAIRO_FONT_SLANT_NORMAL, bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cairo_, size);
    cairo_text_extents_t extents;
    cairo_text_extents(cairo_, text.c_str(), &extents);
    return extents.x_advance;
}

void Canvas::text(double x, double baseline, const std::string& text, double size, Align align, bool bold) {
    const double width = text_width(text, size, bold);
    cairo_move_to(cairo_, align == Align::left ? x : align == Align::right ? x - width : x - width / 2, baseline);
    cairo_show_text(cairo_, text.c_str());
    cairo_new_path(cairo_);
}

void Canvas::upright_text(double x, double y, const std::string& label, double size) {
    cairo_save(cairo_);
    cairo_translate(cairo_, x, y);
    cairo_rotate(cairo_, -std::numbers::pi / 2);
    text(0, 0, label, size, Align::centre);
    cairo_restore(cairo_);
}

std::string Canvas::fitted(const std::string& text, double size, double width, bool bold) {
    std::string shown = text;
    for (std::size_t end = text.size(); end > 0 && text_width(shown, size, bold) > width;) {
        do --end;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);  // never inside a UTF-8 character
        shown = text.substr(0, end) + "\xe2\x80\xa6";
    }
    return shown;
}

void Canvas::line(double x0, double y0, double x1, double y1, double width) {
    cairo_set_line_width(cairo_, width);
    cairo_move_to(cairo_, x0, y0);
    cairo_line_to(cairo_, x1, y1);
    cairo_stroke(cairo_);
}

void Canvas::rectangle(const Box& box) {
    cairo_rectangle(cairo_, box.left, box.top, box.width(), box.height());
    cairo_fill(cairo_);
}

void Canvas::clip(const Box& box) {
    cairo_save(cairo_);
    cairo_rectangle(cairo_, box.left, box.top, box.width(), box.height());
    cairo_clip(cairo_);
}

void Canvas::unclip() { cairo_restore(cairo_); }

void Canvas::dot(double x, double y, double radius) {
    cairo_arc(cairo_, x, y, radius, 0, 2 * std::numbers::pi);
    cairo_fill(cairo_);
}

void Canvas::check(cairo_status_t status) const {
    if (status != CAIRO_STATUS_SUCCESS)
        throw Error(ErrorCode::io, std::string("plot: drawing failed: ") + cairo_status_to_string(status));
}

std::string Canvas::finish() {
    check(cairo_status(cairo_));
    if (kind_ == Kind::png) check(cairo_surface_write_to_png_stream(surface_, append, &bytes_));
    cairo_surface_finish(surface_);
    check(cairo_surface_status(surface_));
    return std::move(bytes_);
}

double Axis::at(double value) const {
    const double share = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return first + share * (last - first);
}

double Axis::value_at(double pixel) const {
    const double share = (pixel - first) / (last - first);
    return logarithmic ? low * std::pow(high / low, share) : low + share * (high - low);
}

std::vector<Tick> linear_ticks(double low, double high, int wanted, double least_step) {
    const double rough = std::max((high - low) / wanted, least_step);
    const double power = std::pow(10, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= rough * 0.999) {
            step = factor * power;
            break;
        }
    }
    const int decimals = static_cast<int>(std::max(0.0, -std::floor(std::log10(step) + 1e-9)));
    const bool plain = decimals <= 5 && std::max(std::abs(low), std::abs(high)) < 1e6;
    std::vector<Tick> ticks;
    for (double i = std::ceil(low / step - 1e-9); i <= std::floor(high / step + 1e-9); ++i) {
        const double value = i == 0 ? 0 : i * step;
        ticks.push_back({value, with_minus(plain ? printed("%.*f", decimals, value) : printed("%.*g", 4, value))});
    }
    return ticks;
}

std::vector<Tick> frequency_ticks(double low, double high) {
    std::vector<Tick> ticks;
    for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double value = factor * power;
            if (value < low * 0.999 || value > high * 1.001) continue;
            const bool mega = value >= 1e6;
            const bool kilo = value >= 1e3;
            ticks.push_back({value, printed("%.*g", 6, value / (mega ? 1e6 : kilo ? 1e3 : 1)) + (mega ? "M" : kilo ? "k" : "")});
        }
    }
    return ticks;
}

}  // namespace tapline::cli
