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


def _are_whole(weights):
    """Whether integer sums are those of SciPy's float64: weights that are integers of moderate size."""
    return weights.dtype.kind in "iub" or bool((weights == np.rint(weights)).all() and np.abs(weights).sum() < 2**31)


def _truncate(sums, output):
    """float64 sums to an integer output the way C converts them, as SciPy does, but for the nudge."""
    _host_calls.fail()
    sums += (sums * programs.NUDGE).clip(-1e-3, 1e-3)  # nothing beside sums above 2^53
    if _gpu.is_array(output):
        output[...] = sums.astype(np.int64).astype(output.dtype)
        return
    if output.dtype.kind == "b":
        sums = np.trunc(sums)  # NumPy's own conversion makes 0.5 True
    with np.errstate(invalid="ignore"):
        np.copyto(output, sums, casting="unsafe")


# Sums of integers below this are exact in float32; below the other their quotient's integral part is, beside this nudge.
_MAX_EXACT_IN_SINGLE = 2**24
_MAX_DIVIDED_IN_SINGLE = 2**21
_NUDGE_IN_SINGLE = 2**-22

# Truncated sums: the nudge stays far below 1.
_MAX_TRUNCATED = 2**36

# Sums of integers below this are exact in float64.
_MAX_EXACT = 2**53


def _sums_of_integers(image, weights, divisor, truncates):
    """(weights, scale, accuracy) of floating sums of an image of integers, which the engine truncates or not; None where it has to
    be done otherwise."""
    if not np.isfinite(weights).all():
        return None
    dtype = image.dtype
    high = 1 if dtype.kind == "b" else max(np.iinfo(dtype).max, -np.iinfo(dtype).min)
    total = float(np.abs(weights).sum())
    exact = truncates and _are_whole(weights)
    most = _MAX_EXACT_IN_SINGLE if divisor == 1 else _MAX_DIVIDED_IN_SINGLE
    if exact and high * total < most:
        return weights.astype(np.float32), 1.0 if divisor == 1 else (1 + _NUDGE_IN_SINGLE) / divisor, "strict"
    if truncates:
        most = _MAX_EXACT if exact and divisor == 1 else _MAX_TRUNCATED
        if high * total >= most and (dtype.itemsize < 4 or not _host_calls.is_within(image, (most - 1) / max(total, 1))):
            return None
    nudged = truncates and not (exact and divisor == 1)
    return weights.astype(np.float64), (1 + programs.NUDGE if nudged else 1.0) / divisor, "strict" if exact else "standard"


# Of masks over three axes whose lines are a product, those with fewer taps are summed at once.
_MAX_TAPS_AT_ONCE = 64

# Longer masks over three axes go line by line, which may take transforms.
_MAX_VOLUME_SIDE = 64


