"""Filters of several dimensions as sums of one-dimensional ones.

An output is ``sum_t w[t] * x(o + t - origin)`` over all axes of `w`. One axis, the longest of the filter, is the engine's; each
index of the filter's other axes adds one pass. A filter that is a product of one-dimensional ones takes a pass for each instead.
Two neighbouring axes of floating-point samples, rows and columns, are the engine's images: one call (tapline/_image.py).
"""

import itertools
import math

import numpy as np

from tapline import _gpu, _host_calls, _image
from tapline._host_calls import convolve as _convolve

# Outputs of one slab: its sums and the pass that is added to them stay in the L2 cache.
_SLAB_BYTES = 1 << 20


def mode_of(n, k, length):
    """The engine's mode with so many outputs; 'same' may have any origin."""
    return "same" if length == n else "full" if length == n + k - 1 else "valid"


def extended_index(n, before, after, boundary):
    """Indices into an axis of n samples for positions -before .. n + after - 1; -1 stands for the constant."""
    i = np.arange(-before, n + after)
    if boundary == "nearest":
        return np.clip(i, 0, n - 1)
    if boundary == "wrap":
        return i % n
    if boundary == "reflect":
        i %= 2 * n
        return np.where(i < n, i, 2 * n - 1 - i)
    if boundary == "mirror":
        if n == 1:
            return np.zeros_like(i)
        i %= 2 * n - 2
        return np.where(i < n, i, 2 * n - 2 - i)
    return np.where((i < 0) | (i >= n), -1, i)  # constant


def extend(x, axis, before, after, boundary, constant):
    """A copy of x with so many more samples at the ends of an axis."""
    if before == 0 and after == 0:
        return x
    index = extended_index(x.shape[axis], before, after, boundary)
    y = np.take(x, np.maximum(index, 0), axis)
    if boundary == "constant":
        for end in (slice(0, before), slice(y.shape[axis] - after, None)):
            outside = [slice(None)] * x.ndim
            outside[axis] = end
            y[tuple(outside)] = constant
    return y


def factors(w, axes, dtype):
    """One-dimensional filters of `dtype` whose product is w to the last bits of it, one for each of `axes`, or None."""
    if dtype.kind not in "fc" or not np.isfinite(w).all():
        return None
    w = w.astype(dtype, copy=False)
    pivot = np.unravel_index(np.argmax(np.abs(w)), w.shape)
    peak = w[pivot]
    if peak == 0:
        return None
    parts: list[np.ndarray] = []
    for axis in axes:
        line: list = list(pivot)
        line[axis] = slice(None)
        part = w[tuple(line)]
        parts.append(part if not parts else part / peak)
    product = np.ones([1] * w.ndim, w.dtype)
    for axis, part in zip(axes, parts, strict=True):
        shape = [1] * w.ndim
        shape[axis] = -1
        product = product * part.reshape(shape)
    if np.abs(product - w).max() > 4 * np.finfo(w.dtype).eps * np.abs(peak):
        return None
    return parts


def _along(x, taps, axis, length, origin, boundary, constant, options):
    """One pass: taps (not reversed, with the axes of x) along an axis."""
    arguments = dict(options)
    if boundary == "constant":
        arguments["constant"] = constant
    k = taps.shape[axis]
    # The engine's correlation conjugates; convolution with reversed taps does not.
    return _convolve(
        x, np.flip(taps, axis), mode_of(x.shape[axis], k, length), axis=axis, boundary=boundary, origin=origin, **arguments
    )


def _image_axes(x, w, axes, dtype):
    """The number of axes behind the two that are filtered (0, or 1: interleaved channels) if the engine's images can take them."""
    if len(axes) != 2 or _gpu.is_array(w) or dtype.char not in "fdFD" or x.dtype.char not in "fdFD" or x.size == 0:
        return None
    behind = x.ndim - 1 - max(axes)
    if abs(axes[0] - axes[1]) != 1 or behind > 1 or w.size != w.shape[axes[0]] * w.shape[axes[1]]:
        return None
    return behind


def is_image(x, w, axes):
    """Whether a filter over two axes is one call of the engine instead of several passes."""
    return _image_axes(x, w, axes, np.result_type(x, w)) is not None


def _as_image(x, w, axes, lengths, origins, boundary, constant, options, out):
    dtype = np.result_type(x, w)
    behind = _image_axes(x, w, axes, dtype)
    if behind is None or not options.keys() <= {"accuracy"}:
        return None
    order = sorted(range(2), key=lambda i: axes[i])
    axes, lengths, origins = ([values[i] for i in order] for values in (axes, lengths, origins))
    sizes = [(x.shape[a], w.shape[a], length) for a, length in zip(axes, lengths, strict=True)]
    if all(n == length for n, _, length in sizes):
        mode, places = "same", tuple(origins)
    elif all(n + k - 1 == length for n, k, length in sizes):
        mode, places = "full", (None, None)
    elif all(n - k + 1 == length for n, k, length in sizes):
        mode, places = "valid", (None, None)
    else:
        return None
    options = {**options, "mode": mode, "boundary": boundary}
    if boundary == "constant":
        options["constant"] = constant
    x = x.astype(dtype, copy=False)
    taps = np.ascontiguousarray(w.reshape([w.shape[a] for a in axes])[::-1, ::-1])
    is_writable = out is not None and (_gpu.is_array(out) or out.flags.writeable)  # NumPy says what is wrong with another one
    out = out if is_writable and out.dtype == dtype else None
    if _gpu.is_array(x):
        more = {"out": out.own} if out is not None else {"dtype": dtype}
        y = _image.image(x.own, taps, channel_axis=-1 if behind else None, origin=places, **more, **options)
        return out if out is not None else _gpu.Array(y, x.library)
    x4, out4 = (None if a is None else a.reshape((-1, *a.shape[-2:], 1) if behind == 0 else (-1, *a.shape[-3:])) for a in (x, out))
    if out is not None and np.may_share_memory(out4, out):
        _image.filtered(x4, taps, options, origins=places, out=out4)
        return out
    y = _image.filtered(x4, taps, options, origins=places)
    shape = list(x.shape)
    for a, length in zip(axes, lengths, strict=True):
        shape[a] = length
    return y.reshape(shape)


