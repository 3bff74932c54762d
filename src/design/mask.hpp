// Masks for images that are written, not read from a file.
//
// Masks are in convolution order, as texts and arrays of the command are: convolution turns them by 180 degrees.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapline::design {

struct Mask {
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::vector<double> taps;  ///< row by row
};

/// The outer product of two one-dimensional Gaussians (see gaussian() in design.hpp), sum 1; a sigma of 0 leaves its axis alone.
Mask gaussian_mask(double sigma_y, double sigma_x);

/// height x width taps, sum 1.
Mask box_mask(std::int64_t height, std::int64_t width);

/// The trace of a point that moves by `length` pixels along a line at `degrees` counter-clockwise from the x axis: each tap is one
/// minus its distance to the line, at least 0; sum 1. At 0 degrees a row of `length` equal taps, if length is odd.
Mask motion_mask(double length, double degrees);

/// Whether the text is meant as a mask: a known name (before a colon), or numbers separated by commas and semicolons. Such a
/// text is never taken for a file; "./sharpen" is one.
bool is_mask(std::string_view text);

/// As design_advice() for masks.
std::string mask_advice(std::string_view text);

/// The mask that a text such as "gaussian:2", "sobel-x" or "0,-1,0;-1,5,-1;0,-1,0" stands for. Throws Error (argument) that quotes
/// the text and says what was expected.
Mask parse_mask(std::string_view text);

/// One line for each mask: what it looks like and what it makes. For --help.
std::string mask_help();

}  // namespace tapline::design
