"""The problems of bench/cliffs.py: what one is, a fixed list of them, a map (layouts x taps), and a grid to draw from.

A layout, a view, a mix of types, an epilogue, a function of tapline.ndimage: each is a line in a table. Nothing here computes
or needs more than NumPy.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import page
from gpu_peers import geometry

Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Problem:
    """One call: the array as the caller sees it, how it lies in memory, and what is asked for."""

    call: str  # "convolve", "image", or the name of a function of tapline.ndimage
    shape: Shape
    axes: Shape  # those that are filtered
    taps: Shape  # as many along each of them; () where the function decides
    layout: str  # what the reports call it
    view: str = "plain"  # a line of VIEWS
    dtype: str = "float32"
    of_taps: str = "float32"
    out: str = ""  # the result's type; "": what the call gives by itself
    mode: str = "same"
    boundary: str = "zero"
    accuracy: str = "standard"
    each: bool = False  # a filter for each row
    epilogue: str = "none"  # a line of EPILOGUES
    on_device: bool = False  # where the taps lie, on a GPU
    arguments: tuple[tuple[str, Any], ...] = ()  # of a function of tapline.ndimage


@dataclasses.dataclass(frozen=True)
class View:
    """How an array is seen in another: the other one's shape, and the view."""

    base: Callable[[Shape, Shape], Shape]
    take: Callable[[Any, Shape, Shape], Any]


def along(shape: Shape, axes: Shape, change: Callable[[int], int]) -> Shape:
    """The shape with other lengths along these axes."""
    return tuple(change(n) if axis in axes else n for axis, n in enumerate(shape))


def stepped(x: Any, axes: Shape, step: int) -> Any:
    """A view of every step-th element along these axes."""
    return x[tuple(slice(None, None, step) if axis in axes else slice(None) for axis in range(x.ndim))]


GAP = 24  # samples between rows that do not follow each other at once

VIEWS = {
    "plain": View(lambda shape, axes: shape, lambda x, axes, shape: x),
    "every second": View(lambda shape, axes: along(shape, axes, lambda n: 2 * n), lambda x, axes, shape: stepped(x, axes, 2)),
    "reversed": View(lambda shape, axes: shape, lambda x, axes, shape: stepped(x, axes, -1)),
    "transposed": View(lambda shape, axes: shape[::-1], lambda x, axes, shape: x.T),
    "gaps": View(lambda shape, axes: (*shape[:-1], shape[-1] + GAP), lambda x, axes, shape: x[..., : shape[-1]]),
    "shared": View(lambda shape, axes: (1, *shape[1:]), lambda x, axes, shape: broadcast(x, shape)),
}


