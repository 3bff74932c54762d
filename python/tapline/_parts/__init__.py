"""Arrays that are convolved in parts: what `tapline.dask`, `tapline.zarr` and `tapline.mpi` have in common.

A `Filter` is a convolution along one axis, or of images, for arrays of one shape and type. It tells what each part of an axis needs
of the others (`Axis`), and computes a part from the samples that it needs. The plan behind it is made for the whole array, so that
parts give the same bits however the array is cut; each process makes it once, and keeps the plans of the last parts.
"""

import math
import threading
from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from tapline import _core, _image
from tapline._image_parts import arranged_taps, has_channels

# Plans of parts that a process keeps: inner parts of equal chunks share one, those at the ends have their own.
_KEPT_PARTS = 16
_NAMES_OF_OPTIONS = frozenset(
    ("mode", "boundary", "constant", "accuracy", "scale", "bias", "clamp", "overflow", "threads", "algorithm", "dtype")
)


class Source(NamedTuple):
    """Samples [first, last) of the whole axis, which `part` has, at positions from `position` on: as they are (step 1), turned
    round (-1) or the first of them `length` times (0)."""

    part: int
    first: int
    last: int
    position: int
    length: int
    step: int


class Part(NamedTuple):
    """Of one axis: the samples that a part has, the outputs it makes, whole blocks of them, the positions that these read, those of
    the blocks that read nothing from others; each (first, last)."""

    samples: tuple[int, int]
    outputs: tuple[int, int]
    computed: tuple[int, int]
    window: tuple[int, int]
    inner: tuple[int, int]
    sources: tuple[Source, ...]

    @property
    def is_empty(self):
        return self.outputs[1] <= self.outputs[0]


class Range(NamedTuple):
    """What a computation of a part must know along one filtered axis; each (first, last)."""

    window: tuple[int, int]
    computed: tuple[int, int]
    outputs: tuple[int, int]


def parts_of(raw):
    return [Part(a, b, c, d, e, tuple(Source(*s) for s in sources)) for a, b, c, d, e, sources in raw]


def range_of(part):
    return Range(part.window, part.computed, part.outputs)


def is_cupy(array):
    return type(array).__module__.partition(".")[0] == "cupy"


