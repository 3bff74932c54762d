"""tapline.convolve, correlate, Plan, info and bench: values, strides, types, errors and lifetimes."""

import inspect
import subprocess
import sys
import threading
import time
import timeit
import tracemalloc
import typing

import numpy as np
import pytest

import tapline
from tapline import _core

DTYPES = "?bhilqBHILQefdFD"
MODES = ["full", "same", "valid", "causal", "leading"]
# numpy.pad's names of the boundaries.
PADS = {"zero": "constant", "constant": "constant", "nearest": "edge", "reflect": "symmetric", "mirror": "reflect", "wrap": "wrap"}


def textbook(x, h, mode, origin=None, boundary="zero", constant=0, correlation=False):
    """The sum of the definition, along the last axis, on a padded copy."""
    n, k = x.shape[-1], len(h)
    taps = np.conj(h) if correlation else h[::-1]
    if origin is None:
        origin = {"full": k - 1, "causal": k - 1, "same": k // 2, "valid": 0, "leading": 0}[mode]
    length = {"full": n + k - 1, "valid": n - k + 1}.get(mode, n)
    before, after = max(origin, 0), max(length + k - origin - n, 0)
    pads = [(0, 0)] * (x.ndim - 1) + [(before, after)]
    more = {"constant_values": constant} if PADS[boundary] == "constant" else {}
    padded = np.pad(x.astype(np.result_type(x, h, np.float64)), pads, PADS[boundary], **more)
    y = np.zeros((*x.shape[:-1], length), padded.dtype)
    for t in range(k):
        first = t - origin + before
        y += taps[t] * padded[..., first : first + length]
    return y


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("boundary", PADS)
@pytest.mark.parametrize("k", [1, 2, 7, 40])
def test_modes_and_boundaries(mode, boundary, k):
    rng = np.random.default_rng(k)
    x, h = rng.standard_normal((3, 50)), rng.standard_normal(k)
    more = {"constant": 1.5} if boundary == "constant" else {}
    y = tapline.convolve(x, h, mode, boundary=boundary, **more)
    np.testing.assert_allclose(y, textbook(x, h, mode, None, boundary, more.get("constant", 0)), rtol=0, atol=1e-12)
    y = tapline.correlate(x, h, mode, boundary=boundary, **more)
    expected = textbook(x, h, mode, None, boundary, more.get("constant", 0), correlation=True)
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("origin", [-3, 0, 2, 9])
def test_origin(origin):
    rng = np.random.default_rng(0)
    x, h = rng.standard_normal(30), rng.standard_normal(5)
    y = tapline.convolve(x, h, "same", origin=origin)
    np.testing.assert_allclose(y, textbook(x, h, "same", origin), rtol=0, atol=1e-13)


@pytest.mark.parametrize("signal", DTYPES)
@pytest.mark.parametrize("taps", DTYPES)
def test_every_type_beside_every_other(signal, taps):
    rng = np.random.default_rng(7)
    x = (rng.random((2, 40)) * 6).astype(signal)
    h = (rng.random(5) * 3).astype(taps)
    y = tapline.convolve(x, h)
    both = np.result_type(x, h)
    integers = x.dtype.kind in "biu" and h.dtype.kind in "biu"
    assert y.dtype == (np.int64 if integers else both)
    tolerance = {"e": 2e-2, "f": 1e-5, "F": 1e-5}.get(y.dtype.char, 1e-12)
    np.testing.assert_allclose(y, textbook(x, h, "full"), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("seed", range(400))
def test_axes_strides_and_filters_of_each_row(seed):
    """N-dimensional arrays with strides of all kinds, filters for each row or shared, outputs in all kinds of memory."""
    rng = np.random.default_rng(seed)
    ndim = int(rng.integers(1, 5))
    base = rng.standard_normal(tuple(rng.integers(1, 7, ndim) * 3))
    steps = [slice(None, None, int(s) * (1 if rng.random() < 0.7 else -1)) for s in rng.integers(1, 4, ndim)]
    x = base[tuple(steps)].transpose(rng.permutation(ndim))
    x.flags.writeable = False
    axis, k = int(rng.integers(ndim)), int(rng.integers(1, 5))
    mode = str(rng.choice(["full", "same", "causal"]))
    own = ndim > 1 and rng.random() < 0.4
    h = rng.standard_normal(k)
    if own:
        shape = [n if rng.random() < 0.7 else 1 for n in x.shape]
        shape[axis] = k
        h = rng.standard_normal(shape)
        if rng.random() < 0.3:
            x = x[tuple(slice(0, 1) if d != axis and rng.random() < 0.4 else slice(None) for d in range(ndim))]
    rows = np.moveaxis(x, axis, -1)
    filters = np.moveaxis(h, axis, -1) if own else h
    outer = np.broadcast_shapes(rows.shape[:-1], filters.shape[:-1])
    pairs = zip(
        np.broadcast_to(rows, outer + rows.shape[-1:]).reshape(-1, rows.shape[-1]),
        np.broadcast_to(filters, (*outer, k)).reshape(-1, k),
        strict=True,
    )
    expected = np.array([textbook(a, b, mode) for a, b in pairs])
    expected = np.moveaxis(expected.reshape(outer + expected.shape[-1:]), -1, axis)
    y = tapline.convolve(x, h, mode, axis=axis)
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-12, strict=True)

    big = np.full(tuple(2 * n for n in y.shape), np.nan)
    out = big[tuple(slice(None, 2 * n, 2) if rng.random() < 0.8 else slice(0, n) for n in y.shape)]
    if rng.random() < 0.3:
        out = out[tuple(slice(None, None, -1) for _ in y.shape)]
    assert tapline.convolve(x, h, mode, axis=axis, out=out) is out
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-12)
    assert np.count_nonzero(~np.isnan(big)) == out.size  # nothing beside it was written


