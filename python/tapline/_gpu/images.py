"""Images in GPU memory: tapline.image where the image's library, not NumPy, owns the pixels, in one execution on its stream."""

import math

import numpy as np

from tapline import _core
from tapline._gpu import calls
from tapline._gpu.libraries import Place, c_strides, itemsize_of, library_of
from tapline._image_parts import arranged_taps, has_channels
from tapline._remembered import remember

# Types that the engine reads as they are.
_AS_STORED = frozenset(("float32", "float64", "complex64", "complex128", "uint8", "uint16", "float16", "bfloat16"))

# That a problem has beside channels.
_MOST_BATCH_AXES = 3


def _with_complex_taps(dtype):
    if dtype.startswith("complex"):
        return dtype
    return "complex128" if dtype == "float64" or (dtype not in _AS_STORED and itemsize_of(dtype) > 2) else "complex64"


def _stored(dtype, complex_taps):
    """The type that the engine computes from: that of the image where it knows it."""
    if complex_taps:
        return _with_complex_taps(dtype)
    if dtype in _AS_STORED:
        return dtype
    return "float64" if itemsize_of(dtype) > 2 else "float32"


def types_of(dtype, wanted, complex_taps):
    """What the engine reads and writes for images of a type; `wanted` is None for the usual one."""
    return _stored(dtype, complex_taps), wanted or (_with_complex_taps(dtype) if complex_taps else dtype)


def _outline(place, has_channels):
    """(batch axes, height, width, channels), its strides in bytes and the type's name, of pixels in any order.

    None where they do not lie whole elements apart, or have more batch axes than the engine steps through."""
    size = itemsize_of(place.dtype)
    shape, strides = (place.shape, place.strides) if has_channels else ((*place.shape, 1), (*place.strides, size))
    batch = [(count, stride) for count, stride in zip(shape[:-3], strides[:-3], strict=True) if count > 1]
    if len(batch) > _MOST_BATCH_AXES or any(s % size for n, s in zip(shape, strides, strict=True) if n > 1):
        return None
    return (*(n for n, _ in batch), *shape[-3:]), (*(s for _, s in batch), *strides[-3:]), place.dtype


def _packed(outline):
    """The same with one batch axis; None where pixels of a row do not lie side by side, or rows or images lie backwards."""
    if outline is None:
        return None
    shape, strides, dtype = outline
    size = itemsize_of(dtype)
    by_image, images = 0, 1
    for count, stride in zip(shape[-4::-1], strides[-4::-1], strict=True):  # from the innermost axis of the batch on
        if stride <= 0 or (by_image and stride != by_image * images):
            return None
        by_image = by_image or stride
        images *= count
    height, width, channels = shape[-3:]
    by_row, by_pixel, by_channel = strides[-3:]
    if (channels > 1 and by_channel != size) or (width > 1 and by_pixel != channels * size):
        return None
    if height > 1 and by_row < width * channels * size:
        return None
    return (images, height, width, channels), (by_image, by_row, by_pixel, by_channel), dtype


# What copying an image to C order takes: half as long again as copying image and output would as they are packed, or this for
# each of its elements (CuPy on an H100, 4096 x 4096, reversed and transposed: uint8 84 and 109 us, float32 83 and 141).
_COPYING_SHARE = 1.5
_COPYING_SECONDS = 5e-12

# And what such a call takes the host, which one that reads its pixels in place does not: a short launch does not hide it.
_COPYING_CALL_SECONDS = 1.1e-4

# Whether a call's image is copied to C order before it is filtered, by all that decides it; the oldest go first.
_MAX_CHOICES = 256
_choices: dict[tuple, bool] = {}


def _plan_in_place(make, layout, layout_out, packed, key):
    """The plan that reads and writes the pixels where they lie, None where copying them first is sooner.

    `packed`: the outlines of the copy and of an output in C order."""
    choice = _choices.get(key)
    if choice:
        return None
    other = make(*packed) if choice is None else None  # first: the latest plan is the one that is explained and kept beside a call
    try:
        plan = make(layout, layout_out)
    except (NotImplementedError, ValueError):  # what is wrong beside the layout is told by the plan of the copy
        plan = None
    if choice is None:
        copies = plan is None
        if plan is not None and other is not None:
            copying = max(_COPYING_SHARE * other.predicted_copy_seconds, _COPYING_SECONDS * math.prod(layout[0]))
            copies = max(other.predicted_seconds + copying, _COPYING_CALL_SECONDS) < plan.predicted_seconds
        remember(_choices, key, copies, _MAX_CHOICES)
        plan = None if copies else plan
    return plan


def image(image, taps, out, dtype, channel_axis, correlation, origin, options, given):
    """tapline.image for an image on a GPU; `options` as the engine takes them, `given` as tapline.image was given them."""
    call = image, taps, out, given
    library, place, to, _ = calls.check_places({"image": image, "taps": taps, "out": out}, "image")
    channels = has_channels(len(place.shape), channel_axis)
    taps = arranged_taps(calls.taps_in_host_memory(taps)[0], place.shape[-1] if channels else None)
    complex_taps = taps.dtype.kind == "c"
    wanted = None if dtype is None else getattr(dtype, "name", None) or np.dtype(dtype).name
    if to is not None:
        if wanted is not None and wanted != to.dtype:
            raise ValueError(f"dtype: {wanted}, but out has {to.dtype}; leave dtype away")
        wanted = to.dtype
    stored, wanted = types_of(place.dtype, wanted, complex_taps)
    if stored != place.dtype:
        image = library.astype(image, stored)
        place = library.place(image)
    at = place.shape[len(place.shape) - 2 - channels :]
    height, width = _core.image_size({"mode": options["mode"]}, *at[:2], *taps.shape[-2:])
    shape = (*place.shape[: len(place.shape) - len(at)], height, width, *at[2:])
    if out is not None:
        calls.check_out(library_of(out), to, shape)
    if math.prod(place.shape) == 0:
        return library.empty(shape, wanted, place.device) if out is None else out
    of_work, work = (library, library.empty(shape, wanted, place.device)) if out is None else (library_of(out), out)

    def make(layout, layout_out):
        return _core.ImagePlan(options | {"device": f"cuda:{place.device}"}, correlation, layout, layout_out, taps, *origin)

    def c_outline(shape, dtype):
        return _packed(_outline(Place(shape, c_strides(shape, itemsize_of(dtype)), dtype, place.device, 0), channels))

    layout, layout_out = _outline(place, channels), _outline(to or of_work.place(work), channels)
    plan = None
    if _packed(layout) is not None and _packed(layout_out) is not None:
        plan = make(_packed(layout), _packed(layout_out))
    elif layout is not None and layout_out is not None:
        key = (layout, layout_out, taps.shape, taps.dtype.str, correlation, origin, repr(options), place.device)
        packed = c_outline(place.shape, place.dtype), c_outline(shape, wanted)
        plan = _plan_in_place(make, layout, layout_out, packed, key)
    if plan is not None and call[0] is image:
        _core.keep_plain_image(*call, plan, shape, wanted)
    elif plan is None:
        if _packed(layout) is None:
            image = library.contiguous(image)
            place = library.place(image)
        if _packed(layout_out) is None:
            of_work, work = library, library.empty(shape, wanted, place.device)
        plan = make(_packed(_outline(place, channels)), _packed(_outline(of_work.place(work), channels)))
    return calls.launch(library, place, image, plan, of_work, work, out)
