"""Arrays in GPU memory as the drop-ins handle them, and the entry for calls with such arrays."""

import functools
import operator
import typing

import numpy as np

from tapline import _core
from tapline._gpu import calls
from tapline._gpu.calls import taps_in_host_memory
from tapline._gpu.libraries import library_of, name_of

_FLOATING = frozenset({"float32", "float64", "complex64", "complex128"})


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

    def reshape(self, *shape):
        return Array(self.own.reshape(shape), self.library)

    def clip(self, least, largest):
        return Array(self.own.clip(least, largest), self.library)

    def contiguous(self):
        """In C order."""
        return Array(self.library.contiguous(self.own), self.library) if self.ndim > 0 else self

    def beside(self, x):
        """NumPy's array x, copied to the memory of this one."""
        return Array(self._from_host(x), self.library)

    def _from_host(self, x):
        plain = np.require(x, x.dtype.newbyteorder("="), ("C", "W"))  # PyTorch takes no others
        return self.library.from_host(plain, self.device)

    def largest(self):
        """The largest magnitude, for which this waits."""
        if self.size == 0:
            raise ValueError("zero-size array to reduction operation maximum which has no identity")
        narrow = self.dtype.kind in "bu" and self.dtype.itemsize < 8  # PyTorch's have no largest element
        return abs(self.library.astype(self.own, "int64") if narrow else self.own).max().item()

    def conj(self):
        return Array(self.library.conj(self.own), self.library) if self.dtype.kind == "c" else self

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        # Whole axes: PyTorch has no negative strides.
        back = [a for a, i in enumerate(index) if isinstance(i, slice) and i.step == -1]
        own = self.library.flip(self.own, tuple(back)) if back else self.own
        return Array(own[tuple(slice(None) if a in back else i for a, i in enumerate(index))], self.library)

    def __setitem__(self, index, value):
        self.own = self.library.put(self.own, index, value.own if isinstance(value, Array) else value)

    def __iadd__(self, other):
        self.own = self.library.add(self.own, self._beside(other))
        return self

    def __add__(self, other):
        return self._with(operator.add, other)

    def __sub__(self, other):
        return self._with(operator.sub, other)

    def __mul__(self, other):
        return self._with(operator.mul, other)

    def __truediv__(self, other):
        return self._with(operator.truediv, other)

    __rmul__ = __mul__

    def _with(self, operation, other):
        """In the type that NumPy would take: PyTorch divides integers in float32, and JAX adds int64 and float32 there."""
        own, value = self.own, self._beside(other)
        if not self.library.promotes_like_numpy:
            dtype = _result_type(self, other)
            dtype = np.dtype(np.float64) if operation is operator.truediv and dtype.kind in "iub" else dtype
            own = own if dtype == self.dtype else self.library.astype(own, dtype.name)
            if hasattr(other, "dtype") and np.ndim(value) > 0 and other.dtype != dtype:
                value = self.library.astype(value, dtype.name)
        return Array(operation(own, value), self.library)

    def _beside(self, value):
        """What the library can calculate with: its own arrays, numbers, and NumPy's arrays copied to the GPU."""
        if isinstance(value, Array):
            return value.own
        if not isinstance(value, (np.ndarray, np.generic)):
            return value
        if value.ndim > 0:
            return self._from_host(value)
        # PyTorch takes a numpy.complex64 for its real part.
        return np.asarray(value)[()] if self.library.promotes_like_numpy else value.item()

    def __ne__(self, other):
        return Array(self.own != other, self.library)

    __hash__ = None  # type: ignore[assignment]  # Python's way to say that a class has none

    def __array_function__(self, function, types, args, kwargs):
        handler = _HANDLERS.get(function)
        return NotImplemented if handler is None else handler(*args, **kwargs)

    def __array__(self, *_, **__):
        raise TypeError(
            "an array in GPU memory is not copied to the host without being asked; copy it yourself (CuPy: .get(), PyTorch: "
            ".cpu(), JAX: numpy.asarray)"
        )


