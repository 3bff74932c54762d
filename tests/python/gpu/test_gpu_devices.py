"""Lists of arrays, one on each GPU, and NumPy's arrays through several GPUs."""

import numpy as np
import pytest

import tapline
import tapline.devices
from gpu_arrays import EMULATED, assert_close, drawn, needs_gpu

pytestmark = needs_gpu
cupy = pytest.importorskip("cupy")
COUNT = len(tapline.info()["engines"][1]["devices"])
needs_two = pytest.mark.skipif(COUNT < 2, reason="one GPU")


def put(x, lengths, axis=-1):
    parts, at = [], 0
    for device, n in enumerate(lengths):
        with cupy.cuda.Device(device):
            parts.append(cupy.asarray(np.ascontiguousarray(np.take(x, range(at, at + n), axis))))
        at += n
    return parts


def get(parts, axis=-1):
    if not EMULATED:
        for device in range(len(parts)):
            cupy.cuda.Device(device).synchronize()
    return np.concatenate([part.get() for part in parts], axis)


@needs_two
@pytest.mark.parametrize("mode", ["full", "same", "valid", "causal", "leading"])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "int16"])
def test_lists_give_lists(mode, dtype):
    for shape, axis, lengths, k in (((1000,), 0, (400, 600), 33), ((3, 90), 1, (13, 77), 20), ((300, 2), 0, (299, 1), 7)):
        x = (100 * drawn(*shape)).astype(dtype)
        taps = drawn(k) if dtype != "int16" else np.arange(k)
        for function in ("convolve", "correlate"):
            parts = put(x, lengths, axis)
            y = getattr(tapline, function)(parts, taps, mode, axis=axis, boundary="reflect")
            assert isinstance(y, list)
            assert [part.data.device_id for part in y] == [0, 1]
            wanted = getattr(tapline, function)(x, taps, mode, axis=axis, boundary="reflect")
            assert_close(get(y, axis), wanted, 300)


@needs_two
def test_plans_of_parts():
    x, taps = drawn(2, 1000), drawn(65)
    plan = tapline.devices.Plan(x.shape, taps, "causal", devices="cuda:0,1", boundary="wrap")
    assert sum(plan.lengths) == sum(plan.output_lengths) == 1000
    assert plan.devices == [0, 1]
    assert "from device to device" in plan.explain()
    assert plan.device_bytes > 0
    parts = put(x, plan.lengths)
    out = put(np.full_like(x, np.nan), plan.output_lengths)
    assert plan(parts, out) is out
    assert_close(get(out), tapline.convolve(x, taps, "causal", boundary="wrap"), 50)
    strided = [
        cupy.empty((2, 2 * n), "float32") if i == 0 else part for i, (n, part) in enumerate(zip(plan.lengths, out, strict=True))
    ]
    strided[0] = strided[0][:, ::2]
    plan(parts, strided)
    assert_close(get(strided), tapline.convolve(x, taps, "causal", boundary="wrap"), 50)


@needs_two
def test_wrong_parts_are_told():
    x, taps = drawn(100), drawn(9)
    parts = put(x, (40, 60))
    plan = tapline.devices.Plan((100,), taps, devices="cuda:0,1", lengths=(40, 60))
    with pytest.raises(ValueError, match="on cuda:1, the plan has cuda:0"):
        plan(parts[::-1])
    with pytest.raises(ValueError, match="its shape is"):
        plan(put(x, (41, 59)))
    with pytest.raises(ValueError, match="1 parts"):
        plan(parts[:1])
    with pytest.raises(TypeError, match="not in GPU memory"):
        tapline.convolve([parts[0], x], taps)
    with pytest.raises(ValueError, match="twice"):
        tapline.convolve([parts[0], parts[0]], taps)
    with pytest.raises(ValueError, match="leave device away"):
        tapline.convolve(parts, taps, device="cuda:0")
    with pytest.raises(ValueError, match="differ along axis"):
        tapline.convolve(put(drawn(2, 50), (20, 30), 1)[:1] + put(drawn(3, 50), (20, 30), 1)[1:], taps)
    with pytest.raises(ValueError, match="lengths"):
        tapline.devices.Plan((100,), taps, devices="cuda:0,1", lengths=(40, 61))
    with pytest.raises(ValueError, match="names cuda:0 twice"):
        tapline.devices.Plan((100,), taps, devices="cuda:0,0")
    with pytest.raises(ValueError, match="one filter"):
        tapline.devices.Plan((2, 100), np.ones((2, 3)), devices="cuda:0,1")


