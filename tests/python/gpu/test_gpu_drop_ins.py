"""Arrays in GPU memory: tapline.numpy, tapline.signal and tapline.ndimage."""

import operator

import numpy as np
import pytest

import tapline
from gpu_arrays import EMULATED, Jax, assert_close, drawn, needs_gpu
from tapline import _gpu

pytestmark = needs_gpu

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
    *(
        ("signal." + name, (X[0], X[1, :9]), {"mode": mode})
        for name in ("convolve", "correlate", "oaconvolve")
        for mode in ("full", "same", "valid")
    ),
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
    *(
        ("signal.upfirdn", (H[0], X), {"up": 2, "down": 3, "mode": mode, "cval": 2.0})
        for mode in ("constant", "wrap", "edge", "symmetric", "reflect", "smooth", "line", "antisymmetric", "antireflect")
    ),
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
    *(
        ("ndimage.convolve", (X, H), {"mode": mode, "origin": (1, -1)})
        for mode in ("reflect", "mirror", "nearest", "wrap", "constant")
    ),
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


def test_the_method_is_that_of_arrays_in_host_memory(gpu):
    for x, h in [(drawn(5000), drawn(3)), (np.arange(9), np.arange(3)), (drawn(1 << 16), drawn(30_000)), (X > 0, H > 0)]:
        wanted = tapline.signal.choose_conv_method(x, h)
        assert tapline.signal.choose_conv_method(gpu.put(x), gpu.put(h)) == wanted
        assert tapline.signal.choose_conv_method(gpu.put(x), h) == wanted
    large = np.full(50, 2**28)
    assert tapline.signal.choose_conv_method(gpu.put(large), gpu.put(large)) == "direct"  # FFTs would round


def test_drop_ins_write_beside_what_they_read(gpu):
    if isinstance(gpu, Jax):
        pytest.skip("JAX arrays cannot be changed")
    both = gpu.put(np.stack([X, X]))
    wanted = tapline.ndimage.convolve1d(X, W[0])
    tapline.ndimage.convolve1d(both[0], W[0], output=both[1])
    assert_close(gpu.get(both[1]), wanted, 50)
    assert_close(gpu.get(both[0]), X)
    for function, arguments in [
        (tapline.ndimage.convolve1d, (W[0],)),
        (tapline.ndimage.convolve, (W,)),
        (tapline.ndimage.gaussian_filter, (1.5,)),
    ]:
        there = gpu.put(X)
        function(there, *arguments, output=there)  # onto itself, as SciPy's may
        assert_close(gpu.get(there), function(X, *arguments), 50)


def test_what_is_for_scipy_is_refused(gpu):
    for taps in (np.array([1, 2], object), np.ones(3, np.longdouble)):
        for function in (tapline.numpy.convolve, tapline.numpy.correlate, tapline.signal.convolve, tapline.signal.fftconvolve):
            with pytest.raises(TypeError, match="copy them to host memory"):
                function(gpu.put(X[0]), taps)
    with pytest.raises(ValueError, match="too deep"):
        tapline.numpy.convolve(gpu.put(X), gpu.put(X))


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_sums_and_quotients_have_numpys_types(gpu, operation):
    """Not the library's: PyTorch divides integers in float32, JAX adds int64 to float32 there."""
    x = np.arange(1, 7)
    for dtype in ("uint8", "int16", "int64", "float16", "float32", "float64", "complex64"):
        a = x.astype(dtype)
        others = [(x + 2**24).astype(other) for other in ("uint8", "int64", "float32", "complex128")]
        for other in (3, 0.5, np.complex64(1 + 2j), np.float32(0.5), *others, *(_gpu.Array(gpu.put(b)) for b in others)):
            got = operation(_gpu.Array(gpu.put(a)), other)
            wanted = operation(a, gpu.get(other.own) if isinstance(other, _gpu.Array) else other)
            assert got.dtype == wanted.dtype
            bound = {2: 2e-3, 4: 1e-6, 8: 1e-14}[wanted.real.dtype.itemsize] if wanted.dtype.kind in "fc" else 0
            np.testing.assert_allclose(gpu.get(got.own), wanted, bound)
