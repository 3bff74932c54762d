#!/usr/bin/env python3
"""How good the GPU engine's choice is: the algorithm that it takes beside the others, over more than 400 problems.

Predicted times were fitted to other problems, those of FITTING among them. What is predicted to take more than
PREDICTED_WITHIN times as long as what is chosen is left out; the report says how far predictions were off. All are measured by
`tapline bench --algorithms`, which checks each result first; times are those with a cold L2 cache.
`list` says what would be run. `report` turns the results into docs/gpu_choice.md and its plot, where one algorithm takes over from
the next. Several GPUs (--device cuda:0,cuda:1) share the work, each by processes of its own.

    python3 bench/gpu_choice.py list
    python3 bench/gpu_choice.py measure --tapline build/default/bin/tapline --output bench/results/gpu_choice.json
    python3 bench/gpu_choice.py report bench/results/gpu_choice.json
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import pathlib
import statistics
import sys
import threading
import time

import command
import page

ALGORITHMS = [
    "direct_few",
    "direct_window",
    "direct",
    "split_taps",
    "tensor_direct",
    "overlap_save",
    "overlap_save_parts",
    "overlap_save_large",
    "overlap_save_cluster",
]
LOCAL = ALGORITHMS[:5]  # those whose outputs depend on their own windows alone: no others with so few taps, unless accuracy is fast
LOCAL_TAPS = 64
WITHIN = 1.10  # of the fastest
PREDICTED_WITHIN = 3
PROBLEMS_OF_A_COMMAND = 30  # starting one takes seconds, and several GPUs share the commands


@dataclasses.dataclass(frozen=True)
class Sweep:
    dtype: str
    lengths: tuple
    taps: tuple
    batch: int = 1
    per_row: bool = False
    accuracy: str = "standard"
    mode: str = "same"

    def in_words(self):
        rows = f", {self.batch} rows" + (" with a filter each" if self.per_row else "") if self.batch > 1 else ""
        strict = ", strict" if self.accuracy == "strict" else ""
        lengths = " and ".join(f"{length:,}" for length in self.lengths)
        filters = f"{len(self.taps)} filters of {min(self.taps):,} to {max(self.taps):,} taps"
        return f"{self.dtype}, {lengths} samples{rows}, {filters}{strict}"

    def count(self):
        return len(self.lengths) * len(self.taps)

    def parts(self):
        """Commands of at most PROBLEMS_OF_A_COMMAND problems, or of one length."""
        each = max(1, PROBLEMS_OF_A_COMMAND // len(self.taps))
        return [dataclasses.replace(self, lengths=self.lengths[i : i + each]) for i in range(0, len(self.lengths), each)]

    def samples(self):
        return sum(self.lengths) * self.batch * len(self.taps)

    def command(self, options, device):
        words = [options.tapline, "bench", "--device", device, "--json", "-", "--seconds", str(options.seconds)]
        words += ["--algorithms", ",".join(ALGORITHMS), "--within", str(PREDICTED_WITHIN)]
        words += ["--dtype", self.dtype, "--mode", self.mode, "--accuracy", self.accuracy]
        words += ["--lengths", ",".join(map(str, self.lengths)), "--taps", ",".join(map(str, self.taps))]
        if self.batch > 1:
            words += ["--batch", str(self.batch)] + ["--per-row"] * self.per_row
        return words


def sweeps(lengths, few, some, many, most, rows, row_lengths):
    """The mix of types, rows and accuracies; `lengths` are four, `row_lengths` two, shortest first."""
    whole = [
        Sweep("f32", lengths, few + some + many),
        Sweep("f32", lengths[2:], most),
        Sweep("bf16", lengths[1:], few[::2] + some[::2] + many[::2] + most[:1]),
        Sweep("f16", lengths[1:3], few[1::2] + some[1::2] + many[1::2]),
        Sweep("f64", lengths[1:3], few + some + many[::2]),
        Sweep("complex64", lengths[1:3], few + some + many[::2]),
        Sweep("complex128", lengths[1:3], few[::3] + some[::2] + many[::3]),
        Sweep("f32", lengths[1:3], few[::2] + some[::2] + many[:3:2], accuracy="strict"),
        Sweep("f32", row_lengths, few + some + many[:4], batch=rows),
        Sweep("f32", row_lengths, few[::2] + some + many[:3], batch=rows, per_row=True, mode="causal"),
        Sweep("bf16", row_lengths[1:], few[::2] + some[::2] + many[:3], batch=rows, per_row=True, mode="causal"),
    ]
    parts = [part for sweep in whole for part in sweep.parts()]
    return sorted(parts, key=Sweep.samples, reverse=True)  # the longest first: the GPUs end together


# What the report is about. Nothing is to be fitted or corrected by these: if a constant is, they become FITTING and others, of
# lengths and taps that nobody has measured, take their place.
EVALUATION = sweeps(
    lengths=(97_301, 2_347_819, 7_061_443, 21_702_091),
    few=(4, 8, 12, 18, 23, 26),
    some=(34, 41, 53, 61, 83, 103, 131, 173, 211, 269, 397),
    many=(577, 773, 1171, 1549, 2221, 3169, 4513, 6761, 9413, 12_511),
    most=(17_393, 36_217, 88_811, 276_041),
    rows=653,
    row_lengths=(4728, 18_296),
)

# Problems that predicted times were corrected by (the start of short signals, samples of 16 bits, how far moving and computing hide
# each other). Before, they were fitted to 70,003, 1,900,000, 8,300,011 and 25,000,000 samples, 700 rows of 3,500 and 21,000, 3 to
# 22,000 taps, and to 2^20 to 2^28 samples.
FITTING = sweeps(
    lengths=(110_000, 2_900_017, 6_300_000, 19_000_000),
    few=(2, 5, 9, 13, 19, 25),
    some=(31, 39, 48, 62, 80, 105, 135, 165, 200, 280, 380),
    many=(550, 800, 1100, 1600, 2300, 3300, 4700, 6500, 9000, 13_000),
    most=(19_000, 38_000, 100_000, 300_000),
    rows=600,
    row_lengths=(5000, 17_000),
)

SETS = {"evaluation": EVALUATION, "fitting": FITTING}


def values(sweeps, name):
    return {value for sweep in sweeps for value in getattr(sweep, name)}


def problems_of(sweep, cases):
    """What a sweep's command printed, by problem, with the device it was measured on."""
    rows = collections.defaultdict(list)
    for case in cases:
        rows[case["length"], case["taps"]].append(case)
    device = {}
    problems = []
    for (length, taps), mine in rows.items():
        problem = {"dtype": sweep.dtype, "length": length, "taps": taps, "batch": sweep.batch, "per_row": sweep.per_row}
        problem |= {"accuracy": sweep.accuracy, "mode": sweep.mode, "copy_seconds": mine[0]["copy_seconds"]}
        problem["algorithms"] = {
            case["algorithm"]: {"seconds": case["seconds_median"], "predicted": case["predicted_seconds"], "chosen": case["chosen"]}
            for case in mine
        }
        problems.append(problem)
        device = {"device": mine[0]["device_name"], "driver": mine[0]["driver"]}
    return problems, device


