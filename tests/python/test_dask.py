"""tapline.dask: the bits of the whole however an array is chunked; graphs; distributed; what bad input gets.
TAPLINE_SLOW_TESTS=1 also runs large ones."""

import itertools
import os
import pickle
import sys
import time

import numpy as np
import pytest

da = pytest.importorskip("dask.array")
import dask  # noqa: E402

import tapline  # noqa: E402
import tapline.dask  # noqa: E402
from tapline import _parts  # noqa: E402

MODES = ("full", "same", "valid", "causal", "leading")
BOUNDARIES = ("zero", "constant", "nearest", "reflect", "mirror", "wrap")
slow = pytest.mark.skipif(not os.environ.get("TAPLINE_SLOW_TESTS"), reason="TAPLINE_SLOW_TESTS=1 runs it")


def drawn_chunks(rng, shape, most=4):
    """Any chunks, now and then one of a single sample."""
    chunks = []
    for n in shape:
        cuts = np.unique(rng.integers(1, n, rng.integers(0, most))) if n > 1 else np.array([], int)
        chunks.append(tuple(np.diff([0, *cuts, n]).tolist()))
    return tuple(chunks)


def computed(y):
    return y.compute(scheduler="synchronous")


@pytest.mark.parametrize("seed", [*range(40), 399, 488])
def test_every_chunking_of_signals_gives_the_same_bits(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 40, rng.integers(1, 4)).tolist())
    axis = int(rng.integers(0, len(shape)))
    k = int(rng.integers(1, 2 * shape[axis] + 1))
    mode, boundary = MODES[rng.integers(5)], BOUNDARIES[rng.integers(6)]
    k = min(k, shape[axis]) if mode == "valid" else k
    dtype = (np.float32, np.float64, np.complex64, np.int16, np.float16)[rng.integers(5)]
    x = (rng.standard_normal(shape) * 100).astype(dtype)
    taps = rng.integers(-9, 9, k) if dtype is np.int16 else rng.standard_normal(k).astype(np.float32)
    if dtype is np.int16 and seed % 2:
        taps = taps * np.float32(0.3)
    options = {"axis": axis, "boundary": boundary}
    if boundary == "constant":
        options["constant"] = 3
    if rng.random() < 0.3:
        options["origin"] = int(rng.integers(-k, 2 * k))
    name = ("convolve", "correlate")[rng.integers(2)]
    whole = getattr(tapline, name)(x, taps, mode, **options)
    results = []
    for _ in range(3):
        lazy = getattr(tapline.dask, name)(da.from_array(x, chunks=drawn_chunks(rng, shape)), taps, mode, **options)
        assert lazy.shape == whole.shape
        assert lazy.dtype == whole.dtype
        y = computed(lazy)
        assert y.shape == whole.shape
        assert y.dtype == whole.dtype
        results.append(y)
    for y in results:
        np.testing.assert_array_equal(y, whole)


@pytest.mark.parametrize("seed", range(12))
def test_long_filters_too_where_rows_are_transformed_alone(seed):
    rng = np.random.default_rng(1000 + seed)
    n, k, rows = 6000, int(rng.integers(200, 5000)), int(rng.integers(1, 4))
    x = rng.standard_normal((rows, n)).astype(np.float32)
    taps = rng.standard_normal(k).astype(np.float32)
    boundary = BOUNDARIES[rng.integers(6)]
    whole = tapline.convolve(x, taps, "same", boundary=boundary)
    one = computed(tapline.dask.convolve(da.from_array(x, chunks=-1), taps, "same", boundary=boundary))
    np.testing.assert_allclose(one, whole, atol=1e-6 * np.abs(taps).sum() * np.linalg.norm(x))
    if rows == 1 and k < 4096:
        np.testing.assert_array_equal(one, whole)
    for _ in range(2):
        lazy = tapline.dask.convolve(da.from_array(x, chunks=drawn_chunks(rng, x.shape)), taps, "same", boundary=boundary)
        np.testing.assert_array_equal(computed(lazy), one)


