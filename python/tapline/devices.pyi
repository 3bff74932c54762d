from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike, DTypeLike

from tapline import _Mode

class Plan:
    algorithm: str
    predicted_seconds: float
    device_bytes: int
    axis: int
    shape: tuple[int, ...]
    dtype: str
    devices: list[int]
    lengths: list[int]
    output_lengths: list[int]
    def __init__(
        self,
        shape: Sequence[int],
        taps: ArrayLike,
        mode: _Mode = "full",
        *,
        devices: str = "cuda:all",
        dtype: DTypeLike = "float32",
        axis: int = -1,
        lengths: Sequence[int] | None = None,
        output_dtype: DTypeLike | None = None,
        correlation: bool = False,
        **options: Any,
    ) -> None: ...
    def __call__(self, signal: Sequence[Any], out: Sequence[Any] | None = None) -> Sequence[Any]: ...
    def explain(self) -> str: ...
    def shapes(self, output: bool = False) -> list[tuple[int, ...]]: ...

class ImagePlan(Plan):
    def __init__(
        self,
        shape: Sequence[int],
        taps: ArrayLike,
        mode: _Mode = "same",
        *,
        devices: str = "cuda:all",
        dtype: DTypeLike = "float32",
        channel_axis: Literal[-1] | None = None,
        origin: int | tuple[int, int] | None = None,
        operation: Literal["convolution", "correlation"] = "convolution",
        lengths: Sequence[int] | None = None,
        output_dtype: DTypeLike | None = None,
        **options: Any,
    ) -> None: ...

def convolve(
    signal: Sequence[Any],
    taps: ArrayLike,
    mode: _Mode = "full",
    *,
    axis: int = -1,
    out: Sequence[Any] | None = None,
    dtype: DTypeLike | None = None,
    **options: Any,
) -> Sequence[Any]: ...

correlate = convolve

def image(
    image: Sequence[Any],
    taps: ArrayLike,
    mode: _Mode = "same",
    *,
    channel_axis: Literal[-1] | None = None,
    origin: int | tuple[int, int] | None = None,
    operation: Literal["convolution", "correlation"] = "convolution",
    out: Sequence[Any] | None = None,
    dtype: DTypeLike | None = None,
    **options: Any,
) -> Sequence[Any]: ...
