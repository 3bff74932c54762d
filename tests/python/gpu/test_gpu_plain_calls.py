"""Calls on a GPU that were made before with arrays of the same kind: what is compared decides, and nothing else."""

import inspect

import numpy as np
import pytest

import tapline
from gpu_arrays import EMULATED, Cupy, Jax, assert_close, drawn, needs_gpu

pytestmark = needs_gpu

CALLS = 300


@pytest.fixture(autouse=True)
def nothing_remembered():
    tapline.clear_plan_cache()


def drawn_options(rng):
    options = {}
    if rng.random() < 0.5:
        options["mode"] = str(rng.choice(("full", "same", "valid", "causal")))
    if rng.random() < 0.3:
        options["boundary"] = str(rng.choice(("zero", "reflect", "wrap")))
    if rng.random() < 0.2:
        options |= {"boundary": "constant", "constant": float(rng.integers(3))}
    if rng.random() < 0.3:
        options["axis"] = int(rng.choice((-1, 0, 1)))
    if rng.random() < 0.2:
        options["scale"] = float(rng.choice((0.5, 2.0)))
    if rng.random() < 0.2:
        options["bias"] = float(rng.choice((0.5, 2.0)))
    if rng.random() < 0.2:
        options["clamp"] = (-1.0, float(rng.integers(1, 3)))
    return options


def test_drawn_calls(gpu):
    """Few shapes, types and filters, so that many calls differ from one before in a single thing."""
    for seed in range(CALLS):
        rng = np.random.default_rng(seed)
        x = drawn(9, 12).astype(str(rng.choice(("float32", "float64", "int16", "uint8"))))
        h = drawn(3 + int(rng.integers(2))).astype(str(rng.choice(("float32", "float64"))))
        h[int(rng.integers(3))] += int(rng.integers(3))
        function, options = str(rng.choice(("convolve", "correlate"))), drawn_options(rng)
        there = gpu.put(x)
        if isinstance(gpu, Cupy) and rng.random() < 0.3:
            there, x = there[:, ::2], x[:, ::2]
        wanted = getattr(tapline, function)(x, h, **options)
        taps = gpu.put(h) if rng.random() < 0.4 else h
        out = {}
        if not isinstance(gpu, Jax) and rng.random() < 0.4:
            out["out"] = gpu.empty(wanted.shape, wanted.dtype.name)
        got = getattr(tapline, function)(there, taps, **options, **out)
        assert not out or got is out["out"]
        assert_close(gpu.get(got), wanted, 40)
    assert isinstance(gpu, Jax) or sum(tapline._core.plain_calls()) > len(tapline._core.plain_calls()) // 2


def test_drawn_images(gpu):
    """The same of images."""
    remembered = 0
    for seed in range(CALLS):
        rng = np.random.default_rng(seed)
        x = (20 * drawn(2, 7, 9, 3)).astype(str(rng.choice(("float32", "float64", "uint8", "int16"))))
        h = drawn(2 + int(rng.integers(2)), 3).astype(str(rng.choice(("float32", "float64"))))
        h[int(rng.integers(2))] += int(rng.integers(2))
        options = {name: value for name, value in drawn_options(rng).items() if name != "axis"}
        if rng.random() < 0.4:
            options["channel_axis"] = -1
        if rng.random() < 0.2:
            options["operation"] = "correlation"
        if rng.random() < 0.2:
            options["origin"] = (0, int(rng.integers(2)))
        if rng.random() < 0.2:
            options["dtype"] = "float32"
        there = gpu.put(x)
        if isinstance(gpu, Cupy) and rng.random() < 0.3:
            there, x = there[..., ::2, :], x[..., ::2, :]
        wanted = tapline.image(x, h, **options)
        out = {}
        if not isinstance(gpu, Jax) and rng.random() < 0.4:
            out["out"] = gpu.empty(wanted.shape, wanted.dtype.name)
        for _ in range(2):
            got = tapline.image(there, h, **options, **out)
            assert not out or got is out["out"]
            if wanted.dtype.kind in "iu":
                np.testing.assert_allclose(gpu.get(got).astype(int), wanted.astype(int), atol=1)  # a sum beside a half
            else:
                assert_close(gpu.get(got), wanted, 40)
        remembered += tapline._core.plain_image(there, h, out.get("out"), given_options(options)) is not None
    assert isinstance(gpu, Jax) or remembered > CALLS // 2


def given_options(options):
    """As tapline.image compares them."""
    defaults = inspect.signature(tapline.image).parameters
    not_compared = ("image", "taps", "out")
    order = [name for name in defaults if name not in not_compared]
    return tuple(options.get(name, defaults[name].default) for name in order)