def broadcast(x: Any, shape: Shape) -> Any:
    """One row that is seen as many, with NumPy or with CuPy."""
    if isinstance(x, np.ndarray) and type(x) is not np.ndarray:
        return np.broadcast_to(x, shape, subok=True)
    if isinstance(x, np.ndarray):
        return np.broadcast_to(x, shape)
    import cupy

    return cupy.broadcast_to(x, shape)


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where so many rows of so many samples lie: (shape, filtered axis), how that is seen, and the fewest rows it is for."""

    shape: Callable[[int, int], tuple[Shape, int]]
    view: str = "plain"
    rows: int = 1
    each: bool = False  # only with a filter for each row


def interleaved(channels: int) -> Layout:
    """Samples of so many channels beside each other; more rows are more such recordings."""

    def shape(rows: int, length: int) -> tuple[Shape, int]:
        recordings = rows // channels
        return ((length, channels), 0) if recordings <= 1 else ((recordings, length, channels), 1)

    return Layout(shape, rows=channels)


def in_rows(rows: int, length: int) -> tuple[Shape, int]:
    """Row after row."""
    return (rows, length), 1


LAYOUTS = {
    "one signal": Layout(lambda rows, length: ((rows * length,), 0)),
    "contiguous rows": Layout(in_rows, rows=2),
    "time first": Layout(lambda rows, length: ((length, rows), 0), rows=4),
    "middle axis": Layout(lambda rows, length: ((max(1, rows // 128), length, 128), 1), rows=256),
    "2 interleaved": interleaved(2),
    "3 interleaved": interleaved(3),
    "8 interleaved": interleaved(8),
    "32 interleaved": interleaved(32),
    "512 interleaved": interleaved(512),
    "every second sample": Layout(in_rows, "every second"),
    "reversed view": Layout(in_rows, "reversed"),
    "transposed view": Layout(in_rows, "transposed", rows=4),
    "rows with gaps": Layout(in_rows, "gaps", rows=2),
    "one signal, many filters": Layout(in_rows, "shared", rows=2, each=True),
}

# Samples, taps.
TYPES = [
    ("float32", "float32"),
    ("float64", "float64"),
    ("complex64", "complex64"),
    ("complex64", "float32"),
    ("complex128", "float64"),
    ("int16", "float32"),
    ("uint8", "float32"),
    ("float16", "float32"),
    ("float16", "float16"),
    ("int16", "int16"),
    ("uint8", "int8"),
]
IMAGE_TYPES = ["float32", "uint8", "uint16", "float16", "float64", "complex64"]

# The arguments of tapline.convolve, and the type of what is written, if it is another one.
EPILOGUES: dict[str, tuple[dict[str, Any], str]] = {
    "none": ({}, ""),
    "scale and bias": ({"scale": 0.5, "bias": 0.25}, ""),
    "clamp": ({"clamp": (-1.0, 1.0)}, ""),
    "scale, bias and clamp to bytes": ({"scale": 40.0, "bias": 128.0, "clamp": (0.0, 255.0)}, "uint8"),
}

MODES = ["same", "full", "valid", "causal", "leading"]
BOUNDARIES = ["zero", "reflect", "mirror", "nearest", "wrap", "constant"]
CONSTANT = 2  # beyond the ends, with boundary "constant"; of every type

# How far a function of tapline.ndimage looks, by its arguments.
REACH: dict[str, Callable[[dict[str, Any]], int]] = {
    "laplace": lambda a: 1,
    "sobel": lambda a: 1,
    "prewitt": lambda a: 1,
    "gaussian_filter": lambda a: int(4 * a["sigma"] + 0.5),
    "gaussian_filter1d": lambda a: int(4 * a["sigma"] + 0.5),
    "uniform_filter": lambda a: a["size"] // 2 + 1,
    "uniform_filter1d": lambda a: a["size"] // 2 + 1,
    "correlate": lambda a: max(a["mask"]) // 2 + 1,
}


def signal(layout: str, rows: int, length: int, taps: int, **more: Any) -> Problem:
    """A problem of tapline.convolve in a layout of the table."""
    kind = LAYOUTS[layout]
    shape, axis = kind.shape(rows, length)
    options: dict[str, Any] = {"each": kind.each} | more
    return Problem("convolve", shape, (axis,), (taps,), layout, kind.view, **options)


def image(shape: Shape, mask: Shape, layout: str = "image", axes: Shape | None = None, **more: Any) -> Problem:
    """A problem of tapline.image; without `axes` the last two are rows and columns."""
    return Problem("image", shape, axes or (len(shape) - 2, len(shape) - 1), mask, layout, **more)


def function(name: str, shape: Shape, axis: int | None = None, dtype: str = "float32", **arguments: Any) -> Problem:
    """A call of tapline.ndimage."""
    axes = tuple(range(len(shape))) if axis is None else (axis,)
    layout = "volume" if len(shape) == 3 else "image"
    given = tuple(sorted(arguments.items()))
    return Problem(name, shape, axes, (), layout, dtype=dtype, boundary="reflect", arguments=given)


def fixed(scale: float, on_gpu: bool) -> list[Problem]:
    """The list that every run begins with; sizes are divided by `scale`, as far as they say so."""

    def cut(n: int, axes: int = 1) -> int:
        return max(1, round(n / scale ** (1 / axes)))

    long, side, cube = cut(2**24), cut(4096, 2), cut(384, 3)
    problems = [
        *(signal("time first", 64, cut(2**20), k) for k in (9, 127, 1023, 16385)),
        *(signal(f"{c} interleaved", c, cut(2**22), k) for c in (2, 3) for k in (31, 127, 4095)),
        *(Problem("convolve", (cut(64), 4096, 128), (1,), (k,), "middle axis") for k in (31, 511)),
        *(signal("contiguous rows", cut(10**6), 100, k) for k in (9, 101)),
        signal("contiguous rows", cut(262144), 256, 31),
        signal("contiguous rows", cut(10**5), 777, 7),
        *(signal("contiguous rows", cut(65536), 1000, k) for k in (64, 999)),
        *(signal("one signal", 1, long, 4095, boundary=b) for b in ("reflect", "mirror", "wrap", "nearest")),
        *(signal("contiguous rows", cut(4096), 4096, k, boundary="reflect") for k in (33, 1025)),
        *(signal("one signal", 1, long, k, dtype=t) for t in ("int16", "uint8") for k in (31, 127)),
        *(signal("one signal", 1, long, k, dtype="float16") for k in (9, 127)),
        *(signal("one signal", 1, long, k, dtype="complex64") for k in (127, 4095)),
        signal("one signal", 1, long, 127, epilogue="scale, bias and clamp to bytes"),
        signal("one signal", 1, long, 1023, accuracy="strict"),
        *(signal(layout, 1, long, 63) for layout in ("every second sample", "reversed view")),
        signal("transposed view", 128, cut(2**17), 63),
        signal("one signal, many filters", cut(512), 65536, 255),
        *(signal("contiguous rows", cut(4096), 4096, k, each=True) for k in (33, 513, 4096)),
        signal("contiguous rows", cut(512), 65536, 65536, each=True),
        signal("contiguous rows", cut(64), 2**20, 65536, each=True),
        *(signal("one signal", 1, cut(n), cut(n), mode="full") for n in (2**18, 2**20, 2**22, 2**24)),
        signal("one signal", 1, cut(2**26), cut(4194301), mode="full"),
        signal("one signal", 1, 10000, cut(2**22), mode="full"),
        *(image((side, side), mask) for mask in ((9, 9), (101, 101), (1001, 1001), (1, 501))),
        image((200, 200), (401, 401)),
        *(image((side, side), (15, 15), dtype=t) for t in ("uint8", "uint16", "float16")),
        image((side, side), (3, 3), dtype="uint8"),
        image((cut(60000), 28, 28), (5, 5), "many small images"),
        *(image((cut(4000), 64, 64), (k, k), "many small images") for k in (3, 9, 21)),
        image((cut(100000), 64), (5, 5)),
        *(image((side, side), (9, 9), name, view=view) for name, view in IMAGE_VIEWS.items()),
        image((cut(1024, 2), cut(1024, 2), 32), (31, 31), "image of 32 channels", axes=(0, 1)),
        *(image((cut(30000), 8, 8), mask, "many small images") for mask in ((3, 3), (9, 1))),
        image((side, side), (501, 1)),
        image((cut(80), 12928), (1, 1136), boundary="reflect", accuracy="strict"),
        signal("contiguous rows", cut(250000), 17, 9, each=True),
        signal("contiguous rows", cut(50000), 57, 78),
        signal("contiguous rows", cut(250000), 184, 2, dtype="uint8"),
        signal("512 interleaved", 512 * cut(800), 9, 6, mode="full", dtype="uint8", of_taps="int8", each=True),
        Problem("convolve", (cut(2700), 49, 128), (1,), (21,), "middle axis", dtype="int16", of_taps="int16"),
        function("laplace", (side, side)),
        function("gaussian_filter", (side, side), sigma=10),
        function("gaussian_filter", (side, side), dtype="uint8", sigma=3),
        function("uniform_filter", (side, side), size=101),
        function("gaussian_filter1d", (side, side), axis=0, sigma=10),
        *(function("correlate", (cube, cube, cube), mask=(k, k, k)) for k in (3, 7)),
        function("gaussian_filter", (cube, cube, cube), sigma=2),
        function("sobel", (cube, cube, cube)),
    ]
    if on_gpu:
        problems += [signal("one signal", 1, long, k, on_device=True) for k in (9, 127, 8191)]
    return problems


IMAGE_VIEWS = {"transposed image": "transposed", "flipped image": "reversed", "every second pixel": "every second"}

MAP_TAPS = (1, 3, 9, 31, 127, 511, 2047, 8191, 32767)


def mapped(scale: float) -> list[Problem]:
    """Every layout with every number of taps, f32, one size: what the pictures show."""
    samples = max(2**16, round(2**26 / scale))
    rows = {"middle axis": 1024, "512 interleaved": 512, "one signal, many filters": 64}
    return [
        signal(layout, max(rows.get(layout, 64), kind.rows), max(1, samples // max(rows.get(layout, 64), kind.rows)), k)
        for layout, kind in LAYOUTS.items()
        for k in MAP_TAPS
    ]


def window(problem: Problem) -> list[tuple[int, int, int, int]]:
    """(axis, taps, origin, outputs) of each filtered axis."""
    return [(axis, k, *geometry(problem.shape[axis], k, problem.mode)) for axis, k in zip(problem.axes, problem.taps, strict=False)]


def output_shape(problem: Problem) -> Shape:
    """The result's shape."""
    lengths = {axis: outputs for axis, _, _, outputs in window(problem)}
    return tuple(lengths.get(axis, n) for axis, n in enumerate(problem.shape))


