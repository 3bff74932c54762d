"""Arrays in GPU memory: whose they are, where they lie, and the calls that read and write them in place.

A library is found by the module of the array's type, so none is imported that the caller does not use. The result is an array of the
signal's library, made by that library's allocator and written on that library's current stream; nothing waits for it.
"""

import collections
import functools
import sys

import numpy as np

from tapline import _core

# A loop of more launches than this is slower than copying the signal to C order, which needs one launch.
_MANY_EXECUTIONS = 16

# Sums below this are exact in float64.
_EXACT_LIMIT = 2**53

Place = collections.namedtuple("Place", "shape strides dtype device address")  # strides in bytes, dtype NumPy's name for it

_OPTIONS = ("mode", "axis", "boundary", "constant", "origin", "accuracy", "scale", "bias", "clamp", "threads")


def _c_strides(shape, itemsize):
    strides = []
    for count in reversed(shape):
        strides.append(itemsize)
        itemsize *= max(count, 1)
    return tuple(reversed(strides))


class _Cupy:
    name = "CuPy"

    def __init__(self, module):
        self.cupy = module

    def place(self, x):
        return Place(x.shape, x.strides, x.dtype.name, x.device.id, x.data.ptr)

    def stream(self, device):
        with self.cupy.cuda.Device(device):
            return self.cupy.cuda.get_current_stream().ptr

    def empty(self, shape, dtype, device):
        with self.cupy.cuda.Device(device):
            return self.cupy.empty(shape, dtype)

    def contiguous(self, x):
        return self.cupy.ascontiguousarray(x)

    def astype(self, x, dtype):
        return x.astype(dtype)

    def assign(self, to, x):
        to[...] = x

    def put(self, x, index, value):
        view = x[index]
        if type(value) is not type(x) or self.place(view).address != self.place(value).address:  # else it was changed in place
            view[...] = value
        return x

    def add(self, x, y):
        x += y
        return x

    def to_host(self, x):
        return self.cupy.asnumpy(x)

    def take(self, x, index, axis):
        return self.cupy.take(x, self.cupy.asarray(index), axis)

    def moveaxis(self, x, source, destination):
        return self.cupy.moveaxis(x, source, destination)

    def flip(self, x, axes):
        return self.cupy.flip(x, axes)

    def conj(self, x):
        return x.conj()

    def address(self, x, stream):
        return x.data.ptr, None

    def finished(self, result, keep):
        return result


class _Torch:
    name = "PyTorch"

    def __init__(self, module):
        self.torch = module

    def place(self, x):
        if x.requires_grad and self.torch.is_grad_enabled():
            raise ValueError("signal: it requires a gradient; use tapline.torch.conv1d, or .detach() it")
        if x.is_conj() or x.is_neg():
            raise ValueError("signal: a lazy view; call .resolve_conj().resolve_neg() on it")
        itemsize = x.element_size()
        dtype = str(x.dtype).removeprefix("torch.")
        return Place(tuple(x.shape), tuple(s * itemsize for s in x.stride()), dtype, x.device.index, x.data_ptr())

    def stream(self, device):
        return self.torch.cuda.current_stream(device).cuda_stream

    def empty(self, shape, dtype, device):
        return self.torch.empty(shape, dtype=getattr(self.torch, dtype), device=f"cuda:{device}")

    def contiguous(self, x):
        return x.contiguous()

    def astype(self, x, dtype):
        return x.to(getattr(self.torch, dtype))

    def assign(self, to, x):
        to.copy_(x)

    def put(self, x, index, value):
        view = x[index]
        if type(value) is not type(x) or self.place(view).address != self.place(value).address:  # else it was changed in place
            view[...] = value
        return x

    def add(self, x, y):
        x += y
        return x

    def to_host(self, x):
        x = x.detach()
        return (x.float() if x.dtype == self.torch.bfloat16 else x).cpu().resolve_conj().numpy()

    def take(self, x, index, axis):
        return self.torch.index_select(x, axis, self.torch.as_tensor(index, device=x.device))

    def moveaxis(self, x, source, destination):
        return self.torch.movedim(x, source, destination)

    def flip(self, x, axes):
        return self.torch.flip(x, axes)

    def conj(self, x):
        return x.conj().resolve_conj()

    def address(self, x, stream):
        return x.data_ptr(), None

    def finished(self, result, keep):
        return result


