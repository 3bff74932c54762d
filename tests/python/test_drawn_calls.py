"""Every drop-in against its original over drawn calls: type, shape, memory layout, values and errors, on arrays in host memory."""

import numpy as np
import pytest

import tapline
from drawn_calls import FUNCTIONS, NAMES, difference, draw, functions, outcome
from tapline import _fallback

pytest.importorskip("scipy.signal")
pytest.importorskip("scipy.ndimage")

CALLS = 150


@pytest.mark.parametrize("name", FUNCTIONS)
def test_calls(name, monkeypatch):
    monkeypatch.setattr(_fallback, "prefer_faster", False)  # SciPy would be compared with itself
    ours, theirs = functions(name)
    for seed in range(CALLS):
        call = draw(np.random.default_rng([seed, FUNCTIONS.index(name)]), name)
        arguments = call.made()
        wrong = difference(call, outcome(ours, arguments), outcome(theirs, call.made()), arguments.get("output"))
        assert wrong is None, f"seed {seed}: {wrong}: {call.arguments}"


def test_all_functions_are_drawn():
    for module, names in NAMES.items():
        assert set(names.split()) == set(getattr(tapline, module).__all__) - {"correlation_lags"}  # which takes two numbers


@pytest.mark.parametrize("name", ["fftconvolve", "oaconvolve"])
@pytest.mark.parametrize("shapes", [((5, 1), (1, 4)), ((3, 1), (3, 1)), ((1, 1), (4, 6)), ((5,), (1,)), ((5,), (3,))])
@pytest.mark.parametrize("dtypes", [("float16", "float16"), ("float16", "int8"), ("bool", "bool"), ("int64", "uint64")])
def test_types_where_axes_only_broadcast(name, shapes, dtypes):
    x, h = (np.ones(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True))
    ours, theirs = functions(f"signal.{name}")
    for axes in (None, 0):
        got, wanted = outcome(ours, {"in1": x, "in2": h, "axes": axes}), outcome(theirs, {"in1": x, "in2": h, "axes": axes})
        if isinstance(wanted, ValueError):
            assert isinstance(got, ValueError)
            continue
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(got.astype(float), wanted.astype(float), 1e-3)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_numbers_for_modes(mode):
    x, h = np.arange(9.0), np.ones(4)
    for name in ("convolve", "correlate"):
        np.testing.assert_allclose(getattr(tapline.numpy, name)(x, h, mode), getattr(np, name)(x, h, mode), 1e-14, 1e-14)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_the_method_is_scipys(mode):
    """Both sides of where the methods meet, for lines and images, and integers whose sums a float64 does not hold."""
    ours, theirs = functions("signal.choose_conv_method")
    rng = np.random.default_rng(0)
    methods = set()
    for ndim, longest in [(1, 20_000), (2, 120), (3, 30)] * 25:
        n, k = (tuple(int(s) for s in longest ** rng.random(ndim)) for _ in range(2))
        dtype = str(rng.choice(["float32", "int16", "int64", "bool", "complex128"]))
        x, h = (np.full(s, 3 * 10 ** int(rng.integers(0, 5)) if dtype == "int64" else 1, dtype) for s in (n, k))
        assert ours(x, h, mode) == theirs(x, h, mode), (n, k, dtype)
        methods.add(ours(x, h, mode))
    assert methods == {"fft", "direct"}
    large = np.full(5000, 2**30)
    assert ours(large, large, mode) == theirs(large, large, mode) == "direct"


@pytest.mark.parametrize("mode", ["edge", "wrap", "line", "symmetric"])
def test_nothing_to_extend(mode):
    with pytest.raises(ValueError, match="no samples along axis 0"):
        tapline.signal.upfirdn([1.0, 2.0], np.ones((0, 3)), axis=0, mode=mode)
    assert tapline.signal.upfirdn([1.0, 2.0], np.ones((3, 0)), 2, axis=0, mode=mode).shape == (6, 0)
    ours, theirs = functions("signal.upfirdn")
    for arguments in [((5,), 1, 1, 0), ((5,), 2, 3, 0), ((5, 3), 1, 2, 0), ((5, 3), 2, 1, 1)]:
        shape, up, down, axis = arguments
        x = np.ones(shape)[:0] if axis == 0 else np.ones(shape)[:, :0]
        h = np.arange(1.0, 6.0)
        np.testing.assert_array_equal(ours(h, x, up, down, axis, cval=1.5), theirs(h, x, up, down, axis, cval=1.5))
