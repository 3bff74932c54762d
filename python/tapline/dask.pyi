import os
from typing import Any, Literal

from dask.array import Array
from numpy.typing import ArrayLike, DTypeLike

from tapline import _Accuracy, _Boundary, _Mode, _Overflow

def convolve(
    x: Array,
    taps: ArrayLike,
    mode: _Mode = "full",
    *,
    axis: int = -1,
    boundary: _Boundary = "zero",
    constant: complex | None = None,
    origin: int | None = None,
    accuracy: _Accuracy = "standard",
    dtype: DTypeLike | None = None,
    scale: float = 1.0,
    bias: float = 0.0,
    clamp: tuple[float, float] | None = None,
    overflow: _Overflow = "error",
    threads: int = 1,
) -> Array: ...

correlate = convolve

def image(
    x: Array,
    taps: ArrayLike,
    mode: _Mode = "same",
    *,
    channel_axis: Literal[-1] | None = None,
    boundary: _Boundary = "zero",
    constant: complex | None = None,
    origin: int | tuple[int | None, int | None] | None = None,
    operation: Literal["convolution", "correlation"] = "convolution",
    accuracy: _Accuracy = "standard",
    dtype: DTypeLike | None = None,
    scale: float = 1.0,
    bias: float = 0.0,
    clamp: tuple[float, float] | None = None,
    threads: int = 1,
) -> Array: ...
def to_zarr(
    x: Array, target: str | os.PathLike[str] | Any, *, overwrite: bool = False, compute: bool = True, **settings: Any
) -> Any: ...
