#!/usr/bin/env python3
"""Turns the JSON of bench/gpu_python.py into docs/python_gpu.md.

python3 bench/gpu_python_report.py bench/results/gpu_python.json
"""

import sys

import page
from gpu_python import HOPELESS

BAR_CUPY, BAR_TORCH = 8, 4  # what the project asks of itself, from 127 taps and for 4 taps


def ms(value):
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def beside_peers(row, t):
    """Time and name of the best peer, and how many times faster tapline is with taps on the GPU and on the host."""
    best = row["best_peer"]
    if best is None:
        return ["-", "none", "-", "-"]
    return [ms(t[best]), best, f"**{row['times_faster']:.1f}**", f"{t[best] / t['host_taps']:.1f}"]


def left_out(data):
    """What has no time in the table, and why."""
    reasons: dict[tuple[int, str], list[str]] = {}
    for row in data["convolve"]:
        for name, why in row.get("left_out", {}).items():
            reasons.setdefault((row["n"], name), []).append(f"{row['taps']:,} taps: {why}")
    lines = [f"- 2^{n.bit_length() - 1} samples, {name}: " + "; ".join(whys) for (n, name), whys in reasons.items()]
    lines += [f"- {what}: not in this run" for what in data.get("missing", [])]
    return "\n\nLeft out:\n\n" + "\n".join(lines) if lines else ""


def convolve_table(rows):
    lines = []
    for row in rows:
        t = {name: value["median"] for name, value in row["times_ms"].items()}
        cells = [f"2^{row['n'].bit_length() - 1}", f"{row['taps']:,}", row["algorithm"]]
        cells += [ms(t[name]) for name in ("gpu_taps", "host_taps", "drop_in")]
        lines.append([*cells, *beside_peers(row, t), f"{100 * row['share_of_copy']:.0f}%"])
    ours = ("samples", "taps", "algorithm", "tapline", "taps on the host", "oaconvolve")
    beside = ("best of CuPy", "", "times faster", "taps on the host", "share of the copy's speed")
    return page.table(ours + beside, lines)


def depthwise_table(rows):
    lines = []
    for row in rows:
        t = {name: ms(value["median"]) for name, value in row["times_ms"].items()}
        cells = [row["dtype"], str(row["taps"]), t["ours_forward"], t["theirs_forward"], t["ours_both"], t["theirs_both"]]
        lines.append([*cells, f"**{row['times_faster']:.1f}**", f"{100 * row['share_of_memory_speed']:.0f}%"])
    forward, both = ("forward", "PyTorch's"), ("forward and backward", "PyTorch's")
    return page.table(("type", "taps", *forward, *both, "times faster", "share of the memory's speed"), lines)


def overhead_table(rows):
    return page.table(("call", "us"), [(row["call"], f"{row['microseconds']:.1f}") for row in rows])


def bar_by_length(rows):
    """Where the bar is reached and where it is not, a sentence for each length."""
    for n in sorted({row["n"] for row in rows}):
        wanted = [row for row in rows if row["n"] == n and row["taps"] >= 127]
        asked = [row for row in wanted if row["best_peer"] is not None]
        alone = ", ".join(f"{row['taps']:,}" for row in wanted if row["best_peer"] is None)
        short = [row for row in asked if not row["times_faster"] >= BAR_CUPY]
        missed = ", ".join(f"{row['taps']:,} ({row['times_faster']:.1f})" for row in short)
        held = ", ".join(f"{row['taps']:,}" for row in asked if row not in short)
        parts = [("reached with {} taps", held), ("missed with {}", missed), ("no peer with {} taps", alone)]
        yield f"- 2^{n.bit_length() - 1} samples: " + "; ".join(text.format(which) for text, which in parts if which)


def main():
    data = page.read(sys.argv[1])
    versions = data["versions"]
    worst = max(
        error for row in data["convolve"] for name, error in row["error"].items() if name in ("gpu_taps", "host_taps", "drop_in")
    )
    text = f"""# Benchmarks: Python on a GPU

Made by `bench/gpu_python_report.py` from `bench/results/gpu_python.json`, which `bench/gpu_python.py` measures; nothing here is
typed by hand. {data["device"]}; Python {versions["python"]}, CuPy {versions["cupy"]}, PyTorch {versions["torch"]}. Times are
milliseconds, medians between two events; results are checked against float64 first.

## CuPy arrays: tapline.convolve, float32, mode same

The peers are `fftconvolve`, `oaconvolve` and `convolve(method="direct")` of cupyx.scipy.signal; the fastest of them counts, and
what failed or took more than {HOPELESS} times as long is listed below the table. Taps lie on the GPU but for the columns that say
otherwise, and are made ready there. oaconvolve is tapline.signal's. Calls follow each other; at 2^20 samples Python's part of them,
which the last table has, is most of the time. Largest relative error of tapline's: {worst:.1e}. The bar is {BAR_CUPY} times from
127 taps on:

{chr(10).join(bar_by_length(data["convolve"]))}

{convolve_table(data["convolve"])}{left_out(data)}

## Tensors: tapline.torch.conv1d, causal, {" x ".join(str(n) for n in data["depthwise"][0]["shape"])}

The peer is torch.nn.functional.conv1d with groups = channels. Forward and backward move five tensors, a copy two; the last column
compares by that. The bar is {BAR_TORCH} times for 4 taps.

{depthwise_table(data["depthwise"])}

## A call's Python: 1,000 samples, 9 taps, float32

Many calls in a row, waited for at the end.

{overhead_table(data["overhead"])}
"""
    page.write("python_gpu.md", text)


if __name__ == "__main__":
    main()
