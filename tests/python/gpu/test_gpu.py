"""Arrays in GPU memory: values, types, strides and places of tapline.convolve and correlate."""

import numpy as np
import pytest

import tapline
from gpu_arrays import EMULATED, Cupy, Jax, assert_close, drawn, needs_gpu, on_real_gpu
from tapline._gpu.libraries import library_of

pytestmark = needs_gpu


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
    for signal, taps in [
        ("float32", "float64"),
        ("float64", "float32"),
        ("float32", "complex64"),
        ("int16", "float32"),
        ("int32", "float32"),
        ("float16", "float32"),
        ("float32", "float16"),
        ("uint8", "float16"),
        ("float32", "int8"),
    ]:
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


@pytest.mark.parametrize("channels", [7, 16, 40])
def test_channels_last_with_a_filter_for_each(gpu, channels):
    for dtype in ("float32", "float64"):
        x = drawn(3, 200, channels, dtype=dtype)
        there = gpu.put(x)
        for taps in (1, 4, 33, 150):
            for recordings in (1, 3):
                h = drawn(recordings, taps, channels, dtype=dtype)
                got = gpu.get(tapline.convolve(there, h, "causal", axis=1))
                assert_close(got, tapline.convolve(x, h, "causal", axis=1), 40)


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
    with pytest.raises(ValueError, match=r"out: on cuda:0|signal: in host memory"):
        tapline.convolve(x, h, out=out)
    with pytest.raises(ValueError, match="overlap"):
        tapline.convolve(out, h, "same", out=out)


def test_integers_are_exact(gpu):
    x, h = np.random.default_rng(0).integers(-30000, 30000, (2, 70)).astype(np.int16), np.array([3, -1000, 7])
    assert_close(gpu.get(tapline.convolve(gpu.put(x), h)), tapline.convolve(x, h))
    wrapping = {"dtype": "int16", "overflow": "wrap"}
    assert_close(gpu.get(tapline.convolve(gpu.put(x), h, **wrapping)), tapline.convolve(x, h, **wrapping))
    wide = x.astype(np.int64) * 10**12
    for more in (wrapping, {"dtype": "int64", "overflow": "wrap"}, {"dtype": "float64"}):
        assert_close(gpu.get(tapline.convolve(gpu.put(wide), h * 10**6, **more)), tapline.convolve(wide, h * 10**6, **more))
    assert_close(gpu.get(tapline.convolve(gpu.put(x.astype(np.int32)), h * 10**6)), tapline.convolve(x.astype(np.int32), h * 10**6))


@on_real_gpu  # the emulated engine tells it later
def test_an_overflow_is_an_error(gpu):
    x, h = np.full(70, 30000, np.int16), np.array([3, 1000, 7])
    with pytest.raises(ValueError, match="overflow: output 0 is 90000, which i16 cannot hold"):
        tapline.convolve(gpu.put(x), h, dtype="int16")


def test_nothing_in_or_nothing_out(gpu):
    assert gpu.get(tapline.convolve(gpu.put(drawn(0, 5)), drawn(2))).shape == (0, 6)
    with pytest.raises(ValueError, match="a signal needs at least 1"):
        tapline.convolve(gpu.put(drawn(2, 0)), drawn(2))
    with pytest.raises(ValueError, match="5 taps are longer than the signal's 3 samples"):
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
            strided = gpu.put(drawn(6))[::2]
        assert tapline.convolve(there, drawn(3)).device.id == 1
        assert library_of(strided).contiguous(strided).device.id == 1
        assert_close(gpu.get(tapline.convolve(there, strided)), tapline.convolve(x, drawn(6)[::2]), 3)
        with pytest.raises(ValueError, match="out: on cuda:0, the signal is on cuda:1"):
            tapline.convolve(there, drawn(3), out=gpu.empty(32, "float32"))
        with pytest.raises(ValueError, match="taps: on cuda:0, the signal is on cuda:1"):
            tapline.convolve(there, gpu.put(drawn(3)))
