#!/usr/bin/env python3
"""Images on the CPU beside OpenCV, and from file to file beside libvips, in one run, as JSON.

`tapline bench --image` (which checks, times and copies) and the peer take turns on random data of the same size. Figures are
medians over the rounds of the ratios within a round; beside them stand the fastest runs of each side, which other programs on the
machine disturb least. Needs NumPy, OpenCV (opencv-python-headless) and the command vips (libvips-tools).

    python3 bench/images.py --tapline build/default/bin/tapline --output bench/results/images_cpu.json
"""

import argparse
import functools
import json
import pathlib
import statistics
import subprocess
import tempfile

import cv2
import numpy as np

import command
import timing

# What the project asks of itself: a share of the copy, or so many times as fast as the peer.
CASES = [
    {"name": "3x3", "image": "2048x2048", "mask": 3, "copy_bar": 0.8},
    {"name": "7x7", "image": "2048x2048", "mask": 7, "peer_bar": 3},
    {"name": "15x15", "image": "2048x2048", "mask": 15, "peer_bar": 6},
    {"name": "31x31", "image": "2048x2048", "mask": 31, "peer_bar": 6},
    {"name": "63x63", "image": "2048x2048", "mask": 63, "peer_bar": 6},
    {"name": "15x15 of rank 1", "image": "2048x2048", "mask": 15, "separable": True, "peer_bar": 4},
    {"name": "3x3, u8 RGB", "image": "8192x8192x3", "mask": 3, "dtype": "u8", "peer_bar": 1},
    {
        "name": "Gaussian of sigma 5, u8",
        "image": "8192x8192",
        "mask": 41,
        "separable": True,
        "dtype": "u8",
        "gaussian": 5,
        "peer_bar": 1,
    },
]
FILE_BAR = 5


def peer_of(case, random):
    """The peer's call on data of its own, and its name."""
    shape = [int(side) for side in case["image"].split("x")]
    image = random.integers(0, 256, shape, np.uint8) if case.get("dtype") == "u8" else random.random(shape, np.float32)
    out = np.empty_like(image)
    k, zero = case["mask"], cv2.BORDER_CONSTANT
    if "gaussian" in case:  # OpenCV cuts it at 3 sigma for u8: 31 taps; ours are the 41 of 4 sigma
        return "cv2.GaussianBlur", lambda: cv2.GaussianBlur(image, (0, 0), case["gaussian"], dst=out)
    if case.get("separable"):
        row = random.random(k, np.float32)
        return "cv2.sepFilter2D", lambda: cv2.sepFilter2D(image, -1, row / row.sum(), row / row.sum(), dst=out, borderType=zero)
    mask = random.random((k, k), np.float32)
    return "cv2.filter2D", lambda: cv2.filter2D(image, -1, mask / mask.sum(), dst=out, borderType=zero)


def bench(options, case):
    words = [options.tapline, "bench", "--image", case["image"], "--mask", str(case["mask"]), "--dtype", case.get("dtype", "f32")]
    words += ["--seconds", str(options.seconds), "--json", "-"] + ["--separable"] * case.get("separable", False)
    return command.run(words)[0]


def run_case(options, case, random):
    peer, call = peer_of(case, random)
    rounds = []
    for _ in range(options.rounds):
        idle = timing.wait_for_quiet(options.patience)
        ours = dict(bench(options, case), idle_before=round(idle, 3))
        call()
        theirs = timing.spread(timing.repeat(call, options.seconds))
        rounds.append(ours | {"peer_seconds": theirs["median"], "peer_seconds_min": theirs["min"]})

    def median(figure):
        return statistics.median(figure(r) for r in rounds)

    least = {k: min(r[k] for r in rounds) for k in ("seconds_min", "peer_seconds_min")}
    kept = (
        "seconds_median",
        "seconds_min",
        "copy_seconds",
        "streaming_copy_seconds",
        "peer_seconds",
        "peer_seconds_min",
        "idle_before",
    )
    row = case | {
        "peer": peer,
        "algorithm": rounds[0]["algorithm"],
        "error": max(r["error"] for r in rounds),
        "copy_fraction": median(lambda r: r["copy_fraction"]),
        "times_peer": median(lambda r: r["peer_seconds"] / r["seconds_median"]),
        "peer_copy_fraction": median(lambda r: r["copy_seconds"] / r["peer_seconds"]),
        "seconds": median(lambda r: r["seconds_median"]),
        "seconds_min": least["seconds_min"],
        "times_peer_of_fastest": least["peer_seconds_min"] / least["seconds_min"],
        "rounds": [{k: r[k] for k in kept} for r in rounds],
    }
    print(
        f"{row['name']}: {row['algorithm']} {1e3 * row['seconds']:.2f} ms, {100 * row['copy_fraction']:.0f}% of the copy, "
        f"{row['times_peer']:.1f} times {peer}; fastest runs {1e3 * row['seconds_min']:.2f} ms, "
        f"{row['times_peer_of_fastest']:.1f} times",
        flush=True,
    )
    return row


