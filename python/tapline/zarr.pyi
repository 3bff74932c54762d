import os
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from numpy.typing import ArrayLike

from tapline import _Mode

_Source: TypeAlias = str | os.PathLike[str] | Any  # a path, or an array of zarr, h5py or NumPy
_Target: TypeAlias = str | os.PathLike[str] | Any  # also a store of zarr
_Opened: TypeAlias = Any  # an array of zarr, h5py or NumPy

def convolve(
    source: _Source,
    target: _Target,
    taps: ArrayLike,
    mode: _Mode = "full",
    *,
    axis: int = -1,
    memory: int = 268435456,
    progress: Callable[[int, int], object] | Literal["auto"] | None = "auto",
    overwrite: bool = False,
    chunks: tuple[int, ...] | None = None,
    **options: Any,
) -> _Opened: ...

correlate = convolve

def image(
    source: _Source,
    target: _Target,
    taps: ArrayLike,
    mode: _Mode = "same",
    *,
    channel_axis: Literal[-1] | None = None,
    operation: Literal["convolution", "correlation"] = "convolution",
    memory: int = 268435456,
    progress: Callable[[int, int], object] | Literal["auto"] | None = "auto",
    overwrite: bool = False,
    chunks: tuple[int, ...] | None = None,
    **options: Any,
) -> _Opened: ...
