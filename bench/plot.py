"""How the plots of docs/ are drawn: by Matplotlib as SVG, in one style, the same bytes from the same figures.

figure, (axes,) = plot.panels(8, 4.4)
plot.line(axes, [(length, share), ...], "rung 07", color)
plot.shares(axes)
plot.legend_below([axes])
plot.save(figure, path)
"""

import itertools
import pathlib
from collections.abc import Iterator, Sequence

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

OURS = "#c2410c"
COPY = "#111827"
# Of lines: what others have made, and what is ours.
THEIR_COLORS = ["#2563eb", "#15803d", "#7c3aed", "#be185d", "#0f766e", "#475569"]
OUR_COLORS = [OURS, "#f59e0b", "#7f1d1d", "#a16207", "#db2777", "#06b6d4", "#65a30d", "#0f172a"]

# Of every plot. The salt is that of names inside a file, which without it would change from run to run.
plt.rc("font", size=10)
plt.rc("axes", grid=True, axisbelow=True)
plt.rc("axes.spines", top=False, right=False)
plt.rc("grid", color="#e5e7eb")
plt.rc("figure", facecolor="white")
plt.rc("svg", hashsalt="tapline")


def panels(width: float, height: float, count: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels beside each other, which share the axis of what is shown; inches."""
    figure, axes = plt.subplots(1, count, figsize=(width, height), sharey=True, squeeze=False)
    return figure, list(axes[0])


def colors() -> tuple[Iterator[str], Iterator[str]]:
    """Colours for the lines of one plot, (theirs, ours), as many as are wanted."""
    return itertools.cycle(THEIR_COLORS), itertools.cycle(OUR_COLORS)


def line(axes: Axes, points: Sequence[tuple], name: str, color: str, ours: bool = False) -> None:
    """Measured points, joined; ours are in front. No points, no line."""
    if points:
        axes.plot(
            *zip(*points, strict=True), "o-", ms=3.5, lw=2.2 if ours else 1.4, color=color, label=name, zorder=3 if ours else 2
        )


def rule(axes: Axes, points: Sequence[tuple], name: str) -> None:
    """What lines are compared with: dashed."""
    axes.plot(*zip(*points, strict=True), "--", color=COPY, lw=1.2, label=name)


def rings(axes: Axes, points: Sequence[tuple], name: str) -> None:
    """Points to be found on lines that are there."""
    axes.plot(*zip(*points, strict=True), "o", mfc="none", color=COPY, ms=6, label=name)


def bars(axes: Axes, rows: Sequence[tuple[str, float, str, str]], limit: float) -> None:
    """A bar each for (name, value, colour, text behind it) on a logarithmic axis, and a dashed line at `limit`."""
    values = [value for _, value, _, _ in rows]
    axes.barh(range(len(rows)), values, color=[color for _, _, color, _ in rows], height=0.65)
    axes.set_yticks(range(len(rows)), [name for name, _, _, _ in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(min(*values, limit) / 1.6, max(*values, limit) * 4)
    box = {"fc": "white", "ec": "none", "pad": 0.6}
    for i, (_, value, _, text) in enumerate(rows):
        axes.text(value * 1.06, i, text, va="center", fontsize=9, backgroundcolor="white", bbox=box)
    axes.axvline(limit, color=COPY, lw=1.2, ls="--")
    axes.grid(axis="y", visible=False)


def shares(axes: Axes, ticks: Sequence[float] | None = None) -> None:
    """Fractions as percent: from 0 on, or on a logarithmic axis with these ticks."""
    if ticks is None:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
    else:
        axes.set_yscale("log")
        axes.set_yticks(ticks, [f"{100 * tick:g}%" for tick in ticks])


def legend_below(panels: Sequence[Axes], columns: int = 3) -> None:
    """One for all panels; what is in several of them stands there once."""
    entries = {name: handle for axes in panels for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    panels[0].legend(
        entries.values(), entries.keys(), frameon=False, loc="upper left", bbox_to_anchor=(0, -0.16), ncol=columns, fontsize=9
    )


def save(figure: Figure, path: pathlib.Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
