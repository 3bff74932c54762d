"""Turns what bench/cliffs.py measured into docs/cliffs.md and its pictures; `python3 bench/cliffs.py report` calls it."""

import collections
import math
import pathlib
import re
import statistics
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import page
from cliffs_peers import NAMES
from cliffs_problems import LAYOUTS, MAP_TAPS, Problem, from_json, result_type, short

Row = dict[str, Any]

TWIN_LIMIT = 1.5  # times its contiguous twin: what no problem may take
FAR = 3
SETS = {"fixed": "the fixed list", "map": "the map of layouts and taps", "drawn": "drawn"}
HOMES = {"cpu": "On a CPU", "gpu": "On a GPU"}
QUIET = 0.9  # of the cores' time free before the median problem: else medians tell about the other programs
TIMES = {
    "median": "Times are medians of rounds.",
    "min": "Other programs ran on the machine meanwhile, so times are those of the fastest round.",
    "processor": "Other programs ran on the machine meanwhile, so times are those of the processor, of all threads together, in "
    "the fastest round: who uses all cores, as tapline does, gets no credit for that here beside a peer or a copy that uses one.",
}


def seconds(row: Row) -> dict[str, float]:
    """What counts of everybody's times."""
    return {name: times[row["figure"]] for name, times in row["seconds"].items()}


def share(row: Row) -> float:
    """Of the speed of the fastest copy of as many bytes."""
    times = seconds(row)
    return min(t for name, t in times.items() if name.startswith("copy")) / times["tapline"]


def best_peer(row: Row) -> str:
    """The fastest; nothing if nobody else solves it."""
    peers = {name: t for name, t in seconds(row).items() if name in NAMES}
    return min(peers, key=lambda name: peers[name], default="")


def times_peer(row: Row) -> float:
    """How many times as long as the best peer tapline takes; 0 without one."""
    name = best_peer(row)
    return seconds(row)["tapline"] / seconds(row)[name] if name else 0.0


def times_twin(row: Row) -> float:
    """How many times as long as its twin a problem takes; 0 without one."""
    times = seconds(row)
    return times["tapline"] / times["twin"] if "twin" in times else 0.0


def badness(row: Row) -> float:
    """Above 1 where a peer wins or the twin is too much faster."""
    return max(times_peer(row), times_twin(row) / TWIN_LIMIT)


def of_all(part: int, rows: Sequence[Row]) -> str:
    """A count and what share of all it is."""
    return f"{part} ({100 * part / len(rows):.0f}%)" if rows else "-"


def counts(name: str, rows: Sequence[Row]) -> list[str]:
    """A line of a summary: problems, where a peer wins, past the limits beside the twin."""
    timed = [row for row in rows if "seconds" in row]
    with_peer, with_twin = ([row for row in timed if of(row)] for of in (times_peer, times_twin))
    cells = [name, str(len(timed)), of_all(sum(times_peer(row) > 1 for row in timed), with_peer)]
    cells += [of_all(sum(times_twin(row) > limit for row in timed), with_twin) for limit in (TWIN_LIMIT, FAR)]
    median = page.share_text(statistics.median(map(share, timed))) if timed else "-"
    return [*cells, median, str(sum("refused" in row for row in rows)), str(sum("failed" in row for row in rows))]


COUNTED = (
    "problems",
    "timed",
    "a peer wins",
    f"past {TWIN_LIMIT:g} times the twin",
    f"past {FAR} times",
    "median share of the copy's speed",
    "refused",
    "wrong",
)


def summary(rows: Sequence[Row], groups: Iterable[tuple[str, Callable[[Row], bool]]]) -> str:
    """A table of counts, a line a group that has problems."""
    lines = [counts(name, [row for row in rows if belongs(row)]) for name, belongs in groups if any(map(belongs, rows))]
    return page.table(COUNTED, lines, "lrrrrrrr")


def reason(row: Row) -> str:
    """What was chosen and by which predictions; those of algorithms that were out of the question are left away."""
    if not row.get("algorithm"):
        return "several calls of the engine, or NumPy"
    twin = row.get("algorithm_of_twin", "")
    text = row["algorithm"] + (f" (twin: {twin})" if twin and twin != row["algorithm"] else "")
    predicted = re.findall(r"(\w+) ([\d.e+-]+ [nmu]?s)\b", row["why"])
    return text + (": " + "; ".join(f"{name} {t}" for name, t in predicted) if len(predicted) > 1 else "")


def cells(row: Row, with_reason: bool) -> list[str]:
    """A line of a table of problems."""
    t, twin, peer = seconds(row), times_twin(row), times_peer(row)
    line = [row["name"], page.seconds_text(t["tapline"]), page.share_text(share(row))]
    line.append((f"**{twin:.2f}**" if twin > TWIN_LIMIT else f"{twin:.2f}") if twin else "")
    line += [(f"**{page.number_text(peer)}**" if peer > 1 else page.number_text(peer)) if peer else "", best_peer(row)]
    return [*line, reason(row) if with_reason else row.get("algorithm", "")]


