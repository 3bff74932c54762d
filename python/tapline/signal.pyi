from collections.abc import Sequence
from typing import Any, Literal, overload

from numpy.typing import ArrayLike, NDArray

from tapline._tools.typing import ArrayOnGpu, OnGpu

def choose_conv_method(
    in1: ArrayLike | ArrayOnGpu,
    in2: ArrayLike | ArrayOnGpu,
    mode: str = "full",
    measure: bool = False,
) -> str | tuple[str, dict[str, float]]: ...
@overload
def convolve(
    in1: NDArray[Any],
    in2: ArrayLike,
    mode: str = "full",
    method: Literal["auto", "direct", "fft"] = "auto",
) -> NDArray[Any]: ...
@overload
def convolve(
    in1: OnGpu,
    in2: ArrayLike | ArrayOnGpu,
    mode: str = "full",
    method: Literal["auto", "direct", "fft"] = "auto",
) -> OnGpu: ...
@overload
def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: Literal["auto", "direct", "fft"] = "auto",
) -> NDArray[Any]: ...
@overload
def convolve2d(
    in1: NDArray[Any],
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: complex = 0,
) -> NDArray[Any]: ...
@overload
def convolve2d(
    in1: OnGpu,
    in2: ArrayLike | ArrayOnGpu,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: complex = 0,
) -> OnGpu: ...
@overload
def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: complex = 0,
) -> NDArray[Any]: ...

correlate = convolve
correlate2d = convolve2d

def correlation_lags(in1_len: int, in2_len: int, mode: str = "full") -> NDArray[Any]: ...
@overload
def fftconvolve(
    in1: NDArray[Any],
    in2: ArrayLike,
    mode: str = "full",
    axes: int | Sequence[int] | None = None,
) -> NDArray[Any]: ...
@overload
def fftconvolve(
    in1: OnGpu,
    in2: ArrayLike | ArrayOnGpu,
    mode: str = "full",
    axes: int | Sequence[int] | None = None,
) -> OnGpu: ...
@overload
def fftconvolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    axes: int | Sequence[int] | None = None,
) -> NDArray[Any]: ...

oaconvolve = fftconvolve

@overload
def upfirdn(
    h: ArrayLike,
    x: NDArray[Any],
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: complex = 0,
) -> NDArray[Any]: ...
@overload
def upfirdn(
    h: ArrayLike | ArrayOnGpu,
    x: OnGpu,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: complex = 0,
) -> OnGpu: ...
@overload
def upfirdn(
    h: ArrayLike,
    x: ArrayLike,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: complex = 0,
) -> NDArray[Any]: ...
