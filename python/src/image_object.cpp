#include "image_object.hpp"

#include "gpu_call.hpp"
#include "plan_cache.hpp"

namespace tapline::python {
namespace {

// What Problem and ImageProblem have in common.
ImageProblem common(const Problem& from) {
    ImageProblem to;
    to.mode = from.mode;
    to.boundary = from.boundary;
    to.constant = from.constant;
    to.operation = from.operation;
    to.scale = from.scale;
    to.bias = from.bias;
    to.clamp = from.clamp;
    return to;
}

Plan make(const Request& request, const ImageLayout& image, const ImageLayout& out, PyArrayObject* taps,
          std::optional<std::int64_t> origin_y, std::optional<std::int64_t> origin_x) {
    const Dtype taps_type = dtype_of_array(taps, "taps");
    const int own = PyArray_NDIM(taps) - 2;  // 1: a mask for each channel
    ImageProblem problem = common(request.problem);
    problem.batch = image.shape[0];
    problem.height = image.shape[1];
    problem.width = image.shape[2];
    problem.channels = image.shape[3];
    problem.mask_height = PyArray_DIM(taps, own);
    problem.mask_width = PyArray_DIM(taps, own + 1);
    problem.masks = own == 1 ? Masks::per_channel : Masks::shared;
    problem.origin_y = origin_y;
    problem.origin_x = origin_x;
    problem.dtype = image.dtype;
    problem.complex_taps = is_complex(taps_type);
    problem.output_dtype = out.dtype;
    problem.input_image_stride = image.image_stride;
    problem.input_row_stride = image.row_stride;
    problem.output_image_stride = out.image_stride;
    problem.output_row_stride = out.row_stride;
    const Owned converted_taps =
        converted(Owned::borrowed(reinterpret_cast<PyObject*>(taps)), number_of_dtype(tapline::taps_dtype(problem)), true);
    return cached_plan(problem, PyArray_DATA(converted_taps.array()), request.options);
}

}  // namespace

ImageObject::ImageObject(const Request& request, const ImageLayout& image, const ImageLayout& out, PyArrayObject* taps,
                         std::optional<std::int64_t> origin_y, std::optional<std::int64_t> origin_x)
    : plan_(make(request, image, out, taps, origin_y, origin_x)) {}

void ImageObject::execute(PyArrayObject* out, PyArrayObject* image) const {
    const WithoutGil without_gil;
    plan_.execute_host(PyArray_DATA(out), PyArray_DATA(image));
}

void ImageObject::run(std::uintptr_t out, std::uintptr_t image, std::uintptr_t workspace, std::uintptr_t stream) const {
    const WithoutGil without_gil;
    plan_.execute(at_address(out), at_address(image), {static_cast<std::byte*>(at_address(workspace)), plan_.workspace_bytes()},
                  at_address(stream));
}

ImageSize image_size_of(const Request& request, ImageSize image, ImageSize mask) {
    ImageProblem problem = common(request.problem);
    problem.height = image.height;
    problem.width = image.width;
    problem.mask_height = mask.height;
    problem.mask_width = mask.width;
    return image_output_size(problem);
}

}  // namespace tapline::python