HEAD = ("problem", "time", "share of the copy's speed", "times its twin", "times the best peer", "best peer")


def worst_text(rows: Sequence[Row]) -> str:
    """All where a peer wins or the twin is too much faster, the worst first."""
    worst = sorted((row for row in rows if "seconds" in row and badness(row) > 1), key=badness, reverse=True)
    if not worst:
        return "None: no peer wins, and no problem is past its limit."
    return page.table((*HEAD, "chosen, and predicted times"), [cells(row, True) for row in worst], "lrrrrll")


def problems_text(rows: Sequence[Row], key: str, heading: str) -> str:
    """What was refused or wrong, with the words."""
    lines = [f"- {row['name']}: {row[key]}" for row in rows if key in row]
    lines += [f"- the twin of {row['name']}: {row['twin_failed']}" for row in rows if key == "failed" and "twin_failed" in row]
    return f"\n### {heading}\n\n" + "\n".join(lines) + "\n" if lines else ""


def peers_text(rows: Sequence[Row]) -> str:
    """How often each peer was the fastest, and which are not there."""
    best = collections.Counter(best_peer(row) for row in rows if "seconds" in row)
    missing = {name: why for row in rows for name, why in row.get("left_out", {}).items() if why.startswith("not installed")}
    text = "The best peer was " + ", ".join(f"{name} {n} times" for name, n in best.most_common() if name)
    text += f"; nobody else solved {best['']} of the problems" if best[""] else ""
    return text + "".join(f"; {name} was left out ({why})" for name, why in sorted(missing.items())) + "."


def curves(rows: Sequence[Row], figure: Callable[[Row], float]) -> dict[str, list[tuple[int, float]]]:
    """Points over the number of taps for each layout of the map."""
    points: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        problem = from_json(row["problem"])
        if row["set"] == "map" and "seconds" in row:
            points.setdefault(problem.layout, []).append((problem.taps[0], figure(row)))
    return {layout: sorted(each) for layout, each in points.items()}


def draw_shares(rows: Sequence[Row], path: pathlib.Path) -> None:
    """Share of the copy's speed over the number of taps, a line a layout."""
    import plot  # Matplotlib, which measuring does not need

    lines = curves(rows, share)
    colors = [*plot.OUR_COLORS, *plot.THEIR_COLORS]
    figure, (axes,) = plot.panels(8.6, 4.6)
    for i, layout in enumerate(name for name in LAYOUTS if name in lines):
        plot.line(axes, lines[layout], layout, colors[i % len(colors)], ours=layout == "one signal")
    axes.set_xscale("log", base=2)
    axes.set_xticks(MAP_TAPS, [f"{taps:,}" for taps in MAP_TAPS])
    lowest = min(value for points in lines.values() for _, value in points)
    plot.shares(axes, [tick for tick in (0.0001, 0.001, 0.01, 0.03, 0.1, 0.3, 1) if tick > lowest / 4])
    axes.set_xlabel("taps")
    axes.set_ylabel("share of the copy's speed")
    plot.legend_below([axes], columns=4)
    plot.save(figure, path)


def text_of_cell(value: float, is_share: bool) -> str:
    """A share as percent or a ratio, short; nothing where there is none."""
    if math.isnan(value):
        return "-"
    return f"{100 * value:.{0 if value > 0.0995 else 1}f}%" if is_share else f"{value:.{1 if value > 9.95 else 2}f}"


def draw_map(rows: Sequence[Row], path: pathlib.Path) -> None:
    """Layouts x taps: the share of the copy's speed, and how many times as long as its twin each takes."""
    from matplotlib.colors import LogNorm

    import plot

    panels = (
        ("share of the copy's speed", share, "RdYlGn", (0.003, 1.0)),
        ("times its contiguous twin", times_twin, "RdYlGn_r", (0.5, 4.0)),
    )
    names = [name for name in LAYOUTS if name in curves(rows, share)]
    figure, all_axes = plot.panels(13, 0.36 * len(names) + 1, count=2)
    for axes, (title, measure, colors, (low, high)) in zip(all_axes, panels, strict=True):
        values = {layout: dict(points) for layout, points in curves(rows, measure).items()}
        table = [[values[name].get(taps) or math.nan for taps in MAP_TAPS] for name in names]
        norm = LogNorm(low, high)
        axes.imshow(table, cmap=colors, norm=norm, aspect="auto")
        for y, line in enumerate(table):
            for x, value in enumerate(line):
                position = norm(value)
                ink = "white" if abs(position - 0.5) > 0.42 else "black"
                axes.text(x, y, text_of_cell(value, measure is share), ha="center", va="center", fontsize=8, color=ink)
        axes.set_xticks(range(len(MAP_TAPS)), [f"{taps:,}" for taps in MAP_TAPS], fontsize=8)
        axes.set_yticks(range(len(names)), names)
        axes.grid(visible=False)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("taps")
    figure.tight_layout()
    plot.save(figure, path)


def types_of(row: Row) -> str:
    """Of samples and taps."""
    problem = from_json(row["problem"])
    taps = f", taps of {short(problem.of_taps)}" if problem.of_taps != problem.dtype and problem.taps else ""
    return short(problem.dtype) + taps