@pytest.mark.parametrize("seed", range(100))
def test_a_plan_takes_any_strides(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(2, 8, rng.integers(1, 4)))
    axis = int(rng.integers(len(shape)))
    h = rng.standard_normal(3)
    plan = tapline.Plan(shape, h, "same", axis=axis, boundary="mirror")
    for _ in range(4):
        steps = tuple(int(s) for s in rng.integers(1, 4, len(shape)))
        x = rng.standard_normal(tuple(n * s for n, s in zip(shape, steps, strict=True)))[tuple(slice(None, None, s) for s in steps)]
        if rng.random() < 0.5:
            x = np.asfortranarray(x)
        expected = np.moveaxis(textbook(np.moveaxis(x, axis, -1), h, "same", None, "mirror"), -1, axis)
        np.testing.assert_allclose(plan(x), expected, rtol=0, atol=1e-13)
        out = np.full(tuple(2 * n for n in shape), np.nan)[tuple(slice(None, None, 2) for _ in shape)]
        assert plan(x, out) is out
        np.testing.assert_allclose(out, expected, rtol=0, atol=1e-13)


def test_an_input_is_read_in_place():
    """No copy of what the engine can step through: the peak of a call is its output."""
    x = np.zeros((4, 1 << 20))
    for view, axis in ((x, -1), (x[:, ::2], -1), (x.T, 0), (x[::2], 0)):
        out = np.empty_like(view)
        tracemalloc.start()
        tapline.convolve(view, [1.0, 2.0], "same", axis=axis, out=out)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 100_000


def test_epilogue_and_casts():
    x = np.array([-300.0, -1.5, 0.5, 1.5, np.nan, 300.0])
    out = np.empty(6, np.int8)
    assert tapline.convolve(x, [1.0], out=out).tolist() == [-128, -2, 0, 2, 0, 127]
    assert tapline.convolve(x, [2], "same", scale=0.5, bias=1, clamp=(0, 2)).tolist()[:4] == [0, 0, 1.5, 2]
    assert tapline.convolve(x, [1.0], dtype="float32").dtype == np.float32
    y = tapline.convolve(np.array([200, 100], np.uint8), np.array([2], np.uint8), dtype=np.uint8, overflow="wrap")
    assert y.dtype == np.uint8
    assert y.tolist() == [144, 200]


def test_accuracy_of_float16():
    rng = np.random.default_rng(0)
    x, h = rng.standard_normal(500).astype(np.float16), rng.standard_normal(300).astype(np.float16)
    y = tapline.convolve(x, h)
    assert y.dtype == np.float16
    exact = textbook(x.astype(float), h.astype(float), "full")
    assert (np.abs(y - exact) <= 2**-11 * np.abs(exact) + 1e-3).all()
    out = np.empty(799, np.float16)
    assert tapline.convolve(x.astype(np.float32), h, out=out) is out
    np.testing.assert_array_equal(out, y)


def test_nan_reaches_only_its_window():
    x = np.ones(20_000)
    x[10_000] = np.nan
    y = tapline.convolve(x, np.ones(2000), "causal")
    assert np.isnan(y[10_000:12_000]).all()
    assert np.isfinite(y[:10_000]).all()
    assert np.isfinite(y[12_000:]).all()


