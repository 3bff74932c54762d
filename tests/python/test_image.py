"""tapline.image against plain sums in float64."""

import itertools

import numpy as np
import pytest

import drawn_calls
import tapline
from tapline import _nd

BOUNDARIES = ["zero", "constant", "nearest", "reflect", "mirror", "wrap"]


def drawn(shape, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0, min(np.iinfo(dtype).max, 60000), shape).astype(dtype)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def expected(x, taps, mode="same", boundary="zero", constant=0.0, origin=(None, None), operation="convolution"):
    """Of one channel: x (rows, columns), in float64 or complex128."""
    w = taps[::-1, ::-1] if operation == "convolution" else np.conj(taps)
    places, sizes = [], []
    for n, k, o in zip(x.shape, w.shape, origin, strict=True):
        size = {"full": n + k - 1, "valid": n - k + 1}.get(mode, n)
        place = {"full": k - 1, "same": k // 2, "causal": k - 1}.get(mode, 0)
        places.append(place if o is None else o)
        sizes.append(size)
    x = x.astype(np.result_type(x, np.float64))
    for axis in (0, 1):
        before, after = max(places[axis], 0), max(sizes[axis] + w.shape[axis] - 1 - places[axis] - x.shape[axis], 0)
        x = _nd.extend(
            x, axis, before, after, "constant" if boundary == "zero" else boundary, 0.0 if boundary == "zero" else constant
        )
        places[axis] -= before
    y = np.zeros(sizes, np.result_type(x, w, np.float64))
    for i, j in itertools.product(*map(range, w.shape)):
        y += w[i, j] * x[i - places[0] : i - places[0] + sizes[0], j - places[1] : j - places[1] + sizes[1]]
    return y


def assert_close(got, wanted, tolerance):
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).max(initial=0) <= tolerance * max(1.0, np.abs(wanted).max(initial=0))


@pytest.mark.parametrize("mode", ["full", "same", "valid", "causal", "leading"])
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("mask", [(1, 1), (3, 3), (2, 5), (7, 4), (21, 15)])
def test_values(mask, boundary, mode):
    for dtype, tolerance in [(np.float32, 1e-5), (np.float64, 1e-13), (np.complex64, 1e-5)]:
        x, taps = drawn((30, 41), dtype), drawn(mask, np.float64, 1)
        more = {"constant": 1.5} if boundary == "constant" else {}
        y = tapline.image(x, taps, mode, boundary=boundary, **more)
        assert y.dtype == x.dtype
        assert_close(y, expected(x, taps, mode, boundary, **more), tolerance)


def test_complex_masks_and_correlation():
    x, taps = drawn((20, 17)), drawn((3, 4), np.complex128, 1)
    for operation in ("convolution", "correlation"):
        y = tapline.image(x, taps, operation=operation)
        assert y.dtype == np.complex64
        assert_close(y, expected(x, taps, operation=operation), 1e-5)


def test_origins():
    x, taps = drawn((20, 17)), drawn((3, 4), seed=1)
    for origin in [(0, 0), (2, 3), (5, -2), (None, 1)]:
        assert_close(tapline.image(x, taps, origin=origin), expected(x, taps, origin=origin), 1e-5)
    assert_close(tapline.image(x, taps, origin=1), expected(x, taps, origin=(1, 1)), 1e-5)


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 7])
def test_channels_and_batches(channels):
    x = drawn((2, 3, 15, 18, channels))
    shared, own = drawn((4, 3), seed=1), drawn((4, 3, channels), seed=2)
    y, z = tapline.image(x, shared, channel_axis=-1), tapline.image(x, own, channel_axis=-1, boundary="mirror")
    for b, c, i in itertools.product(range(2), range(3), range(channels)):
        assert_close(y[b, c, ..., i], expected(x[b, c, ..., i], shared), 1e-5)
        assert_close(z[b, c, ..., i], expected(x[b, c, ..., i], own[..., i], boundary="mirror"), 1e-5)
    planar = np.moveaxis(x, -1, -3)
    assert_close(tapline.image(planar, shared), np.moveaxis(y, -1, -3), 1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_bytes_are_rounded_and_saturated(dtype):
    x, taps = drawn((25, 30, 3), dtype), drawn((3, 3), np.float32, 1)
    y = tapline.image(x, taps, channel_axis=-1, scale=0.5, bias=20)
    assert y.dtype == dtype
    for c in range(3):
        exact = np.clip(0.5 * expected(x[..., c], taps) + 20, 0, np.iinfo(dtype).max)
        assert (np.abs(y[..., c] - exact) <= 0.5 + 1e-2).all()
    assert tapline.image(x, taps, channel_axis=-1, dtype=np.float32).dtype == np.float32
    limited = tapline.image(x, taps, channel_axis=-1, clamp=(10, 40))
    assert limited.min() >= 10
    assert limited.max() <= 40


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.float16, bool])
def test_other_types_are_converted(dtype):
    x = drawn((12, 13), np.uint8).astype(dtype)
    y = tapline.image(x, np.ones((2, 2)), dtype=np.float64)
    assert_close(y, expected(x.astype(float), np.ones((2, 2))), 1e-6)
    assert tapline.image(x, np.ones((1, 1))).dtype == dtype
    assert (tapline.image(x, np.ones((1, 1))) == x).all()