def file_to_file(options, random):
    """A dense 31 x 31 float mask on a 2048 x 2048 RGB PNG, both with the same compression level; inner pixels are compared."""
    side, k = 2048, 31
    smooth = cv2.GaussianBlur(random.standard_normal((side, side, 3)).astype(np.float32), (0, 0), 8)
    image = np.clip(128 + 40 * smooth / smooth.std() + 3 * random.standard_normal(smooth.shape), 0, 255).astype(np.uint8)
    mask = random.random((k, k), np.float32)
    mask /= mask.sum()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cv2.imwrite(str(folder / "in.png"), image)
        np.save(folder / "mask.npy", mask)
        text = "\n".join(" ".join(repr(float(tap)) for tap in row) for row in mask)
        (folder / "mask.mat").write_text(f"{k} {k}\n{text}\n")
        ours = [options.tapline, "image", folder / "in.png", "-o", folder / "ours.png", "--mask", folder / "mask.npy"]
        ours += ["--correlate", "--compression", "4"]
        theirs = ["vips", "conv", folder / "in.png", f"{folder}/theirs.png[compression=4]", folder / "mask.mat"]
        run = functools.partial(subprocess.run, check=True, stdin=subprocess.DEVNULL, capture_output=True)
        calls = {"ours": functools.partial(run, ours), "theirs": functools.partial(run, theirs)}
        pairs = []
        for _ in range(max(3, options.rounds // 3)):
            timing.wait_for_quiet(options.patience)
            pairs.append(timing.medians(timing.in_turns(calls, 1)))
        inner = slice(k, side - k)
        results = [cv2.imread(str(folder / name)).astype(int)[inner, inner] for name in ("ours.png", "theirs.png")]
        difference = int(np.abs(results[0] - results[1]).max())
        if difference > 1:
            raise RuntimeError(f"tapline and vips differ by {difference} grey levels")
        stages = json.loads(run([*ours, "--json"]).stdout)["images"][0]
    row = {
        "name": "31x31 on a 2048 x 2048 RGB PNG, file to file",
        "seconds": statistics.median(pair["ours"] for pair in pairs),
        "peer": "vips conv",
        "peer_seconds": statistics.median(pair["theirs"] for pair in pairs),
        "peer_bar": FILE_BAR,
        "times_peer": statistics.median(pair["theirs"] / pair["ours"] for pair in pairs),
        "difference": difference,
        "stages": {name: stages[f"{name}_seconds"] for name in ("read", "filter", "write")},
    }
    print(f"{row['name']}: {row['seconds']:.2f} s, vips {row['peer_seconds']:.2f} s", flush=True)
    return row


def machine():
    vips = subprocess.run(["vips", "--version"], check=True, capture_output=True, text=True).stdout.strip()
    return timing.machine() | {"opencv": cv2.__version__, "vips": vips}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapline", required=True, help="the command")
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.2, help="of measuring each side, in a round")
    parser.add_argument("--patience", type=float, default=10, help="seconds to wait before a round for other programs to rest")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    result = {
        "machine": machine(),
        "cases": [run_case(options, case, random) for case in CASES],
        "file_to_file": file_to_file(options, random),
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
