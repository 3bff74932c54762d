"""Convolution of Dask arrays, lazily, chunk by chunk: signals, images, and arrays larger than a machine.

`import tapline.dask` needs Dask; nothing else of tapline does. An output chunk depends on its chunk and on slices of its neighbours
as wide as the filter reaches, over as many of them as it reaches; nothing is rechunked. However an array is chunked, the bits
are the same: algorithm and blocks are chosen for the whole. Each task uses one thread, as Dask runs many at a time; chunks may
be arrays of NumPy or of CuPy. Of arrays that `dask.array.from_zarr` opened, whose chunks are files of nothing but their samples,
an output chunk is read from these with what the filter reaches beside it, and `to_zarr` writes such files.
"""

import contextlib
import gc
import itertools
import math
import operator
import os

import dask
import dask.array as da
import dask.local
import dask.threaded
import numpy as np
from dask._task_spec import DataNode, Task, TaskRef
from dask.array.core import getter, getter_nofancy
from dask.base import get_scheduler, tokenize
from dask.blockwise import Blockwise
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from dask.layers import ArraySliceDep

from tapline import _parts
from tapline._parts import stores, windows
from tapline._parts.chunk_files import ChunkFiles, files_of

__all__ = ["convolve", "correlate", "image", "to_zarr"]

# Schedulers.
_IN_THIS_PROCESS = (None, dask.local.get_sync, dask.threaded.get)


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


