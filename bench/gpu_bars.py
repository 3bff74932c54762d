#!/usr/bin/env python3
"""The speeds that tapline promises on one H200, measured by `tapline bench --device cuda` and held against what is wanted.

Every case is checked against the textbook sum before it is timed; the copy is measured in the same run, and times are those with
the L2 cache overwritten before each run. Each is measured for a fifth of a second: kernels that compute without pause for longer
come to the device's power limit, which lowers its clock (63 taps: 532 us, for two seconds 599; the copy 507 us both times). Bars
that say "without pause" show that. A bar that the kernels do not reach yet stays as it is wanted and says beside it what they must
hold meanwhile. The exit status is 0 if every bar holds, 1 if one does not or could not be measured.

    python3 bench/gpu_bars.py --tapline build/default/bin/tapline --output bars.json
    python3 bench/gpu_bars.py --tapline build/default/bin/tapline --only depthwise
"""

import argparse
import dataclasses
import json
import pathlib
import sys

import command

LONG = 2**28
SHORT = 2**24
CHANNELS, ROW = 2048, 8192  # of a batch of 8, each with a filter of its own, and the samples of a row
ROWS = 8 * CHANNELS
MANY_CHANNELS = 768  # of a batch of 64
MANY_ROWS = 64 * MANY_CHANNELS
AT_MOST = "times the copy's time"  # the unit of bars that are upper limits
LONG_SECONDS = 2.0  # of measuring: without pause, or few runs that each take long


@dataclasses.dataclass(frozen=True)
class Bar:
    name: str
    length: int
    taps: int
    wanted: float  # at least; with unit "times the copy's time" at most
    dtype: str = "f32"
    mode: str = "same"
    batch: int = 1  # rows
    filters: int = 1  # above 1: so many, which the rows use in turn
    rounded_taps: bool = False  # to the signal's type, as the peers take them
    unit: str = "share of copy"
    image: str = ""  # height x width [x channels] instead of a length; the mask is taps x taps
    separable: bool = False
    held: float | None = None  # what must hold until `wanted` is reached
    why: str = ""  # it is not reached, for docs/benchmarks_gpu.md
    seconds: float | None = None  # of measuring, else those of --seconds

    @property
    def at_most(self):
        return self.unit == AT_MOST

    @property
    def least(self):
        return self.wanted if self.held is None else self.held

    def is_reached(self, value, limit):
        """Written so that a NaN misses."""
        return value <= limit if self.at_most else value >= limit

    @property
    def host(self):
        return self.unit == "share of the slowest part"


# Mask's side, whether it is separable, the share of the copy that is wanted.
MASKS = [
    (3, False, 0.80),
    (5, False, 0.70),
    (7, False, 0.55),
    (15, False, 0.30),
    (31, False, 0.25),
    (63, False, 0.20),
    (15, True, 0.55),
    (31, True, 0.55),
]


def image_bars(image, of_share=1.0):
    for side, separable, wanted in MASKS:
        name = f"image {image}, {'separable ' if separable else ''}{side}x{side}"
        yield Bar(name, 0, side, round(of_share * wanted, 3), image=image, separable=separable)


MEMORY = (
    "the same kernel without any arithmetic would miss it too, as memory limits it, and every way to move fewer bytes cost more "
    "than it saved: the end of "
    "[what was tried](../src/cuda/families/overlap_save/large/detours.md#variants-of-large-segments-rung-29) with rung 29"
)
POWER = "the device reaches its power limit and lowers its clock"
TWICE = "taps of f32 need two products or a transform in f32, those of the signal's type one ([numerics](numerics.md))"

