#!/usr/bin/env python3
"""What everything costs: a map of layouts, lengths, taps, types, modes and boundaries, to find where speed falls off a cliff.

Every result is checked against float64 sums of another library before it is timed, on random data. tapline's call, which writes
into an array that is there, is timed in turns with the copy of as many bytes as its samples and result have, with its *twin*
(the same problem laid out contiguously in the type of its sums) and with everybody else who can solve it (bench/cliffs_peers.py).
The problems are a fixed list, a map (layouts x taps), and others drawn by a seed (bench/cliffs_problems.py).

    python3 bench/cliffs.py list                       what would be measured
    python3 bench/cliffs.py measure                    on a GPU if there is one, with CuPy's arrays
    python3 bench/cliffs.py measure --cpu --resume     on the CPU; goes on where an earlier run ended
    python3 bench/cliffs.py twins --seed 2             drawn problems beside their twins alone, thousands in minutes
    python3 bench/cliffs.py report                     writes docs/cliffs.md of what was measured on both
"""

import argparse
import contextlib
import dataclasses
import gc
import itertools
import json
import math
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import cliffs_problems
import cliffs_report
import page
import timing
from cliffs_case import Case, Gpu, Home, Linear, Pool, case_of, explanation, forget_plans, processor_time
from cliffs_peers import NAMES, PEERS, Peer
from cliffs_problems import Grid, Problem, describe, key_of, twin_of
from cliffs_report import best_peer, share, times_peer, times_twin

FORMAT = 1
HOPELESS = 4  # times the best peer's first call: its median would not be the best
NOT_TRIED = 10  # times tapline's call, expected of a direct sum at the peer's fastest
WORTH_TRYING = 2e-3  # seconds: so little is never saved
FIRST_SECONDS = 0.05  # of a first measurement
SHORTEST_RUN = 1e-3  # seconds between two readings of a clock: shorter calls are made several times
FEWEST_ROUNDS, MOST_ROUNDS = 3, 41
RUNS_OF_A_TURN = 4  # beside a twin; two turns each
TURN_SECONDS = 0.01
KEPT = 10  # problems beside twins until memory that libraries keep is given back
PAST = (1.5, 2, 3)  # times the twin
MOST_BYTES_OF_TWINS = 400 << 20  # all arrays of a problem beside its twin: larger ones take long to make


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a run on a kind of machine may use, unless options say otherwise."""

    scale: float  # of the fixed list and the map
    bytes: int  # of a drawn problem's arrays
    products: float  # of a drawn problem that only direct sums solve
    problem_seconds: float  # of timing


LIMITS = {"cpu": Limits(8, 128 << 20, 2e10, 2.0), "gpu": Limits(1, 8 << 30, 2e13, 0.5)}


class Rates:
    """How many products a second peers that sum directly have made at most: longer ones are not waited for."""

    def __init__(self) -> None:
        self.seen: dict[str, float] = {}

    def expected(self, peer: Peer, products: float) -> float:
        """Seconds, at twice the best rate that was seen; before that at one that nobody passes."""
        return products / min(peer.most_products, 2 * self.seen.get(peer.name, math.inf))

    def learn(self, peer: Peer, products: float, seconds: float) -> None:
        """Of one call; short ones say little."""
        if math.isfinite(peer.most_products) and seconds > 1e-3:
            self.seen[peer.name] = max(self.seen.get(peer.name, 0.0), products / seconds)


class Tried:
    """Everybody's calls for one problem, checked, with the time of a first call."""

    def __init__(self, case: Case):
        self.case = case
        self.calls: dict[str, timing.Call] = {}
        self.once: dict[str, float] = {}
        self.errors: dict[str, float] = {}
        self.left_out: dict[str, str] = {}

    def add(self, name: str, call: timing.Call, of: Case, of_tapline: bool) -> None:
        """Runs it, checks what comes out, and takes the time of another call."""
        error = of.error(call())
        self.errors[name] = timing.require(name, error, of.tolerance(of_tapline))
        self.once[name] = min(timing.repeat(call, FIRST_SECONDS, least=1, most=5, clock=self.case.home.clock))
        self.calls[name] = call

    def best_peer(self) -> float:
        """Seconds of the fastest first call so far."""
        return min((self.once[name] for name in NAMES if name in self.once), default=math.inf)

    def try_peer(self, peer: Peer, rates: Rates) -> None:
        """Adds a peer, or the reason why it is left out."""
        case, name = self.case, peer.name
        reason = "runs elsewhere" if case.home.name not in peer.homes else peer.refuses(case)
        if reason:
            return  # nothing that a reader of the results would look for
        products = cliffs_problems.products(case.problem)
        expected = rates.expected(peer, products)
        if expected > max(WORTH_TRYING, min(NOT_TRIED * self.once["tapline"], HOPELESS * self.best_peer())):
            self.left_out[name] = f"not tried: more than {page.seconds_text(expected)} expected"
            return
        try:
            self.add(name, peer.make(case), case, False)
            rates.learn(peer, products, self.once[name])
        except ImportError as error:
            self.left_out[name] = f"not installed: {error.name}"
        except Exception as error:  # noqa: BLE001  out of memory, a type or a size that it does not take: the results say which
            self.left_out[name] = f"{type(error).__name__}: {str(error).strip()[:160]}".replace("\n", " ")
        case.home.release()

    def leave_out_the_hopeless(self) -> None:
        """Peers that others beat by far are not timed again."""
        best = self.best_peer()
        for name, seconds in [(name, self.once[name]) for name in NAMES if name in self.once]:
            if seconds > HOPELESS * best:
                self.left_out[name] = f"{page.seconds_text(seconds)} for one call, {seconds / best:.0f} times the best peer's"
                del self.calls[name], self.once[name], self.errors[name]

    def in_turns(self, seconds: float) -> dict[str, dict[str, float]]:
        """Median and spread of everybody's time."""
        clock = self.case.home.clock
        counts = {id(call): max(1, min(timing.MOST_CALLS, round(SHORTEST_RUN / self.once[n]))) for n, call in self.calls.items()}
        round_seconds = sum(self.once[name] * counts[id(call)] for name, call in self.calls.items())
        rounds = max(FEWEST_ROUNDS, min(MOST_ROUNDS, int(seconds / round_seconds)))
        times = timing.in_turns(self.calls, rounds, lambda call: clock(call, counts[id(call)]))
        return {name: timing.spread(each) for name, each in times.items()}


