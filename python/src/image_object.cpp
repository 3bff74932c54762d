#include "image_object.hpp"

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

std::int64_t elements_at(PyArrayObject* array, int axis) {
    return PyArray_DIM(array, axis) == 1 ? 0 : PyArray_STRIDE(array, axis) / PyArray_ITEMSIZE(array);
}

ImagePlan make(const Request& request, PyArrayObject* image, PyArrayObject* out, PyArrayObject* taps,
               std::optional<std::int64_t> origin_y, std::optional<std::int64_t> origin_x) {
    const Dtype taps_type = dtype_of_array(taps, "taps");
    const int own = PyArray_NDIM(taps) - 2;  // 1: a mask for each channel
    ImageProblem problem = common(request.problem);
    problem.batch = PyArray_DIM(image, 0);
    problem.height = PyArray_DIM(image, 1);
    problem.width = PyArray_DIM(image, 2);
    problem.channels = PyArray_DIM(image, 3);
    problem.mask_height = PyArray_DIM(taps, own);
    problem.mask_width = PyArray_DIM(taps, own + 1);
    problem.masks = own == 1 ? Masks::per_channel : Masks::shared;
    problem.origin_y = origin_y;
    problem.origin_x = origin_x;
    problem.dtype = dtype_of_array(image, "image");
    problem.complex_taps = is_complex(taps_type);
    problem.output_dtype = dtype_of_array(out, "out");
    problem.input_image_stride = elements_at(image, 0);
    problem.input_row_stride = elements_at(image, 1);
    problem.output_image_stride = elements_at(out, 0);
    problem.output_row_stride = elements_at(out, 1);
    const Owned converted_taps =
        converted(Owned::borrowed(reinterpret_cast<PyObject*>(taps)), number_of_dtype(taps_dtype(problem)), true);
    const WithoutGil without_gil;
    return make_image_plan(problem, PyArray_DATA(converted_taps.array()), request.options);
}

}  // namespace

ImageObject::ImageObject(const Request& request, PyArrayObject* image, PyArrayObject* out, PyArrayObject* taps,
                         std::optional<std::int64_t> origin_y, std::optional<std::int64_t> origin_x)
    : plan_(make(request, image, out, taps, origin_y, origin_x)) {}

void ImageObject::execute(PyArrayObject* out, PyArrayObject* image) const {
    const WithoutGil without_gil;
    plan_.execute_host(PyArray_DATA(out), PyArray_DATA(image));
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
