#!/usr/bin/env python3
"""Writes tests/data/golden_images.txt: what SciPy and OpenCV make of small images, for tests/core/image_golden_test.cpp.

    pip install numpy scipy opencv-python-headless
    python3 tests/data/golden_images.py

Pixels are whole numbers and taps eighths, so that every sum is exact in f32 and the file holds exact numbers. Lines:

    image NAME height width channels elements...
    mask NAME height width taps...
    case TOOL image mask dtype operation mode boundary constant origin_y origin_x bias output_height output_width elements...

The mask of a case is as the tool got it; the origin is the one that docs/conventions.md names for the tool.
"""

import pathlib

import cv2
import numpy as np
import scipy
from scipy import ndimage, signal

random = np.random.default_rng(5)
IMAGES = {
    "small": random.integers(0, 256, (5, 6, 1)),
    "wide": random.integers(0, 256, (4, 19, 1)),
    "colour": random.integers(0, 256, (6, 7, 3)),
    "deep": random.integers(0, 65536, (5, 7, 1)),
    "one": random.integers(0, 256, (1, 1, 1)),
}
MASKS = {
    f"{h}x{w}": random.integers(-8, 9, (h, w)) / 8
    for h, w in [(1, 1), (3, 3), (2, 2), (4, 3), (1, 6), (5, 2), (6, 6), (9, 8), (7, 31)]
}
MASKS["ones"] = np.ones((2, 3)) / 8  # ties when rounded
MASKS["column*row"] = np.outer([1, 2, -3, 4], [2, 0, 1]) / 8
NDIMAGE = {
    "zero": {"mode": "constant", "cval": 0},
    "constant": {"mode": "constant", "cval": 3},
    "nearest": {"mode": "nearest"},
    "reflect": {"mode": "reflect"},
    "mirror": {"mode": "mirror"},
    "wrap": {"mode": "wrap"},
}
SIGNAL = {
    "zero": {"boundary": "fill", "fillvalue": 0},
    "constant": {"boundary": "fill", "fillvalue": 3},
    "reflect": {"boundary": "symm"},
    "wrap": {"boundary": "wrap"},
}
OPENCV = {
    "zero": cv2.BORDER_CONSTANT,
    "nearest": cv2.BORDER_REPLICATE,
    "reflect": cv2.BORDER_REFLECT,
    "mirror": cv2.BORDER_REFLECT_101,
}

lines = []


def number(value):
    value = float(value)
    return str(int(value)) if value == int(value) else repr(value)


def put(kind, *fields):
    lines.append(" ".join([kind, *map(str, fields[:-1]), *map(number, np.asarray(fields[-1]).ravel())]))


def case(tool, image, mask, dtype, operation, mode, boundary, origin, output, bias=0):
    constant = 3 if boundary == "constant" else 0
    put("case", tool, image, mask, dtype, operation, mode, boundary, constant, *origin, number(bias), *output.shape[:2], output)


def every_channel(function, image, *arguments, **options):
    return np.stack([function(image[..., c], *arguments, **options) for c in range(image.shape[2])], axis=-1)


def from_ndimage():
    for image, mask in [
        ("small", "3x3"),
        ("small", "2x2"),
        ("small", "4x3"),
        ("wide", "1x6"),
        ("small", "5x2"),
        ("small", "9x8"),
        ("wide", "7x31"),
        ("colour", "6x6"),
        ("one", "5x2"),
        ("one", "1x1"),
        ("wide", "column*row"),
    ]:
        x, w = IMAGES[image].astype(float), MASKS[mask]
        for boundary, options in NDIMAGE.items():
            for shift in [(0, 0), (1, -1)]:
                if any(abs(s) > (k - 1) // 2 for s, k in zip(shift, w.shape, strict=True)):
                    continue
                output = every_channel(ndimage.correlate, x, w, origin=shift, **options)
                origin = [k // 2 + s for k, s in zip(w.shape, shift, strict=True)]
                case("ndimage.correlate", image, mask, "f32", "correlation", "same", boundary, origin, output)
                if any(shift) or boundary in ("nearest", "mirror"):
                    output = every_channel(ndimage.convolve, x, w, origin=shift, **options)
                    origin = [(k - 1) // 2 - s for k, s in zip(w.shape, shift, strict=True)]
                    case("ndimage.convolve", image, mask, "f64", "convolution", "same", boundary, origin, output)


def from_signal():
    for image, mask in [("small", "3x3"), ("small", "2x2"), ("wide", "4x3"), ("wide", "1x6")]:
        x, w = IMAGES[image][..., 0].astype(float), MASKS[mask]
        height, width = w.shape
        for mode in ("full", "same", "valid"):
            for boundary, options in SIGNAL.items():
                convolution = {"full": (height - 1, width - 1), "same": (height // 2, width // 2), "valid": (0, 0)}[mode]
                correlation = convolution if mode != "same" else ((height - 1) // 2, (width - 1) // 2)
                case(
                    "signal.convolve2d",
                    image,
                    mask,
                    "f64",
                    "convolution",
                    mode,
                    boundary,
                    convolution,
                    signal.convolve2d(x, w, mode, **options),
                )
                case(
                    "signal.correlate2d",
                    image,
                    mask,
                    "f32",
                    "correlation",
                    mode,
                    boundary,
                    correlation,
                    signal.correlate2d(x, w, mode, **options),
                )


def from_opencv():
    for image, mask, dtype, bias in [
        ("small", "3x3", "f32", 0),
        ("small", "2x2", "f32", 0),
        ("colour", "4x3", "f32", 1),
        ("colour", "5x2", "u8", 128),
        ("colour", "ones", "u8", 0),
        ("wide", "6x6", "u8", 0),
        ("deep", "3x3", "u16", 100),
        ("deep", "ones", "u16", 0),
        ("small", "1x6", "f64", 0),
    ]:
        numpy_type = {"f32": np.float32, "f64": np.float64, "u8": np.uint8, "u16": np.uint16}[dtype]
        x, w = IMAGES[image].astype(numpy_type), MASKS[mask].astype(np.float64 if dtype == "f64" else np.float32)
        for boundary, border in OPENCV.items():
            origin = [k // 2 for k in w.shape]
            output = cv2.filter2D(x, -1, w, delta=bias, borderType=border)
            case("cv2.filter2D", image, mask, dtype, "correlation", "same", boundary, origin, output.reshape(x.shape), bias)
        output = cv2.filter2D(x, -1, w, anchor=(0, 0), delta=bias, borderType=cv2.BORDER_REPLICATE)
        case("cv2.filter2D", image, mask, dtype, "correlation", "same", "nearest", (0, 0), output.reshape(x.shape), bias)
    x, w = IMAGES["wide"].astype(np.float32), MASKS["column*row"]
    for boundary, border in OPENCV.items():
        output = cv2.sepFilter2D(x, -1, np.float32([2, 0, 1]), np.float32([1, 2, -3, 4]) / 8, borderType=border)
        case("cv2.sepFilter2D", "wide", "column*row", "f32", "correlation", "same", boundary, [2, 1], output)


for name, values in IMAGES.items():
    put("image", name, *values.shape, values)
for name, values in MASKS.items():
    put("mask", name, *values.shape, values)
from_ndimage()
from_signal()
from_opencv()
head = f"# Made by golden_images.py with NumPy {np.__version__}, SciPy {scipy.__version__}, OpenCV {cv2.__version__}.\n"
path = pathlib.Path(__file__).with_suffix(".txt")
path.write_text(head + "\n".join(lines) + "\n")
print(f"{path}: {sum(line.startswith('case') for line in lines)} cases, {path.stat().st_size} bytes")
