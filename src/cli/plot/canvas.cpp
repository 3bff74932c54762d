#include "cli/plot/canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <utility>

#include "cli/plot/fonts.hpp"
#include "tapline/error.hpp"

namespace tapline::cli {
namespace {

constexpr double kPngScale = 1.25;

cairo_status_t append(void* to, const unsigned char* data, unsigned length) {
    static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), length);
    return CAIRO_STATUS_SUCCESS;
}

cairo_surface_t* make_surface(Canvas::Kind kind, double width, double height) {
    const bool png = kind == Canvas::Kind::png;
    return cairo_image_surface_create(CAIRO_FORMAT_RGB24, png ? static_cast<int>(width * kPngScale) : 1,
                                      png ? static_cast<int>(height * kPngScale) : 1);
}

// name="value" of SVG, to a tenth of a pixel.
std::string attribute(const char* name, double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), " %s=\"%.1f\"", name, value);
    return text.data();
}

std::string coordinates(double a, double b) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.1f,%.1f", a, b);
    return text.data();
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

std::string escape_markup(const std::string& text) {
    constexpr std::array<std::pair<char, const char*>, 5> kEntities = {
        {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}, {'\'', "&#39;"}}};
    std::string safe;
    for (const char c : text) {
        const auto* entity = std::ranges::find(kEntities, c, &std::pair<char, const char*>::first);
        if (entity != kEntities.end()) {
            safe += entity->second;
        } else {
            safe += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
    }
    return safe;
}

Canvas::Canvas(Kind kind, double width, double height, const std::string& title)
    : kind_(kind), surface_(make_surface(kind, width, height)), cairo_(cairo_create(surface_)) {
    find_fonts();
    if (kind == Kind::png) cairo_scale(cairo_, kPngScale, kPngScale);
    cairo_set_line_join(cairo_, CAIRO_LINE_JOIN_ROUND);
    if (is_svg()) {
        bytes_ = "<svg viewBox=\"0 0 " + coordinates(width, height) + "\" font-family=\"sans-serif\"";
        if (kind == Kind::inline_svg) {
            bytes_ += " role=\"img\" aria-label=\"" + escape_markup(title) + "\"><title>" + escape_markup(title) + "</title>";
            return;
        }
        bytes_ += " xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) + attribute("height", height) + ">\n";
    }
    colour(hex(0xFFFFFF));
    rectangle({0, 0, width, height});
}

Canvas::~Canvas() {
    cairo_destroy(cairo_);
    cairo_surface_destroy(surface_);
}

void Canvas::colour(Colour c, double opacity) {
    colour_ = c;
    opacity_ = opacity;
    cairo_set_source_rgba(cairo_, c.red, c.green, c.blue, opacity);
}

std::string Canvas::paint(const char* attribute_name) const {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), " %s=\"#%02x%02x%02x\"", attribute_name,
                  static_cast<unsigned>(std::lround(colour_.red * 255)), static_cast<unsigned>(std::lround(colour_.green * 255)),
                  static_cast<unsigned>(std::lround(colour_.blue * 255)));
    return text.data() + (opacity_ < 1 ? " opacity=\"" + printed("%.*g", 3, opacity_) + "\"" : "");
}

void Canvas::select_font(double size, bool bold) {
    cairo_select_font_face(cairo_, "sans-serif", CAIRO_FONT_SLANT_NORMAL, bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cairo_, size);
}

double Canvas::text_width(const std::string& text, double size, bool bold) {
    select_font(size, bold);
    cairo_text_extents_t extents;
    cairo_text_extents(cairo_, text.c_str(), &extents);
    return extents.x_advance;
}

void Canvas::text(double x, double baseline, const std::string& text, double size, Align align, bool bold) {
    if (is_svg()) {
        constexpr const char* kAnchors[] = {"start", "middle", "end"};
        bytes_ += "<text" + attribute("x", x) + attribute("y", baseline) + attribute("font-size", size) + paint("fill") +
                  " text-anchor=\"" + kAnchors[static_cast<int>(align)] + "\"" + (bold ? " font-weight=\"bold\"" : "") + ">" +
                  escape_markup(text) + "</text>\n";
        return;
    }
    const double width = text_width(text, size, bold);
    cairo_move_to(cairo_, align == Align::left ? x : align == Align::right ? x - width : x - width / 2, baseline);
    cairo_show_text(cairo_, text.c_str());
    cairo_new_path(cairo_);
}