@pytest.mark.parametrize(
    ("arguments", "named", "error", "words"),
    [
        (([], [1.0]), {}, ValueError, "length: 0"),
        (([1.0], []), {}, ValueError, "taps: 0"),
        ((1.0, [1.0]), {}, ValueError, "at least one axis"),
        (([1.0], 2.0), {}, ValueError, "one axis"),
        ((np.ones((2, 3)), np.ones((3, 3))), {}, ValueError, "filters along axis 0"),
        ((np.ones((2, 3)), np.ones((1, 1, 3))), {}, ValueError, "as many as the signal"),
        (([1.0], [1.0, 2.0], "valid"), {}, ValueError, "longer than the signal"),
        (([1.0], [1.0], "circular"), {}, ValueError, "mode: 'circular'; one of 'full'"),
        (([1.0], [1.0], 3), {}, TypeError, "mode: 3; give a string"),
        (([1.0], [1.0]), {"boundary": "symm"}, ValueError, "'nearest'"),
        (([1.0], [1.0]), {"constant": 1}, ValueError, "boundary='constant'"),
        (([1.0], [1.0]), {"accuracy": "best"}, ValueError, "'strict'"),
        (([1.0], [1.0]), {"axis": 1}, ValueError, "axis: 1"),
        (([1.0], [1.0]), {"axis": "x"}, TypeError, "integer"),
        (([1.0], [1.0]), {"scale": np.nan}, ValueError, "scale: NaN"),
        (([1.0], [1.0]), {"clamp": (2, 1)}, ValueError, "above the upper"),
        (([1.0], [1.0]), {"clamp": 1}, TypeError, "pair of limits"),
        (([1.0], [1.0]), {"clamp": (1, 2, 3)}, ValueError, "pair of limits"),
        (([1j], [1.0]), {"clamp": (0, 1)}, TypeError, "complex"),
        (([1.0], [1.0]), {"device": "tpu"}, ValueError, "tpu"),
        (([1.0], [1.0]), {"threads": -1}, ValueError, "threads: -1"),
        (([1.0], [1.0]), {"nonsense": 1}, TypeError, "no argument 'nonsense'"),
        (([1.0], [1.0]), {"shape": 1}, TypeError, "no argument 'shape'"),
        (([1.0], [1.0]), {"signal": [1.0]}, TypeError, "twice"),
        (([1.0],), {}, TypeError, "lacks its argument 'taps'"),
        (([1.0], [1.0], "full", -1), {}, TypeError, "by position"),
        ((None, [1.0]), {}, TypeError, "signal: None"),
        ((["a"], [1.0]), {}, TypeError, "signal: elements are"),
        ((np.array([1], object), [1.0]), {}, TypeError, "object; convert"),
        (([1.0], np.ones(1, np.longdouble)), {}, TypeError, "taps: elements are"),
        (([1.0], [1.0]), {"dtype": "U5"}, TypeError, "dtype"),
        (([1.0], [1.0]), {"dtype": "complex64"}, TypeError, "real output"),
        (([1.0], [1.0]), {"out": [0.0]}, TypeError, "out: not an array"),
        (([1.0], [1.0]), {"out": np.zeros(3)}, ValueError, r"\(3,\); this problem's output has \(1,\)"),
        (([1.0], [1.0]), {"out": np.zeros(1), "dtype": "float32"}, ValueError, "leave dtype away"),
        (([1j], [1.0]), {"out": np.zeros(1)}, TypeError, "complex"),
        ((np.array([2**62, 2**62]), [1, 1]), {}, ValueError, "i64|overflow|fit"),
        ((np.array([1], np.uint64), [-1]), {}, TypeError, "negative"),
        ((np.array([1], np.int8), np.array([2**63], np.uint64)), {}, TypeError, "does not fit i64"),
    ],
)
def test_errors(arguments, named, error, words):
    with pytest.raises(error, match=words):
        tapline.convolve(*arguments, **named)


def test_out_that_cannot_be_written():
    x = np.arange(5.0)
    frozen = np.zeros(5)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        tapline.convolve(x, [1.0], out=frozen)
    with pytest.raises(ValueError, match="overlaps"):
        tapline.convolve(x, [1.0], out=x)


def test_no_rows():
    assert tapline.convolve(np.ones((0, 5)), np.ones(3)).shape == (0, 7)
    with pytest.raises(ValueError, match="length: 0"):
        tapline.convolve(np.ones((3, 0)), np.ones(3))


