#include "design/mask.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "design/design.hpp"
#include "design/text.hpp"

namespace tapline::design {
namespace {

constexpr std::int64_t kMaxTaps = std::int64_t{1} << 24;  // 4096 x 4096: a typing error, not a mask

void check_size(std::int64_t height, std::int64_t width) {
    if (height >= 1 && width >= 1 && height <= kMaxTaps / width) { return; }
    fail("a mask of " + std::to_string(height) + " x " + std::to_string(width) + " taps; give at least 1 and at most " +
         std::to_string(kMaxTaps) + " in all");
}

Mask outer_product(const std::vector<double>& column, const std::vector<double>& row) {
    Mask mask{static_cast<std::int64_t>(column.size()), static_cast<std::int64_t>(row.size()), {}};
    check_size(mask.height, mask.width);
    mask.taps.reserve(column.size() * row.size());
    for (const double c : column) {
        for (const double r : row) { mask.taps.push_back(c * r); }
    }
    return mask;
}

Mask of_rows(const std::vector<std::vector<double>>& rows) {
    Mask mask{static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows.front().size()), {}};
    for (const auto& row : rows) { mask.taps.insert(mask.taps.end(), row.begin(), row.end()); }
    return mask;
}

std::int64_t whole(double value) {
    if (value != std::floor(value) || !(std::abs(value) <= 0x1p53)) { fail("the number of taps must be a whole number"); }
    return static_cast<std::int64_t>(value);
}

using Named = Entry<Mask (*)(const Numbers& numbers)>;

// Gradients are positive where the image grows to the right and downwards; turned by a convolution, as scipy.ndimage.sobel.
constexpr std::array kEntries = {
    Named{"gaussian", "gaussian:SIGMA[,SIGMA_X]", "Gaussian blur, standard deviation in pixels (y, x), cut at 4 SIGMA", 1, 2,
          [](const Numbers& v) { return gaussian_mask(v[0], v.back()); }},
    Named{"box", "box:K[,K_X]", "mean of K x K pixels (rows, columns)", 1, 2,
          [](const Numbers& v) { return box_mask(whole(v[0]), whole(v.back())); }},
    Named{"sharpen", "sharpen", "0,-1,0;-1,5,-1;0,-1,0", 0, 0,
          [](const Numbers&) {
              return of_rows({{0, -1, 0}, {-1, 5, -1}, {0, -1, 0}});
          }},
    Named{"sobel-x", "sobel-x", "slope to the right: 1,0,-1;2,0,-2;1,0,-1", 0, 0,
          [](const Numbers&) {
              return of_rows({{1, 0, -1}, {2, 0, -2}, {1, 0, -1}});
          }},
    Named{"sobel-y", "sobel-y", "slope downwards: 1,2,1;0,0,0;-1,-2,-1", 0, 0,
          [](const Numbers&) {
              return of_rows({{1, 2, 1}, {0, 0, 0}, {-1, -2, -1}});
          }},
    Named{"laplacian", "laplacian", "edges: 0,1,0;1,-4,1;0,1,0", 0, 0,
          [](const Numbers&) {
              return of_rows({{0, 1, 0}, {1, -4, 1}, {0, 1, 0}});
          }},
    Named{"emboss", "emboss", "relief, lit from the upper left: 2,1,0;1,1,-1;0,-1,-2", 0, 0,
          [](const Numbers&) {
              return of_rows({{2, 1, 0}, {1, 1, -1}, {0, -1, -2}});
          }},
    Named{"motion", "motion:LENGTH,DEGREES", "blur along a line, counter-clockwise from the x axis", 2, 2,
          [](const Numbers& v) { return motion_mask(v[0], v[1]); }},
};

const Named* find_entry(std::string_view text) {
    const auto colon = text.find(':');
    const auto* entry = std::ranges::find(kEntries, text.substr(0, colon), &Named::name);
    if (entry == kEntries.end()) { return nullptr; }
    return (colon == std::string_view::npos) == (entry->most == 0) ? entry : nullptr;
}

Mask parse_rows(std::string_view text) {
    std::vector<std::vector<double>> rows;
    for (const auto line : split(text, ';')) {
        rows.emplace_back();
        for (const auto field : split(line, ',')) { rows.back().push_back(finite_number("mask", text, field)); }
        if (rows.back().size() != rows.front().size()) {
            fail("mask '" + std::string(text) + "': row " + std::to_string(rows.size()) + " has " +
                 std::to_string(rows.back().size()) + " taps, the first one " + std::to_string(rows.front().size()) +
                 "; rows are separated by semicolons and equally long");
        }
    }
    return of_rows(rows);
}

}  // namespace

Mask gaussian_mask(double sigma_y, double sigma_x) {
    const auto along = [](double sigma) { return sigma == 0 ? std::vector<double>{1} : gaussian(sigma); };
    return outer_product(along(sigma_y), along(sigma_x));
}

Mask box_mask(std::int64_t height, std::int64_t width) {
    check_size(height, width);
    return outer_product(box(height), box(width));
}

Mask motion_mask(double length, double degrees) {
    constexpr double kLongest = 4096;
    if (!(length >= 1 && length <= kLongest)) { fail("a length from 1 to 4096 pixels is needed"); }
    const double half = (length - 1) / 2, angle = degrees / 180 * std::numbers::pi;
    // Rounding would leave taps of 1e-17 beside a line at 90 degrees.
    const auto clean = [](double value) { return std::abs(value) < 1e-12 ? 0.0 : value; };
    const double dx = clean(std::cos(angle)), dy = clean(-std::sin(angle));  // rows grow downwards
    const auto reach_x = static_cast<std::int64_t>(std::ceil(half * std::abs(dx) - 1e-9));
    const auto reach_y = static_cast<std::int64_t>(std::ceil(half * std::abs(dy) - 1e-9));
    Mask mask{2 * reach_y + 1, 2 * reach_x + 1, {}};
    check_size(mask.height, mask.width);
    for (std::int64_t y = -reach_y; y <= reach_y; ++y) {
        for (std::int64_t x = -reach_x; x <= reach_x; ++x) {
            const auto px = static_cast<double>(x), py = static_cast<double>(y);
            const double along = std::clamp(px * dx + py * dy, -half, half);
            mask.taps.push_back(std::max(0.0, clean(1 - std::hypot(px - along * dx, py - along * dy))));
        }
    }
    const double sum = std::accumulate(mask.taps.begin(), mask.taps.end(), 0.0);
    for (double& tap : mask.taps) { tap /= sum; }
    return mask;
}

bool is_mask(std::string_view text) {
    if (find_entry(text) != nullptr) { return true; }
    constexpr std::string_view kListCharacters = "0123456789+-.eE,; ";
    return !text.empty() && text.find_first_not_of(kListCharacters) == std::string_view::npos &&
           text.find_first_of("0123456789") != std::string_view::npos;
}

std::string mask_advice(std::string_view text) { return advice_of(kEntries, text); }

Mask parse_mask(std::string_view text) {
    const Named* entry = find_entry(text);
    return entry == nullptr ? parse_rows(text) : made_by(*entry, "mask", text);
}

std::string mask_help() {
    return help_of(kEntries, 24) + "  \"0,-1,0;-1,5,-1;0,-1,0\"  the taps themselves, rows separated by semicolons\n";
}

}  // namespace tapline::design
