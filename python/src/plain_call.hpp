// Calls on arrays in GPU memory that were made before with arrays of the same kind: shapes, strides, types, options and taps are
// compared, and what was arranged then runs. Everything else is for the package's Python, which says what is wrong with a call.
#pragma once

#include <span>
#include <vector>

#include "gpu_views.hpp"

namespace tapline::python {

/// tapline.convolve or correlate (`operation`): a new reference, or null (and no exception) where the call is not plain.
PyObject* plain_call(Operation operation, const Values& values);

/// What tapline.image was given: `options` in its own order.
struct ImageCall {
    PyObject *image, *taps, *out;
    std::span<PyObject* const> options;
};

/// tapline.image as it was called before: a new reference, or null where keep_plain_image() was not told of such a call.
PyObject* plain_image(const ImageCall& image);

/// Remembers, as long as the cache of plans keeps its plan, that this call is one execution of it on the arrays as they lie;
/// `shape` and `dtype`: the output's.
void keep_plain_image(const ImageCall& image, const Plan& plan, const std::vector<npy_intp>& shape, Dtype dtype);

/// Of the calls that are remembered, the latest first: whether each is plain.
std::vector<int> plain_calls();

/// Forgets all that plain_call() remembers.
void clear_plain_calls();

/// What a plan has arranged for arrays of one kind.
class PlainPlans {
public:
    /// As plain_call(), for a signal of the plan's `shape`; `call_for(dtype, device)` gives what the plan has for these.
    template <class CallFor>
    PyObject* run(const std::vector<npy_intp>& shape, PyObject* signal, PyObject* out, const CallFor& call_for);

private:
    struct Arranged {
        View in, out;  // without addresses
        bool has_out = false;
        std::shared_ptr<ArrangedCall> call;  // null: not plain
        Owned shape, dtype;                  // of a new output
    };
    static constexpr std::size_t kMostArranged = 8;
    std::vector<Arranged> known_;  // guarded by the GIL, oldest first
};

/// The output's strides where it is new: C order.
std::vector<npy_intp> packed_strides(const std::vector<npy_intp>& shape, Dtype dtype);

/// Whether two arrays are of one kind, wherever they lie.
bool same_kind(const View& a, const View& b);

/// What a call for arrays of this kind runs, or null where it takes more than one launch. `out` may be null.
std::shared_ptr<ArrangedCall> arrange_plain(GpuCall& call, const View& in, const View* out);

/// Runs it on the library's stream; a new reference to the output, null where the library's current device is another one.
PyObject* run_plain(const GpuLibrary& library, const ArrangedCall& call, PyObject* signal, const View& in, PyObject* out,
                    const View& to, std::uintptr_t taps, PyObject* shape, PyObject* dtype);

/// (10, 3) as Python's tuple.
Owned tuple_of_shape(const std::vector<npy_intp>& shape);

template <class CallFor>
PyObject* PlainPlans::run(const std::vector<npy_intp>& shape, PyObject* signal, PyObject* out, const CallFor& call_for) {
    const GpuLibrary* const library = plain_library_of(Py_TYPE(signal));
    const bool has_out = out != nullptr && out != Py_None;
    View in, to;
    if (library == nullptr || !library->read(signal, in)) { return nullptr; }
    if (has_out && (Py_TYPE(out) != Py_TYPE(signal) || !library->read(out, to))) { return nullptr; }
    for (const Arranged& each : known_) {
        if (each.has_out != has_out || !same_kind(each.in, in) || (has_out && !same_kind(each.out, to))) { continue; }
        if (each.call == nullptr) { return nullptr; }
        const std::shared_ptr<ArrangedCall> call = each.call;
        const Owned kept_shape = Owned::borrowed(each.shape.get()), kept_dtype = Owned::borrowed(each.dtype.get());
        return run_plain(*library, *call, signal, in, out, to, 0, kept_shape.get(), kept_dtype.get());
    }
    if (!std::equal(shape.begin(), shape.end(), in.shape.begin(), in.shape.begin() + in.axes)) { return nullptr; }
    Arranged made{in, to, has_out, nullptr, Owned::borrowed(Py_None), Owned::borrowed(Py_None)};
    try {
        GpuCall& call = call_for(in.dtype, in.device);
        made.call = arrange_plain(call, in, has_out ? &to : nullptr);
        made.shape = tuple_of_shape(call.output_shape());
        made.dtype = Owned(library->dtype_object(call.output_type()));
    } catch (const PythonError&) {
        PyErr_Clear();  // the long way meets it again and says it
    } catch (const Error&) {}
    if (known_.size() == kMostArranged) { known_.erase(known_.begin()); }
    known_.push_back(std::move(made));
    const Arranged& last = known_.back();
    if (last.call == nullptr) { return nullptr; }
    const std::shared_ptr<ArrangedCall> call = last.call;
    const Owned kept_shape = Owned::borrowed(last.shape.get()), kept_dtype = Owned::borrowed(last.dtype.get());
    return run_plain(*library, *call, signal, in, out, to, 0, kept_shape.get(), kept_dtype.get());
}

}  // namespace tapline::python
