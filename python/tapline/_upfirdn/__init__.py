"""Upsample, filter, downsample: polyphase parts, each a convolution by the engine, or products of matrices."""

import math

import numpy as np

from tapline import _fallback, _gpu, _nd
from tapline._core import convolve as _convolve
from tapline._upfirdn import periods as _periods

# How upfirdn's modes extend a signal, where _nd.extend can.
_BOUNDARIES = {"wrap": "wrap", "edge": "nearest", "symmetric": "reflect", "reflect": "mirror", "constant": "constant"}
_OWN_MODES = ("smooth", "line", "antisymmetric", "antireflect")

# What a pass of the engine costs from Python, for itself and for each output (2,047 taps from 160 to 147 kHz took 122 ms for 2^20
# samples), and a product of SciPy's loop (14 ms there). Measured on a 2-core machine.
_PASS_SECONDS = 5e-6
_PASS_OUTPUT_SECONDS = 7e-9
_SCIPY_PRODUCT_SECONDS = 1e-9


def _reflected(x, index, odd_edge):
    """x at places beyond its last axis: its point reflections at the edge sample (antireflect) or beside it."""
    n = x.shape[-1]
    real = x.dtype.char.lower()
    if not odd_edge:  # d c b a | a b c d | d c b a with signs that alternate
        turn, place = np.divmod(index, n)
        turned = turn % 2 == 1
        return np.take(x, np.where(turned, n - 1 - place, place), x.ndim - 1) * np.where(turned, -1, 1).astype(real)
    if n == 1:
        return np.take(x, np.zeros_like(index), x.ndim - 1)
    # Each period of n - 1 samples is turned about its end: the values grow by the rise of the signal every second time.
    turn, place = np.divmod(index, n - 1)
    turned = turn % 2 == 1
    first, last = x[..., :1], x[..., -1:]
    samples = np.take(x, np.where(turned, n - 1 - place, place), x.ndim - 1) * np.where(turned, -1, 1).astype(real)
    return samples + (last - first) * turn.astype(real) + (first + last) * turned.astype(real)


def _straight(x, index, slope):
    """`index` counts from the one sample that x has along its last axis."""
    return x + slope * index.astype(x.dtype.char.lower())


def _beyond(x, before, after, mode):
    """So many samples before the beginning and after the end of the last axis, in a mode of upfirdn's own."""
    n = x.shape[-1]
    left, right = np.arange(-before, 0), np.arange(after)
    if mode in ("antisymmetric", "antireflect"):
        return tuple(_reflected(x, index, mode == "antireflect") for index in (left, right + n))
    first, last = x[..., :1], x[..., -1:]
    if mode == "line":
        slopes = 2 * ((last - first) / max(n - 1, 1),)
    else:
        slopes = (x[..., 1:2] - first, last - x[..., -2:-1]) if n > 1 else 2 * (first - first,)
    return _straight(first, left, slopes[0]), _straight(last, right + 1, slopes[1])


def _extended(x, before, after, mode, cval):
    """A copy of x, longer at both ends of its last axis; of no samples only in mode 'constant'."""
    if x.shape[-1] == 0:
        y = _gpu.new_like(x, (*x.shape[:-1], before + after), x.dtype)
        y[...] = cval
        return y
    if mode in _BOUNDARIES:
        return _nd.extend(x, x.ndim - 1, before, after, _BOUNDARIES[mode], cval)
    left, right = _beyond(x, before, after, mode)
    y = _gpu.new_like(x, (*x.shape[:-1], before + x.shape[-1] + after), x.dtype)
    y[..., :before], y[..., before : before + x.shape[-1]], y[..., before + x.shape[-1] :] = left, x, right
    return y


def _add_part(y, x, taps, start):
    """y[s] += sum_a taps[a] * x[s + start - a] along the last axis, for every s."""
    n, k, outputs = x.shape[-1], len(taps), y.shape[-1]
    first = max(0, -start)
    last = min(outputs, n + k - 1 - start)
    if last > first and n > 0:
        full = _convolve(x, taps)
        y[..., first:last] += full[..., first + start : last + start]


