"""A quick measurement from Python; the command's `tapline bench` is the thorough one."""

import time

import numpy as np

from tapline._core import Plan
from tapline._tools.progress import Progress


def _median_seconds(run, budget):
    run()  # warm: pages, plans, caches
    times: list[float] = []
    end = time.perf_counter() + budget
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def bench(length=1 << 24, taps=(9, 127, 2047), *, dtype="float32", mode="same", seconds=0.5, progress="auto", **options):
    """Time filters of several lengths against a copy of the same signal, in host memory and into arrays at hand.

    Parameters
    ----------
    length : int
        Samples of the signal.
    taps : int or sequence of int
        Lengths of the filters.
    dtype : data-type
        float32, float64, complex64 or complex128.
    mode : str
        As for `convolve`.
    seconds : float
        Time spent on each filter, and on the copy.
    progress : function, 'auto' or None
        Called with (done, total) after each measurement; 'auto' shows a bar of tqdm from two seconds on, where it is installed
        and the output goes to a terminal or a notebook.
    **options
        Passed to `Plan`: ``threads``, ``device``, ``accuracy``, ...

    Returns
    -------
    list of dict
        For each filter ``taps``, ``seconds`` (the median), ``copy_seconds``, ``share`` (of the copy's speed),
        ``algorithm`` and ``device``.

    Examples
    --------
    >>> import tapline
    >>> result = tapline.bench(10_000, 9, seconds=0.01)
    >>> result[0]["taps"], result[0]["algorithm"], result[0]["share"] > 0
    (9, 'direct', True)
    """
    rng = np.random.default_rng(1)
    x = rng.standard_normal(length).astype(dtype)
    y = np.empty_like(x)
    counts = [taps] if isinstance(taps, int) else list(taps)
    results = []
    with Progress(1 + len(counts), progress, "tapline.bench") as steps:
        copy_seconds = _median_seconds(lambda: np.copyto(y, x), seconds)
        steps.step()
        for k in counts:
            plan = Plan(length, rng.standard_normal(k).astype(x.real.dtype) / k, mode, dtype=dtype, **options)
            out = np.empty(plan.output_shape, plan.output_dtype)
            median = _median_seconds(lambda plan=plan, out=out: plan(x, out), seconds)
            results.append(
                {
                    "taps": k,
                    "seconds": median,
                    "copy_seconds": copy_seconds,
                    "share": copy_seconds / median,
                    "algorithm": plan.algorithm,
                    "device": plan.device,
                }
            )
            steps.step()
    return results