class _Export:
    """What jax.dlpack.from_dlpack asks: memory of one array whose contents another stream has just been told to write."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **_):
        return self.array.__dlpack__()


class _Jax:
    """JAX shows no stream, so the engine works on the one that JAX waits for when it takes in arrays of others."""

    name = "JAX"

    def __init__(self, module):
        self.jax = module
        self.devices = {}
        self.pending = collections.deque()  # (result, what it reads): kept until the result is ready

    def _device(self, x):
        devices = x.devices()
        if len(devices) != 1:
            raise ValueError(f"signal: spread over {len(devices)} devices; gather it on one (jax.device_put) or call once for each shard")
        return next(iter(devices))

    def place(self, x):
        shape = tuple(x.shape)
        device = self._device(x)
        self.devices[device.local_hardware_id] = device
        return Place(shape, _c_strides(shape, x.dtype.itemsize), x.dtype.name, device.local_hardware_id, x.unsafe_buffer_pointer())

    def stream(self, device):
        return self.devices[device].get_stream_for_external_ready_events()

    def empty(self, shape, dtype, device):
        return self.jax.numpy.empty(shape, dtype, device=self.devices[device])

    def contiguous(self, x):
        return x

    def astype(self, x, dtype):
        return x.astype(dtype)

    def assign(self, to, x):
        raise ValueError("out: JAX arrays cannot be changed; leave out away")

    def put(self, x, index, value):
        return x.at[index].set(value)

    def add(self, x, y):
        return x + y

    def to_host(self, x):
        return np.asarray(x.astype("float32") if x.dtype.name == "bfloat16" else x)

    def take(self, x, index, axis):
        return self.jax.numpy.take(x, index, axis)

    def moveaxis(self, x, source, destination):
        return self.jax.numpy.moveaxis(x, source, destination)

    def flip(self, x, axes):
        return self.jax.numpy.flip(x, axes)

    def conj(self, x):
        return x.conj()

    def address(self, x, stream):
        capsule = x.__dlpack__(stream=stream)  # the stream waits for x; the capsule keeps its memory
        return x.unsafe_buffer_pointer(), capsule

    def finished(self, result, keep):
        result = self.jax.dlpack.from_dlpack(_Export(result))
        while self.pending and self.pending[0][0].is_ready():
            self.pending.popleft()
        self.pending.append((result, keep))
        return result


class _Other:
    """Any library: its arrays are read, and written if the caller gives them as `out`."""

    name = "an unknown library"

    def place(self, x):
        interface = x.__cuda_array_interface__
        dtype = np.dtype(interface["typestr"])
        strides = interface.get("strides") or _c_strides(interface["shape"], dtype.itemsize)
        device = x.__dlpack_device__()[1] if hasattr(x, "__dlpack_device__") else 0
        if interface.get("mask") is not None:
            raise TypeError("signal: a masked array; tapline has no masks")
        return Place(tuple(interface["shape"]), tuple(strides), dtype.name, device, interface["data"][0])

    def stream_of(self, x):
        return x.__cuda_array_interface__.get("stream") or 0

    def _refuse(self, *_):
        raise TypeError("signal: an array of an unknown library must need no conversion, and its result needs `out`; "
                        "or make it an array of CuPy (cupy.asarray), PyTorch or JAX, which costs no copy")

    empty = contiguous = astype = to_host = put = add = take = moveaxis = flip = conj = assign = _refuse

    def address(self, x, stream):
        return x.__cuda_array_interface__["data"][0], None

    def finished(self, result, keep):
        return result


_ROOTS = {"cupy": ("cupy", _Cupy), "torch": ("torch", _Torch), "jax": ("jax", _Jax), "jaxlib": ("jax", _Jax)}
_made = {}


def library_of(x):
    """The library of an array in GPU memory."""
    for each in type(x).__mro__:
        root = each.__module__.partition(".")[0]
        if root in _ROOTS:
            name, kind = _ROOTS[root]
            if name not in _made:
                _made[name] = kind(sys.modules[name])
            return _made[name]
    return _made.setdefault(None, _Other())


def _check_places(values):
    """The signal's library and place; ValueError where arrays lie in different memories."""
    signal = values["signal"]
    on_gpu = {name: values[name] for name in ("signal", "taps", "out") if values.get(name) is not None and _core.is_on_gpu(values[name])}
    if "signal" not in on_gpu:
        other, array = next(iter(on_gpu.items()))
        device = library_of(array).place(array).device
        raise ValueError(f"signal: in host memory, but {other} is on cuda:{device}; move the signal there "
                         "(cupy.asarray, torch's .to, jax.device_put) or the other to host memory")
    library = library_of(signal)
    place = library.place(signal)
    for name in ("taps", "out"):
        if name in on_gpu:
            theirs = library_of(on_gpu[name]).place(on_gpu[name]).device if name == "out" else _device_of_taps(on_gpu[name])
            if theirs != place.device:
                raise ValueError(f"{name}: on cuda:{theirs}, the signal is on cuda:{place.device}; move one of them")
    if values.get("out") is not None and "out" not in on_gpu:
        raise ValueError(f"out: in host memory, the signal is on cuda:{place.device}; give an array there, or copy the result")
    device = values.get("device", "auto")
    if device not in ("auto", "cuda", f"cuda:{place.device}") or (device == "cuda" and place.device != 0):
        raise ValueError(f"device: {device!r}, but the signal is on cuda:{place.device}; leave device away, or move the signal")
    return library, place


