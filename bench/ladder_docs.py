#!/usr/bin/env python3
"""Turns the JSON of `tapline ladder --json` into docs/ladder.md and its plots.

tapline ladder --peers peers.json --json bench/results/ladder.json
python3 bench/ladder_docs.py bench/results/ladder.json
"""

import json
import math
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAMILY_COLORS = {"A": "#a16207", "B": "#0f766e", "C": "#2563eb", "D": "#be185d", "E": "#7c3aed", "": "#c2410c"}
LINE_COLORS = ["#2563eb", "#15803d", "#7c3aed", "#be185d", "#0f766e", "#475569"]  # of the write-ups' rungs
OUR_LINE_COLORS = ["#c2410c", "#f59e0b", "#7f1d1d", "#a16207", "#db2777", "#06b6d4", "#65a30d", "#0f172a"]
OURS = "#c2410c"

# What the write-ups report of their own machines (C: a Tesla T4). Everything else on the page is measured.
PUBLISHED_MS = {"C0": 18.29, "C1": 0.107, "C2": 0.0251, "C3": 0.0158, "C4": 0.0147, "C5": 0.0124, "C6": 0.0405}
# (rung, what its author found, rung that it was compared with); a difference of less than SAME counts as none.
E_CLAIMS = [("E2", "same", "E1"), ("E3", "slower", "E1"), ("E4", "slower", "E3")]
SAME = 0.05


def style():
    plt.rcParams.update(
        {
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "svg.hashsalt": "tapline",
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#e5e7eb",
            "figure.facecolor": "white",
        }
    )


def label(row):
    return f"{row['number']} {row['name']}".strip()


def seconds_text(seconds):
    for factor, unit in ((1e9, "ns"), (1e6, "us"), (1e3, "ms"), (1, "s")):
        if seconds * factor < 999.5 or unit == "s":
            return f"{seconds * factor:.3g} {unit}"


def share_text(share):
    percent = 100 * share
    return f"{percent:,.1f}%" if percent >= 0.995 else f"{percent:.2g}%"


def times_text(factor):
    if not factor:
        return ""
    return f"{factor:,.0f}" if factor >= 99.95 else f"{factor:.3g}"


def number_text(value):
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


def count_text(count):
    power = int(math.log2(count))
    return f"2^{power}" if count >= 16384 and 2**power == count else f"{count:,}"


def problem_text(problem):
    text = f"n = {count_text(problem['length'])}, k = {problem['taps']:,}, mode {problem['mode']}, {problem['operation']}"
    return text + (f", result clamped to [{problem['clamp'][0]:g}, {problem['clamp'][1]:g}]" if problem["clamp"] else "")


def median(row):
    return row["seconds"]["median"]


def right_rows(table):
    wrong = [f"{label(row)}: {row['failure']}" for row in table["rows"] if not row["ok"]]
    if wrong:
        sys.exit(f"case {table['case']} holds wrong rungs; nothing was written: " + "; ".join(wrong))
    return table["rows"]


def family(row):
    return row["origin"][:1]


def time_plot(table, path):
    """Time over rungs: bars on a logarithmic axis, the copy as a line."""
    style()
    rows = table["rows"]
    figure, axes = plt.subplots(figsize=(8, 1.1 + 0.3 * len(rows)))
    names = [label(row) + (f" ({row['origin']})" if row["origin"] and row["origin"] != row["number"] else "") for row in rows]
    times = [1e6 * median(row) for row in rows]
    copy = 1e6 * table["copy"]["seconds"]["median"]
    axes.barh(range(len(rows)), times, color=[FAMILY_COLORS.get(family(row), OURS) for row in rows], height=0.65)
    axes.set_yticks(range(len(rows)), names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(min(times + [copy]) / 1.6, max(times + [copy]) * 4)
    for i, time in enumerate(times):
        axes.text(
            time * 1.06,
            i,
            seconds_text(1e-6 * time),
            va="center",
            fontsize=9,
            backgroundcolor="white",
            bbox={"fc": "white", "ec": "none", "pad": 0.6},
        )
    axes.axvline(copy, color="#111827", lw=1.2, ls="--")
    axes.set_xlabel(f"microseconds; dashed: the copy of the signal, {seconds_text(1e-6 * copy)}")
    axes.grid(axis="y", visible=False)
    save(figure, path)


def sweep_plots(sweep, folder):
    for name, key, axis_label in (
        ("ladder_bandwidth", "gigabytes_per_second", "GB/s of signal, taps and output"),
        ("ladder_share", "copy_fraction", "share of the copy's speed"),
    ):
        style()
        figure, axes = plt.subplots(figsize=(8, 4.4))
        colors, our_colors = iter(LINE_COLORS * 3), iter(OUR_LINE_COLORS * 3)
        for line in sweep["lines"]:
            ours = not line["origin"]
            axes.plot(
                [p["length"] for p in line["points"]],
                [p[key] for p in line["points"]],
                "o-",
                ms=3.5,
                lw=2.2 if ours else 1.4,
                color=next(our_colors) if ours else next(colors),
                label=label(line) + (f" ({line['origin']})" if line["origin"] else ""),
                zorder=3 if ours else 2,
            )
        axes.plot(
            [p["length"] for p in sweep["copy"]], [p[key] for p in sweep["copy"]], "--", color="#111827", lw=1.2, label="copy"
        )
        axes.set_xscale("log", base=2)
        axes.set_xlabel("samples of the signal")
        axes.set_ylabel(axis_label)
        if key == "copy_fraction":
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
        else:
            axes.set_yscale("log")
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, -0.16), ncol=3, fontsize=9)
        save(figure, folder / f"{name}.svg")


