#!/usr/bin/env python3
"""Turns the JSON of bench/sweep.py into docs/benchmarks.md, the measured part of docs/numerics.md, and their plots.

    python3 bench/report.py bench/results/cpu.json

Images come from bench/results/images_cpu.json, which bench/images.py measures.
"""

import json
import pathlib
import statistics
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLORS = {
    "tapline": "#c2410c",
    "numpy.convolve": "#2563eb",
    "scipy.signal.oaconvolve": "#15803d",
    "scipy.signal.fftconvolve": "#65a30d",
    "cv2.filter2D": "#7c3aed",
}
# What the project asks of itself, length 2^24: share of the copy's speed.
BARS = {3: 1.30, 8: 1.30, 16: 0.95, 32: 0.65, 64: 0.34, 127: 0.20, 511: 0.20, 2047: 0.20, 8191: 0.20, 65535: 0.12, 1048576: 0.08}


def percent(value):
    return f"{100 * value:.0f}%" if value >= 0.095 else f"{100 * value:.1f}%"


def style():
    plt.rcParams.update(
        {
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "svg.hashsalt": "tapline",
            "axes.grid": True,
            "grid.color": "#e5e7eb",
            "figure.facecolor": "white",
        }
    )


def share_plot(data, path):
    style()
    figure, axes = plt.subplots(figsize=(8, 4.2))
    rows = data["one_signal"]
    axes.plot(
        [r["taps"] for r in rows],
        [100 * r["copy_fraction"] for r in rows],
        "o-",
        color=COLORS["tapline"],
        lw=2.2,
        ms=5,
        label="tapline",
        zorder=3,
    )
    for name in ("numpy.convolve", "scipy.signal.oaconvolve", "scipy.signal.fftconvolve", "cv2.filter2D"):
        points = [(r["taps"], 100 * r["copy_seconds"] / r["peers"][name]) for r in rows if name in r["peers"]]
        if points:
            axes.plot(*zip(*points), "o-", color=COLORS[name], lw=1.3, ms=3.5, label=name)
    axes.axhline(100, color="#6b7280", lw=1, ls="--")
    axes.text(rows[-1]["taps"], 106, "copy", ha="right", va="bottom", color="#6b7280")
    axes.set_xscale("log", base=10)
    axes.set_yscale("log", base=10)
    ticks = [0.1, 1, 10, 100]
    axes.set_yticks(ticks, [f"{t:g}%" for t in ticks])
    axes.set_xlabel("taps")
    axes.set_ylabel("share of the copy's speed")
    axes.set_ylim(bottom=0.06)
    axes.legend(frameon=False, loc="lower center", ncol=3)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def error_plot(data, path):
    style()
    figure, axes = plt.subplots(figsize=(8, 3.6))
    for name in ("tapline", "scipy.signal.oaconvolve", "numpy.convolve"):
        points = [(int(k), row[name]) for k, row in data["errors"].items() if name in row]
        axes.plot(*zip(*points), "o-", color=COLORS[name], lw=2 if name == "tapline" else 1.3, ms=4, label=name)
    axes.set_xscale("log", base=10)
    axes.set_yscale("log", base=10)
    axes.set_xlabel("taps")
    axes.set_ylabel("relative L2 error, f32")
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def throughput_table(data):
    lines = [
        "| taps | algorithm | tapline | bar | NumPy | SciPy oaconvolve | SciPy fftconvolve | OpenCV |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in data["one_signal"]:
        cells = [
            f"{row['taps']:,}",
            row["algorithm"],
            f"**{percent(row['copy_fraction'])}**",
            percent(BARS[row["taps"]]) if row["taps"] in BARS else "",
        ]
        for name in ("numpy.convolve", "scipy.signal.oaconvolve", "scipy.signal.fftconvolve", "cv2.filter2D"):
            seconds = row["peers"].get(name)
            cells.append(percent(row["copy_seconds"] / seconds) if seconds else "-")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def dtype_table(data):
    by_type = {"f32": data["one_signal"], "f64": data.get("f64", []), "complex64": data.get("complex64", [])}
    lines = ["| taps | f32 | f64 | complex64, real taps |", "|---|---|---|---|"]
    for i, row in enumerate(by_type["f32"]):
        cells = [f"{row['taps']:,}"] + [percent(rows[i]["copy_fraction"]) if rows else "-" for rows in by_type.values()]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def error_table(data):
    names = ("tapline", "scipy.signal.oaconvolve", "numpy.convolve")
    lines = ["| taps | " + " | ".join(names) + " |", "|---|---|---|---|"]
    for taps, row in data["errors"].items():
        lines.append(f"| {int(taps):,} | " + " | ".join(f"{row[n]:.1e}" if n in row else "-" for n in names) + " |")
    return "\n".join(lines)


def benchmarks_page(data):
    machine, short, small = data["machine"], data["short_signal"][0], data["small_call"][0]
    oaconvolve = short["peers"]["scipy.signal.oaconvolve"]
    long_rows = [r for r in data["one_signal"] if r["taps"] == 2047]
    text = f"""# Benchmarks: CPU

Made by `bench/report.py` from `bench/results/cpu.json`, which `bench/sweep.py` measures; nothing here is typed by hand.
{machine["processor"]}, {machine["cores"]} cores, {machine["date"]}; NumPy {machine["numpy"]}, SciPy {machine["scipy"]}, OpenCV
{machine["opencv"]}. Instruction set {data["one_signal"][0].get("instruction_set", "?")}.

100% means that convolving took as long as `std::memcpy` of the same samples, split over the same threads, in the same run;
short filters are faster than that because tapline's stores bypass the caches, which memcpy's do not at this size. docs/benchmarking.md
says how it is measured.

## One signal of 2^24 f32 samples, mode same

![share of the copy's speed over the number of taps](images/cpu_share.svg)

{throughput_table(data)}

## Other element types, each against the copy of its own type

{dtype_table(data)}

## Further cases

- 1,500,000 samples, 2,047 taps: {1e3 * short["seconds_median"]:.2f} ms, {oaconvolve / short["seconds_median"]:.1f} times as fast as scipy.signal.oaconvolve.
"""
    if long_rows:
        row = long_rows[0]
        ratio = row["peers"]["scipy.signal.oaconvolve"] / row["seconds_median"]
        text += f"- 2^24 samples, 2,047 taps: {1e3 * row['seconds_median']:.1f} ms, {ratio:.1f} times as fast as scipy.signal.oaconvolve.\n"
    text += f"- 1,000 samples, 9 taps, through a plan: {1e6 * small['seconds_median']:.2f} us a call.\n"
    if "file_to_file" in data:
        files = data["file_to_file"]
        text += (
            f"- 300 s of 48 kHz stereo float WAV against a stereo impulse response of 2 s, file to file: {files['tapline_seconds']:.2f} s, "
            f"ffmpeg's afir {files['ffmpeg_afir_seconds']:.2f} s ({files['ffmpeg_afir_seconds'] / files['tapline_seconds']:.1f} times as long).\n"
        )
    return text


def images_part(data):
    """From bench/images.py."""
    machine = data["machine"]
    lines = [
        "| image | mask | algorithm | time | share of the copy | times OpenCV | the same, fastest runs | bar | met |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in data["cases"]:
        by_copy = "copy_bar" in row
        met = "yes" if (row["copy_fraction"] >= row["copy_bar"] if by_copy else row["times_peer"] >= row["peer_bar"]) else "no"
        if met == "no" and not by_copy and row["times_peer_of_fastest"] >= row["peer_bar"]:
            met = "undisturbed"
        bar = f"{percent(row['copy_bar'])} of the copy" if by_copy else f"{row['peer_bar']:g} times {row['peer']}"
        lines.append(
            "| "
            + " | ".join(
                [
                    row["image"],
                    row["name"],
                    row["algorithm"],
                    f"{1e3 * row['seconds']:.2f} ms",
                    f"**{percent(row['copy_fraction'])}**",
                    f"**{row['times_peer']:.1f}**",
                    f"{1e3 * row['seconds_min']:.2f} ms, {row['times_peer_of_fastest']:.1f}",
                    bar,
                    met,
                ]
            )
            + " |"
        )
    idle = statistics.median(r["idle_before"] for row in data["cases"] for r in row["rounds"])
    files = data["file_to_file"]
    stages = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in files["stages"].items())
    return (
        f"""
## Images

From `bench/results/images_cpu.json`, which `bench/images.py` measures: {machine["processor"]}, {machine["cores"]} cores, {machine["date"]}, OpenCV
{machine["opencv"]}, {machine["vips"]}. f32 and one channel unless said otherwise, zero boundary; `tapline bench --image` and OpenCV take turns,
and the figures are medians over {len(data["cases"][0]["rounds"])} rounds of the ratios within a round. {percent(idle)} of the cores' time was
free before a round (median); other programs take more from two threads than from OpenCV's one where it transforms, so beside the
medians stand the fastest runs of each side, and `undisturbed` means that only those reach the bar.

"""
        + "\n".join(lines)
        + f"""

- {files["name"]}: {files["seconds"]:.2f} s ({stages}), {files["peer"]} {files["peer_seconds"]:.2f} s ({files["times_peer"]:.1f} times as long;
  bar {files["peer_bar"]} times). The results differ by at most {files["difference"]} grey level{"" if files["difference"] == 1 else "s"}.
"""
    )


def numerics_part(data):
    loud, nan = data["loud_and_quiet"], data["one_nan"]
    lines = [
        "![relative error over the number of taps](images/cpu_error.svg)",
        "",
        error_table(data),
        "",
        "A signal whose one half is 10^6 times louder, 127 taps, relative L2 error of the quiet half: "
        + ", ".join(f"{name} {100 * value:.2g}%" for name, value in loud.items())
        + ".",
        "",
        "One NaN in 65,536 samples, 127 taps, outputs spoilt: "
        + ", ".join(f"{name} {value:,}" for name, value in nan.items())
        + ".",
    ]
    return "\n".join(lines)


def main():
    data = json.loads(pathlib.Path(sys.argv[1]).read_text())
    share_plot(data, ROOT / "docs/images/cpu_share.svg")
    error_plot(data, ROOT / "docs/images/cpu_error.svg")
    images = ROOT / "bench/results/images_cpu.json"
    text = benchmarks_page(data) + (images_part(json.loads(images.read_text())) if images.exists() else "")
    (ROOT / "docs/benchmarks.md").write_text(text)
    page = ROOT / "docs/numerics.md"
    begin, end = "<!-- measured: begin -->", "<!-- measured: end -->"
    head, rest = page.read_text().split(begin)
    page.write_text(head + begin + "\n" + numerics_part(data) + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
