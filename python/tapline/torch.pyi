from collections.abc import Sequence
from typing import Literal

from torch import Tensor
from torch.distributed import ProcessGroup

def conv1d(
    x: Tensor,
    taps: Tensor,
    padding: Literal["causal", "same"] | int = "causal",
    *,
    group: ProcessGroup | None = None,
    lengths: Sequence[int] | None = None,
    method: Literal["auto", "halo", "all_to_all"] = "auto",
    timeout: float | None = None,
    check: Literal["auto", "always", "never"] = "auto",
) -> Tensor: ...
