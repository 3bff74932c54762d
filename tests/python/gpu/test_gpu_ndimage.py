"""tapline.ndimage on arrays in GPU memory: the engine's passes against the same function on the host, what is remembered of a call,
and integers up to the ends of their types."""

import math

import numpy as np
import pytest

import drawn_calls
import tapline
from gpu_arrays import EMULATED, Cupy, Jax, Torch, assert_close, drawn, needs_gpu
from tapline._gpu import programs

pytestmark = needs_gpu
nd = tapline.ndimage

CALLS = 60
MODES = ("reflect", "mirror", "nearest", "wrap", "constant")


@pytest.fixture(autouse=True)
def nothing_remembered():
    tapline.clear_plan_cache()


def drawn_image(rng, gpu, shape, dtype):
    """(on the host, the same on the GPU), there with its axes in memory in any order where the library has views."""
    x = rng.integers(0, 256, shape) if np.dtype(dtype).kind in "iu" else rng.standard_normal(shape)
    x = x.astype(dtype)
    there = drawn_calls.spread(rng, shape, dtype, gpu.put) if isinstance(gpu, Cupy) else None
    if there is None:
        return x, gpu.put(x)
    there[...] = gpu.put(x)
    return x, there


def drawn_call(rng, ndim, dtype):
    """(name, arguments after the image) of one call."""
    mode, axis = str(rng.choice(MODES)), int(rng.integers(ndim))
    cval = float(rng.integers(0, 3)) if mode == "constant" else 0.0
    k = int(rng.integers(1, 6))
    real = np.dtype(dtype).kind == "f" or rng.random() < 0.5
    weights = rng.standard_normal(k) if real else rng.integers(-3, 4, k)
    mask = rng.standard_normal((k,) * ndim) if real else rng.integers(0, 4, (k,) * ndim)
    sigma = float(rng.uniform(0.4, 1.5))
    return {
        "correlate1d": lambda: (weights, axis),
        "convolve1d": lambda: (weights, axis),
        "correlate": lambda: (mask,),
        "convolve": lambda: (mask,),
        "gaussian_filter1d": lambda: (sigma, axis, int(rng.integers(3))),
        "gaussian_filter": lambda: (sigma,),
        "uniform_filter1d": lambda: (k, axis),
        "uniform_filter": lambda: (k,),
        "sobel": lambda: (axis,),
        "prewitt": lambda: (axis,),
        "laplace": lambda: (),
    }, {"mode": mode, "cval": cval}


@pytest.mark.parametrize(
    "name",
    [
        "correlate1d",
        "convolve1d",
        "correlate",
        "convolve",
        "gaussian_filter1d",
        "gaussian_filter",
        "uniform_filter1d",
        "uniform_filter",
        "sobel",
        "prewitt",
        "laplace",
    ],
)
def test_drawn_calls(gpu, name):
    """Twice with other data: the second call runs what the first arranged."""
    for seed in range(CALLS):
        rng = np.random.default_rng([seed, len(name)])
        ndim = int(rng.choice((1, 2, 2, 3)))
        dtype = str(rng.choice(("float32", "float32", "float64", "uint8", "int16", "uint16")))
        if isinstance(gpu, Torch) and dtype == "uint16":  # PyTorch has few operations for them
            continue
        shape = tuple(int(n) for n in rng.integers(1, 12, ndim))
        calls, options = drawn_call(rng, ndim, dtype)
        arguments = calls[name]()
        for _ in range(2):
            x, there = drawn_image(rng, gpu, shape, dtype)
            got, wanted = getattr(nd, name)(there, *arguments, **options), getattr(nd, name)(x, *arguments, **options)
            try:
                assert_close(gpu.get(got), wanted, 100)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {name} of {dtype} {shape}, {arguments}, {options}") from error


def steps():
    """Executions of the latest call that is remembered."""
    program = list(programs._programs.values())[-1]
    return [arranged.algorithm for arranged, _, _ in program.steps]


