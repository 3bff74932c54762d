"""Functions of scipy.ndimage by tapline.

Names, arguments, defaults, result types and errors are SciPy's. What differs: floating images are filtered in their own
precision (SciPy works in float64 throughout); where the result is an integer type, sums are exact if image and weights are
integers, else taken in float64, and a sum within 1e-14 (relative) below an integer counts as that integer when it is truncated.
`uniform_filter` adds up each window by itself, in pairs of pairs, so no rounding error is carried along a line.
"""

import functools
import numbers
import operator
from collections.abc import Iterable

import numpy as np

from tapline import _core, _fallback, _gpu, _host_calls, _nd
from tapline._gpu import programs
from tapline._tools.ndimage_arguments import axes_of, axis_of, boundary_of, check_constant, for_each_axis, output_of
from tapline._tools.ndimage_sums import correlate_at_once, correlate_into

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "laplace",
    "prewitt",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]


def _line(axis, weights, mode, origin=0, divisor=1):
    """One axis of a filter, as the engine's passes take it."""
    weights = np.asarray(weights)
    return programs.Line((axis,), weights, (len(weights) // 2 + operator.index(origin),), (boundary_of(mode),), divisor)


def _in_turn(image, output, steps):
    """step(from, to) for each of them, from the image over arrays of the output's type to the output."""
    between = None
    for left, step in zip(reversed(range(len(steps))), steps, strict=True):
        to = output
        if not _gpu.is_array(image) and left % 2 == 1:
            to = between = np.empty(output.shape, output.dtype) if between is None else between
        elif not _gpu.is_array(image) and left > 0 and np.may_share_memory(image, output):
            to = np.empty(output.shape, output.dtype)
        step(image, to)
        image = to


def _known(image, output, weights=None):
    """Whether tapline can serve this; `output` is the array that the caller gave or got."""
    return _fallback.is_known(image, output) and (weights is None or _fallback.is_known(weights))


def _goes_in_passes(image, output, cval):
    """Whether the engine's passes over arrays in GPU memory may serve this."""
    return _gpu.is_array(image) and _known(image, output) and not np.iscomplexobj(cval)


def _correlate1d(image, weights, axis, output, mode, cval, origin):
    """correlate1d without its conjugation: `image` and `weights` are arrays, `output` is one of them to write to."""
    if weights.ndim != 1 or weights.shape[0] < 1:
        raise RuntimeError("no filter weights given")
    axis = axis_of(axis, image.ndim)
    k = len(weights)
    if origin < -(k // 2) or origin > (k - 1) // 2:
        raise ValueError("Invalid origin; origin must satisfy -(len(weights) // 2) <= origin <= (len(weights)-1) // 2")
    shape = [1] * image.ndim
    shape[axis] = k
    correlate_into(image, weights.reshape(shape), [axis], [k // 2 + operator.index(origin)], output, boundary_of(mode), cval)
    return output


@programs.remembers
def correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """One-dimensional correlation along an axis: scipy.ndimage.correlate1d.

    Examples
    --------
    >>> import tapline
    >>> tapline.ndimage.correlate1d([2, 8, 0, 4, 1, 9, 9, 0], weights=[1, 3])
    array([ 8, 26,  8, 12,  7, 28, 36,  9])
    """
    image, weights = _gpu.asarray(input), _gpu.host(weights)
    is_complex = image.dtype.kind == "c" or weights.dtype.kind == "c"
    output = output_of(output, image, is_complex)
    if not _known(image, output, weights):
        why = _fallback.types_of(image, weights, output)
        return _fallback.ask_scipy("ndimage", "correlate1d", why, input, weights, axis, output, mode, cval, origin)
    if is_complex:
        check_constant(cval, image, weights)
    return _correlate1d(image, weights.conj(), axis, output, mode, cval, origin)


@programs.remembers
def convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """One-dimensional convolution along an axis: scipy.ndimage.convolve1d.

    Examples
    --------
    >>> import tapline
    >>> tapline.ndimage.convolve1d([2, 8, 0, 4, 1, 9, 9, 0], weights=[1, 3])
    array([14, 24,  4, 13, 12, 36, 27,  0])
    """
    weights = _gpu.host(weights)[::-1]
    origin = -origin
    if not weights.shape[0] & 1:
        origin -= 1
    return correlate1d(input, weights.conj(), axis, output, mode, cval, origin)


def _nd_filter(name, input, weights, output, mode, cval, origin, convolution, axes):
    image, weights = _gpu.asarray(input), _gpu.host(weights)
    is_complex = image.dtype.kind == "c" or weights.dtype.kind == "c"
    if not _fallback.is_known(image, weights):
        why = _fallback.types_of(image, weights)
        return _fallback.ask_scipy("ndimage", name, why, input, weights, output, mode, cval, origin, axes=axes)
    if is_complex:  # as SciPy has it, before the axes are looked at
        output = output_of(output, image, is_complex)
    which = axes_of(axes, image.ndim)
    origins = for_each_axis(origin, len(which))
    if weights.ndim != len(which) and (len(which) < image.ndim or weights.ndim != image.ndim):
        raise RuntimeError(f"weights.ndim ({weights.ndim}) must match len(axes) ({len(which)})")
    if weights.size == 0:
        raise RuntimeError(f"weights.ndim ({np.count_nonzero(weights.shape)}) must match len(axes) ({len(which)})")
    if is_complex:
        check_constant(cval, image, weights)
    shape = [1] * image.ndim
    places = []
    # As SciPy has it: the weights' axes go with the image's in order, and so do origins if there is one for each axis of the image;
    # those of some axes go with these as they were given.
    origin_of = dict(zip(which if len(which) < image.ndim else sorted(which), origins, strict=True))
    which = sorted(which)
    for a, k in zip(which, weights.shape, strict=True):
        o = operator.index(origin_of[a])
        if convolution:
            o = -o if k & 1 else -o - 1
        if o < -(k // 2) or o > (k - 1) // 2:
            raise ValueError(
                "Invalid origin; origin must satisfy -(weights.shape[k] // 2) <= origin[k] <= (weights.shape[k]-1) // 2"
            )
        shape[a] = k
        places.append(k // 2 + o)
    output = output if is_complex else output_of(output, image)
    if not _fallback.is_known(output):
        why = _fallback.types_of(output)
        return _fallback.ask_scipy("ndimage", name, why, input, weights, output, mode, cval, origin, axes=axes)
    if not isinstance(mode, str) and isinstance(mode, Iterable):
        raise RuntimeError("A sequence of modes is not supported")
    boundary = boundary_of(mode)
    weights = (np.flip(weights) if convolution else weights.conj()).reshape(shape)
    if image.ndim == 0:
        output[...] = image * weights
    else:
        which, places = (which, places) if which else ([0], [0])  # no axes: one weight
        correlate_into(image, weights, which, places, output, boundary, cval)
    return output


@programs.remembers
def correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """Multidimensional correlation: scipy.ndimage.correlate.

    Examples
    --------
    >>> import numpy as np, tapline
    >>> tapline.ndimage.correlate(np.arange(9).reshape(3, 3), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    array([[ 4,  7, 10],
           [13, 16, 19],
           [22, 25, 28]])
    """
    return _nd_filter("correlate", input, weights, output, mode, cval, origin, False, axes)


@programs.remembers
def convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """Multidimensional convolution: scipy.ndimage.convolve.

    Examples
    --------
    >>> import numpy as np, tapline
    >>> tapline.ndimage.convolve(np.eye(3), np.ones((3, 3)), mode="constant")
    array([[2., 2., 1.],
           [2., 3., 2.],
           [1., 2., 2.]])
    """
    return _nd_filter("convolve", input, weights, output, mode, cval, origin, True, axes)


def _half(sigma, truncate, radius):
    """Samples to either side of a Gaussian's middle."""
    half = int(truncate * float(sigma) + 0.5) if radius is None else radius
    if not isinstance(half, numbers.Integral) or half < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    return half


def _gaussian(sigma, order, radius):
    """The order-th derivative of a Gaussian, sampled at -radius .. radius; the Gaussian's own samples sum to 1."""
    if order < 0:
        raise ValueError("order must be non-negative")
    variance = sigma * sigma
    x = np.arange(-radius, radius + 1)
    bell = np.exp(-0.5 / variance * x**2)
    bell = bell / bell.sum()
    if order == 0:
        return bell
    # (p g)' = (p' - x p / variance) g for a polynomial p.
    p = np.polynomial.Polynomial([1.0])
    for _ in range(order):
        p = p.deriv() - np.polynomial.Polynomial([0, 1 / variance]) * p
    return p(x) * bell


@programs.remembers
def gaussian_filter1d(input, sigma, axis=-1, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None):
    """One-dimensional Gaussian filter: scipy.ndimage.gaussian_filter1d.

    Examples
    --------
    >>> import tapline
    >>> tapline.ndimage.gaussian_filter1d([1.0, 2.0, 3.0, 4.0, 5.0], 1).round(6)
    array([1.427041, 2.067822, 3.      , 3.932178, 4.572959])
    """
    return correlate1d(input, _gaussian(sigma, order, _half(sigma, truncate, radius))[::-1], axis, output, mode, cval, 0)


@programs.remembers
def gaussian_filter(input, sigma, order=0, output=None, mode="reflect", cval=0.0, truncate=4.0, *, radius=None, axes=None):
    """Multidimensional Gaussian filter, an axis at a time: scipy.ndimage.gaussian_filter.

    Examples
    --------
    >>> import numpy as np, tapline
    >>> tapline.ndimage.gaussian_filter(np.arange(0, 18, 2).reshape(3, 3), 1)
    array([[ 2,  4,  5],
           [ 6,  8,  9],
           [ 9, 11, 12]])
    """
    image = _gpu.asarray(input)
    output = output_of(output, image)
    axes = axes_of(axes, image.ndim)
    each = zip(axes, *(for_each_axis(v, len(axes)) for v in (sigma, order, mode, radius)), strict=True)
    each = [one for one in each if one[1] > 1e-15]
    if each and _goes_in_passes(image, output, cval):
        lines = [_line(a, _gaussian(s, o, _half(s, truncate, r))[::-1], m) for a, s, o, m, r in each]
        if programs.filtered(image, output, lines, cval, all(o == 0 for _, _, o, _, _ in each)):
            return output
    if len(each) == 2 and all(o == 0 for _, _, o, _, _ in each):
        halves = [int(truncate * float(s) + 0.5) if r is None else r for _, s, _, _, r in each]
        lines = [
            _gaussian(s, 0, h)
            for (_, s, _, _, _), h in zip(each, halves, strict=True)
            if isinstance(h, numbers.Integral) and h >= 0
        ]
        if len(lines) == 2 and _as_image(image, lines, [e[0] for e in each], [e[3] for e in each], halves, output, cval):
            return output

    def line(axis, s, o, m, r):
        return lambda a, b: gaussian_filter1d(a, s, axis, o, b, m, cval, truncate, radius=r)

    _in_turn(image, output, [line(*one) for one in each])
    if not each:
        output[...] = image
    return output


@programs.remembers
def uniform_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    """One-dimensional mean of `size` samples: scipy.ndimage.uniform_filter1d.

    Examples
    --------
    >>> import tapline
    >>> tapline.ndimage.uniform_filter1d([2, 8, 0, 4, 1, 9, 9, 0], size=3)
    array([4, 3, 4, 1, 4, 6, 6, 3])
    """
    image = _gpu.asarray(input)
    axis = axis_of(axis, image.ndim)
    if size < 1:
        raise RuntimeError("incorrect filter size")
    output = output_of(output, image, image.dtype.kind == "c")
    if not 0 <= size // 2 + origin < size:
        raise ValueError("invalid origin")
    boundary = boundary_of(mode)
    if not _known(image, output):
        why = _fallback.types_of(image, output)
        return _fallback.ask_scipy("ndimage", "uniform_filter1d", why, input, size, axis, output, mode, cval, origin)
    if image.dtype.kind != "c" and np.iscomplexobj(cval):
        raise TypeError("must be real number, not complex")
    shape = [1] * image.ndim
    shape[axis] = operator.index(size)
    weights = np.ones(shape, np.int64 if image.dtype.kind in "iub" else np.float64)
    correlate_into(image, weights, [axis], [size // 2 + operator.index(origin)], output, boundary, cval, divisor=size)
    return output


@programs.remembers
def uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """Multidimensional mean, an axis at a time: scipy.ndimage.uniform_filter.

    Examples
    --------
    >>> import numpy as np, tapline
    >>> tapline.ndimage.uniform_filter(np.arange(9.0).reshape(3, 3), 3).round(3)
    array([[1.333, 2.   , 2.667],
           [3.333, 4.   , 4.667],
           [5.333, 6.   , 6.667]])
    """
    image = _gpu.asarray(input)
    output = output_of(output, image, image.dtype.kind == "c")
    axes = axes_of(axes, image.ndim)
    each = zip(axes, *(for_each_axis(v, len(axes)) for v in (size, origin, mode)), strict=True)
    each = [one for one in each if one[1] > 1]
    if each and _goes_in_passes(image, output, cval):
        if not all(0 <= int(s) // 2 + operator.index(o) < int(s) for _, s, o, _ in each):
            raise ValueError("invalid origin")
        lines = [_line(a, np.ones(int(s)), m, o, int(s)) for a, s, o, m in each]
        if programs.filtered(image, output, lines, cval, True):
            return output
    if len(each) == 2 and max(int(s) for _, s, _, _ in each) < _LONG_MEAN:
        places = [int(s) // 2 + operator.index(o) for _, s, o, _ in each]
        lines = [np.full(int(s), 1 / int(s)) for _, s, _, _ in each]
        inside = all(0 <= place < int(s) for place, (_, s, _, _) in zip(places, each, strict=True))
        if inside and _as_image(image, lines, [e[0] for e in each], [e[3] for e in each], places, output, cval):
            return output

    def line(axis, s, o, m):
        return lambda a, b: uniform_filter1d(a, int(s), axis, b, m, cval, o)

    _in_turn(image, output, [line(*one) for one in each])
    if not each:
        output[...] = image
    return output


# Means of so many samples and more are sums by doubling, an axis at a time.
_LONG_MEAN = 65

# A line of this many taps and more is taken as it is: its mask's singular values would cost more than the passes they save.
_LONG_LINE = 257


def _as_image(image, lines, axes, modes, places, output, cval):
    """Means over two axes as one filter of the engine's images, whose rank it finds; False where the axes are to go one by one.

    The lines sum to 1, so that a constant beyond the edges is the same constant after the first of them.
    """
    if image.dtype.char not in "fd" or output.dtype != image.dtype or modes[0] != modes[1]:
        return False
    if np.iscomplexobj(cval) or max(len(line) for line in lines) >= _LONG_LINE or not isinstance(modes[0], str):
        return False
    shape = [1] * image.ndim
    for axis, line in zip(axes, lines, strict=True):
        shape[axis] = len(line)
    if axes[0] > axes[1]:
        axes, lines, places = axes[::-1], lines[::-1], places[::-1]
    mask = np.multiply.outer(*lines).reshape(shape)
    if not _nd.is_image(image, mask, axes):
        return False
    correlate_into(image, mask, list(axes), list(places), output, boundary_of(modes[0]), cval)
    return True


def _derivative_at_once(image, axis, output, modes, cval, across):
    """Whether a derivative was taken by one mask, with the same bits of integers and the same places that are not finite."""
    same_kind = (image.dtype.kind in "iu") == (output.dtype.kind in "iu") and "b" not in (image.dtype.kind, output.dtype.kind)
    # The mask of a volume has more taps than its lines; of 64-bit integers these would pass what is summed in float64.
    few = image.ndim == 2 or (image.ndim == 3 and image.dtype.kind in "iu" and image.dtype.itemsize == 8)
    if not isinstance(image, np.ndarray) or image.size == 0 or not same_kind or not few or not _known(image, output):
        return False
    boundaries = [boundary_of(mode) for mode in modes]
    if "constant" in boundaries and (np.iscomplexobj(cval) or cval != 0):
        return False
    lines = [[-1, 0, 1] if a == axis else across for a in range(image.ndim)]
    mask = functools.reduce(np.multiply.outer, lines)
    return correlate_at_once(image, mask, list(range(image.ndim)), [1] * image.ndim, output, boundaries, 0.0)


def _derivative(input, axis, output, mode, cval, across):
    image = _gpu.asarray(input)
    axis = axis_of(axis, image.ndim)
    output = output_of(output, image)
    modes = for_each_axis(mode, image.ndim)
    if _goes_in_passes(image, output, cval):
        lines = [_line(a, [-1, 0, 1] if a == axis else across, modes[a]) for a in range(image.ndim)]
        if programs.filtered(image, output, lines[axis : axis + 1] + lines[:axis] + lines[axis + 1 :], cval):
            return output
    if _derivative_at_once(image, axis, output, modes, cval, across):
        return output

    def line(along, weights):
        return lambda a, b: correlate1d(a, weights, along, b, modes[along], cval, 0)

    others = [line(other, across) for other in range(image.ndim) if other != axis]
    _in_turn(image, output, [line(axis, [-1, 0, 1]), *others])
    return output


@programs.remembers
def prewitt(input, axis=-1, output=None, mode="reflect", cval=0.0):
    """Prewitt filter: scipy.ndimage.prewitt.

    Examples
    --------
    >>> import numpy as np, tapline
    >>> tapline.ndimage.prewitt(np.array([[0, 0, 1], [0, 0, 1], [0, 0, 1]]))
    array([[0, 3, 3],
           [0, 3, 3],
           [0, 3, 3]])
    """
    return _derivative(input, axis, output, mode, cval, [1, 1, 1])


@programs.remembers
def sobel(input, axis=-1, output=None, mode="reflect", cval=0.0):
    """Sobel filter: scipy.ndimage.sobel.

    Examples
    --------
    >>> import numpy as np, tapline
    >>> tapline.ndimage.sobel(np.array([[0, 0, 1], [0, 0, 1], [0, 0, 1]]))
    array([[0, 4, 4],
           [0, 4, 4],
           [0, 4, 4]])
    """
    return _derivative(input, axis, output, mode, cval, [1, 2, 1])


# Floats of smaller images are rounded after each axis, as SciPy's are.
_LARGE_LAPLACE = 1 << 18


def _laplace_at_once(image, output, axes, modes, cval):
    """Whether an image in host memory is summed under one mask. Corners of zero would spread what is not finite to all neighbours,
    which then shows in the sums of every third row and the last one: in that case the passes do it again. Sums of integers keep
    their low bits, of each axis or of both."""
    plain = isinstance(image, np.ndarray) and isinstance(output, np.ndarray) and image.dtype == output.dtype
    if not plain or image.ndim != 2 or len(axes) != 2 or len(set(modes)) != 1 or np.may_share_memory(image, output):
        return False
    floats = image.dtype.char in "fd" and image.nbytes >= _LARGE_LAPLACE and np.isfinite(cval)
    integers = image.dtype.kind in "iu" and image.dtype.itemsize <= 2 and cval == 0
    if not floats and not integers:
        return False
    correlate(image, [[0, 1, 0], [1, -4, 1], [0, 1, 0]], output, modes[0], cval)
    if integers:
        return True
    rows = output if abs(output.strides[1]) <= abs(output.strides[0]) else output.T  # of neighbours in memory
    return all(_core.is_within(some, float(np.finfo(output.dtype).max)) for some in (rows[1::3], rows[-1:]))


@programs.remembers
def laplace(input, output=None, mode="reflect", cval=0.0, *, axes=None):
    """Laplace filter by second differences: scipy.ndimage.laplace.

    Examples
    --------
    >>> import numpy as np, tapline
    >>> tapline.ndimage.laplace(np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]]))
    array([[ 0,  1,  0],
           [ 1, -4,  1],
           [ 0,  1,  0]])
    """
    image = _gpu.asarray(input)
    output = output_of(output, image)
    axes = axes_of(axes, image.ndim)
    modes = for_each_axis(mode, len(axes)) if axes else []
    if programs.sums_cross_at_once(image, output, axes) and _goes_in_passes(image, output, cval):
        line = programs.Line(axes, programs.cross(len(axes)), (1,) * len(axes), tuple(boundary_of(m) for m in modes))
        if programs.filtered(image, output, [line], cval):
            return output
    if _laplace_at_once(image, output, axes, modes, cval):
        return output
    for i, (axis, m) in enumerate(zip(axes, modes, strict=True)):
        if i == 0:
            correlate1d(image, [1, -2, 1], axis, output, m, cval, 0)
        else:
            output = _host_calls.add(output, correlate1d(image, [1, -2, 1], axis, output.dtype, m, cval, 0))
    if not axes:
        output[...] = image
    return output