def test_layouts():
    big, taps = drawn((40, 50, 3)), drawn((3, 5), seed=1)
    for x in (big[..., 0], big[::2, ::3, 1], big[::-1, :, 2], big[..., 0].T, big[5:30, 7:33, 0], np.asfortranarray(big[..., 1])):
        x.flags.writeable = False
        assert_close(tapline.image(x, taps), expected(x, taps), 1e-5)
    x = big[3:30, 4:44]  # read in place
    assert_close(tapline.image(x, taps, channel_axis=-1)[..., 2], expected(x[..., 2], taps), 1e-5)


@pytest.mark.parametrize("boundary", [b for b in BOUNDARIES if b != "constant"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "uint8", "uint16", "float16"])
@pytest.mark.parametrize("mask", [(3, 5), (1, 4), (17, 19)])
def test_views_are_the_arrays_that_they_show(mask, dtype, boundary):
    """Columns, mirrored and every second pixel of images that are larger than what is gathered at once."""
    big, taps = (40 * drawn((150, 170), seed=2)).astype(dtype), drawn(mask, seed=3)
    for x in (big.T, big[::-1, ::-1], big[::2, ::2], big[:, ::-3], big.T[::-1, 5:]):
        wanted = tapline.image(x.copy(), taps, boundary=boundary)
        out = np.empty(wanted.shape[::-1], dtype).T
        assert tapline.image(x, taps, boundary=boundary, out=out) is out
        # Sums may be taken in another order, so that one next to a half is rounded to the other integer.
        step = 1 if wanted.dtype.kind == "u" else (2e-3 if dtype == "float16" else 1e-5) * np.abs(wanted).max().astype(float)
        for got in (tapline.image(x, taps, boundary=boundary), out):
            assert np.abs(got.astype(complex) - wanted.astype(complex)).max() <= step


def test_halves_are_summed_in_float32():
    x, taps = drawn((90, 130)).astype(np.float16), drawn((5, 5), seed=1)
    y = tapline.image(x, taps)
    assert y.dtype == np.float16
    assert (y == tapline.image(x.astype(np.float32), taps).astype(np.float16)).all()
    assert (tapline.image(x, taps, dtype=np.float32) == tapline.image(x.astype(np.float32), taps)).all()
    taps[2, 2] = np.inf
    assert np.isinf(tapline.image(x, taps)).any()


def test_out():
    x, taps = drawn((20, 30)), drawn((3, 3), seed=1)
    wanted = expected(x, taps)
    for out in (
        np.empty((20, 30), np.float32),
        np.empty((20, 60), np.float32)[:, ::2],
        np.empty((40, 35), np.float32)[::2, 3:33],
        np.empty((20, 30), np.float64),
        np.empty((30, 20), np.float32).T,
        np.empty((20, 30), np.float16),
    ):
        assert tapline.image(x, taps, out=out) is out
        assert_close(out, wanted, 2e-3 if out.dtype == np.float16 else 1e-5)
    batch = np.empty((2, 3, 20, 60), np.float32)[..., ::2]
    tapline.image(np.broadcast_to(x, (2, 3, 20, 30)), taps, out=batch)
    assert_close(batch[1, 2], wanted, 1e-5)


@pytest.mark.parametrize("seed", range(200))
def test_drawn_layouts(seed):
    """Rows, pixels, channels and images in any order in memory, the rows of several images taking turns among them."""
    rng = np.random.default_rng(seed)
    colour = int(rng.integers(2))
    shape = tuple(int(n) for n in rng.choice((1, 2, 3, 5, 7), int(rng.integers(2, 5)) + colour))
    dtype = str(rng.choice(("float32", "float64", "complex64", "uint8", "uint16", "int32", "float16", "bool")))
    values = (50 * rng.random(shape)).astype(dtype)
    taps = rng.integers(0, 3, rng.integers(1, 5, 2))
    options = {
        "channel_axis": -1 if colour else None,
        "mode": str(rng.choice(("full", "same", "causal", "leading"))),
        "boundary": str(rng.choice([b for b in BOUNDARIES if b != "constant"])),
    }
    wanted = tapline.image(values, taps, **options)
    x = drawn_calls.spread(rng, shape, dtype)
    x[...] = values
    out = drawn_calls.spread(rng, wanted.shape, dtype)
    assert tapline.image(x, taps, out=out, **options) is out
    for got in (tapline.image(x, taps, **options), out):
        assert got.dtype == wanted.dtype
        assert_close(got.astype(complex), wanted.astype(complex), 2e-3 if dtype == "float16" else 1e-6)


