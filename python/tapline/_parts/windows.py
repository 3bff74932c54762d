"""What the outputs of a part read, as slices of an array at hand: for `tapline.zarr`, and `tapline.dask` on files."""

import itertools
import math
from typing import NamedTuple

import numpy as np

from tapline import _parts
from tapline._parts.chunk_files import files_of


class Run(NamedTuple):
    """Samples [first, last) of a whole axis at a place (first, last) of the window: as they are (step 1), turned round (-1), or one
    of them everywhere (0)."""

    first: int
    last: int
    place: tuple[int, int]
    step: int


class Span(NamedTuple):
    """A part along a filtered axis. A region is a tuple of these and, along other axes, of (first, last)."""

    range: _parts.Range
    runs: tuple[Run, ...]


def span_of(part):
    """Sources of neighbouring parts as one."""
    runs: list[Run] = []
    for s in part.sources:
        first = s.position - part.window[0]
        if runs and s.step == 1 and runs[-1].step == 1 and runs[-1].last == s.first:
            runs[-1] = Run(runs[-1].first, s.last, (runs[-1].place[0], first + s.length), 1)
        else:
            runs.append(Run(s.first, s.last, (first, first + s.length), s.step))
    return Span(_parts.range_of(part), tuple(runs))


def outputs_of(region):
    """The index of a region's outputs."""
    return tuple(slice(*(r.range.outputs if isinstance(r, Span) else r)) for r in region)


def ranges_of(axes, region):
    return [region[axis].range for axis in axes]


def reads_of(axes, region):
    """(samples to read, their places in the window of a region): one, and a few at the ends of a boundary that needs others."""
    index = [slice(*r) if not isinstance(r, Span) else None for r in region]
    reads = []
    for combination in itertools.product(*(region[axis].runs for axis in axes)):
        for axis, run in zip(axes, combination, strict=True):
            index[axis] = slice(run.first, run.last)
        reads.append((tuple(index), [(run.place, run.step) for run in combination]))
    return reads


def main_of(reads):
    """The index of the largest of them."""
    return max((index for index, _ in reads), key=lambda index: math.prod(r.stop - r.start for r in index))


def _shape_of(region):
    return [r.range.window[1] - r.range.window[0] if isinstance(r, Span) else r[1] - r[0] for r in region]


def from_files(files, axes, region):
    """The window of a region, of an array in files (`ChunkFiles`); not to be written."""
    reads = reads_of(axes, region)
    if len(reads) == 1 and all(step == 1 for _, step in reads[0][1]):
        as_it_lies = files.mapped(reads[0][0])
        if as_it_lies is not None:
            return as_it_lies
    x = np.empty(_shape_of(region), files.dtype)
    for index, places in reads:
        target = [slice(None)] * x.ndim
        for axis, (place, _) in zip(axes, places, strict=True):
            target[axis] = slice(*place)
        if all(step == 1 for _, step in places):
            files.read(x[tuple(target)], index)
        else:
            piece = np.empty([s.stop - s.start for s in index], files.dtype)
            files.read(piece, index)
            _parts.put(x, axes, places, piece)
    return x


class Windows:
    """Those of an array, one behind the other."""

    def __init__(self, x, axes):
        self._axes, self._files, self._onward = axes, files_of(x), _Onward(x)

    def window(self, region, following):
        """The window of a region; that of the `following` one, or None, is asked for next."""
        if self._files is not None:
            return from_files(self._files, self._axes, region)
        reads = reads_of(self._axes, region)
        main = main_of(reads)
        samples = self._onward.read(main, None if following is None else main_of(reads_of(self._axes, following)))
        pieces = [(places, samples if index == main else self._onward.beside(index, main, samples)) for index, places in reads]
        (places, piece), *more = pieces
        if not more and all(step == 1 for _, step in places):
            return piece
        return _parts.assemble(_shape_of(region), piece.dtype, self._axes, pieces)


class _Onward:
    """Windows of an array in chunks, one behind the other along an axis: what two of them read is read once, and so is each chunk,
    where a store can only read whole ones. Keeps a chunk's length across the window at most, beside what the next one reads."""

    def __init__(self, x):
        self._x = x
        self._chunks = getattr(x, "chunks", None)
        self._kept = None  # (axis, index, the samples there)

    def read(self, index, following):
        """The samples at an index of slices; the next that are asked for are at `following`, or None."""
        if self._chunks is None:
            return np.asarray(self._x[index])
        kept, self._kept = self._kept, None
        axis = _goes_on(index, following)
        wanted = list(index)
        if axis is not None:
            stop = -(-index[axis].stop // self._chunks[axis]) * self._chunks[axis]
            wanted[axis] = slice(index[axis].start, min(stop, self._x.shape[axis]))
        block = self._joined(tuple(wanted), kept)
        if axis is None:
            return block
        before = (slice(None),) * axis
        first = index[axis].start
        of_next, of_this = (*before, slice(following[axis].start - first, None)), (*before, slice(index[axis].stop - first))
        tail = block[of_next]
        at = (*index[:axis], slice(following[axis].start, wanted[axis].stop), *index[axis + 1 :])
        self._kept = axis, at, tail if 2 * tail.nbytes >= block.nbytes else tail.copy()
        return block[of_this]

    def beside(self, index, main, samples):
        """Those at an index, from the samples at `main` if they are among these, as of a boundary that turns them round."""
        if all(m.start <= i.start and i.stop <= m.stop for i, m in zip(index, main, strict=True)):
            return samples[tuple(slice(i.start - m.start, i.stop - m.start) for i, m in zip(index, main, strict=True))]
        return np.asarray(self._x[index])

    def _joined(self, index, kept):
        """The samples at an index, the first of them from those that were kept."""
        if kept is None or not _is_behind(index, kept):
            return np.asarray(self._x[index])
        axis, at, samples = kept
        inside = (*(slice(None),) * axis, slice(index[axis].start - at[axis].start, index[axis].stop - at[axis].start))
        samples = samples[inside]
        if index[axis].stop <= at[axis].stop:
            return samples
        rest = (*index[:axis], slice(at[axis].stop, index[axis].stop), *index[axis + 1 :])
        return np.concatenate((samples, np.asarray(self._x[rest])), axis)


def _goes_on(index, following):
    """The axis along which the following index is further on and begins before this one ends; None if there is none."""
    if following is None:
        return None
    differing = [axis for axis, (a, b) in enumerate(zip(index, following, strict=True)) if a != b]
    if len(differing) != 1:
        return None
    a, b = index[differing[0]], following[differing[0]]
    return differing[0] if a.start <= b.start < a.stop <= b.stop else None


def _is_behind(index, kept):
    axis, at, _ = kept
    others = all(a == b for i, (a, b) in enumerate(zip(index, at, strict=True)) if i != axis)
    return others and at[axis].start <= index[axis].start < at[axis].stop