def taps_shape(problem: Problem) -> Shape:
    """The shape of the array of taps."""
    lengths = dict(zip(problem.axes, problem.taps, strict=False))
    return tuple(lengths.get(axis, n) for axis, n in enumerate(problem.shape)) if problem.each else problem.taps


def summed(problem: Problem) -> np.dtype:
    """The type of plain sums: that of the result before an epilogue, in one that numbers are computed in."""
    natural = np.result_type(problem.dtype, problem.of_taps)
    if problem.call == "convolve" and natural.kind in "iu":
        return np.dtype(np.int64)
    if problem.call != "convolve":
        natural = np.dtype(problem.dtype)
    return np.dtype(np.float32) if natural.kind in "iu" or natural.char == "e" else natural


def result_type(problem: Problem) -> np.dtype:
    """The type of what is written."""
    written = problem.out or EPILOGUES[problem.epilogue][1]
    if written:
        return np.dtype(written)
    if problem.call != "convolve":
        return np.dtype(problem.dtype)
    natural = np.result_type(problem.dtype, problem.of_taps)
    return np.dtype(np.int64) if natural.kind in "iu" else natural


def moved_bytes(problem: Problem) -> int:
    """Bytes of the samples and of the result; rows that share memory count once."""
    base = problem.shape[1:] if problem.view == "shared" else problem.shape
    return math.prod(base) * np.dtype(problem.dtype).itemsize + math.prod(output_shape(problem)) * result_type(problem).itemsize


