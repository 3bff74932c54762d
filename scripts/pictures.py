#!/usr/bin/env python3
"""Draws a picture, filters it with `tapline image`, and writes docs/pictures.md with what came out. Needs nothing but Python.

python3 scripts/pictures.py build/default/bin/tapline
python3 scripts/pictures.py build/default/bin/tapline --check     compares instead, to within one grey level
"""

import argparse
import itertools
import math
import pathlib
import random
import shlex
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH, HEIGHT = 256, 160

# name, picture that it is made from, options of the command, what to say
# fmt: off
PARTS: list[tuple[str, list[tuple]]] = [
    ("Blur and sharpen", [
        ("blurred", "before", "--mask gaussian:2", "A Gaussian of two pixels; its 17 x 17 taps are two passes of 17."),
        ("sharper", "blurred", "--mask sharpen", "The blurred picture, sharpened: not what it was, but crisper."),
        ("moved", "before", "--mask motion:21,30", "As if the camera had moved by 21 pixels along a line of 30 degrees."),
    ]),
    ("Edges and relief", [
        ("slope", "before", "--mask sobel-x --scale 0.5 --bias 128",
         ("The slope to the right. Pixels cannot be negative: `--bias 128` makes grey of none, "
          "`--scale` leaves room above and below.")),
        ("edges", "before", '--mask "0,1,0;1,-4,1;0,1,0" --scale -2',
         "The Laplacian, written as its taps; `--mask laplacian` is the same."),
        ("relief", "before", "--mask emboss", "A relief, lit from the upper left."),
    ]),
    ("What lies outside", [
        ("dark_edges", "before", "--mask box:41 --boundary zero", "A mean over 41 x 41 pixels, black outside the picture."),
        ("reflected", "before", "--mask box:41 --boundary reflect",
         "The same with the picture reflected at its edges, the default."),
        ("wrapped", "before", "--mask box:41 --boundary wrap", "And as if it were a tile: the sky's light comes in from below."),
    ]),
    ("Noise", [
        ("noisy", None, None, "The picture with noise,"),
        ("calm", "noisy", "--mask gaussian:1", "and after a Gaussian of one pixel: less noise, softer edges."),
    ]),
    ("Opacity", [
        ("cut_out", None, None, "A picture with an alpha channel: the sun cut out."),
        ("kept", "cut_out", "--mask gaussian:3", "By default alpha is kept, so that the outline stays sharp."),
        ("soft", "cut_out", "--mask gaussian:3 --alpha filter", "With `--alpha filter` it is filtered as the colours are."),
    ]),
]
# fmt: on


def scene(x, y):
    """Sky, sun, hills and a fence; colours from 0 to 255."""
    sky = y / HEIGHT
    colour = [90 + 120 * sky, 140 + 90 * sky, 225]
    distance = math.hypot(x - 190, y - 45)
    if distance < 24:
        colour = [255, 236, 150]
    elif distance < 60:
        colour = [c + (255 - c) * (1 - (distance - 24) / 36) * 0.4 for c in colour]
    far = 95 + 14 * math.sin(x / 23) + 6 * math.sin(x / 9 + 1)
    near = 122 + 10 * math.sin(x / 31 + 2)
    if y > far:
        colour = [88, 128 + 20 * math.sin(x / 4) * math.sin(y / 3), 96]
    if y > near:
        colour = [60 + 30 * ((x // 2 + y // 3) % 2), 110, 40]
        if x % 16 < 4 and y > near + 8:
            colour = [235, 225, 205]
    return [min(255, max(0, round(c))) for c in colour]


def write_png(path, rows, channels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 6 if channels == 4 else 2, 0, 0, 0)
    lines = b"".join(b"\0" + bytes(row) for row in rows)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))


def draw(folder):
    pixels = [[scene(x, y) for x in range(WIDTH)] for y in range(HEIGHT)]
    write_png(folder / "before.png", [itertools.chain.from_iterable(row) for row in pixels], 3)
    noise = random.Random(1)
    noisy = [[min(255, max(0, round(c + noise.gauss(0, 18)))) for pixel in row for c in pixel] for row in pixels]
    write_png(folder / "noisy.png", noisy, 3)
    alpha = [[255 if math.hypot(x - 190, y - 45) < 24 else 0 for x in range(WIDTH)] for y in range(HEIGHT)]
    cut = [[c for p, a in zip(row, opaque, strict=True) for c in (*p, a)] for row, opaque in zip(pixels, alpha, strict=True)]
    write_png(folder / "cut_out.png", cut, 4)


def filter_all(command, folder):
    for _, pictures in PARTS:
        for name, source, options, _ in pictures:
            if options is not None:
                call = [command, "image", f"{source}.png", "-o", f"{name}.png", *shlex.split(options), "--compression", "9"]
                subprocess.run(call, check=True, cwd=folder)


def names():
    return ["before"] + [name for _, pictures in PARTS for name, *_ in pictures]


def page():
    parts = [
        """# Pictures: before and after

This page and its pictures are made by `scripts/pictures.py`, which draws the first one and lets `tapline image` make the others; a
test makes them again and compares. `tapline image --help` lists all masks and options; [images](images.md) says how they are
computed.

![before](images/pictures/before.png)"""
    ]
    for title, pictures in PARTS:
        parts.append(f"## {title}")
        for name, source, options, text in pictures:
            command = f"\n\n    tapline image {source}.png -o {name}.png {options}" if options else ""
            parts.append(f"{text}{command}\n\n![{name}](images/pictures/{name}.png)")
    parts.append("""## Many pictures, other formats

    tapline image holiday/*.jpg -o sharper/ --mask sharpen             # a folder; every file keeps its name
    tapline image scan.png -o scan.jpg --mask gaussian:0.7 --quality 90
    tapline image field.npy -o smooth.npy --mask psf.npy --boundary wrap --dtype f64
    curl -s URL | tapline image - -o - --mask box:3 --to png | display

PNG keeps 8 or 16 bits; colour profile, resolution and Exif data go along. `--explain` says which algorithm was chosen and why,
`--json` what was done and how long it took.""")
    return "\n\n".join(parts) + "\n"


def decoded(command, path):
    array = subprocess.run(
        [command, "image", str(path), "-o", "-", "--mask", "1", "--to", "npy"], check=True, capture_output=True
    ).stdout
    return array[:128], array[128:]


def check(command, folder, kept):
    """What differs from the committed page and pictures. Sums on a tie may round differently on another instruction set."""
    wrong = [] if (ROOT / "docs/pictures.md").read_text() == page() else ["docs/pictures.md"]
    for name in names():
        (head, now), (head_before, before) = decoded(command, folder / f"{name}.png"), decoded(command, kept / f"{name}.png")
        if head != head_before or max(abs(a - b) for a, b in zip(now, before, strict=True)) > 1:
            wrong.append(f"{name}.png")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", help="the built tapline")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    command, kept = str(pathlib.Path(options.command).resolve()), ROOT / "docs/images/pictures"
    if not options.check:
        kept.mkdir(parents=True, exist_ok=True)
        draw(kept)
        filter_all(command, kept)
        (ROOT / "docs/pictures.md").write_text(page())
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        draw(folder)
        filter_all(command, folder)
        wrong = check(command, folder, kept)
    if wrong:
        sys.exit(f"differs, run scripts/pictures.py: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
