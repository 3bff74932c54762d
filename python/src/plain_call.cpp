#include "plain_call.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <list>
#include <span>

#include "plan_cache.hpp"
#include "tapline/convolve.hpp"

namespace tapline::python {
namespace {

// Arguments that decide what is executed, beside the arrays; `device` and `dtype` go the long way.
constexpr std::array kOptions{Keyword::mode,   Keyword::axis,     Keyword::boundary, Keyword::constant,
                              Keyword::origin, Keyword::accuracy, Keyword::scale,    Keyword::bias,
                              Keyword::clamp,  Keyword::overflow, Keyword::threads};
constexpr std::size_t kMostCalls = 32;
enum class Function { convolve, correlate, image };
// Plans of longer taps hold much memory: they, and what is remembered here, stay as long as the cache of plans keeps them.
constexpr std::size_t kMostOwnBytes = std::size_t{256} << 10;
// Places in which long taps are looked at before they are worth a guess.
constexpr std::size_t kPlaces = 64;
// Comparing more is worth giving the GIL away.
constexpr std::size_t kBytesWithoutGil = std::size_t{1} << 20;

// Taps in host memory as they were, or where taps lie in GPU memory.
struct Taps {
    bool there = false;
    View view;  // of those in GPU memory
    int type_number = 0;
    std::vector<npy_intp> shape;
    std::vector<std::byte> bytes;
    bool is_long = false;  // then not `bytes` but:
    std::weak_ptr<const std::vector<std::byte>> kept;
    KeptTaps as_given;  // until they are remembered, where the plan keeps others: converted, or their axis moved
    Owned array;        // a weak reference to an array that cannot be written to, or null
};

struct Call {
    Function function;
    const GpuLibrary* library;
    std::vector<Owned> options;
    View in, out;
    bool has_out = false;
    Taps taps;
    std::shared_ptr<ArrangedCall> call;     // null: not plain
    std::weak_ptr<ArrangedCall> long_call;  // in its place where the cache of plans keeps it
    bool is_refused = false;                // not plain
    Owned shape, dtype;                     // of a new output

    [[nodiscard]] bool is_gone() const { return !is_refused && call == nullptr && long_call.expired(); }
};

// Most recent first; never destroyed; guarded by the GIL.
std::list<Call>& calls() {
    static auto* const list = new std::list<Call>;
    return *list;
}

// Whether two options mean the same: the same object, or equal ones of a plain type.
bool same_option(PyObject* a, PyObject* b) {
    if (a == b) { return true; }
    if (a == nullptr || b == nullptr || Py_TYPE(a) != Py_TYPE(b)) { return false; }
    if (PyFloat_CheckExact(a)) {
        const auto bits = [](PyObject* number) { return std::bit_cast<std::int64_t>(PyFloat_AsDouble(number)); };
        return bits(a) == bits(b);
    }
    if (PyUnicode_CheckExact(a)) { return PyUnicode_Compare(a, b) == 0; }
    if (PyLong_CheckExact(a)) { return PyObject_RichCompareBool(a, b, Py_EQ) == 1; }
    if (!PyTuple_CheckExact(a) || PyTuple_Size(a) != PyTuple_Size(b)) { return false; }
    for (Py_ssize_t i = 0; i < PyTuple_Size(a); ++i) {
        if (!same_option(PyTuple_GetItem(a, i), PyTuple_GetItem(b, i))) { return false; }
    }
    return true;
}

// Of a type whose values cannot change.
bool is_fixed(PyObject* option) {
    if (option == nullptr || option == Py_None || PyUnicode_CheckExact(option) || PyLong_CheckExact(option) ||
        PyFloat_CheckExact(option)) {
        return true;
    }
    if (!PyTuple_CheckExact(option)) { return false; }
    for (Py_ssize_t i = 0; i < PyTuple_Size(option); ++i) {
        if (!is_fixed(PyTuple_GetItem(option, i))) { return false; }
    }
    return true;
}

// Taps as NumPy has them, packed.
bool is_packed(PyObject* taps) {
    if (taps == nullptr || !PyArray_CheckExact(taps)) { return false; }
    auto* const array = reinterpret_cast<PyArrayObject*>(taps);
    return PyArray_ISCARRAY_RO(array) && dtype_of_number(PyArray_TYPE(array)).has_value();
}

bool is_long(PyObject* taps) {
    return static_cast<std::size_t>(PyArray_NBYTES(reinterpret_cast<PyArrayObject*>(taps))) > kMostOwnBytes;
}

// Whether nothing can write to its memory: it is its own, or that of bytes.
bool is_constant(PyObject* taps) {
    auto* const array = reinterpret_cast<PyArrayObject*>(taps);
    if (PyArray_ISWRITEABLE(array)) { return false; }
    PyObject* const base = PyArray_BASE(array);
    return base == nullptr ? PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) : PyBytes_CheckExact(base) != 0;
}

// The first and the last bytes, and some in between.
bool look_the_same(const std::vector<std::byte>& kept, const void* given) {
    constexpr std::size_t kWord = 8;
    const auto* const bytes = static_cast<const std::byte*>(given);
    for (std::size_t i = 0; i < kPlaces; ++i) {
        const std::size_t at = (kept.size() - kWord) / (kPlaces - 1) * i;
        if (std::memcmp(kept.data() + at, bytes + at, kWord) != 0) { return false; }
    }
    return true;
}

bool same_taps(const Taps& known, PyObject* taps, bool there, const View& view) {
    if (known.there != there) { return false; }
    if (there) { return same_kind(known.view, view); }
    auto* const array = reinterpret_cast<PyArrayObject*>(taps);
    const auto axes = static_cast<std::size_t>(PyArray_NDIM(array));
    return known.type_number == PyArray_TYPE(array) && known.shape.size() == axes &&
           std::equal(known.shape.begin(), known.shape.end(), PyArray_DIMS(array)) &&
           (known.is_long || std::memcmp(known.bytes.data(), PyArray_DATA(array), known.bytes.size()) == 0);
}

// With elements, one after the other in C order.
bool is_packed(const View& view) {
    const std::vector<npy_intp> shape(view.shape.begin(), view.shape.begin() + view.axes);
    const std::vector<npy_intp> strides = packed_strides(shape, view.dtype);
    for (std::size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == 0 || (shape[d] > 1 && view.strides[d] != strides[d])) { return false; }
    }
    return true;
}