def test_strict_is_the_plain_sum():
    x, taps = drawn((50, 60)), drawn((9, 9), seed=1)
    assert_close(tapline.image(x, taps, accuracy="strict"), expected(x, taps), 2e-6)


def test_plans_are_found_again():
    tapline.clear_plan_cache()
    x, taps = drawn((20, 30)), drawn((3, 3), seed=1)
    for _ in range(3):
        tapline.image(x, taps)
    assert tapline.info()["plan_cache"]["plans"] == 1
    for i in range(40):
        tapline.image(x, taps * i)
    assert tapline.info()["plan_cache"]["plans"] == 40


def test_nothing_in():
    assert tapline.image(np.ones((0, 5, 6)), np.ones((2, 2))).shape == (0, 5, 6)
    with pytest.raises(ValueError, match=r"axis 0 \(y\): length: 0"):
        tapline.image(np.ones((0, 6)), np.ones((2, 2)))


X = np.ones((6, 7))


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((np.ones(5), X), {}, ValueError, "image: 1 axes"),
        ((X, np.ones(3)), {}, ValueError, "taps: 1 axes"),
        ((X, np.ones((3, 3, 3))), {}, ValueError, "channel_axis=-1"),
        ((np.ones((6, 7, 3)), np.ones((3, 3, 2))), {"channel_axis": -1}, ValueError, "masks for 2 channels"),
        ((np.ones((6, 7, 3)), X), {"channel_axis": 0}, ValueError, "channel_axis: 0"),
        ((X, np.ones((8, 8))), {"mode": "valid"}, ValueError, "mask|taps|valid"),
        ((X, X, "sideways"), {}, ValueError, "mode: 'sideways'"),
        ((X, X), {"boundary": "mirrored"}, ValueError, "boundary: 'mirrored'"),
        ((X, X), {"operation": "plus"}, ValueError, "operation: 'plus'"),
        ((X, X), {"origin": (1, 2, 3)}, ValueError, "origin"),
        ((X, X), {"out": np.ones((2, 2))}, ValueError, "out: its shape is"),
        ((X, X), {"out": X}, ValueError, "overlap"),
        ((X, X), {"out": np.empty((6, 7)), "dtype": np.float32}, ValueError, "leave dtype away"),
        ((X, X), {"scale": float("nan")}, ValueError, "scale"),
        ((X.astype(object), X), {}, TypeError, "image: elements are object"),
        ((X, X.astype(object)), {}, TypeError, "taps: elements are object"),
        ((X.astype(np.longdouble), X), {}, TypeError, "image: elements are longdouble|image: elements are float128"),
    ],
)
def test_errors(arguments, options, error, words):
    with pytest.raises(error, match=words):
        tapline.image(*arguments, **options)


def test_drop_ins_take_it():
    scipy_ndimage, scipy_signal = pytest.importorskip("scipy.ndimage"), pytest.importorskip("scipy.signal")
    x, w = drawn((70, 90), np.float64), drawn((5, 6), np.float64, 1)
    for mode in ("reflect", "nearest", "mirror", "wrap", "constant"):
        for name in ("convolve", "correlate"):
            mine, theirs = getattr(tapline.ndimage, name), getattr(scipy_ndimage, name)
            assert_close(mine(x, w, mode=mode, cval=1.5, origin=(1, -1)), theirs(x, w, mode=mode, cval=1.5, origin=(1, -1)), 1e-12)
        assert_close(
            tapline.ndimage.gaussian_filter(x, (1.0, 2.5), mode=mode, cval=1.5),
            scipy_ndimage.gaussian_filter(x, (1.0, 2.5), mode=mode, cval=1.5),
            1e-12,
        )
        assert_close(
            tapline.ndimage.uniform_filter(x, (4, 5), mode=mode, cval=1.5, origin=(1, -2)),
            scipy_ndimage.uniform_filter(x, (4, 5), mode=mode, cval=1.5, origin=(1, -2)),
            1e-12,
        )
    volume = drawn((3, 30, 40, 2), np.float64)
    for axes in [(1, 2), (2, 3), (2, 1)]:
        wanted = scipy_ndimage.gaussian_filter(volume, (1.0, 1.5), axes=axes)
        assert_close(tapline.ndimage.gaussian_filter(volume, (1.0, 1.5), axes=axes), wanted, 1e-12)
    for mode in ("full", "same", "valid"):
        for boundary in ("fill", "symm", "wrap"):
            assert_close(
                tapline.signal.convolve2d(x, w, mode, boundary, 2.0), scipy_signal.convolve2d(x, w, mode, boundary, 2.0), 1e-12
            )
            assert_close(
                tapline.signal.correlate2d(x, w * 1j, mode, boundary), scipy_signal.correlate2d(x, w * 1j, mode, boundary), 1e-12
            )
        large = drawn((33, 35), np.float64)
        assert_close(tapline.signal.convolve(x, large, mode), scipy_signal.convolve(x, large, mode), 1e-11)
