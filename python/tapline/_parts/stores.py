"""Arrays in stores, as `tapline.zarr` reads and writes them: Zarr, `.npy`, HDF5, and what runs remember of their progress.

A target that is made here is either there as a whole or stands beside a journal that says which regions of it are done. The journal
comes first and goes last, so that a run that was killed at any moment can be told from somebody else's data, and goes on.
"""

import abc
import contextlib
import json
import os
import pathlib
from typing import Any

import numpy as np

from tapline._parts.chunk_files import files_of, folder_of

# In the attributes of arrays in stores that have no paths.
_PROGRESS = "tapline_progress"


def _kind(path):
    """'npy', 'hdf5' or 'zarr' of a path's text."""
    name, _, dataset = path.rpartition(":")
    if name.lower().endswith((".h5", ".hdf5")) or (dataset.lower().endswith((".h5", ".hdf5"))):
        return "hdf5"
    return "npy" if path.lower().endswith(".npy") else "zarr"


def _hdf5_names(path):
    file, _, name = path.rpartition(":")
    if not file:
        raise ValueError(f"{path}: which dataset? Write FILE.h5:/NAME")
    return file, name


def _is_path(place):
    return isinstance(place, (str, os.PathLike)) and "://" not in str(place)


def opened(source):
    """The source as an array to slice, opened for reading alone."""
    if hasattr(source, "shape") and hasattr(source, "dtype"):
        return source
    if not _is_path(source):
        return _zarr().open_array(source, mode="r")
    path = os.fspath(source)
    kind = _kind(path)
    if kind == "npy":
        return np.load(path, mmap_mode="r", allow_pickle=False)
    if kind == "hdf5":
        file, name = _hdf5_names(path)
        data = _h5py().File(file, "r")
        if name not in data:
            raise ValueError(f"{path}: no such dataset; it has {', '.join(data)}")
        return data[name]
    if not os.path.isdir(path):
        raise FileNotFoundError(f"{path}: no Zarr array is there")
    return _zarr().open_array(path, mode="r")


def _zarr():
    try:
        import zarr
    except ImportError as error:
        raise ImportError("Zarr arrays need the package zarr: pip install zarr") from error
    if int(zarr.__version__.partition(".")[0]) < 3:
        raise ImportError(f"Zarr arrays need zarr 3 or later, which needs Python 3.11; this is zarr {zarr.__version__}")
    return zarr


def _h5py():
    try:
        import h5py
    except ImportError as error:
        raise ImportError("HDF5 files need the package h5py: pip install h5py") from error
    return h5py


