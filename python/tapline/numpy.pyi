from typing import Any, Literal

from numpy.typing import ArrayLike, NDArray

__all__ = ["convolve", "correlate"]

def convolve(a: ArrayLike, v: ArrayLike, mode: Literal["full", "same", "valid"] = "full") -> NDArray[Any]: ...
def correlate(a: ArrayLike, v: ArrayLike, mode: Literal["full", "same", "valid"] = "valid") -> NDArray[Any]: ...
