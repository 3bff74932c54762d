#!/usr/bin/env python3
"""Turns the bars of the GPU tests' receipt, and other devices' in bench/results, into docs/benchmarks_gpu.md:
`python3 bench/gpu_bars_report.py`."""

import gpu_bars
import page
from gpu_bars import in_words
from page import seconds_text


def table(rows):
    lines = []
    for row in rows:
        reached = in_words(row["reached"], row["unit"])
        cells = [row["name"], in_words(row["wanted"], row["unit"]), reached if row["met"] else f"**{reached}**"]
        lines.append([*cells, seconds_text(row["seconds"]), seconds_text(row["copy_seconds"]), row["algorithm"]])
    return page.table(("", "wanted", "reached", "time", "against", "algorithm"), lines, "lrrrrl") + "\n"


def table_of_several(rows):
    """Bars of bench/scaling_bars.py: each in its own unit, beside one GPU or copies in the same run."""
    lines = []
    for row in rows:
        reached = f"{row['reached']:.3f}"
        wanted = f"{row['wanted']:.3f} {row['unit']}"
        seconds = "" if row["seconds"] is None else seconds_text(row["seconds"])
        lines.append([row["name"], wanted, reached if row["met"] else f"**{reached}**", seconds, row["device"]])
    return page.table(("", "wanted", "reached", "time", "device"), lines, "lrrrl") + "\n"


def reasons(rows):
    """Why bars are not reached, where that is known; names with one reason together."""
    names: dict[str, list[str]] = {}
    whys = {bar.name: bar.why for bar in gpu_bars.BARS}
    for row in rows:
        why = whys.get(row["name"], "")
        if not row["met"] and why:
            names.setdefault(why, []).append(row["name"])
    lines = [f"- {'; '.join(mine)}: {why}.\n" for why, mine in names.items()]
    return "\nWhy some are not reached:\n\n" + "".join(lines) if lines else ""


def groups(rows):
    """(title, what to say, rows)"""
    images = [row for row in rows if row["name"].startswith("image ")]
    host = [row for row in rows if "host" in row["name"]]
    yield "Signals", "", [row for row in rows if row not in images and row not in host]
    between = "the pinned upload, the pinned download, and copying signal and output by all threads"
    text = f"The time beside the slowest of what cannot be done without: {between}.\n\n"
    yield "From ordinary memory to ordinary memory", text, host
    yield "Images", "", images


def main():
    section = page.read(page.ROOT / "tests" / "gpu" / "receipt.json")["bars"]
    rows = [row for row in section["bars"] if "copy_seconds" in row]
    several = [row for row in section["bars"] if row not in rows]
    missed = sum(not row["met"] for row in rows)
    batch, many = gpu_bars.ROWS // gpu_bars.CHANNELS, gpu_bars.MANY_ROWS // gpu_bars.MANY_CHANNELS
    text = f"""# Benchmarks: GPU

Made by `bench/gpu_bars_report.py` from `tests/gpu/receipt.json`, which `make gpu-test` writes; nothing here is typed by hand.
{section["device"]}, driver {section["driver"]}, {section["date"][:10]}.

What tapline wants to reach and what it reached: mostly the share of the copy's speed, which is the time of copying the signal
(`against`) over the time of convolving it, both with a cold L2 cache and in one run. Every result was checked against the
textbook sum first. Each is measured for a fifth of a second, "without pause" for two: then kernels that use all of the device
reach its power limit, which lowers the clock. {len(rows) - missed} of {len(rows)} are reached; the {missed} others are in bold.

One signal is of {gpu_bars.LONG:,} samples, f32 unless a type is given, mode same. Depthwise: ({batch}, {gpu_bars.CHANNELS:,},
{gpu_bars.ROW:,}) samples, causal, a filter a channel; rows with as many taps as samples: ({many}, {gpu_bars.MANY_CHANNELS}, n) in
bf16, the same way.
"""
    for title, said, mine in groups(rows):
        text += f"\n## {title}\n\n{said}{table(mine)}{reasons(mine)}"
    if several:
        text += f"\n## Several GPUs\n\nBeside one of them; [scale](scale.md) says what each is.\n\n{table_of_several(several)}"
    for other in sorted(page.RESULTS.glob("gpu_bars_*.json")):
        measured = page.read(other)["bars"]
        text += f"""
## {measured[0]["device"]}

Those of the above in `bench/results/{other.name}`, which `bench/gpu_bars.py --output` wrote, beside what is wanted of the
first device.

{table(measured)}"""
    page.write("benchmarks_gpu.md", text)


if __name__ == "__main__":
    main()
