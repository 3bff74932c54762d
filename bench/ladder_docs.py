#!/usr/bin/env python3
"""Turns the JSON of `tapline ladder --json` into docs/ladder.md, of `tapline ladder --image --json`, a file a problem, into
docs/ladder_images.md, and both into plots. A page is written if its results are given.

    tapline ladder --peers peers.json --json bench/results/ladder.json
    for k in 3 5 7 15 31 63; do tapline ladder --image 4096x4096 --mask $k --json bench/results/ladder_image_$k.json; done
    python3 bench/ladder_docs.py bench/results/ladder*.json
"""

import argparse
import itertools
import pathlib
import sys

import page
import plot
from page import number_text, seconds_text, share_text, times_text

FAMILY_COLORS = {"A": "#a16207", "B": "#0f766e", "C": "#2563eb", "D": "#be185d", "E": "#7c3aed"}  # by write-up

# What the write-ups report of their own machines (C: a Tesla T4). Everything else on the pages is measured.
PUBLISHED_MS = {"C0": 18.29, "C1": 0.107, "C2": 0.0251, "C3": 0.0158, "C4": 0.0147, "C5": 0.0124, "C6": 0.0405}
# (rung, what its author found, rung that it was compared with); a difference of less than SAME counts as none.
E_CLAIMS = [("E2", "same", "E1"), ("E3", "slower", "E1"), ("E4", "slower", "E3")]
SAME = 0.05


def label(row):
    return f"{row['number']} {row['name']}".strip()


def label_with_origin(row):
    return label(row) + (f" ({row['origin']})" if row["origin"] else "")


def stop_at_wrong(source, rows):
    """Ends the program, before anything is written, where a row holds a failure."""
    wrong = [f"{label(row)}: {row['failure']}" for row in rows if row.get("failure")]
    if wrong:
        sys.exit(f"{source} holds wrong rungs; nothing was written: " + "; ".join(wrong))


def lessons_text(lessons):
    text = "## The lesson of each rung\n\n"
    for lesson in lessons:
        text += (
            f"### {label_with_origin(lesson)}\n\n- Idea: {lesson['idea']}\n- Changed: {lesson['changed']}\n"
            f"- Requires: {lesson['requires']}\n- Limited by: {lesson['limited_by']}\n- Source: {lesson['source']}\n\n"
        )
    return text


def line_of(axes, row, points, colors):
    """A rung's line, in the next colour of its kind."""
    theirs, ours = colors
    if points:
        plot.line(axes, points, label_with_origin(row), next(theirs if row["origin"] else ours), ours=not row["origin"])


# Signals: one file with a table a case.


def problem_text(problem):
    text = f"n = {page.count_text(problem['length'])}, k = {problem['taps']:,}, mode {problem['mode']}, {problem['operation']}"
    return text + (f", result clamped to [{problem['clamp'][0]:g}, {problem['clamp'][1]:g}]" if problem["clamp"] else "")


def median(row):
    return row["seconds"]["median"]


def family(row):
    return row["origin"][:1]


def time_plot(table, path):
    """Time over rungs: bars on a logarithmic axis, the copy as a line."""
    figure, (axes,) = plot.panels(8, 1.1 + 0.3 * len(table["rows"]))
    copy = median(table["copy"])
    bars = []
    for row in table["rows"]:
        name = label(row) if row["origin"] == row["number"] else label_with_origin(row)
        bars.append((name, 1e6 * median(row), FAMILY_COLORS.get(family(row), plot.OURS), seconds_text(median(row))))
    plot.bars(axes, bars, 1e6 * copy)
    axes.set_xlabel(f"microseconds; dashed: the copy of the signal, {seconds_text(copy)}")
    plot.save(figure, path)


def sweep_plot(sweep, key, axis_label, path):
    figure, (axes,) = plot.panels(8, 4.4)
    colors = plot.colors()
    for row in sweep["lines"]:
        line_of(axes, row, [(p["length"], p[key]) for p in row["points"]], colors)
    plot.rule(axes, [(p["length"], p[key]) for p in sweep["copy"]], "copy")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("samples of the signal")
    axes.set_ylabel(axis_label)
    if key == "copy_fraction":
        plot.shares(axes)
    else:
        axes.set_yscale("log")
    plot.legend_below([axes])
    plot.save(figure, path)


