"""What tapline does not take over: element types that it does not know go to NumPy or SciPy."""

import importlib
from collections import Counter

import numpy as np

from tapline import _gpu

# Element types of the engine, by numpy.dtype.char.
KNOWN = frozenset("?bhilqBHILQefdFD")

# How often each original was asked, by its full name; tests read it.
asked: Counter = Counter()

# Whether a call that tapline can serve may go to SciPy because SciPy is faster at it. Tests switch it off.
prefer_faster = True

_SOURCES = {
    "signal": ("scipy.signal._signaltools", "scipy.signal"),
    "upfirdn": ("scipy.signal._upfirdn", "scipy.signal"),
    "ndimage": ("scipy.ndimage._filters", "scipy.ndimage"),
}


def is_known(*arrays):
    return all(a.dtype.char in KNOWN for a in arrays)


def scipy_function(source, name):
    """SciPy's own function, also where scipy.signal's name has been replaced by tapline's; None without SciPy."""
    for module in _SOURCES[source]:
        try:
            function = getattr(importlib.import_module(module), name, None)
        except ImportError:
            continue
        if function is not None:
            return function
    return None


def refuse_gpu(name, *arrays):
    """NumPy and SciPy do not take arrays in GPU memory."""
    if _gpu.is_array(*arrays) or any(_gpu.is_on_gpu(a) for a in arrays):
        raise TypeError(
            f"{name}: this call is for NumPy or SciPy, which take no arrays in GPU memory; copy them to host memory "
            "(CuPy: .get(), PyTorch: .cpu(), JAX: numpy.asarray)"
        )


def ask_scipy(source, name, why, *args, **kwargs):
    """Calls SciPy's function, or raises TypeError with `why` and the remedy."""
    refuse_gpu(f"{name}: {why}", *args[:2])
    function = scipy_function(source, name)
    if function is None:
        raise TypeError(f"{name}: {why}; install SciPy, to which tapline hands such calls, or convert to float64")
    asked[f"{source}.{name}"] += 1
    return function(*args, **kwargs)


def ask_about_empty(source, name, *args, **kwargs):
    """Empty input: SciPy's answer depends on the mode, the method and the axes. Arrays in GPU memory, of which one has elements at
    most, are copied to be asked about. ValueError without SciPy."""
    if scipy_function(source, name) is None:
        raise ValueError(f"{name}: an input is empty; give arrays of at least one element")
    on_gpu = [x for x in args[:2] if _gpu.is_array(x)]
    y = ask_scipy(source, name, "empty", *map(_gpu.host, args[:2]), *args[2:], **kwargs)
    return on_gpu[0].beside(y) if on_gpu else y


def types_of(*arrays):
    return "elements are " + " and ".join(str(a.dtype) for a in arrays) + ", which tapline does not know"


def result_type(*arrays):
    """NumPy's promotion, 0-dimensional arrays counted as arrays."""
    return np.result_type(*(a.dtype for a in arrays))
