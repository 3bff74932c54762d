"""Intel's IPP and MKL from Python, through their C interfaces: `pip install ipp mkl`. Signals of one row, mode same.

Each function takes a signal and taps of one type, f32 or f64, and gives a call that returns the convolution; what can be prepared
once is. Raises OSError where the library is not installed.
"""

import ctypes
import functools
import pathlib
import site
import sys
from typing import Any

import numpy as np

import timing

IPP_TYPE = {"float32": 13, "float64": 19}
IPP_SUFFIX = {"float32": "32f", "float64": "64f"}
IPP_AUTO = 0
MKL_LETTER = {"float32": "s", "float64": "d"}
MKL_AUTO = 0


def library(pattern: str, mode: int = ctypes.DEFAULT_MODE) -> ctypes.CDLL:
    for folder in (sys.prefix, site.getuserbase()):
        for path in sorted(pathlib.Path(folder, "lib").glob(pattern)):
            return ctypes.CDLL(str(path), mode=mode)
    raise OSError(f"no {pattern} in {sys.prefix}/lib")


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def checked(status: int, name: str) -> None:
    if status != 0:
        raise RuntimeError(f"{name}: status {status}")


@functools.cache
def ipp() -> ctypes.CDLL:
    """That of the processor's instruction set: libipps.so itself looks for it under a name that a wheel, without links, lacks."""
    library("libippcore.so*", ctypes.RTLD_GLOBAL).ippInit()
    flags = pathlib.Path("/proc/cpuinfo").read_text().split("flags", 2)[1].split()
    sets = {"k0": {"avx512f", "avx512bw", "avx512dq", "avx512vl"}, "l9": {"avx2", "fma"}, "y8": set()}
    return library(f"libipps{next(name for name, needed in sets.items() if needed <= set(flags))}.so*")


@functools.cache
def mkl() -> ctypes.CDLL:
    return library("libmkl_rt.so*")


def aligned(size: int) -> np.ndarray:
    """Bytes that begin at a multiple of 64, as IPP wants its tables and buffers."""
    room = np.zeros(size + 64, np.uint8)
    first = -room.ctypes.data % 64
    return room[first : first + size]


def ipp_convolve(x: np.ndarray, h: np.ndarray) -> timing.Call:
    lib, kind = ipp(), x.dtype.name
    size = ctypes.c_int()
    checked(
        lib.ippsConvolveGetBufferSize(x.size, h.size, IPP_TYPE[kind], IPP_AUTO, ctypes.byref(size)), "ippsConvolveGetBufferSize"
    )
    work, full = aligned(size.value), np.empty(x.size + h.size - 1, x.dtype)
    function = getattr(lib, f"ippsConvolve_{IPP_SUFFIX[kind]}")

    def call() -> Any:
        checked(function(pointer(x), x.size, pointer(h), h.size, pointer(full), IPP_AUTO, pointer(work)), "ippsConvolve")
        return full[h.size - 1 - h.size // 2 :][: x.size]

    return call


def ipp_fir(x: np.ndarray, h: np.ndarray) -> timing.Call:
    """A causal filter, so that the outputs of mode same begin later and the signal goes on with zeros."""
    lib, kind = ipp(), x.dtype.name
    spec_size, buffer_size = ctypes.c_int(), ctypes.c_int()
    sizes = ctypes.byref(spec_size), ctypes.byref(buffer_size)
    checked(lib.ippsFIRSRGetSize(h.size, IPP_TYPE[kind], *sizes), "ippsFIRSRGetSize")
    spec, work = aligned(spec_size.value), aligned(buffer_size.value)
    checked(getattr(lib, f"ippsFIRSRInit_{IPP_SUFFIX[kind]}")(pointer(h), h.size, IPP_AUTO, pointer(spec)), "ippsFIRSRInit")
    later = h.size - 1 - h.size // 2
    longer = np.concatenate([x, np.zeros(later, x.dtype)])
    out = np.empty_like(longer)
    function = getattr(lib, f"ippsFIRSR_{IPP_SUFFIX[kind]}")

    def call() -> Any:
        checked(function(pointer(longer), pointer(out), longer.size, pointer(spec), None, None, pointer(work)), "ippsFIRSR")
        return out[later:]

    return call


def mkl_convolve(x: np.ndarray, h: np.ndarray) -> timing.Call:
    lib, letter = mkl(), MKL_LETTER[x.dtype.name]
    task, start = ctypes.c_void_p(), ctypes.c_int(h.size - 1 - h.size // 2)
    make, run = getattr(lib, f"vsl{letter}ConvNewTask1D"), getattr(lib, f"vsl{letter}ConvExec1D")
    checked(make(ctypes.byref(task), MKL_AUTO, x.size, h.size, x.size), "vslConvNewTask1D")
    checked(lib.vslConvSetStart(task, ctypes.byref(start)), "vslConvSetStart")
    out = np.empty_like(x)

    def call() -> Any:
        checked(run(task, pointer(x), 1, pointer(h), 1, pointer(out), 1), "vslConvExec1D")
        return out

    return call
