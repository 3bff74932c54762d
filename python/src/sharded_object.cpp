#include "sharded_object.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "gpu_call.hpp"
#include "tapline/image.hpp"

namespace nb = nanobind;

namespace tapline::python {
namespace {

using Origin = std::optional<std::int64_t>;

template <class Body>
auto checked(Body body) {
    try {
        return body();
    } catch (const PythonError&) { throw nb::python_error(); }
}

PyArrayObject* array_of(nb::handle object) { return reinterpret_cast<PyArrayObject*>(object.ptr()); }

// Steps over a packed array (before, axes, after).
std::vector<std::int64_t> packed_strides(const std::vector<std::int64_t>& lengths, std::int64_t after) {
    std::vector<std::int64_t> strides(lengths.size() + 1);
    std::int64_t step = after;
    for (std::size_t i = lengths.size(); i-- > 0;) {
        strides[i + 1] = step;
        step *= lengths[i];
    }
    strides[0] = step;
    return strides;
}

// The whole as one packed array.
void lay_out(Problem& problem) {
    std::vector<std::int64_t> in;
    for (const FilteredAxis& axis : problem.axes) { in.push_back(axis.length); }
    const UpTo<std::int64_t, 3> lengths = output_shape(problem);
    const std::int64_t after = problem.batch_axes[1].length;
    const std::vector<std::int64_t> in_strides = packed_strides(in, after);
    const std::vector<std::int64_t> out_strides = packed_strides({lengths.begin(), lengths.end()}, after);
    for (std::size_t i = 0; i < in.size(); ++i) {
        problem.axes[i].input_stride = in_strides[i + 1];
        problem.axes[i].output_stride = out_strides[i + 1];
    }
    problem.batch_axes[0].input_stride = in_strides[0];
    problem.batch_axes[0].output_stride = out_strides[0];
    problem.batch_axes[1].input_stride = problem.batch_axes[1].output_stride = 1;
}

Problem signal_problem(const Problem& prepared, std::int64_t before, std::int64_t after) {
    Problem problem = prepared;
    problem.axes = {{.length = prepared.length, .taps = prepared.taps, .origin = prepared.origin}};
    problem.batch_axes = {{.length = before}, {.length = after}};
    problem.length = problem.taps = 0;
    problem.batch = 1;
    problem.filters = Filters::shared;
    problem.filter_count = 0;
    problem.origin = std::nullopt;
    problem.taps_row_stride = std::nullopt;
    return problem;
}

Problem image_problem(const Request& request, Dtype dtype, std::int64_t before, const std::vector<std::int64_t>& lengths,
                      std::int64_t after, PyArrayObject* taps, const std::vector<Origin>& origins) {
    const int own = PyArray_NDIM(taps) - 2;  // 1: a mask for each channel
    Problem problem = request.problem;
    problem.dtype = dtype;
    problem.complex_taps = is_complex(dtype_of_array(taps, "taps"));
    if (is_integer(dtype)) { problem.real_taps = Dtype::f32; }
    problem.output_dtype = request.output_dtype.value_or(dtype);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        problem.axes.push_back({.length = lengths[i], .taps = PyArray_DIM(taps, own + static_cast<int>(i)), .origin = origins[i]});
    }
    const std::int64_t mask = PyArray_DIM(taps, own) * PyArray_DIM(taps, own + 1);
    problem.batch_axes = {{.length = before}, {.length = after, .taps_stride = own == 1 ? mask : 0}};
    return problem;
}

nb::tuple tuple_of(const Span& span) { return nb::make_tuple(span.first, span.last); }

// (samples, outputs, computed, window, inner, [(part, first, last, position, count, step)])
nb::list parts_as_list(const std::vector<Part>& parts) {
    nb::list list;
    for (const Part& part : parts) {
        nb::list sources;
        for (const Source& s : part.sources) {
            sources.append(nb::make_tuple(s.part, s.samples.first, s.samples.last, s.position, s.count, s.step));
        }
        list.append(nb::make_tuple(tuple_of(part.samples), tuple_of(part.outputs), tuple_of(part.computed), tuple_of(part.window),
                                   tuple_of(part.inner), sources));
    }
    return list;
}

// A plan of one part with the sizes of its arrays.
class PartObject {
public:
    PartObject(PartPlan plan, std::int64_t in_elements, std::int64_t out_elements)
        : plan_(std::move(plan)), in_elements_(in_elements), out_elements_(out_elements) {}