BARS = [
    Bar("one signal, 3 taps", LONG, 3, 0.97),
    Bar("one signal, 9 taps", LONG, 9, 0.97),
    Bar("one signal, 17 taps", LONG, 17, 0.97),
    Bar("one signal, 33 taps", LONG, 33, 0.94),
    Bar("one signal, 63 taps", LONG, 63, 0.93),
    Bar("one signal, 65 taps", LONG, 65, 0.74),
    Bar("one signal, 129 taps", LONG, 129, 0.41),
    Bar("one signal, 127 taps", LONG, 127, 0.89),
    Bar("one signal, 255 taps", LONG, 255, 0.82),
    Bar("one signal, 511 taps", LONG, 511, 0.80),
    Bar("one signal, 1,023 taps", LONG, 1023, 0.70),
    Bar("one signal, 2,047 taps", LONG, 2047, 0.56),
    Bar("one signal, 8,191 taps", LONG, 8191, 0.46),
    Bar("one signal, 65,535 taps", LONG, 65535, 0.33),
    Bar("one signal, 1,048,575 taps", LONG, 1048575, 0.25, held=0.228, why=MEMORY),
    Bar("one signal, 63 taps, without pause", LONG, 63, 0.93, held=0.8, seconds=LONG_SECONDS, why=POWER),
    Bar("one signal, 511 taps, without pause", LONG, 511, 0.80, held=0.73, seconds=LONG_SECONDS, why=POWER),
    Bar("2^24 samples, 63 taps", SHORT, 63, 0.85),
    Bar("2^24 samples, 127 taps", SHORT, 127, 0.81),
    Bar("2^24 samples, 255 taps", SHORT, 255, 0.74),
    Bar("2^24 samples, 511 taps", SHORT, 511, 0.72),
    Bar("2^24 samples, 1,023 taps", SHORT, 1023, 0.62),
    Bar("2^24 samples, 2,047 taps", SHORT, 2047, 0.48),
    Bar("2^24 samples, 8,191 taps", SHORT, 8191, 0.38),
    Bar("bf16, 127 taps", LONG, 127, 0.92, dtype="bf16", rounded_taps=True),
    Bar("bf16, 511 taps", LONG, 511, 0.50, dtype="bf16", rounded_taps=True),
    Bar("bf16, 127 taps of f32", LONG, 127, 0.92, dtype="bf16", held=0.86, why=TWICE),  # 88 to 92% by the device
    Bar("bf16, 511 taps of f32", LONG, 511, 0.50, dtype="bf16", held=0.4, why=TWICE),
    Bar("1,500,000 samples, 2,047 taps", 1500000, 2047, 3, mode="valid", unit=AT_MOST),
    Bar("16,384 samples, 32 taps", 2**14, 32, 1.1, mode="full", unit=AT_MOST),
    Bar("depthwise, 4 taps", ROW, 4, 0.90, mode="causal", batch=ROWS, filters=CHANNELS),
    Bar("depthwise, 64 taps", ROW, 64, 0.85, mode="causal", batch=ROWS, filters=CHANNELS),
    Bar("depthwise, 128 taps", ROW, 128, 0.38, mode="causal", batch=ROWS, filters=CHANNELS),
    Bar("depthwise, 256 taps", ROW, 256, 0.75, mode="causal", batch=ROWS, filters=CHANNELS),
    Bar("depthwise bf16, 4 taps", ROW, 4, 0.90, dtype="bf16", mode="causal", batch=ROWS, filters=CHANNELS, held=0.88),
    *(
        Bar(
            f"rows of {length:,}, taps as many",
            length,
            length,
            wanted,
            dtype="bf16",
            mode="causal",
            batch=MANY_ROWS,
            filters=MANY_CHANNELS,
        )
        for length, wanted in ((1024, 0.25), (4096, 0.25), (32768, 0.18))
    ),
    Bar("f64, 16 taps", LONG, 16, 0.60, dtype="f64"),
    Bar("complex64, 16 taps", LONG, 16, 0.60, dtype="complex64"),
    Bar("f64, 511 taps", LONG, 511, 0.35, dtype="f64"),
    Bar("complex64, 511 taps", LONG, 511, 0.70, dtype="complex64"),
    Bar("host to host, 17 taps", LONG, 17, 0.80, unit="share of the slowest part", seconds=LONG_SECONDS),
    *image_bars("4096x4096"),
    *image_bars("4096x4096x3"),
    *image_bars("16384x16384", 0.9),
]


def together(bar):
    """Bars that differ in the number of taps only are measured by one command, on the same samples."""
    return dataclasses.replace(bar, name="", taps=0, wanted=0, held=None)


def words_of(options, bars):
    bar = bars[0]
    taps = ",".join(str(one.taps) for one in bars)
    words = [options.tapline, "bench", "--device", options.device, "--json", "-"]
    words += ["--seconds", str(options.seconds if bar.seconds is None else bar.seconds)]
    words += ["--dtype", bar.dtype, "--mode", bar.mode]
    if bar.image:
        return words + ["--image", bar.image, "--mask", taps] + ["--separable"] * bar.separable
    words += ["--lengths", str(bar.length), "--taps", taps]
    if bar.batch > 1:
        words += ["--batch", str(bar.batch), "--per-row", "--filters", str(bar.filters)]
    words += ["--rounded-taps"] * bar.rounded_taps
    if bar.host:
        words += ["--host"]
    return words


