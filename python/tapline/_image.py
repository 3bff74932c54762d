"""Images: which axes are rows, pixels and channels, and the result's type."""

import math

import numpy as np

from tapline import _core, _gpu, _host_calls
from tapline._gpu import images
from tapline._gpu.libraries import name_of
from tapline._image_parts import arranged_taps, has_channels, is_correlation, origins_of
from tapline._remembered import NotKept, frozen

# Types that images are stored in as they are; others are converted.
_AS_STORED = frozenset("fdFDBH")

# Of larger images nobody notices what a call costs the host.
_MAX_REMEMBERED = 1 << 20


def _pixels_lie_packed(x):
    """Whether pixels of a row lie side by side, and rows and images at positive distances that are whole elements."""
    batch, height, width, channels = x.shape
    by_image, by_row, by_pixel, by_channel = x.strides
    size = x.itemsize
    packed = (channels == 1 or by_channel == size) and (width == 1 or by_pixel == channels * size)
    rows = height == 1 or (by_row >= width * channels * size and by_row % size == 0)
    images = batch == 1 or (by_image > 0 and by_image % size == 0)
    return packed and rows and images and x.flags.aligned and x.dtype.isnative


def _is_read_in_place(x):
    """Whether the engine reads and writes the pixels where they are: packed, or whole elements apart on planes of one channel."""
    if _pixels_lie_packed(x):
        return True
    steps = [step for step, n in zip(x.strides, x.shape, strict=True) if n > 1]
    return x.shape[3] == 1 and all(step and step % x.itemsize == 0 for step in steps) and x.flags.aligned and x.dtype.isnative


def _four_axes(x, channels):
    """(batch, height, width, channels); a view wherever that is possible."""
    x = x if channels else x[..., None]
    return x.reshape((math.prod(x.shape[:-3]), *x.shape[-3:])) if x.ndim != 4 else x


def _outline(x):
    return x.shape, x.strides, name_of(x.dtype)


def filtered(x, taps, options, *, origins=(None, None), out=None):
    """The output for x (batch, height, width, channels) of a stored type; taps (height, width) or (channels, height, width)."""
    return planned(x, taps, options, False, origins, out, x.dtype)[0]


def planned(x, taps, options, correlation, origins, out, dtype):
    """The same, and the plan that was executed on the arrays as they are, if one was."""
    height, width = _core.image_size({"mode": options.get("mode", "same")}, *x.shape[1:3], *taps.shape[-2:])
    shape = (x.shape[0], height, width, x.shape[3])
    y = np.empty(shape, dtype) if out is None else out
    if x.size == 0:
        return y, None
    given = x
    x = x if _is_read_in_place(x) else np.ascontiguousarray(x)
    work = y if _is_read_in_place(y) else np.empty(shape, y.dtype)
    plan = _core.ImagePlan(options, correlation, _outline(x), _outline(work), taps, *origins)
    plan.execute(work, x)
    if work is not y:
        _host_calls.fail()
        y[...] = work
        return y, None
    _host_calls.executed(plan, y, x)
    return y, plan if x is given else None


def _stays_half(dtype, taps):
    """Whether the engine widens and narrows the image's 16-bit numbers itself."""
    return dtype.char == "e" and dtype.isnative and taps.dtype.kind != "c" and bool(np.isfinite(taps).all())


def stored_type(dtype, taps):
    """The type that the engine computes from: that of the image where it knows it."""
    if _stays_half(dtype, taps):
        return dtype
    kind = dtype.char
    if kind in _AS_STORED and not (kind in "BH" and taps.dtype.kind == "c"):
        real = dtype
    elif dtype.kind in "iub" and dtype.itemsize > 2:
        real = np.dtype(np.float64)
    elif dtype.kind in "iub" or kind == "e":
        real = np.dtype(np.float32)
    else:
        raise TypeError(f"image: elements are {dtype}; convert them to float64, complex128 or an integer type")
    return np.result_type(real, np.complex64) if taps.dtype.kind == "c" else real


def _writable(out, shape, channels, stored):
    """`out` with four axes, checked; None if that would be a copy, or of a type that the engine does not write."""
    if out.shape != shape:
        raise ValueError(f"out: its shape is {out.shape}; this problem's output has {shape}")
    if not out.flags.writeable:
        raise ValueError("out: the array is read-only; give one that can be written")
    four = _four_axes(out, channels)
    is_written = out.dtype.char != "e" or stored.char == "e"
    return four if is_written and np.may_share_memory(four, out) else None