class Measurement:
    """What has been measured, kept in a file as it comes: a run that is cut off leaves what it measured. For several threads."""

    def __init__(self, path):
        self.path = path
        self.result: dict = {"problems": [], "sweeps": []}
        self.failures: list[str] = []
        self.one_at_a_time = threading.Lock()

    def fail(self, sweep, reason):
        self.failures.append(f"{sweep.in_words()}: {reason}")

    def add(self, sweep, cases):
        problems, measured_on = problems_of(sweep, cases)
        without = sweep.count() - sum(chosen(p) is not None for p in problems)
        if without:  # what the report would not count
            self.fail(sweep, f"{without} problems without a time of the algorithm that is chosen")
            return
        with self.one_at_a_time:
            result = self.result
            if any(result.get(key, value) != value for key, value in measured_on.items()):
                self.fail(sweep, f"measured on {measured_on}, other sweeps on {result['device']}, driver {result['driver']}")
                return
            result.update(measured_on)
            result["problems"] += problems
            result["sweeps"].append(str(sweep))
            text = json.dumps(result, indent=None, separators=(",", ":")).replace('{"dtype"', '\n{"dtype"') + "\n"
            self.path.write_text(text, encoding="utf-8")


def measure(options):
    begin = time.monotonic()
    measured = Measurement(pathlib.Path(options.output))
    if options.add and measured.path.exists():
        measured.result = page.read(measured.path)
        if not set(measured.result["sweeps"]) <= {str(sweep) for sweep in SETS[options.set]}:
            sys.exit(
                f"{options.output}: holds sweeps that are not of --set {options.set}; measure into another file, or leave "
                "--add away"
            )
    waiting = collections.deque(sweep for sweep in SETS[options.set] if str(sweep) not in measured.result["sweeps"])

    def take_sweeps(device):
        while waiting:
            try:
                sweep = waiting.popleft()
            except IndexError:  # another GPU took the last one
                return
            if time.monotonic() - begin > options.limit:
                measured.fail(sweep, "left out for time")
                continue
            try:
                cases = command.run(sweep.command(options, device), options.timeout)
            except command.BenchError as error:
                measured.fail(sweep, error)
                continue
            measured.add(sweep, cases)

    devices = options.device.split(",")
    with concurrent.futures.ThreadPoolExecutor(len(devices)) as pool:
        list(pool.map(take_sweeps, devices))
    problems, failures = measured.result["problems"], measured.failures
    if not problems:
        sys.exit("nothing was measured: " + "; ".join(failures))
    print(f"{len(problems)} problems, {time.monotonic() - begin:.0f} s; {summary(problems)}")
    for failure in failures:
        print("not measured:", failure)
    return 1 if failures else 0