@pytest.mark.parametrize("seed", range(30))
def test_every_chunking_of_images_gives_the_bits_of_the_whole(seed):
    rng = np.random.default_rng(2000 + seed)
    height, width = (int(n) for n in rng.integers(1, 60, 2))
    mask = (int(rng.integers(1, 20)), int(rng.integers(1, 20)))
    mode, boundary = MODES[rng.integers(5)], BOUNDARIES[rng.integers(6)]
    if mode == "valid":
        mask = (min(mask[0], height), min(mask[1], width))
    channels = rng.random() < 0.3
    shape = (2, height, width, 3) if channels else (2, height, width)
    dtype = (np.float32, np.float64, np.uint8, np.float16)[rng.integers(4)]
    x = (rng.random(shape) * 200).astype(dtype)
    taps = rng.standard_normal(mask)
    if rng.random() < 0.5:
        taps = np.outer(rng.standard_normal(mask[0]), rng.standard_normal(mask[1]))
    if channels and rng.random() < 0.5:
        taps = rng.standard_normal((*mask, 3))
    options = {
        "channel_axis": -1 if channels else None,
        "boundary": boundary,
        "operation": ("convolution", "correlation")[rng.integers(2)],
    }
    whole = tapline.image(x, taps, mode, **options)
    for _ in range(3):
        chunks = drawn_chunks(rng, shape)
        chunks = (*chunks[:3], (3,)) if channels else chunks
        lazy = tapline.dask.image(da.from_array(x, chunks=chunks), taps, mode, **options)
        assert (lazy.shape, lazy.dtype) == (whole.shape, whole.dtype)
        np.testing.assert_array_equal(computed(lazy), whole)