def held_bytes(problem: Problem) -> int:
    """Bytes of all arrays of a problem."""
    base = VIEWS[problem.view].base(problem.shape, problem.axes)
    taps = math.prod(taps_shape(problem)) * np.dtype(problem.of_taps).itemsize
    return moved_bytes(problem) + math.prod(base) * np.dtype(problem.dtype).itemsize + taps


def products(problem: Problem) -> float:
    """Products of the textbook sum."""
    return float(math.prod(output_shape(problem))) * math.prod(problem.taps)


def twin_of(problem: Problem) -> Problem | None:
    """The same problem laid out contiguously in the type of its sums; None if it is laid out so."""
    plain = summed(problem).name
    of_taps = plain if np.dtype(problem.of_taps).kind in "iu" or problem.of_taps == "float16" else problem.of_taps
    last = tuple(range(len(problem.shape) - len(problem.axes), len(problem.shape)))
    others = [n for axis, n in enumerate(problem.shape) if axis not in problem.axes]
    filtered = tuple(problem.shape[axis] for axis in problem.axes)
    is_plain = (problem.view, problem.axes, problem.dtype, result_type(problem).name) == ("plain", last, plain, plain)
    if is_plain and problem.of_taps == of_taps:
        return None
    rows = math.prod(others)
    shape = filtered if rows == 1 and not problem.each else (rows, *filtered)
    axes = tuple(range(len(shape) - len(filtered), len(shape)))
    out = plain if EPILOGUES[problem.epilogue][1] else ""
    laid_out = {
        "shape": shape,
        "axes": axes,
        "layout": "contiguous",
        "view": "plain",
        "dtype": plain,
        "of_taps": of_taps,
        "out": out,
    }
    return dataclasses.replace(problem, **laid_out)


