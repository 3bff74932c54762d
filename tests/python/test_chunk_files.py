"""Chunks that are files of nothing but samples: read and written here as zarr-python does."""

import errno
import itertools
import mmap
import os
import pickle

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")
from tapline._parts import chunk_files  # noqa: E402
from tapline._parts.chunk_files import files_of  # noqa: E402


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def drawn_slices(rng, n, step):
    """Slices that are [0, n) together, most at chunks of `step`, some anywhere."""
    at = rng.integers(0, n // step + 1, 3) * step if rng.random() < 0.7 else rng.integers(0, n + 1, 2)
    return [slice(a, b) for a, b in itertools.pairwise(sorted({0, n, *at.tolist()}))]


@pytest.mark.parametrize("seed", range(40))
def test_files_and_samples_are_those_of_zarr(seed, tmp_path):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 14, rng.integers(1, 4)).tolist())
    dtype = np.dtype(("?", "u1", "i2", "i8", "f2", "f4", "f8", "c8", "c16")[rng.integers(9)])
    settings = {
        "shape": shape,
        "dtype": dtype,
        "chunks": tuple(int(rng.integers(1, n + 1)) for n in shape),
        "compressors": None,
        "zarr_format": int(rng.integers(2, 4)),
        "fill_value": dtype.type((0, 1, np.nan if dtype.kind == "f" else 0)[rng.integers(3)]),
        "config": {"write_empty_chunks": bool(rng.random() < 0.3)},
    }
    here, there = (zarr.create_array(str(tmp_path / name), **settings) for name in ("here", "there"))
    # Few values: there are chunks of the fill value alone, and zeros of both signs.
    x = (rng.random(shape) * 3).astype(np.int8).astype(dtype)
    x = np.where(rng.random(shape) < 0.3, settings["fill_value"], x)
    x = x * dtype.type(-1) if dtype.kind == "f" and rng.random() < 0.3 else x
    files = files_of(here)
    assert files is not None
    for _ in range(2):  # over nothing, then over what is there
        for index in itertools.product(*(drawn_slices(rng, n, c) for n, c in zip(shape, settings["chunks"], strict=True))):
            files[index] = x[index]
            there[index] = x[index]
        assert contents(tmp_path / "here") == contents(tmp_path / "there")
        x = np.flip(x)
    again = pickle.loads(pickle.dumps(files_of(zarr.open_array(str(tmp_path / "here"), mode="r"))))
    for _ in range(5):
        index = tuple(slice(*sorted(rng.integers(0, n + 1, 2).tolist())) for n in shape)
        out = np.zeros([s.stop - s.start for s in index], dtype)
        again.read(out, index)
        np.testing.assert_array_equal(out, there[index])
        as_it_lies = again.mapped(index) if out.size else None
        if as_it_lies is not None:
            np.testing.assert_array_equal(as_it_lies, out)


@pytest.mark.parametrize(
    "settings",
    [
        {"compressors": "auto"},
        {"shards": (8,)},
        {"filters": [zarr.codecs.TransposeCodec(order=(0,))]},
        {"serializer": zarr.codecs.BytesCodec(endian="big")},
        {"dtype": ">f4", "zarr_format": 2},
        {"dtype": "M8[s]", "zarr_format": 2},
    ],
)
def test_what_has_no_such_files(settings, tmp_path):
    plain = {"shape": (16,), "chunks": (4,), "dtype": "f4", "compressors": None}
    assert files_of(zarr.create_array(str(tmp_path / "plain"), **plain)) is not None
    assert files_of(zarr.create_array(str(tmp_path / "other"), **{**plain, **settings})) is None
    assert files_of(zarr.create_array(zarr.storage.MemoryStore(), **plain)) is None
    assert files_of(np.zeros(3)) is None


def test_arrays_of_groups_and_of_paths_by_fsspec(tmp_path):
    pytest.importorskip("fsspec")
    group = zarr.open_group(str(tmp_path / "group"), mode="w")
    array = group.create_array("x", shape=(6,), chunks=(4,), dtype="i4", compressors=None)
    array[...] = np.arange(6)
    by_fsspec = zarr.open_array(zarr.storage.FsspecStore.from_url(f"file://{tmp_path}/group"), path="x", mode="r")
    for files in (files_of(array), files_of(by_fsspec)):
        out = np.zeros(4, "i4")
        files.read(out, (slice(1, 5),))
        assert out.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("refused", [None, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSPC])