@pytest.mark.parametrize("seed", range(8))
def test_masks_larger_than_an_image_keep_the_bits_too(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(rng.integers(3, 40, 2)).astype(np.float32)
    taps = rng.standard_normal(rng.integers(30, 64, 2)).astype(np.float32)
    lazy = tapline.dask.image(da.from_array(x, chunks=drawn_chunks(rng, x.shape)), taps, MODES[seed % 2])
    np.testing.assert_array_equal(computed(lazy), tapline.image(x, taps, MODES[seed % 2]))


def test_large_masks_by_transforms_keep_the_bits_too():
    rng = np.random.default_rng(7)
    x = rng.standard_normal((700, 500)).astype(np.float32)
    taps = rng.standard_normal((61, 59)).astype(np.float32)
    lazy = tapline.dask.image(da.from_array(x, chunks=(300, 170)), taps, boundary="reflect")
    np.testing.assert_array_equal(computed(lazy), tapline.image(x, taps, boundary="reflect"))


def test_only_slices_of_neighbours_are_moved():
    x = da.ones((40, 40), chunks=10, dtype=np.float32)
    y = tapline.dask.image(x, np.ones((3, 5)))
    layer = dict(y.dask.layers[y.name])
    cuts = {key: task for key, task in layer.items() if key[0].startswith("tapline-cut")}
    sizes = {tuple(s.stop - s.start for s in _slices(task)) for task in cuts.values()}
    assert sizes == {(1, 10), (10, 2), (1, 2)}
    # A 4 x 4 grid of chunks: each pair of neighbours exchanges both ways.
    assert len(cuts) == 2 * 12 + 2 * 12 + 4 * 9


def _slices(task):
    cuts = task.args[1]
    return [slice(0, 10) if c is None else slice(*c) for c in cuts]


def test_ten_thousand_chunks_are_a_second():
    x = da.zeros((100_000, 100_000), chunks=1000, dtype=np.float32)
    assert x.dask  # made here, not counted
    seconds = []
    for i in range(2):
        begin = time.process_time()
        y = tapline.dask.image(x, np.full((41, 41), 1.0 + i, np.float32))
        seconds.append(time.process_time() - begin)
    assert len(y.dask.layers[y.name]) > 10_000
    assert min(seconds) < 1, seconds


def test_a_filter_longer_than_chunks_and_several_passes():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((20, 21, 22)).astype(np.float32)
    taps = rng.standard_normal(17).astype(np.float32)
    lazy, whole = da.from_array(x, chunks=(3, 4, 5)), x
    for axis in range(3):
        lazy = tapline.dask.convolve(lazy, taps, "same", axis=axis, boundary="mirror")
        whole = tapline.convolve(whole, taps, "same", axis=axis, boundary="mirror")
    np.testing.assert_array_equal(computed(lazy), whole)


def test_threads_of_dask_and_tapline_do_not_multiply():
    spec = tapline.dask.convolve(da.ones(100, chunks=10), [1.0, 2.0]).dask
    nodes = [t.value for layer in spec.layers.values() for k, t in dict(layer).items() if isinstance(k, str) and "filter" in k]
    assert nodes[0].options["threads"] == 1


def test_filters_travel_without_their_plans():
    spec = _parts.signal_filter((100,), np.float32, [1, 2, 3], "same", 0, boundary="wrap")
    assert spec.plan
    other = pickle.loads(pickle.dumps(spec))
    assert other.fingerprint == spec.fingerprint
    assert len(pickle.dumps(spec)) < 2000
    assert _parts.signal_filter((100,), np.float32, [1, 2, 4], "same", 0, boundary="wrap").fingerprint != spec.fingerprint


def test_names_are_those_of_the_problem():
    x = da.ones(100, chunks=10)
    names = [tapline.dask.convolve(x, taps, mode).name for taps, mode in itertools.product(([1, 2], [1, 3]), ("same", "full"))]
    assert len(set(names)) == 4
    assert names[0] == tapline.dask.convolve(x, [1, 2], "same").name


@pytest.mark.parametrize("seed", range(10))
def test_chunks_on_a_gpu_get_the_same_windows(seed, monkeypatch):
    """The way of CuPy's chunks, with NumPy in CuPy's place: no blocks, windows with all that is missing beyond the ends."""
    monkeypatch.setitem(sys.modules, "cupy", np)
    monkeypatch.setattr(_parts, "is_cupy", lambda array: True)
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((40, 50))
    mode, boundary = MODES[seed % 5], BOUNDARIES[seed % 6]
    options = {"boundary": boundary, **({"constant": 2.0} if boundary == "constant" else {})}
    taps = rng.standard_normal(int(rng.integers(1, 40)))
    lazy = da.from_array(x, chunks=drawn_chunks(rng, x.shape))
    y = computed(tapline.dask.correlate(lazy, taps, mode, axis=0, **options))
    np.testing.assert_allclose(y, tapline.correlate(x, taps, mode, axis=0, **options), atol=1e-12)
    mask = rng.standard_normal((int(rng.integers(1, 20)), int(rng.integers(1, 20))))
    y = computed(tapline.dask.image(lazy, mask, mode, **options))
    np.testing.assert_allclose(y, tapline.image(x, mask, mode, **options), atol=1e-12)


def test_tasks_on_chunks_of_a_gpu_go_to_workers_that_have_one(monkeypatch):
    x = da.ones(100, chunks=10)
    with dask.config.set({"tapline.gpu-resources": {"GPU": 1}}):
        on_cpu = tapline.dask.convolve(x, [1.0, 2.0])
        monkeypatch.setattr(_parts, "is_cupy", lambda array: True)
        on_gpu = tapline.dask.convolve(x, [1.0, 2.0])
    assert not on_cpu.dask.layers[on_cpu.name].annotations
    assert on_gpu.dask.layers[on_gpu.name].annotations == {"resources": {"GPU": 1}}


def test_bad_input():
    x = da.ones((10, 10), chunks=5)
    unknown = x[x[:, 0] > 0]
    for function in (tapline.dask.convolve, tapline.dask.correlate):
        with pytest.raises(ValueError, match="unknown"):
            function(unknown, [1, 2])
        with pytest.raises(ValueError, match="axis"):
            function(x, [1, 2], axis=2)
        with pytest.raises(ValueError, match="taps"):
            function(x, [[1, 2]])
        with pytest.raises(ValueError, match="valid"):
            function(x, np.ones(11), "valid")
        with pytest.raises(ValueError, match="boundary"):
            function(x, [1], boundary="other")
        with pytest.raises(TypeError, match=r"dask\.array"):
            function(np.ones(3), [1])
    with pytest.raises(ValueError, match="unknown"):
        tapline.dask.image(unknown, np.ones((3, 3)), boundary="wrap")
    with pytest.raises(ValueError, match="channels"):
        tapline.dask.image(da.ones((5, 5, 4), chunks=2), np.ones((3, 3)), channel_axis=-1)
    with pytest.raises(ValueError, match="operation"):
        tapline.dask.image(x, np.ones((3, 3)), operation="sum")
    with pytest.raises(ValueError, match="sample"):
        tapline.dask.convolve(da.ones((0, 4), chunks=2), [1, 2])


def test_two_workers_one_of_which_dies():
    distributed = pytest.importorskip("distributed")
    rng = np.random.default_rng(5)
    x = rng.standard_normal((400, 300)).astype(np.float32)
    taps = np.outer(np.hanning(9), np.hanning(7)).astype(np.float32)
    whole = tapline.image(x, taps, boundary="wrap")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10, "distributed.comm.timeouts.connect": "10s"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        slowly = da.from_array(x, chunks=(50, 60)).map_blocks(_slowly, dtype=np.float32)
        future = client.compute(tapline.dask.image(slowly, taps, boundary="wrap"))
        time.sleep(0.5)
        victim = next(iter(cluster.workers.values()))
        os.kill(victim.pid, 9)
        np.testing.assert_array_equal(future.result(timeout=60), whole)


def _slowly(block):
    time.sleep(0.03)
    return block


def stored(path, x, chunks, **settings):
    zarr = pytest.importorskip("zarr", minversion="3")
    array = zarr.create_array(str(path), shape=x.shape, dtype=x.dtype, chunks=chunks, **{"compressors": None, **settings})
    array[...] = x
    return array


def reads_files(y):
    return [key for key in dict(y.dask.layers[y.name]) if isinstance(key, str)] == [f"filter-of-{y.name}", f"source-of-{y.name}"]


@pytest.mark.parametrize("seed", range(40))
def test_from_zarr_to_zarr_gives_the_bits_of_the_whole(seed, tmp_path):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 50, 2).tolist())
    x = rng.standard_normal(shape).astype((np.float32, np.float64, np.int16)[rng.integers(3)])
    chunks = tuple(int(rng.integers(1, n + 1)) for n in shape)
    plain = rng.random() < 0.7
    stored(tmp_path / "in.zarr", x, chunks, **({} if plain else {"compressors": "auto"}))
    lazy = da.from_zarr(str(tmp_path / "in.zarr"), chunks=drawn_chunks(rng, shape) if rng.random() < 0.5 else None)
    mode, boundary = MODES[rng.integers(5)], BOUNDARIES[rng.integers(6)]
    options = {"boundary": boundary, **({"constant": 2} if boundary == "constant" else {})}
    if rng.random() < 0.5:
        axis = int(rng.integers(2))
        taps = rng.integers(-9, 9, int(rng.integers(1, shape[axis] + 1)))
        whole = tapline.convolve(x, taps, mode, axis=axis, **options)
        y = tapline.dask.convolve(lazy, taps, mode, axis=axis, **options)
    else:
        taps = rng.standard_normal([int(rng.integers(1, n + 1)) for n in shape]).astype(np.float32)
        whole = tapline.image(x, taps, mode, **options)
        y = tapline.dask.image(lazy, taps, mode, **options)
    assert reads_files(y) == plain
    with dask.config.set(scheduler="synchronous"):
        out = tapline.dask.to_zarr(y, tmp_path / "out.zarr", **({"compressors": "auto"} if rng.random() < 0.3 else {}))
    assert (out.shape, out.dtype) == (whole.shape, whole.dtype)
    np.testing.assert_array_equal(out[...], whole)
    np.testing.assert_array_equal(computed(y), whole)


