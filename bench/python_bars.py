#!/usr/bin/env python3
"""What the Python module promises on a CPU, measured and held against it; beside NumPy and SciPy in the same run.

    python3 bench/python_bars.py                                                       # exit status 1 if a bar is missed
    python3 bench/python_bars.py --output bench/results/python_cpu.json --docs         # writes docs/python_cpu.md, too
    python3 bench/python_bars.py --results bench/results/python_cpu.json --docs        # writes it again, and measures nothing

Data are random, results are checked against float64 first, and what is compared takes turns.
"""

import argparse
import functools
import json
import pathlib
import platform
import subprocess
import sys

import numpy as np
import scipy
import scipy.signal

import page
import tapline
import timing

SHORT, FEW = 1000, 9
LONG, MANY = 1 << 24, 2047
CONVOLVE_MICROSECONDS, PLAN_MICROSECONDS, TIMES_SCIPY = 3.0, 1.5, 8.0


def short_calls():
    """Microseconds of a call, the medians of rounds in which the calls take turns."""
    rng = np.random.default_rng(1)
    x, h, out = rng.standard_normal(SHORT), rng.standard_normal(FEW), np.empty(SHORT)
    plan = tapline.Plan(SHORT, h, "same")
    calls = {
        "tapline.convolve": lambda: tapline.convolve(x, h, "same"),
        "tapline.Plan, out": lambda: plan(x, out),
        "tapline.numpy.convolve": lambda: tapline.numpy.convolve(x, h, "same"),
        "numpy.convolve": lambda: np.convolve(x, h, "same"),
    }
    for call in calls.values():
        np.testing.assert_allclose(call(), np.convolve(x, h, "same"), rtol=0, atol=1e-13)
    return timing.medians(timing.in_turns(calls, 31, functools.partial(timing.wall, calls=2000)), 1e6)


def long_filter(rounds):
    """Seconds of 2^24 f32 samples and 2,047 taps, the medians of rounds in which the calls take turns."""
    rng = np.random.default_rng(2)
    x, h = rng.standard_normal(LONG, dtype=np.float32), rng.standard_normal(MANY, dtype=np.float32)
    out = np.empty_like(x)
    calls = {
        "tapline.convolve": lambda: tapline.convolve(x, h, "same"),
        "tapline.convolve, out": lambda: tapline.convolve(x, h, "same", out=out),
        "tapline.signal.oaconvolve": lambda: tapline.signal.oaconvolve(x, h, "same"),
        "scipy.signal.oaconvolve": lambda: scipy.signal.oaconvolve(x, h, "same"),
    }
    exact = scipy.signal.oaconvolve(x.astype(np.float64), h.astype(np.float64), "same")
    for name, call in calls.items():
        timing.require(name, timing.relative_error(call(), exact), 1e-5)
    return timing.medians(timing.in_turns(calls, rounds))


# getrusage's ru_maxrss would not do: a new process inherits that of the one that started it.
PEAK = """
import re, numpy as np
{imports}

def peak_bytes():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1))

x, h = np.ones(1 << 24, np.float32), np.ones(2047, np.float32)
{call}(x[:50_000], h, "same")
before = peak_bytes()
y = {call}(x, h, "same")
print((peak_bytes() - before) / x.nbytes)
"""


def peak_memory():
    """What a call's peak adds, in sizes of its signal; the result is one of them."""
    calls = {"tapline.signal.oaconvolve": "import tapline", "scipy.signal.oaconvolve": "import scipy.signal"}
    code = {name: PEAK.format(imports=imports, call=name) for name, imports in calls.items()}
    return {
        name: float(subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True).stdout)
        for name, text in code.items()
    }


def bars(results):
    """(what, measured, wanted, unit, whether it holds); written so that a NaN misses."""
    short, long, peak = results["short_microseconds"], results["long_seconds"], results["peak_signals"]
    times = long["scipy.signal.oaconvolve"] / long["tapline.signal.oaconvolve"]
    for what, name, most in (
        ("a call of convolve", "tapline.convolve", CONVOLVE_MICROSECONDS),
        ("a call of a Plan with out", "tapline.Plan, out", PLAN_MICROSECONDS),
    ):
        yield what, short[name], most, "us at most", short[name] <= most
    yield "2^24 samples, 2,047 taps", times, TIMES_SCIPY, "times scipy.signal.oaconvolve at least", times >= TIMES_SCIPY
    ours, theirs = peak["tapline.signal.oaconvolve"], peak["scipy.signal.oaconvolve"]
    yield "its peak memory above the signal", ours, theirs, "sizes of the signal at most, SciPy's", ours <= theirs


def page_text(results):
    held = page.table(
        ("bar", "measured", "wanted", "held"),
        [
            (what, f"{value:.2f}", f"{wanted:.2f} {unit}", "yes" if holds else "**no**")
            for what, value, wanted, unit, holds in bars(results)
        ],
    )
    short = page.table(("call", "us"), [(name, f"{value:.2f}") for name, value in results["short_microseconds"].items()])
    long = page.table(("call", "ms"), [(name, f"{1e3 * value:.1f}") for name, value in results["long_seconds"].items()])
    versions = results["versions"]
    return f"""# Benchmarks: Python on a CPU

Made by `bench/python_bars.py`, which measures and checks; nothing here is typed by hand. {results["processor"]},
{results["threads"]} threads; Python {versions["python"]}, NumPy {versions["numpy"]}, SciPy {versions["scipy"]}. Medians of
rounds in which the calls take turns.

{held}

## {SHORT:,} samples, {FEW} taps, float64, mode same

{short}

## 2^24 samples, {MANY:,} taps, float32, mode same

{long}
"""


def measure(rounds):
    return {
        "format": 1,
        "processor": timing.machine()["processor"],
        "threads": tapline.info()["threads"],
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
        "short_microseconds": short_calls(),
        "long_seconds": long_filter(rounds),
        "peak_signals": peak_memory(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", help="where the results go as JSON")
    parser.add_argument("--docs", action="store_true", help="write docs/python_cpu.md")
    parser.add_argument("--rounds", type=int, default=15, help="of the long filter (default: 15)")
    parser.add_argument("--results", help="results that were kept, instead of measuring")
    options = parser.parse_args()
    results = page.read(options.results) if options.results else measure(options.rounds)
    print(json.dumps({key: results[key] for key in ("short_microseconds", "long_seconds", "peak_signals")}, indent=1))
    for what, value, wanted, unit, holds in bars(results):
        print(f"{'ok    ' if holds else 'MISSED'} {what}: {value:.2f} ({wanted:.2f} {unit})")
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps(results, indent=1) + "\n")
    if options.docs:
        page.write("python_cpu.md", page_text(results))
    return 0 if all(holds for *_, holds in bars(results)) else 1


if __name__ == "__main__":
    sys.exit(main())