def _device_of_taps(taps):
    if hasattr(taps, "__dlpack_device__"):
        return taps.__dlpack_device__()[1]
    return library_of(taps).place(taps).device


def taps_in_host_memory(taps):
    """(array, the name of its type). Taps on a GPU are copied, which waits for them."""
    if _core.is_on_gpu(taps):
        library = library_of(taps)
        dtype = "bfloat16" if "bfloat16" in str(taps.dtype) else None
        taps = library.to_host(taps)
        return taps, dtype or taps.dtype.name
    taps = np.asarray(taps)
    return taps, taps.dtype.name


def _is_integer(dtype):
    return dtype == "bool" or dtype.startswith(("int", "uint"))


def call(function, **values):
    """tapline.convolve or correlate (`function`) where an array is in GPU memory."""
    if isinstance(values["signal"], Array):
        inner = {name: value.own if isinstance(value, Array) else value for name, value in values.items()}
        y = call(function, **inner)
        return values["out"] if values.get("out") is not None else Array(y, values["signal"].library)
    library, place = _check_places(values)
    taps, taps_dtype = taps_in_host_memory(values["taps"])
    out = values.get("out")
    wanted = None if values.get("dtype") is None else getattr(values["dtype"], "name", None) or np.dtype(values["dtype"]).name
    options = {name: values[name] for name in _OPTIONS if values.get(name) is not None}
    signal = values["signal"]
    if out is not None:
        theirs = library_of(out).place(out)
        if wanted is not None and wanted != theirs.dtype:
            raise ValueError(f"dtype: {wanted}, but out has {theirs.dtype}; leave dtype away")
        wanted = theirs.dtype
    if _is_integer(place.dtype) and _is_integer(taps_dtype):
        return _integers(function, library, place, signal, taps, options, wanted, out, values.get("overflow", "error"))
    planned = _core.GpuCall(function, place.shape, place.dtype, taps, taps_dtype, wanted, f"cuda:{place.device}", options)
    return run(library, place, signal, planned, out)


