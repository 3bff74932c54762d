#!/usr/bin/env python3
"""tapline beside Intel's IPP and MKL, as many threads against as many: bench/native/ipp_mkl.cpp, built and run.

    python3 bench/peers_threads.py BUILD [--seconds 0.15] [--only image]     writes bench/results/peers_threads.json

BUILD is a build folder with libtapline.so; IPP and MKL are those of this Python (`pip install ipp mkl`). Everybody prepares what
can be prepared, results are checked against float64 sums first, calls take turns. `section` is what docs/peers.md says of it.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import page
import timing

RESULT = page.RESULTS / "peers_threads.json"


def measure(build: pathlib.Path, seconds: float, only: str) -> list[dict[str, Any]]:
    libraries = pathlib.Path(sys.prefix, "lib")
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "ipp_mkl")
        source = page.ROOT / "bench" / "native" / "ipp_mkl.cpp"
        options = ["-O2", "-std=c++20", "-pthread", f"-I{page.ROOT / 'include'}", f"-L{build}", f"-Wl,-rpath,{build}"]
        subprocess.run([os.environ.get("CXX", "c++"), *options, source, "-ltapline", "-ldl", "-o", program], check=True)
        # MKL loads its own parts by name.
        found = os.environ | {"LD_LIBRARY_PATH": f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        rows = []
        with subprocess.Popen([program, libraries, str(seconds), only], env=found, text=True, stdout=subprocess.PIPE) as run:
            assert run.stdout is not None
            for line in run.stdout:
                print(line, end="", flush=True)
                rows.append(json.loads(line))
        if run.returncode != 0:
            raise SystemExit(run.returncode)
    return rows


def factor_of(row: dict[str, Any]) -> float | None:
    """How many times as long the fastest of the others takes."""
    others = [each for name, each in row["seconds"].items() if name != "tapline"]
    return min(others) / row["seconds"]["tapline"] if others and "tapline" in row["seconds"] else None


def cell(factor: float | None) -> str:
    if factor is None:
        return "-"
    return f"**{factor:.2f}**" if factor < 1 else f"{factor:.2f}"


def table(rows: list[dict[str, Any]]) -> str:
    taps = sorted({row["taps"] for row in rows})
    found = {(row["length"], row["taps"]): factor_of(row) for row in rows}
    image = rows[0]["kind"] == "image"
    lines = []
    for length in sorted({row["length"] for row in rows}):
        name = f"{length} x {length}" if image else page.count_text(length)
        lines.append([name, *(cell(found.get((length, k))) for k in taps)])
    heads = [f"{k} x {k}" if image else f"{k:,} taps" for k in taps]
    return page.table(("pixels" if image else "samples", *heads), lines, "l" + "r" * len(taps))


def section() -> str:
    if not RESULT.exists():
        return ""
    data = page.read(RESULT)
    rows = data["rows"]
    factors = [factor for row in rows if (factor := factor_of(row)) is not None]
    slower, enough = sum(f < 1 for f in factors), sum(f >= 1.25 for f in factors)
    text = f"""{data["machine"]["processor"]}, {data["machine"]["date"]}. How many times as long as tapline the fastest of IPP's
FIRSR and Convolve, each by itself, direct and by FFT, and of MKL's VSL takes; of images IPP's FilterBorder. On two threads IPP's
halves run side by side, the second by a thread that waits for it in a loop, and MKL divides by itself. Everything is called
through C, in turns. Below 1, in bold, tapline is slower: {slower} of {len(factors)}; {enough} are at least 1.25."""
    parts = ["### Beside IPP and MKL, thread for thread", text]
    for kind, dtype, threads in dict.fromkeys((row["kind"], row["dtype"], row["threads"]) for row in rows):
        chosen = [row for row in rows if (row["kind"], row["dtype"], row["threads"]) == (kind, dtype, threads)]
        name = "Images" if kind == "image" else "Signals"
        parts += [f"{name} of {dtype}, {threads} thread{'s' if threads > 1 else ''}:", table(chosen)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=0.15, help="for each case [0.15]")
    parser.add_argument("--only", default="", help="signal, image, f32 or f64")
    options = parser.parse_args()
    rows = measure(options.build.resolve(), options.seconds, options.only)
    RESULT.write_text(json.dumps({"machine": timing.machine(), "rows": rows}, indent=1) + "\n")
    print(f"written: {RESULT}")


if __name__ == "__main__":
    main()