struct Given {
    const GpuLibrary* library;
    PyObject *signal, *taps, *out;
    bool taps_there, has_out;
    View in, of_taps, to;
};

// False: not a plain call.
bool read(PyObject* signal, PyObject* taps, PyObject* out, Given& given) {
    given.signal = signal;
    given.taps = taps;
    given.out = out;
    given.library = plain_library_of(Py_TYPE(given.signal));
    if (given.library == nullptr) { return false; }
    given.has_out = given.out != nullptr && given.out != Py_None;
    given.taps_there = Py_TYPE(given.taps) == Py_TYPE(given.signal);
    if (given.has_out && Py_TYPE(given.out) != Py_TYPE(given.signal)) { return false; }
    if (!given.taps_there && !is_packed(given.taps)) { return false; }
    if (!given.library->read(given.signal, given.in)) { return false; }
    if (given.has_out && (!given.library->read(given.out, given.to) || given.to.device != given.in.device)) { return false; }
    return !given.taps_there || (given.library->read(given.taps, given.of_taps) && given.of_taps.device == given.in.device);
}

// Long taps of what is found look the same: whether they are is not known.
const Call* find(Function function, std::span<PyObject* const> options, const Given& given) {
    std::list<Call>& all = calls();
    all.remove_if([](const Call& call) { return call.is_gone(); });
    for (auto it = all.begin(); it != all.end(); ++it) {
        if (it->function != function || it->library != given.library || it->has_out != given.has_out ||
            !same_kind(it->in, given.in) || (given.has_out && !same_kind(it->out, given.to))) {
            continue;
        }
        const bool same = std::equal(options.begin(), options.end(), it->options.begin(), it->options.end(),
                                     [](PyObject* now, const Owned& known) { return same_option(known.get(), now); });
        if (!same || !same_taps(it->taps, given.taps, given.taps_there, given.of_taps)) { continue; }
        if (it->taps.is_long && !it->is_refused) {
            const KeptTaps kept = it->taps.kept.lock();
            if (kept == nullptr || !look_the_same(*kept, PyArray_DATA(reinterpret_cast<PyArrayObject*>(given.taps)))) { continue; }
        }
        all.splice(all.begin(), all, it);
        return &all.front();
    }
    return nullptr;
}

