#!/usr/bin/env python3
"""Turns the JSON of bench/sweep.py into docs/benchmarks.md, the measured part of docs/numerics.md, and their plots.

    python3 bench/report.py bench/results/cpu.json

Images come from bench/results/images_cpu.json, which bench/images.py measures.
"""

import statistics
import sys

import page
import plot

PEERS = {  # with the heads of their columns
    "numpy.convolve": "NumPy",
    "scipy.signal.oaconvolve": "SciPy oaconvolve",
    "scipy.signal.fftconvolve": "SciPy fftconvolve",
    "cv2.filter2D": "OpenCV",
}
COLORS = {
    "tapline": plot.OURS,
    "numpy.convolve": "#2563eb",
    "scipy.signal.oaconvolve": "#15803d",
    "scipy.signal.fftconvolve": "#65a30d",
    "cv2.filter2D": "#7c3aed",
}
# What the project asks of itself, length 2^24: share of the copy's speed.
BARS = {3: 1.30, 8: 1.30, 16: 0.95, 32: 0.65, 64: 0.34, 127: 0.20, 511: 0.20, 2047: 0.20, 8191: 0.20, 65535: 0.12, 1048576: 0.08}


def percent(value):
    return f"{100 * value:.0f}%" if value >= 0.095 else f"{100 * value:.1f}%"


def share_plot(data, path):
    rows = data["one_signal"]
    figure, (axes,) = plot.panels(8, 4.2)
    plot.line(axes, [(r["taps"], r["copy_fraction"]) for r in rows], "tapline", COLORS["tapline"], ours=True)
    for name in PEERS:
        points = [(r["taps"], r["copy_seconds"] / r["peers"][name]) for r in rows if name in r["peers"]]
        plot.line(axes, points, name, COLORS[name])
    plot.rule(axes, [(r["taps"], 1) for r in rows], "copy")
    axes.set_xscale("log", base=10)
    plot.shares(axes, [0.001, 0.01, 0.1, 1])
    axes.set_ylim(bottom=0.0006)
    axes.set_xlabel("taps")
    axes.set_ylabel("share of the copy's speed")
    plot.legend_below([axes])
    plot.save(figure, path)


def error_plot(data, path):
    figure, (axes,) = plot.panels(8, 3.6)
    for name in ("tapline", "scipy.signal.oaconvolve", "numpy.convolve"):
        points = [(int(k), row[name]) for k, row in data["errors"].items() if name in row]
        plot.line(axes, points, name, COLORS[name], ours=name == "tapline")
    axes.set_xscale("log", base=10)
    axes.set_yscale("log", base=10)
    axes.set_xlabel("taps")
    axes.set_ylabel("relative L2 error, f32")
    plot.legend_below([axes])
    plot.save(figure, path)


def throughput_table(data):
    rows = []
    for row in data["one_signal"]:
        bar = percent(BARS[row["taps"]]) if row["taps"] in BARS else ""
        cells = [f"{row['taps']:,}", row["algorithm"], f"**{percent(row['copy_fraction'])}**", bar]
        for name in PEERS:
            seconds = row["peers"].get(name)
            cells.append(percent(row["copy_seconds"] / seconds) if seconds else "-")
        rows.append(cells)
    return page.table(("taps", "algorithm", "tapline", "bar", *PEERS.values()), rows)


def dtype_table(data):
    by_type = {"f32": data["one_signal"], "f64": data.get("f64", []), "complex64": data.get("complex64", [])}
    rows = []
    for i, row in enumerate(by_type["f32"]):
        rows.append([f"{row['taps']:,}"] + [percent(mine[i]["copy_fraction"]) if mine else "-" for mine in by_type.values()])
    return page.table(("taps", "f32", "f64", "complex64, real taps"), rows)


def error_table(data):
    names = ("tapline", "scipy.signal.oaconvolve", "numpy.convolve")
    rows = [
        [f"{int(taps):,}"] + [f"{row[name]:.1e}" if name in row else "-" for name in names] for taps, row in data["errors"].items()
    ]
    return page.table(("taps", *names), rows)


def further_cases(data):
    """A line each, of what is in no table."""
    short, small = data["short_signal"][0], data["small_call"][0]
    oaconvolve = "scipy.signal.oaconvolve"
    ratio = short["peers"][oaconvolve] / short["seconds_median"]
    yield f"1,500,000 samples, 2,047 taps: {1e3 * short['seconds_median']:.2f} ms, {ratio:.1f} times as fast as {oaconvolve}."
    for row in data["one_signal"]:
        if row["taps"] == 2047:
            ratio = row["peers"][oaconvolve] / row["seconds_median"]
            yield f"2^24 samples, 2,047 taps: {1e3 * row['seconds_median']:.1f} ms, {ratio:.1f} times as fast as {oaconvolve}."
    yield f"1,000 samples, 9 taps, through a plan: {1e6 * small['seconds_median']:.2f} us a call."
    if "file_to_file" in data:
        ours, theirs = data["file_to_file"]["tapline_seconds"], data["file_to_file"]["ffmpeg_afir_seconds"]
        yield (
            f"300 s of 48 kHz stereo float WAV against a stereo impulse response of 2 s, file to file: {ours:.2f} s, "
            f"ffmpeg's afir {theirs:.2f} s ({theirs / ours:.1f} times as long)."
        )


