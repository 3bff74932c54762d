from typing import Any, Literal, overload

from numpy.typing import ArrayLike, NDArray

from tapline._tools.typing import ArrayOnGpu, OnGpu

__all__ = ["convolve", "correlate"]

@overload
def convolve(a: NDArray[Any], v: ArrayLike, mode: Literal["full", "same", "valid"] = "full") -> NDArray[Any]: ...
@overload
def convolve(a: OnGpu, v: ArrayLike | ArrayOnGpu, mode: Literal["full", "same", "valid"] = "full") -> OnGpu: ...
@overload
def convolve(a: ArrayLike, v: ArrayLike, mode: Literal["full", "same", "valid"] = "full") -> NDArray[Any]: ...
@overload
def correlate(a: NDArray[Any], v: ArrayLike, mode: Literal["full", "same", "valid"] = "valid") -> NDArray[Any]: ...
@overload
def correlate(a: OnGpu, v: ArrayLike | ArrayOnGpu, mode: Literal["full", "same", "valid"] = "valid") -> OnGpu: ...
@overload
def correlate(a: ArrayLike, v: ArrayLike, mode: Literal["full", "same", "valid"] = "valid") -> NDArray[Any]: ...
