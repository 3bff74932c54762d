// An image's plan for Python; which axes are what, types and caching are Python's part (tapline/_image.py).
#pragma once

#include "call.hpp"
#include "tapline/image.hpp"

namespace tapline::python {

class ImageObject {
public:
    /// `image` and `out` are outlines: arrays of shape (batch, height, width, channels) with the strides that execute()'s will
    /// have, pixels packed. `taps`: (height, width), or (channels, height, width). `request`: all but sizes, types and origin.
    ImageObject(const Request& request, PyArrayObject* image, PyArrayObject* out, PyArrayObject* taps,
                std::optional<std::int64_t> origin_y, std::optional<std::int64_t> origin_x);

    /// Arrays as in the constructor. The GIL is released.
    void execute(PyArrayObject* out, PyArrayObject* image) const;

    [[nodiscard]] const ImagePlan& plan() const { return plan_; }

private:
    ImagePlan plan_;
};

/// (height, width) of the output of so large an image, mask and mode.
ImageSize image_size_of(const Request& request, ImageSize image, ImageSize mask);

}  // namespace tapline::python