def _integers(function, library, place, signal, taps, options, wanted, out, overflow):
    """Integer sums that float64 holds exactly; others are for the CPU."""
    bits = 1 if place.dtype == "bool" else np.iinfo(place.dtype).bits
    largest = 2 ** (bits if place.dtype.startswith(("u", "b")) else bits - 1)
    sums = largest * sum(abs(int(t)) for t in taps.ravel())
    if bits > 32 or sums >= _EXACT_LIMIT:
        raise TypeError(f"signal: {place.dtype} in GPU memory, with taps whose sums may pass 2^53, is not exact there; convert the signal to "
                        "float64, or copy it to host memory")
    natural = wanted or "int64"
    if _is_integer(natural) and natural != "int64" and overflow != "wrap" and sums > np.iinfo(natural).max:
        raise TypeError(f"dtype: {natural} could overflow, which a GPU does not report; give overflow='wrap' or leave it int64")
    signal = library.astype(signal, "float64")
    options = {**options, "accuracy": "strict"}
    planned = _core.GpuCall(function, place.shape, "float64", taps.astype(np.float64), "float64",
                            "int64" if _is_integer(natural) else natural, f"cuda:{place.device}", options)
    direct = natural == "int64" or not _is_integer(natural)
    y = run(library, library.place(signal), signal, planned, out if direct else None)
    if direct:
        return y
    y = library.astype(y, natural)
    if out is None:
        return y
    library_of(out).assign(out, y)
    return out


def call_plan(plan, signal, out):
    """A tapline.Plan for an array in GPU memory."""
    library, place = _check_places({"signal": signal, "out": out})
    if place.shape != plan.shape:
        raise ValueError("signal: its shape is not the plan's; make a plan for it, or use convolve()")
    planned = plan._on_gpu(place.dtype, f"cuda:{place.device}")
    if out is not None:
        theirs = library_of(out).place(out).dtype
        if theirs != planned.output_type:
            raise TypeError(f"out: elements are {theirs}, the plan writes {planned.output_type}")
    return run(library, place, signal, planned, out)


def run(library, place, signal, planned, out):
    """Executes `planned`; converts and copies on the GPU only what the engine cannot read or write as it lies."""
    if planned.signal_type != place.dtype:
        signal = library.astype(signal, planned.signal_type)
        place = library.place(signal)
    shape = tuple(planned.output_shape)
    work = library.empty(shape, planned.output_type, place.device) if out is None else out
    of_work = library if out is None else _writable(out, shape)
    to = of_work.place(work)
    can_be_read, can_be_written, executions, workspace_bytes = planned.arrange(_read_strides(place), to.strides)
    many = executions > _MANY_EXECUTIONS
    if many or not can_be_read:
        signal = library.contiguous(signal)
        place = library.place(signal)
    if many or not can_be_written:
        of_work, work = library, library.empty(shape, planned.output_type, place.device)
        to = library.place(work)
    if many or not can_be_read or not can_be_written:
        executions, workspace_bytes = planned.arrange(_read_strides(place), to.strides)[2:]
    if executions == 0:
        return work
    stream = library.stream(place.device) if hasattr(library, "stream") else library.stream_of(signal)
    keep = [planned]
    if workspace_bytes > 0:
        workspace = library.empty((workspace_bytes,), "uint8", place.device)
        keep.append(workspace)
    addresses = []
    for owner, array in [(of_work, work), (library, signal)] + ([(library, workspace)] if workspace_bytes > 0 else []):
        address, held = owner.address(array, stream)
        addresses.append(address)
        keep.append(held)
    planned.run(addresses[0], addresses[1], addresses[2] if workspace_bytes > 0 else 0, _handle(stream))
    if out is None:
        return library.finished(work, keep)
    if work is not out:
        library_of(out).assign(out, work)
    return out


def _handle(stream):
    """As the engine takes it: cudaStreamLegacy (1, what DLPack and the CUDA array interface say) is its null stream."""
    return 0 if stream in (None, 1) else stream


def _writable(out, shape):
    library = library_of(out)
    if library.name == "JAX":
        raise ValueError("out: JAX arrays cannot be changed; leave out away")
    theirs = library.place(out).shape
    if theirs != shape:
        raise ValueError(f"out: its shape is {theirs}; this problem's output has {shape}")
    return library


def _read_strides(place):
    return tuple(0 if count == 1 else stride for stride, count in zip(place.strides, place.shape))


