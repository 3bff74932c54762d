#!/usr/bin/env python3
"""The speeds that tapline promises on one H200, measured by `tapline bench --device cuda` and held against what is wanted.

Every case is checked against the textbook sum before it is timed; the copy is measured in the same run, and times are those with
the L2 cache overwritten before each run. The exit status is 0 if every bar is met, 1 if one is missed or could not be measured.

    python3 bench/gpu_bars.py --tapline build/default/bin/tapline --output bars.json
    python3 bench/gpu_bars.py --tapline build/default/bin/tapline --only depthwise
"""

import argparse
import dataclasses
import json
import subprocess
import sys

LONG = 2**28
ROWS, ROW = 8 * 2048, 8192  # batch x channels, and the samples of each


@dataclasses.dataclass(frozen=True)
class Bar:
    name: str
    length: int
    taps: int
    wanted: float  # at least; with unit "times the copy's time" at most
    dtype: str = "f32"
    mode: str = "same"
    batch: int = 1  # above 1: a filter for every row
    unit: str = "share of copy"
    image: str = ""  # height x width [x channels] instead of a length; the mask is taps x taps
    separable: bool = False

    @property
    def at_most(self):
        return self.unit == "times the copy's time"

    @property
    def host(self):
        return self.unit == "share of the slowest part"


# Mask's side, whether it is separable, and the share of the copy.
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


BARS = [
    Bar("one signal, 3 taps", LONG, 3, 0.97),
    Bar("one signal, 9 taps", LONG, 9, 0.97),
    Bar("one signal, 17 taps", LONG, 17, 0.97),
    Bar("one signal, 33 taps", LONG, 33, 0.94),
    Bar("one signal, 65 taps", LONG, 65, 0.74),
    Bar("one signal, 129 taps", LONG, 129, 0.41),
    Bar("16,384 samples, 32 taps", 2**14, 32, 1.1, mode="full", unit="times the copy's time"),
    Bar("depthwise, 4 taps", ROW, 4, 0.90, mode="causal", batch=ROWS),
    Bar("depthwise, 64 taps", ROW, 64, 0.70, mode="causal", batch=ROWS),
    Bar("depthwise, 128 taps", ROW, 128, 0.38, mode="causal", batch=ROWS),
    Bar("depthwise bf16, 4 taps", ROW, 4, 0.90, dtype="bf16", mode="causal", batch=ROWS),
    Bar("f64, 16 taps", LONG, 16, 0.60, dtype="f64"),
    Bar("complex64, 16 taps", LONG, 16, 0.60, dtype="complex64"),
    Bar("host to host, 17 taps", LONG, 17, 0.80, unit="share of the slowest part"),
    *image_bars("4096x4096"),
    *image_bars("4096x4096x3"),
    *image_bars("16384x16384", 0.9),
]


def command(options, bar):
    words = [options.tapline, "bench", "--device", options.device, "--json", "-", "--seconds", str(options.seconds)]
    words += ["--dtype", bar.dtype, "--mode", bar.mode]
    if bar.image:
        return words + ["--image", bar.image, "--mask", str(bar.taps)] + ["--separable"] * bar.separable
    words += ["--lengths", str(bar.length), "--taps", str(bar.taps)]
    if bar.batch > 1:
        words += ["--batch", str(bar.batch), "--per-row"]
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


def is_met(bar, reached):
    """Written so that a NaN misses."""
    return reached <= bar.wanted if bar.at_most else reached >= bar.wanted


def measure(options, bar):
    row = {"name": bar.name, "wanted": bar.wanted, "reached": None, "met": False, "unit": bar.unit, "copy_seconds": None,
           "seconds": None}
    try:
        done = subprocess.run(command(options, bar), capture_output=True, text=True, timeout=options.timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        return row | {"reason": str(error)}
    if done.returncode != 0:
        return row | {"reason": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"status {done.returncode}"}
    try:
        case = json.loads(done.stdout.splitlines()[0])
        reached, copy, seconds = figures(bar, case)
    except (ValueError, LookupError, TypeError, ZeroDivisionError) as error:
        return row | {"reason": f"unexpected JSON: {error!r}"}
    row |= {"reached": reached, "met": is_met(bar, reached), "copy_seconds": copy, "seconds": seconds}
    if bar.host:
        row["parts"] = {name: case["host"][name] for name in ("upload_seconds", "download_seconds", "copy_seconds")}
    return row | {"algorithm": case["algorithm"], "error": case["error"], "device": case["device_name"]}


def in_words(value, bar):
    if value is None:
        return "-"
    return f"{value:.3f} x" if bar.at_most else f"{100 * value:.1f}%"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapline", default="tapline", help="the command [tapline]")
    parser.add_argument("--device", default="cuda", help="cuda or cuda:N [cuda]")
    parser.add_argument("--seconds", type=float, default=2, help="measuring time of a bar [2]")
    parser.add_argument("--timeout", type=float, default=300, help="seconds after which a bar counts as missed [300]")
    parser.add_argument("--only", default="", help="bars whose name contains this")
    parser.add_argument("--output", help="write the JSON here, - for standard output")
    parser.add_argument("--list", action="store_true", help="print the commands instead of running them")
    options = parser.parse_args()

    bars = [bar for bar in BARS if options.only in bar.name]
    if not bars:
        parser.error(f"--only: no bar's name contains '{options.only}'; the bars are: " + "; ".join(bar.name for bar in BARS))
    if options.list:
        for bar in bars:
            print(" ".join(command(options, bar)))
        return 0
    table = sys.stderr if options.output == "-" else sys.stdout
    print(f"{'bar':36} {'wanted':>9} {'reached':>9}  {'met':4} {'time':>10} {'against':>10}  unit", file=table)
    rows = []
    for bar in bars:
        row = measure(options, bar)
        rows.append(row)
        times = [f"{1e6 * row[key]:.1f} us" if row[key] is not None else "-" for key in ("seconds", "copy_seconds")]
        print(f"{bar.name:36} {in_words(bar.wanted, bar):>9} {in_words(row['reached'], bar):>9}  {'yes' if row['met'] else 'NO':4} "
              f"{times[0]:>10} {times[1]:>10}  {bar.unit}{': ' + row['reason'] if 'reason' in row else ''}", file=table, flush=True)
    text = json.dumps({"bars": rows}, indent=1) + "\n"
    if options.output == "-":
        sys.stdout.write(text)
    elif options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text)
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
