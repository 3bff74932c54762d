#!/usr/bin/env python3
"""tapline beside everybody who convolves, in one run: `make bench-peers`.

On a CPU NumPy, SciPy, OpenCV, PyTorch, Intel's IPP and MKL, and soxr where a rate changes; on a GPU CuPy, PyTorch, JAX, an
overlap-save on cuFFT (bench/peers_arrays.py) and, of CUDA C++, another in one kernel on cuFFTDx, and MatX (bench/peers_cuda.py).
Who is not installed is named with the reason. Every result is checked against float64 sums before it is timed, on random data;
calls take turns with the copy of the signal.

    python3 bench/peers.py measure                    on a GPU if CuPy finds one; --cpu: on the CPU
    python3 bench/peers.py measure --only f32,2047    cases whose name holds the text
    python3 bench/peers.py report                     writes docs/peers.md of what was measured on both, the losses first
"""

import argparse
import dataclasses
import functools
import importlib.metadata
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

import cliffs_case
import page
import peers_arrays
import peers_cuda
import peers_report
import timing

LENGTH = {"cpu": 1 << 24, "gpu": 1 << 28}
TAPS = {"float32": (3, 9, 33, 127, 511, 2047, 8191, 65535), "float64": (9, 33, 127, 2047)}
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}
SMALL = 1000, 9
LONGEST_CALL = {"cpu": 4.0, "gpu": 0.3}  # seconds that a peer's call is expected to take at most
PACKAGES = {
    "cpu": ("numpy", "scipy", "opencv-python-headless", "opencv-python", "torch", "ipp", "mkl", "soxr"),
    "gpu": ("numpy", "cupy-cuda12x", "cupy-cuda13x", "torch", "jax"),
}


@dataclasses.dataclass(frozen=True)
class Case:
    length: int
    taps: int
    dtype: str

    @property
    def name(self) -> str:
        return f"{self.dtype.replace('float', 'f')},{self.length},{self.taps}"


def cases(home: str) -> list[Case]:
    small = [Case(*SMALL, "float64")] if home == "cpu" else []
    return small + [Case(LENGTH[home], taps, dtype) for dtype, each in TAPS.items() for taps in each]