// What convolve() would arrange for these arrays, as the long way does it; null where that converts or copies something.
std::shared_ptr<ArrangedCall> arrange(Operation operation, const Values& values, const Given& given, Call& call) {
    auto* const array = given.taps_there ? nullptr : reinterpret_cast<PyArrayObject*>(given.taps);
    const Dtype taps_dtype = given.taps_there ? given.of_taps.dtype : *dtype_of_number(PyArray_TYPE(array));
    // Integers' values decide how exact sums are taken.
    if (given.taps_there && is_integer(given.in.dtype) && is_integer(taps_dtype)) { return nullptr; }
    const Request request = request_of(values, operation);
    const Types types = gpu_types_of(given.in.dtype, taps_dtype, given.has_out ? std::optional(given.to.dtype) : std::nullopt,
                                     stays_as_stored(request.problem, given.in.dtype));
    if (types.signal != given.in.dtype) { return nullptr; }
    const std::vector<npy_intp> shape(given.in.shape.begin(), given.in.shape.begin() + given.in.axes);
    Owned taps = Owned::borrowed(given.taps);
    if (given.taps_there) {
        const View& there = given.of_taps;
        const bool along_last = there.axes == 1 || request.axis == -1 || request.axis == there.axes - 1;
        const bool as_given = types.taps == taps_dtype || (types.taps == Dtype::f32 && is_half(taps_dtype));
        if (!as_given || there.axes == 0 || !along_last || !is_packed(there)) { return nullptr; }
        auto own_shape = there.shape;
        taps = Owned(PyArray_ZEROS(there.axes, own_shape.data(), number_of_dtype(types.taps), 0));
    }
    if (call.taps.is_long) {
        const int last = PyArray_NDIM(array) - 1;
        const bool as_they_are =
            call.taps.type_number == number_of_dtype(types.taps) && (last == 0 || request.axis == -1 || request.axis == last);
        const auto* const from = static_cast<const std::byte*>(PyArray_DATA(array));
        if (!as_they_are) {
            call.taps.as_given = std::make_shared<const std::vector<std::byte>>(from, from + PyArray_NBYTES(array));
        }
    }
    GpuCall made(request, "cuda:" + std::to_string(given.in.device), prepare(request, shape, types, taps), given.taps_there,
                 taps_dtype);
    call.shape = tuple_of_shape(made.output_shape());
    call.dtype = Owned(given.library->dtype_object(made.output_type()));
    return arrange_plain(made, given.in, given.has_out ? &given.to : nullptr);
}

// Everything about a call that can be remembered, but what it runs; nothing where it cannot.
std::optional<Call> outline_of(Function function, std::span<PyObject* const> options, const Given& given) {
    if (plan_cache_info().limit_bytes == 0 || !std::all_of(options.begin(), options.end(), is_fixed)) { return std::nullopt; }
    Call call{};
    for (PyObject* const option : options) { call.options.push_back(option == nullptr ? Owned() : Owned::borrowed(option)); }
    call.function = function;
    call.library = given.library;
    call.in = given.in;
    call.out = given.to;
    call.has_out = given.has_out;
    call.taps.there = given.taps_there;
    call.taps.view = given.of_taps;
    call.shape = Owned::borrowed(Py_None);
    call.dtype = Owned::borrowed(Py_None);
    if (!given.taps_there) {
        auto* const array = reinterpret_cast<PyArrayObject*>(given.taps);
        call.taps.type_number = PyArray_TYPE(array);
        call.taps.shape.assign(PyArray_DIMS(array), PyArray_DIMS(array) + PyArray_NDIM(array));
        call.taps.is_long = is_long(given.taps);
        const auto* const from = static_cast<const std::byte*>(PyArray_DATA(array));
        if (!call.taps.is_long) { call.taps.bytes.assign(from, from + PyArray_NBYTES(array)); }
    }
    return call;
}

std::array<PyObject*, kOptions.size()> options_of(const Values& values) {
    std::array<PyObject*, kOptions.size()> options{};
    std::transform(kOptions.begin(), kOptions.end(), options.begin(), [&](Keyword keyword) { return values[keyword]; });
    return options;
}

Function function_of(Operation operation) { return operation == Operation::correlation ? Function::correlate : Function::convolve; }

// The call for these arrays; nothing where it cannot be remembered.
std::optional<Call> make(Operation operation, const Values& values, const Given& given) {
    std::optional<Call> call = outline_of(function_of(operation), options_of(values), given);
    if (!call) { return call; }
    try {
        call->call = arrange(operation, values, given, *call);
    } catch (const PythonError&) {
        PyErr_Clear();  // the long way meets it again and says it
    } catch (const Error&) {}
    call->is_refused = call->call == nullptr;
    return call;
}

void remember(Call call) {
    std::list<Call>& all = calls();
    all.push_front(std::move(call));
    if (all.size() > kMostCalls) { all.pop_back(); }
}