class _Journal:
    """Which regions are done, in a file: a line for the problem, then one for each region."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self._file: Any = None

    def read(self):
        """(problem, regions, those that are done), or None. A last line that was not finished is none."""
        try:
            lines = self.path.read_text().split("\n")[:-1]
        except FileNotFoundError:
            return None
        if not lines:
            return None
        head = json.loads(lines[0])
        return head["problem"], head["regions"], {int(line) for line in lines[1:]}

    def start(self, problem, regions, done):
        """Begins the file, which is there as a whole or not at all."""
        partial = self.path.with_name(self.path.name + ".new")
        lines = [json.dumps({"problem": problem, "regions": regions}), *map(str, sorted(done))]
        partial.write_text("\n".join(lines) + "\n")
        os.replace(partial, self.path)
        self._file = open(self.path, "a", encoding="ascii")  # noqa: SIM115

    def add(self, region):
        self._file.write(f"{region}\n")
        self._file.flush()

    def close(self):
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self):
        self.close()
        self.path.unlink(missing_ok=True)


class _AttributesJournal:
    """The same in the attributes of a Zarr array, for stores without paths."""

    def __init__(self, array_of):
        self._array_of = array_of
        self._state: Any = None

    def read(self):
        array = self._array_of()
        state = None if array is None else array.attrs.get(_PROGRESS)
        return None if state is None else (state["problem"], state["regions"], set(state["done"]))

    def start(self, problem, regions, done):
        self._state = {"problem": problem, "regions": regions, "done": sorted(done)}
        array = self._array_of()
        if array is not None:
            array.attrs[_PROGRESS] = self._state

    def add(self, region):
        self._state["done"].append(region)
        self._array_of().attrs[_PROGRESS] = self._state

    def close(self):
        pass

    def remove(self):
        array = self._array_of()
        if array is not None and _PROGRESS in array.attrs:
            del array.attrs[_PROGRESS]


def _for_all_chunks(array, index, values):
    """The array to write a region with. Zarr leaves out chunks of nothing but the fill value and compares all of each chunk for
    that, which takes twice as long as writing it; where no chunk begins with that value none is such a chunk."""
    fill = getattr(array, "fill_value", None)
    if fill is None or not hasattr(array, "with_config") or any(i.start % n for i, n in zip(index, array.chunks, strict=True)):
        return array
    begins = values[tuple(slice(None, None, n) for n in array.chunks)]
    return array.with_config({"write_empty_chunks": True}) if bool((begins != fill).all()) else array


def check_fits(array, shape, dtype):
    if tuple(array.shape) != tuple(shape) or array.dtype != dtype:
        raise ValueError(f"target: {tuple(array.shape)} {array.dtype}; the result is {tuple(shape)} {dtype}")


class _Target:
    """An array that is written region by region."""

    array: Any = None
    chunks: tuple = ()

    def __init__(self):
        self._done = set()
        self._files: Any = None  # of the array, where its chunks are such

    @property
    def done(self):
        return len(self._done)

    def begin(self, regions):
        self._done = set()

    def is_done(self, number):
        return number in self._done

    def write(self, index, values):
        if self._files is None or self._files.array is not self.array:
            self._files = files_of(self.array)
        if self._files is not None:
            self._files[index] = values
        else:
            _for_all_chunks(self.array, index, values)[index] = values

    def finish_region(self, number):
        self._done.add(number)

    def finish(self):
        return self.array

    def close(self):
        pass


class _Given(_Target):
    """One that the caller opened."""

    def __init__(self, array, shape, dtype):
        super().__init__()
        check_fits(array, shape, dtype)
        self.array = array
        self.chunks = getattr(array, "shards", None) or getattr(array, "chunks", None) or shape


class _Made(_Target, abc.ABC):
    """One that is made here, with a journal: begin() sets `array`, by create() anew, by reopen() to go on."""

    name = ""

    def __init__(self, problem, journal, overwrite):
        super().__init__()
        self.problem, self.overwrite = problem, overwrite
        self.journal: Any = journal

    def begin(self, regions):
        known: Any = self.journal.read()
        if known is not None and not self.overwrite and known[:2] != (self.problem, regions):
            raise ValueError(
                f"{self.name}: an interrupted run of another problem stands there ({known[0]} in {known[1]} regions, now "
                f"{self.problem} in {regions}); overwrite=True begins anew"
            )
        resumes = known is not None and not self.overwrite
        self._done = known[2] if resumes else set()
        if not resumes and not self.overwrite and self.exists():
            raise FileExistsError(f"{self.name}: it is there already; give another name, or overwrite=True")
        self.journal.start(self.problem, regions, self._done)
        self.array = self.reopen() if self._done else self.create()
        if isinstance(self.journal, _AttributesJournal):  # which has an array only now
            self.journal.start(self.problem, regions, self._done)

    @abc.abstractmethod
    def exists(self) -> bool:
        """Whether something is there already."""

    @abc.abstractmethod
    def create(self) -> Any:
        """A new array, in the place of what is there."""

    @abc.abstractmethod
    def reopen(self) -> Any:
        """The array that an interrupted run has left."""

    def finish_region(self, number):
        self.flush()
        super().finish_region(number)
        self.journal.add(number)

    def finish(self):
        self.journal.remove()
        return super().finish()

    def flush(self):
        """Before the journal says that a region is done."""

    def close(self):
        self.journal.close()


class _Npy(_Made):
    """A memory map under another name, renamed when it is complete."""

    def __init__(self, path, shape, dtype, problem, overwrite):
        super().__init__(problem, _Journal(path + ".tapline"), overwrite)
        self.name, self._partial, self._shape, self._dtype = path, path + ".part", shape, dtype
        # Rows of about a MiB.
        row = max(int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize, 1)
        self.chunks = (max((1 << 20) // row, 1), *shape[1:]) if len(shape) > 1 else (min(shape[0], (1 << 20) // dtype.itemsize),)

    def exists(self):
        return os.path.exists(self.name)

    def create(self):
        return np.lib.format.open_memmap(self._partial, "w+", self._dtype, self._shape)

    def reopen(self):
        return np.lib.format.open_memmap(self._partial, "r+")

    def finish(self):
        self.array.flush()
        os.replace(self._partial, self.name)
        super().finish()
        return np.load(self.name, mmap_mode="r")


class _Hdf5(_Made):
    """A dataset. What is killed while the library writes may leave a file that it cannot open: regions are flushed one by one, but
    HDF5 itself has no journal."""

    def __init__(self, path, source, shape, dtype, chunks, problem, overwrite):
        file, name = _hdf5_names(path)
        super().__init__(problem, _Journal(f"{file}.{name.strip('/').replace('/', '.')}.tapline"), overwrite)
        self.name, self._dataset = path, name
        self._file = _h5py().File(file, "a")
        own = chunks or getattr(source, "chunks", None)
        self._chunks = None if own is None else tuple(min(c, n) for c, n in zip(own, shape, strict=True))
        self._shape, self._dtype = shape, dtype
        self._filters = {n: getattr(source, n, None) for n in ("compression", "compression_opts", "shuffle", "fletcher32")}
        self._attributes = dict(getattr(source, "attrs", {}))
        self.chunks = self._chunks or shape

    def exists(self):
        return self._dataset in self._file

    def create(self):
        if self.exists():
            del self._file[self._dataset]
        filters = {n: v for n, v in self._filters.items() if v and self._chunks is not None}
        made = self._file.create_dataset(self._dataset, self._shape, self._dtype, chunks=self._chunks, **filters)
        made.attrs.update(self._attributes)
        return made

    def reopen(self):
        return self._file[self._dataset]

    def flush(self):
        self._file.flush()


class _Zarr(_Made):
    def __init__(self, place, source, shape, dtype, chunks, problem, overwrite):
        path = os.fspath(place) if _is_path(place) else None
        super().__init__(
            problem, _AttributesJournal(lambda: self.array) if path is None else _Journal(path + ".tapline"), overwrite
        )
        self.name, self._place = path or repr(place), path or place
        self._settings = _like(source, shape, dtype, chunks)
        self.chunks = self._settings["shards"] or self._settings["chunks"]
        if path is None:  # the attributes are asked first
            self.array = self._opened()

    def _opened(self):
        zarr = _zarr()
        try:
            return zarr.open_array(self._place, mode="r+")
        except (FileNotFoundError, zarr.errors.NodeNotFoundError, KeyError):
            return None

    def exists(self):
        return os.path.exists(self._place) if isinstance(self._place, str) else self.array is not None

    def create(self):
        return _zarr().create_array(self._place, overwrite=True, **self._settings)

    def reopen(self):
        array = self._opened()
        if array is None or array.shape != self._settings["shape"] or array.dtype != self._settings["dtype"]:
            raise ValueError(f"{self.name}: not what its journal says is there; overwrite=True begins anew")
        folder = folder_of(array)
        for path in () if folder is None else pathlib.Path(folder).rglob("*.partial"):  # chunks that were being written
            path.unlink(missing_ok=True)
        return array


def _like(source, shape, dtype, chunks):
    """What a new Zarr array is made with: as the source, where that is one."""
    settings = {"shape": shape, "dtype": dtype, "chunks": chunks, "shards": None}
    if hasattr(source, "compressors"):
        settings["compressors"] = source.compressors
        settings["attributes"] = {name: value for name, value in source.attrs.items() if name != _PROGRESS}
        settings["zarr_format"] = source.metadata.zarr_format
        if source.dtype == dtype:
            settings["filters"] = source.filters
            settings["fill_value"] = source.fill_value
        if source.metadata.zarr_format == 3:
            settings["dimension_names"] = source.metadata.dimension_names
            settings["shards"] = source.shards if chunks is None else None
    if settings["chunks"] is None:
        own = getattr(source, "chunks", None)
        if own is None:  # about a MiB each
            own = list(shape)
            while int(np.prod(own, dtype=np.int64)) * dtype.itemsize > 1 << 20:
                own[int(np.argmax(own))] = -(-max(own) // 2)
        settings["chunks"] = tuple(own)
    return settings


def _path_of(place):
    """Where an array lies, as far as it has a path."""
    if isinstance(place, (str, os.PathLike)):
        return os.path.realpath(os.fspath(place))
    folder = folder_of(place)
    return None if folder is None else os.path.realpath(folder)


def check_apart(place, source):
    """The source is never touched."""
    theirs = getattr(source, "filename", None) if isinstance(source, np.memmap) else source
    own, other = _path_of(place), _path_of(theirs) if theirs is not None else None
    arrays = isinstance(place, np.ndarray) and isinstance(source, np.ndarray) and np.may_share_memory(place, source)
    if place is source or arrays or (own is not None and own == other):
        raise ValueError(f"target: {place} is the source's own place, or the same; give another")


@contextlib.contextmanager
def target(place, source, shape, dtype, chunks, problem, overwrite):
    """Where the result goes. Regions are aligned to its `chunks`."""
    check_apart(place, source)
    if hasattr(place, "shape") and hasattr(place, "dtype"):
        out: _Target = _Given(place, shape, dtype)
    elif _is_path(place) and _kind(os.fspath(place)) == "npy":
        out = _Npy(os.fspath(place), shape, dtype, problem, overwrite)
    elif _is_path(place) and _kind(os.fspath(place)) == "hdf5":
        out = _Hdf5(os.fspath(place), source, shape, dtype, chunks, problem, overwrite)
    else:
        out = _Zarr(place, source, shape, dtype, chunks, problem, overwrite)
    try:
        yield out
    finally:
        out.close()