def exact_parts(x: np.ndarray, h: np.ndarray, part: int = 1 << 14) -> dict[int, np.ndarray]:
    """Outputs of mode same by float64 sums, at the ends and in the middle, by where they begin."""
    wide, taps = x.astype(np.float64), h.astype(np.float64)
    part = min(part, x.size)
    parts = {}
    for first in {0, (x.size - part) // 2, x.size - part}:
        begin = first - taps.size // 2
        end = begin + part + taps.size - 1
        read = np.pad(wide[max(begin, 0) : min(end, x.size)], (max(-begin, 0), max(end - x.size, 0)))
        parts[first] = np.convolve(read, taps, "valid")
    return parts


def error_of(result: Any, parts: Mapping[int, np.ndarray], to_host: Any) -> float:
    return max(timing.relative_error(to_host(result[first : first + wanted.size]), wanted) for first, wanted in parts.items())


class Cpu:
    name = "cpu"
    alone = False
    peers = peers_arrays.ON_CPU
    to_host = staticmethod(np.asarray)

    def __init__(self, busy: bool = False) -> None:
        self.clock = cliffs_case.processor_time if busy else timing.wall

    def put(self, array: np.ndarray) -> Any:
        return array

    def copy(self, x: Any) -> timing.Call:
        to = np.empty_like(x)
        return lambda: np.copyto(to, x)

    def release(self) -> None:
        """Memory that peers keep for their next call."""

    def machine(self) -> dict[str, Any]:
        return timing.machine()


class Gpu:
    name = "gpu"
    # A peer beside the copy, then the next, and a process for each case: what all keep, some to the end, does not fit at once.
    alone = True
    peers = peers_arrays.ON_GPU

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        self.clock = timing.events_of_cupy()

    def put(self, array: np.ndarray) -> Any:
        return self.cupy.asarray(array)

    def to_host(self, array: Any) -> np.ndarray:
        return self.cupy.asnumpy(self.cupy.from_dlpack(array))

    def copy(self, x: Any) -> timing.Call:
        to = self.cupy.empty_like(x)
        return lambda: self.cupy.copyto(to, x)

    def release(self) -> None:
        self.cupy.get_default_memory_pool().free_all_blocks()
        self.cupy.fft.config.get_plan_cache().clear()
        if "torch" in sys.modules:
            sys.modules["torch"].cuda.empty_cache()

    def machine(self) -> dict[str, Any]:
        device = self.cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        return timing.machine() | {"processor": device}


def home_of(on_cpu: bool, busy: bool) -> Cpu | Gpu:
    if not on_cpu and not busy:
        try:
            gpu = Gpu()
            gpu.cupy.cuda.runtime.getDeviceCount()
            return gpu
        except Exception:  # noqa: BLE001  no CuPy, no driver, no GPU: each says so in its own way
            pass
    return Cpu(busy)


def drawn(seed: int, count: int, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(count, np.float32 if dtype == "float32" else np.float64)


@functools.lru_cache(maxsize=1)
def signal_of(length: int, dtype: str) -> np.ndarray:
    return drawn(1, length, dtype)


def in_turns(home: Cpu | Gpu, calls: dict[str, timing.Call], repeat: int, seconds: float) -> dict[str, list[float]]:
    """Times of calls that take turns; who fails where its first call did not has none."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    while len(times["copy"]) < 3 or (len(times["copy"]) < 30 and time.perf_counter() < end):
        for name in list(times):
            try:
                times[name].append(home.clock(calls[name], repeat))
            except Exception:  # noqa: BLE001, PERF203  out of memory, where others keep some
                del times[name]
                home.release()
    return times


def measure(home: Cpu | Gpu, case: Case, options: argparse.Namespace) -> dict[str, Any]:
    x, h = signal_of(case.length, case.dtype), drawn(2, case.taps, case.dtype)
    parts = exact_parts(x, h)
    signal, taps = home.put(x), home.put(h)
    copy = home.copy(signal)
    calls: dict[str, timing.Call] = {"copy": copy}
    times: dict[str, list[float]] = {"copy": []}
    errors: dict[str, float] = {}
    left_out: dict[str, str] = {}
    repeat = 1 if case.length > 100_000 else 2000
    for peer in home.peers:
        if case.length * case.taps / peer.products_a_second > LONGEST_CALL[home.name]:
            left_out[peer.name] = "sums directly: not waited for"
            continue
        home.release()
        call = None  # of the last peer, and what it keeps
        try:
            call = peer.make(signal, taps)
            error = error_of(call(), parts, home.to_host)
        except Exception as failure:  # noqa: BLE001  not installed, out of memory, refused: the page says which
            left_out[peer.name] = f"{type(failure).__name__}: {str(failure).strip()[:90]}".replace("\n", " ")
            continue
        if not error <= TOLERANCE[case.dtype]:
            left_out[peer.name] = f"wrong: relative error {error:.1e}"
            continue
        errors[peer.name] = error
        if home.alone:
            found = in_turns(home, {"copy": copy, peer.name: call}, repeat, options.case_seconds / len(home.peers))
            times = times | found | {"copy": times["copy"] + found["copy"]}
        else:
            calls[peer.name] = call
    if not home.alone:
        times = in_turns(home, calls, repeat, options.case_seconds)
    left_out |= {name: "ran once, then not again" for name in errors if name not in times}
    figure = min if options.busy else statistics.median
    kept = {name: figure(each) for name, each in times.items()}
    return dataclasses.asdict(case) | {"seconds": kept, "errors": errors, "left_out": left_out, "rounds": len(times["copy"])}


def rates(home: Cpu | Gpu, options: argparse.Namespace) -> dict[str, Any]:
    """A minute of 48 kHz as 44.1 kHz: sines, which everybody's result is compared with; the ends are the filter's own business."""
    import scipy.signal

    import tapline

    up, down, count = 147, 160, 60 * 48_000
    tones = (997.0, 5_003.0, 15_013.0)
    x = np.sum([np.sin(2 * np.pi * tone * np.arange(count) / 48_000) for tone in tones], axis=0)
    exact = np.sum([np.sin(2 * np.pi * tone * np.arange(count * up // down) / 44_100) for tone in tones], axis=0)
    taps = scipy.signal.firwin(2 * 48 * down + 1, 0.955 / down, window=("kaiser", 12.0)) * up
    first = (taps.size - 1) // 2 // down
    calls: dict[str, timing.Call] = {
        "tapline upfirdn": lambda: tapline.signal.upfirdn(taps, x, up, down)[first:],
        "SciPy upfirdn": lambda: scipy.signal.upfirdn(taps, x, up, down)[first:],
    }
    left_out = {}
    try:
        import soxr

        calls["soxr HQ"] = lambda: soxr.resample(x, 48_000, 44_100, quality="HQ")
        calls["soxr VHQ"] = lambda: soxr.resample(x, 48_000, 44_100, quality="VHQ")
    except ImportError as failure:
        left_out["soxr"] = str(failure)
    errors, middle = {}, slice(5000, -5000)
    for name in list(calls):
        errors[name] = timing.relative_error(calls[name]()[: exact.size][middle], exact[middle])
        if not errors[name] <= 1e-4:
            left_out[name] = f"wrong: relative error {errors.pop(name):.1e}"
            del calls[name]
    rounds = max(3, min(15, int(options.case_seconds / 0.5)))
    figure = min if options.busy else statistics.median
    times = timing.in_turns(calls, rounds, home.clock)
    return {"seconds": {name: figure(each) for name, each in times.items()}, "errors": errors, "left_out": left_out}


def versions(names: tuple[str, ...]) -> dict[str, str]:
    installed = {package.name.lower(): package.version for package in importlib.metadata.distributions()}
    return {name: installed[name] for name in names if name in installed}


def write(output: pathlib.Path, result: dict[str, Any]) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(result, indent=1) + "\n")


def in_a_process(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "case.json"
        arguments = ["--case", case.name, "--case-seconds", str(options.case_seconds), "--output", str(output)]
        subprocess.run([sys.executable, __file__, "measure", *arguments], check=True, stdout=subprocess.DEVNULL)
        return json.loads(output.read_text())["cases"][0]


def run(options: argparse.Namespace) -> None:
    home = home_of(options.cpu, options.busy)
    output = options.output or page.RESULTS / f"peers_{home.name}.json"
    packages = versions(PACKAGES[home.name]) | (peers_cuda.versions() if home.name == "gpu" else {})
    facts = home.machine() | {"threads": len(os.sched_getaffinity(0)), "busy": options.busy, "packages": packages}
    result: dict[str, Any] = {"schema": "tapline-bench-peers-1", "machine": facts, "cases": []}
    for case in cases(home.name):
        if options.only in case.name and options.case in ("", case.name):
            row = in_a_process(case, options) if home.alone and not options.case else measure(home, case, options)
            copy = row["seconds"]["copy"]
            print(
                case.name,
                {name: page.share_text(copy / each) for name, each in row["seconds"].items()},
                row["left_out"],
                flush=True,
            )
            result["cases"].append(row)
            write(output, result)  # what was measured stays if the rest is cut off
    if home.name == "cpu" and options.only in "rates" and not options.case:
        result["rates"] = rates(home, options)
        print("rates", result["rates"], flush=True)
    write(output, result)
    print(f"written: {output}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["measure", "report"])
    parser.add_argument("--cpu", action="store_true", help="although there is a GPU")
    parser.add_argument(
        "--busy", action="store_true", help="other programs run on this machine: processor time of all threads, the fastest round"
    )
    parser.add_argument("--only", default="", help="cases whose name holds this text, as f32,16777216,9; rates")
    parser.add_argument("--case", default="", help="the case of this name alone, in this process")
    parser.add_argument("--case-seconds", type=float, default=5.0, help="for each case [5]")
    parser.add_argument("--output", type=pathlib.Path, help="JSON [bench/results/peers_cpu.json or peers_gpu.json]")
    options = parser.parse_args()
    if options.what == "measure":
        run(options)
    else:
        peers_report.write()


if __name__ == "__main__":
    main()