def test_an_image_filtered_again_needs_no_plan(gpu, monkeypatch):
    if isinstance(gpu, Jax):
        pytest.skip("JAX names its stream anew in each call")
    x, h = drawn(20, 30), drawn(3, 3)
    there, wanted = gpu.put(x), tapline.image(x, h)
    tapline.image(there, h)
    with monkeypatch.context() as patched:
        patched.setattr("tapline._gpu.images.image", None)
        before = tapline.info()["plan_cache"]
        assert_close(gpu.get(tapline.image(there, h)), wanted, 20)
        after = tapline.info()["plan_cache"]
    assert (before["hits"], before["misses"]) == (after["hits"], after["misses"])
    h[1, 1] += 1
    assert_close(gpu.get(tapline.image(there, h)), tapline.image(x, h), 20)


def test_large_masks_changed_in_place_are_other_masks(gpu):
    x, h = drawn(40, 50), drawn(300, 301)
    there = gpu.put(x)
    for place in (0, 45_000, h.size - 1):
        for again in range(2):
            options = {"boundary": "wrap", "scale": 2.0}
            got = tapline._core.plain_image(there, h, None, given_options(options))
            assert (got is None) == (again == 0) or isinstance(gpu, Jax)
            assert_close(gpu.get(tapline.image(there, h, **options)), tapline.image(x, h, **options), 1000)
        h.flat[place] += 1


def test_exact_integers(gpu):
    """Other taps are another call, and one whose sums do not fit says so each time."""
    x = np.arange(-40, 80, 10, dtype=np.int8)
    for _ in range(2):
        for h in (np.array([1, -2, 3]), np.array([1, 2, 3]), np.array([127, 127, 127])):
            np.testing.assert_array_equal(gpu.get(tapline.convolve(gpu.put(x), h)), np.convolve(x.astype(np.int64), h))
    assert isinstance(gpu, Jax) or all(tapline._core.plain_calls())
    if isinstance(gpu, Jax) or EMULATED:  # which tells of it later
        return
    out = gpu.empty(x.shape, "int8")
    for _ in range(2):
        with pytest.raises(ValueError, match="overflow: output"):
            tapline.convolve(gpu.put(x), np.array([2, 1], np.int8), "same", out=out)
        tapline.convolve(gpu.put(x), np.array([2, 1], np.int8), "same", out=out, overflow="wrap")
        wanted = np.convolve(x.astype(np.int64), [2, 1])[: len(x)]
        np.testing.assert_array_equal(gpu.get(out), wanted.astype(np.int8))


def test_a_call_made_again_needs_no_plan_and_no_python(gpu, monkeypatch):
    if isinstance(gpu, Jax):
        pytest.skip("JAX names its stream anew in each call")
    x, h = drawn(50), drawn(5)
    there, taps = gpu.put(x), gpu.put(h)
    plan = tapline.Plan(50, h, dtype="float32")
    wanted = tapline.convolve(x, h)
    for call in (lambda: tapline.convolve(there, h), lambda: tapline.convolve(there, taps), lambda: plan(there)):
        call()
        with monkeypatch.context() as patched:
            patched.setattr("tapline._gpu.call", None)
            patched.setattr("tapline._gpu.call_plan", None)
            before = tapline.info()["plan_cache"]
            assert_close(gpu.get(call()), wanted, 20)
            after = tapline.info()["plan_cache"]
        assert (before["hits"], before["misses"]) == (after["hits"], after["misses"])


