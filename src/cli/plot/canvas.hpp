// A page to draw on, and axes. All pictures of the command are drawn here: PNG by cairo, SVG as text.
#pragma once

#include <cairo.h>

#include <string>
#include <vector>

namespace tapline::cli {

struct Colour {
    double red, green, blue;
};

constexpr Colour hex(unsigned rgb) { return {((rgb >> 16) & 255) / 255.0, ((rgb >> 8) & 255) / 255.0, (rgb & 255) / 255.0}; }

// What all pictures have in common.
inline constexpr Colour kInk = hex(0x1F2933);
inline constexpr Colour kGrey = hex(0x6B7785);
inline constexpr Colour kGrid = hex(0xE4E8ED);

struct Point {
    double x, y;
};

struct Box {
    double left, top, right, bottom;
    [[nodiscard]] double width() const { return right - left; }
    [[nodiscard]] double height() const { return bottom - top; }
};

enum class Align { left, centre, right };

/// Text between tags or in an attribute: < > & " ' become entities, control characters spaces.
std::string escape_markup(const std::string& text);

class Canvas {
public:
    /// inline_svg: a part of a page, as wide as there is room, with a title for those who cannot see it.
    enum class Kind { png, svg, inline_svg };

    Canvas(Kind kind, double width, double height, const std::string& title = {});
    ~Canvas();
    Canvas(const Canvas&) = delete;
    Canvas& operator=(const Canvas&) = delete;

    /// Of all that is drawn from now on.
    void colour(Colour colour, double opacity = 1);
    void text(double x, double baseline, const std::string& text, double size, Align align = Align::left, bool bold = false);
    /// Reads upwards, centred on a point of its baseline.
    void upright_text(double x, double y, const std::string& text, double size);
    [[nodiscard]] double text_width(const std::string& text, double size, bool bold = false);
    /// Cut with an ellipsis so that it is at most `width` wide.
    [[nodiscard]] std::string fitted(const std::string& text, double size, double width, bool bold = false);
    void line(double x0, double y0, double x1, double y1, double width) { polyline({{x0, y0}, {x1, y1}}, width); }
    /// `dash`: length of dashes and gaps; 0: none.
    void polyline(const std::vector<Point>& points, double width, double dash = 0);
    void rectangle(const Box& box) { rectangles({box}); }
    /// As one shape: no seams where they touch, no double shade where they overlap.
    void rectangles(const std::vector<Box>& boxes);
    void dot(double x, double y, double radius);
    /// Draws inside `box` only until unclip().
    void clip(const Box& box);
    void unclip();

    /// The finished file's bytes, or the element of a page. Throws Error if cairo failed.
    std::string finish();

private:
    void check(cairo_status_t status) const;
    [[nodiscard]] bool is_svg() const { return kind_ != Kind::png; }
    void select_font(double size, bool bold);
    [[nodiscard]] std::string paint(const char* attribute) const;

    Kind kind_;
    std::string bytes_;
    cairo_surface_t* surface_;  // of an SVG a small one, which measures texts
    cairo_t* cairo_;
    Colour colour_{};
    double opacity_ = 1;
};

struct Tick {
    double value;
    std::string label;
};

/// Maps values to pixels along one direction.
struct Axis {
    double low = 0, high = 1;    ///< values
    double first = 0, last = 1;  ///< pixels of low and high
    bool logarithmic = false;
    std::vector<Tick> ticks;

    [[nodiscard]] double at(double value) const;
    [[nodiscard]] double value_at(double pixel) const;
};

/// Ticks at 1, 2 or 5 times a power of ten, about `wanted` of them, all with as many decimals as the step needs. The step is
/// at least least_step.
std::vector<Tick> linear_ticks(double low, double high, int wanted, double least_step = 0);

/// 1, 2 and 5 times powers of ten, "20", "1k"; where those were more than `most`, fewer.
std::vector<Tick> logarithmic_ticks(double low, double high, std::size_t most = 100);

}  // namespace tapline::cli
