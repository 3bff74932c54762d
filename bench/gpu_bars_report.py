#!/usr/bin/env python3
"""Turns the bars of the GPU tests' receipt, and other devices' in bench/results, into docs/benchmarks_gpu.md:
`python3 bench/gpu_bars_report.py`."""

import json
import pathlib

import gpu_bars
from gpu_bars import in_words
from ladder_docs import seconds_text

ROOT = pathlib.Path(__file__).resolve().parent.parent


def table(rows):
    lines = ["| | wanted | reached | time | against | algorithm |", "|---|---:|---:|---:|---:|---|"]
    for row in rows:
        reached = in_words(row["reached"], row["unit"])
        lines.append(
            f"| {row['name']} | {in_words(row['wanted'], row['unit'])} | {reached if row['met'] else f'**{reached}**'} | "
            f"{seconds_text(row['seconds'])} | {seconds_text(row['copy_seconds'])} | {row['algorithm']} |"
        )
    return lines


def reasons(rows):
    """Why bars are not reached, where that is known; names with one reason together."""
    names = {}
    whys = {bar.name: bar.why for bar in gpu_bars.BARS}
    for row in rows:
        why = whys.get(row["name"], "")
        if not row["met"] and why:
            names.setdefault(why, []).append(row["name"])
    return [f"- {'; '.join(mine)}: {why}." for why, mine in names.items()]


def main():
    receipt = json.loads((ROOT / "tests" / "gpu" / "receipt.json").read_text(encoding="utf-8"))
    section = receipt["bars"]
    rows = section["bars"]
    groups = {
        "Signals": [row for row in rows if not row["name"].startswith("image ") and "host" not in row["name"]],
        "From ordinary memory to ordinary memory": [row for row in rows if "host" in row["name"]],
        "Images": [row for row in rows if row["name"].startswith("image ")],
    }
    missed = sum(not row["met"] for row in rows)
    lines = [
        "# Benchmarks: GPU",
        "",
        "Made by `bench/gpu_bars_report.py` from `tests/gpu/receipt.json`, which `make gpu-test` writes; nothing here is typed by hand. "
        f"{section['device']}, driver {section['driver']}, {section['date'][:10]}.",
        "",
        "What tapline wants to reach and what it reached: mostly the share of the copy's speed, which is the time of copying the signal "
        "(`against`) over the time of convolving it, both with a cold L2 cache and in one run. Every result was checked against the "
        'textbook sum first. Each is measured for a fifth of a second, "without pause" for two: then kernels that use all of the device '
        "reach its power limit, which lowers the clock. "
        f"{len(rows) - missed} of {len(rows)} are reached; the {missed} others are in bold.",
        "",
        f"One signal is of {gpu_bars.LONG:,} samples, f32 unless a type is given, mode same. Depthwise: ({gpu_bars.ROWS // gpu_bars.CHANNELS}, "
        f"{gpu_bars.CHANNELS:,}, {gpu_bars.ROW:,}) samples, causal, a filter a channel; rows with as many taps as samples: "
        f"({gpu_bars.MANY_ROWS // gpu_bars.MANY_CHANNELS}, {gpu_bars.MANY_CHANNELS}, n) in bf16, the same way.",
    ]
    for title, mine in groups.items():
        lines += ["", f"## {title}", ""]
        if "ordinary" in title:
            lines += [
                "The time beside the slowest of what cannot be done without: the pinned upload, the pinned download, and copying "
                "signal and output by all threads.",
                "",
            ]
        lines += table(mine)
        why = reasons(mine)
        if why:
            lines += ["", "Why some are not reached:", "", *why]
    for other in sorted((ROOT / "bench" / "results").glob("gpu_bars_*.json")):
        measured = json.loads(other.read_text(encoding="utf-8"))["bars"]
        lines += [
            "",
            f"## {measured[0]['device']}",
            "",
            f"Those of the above in `bench/results/{other.name}`, which `bench/gpu_bars.py --output` wrote, beside what is wanted of the "
            "first device.",
            "",
        ]
        lines += table(measured)
    (ROOT / "docs" / "benchmarks_gpu.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