def test_foreign_byte_order_and_alignment():
    x = np.arange(6, dtype=">f8")
    assert tapline.convolve(x, [1.0, 1.0], "valid").tolist() == [1, 3, 5, 7, 9]
    raw = np.zeros(49, np.uint8)[1:].view(np.float64)
    raw[:] = range(6)
    assert tapline.convolve(raw, [1.0, 1.0], "valid").tolist() == [1, 3, 5, 7, 9]
    out = np.zeros(5, ">f8")
    assert tapline.convolve(x, [1.0, 1.0], "valid", out=out).tolist() == [1, 3, 5, 7, 9]


def test_plan():
    taps = np.array([1.0, 2.0, 3.0])
    plan = tapline.Plan((2, 10), taps, "same", boundary="wrap", dtype="float32")
    taps[:] = 0  # the plan has its own
    x = np.arange(20, dtype=np.float32).reshape(2, 10)
    np.testing.assert_allclose(plan(x), textbook(x, np.array([1.0, 2, 3]), "same", None, "wrap"))
    assert (plan.shape, plan.output_shape) == ((2, 10), (2, 10))
    assert (plan.dtype, plan.output_dtype) == (np.float64, np.float64)  # float64 taps beside a float32 signal
    assert isinstance(plan.workspace_bytes, int)
    assert plan.workspace_bytes >= 0
    assert plan.predicted_seconds > 0
    assert plan.threads >= 1
    assert plan.device == "cpu"
    assert "same convolution of 2 x 10 f64 samples" in plan.explain()
    assert "2 x 10" in repr(plan)
    with pytest.raises(ValueError, match="shape is not the plan's"):
        plan(np.ones(10))
    with pytest.raises(TypeError, match="complex128, the plan is for f64"):
        plan(np.ones((2, 10), complex))
    with pytest.raises(TypeError, match="out: elements are f32"):
        plan(x, np.zeros((2, 10), np.float32))
    out = np.empty((2, 10))
    assert plan(out=out, signal=x) is out
    np.testing.assert_array_equal(out, plan(x, None))
    for arguments, named in (((), {}), ((x, out, 1), {}), ((x,), {"outt": out}), ((x, out), {"out": out})):
        with pytest.raises(TypeError, match="Plan"):
            plan(*arguments, **named)
    with pytest.raises(TypeError, match="__init__"):
        tapline.Plan.__new__(tapline.Plan)(x)
    for shape, words in ((0, "at least 1"), ((2, 0), "at least 1")):
        with pytest.raises(ValueError, match=words):
            tapline.Plan(shape, [1.0])
    with pytest.raises(TypeError, match="give the signal's shape"):
        tapline.Plan(np.ones(4), [1.0])
    with pytest.raises(ValueError, match="algorithm"):
        tapline.Plan(4, [1.0], algorithm="magic")


@pytest.mark.parametrize("dtype", ["int16", "uint8", "bool", "float16", "float32", "complex64"])
@pytest.mark.parametrize("taps", [7, 300])
def test_middle_axes_and_narrow_types_are_read_where_they_are(dtype, taps):
    rng = np.random.default_rng(taps)
    samples = rng.integers(0, 100, (3, 2, 400, 5)) if dtype in ("bool", "uint8") else rng.standard_normal((3, 2, 400, 5)) * 50
    x = samples.astype(dtype)
    h = rng.standard_normal(taps).astype("float32")
    for view in (x, x[:, :, ::-1], x.transpose(1, 3, 2, 0), x[:, ::-1, :, 1:4]):
        out = np.full(view.shape, np.nan, "complex64" if dtype == "complex64" else "float32")
        wide = view.astype(complex if dtype == "complex64" else float)
        expected = np.apply_along_axis(lambda row: textbook(row, h, "same", None, "reflect"), 2, wide)
        tapline.convolve(view, h, "same", axis=2, boundary="reflect", out=out)
        bound = 1e-6 * np.abs(h).sum() * np.linalg.norm(wide)
        assert np.linalg.norm(out - expected) <= bound
        if dtype == "float16":
            half = tapline.convolve(view, h.astype("float16"), "same", axis=2, boundary="reflect")
            assert half.dtype == np.float16
            rounded = np.abs(half - expected) / np.maximum(np.abs(expected), 1e-3)
            assert np.median(rounded) < 2**-9


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32"])
@pytest.mark.parametrize("taps", [3, 40, 600])
def test_channels_last_with_a_filter_for_each(dtype, taps):
    rng = np.random.default_rng(taps)
    x = (rng.standard_normal((4, 300, 7)) * 50).astype(dtype)
    for filters in ((1, taps, 7), (4, taps, 7), (4, taps, 1)):
        h = (rng.standard_normal(filters) * 5).astype("int32" if dtype == "int32" else "float32")
        for view in (x, x[:, ::-1], x[..., ::-1]):
            y = tapline.convolve(view, h, "same", axis=1, boundary="mirror")
            wide = view.astype(complex if dtype == "complex64" else float)
            every = np.broadcast_to(h, (4, taps, 7))
            for i, j in np.ndindex(4, 7):
                expected = textbook(wide[i, :, j], every[i, :, j].astype(float), "same", None, "mirror")
                bound = 1e-6 * np.abs(every[i, :, j]).sum() * np.linalg.norm(wide[i, :, j])
                assert np.linalg.norm(y[i, :, j] - expected) <= bound


