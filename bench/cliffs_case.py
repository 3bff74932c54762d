"""What bench/cliffs.py does with one problem: data, the call, and float64 results of some of its outputs, made independently.

A `Home` is where arrays live: NumPy's on the host, or CuPy's on a GPU. CuPy, PyTorch and OpenCV are only imported by a home or a
peer that needs them.
"""

import concurrent.futures
import contextlib
import functools
import importlib
import itertools
import math
import platform
import sys
import time
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import timing
from cliffs_problems import (
    CONSTANT,
    EPILOGUES,
    REACH,
    VIEWS,
    Problem,
    Shape,
    output_shape,
    result_type,
    summed,
    taps_shape,
    window,
)

Box = tuple[slice, ...]

MOST_OUTPUTS = 1 << 17  # of one box that is checked
MOST_SAMPLES = 1 << 22  # that such a box may read, if a smaller one reads less
MOST_UPLOADED = 1 << 26  # bytes of a copy's source: they are repeated
MOST_LOCAL_TAPS = 128
FIRST_SEED = 20_000


def processor_time(call: timing.Call, calls: int = 1) -> float:
    """A clock that stands still while other programs have the processor; all threads count."""
    return timeit.timeit(call, timer=time.process_time, number=calls) / calls


class Home:
    """Arrays in host memory."""

    name = "cpu"

    def __init__(self, clock: timing.Clock = timing.wall) -> None:
        self.clock = clock
        self.xp: Any = np
        self.threads = importlib.import_module("tapline").info()["threads"]
        self.pool = concurrent.futures.ThreadPoolExecutor(self.threads)

    def module(self, name: str) -> Any:
        """SciPy's module of this name; ImportError where it is not installed."""
        return importlib.import_module(f"scipy.{name}")

    def put(self, x: np.ndarray) -> Any:
        """An array of the host here."""
        return x

    def tensor(self, x: Any) -> Any:
        """The same memory as a tensor."""
        return importlib.import_module("torch").from_numpy(x)

    def copies(self, source: np.ndarray) -> dict[str, timing.Call]:
        """Ways to copy as many bytes; the fastest counts."""
        to = np.ones_like(source)
        edges = [source.size * i // self.threads for i in range(self.threads + 1)]
        parts = [(to[a:b], source[a:b]) for a, b in itertools.pairwise(edges)]
        return {
            "copy": functools.partial(np.copyto, to, source),
            "copy by all threads": lambda: list(self.pool.map(np.copyto, *zip(*parts, strict=True))),
        }

    def release(self) -> None:
        """Memory that a library keeps."""

    def machine(self) -> dict[str, Any]:
        """What was measured on, and with what."""
        modules = {"NumPy": "numpy", "SciPy": "scipy", "OpenCV": "cv2", "PyTorch": "torch", "CuPy": "cupy"}
        versions = {"Python": platform.python_version(), "tapline": version_of("tapline")}
        versions |= {name: version_of(module) for name, module in modules.items()}
        return timing.machine() | {"home": self.name, "versions": {name: v for name, v in versions.items() if v}}


class Gpu(Home):
    """CuPy's arrays, on its current stream."""

    name = "gpu"

    def __init__(self) -> None:
        super().__init__(timing.events_of_cupy())
        self.xp = importlib.import_module("cupy")
        self.xp.empty(1, np.float32)  # CuPy can be installed where there is no GPU

    def module(self, name: str) -> Any:
        return importlib.import_module(f"cupyx.scipy.{name}")

    def put(self, x: np.ndarray) -> Any:
        return self.xp.asarray(x)

    def tensor(self, x: Any) -> Any:
        return importlib.import_module("torch").as_tensor(x, device="cuda")

    def copies(self, source: np.ndarray) -> dict[str, timing.Call]:
        there, to = (self.xp.empty(source.shape, source.dtype) for _ in range(2))
        part = self.put(source[:MOST_UPLOADED])
        for first in range(0, source.size, part.size):
            there[first : first + part.size] = part[: source.size - first]
        return {"copy": functools.partial(self.xp.copyto, to, there)}

    def release(self) -> None:
        from gpu_python import release_memory

        release_memory()
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.cuda.empty_cache()

    def machine(self) -> dict[str, Any]:
        device = self.xp.cuda.runtime.getDeviceProperties(0)["name"]
        return super().machine() | {"processor": device.decode() if isinstance(device, bytes) else device}


def version_of(module: str) -> str:
    """Of an installed module; nothing if there is none."""
    try:
        return str(importlib.import_module(module).__version__)
    except (ImportError, AttributeError, OSError):
        return ""


class Pool:
    """Random data, made once for a type and used by all problems."""

    def __init__(self, seed: int):
        self.seed = seed
        self.buffers: dict[str, np.ndarray] = {}

    def take(self, dtype: str, shape: Shape) -> np.ndarray:
        """An array that nobody writes to: normal numbers, or integers over most of their type's range."""
        count = math.prod(shape)
        if self.buffers.get(dtype, np.empty(0)).size < count:
            self.buffers.pop(dtype, None)
            self.buffers[dtype] = random(np.random.default_rng(self.seed), dtype, count)
        return self.buffers[dtype][:count].reshape(shape)


def random(rng: np.random.Generator, dtype: str, count: int) -> np.ndarray:
    """Random numbers of a type."""
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        largest = min(np.iinfo(kind).max, 1000)
        return rng.integers(-largest if kind.kind == "i" else 0, largest + 1, count, dtype=kind)
    if kind.kind == "c":
        part = np.float32 if kind.itemsize == 8 else np.float64
        return rng.standard_normal(2 * count, part).view(kind)
    if kind.char == "e":
        return rng.standard_normal(count, np.float32).astype(kind)
    return rng.standard_normal(count, kind.type)


def random_taps(rng: np.random.Generator, problem: Problem, shape: Shape) -> np.ndarray:
    """A filter that leaves the size of the samples as it is; with bytes, one that leaves the result among them."""
    count = max(1, math.prod(problem.taps))
    kind = np.dtype(problem.of_taps)
    if kind.kind in "iu":
        return rng.integers(-8 if kind.kind == "i" else 0, 9, shape, dtype=kind)
    if problem.call != "convolve" and np.dtype(problem.dtype).kind in "iu":
        return (rng.random(shape) * (2 / count)).astype(kind)
    taps = random(rng, "float64" if kind.kind == "f" else "complex128", math.prod(shape)).reshape(shape)
    return (taps / math.sqrt(count)).astype(kind)


class Case:
    """A problem with its data: `x` and `taps` where the call finds them, `host` and `host_taps` beside it."""

    def __init__(self, problem: Problem, home: Home, pool: Pool):
        self.problem, self.home = problem, home
        view = VIEWS[problem.view]
        base = pool.take(problem.dtype, view.base(problem.shape, problem.axes))
        self.host = view.take(base, problem.axes, problem.shape)
        self.x = self.host if home.name == "cpu" else view.take(home.put(base), problem.axes, problem.shape)
        self.rng = np.random.default_rng(FIRST_SEED + math.prod(problem.shape) % 9973)
        self.type, self.summed = result_type(problem), summed(problem)
        self.shape = output_shape(problem)
        self.out = home.xp.empty(self.shape, self.type)
        self.options = EPILOGUES[problem.epilogue][0]

    def call(self) -> Any:
        """What is timed: tapline's call, into an array that is there."""
        raise NotImplementedError

    def exact(self, box: Box) -> np.ndarray:
        """These outputs in float64, by another library."""
        raise NotImplementedError

    def boxes(self) -> list[Box]:
        """What is checked: both ends of everything and somewhere in between; all of a small result."""
        size = self.box_size()
        if size == self.shape:
            return [tuple(slice(0, n) for n in size)]
        corners: list[list[int]] = [[0] * len(size), [n - m for n, m in zip(self.shape, size, strict=True)]]
        corners.append([int(self.rng.integers(n - m + 1)) for n, m in zip(self.shape, size, strict=True)])
        return [tuple(slice(a, a + m) for a, m in zip(corner, size, strict=True)) for corner in corners]

    def box_size(self) -> Shape:
        """As large as the limits allow."""
        size, reach = list(self.shape), self.reaches()
        filtered = set(self.problem.axes)
        others = [axis for axis in range(len(size)) if axis not in filtered]

        def halved() -> int | None:
            """Rows until few are left, then outputs, then rows again; None where nothing is left to halve."""
            choices = [[a for a in others if size[a] > 8], [a for a in filtered if size[a] > max(64, reach[a])]]
            choices += [[a for a in others if size[a] > 1], [a for a in filtered if size[a] > 64]]
            axes = next((axes for axes in choices if axes), None)
            return max(axes, key=lambda a: size[a]) if axes else None

        while math.prod(size) > MOST_OUTPUTS or math.prod(n + r for n, r in zip(size, reach, strict=True)) > MOST_SAMPLES:
            axis = halved()
            if axis is None:
                break
            size[axis] = (size[axis] + 1) // 2
        return tuple(size)

    def reaches(self) -> list[int]:
        """How many samples beyond its own an output reads, axis by axis."""
        raise NotImplementedError

    @functools.cached_property
    def checks(self) -> list[tuple[Box, np.ndarray]]:
        """Outputs, and what they should be."""
        return [(box, self.exact(box)) for box in self.boxes()]

    def error(self, result: Any) -> float:
        """The largest relative error of the boxes; infinite where the shape is another one. A transform's errors are those of
        whole windows, also of outputs at the ends whose windows hold a few samples: where it may be taken, a box of small outputs
        is measured by the box of the largest ones."""
        if tuple(result.shape) != self.shape:
            return math.inf
        usual = max(rms(exact) for _, exact in self.checks) if self.may_transform() else 0.0
        errors = []
        for box, exact in self.checks:
            error = timing.relative_error(*comparable(on_host(result[box]), exact))
            errors.append(error * (rms(exact) / usual) if usual > 0 else error)
        return max(errors)

    def may_transform(self) -> bool:
        """Whether there are so many taps that errors need not stay local (docs/numerics.md)."""
        return False

    def tolerance(self, of_tapline: bool = True) -> float:
        """What a right result may be off."""
        if self.type.kind in "iu":  # rounding to integers may go the other way here and there
            return 0.0 if of_tapline and self.summed.kind in "iu" else 2e-2
        if self.type.char == "e":
            return 2e-3
        if of_tapline and self.problem.accuracy == "fast" and self.home.name == "gpu":
            return 2e-2
        if self.type.char in "dD":
            return 1e-12 if of_tapline else 1e-9
        return 1e-5 if of_tapline else 1e-4


def rms(x: np.ndarray) -> float:
    """The root of the mean square."""
    return float(np.linalg.norm(x)) / math.sqrt(max(x.size, 1))


def comparable(got: np.ndarray, exact: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Complex numbers as pairs of real ones."""
    if got.dtype.kind == "c" or exact.dtype.kind == "c":
        got, exact = (np.ascontiguousarray(each.astype(np.complex128)).view(np.float64) for each in (got, exact))
    return got, exact


def on_host(x: Any) -> np.ndarray:
    """NumPy's array of what may be CuPy's or a tensor."""
    if hasattr(x, "cpu"):
        return x.cpu().numpy()
    return x.get() if hasattr(x, "get") else np.asarray(x)


def source(positions: np.ndarray, n: int, boundary: str) -> np.ndarray:
    """The sample that each position stands for; -1 where there is none."""
    if boundary in ("zero", "constant"):
        return np.where((positions >= 0) & (positions < n), positions, -1)
    if boundary == "nearest":
        return np.clip(positions, 0, n - 1)
    if boundary == "wrap":
        return positions % n
    period = 2 * n if boundary == "reflect" else max(1, 2 * n - 2)
    folded = positions % period
    return np.where(folded < n, folded, (2 * n - 1 if boundary == "reflect" else 2 * n - 2) - folded)


class Linear(Case):
    """tapline.convolve and tapline.image: sums along some axes."""

    def __init__(self, problem: Problem, home: Home, pool: Pool):
        super().__init__(problem, home, pool)
        self.host_taps = random_taps(self.rng, problem, taps_shape(problem))
        self.taps = home.put(self.host_taps) if problem.on_device else self.host_taps
        self.window = window(problem)

    def call(self) -> Any:
        tapline: Any = importlib.import_module("tapline")
        p = self.problem
        more: dict[str, Any] = {"boundary": p.boundary, "accuracy": p.accuracy, "out": self.out, **self.options}
        if p.boundary == "constant":
            more["constant"] = CONSTANT
        if p.call == "image":
            channels = None if p.axes[-1] == len(p.shape) - 1 else -1
            return tapline.image(self.x, self.taps, p.mode, channel_axis=channels, **more)
        return tapline.convolve(self.x, self.taps, p.mode, axis=p.axes[0], **more)

    def may_transform(self) -> bool:
        return math.prod(self.problem.taps) > MOST_LOCAL_TAPS and self.type.kind in "fc" and self.problem.accuracy != "strict"

    def reaches(self) -> list[int]:
        reach = {axis: k - 1 for axis, k, _, _ in self.window}
        return [reach.get(axis, 0) for axis in range(len(self.shape))]

    def filters(self, taps: Any) -> Any:
        """The taps with as many axes as the samples."""
        if self.problem.each:
            return taps
        return taps.reshape(
            [dict(zip(self.problem.axes, self.problem.taps, strict=True)).get(a, 1) for a in range(len(self.shape))]
        )

    def exact(self, box: Box) -> np.ndarray:
        import scipy.signal

        index = list(box)
        filters = self.filters(self.host_taps)
        if self.problem.each:
            filters = filters[tuple(slice(None) if axis in self.problem.axes else of for axis, of in enumerate(box))]
        for axis, *_ in self.window:
            index[axis] = slice(None)
        wide = np.complex128 if np.result_type(self.host, filters).kind == "c" else np.float64
        region = self.host[tuple(index)]
        for axis, k, origin, _ in self.window:
            positions = np.arange(box[axis].start - origin, box[axis].stop + k - 1 - origin)
            at = source(positions, self.problem.shape[axis], self.problem.boundary)
            region = np.take(region, np.maximum(at, 0), axis).astype(wide, copy=False)
            outside = np.reshape(at < 0, [-1 if a == axis else 1 for a in range(region.ndim)])
            np.copyto(region, 0 if self.problem.boundary == "zero" else CONSTANT, where=outside)
        sums = scipy.signal.oaconvolve(region, filters.astype(wide), "valid", axes=self.problem.axes)
        return self.finished(sums if self.summed.kind not in "iu" else np.rint(sums), np)

    def finished(self, sums: Any, xp: Any) -> Any:
        """The epilogue as one writes it by hand."""
        if "scale" in self.options:
            sums = sums * self.options["scale"] + self.options["bias"]
        if "clamp" in self.options:
            sums = xp.clip(sums, *self.options["clamp"])
        if self.type.kind in "iu" and self.summed.kind not in "iu":
            limits = np.iinfo(self.type)
            sums = xp.clip(xp.rint(sums), limits.min, limits.max)
        return sums if sums.dtype == self.type or xp is np else sums.astype(self.type)


class Function(Case):
    """A function of tapline.ndimage; SciPy's, on pieces in float64, is what it is compared with."""

    def __init__(self, problem: Problem, home: Home, pool: Pool):
        super().__init__(problem, home, pool)
        arguments = dict(problem.arguments)
        self.reach = REACH[problem.call](arguments)
        if "mask" in arguments:
            shape = arguments.pop("mask")
            arguments["weights"] = random_taps(self.rng, problem, shape)
            if np.dtype(problem.dtype).kind in "iu":
                arguments["weights"] /= arguments["weights"].sum()
        if problem.call.endswith("1d"):
            arguments["axis"] = problem.axes[0]
        self.arguments = arguments

    def call(self) -> Any:
        import tapline

        return getattr(tapline.ndimage, self.problem.call)(self.x, output=self.out, **self.arguments)

    def reaches(self) -> list[int]:
        return [2 * self.reach if axis in self.problem.axes else 0 for axis in range(len(self.shape))]

    def exact(self, box: Box) -> np.ndarray:
        import scipy.ndimage

        pieces = [slice(max(0, b.start - r), b.stop + r) for b, r in zip(box, self.reaches(), strict=True)]
        x = self.host[tuple(pieces)]  # of integers SciPy makes sums in float64, which it truncates after each pass
        x = x if self.type.kind in "iu" else x.astype(np.float64)
        inner = [slice(b.start - p.start, b.stop - p.start) for b, p in zip(box, pieces, strict=True)]
        return getattr(scipy.ndimage, self.problem.call)(x, **self.arguments)[tuple(inner)].astype(np.float64)

    def tolerance(self, of_tapline: bool = True) -> float:
        """Bytes: what is truncated may be the next integer."""
        return 2e-2 if self.type.kind in "iu" else super().tolerance(of_tapline)


# What a call's problems are; every other one is a function of tapline.ndimage.
CASES: dict[str, Callable[[Problem, Home, Pool], Case]] = {"convolve": Linear, "image": Linear}


def case_of(problem: Problem, home: Home, pool: Pool) -> Case:
    """The problem with data."""
    return CASES.get(problem.call, Function)(problem, home, pool)


def forget_plans() -> None:
    """Those that tapline keeps of recent calls."""
    importlib.import_module("tapline").clear_plan_cache()


def explanation(case: Case) -> tuple[str, str]:
    """(algorithm, why) of the latest call as tapline tells them; nothing where a function makes several calls or none."""
    tapline: Any = importlib.import_module("tapline")
    p = case.problem
    text = tapline._core.explain_latest_plan()  # as it ran: a plan made of the shape alone does not know how the samples lie
    if not text and p.call == "convolve":  # taps in GPU memory
        assert isinstance(case, Linear)
        more: dict[str, Any] = {"boundary": p.boundary, "accuracy": p.accuracy, **case.options}
        device = "cpu" if case.home.name == "cpu" else "cuda:0"
        with contextlib.suppress(NotImplementedError, TypeError, ValueError):  # convolve converts, or makes several plans
            text = tapline.Plan(p.shape, case.host_taps, p.mode, dtype=p.dtype, axis=p.axes[0], device=device, **more).explain()
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return lines.get("algorithm", "").strip().split(" on ")[0], lines.get("why", "").strip()