// Remembers it as long as the cache of plans keeps its plan, which was the last one to be asked for.
void remember_long(Call call, PyObject* taps) {
    if (!call.is_refused) {
        const KeptTaps latest = latest_kept_taps();
        if (latest == nullptr) { return; }
        const KeptTaps as_given = std::exchange(call.taps.as_given, nullptr);
        call.taps.kept = as_given == nullptr ? latest : as_given;
        if (as_given != nullptr) { keep_with_latest(as_given); }
        call.long_call = call.call;
        keep_with_latest(std::exchange(call.call, nullptr));
        if (is_constant(taps)) { call.taps.array = Owned(PyWeakref_NewRef(taps, nullptr)); }
    }
    remember(std::move(call));
}

bool is_the_same_constant(const Taps& known, PyObject* taps) {
    if (known.array.get() == nullptr || !is_constant(taps)) { return false; }
    const Owned now(PyObject_CallNoArgs(known.array.get()));  // what the weak reference refers to, or None
    if (now.get() == nullptr) { throw PythonError{}; }
    return now.get() == taps;
}

PyObject* run(const Given& given, const ArrangedCall& call, PyObject* shape, PyObject* dtype) {
    return run_plain(*given.library, call, given.signal, given.in, given.out, given.to, given.of_taps.address, shape, dtype);
}

// Whether long taps, of as many bytes, are those that were kept.
bool are_as_kept(const std::vector<std::byte>& kept, PyObject* taps) {
    const void* const bytes = PyArray_DATA(reinterpret_cast<PyArrayObject*>(taps));
    const WithoutGil without_gil(kept.size() > kBytesWithoutGil);
    return detail::same_bytes(kept.data(), bytes, kept.size());
}

// Comparing long taps with those of a plan takes the host about as long as the GPU takes with them. So the call goes ahead with
// what looks the same and compares meanwhile; if they have changed, nothing is returned, and the same memory is to be written
// again, in the stream's order, before anyone can read it.
std::optional<PyObject*> run_and_compare(const Given& given, const Call& known, const ArrangedCall& call) {
    const KeptTaps kept = known.taps.is_long ? known.taps.kept.lock() : nullptr;
    const bool compares = kept != nullptr && !is_the_same_constant(known.taps, given.taps);
    const Owned shape = Owned::borrowed(known.shape.get()), dtype = Owned::borrowed(known.dtype.get());
    PyObject* const result = run(given, call, shape.get(), dtype.get());
    if (result == nullptr || kept == nullptr) { return result; }
    Owned guess(result);
    if (compares && !are_as_kept(*kept, given.taps)) { return std::nullopt; }
    count_use(kept);
    return guess.release();
}

PyObject* long_call(Operation operation, const Values& values, const Given& given) {
    const auto bytes = static_cast<std::size_t>(PyArray_NBYTES(reinterpret_cast<PyArrayObject*>(given.taps)));
    if (is_too_long_to_keep(bytes, true)) { return nullptr; }
    const Call* const known = find(function_of(operation), options_of(values), given);
    if (known != nullptr && known->is_refused) { return nullptr; }
    if (known != nullptr) {
        const std::shared_ptr<ArrangedCall> call = known->long_call.lock();
        if (const std::optional<PyObject*> result = run_and_compare(given, *known, *call)) { return *result; }
    }
    std::optional<Call> made = make(operation, values, given);
    if (!made) { return nullptr; }
    const std::shared_ptr<ArrangedCall> first = made->call;
    const Owned shape = Owned::borrowed(made->shape.get()), dtype = Owned::borrowed(made->dtype.get());
    remember_long(std::move(*made), given.taps);
    return first == nullptr ? nullptr : run(given, *first, shape.get(), dtype.get());
}

}  // namespace

bool same_kind(const View& a, const View& b) {
    return a.dtype == b.dtype && a.device == b.device && a.axes == b.axes && a.shape == b.shape && a.strides == b.strides;
}

Owned tuple_of_shape(const std::vector<npy_intp>& shape) {
    Owned tuple(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
    for (std::size_t d = 0; d < shape.size(); ++d) {
        PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(d), Owned(PyLong_FromSsize_t(shape[d])).release());
    }
    return tuple;
}

std::vector<npy_intp> packed_strides(const std::vector<npy_intp>& shape, Dtype dtype) {
    std::vector<npy_intp> strides(shape.size());
    auto step = static_cast<npy_intp>(size_of(dtype));
    for (std::size_t d = shape.size(); d-- > 0;) {
        strides[d] = step;
        step *= std::max<npy_intp>(shape[d], 1);
    }
    return strides;
}

