from collections.abc import Sequence
from typing import Any, overload

from numpy.typing import ArrayLike, DTypeLike, NDArray

from tapline._tools.typing import ArrayOnGpu, OnGpu

@overload
def convolve(
    input: NDArray[Any],
    weights: ArrayLike,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> NDArray[Any]: ...
@overload
def convolve(
    input: OnGpu,
    weights: ArrayLike | ArrayOnGpu,
    output: OnGpu | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> OnGpu: ...
@overload
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
@overload
def convolve1d(
    input: NDArray[Any],
    weights: ArrayLike,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> NDArray[Any]: ...
@overload
def convolve1d(
    input: OnGpu,
    weights: ArrayLike | ArrayOnGpu,
    axis: int = -1,
    output: OnGpu | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> OnGpu: ...
@overload
def convolve1d(
    input: ArrayLike,
    weights: ArrayLike,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> NDArray[Any]: ...

correlate = convolve
correlate1d = convolve1d

@overload
def gaussian_filter(
    input: NDArray[Any],
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
@overload
def gaussian_filter(
    input: OnGpu,
    sigma: float | Sequence[float],
    order: int | Sequence[int] = 0,
    output: OnGpu | DTypeLike | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: complex = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
) -> OnGpu: ...
@overload
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
@overload
def gaussian_filter1d(
    input: NDArray[Any],
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
@overload
def gaussian_filter1d(
    input: OnGpu,
    sigma: float,
    axis: int = -1,
    order: int = 0,
    output: OnGpu | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> OnGpu: ...
@overload
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
@overload
def laplace(
    input: NDArray[Any],
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: complex = 0.0,
    *,
    axes: int | Sequence[int] | None = None,
) -> NDArray[Any]: ...
@overload
def laplace(
    input: OnGpu,
    output: OnGpu | DTypeLike | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: complex = 0.0,
    *,
    axes: int | Sequence[int] | None = None,
) -> OnGpu: ...
@overload
def laplace(
    input: ArrayLike,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: complex = 0.0,
    *,
    axes: int | Sequence[int] | None = None,
) -> NDArray[Any]: ...
@overload
def prewitt(
    input: NDArray[Any],
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: complex = 0.0,
) -> NDArray[Any]: ...
@overload
def prewitt(
    input: OnGpu,
    axis: int = -1,
    output: OnGpu | DTypeLike | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: complex = 0.0,
) -> OnGpu: ...
@overload
def prewitt(
    input: ArrayLike,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: complex = 0.0,
) -> NDArray[Any]: ...

sobel = prewitt

@overload
def uniform_filter(
    input: NDArray[Any],
    size: int | Sequence[int] = 3,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: complex = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> NDArray[Any]: ...
@overload
def uniform_filter(
    input: OnGpu,
    size: int | Sequence[int] = 3,
    output: OnGpu | DTypeLike | None = None,
    mode: str | Sequence[str] = "reflect",
    cval: complex = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> OnGpu: ...
@overload
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
@overload
def uniform_filter1d(
    input: NDArray[Any],
    size: int,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> NDArray[Any]: ...
@overload
def uniform_filter1d(
    input: OnGpu,
    size: int,
    axis: int = -1,
    output: OnGpu | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> OnGpu: ...
@overload
def uniform_filter1d(
    input: ArrayLike,
    size: int,
    axis: int = -1,
    output: NDArray[Any] | DTypeLike | None = None,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
) -> NDArray[Any]: ...