@pytest.mark.parametrize("algorithm", ["direct", "overlap_save", "partitioned", "textbook"])
def test_a_plan_of_each_algorithm(algorithm):
    rng = np.random.default_rng(3)
    x, h = rng.standard_normal(3000), rng.standard_normal(200)
    plan = tapline.Plan(3000, h, algorithm=algorithm, operation="correlation")
    assert plan.algorithm == algorithm
    np.testing.assert_allclose(plan(x), np.correlate(x, h, "full"), rtol=0, atol=1e-10)
    told = {a["name"]: a for a in _core.algorithms(plan)}
    assert told[algorithm]["supported"]
    assert not told["integer"]["supported"]


@pytest.mark.parametrize("shape", [(3, 50, 4), (150, 9, 120)])  # the second with more filters than a call would prepare at once
def test_a_plan_of_filters_along_two_axes(shape):
    rng = np.random.default_rng(8)
    x, h = rng.standard_normal(shape), rng.standard_normal((shape[0], 5, shape[2]))
    plan = tapline.Plan(shape, h, "same", axis=1)
    wanted = tapline.convolve(x, h, "same", axis=1)
    np.testing.assert_allclose(plan(x), wanted, 1e-12, 1e-12)
    np.testing.assert_allclose(plan(np.asfortranarray(x)), wanted, 1e-12, 1e-12)
    middle = np.convolve(x[2, :, 3], h[2, :, 3])[2 : 2 + shape[1]]  # the longer of both has a result as long
    np.testing.assert_allclose(wanted[2, :, 3], middle, 1e-12, 1e-12)


def test_plans_are_kept_by_content():
    tapline.clear_plan_cache()
    x, h = np.arange(50.0), np.array([1.0, 2.0])
    first = tapline.convolve(x, h)
    assert _core.plan_cache_size() == 1
    tapline.convolve(x, h.copy())
    assert _core.plan_cache_size() == 1
    h[0] = 5  # changed in place: another filter
    np.testing.assert_array_equal(tapline.convolve(x, h), np.convolve(x, h))
    assert _core.plan_cache_size() == 2
    h[0] = 1
    np.testing.assert_array_equal(tapline.convolve(x, h), first)
    assert _core.plan_cache_size() == 2
    tapline.clear_plan_cache()
    assert _core.plan_cache_size() == 0


def test_other_threads_run_meanwhile():
    """The GIL is released: while one thread convolves for long, another one counts."""
    x, h = np.ones(3_000_000), np.ones(3000)
    plan = tapline.Plan(x.size, h, algorithm="direct", threads=1)
    beats = []
    done = threading.Event()

    def beat():
        while not done.is_set():
            beats.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=beat)
    thread.start()
    begin = time.perf_counter()
    plan(x)
    end = time.perf_counter()
    done.set()
    thread.join()
    assert end - begin > 0.05
    within = [b for b in beats if begin < b < end]
    assert len(within) > 10


def test_many_threads_at_once():
    rng = np.random.default_rng(1)
    jobs = [(rng.standard_normal(n), rng.standard_normal(k)) for n in (50, 5000, 70_000) for k in (3, 60, 700)]
    wanted = [np.convolve(x, h) for x, h in jobs]
    failures = []

    def work(seed):
        for i in np.random.default_rng(seed).permutation(len(jobs) * 4) % len(jobs):
            error = np.abs(tapline.convolve(*jobs[i]) - wanted[i]).max()
            if not error < 1e-10:
                failures.append((i, error))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


