"""Arrays in GPU memory: taps that lie there, too."""

import numpy as np
import pytest
import tapline

from gpu_arrays import EMULATED, Jax, assert_close, drawn, needs_gpu

pytestmark = needs_gpu


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
