"""Sums of arrays under masks over any of their axes, as SciPy's filters need them: in one execution of the engine where it takes
them so, else by passes."""

import numpy as np

from tapline import _core, _gpu, _host_calls, _nd
from tapline._gpu import programs


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


def correlate_at_once(image, weights, axes, origins, output, boundaries, constant, divisor=1):
    """The same as correlate_into() in one execution of the engine, if that takes the types; a boundary for each axis. False:
    nothing is done."""
    types = image.dtype, output.dtype
    if not all(t.isnative for t in types) or not output.flags.writeable or not (image.flags.aligned and output.flags.aligned):
        return False
    filtered = [i for i, a in enumerate(axes) if weights.shape[a] > 1] or [0]
    axes, origins, boundaries = ([values[i] for i in filtered] for values in (axes, origins, boundaries))
    mask = weights.reshape([weights.shape[a] for a in axes])
    options: dict[str, object] = {}
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
        if len(axes) > 3 or max(mask.shape) > _MAX_VOLUME_SIDE:
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
    except (NotImplementedError, TypeError):  # what the engine refuses goes in passes
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


def correlate_into(image, weights, axes, origins, output, boundary, cval, divisor=1):
    """Writes the correlation of image and weights (with the image's number of axes), divided by `divisor`, to output.

    Complex weights are used as they are. `origins` are indices into the weights. output may share memory with the image.
    """
    if image.size == 0:
        return
    if _gpu.is_array(image) and _on_gpu(image, weights, axes, origins, output, boundary, cval, divisor):
        return
    lengths = [image.shape[a] for a in axes]
    constant: complex = 0
    if boundary == "constant":
        constant = complex(cval) if image.dtype.kind == "c" else float(cval)
    if not _gpu.is_array(image) and correlate_at_once(
        image, weights, axes, origins, output, [boundary] * len(axes), constant, divisor
    ):
        return
    whole = image.dtype.kind in "iub" and output.dtype.kind in "iub" and weights.dtype.kind != "c" and _are_whole(weights)
    if _gpu.is_array(image):  # whose other sums are taken in float64, like SciPy's
        whole = whole and _gpu.sums_are_exact(image.dtype.name, weights)
    if whole and _fits(constant, image.dtype):
        weights = weights.astype(np.uint64 if image.dtype == np.uint64 and (weights >= 0).all() else np.int64)
        if image.dtype == np.uint64 and weights.dtype == np.int64:  # negative weights: the same bits modulo 2^64
            weights = weights.view(np.uint64)
        constant = int(constant.real)
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