def call(function, **values):
    """tapline.convolve or correlate (`function`) where an array is in GPU memory."""
    if type(values["signal"]) in (list, tuple):  # parts on several GPUs
        from tapline import devices

        return getattr(devices, function)(**values)
    if not isinstance(values["signal"], Array):
        return calls.call(function, **values)
    y = calls.call(function, **{name: value.own if isinstance(value, Array) else value for name, value in values.items()})
    return values["out"] if values.get("out") is not None else Array(y, values["signal"].library)


call_plan = calls.call_plan
sums_are_exact = calls.sums_are_exact


def _result_type(*arrays):
    return np.result_type(*(a.dtype if hasattr(a, "dtype") else a for a in arrays))


def _take(x, index, axis):
    return Array(x.library.take(x.own, index, axis), x.library)


def _flip(x, axis=None):
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis).tolist()
    return Array(x.library.flip(x.own, tuple(axes)), x.library)


def _moveaxis(x, source, destination):
    return Array(x.library.moveaxis(x.own, source, destination), x.library)


def _may_share_memory(x, y):
    return x.library is not y.library or x.library.may_share_memory(x.own, y.own)


_HANDLERS: dict[typing.Any, typing.Callable] = {
    np.moveaxis: _moveaxis,
    np.result_type: _result_type,
    np.take: _take,
    np.flip: _flip,
    np.may_share_memory: _may_share_memory,
}


def asarray(x):
    """numpy.asarray, but an array in GPU memory stays there."""
    if isinstance(x, (np.ndarray, Array)) and not hasattr(x, "__cuda_array_interface__"):
        return x
    return Array(x) if _core.is_on_gpu(x) else np.asarray(x)


def pair(in1, in2):
    """Two arrays of which either may become the filter. The second is brought to the host if it is another library's; ValueError
    where they are on two GPUs."""
    in1, in2 = asarray(in1), asarray(in2)
    if isinstance(in1, Array) and isinstance(in2, Array):
        if in1.device != in2.device:
            raise ValueError(f"arrays on cuda:{in1.device} and cuda:{in2.device}; move one of them")
        in2 = in2 if in1.library is in2.library else host(in2)
    return in1, in2


def placed(signal, taps):
    """Both where the engine takes them: if one of them is on a GPU, the signal there, so that the result is there, too, and the
    filter in host memory."""
    if not is_array(signal, taps):
        return signal, taps
    return signal if isinstance(signal, Array) else taps.beside(signal), host(taps)


def one_call(function, in1, in2, mode, **options):
    """tapline.convolve or correlate (`function`) of two lines of floating samples, the first on a GPU, the second there too or
    NumPy's; None for other arguments. 'same' is centred as the full result's middle."""
    taps_there = type(in2) is not np.ndarray
    if type(in1) is Array or not _core.is_on_gpu(in1) or (taps_there and not _core.is_on_gpu(in2)):
        return None
    x = library_of(in1).place(in1)
    shape, dtype = library_of(in2).place(in2)[0:3:2] if taps_there else (in2.shape, name_of(in2.dtype))
    if len(x.shape) != 1 or len(shape) != 1 or x.dtype not in _FLOATING or dtype not in _FLOATING or not x.shape[0] >= shape[0] > 1:
        return None
    if mode == "same":
        options["origin"] = shape[0] // 2
    return getattr(_core, function)(in1, in2, mode, **options)


def host(x):
    """A filter: numpy.asarray, copied from the GPU if it is there."""
    x = x.own if isinstance(x, Array) else x
    return taps_in_host_memory(x)[0] if _core.is_on_gpu(x) else np.asarray(x)


def new_like(x, shape, dtype):
    """An uninitialised array in the memory of x."""
    if isinstance(x, Array):
        return Array(x.library.empty(tuple(shape), np.dtype(dtype).name, x.device), x.library)
    return np.empty(shape, dtype)


def zeros_like(x, shape, dtype):
    y = new_like(x, shape, dtype)
    y[...] = 0
    return y


def contiguous(x):
    """An array in C order: x itself, if it is."""
    return x.contiguous() if isinstance(x, Array) else np.asarray(x, order="C")


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