@pytest.mark.parametrize(
    ("call", "executions"),
    [
        (nd.laplace, 1),
        (lambda x: nd.correlate(x, np.arange(9.0).reshape(3, 3)), 1),
        (lambda x: nd.gaussian_filter1d(x, 1.0, axis=0), 1),
        (lambda x: nd.gaussian_filter(x, 1.0), 2),
        (lambda x: nd.uniform_filter(x, 5), 2),
        (nd.sobel, 2),
    ],
)
def test_images_are_not_taken_apart(gpu, call, executions):
    if isinstance(gpu, Jax):
        pytest.skip("JAX's arrays go one pass at a time")
    call(gpu.put(drawn(40, 50)))
    assert 1 <= len(steps()) <= executions


@pytest.mark.parametrize("dtype", ["uint8", "int16"])
@pytest.mark.parametrize("mode", ["reflect", "constant"])
def test_passes_that_are_rounded_are_one_execution(gpu, dtype, mode):
    if isinstance(gpu, Jax):
        pytest.skip("JAX's arrays go one pass at a time")
    for shape, executions in (((70, 81), 1), ((9, 20, 31), 2)):
        x = np.random.default_rng(5).integers(0, 200, shape).astype(dtype)
        for call in (lambda a: nd.gaussian_filter(a, 1.5, mode=mode, cval=3), lambda a: nd.uniform_filter(a, 4, mode=mode, cval=3)):
            np.testing.assert_array_equal(gpu.get(call(gpu.put(x))), call(x))
            assert steps() == ["rounded_passes"] * executions


_FEW = 10**6  # pixels, of which all executions take what a launch does


@pytest.mark.parametrize("shape", [(70, 81), (65, 66, 67), (2500, 2600)])
@pytest.mark.parametrize("content", ["random", "flat", "ramp"])
def test_a_line_of_many_weights_is_rounded_as_well(gpu, shape, content):
    if isinstance(gpu, Jax):
        pytest.skip("JAX's arrays go one pass at a time")
    if EMULATED and math.prod(shape) > _FEW:
        pytest.skip("costs of the emulated engine are its own")
    x = np.random.default_rng(6).integers(-32768, 32768, shape).astype("int16")
    if content == "flat":
        x = np.full(shape, -77, "int16")
    elif content == "ramp":
        x = (np.indices(shape).sum(axis=0) % 400 * 100 - 9000).astype("int16")
    for axis in range(len(shape)):
        got = nd.gaussian_filter1d(gpu.put(x), 3.0, axis=axis)
        np.testing.assert_array_equal(gpu.get(got), nd.gaussian_filter1d(x, 3.0, axis=axis))
        assert x.size < _FEW or steps() == ["rounded_passes"]


def test_a_volume_is_one_execution(gpu):
    if isinstance(gpu, Jax):
        pytest.skip("JAX's arrays go one pass at a time")
    x, mask = drawn(6, 7, 8), drawn(3, 3, 3)
    assert_close(gpu.get(nd.correlate(gpu.put(x), mask)), nd.correlate(x, mask), 100)
    assert len(steps()) == 1


@pytest.mark.parametrize("name", ["sobel", "prewitt", "laplace"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_derivatives_of_a_volume(gpu, name, dtype):
    if isinstance(gpu, Jax):
        pytest.skip("JAX's arrays go one pass at a time")
    x, function = drawn(20, 21, 22, dtype=dtype), getattr(nd, name)
    for mode in MODES:
        assert_close(gpu.get(function(gpu.put(x), mode=mode, cval=1.5)), function(x, mode=mode, cval=1.5), 100)
    assert_close(gpu.get(function(gpu.put(x), mode="mirror")), function(x, mode="mirror"), 100)
    assert EMULATED or len(steps()) == 1  # the emulated engine's costs are its own


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(150, 300), (41, 97)])
def test_many_taps(gpu, mode, shape):
    """Up to where strips end, and beyond."""
    if EMULATED:
        pytest.skip("the emulated engine sums them one by one")
    x = drawn(*shape, dtype="float32")
    for sigma in (6.0, 10.0, 14.0, 15.0):
        assert_close(gpu.get(nd.gaussian_filter(gpu.put(x), sigma, mode=mode)), nd.gaussian_filter(x, sigma, mode=mode), 200)
        got = gpu.get(nd.gaussian_filter1d(gpu.put(x), sigma, axis=0, mode=mode))
        assert_close(got, nd.gaussian_filter1d(x, sigma, axis=0, mode=mode), 200)
    for size in (49, 101, (60, 91)):
        assert_close(gpu.get(nd.uniform_filter(gpu.put(x), size, mode=mode)), nd.uniform_filter(x, size, mode=mode), 200)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16", "int32", "float16"])
