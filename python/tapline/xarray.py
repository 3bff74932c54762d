"""The accessor `DataArray.tapline`: convolution along named dimensions, coordinates and attributes kept.

`import tapline.xarray` registers it; it needs xarray. Arrays of Dask stay lazy (`tapline.dask`), others are computed at once.
"""

import importlib
from typing import Any

import numpy as np
import xarray as xr

import tapline

__all__ = ["TaplineAccessor"]


@xr.register_dataarray_accessor("tapline")
class TaplineAccessor:
    """``array.tapline``: what `tapline.convolve`, `correlate` and `image` do, along dimensions by name.

    Attributes, the name and coordinates are kept. Mode 'valid' trims a filtered dimension and its coordinates to the samples on
    which the filter sits in mode 'same', 'full' makes it longer and drops coordinates along it.
    """

    def __init__(self, array):
        self._array = array

    def convolve(self, taps, dim, mode="same", **options):
        """Convolve along `dim`: the name of one dimension, with taps of one axis, or of two, with taps of two (rows of the first,
        columns of the second; `tapline.image`).

        `options` are those of `tapline.convolve` and `tapline.image`, or of `tapline.dask`'s for an array of Dask. Taps may be a
        DataArray of the same dimensions, in any order.

        Examples
        --------
        >>> import numpy as np, xarray as xr, tapline.xarray
        >>> x = xr.DataArray(np.arange(5.0), dims="time", coords={"time": [10, 20, 30, 40, 50]}, attrs={"units": "K"})
        >>> y = x.tapline.convolve([1, 1, 1], dim="time", mode="valid")
        >>> y.values, y.time.values, y.attrs
        (array([3., 6., 9.]), array([20, 30, 40]), {'units': 'K'})
        """
        return self._filtered(False, taps, dim, mode, options)

    def correlate(self, taps, dim, mode="same", **options):
        """The same with `tapline.correlate`: taps are not reversed.

        Examples
        --------
        >>> import numpy as np, xarray as xr, tapline.xarray
        >>> x = xr.DataArray(np.arange(12.0).reshape(2, 6), dims=("station", "time"))
        >>> x.tapline.correlate([-1, 0, 1], dim="time", boundary="nearest").values[0]
        array([1., 2., 2., 2., 2., 1.])
        """
        return self._filtered(True, taps, dim, mode, options)

    def _filtered(self, correlation, taps, dim, mode, options):
        array = self._array
        dims = [dim] if isinstance(dim, str) or not isinstance(dim, (tuple, list)) else list(dim)
        missing = [d for d in dims if d not in array.dims]
        if missing or len(set(dims)) != len(dims) or len(dims) not in (1, 2):
            raise ValueError(f"dim: {dim!r} of an array with dimensions {array.dims}; give one of them, or two for an image")
        if isinstance(taps, xr.DataArray):
            if set(taps.dims) != set(dims):
                raise ValueError(f"taps: dimensions {taps.dims}; give those of dim, {dims}")
            taps = taps.transpose(*dims).values
        taps = np.asarray(taps)
        if taps.ndim != len(dims):
            raise ValueError(f"taps: {taps.ndim} axes for {len(dims)} dimensions")
        last = array if len(dims) == 1 else array.transpose(..., *dims)
        y = _values(last, correlation, taps, dims, mode, options)
        result = xr.DataArray(y, dims=last.dims, coords=_coords(last, taps.shape, dims, mode, options), name=array.name)
        result.attrs.update(array.attrs)
        return result.transpose(*array.dims)


def _values(array, correlation, taps, dims, mode, options):
    place: Any = tapline
    if array.chunks is not None:
        place = importlib.import_module("tapline.dask")
    if len(dims) == 2:
        operation = "correlation" if correlation else "convolution"
        return place.image(array.data, taps, mode, operation=operation, **options)
    function = place.correlate if correlation else place.convolve
    return function(array.data, taps, mode, axis=array.get_axis_num(dims[0]), **options)


def _coords(array, sizes, dims, mode, options):
    """The coordinates that are left: those of other dimensions, and of the filtered ones where outputs sit on samples."""
    origin = options.get("origin")
    trimmed = array
    for i, (d, k) in enumerate(zip(dims, sizes, strict=True)):
        if mode == "valid":
            own = origin[i] if isinstance(origin, (tuple, list)) else origin
            if own not in (None, 0):  # outputs are where the caller says
                trimmed = trimmed.drop_vars([name for name, c in trimmed.coords.items() if d in c.dims])
            n = array.sizes[d]
            trimmed = trimmed.isel({d: slice(k // 2, k // 2 + n - k + 1)})
        elif mode == "full" and k > 1:
            trimmed = trimmed.drop_vars([name for name, c in trimmed.coords.items() if d in c.dims])
    return trimmed.coords
