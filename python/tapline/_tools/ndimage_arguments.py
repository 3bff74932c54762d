"""The arguments of SciPy's functions for images, checked as SciPy does."""

import operator
import warnings
from collections.abc import Iterable

import numpy as np

from tapline import _gpu

_MODES = {
    "nearest": "nearest",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "reflect": "reflect",
    "grid-mirror": "reflect",
    "mirror": "mirror",
    "constant": "constant",
    "grid-constant": "constant",
}


def boundary_of(mode):
    try:
        return _MODES[mode]
    except (KeyError, TypeError):
        raise RuntimeError("boundary mode not supported") from None


def for_each_axis(value, rank):
    """One value for each axis."""
    if not isinstance(value, str) and np.iterable(value):
        values = list(value)
        if len(values) != rank:
            raise RuntimeError("sequence argument must have length equal to input rank")
        return values
    return [value] * rank


def axis_of(axis, ndim):
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def axes_of(axes, ndim):
    if axes is None:
        return tuple(range(ndim))
    is_one = np.isscalar(axes)
    if is_one:
        axes = (operator.index(axes),)
    elif isinstance(axes, Iterable):
        axes = tuple(operator.index(a) for a in axes)
    else:
        raise ValueError("axes must be an integer, iterable of integers, or None")
    for a in axes:
        if not -ndim <= a < ndim:
            raise ValueError(f"specified axis: {a} is out of range")
    axes = tuple(a % ndim for a in axes)
    if len(set(axes)) != len(axes):
        raise ValueError("axes must be unique")
    return axes


def output_of(output, image, is_complex=False):
    """The array that SciPy would return: new, of a given type, or the caller's."""
    if output is None:
        dtype = np.promote_types(image.dtype, np.complex64) if is_complex else image.dtype.newbyteorder("=")
        return _gpu.new_like(image, image.shape, dtype)
    if isinstance(output, (type, np.dtype)):
        dtype = np.dtype(output)
        if is_complex and dtype.kind != "c":
            warnings.warn("promoting specified output dtype to complex", stacklevel=3)
            dtype = np.promote_types(dtype, np.complex64)
        return _gpu.new_like(image, image.shape, dtype)
    if isinstance(output, str):
        dtype = np.dtype(output)
        if is_complex and dtype.kind != "c":
            raise RuntimeError("output must have complex dtype")
        if not issubclass(dtype.type, np.number):
            raise RuntimeError("output must have numeric dtype")
        return _gpu.new_like(image, image.shape, dtype)
    output = _gpu.asarray(output)
    if _gpu.is_array(output) != _gpu.is_array(image):
        raise ValueError("output: in another memory than input; give an array beside it")
    if output.shape != image.shape:
        raise RuntimeError("output shape not correct")
    if is_complex and output.dtype.kind != "c":
        raise RuntimeError("output must have complex dtype")
    return output


def check_constant(cval, image, weights):
    if np.iscomplexobj(cval) and image.dtype.kind != "c":
        if weights.dtype.kind == "c":
            raise ValueError("Cannot provide a complex-valued cval when the input is real.")
        raise TypeError("must be real number, not complex")
