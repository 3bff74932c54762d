#include "plan_object.hpp"

#include <algorithm>

namespace tapline::python {
namespace {

// Arrangements in memory that a plan remembers beside the contiguous one.
constexpr std::size_t kMaxArrangements = 8;

constexpr std::array kPositional{Keyword::shape, Keyword::taps, Keyword::mode};
constexpr std::array kNamed{Keyword::dtype,    Keyword::axis,    Keyword::boundary,  Keyword::constant, Keyword::origin,
                            Keyword::accuracy, Keyword::device,  Keyword::scale,     Keyword::bias,     Keyword::clamp,
                            Keyword::overflow, Keyword::threads, Keyword::operation, Keyword::effort,   Keyword::algorithm};

std::vector<npy_intp> shape_argument(PyObject* object) {
    if (PyArray_Check(object)) {
        raise(PyExc_TypeError, "shape: an array; give the signal's shape, an integer or a tuple of them");
    }
    std::vector<npy_intp> shape(NPY_MAXDIMS);
    const int axes = PyArray_IntpFromSequence(object, shape.data(), NPY_MAXDIMS);
    if (axes < 0) { throw PythonError{}; }
    if (axes > NPY_MAXDIMS) {
        raise(PyExc_ValueError, "shape: " + std::to_string(axes) + " axes; an array has at most " + std::to_string(NPY_MAXDIMS));
    }
    shape.resize(static_cast<std::size_t>(axes));
    for (const npy_intp count : shape) {
        if (count < 1) { raise(PyExc_ValueError, "shape: " + std::to_string(count) + "; a plan needs at least 1 along each axis"); }
    }
    return shape;
}

// The signal's type where none was given: that of the taps, or float64.
Dtype default_dtype(PyObject* taps) {
    const Owned array = as_array(taps, "taps");
    const Dtype dtype = dtype_of_array(array.array(), "taps");
    return is_integer(dtype) ? Dtype::f64 : dtype;
}

// An array that is only looked at: its strides are those of C order and its memory is never touched.
Owned outline(const std::vector<npy_intp>& shape, Dtype dtype) {
    static std::max_align_t nothing{};
    auto* dims = const_cast<npy_intp*>(shape.data());
    return Owned(PyArray_SimpleNewFromData(static_cast<int>(shape.size()), dims, number_of_dtype(dtype), &nothing));
}

bool same_strides(const Problem& a, const Problem& b) {
    return a.batch == b.batch && a.input_row_stride == b.input_row_stride && a.input_sample_stride == b.input_sample_stride &&
           a.output_row_stride == b.output_row_stride && a.output_sample_stride == b.output_sample_stride &&
           a.taps_row_stride == b.taps_row_stride &&
           std::equal(a.batch_axes.begin(), a.batch_axes.end(), b.batch_axes.begin(), b.batch_axes.end(),
                      [](const BatchAxis& x, const BatchAxis& y) {
                          return x.length == y.length && x.input_stride == y.input_stride && x.output_stride == y.output_stride;
                      });
}

bool same_outer(const Layout& a, const Layout& b) {
    const auto same = [](const Dimension& x, const Dimension& y) {
        return x.count == y.count && x.in_stride == y.in_stride && x.out_stride == y.out_stride;
    };
    return std::equal(a.outer.begin(), a.outer.end(), b.outer.begin(), b.outer.end(), same);
}

}  // namespace

PlanObject::PlanObject(PyObject* arguments, PyObject* named) {
    const Signature signature{"Plan", kPositional, 2, kNamed};
    Values values = collect(signature, arguments, named);
    PyObject* const dtype = values[Keyword::dtype];
    values[Keyword::dtype] = nullptr;  // here it is the signal's, not the output's
    request_ = request_of(values, Operation::convolution);
    input_shape_ = shape_argument(values[Keyword::shape]);
    PyObject* const taps = values[Keyword::taps];
    const Dtype signal = dtype == nullptr || dtype == Py_None ? default_dtype(taps) : dtype_argument(dtype);
    prepared_ = prepare(request_, input_shape_, signal, taps, std::nullopt);
    // The caller may change the array that it gave.
    prepared_.taps = Owned(PyArray_NewCopy(prepared_.taps.array(), NPY_CORDER));
    const Owned in = outline(input_shape_, prepared_.types.signal);
    const Owned out = outline(prepared_.shape.output, *prepared_.problem.output_dtype);
    plans_.push_back(make(prepared_.problem, in.array(), out.array()));
}

// A plan has all its filters, however many: what would be executed with others is folded.
Layout PlanObject::arrange(Problem& problem, PyArrayObject* in, PyArrayObject* out) const {
    Layout layout = arrangement(problem, request_.options, prepared_.shape, in, out, prepared_.taps.array());
    if (!layout.has_one_filter()) { fold_outer(problem, layout); }
    return layout;
}

PlanObject::ForStrides PlanObject::make(Problem problem, PyArrayObject* in, PyArrayObject* out) const {
    Layout layout = arrange(problem, in, out);
    if (!layout.has_one_filter()) {
        raise(PyExc_ValueError,
              "taps: these rows and filters do not form one batch; give signal and taps the same other axes, or use convolve()");
    }
    const WithoutGil without_gil;
    return {problem, std::move(layout), make_plan(problem, PyArray_DATA(prepared_.taps.array()), request_.options)};
}

PlanObject::ForStrides& PlanObject::find(const Problem& wanted, PyArrayObject* in, PyArrayObject* out) {
    const auto same_types = [&](const ForStrides& known) {
        return known.problem.dtype == wanted.dtype && known.problem.output_dtype == wanted.output_dtype;
    };
    if (same_types(plans_.front()) && PyArray_IS_C_CONTIGUOUS(in) && PyArray_IS_C_CONTIGUOUS(out)) { return plans_.front(); }
    Problem problem = wanted;
    const Layout layout = arrange(problem, in, out);
    for (ForStrides& known : plans_) {
        if (same_types(known) && same_strides(known.problem, problem) && same_outer(known.layout, layout)) { return known; }
    }
    ForStrides made = make(wanted, in, out);
    if (plans_.size() > kMaxArrangements) { plans_.erase(plans_.begin() + 1); }
    plans_.push_back(std::move(made));
    return plans_.back();
}

PyObject* PlanObject::execute(PyObject* signal, PyObject* out) {
    const Owned given = as_array(signal, "signal");
    const Dtype dtype = dtype_of_array(given.array(), "signal");
    PyArrayObject* const array = given.array();
    const auto dimensions = static_cast<std::size_t>(PyArray_NDIM(array));
    if (dimensions != input_shape_.size() || !std::equal(input_shape_.begin(), input_shape_.end(), PyArray_DIMS(array))) {
        raise(PyExc_ValueError, "signal: its shape is not the plan's; make a plan for it, or use convolve()");
    }
    if (dtype != prepared_.types.signal &&
        PyArray_CanCastSafely(PyArray_TYPE(array), number_of_dtype(prepared_.types.signal)) == 0) {
        raise(PyExc_TypeError, "signal: elements are " + name_of(array) + ", the plan is for " + to_string(prepared_.types.signal) +
                                   "; convert them or make a plan with dtype='" + name_of(array) + "'");
    }
    // Narrower samples are widened as they are read, by a plan of their own.
    std::optional<Prepared> narrow;
    if (dtype != prepared_.types.signal) {
        narrow = Prepared{prepared_.types, prepared_.shape, prepared_.problem, Owned::borrowed(prepared_.taps.get())};
        keep_narrow(*narrow, dtype, request_.options);
    }
    const Prepared& as_read = narrow ? *narrow : prepared_;
    const Owned in = readable(given, as_read);
    const std::optional<Dtype> out_dtype = dtype_of_out(out);
    if (out_dtype && *out_dtype != prepared_.types.output) {
        raise(PyExc_TypeError,
              std::string("out: elements are ") + to_string(*out_dtype) + ", the plan writes " + to_string(prepared_.types.output));
    }
    Output output = output_of(as_read, out);
    const ForStrides& found = find(as_read.problem, in.array(), output.work.array());
    const Plan plan = found.plan;  // its own references: another thread may add plans while the GIL is released
    if (found.layout.outer.empty()) {
        python::execute(plan, {}, PyArray_DATA(output.work.array()), PyArray_DATA(in.array()));
    } else {
        const Layout layout = found.layout;
        python::execute(plan, layout, PyArray_DATA(output.work.array()), PyArray_DATA(in.array()));
    }
    return output.finish();
}

std::shared_ptr<GpuCall> PlanObject::on_gpu(const std::string& dtype, const std::string& device) {
    for (const OnGpu& known : gpu_calls_) {
        if (known.dtype == dtype && known.device == device) { return known.call; }
    }
    // Up to so many taps whatever the strides.
    constexpr std::int64_t kMostTaps = 8192;
    const std::optional<Dtype> given = dtype_of_name(dtype);
    const bool may_widen = given && is_integer(*given) && size_of(*given) <= 2 && prepared_.problem.taps <= kMostTaps &&
                           stays_as_stored(prepared_.problem, *given);
    std::shared_ptr<GpuCall> call = may_widen ? as_stored(dtype, device) : nullptr;
    if (call == nullptr) { call = std::make_shared<GpuCall>(make_gpu_call(dtype, device, false)); }
    gpu_calls_.push_back({dtype, device, call});
    return call;
}

std::shared_ptr<GpuCall> PlanObject::as_stored(const std::string& dtype, const std::string& device) const {
    auto call = std::make_shared<GpuCall>(make_gpu_call(dtype, device, true));
    try {
        call->arrange(packed_strides(input_shape_, call->signal_type()), packed_strides(call->output_shape(), call->output_type()));
        return call;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) { throw; }
    }
    return nullptr;
}

