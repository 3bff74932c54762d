"""Zarr arrays whose chunks are files of nothing but their samples: read as they are mapped, written from where results lie.

zarr-python reads a whole chunk into memory of its own, copies it into another and leaves a window of several chunks to be joined
from these; here the page cache is copied into the window, and of a neighbour only what the window reaches. What is compressed,
filtered, in shards, in another order of bytes or axes, or in a store without files has no `ChunkFiles`: zarr-python reads and
writes it.
"""

import contextlib
import errno
import itertools
import math
import mmap
import os
import sys
import uuid

import numpy as np

# Linux' RWF_DONTCACHE (6.14 and later): what is written goes to the disk at once and leaves the system's cache when it is there.
_PAST_THE_CACHE = 0x80


def files_of(array):
    """The `ChunkFiles` of an array, or None."""
    zarr = sys.modules.get("zarr")
    if zarr is None or type(array) is not getattr(zarr, "Array", None) or not array.shape:
        return None
    folder = folder_of(array)
    return ChunkFiles(array, folder) if folder is not None and _is_plain(array) else None


def folder_of(array):
    """Where an array of Zarr lies, if that is a folder."""
    zarr, place = sys.modules.get("zarr"), getattr(array, "store_path", None)
    if zarr is None or place is None:
        return None
    root = _root(zarr, place.store)
    return None if root is None else os.path.join(root, place.path)


def _root(zarr, store):
    """The folder of a store of local files."""
    if type(store) is zarr.storage.LocalStore:
        return os.fspath(store.root)
    # What Dask makes of a path.
    if type(store) is zarr.storage.FsspecStore:
        system = getattr(store.fs, "sync_fs", store.fs)
        if f"{type(system).__module__}.{type(system).__name__}" == "fsspec.implementations.local.LocalFileSystem":
            return store.path
    return None


def _is_plain(array):
    metadata, dtype = array.metadata, array.dtype
    if dtype.kind not in "biufc" or not dtype.isnative or array.fill_value is None:
        return False
    if metadata.zarr_format == 2:
        return metadata.compressor is None and not metadata.filters and metadata.order == "C"
    codecs = metadata.codecs
    if len(codecs) != 1 or type(codecs[0]).__name__ != "BytesCodec" or type(metadata.chunk_grid).__name__ != "RegularChunkGrid":
        return False
    endian = codecs[0].endian
    return not metadata.storage_transformers and (endian is None or endian.value == sys.byteorder)


class ChunkFiles:
    """The files of an array's chunks. Pickled as the array, for whoever has the same folder."""

    def __init__(self, array, folder):
        self.array, self.folder = array, folder
        self.shape, self.chunks, self.dtype = array.shape, array.chunks, array.dtype
        self._key, self._fill = array.metadata.encode_chunk_key, array.fill_value
        self._keeps_empty = getattr(getattr(array, "config", None), "write_empty_chunks", False)  # older ones do not say
        # Where an array and one like it fill more than half of the memory, the first chunks have left the system's cache before the
        # last are written, and making room there costs more than the writing: 25 MB took 49 ms of a virtual machine, 7.7 without.
        self._is_large = 4 * array.nbytes > _memory_bytes()

    def __reduce__(self):
        return ChunkFiles, (self.array, self.folder)

    def read(self, out, index):
        """out[...] = array[index], of slices with a start and a stop."""
        for chunk, inside, outside in self._overlaps(index):
            samples = self._mapped(chunk)
            out[outside] = self._fill if samples is None else samples[inside]

    def mapped(self, index):
        """array[index] as it lies in a file, not to be written; None where it lies in several, or has none."""
        if any(s.start == s.stop for s in index):
            return None
        chunk, inside, _ = next(self._overlaps(index))
        if any(s.stop - s.start != i.stop - i.start for s, i in zip(index, inside, strict=True)):
            return None
        samples = self._mapped(chunk)
        return None if samples is None else samples[inside]

    def __setitem__(self, index, values):
        """Slices with a start and a stop; a chunk's file is replaced by a complete one or is left as it was."""
        if self.array.read_only or not self._are_whole(index):
            self.array[index] = values
            return
        for chunk, inside, outside in self._overlaps(index):
            part = values[outside]
            # Perhaps nothing but the fill value: such chunks have no file, and zarr-python knows when they are the same.
            first = part[(0,) * part.ndim]
            if not self._keeps_empty and (first == self._fill or np.isnan(first)):
                at = tuple(slice(s.start + o.start, s.start + o.stop) for s, o in zip(index, outside, strict=True))
                self.array[at] = part
                continue
            if part.shape != self.chunks:  # the last along an axis: its file has all of a chunk
                whole = np.full(self.chunks, self._fill, self.dtype)
                whole[inside] = part
                part = whole
            _replace(self._path(chunk), np.ascontiguousarray(part, self.dtype), _PAST_THE_CACHE if self._is_large else 0)

    def _are_whole(self, index):
        bounds = zip(index, self.chunks, self.shape, strict=True)
        return all(s.start % c == 0 and (s.stop % c == 0 or s.stop == n) for s, c, n in bounds)

    def _overlaps(self, index):
        """(chunk, slices of it, slices of the index) for each chunk that an index reaches."""
        along = []
        for s, n in zip(index, self.chunks, strict=True):
            reached = range(s.start // n, -(-s.stop // n))
            cuts = [(max(s.start, i * n), min(s.stop, (i + 1) * n)) for i in reached]
            along.append(
                [(i, slice(a - i * n, b - i * n), slice(a - s.start, b - s.start)) for i, (a, b) in zip(reached, cuts, strict=True)]
            )
        for parts in itertools.product(*along):
            yield tuple(zip(*parts, strict=True))

    def _path(self, chunk):
        return os.path.join(self.folder, self._key(chunk))

    def _mapped(self, chunk):
        """The samples of a chunk, mapped; None if it has no file."""
        path = self._path(chunk)
        try:
            file = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            size, expected = os.fstat(file).st_size, math.prod(self.chunks) * self.dtype.itemsize
            if size != expected:
                raise ValueError(f"source: {path} has {size} bytes; a chunk of {self.chunks} {self.dtype} has {expected}")
            memory = _content(file, size)
        finally:
            os.close(file)
        return np.frombuffer(memory, self.dtype).reshape(self.chunks)


def _content(file, size):
    try:
        return mmap.mmap(file, size, access=mmap.ACCESS_READ)
    except OSError:  # a file system that maps nothing
        with open(file, "rb", closefd=False) as opened:
            return opened.read()


def _memory_bytes():
    """Of the machine; without end where that is not known."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return sys.maxsize


def _replace(path, values, flags):
    """A file of nothing but the values, by way of another name, as zarr-python's."""
    partial = f"{path}.{uuid.uuid4().hex}.partial"
    try:
        file = open(partial, "wb", buffering=0)  # noqa: SIM115
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file = open(partial, "wb", buffering=0)  # noqa: SIM115
    try:
        with file:
            left = memoryview(values.reshape(-1).view(np.uint8))
            while left:
                left = left[_written(file, left, flags) :]
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)
        raise


def _written(file, content, flags):
    """How many bytes of it, at the file's position."""
    if flags and hasattr(os, "pwritev"):
        try:
            at = file.tell()
            count = os.pwritev(file.fileno(), [content], at, flags)
            file.seek(at + count)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # an older system, or a file system that has no such writes
                raise
        else:
            return count
    return file.write(content)
