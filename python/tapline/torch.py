"""Depthwise one-dimensional convolution for PyTorch, on the CPU and on GPUs: short filters and very long ones.

`import tapline.torch` needs PyTorch; nothing else of tapline does. Tensors are read and written in place; float16 and bfloat16 are
summed in float32 and rounded once. Gradients of both arguments, to any order, are made of the operators `tapline::correlate_rows`,
`tapline::dot_rows` and `tapline::correlate_rows_gradients`, on a GPU one kernel for both, one for each from 12 taps on (of 16-bit
types 32), transforms where they are faster; torch.compile takes them as they are.
"""

import sys

import numpy as np
import torch

from tapline import _core
from tapline._core import correlate as _correlate

__all__ = ["conv1d"]

# Filters with so few taps are differentiated by a sum of products for each tap, longer ones by the engine. Both sums have a
# fixed order.
_FEW_TAPS = 16


def _array(tensor):
    """As NumPy sees it: float16 and bfloat16 widened, everything else without a copy."""
    return (tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor).numpy()


def _tensor(array, like):
    return torch.from_numpy(np.ascontiguousarray(array)).to(like.dtype)


@torch.library.custom_op("tapline::correlate_rows", mutates_args=(), device_types="cpu")
def _correlate_rows(x: torch.Tensor, taps: torch.Tensor, origin: int, length: int) -> torch.Tensor:
    """out[b, c, o] = sum_t taps[c, t] x[b, c, o + t - origin] for 0 <= o < length, x zero outside.

    x is (B, C, n), taps (C, k), out (B, C, length).
    """
    a, h = _array(x), _array(taps)[None]
    n, k = a.shape[-1], h.shape[-1]
    if length == n:
        return _tensor(_correlate(a, h, "same", origin=origin), x)
    if origin == 0 and length == n - k + 1:
        return _tensor(_correlate(a, h, "valid"), x)
    full = _correlate(a, h, "full")
    first = k - 1 - origin  # of the outputs that are asked for, in the full result
    y = np.zeros((*a.shape[:-1], length), full.dtype)
    begin, end = max(first, 0), min(first + length, full.shape[-1])
    if end > begin:
        y[..., begin - first : end - first] = full[..., begin:end]
    return _tensor(y, x)


@torch.library.custom_op("tapline::dot_rows", mutates_args=(), device_types="cpu")
def _dot_rows(x: torch.Tensor, g: torch.Tensor, origin: int, k: int) -> torch.Tensor:
    """out[c, t] = sum_b sum_o g[b, c, o] x[b, c, t + o - origin] for 0 <= t < k, x zero outside.

    x is (B, C, n), g (B, C, m), out (C, k): the gradient of `correlate_rows` for its taps.
    """
    a, b = _array(x), _array(g)
    n, m = a.shape[-1], b.shape[-1]
    if k > _FEW_TAPS:
        before, after = max(origin, 0), max(k + m - 1 - origin - n, 0)
        padded = np.pad(a, ((0, 0), (0, 0), (before, after)))[..., before - origin :][..., : k + m - 1]
        return _tensor(_correlate(padded, b, "valid").sum(axis=0), x)
    out = np.zeros((a.shape[1], k), a.dtype)
    for t in range(k):
        shift = t - origin
        begin, end = max(0, -shift), min(m, n - shift)
        if end > begin:
            out[:, t] = np.einsum("bco,bco->bc", b[..., begin:end], a[..., begin + shift : end + shift]).sum(axis=0)
    return _tensor(out, x)


@_correlate_rows.register_fake
def _(x, taps, origin, length):
    return x.new_empty((*x.shape[:-1], length))


@_dot_rows.register_fake
def _(x, g, origin, k):
    return x.new_empty((x.shape[1], k))


def _sizes(x, origin, length, k):
    return (*x.shape, length, k, origin)


