"""Functions of scipy.signal by tapline.

Names, arguments, defaults, result types and errors are SciPy's. Along one axis they are one call of the engine; true
N-dimensional filters take one pass for each row of the filter, or one for each axis if the filter is a product of
one-dimensional ones (docs/python.md). Element types that tapline does not know (object, longdouble, ...) go to SciPy if it is
installed, and so do large N-dimensional filters with an FFT method, at which SciPy is faster.
"""

import math
import operator
import timeit

import numpy as np

from tapline import _fallback, _gpu, _nd
from tapline._core import convolve as _convolve
from tapline._upfirdn import upfirdn

__all__ = [
    "choose_conv_method",
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "correlation_lags",
    "fftconvolve",
    "oaconvolve",
    "upfirdn",
]

_MODES = ("full", "same", "valid")
_METHODS = ("auto", "direct", "fft")
_BAD_MODE = "Acceptable mode flags are 'valid', 'same', or 'full'."
_BAD_METHOD = "Acceptable method flags are 'auto', 'direct', or 'fft'."
_BOUNDARIES = {"fill": "constant", "pad": "constant", "wrap": "wrap", "circular": "wrap", "symm": "reflect", "symmetric": "reflect"}

# By mode: the nanoseconds that SciPy counts for each N log N of an FFT and for each product of a direct sum, and how many more a
# direct sum must take. Those of scipy.signal.choose_conv_method (SciPy 1.17), for lines and for more axes.
_COSTS_OF_LINES = {
    "valid": (1.89095737, 0.21364985, 1e6),
    "full": (1.7649070, 0.21414831, 1e6),
    "same": (3.2646654, 0.28478277, 1e6),
}
_COSTS_OF_LINES_IN_LONGER_ONES = (3.21635404, 11.773253, 1e4)  # 'same', the second array the longer one
_COSTS = {"valid": (1.85927, 21.1242, 1e5), "full": (1.99817, 16.6174, 1e5), "same": (2.04735, 15.5367, 1e5)}

# N-dimensional filters of more passes than this, each over many outputs, are for SciPy's N-dimensional FFT: on a 2-core machine
# 31 x 31 taps on 2048 x 2048 f32 samples took 94 ms in 31 passes and 87 ms there, 217 and 91 ms with the cores shared.
_MANY_PASSES = 16
_MANY_OUTPUTS = 1 << 14


def _must_swap(mode, shape1, shape2, axes):
    """Whether 'valid' takes the second array as the signal. ValueError where neither holds the other."""
    if mode != "valid":
        return False
    first = all(shape1[a] >= shape2[a] for a in axes)
    if not first and not all(shape2[a] >= shape1[a] for a in axes):
        raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
    return not first