PyObject* PlanObject::execute_plain(PyObject* signal, PyObject* out) {
    const auto call_for = [this](Dtype dtype, int device) -> GpuCall& {
        return *on_gpu(numpy_name(dtype), "cuda:" + std::to_string(device));
    };
    return plain_.run(input_shape_, signal, out, call_for);
}

GpuCall PlanObject::make_gpu_call(const std::string& dtype, const std::string& device, bool as_stored) const {
    const std::optional<Dtype> given = dtype_of_name(dtype);
    const Dtype own = prepared_.types.signal;
    const std::string& wanted = request_.options.device;
    if (wanted != "auto" && wanted != device && !(wanted == "cuda" && device == "cuda:0")) {
        raise(PyExc_ValueError, "signal: in the memory of " + device + ", the plan is for device='" + wanted +
                                    "'; make a plan with device='" + device + "' or 'auto'");
    }
    const bool is_half = given == Dtype::f16 || given == Dtype::bf16;
    const bool converts = given && !is_half && PyArray_CanCastSafely(number_of_dtype(*given), number_of_dtype(own)) != 0;
    if (!is_half && !converts) {
        raise(PyExc_TypeError, "signal: elements are " + dtype + ", the plan is for " + numpy_name(own) +
                                   "; convert them or make a plan with dtype='" + dtype + "'");
    }
    Types types = prepared_.types;
    const bool widens = as_stored && !is_integer(types.taps) && !types.complex_taps;
    if ((is_half && own == Dtype::f32) || widens) { types.signal = *given; }  // read as it is stored
    Prepared prepared{types, prepared_.shape, prepared_.problem, Owned::borrowed(prepared_.taps.get())};
    prepared.problem.dtype = types.signal;
    if (widens) { prepared.problem.real_taps = types.taps; }
    prepared.problem.output_dtype = types.output;
    return {request_, device, std::move(prepared)};
}

std::string PlanObject::explain() const {
    std::string text = plan().explain();
    const std::int64_t executions = plans_.front().layout.executions();
    if (executions > 1) { text += "executed:  " + std::to_string(executions) + " times for one signal\n"; }
    return text;
}

}  // namespace tapline::python