def key_of(problem: Problem) -> str:
    """The same text for the same problem, also after JSON."""
    return json.dumps(dataclasses.asdict(problem), sort_keys=True)


def from_json(fields: dict[str, Any]) -> Problem:
    """A problem as it was before JSON made lists of its tuples."""

    def tuples(value: Any) -> Any:
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    return Problem(**{name: tuples(value) for name, value in fields.items()})


def short(dtype: str) -> str:
    """f32 for float32."""
    return dtype if dtype.startswith("complex") else dtype.replace("float", "f").replace("uint", "u").replace("int", "i")


def describe(problem: Problem) -> str:
    """A problem in a line of words."""
    size = " x ".join(page.count_text(n) for n in problem.shape)
    text = f"{problem.layout}, {size} {short(problem.dtype)}"
    if problem.taps:
        taps = " x ".join(page.count_text(n) for n in problem.taps)
        text += f", {taps} taps" + (f" of {short(problem.of_taps)}" if problem.of_taps != problem.dtype else "")
    else:
        arguments = ", ".join(f"{name} {' x '.join(map(str, v)) if name == 'mask' else v}" for name, v in problem.arguments)
        text += f", {problem.call}" + (f" {arguments}" if arguments else "")
    if len(problem.shape) > 1 and problem.call == "convolve" and problem.axes[0] != len(problem.shape) - 1:
        text += f" along axis {problem.axes[0]}"
    words = [
        ("a filter a row", problem.each and problem.view != "shared"),
        (problem.mode, problem.mode != "same"),
        (problem.boundary, problem.boundary != "zero" and bool(problem.taps)),
        (problem.accuracy, problem.accuracy != "standard"),
        (problem.epilogue, problem.epilogue != "none"),
        ("taps on the GPU", problem.on_device),
    ]
    return text + "".join(f", {word}" for word, holds in words if holds)


def is_prime(n: int) -> bool:
    """By division."""
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))


def prime_below(n: int) -> int:
    """The largest prime that is at most n, or 2."""
    return next((p for p in range(n, 1, -1) if is_prime(p)), 2)


