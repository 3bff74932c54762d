"""Convolution of signals with filters of any length, at the price of a copy.

`convolve`, `correlate`, `image` and `Plan` are tapline's own interface. The modules `tapline.numpy`, `tapline.signal` and
`tapline.ndimage` hold functions with the names, arguments, defaults and result types of those that they stand in for.
"""

from tapline import ndimage, numpy, signal
from tapline._core import Plan, __version__, clear_plan_cache, convolve, correlate, set_plan_cache_limit
from tapline._image import image
from tapline._plot import plot_taps
from tapline._tools.bench import bench
from tapline._tools.info import info, show_config

__all__ = [
    "Plan",
    "__version__",
    "bench",
    "clear_plan_cache",
    "convolve",
    "correlate",
    "image",
    "info",
    "ndimage",
    "numpy",
    "plot_taps",
    "set_plan_cache_limit",
    "show_config",
    "signal",
]
