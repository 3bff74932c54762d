"""tapline.zarr: bits of the whole by regions, stores of every kind, runs that are killed and go on, what bad input gets."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")
import tapline  # noqa: E402
import tapline.zarr  # noqa: E402
from tapline._parts import stores  # noqa: E402

BOUNDARIES = ("zero", "constant", "nearest", "reflect", "mirror", "wrap")


def stored(path, x, chunks, **settings):
    array = zarr.create_array(str(path), shape=x.shape, dtype=x.dtype, chunks=chunks, **settings)
    array[...] = x
    return array


@pytest.mark.parametrize("seed", range(24))
def test_regions_give_the_bits_of_the_whole(seed, tmp_path):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 50, 2).tolist())
    x = rng.standard_normal(shape).astype(np.float32)
    chunks = tuple(int(rng.integers(1, n + 1)) for n in shape)
    stored(tmp_path / "in.zarr", x, chunks)
    mode, boundary = ("full", "same", "valid", "causal", "leading")[rng.integers(5)], BOUNDARIES[rng.integers(6)]
    options = {"boundary": boundary, **({"constant": 2} if boundary == "constant" else {})}
    memory = int(rng.integers(1, 40_000))
    if rng.random() < 0.5:
        axis = int(rng.integers(2))
        taps = rng.standard_normal(int(rng.integers(1, shape[axis] + 1))).astype(np.float32)
        whole = tapline.convolve(x, taps, mode, axis=axis, **options)
        y = tapline.zarr.convolve(tmp_path / "in.zarr", tmp_path / "out.zarr", taps, mode, axis=axis, memory=memory, **options)
    else:
        taps = rng.standard_normal([int(rng.integers(1, n + 1)) for n in shape]).astype(np.float32)
        whole = tapline.image(x, taps, mode, **options)
        y = tapline.zarr.image(tmp_path / "in.zarr", tmp_path / "out.zarr", taps, mode, memory=memory, **options)
    assert y.chunks == chunks
    np.testing.assert_array_equal(y[...], whole)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.zarr", "out.zarr"]


def test_outputs_of_an_axis_of_fewer_samples_than_regions(tmp_path):
    x = np.random.default_rng(4).standard_normal((2, 30)).astype(np.float32)
    stored(tmp_path / "in.zarr", x, (1, 7))
    taps = np.random.default_rng(5).standard_normal(9).astype(np.float32)
    for axis in (0, 1):
        y = tapline.zarr.convolve(tmp_path / "in.zarr", tmp_path / f"out{axis}.zarr", taps, axis=axis, memory=1)
        assert y.chunks == (1, 7)
        np.testing.assert_array_equal(y[...], tapline.convolve(x, taps, axis=axis))


def test_the_target_is_made_like_the_source(tmp_path):
    x = np.arange(100, dtype=np.float64)
    source = stored(
        tmp_path / "in.zarr",
        x,
        (10,),
        compressors=zarr.codecs.GzipCodec(level=3),
        attributes={"units": "V"},
        dimension_names=("t",),
    )
    seen = []
    y = tapline.zarr.correlate(
        source, tmp_path / "out.zarr", [1, 2], "same", memory=400, progress=lambda done, of: seen.append((done, of))
    )
    assert y.compressors == source.compressors
    assert dict(y.attrs) == {"units": "V"}
    assert y.metadata.dimension_names == ("t",)
    assert seen[-1][0] == seen[-1][1] > 1
    with pytest.raises(TypeError, match="progress: 7"):
        tapline.zarr.convolve(source, tmp_path / "never.zarr", [1, 2], progress=7)
    assert not (tmp_path / "never.zarr").exists()
    sharded = zarr.create_array(str(tmp_path / "s.zarr"), shape=(100,), dtype=float, chunks=(5,), shards=(20,))
    sharded[...] = x
    z = tapline.zarr.convolve(sharded, tmp_path / "t.zarr", [1, 2], "same", memory=1)
    assert z.shards == (20,)
    np.testing.assert_array_equal(z[...], tapline.convolve(x, [1, 2], "same"))


class Counting(zarr.storage.MemoryStore):
    """Counts how often each chunk is read."""

    async def get(self, key, *args, **options):
        if "c/" in key:
            counts = self.__dict__.setdefault("counts", {})
            counts[key] = counts.get(key, 0) + 1
        return await super().get(key, *args, **options)


@pytest.mark.parametrize("boundary", ["zero", "reflect", "wrap"])
def test_chunks_are_read_once_along_an_axis(boundary):
    rng = np.random.default_rng(10)
    x = rng.standard_normal((100, 30)).astype(np.float32)
    taps = rng.standard_normal(7).astype(np.float32)
    store = Counting()
    source = zarr.create_array(store, shape=x.shape, dtype=x.dtype, chunks=(10, 30))
    source[...] = x
    for mode in ("same", "full", "valid"):
        store.counts = {}
        y = tapline.zarr.convolve(
            source, zarr.storage.MemoryStore(), taps, mode, axis=0, memory=1, boundary=boundary, progress=None
        )
        np.testing.assert_array_equal(y[...], tapline.convolve(x, taps, mode, axis=0, boundary=boundary))
        assert boundary == "wrap" or max(store.counts.values()) == 1
        assert sum(store.counts.values()) <= 10 + 4  # what a ring needs of the other end is read for itself
    mask = rng.standard_normal((3, 5)).astype(np.float32)
    store = Counting()
    source = zarr.create_array(store, shape=x.shape, dtype=x.dtype, chunks=(20, 6))
    source[...] = x
    store.counts = {}
    y = tapline.zarr.image(source, zarr.storage.MemoryStore(), mask, memory=1, boundary=boundary)
    np.testing.assert_array_equal(y[...], tapline.image(x, mask, boundary=boundary))
    assert boundary == "wrap" or max(store.counts.values()) <= 3  # nine regions have a chunk in their windows, in three rows


@pytest.mark.parametrize("memory", [1, 1 << 20])
def test_chunks_of_the_fill_value_alone_are_left_out(memory, tmp_path):
    x = np.zeros((40, 30), np.float32)
    x[:10], x[25, 7] = 1, 2
    target = tmp_path / "out.zarr"
    y = tapline.zarr.convolve(x, target, np.ones(1, np.float32), "same", chunks=(10, 15), memory=memory)
    assert sorted(str(p.relative_to(target / "c")) for p in (target / "c").rglob("*") if p.is_file()) == ["0/0", "0/1", "2/0"]
    np.testing.assert_array_equal(y[...], x)


def test_other_stores(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((30, 40)).astype(np.float32)
    taps = rng.standard_normal(9).astype(np.float32)
    whole = tapline.convolve(x, taps, "same", axis=0, boundary="reflect")
    options = {"mode": "same", "axis": 0, "boundary": "reflect", "memory": 2000}
    memory = zarr.storage.MemoryStore()
    y = tapline.zarr.convolve(x, memory, taps, chunks=(7, 9), **options)
    np.testing.assert_array_equal(zarr.open_array(memory, mode="r")[...], whole)
    assert "tapline_progress" not in y.attrs
    with pytest.raises(FileExistsError):
        tapline.zarr.convolve(x, memory, taps, **options)
    np.save(tmp_path / "in.npy", x)
    y = tapline.zarr.convolve(tmp_path / "in.npy", tmp_path / "out.npy", taps, **options)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), whole)
    given = np.empty_like(x)
    assert tapline.zarr.convolve(x, given, taps, **options) is given
    np.testing.assert_array_equal(given, whole)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.npy", "out.npy"]


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    rng = np.random.default_rng(2)
    x = rng.standard_normal((50, 20))
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("group/x", data=x, chunks=(10, 20), compression="gzip").attrs["units"] = "m"
    y = tapline.zarr.convolve(f"{tmp_path}/in.h5:/group/x", f"{tmp_path}/out.h5:/y", [1.0, 2, 1], "same", axis=0, memory=2000)
    np.testing.assert_array_equal(y[...], tapline.convolve(x, [1.0, 2, 1], "same", axis=0))
    assert (y.compression, y.attrs["units"]) == ("gzip", "m")
    with pytest.raises(ValueError, match="no such dataset"):
        tapline.zarr.convolve(f"{tmp_path}/in.h5:/group/z", tmp_path / "o.npy", [1.0])


# Slowed down, so that there is time to kill it; regions of one chunk.
RUN = """
import sys, time, numpy as np, tapline.zarr
tapline.zarr.image(sys.argv[1], sys.argv[2], np.load(sys.argv[3]), boundary="wrap", memory=1, threads=1,
                   progress=lambda done, of: time.sleep(0.004))
