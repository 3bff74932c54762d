"""Arrays in GPU memory: tapline.image. The emulated engine's images are float32 alone."""

import types

import numpy as np
import pytest

import drawn_calls
import tapline
from gpu_arrays import EMULATED, Cupy, Jax, Torch, assert_close, drawn, needs_gpu
from tapline._gpu import images

pytestmark = needs_gpu

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
            assert got.dtype == wanted.dtype
            assert np.abs(got.astype(int) - wanted.astype(int)).max() <= 1
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


@pytest.mark.parametrize("seed", range(60))
def test_drawn_layouts(gpu, seed):
    """Rows, pixels, channels and images in any order in memory, the rows of several images taking turns among them."""
    if not isinstance(gpu, Cupy):
        pytest.skip("PyTorch has no negative strides, JAX no views")
    rng = np.random.default_rng(seed)
    colour = int(rng.integers(2))
    shape = tuple(int(n) for n in rng.choice((1, 2, 3, 5, 7), int(rng.integers(2, 5)) + colour))
    values, taps = drawn(*shape), rng.integers(0, 3, rng.integers(1, 5, 2))
    options = {"channel_axis": -1 if colour else None, "mode": str(rng.choice(("full", "same", "causal", "leading")))}
    wanted = tapline.image(values, taps, **options)
    x = drawn_calls.spread(rng, shape, "float32", gpu.put)
    x[...] = gpu.put(values)
    out = drawn_calls.spread(rng, wanted.shape, "float32", gpu.put)
    assert tapline.image(x, taps, out=out, **options) is out
    for got in (tapline.image(x, taps, **options), out):
        assert_close(gpu.get(got), wanted, 20)


def test_a_view_is_explained_by_the_plan_that_runs():
    """It is the latest, also where it was compared with that of a copy."""
    made = []

    def make(*layouts):
        made.append(layouts)
        return types.SimpleNamespace(layouts=layouts, predicted_seconds=1e-5, predicted_copy_seconds=1e-5)

    layouts = ((90, 80), "strided"), ((90, 80), "packed")
    plan = images._plan_in_place(make, *layouts, ("a copy", "an output"), "a view that nobody asks for")
    assert plan.layouts == layouts
    assert made == [("a copy", "an output"), layouts]


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