def test_volumes_of_other_types(gpu, dtype):
    if isinstance(gpu, Torch) and dtype == "uint16":
        pytest.skip("PyTorch has few operations for them")
    rng = np.random.default_rng(8)
    if dtype == "float16":
        x = rng.standard_normal((19, 20, 23)).astype(dtype)
    else:
        ends = np.iinfo(dtype)
        x = rng.integers(ends.min, ends.max, (19, 20, 23), dtype, endpoint=True)
    for side in (2, 3, 5, 7):
        for mode in ("reflect", "constant"):
            whole, real = rng.integers(-3, 4, (side, 3, side)), rng.random((side, side, 2)) / side**3
            for mask in (whole, real):
                got, wanted = gpu.get(nd.correlate(gpu.put(x), mask, mode=mode)), nd.correlate(x, mask, mode=mode)
                if dtype == "float16":
                    np.testing.assert_allclose(got, wanted, 2e-3, 2e-3 * float(np.abs(wanted).max()))
                else:
                    np.testing.assert_array_equal(got, wanted, f"{side} {mode}")


@pytest.mark.parametrize("sigma", [0.5, 3])
def test_bytes_are_truncated_as_on_the_host(gpu, sigma):
    rng = np.random.default_rng(3)
    images = [rng.integers(0, 256, (40, 50)), np.full((40, 50), 255), np.full((40, 50), 7), rng.choice((0, 255), (40, 50))]
    for x in (image.astype(np.uint8) for image in images):
        for function in (nd.gaussian_filter, nd.uniform_filter):
            size = sigma if function is nd.gaussian_filter else int(4 * sigma)
            np.testing.assert_array_equal(gpu.get(function(gpu.put(x), size)), function(x, size))
    if not isinstance(gpu, Jax):
        assert len(programs._programs) == 2


@pytest.mark.parametrize("output", ["uint8", "int8", "int16", "uint16", "int32", "float32"])
@pytest.mark.parametrize("weights", [[1, 1, 1], [-1, 0, 1], [1, -2, 1], [100, 100, 100], [0.4, 0.3, 0.3], [2**20, 0, 2**20]])
def test_sums_past_the_ends_of_a_type_wrap(gpu, output, weights):
    x = np.array([0, 255, 3, 0, 255, 255, 255, 1, 128, 127], np.uint8)
    wanted = nd.correlate1d(x, weights, output=output)
    np.testing.assert_allclose(gpu.get(nd.correlate1d(gpu.put(x), weights, output=output)), wanted, 1e-6)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint16", "int32"])
