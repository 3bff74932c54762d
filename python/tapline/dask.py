"""Convolution of Dask arrays, lazily, chunk by chunk: signals, images, and arrays larger than a machine.

`import tapline.dask` needs Dask; nothing else of tapline does. An output chunk depends on its chunk and on slices of its neighbours
as wide as the filter reaches, over as many of them as it reaches; nothing is rechunked. However an array is chunked, the bits
are the same: algorithm and blocks are chosen for the whole. Each task uses one thread, as Dask runs many at a time; chunks may
be arrays of NumPy or of CuPy.
"""

import gc
import itertools
import math
import operator

import dask
import dask.array as da
import numpy as np
from dask._task_spec import DataNode, Task, TaskRef
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from tapline import _parts

__all__ = ["convolve", "correlate", "image"]


def convolve(x, taps, mode="full", *, axis=-1, boundary="zero", constant=None, origin=None, accuracy="standard", dtype=None,
             scale=1.0, bias=0.0, clamp=None, overflow="error", threads=1):  # fmt: skip
    """`tapline.convolve` along an axis of a Dask array.

    Parameters
    ----------
    x : dask.array.Array
        Any number of axes and any chunks of known size. Rows are signals of their own: no two share a transform.
    taps : array_like
        One axis: the filter of all rows, of any length.
    threads : int
        Of each task; 0: all that its process may run on.

    The other arguments are those of `tapline.convolve`. In mode 'full' the last chunk along the axis has the further outputs, in
    mode 'valid' the last ones have fewer or are left out.

    Returns
    -------
    dask.array.Array
        Lazy. ValueError for chunks of unknown size and arguments that `tapline.convolve` refuses.

    Examples
    --------
    >>> import dask.array as da, numpy as np, tapline.dask
    >>> x = da.from_array(np.arange(6.0), chunks=2)
    >>> tapline.dask.convolve(x, [1, 1, 1], "same").compute()
    array([ 1.,  3.,  6.,  9., 12.,  9.])
    """
    options = {"boundary": boundary, "constant": constant, "origin": origin, "accuracy": accuracy, "dtype": dtype, "scale": scale,
               "bias": bias, "clamp": clamp, "overflow": overflow, "threads": threads}  # fmt: skip
    x = _known(x)
    return _filtered(x, _parts.signal_filter(x.shape, x.dtype, taps, mode, axis, **options))


def correlate(x, taps, mode="full", *, axis=-1, boundary="zero", constant=None, origin=None, accuracy="standard", dtype=None,
              scale=1.0, bias=0.0, clamp=None, overflow="error", threads=1):  # fmt: skip
    """`tapline.correlate` along an axis of a Dask array; see `convolve`.

    Examples
    --------
    >>> import dask.array as da, numpy as np, tapline.dask
    >>> x = da.from_array(np.arange(6.0), chunks=4)
    >>> tapline.dask.correlate(x, [-1, 0, 1], "valid").compute()
    array([2., 2., 2., 2.])
    """
    options = {"boundary": boundary, "constant": constant, "origin": origin, "accuracy": accuracy, "dtype": dtype, "scale": scale,
               "bias": bias, "clamp": clamp, "overflow": overflow, "threads": threads}  # fmt: skip
    x = _known(x)
    return _filtered(x, _parts.signal_filter(x.shape, x.dtype, taps, mode, axis, correlation=True, **options))


def image(x, taps, mode="same", *, channel_axis=None, boundary="zero", constant=None, origin=None, operation="convolution",
          accuracy="standard", dtype=None, scale=1.0, bias=0.0, clamp=None, threads=1):  # fmt: skip
    """`tapline.image` of a Dask array: rows and columns are its last two axes, with ``channel_axis=-1`` those before the last.

    Parameters
    ----------
    x : dask.array.Array
        Any chunks of known size; of channels all in one chunk.
    taps : array_like
        The mask, (rows, columns), with channels also (rows, columns, channels).

    The other arguments are those of `tapline.image`; `threads` as for `convolve`.

    Examples
    --------
    >>> import dask.array as da, numpy as np, tapline.dask
    >>> x = da.ones((4, 6), chunks=(3, 2), dtype=np.float32)
    >>> tapline.dask.image(x, np.ones((3, 3)), boundary="nearest").compute()[0]
    array([9., 9., 9., 9., 9., 9.], dtype=float32)
    """
    if operation not in ("convolution", "correlation"):
        raise ValueError(f"operation: {operation!r}; one of 'convolution', 'correlation'")
    options = {"boundary": boundary, "constant": constant, "origin": origin, "accuracy": accuracy, "dtype": dtype, "scale": scale,
               "bias": bias, "clamp": clamp, "threads": threads, "correlation": operation == "correlation"}  # fmt: skip
    x = _known(x)
    if channel_axis is not None and x.ndim and x.numblocks[-1] > 1:
        raise ValueError(f"x: channels in {x.numblocks[-1]} chunks; rechunk them into one with x.rechunk({{-1: -1}})")
    return _filtered(x, _parts.image_filter(x.shape, x.dtype, taps, mode, channel_axis, **options))


def _known(x):
    if not isinstance(x, da.Array):
        raise TypeError(f"x: a {type(x).__name__}; give a dask.array, or use tapline.convolve or tapline.image")
    if any(math.isnan(n) for n in x.shape):
        raise ValueError("x: chunks of unknown size; x.compute_chunk_sizes() or x.persist() makes them known")
    if x.size == 0:
        raise ValueError(f"x: shape {x.shape}; give at least one sample")
    return x


