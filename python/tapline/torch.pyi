from typing import Literal

from torch import Tensor

__all__ = ["conv1d"]

def conv1d(x: Tensor, taps: Tensor, padding: Literal["causal", "same"] | int = "causal") -> Tensor: ...