def test_large_arrays_go_past_the_cache_where_the_system_can(refused, tmp_path, monkeypatch):
    calls = []
    write = os.pwritev

    def pwritev(file, buffers, at, flags):
        calls.append(flags)
        if refused is not None:
            raise OSError(refused, "refused")
        # In pieces, and as a system that does not know the flag would.
        return write(file, [buffers[0][:100]], at)

    x = np.random.default_rng(1).standard_normal((30, 20)).astype("f4")
    whole = slice(0, 30), slice(0, 20)
    small, large = (zarr.create_array(str(tmp_path / n), shape=x.shape, chunks=(9, 20), dtype="f4", compressors=None) for n in "sl")
    files_of(small)[whole] = x
    monkeypatch.setattr(os, "pwritev", pwritev)
    files_of(small)[whole] = x
    assert not calls
    monkeypatch.setattr(chunk_files, "_memory_bytes", lambda: 9000)
    if refused == errno.ENOSPC:
        with pytest.raises(OSError, match="refused"):
            files_of(large)[whole] = x
        assert not [path for path in contents(tmp_path / "l") if path.suffix == ".partial"]
    else:
        files_of(large)[whole] = x
        assert contents(tmp_path / "l") == contents(tmp_path / "s")
    assert set(calls) == {0x80}


def test_a_file_of_another_size(tmp_path):
    array = zarr.create_array(str(tmp_path / "a"), shape=(8,), chunks=(4,), dtype="f4", compressors=None)
    array[...] = np.arange(8)
    os.truncate(tmp_path / "a" / "c" / "1", 12)
    with pytest.raises(ValueError, match=r"c/1 has 12 bytes; .* has 16"):
        files_of(array).read(np.zeros(8, "f4"), (slice(0, 8),))


def test_what_lies_in_one_file_is_not_copied(tmp_path, monkeypatch):
    array = zarr.create_array(str(tmp_path / "a"), shape=(8, 6), chunks=(4, 6), dtype="f4", compressors=None)
    array[:4] = 1 + np.arange(24).reshape(4, 6)
    files = files_of(array)
    rows = slice(1, 3), slice(0, 6)
    assert files.mapped(rows).flags.c_contiguous
    np.testing.assert_array_equal(files.mapped(rows), array[rows])
    assert files.mapped((slice(3, 5), slice(0, 6))) is None  # of two chunks
    assert files.mapped((slice(4, 6), slice(0, 6))) is None  # of one that has no file

    def refuse(*_, **__):
        raise OSError(errno.ENODEV, "No such device")

    monkeypatch.setattr(mmap, "mmap", refuse)
    np.testing.assert_array_equal(files.mapped(rows), array[rows])


@pytest.mark.parametrize("where", ["write", "replace"])
def test_a_write_that_fails_leaves_the_chunk_as_it_was(where, tmp_path, monkeypatch):
    array = zarr.create_array(str(tmp_path / "a"), shape=(8,), chunks=(4,), dtype="f4", compressors=None)
    array[...] = np.arange(8)
    before = contents(tmp_path)
    files = files_of(array)
    if where == "replace":

        def refuse(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", refuse)
    else:
        resource = pytest.importorskip("resource")
        signal = pytest.importorskip("signal")
        old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8, limits[1]))
    try:
        with pytest.raises(OSError, match=r"No space|too large"):
            files[slice(4, 8),] = np.ones(4, "f4")
    finally:
        if where == "write":
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, old)
    assert contents(tmp_path) == before


def test_arrays_that_are_read_only_stay_as_they_are(tmp_path):
    zarr.create_array(str(tmp_path / "a"), shape=(8,), chunks=(4,), dtype="f4", compressors=None)[...] = np.arange(8)
    before = contents(tmp_path)
    with pytest.raises(ValueError, match="read"):
        files_of(zarr.open_array(str(tmp_path / "a"), mode="r"))[slice(0, 4),] = np.ones(4, "f4")
    assert contents(tmp_path) == before