def _shape_along(mode, n, k):
    """(outputs, origin after reversal) along one axis; 'same' is centred as the full result's middle."""
    if mode == "full":
        return n + k - 1, k - 1
    return (n, k // 2) if mode == "same" else (n - k + 1, 0)


def _prepared(x, h):
    """Both in types that the engine takes, and the result's type."""
    dtype = _fallback.result_type(x, h)
    if dtype.kind == "f" and x.dtype.kind in "iub" and h.dtype.kind in "iub":  # int64 beside uint64
        return x.astype(dtype), h.astype(dtype), dtype
    if dtype.char == "e" and x.ndim > 1:  # sums of passes in f32
        return x.astype(np.float32), h.astype(np.float32), dtype
    return x, h, dtype


def _convolve_axes(x, h, mode, axes, **options):
    """Convolution over `axes`, all other axes broadcast; NumPy's result type, integers wrap."""
    x, h = _gpu.placed(x, h)
    axes = list(axes)
    if not axes:
        return _product(x, h)
    x, h, dtype = _prepared(x, h)
    if dtype.kind in "iu":
        options["dtype"] = dtype
    pairs = [_shape_along(mode, x.shape[a], h.shape[a]) for a in axes]
    lengths, origins = [p[0] for p in pairs], [p[1] for p in pairs]
    if len(axes) == 1 and dtype.kind not in "iub":
        y = _convolve(x, h, mode, axis=axes[0], origin=origins[0], **options)
    else:
        y = _nd.correlate(x, np.flip(h, axes), axes, lengths, origins, **options)
    if dtype.kind == "b":
        return y != 0
    return y if y.dtype == dtype else y.astype(dtype)


def _product(x, h):
    """x * h in NumPy's type for it, which other libraries' rules for single numbers are not."""
    x, h = _gpu.placed(x, h)
    dtype = _fallback.result_type(x, h)
    return x.astype(dtype, copy=False) * h.astype(dtype, copy=False)


_arrays = _gpu.pair


def _accuracy(method):
    return "strict" if method == "direct" else "standard"


def _one_call(name, in1, in2, mode, method):
    if mode not in _MODES or method not in _METHODS:
        return None
    return _gpu.one_call(name, in1, in2, mode, accuracy=_accuracy(method))


def _check(first, second, names, mode, method):
    """SciPy's errors, in its words."""
    if first.ndim != second.ndim:
        raise ValueError(f"{names} should have the same dimensionality")
    if mode not in _MODES:
        raise ValueError(_BAD_MODE)
    if method not in _METHODS:
        raise ValueError(_BAD_METHOD)


@_gpu.returns_the_callers_kind
def convolve(in1, in2, mode="full", method="auto"):
    """Convolve two N-dimensional arrays: scipy.signal.convolve.

    ``method='direct'`` asks for accuracy='strict', the others for 'standard'; integers are exact with each of them.

    Examples
    --------
    >>> import numpy as np, tapline
    >>> tapline.signal.convolve([1, 2, 3], [0, 1, 0.5], mode="same")
    array([1. , 2.5, 4. ])
    >>> tapline.signal.convolve(np.eye(2, dtype=int), [[1, 1], [1, 1]])
    array([[1, 1, 0],
           [1, 2, 1],
           [0, 1, 1]])
    """
    if (y := _one_call("convolve", in1, in2, mode, method)) is not None:
        return y
    volume, kernel = _arrays(in1, in2)
    if volume.ndim == kernel.ndim == 0:
        return _product(volume, kernel)
    _check(volume, kernel, "volume and kernel", mode, method)
    if not _fallback.is_known(volume, kernel):
        return _fallback.ask_scipy("signal", "convolve", _fallback.types_of(volume, kernel), in1, in2, mode, method)
    if volume.size == 0 or kernel.size == 0:
        return _fallback.ask_about_empty("signal", "convolve", volume, kernel, mode, method)
    if _must_swap(mode, volume.shape, kernel.shape, range(volume.ndim)):
        volume, kernel = kernel, volume
    axes = [a for a in range(volume.ndim) if volume.shape[a] != 1 or kernel.shape[a] != 1] or [0]
    if _better_by_fft(volume, kernel, axes) and method != "direct" and _fallback.result_type(volume, kernel).kind in "fc":
        return _fallback.ask_scipy("signal", "convolve", "a large filter", volume, kernel, mode, method)
    return _convolve_axes(volume, kernel, mode, axes, accuracy=_accuracy(method))


@_gpu.returns_the_callers_kind
def correlate(in1, in2, mode="full", method="auto"):
    """Cross-correlate two N-dimensional arrays: scipy.signal.correlate.

    Examples
    --------
    >>> import tapline
    >>> tapline.signal.correlate([1, 2, 3], [0, 1, 0.5])
    array([0.5, 2. , 3.5, 3. , 0. ])
    """
    if (y := _one_call("correlate", in1, in2, mode, method)) is not None:
        return y
    first, second = _arrays(in1, in2)
    if first.ndim == second.ndim == 0:
        return _product(first, second.conj() if second.dtype.kind == "c" else second)
    _check(first, second, "in1 and in2", mode, method)
    if not _fallback.is_known(first, second):
        return _fallback.ask_scipy("signal", "correlate", _fallback.types_of(first, second), in1, in2, mode, method)
    if first.size == 0 or second.size == 0:
        return _fallback.ask_about_empty("signal", "correlate", first, second, mode, method)
    second = np.flip(second)
    return convolve(first, second.conj() if second.dtype.kind == "c" else second, mode, method)


def _filtered_axes(in1, in2, mode, axes):
    """(in1, in2, axes) of an FFT convolution: swapped if 'valid' wants it, axes without those that only broadcast."""
    everything = axes is None
    if everything:
        axes = range(in1.ndim)
    else:
        try:
            axes = [operator.index(a) for a in (axes if np.iterable(axes) else [axes])]
        except TypeError:
            raise ValueError("axes must be a scalar or iterable of integers") from None
        if any(a >= in1.ndim or a < -in1.ndim for a in axes):
            raise ValueError("axes exceeds dimensionality of input")
        axes = [a % in1.ndim for a in axes]
        if len(set(axes)) != len(axes):
            raise ValueError("all axes must be unique")
        if not axes:
            raise ValueError("when provided, axes cannot be empty")
    s1, s2 = in1.shape, in2.shape
    axes = [a for a in axes if s1[a] != 1 and s2[a] != 1]
    if any(s1[a] != s2[a] and s1[a] != 1 and s2[a] != 1 for a in range(in1.ndim) if a not in axes):
        raise ValueError(f"incompatible shapes for in1 and in2: {s1} and {s2}")
    if _must_swap(mode, s1, s2, axes):
        in1, in2 = in2, in1
    return in1, in2, axes


def _better_by_fft(x, h, axes):
    """Whether SciPy's N-dimensional FFT is the faster way, and there."""
    if len(axes) < 2 or _gpu.is_array(x, h) or _nd.is_image(x, h, axes):
        return False
    if not _fallback.prefer_faster or math.prod(x.shape) < _MANY_OUTPUTS:
        return False
    return (
        _nd.passes_of(h, axes, _fallback.result_type(x, h)) > _MANY_PASSES
        and _fallback.scipy_function("signal", "fftconvolve") is not None
    )


def _by_fft(name, in1, in2, mode, axes):
    if mode in _MODES and axes is None:
        y = _gpu.one_call("convolve", in1, in2, mode)
        if y is not None:
            return y
    x, h = _arrays(in1, in2)
    if x.ndim == h.ndim == 0:
        return _product(x, h)
    if x.ndim != h.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if x.size == 0 or h.size == 0:
        return _gpu.new_like(x if _gpu.is_array(x) else h, (0,), np.float64)
    if not _fallback.is_known(x, h):
        return _fallback.ask_scipy("signal", name, _fallback.types_of(x, h), in1, in2, mode, axes)
    x, h, axes = _filtered_axes(x, h, mode, axes)
    if mode not in _MODES:
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    # SciPy's FFT takes integers as float64 and float16 as float32.
    if axes:
        x, h = (a.astype(np.float64 if a.dtype.kind in "iub" else np.float32) if a.dtype.char not in "fdFD" else a for a in (x, h))
    if _better_by_fft(x, h, axes):
        return _fallback.ask_scipy("signal", name, "a large filter", in1, in2, mode, axes)
    wanted = x.shape  # of 'same' along the axes that only broadcast, too
    if mode == "full" and h.size > x.size:
        x, h = h, x
    y = _convolve_axes(x, h, mode, axes)
    if mode == "full":
        return y
    middle = [slice(None)] * y.ndim
    for a in range(y.ndim):
        if a not in axes and mode == "same" and y.shape[a] != wanted[a]:
            first = (y.shape[a] - wanted[a]) // 2
            middle[a] = slice(first, first + wanted[a])
    return _gpu.contiguous(y[tuple(middle)])


@_gpu.returns_the_callers_kind
def fftconvolve(in1, in2, mode="full", axes=None):
    """Convolve two N-dimensional arrays: scipy.signal.fftconvolve.

    The engine takes an FFT only where that is faster; the result type is that of SciPy's FFT (float64 for integers).

    Examples
    --------
    >>> import tapline
    >>> tapline.signal.fftconvolve([1, 2, 3], [0, 1, 2]).round(12)
    array([0., 1., 4., 7., 6.])
    """
    return _by_fft("fftconvolve", in1, in2, mode, axes)


@_gpu.returns_the_callers_kind
def oaconvolve(in1, in2, mode="full", axes=None):
    """Convolve two N-dimensional arrays of very different sizes: scipy.signal.oaconvolve.

    Examples
    --------
    >>> import numpy as np, tapline
    >>> tapline.signal.oaconvolve(np.ones((2, 4)), [[1.0, 1.0]], mode="valid", axes=1)
    array([[2., 2., 2.],
           [2., 2., 2.]])
    """
    return _by_fft("oaconvolve", in1, in2, mode, axes)


def _costs(x, h, mode):
    """(by FFT, by direct sums), nanoseconds as SciPy estimates them for arrays of these shapes."""
    full = [n + k - 1 for n, k in zip(x, h, strict=False)]
    points, smaller = math.prod(full), min(math.prod(x), math.prod(h))
    if len(x) != 1:
        per_point, per_product, offset = _COSTS[mode]
        valid = math.prod(abs(n - k) + 1 for n, k in zip(x, h, strict=False))
        products = {"full": smaller * points, "valid": smaller * valid, "same": math.prod(x) * math.prod(h)}[mode]
    else:
        n, k = x[0], h[0]
        per_point, per_product, offset = _COSTS_OF_LINES[mode] if mode != "same" or k <= n else _COSTS_OF_LINES_IN_LONGER_ONES
        inside = n * k if n < k else n * k - (k // 2) * ((k + 1) // 2)
        products = {"full": n * k, "valid": (abs(n - k) + 1) * smaller, "same": inside}[mode]
    transforms = 3 * points * math.log(points) if points > 0 else math.inf
    return per_point * transforms, per_product * products - offset


def _largest(x):
    return x.largest() if _gpu.is_array(x) else np.max(np.abs(x))


@_gpu.returns_the_callers_kind
def choose_conv_method(in1, in2, mode="full", measure=False):
    """'fft' or 'direct': what scipy.signal.choose_conv_method answers, from the shapes and, for integers, the largest values.

    tapline's functions do not go by it: their method 'auto' is the engine's own choice, which `tapline.Plan` explains. With
    ``measure=True`` the times are those of `tapline.signal.convolve`.

    Examples
    --------
    >>> import numpy as np, tapline
    >>> tapline.signal.choose_conv_method(np.ones(100_000), np.ones(5000))
    'fft'
    >>> tapline.signal.choose_conv_method(np.ones(100_000), np.ones(5))
    'direct'
    """
    volume, kernel = _arrays(in1, in2)
    if measure:
        times = {}
        for method in ("fft", "direct"):
            timer = timeit.Timer(lambda method=method: convolve(volume, kernel, mode=mode, method=method))
            number, seconds = timer.autorange(None)
            times[method] = seconds / number
        return ("fft" if times["fft"] < times["direct"] else "direct"), times
    kinds = volume.dtype.kind + kernel.dtype.kind
    if "i" in kinds or "u" in kinds:
        sums = int(_largest(volume)) * int(_largest(kernel)) * min(volume.size, kernel.size)
        if sums > 2 ** np.finfo(np.float64).nmant - 1:
            return "direct"
    if kinds == "bb" or not set("buifc").issuperset(kinds):
        return "direct"
    if mode not in _MODES:
        raise ValueError(f"{_BAD_MODE[:-1]}, not mode={mode}")
    by_fft, directly = _costs(volume.shape, kernel.shape, mode)
    return "fft" if by_fft < directly else "direct"


def correlation_lags(in1_len, in2_len, mode="full"):
    """The lags that `correlate`'s outputs belong to: scipy.signal.correlation_lags.

    Examples
    --------
    >>> import tapline
    >>> tapline.signal.correlation_lags(4, 2)
    array([-1,  0,  1,  2,  3])
    """
    if mode == "full":
        return np.arange(1 - in2_len, in1_len)
    if mode == "same":
        first = 1 - in2_len + (in1_len + in2_len - 1) // 2 - in1_len // 2
        return np.arange(first, first + in1_len)
    if mode == "valid":
        difference = in1_len - in2_len
        return np.arange(difference + 1) if difference >= 0 else np.arange(difference, 1)
    raise ValueError(f"Mode {mode} is invalid")


def _in_two_dimensions(name, in1, in2, mode, boundary, fillvalue, reverse):
    x, h = _arrays(in1, in2)
    if not x.ndim == h.ndim == 2:
        raise ValueError(f"{name} inputs must both be 2-D arrays")
    if not _fallback.is_known(x, h):
        return _fallback.ask_scipy("signal", name, _fallback.types_of(x, h), in1, in2, mode, boundary, fillvalue)
    if x.size == 0 or h.size == 0:
        return _fallback.ask_about_empty("signal", name, x, h, mode, boundary, fillvalue)
    swapped = _must_swap(mode, x.shape, h.shape, (0, 1))
    if swapped:
        x, h = h, x
    if mode not in _MODES:
        raise ValueError(_BAD_MODE)
    if boundary not in _BOUNDARIES:
        raise ValueError("Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or 'symm').")
    ours = _BOUNDARIES[boundary]
    x, h, dtype = _prepared(*_gpu.placed(x, h))
    constant = 0
    if ours == "constant":
        constant = _fill_value(fillvalue, dtype)
        ours = "zero" if constant == 0 else ours
    if constant != 0 and x.dtype != dtype:
        x = x.astype(dtype)  # the constant is of the result's type
    w = np.flip(h) if reverse else h.conj()
    pairs = [_shape_along(mode, n, k) for n, k in zip(x.shape, w.shape, strict=True)]
    if mode == "same" and not reverse:  # SciPy's middle is a tap earlier here
        pairs = [(n, (k - 1) // 2) for n, k in zip(x.shape, w.shape, strict=True)]
    options = {"dtype": dtype} if dtype.kind in "iu" else {}
    y = _nd.correlate(x, w, [0, 1], [p[0] for p in pairs], [p[1] for p in pairs], boundary=ours, constant=constant, **options)
    if dtype.kind == "b":
        y = y != 0
    y = y if y.dtype == dtype else y.astype(dtype)
    return y[::-1, ::-1] if swapped and not reverse else y


def _fill_value(fillvalue, dtype):
    value = np.asarray(fillvalue)
    if value.size != 1:
        raise ValueError("`fillvalue` must be scalar or an array with one element.")
    if not np.can_cast(value.dtype, dtype, "same_kind") and value.dtype.kind == "c":
        raise ValueError("could not cast `fillvalue` directly to the output type (it was first converted to complex).")
    return value.reshape(()).astype(dtype).item()


@_gpu.returns_the_callers_kind
def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    """Convolve two two-dimensional arrays: scipy.signal.convolve2d.

    Examples
    --------
    >>> import tapline
    >>> tapline.signal.convolve2d([[1, 2], [3, 4]], [[1, 1]], mode="same", boundary="symm")
    array([[2, 3],
           [6, 7]])
    """
    return _in_two_dimensions("convolve2d", in1, in2, mode, boundary, fillvalue, True)


@_gpu.returns_the_callers_kind
def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    """Cross-correlate two two-dimensional arrays: scipy.signal.correlate2d.

    Examples
    --------
    >>> import tapline
    >>> tapline.signal.correlate2d([[1, 2], [3, 4]], [[0, 1]], mode="valid")
    array([[2],
           [4]])
    """
    return _in_two_dimensions("correlate2d", in1, in2, mode, boundary, fillvalue, False)