def table_text(table):
    copy, warm = table["copy"], table["copy"]["warm_seconds"] is not None
    head = ["rung", "of", "time"] + ["warm L2"] * warm + ["times naive", "times previous", "GB/s", "of copy", "GFLOP/s", "error"]
    fastest = min(table["rows"], key=median, default=None)
    rows = []
    for row in table["rows"]:
        time = seconds_text(median(row))
        cells = [label(row), row["origin"], f"**{time}**" if row is fastest else time]
        if warm:
            cells.append(seconds_text(row["warm_seconds"]["median"]) if row["warm_seconds"] else "")
        cells += [times_text(row["times_naive"]), times_text(row["times_previous"]), number_text(row["gigabytes_per_second"])]
        cells += [share_text(row["copy_fraction"]), number_text(row["gflops"]), f"{row['error']:.1e}"]
        rows.append(cells)
    cells = ["copy of the signal", "", seconds_text(median(copy))]
    cells += [seconds_text(copy["warm_seconds"]["median"])] if warm else []
    rows.append([*cells, "", "", number_text(copy["gigabytes_per_second"]), "100%", "", ""])
    return page.table(head, rows, "ll" + "r" * (len(head) - 2))


def skipped_text(table):
    reasons: dict[str, list[str]] = {}
    for entry in table["skipped"]:
        reasons.setdefault(entry["reason"], []).append(label(entry))
    return "".join(f"- not here: {', '.join(names)}: {reason}\n" for reason, names in reasons.items())


def order_text(rows):
    """Rungs from the fastest on, each with its distance from the one before."""
    ordered = sorted(rows, key=median)
    parts = [f"{label_with_origin(ordered[0])} {seconds_text(median(ordered[0]))}"]
    for before, row in itertools.pairwise(ordered):
        ratio = median(row) / median(before)
        distance = "as fast" if ratio < 1 + SAME else f"{ratio:.3g} times as long"
        parts.append(f"{label_with_origin(row)} {seconds_text(median(row))}, {distance}")
    return "; ".join(parts)


def claims_text(by_origin):
    """What E's author found on another GPU, held against this run."""
    lines = []
    for origin, found, other in E_CLAIMS:
        if origin not in by_origin or other not in by_origin:
            continue
        ratio = median(by_origin[origin]) / median(by_origin[other])
        here = "same" if abs(ratio - 1) < SAME else "slower" if ratio > 1 else "faster"
        words = {"same": f"about as fast as {other}", "slower": f"slower than {other}", "faster": f"faster than {other}"}
        verdict = "the same here" if here == found else f"here it is {words[here]}"
        lines.append(f"- {origin} was {words[found]} for its author; {verdict}: {ratio:.3g} times {other}'s time.")
    return "\n".join(lines)


def family_e_text(tables, lessons):
    """The order of the E rungs in every table that holds them, and what each says limits it."""
    text = ""
    seen = {}
    for table in tables:
        rows = [row for row in table["rows"] if family(row) == "E"]
        if len(rows) < 2:
            continue
        text += f"**{problem_text(table['problem'])}.** Measured order: {order_text(rows)}.\n\n"
        text += claims_text({row["origin"]: row for row in rows}) + "\n\n"
        seen.update({label(row): row["origin"] for row in rows})
    if not text:
        return ""
    limits = "".join(f"- {name} ({origin}): {lessons[name]['limited_by']}\n" for name, origin in seen.items() if name in lessons)
    return f"## The order of the E rungs\n\n{text}Why, as each rung's head says:\n\n{limits}\n"