def groups_by(rows: Sequence[Row], name_of: Callable[[Row], str]) -> list[tuple[str, Callable[[Row], bool]]]:
    """A group for each name, those with the most problems first."""
    names = collections.Counter(map(name_of, rows))
    return [(name, lambda row, name=name: name_of(row) == name) for name, _ in names.most_common()]  # type: ignore[misc]


def kind_of(row: Row) -> str:
    """Signals by layout, images and volumes by theirs."""
    problem: Problem = from_json(row["problem"])
    return problem.layout if problem.call == "convolve" else f"{problem.layout}, {'image' if problem.taps else 'ndimage'}"


def is_plain_f32(row: Row) -> bool:
    """Whether a result is of this type and nobody asked for less accuracy."""
    problem = from_json(row["problem"])
    return result_type(problem) == "float32" and problem.accuracy != "fast"


def map_text(rows: Sequence[Row], home: str) -> str:
    """The pictures of the map, which this draws; nothing where it was not measured."""
    if not curves(rows, share):
        return ""
    names = [f"cliffs_{home}_{name}.svg" for name in ("share", "map")]
    draw_shares(rows, page.IMAGES / names[0])
    draw_map(rows, page.IMAGES / names[1])
    return f"""### The map

f32, mode same, zeros beyond the ends.

![share of the copy's speed over the number of taps, a line a layout](images/{names[0]})

![layouts and taps: share of the copy's speed, and times the contiguous twin](images/{names[1]})

"""


def section(data: dict[str, Any]) -> str:
    """All of one machine."""
    rows, machine, options = data["rows"], data["machine"], data["options"]
    home = machine["home"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    left = options["wanted"] - len(rows)
    scale = options["scale"]
    idle = [row["idle_before"] for row in rows if row.get("idle_before") is not None]
    figure = "min" if options["busy"] or (idle and statistics.median(idle) < QUIET) else "median"
    rows = [row | {"figure": figure} for row in rows]
    fixed = [cells(row, False) for row in rows if row["set"] == "fixed" and "seconds" in row]
    errors = [row["error"]["tapline"] for row in rows if "error" in row and is_plain_f32(row)]
    sentences = [
        f"{machine['processor']}" + (f", {machine['cores']} cores" if home == "cpu" else "") + f", {machine['date']}; {versions}.",
        f"{len(rows)} problems, of which {sum(row['set'] == 'drawn' for row in rows)} were drawn with seed {options['seed']}"
        + (f"; {left} more were asked for and not measured, for time." if left > 0 else "."),
        f"Sizes of the fixed list and the map are divided by {scale:g} (sides of images by its square root)." if scale != 1 else "",
        TIMES["processor" if options["busy"] else figure],
        f"Before the median problem {statistics.median(idle):.0%} of the cores' time was free." if idle else "",
        peers_text(rows),
        f"The largest relative error of an f32 result was {max(errors, default=0):.1e}.",
    ]
    of_sets = [(name, lambda row, key=key: row["set"] == key) for key, name in SETS.items()]
    return f"""## {HOMES[home]}

{filled(" ".join(filter(None, sentences)))}

{summary(rows, [("all", lambda row: True), *of_sets])}

### The worst

{worst_text(rows)}
{problems_text(rows, "failed", "Wrong")}{problems_text(rows, "refused", "Refused")}
### The fixed list

{page.table((*HEAD, "algorithm"), fixed, "lrrrrll")}

{map_text(rows, home)}### By layout

{summary(rows, groups_by(rows, kind_of))}

### By type

{summary(rows, groups_by(rows, types_of))}
"""


def filled(text: str) -> str:
    """A paragraph in lines as the other pages have them."""
    return textwrap.fill(text, 130, break_long_words=False, break_on_hyphens=False)


def text_of(sections: Iterable[str]) -> str:
    """The page."""
    return f"""# Cliffs: what everything costs

Made by `bench/cliffs.py` from bench/results/cliffs_*.json; do not edit. A cliff is a problem that takes much longer than it
should beside its neighbours, and none is promised. So each problem is timed in turns with three others:

- **the copy** of as many bytes as its samples and its result have: 100% means that convolving cost what copying costs;
- **its twin**, the same problem laid out contiguously in the type of its sums: more than {TWIN_LIMIT:g} times as long is too long;
- **the best peer** of those that are installed and take the problem, with the conversions and padding it needs: above 1 it wins.

Results are checked before they are timed, on random data, against sums in float64 that SciPy makes: at both ends and somewhere
in between, or all of a small result. tapline writes into an array that is there, and its plan is made in an earlier call. The
algorithm and the predicted times are those of a plan for the same shape and types, which knows nothing of strides.

{chr(10).join(sections)}"""


def write(paths: Iterable[pathlib.Path]) -> None:
    """docs/cliffs.md and its pictures, a section for each file of results."""
    page.write("cliffs.md", text_of([section(page.read(path)) for path in paths]).rstrip() + "\n")