def show(options):
    sweeps = SETS[options.set]
    for sweep in sweeps:
        print(f"{sweep.count():4} problems: {sweep.in_words()}, mode {sweep.mode}")
        if options.commands:
            print("      " + " ".join(sweep.command(options, options.device)))
    print(f"{sum(map(Sweep.count, sweeps))} problems in {len(sweeps)} commands")


def fastest(problem):
    """Of those that a plan may choose."""
    rows = {name: row for name, row in problem["algorithms"].items() if problem["taps"] > LOCAL_TAPS or name in LOCAL}
    return min(rows.items(), key=lambda item: item[1]["seconds"])


def chosen(problem):
    return next((item for item in problem["algorithms"].items() if item[1]["chosen"]), None)


def loss(problem):
    """How many times as long as the fastest the chosen algorithm takes."""
    return chosen(problem)[1]["seconds"] / fastest(problem)[1]["seconds"]


def summary(problems):
    losses = [loss(p) for p in problems if chosen(p)]
    good = sum(value <= WITHIN for value in losses)
    return (
        f"the choice was within {100 * (WITHIN - 1):.0f}% of the fastest in {good} of {len(losses)} problems "
        f"({100 * good / len(losses):.1f}%), on average {100 * (statistics.fmean(losses) - 1):.1f}% slower, at worst "
        f"{100 * (max(losses) - 1):.0f}%"
    )


def describe(problem):
    text = f"{problem['dtype']}, {problem['length']:,} samples, {problem['taps']:,} taps"
    if problem["batch"] > 1:
        text += f", {problem['batch']:,} rows" + (" with a filter each" if problem["per_row"] else "")
    return text + (", strict" if problem["accuracy"] == "strict" else "")


def plot_choices(problems, path):
    import plot  # Matplotlib, which measuring does not need

    colors = ["#2563eb", "#0f766e", "#64748b", "#0891b2", "#7c3aed", "#c2410c", "#a16207", "#be185d", "#15803d"]
    figure, panels = plot.panels(10, 4.2, count=2)
    for axes, dtype in zip(panels, ("f32", "bf16"), strict=True):
        mine = [p for p in problems if p["dtype"] == dtype and p["batch"] == 1 and p["accuracy"] == "standard"]
        length = max(p["length"] for p in mine)
        mine = sorted((p for p in mine if p["length"] == length), key=lambda p: p["taps"])
        for name, color in zip(ALGORITHMS, colors, strict=True):
            points = [(p["taps"], p["copy_seconds"] / p["algorithms"][name]["seconds"]) for p in mine if name in p["algorithms"]]
            plot.line(axes, points, name, color)
        plot.rings(axes, [(p["taps"], p["copy_seconds"] / chosen(p)[1]["seconds"]) for p in mine], "chosen")
        axes.set_xscale("log", base=10)
        plot.shares(axes, [0.01, 0.03, 0.1, 0.3, 1])
        axes.set_ylim(0.01, 1.3)
        axes.set_xlabel("taps")
        axes.set_title(f"{dtype}, {length:,} samples", fontsize=10)
    panels[0].set_ylabel("share of the copy's speed")
    plot.legend_below(panels, columns=5)
    plot.save(figure, path)


def kind_of(problem):
    kind = problem["dtype"] + (", strict" if problem["accuracy"] == "strict" else "")
    if problem["batch"] > 1:
        kind += ", rows with a filter each" if problem["per_row"] else ", rows with one filter"
    return kind


