"""Arrays in GPU memory: CuPy, PyTorch and JAX, each where it is installed beside a GPU that tapline can use.

TAPLINE_TEST_EMULATED names the emulated engine: then the same tests run on a machine without a GPU, with a CuPy whose arrays lie in the
emulated memory (test_gpu_emulated.py does that).
"""

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest

EMULATED = os.environ.get("TAPLINE_TEST_EMULATED")
if EMULATED:
    os.environ["TAPLINE_CUDA_LIBRARY"] = EMULATED
    import fake_cupy

    fake_cupy.install(EMULATED)

import tapline  # noqa: E402

HAS_GPU = tapline.info()["engines"][1]["available"]
on_real_gpu = pytest.mark.skipif(not HAS_GPU or bool(EMULATED), reason="needs a GPU")
pytestmark = pytest.mark.skipif(not HAS_GPU and os.environ.get("TAPLINE_REQUIRE_GPU") != "1",
                                reason=f"no GPU: {tapline.info()['engines'][1]['reason']}")


class Cupy:
    def __init__(self):
        self.cupy = importlib.import_module("cupy")
        if not EMULATED:
            self.cupy.zeros(1)

    def put(self, x):
        return self.cupy.asarray(x)

    def get(self, x):
        assert type(x) is self.cupy.ndarray, type(x)
        return x.get()

    def empty(self, shape, dtype):
        return self.cupy.empty(shape, dtype)


class Torch:
    def __init__(self):
        self.torch = importlib.import_module("torch")
        self.torch.zeros(1, device="cuda")

    def put(self, x):
        return self.torch.from_numpy(np.ascontiguousarray(x)).cuda()

    def get(self, x):
        assert type(x) is self.torch.Tensor and x.is_cuda, type(x)
        return x.cpu().numpy()

    def empty(self, shape, dtype):
        return self.torch.empty(shape, dtype=getattr(self.torch, np.dtype(dtype).name), device="cuda")


class Jax:
    def __init__(self):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.gpu = self.jax.devices("gpu")[0]

    def put(self, x):
        return self.jax.device_put(x, self.gpu)

    def get(self, x):
        assert isinstance(x, self.jax.Array) and next(iter(x.devices())).platform == "gpu", type(x)
        return np.asarray(x)


@pytest.fixture(scope="session", params=[Cupy, Torch, Jax] if not EMULATED else [Cupy], ids=lambda kind: kind.__name__.lower())
def gpu(request):
    try:
        return request.param()
    except Exception as error:  # not installed, or built without a GPU: each library says it in its own way
        if os.environ.get("TAPLINE_REQUIRE_GPU") == "1":
            raise
        pytest.skip(f"{request.param.__name__}: {error}")


def drawn(*shape, dtype="float32"):
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "complex64": 2e-6, "float64": 1e-14, "complex128": 1e-14}


def assert_close(got, wanted, scale=1.0):
    assert got.shape == wanted.shape and got.dtype == wanted.dtype, (got.shape, got.dtype, wanted.shape, wanted.dtype)
    if wanted.dtype.kind in "iub":
        assert (got == wanted).all()
        return
    bound = TOLERANCE[wanted.dtype.name] * scale * max(1.0, float(np.abs(wanted).max(initial=0)))
    assert np.abs(got.astype(np.complex128) - wanted).max(initial=0) <= bound


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "float16"])
@pytest.mark.parametrize("mode", ["full", "same", "valid", "causal", "leading"])
@pytest.mark.parametrize("k", [1, 4, 33])
def test_values(gpu, mode, dtype, k):
    x, h = drawn(3, 200, dtype=dtype), drawn(k, dtype=dtype)
    for function in (tapline.convolve, tapline.correlate):
        wanted = function(x, h, mode)
        assert_close(gpu.get(function(gpu.put(x), h, mode)), wanted, 4 * k**0.5)
        assert_close(gpu.get(function(gpu.put(x), gpu.put(h), mode)), wanted, 4 * k**0.5)


@pytest.mark.parametrize("boundary", ["zero", "constant", "nearest", "reflect", "mirror", "wrap"])
def test_boundaries_and_epilogue(gpu, boundary):
    x, h = drawn(100), drawn(9)
    more = {"constant": 2.5} if boundary == "constant" else {}
    more |= {"boundary": boundary, "origin": 7, "scale": 0.5, "bias": 1.0, "clamp": (-1.0, 2.0)}
    assert_close(gpu.get(tapline.convolve(gpu.put(x), h, "same", **more)), tapline.convolve(x, h, "same", **more), 20)