def test_which_sources_are_read_from_their_files(tmp_path):
    x = np.random.default_rng(6).standard_normal((30, 20)).astype(np.float32)
    array = stored(tmp_path / "in.zarr", x, (7, 8))
    path = str(tmp_path / "in.zarr")
    taps = np.ones((3, 3), np.float32)
    filtered = lambda lazy: tapline.dask.image(lazy, taps)  # noqa: E731
    for lazy in (da.from_zarr(path), da.from_zarr(array), da.from_zarr(path, inline_array=True), da.from_array(array, chunks=11)):
        assert reads_files(filtered(lazy))
        np.testing.assert_array_equal(computed(filtered(lazy)), tapline.image(x, taps))
    rows = tapline.dask.convolve(da.from_array(array, chunks=((0, 9, 21), -1)), [1.0, 2.0], "same")
    assert reads_files(rows)
    np.testing.assert_array_equal(computed(rows), tapline.convolve(x, [1.0, 2.0], "same"))
    locked = da.from_array(array, chunks=11, lock=True)
    for lazy in (locked, da.from_zarr(path)[1:], da.from_zarr(path) + 0, da.from_zarr(path).persist(), da.from_array(x, chunks=11)):
        assert not reads_files(filtered(lazy))
    # Two filters, one after the other: only the first reads files.
    twice = filtered(filtered(da.from_zarr(path)))
    assert not reads_files(twice)
    np.testing.assert_array_equal(computed(twice), tapline.image(tapline.image(x, taps), taps))