"""


def test_a_run_that_is_killed_ten_times_goes_on_where_it_stopped(tmp_path):
    rng = np.random.default_rng(4)
    x = rng.standard_normal((120, 110)).astype(np.float32)
    taps = rng.standard_normal((7, 5)).astype(np.float32)
    stored(tmp_path / "in.zarr", x, (12, 11))
    np.save(tmp_path / "taps.npy", taps)
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "in.zarr").rglob("*")}
    command = [sys.executable, "-c", RUN, *(str(tmp_path / name) for name in ("in.zarr", "out.zarr", "taps.npy"))]
    journal = tmp_path / "out.zarr.tapline"
    kills = 0
    for _ in range(10):
        run = subprocess.Popen(command, stderr=subprocess.PIPE)
        # Imports take most of a run: wait until it is at work, then for a moment.
        known = len(journal.read_text().splitlines()) if journal.exists() else 0
        for _ in range(3000):
            time.sleep(0.005)
            if run.poll() is not None or (journal.exists() and len(journal.read_text().splitlines()) > known):
                break
        time.sleep(rng.random() * 0.02)
        run.send_signal(signal.SIGKILL)
        _, errors = run.communicate()
        assert run.returncode in (0, -signal.SIGKILL), errors.decode()
        kills += run.returncode == -signal.SIGKILL
        if run.returncode == 0:
            break
    assert kills >= 3
    done = len(journal.read_text().splitlines()) - 1 if journal.exists() else 100
    assert done > 0
    if journal.exists():  # as a write that was killed leaves it
        (tmp_path / "out.zarr" / "c" / "0" / "0.0123.partial").write_bytes(b"half")
    left = []
    tapline.zarr.image(
        tmp_path / "in.zarr", tmp_path / "out.zarr", taps, boundary="wrap", memory=1, threads=1,
        progress=lambda done, of: left.append(done), overwrite=not journal.exists(),
    )  # fmt: skip
    if journal.exists() or kills == 10:
        assert len(left) == 100 - done
    np.testing.assert_array_equal(
        zarr.open_array(str(tmp_path / "out.zarr"), mode="r")[...], tapline.image(x, taps, boundary="wrap")
    )
    assert not journal.exists()
    assert not list((tmp_path / "out.zarr").rglob("*.partial"))
    assert before == {p: p.stat().st_mtime_ns for p in (tmp_path / "in.zarr").rglob("*")}


class Stopped(Exception):
    pass


def stop_after(regions):
    def progress(done, _):
        if done == regions:
            raise Stopped

    return progress


@pytest.mark.parametrize("kind", ["zarr", "npy", "memory"])
def test_what_an_interrupted_run_leaves(kind, tmp_path):
    x = np.random.default_rng(6).standard_normal((40, 30)).astype(np.float32)
    target = zarr.storage.MemoryStore() if kind == "memory" else tmp_path / f"out.{kind}"
    options = {"mode": "same", "axis": 0, "memory": 1}
    if kind != "npy":
        options["chunks"] = (10, 30)
    else:
        x = np.tile(x, (40, 400))
    with pytest.raises(Stopped):
        tapline.zarr.convolve(x, target, [1, 2, 3], progress=stop_after(2), **options)
    # Another problem's run does not go on with it.
    with pytest.raises(ValueError, match="another problem"):
        tapline.zarr.convolve(x, target, [1, 2, 4], **options)
    with pytest.raises(ValueError, match="another problem"):
        tapline.zarr.convolve(x[:, :-1], target, [1, 2, 3], **options)
    seen = []
    y = tapline.zarr.convolve(x, target, [1, 2, 3], progress=lambda done, of: seen.append(done), **options)
    assert seen[0] == 3
    np.testing.assert_array_equal(y[...], tapline.convolve(x, [1, 2, 3], "same", axis=0))


class Full(zarr.storage.MemoryStore):
    """Takes so many chunks, then none."""

    room = 3

    async def set(self, key, value, byte_range=None):
        if "/c/" in "/" + key:
            if self.room == 0:
                raise OSError(28, "No space left on device")
            self.room -= 1
        await super().set(key, value, byte_range)


def test_a_store_that_becomes_full(tmp_path):
    x = np.random.default_rng(7).standard_normal((40, 30)).astype(np.float32)
    stored(tmp_path / "in.zarr", x, (10, 30))
    before = {p: p.read_bytes() for p in (tmp_path / "in.zarr").rglob("*") if p.is_file()}
    store, done = Full(), []
    options = {"mode": "same", "axis": 0, "memory": 1}
    with pytest.raises(OSError, match="No space left"):
        tapline.zarr.convolve(tmp_path / "in.zarr", store, [1, 2, 3], **options)
    store.room = 100  # somebody has made room
    y = tapline.zarr.convolve(tmp_path / "in.zarr", store, [1, 2, 3], progress=lambda n, of: done.append(n), **options)
    assert done == [4]
    np.testing.assert_array_equal(y[...], tapline.convolve(x, [1, 2, 3], "same", axis=0))
    assert before == {p: p.read_bytes() for p in (tmp_path / "in.zarr").rglob("*") if p.is_file()}


def test_stores_that_cannot_be_written(tmp_path):
    x = np.ones((8, 8), np.float32)
    mine = stored(tmp_path / "mine.zarr", x, (4, 4))
    for target in (
        zarr.open_array(str(tmp_path / "mine.zarr"), mode="r"),
        zarr.storage.MemoryStore(read_only=True),
        zarr.storage.LocalStore(tmp_path / "other.zarr", read_only=True),
    ):
        with pytest.raises((OSError, ValueError), match="read"):
            tapline.zarr.convolve(x, target, np.ones(2, np.float32), "same")
    np.testing.assert_array_equal(mine[...], x)
    assert not (tmp_path / "other.zarr").exists()


def test_a_journal_whose_last_line_was_cut_off(tmp_path):
    journal = stores._Journal(tmp_path / "j")
    journal.start("a problem", 12, set())
    journal.add(3)
    journal.add(11)
    journal.close()
    text = (tmp_path / "j").read_text()
    (tmp_path / "j").write_text(text[:-1])
    assert journal.read() == ("a problem", 12, {3})


def test_bad_input(tmp_path):
    x = np.ones((8, 8), np.float32)
    stored(tmp_path / "in.zarr", x, (4, 4))
    stored(tmp_path / "other.zarr", x, (4, 4))
    mine = (tmp_path / "other.zarr" / "zarr.json").read_bytes()
    with pytest.raises(FileExistsError, match="overwrite"):
        tapline.zarr.convolve(tmp_path / "in.zarr", tmp_path / "other.zarr", [1, 2])
    assert (tmp_path / "other.zarr" / "zarr.json").read_bytes() == mine
    assert not (tmp_path / "other.zarr.tapline").exists()
    with pytest.raises(ValueError, match=r"target: \(3,\)"):
        tapline.zarr.convolve(x, np.empty(3, np.float32), [1, 2])
    with pytest.raises(ValueError, match="target"):
        tapline.zarr.convolve(x, np.empty((8, 9)), np.ones(2, np.float32))
    with pytest.raises(FileNotFoundError):
        tapline.zarr.convolve(tmp_path / "no.zarr", tmp_path / "o.zarr", [1, 2])
    with pytest.raises(ValueError, match="same"):
        tapline.zarr.convolve(tmp_path / "in.zarr", tmp_path / "in.zarr", [1, 2], overwrite=True)
    with pytest.raises(OSError, match="no/such"):
        tapline.zarr.convolve(x, tmp_path / "no/such/out.npy", [1, 2])
    with pytest.raises(ValueError, match="sample"):
        tapline.zarr.convolve(np.empty((0, 3)), tmp_path / "o.npy", [1])
    tapline.zarr.convolve(tmp_path / "in.zarr", tmp_path / "other.zarr", [1, 2], "same", overwrite=True)


def test_the_command_hands_stores_on(tmp_path):
    command = pathlib.Path(tapline.__file__).parent / "tapline-command"
    if not command.exists():
        pytest.skip("built without the command")
    x = np.random.default_rng(8).standard_normal((20, 30)).astype(np.float32)
    stored(tmp_path / "in.zarr", x, (8, 8))
    environment = {**os.environ, "TAPLINE_PYTHON": sys.executable}
    call = [str(command), "convolve", "in.zarr", "1,2,1", "-o", "out.zarr", "--mode", "same", "--axis", "0"]
    done = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    y = zarr.open_array(str(tmp_path / "out.zarr"), mode="r")
    np.testing.assert_array_equal(y[...], tapline.convolve(x, [1.0, 2, 1], "same", axis=0))
    done = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "already" in done.stderr
    done = subprocess.run(
        call, cwd=tmp_path, env={**environment, "TAPLINE_PYTHON": "/no/python"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "tapline.zarr" in done.stderr
