from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike, NDArray

__all__ = [
    "choose_conv_method",
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "correlation_lags",
    "fftconvolve",
    "oaconvolve",
    "upfirdn",
]

def choose_conv_method(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    measure: bool = False,
) -> str | tuple[str, dict[str, float]]: ...
def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: Literal["auto", "direct", "fft"] = "auto",
) -> NDArray[Any]: ...
def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: complex = 0,
) -> NDArray[Any]: ...
def correlate(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: Literal["auto", "direct", "fft"] = "auto",
) -> NDArray[Any]: ...
def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: complex = 0,
) -> NDArray[Any]: ...
def correlation_lags(in1_len: int, in2_len: int, mode: str = "full") -> NDArray[Any]: ...
def fftconvolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    axes: int | Sequence[int] | None = None,
) -> NDArray[Any]: ...
def oaconvolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    axes: int | Sequence[int] | None = None,
) -> NDArray[Any]: ...
def upfirdn(
    h: ArrayLike,
    x: ArrayLike,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: complex = 0,
) -> NDArray[Any]: ...