def test_targets_of_to_zarr(tmp_path):
    zarr = pytest.importorskip("zarr", minversion="3")
    x = np.random.default_rng(7).standard_normal((28, 20)).astype(np.float32)
    array = stored(tmp_path / "in.zarr", x, (7, 8))
    y = tapline.dask.image(da.from_zarr(array), np.ones((3, 3)), "full")
    whole = computed(y)
    out = tapline.dask.to_zarr(y, tmp_path / "out.zarr", shards=(16, 18), chunks=(8, 9), attributes={"units": "V"})
    assert (out.shards, out.chunks, dict(out.attrs)) == ((16, 18), (8, 9), {"units": "V"})
    np.testing.assert_array_equal(out[...], whole)
    with pytest.raises(ValueError, match="exist"):
        tapline.dask.to_zarr(y, tmp_path / "out.zarr")
    out = tapline.dask.to_zarr(y, tmp_path / "out.zarr", overwrite=True)
    assert (out.compressors, out.chunks) == ((), (9, 8))
    np.testing.assert_array_equal(out[...], whole)
    memory = tapline.dask.to_zarr(y, zarr.storage.MemoryStore())
    np.testing.assert_array_equal(memory[...], whole)
    with dask.config.set(scheduler="processes"), pytest.raises(ValueError, match="memory"):
        tapline.dask.to_zarr(y, zarr.storage.MemoryStore())
    given = zarr.create_array(str(tmp_path / "given.zarr"), shape=y.shape, dtype=y.dtype, chunks=(5, 6))
    later = tapline.dask.to_zarr(y, given, compute=False)
    assert not given[...].any()
    later.compute()
    np.testing.assert_array_equal(given[...], whole)
    before = {p: p.read_bytes() for p in (tmp_path / "in.zarr").rglob("*") if p.is_file()}
    for source in (array, tmp_path / "in.zarr", str(tmp_path / "in.zarr")):
        for lazy in (tapline.dask.image(da.from_zarr(array), np.ones((3, 3))) + 1, da.from_zarr(str(tmp_path / "in.zarr")) + 1):
            with pytest.raises(ValueError, match="source"):
                tapline.dask.to_zarr(lazy, source, **({} if source is array else {"overwrite": True}))
    assert before == {p: p.read_bytes() for p in (tmp_path / "in.zarr").rglob("*") if p.is_file()}
    with pytest.raises(ValueError, match=r"target: \(30, 20\)"):
        tapline.dask.to_zarr(y, zarr.create_array(str(tmp_path / "small.zarr"), shape=(30, 20), dtype="f4"))
    with pytest.raises(TypeError, match=r"dask\.array"):
        tapline.dask.to_zarr(x, tmp_path / "never.zarr")
    with pytest.raises(ValueError, match="unknown"):
        tapline.dask.to_zarr(y[y[:, 0] > 0], tmp_path / "never.zarr")
    assert not (tmp_path / "never.zarr").exists()