def passes_of(w, axes, dtype):
    """How many passes of the engine a filter takes for a result of `dtype`."""
    if len(axes) <= 1 or factors(w, axes, dtype) is not None:
        return max(len(axes), 1)
    longest = max(w.shape[a] for a in axes)
    return math.prod(w.shape[a] for a in axes) // longest


def correlate(x, w, axes, lengths, origins, boundary="zero", constant=0, dtype=None, out=None, **options):
    """``sum_t w[t] * x(o + t - origin)`` over `axes`; the other axes of x and w broadcast.

    `lengths` and `origins` go with `axes`: n+k-1 outputs (origin k-1), n (any origin) or n-k+1 (origin 0).
    `dtype` is that of an integer result, which wraps. The result is `out` where one pass can write to it, else a new array.
    """
    if dtype is not None:
        options = {**options, "dtype": dtype, "overflow": "wrap"}
    order = sorted(range(len(axes)), key=lambda i: w.shape[axes[i]])
    axes, lengths, origins = ([values[i] for i in order] for values in (axes, lengths, origins))
    if len(axes) == 1:
        return _along(x, w, axes[0], lengths[0], origins[0], boundary, constant, options)
    if dtype is None:
        y = _as_image(x, w, axes, lengths, origins, boundary, constant, options, out)
        if y is not None:
            return y
    # A constant beyond the ends is another one after the first pass; the other extensions commute with filtering.
    one_filter = w.size == math.prod(w.shape[a] for a in axes)
    parts = factors(w, axes, np.result_type(x, w)) if one_filter and (boundary != "constant" or constant == 0) else None
    if parts is not None:
        for axis, part, length, origin in zip(axes, parts, lengths, origins, strict=True):
            shape = [1] * w.ndim
            shape[axis] = -1
            x = _along(x, part.reshape(shape), axis, length, origin, boundary, constant, options)
        return x
    return _sum_of_passes(x, w, axes, lengths, origins, boundary, constant, options)


def _sum_of_passes(x, w, axes, lengths, origins, boundary, constant, options):
    _host_calls.fail()
    *others, last = axes
    *other_lengths, last_length = lengths
    other_origins = list(origins[:-1])
    if boundary != "zero":  # the engine extends its own axis; the others are extended here
        for i, (axis, length) in enumerate(zip(others, other_lengths, strict=True)):
            n, k, origin = x.shape[axis], w.shape[axis], other_origins[i]
            before, after = max(origin, 0), max(length + k - 1 - origin - n, 0)
            x = extend(x, axis, before, after, boundary, constant)
            other_origins[i] = origin - before
    shape = list(np.broadcast_shapes(*([1 if a in axes else n for a, n in enumerate(v.shape)] for v in (x, w))))
    for axis, length in zip(axes, lengths, strict=True):
        shape[axis] = length
    dtype = options.get("dtype", np.result_type(x, w))
    sums = _gpu.zeros_like(x, shape, np.int64 if dtype == np.bool_ else dtype)  # passes over bools count
    slab = others[0]
    rows = shape[slab] if _gpu.is_array(x) else max(1, _SLAB_BYTES * shape[slab] // max(sums.nbytes, 1))
    for first in range(0, shape[slab], rows):
        _add_slab(
            sums,
            x,
            w,
            others,
            other_origins,
            (first, min(first + rows, shape[slab])),
            last,
            last_length,
            origins[-1],
            boundary,
            constant,
            options,
        )
    return sums


def _add_slab(sums, x, w, others, other_origins, slab, last, last_length, last_origin, boundary, constant, options):
    """Adds all passes to the outputs `slab` = (first, end) of the axis others[0]."""
    for index in itertools.product(*(range(w.shape[a]) for a in others)):
        of_w = [slice(None)] * w.ndim
        of_x = [slice(None)] * w.ndim
        of_sums = [slice(None)] * w.ndim
        for i, (axis, t) in enumerate(zip(others, index, strict=True)):
            of_w[axis] = slice(t, t + 1)
            shift = t - other_origins[i]  # output o reads row o + shift
            begin, end = slab if i == 0 else (0, sums.shape[axis])
            begin, end = max(begin, -shift), min(end, x.shape[axis] - shift)
            if end <= begin:
                break
            of_sums[axis] = slice(begin, end)
            of_x[axis] = slice(begin + shift, end + shift)
        else:
            sums[tuple(of_sums)] += _along(
                x[tuple(of_x)], w[tuple(of_w)], last, last_length, last_origin, boundary, constant, options
            )