def _at_once(image, weights, axes, origins, output, boundaries, constant, divisor=1):
    """The same as _filter() in one execution of the engine, if that takes the types; a boundary for each axis. False: nothing is
    done."""
    types = image.dtype, output.dtype
    if not all(t.isnative for t in types) or not output.flags.writeable or not (image.flags.aligned and output.flags.aligned):
        return False
    filtered = [i for i, a in enumerate(axes) if weights.shape[a] > 1] or [0]
    axes, origins, boundaries = ([values[i] for i in filtered] for values in (axes, origins, boundaries))
    mask = weights.reshape([weights.shape[a] for a in axes])
    options = {}
    to = output
    if image.dtype.kind in "iub":
        if weights.dtype.kind == "c" or output.dtype.kind == "c" or output.dtype.char in "eg" or not _fits(constant, image.dtype):
            return False
        truncates = output.dtype.kind in "iub"
        how = _sums_of_integers(image, mask, divisor, truncates)
        if how is None:
            return False
        if output.dtype.kind == "b" and (mask >= 0).all():  # half below 1, that and what is above is rounded to true
            mask, truncates = mask.astype(np.float64), False
            options |= {"scale": (1 + programs.NUDGE) / divisor, "bias": -0.5, "accuracy": how[2]}
        else:
            mask, options["scale"], options["accuracy"] = how
            if output.dtype.kind == "b":  # true where the truncated sum is not 0
                to = np.empty(output.shape, np.int64)
    elif image.dtype.char in "fdFD" and output.dtype.kind == image.dtype.kind:
        if weights.dtype.kind == "c" and image.dtype.kind != "c":
            return False
        if output.dtype.char not in ("fF" if image.dtype.char in "fF" else "fdFD"):  # SciPy's sums are float64
            return False
        mask = _in_precision(image, mask if divisor == 1 else mask / divisor, output)[1]
        truncates = False
        if image.dtype.char in "dD" or output.dtype.char in "dD":
            mask = mask.astype(np.result_type(mask, np.float64), copy=False)
    else:
        return False
    if len(axes) > 2:
        sides = sorted(mask.shape)
        if len(axes) > 3 or sides[-1] > _MAX_VOLUME_SIDE:
            return False
        if mask.size > _MAX_TAPS_AT_ONCE and mask.dtype.kind in "fc" and _nd.factors(mask, range(3), mask.dtype) is not None:
            return False
    if "constant" in boundaries:
        options |= {"boundary": "constant", "constant": constant}
    if np.may_share_memory(image, output):
        to = np.empty(output.shape, to.dtype)
    lying = [(a.shape, a.strides, a.dtype.name) for a in (image, to)]
    places = list(zip(axes, origins, boundaries, strict=True))
    # The engine's correlation conjugates; convolution with reversed taps does not.
    try:
        plan = _core.host_filter(*lying, places, np.flip(mask), options, truncates)
    except (NotImplementedError, TypeError):
        return False
    plan.execute(to, image)
    _host_calls.executed(plan, to, image)
    if to is not output:
        _host_calls.put(output, to)
    return True


def _filter_line(image, weights, axis, origin, output, boundary, constant):
    """One call of the engine along an axis that writes to output, or to memory of its own where that is the image's."""
    options = {"axis": axis, "origin": origin, "boundary": boundary, "dtype": output.dtype}
    if boundary == "constant":
        options["constant"] = constant
    if np.may_share_memory(image, output):
        _host_calls.put(output, _host_calls.convolve(image, np.flip(weights), "same", **options))
    else:
        _host_calls.convolve(image, np.flip(weights), "same", out=output, **options)


def _filter(image, weights, axes, origins, output, boundary, cval, divisor=1):
    """Writes the correlation of image and weights (with the image's number of axes), divided by `divisor`, to output.

    Complex weights are used as they are. `origins` are indices into the weights. output may share memory with the image.
    """
    if image.size == 0:
        return
    if _gpu.is_array(image) and _on_gpu(image, weights, axes, origins, output, boundary, cval, divisor):
        return
    lengths = [image.shape[a] for a in axes]
    constant = 0
    if boundary == "constant":
        constant = complex(cval) if image.dtype.kind == "c" else float(cval)
    if not _gpu.is_array(image) and _at_once(image, weights, axes, origins, output, [boundary] * len(axes), constant, divisor):
        return
    whole = image.dtype.kind in "iub" and output.dtype.kind in "iub" and weights.dtype.kind != "c" and _are_whole(weights)
    if _gpu.is_array(image):  # whose other sums are taken in float64, like SciPy's
        whole = whole and _gpu.sums_are_exact(image.dtype.name, weights)
    if whole and _fits(constant, image.dtype):
        weights = weights.astype(np.uint64 if image.dtype == np.uint64 and (weights >= 0).all() else np.int64)
        if image.dtype == np.uint64 and weights.dtype == np.int64:  # negative weights: the same bits modulo 2^64
            weights = weights.view(np.uint64)
        constant = int(constant)
        exact = {"dtype": output.dtype if divisor == 1 and output.dtype.kind != "b" else np.dtype(np.int64)}
        sums = _nd.correlate(image, weights, axes, lengths, origins, boundary, constant, **exact)
        if divisor == 1:
            _host_calls.put(output, sums)
        else:
            _truncate(sums / divisor, output)
        return
    image, weights = _in_precision(image, weights, output)
    if output.dtype.kind in "iub":
        sums = _nd.correlate(image, weights / divisor, axes, lengths, origins, boundary, constant)
        _truncate(sums, output)
        return
    weights = weights if divisor == 1 else weights / divisor
    fits = output.dtype == np.result_type(image, weights) and not np.may_share_memory(image, output)
    if len(axes) == 1 and fits:
        _filter_line(image, weights, axes[0], origins[0], output, boundary, constant)
    else:
        sums = _nd.correlate(image, weights, axes, lengths, origins, boundary, constant, out=output if fits else None)
        if sums is not output:
            _host_calls.put(output, sums)


