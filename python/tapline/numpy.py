"""numpy.convolve and numpy.correlate by tapline.

Names, arguments, result types and errors are NumPy's; integers wrap as NumPy's do. What differs: integers are exact before they
wrap, filters of more than about a hundred taps take an FFT (docs/numerics.md has the error bound) and NaN or infinity stay
where they belong. Element types that tapline does not know (object, longdouble, ...) go to NumPy.
"""

import numpy as _np

from tapline import _fallback, _gpu
from tapline._core import convolve as _convolve
from tapline._core import correlate as _correlate

__all__ = ["convolve", "correlate"]

# NumPy's own, kept here in case that its names are replaced later.
_numpy_convolve = _np.convolve
_numpy_correlate = _np.correlate

_MODES = frozenset(("full", "same", "valid"))
_BY_NUMBER = ("valid", "same", "full")  # NumPy's numbers for them
_FLOATING = frozenset("efdFD")


def _is_mode(mode):
    # NumPy also takes numbers for a mode.
    return type(mode) is str and mode in _MODES


def _is_plain(a, v, mode):
    """Lines of one floating type in host memory, the filter the shorter one: what takes no more than a microsecond is not looked at
    further."""
    return (
        type(a) is _np.ndarray
        and type(v) is _np.ndarray
        and a.ndim == v.ndim == 1
        and a.dtype is v.dtype
        and a.dtype.char in _FLOATING
        and a.size >= v.size > 0
        and _is_mode(mode)
    )


def _mode_of(mode):
    return _BY_NUMBER[mode] if type(mode) is int and 0 <= mode < len(_BY_NUMBER) else mode


def _ours(a, v, mode):
    return _is_mode(mode) and a.ndim == 1 and v.ndim == 1 and _fallback.is_known(a, v)


def _ask_numpy(function, a, v, mode):
    """What tapline does not take over. Of calls with arrays in GPU memory these are NumPy's errors about shapes and modes."""
    if _gpu.is_array(a, v):
        if _fallback.is_known(a, v):
            function(*(_np.zeros([min(n, 1) for n in x.shape], x.dtype) for x in (a, v)), mode)
        _fallback.refuse_gpu(function.__name__, a, v)
    _fallback.asked[f"numpy.{function.__name__}"] += 1
    return function(a, v, mode)


def _run(function, a, v, mode):
    """`function` with NumPy's result type; `a` is at least as long as `v`."""
    a, v = _gpu.placed(a, v)
    if a.dtype == v.dtype and a.dtype.char in _FLOATING:
        return function(a, v, mode)
    dtype = _fallback.result_type(a, v)
    if dtype.kind == "b":
        return function(a, v, mode) != 0
    if dtype.kind in "iu":
        return function(a, v, mode, dtype=dtype, overflow="wrap")
    if a.dtype.kind in "iub" and v.dtype.kind in "iub":  # int64 beside uint64
        a, v = a.astype(dtype), v.astype(dtype)
    return function(a, v, mode)


@_gpu.returns_the_callers_kind
def convolve(a, v, mode="full"):
    """The discrete, linear convolution of two one-dimensional sequences: numpy.convolve.

    Examples
    --------
    >>> import tapline
    >>> tapline.numpy.convolve([1, 2, 3], [0, 1, 0.5])
    array([0. , 1. , 2.5, 4. , 1.5])
    >>> tapline.numpy.convolve([1, 2, 3], [0, 1, 0.5], "same")
    array([1. , 2.5, 4. ])
    """
    if _is_plain(a, v, mode):
        return _convolve(a, v, mode)
    if _is_mode(mode) and (y := _gpu.one_call("convolve", a, v, mode)) is not None:
        return y
    a, v = (x if x.ndim > 0 else x.reshape(1) for x in _gpu.pair(a, v))
    mode = _mode_of(mode)
    if len(a) == 0:
        raise ValueError("a cannot be empty")
    if len(v) == 0:
        raise ValueError("v cannot be empty")
    if not _ours(a, v, mode):
        return _ask_numpy(_numpy_convolve, a, v, mode)
    if len(v) > len(a):
        a, v = v, a
    return _run(_convolve, a, v, mode)


@_gpu.returns_the_callers_kind
def correlate(a, v, mode="valid"):
    """Cross-correlation of two one-dimensional sequences: numpy.correlate.

    Examples
    --------
    >>> import tapline
    >>> tapline.numpy.correlate([1, 2, 3], [0, 1, 0.5])
    array([3.5])
    >>> tapline.numpy.correlate([1, 2, 3], [0, 1, 0.5], "full")
    array([0.5, 2. , 3.5, 3. , 0. ])
    """
    if _is_plain(a, v, mode):
        return _correlate(a, v, mode)
    if _is_mode(mode) and (y := _gpu.one_call("correlate", a, v, mode)) is not None:
        return y
    a, v = _gpu.pair(a, v)
    mode = _mode_of(mode)
    if not _ours(a, v, mode) or len(a) == 0 or len(v) == 0:
        return _ask_numpy(_numpy_correlate, a, v, mode)
    if len(v) > len(a):  # sum of v[t + j] conj(a[t]) is the conjugate of what is asked for, in reverse order
        return _gpu.contiguous(_run(_correlate, v, a, mode)[::-1].conj())
    return _run(_correlate, a, v, mode)