def to_zarr(x, target, *, overwrite=False, compute=True, **settings):
    """Store a Dask array as a Zarr array, each chunk as it is.

    Uncompressed chunks in a folder are written straight into their files; zarr-python writes all others.

    Parameters
    ----------
    x : dask.array.Array
        Of chunks of known size; those that would share a chunk of the target are rechunked.
    target : str, os.PathLike, zarr store or zarr.Array
        A path or store is made a new array; `overwrite` replaces one that is there. An array must have the shape and type of `x`.
    compute : bool
        False: what stores when it is computed is returned.
    settings
        Of `zarr.create_array`, for a new array. By default `chunks` are those of `x` and `compressors` is None.

    Returns
    -------
    zarr.Array
        The target. ValueError where it does not fit, or `x` is made from it.

    Examples
    --------
    >>> import dask.array as da, numpy as np, tapline.dask
    >>> x = da.from_array(np.arange(6.0), chunks=2)
    >>> tapline.dask.to_zarr(tapline.dask.convolve(x, [0.5, 0.5], "valid"), "smooth.zarr")[:]
    array([0.5, 1.5, 2.5, 3.5, 4.5])
    """
    import zarr

    x = _known(x)
    if _parts.is_cupy(x._meta):
        raise TypeError("x: chunks of CuPy; bring them to the host with x.map_blocks(cupy.asnumpy)")
    target = os.fspath(target) if isinstance(target, os.PathLike) else target
    for source in _sources(x):
        stores.check_apart(target, source)
    if isinstance(target, zarr.Array):
        stores.check_fits(target, x.shape, x.dtype)
        array = target
    else:
        settings = {"chunks": tuple(map(max, x.chunks)), "compressors": None, **settings}
        array = zarr.create_array(target, shape=x.shape, dtype=x.dtype, overwrite=overwrite, **settings)
    whole = array.shards or array.chunks
    if any(stop % n for c, n in zip(x.chunks, whole, strict=True) for stop in itertools.accumulate(c[:-1])):
        x = x.rechunk(tuple(n * max(max(c) // n, 1) for c, n in zip(x.chunks, whole, strict=True)))
    if compute and isinstance(array.store, zarr.storage.MemoryStore) and get_scheduler(collections=[x]) not in _IN_THIS_PROCESS:
        raise ValueError("target: a store in this process's memory, which Dask's workers do not reach; give a path")
    stored = x.store(files_of(array) or array, lock=False, compute=compute)
    return array if compute else stored


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
    name = f"tapline-{tokenize(x.name, spec)}"
    files = None if on_gpu else _files_of(x)
    with _without_collecting():
        graph = _tasks(x.name, spec, axes, name) if files is None else _tasks_on_files(files, spec, x.chunks, name)
    # Tasks on chunks of a GPU go to workers that have one, where workers are told apart (dask-cuda, --resources "GPU=1").
    resources = dask.config.get("tapline.gpu-resources", None) if on_gpu else None
    with dask.annotate(resources=resources) if resources else dask.annotate():
        layer = HighLevelGraph.from_collections(name, graph, dependencies=[x] if files is None else [])
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


@contextlib.contextmanager
def _without_collecting():
    """Nothing of a graph can be garbage yet, and looking for it takes as long as making 10,000 tasks."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _array_of(x):
    """What `from_zarr`, `from_array` or `xarray.open_zarr` slices an array's chunks from, as they are; None of other arrays."""
    layer = x.dask.layers.get(x.name)
    task = getattr(layer, "task", None)
    if not isinstance(layer, Blockwise) or getattr(task, "func", None) not in (getter, getter_nofancy) or task.kwargs.get("lock"):
        return None
    (source, _), (chunks, _) = layer.indices
    slices = layer.io_deps.get(chunks)
    if not isinstance(slices, ArraySliceDep) or slices.chunks != x.chunks:
        return None
    if isinstance(source, TaskRef):
        original = x.dask.layers.get(source.key, {}).get(source.key)
        source = original.value if isinstance(original, DataNode) else original
    return _opened(source)


def _opened(array):
    """The stored array that xarray's own are around, where they do nothing to its samples; other arrays as they are."""
    inner = array
    while type(inner).__module__.startswith("xarray."):
        kind = type(inner).__name__
        if kind == "ZarrArrayWrapper":
            return inner.get_array()
        whole = kind != "LazilyIndexedArray" or all(s == slice(None) for s in inner.key.tuple)
        if not whole or kind not in ("ImplicitToExplicitIndexingAdapter", "CopyOnWriteArray", "LazilyIndexedArray"):
            break
        inner = inner.array
    return array


def _files_of(x):
    array = _array_of(x)
    return files_of(array) if array is not None and array.shape == x.shape and array.dtype == x.dtype else None


def _sources(x):
    """The stored arrays that an array is made from, as far as its graph tells."""
    sources = []
    for name, layer in x.dask.layers.items():
        # Others would make all of their tasks to answer.
        if isinstance(layer, MaterializedLayer):
            node = layer.get(name if name.startswith("original-") else _source_key(name))
            value = node.value if isinstance(node, DataNode) else node
            sources.append(value.array if isinstance(value, ChunkFiles) else value)
    return sources


def _source_key(name):
    """Of the files beside the tasks of the layer `name`."""
    return f"source-of-{name}"


def _tasks_on_files(files, spec, chunks, name):
    """Tasks: one for each output chunk."""
    spans = []
    for axis, lengths in enumerate(chunks):
        bounds = [0, *itertools.accumulate(lengths)]
        if axis in spec.axes:
            parts = spec.parts(axis, sorted({*bounds[1:-1]} - {0, bounds[-1]}))
            spans.append([windows.span_of(part) for part in parts if not part.is_empty])
        else:
            spans.append(list(itertools.pairwise(bounds)))
    spec_key, files_key = f"filter-of-{name}", _source_key(name)
    graph: dict = {spec_key: DataNode(spec_key, spec), files_key: DataNode(files_key, files)}
    spec_ref, files_ref = TaskRef(spec_key), TaskRef(files_key)
    for index in itertools.product(*(range(len(of_axis)) for of_axis in spans)):
        key = (name, *index)
        graph[key] = Task(key, _compute_from_files, spec_ref, files_ref, tuple(map(operator.getitem, spans, index)))
    return graph


def _compute_from_files(spec, files, region):
    return spec.compute(windows.from_files(files, spec.axes, region), windows.ranges_of(spec.axes, region))


def _tasks(source, spec, axes, name):
    """Tasks: one for each slice of a chunk, one for each output chunk."""
    cut_name, spec_key = name.replace("tapline", "tapline-cut", 1), f"filter-of-{name}"
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
    return graph


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