def test_taps_changed_in_place_are_other_taps(gpu):
    x, h = drawn(100), drawn(700)
    there = gpu.put(x)
    for place in (0, 333, 699):
        for _ in range(2):
            assert_close(gpu.get(tapline.convolve(there, h)), tapline.convolve(x, h), 100)
        h[place] += 1


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_long_taps_that_are_moved_or_converted(gpu, axis):
    """They are compared as they were given, and a plan is kept for them as for others."""
    shape = [40, 50, 60]
    shape[axis] = 33
    for dtype in ("float32", "float64"):
        tapline.clear_plan_cache()
        x, h = drawn(40, 50, 60).astype(dtype), drawn(*shape)
        there = gpu.put(x)
        for place in (0, h.size // 2, h.size - 1):
            wanted = tapline.convolve(x, h, "same", axis=axis)
            for again in range(3):
                before = tapline.info()["plan_cache"]["misses"]
                assert_close(gpu.get(tapline.convolve(there, h, "same", axis=axis)), wanted, 100)
                assert again < 2 or tapline.info()["plan_cache"]["misses"] == before
            h.flat[place] += 1


def test_equal_options_of_other_types(gpu):
    x, h = drawn(60), drawn(5)
    there = gpu.put(x)
    for origin in (1, np.int64(1), True):
        assert_close(gpu.get(tapline.convolve(there, h, "same", origin=origin)), tapline.convolve(x, h, "same", origin=1), 20)
    limits = [-1.0, 1.0]
    for high in (1.0, 0.5):
        limits[1] = high  # a list may change after a call
        for _ in range(2):
            assert_close(gpu.get(tapline.convolve(there, h, clamp=limits)), tapline.convolve(x, h, clamp=limits), 20)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16"])
def test_constants_beside_integers(gpu, dtype):
    """Those that are samples too are read as such; others make floats of all."""
    if not isinstance(gpu, Cupy) and dtype == "uint16":
        pytest.skip("PyTorch has few operations for them")
    rng = np.random.default_rng(9)
    x, h = rng.integers(0, 100, 500).astype(dtype), drawn(9)
    for constant in (3, 3.0, 3.5, -1, 127, 200, 65535, 1e9, float("nan"), float("inf"), np.float32(3)):
        for _ in range(2):
            got = gpu.get(tapline.convolve(gpu.put(x), h, boundary="constant", constant=constant))
            wanted = tapline.convolve(x.astype("float32"), h, boundary="constant", constant=constant)
            if np.isfinite(constant):
                assert_close(got, wanted, 100)
            else:
                np.testing.assert_array_equal(np.isfinite(got), np.isfinite(wanted))


def test_errors_stay(gpu):
    there, h = gpu.put(drawn(60)), drawn(5)
    for _ in range(2):
        with pytest.raises(ValueError, match="mode"):
            tapline.convolve(there, h, "sane")
        with pytest.raises(ValueError, match="axis"):
            tapline.convolve(there, h, axis=3)
        with pytest.raises(ValueError, match="taps"):
            tapline.convolve(there, h[:0])
    if not isinstance(gpu, Jax):
        with pytest.raises(ValueError, match="its shape is"):
            tapline.convolve(there, h, out=gpu.empty((60,), "float32"))
        with pytest.raises(ValueError, match="leave dtype away"):
            tapline.convolve(there, h, out=gpu.empty((64,), "float32"), dtype="float64")


@pytest.mark.skipif(not EMULATED, reason="of two GPUs")
def test_another_gpu_is_another_call(gpu):
    x, h = drawn(60), drawn(5)
    for device in (0, 1, 0, 1):
        with gpu.cupy.cuda.Device(device):
            there = gpu.put(x)
        got = tapline.convolve(there, h)
        assert got.device.id == device
        assert_close(gpu.get(got), tapline.convolve(x, h), 20)


LONG = 70_001  # more bytes of f32 than are compared before the GPU works


def test_long_taps_changed_in_place(gpu):
    """The call goes ahead with the taps that were there before, and once more if they are others."""
    if isinstance(gpu, Jax):
        pytest.skip("JAX arrays take the long way")
    x, h = drawn(60), drawn(LONG)
    there, out = gpu.put(x), gpu.empty((60,), "float32")
    for place in (0, LONG // 3, LONG - 1):
        for _ in range(3):
            assert_close(gpu.get(tapline.convolve(there, h, "same")), tapline.convolve(x, h, "same"), 1000)
            assert tapline.convolve(there, h, "same", out=out) is out
            assert_close(gpu.get(out), tapline.convolve(x, h, "same"), 1000)
        h[place] += 9
    other = drawn(LONG + 1)
    assert_close(gpu.get(tapline.convolve(there, other, "same")), tapline.convolve(x, other, "same"), 1000)


def test_long_taps_found_again_count_as_hits(gpu, monkeypatch):
    if isinstance(gpu, Jax):
        pytest.skip("JAX arrays take the long way")
    there, h = gpu.put(drawn(60)), drawn(LONG)
    tapline.convolve(there, h, "same")
    before = tapline.info()["plan_cache"]
    monkeypatch.setattr("tapline._gpu.call", None)
    tapline.convolve(there, h, "same")
    tapline.convolve(there, h.copy(), "same")
    after = tapline.info()["plan_cache"]
    assert (after["hits"] - before["hits"], after["misses"] - before["misses"]) == (2, 0)


def test_long_taps_that_cannot_be_written_to(gpu):
    x, h = drawn(60), drawn(LONG)
    there = gpu.put(x)
    h.flags.writeable = False
    for _ in range(3):
        assert_close(gpu.get(tapline.convolve(there, h, "same")), tapline.convolve(x, h, "same"), 1000)
    h.flags.writeable = True
    h[LONG // 2] += 9
    assert_close(gpu.get(tapline.convolve(there, h, "same")), tapline.convolve(x, h, "same"), 1000)
    view = h[:]
    view.flags.writeable = False  # what it is a view of can be written to
    for _ in range(2):
        assert_close(gpu.get(tapline.convolve(there, view, "same")), tapline.convolve(x, view, "same"), 1000)
        h[LONG // 2] += 9


def test_long_taps_are_forgotten_with_their_plan(gpu):
    if isinstance(gpu, Jax):
        pytest.skip("JAX arrays take the long way")
    x, h = drawn(60), drawn(LONG)
    there = gpu.put(x)
    limit = tapline.info()["plan_cache"]["limit_bytes"]
    try:
        for _ in range(2):
            assert_close(gpu.get(tapline.convolve(there, h, "same")), tapline.convolve(x, h, "same"), 1000)
        tapline.set_plan_cache_limit(1000)
        for _ in range(2):
            assert_close(gpu.get(tapline.convolve(there, h, "same")), tapline.convolve(x, h, "same"), 1000)
        assert tapline.info()["plan_cache"]["plans"] == 0
    finally:
        tapline.set_plan_cache_limit(limit)
