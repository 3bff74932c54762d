// An image's plan for Python; which axes are what, types and caching are Python's part (tapline/_image.py).
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "call.hpp"
#include "plan_cache.hpp"
#include "tapline/image.hpp"

namespace tapline::python {

/// (batch axes, height, width, channels) in memory; strides in elements, 0 along axes of length 1.
struct ImageLayout {
    std::vector<std::int64_t> shape, strides;
    Dtype dtype = Dtype::f32;

    /// An axis by its place from the last one: 0 the channels, 1 pixels of a row, 2 rows, 3 the innermost batch axis.
    [[nodiscard]] std::int64_t count(std::size_t from_last) const { return shape[shape.size() - 1 - from_last]; }
    [[nodiscard]] std::int64_t stride(std::size_t from_last) const { return strides[strides.size() - 1 - from_last]; }
};

/// An array as Python's part tells it: shape, strides in bytes, the name of its type.
using Outline = std::tuple<std::vector<std::int64_t>, std::vector<std::int64_t>, std::string>;
ImageLayout layout_of(const Outline& image, const char* name);

/// `options`: the keyword arguments that images share with signals.
Request image_request(const nanobind::dict& options, bool correlation);

/// A problem and its taps as plans take them.
struct ArrangedImage {
    Problem problem;
    Owned taps;
};

/// As ImageObject's constructor.
ArrangedImage arranged_image(const Request& request, const ImageLayout& image, const ImageLayout& out, PyArrayObject* taps,
                             std::optional<std::int64_t> origin_y, std::optional<std::int64_t> origin_x);

class ImageObject {
public:
    /// `taps`: (height, width), or (channels, height, width). `request`: all but sizes, types and origin. Pixels may lie in any
    /// order; of those that are not packed an axis of the image is the row whose outputs lie closest.
    ImageObject(const Request& request, const ImageLayout& image, const ImageLayout& out, PyArrayObject* taps,
                std::optional<std::int64_t> origin_y, std::optional<std::int64_t> origin_x);

    /// What the cache of plans gave last.
    explicit ImageObject(Plan plan) : plan_(std::move(plan)), kept_(latest_kept_taps()) {}

    /// Arrays in host memory, as the constructor's layouts. The GIL is released.
    void execute(PyArrayObject* out, PyArrayObject* image) const;
    /// The same as a use of the plan that the cache counts, as long as it keeps that; false where it does not, and nothing is done.
    [[nodiscard]] bool execute_again(PyArrayObject* out, PyArrayObject* image) const;
    [[nodiscard]] bool is_kept() const { return !kept_.expired(); }
    /// A GPU's plan, on addresses in its memory, the workspace's a multiple of 64; `stream` is a cudaStream_t. The GIL is released.
    void run(std::uintptr_t out, std::uintptr_t image, std::uintptr_t workspace, std::uintptr_t stream) const;

    [[nodiscard]] const Plan& plan() const { return plan_; }

private:
    Plan plan_;
    std::weak_ptr<const std::vector<std::byte>> kept_;  // the plan's taps in the cache
};

/// (height, width) of the output of so large an image, mask and mode.
ImageSize image_size_of(const Request& request, ImageSize image, ImageSize mask);

}  // namespace tapline::python
