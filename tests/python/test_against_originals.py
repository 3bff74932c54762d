"""Drop-ins against NumPy's and SciPy's own functions on random problems; the seed of a failing one is in its name."""

import inspect
import math

import numpy as np
import pytest

import tapline
from tapline import _fallback, _upfirdn
from tapline._upfirdn import periods

scipy_signal = pytest.importorskip("scipy.signal")
scipy_ndimage = pytest.importorskip("scipy.ndimage")

FLOATS = ["float32", "float64", "complex64", "complex128"]
INTEGERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
BOUNDARIES = ["nearest", "wrap", "reflect", "mirror", "constant", "grid-mirror", "grid-wrap", "grid-constant"]


@pytest.fixture(autouse=True)
def only_tapline(monkeypatch):
    """Nothing here may be answered by SciPy: it would be compared with itself."""
    monkeypatch.setattr(_fallback, "prefer_faster", False)
    before = _fallback.asked.copy()
    yield
    assert _fallback.asked == before


def drawn(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        x = rng.random(shape) < 0.5
    elif dtype.kind in "iu":
        limits = np.iinfo(dtype)
        x = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    else:
        x = rng.standard_normal(shape).astype(dtype)
        if dtype.kind == "c":
            x += 1j * rng.standard_normal(shape).astype(dtype)
    if rng.random() < 0.3 and x.ndim:  # strides of all kinds
        x = np.repeat(x, 2, axis=-1)[..., ::2]
    if rng.random() < 0.2 and x.ndim:
        x = np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    if rng.random() < 0.2:
        x = np.asfortranarray(x)
    if rng.random() < 0.3:
        x.flags.writeable = False
    return x


def assert_same(ours, theirs, tolerance=None):
    """Equal in type and shape; exact for integers, else within a rounding error of the largest element."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    if theirs.dtype.kind in "biu" and tolerance is None:
        np.testing.assert_array_equal(ours, theirs)
        return
    if theirs.size == 0:
        return
    if tolerance is None:
        tolerance = {2: 2e-3, 4: 2e-6, 8: 1e-13}[theirs.real.dtype.itemsize]
    error = np.abs(ours.astype(complex) - theirs.astype(complex)).max()
    assert error <= tolerance * max(1, np.abs(theirs.astype(complex)).max())


def shapes(rng, ndim, fit):
    x = rng.integers(1, 60 if ndim == 1 else 9, ndim)
    h = rng.integers(1, 60 if ndim == 1 else 6, ndim)
    if fit:  # one holds the other
        x, h = np.maximum(x, h), np.minimum(x, h)
        if rng.random() < 0.3:
            x, h = h, x
    return tuple(x), tuple(h)


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_numpy(name, seed):
    rng = np.random.default_rng(seed)
    x, h = shapes(rng, 1, False)
    kinds = rng.choice([*FLOATS, *INTEGERS, "float16"], 2)
    mode = str(rng.choice(["full", "same", "valid"]))
    a, v = drawn(rng, x, kinds[0]), drawn(rng, h, kinds[1])
    with np.errstate(over="ignore", invalid="ignore"):
        assert_same(getattr(tapline.numpy, name)(a, v, mode), getattr(np, name)(a, v, mode))


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_signal_direct_and_fft(name, seed):
    rng = np.random.default_rng(seed)
    mode = str(rng.choice(["full", "same", "valid"]))
    x, h = shapes(rng, int(rng.integers(1, 4)), mode == "valid")
    a, v = (drawn(rng, s, k) for s, k in zip((x, h), rng.choice([*FLOATS, *INTEGERS[1:]], 2), strict=True))
    method = str(rng.choice(["auto", "direct", "fft"]))
    # SciPy's FFT of integers is only as exact as float64; its direct method is the one to agree with.
    theirs = "direct" if np.result_type(a, v).kind in "iu" else method
    single = method != "direct" and (a.dtype.char in "fF" or v.dtype.char in "fF")  # SciPy transforms that one so
    assert_same(
        getattr(tapline.signal, name)(a, v, mode, method),
        getattr(scipy_signal, name)(a, v, mode, theirs),
        4e-6 if single else None,
    )


@pytest.mark.parametrize("seed", range(200))
@pytest.mark.parametrize("name", ["fftconvolve", "oaconvolve"])
def test_signal_by_fft(name, seed):
    rng = np.random.default_rng(seed)
    ndim = int(rng.integers(1, 4))
    mode = str(rng.choice(["full", "same", "valid"]))
    x, h = (list(s) for s in shapes(rng, ndim, mode == "valid"))
    axes = None
    if rng.random() < 0.6:
        axes = [int(a) for a in rng.permutation(ndim)[: rng.integers(1, ndim + 1)]]
        for a in set(range(ndim)) - set(axes):  # the others broadcast
            h[a] = x[a] if rng.random() < 0.5 else 1
            if rng.random() < 0.2:
                x[a] = 1
        if len(axes) == 1 and rng.random() < 0.5:
            axes = axes[0] - ndim
    a, v = (drawn(rng, s, k) for s, k in zip((x, h), rng.choice([*FLOATS, "int16", "bool"], 2), strict=True))
    single = a.dtype.char in "fF" or v.dtype.char in "fF"  # then SciPy transforms that one in single precision
    assert_same(
        getattr(tapline.signal, name)(a, v, mode, axes),
        getattr(scipy_signal, name)(a, v, mode, axes),
        4e-6 if single else 1e-12,
    )


@pytest.mark.parametrize("seed", range(200))
@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
def test_signal_2d(name, seed):
    rng = np.random.default_rng(seed)
    mode = str(rng.choice(["full", "same", "valid"]))
    x, h = shapes(rng, 2, mode == "valid")
    boundary = str(rng.choice(["fill", "wrap", "symm"]))
    if boundary != "fill":  # SciPy reads outside of arrays that are smaller than the filter
        x, h = np.maximum(x, h), np.minimum(x, h)
    a, v = (drawn(rng, s, k) for s, k in zip((x, h), rng.choice([*FLOATS, *INTEGERS[1:]], 2), strict=True))
    fill = int(rng.integers(0, 3))
    assert_same(getattr(tapline.signal, name)(a, v, mode, boundary, fill), getattr(scipy_signal, name)(a, v, mode, boundary, fill))


@pytest.mark.parametrize("seed", range(300))
def test_upfirdn(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 40, rng.integers(1, 3)))
    axis = int(rng.integers(-len(shape), len(shape)))
    up, down = (int(v) for v in rng.integers(1, 8, 2))
    h = drawn(rng, int(rng.integers(1, 30)), rng.choice(FLOATS))
    x = drawn(rng, shape, rng.choice([*FLOATS, "int16"]))
    modes = ["constant", "wrap", "edge", "smooth", "symmetric", "reflect", "antisymmetric", "antireflect", "line"]
    mode = str(rng.choice(modes))
    cval = 1.5 if mode == "constant" and rng.random() < 0.5 else 0
    assert_same(
        tapline.signal.upfirdn(h, x, up, down, axis, mode, cval),
        scipy_signal.upfirdn(h, x, up, down, axis, mode, cval),
        1e-13 if np.result_type(h, x, np.float32).char in "dD" else 3e-6,
    )


@pytest.mark.parametrize(
    "kinds", [("float64", "float64"), ("float32", "float32"), ("complex64", "float32"), ("complex128", "complex128")]
)
@pytest.mark.parametrize(
    ("up", "down", "count"), [(147, 160, 5001), (160, 147, 3000), (2, 1, 64), (1, 4, 127), (3, 2, 41), (441, 80, 9999)]
)
def test_changes_of_rate(up, down, count, kinds, monkeypatch):
    """Long enough that outputs are products of matrices, which NaN must not spread in."""
    rng = np.random.default_rng(count)
    x, h = drawn(rng, (3, 4000), kinds[0]), drawn(rng, count, kinds[1])
    monkeypatch.setattr(_upfirdn, "_passes_seconds", lambda *_: np.inf)
    tolerance = 1e-13 if x.dtype.char in "dD" else 3e-6
    for axis in (0, 1):
        assert_same(tapline.signal.upfirdn(h, x, up, down, axis), scipy_signal.upfirdn(h, x, up, down, axis), tolerance)
    ours = periods.upfirdn(x, h, up, down, 0, 1000, periods.Periods(count, up, down))
    assert_same(ours, scipy_signal.upfirdn(h, x, up, down)[:, :1000], tolerance)
    x = x.copy()
    x[1, 2000] = np.nan
    reached = scipy_signal.upfirdn(np.ones(count), np.isnan(x).astype(float), up, down) != 0
    assert np.array_equal(np.isnan(tapline.signal.upfirdn(h, x, up, down)), reached)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_correlation_lags(mode):
    for n in range(1, 12):
        for k in range(1, 12):
            assert_same(tapline.signal.correlation_lags(n, k, mode), scipy_signal.correlation_lags(n, k, mode))


def ndimage_types(rng):
    """Types of image and output; None: the image's."""
    image = str(rng.choice([*FLOATS, *INTEGERS[1:]]))
    if np.dtype(image).kind == "c":
        return image, None
    return image, rng.choice([None, None, "float64", "float32", "int32", "uint8"])


def small(rng, shape, dtype):
    """Images whose filtered values fit every type: what SciPy does beyond is the C compiler's choice."""
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 3, shape).astype(dtype)
    return np.abs(drawn(rng, shape, dtype)) if np.dtype(dtype).kind == "f" else drawn(rng, shape, dtype)