    void execute(PyArrayObject* out, PyArrayObject* in) const {
        const bool packed = PyArray_IS_C_CONTIGUOUS(out) && PyArray_IS_C_CONTIGUOUS(in);
        if (!packed || PyArray_SIZE(out) != out_elements_ || PyArray_SIZE(in) != in_elements_) {
            raise(PyExc_ValueError, "part: its arrays are packed and of the part's sizes");
        }
        const WithoutGil without_gil;
        plan_.execute(PyArray_DATA(out), PyArray_DATA(in));
    }

private:
    PartPlan plan_;
    std::int64_t in_elements_, out_elements_;
};

// `options`: what convolve and image take beside arrays.
Request request_with(const nb::dict& options, bool correlation) {
    constexpr std::array kNamed{Keyword::mode,    Keyword::boundary,  Keyword::constant, Keyword::accuracy,
                                Keyword::device,  Keyword::scale,     Keyword::bias,     Keyword::clamp,
                                Keyword::threads, Keyword::algorithm, Keyword::dtype,    Keyword::overflow};
    const Signature signature{"convolve", {}, 0, kNamed};
    const nb::tuple none = nb::make_tuple();
    return request_of(collect(signature, none.ptr(), options.ptr()), correlation ? Operation::correlation : Operation::convolution);
}

Dtype dtype_named(const std::string& name) {
    const std::optional<Dtype> dtype = dtype_of_name(name);
    if (!dtype) { raise(PyExc_TypeError, "signal: elements are " + name + ", which tapline does not know"); }
    return *dtype;
}

}  // namespace

Problem packed_signal(const Problem& one, std::int64_t before, std::int64_t after) {
    Problem problem = signal_problem(one, before, after);
    lay_out(problem);
    return problem;
}

ShardedObject::ShardedObject(const Request& request, Dtype signal, std::int64_t before, const std::vector<std::int64_t>& lengths,
                             std::int64_t after, PyObject* taps, const std::vector<Origin>& origins) {
    Owned own_taps;
    if (lengths.size() == 1) {
        Request with_origin = request;
        with_origin.problem.origin = origins[0];
        const std::vector<npy_intp> shape{lengths[0]};
        Prepared prepared = prepare(with_origin, shape, signal, taps, std::nullopt);
        keep_narrow(prepared, signal, request.options);  // as of the whole, whose algorithm is that of its type
        types_ = prepared.types;
        problem_ = signal_problem(prepared.problem, before, after);
        own_taps = std::move(prepared.taps);
    } else {
        const Owned given = as_array(taps, "taps");
        problem_ = image_problem(request, signal, before, lengths, after, given.array(), origins);
        types_ = {signal, taps_dtype(problem_), *problem_.output_dtype, problem_.complex_taps};
        own_taps = converted(given, number_of_dtype(types_.taps), true);
    }
    lay_out(problem_);
    const void* const data = PyArray_DATA(own_taps.array());
    const WithoutGil without_gil;
    plan_.emplace(problem_, data, request.options);
    fingerprint_ = tapline::fingerprint(problem_, data, request.options);
}