LEAKS = """
import re, sys
import numpy as np, tapline

def resident():  # not getrusage's peak, which a process inherits from the one that started it
    return int(re.search(r"VmRSS:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1))

x, h, out = np.ones((3, 400)), np.ones(9), np.empty((3, 408))
plan = tapline.Plan((3, 400), h)
strided = np.ones((3, 800))[:, ::2]

def once():
    tapline.convolve(x, h)
    tapline.convolve(x, [1, 2, 3], "same", boundary="reflect", out=None, clamp=(0.0, 1e9))
    tapline.correlate(x.astype("float16"), np.ones((3, 4)), axis=1)
    plan(x, out); plan(strided)
    tapline.Plan(50, h).explain()
    for bad in (["a"], None, []):
        try:
            tapline.convolve(bad, h)
        except (TypeError, ValueError):
            pass
    tapline.signal.convolve2d(x[:, :20], np.ones((2, 3)), boundary="wrap")
    tapline.ndimage.gaussian_filter(x[:, :20], 1)
    tapline.ndimage.sobel(x[:, :20].astype("int16"))
    tapline.signal.upfirdn(h, x[0], 2, 3, mode="line")
    tapline.numpy.correlate(x[0], h.astype(int), "full")
    tapline.image(x[:, :20], np.ones((2, 3)), boundary="mirror")
    tapline.image(np.ones((5, 6, 3), np.uint8), np.ones((2, 2, 3)), channel_axis=-1)

for _ in range(3000):
    once()
objects = sys.getallocatedblocks()
before = resident()
for _ in range(10_000):
    once()
print(sys.getallocatedblocks() - objects, resident() - before)
"""


def test_ten_thousand_calls_leak_nothing():
    run = subprocess.run([sys.executable, "-c", LEAKS], capture_output=True, text=True, check=True)
    blocks, kilobytes = (int(v) for v in run.stdout.split())
    assert blocks < 200
    assert kilobytes < 2048


def overloads(function):
    """The signatures that a stub gives a function: those marked as overloads, or its own (typing keeps none before Python 3.11)."""
    marked = typing.get_overloads(function) if hasattr(typing, "get_overloads") else []
    return marked or ([function] if function.__module__ != "typing" else [])


def test_signatures_and_stubs():
    names = list(inspect.signature(tapline.convolve).parameters)
    assert names[:3] == ["signal", "taps", "mode"]
    assert names == list(inspect.signature(tapline.correlate).parameters)
    from pathlib import Path

    folder = Path(tapline.__file__).parent
    assert (folder / "py.typed").exists()
    for module in (tapline, tapline.numpy, tapline.signal, tapline.ndimage):
        stub = "__init__" if module is tapline else module.__name__.split(".")[1]
        scope = {}
        scope["__name__"] = f"stub_of_{stub}"
        exec(compile((folder / f"{stub}.pyi").read_text(), stub, "exec"), scope)  # a stub is Python, too
        for name in module.__all__:
            if name == "Plan":
                continue
            if inspect.isroutine(getattr(module, name)):
                real = inspect.signature(getattr(module, name)).parameters
                for told in (inspect.signature(f).parameters for f in overloads(scope[name])):
                    assert list(real) == list(told), name
                    for p in real:
                        assert told[p].default in (real[p].default, ...) or told[p].default is real[p].default, (name, p)
            else:
                assert name in scope or name in scope["__annotations__"]
    for name in [n for n in dir(tapline.Plan) if not n.startswith("_")]:
        assert f"def {name}(" in (folder / "__init__.pyi").read_text()


def test_info_and_bench():
    info = tapline.info()
    assert info["cpu_target"] in info["cpu_targets"]
    cpu = info["engines"][0]
    assert (cpu["name"], cpu["available"], cpu["devices"][0]["name"]) == ("cpu", True, "cpu")
    results = tapline.bench(5000, [3, 300], dtype="complex64", seconds=0.01)
    assert [r["taps"] for r in results] == [3, 300]
    assert all(r["seconds"] > 0 and r["copy_seconds"] > 0 for r in results)


def test_a_short_call_costs_no_more_than_its_sum():
    """Twice the times that are meant (3 and 1.5 us), so that a busy machine passes and a lost fast path does not."""
    x, h, out = np.random.default_rng(0).standard_normal(1000), np.ones(9), np.empty(1008)
    plan = tapline.Plan(1000, h)
    for seconds, call in ((6e-6, lambda: tapline.convolve(x, h)), (3e-6, lambda: plan(x, out))):
        assert min(timeit.repeat(call, number=2000, repeat=30)) / 2000 < seconds