def _polyphase(y, x, h, up, down, shift):
    """y[m] = sum_j h[j] * u[m * down + shift - j], where u is x with up - 1 zeros between the samples.

    Outputs m = u s + r (u = up / gcd) all meet the same phase of the filter, and samples that lie d = down / gcd apart; so each
    is a sum of d plain convolutions of every d-th sample with every d-th tap of the phase.
    """
    common = math.gcd(up, down)
    u, d = up // common, down // common
    for r in range(min(u, y.shape[-1])):
        i0, phase = divmod(r * down + shift, up)
        taps = h[phase::up]
        part = y[..., r::u]
        for q in range(min(d, len(taps))):
            offset, place = divmod(i0 - q, d)
            _add_part(part, x[..., place::d], taps[q::d], offset)
        if _gpu.is_array(y):  # whose slices may be copies
            y[..., r::u] = part


def _passes_seconds(outputs, rows, count, up, down):
    common = math.gcd(up, down)
    passes = min(up // common * (down // common), count)
    return passes * (_PASS_SECONDS + rows * outputs / (up // common) * _PASS_OUTPUT_SECONDS)


def _fastest(outputs, rows, n, h, up, down, itemsize):
    """'passes', 'scipy', or the Periods of products of matrices."""
    periods = _periods.Periods(len(h), up, down)
    ways = [
        (_passes_seconds(outputs, rows, len(h), up, down), "passes"),
        (periods.seconds(rows, n, outputs, itemsize), periods),
    ]
    if _fallback.prefer_faster and _fallback.scipy_function("upfirdn", "upfirdn") is not None:
        ways.append((rows * outputs * math.ceil(len(h) / up) * _SCIPY_PRODUCT_SECONDS + 20e-6, "scipy"))
    return min(ways, key=lambda way: way[0])[1]


@_gpu.returns_the_callers_kind
def upfirdn(h, x, up=1, down=1, axis=-1, mode="constant", cval=0):
    """Upsample, FIR filter, and downsample: scipy.signal.upfirdn.

    The signal is extended first where `mode` asks for more than zeros.

    Examples
    --------
    >>> import tapline
    >>> tapline.signal.upfirdn([1, 1, 1], [1, 2, 3], 3, 2)
    array([1., 1., 2., 3., 3.])
    """
    x = _gpu.asarray(x)
    taps = _gpu.host(h)
    if taps.ndim != 1 or taps.size == 0:
        raise ValueError("h must be 1-D with non-zero length")
    up, down = int(up), int(down)
    if up < 1 or down < 1:
        raise ValueError("Both up and down must be >= 1")
    n = x.shape[axis]
    if not isinstance(mode, str) or mode.lower() not in (*_BOUNDARIES, *_OWN_MODES):
        raise ValueError(f"Unknown mode: {mode}")
    mode = mode.lower()
    dtype = np.result_type(taps.dtype, x.dtype, np.float32)
    outputs = ((n - 1) * up + len(taps) - 1) // down + 1
    shape = list(x.shape)
    shape[axis] = outputs
    if outputs < 0:
        raise ValueError("negative dimensions are not allowed")
    if n == 0 and mode != "constant" and 0 not in shape:
        raise ValueError(f"x: no samples along axis {axis}, from which mode {mode!r} could go on")
    if dtype.char not in "fdFD" or not _fallback.is_known(x, taps):
        return _fallback.ask_scipy("upfirdn", "upfirdn", _fallback.types_of(x, taps), h, x, up, down, axis, mode, cval)
    if 0 in shape:
        return _gpu.new_like(x, shape, dtype)
    way = "passes" if _gpu.is_array(x) else _fastest(outputs, x.size // max(n, 1), n, taps, up, down, dtype.itemsize)
    if way == "scipy":
        return _fallback.ask_scipy("upfirdn", "upfirdn", "small parts", h, x, up, down, axis, mode, cval)
    real = dtype if dtype.kind == "f" else np.dtype(dtype.char.lower())
    taps = taps.astype(dtype if taps.dtype.kind == "c" else real, copy=False)
    x = np.moveaxis(x.astype(dtype, copy=False), axis, -1)
    shift = 0
    if mode != "constant" or cval != 0:
        more = -(-len(taps) // up)
        x = _extended(x, more, more, mode, cval)
        shift = more * up
    if way != "passes":
        rows = _periods.upfirdn(x.reshape(-1, x.shape[-1]), taps, up, down, shift, outputs, way)
        if rows is not None:
            return np.ascontiguousarray(np.moveaxis(rows.reshape(*x.shape[:-1], outputs), -1, axis))
    y = np.moveaxis(_gpu.zeros_like(x, shape, dtype), axis, -1)  # so that the result is in C order
    _polyphase(y, x, taps, up, down, shift)
    return _gpu.contiguous(np.moveaxis(y, -1, axis))