class Grid:
    """Draws problems; the same ones from the same seed, limits and kind of machine."""

    def __init__(self, seed: int, limit_bytes: int, limit_products: float, on_gpu: bool):
        self.rng = np.random.default_rng(seed)
        self.limit_bytes, self.limit_products, self.on_gpu = limit_bytes, limit_products, on_gpu

    def __iter__(self) -> Iterator[Problem]:
        """Endless, without repetition."""
        drawn: set[str] = set()
        kinds = [(self.signal, 0.68), (self.image, 0.22), (self.function, 0.1)]
        while True:
            make = kinds[int(self.rng.choice(len(kinds), p=[share for _, share in kinds]))][0]
            problem = make()
            if self.fits(problem) and key_of(problem) not in drawn:
                drawn.add(key_of(problem))
                yield problem

    def fits(self, problem: Problem) -> bool:
        """Whether there are outputs, memory for all arrays, and time for sums that only direct summation gives."""
        if problem.mode == "valid" and any(outputs < 1 for *_, outputs in window(problem)):
            return False
        is_direct = problem.accuracy == "strict" or summed(problem).kind in "iu"
        return held_bytes(problem) <= self.limit_bytes and (not is_direct or products(problem) <= self.limit_products)

    def one_of(self, values: Any) -> Any:
        """Each with the same chance."""
        return values[int(self.rng.integers(len(values)))]

    def mostly(self, usual: Any, others: Any, share: float) -> Any:
        """What is usual, but with this chance one of the others."""
        return self.one_of(others) if self.rng.random() < share else usual

    def spread(self, low: float, high: float) -> int:
        """An integer whose logarithm is uniform."""
        return round(2 ** self.rng.uniform(math.log2(low), math.log2(max(low, high))))

    def most_samples(self) -> float:
        """Of f32, with a result as large."""
        return self.limit_bytes / 12

    def options(self) -> dict[str, Any]:
        """What signals and images have in common."""
        return {
            "mode": self.mostly("same", MODES, 0.4),
            "boundary": self.mostly("zero", BOUNDARIES, 0.5),
            "accuracy": self.mostly("standard", ["strict", "fast"], 0.2),
            "on_device": self.on_gpu and bool(self.rng.random() < 0.3),
        }

    def signal(self) -> Problem:
        """A problem of tapline.convolve."""
        layout = self.one_of(list(LAYOUTS))
        kind = LAYOUTS[layout]
        samples = self.spread(2**13 * kind.rows, self.most_samples())
        length = self.spread(8, samples / kind.rows)
        rows = max(kind.rows, samples // length)
        if self.rng.random() < 0.3:
            length = prime_below(length)
        n = rows * length if layout == "one signal" else length
        taps = max(1, self.spread(1, 1.5 * n))
        dtype, of_taps = self.mostly(TYPES[0], TYPES[1:], 0.5)
        options = self.options()
        each = kind.each or (rows > 1 and layout != "one signal" and self.rng.random() < 0.15)
        options["on_device"] &= not each
        if np.result_type(dtype, of_taps).kind == "f":
            options["epilogue"] = self.mostly("none", list(EPILOGUES), 0.25)
        return signal(layout, rows, length, taps, dtype=dtype, of_taps=of_taps, each=bool(each), **options)

    def image(self) -> Problem:
        """A problem of tapline.image."""
        samples = self.spread(2**14, self.most_samples())
        images = self.mostly(1, [self.spread(2, 4096)], 0.4)
        height = self.spread(8, max(8, samples / images / 8))
        width = max(8, round(samples / images / height))
        sides = [min(self.spread(1, 1.2 * side), 1500) for side in (height, width)]
        if self.rng.random() < 0.25:
            sides[int(self.rng.integers(2))] = 1
        dtype = self.mostly("float32", IMAGE_TYPES[1:], 0.5)
        shape: Shape = (images, height, width) if images > 1 else (height, width)
        layout, axes, view = "images" if images > 1 else "image", None, "plain"
        if self.rng.random() < 0.2:
            channels = self.one_of([2, 3, 4, 32])
            axes = (len(shape) - 2, len(shape) - 1)
            shape, layout = (*shape, channels), f"{layout} of {channels} channels"
        elif images == 1 and self.rng.random() < 0.4:
            layout = self.one_of(list(IMAGE_VIEWS))
            view = IMAGE_VIEWS[layout]
        options = self.options() | {"on_device": False}
        of_taps = "float64" if dtype == "float64" else "float32"
        return image(shape, (sides[0], sides[1]), layout, axes, view=view, dtype=dtype, of_taps=of_taps, **options)

    def function(self) -> Problem:
        """A call of tapline.ndimage."""
        dimensions = self.one_of([2, 2, 3])
        side = self.spread(12, self.most_samples() ** (1 / dimensions))
        name = self.one_of(list(REACH))
        size = self.spread(1, 40 if dimensions == 2 else 7)
        arguments: dict[str, dict[str, Any]] = {
            "gaussian_filter": {"sigma": max(1, size // 4)},
            "gaussian_filter1d": {"sigma": max(1, size // 4)},
            "uniform_filter": {"size": size + 1},
            "uniform_filter1d": {"size": size + 1},
            "correlate": {"mask": (size,) * dimensions},
        }
        axis = int(self.rng.integers(dimensions)) if name.endswith("1d") else None
        dtype = self.mostly("float32", ["uint8", "int16", "float64"], 0.5)
        return function(name, (side,) * dimensions, axis, dtype, **arguments.get(name, {}))