class Array:
    """An array in GPU memory as the drop-ins handle it: the little of NumPy's interface that they use."""

    def __init__(self, own, library=None):
        self.own, self.library = own, library or library_of(own)
        place = self.library.place(own)
        if place.dtype == "bfloat16":
            raise TypeError("elements are bfloat16, which NumPy and SciPy do not have; convert to float32, or use tapline.convolve")
        self.shape, self.dtype, self.device = place.shape, np.dtype(place.dtype), place.device

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape)))
    nbytes = property(lambda self: self.size * self.dtype.itemsize)

    def __len__(self):
        return self.shape[0]

    def __dlpack_device__(self):
        return 2, self.device

    def astype(self, dtype, copy=True):
        dtype = np.dtype(dtype)
        return self if dtype == self.dtype and not copy else Array(self.library.astype(self.own, dtype.name), self.library)

    def conj(self):
        return Array(self.library.conj(self.own), self.library) if self.dtype.kind == "c" else self

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        back = [a for a, i in enumerate(index) if isinstance(i, slice) and i.step == -1]  # whole axes: PyTorch has no negative strides
        own = self.library.flip(self.own, tuple(back)) if back else self.own
        return Array(own[tuple(slice(None) if a in back else i for a, i in enumerate(index))], self.library)

    def __setitem__(self, index, value):
        self.own = self.library.put(self.own, index, value.own if isinstance(value, Array) else value)

    def __iadd__(self, other):
        self.own = self.library.add(self.own, _own(other))
        return self

    def __add__(self, other):
        return Array(self.own + _own(other), self.library)

    def __mul__(self, other):
        return Array(self.own * _own(other), self.library)

    def __truediv__(self, other):
        return Array(self.own / _own(other), self.library)

    __rmul__ = __mul__

    def __ne__(self, other):
        return Array(self.own != other, self.library)

    __hash__ = None

    def __array_function__(self, function, types, args, kwargs):
        handler = _HANDLERS.get(function)
        return NotImplemented if handler is None else handler(*args, **kwargs)

    def __array__(self, *_, **__):
        raise TypeError("an array in GPU memory is not copied to the host without being asked; copy it yourself (CuPy: .get(), PyTorch: "
                        ".cpu(), JAX: numpy.asarray)")


def _own(value):
    if isinstance(value, Array):
        return value.own
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _result_type(*arrays):
    return np.result_type(*(a.dtype if hasattr(a, "dtype") else a for a in arrays))


def _take(x, index, axis):
    return Array(x.library.take(x.own, index, axis), x.library)


def _flip(x, axis=None):
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis).tolist()
    return Array(x.library.flip(x.own, tuple(axes)), x.library)


def _moveaxis(x, source, destination):
    return Array(x.library.moveaxis(x.own, source, destination), x.library)


_HANDLERS = {
    np.moveaxis: _moveaxis,
    np.result_type: _result_type,
    np.take: _take,
    np.flip: _flip,
    np.may_share_memory: lambda a, b: True,  # not looked into: the caller then writes to a new array first
}


def asarray(x):
    """numpy.asarray, but an array in GPU memory stays there."""
    if isinstance(x, (np.ndarray, Array)) and not hasattr(x, "__cuda_array_interface__"):
        return x
    return Array(x) if _core.is_on_gpu(x) else np.asarray(x)


def pair(in1, in2):
    """Two arrays of which either may become the filter: if they are on a GPU, the smaller one is brought to the host."""
    in1, in2 = asarray(in1), asarray(in2)
    on_gpu = [isinstance(a, Array) for a in (in1, in2)]
    if not any(on_gpu):
        return in1, in2
    if in1.size >= in2.size:
        return in1, in2 if not on_gpu[1] else taps_in_host_memory(in2.own)[0]
    return in1 if not on_gpu[0] else taps_in_host_memory(in1.own)[0], in2


def host(x):
    """A filter: numpy.asarray, copied from the GPU if it is there."""
    return taps_in_host_memory(x.own if isinstance(x, Array) else x)[0]


def new_like(x, shape, dtype):
    """An uninitialised array in the memory of x."""
    if isinstance(x, Array):
        return Array(x.library.empty(tuple(shape), np.dtype(dtype).name, x.device), x.library)
    return np.empty(shape, dtype)


def zeros_like(x, shape, dtype):
    y = new_like(x, shape, dtype)
    y[...] = 0
    return y


is_on_gpu = _core.is_on_gpu


def is_array(*values):
    return any(isinstance(v, Array) for v in values)


def returns_the_callers_kind(function):
    """A drop-in that may be given, and then gives, arrays in GPU memory."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        return result.own if type(result) is Array else result

    return wrapper
