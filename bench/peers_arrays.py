"""The peers of bench/peers.py: who convolves a signal of one row, mode same, on a CPU and on a GPU.

A maker takes the signal and the taps, as arrays where the peer wants them, and gives a call without arguments. Who cannot be
imported raises ImportError or OSError and is named with the reason.
"""

import dataclasses
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import peers_cuda
import peers_native
import timing

Maker = Callable[[Any, Any], timing.Call]


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    make: Maker
    products_a_second: float = math.inf  #: at most, of a peer that sums directly: it is not waited for where that takes long


def ours(x: Any, h: Any) -> timing.Call:
    import tapline

    return lambda: tapline.convolve(x, h, "same")


def ours_prepared(x: Any, h: Any) -> timing.Call:
    import tapline

    plan = tapline.Plan(x.shape, h, "same", dtype=x.dtype)
    out = np.empty_like(x)
    return lambda: plan(x, out)


def numpy_convolve(x: Any, h: Any) -> timing.Call:
    return lambda: np.convolve(x, h, "same")


def of_scipy(name: str) -> Maker:
    def make(x: Any, h: Any) -> timing.Call:
        import scipy.signal

        function = getattr(scipy.signal, name)
        return lambda: function(x, h, "same")

    return make


def opencv(x: Any, h: Any) -> timing.Call:
    import cv2

    mask = h[::-1][None, :].copy()
    return lambda: cv2.filter2D(x[None, :], -1, mask, borderType=cv2.BORDER_CONSTANT)[0]


def torch_conv1d(x: Any, h: Any) -> timing.Call:
    """`x` and `h` of NumPy, or of CuPy, whose memory is then shared."""
    import torch

    signal, mask = (torch.from_dlpack(array)[None, None] for array in (x, h[::-1].copy()))
    torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = True, False
    before, after = h.size // 2, h.size - 1 - h.size // 2

    def call() -> Any:
        same = before == after
        padded = signal if same else torch.nn.functional.pad(signal, (before, after))
        return torch.nn.functional.conv1d(padded, mask, padding=before if same else 0)[0, 0]

    return call


def torch_transform(x: Any, h: Any) -> timing.Call:
    import torch

    signal, taps = torch.from_dlpack(x), torch.from_dlpack(h)
    points = 2 ** math.ceil(math.log2(x.size + h.size - 1))
    spectrum = torch.fft.rfft(taps, points)
    first = h.size - 1 - h.size // 2
    return lambda: torch.fft.irfft(torch.fft.rfft(signal, points) * spectrum, points)[first : first + x.size]


def jax_convolve(x: Any, h: Any) -> timing.Call:
    import jax

    jax.config.update("jax_enable_x64", True)  # else f64 becomes f32
    signal, taps = jax.dlpack.from_dlpack(x), jax.dlpack.from_dlpack(h)
    convolve = jax.jit(lambda a, b: jax.numpy.convolve(a, b, "same", precision="highest"))
    return lambda: convolve(signal, taps).block_until_ready()


def of_cupyx(name: str) -> Maker:
    def make(x: Any, h: Any) -> timing.Call:
        import cupyx.scipy.signal

        function = getattr(cupyx.scipy.signal, name)
        options = {"method": "direct"} if name == "convolve" else {}
        return lambda: function(x, h, "same", **options)

    return make


def overlap_save(x: Any, h: Any, module: Any = None) -> timing.Call:
    """What one writes on cuFFT oneself: overlapping blocks of one padded copy, transformed as a batch.

    `module`: CuPy, or another like it.
    """
    xp = module or importlib.import_module("cupy")
    points = min(max(4096, 8 * 2 ** math.ceil(math.log2(h.size))), 2 ** math.ceil(math.log2(x.size + h.size)))
    step = points - h.size + 1
    blocks = math.ceil(x.size / step)
    before = h.size // 2  # of the signal's begin: a block's first whole output reads as many samples before it
    padded = xp.zeros((blocks - 1) * step + points, x.dtype)
    spectrum = xp.fft.rfft(h, points).astype(np.result_type(x.dtype, np.complex64), copy=False)
    frames = xp.lib.stride_tricks.as_strided(padded, (blocks, points), (step * x.itemsize, x.itemsize))

    def call() -> Any:
        padded[before : before + x.size] = x
        rows = xp.fft.irfft(xp.fft.rfft(frames) * spectrum, points)
        return rows[:, h.size - 1 :].reshape(-1)[: x.size]

    return call


ON_CPU = (
    Peer("tapline", ours),
    Peer("tapline, prepared", ours_prepared),
    Peer("NumPy convolve", numpy_convolve, 2e9),
    Peer("SciPy oaconvolve", of_scipy("oaconvolve")),
    Peer("SciPy fftconvolve", of_scipy("fftconvolve")),
    Peer("OpenCV filter2D", opencv, 2e9),
    Peer("PyTorch conv1d", torch_conv1d, 2e9),
    Peer("PyTorch FFT", torch_transform),
    Peer("IPP Convolve", peers_native.ipp_convolve),
    Peer("IPP FIR", peers_native.ipp_fir, 1e10),
    Peer("MKL VSL", peers_native.mkl_convolve),
)
ON_GPU = (
    Peer("tapline", ours),
    Peer("CuPy oaconvolve", of_cupyx("oaconvolve")),
    Peer("CuPy fftconvolve", of_cupyx("fftconvolve")),
    Peer("CuPy convolve", of_cupyx("convolve"), 1e12),
    Peer("PyTorch conv1d", torch_conv1d, 1e12),
    Peer("PyTorch FFT", torch_transform),
    Peer("JAX convolve", jax_convolve, 1e12),
    Peer("cuFFT overlap-save", overlap_save),
    Peer("cuFFTDx, one kernel", peers_cuda.cufftdx),
    Peer("MatX direct", peers_cuda.of_matx(by_transform=False), 1e12),
    Peer("MatX FFT", peers_cuda.of_matx(by_transform=True)),
)