def test_mixed_types_promote_as_numpys(gpu):
    for signal, taps in [("float32", "float64"), ("float64", "float32"), ("float32", "complex64"),
                         ("int16", "float32"), ("int32", "float32"), ("float16", "float32"), ("float32", "float16"), ("uint8", "float16"), ("float32", "int8")]:
        x, h = (10 * drawn(50)).astype(signal), (10 * drawn(5)).astype(taps)
        assert_close(gpu.get(tapline.convolve(gpu.put(x), h)), tapline.convolve(x, h), 20)


def test_axes_and_filters_of_rows(gpu):
    x = drawn(4, 5, 60)
    for axis in (0, 1, 2):
        wanted = tapline.convolve(x, drawn(3), "same", axis=axis)
        assert_close(gpu.get(tapline.convolve(gpu.put(x), drawn(3), "same", axis=axis)), wanted, 8)
    for shape in [(4, 5, 3), (1, 5, 3), (4, 1, 3), (1, 1, 3)]:
        h = drawn(*shape)
        assert_close(gpu.get(tapline.convolve(gpu.put(x), h)), tapline.convolve(x, h), 8)
    assert_close(gpu.get(tapline.convolve(gpu.put(x[:1, :1]), drawn(4, 5, 3))), tapline.convolve(x[:1, :1], drawn(4, 5, 3)), 8)


def test_strided_signals_are_read_as_they_lie(gpu):
    x, h = drawn(6, 40, 7), drawn(5)
    there = gpu.put(x)
    turned = there.permute(2, 1, 0) if hasattr(there, "permute") else there.T
    for mine, theirs in [(x[:, ::2], there[:, ::2]), (x[1:, 3:, 2:5], there[1:, 3:, 2:5]), (x.T, turned)]:
        for axis in range(3):
            assert_close(gpu.get(tapline.convolve(theirs, h, "same", axis=axis)), tapline.convolve(mine, h, "same", axis=axis), 8)
    if isinstance(gpu, Cupy):
        assert_close(gpu.get(tapline.convolve(there[:, ::-1], h, axis=1)), tapline.convolve(x[:, ::-1], h, axis=1), 8)


def test_out(gpu):
    x, h = drawn(3, 50), drawn(4)
    if isinstance(gpu, Jax):
        with pytest.raises(ValueError, match="JAX arrays cannot be changed"):
            tapline.convolve(gpu.put(x), h, out=gpu.put(drawn(3, 53)))
        return
    out = gpu.empty((3, 53), "float32")
    assert tapline.convolve(gpu.put(x), h, out=out) is out
    assert_close(gpu.get(out), tapline.convolve(x, h), 8)
    wide = gpu.empty((3, 106), "float64")
    tapline.convolve(gpu.put(x), h, out=wide[:, ::2])
    assert_close(gpu.get(wide)[:, ::2], tapline.convolve(x, h, dtype="float64"), 1e9)
    levels = gpu.empty((3, 53), "uint8")
    tapline.convolve(gpu.put(x), h, out=levels, scale=50, bias=100)
    wanted = tapline.convolve(x, h, out=np.empty((3, 53), np.uint8), scale=50, bias=100)
    assert np.abs(gpu.get(levels).astype(int) - wanted).max() <= 1
    with pytest.raises(ValueError, match="its shape is"):
        tapline.convolve(gpu.put(x), h, out=gpu.empty((3, 50), "float32"))
    with pytest.raises(ValueError, match="out: in host memory"):
        tapline.convolve(gpu.put(x), h, out=np.empty((3, 53), np.float32))
    with pytest.raises(ValueError, match="out: on cuda:0|signal: in host memory"):
        tapline.convolve(x, h, out=out)
    with pytest.raises(ValueError, match="overlap"):
        tapline.convolve(out, h, "same", out=out)


