"""CUDA C++ peers of bench/peers.py, which scripts/peers_native.sh builds: overlap-save in one kernel on cuFFTDx, and MatX.

Of float32 signals of one row in GPU memory, mode same. Raises OSError where the libraries were not built.
"""

import ctypes
import functools
import json
import os
import pathlib
from typing import Any

import timing

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "build" / "peers" / "native"
KEPT_SHARE = 8  # of a block's points an eighth at least must be outputs
RUNS = 3  # of each of cuFFTDx's kernels, of which the fastest is kept


@functools.cache
def library(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(pathlib.Path(os.environ.get("TAPLINE_PEERS_NATIVE", FOLDER), f"lib{name}.so")))


def versions() -> dict[str, str]:
    """Of what the libraries were built with."""
    path = pathlib.Path(os.environ.get("TAPLINE_PEERS_NATIVE", FOLDER), "versions.json")
    return json.loads(path.read_text()) if path.exists() else {}


def pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.data.ptr)


def stream() -> ctypes.c_void_p:
    import cupy

    return ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)


def checked(status: int, name: str) -> None:
    if status != 0:
        raise RuntimeError(f"{name}: status {status}")


def only_float32(x: Any) -> None:
    if x.dtype != "float32":
        raise TypeError("built for float32 here")


def cufftdx(x: Any, h: Any) -> timing.Call:
    """The fastest of its kernels (points, points of a thread, one launch of as many blocks as fit or of all) for these taps."""
    import cupy

    only_float32(x)
    lib = library("peer_cufftdx")
    count = next(which for which in range(1000) if lib.peer_points(which) == 0)
    clock = timing.events_of_cupy()
    best, chosen = float("inf"), None
    for which in range(count):
        points = lib.peer_points(which)
        if (points - h.size + 1) * KEPT_SHARE < points:
            continue
        spectrum = cupy.empty(points, cupy.complex64)
        checked(lib.peer_prepare(which, pointer(spectrum), pointer(h), h.size, stream()), "peer_prepare")
        for persistent in (0, 1):

            def call(which: int = which, persistent: int = persistent, spectrum: Any = spectrum) -> Any:
                out = cupy.empty_like(x)
                samples = ctypes.c_longlong(x.size)
                status = lib.peer_filter(which, persistent, pointer(out), pointer(x), samples, pointer(spectrum), h.size, stream())
                checked(status, "peer_filter")
                return out

            call()
            seconds = min(clock(call) for _ in range(RUNS))
            if seconds < best:
                best, chosen = seconds, call
    if chosen is None:
        raise ValueError("more taps than half of its longest transform")
    return chosen


def of_matx(by_transform: bool) -> Any:
    def make(x: Any, h: Any) -> timing.Call:
        import cupy

        only_float32(x)
        lib = library("peer_matx")
        taps = cupy.ascontiguousarray(h)

        def call() -> Any:
            out = cupy.empty_like(x)
            sizes = ctypes.c_longlong(x.size), ctypes.c_longlong(h.size)
            status = lib.peer_matx_convolve(
                pointer(out), pointer(x), sizes[0], pointer(taps), sizes[1], int(by_transform), stream()
            )
            checked(status, "MatX conv1d refused")
            return out

        return call

    return make
