// Masks from files and from texts such as "gaussian:2".
#pragma once

#include <cstdint>
#include <string>

#include "cli/shared/elements.hpp"

namespace tapline::cli {

/// One mask or several, one after the other.
struct MaskSet {
    Dtype dtype = Dtype::f64;
    std::int64_t masks = 1;
    std::int64_t height = 0;
    std::int64_t width = 0;
    Bytes data;           ///< masks x height x width elements of dtype
    bool adapts = false;  ///< written, not an array: takes the precision of the image
    std::string description;
};

/// A design (see design/mask.hpp) or a .npy file: (height, width) is one mask, (masks, height, width) one for each channel.
MaskSet load_mask(const std::string& text);

}  // namespace tapline::cli