def save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def table_text(table):
    warm = table["copy"]["warm_seconds"] is not None
    head = (
        ["rung", "of", "time"]
        + (["warm L2"] if warm else [])
        + ["times naive", "times previous", "GB/s", "of copy", "GFLOP/s", "error"]
    )
    lines = ["| " + " | ".join(head) + " |", "|---|---|" + "---:|" * (len(head) - 2)]
    fastest = min(table["rows"], key=median, default=None)
    for row in table["rows"]:
        time = seconds_text(median(row))
        cells = [label(row), row["origin"], f"**{time}**" if row is fastest else time]
        if warm:
            cells.append(seconds_text(row["warm_seconds"]["median"]) if row["warm_seconds"] else "")
        cells += [
            times_text(row["times_naive"]),
            times_text(row["times_previous"]),
            number_text(row["gigabytes_per_second"]),
            share_text(row["copy_fraction"]),
            number_text(row["gflops"]),
            f"{row['error']:.1e}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    copy = table["copy"]
    cells = ["copy of the signal", "", seconds_text(copy["seconds"]["median"])]
    cells += ([seconds_text(copy["warm_seconds"]["median"])] if warm else []) + [
        "",
        "",
        number_text(copy["gigabytes_per_second"]),
        "100%",
        "",
        "",
    ]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |"])


def skipped_text(table):
    reasons = {}
    for entry in table["skipped"]:
        reasons.setdefault(entry["reason"], []).append(label(entry))
    return "".join(f"- not here: {', '.join(names)}: {reason}\n" for reason, names in reasons.items())


def order_text(rows):
    """Rungs from the fastest on, each with its distance from the one before."""
    ordered = sorted(rows, key=median)
    parts = [f"{label(ordered[0])} ({ordered[0]['origin']}) {seconds_text(median(ordered[0]))}"]
    for before, row in zip(ordered, ordered[1:]):
        ratio = median(row) / median(before)
        distance = "as fast" if ratio < 1 + SAME else f"{ratio:.3g} times as long"
        parts.append(f"{label(row)} ({row['origin']}) {seconds_text(median(row))}, {distance}")
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
    lines = [
        "Beside what the write-up reports of its T4:",
        "",
        "| rung | of | published | times C0 | here | times C0 |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        published = 1e-3 * PUBLISHED_MS[row["origin"]]
        cells = [
            label(row),
            row["origin"],
            seconds_text(published),
            times_text(1e-3 * PUBLISHED_MS["C0"] / published),
            seconds_text(median(row)),
            times_text(median(first) / median(row)),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n\n"


def section(table):
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


def lesson_text(lesson):
    origin = f" ({lesson['origin']})" if lesson["origin"] else ""
    return (
        f"### {label(lesson)}{origin}\n\n- Idea: {lesson['idea']}\n- Changed: {lesson['changed']}\n- Requires: {lesson['requires']}\n"
        f"- Limited by: {lesson['limited_by']}\n- Source: {lesson['source']}\n\n"
    )


def page(run, source):
    device = run["device"]
    facts = ", ".join(f"{name} {value}" for name, value in device["facts"].items())
    lessons = {label(lesson): lesson for lesson in run["lessons"]}
    text = f"""# The ladder

Made by `bench/ladder_docs.py` from `{source}`, which `tapline ladder --json` measures; nothing here is typed by hand but what the
write-ups report of their own machines. {device["description"]} ({facts}), {run["date"]} UTC, tapline {run["version"]}.

Every rung was checked against the textbook sum before it was timed. Times are medians{", with a cold L2 cache unless the column says warm" if device["engine"] == "cuda" else ""};
the copy was measured in the same run, and `of copy` is its time divided by the rung's. docs/benchmarking.md says how it is measured,
docs/adding_a_rung.md how a rung is added.

"""
    for table in run["tables"]:
        text += section(table)
    text += family_e_text(run["tables"], lessons)
    if run["sweep"]:
        sweep = run["sweep"]
        clamp = sweep["problem"]["clamp"]
        text += f"## Over lengths\n\nk = {sweep['problem']['taps']:,}, mode {sweep['problem']['mode']}" + (
            f", clamped to [{clamp[0]:g}, {clamp[1]:g}]" if clamp else ""
        )
        text += ".\n\n![bandwidth over lengths](images/ladder_bandwidth.svg)\n\n![share of the copy's speed over lengths](images/ladder_share.svg)\n\n"
    text += "## The lesson of each rung\n\n" + "".join(lesson_text(lesson) for lesson in run["lessons"])
    return text.rstrip("\n") + "\n"


def main():
    source = pathlib.Path(sys.argv[1])
    run = json.loads(source.read_text())
    if run.get("schema") != "tapline-ladder-1":
        sys.exit(f"{source}: its schema is not tapline-ladder-1")
    docs = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs"
    for table in run["tables"]:
        if len(right_rows(table)) > 1:
            time_plot(table, docs / f"images/ladder_{table['case'].lower()}.svg")
    if run["sweep"]:
        if run["sweep"]["failures"]:
            sys.exit("the sweep holds wrong rungs; nothing was written: " + "; ".join(run["sweep"]["failures"]))
        sweep_plots(run["sweep"], docs / "images")
    (docs / "ladder.md").write_text(page(run, f"bench/results/{source.name}"))


if __name__ == "__main__":
    main()
