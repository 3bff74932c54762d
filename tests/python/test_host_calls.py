"""Calls with small arrays in host memory that are remembered: the same bits as a call that is not, whatever changes between two."""

import itertools
import threading

import numpy as np
import pytest
import scipy.ndimage

import tapline
from tapline import _host_calls, ndimage


@pytest.fixture(autouse=True)
def nothing_remembered():
    tapline.clear_plan_cache()
    yield
    tapline.clear_plan_cache()


def images(shape, dtype, count=3):
    rng = np.random.default_rng(7)
    kind = np.dtype(dtype).kind
    for _ in range(count):
        yield rng.integers(0, 200, shape).astype(dtype) if kind in "iu" else rng.standard_normal(shape).astype(dtype)


WEIGHTS = np.random.default_rng(1).standard_normal((3, 2)).astype(np.float32)
CALLS = {
    "gaussian_filter": lambda x, **more: ndimage.gaussian_filter(x, 1.5, **more),
    "gaussian_filter of two sigmas": lambda x, **more: ndimage.gaussian_filter(x, (1, 2), mode=["wrap", "nearest"], **more),
    "gaussian_filter1d": lambda x, **more: ndimage.gaussian_filter1d(x, 2, 0, **more),
    "uniform_filter": lambda x, **more: ndimage.uniform_filter(x, 4, **more),
    "sobel": lambda x, **more: ndimage.sobel(x, 0, **more),
    "prewitt": ndimage.prewitt,
    "laplace": ndimage.laplace,
    "correlate": lambda x, **more: ndimage.correlate(x, WEIGHTS, mode="mirror", **more),
    "convolve": lambda x, **more: ndimage.convolve(x, WEIGHTS, mode="constant", cval=2.5, **more),
    "correlate of integers": lambda x, **more: ndimage.correlate(x, [[1, 2], [3, -4]], **more),
    "correlate1d": lambda x, **more: ndimage.correlate1d(x, [1, 2, 4], **more),
    "convolve1d": lambda x, **more: ndimage.convolve1d(x, np.array([0.5, 1]), 0, origin=-1, **more),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int16", "complex64"])
@pytest.mark.parametrize("name", CALLS)
def test_a_remembered_call_gives_the_bits_of_a_first_one(name, dtype):
    call = CALLS[name]
    if dtype == "complex64" and name in ("prewitt", "sobel", "laplace"):
        pytest.skip("SciPy's take no complex images by default")
    shapes = [(20, 31), (1, 9)]
    for shape, with_out, order in itertools.product(shapes, (False, True), "CF"):
        fresh = []
        for x in images(shape, dtype):
            tapline.clear_plan_cache()
            fresh.append(call(np.asarray(x, order=order)))
        tapline.clear_plan_cache()
        for x, wanted in zip(images(shape, dtype), fresh, strict=True):
            out = np.full_like(wanted, 77) if with_out else None
            got = call(np.asarray(x, order=order), **({"output": out} if with_out else {}))
            assert got is out or not with_out
            assert got.dtype == wanted.dtype
            assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", ["gaussian_filter", "uniform_filter", "sobel", "laplace", "correlate", "correlate1d"])
def test_it_is_remembered(name):
    x = next(images((30, 30), "float32"))
    CALLS[name](x)
    assert len(_host_calls._calls) == 1
    program = next(iter(_host_calls._calls.values()))
    ran = []
    program.steps.append(lambda arrays: ran.append(len(arrays)))
    CALLS[name](x)
    assert ran


def test_arguments_that_change_are_looked_at():
    x, weights = next(images((12, 13), "float64")), np.array([1.0, 2.0, 3.0])
    for _ in range(2):
        for value in (3.0, 30.0):
            weights[0] = value
            np.testing.assert_allclose(ndimage.correlate1d(x, weights), scipy.ndimage.correlate1d(x, weights), rtol=1e-12)
        for cval in (0.0, -0.0, 1.0, 2):
            got = ndimage.correlate1d(x, weights, mode="constant", cval=cval)
            np.testing.assert_allclose(got, scipy.ndimage.correlate1d(x, weights, mode="constant", cval=cval), rtol=1e-12)
        with pytest.raises(TypeError):
            ndimage.uniform_filter1d(x, 2.0)
        ndimage.uniform_filter1d(x, 2)
        with pytest.raises(RuntimeError, match="boundary mode"):
            ndimage.sobel(x, mode="no such")


def test_an_output_that_is_the_image_is_filtered_in_place():
    for _ in range(3):
        x = next(images((9, 9), "float32"))
        wanted = ndimage.sobel(x)
        ndimage.sobel(x, output=x)
        np.testing.assert_array_equal(x, wanted)


def test_arrays_that_cannot_be_written_or_are_of_other_strides():
    x = next(images((24, 24), "float32"))
    ndimage.gaussian_filter(x, 1)
    out = np.zeros((24, 24), np.float32)
    ndimage.gaussian_filter(x, 1, output=out)
    wide = np.zeros((24, 48), np.float32)
    ndimage.gaussian_filter(x, 1, output=wide[:, ::2])
    np.testing.assert_array_equal(wide[:, ::2], out)
    assert not wide[:, 1::2].any()
    np.testing.assert_array_equal(ndimage.gaussian_filter(x.T, 1), ndimage.gaussian_filter(np.ascontiguousarray(x.T), 1))
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ndimage.gaussian_filter(x, 1, output=out)


def test_images_are_remembered_with_all_their_options():
    x = next(images((20, 24), "float32"))
    mask = np.random.default_rng(2).standard_normal((3, 3)).astype(np.float32)
    for _ in range(2):
        for options in ({}, {"mode": "full"}, {"boundary": "mirror"}, {"scale": 2.0}, {"scale": -2.0}, {"origin": (0, 2)}):
            got, out = tapline.image(x, mask, **options), None
            out = np.empty_like(got)
            tapline.image(x, mask, out=out, **options)
            np.testing.assert_array_equal(got, out)
            tapline.clear_plan_cache() if options.get("scale") == 2.0 else None
    mask[1, 1] += 1
    np.testing.assert_allclose(tapline.image(x, mask), scipy.ndimage.convolve(x, mask, mode="constant"), atol=1e-5)
    with pytest.raises(ValueError, match="out"):
        tapline.image(x, mask, out=np.empty((3, 3), np.float32))
    with pytest.raises(ValueError, match="overlap"):
        tapline.image(x, mask, out=x)


def test_nothing_is_remembered_that_the_cache_of_plans_may_not_keep():
    x, limit = next(images((20, 20), "float32")), tapline.info()["plan_cache"]["limit_bytes"]
    try:
        tapline.set_plan_cache_limit(0)
        tapline.image(x, np.ones((3, 3)))
        ndimage.gaussian_filter(x, 1)
        assert not _host_calls._calls
    finally:
        tapline.set_plan_cache_limit(limit)


def test_a_pass_may_take_the_room_of_the_one_before_it():
    x, limit = next(images((61, 43), "int16")), tapline.info()["plan_cache"]["limit_bytes"]
    calls = {name: CALLS[name] for name in ("prewitt", "sobel", "gaussian_filter", "laplace") if name in CALLS}
    assert len(calls) > 1
    wanted = {name: call(x) for name, call in calls.items()}
    try:
        for log2 in range(7, 20):
            tapline.set_plan_cache_limit(1 << log2)
            for name, call in [*calls.items()] * 2:
                np.testing.assert_array_equal(call(x), wanted[name])
    finally:
        tapline.set_plan_cache_limit(limit)


def test_threads_share_what_is_remembered():
    x = next(images((40, 40), "float32"))
    wanted, failures = ndimage.gaussian_filter(x, 2), []

    def work():
        failures.append(sum(not np.array_equal(ndimage.gaussian_filter(x, 2), wanted) for _ in range(200)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [0, 0, 0]


FILTERS = {
    **CALLS,
    "correlate of two weights": lambda x, **more: ndimage.correlate(x, np.full((2,) * x.ndim, 0.3), **more),
    "correlate of whole weights": lambda x, **more: ndimage.correlate(x, np.arange(3**x.ndim).reshape((3,) * x.ndim), **more),
}


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint32", "int64", "uint64", "float64", "complex128"])
@pytest.mark.parametrize("name", FILTERS)
def test_small_arrays_of_all_types_are_remembered(name, dtype):
    kind = np.dtype(dtype).kind
    if (kind == "c" and name in ("prewitt", "sobel")) or (kind in "bu" and name in ("prewitt", "sobel", "laplace")):
        pytest.skip("SciPy has none, or differences below 0")
    if kind in "biu" and name == "convolve":
        pytest.skip("the constant is no integer")
    for shape in [(6, 7), (4, 5, 6)]:
        if len(shape) == 3 and name in ("correlate", "convolve", "correlate of integers", "gaussian_filter of two sigmas"):
            continue
        x = (np.random.default_rng(3).random(shape) * (2 if kind == "b" else 100)).astype(dtype)
        call = FILTERS[name]
        first = call(x)
        assert len(_host_calls._calls) == 1, "not remembered"
        np.testing.assert_array_equal(call(x), first)
        tapline.clear_plan_cache()


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64"])
def test_integers_that_float64_does_not_hold_are_summed_as_before(dtype):
    small = np.arange(30, dtype=dtype).reshape(5, 6)
    large = small.copy()
    large[2, 3] = np.iinfo(dtype).max - 6
    for weights in ([[1, 2, 1], [0, 1, 3]], [[0.25, 0.5, 0.25]], [[2**20, 1, 1]]):
        tapline.clear_plan_cache()
        alone = ndimage.correlate(large, weights)
        tapline.clear_plan_cache()
        for x in (small, large, small, large):
            got = ndimage.correlate(x, weights)
            if x is large:
                np.testing.assert_array_equal(got, alone)
            else:
                np.testing.assert_array_equal(got, scipy.ndimage.correlate(x, weights))


def test_derivatives_at_once_keep_what_is_not_finite_in_its_place():
    x = np.zeros((9, 11))
    x[2, 3], x[4, 4], x[6, 8], x[0, 0] = np.inf, np.nan, -np.inf, np.inf
    with np.errstate(invalid="ignore"):
        for call in ("sobel", "prewitt"):
            for axis, mode in itertools.product((0, 1), ("reflect", "constant", "wrap", ["nearest", "mirror"])):
                wanted = getattr(scipy.ndimage, call)(x, axis, mode=mode)
                np.testing.assert_array_equal(getattr(ndimage, call)(x, axis, mode=mode), wanted)
