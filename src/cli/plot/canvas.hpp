// A page to draw on (cairo), and axes.
#pragma once

#include <cairo.h>

#include <string>
#include <string_view>
#include <vector>

namespace tapline::cli {

struct Colour {
    double red, green, blue;
};

constexpr Colour hex(unsigned rgb) { return {((rgb >> 16) & 255) / 255.0, ((rgb >> 8) & 255) / 255.0, (rgb & 255) / 255.0}; }

struct Box {
    double left, top, right, bottom;
    [[nodiscard]] double width() const { return right - left; }
    [[nodiscard]] double height() const { return bottom - top; }
};

enum class Align { left, centre, right };

class Canvas {
public:
    enum class Kind { png, svg };

    Canvas(Kind kind, double width, double height);
    ~Canvas();
    Canvas(const Canvas&) = delete;
    Canvas& operator=(const Canvas&) = delete;

    void colour(Colour colour, double opacity = 1);
    void text(double x, double baseline, const std::string& text, double size, Align align = Align::left, bool bold = false);
    /// Reads upwards, centred on a point of its baseline.
    void upright_text(double x, double y, const std::string& text, double size);
    [[nodiscard]] double text_width(const std::string& text, double size, bool bold = false);
    /// Cut with an ellipsis so that it is at most `width` wide.
    [[nodiscard]] std::string fitted(const std::string& text, double size, double width, bool bold = false);
    void line(double x0, double y0, double x1, double y1, double width);
    void rectangle(const Box& box);
    /// Draws inside `box` only until unclip().
    void clip(const Box& box);
    void unclip();
    void dot(double x, double y, double radius);
    [[nodiscard]] cairo_t* cairo() const { return cairo_; }

    /// The finished file's bytes. Throws Error if cairo failed.
    std::string finish();

private:
    void check(cairo_status_t status) const;

    Kind kind_;
    std::string bytes_;
    cairo_surface_t* surface_;
    cairo_t* cairo_;
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

/// 1, 2 and 5 times powers of ten: "20", "1k".
std::vector<Tick> frequency_ticks(double low, double high);

}  // namespace tapline::cli