def test_two_workers_from_zarr_to_zarr(tmp_path):
    distributed = pytest.importorskip("distributed")
    x = np.random.default_rng(8).standard_normal((90, 70)).astype(np.float32)
    stored(tmp_path / "in.zarr", x, (20, 30))
    taps = np.outer(np.hanning(9), np.hanning(7)).astype(np.float32)
    y = tapline.dask.image(da.from_zarr(str(tmp_path / "in.zarr")), taps, boundary="reflect")
    assert reads_files(y)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as cluster,
        distributed.Client(cluster),
    ):
        out = tapline.dask.to_zarr(y, tmp_path / "out.zarr")
    np.testing.assert_array_equal(out[...], tapline.image(x, taps, boundary="reflect"))


def test_what_xarray_opens_is_read_as_it_lies_unless_it_is_decoded(tmp_path):
    xr = pytest.importorskip("xarray")
    pytest.importorskip("zarr", minversion="3")
    x = np.random.default_rng(7).standard_normal((30, 40), dtype=np.float32)
    attributes = {"time": {}, "scaled": {"scale_factor": np.float32(0.5)}}
    written = xr.Dataset({name: (("y", "x"), x, value) for name, value in attributes.items()}).chunk({"y": 10, "x": 40})
    written.to_zarr(
        tmp_path / "x.zarr", zarr_format=3, consolidated=False, encoding={name: {"compressors": None} for name in attributes}
    )
    opened = xr.open_zarr(tmp_path / "x.zarr", consolidated=False)
    taps = np.ones((3, 3), np.float32)
    for lazy, is_plain in ((opened["time"], True), (opened["scaled"], False), (opened["time"][1:], False)):
        y = tapline.dask.image(lazy.data, taps)
        assert reads_files(y) == is_plain
        np.testing.assert_array_equal(computed(y), tapline.image(lazy.values, taps))


def test_xarray_keeps_names_coordinates_and_attributes():
    xr = pytest.importorskip("xarray")
    import tapline.xarray

    rng = np.random.default_rng(9)
    values = rng.standard_normal((6, 50)).astype(np.float32)
    x = xr.DataArray(
        values,
        dims=("station", "time"),
        coords={"time": np.arange(50) * 0.5, "station": list("abcdef"), "quality": ("time", np.arange(50))},
        attrs={"units": "m"},
        name="height",
    )
    taps = np.hanning(8).astype(np.float32)
    same = x.tapline.convolve(taps, dim="time")
    np.testing.assert_array_equal(same.values, tapline.convolve(values, taps, "same"))
    assert (same.name, same.attrs) == ("height", {"units": "m"})
    assert set(same.coords) == {"time", "station", "quality"}
    valid = x.tapline.convolve(taps, dim="time", mode="valid")
    xr.testing.assert_equal(valid, same.isel(time=slice(4, 47)))
    assert "time" not in x.tapline.convolve(taps, dim="time", mode="full").coords
    lazy = x.chunk(time=7).tapline.correlate(taps, dim="time", boundary="nearest")
    assert lazy.chunks is not None
    np.testing.assert_array_equal(lazy.values, tapline.correlate(values, taps, "same", boundary="nearest"))
    mask = xr.DataArray(rng.standard_normal((3, 5)).astype(np.float32), dims=("time", "station"))
    turned = x.tapline.convolve(mask, dim=("station", "time"))
    assert turned.dims == x.dims
    np.testing.assert_array_equal(turned.values, tapline.image(values, mask.values.T))
    along = x.T.tapline.convolve(mask, dim=("station", "time"))
    np.testing.assert_array_equal(along.values, turned.values.T)
    for bad in ("depth", ("time", "time"), ("station", "time", "x")):
        with pytest.raises(ValueError, match="dim"):
            x.tapline.convolve(taps, dim=bad)


@slow
def test_larger_than_memory_in_chunks():
    x = da.random.default_rng(1).standard_normal((20_000, 20_000), chunks=2500, dtype=np.float32)
    taps = np.outer(np.hanning(41), np.hanning(41)).astype(np.float32)
    y = tapline.dask.image(x, taps, boundary="reflect")
    assert np.isfinite(float(y.sum().compute()))