@needs_two
def test_host_arrays_through_several(monkeypatch):
    x, taps = drawn(5, 3000), drawn(31)
    monkeypatch.setenv("TAPLINE_CUDA_TAKE_ALL", "1")
    plan = tapline.Plan(x.shape, taps, "same", device="cuda:0,1")
    assert plan.device == "cuda:0,1"
    assert_close(plan(x), tapline.convolve(x, taps, "same", device="cpu"), 50)
    monkeypatch.delenv("TAPLINE_CUDA_TAKE_ALL")
    assert "of 2 GPUs" in tapline.Plan((1 << 20,), taps, device="cuda:0,1").explain()


def test_names_that_are_none():
    for name, error, words in (
        ("cuda:", ValueError, "names no GPU"),
        ("cuda:0,0", ValueError, "twice"),
        ("cuda:0,", ValueError, "empty place"),
        ("cuda:0,77", RuntimeError, "cuda:77"),
    ):
        with pytest.raises(error, match=words):
            tapline.convolve(np.ones(9, "f4"), np.ones(3, "f4"), device=name)


@needs_two
@pytest.mark.parametrize("mode", ["same", "full", "valid"])
def test_lists_of_images_give_lists(mode):
    for shape, axis, dtype, mask in (
        ((60, 41), 0, "float32", (5, 3)),
        ((3, 50, 20), 1, "complex64", (4, 4)),
        ((30, 9), 0, "uint8", (3, 3)),
    ):
        x = np.abs(100 * drawn(*shape)).astype(dtype)
        taps = drawn(*mask) / 9
        rows = shape[axis]
        parts = put(x, (rows // 3, rows - rows // 3), axis)
        options = {"boundary": "nearest", "scale": 2.0, "operation": "correlation"}
        y = tapline.image(parts, taps, mode, **options)
        assert [part.data.device_id for part in y] == [0, 1]
        assert_close(get(y, axis), tapline.image(x, taps, mode, **options), 300)


@needs_two
def test_lists_of_colours():
    x = np.abs(40 * drawn(31, 20, 3)).astype("uint8")
    taps = np.abs(drawn(5, 5, 3)) / 25
    parts = put(x, (11, 20), 0)
    options = {"channel_axis": -1, "boundary": "reflect", "origin": (1, 2), "clamp": (3, 200), "dtype": "float32"}
    wanted = tapline.image(x, taps, **options)
    assert_close(get(tapline.image(parts, taps, **options), 0), wanted, 300)
    out = put(np.zeros_like(wanted), (11, 20), 0)
    del options["dtype"]
    assert tapline.image(parts, taps, out=out, **options) is out
    assert_close(get(out, 0), wanted, 300)
    plan = tapline.devices.ImagePlan(x.shape, taps, devices="cuda:0,1", dtype="uint8", output_dtype="float32", **options)
    assert plan.shapes(True) == [(n, 20, 3) for n in plan.lengths]
    assert_close(get(plan(put(x, plan.lengths, 0)), 0), wanted, 300)
    whole = [cupy.asarray(x.astype("int32"))[:0], *put(x.astype("int32"), (11, 20), 0)][1:]
    assert_close(
        get(tapline.image(whole, np.ones((3, 3)), channel_axis=-1), 0),
        tapline.image(x.astype("int32"), np.ones((3, 3)), channel_axis=-1),
        50,
    )


@needs_two
def test_wrong_images_in_parts_are_told():
    taps = np.ones((3, 3))
    parts = put(drawn(20, 9), (8, 12), 0)
    with pytest.raises(ValueError, match="differ along axis 0"):
        tapline.image([parts[0], put(drawn(20, 8), (8, 12), 0)[1]], taps)
    with pytest.raises(ValueError, match="operation"):
        tapline.image(parts, taps, operation="median")
    with pytest.raises(ValueError, match="image: 1 axes"):
        tapline.image(put(drawn(20), (8, 12)), taps)
    with pytest.raises(ValueError, match="lengths"):
        tapline.devices.ImagePlan((20, 9), taps, devices="cuda:0,1", lengths=(8, 11))
    with pytest.raises(TypeError, match="not in GPU memory"):
        tapline.image([parts[0], drawn(12, 9)], taps)
