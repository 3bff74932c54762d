"""What the landing page shows: the plot with peers, and the same lines for three kinds of arrays."""

import json
import math

from site_links import ROOT
from site_recipes import tutorial

NAMES = {
    "numpy.convolve": ("numpy", "NumPy"),
    "scipy.signal.oaconvolve": ("oaconvolve", "SciPy oaconvolve"),
    "scipy.signal.fftconvolve": ("fftconvolve", "SciPy fftconvolve"),
    "cv2.filter2D": ("opencv", "OpenCV"),
}

# They differ in the first line.
IMPORTS = {
    "NumPy": "import numpy as xp",
    "CuPy": "import cupy as xp",
    "PyTorch": 'import torch as xp; xp.set_default_device("cuda")',
}
LINES = """
import tapline

x = xp.sin(xp.linspace(0, 3000, 1_000_000))
y = tapline.convolve(x, [0.25, 0.5, 0.25], "same", boundary="reflect")
print(type(y), y.shape, y.dtype)
"""


def tabs():
    return "\n".join(f"::::{{tab-item}} {name}\n```python\n{line}{LINES}```\n::::" for name, line in IMPORTS.items())


def tab_output():
    return tutorial.output_of(IMPORTS["NumPy"] + LINES, {}, "the landing page")


def _data():
    return json.loads((ROOT / "bench" / "results" / "cpu.json").read_text())


def machine():
    facts = _data()["machine"]
    return (
        f"{facts['processor']}, {facts['date']}; NumPy {facts['numpy']}, SciPy {facts['scipy']}, OpenCV {facts['opencv']}; "
        "every result was checked before it was timed"
    )


def plot():
    """A figure of a few kilobytes in the page's own colours: the share of the copy's speed over the taps, both logarithmic."""
    rows = _data()["one_signal"]
    width, height, left, right, bottom = 760, 340, 60, 180, 44
    last = rows[-1]["taps"]

    def x(taps):
        return left + (width - left - right) * math.log(taps / rows[0]["taps"]) / math.log(last / rows[0]["taps"])

    def y(share):
        return 10 + (height - bottom - 10) * (math.log10(2) - math.log10(share)) / (math.log10(2) + 3)

    parts = []
    for share in (1, 0.1, 0.01, 0.001):
        parts.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y(share):.0f}" y2="{y(share):.0f}"/>')
        parts.append(f'<text x="{left - 6}" y="{y(share) + 4:.0f}" text-anchor="end">{100 * share:g}%</text>')
    parts += [
        f'<text x="{x(taps):.0f}" y="{height - 22}" text-anchor="middle">{taps:,}</text>' for taps in (3, 64, 1023, 16383, 1048576)
    ]
    parts.append(f'<text x="{(left + width - right) / 2:.0f}" y="{height - 2}" text-anchor="middle">taps</text>')
    lines = [("ours", "tapline", [(row["taps"], row["copy_fraction"]) for row in rows])]
    lines += [
        (css, name, [(row["taps"], row["copy_seconds"] / row["peers"][key]) for row in rows if key in row["peers"]])
        for key, (css, name) in NAMES.items()
    ]
    taken: list[float] = []
    for css, name, points in lines:
        curve = " ".join(f"{x(taps):.1f},{y(share):.1f}" for taps, share in points)
        parts.append(f'<polyline class="{css}" points="{curve}" fill="none" stroke="currentColor" stroke-width="1.8"/>')
        taps, share = points[-1]
        at = y(share) + (4 if taps == last else -4)
        while taps == last and any(abs(at - other) < 20 for other in taken):
            at += 4
        taken.append(at)
        parts.append(f'<text class="{css}" x="{x(taps) + 6:.0f}" y="{at:.0f}" style="fill: currentColor">{name}</text>')
    label = "share of the copy's speed over the number of taps"
    svg = f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    return f'```{{raw}} html\n<figure class="peers">{svg}</figure>\n```'