def image(
    image,
    taps,
    mode="same",
    *,
    channel_axis=None,
    boundary="zero",
    constant=None,
    origin=None,
    operation="convolution",
    accuracy="standard",
    out=None,
    dtype=None,
    scale=1.0,
    bias=0.0,
    clamp=None,
    threads=0,
):
    """Convolve images with a two-dimensional mask.

    Parameters
    ----------
    image : array_like
        The last two axes are rows and columns, with ``channel_axis=-1`` the last three rows, columns and interleaved channels;
        the axes before them are images of a batch. Read in place where pixels of a row lie side by side (of one channel, or in
        GPU memory, in any order) and the type is float32, float64, complex64, complex128, float16, uint8 or uint16; other types
        are converted.
        A list of arrays, one on each of several GPUs, is the image that they are together along its rows (`tapline.devices`).
    taps : array_like
        The mask, (rows, columns); with ``channel_axis=-1`` also (rows, columns, channels), a mask for each channel.
    mode : {'same', 'full', 'valid', 'causal', 'leading'}
        As for `convolve`, on both axes.
    channel_axis : {None, -1}
        Whether the last axis holds the channels of a pixel.
    boundary : {'zero', 'constant', 'nearest', 'reflect', 'mirror', 'wrap'}
        What lies beyond the edges, each axis on its own.
    constant : number
        The value there for ``boundary='constant'``.
    origin : int or (int, int), optional
        Row and column of the tap (after any turning) that sits on the output's own position.
    operation : {'convolution', 'correlation'}
        Convolution turns the mask by 180 degrees; correlation conjugates complex taps.
    accuracy : {'standard', 'strict', 'fast'}
        'strict' bounds each element's error by its own terms (docs/numerics.md).
    out : numpy.ndarray, optional
        Written and returned; of any real type for a real image. It must not overlap the image.
    dtype : data-type, optional
        The result's type. By default the image's, complex with complex taps: bytes stay bytes, rounded to even and saturated.
    scale, bias, clamp
        The result is ``scale * sum + bias`` within limits, in the same pass.
    threads : int
        CPU threads; 0: all that this process may run on.

    Returns
    -------
    numpy.ndarray
        For an image in GPU memory (CuPy, PyTorch, JAX) an array of its library, there; nothing waits for it.

    Examples
    --------
    >>> import numpy as np, tapline
    >>> x = np.zeros((3, 4), np.float32)
    >>> x[1, 1] = 1
    >>> tapline.image(x, [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    array([[1., 2., 3., 0.],
           [4., 5., 6., 0.],
           [7., 8., 9., 0.]], dtype=float32)

    Colours, with a mask for all of them; bytes in and out:

    >>> pixels = np.full((4, 4, 3), [10, 100, 250], np.uint8)
    >>> tapline.image(pixels, np.ones((3, 3)), channel_axis=-1, boundary="nearest", scale=1 / 9)[0, 0]
    array([ 10, 100, 250], dtype=uint8)
    >>> tapline.image(pixels, [[1, 1]], channel_axis=-1, mode="valid").shape
    (4, 3, 3)
    """
    given = (mode, channel_axis, boundary, constant, origin, operation, accuracy, dtype, scale, bias, clamp, threads)
    known = _core.plain_image(image, taps, out, given)
    if known is not None:
        return known
    correlation = is_correlation(operation)
    options = {"mode": mode, "boundary": boundary, "accuracy": accuracy, "scale": scale, "bias": bias, "threads": threads}
    if constant is not None:
        options["constant"] = constant
    if clamp is not None:
        options["clamp"] = tuple(clamp)
    if isinstance(image, (list, tuple)) and image and _core.is_on_gpu(image[0]):
        from tapline import devices

        more = {"channel_axis": channel_axis, "origin": origin, "operation": operation, "out": out, "dtype": dtype}
        return devices.image(image, taps, **more, **options)
    if _core.is_on_gpu(image) or (out is not None and _core.is_on_gpu(out)):
        return images.image(image, taps, out, dtype, channel_axis, correlation, origins_of(origin), options, given)
    key = _key_of(image, taps, out, given)
    known = None if key is None else _run_again(key, image, out)
    if known is not None:
        return known
    x, taps = np.asarray(image), np.asarray(_gpu.host(taps))
    channels = has_channels(x.ndim, channel_axis)
    taps = arranged_taps(taps, x.shape[-1] if channels else None)
    if out is None:
        natural = np.result_type(x.dtype, np.complex64) if taps.dtype.kind == "c" else x.dtype
        wanted = np.dtype(natural if dtype is None else dtype)
    else:
        wanted = out.dtype
        if dtype is not None and np.dtype(dtype) != wanted:
            raise ValueError(f"dtype: {np.dtype(dtype)}, but out has {wanted}; leave dtype away")
    stored = stored_type(x.dtype, taps)
    four = _four_axes(x.astype(stored, copy=False), channels)
    height, width = _core.image_size({"mode": mode}, *four.shape[1:3], *taps.shape[-2:])
    shape = (*x.shape[: x.ndim - 2 - channels], height, width, *x.shape[x.ndim - channels :])
    to = None if out is None else _writable(out, shape, channels, stored)
    to_type = np.dtype(np.float32) if wanted.char == "e" and stored.char != "e" else wanted
    y, plan = planned(four, taps, options, correlation, origins_of(origin), to, to_type)
    plan = plan if np.may_share_memory(four, image) else None  # of a copy
    if out is None:
        result = y.reshape(shape).astype(wanted, copy=False)
        if key is not None and plan is not None and plan.is_kept and result.dtype == y.dtype:
            _host_calls.keep(key, (plan, shape, wanted))
        return result
    if to is None:
        out[...] = y.reshape(shape)
    elif key is not None and plan is not None and plan.is_kept:
        _host_calls.keep(key, (plan, shape, wanted))
    return out


def _key_of(image, taps, out, given):
    """All that decides a call with an array in host memory and a mask of any kind; None where nothing stands for it."""
    if type(image) is not np.ndarray or image.nbytes > _MAX_REMEMBERED or (out is not None and type(out) is not np.ndarray):
        return None
    if not image.flags.aligned or (out is not None and not out.flags.behaved):
        return None
    try:
        to = None if out is None else (out.shape, out.strides, out.dtype)
        return "image", image.shape, image.strides, image.dtype, to, frozen(taps), frozen(given)
    except (NotKept, TypeError):
        return None


def _run_again(key, image, out):
    """The result of a call that is remembered, else None."""
    program = _host_calls.get(key)
    if program is None:
        return None
    plan, shape, dtype = program
    y = np.empty(shape, dtype) if out is None else out
    return y if plan.execute_again(y, image) else None