def test_integers_are_exact_or_refused(gpu):
    x, h = np.random.default_rng(0).integers(-30000, 30000, (2, 70)).astype(np.int16), np.array([3, -1000, 7])
    assert_close(gpu.get(tapline.convolve(gpu.put(x), h)), tapline.convolve(x, h))
    wrapping = {"dtype": "int16", "overflow": "wrap"}
    assert_close(gpu.get(tapline.convolve(gpu.put(x), h, **wrapping)), tapline.convolve(x, h, **wrapping))
    with pytest.raises(TypeError, match="convert the signal to float64"):
        tapline.convolve(gpu.put(x.astype(np.int64)), h)
    with pytest.raises(TypeError, match="convert the signal to float64"):
        tapline.convolve(gpu.put(x.astype(np.int32)), h * 10**6)
    with pytest.raises(TypeError, match="overflow='wrap'"):
        tapline.convolve(gpu.put(x), h, dtype="int16")


def test_nothing_in_or_nothing_out(gpu):
    assert gpu.get(tapline.convolve(gpu.put(drawn(0, 5)), drawn(2))).shape == (0, 6)
    with pytest.raises(ValueError):
        tapline.convolve(gpu.put(drawn(2, 0)), drawn(2))
    with pytest.raises(ValueError):
        tapline.convolve(gpu.put(drawn(3)), drawn(5), "valid")


def test_hosts_and_devices_are_not_mixed(gpu):
    x = drawn(30)
    with pytest.raises(ValueError, match="signal: in host memory, but taps is on cuda:0; move the signal"):
        tapline.convolve(x, gpu.put(drawn(3)))
    for device in ("cpu", "cuda:1"):
        with pytest.raises(ValueError, match=f"device: '{device}', but the signal is on cuda:0"):
            tapline.convolve(gpu.put(x), drawn(3), device=device)
    assert gpu.get(tapline.convolve(gpu.put(x), drawn(3), device="cuda")).shape == (32,)
    if EMULATED:
        with gpu.cupy.cuda.Device(1):
            there = gpu.put(x)
        assert tapline.convolve(there, drawn(3)).device.id == 1
        with pytest.raises(ValueError, match="out: on cuda:0, the signal is on cuda:1"):
            tapline.convolve(there, drawn(3), out=gpu.empty(32, "float32"))
        with pytest.raises(ValueError, match="taps: on cuda:0, the signal is on cuda:1"):
            tapline.convolve(there, gpu.put(drawn(3)))


def test_plans(gpu):
    x, h = drawn(4, 100), drawn(9)
    plan = tapline.Plan(x.shape, h, "causal", dtype="float32")
    for _ in range(2):
        assert_close(gpu.get(plan(gpu.put(x))), plan(x), 12)
    if not isinstance(gpu, Jax):
        out = gpu.empty(x.shape, "float32")
        assert plan(gpu.put(x), out) is out
        assert_close(gpu.get(out), plan(x), 12)
        with pytest.raises(TypeError, match="the plan writes float32"):
            plan(gpu.put(x), gpu.empty(x.shape, "float64"))
    with pytest.raises(TypeError, match="the plan is for float32"):
        plan(gpu.put(x.astype(np.float64)))
    with pytest.raises(ValueError, match="not the plan's"):
        plan(gpu.put(x[:2]))
    with pytest.raises(ValueError, match="the plan is for device='cpu'"):
        tapline.Plan(x.shape, h, dtype="float32", device="cpu")(gpu.put(x))
    half = tapline.Plan(x.shape, h.astype(np.float16), dtype="float16")
    assert_close(gpu.get(half(gpu.put(x.astype(np.float16)))), half(x.astype(np.float16)), 12)
    with pytest.raises(TypeError, match="integers are exact in host memory"):
        tapline.Plan(9, np.array([1, 2]), dtype="int32")(gpu.put(np.arange(9, dtype=np.int32)))


def test_taps_of_recent_calls_are_prepared_once(gpu):
    tapline.clear_plan_cache()
    x, h = gpu.put(drawn(100)), drawn(9)
    for _ in range(3):
        tapline.convolve(x, h)
    assert tapline._core.plan_cache_size() == 1


