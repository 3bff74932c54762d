from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tapline import ndimage as ndimage
from tapline import numpy as numpy
from tapline import signal as signal
from tapline._tools.typing import ArrayOnGpu, OnGpu

_Mode: TypeAlias = Literal["full", "same", "valid", "causal", "leading"]
_Boundary: TypeAlias = Literal["zero", "constant", "nearest", "reflect", "mirror", "wrap"]
_Accuracy: TypeAlias = Literal["standard", "strict", "fast"]
_Overflow: TypeAlias = Literal["error", "wrap", "truncate"]

__version__: str

@overload
def convolve(
    signal: NDArray[Any],
    taps: ArrayLike,
    mode: _Mode = "full",
    *,
    axis: int = -1,
    boundary: _Boundary = "zero",
    constant: complex = 0,
    origin: int | None = None,
    accuracy: _Accuracy = "standard",
    device: str = "auto",
    out: NDArray[Any] | None = None,
    dtype: DTypeLike | None = None,
    scale: float = 1.0,
    bias: float = 0.0,
    clamp: tuple[float, float] | None = None,
    overflow: _Overflow = "error",
    threads: int = 0,
) -> NDArray[Any]: ...
@overload
def convolve(
    signal: OnGpu,
    taps: ArrayLike | ArrayOnGpu,
    mode: _Mode = "full",
    *,
    axis: int = -1,
    boundary: _Boundary = "zero",
    constant: complex = 0,
    origin: int | None = None,
    accuracy: _Accuracy = "standard",
    device: str = "auto",
    out: OnGpu | None = None,
    dtype: DTypeLike | None = None,
    scale: float = 1.0,
    bias: float = 0.0,
    clamp: tuple[float, float] | None = None,
    overflow: _Overflow = "error",
    threads: int = 0,
) -> OnGpu: ...
@overload
def convolve(
    signal: ArrayLike,
    taps: ArrayLike,
    mode: _Mode = "full",
    *,
    axis: int = -1,
    boundary: _Boundary = "zero",
    constant: complex = 0,
    origin: int | None = None,
    accuracy: _Accuracy = "standard",
    device: str = "auto",
    out: NDArray[Any] | None = None,
    dtype: DTypeLike | None = None,
    scale: float = 1.0,
    bias: float = 0.0,
    clamp: tuple[float, float] | None = None,
    overflow: _Overflow = "error",
    threads: int = 0,
) -> NDArray[Any]: ...

correlate = convolve

@overload
def image(
    image: NDArray[Any],
    taps: ArrayLike,
    mode: _Mode = "same",
    *,
    channel_axis: Literal[-1] | None = None,
    boundary: _Boundary = "zero",
    constant: complex | None = None,
    origin: int | tuple[int | None, int | None] | None = None,
    operation: Literal["convolution", "correlation"] = "convolution",
    accuracy: _Accuracy = "standard",
    out: NDArray[Any] | None = None,
    dtype: DTypeLike | None = None,
    scale: float = 1.0,
    bias: float = 0.0,
    clamp: tuple[float, float] | None = None,
    threads: int = 0,
) -> NDArray[Any]: ...
@overload
def image(
    image: OnGpu,
    taps: ArrayLike | ArrayOnGpu,
    mode: _Mode = "same",
    *,
    channel_axis: Literal[-1] | None = None,
    boundary: _Boundary = "zero",
    constant: complex | None = None,
    origin: int | tuple[int | None, int | None] | None = None,
    operation: Literal["convolution", "correlation"] = "convolution",
    accuracy: _Accuracy = "standard",
    out: OnGpu | None = None,
    dtype: DTypeLike | None = None,
    scale: float = 1.0,
    bias: float = 0.0,
    clamp: tuple[float, float] | None = None,
    threads: int = 0,
) -> OnGpu: ...
@overload
def image(
    image: ArrayLike,
    taps: ArrayLike,
    mode: _Mode = "same",
    *,
    channel_axis: Literal[-1] | None = None,
    boundary: _Boundary = "zero",
    constant: complex | None = None,
    origin: int | tuple[int | None, int | None] | None = None,
    operation: Literal["convolution", "correlation"] = "convolution",
    accuracy: _Accuracy = "standard",
    out: NDArray[Any] | None = None,
    dtype: DTypeLike | None = None,
    scale: float = 1.0,
    bias: float = 0.0,
    clamp: tuple[float, float] | None = None,
    threads: int = 0,
) -> NDArray[Any]: ...

class Plan:
    def __init__(
        self,
        shape: int | Sequence[int],
        taps: ArrayLike,
        mode: _Mode = "full",
        *,
        dtype: DTypeLike | None = None,
        axis: int = -1,
        boundary: _Boundary = "zero",
        constant: complex = 0,
        origin: int | None = None,
        operation: Literal["convolution", "correlation"] = "convolution",
        accuracy: _Accuracy = "standard",
        effort: Literal["estimate", "measure"] = "estimate",
        device: str = "auto",
        algorithm: str | None = None,
        threads: int = 0,
        scale: float = 1.0,
        bias: float = 0.0,
        clamp: tuple[float, float] | None = None,
        overflow: _Overflow = "error",
    ) -> None: ...
    @overload
    def __call__(self, signal: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]: ...
    @overload
    def __call__(self, signal: OnGpu, out: OnGpu | None = None) -> OnGpu: ...
    @overload
    def __call__(self, signal: ArrayLike, out: NDArray[Any] | None = None) -> NDArray[Any]: ...
    def explain(self) -> str: ...
    def plot(self, rate: float | None = None, axes: Any = None) -> Any: ...
    def _repr_html_(self) -> str: ...
    @property
    def taps(self) -> NDArray[Any]: ...
    @property
    def workspace_bytes(self) -> int: ...
    @property
    def algorithm(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def threads(self) -> int: ...
    @property
    def predicted_seconds(self) -> float: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def output_shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def output_dtype(self) -> np.dtype[Any]: ...

class _Measurement(TypedDict):
    taps: int
    seconds: float
    copy_seconds: float
    share: float
    algorithm: str
    device: str

def bench(
    length: int = 16777216,
    taps: int | Sequence[int] = (9, 127, 2047),
    *,
    dtype: DTypeLike = "float32",
    mode: _Mode = "same",
    seconds: float = 0.5,
    progress: Callable[[int, int], object] | Literal["auto"] | None = "auto",
    **options: Any,
) -> list[_Measurement]: ...
def info() -> dict[str, Any]: ...
@overload
def show_config(mode: Literal["dicts"]) -> dict[str, Any]: ...
@overload
def show_config(mode: Literal["stdout"] = "stdout") -> None: ...
def plot_taps(taps: ArrayLike, rate: float | None = None, axes: Any = None) -> Any: ...
def clear_plan_cache() -> None: ...
def set_plan_cache_limit(bytes: int) -> None: ...
