"""Images in GPU memory: tapline.image where the image's library, not NumPy, owns the pixels, in one execution on its stream."""

import math

import numpy as np

from tapline import _core, _gpu_call
from tapline._gpu_libraries import library_of
from tapline._image_parts import arranged_taps, has_channels

# Types that the engine reads as they are.
_AS_STORED = frozenset(("float32", "float64", "complex64", "complex128", "uint8", "uint16", "float16", "bfloat16"))


def _itemsize(dtype):
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def _with_complex_taps(dtype):
    if dtype.startswith("complex"):
        return dtype
    return "complex128" if dtype == "float64" or (dtype not in _AS_STORED and _itemsize(dtype) > 2) else "complex64"


def _stored(dtype, complex_taps):
    """The type that the engine computes from: that of the image where it knows it."""
    if complex_taps:
        return _with_complex_taps(dtype)
    if dtype in _AS_STORED:
        return dtype
    return "float64" if _itemsize(dtype) > 2 else "float32"


def _outline(shape, strides, dtype, has_channels):
    """(batch, height, width, channels), its strides in bytes and the type's name; None where pixels of a row, rows of an image or
    images of the batch do not lie as the engine reads them."""
    size = _itemsize(dtype)
    if not has_channels:
        shape, strides = (*shape, 1), (*strides, size)
    batch = math.prod(shape[:-3])
    by_image, images = 0, 1
    for count, stride in zip(shape[-4::-1], strides[-4::-1], strict=True):  # from the innermost axis of the batch on
        if count == 1:
            continue
        if stride <= 0 or (by_image and stride != by_image * images):
            return None
        by_image = by_image or stride
        images *= count
    height, width, channels = shape[-3:]
    by_row, by_pixel, by_channel = strides[-3:]
    if (channels > 1 and by_channel != size) or (width > 1 and by_pixel != channels * size):
        return None
    if height > 1 and (by_row < width * channels * size or by_row % size):
        return None
    if batch > 1 and by_image % size:
        return None
    return (batch, height, width, channels), (by_image, by_row, by_pixel, by_channel), dtype


def _outline_of(place, has_channels):
    return _outline(place.shape, place.strides, place.dtype, has_channels)


def image(image, taps, out, dtype, channel_axis, correlation, origin, options):
    """tapline.image for an image on a GPU; `options` as the engine takes them."""
    library, place, to, _ = _gpu_call.check_places({"image": image, "taps": taps, "out": out}, "image")
    channels = has_channels(len(place.shape), channel_axis)
    taps = arranged_taps(_gpu_call.taps_in_host_memory(taps)[0], place.shape[-1] if channels else None)
    complex_taps = taps.dtype.kind == "c"
    wanted = None if dtype is None else getattr(dtype, "name", None) or np.dtype(dtype).name
    if to is not None:
        if wanted is not None and wanted != to.dtype:
            raise ValueError(f"dtype: {wanted}, but out has {to.dtype}; leave dtype away")
        wanted = to.dtype
    wanted = wanted or (_with_complex_taps(place.dtype) if complex_taps else place.dtype)
    stored = _stored(place.dtype, complex_taps)
    if stored != place.dtype:
        image = library.astype(image, stored)
        place = library.place(image)
    at = place.shape[len(place.shape) - 2 - channels :]
    height, width = _core.image_size({"mode": options["mode"]}, *at[:2], *taps.shape[-2:])
    shape = (*place.shape[: len(place.shape) - len(at)], height, width, *at[2:])
    if out is not None:
        _gpu_call.check_out(library_of(out), to, shape)
    if math.prod(place.shape) == 0:
        return library.empty(shape, wanted, place.device) if out is None else out
    layout = _outline_of(place, channels)
    if layout is None:
        image = library.contiguous(image)
        place = library.place(image)
        layout = _outline_of(place, channels)
    of_work, work = (library, library.empty(shape, wanted, place.device)) if out is None else (library_of(out), out)
    layout_out = _outline_of(to or of_work.place(work), channels)
    if layout_out is None:
        of_work, work = library, library.empty(shape, wanted, place.device)
        layout_out = _outline_of(library.place(work), channels)
    plan = _core.ImagePlan(options | {"device": f"cuda:{place.device}"}, correlation, layout, layout_out, taps, *origin)
    return _gpu_call.launch(library, place, image, plan, of_work, work, out)