@pytest.mark.parametrize("seed", range(300))
@pytest.mark.parametrize("name", ["correlate1d", "convolve1d", "correlate", "convolve"])
def test_ndimage_weights(name, seed):
    rng = np.random.default_rng(seed)
    ndim = int(rng.integers(1, 4))
    kind, output = ndimage_types(rng)
    image = small(rng, tuple(rng.integers(1, 12, ndim)), kind)
    arguments = {"mode": str(rng.choice(BOUNDARIES)), "cval": float(rng.integers(0, 3)), "output": output}
    if name.endswith("1d"):
        sizes = int(rng.integers(1, 9))
        arguments["axis"] = int(rng.integers(-ndim, ndim))
        arguments["origin"] = int(rng.integers(-(sizes // 2), (sizes - 1) // 2 + 1))
    else:
        sizes = tuple(int(s) for s in rng.integers(1, 5, ndim))
        arguments["origin"] = [int(rng.integers(-(s // 2), (s - 1) // 2 + 1)) for s in sizes]
    weights = rng.integers(0, 4, sizes)
    if (output is None or np.dtype(output).kind == "f") and np.dtype(kind).kind in "fc":
        weights = drawn(rng, sizes, rng.choice(FLOATS if np.dtype(kind).kind == "c" else FLOATS[:2]))
    single = np.dtype(output or kind).char in "fF"
    assert_same(
        getattr(tapline.ndimage, name)(image, weights, **arguments),
        getattr(scipy_ndimage, name)(image, weights, **arguments),
        3e-6 if single else None,
    )


@pytest.mark.parametrize("seed", range(200))
@pytest.mark.parametrize("name", ["gaussian_filter", "uniform_filter", "sobel", "prewitt", "laplace"])
def test_ndimage_filters(name, seed):
    rng = np.random.default_rng(seed)
    ndim = int(rng.integers(1, 4))
    kind = str(rng.choice([*FLOATS[:2], "int16", "int32", "int64", "uint8"]))
    image = drawn(rng, tuple(rng.integers(2, 12, ndim)), kind)
    if image.dtype.kind in "iu":
        image = (image % 500 if kind != "uint8" else image % 30).astype(kind)
    if kind == "uint8" and name in ("sobel", "prewitt", "laplace"):
        kind, image = "int16", image.astype("int16")
    arguments = {"mode": str(rng.choice(BOUNDARIES)), "cval": float(rng.integers(0, 3))}
    position = []
    if name == "gaussian_filter":
        position = [float(rng.uniform(0.3, 3))]
        arguments["order"] = int(rng.integers(0, 3)) if np.dtype(kind).kind == "f" else 0
    elif name == "uniform_filter":
        position = [int(rng.integers(1, 6))]
    elif name != "laplace":
        arguments["axis"] = int(rng.integers(-ndim, ndim))
    ours = getattr(tapline.ndimage, name)(image, *position, **arguments)
    theirs = getattr(scipy_ndimage, name)(image, *position, **arguments)
    if name == "gaussian_filter" and image.dtype.kind in "iu":
        # Weights add up to 1 - 1e-16, so SciPy may truncate a sum of equal samples to one less; tapline does not.
        difference = ours.astype(int) - theirs
        assert ((difference == 0) | ((difference > 0) & (difference <= ndim))).all()
        assert np.count_nonzero(difference) <= 0.1 * difference.size
        return
    assert_same(ours, theirs, {"f": 4e-6}.get(np.dtype(kind).char))


@pytest.mark.parametrize("value", [1, 7, 100, 255])
def test_a_flat_integer_image_stays_flat(value):
    """A truncated sum of weights that add up to 1 - 1e-16 must not lose a count."""
    image = np.full((20, 20), value, np.uint8)
    assert (tapline.ndimage.gaussian_filter(image.astype(np.int64), 1.3) == value).all()
    for sigma in (0.5, 1, 2, 3.7):
        assert (tapline.ndimage.gaussian_filter(image, sigma) == value).all()
    for size in (2, 3, 5, 9):
        assert (tapline.ndimage.uniform_filter(image, size) == value).all()


@pytest.mark.parametrize("kind", ["float32", "float64", "uint8", "int16"])
@pytest.mark.parametrize("size", [65, 101, 128, 300])
def test_long_means(size, kind):
    """Sums by doubling, along every axis, also of lines that are shorter than the window."""
    rng = np.random.default_rng(size)
    image = (1000 * rng.standard_normal((90, 333))).astype(kind)
    for axis in (0, 1):
        for mode in ("reflect", "nearest", "wrap"):
            ours = tapline.ndimage.uniform_filter1d(image, size, axis, mode=mode)
            theirs = scipy_ndimage.uniform_filter1d(image.astype(np.float64), size, axis, mode=mode)
            if image.dtype.kind == "f":
                assert_same(ours, theirs.astype(kind), {"f": 4e-6}.get(np.dtype(kind).char, 1e-12))
            else:
                assert np.abs(ours - np.trunc(theirs)).max() <= 1  # SciPy's running sum is off by its own rounding
    whole = tapline.ndimage.uniform_filter(image.astype(np.float64), size)
    assert_same(whole, scipy_ndimage.uniform_filter(image.astype(np.float64), size), 1e-10)


def test_a_long_mean_forgets_what_left_its_window():
    """A running sum carries the error of a loud sample, an infinity and a NaN to the end of the line."""
    x = np.full(5000, 1e-3, np.float32)
    x[1000] = 1e9
    x[2000] = np.inf
    x[3000] = np.nan
    y = tapline.ndimage.uniform_filter1d(x, 101)
    windows = np.abs(np.arange(5000)[:, None] - [1000, 2000, 3000]) <= 50
    assert np.isinf(y[windows[:, 1]]).all()
    assert np.isnan(y[windows[:, 2]]).all()
    assert np.abs(y[~windows.any(1)] / 1e-3 - 1).max() <= 1e-6


@pytest.mark.parametrize("name", ["laplace", "sobel", "prewitt"])
def test_bytes_keep_the_low_bits_of_differences(name):
    image = np.random.default_rng(4).integers(0, 256, (19, 40, 23), np.uint8)
    filtered = getattr(tapline.ndimage, name)
    assert (filtered(image) == (filtered(image.astype(np.int64)) & 255)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "wrap", "constant"])
def test_what_is_not_finite_stays_in_the_cross_of_large_laplacians(dtype, mode):
    image = np.random.default_rng(6).standard_normal((1100, 1003)).astype(dtype)
    for there in ((), (500, 600), (501, 7), (502, 1002), (0, 0), (1, 900), (1098, 0), (1099, 5)):
        if there:
            image[there] = np.nan if there[0] in (500, 1098) else np.inf
        got = tapline.ndimage.laplace(image, mode=mode, cval=1.5)
        with np.errstate(invalid="ignore"):
            wanted = scipy_ndimage.laplace(image.astype(np.float64), mode=mode, cval=1.5)
        finite = np.isfinite(wanted)
        assert (np.isnan(got) == np.isnan(wanted)).all()
        assert (got[~finite & ~np.isnan(wanted)] == wanted[~finite & ~np.isnan(wanted)]).all()
        assert np.abs(got[finite] - wanted[finite]).max() <= 8 * np.finfo(dtype).eps * np.abs(wanted[finite]).max()


@pytest.mark.parametrize("kind", ["int8", "int16", "uint16"])
def test_sums_are_truncated_towards_zero(kind):
    image = np.random.default_rng(5).integers(-100 if kind != "uint16" else 0, 100, (40, 31)).astype(kind)
    weights = [0.37, -1.21, 0.5, 0.111]
    sums = scipy_ndimage.correlate1d(image.astype(np.float64), weights, 0)
    wanted = np.trunc(sums * (1 + 1e-14)).astype(np.int64).astype(kind)
    assert (tapline.ndimage.correlate1d(image, weights, 0) == wanted).all()


def test_large_integers_are_those_of_float64():
    image = np.full((3, 4), 2**60, np.int64)
    assert_same(tapline.ndimage.correlate1d(image, [0.5, 0.25]), scipy_ndimage.correlate1d(image, [0.5, 0.25]))


MODULES = {tapline.numpy: np, tapline.signal: scipy_signal, tapline.ndimage: scipy_ndimage}
FUNCTIONS = [(ours, theirs, name) for ours, theirs in MODULES.items() for name in ours.__all__]


@pytest.mark.parametrize(("ours", "theirs", "name"), FUNCTIONS)
def test_signatures(ours, theirs, name):
    assert str(inspect.signature(getattr(ours, name))) == str(inspect.signature(getattr(theirs, name)))


def test_what_tapline_does_not_know_goes_to_the_original(monkeypatch):
    before = _fallback.asked.copy()
    x = np.array([1, 2, 3], object)
    assert tapline.numpy.convolve(x, [1, 1]).tolist() == [1, 3, 5, 3]
    x = np.ones(5, np.longdouble)
    assert tapline.signal.convolve(x, x).dtype == np.longdouble
    with pytest.raises(RuntimeError, match="not supported"):  # SciPy's own answer
        tapline.ndimage.correlate1d(x, [1, 2])
    assert _fallback.asked["numpy.convolve"] == before["numpy.convolve"] + 1
    empty = np.ones((0, 3))
    assert tapline.signal.convolve(empty, np.ones((2, 2)), "same").shape == (0, 3)
    monkeypatch.setattr(_fallback, "scipy_function", lambda *_: None)
    with pytest.raises(TypeError, match="install SciPy"):
        tapline.signal.convolve(x, x)
    for name in ("convolve", "correlate", "convolve2d", "correlate2d"):
        with pytest.raises(ValueError, match=f"{name}: an input is empty"):
            getattr(tapline.signal, name)(empty, np.ones((2, 2)))
    _fallback.asked.clear()
    _fallback.asked.update(before)


def test_long_filters_agree():
    rng = np.random.default_rng(5)
    x, h = rng.standard_normal(20_000), rng.standard_normal(3000)
    assert math.isclose(np.abs(tapline.signal.oaconvolve(x, h) - scipy_signal.oaconvolve(x, h)).max(), 0, abs_tol=1e-11)
    assert math.isclose(np.abs(tapline.numpy.convolve(x, h) - np.convolve(x, h)).max(), 0, abs_tol=1e-11)
