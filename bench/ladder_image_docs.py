#!/usr/bin/env python3
"""Turns the JSON of `tapline ladder --image --json`, one file a problem, into docs/ladder_images.md and its plot.

for k in 3 5 7 15 31 63; do tapline ladder --image 4096x4096 --mask $k --json bench/results/ladder_image_$k.json; done
python3 bench/ladder_image_docs.py bench/results/ladder_image_*.json
"""

import json
import pathlib
import sys

import ladder_docs as ladder


def size_of(run):
    return f"{run['height']} x {run['width']}" + (f" x {run['channels']}" if run["channels"] > 1 else "")


def mask_of(run):
    return f"{run['mask_height']} x {run['mask_width']}" + (", separable" if run["separable"] else "")


def taps_of(run):
    return run["mask_height"] * run["mask_width"]


def read(paths):
    runs = []
    for path in paths:
        run = json.loads(path.read_text())
        if run.get("schema") != "tapline-ladder-image-1":
            sys.exit(f"{path}: its schema is not tapline-ladder-image-1")
        wrong = [f"{ladder.label(row)}: {row['failure']}" for row in run["rungs"] if "failure" in row]
        if wrong:
            sys.exit(f"{path} holds wrong rungs; nothing was written: " + "; ".join(wrong))
        runs.append(run)
    for key in ("version", "device"):
        if len({run[key] for run in runs}) != 1:
            sys.exit(f"the files differ in their {key}; measure them with one build on one machine")
    return sorted(runs, key=lambda run: (run["height"] * run["width"] * run["channels"], run["separable"], taps_of(run)))


def section(run):
    rows = [row for row in run["rungs"] if "seconds" in row]
    lines = ["| rung | of | time | warm L2 | times first | of copy | error | |", "|---|---|---:|---:|---:|---:|---:|---|"]
    fastest = min(rows, key=lambda row: row["seconds"])
    for row in rows:
        time = ladder.seconds_text(row["seconds"])
        cells = [
            ladder.label(row),
            row["origin"],
            f"**{time}**" if row is fastest else time,
            ladder.seconds_text(row["warm_seconds"]),
            ladder.times_text(rows[0]["seconds"] / row["seconds"]),
            ladder.share_text(row["copy_fraction"]),
            f"{row['error']:.1e}",
            row["detail"],
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append(
        f"| copy of the image | | {ladder.seconds_text(run['copy_seconds'])} | {ladder.seconds_text(run['copy_warm_seconds'])} | | 100% | | |"
    )
    text = f"## {size_of(run)}, mask {mask_of(run)}\n\nMode same, {run['boundary']} boundary.\n\n" + "\n".join(lines) + "\n\n"
    skipped = [f"- {ladder.label(row)} is not there: {row['skipped']}\n" for row in run["rungs"] if "skipped" in row]
    return text + "".join(skipped) + ("\n" if skipped else "")


def share_plot(runs, path):
    """Share of the copy's speed over masks: a line a rung. The dense masks of the first image that has several."""
    dense = {}
    for run in runs:
        if not run["separable"]:
            dense.setdefault(size_of(run), []).append(run)
    size, chosen = next(((size, group) for size, group in dense.items() if len(group) > 1), (None, []))
    if size is None:
        return None
    ladder.style()
    figure, axes = ladder.plt.subplots(figsize=(8, 4.4))
    colors, our_colors = iter(ladder.LINE_COLORS * 3), iter(ladder.OUR_LINE_COLORS * 3)
    for row in chosen[0]["rungs"]:
        points = [
            (taps_of(run), other["copy_fraction"])
            for run in chosen
            for other in run["rungs"]
            if ladder.label(other) == ladder.label(row) and "seconds" in other
        ]
        if not points:
            continue
        ours = not row["origin"]
        axes.plot(
            *zip(*points),
            "o-",
            ms=3.5,
            lw=2.2 if ours else 1.4,
            color=next(our_colors) if ours else next(colors),
            label=ladder.label(row) + (f" ({row['origin']})" if row["origin"] else ""),
            zorder=3 if ours else 2,
        )
    axes.set_xscale("log")
    axes.set_xticks([taps_of(run) for run in chosen], [mask_of(run).replace(" ", "") for run in chosen])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(ladder.matplotlib.ticker.PercentFormatter(1))
    axes.set_xlabel("mask")
    axes.set_ylabel("share of the copy's speed")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, -0.16), ncol=3, fontsize=9)
    ladder.save(figure, path)
    return size


def page(runs, plotted):
    text = f"""# The ladder of images

Made by `bench/ladder_image_docs.py` from what `tapline ladder --image --json` measures; nothing here is typed by hand.
{runs[0]["device"]}, tapline {runs[0]["version"]}, f32.

Every rung was checked against the textbook sum before it was timed. Times are medians, with a cold L2 cache unless the column says
warm; the copy was measured in the same run, and `of copy` is its time divided by the rung's.

"""
    if plotted:
        text += f"![share of the copy's speed over masks, {plotted}](images/ladder_images.svg)\n\n"
    text += "".join(section(run) for run in runs) + "## The lesson of each rung\n\n"
    lessons = {ladder.label(row): row for run in runs for row in run["rungs"]}
    return (text + "".join(ladder.lesson_text(lessons[name]) for name in sorted(lessons))).rstrip("\n") + "\n"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    runs = read([pathlib.Path(name) for name in sys.argv[1:]])
    docs = ladder.ROOT / "docs"
    plotted = share_plot(runs, docs / "images/ladder_images.svg")
    (docs / "ladder_images.md").write_text(page(runs, plotted))


if __name__ == "__main__":
    main()