def _on_gpu(image, weights, axes, origins, output, boundary, cval, divisor):
    """The same by the engine's passes, if it can."""
    mask = np.asarray(weights).reshape([weights.shape[a] for a in axes])
    lines = [programs.Line(tuple(axes), mask, tuple(origins), (boundary,) * len(axes), divisor)]
    parts = None
    plain = image.dtype.char in "fdFD" and output.dtype == image.dtype
    if len(axes) > 1 and plain and (boundary != "constant" or cval == 0):
        parts = _nd.factors(mask, range(mask.ndim), np.result_type(image.dtype, mask))
    if parts is not None and programs.filtered(image, output, programs.factored(mask, axes, origins, boundary, parts), cval):
        return True
    return programs.filtered(image, output, lines, cval)


def _line(axis, weights, mode, origin=0, divisor=1):
    """One axis of a filter, as the engine's passes take it."""
    weights = np.asarray(weights)
    return programs.Line((axis,), weights, (len(weights) // 2 + operator.index(origin),), (boundary_of(mode),), divisor)


def _fits(constant, dtype):
    if dtype.kind == "b":
        return constant in (0, 1)
    limits = np.iinfo(dtype)
    return float(constant).is_integer() and abs(constant) < 2**53 and limits.min <= constant <= limits.max


def _in_precision(image, weights, output):
    """Both in float32 where the image and the output are, else in float64; complex where they are."""
    single = image.dtype.char in "efF" and output.dtype.char in "efF"
    real = np.float32 if single else np.float64
    of_image = np.result_type(real, np.complex64) if image.dtype.kind == "c" else real
    of_weights = np.result_type(real, np.complex64) if weights.dtype.kind == "c" else real
    return image.astype(of_image, copy=False), weights.astype(of_weights, copy=False)


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
    _filter(image, weights.reshape(shape), [axis], [k // 2 + operator.index(origin)], output, boundary_of(mode), cval)
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
        _filter(image, weights, which, places, output, boundary, cval)
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
    _filter(image, weights, [axis], [size // 2 + operator.index(origin)], output, boundary, cval, divisor=size)
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
    _filter(image, mask, list(axes), list(places), output, boundary_of(modes[0]), cval)
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
    return _at_once(image, mask, list(range(image.ndim)), [1] * image.ndim, output, boundaries, 0.0)


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


# Calls with smaller arrays may be written down, which what is seen in a result cannot be.
_LARGE_LAPLACE = 2 << 20


def _laplace_at_once(image, output, axes, modes, cval):
    """Whether a large image in host memory is summed under one mask. Corners of zero would spread what is not finite, which then
    shows in the sum of their squares: in that case the passes do it again."""
    plain = isinstance(image, np.ndarray) and isinstance(output, np.ndarray) and image.dtype == output.dtype
    if not plain or image.dtype.char not in "fd" or image.ndim != 2 or len(axes) != 2 or image.nbytes < _LARGE_LAPLACE:
        return False
    if len(set(modes)) != 1 or not np.isfinite(cval) or np.may_share_memory(image, output):
        return False
    correlate(image, [[0, 1, 0], [1, -4, 1], [0, 1, 0]], output, modes[0], cval)
    results = output.ravel("K")
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.dot(results, results)))


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