class Filter:
    """A convolution or correlation of arrays of `shape` and `dtype` along `axes`: one, or two neighbouring ones of images.

    `taps`: as `tapline.convolve` and `tapline.image` take them, one filter for all rows. `channels`: whether the last axis holds an
    image's channels, which are never cut. Pickled without its plans.
    """

    def __init__(self, shape, signal_dtype, taps, axes, *, correlation=False, channels=False, origin=None, **options):
        unknown = options.keys() - _NAMES_OF_OPTIONS
        if unknown:
            raise TypeError(f"unexpected arguments {sorted(unknown)}; these are known: {sorted(_NAMES_OF_OPTIONS)}")
        self.shape, self.axes, self.channels, self.correlation = tuple(shape), tuple(axes), channels, correlation
        self.options = {name: value for name, value in options.items() if value is not None}
        if "clamp" in self.options:
            self.options["clamp"] = tuple(self.options["clamp"])
        self.origins = _origins(origin, len(self.axes))
        self.dtype = np.dtype(signal_dtype)
        self.taps = np.asarray(taps)
        if len(self.axes) == 1:
            if self.taps.ndim != 1:
                raise ValueError(f"taps: {self.taps.ndim} axes; parts are of one filter for all rows: give one axis")
            self._stored, self._wanted = self.dtype, None
        else:
            natural = np.result_type(self.dtype, np.complex64) if self.taps.dtype.kind == "c" else self.dtype
            self._stored = _image.stored_type(self.dtype, self.taps)
            self._wanted = np.dtype(self.options.pop("dtype", natural))
            widened = self._wanted.char == "e" and self._stored.char != "e"
            self.options["dtype"] = np.dtype(np.float32) if widened else self._wanted
            self.taps = arranged_taps(self.taps, self.shape[-1] if channels else None)
            self.options.setdefault("mode", "same")
        self._init_plans()

    def _init_plans(self):
        self._lock = threading.Lock()
        self._plan = None
        self._parts = OrderedDict()

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_plan", "_parts")}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._init_plans()

    def __dask_tokenize__(self):
        return (
            type(self).__name__,
            self.shape,
            self.axes,
            str(self.dtype),
            self.fingerprint,
            sorted(map(str, self.options.items())),
        )

    @property
    def plan(self):
        with self._lock:
            if self._plan is None:
                lengths = [self.shape[a] for a in self.axes]
                before, after = self._rows(self.shape)
                self._plan = _core.ShardedPlan(
                    self.options, self.correlation, self._stored.name, before, lengths, after, self.taps, self.origins
                )
            return self._plan

    def _rows(self, shape):
        """Rows before the filtered axes and behind them."""
        return math.prod(shape[: self.axes[0]]), math.prod(shape[self.axes[-1] + 1 :])

    @property
    def fingerprint(self):
        """The same number wherever the problem, its taps and its options are the same."""
        return self.plan.fingerprint

    @property
    def output_dtype(self):
        return np.dtype(self.plan.output_type) if self._wanted is None else self._wanted

    @property
    def output_shape(self):
        shape = list(self.shape)
        for axis, length in zip(self.axes, self.plan.output_lengths, strict=True):
            shape[axis] = length
        return tuple(shape)

    def blocks(self, axis):
        """(outputs that are made together, samples read past the last window) along an axis of the array."""
        return self.plan.blocks(self.axes.index(axis))

    def parts(self, axis, cuts, *, by_blocks=True):
        """A `Part` for each between `cuts` of the samples. `by_blocks`: with whole blocks, as `compute` takes them."""
        return parts_of(self.plan.shard(self.axes.index(axis), list(cuts), by_blocks))

    def output_parts(self, axis, output_cuts):
        """The same with cuts of the outputs, for who has all of the samples at hand."""
        n = self.shape[axis]
        cuts = [1 + i * (n - 1) // max(len(output_cuts), 1) for i in range(len(output_cuts))]
        if len(set(cuts)) != len(cuts) or (cuts and cuts[-1] >= n):
            raise ValueError(f"axis {axis}: {len(output_cuts) + 1} parts of {n} samples; cut into larger ones")
        return parts_of(self.plan.shard_outputs(self.axes.index(axis), cuts, list(output_cuts)))

    def compute(self, x, ranges):
        """The outputs of a part, an array of its own. `x`: its windows along the filtered axes, `ranges`: a `Range` for each."""
        if is_cupy(x):
            return self._compute_on_gpu(x, ranges)
        plan = self.plan
        x = np.ascontiguousarray(x, np.dtype(plan.signal_type))
        before, after = self._rows(x.shape)
        shape = list(x.shape)
        for axis, one in zip(self.axes, ranges, strict=True):
            shape[axis] = one.computed[1] - one.computed[0]
        y = np.empty(shape, np.dtype(plan.sum_type))
        if y.size:
            self._part(plan, before, tuple((*one.window, *one.computed) for one in ranges), after).execute(y, x)
        return self._trimmed(y, ranges)

    def _part(self, plan, *key):
        with self._lock:
            part = self._parts.get(key)
            if part is not None:
                self._parts.move_to_end(key)
                return part
        part = plan.part(*key)
        with self._lock:
            self._parts[key] = part
            while len(self._parts) > _KEPT_PARTS:
                self._parts.popitem(last=False)
        return part

    def _trimmed(self, y, ranges):
        index = [slice(None)] * y.ndim
        for axis, one in zip(self.axes, ranges, strict=True):
            index[axis] = slice(one.outputs[0] - one.computed[0], one.outputs[1] - one.computed[0])
        wanted = y[tuple(index)]
        # What is cut away would stay in memory as long as the part.
        wanted = wanted if wanted.nbytes == y.nbytes else np.ascontiguousarray(wanted)
        return wanted.astype(self.output_dtype, copy=False)

    def _compute_on_gpu(self, x, ranges):
        """Chunks of CuPy: with all that the windows of the outputs read, which is what is missing of a zero or constant boundary
        too."""
        import cupy

        from tapline._core import convolve, correlate

        pad = [(0, 0)] * x.ndim
        for i, (axis, one) in enumerate(zip(self.axes, ranges, strict=True)):
            k = self.taps.shape[i - len(self.axes)]
            first = one.outputs[0] - self._origin(i, k)
            last = one.outputs[1] - self._origin(i, k) + k - 1
            index = [slice(None)] * x.ndim
            index[axis] = slice(max(first - one.window[0], 0), max(last - one.window[0], 0))
            x = x[tuple(index)]
            pad[axis] = (max(one.window[0] - first, 0), max(last - one.window[1], 0))
        if any(any(p) for p in pad):
            x = cupy.pad(x, pad, constant_values=self.options.get("constant", 0))
        options = {**self.options, "mode": "valid"}
        for name in ("boundary", "constant", "algorithm", "threads"):
            options.pop(name, None)
        if len(self.axes) == 1:
            return (correlate if self.correlation else convolve)(x, self.taps, axis=self.axes[0], **options)
        taps = np.moveaxis(self.taps, 0, -1) if self.taps.ndim == 3 else self.taps
        operation = "correlation" if self.correlation else "convolution"
        return _image.image(x, taps, channel_axis=-1 if self.channels else None, operation=operation, **options)

    def _origin(self, i, k):
        default = {"full": k - 1, "causal": k - 1, "same": k // 2}.get(self.options.get("mode", "full"), 0)
        return default if self.origins[i] is None else self.origins[i]


def _origins(origin, count):
    if origin is None:
        return [None] * count
    if np.ndim(origin) == 0:
        return [int(origin)] * count
    if len(origin) != count:
        raise ValueError(f"origin: {origin!r}; give an index for each of {count} filtered axes")
    return [None if o is None else int(o) for o in origin]


def signal_filter(shape, signal_dtype, taps, mode, axis, **options):
    """The `Filter` of `tapline.convolve`: the same arguments and errors."""
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"axis: {axis} of an array with {len(shape)} axes")
    return Filter(shape, signal_dtype, taps, (axis % len(shape),), mode=mode, **options)


def image_filter(shape, signal_dtype, taps, mode, channel_axis, **options):
    """The `Filter` of `tapline.image`."""
    channels = has_channels(len(shape), channel_axis)
    last = len(shape) - 1 - channels
    return Filter(shape, signal_dtype, taps, (last - 1, last), mode=mode, channels=bool(channels), **options)


def assemble(shape, dtype, axes, pieces, empty=np.empty):
    """An array of `shape` from `pieces`: ((place, step) for each of `axes`, array); a place is (first, last)."""
    x = empty(shape, dtype)
    for places, piece in pieces:
        put(x, axes, places, piece)
    return x


def put(x, axes, places, piece):
    """A piece into its places, (place, step) for each of `axes`."""
    target = [slice(None)] * x.ndim
    source = [slice(None)] * x.ndim
    for axis, ((first, last), step) in zip(axes, places, strict=True):
        target[axis] = slice(first, last)
        source[axis] = slice(None, None, -1) if step < 0 else slice(None)
    x[tuple(target)] = piece[tuple(source)]