def published_text(table):
    rows = [row for row in table["rows"] if row["origin"] in PUBLISHED_MS and row["kind"] != "peer"]
    first = next((row for row in rows if row["origin"] == "C0"), None)
    if first is None or len(rows) < 2:
        return ""
    cells = []
    for row in rows:
        published = 1e-3 * PUBLISHED_MS[row["origin"]]
        theirs = [seconds_text(published), times_text(1e-3 * PUBLISHED_MS["C0"] / published)]
        cells.append([label(row), row["origin"], *theirs, seconds_text(median(row)), times_text(median(first) / median(row))])
    head = ("rung", "of", "published", "times C0", "here", "times C0")
    return "Beside what the write-up reports of its T4:\n\n" + page.table(head, cells, "llrrrr") + "\n\n"


def case_text(table):
    text = f"## {table['case']}: {table['title']}\n\n{problem_text(table['problem'])}"
    if table["known_answers"]:
        text += f"; every rung gives the {'outputs' if table['known_answers'] == 1 else 'sets of outputs'} that the write-up prints"
    text += f".\n\n{table_text(table)}\n\n"
    if len(table["rows"]) > 1:
        text += f"![time over rungs](images/ladder_{table['case'].lower()}.svg)\n\n"
    for row in table["rows"]:
        if row["kind"] != "rung" and row["detail"]:
            text += f"- {label(row)} is {row['detail']}\n"
    text += skipped_text(table)
    return text.rstrip("\n") + "\n\n" + (published_text(table) if table["case"] == "C" else "")


def sweep_text(sweep):
    clamp = sweep["problem"]["clamp"]
    text = f"## Over lengths\n\nk = {sweep['problem']['taps']:,}, mode {sweep['problem']['mode']}"
    text += f", clamped to [{clamp[0]:g}, {clamp[1]:g}]" if clamp else ""
    return f"""{text}.

![bandwidth over lengths](images/ladder_bandwidth.svg)

![share of the copy's speed over lengths](images/ladder_share.svg)

"""


def signals_page(run, source):
    device = run["device"]
    facts = ", ".join(f"{name} {value}" for name, value in device["facts"].items())
    cold = ", with a cold L2 cache unless the column says warm" if device["engine"] == "cuda" else ""
    text = f"""# The ladder

Made by `bench/ladder_docs.py` from `{source}`, which `tapline ladder --json` measures; nothing here is typed by hand but what the
write-ups report of their own machines. {device["description"]} ({facts}), {run["date"]} UTC, tapline {run["version"]}.

Every rung was checked against the textbook sum before it was timed. Times are medians{cold};
the copy was measured in the same run, and `of copy` is its time divided by the rung's. docs/benchmarking.md says how it is
measured, docs/adding_a_lesson.md how a lesson is added.

"""
    text += "".join(case_text(table) for table in run["tables"])
    text += family_e_text(run["tables"], {label(lesson): lesson for lesson in run["lessons"]})
    return text + (sweep_text(run["sweep"]) if run["sweep"] else "") + lessons_text(run["lessons"])


def write_signals(run, source, docs):
    for table in run["tables"]:
        stop_at_wrong(f"case {table['case']}", table["rows"])
    sweep = run["sweep"]
    if sweep and sweep["failures"]:
        sys.exit("the sweep holds wrong rungs; nothing was written: " + "; ".join(sweep["failures"]))
    for table in run["tables"]:
        if len(table["rows"]) > 1:
            time_plot(table, docs / f"images/ladder_{table['case'].lower()}.svg")
    if sweep:
        sweep_plot(sweep, "gigabytes_per_second", "GB/s of signal, taps and output", docs / "images/ladder_bandwidth.svg")
        sweep_plot(sweep, "copy_fraction", "share of the copy's speed", docs / "images/ladder_share.svg")
    page.write("ladder.md", signals_page(run, f"bench/results/{source.name}").rstrip("\n") + "\n", docs)


# Images: a file a problem.


def size_of(run):
    return f"{run['height']} x {run['width']}" + (f" x {run['channels']}" if run["channels"] > 1 else "")


def mask_of(run):
    return f"{run['mask_height']} x {run['mask_width']}" + (", separable" if run["separable"] else "")


def taps_of(run):
    return run["mask_height"] * run["mask_width"]