def figures(bar, case):
    """What a case reached, in the bar's unit, with the two times that it comes from."""
    if bar.host:
        host = case["host"]
        return host["fraction"], host["slowest_seconds"], host["seconds_median"]
    seconds, copy = case["seconds_median"], case["copy_seconds"]
    return (seconds / copy if bar.at_most else copy / seconds), copy, seconds


def measure(options, bars):
    """A row for each of the bars, which belong together."""
    empty = {"reached": None, "met": False, "holds": False, "copy_seconds": None, "seconds": None}
    rows = [{"name": bar.name, "wanted": bar.wanted, "held": bar.least, "unit": bar.unit, **empty} for bar in bars]
    try:
        cases = command.run(words_of(options, bars), options.timeout * len(bars))
        reason = "" if len(cases) == len(bars) else f"{len(cases)} results instead of {len(bars)}"
    except command.BenchError as error:
        reason = str(error)
    if reason and len(bars) > 1:  # one must not spoil the others
        return [row for bar in bars for row in measure(options, [bar])]
    if reason:
        return [row | {"reason": reason} for row in rows]
    return [row | result(bar, case) for row, bar, case in zip(rows, bars, cases, strict=True)]


def result(bar, case):
    try:
        reached, copy, seconds = figures(bar, case)
        row = {
            "reached": reached,
            "met": bar.is_reached(reached, bar.wanted),
            "holds": bar.is_reached(reached, bar.least),
            "copy_seconds": copy,
            "seconds": seconds,
        }
        if bar.host:
            row["parts"] = {name: case["host"][name] for name in ("upload_seconds", "download_seconds", "copy_seconds")}
        return row | {"algorithm": case["algorithm"], "error": case["error"], "device": case["device_name"]}
    except (LookupError, TypeError, ZeroDivisionError) as error:
        return {"reason": f"unexpected JSON: {error!r}"}


def in_words(value, unit):
    if value is None:
        return "-"
    return f"{value:.3f} x" if unit == AT_MOST else f"{100 * value:.1f}%"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapline", default="tapline", help="the command [tapline]")
    parser.add_argument("--device", default="cuda", help="cuda or cuda:N [cuda]")
    parser.add_argument("--seconds", type=float, default=0.2, help="measuring time of a bar that does not say another [0.2]")
    parser.add_argument("--timeout", type=float, default=300, help="seconds after which a bar counts as missed [300]")
    parser.add_argument("--only", default="", help="bars whose name contains this")
    parser.add_argument("--output", help="write the JSON here, - for standard output")
    parser.add_argument("--list", action="store_true", help="print the commands instead of running them")
    options = parser.parse_args()

    bars = [bar for bar in BARS if options.only in bar.name]
    if not bars:
        parser.error(f"--only: no bar's name contains '{options.only}'; the bars are: " + "; ".join(bar.name for bar in BARS))
    groups: dict[Bar, list[Bar]] = {}
    for bar in bars:
        groups.setdefault(together(bar), []).append(bar)
    if options.list:
        for group in groups.values():
            print(" ".join(words_of(options, group)))
        return 0
    table = sys.stderr if options.output == "-" else sys.stdout
    print(f"{'bar':36} {'wanted':>9} {'held':>9} {'reached':>9}  {'met':7} {'time':>10} {'against':>10}  unit", file=table)
    rows = []
    text = ""
    expected = [bar.name for bar in BARS]
    for group in groups.values():
        for bar, row in zip(group, measure(options, group), strict=True):
            rows.append(row)
            times = [f"{1e6 * row[key]:.1f} us" if row[key] is not None else "-" for key in ("seconds", "copy_seconds")]
            met = "yes" if row["met"] else "not yet" if row["holds"] else "NO"
            shares = [in_words(value, bar.unit) for value in (bar.wanted, bar.least, row["reached"])]
            print(
                f"{bar.name:36} {shares[0]:>9} {shares[1]:>9} {shares[2]:>9}  {met:7} "
                f"{times[0]:>10} {times[1]:>10}  {bar.unit}{': ' + row['reason'] if 'reason' in row else ''}",
                file=table,
                flush=True,
            )
        measured = {row["name"] for row in rows}
        text = json.dumps({"bars": rows, "missing": [name for name in expected if name not in measured]}, indent=1) + "\n"
        if options.output and options.output != "-":  # each time: a run that is cut off leaves what it measured
            pathlib.Path(options.output).write_text(text, encoding="utf-8")
    if options.output == "-":
        sys.stdout.write(text)
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