def _filtered(x, spec):
    on_gpu = _parts.is_cupy(x._meta)
    axes = [_AxisOfGraph(spec, axis, chunks, by_blocks=not on_gpu) for axis, chunks in enumerate(x.chunks)]
    token = tokenize(x.name, spec)
    graph, name = _graph(x.name, spec, axes, token)
    # Tasks on chunks of a GPU go to workers that have one, where workers are told apart (dask-cuda, --resources "GPU=1").
    resources = dask.config.get("tapline.gpu-resources", None) if on_gpu else None
    with dask.annotate(resources=resources) if resources else dask.annotate():
        layer = HighLevelGraph.from_collections(name, graph, dependencies=[x])
    meta = x._meta.astype(spec.output_dtype)
    return da.Array(layer, name, tuple(axis.output_chunks for axis in axes), meta=meta)


class _AxisOfGraph:
    """Along one axis: for each output chunk the pieces of chunks that it needs, and what its task is told."""

    def __init__(self, spec, axis, chunks, by_blocks):
        if axis not in spec.axes:
            self.output_chunks = chunks
            self.kinds = [[None] for _ in chunks]
            self.tasks: list[tuple] = [(None, [(i, 0)]) for i in range(len(chunks))]
            return
        bounds = [0, *itertools.accumulate(chunks)]
        full = [i for i, n in enumerate(chunks) if n > 0]  # chunks of no samples have no part
        parts = [p for p in spec.parts(axis, [bounds[i] for i in full[1:]], by_blocks=by_blocks) if not p.is_empty]
        self.output_chunks = tuple(p.outputs[1] - p.outputs[0] for p in parts)
        # Which slices of a chunk are asked for; None is all of it.
        self.kinds = [[] for _ in chunks]
        self.tasks = []
        for part in parts:
            pieces, places = [], []
            for source in part.sources:
                chunk = full[source.part]
                cut = (source.first - bounds[chunk], source.last - bounds[chunk])
                kind = None if cut == (0, chunks[chunk]) else cut
                if kind not in self.kinds[chunk]:
                    self.kinds[chunk].append(kind)
                pieces.append((chunk, self.kinds[chunk].index(kind)))
                first = source.position - part.window[0]
                places.append(((first, first + source.length), source.step))
            self.tasks.append(((_parts.range_of(part), tuple(places)), pieces))


def _graph(source, spec, axes, token):
    """Tasks: one for each slice of a chunk, one for each output chunk."""
    # Nothing of this can be garbage yet, and looking for it takes as long as making 10,000 tasks.
    collects = gc.isenabled()
    gc.disable()
    try:
        return _tasks(source, spec, axes, token)
    finally:
        if collects:
            gc.enable()


def _tasks(source, spec, axes, token):
    name, cut_name, spec_key = f"tapline-{token}", f"tapline-cut-{token}", f"tapline-filter-{token}"
    graph: dict = {spec_key: DataNode(spec_key, spec)}
    spec_ref = TaskRef(spec_key)
    references: dict[tuple, TaskRef] = {}  # by (chunk, kind) of all axes
    everything = (None,) * len(axes)
    kinds = [[list(enumerate(of_chunk)) for of_chunk in axis.kinds] for axis in axes]
    for chunk in itertools.product(*(range(len(of_axis)) for of_axis in kinds)):
        whole = TaskRef((source, *chunk))
        for combination in itertools.product(*map(operator.getitem, kinds, chunk)):
            indices, cuts = zip(*combination, strict=True)
            place = chunk + indices
            if cuts == everything:
                references[place] = whole
                continue
            key = (cut_name, *place)
            graph[key] = Task(key, _cut, whole, cuts)
            references[place] = TaskRef(key)
    geometries: dict[tuple, tuple] = {}
    filtered = spec.axes
    for index in itertools.product(*(range(len(axis.tasks)) for axis in axes)):
        told = [axis.tasks[i] for axis, i in zip(axes, index, strict=True)]
        pieces = []
        for combination in itertools.product(*(pieces for _, pieces in told)):
            chunk, indices = zip(*combination, strict=True)
            pieces.append(references[chunk + indices])
        place = tuple(index[axis] for axis in filtered)
        geometry = geometries.get(place)
        if geometry is None:
            geometry = geometries[place] = tuple(told[axis][0] for axis in filtered)
        key = (name, *index)
        graph[key] = Task(key, _compute, spec_ref, geometry, *pieces)
    return graph, name


def _cut(chunk, cuts):
    """A slice of a chunk, in memory of its own: the chunk itself may go."""
    return chunk[tuple(slice(None) if cut is None else slice(*cut) for cut in cuts)].copy()


def _compute(spec, geometry, *pieces):
    """An output chunk from its pieces, in the order of the product of those of each filtered axis."""
    ranges = [one for one, _ in geometry]
    places = list(itertools.product(*(places for _, places in geometry)))
    plain = len(pieces) == 1 and all(step == 1 for _, step in places[0])
    if not plain:
        shape = list(pieces[0].shape)
        for axis, one in zip(spec.axes, ranges, strict=True):
            shape[axis] = one.window[1] - one.window[0]
        empty = np.empty
        if _parts.is_cupy(pieces[0]):
            import cupy

            empty = cupy.empty
        return spec.compute(_parts.assemble(shape, pieces[0].dtype, spec.axes, zip(places, pieces, strict=True), empty), ranges)
    return spec.compute(pieces[0], ranges)