def image_text(run):
    rows = [row for row in run["rungs"] if "seconds" in row]
    fastest = min(rows, key=lambda row: row["seconds"])
    lines = []
    for row in rows:
        time = seconds_text(row["seconds"])
        cells = [label(row), row["origin"], f"**{time}**" if row is fastest else time, seconds_text(row["warm_seconds"])]
        cells += [times_text(rows[0]["seconds"] / row["seconds"]), share_text(row["copy_fraction"]), f"{row['error']:.1e}"]
        lines.append([*cells, row["detail"]])
    lines.append(
        ["copy of the image", "", seconds_text(run["copy_seconds"]), seconds_text(run["copy_warm_seconds"]), "", "100%", "", ""]
    )
    head = ("rung", "of", "time", "warm L2", "times first", "of copy", "error", "")
    text = f"## {size_of(run)}, mask {mask_of(run)}\n\nMode same, {run['boundary']} boundary.\n\n"
    text += page.table(head, lines, "llrrrrrl") + "\n\n"
    skipped = [f"- {label(row)} is not there: {row['skipped']}\n" for row in run["rungs"] if "skipped" in row]
    return text + "".join(skipped) + ("\n" if skipped else "")


def masks_plot(runs, path):
    """Share of the copy's speed over masks, a line a rung: dense masks of the first image that has several. Returns its size."""
    dense: dict[str, list] = {}
    for run in runs:
        if not run["separable"]:
            dense.setdefault(size_of(run), []).append(run)
    size, chosen = next(((size, group) for size, group in dense.items() if len(group) > 1), (None, []))
    if size is None:
        return None
    figure, (axes,) = plot.panels(8, 4.4)
    colors = plot.colors()
    for row in chosen[0]["rungs"]:
        points = [
            (taps_of(run), other["copy_fraction"])
            for run in chosen
            for other in run["rungs"]
            if label(other) == label(row) and "seconds" in other
        ]
        line_of(axes, row, points, colors)
    axes.set_xscale("log")
    axes.set_xticks([taps_of(run) for run in chosen], [mask_of(run).replace(" ", "") for run in chosen])
    axes.minorticks_off()
    plot.shares(axes)
    axes.set_xlabel("mask")
    axes.set_ylabel("share of the copy's speed")
    plot.legend_below([axes])
    plot.save(figure, path)
    return size


def images_page(runs, plotted):
    text = f"""# The ladder of images

Made by `bench/ladder_docs.py` from what `tapline ladder --image --json` measures; nothing here is typed by hand.
{runs[0]["device"]}, tapline {runs[0]["version"]}, f32.

Every rung was checked against the textbook sum before it was timed. Times are medians, with a cold L2 cache unless the column says
warm; the copy was measured in the same run, and `of copy` is its time divided by the rung's.

"""
    if plotted:
        text += f"![share of the copy's speed over masks, {plotted}](images/ladder_images.svg)\n\n"
    lessons = {label(row): row for run in runs for row in run["rungs"]}
    return text + "".join(image_text(run) for run in runs) + lessons_text(lessons[name] for name in sorted(lessons))


def write_images(runs, docs):
    for key in ("version", "device"):
        if len({run[key] for run in runs}) != 1:
            sys.exit(f"the files of images differ in their {key}; measure them with one build on one machine")
    runs = sorted(runs, key=lambda run: (run["height"] * run["width"] * run["channels"], run["separable"], taps_of(run)))
    plotted = masks_plot(runs, docs / "images/ladder_images.svg")
    page.write("ladder_images.md", images_page(runs, plotted).rstrip("\n") + "\n", docs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=pathlib.Path, help="what `tapline ladder --json` wrote, with or without --image")
    parser.add_argument("--docs", type=pathlib.Path, default=page.DOCS, help="where the pages go [docs]")
    options = parser.parse_args()
    images = []
    for path in options.results:
        run = page.read(path)
        if run.get("schema") == "tapline-ladder-1":
            write_signals(run, path, options.docs)
        elif run.get("schema") == "tapline-ladder-image-1":
            stop_at_wrong(path, run["rungs"])
            images.append(run)
        else:
            sys.exit(f"{path}: its schema is neither tapline-ladder-1 nor tapline-ladder-image-1")
    if images:
        write_images(images, options.docs)


if __name__ == "__main__":
    main()
