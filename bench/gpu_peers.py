#!/usr/bin/env python3
"""What other libraries need for the ladder's problems, as JSON that `tapline ladder --peers` merges in (docs/benchmarking.md).

NumPy convolves on the CPU; PyTorch and CuPy, where they can be imported and find a GPU, convolve on the GPU. Each result is
compared with a float64 sum before it is timed. GPU times are CUDA events around one call, captured as a graph where the library
allows that; before a cold one the L2 cache is overwritten.

    python3 bench/gpu_peers.py --output peers.json
    tapline ladder --peers peers.json --report ladder.html
"""

import argparse
import json
import sys
import time
from typing import Any

import numpy as np

import timing

CASES = [(16384, 32, "full"), (1_500_000, 2047, "valid")]  # C's and B's
TOLERANCE = 1e-4  # relative L2, as B's write-up allows
LEAST_RUNS = 5


def say(text):
    print(text, file=sys.stderr)


def geometry(length, taps, mode):
    """(origin, output length) of a mode: output[o] = sum_t taps[k-1-t] x(o + t - origin)."""
    return {
        "full": (taps - 1, length + taps - 1),
        "same": (taps // 2, length),
        "valid": (0, length - taps + 1),
        "causal": (taps - 1, length),
        "leading": (0, length),
    }[mode]


def cut(full, taps, origin, outputs):
    """The mode's outputs of a full convolution."""
    return full[taps - 1 - origin : taps - 1 - origin + outputs]


def padding(length, taps, mode):
    """Zeros that a correlation without padding needs before and after the signal."""
    origin, outputs = geometry(length, taps, mode)
    return origin, outputs + taps - 1 - length - origin


def measured(call, seconds, clock):
    """Median and spread of single calls after one that warms up."""
    clock(call)
    times = timing.repeat(call, seconds, LEAST_RUNS, clock=clock)
    return timing.spread(times) | {"runs": len(times)}


def cold_and_warm(events, call, seconds):
    return measured(call, seconds, events.cold), measured(call, seconds, events)


class NumPy:
    name, device = "NumPy", "cpu"
    what = f"numpy.convolve {np.__version__} on the CPU"

    def peers(self, x, h, mode):
        origin, outputs = geometry(x.size, h.size, mode)

        def call():
            return (
                cut(np.convolve(x, h, "full"), h.size, origin, outputs)
                if mode not in ("full", "valid")
                else np.convolve(x, h, mode)
            )

        yield self.name, self.what, call, lambda y: y, self.measure

    @staticmethod
    def measure(call, seconds):
        return measured(call, seconds, timing.wall), None


class PyTorch:
    name = "PyTorch"

    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise RuntimeError("torch finds no GPU")
        self.torch = torch
        self.device = torch.cuda.get_device_name()
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.allow_tf32 = False  # f32 like the rungs
        torch.backends.cuda.matmul.allow_tf32 = False
        self.events = timing.events_of_torch()

    def peers(self, x, h, mode):
        torch = self.torch
        signal = torch.from_numpy(x).cuda()[None, None]
        taps = torch.from_numpy(h[::-1].copy()).cuda()[None, None]
        before, after = padding(x.size, h.size, mode)

        def call():
            if before == after:
                return torch.nn.functional.conv1d(signal, taps, padding=before)
            return torch.nn.functional.conv1d(torch.nn.functional.pad(signal, (before, after)), taps)

        yield (
            self.name,
            f"torch.nn.functional.conv1d {torch.__version__}, TF32 off",
            call,
            lambda y: y[0, 0].cpu().numpy(),
            self.measure,
        )

    def measure(self, call, seconds):
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                call()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        return cold_and_warm(self.events, graph.replay, seconds)


class CuPy:
    name = "CuPy"

    def __init__(self):
        import cupy
        import cupyx.scipy.signal

        self.cupy, self.signal = cupy, cupyx.scipy.signal
        self.device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        self.events = timing.events_of_cupy()

    def peers(self, x, h, mode):
        cupy = self.cupy
        signal, taps = cupy.asarray(x), cupy.asarray(h)
        origin, outputs = geometry(x.size, h.size, mode)
        functions = {"convolve": cupy.convolve, "fftconvolve": self.signal.fftconvolve, "oaconvolve": self.signal.oaconvolve}
        for function_name, function in functions.items():

            def call(function=function):
                return (
                    function(signal, taps, mode)
                    if mode in ("full", "valid")
                    else cut(function(signal, taps, "full"), h.size, origin, outputs)
                )

            module = "cupy" if function_name == "convolve" else "cupyx.scipy.signal"
            yield f"CuPy {function_name}", f"{module}.{function_name} {cupy.__version__}", call, cupy.asnumpy, self.measure

    def measure(self, call, seconds):
        return cold_and_warm(self.events, call, seconds)


def measure_case(library, case, seconds):
    length, taps, mode = case
    rng = np.random.default_rng(1)
    x, h = (rng.uniform(-1, 1, size).astype(np.float32) for size in (length, taps))
    origin, outputs = geometry(length, taps, mode)
    exact = cut(np.convolve(x.astype(np.float64), h.astype(np.float64)), taps, origin, outputs)
    for name, what, call, fetch, measure in library.peers(x, h, mode):
        try:
            got = fetch(call())
            if got.shape != exact.shape:
                raise RuntimeError(f"{got.size} outputs instead of {exact.size}")
            error = timing.require(name, timing.relative_error(got, exact), TOLERANCE)
            cold, warm = measure(call, seconds)
        except Exception as problem:  # noqa: BLE001  one library's failure, whatever it is, leaves the others
            say(f"{name}, n={length}, k={taps}, {mode}: left out: {problem}")
            continue
        say(f"{name}, n={length}, k={taps}, {mode}: {1e6 * cold['median']:.1f} us, error {error:.1e}")
        yield {
            "name": name,
            "what": what,
            "device": library.device,
            "length": length,
            "taps": taps,
            "mode": mode,
            "dtype": "f32",
            "seconds": cold,
            "warm_seconds": warm,
            "error": error,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, help="the JSON file")
    parser.add_argument("--length", type=int, help="samples; default: the ladder's cases C and B")
    parser.add_argument("--taps", type=int)
    parser.add_argument("--mode", choices=["full", "same", "valid", "causal", "leading"], default="full")
    parser.add_argument("--seconds", type=float, default=0.5, help="of one measurement")
    arguments = parser.parse_args()
    if (arguments.length is None) != (arguments.taps is None):
        parser.error("--length and --taps belong together")
    cases = CASES if arguments.length is None else [(arguments.length, arguments.taps, arguments.mode)]
    rows: list[dict] = []
    makers: list[Any] = [NumPy, PyTorch, CuPy]
    for make in makers:
        try:
            library = make()
        except Exception as problem:  # noqa: BLE001  as above
            say(f"{make.name}: not measured: {problem}")
            continue
        for case in cases:
            rows += measure_case(library, case, arguments.seconds)
    document = {
        "schema": "tapline-peers-1",
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "processor": timing.machine()["processor"],
        "rows": rows,
    }
    with open(arguments.output, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