def kinds_table(problems):
    groups = collections.defaultdict(list)
    for p in problems:
        groups[kind_of(p)].append(loss(p))
    rows = []
    for kind, losses in groups.items():
        mean, worst = f"{100 * (statistics.fmean(losses) - 1):.1f}%", f"{100 * (max(losses) - 1):.0f}%"
        rows.append([kind, str(len(losses)), str(sum(v <= WITHIN for v in losses)), mean, worst])
    return page.table(("problems", "how many", "within 10%", "mean loss", "worst loss"), rows)


def missed_text(problems, most=25):
    """A table of the problems where the choice lost most, if it lost in any."""
    missed = sorted((p for p in problems if loss(p) > WITHIN), key=loss, reverse=True)
    if not missed:
        return ""
    rows = []
    for p in missed[:most]:
        (name, row), (best, best_row) = chosen(p), fastest(p)
        times = [page.seconds_text(seconds) for seconds in (row["seconds"], best_row["seconds"], p["copy_seconds"])]
        rows.append([describe(p), name, times[0], best, times[1], times[2]])
    few = len(missed) <= most
    head = "Where it was more than 10% slower than the fastest:" if few else f"The {most} problems where it lost most:"
    return f"\n{head}\n\n" + page.table(("problem", "chosen", "time", "fastest", "time", "copy"), rows) + "\n"


def report(options):
    data = page.read(options.results)
    problems = [p for p in data["problems"] if chosen(p)]
    if {p["length"] for p in problems} & values(FITTING, "lengths"):
        sys.exit(f"{options.results}: has problems that predicted times were fitted to; measure --set evaluation")
    off = [row["seconds"] / row["predicted"] for p in problems for row in p["algorithms"].values()]
    # The factor by which an algorithm was predicted too slow beside what was chosen: at PREDICTED_WITHIN the fastest could be
    # missed.
    beside = max(
        chosen(p)[1]["seconds"] / row["seconds"] * row["predicted"] / chosen(p)[1]["predicted"]
        for p in problems
        for row in p["algorithms"].values()
    )
    missing = [f"- {sweep.in_words()}\n" for sweep in EVALUATION if str(sweep) not in data["sweeps"]]
    text = f"""# What the GPU engine chooses

Made by `bench/gpu_choice.py` from bench/results/gpu_choice.json; do not edit.

Every algorithm that solves a problem predicts its time, and the smallest prediction is taken; `explain()` and
`tapline convolve --explain` say which and why, `tapline tune` measures instead. On one {data["device"]} (driver
{data["driver"]}), over {len(problems)} problems with a cold L2 cache, {summary(problems)}. The predictions were fitted to other
lengths, rows and filters: none of these problems was used for that. With up to {LOCAL_TAPS} taps only algorithms whose outputs
depend on their own windows alone are chosen and compared. What was predicted to take more than {PREDICTED_WITHIN} times as long as
the choice was not measured. What was took {min(off):.2f} to {max(off):.2f} times as long as predicted, and none was predicted more
than {beside:.2f} times too slow beside the choice.

![Share of the copy's speed over the number of taps, for every algorithm and the chosen one](images/gpu_choice.svg)

{kinds_table(problems)}
{missed_text(problems)}"""
    page.write("gpu_choice.md", text + ("\nNot measured in this run:\n\n" + "".join(missing) if missing else ""))
    plot_choices(problems, page.IMAGES / "gpu_choice.svg")
    print(summary(problems))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure", help="run the sweeps")
    three = commands.add_parser("list", help="say what `measure` would run, without a GPU")
    three.add_argument("--commands", action="store_true", help="with the command lines")
    for each in (one, three):
        each.add_argument("--set", choices=SETS, default="evaluation", help="which problems [evaluation]")
        each.add_argument("--tapline", default="tapline", help="the command [tapline]")
        each.add_argument("--device", default="cuda", help="cuda, cuda:N or several, cuda:0,cuda:1, which share the sweeps [cuda]")
        each.add_argument(
            "--seconds",
            type=float,
            default=0.015,
            help="measuring time of a case; from 0.02 on in three rounds, which take twice as long and are for the copy beside it "
            "[0.015]",
        )
    one.add_argument("--timeout", type=float, default=300, help="seconds for one command [300]")
    one.add_argument("--limit", type=float, default=1e9, help="seconds after which no further sweep begins [none]")
    one.add_argument("--output", required=True, help="where the results go")
    one.add_argument(
        "--add", action="store_true", help="keep what is there, of the same build, and measure the sweeps that are not"
    )
    two = commands.add_parser("report", help="write docs/gpu_choice.md and its plot")
    two.add_argument("results", help="what `measure` wrote")
    options = parser.parse_args()
    return {"measure": measure, "list": show, "report": report}[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
