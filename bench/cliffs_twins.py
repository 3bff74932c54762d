"""Many problems of bench/cliffs.py's grid in little time: each beside its twin alone, with the same numbers.

The results of both are compared instead of being checked against float64, and nobody else is timed, so that a GPU does some twenty
a second: what is rare is found by thousands."""

import argparse
import dataclasses
import json
import math
import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import page
from cliffs_case import Case, Home, Linear, Pool, case_of, explanation
from cliffs_problems import Grid, Problem, describe, twin_of

FEWEST, MOST = 3, 7  # runs in each of two turns
RUN_SECONDS = 1e-3  # of a run at least: short calls are made several times
MOST_CALLS = 50
TURN_SECONDS = 0.01
KEPT = 10  # problems until memory that libraries keep is given back
PAST = (1.5, 2, 3)  # times the twin


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


def times_of(case: Case) -> list[float]:
    """Seconds of a call, run by run."""
    clock = case.home.clock
    once = min(clock(case.call), clock(case.call))
    calls = max(1, min(MOST_CALLS, int(RUN_SECONDS / once)))
    runs = max(FEWEST, min(MOST, int(TURN_SECONDS / (once * calls))))
    return [clock(case.call, calls) for _ in range(runs)]


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
    times: list[list[float]] = [[], []]
    for _ in range(2):
        for each, one in zip(times, (case, of), strict=True):
            each.extend(times_of(one))
    row["seconds"], row["twin_seconds"] = (statistics.median(each) for each in times)
    return row | {"difference": found}


def pairs(grid: Grid) -> Iterator[tuple[Problem, Problem]]:
    """Drawn problems that are laid out otherwise than their twins."""
    for problem in grid:
        twin = twin_of(problem)
        if twin is not None:
            yield problem, twin


def times_twin(row: dict[str, Any]) -> float:
    return row["seconds"] / row["twin_seconds"]


def summary(rows: list[dict[str, Any]], worst: int) -> str:
    """How many are past what, and the worst of them."""
    timed = sorted((row for row in rows if "seconds" in row), key=times_twin, reverse=True)
    text = f"{len(rows)} problems, {len(timed)} timed, {sum('wrong' in row for row in rows)} wrong"
    if timed:
        shares = (f"{sum(times_twin(row) > past for row in timed) / len(timed):.1%} past {past:g}" for past in PAST)
        mean = math.exp(statistics.fmean(math.log(times_twin(row)) for row in timed))
        text += f"; times the twin {mean:.2f} on average (geometric), " + ", ".join(shares)
    for row in rows:
        text += f"\nwrong: {row['name']}: {row['wrong']}" if "wrong" in row else ""
    for row in timed[:worst]:
        seconds = f"{page.seconds_text(row['seconds']):>8} {page.seconds_text(row['twin_seconds']):>8}"
        text += f"\n{times_twin(row):6.2f} {seconds}  {row['name']} [{row['algorithm']}; twin {row['algorithm_of_twin']}]"
    return text


def measure(options: argparse.Namespace, home: Home, limit_bytes: int, products: float) -> int:
    """As many as there is time for; status 1 if results differ."""
    begin = time.monotonic()
    pool, rows = Pool(options.seed), []
    for problem, twin in pairs(Grid(options.seed, limit_bytes, products, home.name == "gpu")):
        if time.monotonic() - begin > options.seconds:
            break
        rows.append(measure_pair(problem, twin, home, pool))
        if len(rows) % KEPT == 0:
            home.release()
    if options.output:
        options.output.write_text(json.dumps({"machine": home.machine(), "seed": options.seed, "rows": rows}), encoding="utf-8")
    print(f"seed {options.seed}: {summary(rows, options.worst)}")
    return 1 if any("wrong" in row for row in rows) else 0
