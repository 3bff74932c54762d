"""Arrays in GPU memory: taps that lie there, too."""

import types

import numpy as np
import pytest

import tapline
from gpu_arrays import Cupy, Jax, assert_close, drawn, needs_gpu, on_real_gpu
from tapline._gpu.calls import taps_in_host_memory

pytestmark = needs_gpu


def stayed_there():
    """How many kinds of calls so far had taps that were read, or converted, where they lay. None had others."""
    ways = list(tapline._core.gpu_calls.values())
    assert None not in ways
    return len(ways) + sum(tapline._core.plain_calls())


@pytest.mark.parametrize("count", [9, 70, 700])  # 9 are summed directly
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
        np.testing.assert_allclose(
            gpu.get(tapline.convolve(there, taps[0])), tapline.convolve(x, h[0]), 1e-4, 1e-4 if count < 65 else 2e-3
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("function", ["convolve", "correlate"])
@pytest.mark.parametrize("count", [9, 600])
def test_taps_are_read_where_they_are(gpu, count, function, dtype):
    tapline.clear_plan_cache()
    x, h = drawn(9000, dtype=dtype), drawn(count, dtype=dtype)
    for mode, boundary in (("full", "zero"), ("same", "mirror")):
        wanted = getattr(tapline, function)(x, h, mode, boundary=boundary)
        for _ in range(2):
            got = getattr(tapline, function)(gpu.put(x), gpu.put(h), mode, boundary=boundary)
            assert_close(gpu.get(got), wanted, count)
    assert stayed_there() == 2
    tapline.clear_plan_cache()
    assert stayed_there() == 0


def test_strict_accuracy_reads_taps_where_they_are(gpu):
    tapline.clear_plan_cache()
    x, h = drawn(3, 2000), drawn(700)
    got = tapline.convolve(gpu.put(x), gpu.put(h), "same", accuracy="strict")
    assert_close(gpu.get(got), tapline.convolve(x, h, "same", accuracy="strict"), 700)
    assert stayed_there() == 1


def test_taps_are_converted_where_they_are(gpu):
    x, wide = drawn(3, 300), drawn(20, dtype=np.float64)
    cases = [
        (x.astype(np.float64), wide[::2].astype(np.float32)),
        (x.astype(np.float16), wide.astype(np.float16)),
        (x.astype(np.complex64), wide.astype(np.float32)),
        (x, np.arange(-4, 5, dtype=np.int8)),
    ]
    for signal, taps in cases:
        tapline.clear_plan_cache()
        got = gpu.get(tapline.convolve(gpu.put(signal), gpu.put(taps), "same"))
        assert stayed_there() == 1
        wanted = np.stack([np.convolve(row, taps.astype(np.float64), "same") for row in signal.astype(np.complex128)])
        np.testing.assert_allclose(got, wanted if got.dtype.kind == "c" else wanted.real, 1e-2 if got.itemsize == 2 else 1e-5, 1e-2)
        assert got.dtype == gpu.get(tapline.convolve(gpu.put(signal), taps, "same")).dtype
    if not isinstance(gpu, Jax):
        there = gpu.put(wide.astype(np.float32))[::3]
        assert_close(gpu.get(tapline.convolve(gpu.put(x), there)), tapline.convolve(x, wide.astype(np.float32)[::3]), 20)


@pytest.mark.parametrize("count", [5, 70, 600])
@pytest.mark.parametrize(("shape", "axis"), [((4, 900), 1), ((900, 4), 0), ((2, 900, 3), 1), ((2, 3, 900), -1), ((1, 900), 1)])
def test_a_filter_a_row_is_read_where_it_is(gpu, shape, axis, count):
    tapline.clear_plan_cache()
    x = drawn(*shape)
    rows = [4 if n == 1 else n for n in shape]  # one row under four filters
    h = drawn(*(count if a == axis % len(shape) else n for a, n in enumerate(rows)))
    there, taps = gpu.put(x), gpu.put(h)
    for _ in range(2):
        assert_close(gpu.get(tapline.convolve(there, taps, "same", axis=axis)), tapline.convolve(x, h, "same", axis=axis), count)
        if not isinstance(gpu, Jax):
            h[...] += 1
            taps[...] += 1
    assert stayed_there() == 1


def test_taps_that_no_plan_would_keep_go_to_the_gpu(gpu):
    """More than the cache of plans takes: nothing is prepared on the host for one call only."""
    x, h = drawn(2, 300, 3), drawn(2, 50_000, 3)
    limit = tapline.info()["plan_cache"]["limit_bytes"]
    tapline.set_plan_cache_limit(1 << 20)
    try:
        for _ in range(2):
            wanted = tapline.convolve(x, h, "same", axis=1)
            tapline.clear_plan_cache()
            assert_close(gpu.get(tapline.convolve(gpu.put(x), h, "same", axis=1)), wanted, 300)
            assert tapline.info()["plan_cache"]["plans"] == 0
            assert isinstance(gpu, Jax) or stayed_there() == 1
            h[0, 7, 1] += 1
    finally:
        tapline.set_plan_cache_limit(limit)


def test_integers_beside_real_taps_in_gpu_memory(gpu):
    x, h = np.arange(-90, 90, dtype=np.int16).reshape(3, 60), drawn(9)
    tapline.clear_plan_cache()
    assert_close(gpu.get(tapline.convolve(gpu.put(x), gpu.put(h))), tapline.convolve(x, h), 500)
    assert stayed_there() == 1


@pytest.mark.parametrize("count", [5, 70])
def test_integers_beside_integers(gpu, count):
    x, h = np.arange(200, dtype=np.int16), np.arange(count, dtype=np.int16)
    got = gpu.get(tapline.convolve(gpu.put(x), gpu.put(h)))
    np.testing.assert_array_equal(got, np.convolve(x.astype(np.int64), h))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("place", [0, 4, 8])
def test_taps_that_are_not_finite_meet_nothing_outside_the_signal(gpu, place, value):
    x, h = drawn(2, 1000), drawn(9)
    x[:, 20], h[place] = 0, value
    for mode in ("full", "same"):
        np.testing.assert_allclose(
            gpu.get(tapline.convolve(gpu.put(x), gpu.put(h), mode)), tapline.convolve(x, h, mode), 1e-4, 1e-4
        )


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
    assert_close(
        gpu.get(tapline.convolve(there, taps, scale=0.5, clamp=[-1, 1])), tapline.convolve(x, h, scale=0.5, clamp=[-1, 1]), 80
    )
    assert_close(gpu.get(tapline.convolve(there, taps, scale=0.5, bias=2)), tapline.convolve(x, h, scale=0.5, bias=2), 80)
    if not isinstance(gpu, Jax):
        for shape in ((3, 200), (279,), (2, 279)):
            with pytest.raises(ValueError, match="its shape is"):
                tapline.convolve(there, taps, out=gpu.empty(shape, "float32"))
    with pytest.raises(ValueError, match="mode"):
        tapline.convolve(there, taps, "sane")
    with pytest.raises(ValueError, match="taps"):
        tapline.convolve(there, taps[:0])


class TensorOnHost:
    """PyTorch's of bfloat16, which NumPy cannot read."""

    dtype = "torch.bfloat16"

    def __init__(self, values):
        self.values = np.asarray(values, np.float32)

    def detach(self):
        return self

    def float(self):
        return types.SimpleNamespace(numpy=lambda: self.values)


def test_bfloat16_taps_in_host_memory_keep_their_type(gpu):
    taps, dtype = taps_in_host_memory(TensorOnHost([1, 2, 3]))
    assert (taps.tolist(), taps.dtype, dtype) == ([1, 2, 3], np.float32, "bfloat16")
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    taps, dtype = taps_in_host_memory(np.ones(3, bfloat16))
    assert (taps.dtype, dtype) == (np.float32, "bfloat16")
    if isinstance(gpu, Cupy):
        signal = gpu.put(np.arange(9).astype(bfloat16))
        for taps in (np.ones(3, bfloat16), TensorOnHost([1, 1, 1])):
            assert tapline.convolve(signal, taps).dtype == bfloat16


@on_real_gpu  # too many products for a host
def test_many_strict_products_are_those_of_taps_given_on_the_host(gpu):
    """By transforms whose outputs are checked, where direct sums are slower: the same plan, so the same bits."""
    if isinstance(gpu, Jax):
        pytest.skip("JAX arrays cannot be changed")
    x, h = drawn(5_000_000), drawn(700)
    there, taps = gpu.put(x), gpu.put(h)
    for change in (0, 3):
        h[5] += change
        taps[5] += change
        wanted = gpu.get(tapline.convolve(there, h, "same", accuracy="strict"))
        for _ in range(2):
            np.testing.assert_array_equal(gpu.get(tapline.convolve(there, taps, "same", accuracy="strict")), wanted)