def benchmarks_page(data):
    machine = data["machine"]
    return f"""# Benchmarks: CPU

Made by `bench/report.py` from `bench/results/cpu.json`, which `bench/sweep.py` measures; nothing here is typed by hand.
{machine["processor"]}, {machine["cores"]} cores, {machine["date"]}; NumPy {machine["numpy"]}, SciPy {machine["scipy"]}, OpenCV
{machine["opencv"]}. Instruction set {data["one_signal"][0].get("instruction_set", "?")}.

100% means that convolving took as long as `std::memcpy` of the same samples, split over the same threads, in the same run;
short filters are faster than that because tapline's stores bypass the caches, which memcpy's do not at this size.
docs/benchmarking.md says how it is measured.

## One signal of 2^24 f32 samples, mode same

![share of the copy's speed over the number of taps](images/cpu_share.svg)

{throughput_table(data)}

## Other element types, each against the copy of its own type

{dtype_table(data)}

## Further cases

""" + "".join(f"- {line}\n" for line in further_cases(data))


def is_met(row):
    """yes, no, or undisturbed: only the fastest runs reach the bar."""
    if "copy_bar" in row:
        return "yes" if row["copy_fraction"] >= row["copy_bar"] else "no"
    if row["times_peer"] >= row["peer_bar"]:
        return "yes"
    return "undisturbed" if row["times_peer_of_fastest"] >= row["peer_bar"] else "no"


def images_part(data):
    """From bench/images.py."""
    machine = data["machine"]
    rows = []
    for row in data["cases"]:
        bar = f"{percent(row['copy_bar'])} of the copy" if "copy_bar" in row else f"{row['peer_bar']:g} times {row['peer']}"
        cells = [row["image"], row["name"], row["algorithm"], f"{1e3 * row['seconds']:.2f} ms"]
        cells += [f"**{percent(row['copy_fraction'])}**", f"**{row['times_peer']:.1f}**"]
        cells.append(f"{1e3 * row['seconds_min']:.2f} ms, {row['times_peer_of_fastest']:.1f}")
        rows.append([*cells, bar, is_met(row)])
    head = ("image", "mask", "algorithm", "time", "share of the copy", "times OpenCV", "the same, fastest runs", "bar", "met")
    idle = statistics.median(r["idle_before"] for row in data["cases"] for r in row["rounds"])
    files = data["file_to_file"]
    stages = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in files["stages"].items())
    took = f"{files['peer']} {files['peer_seconds']:.2f} s ({files['times_peer']:.1f} times as long;"
    levels = f"{files['difference']} grey level{'' if files['difference'] == 1 else 's'}"
    return f"""
## Images

From `bench/results/images_cpu.json`, which `bench/images.py` measures: {machine["processor"]}, {machine["cores"]} cores,
{machine["date"]}, OpenCV {machine["opencv"]}, {machine["vips"]}. f32 and one channel unless said otherwise, zero boundary;
`tapline bench --image` and OpenCV take turns, and the figures are medians over {len(data["cases"][0]["rounds"])} rounds of the
ratios within a round. {percent(idle)} of the cores' time was free before a round (median); other programs take more from two
threads than from OpenCV's one where it transforms, so beside the medians stand the fastest runs of each side, and `undisturbed`
means that only those reach the bar.

{page.table(head, rows)}

- {files["name"]}: {files["seconds"]:.2f} s ({stages}), {took}
  bar {files["peer_bar"]} times). The results differ by at most {levels}.
"""


def numerics_part(data):
    loud = ", ".join(f"{name} {100 * value:.2g}%" for name, value in data["loud_and_quiet"].items())
    nan = ", ".join(f"{name} {value:,}" for name, value in data["one_nan"].items())
    return f"""![relative error over the number of taps](images/cpu_error.svg)

{error_table(data)}

A signal whose one half is 10^6 times louder, 127 taps, relative L2 error of the quiet half: {loud}.

One NaN in 65,536 samples, 127 taps, outputs spoilt: {nan}."""


def main():
    data = page.read(sys.argv[1])
    share_plot(data, page.IMAGES / "cpu_share.svg")
    error_plot(data, page.IMAGES / "cpu_error.svg")
    images = page.RESULTS / "images_cpu.json"
    page.write("benchmarks.md", benchmarks_page(data) + (images_part(page.read(images)) if images.exists() else ""))
    begin, end = "<!-- measured: begin -->", "<!-- measured: end -->"
    head, rest = (page.DOCS / "numerics.md").read_text(encoding="utf-8").split(begin)
    page.write("numerics.md", f"{head}{begin}\n{numerics_part(data)}\n{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    main()