@pytest.mark.parametrize("count", [9, 70, 700])  # 9: copied to the host; from 65 on algorithms may read them where they are
def test_taps_in_gpu_memory_may_change_between_calls(gpu, count):
    if isinstance(gpu, Jax):
        pytest.skip("JAX arrays do not change")
    n = 100 if count < 100 else 9000
    x, h = drawn(3, n), drawn(2, count)
    there, taps = gpu.put(x), gpu.put(h)
    for step in range(4):
        assert_close(gpu.get(tapline.convolve(there, taps[0])), tapline.convolve(x, h[0]), count + 3)
        out = gpu.empty((3, n + count - 1), "float32")
        assert tapline.convolve(there, taps[1], out=out) is out
        assert_close(gpu.get(out), tapline.convolve(x, h[1]), count + 3)
        h[step % 2] += 1
        taps[step % 2] += 1
    h[0, 3] = taps[0, 3] = np.nan
    for _ in range(2):
        np.testing.assert_allclose(gpu.get(tapline.convolve(there, taps[0])), tapline.convolve(x, h[0]), 1e-4, 1e-4 if count < 65 else 2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("function", ["convolve", "correlate"])
def test_taps_are_read_where_they_are(gpu, function, dtype):
    tapline.clear_plan_cache()
    x, h = drawn(9000, dtype=dtype), drawn(600, dtype=dtype)
    for mode, boundary in (("full", "zero"), ("same", "mirror")):
        wanted = getattr(tapline, function)(x, h, mode, boundary=boundary)
        for _ in range(2):
            got = getattr(tapline, function)(gpu.put(x), gpu.put(h), mode, boundary=boundary)
            assert_close(gpu.get(got), wanted, 600)
    calls = tapline._core.gpu_calls
    assert len(calls) == 2
    assert not EMULATED or None not in calls.values()  # a real one may choose what needs the taps' values
    tapline.clear_plan_cache()
    assert not calls


def test_taps_where_they_are_beside_what_would_be_converted(gpu):
    x, h = drawn(3, 200), drawn(80)
    there, taps = gpu.put(x), gpu.put(h)
    wide = tapline.convolve(x.astype(np.float64), h, axis=0)
    assert_close(gpu.get(tapline.convolve(gpu.put(x.astype(np.float64)), taps, axis=0)), wide, 80)
    assert_close(gpu.get(tapline.convolve(there, gpu.put(h.astype(np.float64)))), tapline.convolve(x, h.astype(np.float64)), 80)
    whole = np.rint(50 * x).astype(np.int16)
    assert_close(gpu.get(tapline.convolve(gpu.put(whole), taps)), tapline.convolve(whole, h), 80)
    many = gpu.put(np.stack([h, h + 1]))
    if not isinstance(gpu, Jax):
        assert_close(gpu.get(tapline.convolve(there[:, ::2], many[0])), tapline.convolve(x[:, ::2], h), 80)
    assert_close(gpu.get(tapline.convolve(there, taps, scale=0.5, clamp=[-1, 1])), tapline.convolve(x, h, scale=0.5, clamp=[-1, 1]), 80)
    assert_close(gpu.get(tapline.convolve(there, taps, scale=0.5, bias=2)), tapline.convolve(x, h, scale=0.5, bias=2), 80)
    if not isinstance(gpu, Jax):
        for shape in ((3, 200), (279,), (2, 279)):
            with pytest.raises(ValueError, match="its shape is"):
                tapline.convolve(there, taps, out=gpu.empty(shape, "float32"))
    with pytest.raises(ValueError, match="mode"):
        tapline.convolve(there, taps, "sane")
    with pytest.raises(ValueError, match="taps"):
        tapline.convolve(there, taps[:0])


X, H, W = drawn(40, 31), drawn(5, 4), drawn(3, 3)
LEVELS = np.random.default_rng(3).integers(0, 255, (30, 33)).astype(np.uint8)
DROP_INS = [
    ("numpy.convolve", (X[0], H[0]), {"mode": "same"}),
    ("numpy.convolve", (H[0], X[0]), {}),
    ("numpy.correlate", (X[0], H[0]), {"mode": "full"}),
    ("numpy.correlate", (H[0], X[0]), {"mode": "full"}),
    ("numpy.convolve", (LEVELS[0], LEVELS[1, :5]), {}),
    ("signal.convolve", (X, H), {}),
    ("signal.convolve", (X, H), {"mode": "valid", "method": "direct"}),
    ("signal.convolve", (X[0], H[0]), {"mode": "same"}),
    ("signal.convolve", (X > 0, H > 0), {}),
    ("signal.correlate", (X, H), {"mode": "same"}),
    ("signal.correlate", (X[0], X[1]), {}),
    ("signal.correlate", (X.astype(complex), 1j * H), {}),
    *(("signal." + name, (X[0], X[1, :9]), {"mode": mode}) for name in ("convolve", "correlate", "oaconvolve") for mode in ("full", "same", "valid")),
    ("signal.correlate", (X[0], X[1, :8].astype(complex) * 1j), {"mode": "same", "method": "direct"}),
    ("signal.fftconvolve", (X[0].astype(np.float64), X[1, :8]), {"mode": "same"}),
    ("signal.convolve", (X[0, :5], X[1]), {"mode": "same"}),
    ("signal.correlate", (X[0, :5], X[1]), {"mode": "same"}),
    ("signal.oaconvolve", (H, X), {"mode": "same"}),
    ("signal.convolve2d", (H, X), {"mode": "same", "boundary": "wrap"}),
    ("signal.convolve", (X, drawn(33, 29)), {}),
    ("signal.fftconvolve", (drawn(3, 20, 21), drawn(1, 4, 5)), {"axes": (1, 2), "mode": "same"}),
    ("signal.convolve", (drawn(5, 8, 9), drawn(2, 3, 2)), {}),
    ("signal.fftconvolve", (X, H[:1]), {"mode": "same", "axes": 1}),
    ("signal.fftconvolve", (X, H), {}),
    ("signal.oaconvolve", (X, H), {"mode": "valid"}),
    ("signal.convolve2d", (X, H), {"boundary": "symm", "mode": "same"}),
    ("signal.convolve2d", (X, H), {"boundary": "fill", "fillvalue": 2.0}),
    ("signal.correlate2d", (X, H), {"boundary": "wrap", "mode": "same"}),
    ("signal.correlate2d", (H, X), {"mode": "valid"}),
    ("signal.upfirdn", (H[0], X), {"up": 3, "down": 2}),
    *(("signal.upfirdn", (H[0], X), {"up": 2, "down": 3, "mode": mode, "cval": 2.0})
      for mode in ("constant", "wrap", "edge", "symmetric", "reflect", "smooth", "line", "antisymmetric", "antireflect")),
    ("signal.upfirdn", (H[0], X[:, :1]), {"up": 2, "axis": 0, "mode": "antireflect"}),
    ("signal.upfirdn", (drawn(40), X[:1, :3]), {"mode": "antireflect"}),
    ("signal.upfirdn", (drawn(40), X[:1, :3]), {"mode": "antisymmetric"}),
    ("signal.upfirdn", (H[0], X[0, :1]), {"mode": "smooth"}),
    ("ndimage.convolve1d", (X, W[0]), {"axis": 0, "mode": "mirror"}),
    ("ndimage.correlate1d", (LEVELS, [1, 2, 1]), {}),
    ("ndimage.correlate1d", (X, W[0]), {"mode": "constant", "cval": 3.0, "origin": 1}),
    ("ndimage.convolve", (X, W), {"mode": "nearest"}),
    ("ndimage.convolve", (X, W), {"mode": "constant", "cval": 1.5}),
    ("ndimage.correlate", (LEVELS, [[1, 0], [2, 1]]), {"mode": "wrap"}),
    ("ndimage.gaussian_filter1d", (X, 1.5), {"order": 1}),
    ("ndimage.gaussian_filter", (X, 2.0), {}),
    ("ndimage.gaussian_filter", (LEVELS, 2.0), {}),
    ("ndimage.uniform_filter1d", (X, 5), {}),
    ("ndimage.uniform_filter", (LEVELS, 3), {}),
    ("ndimage.uniform_filter", (X, (3, 5)), {"mode": "wrap"}),
    ("ndimage.sobel", (X,), {}),
    ("ndimage.prewitt", (LEVELS.astype(np.int32),), {"axis": 0}),
    ("ndimage.laplace", (X,), {}),
    ("ndimage.gaussian_filter", (X, 2.0), {"output": np.float64}),
    *(("ndimage.convolve", (X, H), {"mode": mode, "origin": (1, -1)}) for mode in ("reflect", "mirror", "nearest", "wrap", "constant")),
    ("ndimage.gaussian_filter", (X, (2.0, 1.0)), {"mode": "mirror", "order": (0, 1)}),
    ("ndimage.gaussian_filter", (drawn(3, 20, 21), 1.0), {"axes": (1, 2), "mode": "constant", "cval": 2.0}),
    ("ndimage.correlate", (X.astype(np.float64), W), {}),
    ("ndimage.convolve", (X.astype(complex), 1j * W), {"mode": "wrap"}),
]


def is_other_image(arrays, options):
    """What the emulated engine does not take: its images are float32."""
    wide = any(isinstance(a, np.ndarray) and a.ndim > 1 and a.dtype.char in "dD" for a in arrays)
    return wide or options.get("output") is np.float64


@pytest.mark.parametrize("case", DROP_INS, ids=[f"{i}-{case[0]}" for i, case in enumerate(DROP_INS)])
def test_drop_ins(gpu, case):
    name, arrays, options = case
    if EMULATED and is_other_image(arrays, options):
        pytest.skip("the emulated engine's images are float32")
    module, _, name = name.partition(".")
    function = getattr(getattr(tapline, module), name)
    there = [gpu.put(a) if isinstance(a, np.ndarray) else a for a in arrays]
    wanted = function(*arrays, **options)
    assert_close(gpu.get(function(*there, **options)), wanted, 50)


def test_drop_ins_write_to_output(gpu):
    if isinstance(gpu, Jax):
        pytest.skip("JAX arrays cannot be changed")
    for name, arguments in [("gaussian_filter", (1.5,)), ("convolve", (W,)), ("laplace", ()), ("uniform_filter1d", (3,))]:
        function = getattr(tapline.ndimage, name)
        out = gpu.empty(X.shape, "float32")
        assert function(gpu.put(X), *arguments, output=out) is out
        assert_close(gpu.get(out), function(X, *arguments), 50)
    with pytest.raises(ValueError, match="another memory"):
        tapline.ndimage.laplace(gpu.put(X), output=np.empty_like(X))


def test_the_method_is_the_gpus(gpu):
    x = gpu.put(drawn(5000))
    assert tapline.signal.choose_conv_method(x, gpu.put(drawn(3))) == "direct"
    assert tapline.signal.choose_conv_method(gpu.put(np.arange(9)), gpu.put(np.arange(3))) == "direct"
    if not EMULATED:
        assert tapline.signal.choose_conv_method(gpu.put(drawn(1 << 20)), gpu.put(drawn(30_000))) == "fft"


def test_drop_ins_write_beside_what_they_read(gpu):
    if isinstance(gpu, Jax):
        pytest.skip("JAX arrays cannot be changed")
    both = gpu.put(np.stack([X, X]))
    wanted = tapline.ndimage.convolve1d(X, W[0])
    tapline.ndimage.convolve1d(both[0], W[0], output=both[1])
    assert_close(gpu.get(both[1]), wanted, 50)
    assert_close(gpu.get(both[0]), X)
    for function, arguments in [(tapline.ndimage.convolve1d, (W[0],)), (tapline.ndimage.convolve, (W,)), (tapline.ndimage.gaussian_filter, (1.5,))]:
        there = gpu.put(X)
        function(there, *arguments, output=there)  # onto itself, as SciPy's may
        assert_close(gpu.get(there), function(X, *arguments), 50)


def test_what_is_for_scipy_is_refused(gpu):
    with pytest.raises(TypeError, match="copy them to host memory"):
        tapline.numpy.convolve(gpu.put(X), gpu.put(X))


# Images. The emulated engine has them in float32 alone.
any_type = pytest.mark.skipif(bool(EMULATED), reason="the emulated engine's images are float32")
MASK = drawn(5, 4)


@pytest.mark.parametrize("mode", ["full", "same", "valid", "causal", "leading"])
@pytest.mark.parametrize("operation", ["convolution", "correlation"])
def test_images(gpu, mode, operation):
    plain, colour = drawn(30, 41), drawn(2, 3, 17, 19, 3)
    masks = drawn(3, 4, 3)
    for x, taps, axis in [(plain, MASK, None), (colour, MASK, -1), (colour, masks, -1), (colour, MASK, None)]:
        if axis is None and mode == "valid" and x is colour:
            continue  # 3 columns
        options = {"channel_axis": axis, "operation": operation}
        wanted = tapline.image(x, taps, mode, **options)
        assert_close(gpu.get(tapline.image(gpu.put(x), taps, mode, **options)), wanted, 20)
        assert_close(gpu.get(tapline.image(gpu.put(x), gpu.put(taps), mode, **options)), wanted, 20)


@pytest.mark.parametrize("boundary", ["zero", "constant", "nearest", "reflect", "mirror", "wrap"])
def test_boundaries_and_epilogue_of_images(gpu, boundary):
    x = drawn(20, 23)
    more = {"constant": 2.5} if boundary == "constant" else {}
    more |= {"boundary": boundary, "origin": (3, 1), "scale": 0.5, "bias": 1.0, "clamp": (-1.0, 2.0), "accuracy": "strict"}
    assert_close(gpu.get(tapline.image(gpu.put(x), MASK, **more)), tapline.image(x, MASK, **more), 20)


@any_type
@pytest.mark.parametrize("dtype", ["float64", "complex64", "complex128", "uint8", "uint16", "int16", "int32", "bool", "float16"])
def test_types_of_images(gpu, dtype):
    x = (40 * np.abs(drawn(20, 23))).astype(dtype)
    if isinstance(gpu, Torch) and dtype == "uint16":
        pytest.skip("PyTorch has few operations for uint16")
    for taps in (np.abs(MASK) / 10, MASK.astype(complex) * 1j):
        wanted = tapline.image(x, taps)
        got = gpu.get(tapline.image(gpu.put(x), taps))
        if wanted.dtype.kind in "iu":  # a sum beside a tie may go either way
            assert got.dtype == wanted.dtype and np.abs(got.astype(int) - wanted.astype(int)).max() <= 1
        else:
            assert_close(got, wanted, 20)
    to = "complex64" if np.dtype(dtype).kind == "c" else "float32"
    assert_close(gpu.get(tapline.image(gpu.put(x), np.ones((2, 2)), dtype=to)), tapline.image(x, np.ones((2, 2)), dtype=to), 20)


def test_views_of_images(gpu):
    if isinstance(gpu, Jax):
        pytest.skip("JAX has no views")
    x = drawn(4, 24, 30, 3)
    views = [lambda a: a[:, 2:-3, 5:20], lambda a: a[::2], lambda a: a[:, :, ::2], lambda a: a[..., :2], lambda a: a[1:2, :, 3:]]
    for view in views:
        wanted = tapline.image(view(x), MASK, channel_axis=-1)
        assert_close(gpu.get(tapline.image(view(gpu.put(x)), MASK, channel_axis=-1)), wanted, 20)
        out = gpu.empty(x.shape, "float32")
        assert tapline.image(view(gpu.put(x)), MASK, channel_axis=-1, out=view(out)) is not None
        assert_close(gpu.get(view(out)), wanted, 20)


def test_images_that_are_empty_or_refused(gpu):
    x = gpu.put(drawn(9, 8))
    assert gpu.get(tapline.image(gpu.put(drawn(0, 9, 8)), MASK)).shape == (0, 9, 8)
    with pytest.raises(ValueError, match="image: in host memory, but taps is on cuda:0"):
        tapline.image(drawn(9, 8), x, out=x)
    with pytest.raises(ValueError, match="out: in host memory, the image is on cuda:0"):
        tapline.image(x, MASK, out=drawn(9, 8))
    with pytest.raises(ValueError, match="1 axes; give rows and columns"):
        tapline.image(gpu.put(drawn(9)), MASK)
    with pytest.raises(ValueError, match="channel_axis=-1"):
        tapline.image(x, drawn(3, 3, 3))
    with pytest.raises(ValueError, match="dtype: float64, but out has float32"):
        tapline.image(x, MASK, out=gpu.put(drawn(9, 8)), dtype=float)
    if not isinstance(gpu, Jax):
        with pytest.raises(ValueError, match="out: its shape is"):
            tapline.image(x, MASK, out=gpu.put(drawn(9, 9)))


def test_no_library_is_imported_that_the_caller_does_not_use():
    code = "import sys, numpy, tapline; tapline.convolve(numpy.ones(9), [1.0]); print([m for m in %r if m in sys.modules])"
    code %= (("cupy", "torch", "jax"),)
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


class Foreign:
    """An array of a library that tapline does not know."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def test_arrays_of_unknown_libraries(gpu):
    if isinstance(gpu, Jax):
        pytest.skip("JAX has no __cuda_array_interface__ that is written to")
    x, h = drawn(50), drawn(5)
    out = gpu.empty(54, "float32")
    there = Foreign(out)
    assert tapline.convolve(Foreign(gpu.put(x)), h, out=there) is there
    assert_close(gpu.get(out), tapline.convolve(x, h), 8)
    with pytest.raises(TypeError, match="cupy.asarray"):
        tapline.convolve(Foreign(gpu.put(x)), h)


@on_real_gpu
def test_streams_of_cupy():
    gpu = Cupy()
    cp = gpu.cupy
    x = cp.zeros(1 << 24, cp.float32)
    h = np.ones(3, np.float32)
    stream = cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()
    for value in range(5):
        with stream:  # each step reads what the one before it on this stream wrote
            x[...] = value
            y = tapline.convolve(x, h, "same")
            z = tapline.convolve(y, h, "same")
        stream.synchronize()
        assert float(z[1000]) == 9 * value


@on_real_gpu
def test_results_of_jax_are_waited_for():
    pytest.importorskip("jax")
    gpu = Jax()
    x, h = gpu.put(np.ones(1 << 24, np.float32)), np.ones(2001, np.float32)
    for value in range(1, 6):  # a millisecond each, and JAX reads the result at once
        y = tapline.convolve(x * value, h, "same", accuracy="strict")
        assert float(y[1 << 23]) == 2001 * value
        z = tapline.convolve(y, h[:1], "same")
        assert float((y - z)[1 << 23]) == 0


@on_real_gpu
def test_calls_do_not_wait():
    torch = Torch().torch
    x = torch.ones(1 << 26, device="cuda")
    h = np.ones(3, np.float32)
    tapline.convolve(x, h)  # the plan is made
    torch.cuda.synchronize()
    torch.cuda._sleep(1 << 30)  # half a second
    busy = torch.cuda.Event()
    busy.record()
    y = tapline.convolve(x, h)
    assert not busy.query(), "the call waited for the stream"
    torch.cuda.synchronize()
    assert float(y[5]) == 3


@on_real_gpu
def test_calls_can_be_captured():
    torch = Torch().torch
    x, h = torch.ones(100_000, device="cuda"), np.ones(3, np.float32)
    tapline.convolve(x, h, "same")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = tapline.convolve(x, h, "same")
    x.fill_(2)
    graph.replay()
    torch.cuda.synchronize()
    assert float(y[10]) == 6


@on_real_gpu
def test_bfloat16():
    torch = Torch().torch
    x, h = torch.randn(3, 500, device="cuda", dtype=torch.bfloat16), torch.randn(9, device="cuda", dtype=torch.bfloat16)
    y = tapline.convolve(x, h, "same")
    assert y.dtype == torch.bfloat16
    wanted = tapline.convolve(x.double().cpu().numpy(), h.double().cpu().numpy(), "same")
    assert np.abs(y.double().cpu().numpy() - wanted).max() < 2**-8 * np.abs(wanted).max()
    assert tapline.convolve(x, h.float()).dtype == torch.float32
    assert tapline.convolve(x, h, dtype="float32").dtype == torch.float32
    jnp = pytest.importorskip("jax").numpy
    z = tapline.convolve(jnp.asarray(x.float().cpu().numpy(), jnp.bfloat16), jnp.asarray(h.float().cpu().numpy(), jnp.bfloat16), "same")
    assert z.dtype == jnp.bfloat16
    assert np.abs(np.asarray(z.astype("float32")) - wanted).max() < 2**-8 * np.abs(wanted).max()


@on_real_gpu
def test_tensors_that_require_a_gradient_are_refused():
    torch = Torch().torch
    x = torch.ones(20, device="cuda", requires_grad=True)
    with pytest.raises(ValueError, match="tapline.torch.conv1d"):
        tapline.convolve(x, [1.0])
    with torch.no_grad():
        assert tapline.convolve(x, np.ones(1, np.float32)).shape == (20,)


@on_real_gpu
def test_no_memory_is_lost():
    cp = Cupy().cupy
    x, h = cp.ones(5000, cp.float32), np.ones(9, np.float32)
    tapline.convolve(x, h)
    cp.get_default_memory_pool().free_all_blocks()
    before = cp.cuda.Device().mem_info[0]
    for i in range(10_000):
        tapline.convolve(x, h if i % 10 else h * i)  # 1,000 plans, of which 32 are kept
    cp.get_default_memory_pool().free_all_blocks()
    assert before - cp.cuda.Device().mem_info[0] < 64 << 20