void Canvas::upright_text(double x, double y, const std::string& label, double size) {
    if (is_svg()) {
        bytes_ += "<g transform=\"translate(" + coordinates(x, y) + ") rotate(-90)\">";
        text(0, 0, label, size, Align::centre);
        bytes_ += "</g>\n";
        return;
    }
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

void Canvas::polyline(const std::vector<Point>& points, double width, double dash) {
    if (is_svg()) {
        bytes_ += "<polyline fill=\"none\"" + paint("stroke") + attribute("stroke-width", width) + " stroke-linejoin=\"round\"" +
                  (dash > 0 ? attribute("stroke-dasharray", dash) : "") + " points=\"";
        for (const Point& point : points) bytes_ += coordinates(point.x, point.y) + " ";
        bytes_ += "\"/>\n";
        return;
    }
    cairo_set_line_width(cairo_, width);
    cairo_set_dash(cairo_, &dash, dash > 0 ? 1 : 0, 0);
    for (const Point& point : points) cairo_line_to(cairo_, point.x, point.y);
    cairo_stroke(cairo_);
}

void Canvas::rectangles(const std::vector<Box>& boxes) {
    if (is_svg()) {
        bytes_ += "<path" + paint("fill") + " d=\"";
        for (const Box& box : boxes) {
            bytes_ += "M" + coordinates(box.left, box.top) + "L" + coordinates(box.right, box.top) + "L" +
                      coordinates(box.right, box.bottom) + "L" + coordinates(box.left, box.bottom) + "Z";
        }
        bytes_ += "\"/>\n";
        return;
    }
    for (const Box& box : boxes) cairo_rectangle(cairo_, box.left, box.top, box.width(), box.height());
    cairo_fill(cairo_);
}

// An element of its own shows nothing outside its box.
void Canvas::clip(const Box& box) {
    if (is_svg()) {
        bytes_ += "<svg" + attribute("x", box.left) + attribute("y", box.top) + attribute("width", box.width()) +
                  attribute("height", box.height()) + " viewBox=\"" + coordinates(box.left, box.top) + " " +
                  coordinates(box.width(), box.height()) + "\">\n";
        return;
    }
    cairo_save(cairo_);
    cairo_rectangle(cairo_, box.left, box.top, box.width(), box.height());
    cairo_clip(cairo_);
}

void Canvas::unclip() {
    if (is_svg()) {
        bytes_ += "</svg>\n";
    } else {
        cairo_restore(cairo_);
    }
}

void Canvas::dot(double x, double y, double radius) {
    if (is_svg()) {
        bytes_ += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", radius) + paint("fill") + "/>\n";
        return;
    }
    cairo_arc(cairo_, x, y, radius, 0, 2 * std::numbers::pi);
    cairo_fill(cairo_);
}

void Canvas::check(cairo_status_t status) const {
    if (status != CAIRO_STATUS_SUCCESS)
        throw Error(ErrorCode::io, std::string("plot: drawing failed: ") + cairo_status_to_string(status));
}

std::string Canvas::finish() {
    check(cairo_status(cairo_));
    if (is_svg()) {
        bytes_ += "</svg>\n";
    } else {
        check(cairo_surface_write_to_png_stream(surface_, append, &bytes_));
    }
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

std::vector<Tick> logarithmic_ticks(double low, double high, std::size_t most) {
    const auto ticks_at = [&](const std::vector<double>& factors) {
        std::vector<Tick> ticks;
        for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
            for (const double factor : factors) {
                const double value = factor * power;
                if (value < low * 0.999 || value > high * 1.001) continue;
                const bool mega = value >= 1e6;
                const bool kilo = value >= 1e3;
                ticks.push_back({value, printed("%.*g", 6,
                                                value / (mega   ? 1e6
                                                         : kilo ? 1e3
                                                                : 1)) +
                                            (mega   ? "M"
                                             : kilo ? "k"
                                                    : "")});
            }
        }
        return ticks;
    };
    std::vector<Tick> ticks = ticks_at({1, 2, 5});
    if (ticks.size() > most) ticks = ticks_at({1});
    while (ticks.size() > most) {
        for (std::size_t i = 1; i < ticks.size(); ++i) ticks.erase(ticks.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return ticks;
}

}  // namespace tapline::cli
