"""What images in host memory and on a GPU have in common: the arguments' axes."""

import numpy as np


def has_channels(ndim, channel_axis):
    if channel_axis not in (None, -1, ndim - 1):
        raise ValueError(f"channel_axis: {channel_axis!r}; give None or -1 (numpy.moveaxis brings another axis there)")
    if ndim < 2 + (channel_axis is not None):
        raise ValueError(f"image: {ndim} axes; give rows and columns" + ("" if channel_axis is None else " and channels"))
    return channel_axis is not None


def arranged_taps(taps, channels):
    """(height, width) or (channels, height, width); `channels`: of the image, None if its last axis are columns."""
    if taps.dtype.kind not in "iubfc" or taps.dtype.char in "gG":
        raise TypeError(f"taps: elements are {taps.dtype}; convert them to float64 or complex128")
    if taps.ndim == 2:
        return taps
    if taps.ndim != 3:
        raise ValueError(f"taps: {taps.ndim} axes; give (rows, columns), or (rows, columns, channels) with channel_axis=-1")
    if channels is None:
        raise ValueError("taps: a mask for each channel needs channel_axis=-1")
    if taps.shape[2] != channels:
        raise ValueError(f"taps: masks for {taps.shape[2]} channels, the image has {channels}")
    return np.ascontiguousarray(np.moveaxis(taps, 2, 0))


def origins_of(origin):
    """(row, column) of the tap on the output, None where the mode says it."""
    if origin is None:
        return None, None
    if np.ndim(origin) == 0:
        return int(origin), int(origin)
    if len(origin) != 2:
        raise ValueError(f"origin: {origin!r}; give an index for both axes, or a pair (row, column)")
    return tuple(None if o is None else int(o) for o in origin)


def is_correlation(operation):
    if operation not in ("convolution", "correlation"):
        raise ValueError(f"operation: {operation!r}; one of 'convolution', 'correlation'")
    return operation == "correlation"
