"""How every script here times: check the result first, warm up, run many times, give the median beside the fastest and the slowest.

What is timed is a call without arguments. A clock says how long some calls took, in seconds each: `wall` by the host's clock,
`Events` by events on a GPU's stream. (`tapline.bench`, which is installed without this folder, has a loop of its own.)
"""

import functools
import os
import pathlib
import platform
import statistics
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

FLUSH_BYTES = 256 << 20  # several times the L2 cache of any GPU
MOST_CALLS = 50  # between two events: more would queue more launches than a stream takes without waiting

Call = Callable[[], Any]
Clock = Callable[..., float]  # clock(call, calls=1): seconds of each


def relative_error(got: np.ndarray, exact: np.ndarray) -> float:
    """The relative L2 error; of a result that should be zeros 0, or infinity."""
    error, size = np.linalg.norm(got.astype(np.float64) - exact), np.linalg.norm(exact)
    if size == 0:
        return 0.0 if error == 0 else float("inf")
    return float(error / size)


def require(name: str, error: float, tolerance: float) -> float:
    """The error, if it is small enough: what is wrong is not timed. Written so that a NaN fails."""
    if not error <= tolerance:
        raise RuntimeError(f"{name}: relative error {error:.1e}, allowed {tolerance:.1e}")
    return error


def wall(call: Call, calls: int = 1) -> float:
    return timeit.timeit(call, number=calls) / calls


class Events:
    """A clock of a GPU's stream. `cold` is another one, which overwrites the L2 cache before the first event."""

    def __init__(self, make: Callable[[], Any], elapsed_ms: Callable[[Any, Any], float], flush: Call | None = None):
        self.make, self.elapsed_ms, self.flush = make, elapsed_ms, flush

    def __call__(self, call: Call, calls: int = 1) -> float:
        begin, end = self.make(), self.make()
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        return 1e-3 * self.elapsed_ms(begin, end) / calls

    def cold(self, call: Call) -> float:
        assert self.flush is not None
        self.flush()
        return self(call)


def events_of_cupy() -> Events:
    import cupy

    @functools.cache
    def scratch():
        return cupy.empty(FLUSH_BYTES // 4, dtype=cupy.float32)

    return Events(cupy.cuda.Event, cupy.cuda.get_elapsed_time, lambda: scratch().fill(1))


def events_of_torch() -> Events:
    import torch

    @functools.cache
    def scratch():
        return torch.empty(FLUSH_BYTES // 4, dtype=torch.float32, device="cuda")

    make = functools.partial(torch.cuda.Event, enable_timing=True)
    return Events(make, lambda begin, end: begin.elapsed_time(end), lambda: scratch().fill_(1))


def repeat(call: Call, seconds: float, least: int = 3, most: int = 1000, clock: Clock = wall) -> list[float]:
    """Times of single calls until `seconds` have passed, but at least and at most so many."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < least or (len(times) < most and time.perf_counter() < end):
        times.append(clock(call))
    return times


def in_turns(calls: Mapping[str, Call], rounds: int, clock: Clock = wall) -> dict[str, list[float]]:
    """Times of calls that take turns, so that what disturbs the machine disturbs all of them."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(clock(call))
    return times


def paced(call: Call, clock: Clock, runs: int, seconds: float) -> list[float]:
    """Times of `runs` runs, each of enough calls that the GPU, not Python, sets the pace; `seconds` for all."""
    clock(call, 2)
    once = clock(call, 1)
    calls = max(1, min(MOST_CALLS, int(seconds / runs / max(once, 1e-6))))
    return [clock(call, calls) for _ in range(runs)]


def spread(times: Sequence[float], scale: float = 1) -> dict[str, float]:
    return {"median": scale * statistics.median(times), "min": scale * min(times), "max": scale * max(times)}


def medians(times: Mapping[str, Sequence[float]], scale: float = 1) -> dict[str, float]:
    return {name: scale * statistics.median(each) for name, each in times.items()}


def idle_share(seconds: float) -> float:
    """How much of all cores' time nobody used."""

    def read():
        return [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:]]

    before = read()
    time.sleep(seconds)
    spent = [b - a for a, b in zip(before, read(), strict=True)]
    return (spent[3] + spent[4]) / max(1, sum(spent))


def wait_for_quiet(limit: float) -> float:
    """Other programs take from one side of a ratio and not from the other: waits until they rest, or for `limit` seconds."""
    begin = time.perf_counter()
    share = idle_share(0.2)
    while share < 0.9 and time.perf_counter() - begin < limit:
        share = idle_share(0.2)
    return share


def machine() -> dict[str, Any]:
    """What was measured on, and when."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor())
    return {"processor": model, "cores": len(os.sched_getaffinity(0)), "date": time.strftime("%Y-%m-%d")}