std::shared_ptr<ArrangedCall> arrange_plain(GpuCall& call, const View& in, const View* out) {
    const std::vector<npy_intp>& shape = call.output_shape();
    if (call.signal_type() != in.dtype || (out != nullptr && out->dtype != call.output_type())) { return nullptr; }
    std::vector<npy_intp> from(static_cast<std::size_t>(in.axes)), to = packed_strides(shape, call.output_type());
    for (std::size_t d = 0; d < from.size(); ++d) { from[d] = in.shape[d] == 1 ? 0 : in.strides[d]; }
    if (out != nullptr) {
        if (!std::equal(shape.begin(), shape.end(), out->shape.begin(), out->shape.begin() + out->axes)) { return nullptr; }
        to.assign(out->strides.begin(), out->strides.begin() + out->axes);
    }
    std::shared_ptr<ArrangedCall> arranged = call.arrange(from, to);
    const bool plain = arranged->can_be_read() && arranged->can_be_written() && arranged->executions() == 1;
    return plain ? arranged : nullptr;
}

PyObject* run_plain(const GpuLibrary& library, const ArrangedCall& call, PyObject* signal, const View& in, PyObject* out,
                    const View& to, std::uintptr_t taps, PyObject* shape, PyObject* dtype) {
    Owned result;
    View written = to;
    if (out == nullptr || out == Py_None) {
        PyObject* const made = library.empty(signal, in, shape, dtype);
        if (made == nullptr) { return nullptr; }
        result = Owned(made);
        if (!library.read(made, written)) { return nullptr; }
    } else {
        result = Owned::borrowed(out);
    }
    Owned workspace;
    View scratch;
    if (call.workspace_bytes() > 0) {
        const Owned bytes = tuple_of_shape({static_cast<npy_intp>(call.workspace_bytes())});
        const Owned of_bytes(library.dtype_object(Dtype::u8));
        PyObject* const made = library.empty(signal, in, bytes.get(), of_bytes.get());
        if (made == nullptr) { return nullptr; }
        workspace = Owned(made);
        if (!library.read(made, scratch)) { return nullptr; }
    }
    call.run(written.address, in.address, scratch.address, library.stream(in.device), taps);
    return result.release();
}

PyObject* plain_call(Operation operation, const Values& values) {
    Given given{};
    if (values[Keyword::dtype] != nullptr || values[Keyword::device] != nullptr) { return nullptr; }
    if (!read(values[Keyword::signal], values[Keyword::taps], values[Keyword::out], given)) { return nullptr; }
    if (!given.taps_there && is_long(given.taps)) { return long_call(operation, values, given); }
    const Call* known = find(function_of(operation), options_of(values), given);
    if (known == nullptr) {
        std::optional<Call> made = make(operation, values, given);
        if (!made) { return nullptr; }
        remember(std::move(*made));
        known = &calls().front();
    }
    if (known->call == nullptr) { return nullptr; }
    const std::shared_ptr<ArrangedCall> call = known->call;  // other threads may push this one out meanwhile
    const Owned shape = Owned::borrowed(known->shape.get()), dtype = Owned::borrowed(known->dtype.get());
    return run(given, *call, shape.get(), dtype.get());
}

PyObject* plain_image(const ImageCall& image) {
    Given given{};
    if (!read(image.image, image.taps, image.out, given) || given.taps_there) { return nullptr; }
    const Call* const known = find(Function::image, image.options, given);
    if (known == nullptr) { return nullptr; }
    const std::shared_ptr<ArrangedCall> call = known->long_call.lock();
    return run_and_compare(given, *known, *call).value_or(nullptr);  // the long way writes it again
}

void keep_plain_image(const ImageCall& image, const Plan& plan, const std::vector<npy_intp>& shape, Dtype dtype) {
    Given given{};
    if (!read(image.image, image.taps, image.out, given) || given.taps_there) { return; }
    const KeptTaps latest = latest_kept_taps();
    std::optional<Call> call = latest == nullptr ? std::nullopt : outline_of(Function::image, image.options, given);
    if (!call) { return; }
    if (call->taps.is_long) {
        const auto bytes = static_cast<std::size_t>(PyArray_NBYTES(reinterpret_cast<PyArrayObject*>(image.taps)));
        if (latest->size() != bytes || !are_as_kept(*latest, image.taps)) { return; }  // converted, or moved
        if (latest_kept_taps() != latest) { return; }                                  // another thread's plan came meanwhile
    }
    call->call = std::make_shared<ArrangedCall>(plan);
    call->shape = tuple_of_shape(shape);
    call->dtype = Owned(given.library->dtype_object(dtype));
    remember_long(std::move(*call), image.taps);  // an image's plan may hold much memory, whatever its taps do
}

std::vector<int> plain_calls() {
    std::vector<int> plain;
    for (const Call& call : calls()) { plain.push_back(call.is_refused ? 0 : 1); }
    return plain;
}

void clear_plain_calls() { calls().clear(); }

}  // namespace tapline::python