PartPlan ShardedObject::part(const PartOfArray& part) const {
    std::vector<std::int64_t> in, out;
    for (const auto& axis : part.axes) {
        in.push_back(axis[1] - axis[0]);
        out.push_back(axis[3] - axis[2]);
    }
    const std::vector<std::int64_t> in_strides = packed_strides(in, part.after), out_strides = packed_strides(out, part.after);
    PartShape shape;
    for (std::size_t i = 0; i < part.axes.size(); ++i) {
        const auto& axis = part.axes[i];
        shape.axes.push_back({.samples = {axis[0], axis[1]},
                              .outputs = {axis[2], axis[3]},
                              .input_stride = in_strides[i + 1],
                              .output_stride = out_strides[i + 1]});
    }
    shape.batch_axes = {{.length = part.before, .input_stride = in_strides[0], .output_stride = out_strides[0]},
                        {.length = part.after, .input_stride = 1, .output_stride = 1}};
    return plan_->part(shape);
}

void add_shards(nb::module_& module) {
    nb::class_<PartObject>(module, "PartPlan", "One part's plan: what tapline._parts keeps.")
        .def("execute", [](const PartObject& self, nb::handle out, nb::handle in) {
            checked([&] { self.execute(array_of(out), array_of(in)); });
        });
    nb::class_<ShardedObject>(module, "ShardedPlan", "The plan of a whole array that is computed in parts.")
        .def("__init__",
             [](ShardedObject* self, const nb::dict& options, bool correlation, const std::string& dtype, std::int64_t before,
                const std::vector<std::int64_t>& lengths, std::int64_t after, nb::handle taps, const std::vector<Origin>& origins) {
                 checked([&] {
                     new (self) ShardedObject(request_with(options, correlation), dtype_named(dtype), before, lengths, after,
                                              taps.ptr(), origins);
                 });
             })
        .def_prop_ro("signal_type", [](const ShardedObject& self) { return numpy_name(self.types().signal); })
        .def_prop_ro("sum_type", [](const ShardedObject& self) { return numpy_name(*self.problem().output_dtype); })
        .def_prop_ro("output_type", [](const ShardedObject& self) { return numpy_name(self.types().output); })
        .def_prop_ro("algorithm", [](const ShardedObject& self) { return self.plan().whole().algorithm(); })
        .def_prop_ro("fingerprint", &ShardedObject::fingerprint)
        .def_prop_ro("output_lengths",
                     [](const ShardedObject& self) {
                         const auto shape = output_shape(self.problem());
                         return std::vector<std::int64_t>(shape.begin(), shape.end());
                     })
        .def("explain", [](const ShardedObject& self) { return self.plan().whole().explain(); })
        .def("blocks",
             [](const ShardedObject& self, std::size_t axis) {
                 const Blocks blocks = self.plan().blocks(axis);
                 return nb::make_tuple(blocks.outputs, blocks.lookahead);
             })
        .def("shard",
             [](const ShardedObject& self, std::size_t axis, const std::vector<std::int64_t>& cuts, bool by_blocks) {
                 const Blocks blocks = by_blocks ? self.plan().blocks(axis) : Blocks{};
                 return parts_as_list(tapline::shard(self.problem(), axis, cuts, blocks));
             })
        .def("shard_outputs",
             [](const ShardedObject& self, std::size_t axis, const std::vector<std::int64_t>& cuts,
                const std::vector<std::int64_t>& output_cuts) {
                 return parts_as_list(tapline::shard(self.problem(), axis, cuts, output_cuts, self.plan().blocks(axis)));
             })
        .def("part", [](const ShardedObject& self, std::int64_t before, const std::vector<std::array<std::int64_t, 4>>& axes,
                        std::int64_t after) {
            std::int64_t in = before * after, out = before * after;
            for (const auto& axis : axes) {
                in *= axis[1] - axis[0];
                out *= axis[3] - axis[2];
            }
            return PartObject(self.part({before, after, axes}), in, out);
        });
    module.def("shard", [](std::int64_t n, std::int64_t k, const nb::dict& options, Origin origin,
                           const std::vector<std::int64_t>& cuts, std::pair<std::int64_t, std::int64_t> blocks) {
        Problem problem = checked([&] { return request_with(options, false).problem; });
        problem.length = n;
        problem.taps = k;
        problem.origin = origin;
        return parts_as_list(tapline::shard(problem, 0, cuts, {blocks.first, blocks.second}));
    });
}

}  // namespace tapline::python
