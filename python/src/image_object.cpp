#include "image_object.hpp"

#include <array>
#include <cstdlib>
#include <utility>

#include "gpu_call.hpp"
#include "plan_cache.hpp"

namespace tapline::python {
namespace {

// What Problem and ImageProblem have in common.
ImageProblem common(const Problem& from) {
    return {.mode = from.mode,
            .boundary = from.boundary,
            .constant = from.constant,
            .operation = from.operation,
            .scale = from.scale,
            .bias = from.bias,
            .clamp = from.clamp};
}

// What ImageProblem has words for.
bool is_packed(const ImageLayout& l) {
    const std::int64_t row = l.count(1) * l.count(0);
    return l.shape.size() == 4 && (l.count(0) == 1 || l.stride(0) == 1) && (l.count(1) == 1 || l.stride(1) == l.count(0)) &&
           (l.count(2) == 1 || l.stride(2) >= row) && (l.count(3) == 1 || l.stride(3) > 0);
}

std::optional<std::int64_t> stride_of(const ImageLayout& l, std::size_t from_last) {
    return l.count(from_last) == 1 ? std::nullopt : std::optional(l.stride(from_last));
}

// The problem with the steps of both arrays. Whether rows and columns took each other's place.
bool lay_out(Problem& p, const ImageLayout& image, const ImageLayout& out) {
    for (std::size_t i = 0; i < 2; ++i) {
        p.axes[i].input_stride = stride_of(image, 2 - i);
        p.axes[i].output_stride = out.count(2 - i) == 1 ? std::optional<std::int64_t>(1) : stride_of(out, 2 - i);
        if (!p.axes[i].input_stride) { p.axes[i].input_stride = 1; }
    }
    const std::int64_t taps_stride = p.batch_axes[1].taps_stride;
    p.batch_axes = {};
    for (std::size_t from_last = image.shape.size() - 1; from_last != 2; --from_last) {
        if (image.count(from_last) > 1) {
            p.batch_axes.push_back({image.count(from_last), image.stride(from_last), out.stride(from_last), 0});
        }
    }
    if (image.count(0) > 1) { p.batch_axes.push_back({image.count(0), image.stride(0), out.stride(0), taps_stride}); }
    const auto apart = [&](std::size_t from_last) {
        const ImageLayout& l = out.count(1) > 1 && out.count(2) > 1 ? out : image;
        return l.count(from_last) == 1 ? 0 : std::abs(l.stride(from_last));
    };
    const bool swaps = apart(2) < apart(1);
    if (swaps) { std::swap(p.axes[0], p.axes[1]); }
    return swaps;
}

}  // namespace

namespace nb = nanobind;

Request image_request(const nb::dict& options, bool correlation) {
    constexpr std::array kNamed{Keyword::mode,  Keyword::boundary, Keyword::constant, Keyword::accuracy, Keyword::device,
                                Keyword::scale, Keyword::bias,     Keyword::clamp,    Keyword::threads,  Keyword::algorithm};
    const Signature signature{"image", {}, 0, kNamed};
    const nb::tuple none = nb::make_tuple();
    return request_of(collect(signature, none.ptr(), options.ptr()), correlation ? Operation::correlation : Operation::convolution);
}

ImageLayout layout_of(const Outline& image, const char* name) {
    const auto& [shape, strides, dtype] = image;
    ImageLayout layout{shape, strides, known_dtype(name, dtype)};
    const auto size = static_cast<std::int64_t>(size_of(layout.dtype));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) { layout.strides[axis] = shape[axis] == 1 ? 0 : strides[axis] / size; }
    return layout;
}

ArrangedImage arranged_image(const Request& request, const ImageLayout& image, const ImageLayout& out, PyArrayObject* taps,
                             std::optional<std::int64_t> origin_y, std::optional<std::int64_t> origin_x) {
    const Dtype taps_type = dtype_of_array(taps, "taps");
    const int own = PyArray_NDIM(taps) - 2;  // 1: a mask for each channel
    ImageProblem problem = common(request.problem);
    problem.height = image.count(2);
    problem.width = image.count(1);
    problem.channels = image.count(0);
    problem.mask_height = PyArray_DIM(taps, own);
    problem.mask_width = PyArray_DIM(taps, own + 1);
    problem.masks = own == 1 ? Masks::per_channel : Masks::shared;
    problem.origin_y = origin_y;
    problem.origin_x = origin_x;
    problem.dtype = image.dtype;
    problem.complex_taps = is_complex(taps_type);
    problem.output_dtype = out.dtype;
    Owned arranged = Owned::borrowed(reinterpret_cast<PyObject*>(taps));
    Problem laid_out;
    if (is_packed(image) && is_packed(out)) {
        problem.batch = image.count(3);
        problem.input_image_stride = image.stride(3);
        problem.input_row_stride = image.stride(2);
        problem.output_image_stride = out.stride(3);
        problem.output_row_stride = out.stride(2);
        laid_out = problem;
    } else {
        laid_out = problem;
        if (lay_out(laid_out, image, out)) { arranged = Owned(PyArray_SwapAxes(taps, own, own + 1)); }
    }
    return {laid_out, converted(arranged, number_of_dtype(tapline::taps_dtype(laid_out)), true)};
}

ImageObject::ImageObject(const Request& request, const ImageLayout& image, const ImageLayout& out, PyArrayObject* taps,
                         std::optional<std::int64_t> origin_y, std::optional<std::int64_t> origin_x)
    : plan_([&] {
          const ArrangedImage arranged = arranged_image(request, image, out, taps, origin_y, origin_x);
          return cached_plan(arranged.problem, PyArray_DATA(arranged.taps.array()), request.options);
      }()),
      kept_(latest_kept_taps()) {}

void ImageObject::execute(PyArrayObject* out, PyArrayObject* image) const {
    const WithoutGil without_gil;
    plan_.execute_host(PyArray_DATA(out), PyArray_DATA(image));
}

bool ImageObject::execute_again(PyArrayObject* out, PyArrayObject* image) const {
    const KeptTaps kept = kept_.lock();
    if (kept == nullptr) { return false; }
    count_use(kept);
    execute(out, image);
    return true;
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
