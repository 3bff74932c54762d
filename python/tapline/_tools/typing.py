"""Names for the type stubs."""

from typing import Protocol, TypeVar


class ArrayOnGpu(Protocol):
    """A CuPy array, a PyTorch tensor or a JAX array in GPU memory."""

    def __dlpack_device__(self) -> tuple[int, int]: ...


OnGpu = TypeVar("OnGpu", bound=ArrayOnGpu)