_NAMES = {torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32", torch.float64: "float64"}


def _on_gpu(x):
    """(element type, GPU, its current stream) as the engine takes them."""
    device = x.get_device()
    return _NAMES[x.dtype], device, _raw_stream(device)


try:  # what torch.compile's own code asks: a tenth of the time of current_stream(), which makes an object
    from torch._C import _cuda_getCurrentRawStream as _raw_stream
except ImportError:  # a PyTorch without GPUs, or one that has moved it

    def _raw_stream(device):
        return torch.cuda.current_stream(device).cuda_stream


@_correlate_rows.register_kernel("cuda")
def _correlate_rows_on_gpu(x, taps, origin, length):
    y = _core.correlate_rows_on_gpu(x.contiguous(), taps.contiguous(), origin, length)
    if y is not None:
        return y
    if x.numel() > 0 < taps.numel() and length > 0:
        raise RuntimeError(f"x: a {type(x).__name__} of {x.dtype} on {x.device}, which cannot be read there")
    return x.new_zeros((*x.shape[:-1], length))


def _gradients_on_gpu(of_x, of_taps, grad, x, taps, origin):
    """Fills of_taps and, if it is not None, of_x; all tensors are contiguous."""
    if grad.numel() == 0:
        of_taps.zero_()
        return
    dtype, device, stream = _on_gpu(x)
    sizes = _sizes(x, origin, grad.shape[-1], of_taps.shape[-1])
    workspace_bytes = _core.depthwise_workspace_bytes(sizes, dtype, device)
    workspace = torch.empty(workspace_bytes, dtype=torch.uint8, device=x.device)
    pointers = (0 if t is None else t.data_ptr() for t in (of_x, of_taps, grad, x, taps, workspace))
    _core.depthwise_gradients(sizes, dtype, *pointers, workspace_bytes, device, stream)


@_dot_rows.register_kernel("cuda")
def _(x, g, origin, k):
    out = x.new_empty((x.shape[1], k))
    _gradients_on_gpu(None, out, g.contiguous(), x.contiguous(), None, origin)
    return out


@torch.library.custom_op("tapline::correlate_rows_gradients", mutates_args=(), device_types="cpu")
def _correlate_rows_gradients(
    grad: torch.Tensor, x: torch.Tensor, taps: torch.Tensor, origin: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of `correlate_rows` for x and for taps, from that of its result."""
    k = taps.shape[-1]
    return _correlate_rows(grad, taps.flip(-1), k - 1 - origin, x.shape[-1]), _dot_rows(x, grad, origin, k)


@_correlate_rows_gradients.register_kernel("cuda")
def _correlate_rows_gradients_on_gpu(grad, x, taps, origin):
    grad, x, taps = grad.contiguous(), x.contiguous(), taps.contiguous()
    of_x, of_taps = torch.empty_like(x), torch.empty_like(taps)
    _gradients_on_gpu(of_x, of_taps, grad, x, taps, origin)
    return of_x, of_taps


@_correlate_rows_gradients.register_fake
def _(grad, x, taps, origin):
    return x.new_empty(x.shape), taps.new_empty(taps.shape)


def _keep_all(ctx, inputs, output):
    grad, x, taps, ctx.origin = inputs
    ctx.save_for_backward(grad, x, taps)


def _gradients_backward(ctx, to_x, to_taps):
    grad, x, taps = ctx.saved_tensors
    k, n, length = taps.shape[-1], x.shape[-1], grad.shape[-1]
    of_grad = of_x = of_taps = None
    if ctx.needs_input_grad[0]:
        of_grad = _correlate_rows(to_x, taps, ctx.origin, length) + _correlate_rows(x, to_taps, ctx.origin, length)
    if ctx.needs_input_grad[1]:
        of_x = _correlate_rows(grad, to_taps.flip(-1), k - 1 - ctx.origin, n)
    if ctx.needs_input_grad[2]:
        of_taps = _dot_rows(to_x, grad, ctx.origin, k)
    return of_grad, of_x, of_taps, None


_correlate_rows_gradients.register_autograd(_gradients_backward, setup_context=_keep_all)


def _keep(ctx, inputs, output):
    first, second, ctx.origin, _ = inputs
    ctx.save_for_backward(first, second)


def _correlate_backward(ctx, grad):
    x, taps = ctx.saved_tensors
    k = taps.shape[-1]
    of_x = of_taps = None
    if all(ctx.needs_input_grad[:2]):
        return *_correlate_rows_gradients(grad, x, taps, ctx.origin), None, None
    if ctx.needs_input_grad[0]:
        of_x = _correlate_rows(grad, taps.flip(-1), k - 1 - ctx.origin, x.shape[-1])
    if ctx.needs_input_grad[1]:
        of_taps = _dot_rows(x, grad, ctx.origin, k)
    return of_x, of_taps, None, None


def _dot_backward(ctx, grad):
    x, g = ctx.saved_tensors
    of_x = of_g = None
    if ctx.needs_input_grad[0]:
        of_x = _correlate_rows(g, grad.flip(-1), grad.shape[-1] - 1 - ctx.origin, x.shape[-1])
    if ctx.needs_input_grad[1]:
        of_g = _correlate_rows(x, grad, ctx.origin, g.shape[-1])
    return of_x, of_g, None, None


_correlate_rows.register_autograd(_correlate_backward, setup_context=_keep)
_dot_rows.register_autograd(_dot_backward, setup_context=_keep)


class _CorrelateRowsOnGpu(torch.autograd.Function):
    """`correlate_rows` for tensors whose operations nobody follows: conv1d of 1,000 samples takes 37 us by the operator (H200), 18
    by this function, and 8.5 where no gradient is wanted (H100; PyTorch's own 15 and 13). What its backward calls are operators
    where these are differentiated again, so that gradients go to any order."""

    @staticmethod
    def forward(ctx, x, taps, origin, length):
        ctx.origin = origin
        ctx.save_for_backward(x, taps)
        return _correlate_rows_on_gpu(x, taps, origin, length)

    @staticmethod
    def backward(ctx, grad):
        if torch.is_grad_enabled() or not all(ctx.needs_input_grad[:2]) or type(grad) not in _PLAIN or _is_followed():
            return _correlate_backward(ctx, grad)
        return *_correlate_rows_gradients_on_gpu(grad, *ctx.saved_tensors, ctx.origin), None, None


_with_gradients = _CorrelateRowsOnGpu.apply

_PLAIN = frozenset((torch.Tensor, torch.nn.Parameter))


_is_compiling, _tracing_state = torch.compiler.is_compiling, torch._C._get_tracing_state
_dispatch_modes, _function_modes = torch._C._len_torch_dispatch_stack, torch._C._len_torch_function_stack
_transform_level, _forward_ad = torch._C._functorch.maybe_current_level, torch.autograd.forward_ad


def _is_followed():
    """Whether an operator's call is to be seen: compiled, traced, transformed, differentiated forward, or watched by a mode."""
    return (
        _is_compiling()
        or _function_modes() > 0
        or _dispatch_modes() > 0
        or _tracing_state() is not None
        or _transform_level() is not None
        or _forward_ad._current_level >= 0
    )


def _correlated(x, taps, origin, length):
    """`correlate_rows`, on a GPU by the shortest way."""
    if not x.is_cuda or type(x) not in _PLAIN or type(taps) not in _PLAIN or _is_followed() or x.is_neg() or taps.is_neg():
        return _correlate_rows(x, taps, origin, length)
    if torch.is_grad_enabled() and (x.requires_grad or taps.requires_grad):
        return _with_gradients(x, taps, origin, length)
    return _correlate_rows_on_gpu(x, taps, origin, length)


def _gradients_along(grad, x, taps, origin):
    """Those of `_correlated` for x and for taps, by the shortest way; for tensors without gradients of their own."""
    if x.is_cuda and type(grad) in _PLAIN and not _is_followed():
        return _correlate_rows_gradients_on_gpu(grad, x, taps, origin)
    return _correlate_rows_gradients(grad, x, taps, origin)


def _are_plainly_fine(x, taps):
    if type(x) not in _PLAIN or type(taps) not in _PLAIN or x.dtype is not taps.dtype or x.dtype not in _NAMES:
        return False
    same_place = x.is_cuda and taps.is_cuda and x.get_device() == taps.get_device()
    return same_place and x.ndim in (2, 3) and taps.ndim == 2 and taps.shape[0] == x.shape[-2] and x.numel() > 0 < taps.numel()


def _checked(x, taps):
    if _are_plainly_fine(x, taps):
        return
    for name, tensor in (("x", x), ("taps", taps)):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name}: a {type(tensor).__name__}; give a torch.Tensor")
        if tensor.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            raise TypeError(f"{name}: {tensor.dtype}; give float16, bfloat16, float32 or float64")
        if tensor.device.type not in ("cpu", "cuda"):
            raise NotImplementedError(f"{name}: on {tensor.device}; tensors on the CPU or on an NVIDIA GPU are taken: use .cpu()")
    if x.dtype != taps.dtype:
        raise TypeError(f"taps: {taps.dtype} beside x of {x.dtype}; convert one of them")
    if x.device != taps.device:
        raise ValueError(f"taps: on {taps.device}, x on {x.device}; move one of them with .to()")
    if x.ndim not in (2, 3):
        raise ValueError(f"x: {x.ndim} axes; give (batch, channels, length) or (channels, length)")
    if taps.ndim not in (1, 2) or (taps.ndim == 2 and taps.shape[0] != x.shape[-2]):
        raise ValueError(f"taps: {tuple(taps.shape)}; give (channels, k) for {x.shape[-2]} channels, or (k,) for all of them")
    if x.shape[-1] == 0 or taps.shape[-1] == 0:
        raise ValueError("x and taps need at least one sample")


def _is_dtensor(x):
    if type(x) in _PLAIN:
        return False
    module = sys.modules.get("torch.distributed.tensor")  # who has one has imported it
    return module is not None and isinstance(x, module.DTensor)


def _in_group(x, taps, padding, group, lengths, method, timeout, check):
    """conv1d with a group, or of a DTensor."""
    if _is_dtensor(x):
        from torch.distributed.tensor import DTensor, Replicate, Shard

        mesh, placements = x.device_mesh, tuple(x.placements)
        if mesh.ndim != 1 or placements != (Shard(x.ndim - 1),):
            raise ValueError(f"x: a DTensor with placements {placements}; shard its last axis over a mesh of one dimension")
        whole = x.shape
        if isinstance(taps, DTensor):
            taps = taps.redistribute(mesh, [Replicate()]).to_local()
        y = _in_group(x.to_local(), taps, padding, mesh.get_group(), lengths, method, timeout, check)
        return DTensor.from_local(
            y, mesh, placements, run_check=False, shape=whole, stride=torch.empty(whole, device="meta").stride()
        )
    from tapline import _torch_group

    _checked(x, taps)
    k = taps.shape[-1]
    if padding not in ("causal", "same"):
        raise ValueError(f"padding: {padding!r}; with a group give 'causal' or 'same'")
    if method not in ("auto", "halo", "all_to_all"):
        raise ValueError(f"method: {method!r}; one of 'auto', 'halo', 'all_to_all'")
    if check not in ("auto", "always", "never"):
        raise ValueError(f"check: {check!r}; one of 'auto', 'always', 'never'")
    if timeout is not None and not timeout > 0:
        raise ValueError(f"timeout: {timeout}; give seconds, or None for the group's own limit")
    origin = k - 1 if padding == "causal" else (k - 1) // 2
    return _torch_group.conv1d(x, taps, origin, group, lengths, method, timeout, check, _correlated)


def conv1d(x, taps, padding="causal", *, group=None, lengths=None, method="auto", timeout=None, check="auto"):
    """Depthwise correlation along the last axis: torch.nn.functional.conv1d with groups = channels.

    Parameters
    ----------
    x : torch.Tensor
        (batch, channels, length) or (channels, length).
    taps : torch.Tensor
        (channels, k), or (k,) for all channels; of any length.
    padding : {'causal', 'same'} or int
        'causal': output i reads inputs up to i. 'same': as PyTorch's, centred, for even k one more zero after the end than before
        it. An integer: so many zeros at both ends.
    group : torch.distributed.ProcessGroup, optional
        Sequence-parallel: x is this process's stretch of signals that the processes of the group have together, in their order,
        and so is the result; taps are the same in all, and so is their gradient, the sum of all. 'causal' and 'same' only. x may
        be a DTensor that is sharded along its last axis in place of `group`; the result is one too.
    lengths : sequence of int, optional
        Samples of each process of the group. Without it the processes ask each other in each call.
    method : {'auto', 'halo', 'all_to_all'}
        With a group: neighbours exchange the k - 1 samples that the filter reaches (where these are few, everybody gets them, which
        takes one call), or every process gets some signals whole. 'auto' takes what moves fewer samples.
    timeout : float, optional
        With a group: seconds after which a process that has ended or does not answer is a RuntimeError in the others, there and in
        gradients; by default the group's own limit. On GPUs each message is then waited for.
    check : {'auto', 'always', 'never'}
        With a group: whether the processes compare what they ask for, and the bits of taps by a number made of them. Where that
        differs, ValueError in all of them before samples are sent. 'auto': in each call without `lengths`, as these ask each other
        anyhow; with them, so that a step does not wait for it, in the 1st, 2nd, 4th, ... 1,024th call of a group and each 1,024th
        after it. 'never': only what calls without `lengths` need. Groups of one, and what a CUDA graph captures, compare nothing.

    Examples
    --------
    >>> import torch, tapline.torch
    >>> x = torch.arange(5.0).reshape(1, 1, 5)
    >>> tapline.torch.conv1d(x, torch.tensor([[1.0, 10.0]]))
    tensor([[[ 0., 10., 21., 32., 43.]]])
    >>> tapline.torch.conv1d(x, torch.tensor([[1.0, 10.0]]), padding=0)
    tensor([[[10., 21., 32., 43.]]])
    """
    if group is not None or lengths is not None or _is_dtensor(x):
        return _in_group(x, taps, padding, group, lengths, method, timeout, check)
    return _whole(x, taps, padding)


def _whole(x, taps, padding):
    if not _is_compiling():
        y = _core.conv1d_on_gpu(x, taps, padding, _with_gradients)
        if y is not None:
            return y
    _checked(x, taps)
    n, k = x.shape[-1], taps.shape[-1]
    if padding == "causal":
        origin, length = k - 1, n
    elif padding == "same":
        origin, length = (k - 1) // 2, n
    elif isinstance(padding, int) and not isinstance(padding, bool) and padding >= 0:
        origin, length = padding, n + 2 * padding - k + 1
        if length < 1:
            raise ValueError(f"padding: {padding} leaves no output for {n} samples and {k} taps; give at least {(k - n + 1) // 2}")
    else:
        raise ValueError(f"padding: {padding!r}; give 'causal', 'same' or a number of zeros")
    if taps.ndim == 1:  # all rows are signals of one channel, so that the gradient of its taps is one sum, rounded once
        return _correlated(x.flatten(0, -2)[:, None], taps[None], origin, length).reshape(*x.shape[:-1], length)
    y = _correlated(x if x.ndim == 3 else x[None], taps, origin, length)
    return y if x.ndim == 3 else y[0]
