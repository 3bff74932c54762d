from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "laplace",
    "prewitt",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]

def convolve(
    input: ArrayLike,
    weights: ArrayLike,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> NDArray[Any]: ...
def convolve1d(
    input: ArrayLike,
    weights: ArrayLike,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> NDArray[Any]: ...
def correlate(
    input: ArrayLike,
    weights: ArrayLike,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> NDArray[Any]: ...
def correlate1d(
    input: ArrayLike,
    weights: ArrayLike,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> NDArray[Any]: ...
def gaussian_filter(
    input: ArrayLike,
    sigma: float | Sequence[float],
    order: int | Sequence[int] = 0,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: complex = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
) -> NDArray[Any]: ...
def gaussian_filter1d(
    input: ArrayLike,
    sigma: float,
    axis: int = -1,
    order: int = 0,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> NDArray[Any]: ...
def laplace(
    input: ArrayLike,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: complex = 0.0,
    *,
    axes: int | Sequence[int] | None = None,
) -> NDArray[Any]: ...
def prewitt(
    input: ArrayLike,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: complex = 0.0,
) -> NDArray[Any]: ...
def sobel(
    input: ArrayLike,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: complex = 0.0,
) -> NDArray[Any]: ...
def uniform_filter(
    input: ArrayLike,
    size: int | Sequence[int] = 3,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: complex = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> NDArray[Any]: ...
def uniform_filter1d(
    input: ArrayLike,
    size: int,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> NDArray[Any]: ...