def measure_problem(problem: Problem, home: Home, pool: Pool, rates: Rates, options: argparse.Namespace) -> dict[str, Any]:
    """The row of a problem: times, errors, what was chosen; or why tapline did not solve it."""
    row: dict[str, Any] = {"problem": dataclasses.asdict(problem), "name": describe(problem)}
    begin = time.perf_counter()
    case = case_of(problem, home, pool)
    tried = Tried(case)
    forget_plans()
    try:
        tried.add("tapline", case.call, case, True)
    except (NotImplementedError, TypeError, ValueError) as error:
        return row | {"refused": f"{type(error).__name__}: {error}"}
    except RuntimeError as error:
        return row | {"failed": str(error)}
    row["algorithm"], row["why"] = explanation(case)
    twin = twin_of(problem)
    if twin is not None:
        try:
            of_twin = case_of(twin, home, pool)
            tried.add("twin", of_twin.call, of_twin, True)
            row["algorithm_of_twin"] = explanation(of_twin)[0]
        except (NotImplementedError, TypeError, ValueError, RuntimeError) as error:
            row["twin_failed"] = f"{type(error).__name__}: {error}"
    moved = cliffs_problems.moved_bytes(problem)
    for name, copy in home.copies(pool.take("uint8", (max(1, moved // 2),))).items():
        copy()
        tried.calls[name], tried.once[name] = copy, home.clock(copy)
    for peer in PEERS:
        tried.try_peer(peer, rates)
    tried.leave_out_the_hopeless()
    row["figure"] = "min" if options.busy else "median"
    row["idle_before"] = timing.wait_for_quiet(options.patience) if options.patience else None
    row["seconds"] = tried.in_turns(options.problem_seconds or LIMITS[home.name].problem_seconds)
    return row | {"bytes": moved, "error": tried.errors, "left_out": tried.left_out, "took": time.perf_counter() - begin}


class Results:
    """What was measured, kept in a file as it comes: a run that is cut off leaves what it has."""

    def __init__(self, path: pathlib.Path, machine: dict[str, Any], options: dict[str, Any], resume: bool):
        self.path = path
        self.data: dict[str, Any] = {"format": FORMAT, "machine": machine, "options": options, "rows": []}
        if resume and path.exists():
            kept = page.read(path)
            same = kept["format"] == FORMAT and kept["options"]["busy"] == options["busy"]
            if not same or any(kept["machine"][key] != machine[key] for key in ("processor", "home")):
                sys.exit(f"{path}: measured on another machine, or otherwise; leave --resume away, or give another --output")
            self.data = kept | {"machine": machine | {"date": kept["machine"]["date"]}, "options": options}
        self.done = {key_of(cliffs_problems.from_json(row["problem"])) for row in self.data["rows"]}

    def add(self, row: dict[str, Any], of: str) -> None:
        """Adds a row of one of the sets and writes everything."""
        self.data["rows"].append({"set": of} | row)
        rows = ",\n".join(json.dumps(rounded(each), separators=(",", ":")) for each in self.data["rows"])
        head = json.dumps({key: value for key, value in self.data.items() if key != "rows"}, indent=1)[:-2]
        new = self.path.with_suffix(".new")
        new.write_text(f'{head},\n "rows": [\n{rows}\n]}}\n', encoding="utf-8")
        new.replace(self.path)


def rounded(value: Any) -> Any:
    """Numbers with four figures: nobody measures more."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def problems_of(options: argparse.Namespace, on_gpu: bool) -> list[tuple[str, Problem]]:
    """(set, problem) of all that is asked for, in the order in which it is measured."""
    limits = LIMITS["gpu" if on_gpu else "cpu"]
    scale = options.scale or limits.scale
    grid = Grid(options.seed, options.limit_bytes or limits.bytes, limits.products, on_gpu)
    sets = {
        "fixed": lambda: cliffs_problems.fixed(scale, on_gpu),
        "map": lambda: cliffs_problems.mapped(scale),
        "drawn": lambda: list(itertools.islice(grid, options.drawn)),
    }
    problems = [(name, problem) for name in options.sets.split(",") for problem in sets[name]()]
    return [(name, problem) for name, problem in problems if options.only in describe(problem)]


def say(row: dict[str, Any], number: int, count: int) -> None:
    """A line of a row."""
    text = f"{number}/{count} {row['name']}: "
    if "seconds" not in row:
        print(text + next(f"{key}: {row[key]}" for key in ("failed", "refused") if key in row), flush=True)
        return
    text += f"{page.seconds_text(row['seconds']['tapline']['median'])}, {page.share_text(share(row))} of the copy"
    twin, peer = times_twin(row), times_peer(row)
    text += f", {twin:.2f} times its twin" if twin else ""
    text += f", {peer:.2f} times {best_peer(row)}" if peer else ""
    print(f"{text} [{row['algorithm'] or '-'}]", flush=True)


def home_of(options: argparse.Namespace) -> Home:
    """A GPU if there is one and nobody wants the CPU."""
    if options.cpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # before any library looks
        return Home(processor_time if options.busy else timing.wall)
    try:
        return Gpu()
    except Exception as error:  # noqa: BLE001  not installed, no driver, no device: each is a reason to take the CPU, and is said
        print(f"no GPU for CuPy's arrays, so the CPU: {type(error).__name__}: {error}")
        return Home()


def measure(options: argparse.Namespace) -> int:
    """Measures what is not measured yet until the time is up; status 1 if a result was wrong."""
    begin = time.monotonic()
    home = home_of(options)
    problems = problems_of(options, home.name == "gpu")
    wanted = len(problems_of(argparse.Namespace(**(vars(options) | {"only": ""})), home.name == "gpu"))
    path = options.output or page.RESULTS / f"cliffs_{home.name}.json"
    limits = LIMITS[home.name]
    kept = {"seed": options.seed, "drawn": options.drawn, "scale": options.scale or limits.scale, "sets": options.sets}
    kept |= {"limit_bytes": options.limit_bytes or limits.bytes, "wanted": wanted, "busy": options.busy}
    results = Results(path, home.machine(), kept, options.resume)
    waiting = [(of, problem) for of, problem in problems if key_of(problem) not in results.done]
    print(f"seed {options.seed}: {len(problems)} problems, {len(problems) - len(waiting)} of them are measured; {path}", flush=True)
    pool, rates = Pool(options.seed), Rates()
    done = 0
    with contextlib.suppress(KeyboardInterrupt):
        for of, problem in waiting:
            if time.monotonic() - begin > options.seconds:
                break
            try:
                row = measure_problem(problem, home, pool, rates, options)
            except MemoryError as error:  # CuPy's, too
                row = {"problem": dataclasses.asdict(problem), "name": describe(problem), "refused": f"no memory: {error}"}
            results.add(row, of)
            done += 1
            say(row, len(results.data["rows"]), len(problems))
            gc.collect()
            home.release()
    left = len(waiting) - done
    print(f"{done} problems in {time.monotonic() - begin:.0f} s" + (f"; {left} are left, for --resume" if left else ""))
    return 1 if any("failed" in row for row in results.data["rows"]) else 0


def laid_out(x: Any, axes: tuple[int, ...], shape: tuple[int, ...], xp: Any) -> Any:
    """A copy whose filtered axes are the last ones."""
    last = tuple(range(x.ndim - len(axes), x.ndim))
    return xp.ascontiguousarray(xp.moveaxis(x, axes, last)).reshape(shape)


def twin_of_case(case: Case, twin: Problem, home: Home, pool: Pool) -> Case:
    """The twin with the numbers of the problem, but for functions, whose numbers are its own."""
    of, problem = case_of(twin, home, pool), case.problem
    if isinstance(case, Linear) and isinstance(of, Linear):
        of.x = laid_out(case.x, problem.axes, twin.shape, home.xp).astype(twin.dtype)
        taps = case.host_taps
        of.host_taps = (laid_out(taps, problem.axes, of.host_taps.shape, np) if problem.each else taps).astype(twin.of_taps)
        of.taps = home.put(of.host_taps) if twin.on_device else of.host_taps
    return of


def difference(case: Case, of: Case) -> float | None:
    """Of both results, relative; None where they are of other numbers, or rounded otherwise."""
    if not isinstance(case, Linear) or (case.type.kind in "iu" and of.type.kind not in "iu"):
        return None
    xp = case.home.xp
    wide = np.complex128 if case.type.kind == "c" else np.float64
    ours, theirs = laid_out(case.out, case.problem.axes, of.shape, xp).astype(wide), of.out.astype(wide)
    size = float(xp.linalg.norm(theirs.ravel()))
    return float(xp.linalg.norm((ours - theirs).ravel())) / (size or 1.0)


def measure_pair(problem: Problem, twin: Problem, home: Home, pool: Pool) -> dict[str, Any]:
    """The row of a problem, or why there is none."""
    row: dict[str, Any] = {"problem": dataclasses.asdict(problem), "name": describe(problem)}
    try:
        case = case_of(problem, home, pool)
        case.call()
        row["algorithm"], row["why"] = explanation(case)
        of = twin_of_case(case, twin, home, pool)
        of.call()
        row["algorithm_of_twin"], _ = explanation(of)
    except (NotImplementedError, TypeError, ValueError, MemoryError) as error:
        return row | {"refused": f"{type(error).__name__}: {error}"}
    found = difference(case, of)
    allowed = case.tolerance() + of.tolerance()
    if found is not None and not found <= allowed:  # a NaN is wrong, too
        row["wrong"] = f"{found:.1e} off, allowed {allowed:.1e}"
    times: dict[str, list[float]] = {"tapline": [], "twin": []}
    for _ in range(2):
        for each, one in zip(times.values(), (case, of), strict=True):
            each.extend(timing.paced(one.call, home.clock, RUNS_OF_A_TURN, TURN_SECONDS))
    return row | {"figure": "median", "seconds": {name: timing.spread(each) for name, each in times.items()}, "difference": found}


def pairs(grid: Grid) -> Iterator[tuple[Problem, Problem]]:
    """Drawn problems that are laid out otherwise than their twins."""
    for problem in grid:
        twin = twin_of(problem)
        if twin is not None:
            yield problem, twin


def summary(rows: list[dict[str, Any]], worst: int) -> str:
    """How many are past what, and the worst of them."""
    timed = sorted(((times_twin(row), row) for row in rows if "seconds" in row), key=lambda each: -each[0])
    text = f"{len(rows)} problems, {len(timed)} timed, {sum('wrong' in row for row in rows)} wrong"
    if timed:
        shares = (f"{sum(times > past for times, _ in timed) / len(timed):.1%} past {past:g}" for past in PAST)
        mean = math.exp(statistics.fmean(math.log(times) for times, _ in timed))
        text += f"; times the twin {mean:.2f} on average (geometric), " + ", ".join(shares)
    for row in rows:
        text += f"\nwrong: {row['name']}: {row['wrong']}" if "wrong" in row else ""
    for times, row in timed[:worst]:
        ours, theirs = (page.seconds_text(each["median"]) for each in row["seconds"].values())
        text += f"\n{times:6.2f} {ours:>8} {theirs:>8}  {row['name']} [{row['algorithm']}; twin {row['algorithm_of_twin']}]"
    return text


def twins(options: argparse.Namespace) -> int:
    """Drawn problems beside their twins alone, on the same numbers. Their results are compared instead of being checked against
    float64, so that thousands take minutes. Status 1 if results differ."""
    begin = time.monotonic()
    home = home_of(options)
    limits = LIMITS[home.name]
    limit_bytes = options.limit_bytes or min(limits.bytes, MOST_BYTES_OF_TWINS)
    pool, rows = Pool(options.seed), []
    for problem, twin in pairs(Grid(options.seed, limit_bytes, limits.products / 10, home.name == "gpu")):
        if time.monotonic() - begin > options.seconds:
            break
        rows.append(measure_pair(problem, twin, home, pool))
        if len(rows) % KEPT == 0:
            home.release()
    if options.output:
        options.output.write_text(json.dumps({"machine": home.machine(), "seed": options.seed, "rows": rows}), encoding="utf-8")
    print(f"seed {options.seed}: {summary(rows, options.worst)}")
    return 1 if any("wrong" in row for row in rows) else 0


def show(options: argparse.Namespace) -> int:
    """Says what `measure` would do."""
    problems = problems_of(options, not options.cpu)
    for of, problem in problems:
        print(f"{of:6} {describe(problem)}")
    print(f"{len(problems)} problems, seed {options.seed}")
    return 0


def report(options: argparse.Namespace) -> int:
    """Writes the page and its pictures."""
    cliffs_report.write(options.results or sorted(page.RESULTS.glob("cliffs_*.json")))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure", help="check and time")
    two = commands.add_parser("list", help="say what `measure` would do")
    for each in (one, two):
        each.add_argument("--cpu", action="store_true", help="NumPy's arrays on the CPU")
        each.add_argument("--sets", default="fixed,map,drawn", help="what to measure, in this order [fixed,map,drawn]")
        each.add_argument("--seed", type=int, default=1, help="of what is drawn [1]")
        each.add_argument("--drawn", type=int, default=400, help="how many are drawn [400]")
        each.add_argument("--scale", type=float, help="by what the sizes of the list and the map are divided [GPU: 1, CPU: 8]")
        each.add_argument("--limit-bytes", type=int, help="of all arrays of a drawn problem [GPU: 8 GiB, CPU: 128 MiB]")
        each.add_argument("--only", default="", help="only problems with this in their description")
    one.add_argument("--seconds", type=float, default=math.inf, help="after which no further problem begins [none]")
    one.add_argument("--problem-seconds", type=float, help="of timing a problem [GPU: 0.5, CPU: 2]")
    one.add_argument(
        "--busy",
        action="store_true",
        help="other programs run on this machine: count processor time of all threads, on the CPU, and the fastest round",
    )
    one.add_argument(
        "--patience", type=float, default=0, help="seconds to wait for other programs to rest, before each problem [0]"
    )
    one.add_argument("--resume", action="store_true", help="keep what is in the file and measure the rest")
    one.add_argument("--output", type=pathlib.Path, help="where the results go [bench/results/cliffs_cpu.json or cliffs_gpu.json]")
    many = commands.add_parser("twins", help="time drawn problems beside their twins, and compare the results")
    many.add_argument("--cpu", action="store_true", help="NumPy's arrays on the CPU")
    many.add_argument("--seed", type=int, default=1, help="of what is drawn [1]")
    many.add_argument("--seconds", type=float, default=120, help="after which no further problem begins [120]")
    many.add_argument("--limit-bytes", type=int, help="of all arrays of a problem [400 MiB; CPU: 128 MiB]")
    many.add_argument("--worst", type=int, default=40, help="how many to show [40]")
    many.add_argument("--output", type=pathlib.Path, help="a file for all of them, JSON [none]")
    many.set_defaults(busy=False)
    three = commands.add_parser("report", help="write docs/cliffs.md and its pictures")
    three.add_argument("results", nargs="*", type=pathlib.Path, help="what `measure` wrote [bench/results/cliffs_*.json]")
    options = parser.parse_args()
    return {"measure": measure, "twins": twins, "list": show, "report": report}[options.command](options)


if __name__ == "__main__":
    sys.exit(main())
