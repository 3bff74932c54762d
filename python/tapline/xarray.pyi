from collections.abc import Hashable, Sequence
from typing import Any

from numpy.typing import ArrayLike
from xarray import DataArray

from tapline import _Mode

class TaplineAccessor:
    def __init__(self, array: DataArray) -> None: ...
    def convolve(
        self, taps: ArrayLike | DataArray, dim: Hashable | Sequence[Hashable], mode: _Mode = "same", **options: Any
    ) -> DataArray: ...
    def correlate(
        self, taps: ArrayLike | DataArray, dim: Hashable | Sequence[Hashable], mode: _Mode = "same", **options: Any
    ) -> DataArray: ...
