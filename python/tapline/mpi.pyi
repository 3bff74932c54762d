from typing import Any

from mpi4py.MPI import Comm
from numpy.typing import ArrayLike, NDArray

from tapline import _Mode

def convolve(
    x: ArrayLike,
    taps: ArrayLike,
    mode: _Mode = "full",
    *,
    axis: int = -1,
    comm: Comm | None = None,
    timeout: float | None = None,
    **options: Any,
) -> NDArray[Any]: ...

correlate = convolve