def test_integers_are_truncated_and_wrap_as_on_the_host(gpu, dtype):
    """Over all of their type's range, also where sums pass its ends on the way."""
    if isinstance(gpu, Torch) and dtype == "uint16":
        pytest.skip("PyTorch has few operations for them")
    rng, ends = np.random.default_rng(5), np.iinfo(dtype)
    calls = [
        (nd.uniform_filter, (3,)),
        (nd.uniform_filter, (4,)),
        (nd.uniform_filter1d, (7, 0)),
        (nd.gaussian_filter, (0.7,)),
        (nd.prewitt, ()),
        (nd.sobel, (0,)),
        (nd.laplace, ()),
        (nd.correlate, (rng.integers(-3, 4, (3, 2)),)),
    ]
    images = [rng.integers(ends.min, ends.max, (33, 40), dtype, endpoint=True), np.full((5, 6), ends.min, dtype)]
    images += [rng.choice([ends.min, ends.max], (20, 21)).astype(dtype), rng.integers(-20 if ends.min else 0, 20, (30, 7), dtype)]
    for x in images:
        for function, arguments in calls:
            for mode in ("reflect", "wrap"):
                got = gpu.get(function(gpu.put(x), *arguments, mode=mode))
                np.testing.assert_array_equal(got, function(x, *arguments, mode=mode), f"{function.__name__}{arguments} {mode}")


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32"])
@pytest.mark.parametrize("shape", [(6, 6), (1, 7), (55, 3)])
def test_sums_under_any_mask_are_cut_off_and_remembered(gpu, dtype, shape):
    """Also under masks with more taps a side than any algorithm cuts sums off for: then in an execution of its own."""
    rng = np.random.default_rng(8)
    weights = rng.random(shape) - 0.4
    weights /= np.abs(weights).sum()
    x = rng.integers(0 if dtype == "uint8" else -128, 256, (64, 45)).astype(dtype)
    there = gpu.put(x)
    for mode in ("reflect", "constant"):
        wanted = nd.correlate(x, weights, mode=mode, cval=3)
        for _ in range(2):
            np.testing.assert_array_equal(gpu.get(nd.correlate(there, weights, mode=mode, cval=3)), wanted, mode)
    if not isinstance(gpu, Jax):
        assert len(programs._programs) == 2


def test_second_differences_of_complex_numbers_are_one_execution(gpu):
    rng = np.random.default_rng(9)
    x = (rng.standard_normal((20, 31)) + 1j * rng.standard_normal((20, 31))).astype(np.complex64)
    assert_close(gpu.get(nd.laplace(gpu.put(x))), nd.laplace(x), 20)
    if not isinstance(gpu, Jax):
        assert len(list(programs._programs.values())[-1].steps) == 1


def test_derivatives_of_a_volume_of_integers(gpu):
    x = np.random.default_rng(6).integers(-(2**15), 2**15, (9, 20, 11), np.int16)
    for function in (nd.prewitt, nd.sobel, nd.laplace):
        np.testing.assert_array_equal(gpu.get(function(gpu.put(x))), function(x))


def test_a_remembered_call_looks_at_everything(gpu):
    x, weights = drawn(20, 30), np.array([1.0, 2, 3])
    there = gpu.put(x)
    for _ in range(2):
        for mode in ("reflect", "constant"):
            for cval in (0.0, 1.0):
                for axis in (0, 1):
                    options = {"mode": mode, "cval": cval, "axis": axis}
                    assert_close(gpu.get(nd.correlate1d(there, weights, **options)), nd.correlate1d(x, weights, **options), 20)
        weights[1] += 1
    if isinstance(gpu, Jax):
        return
    output = gpu.empty(x.shape, "float32")
    for _ in range(2):
        assert nd.correlate1d(there, weights, output=output) is output
        assert_close(gpu.get(output), nd.correlate1d(x, weights), 20)
        double = gpu.empty(x.shape, "float64")
        nd.correlate1d(there, weights, output=double)
        assert_close(gpu.get(double), nd.correlate1d(x, weights, output=np.float64), 20)
    for _ in range(2):
        same = gpu.put(x.copy())
        assert nd.gaussian_filter(same, 1, output=same) is same
        assert_close(gpu.get(same), nd.gaussian_filter(x, 1), 20)
    if isinstance(gpu, Cupy):
        whole = gpu.put(np.zeros((21, 30), np.float32))
        for _ in range(2):
            whole[:-1] = there
            nd.gaussian_filter(whole[:-1], 1, output=whole[1:])
            assert_close(gpu.get(whole[1:]), nd.gaussian_filter(x, 1), 20)


@pytest.mark.skipif(not EMULATED, reason="of one GPU")
def test_a_second_gpu(gpu):
    x = drawn(20, 30)
    for _ in range(2):
        with gpu.cupy.cuda.Device(1):
            there = gpu.put(x)
        got = nd.gaussian_filter(there, 1)
        assert got.device.id == 1
        assert_close(gpu.get(got), nd.gaussian_filter(x, 1), 20)
