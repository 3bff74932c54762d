"""Arrays in GPU memory: every drop-in against its original over drawn calls. The result is what NumPy and SciPy make of the same
arrays in host memory, in everything but place: type, shape, memory layout, values and errors."""

import numpy as np
import pytest

import tapline
from drawn_calls import FUNCTIONS, Drawn, difference, draw, functions, outcome
from gpu_arrays import EMULATED, Cupy, Jax, Torch, assert_close, drawn, needs_gpu
from tapline import _nd

pytest.importorskip("scipy.signal")
pytest.importorskip("scipy.ndimage")
pytestmark = needs_gpu

CALLS = 120


@pytest.fixture(autouse=True)
def only_images_that_the_engine_takes(monkeypatch):
    """The emulated engine's images are float32; those of other types go the way of filters that are no images."""
    if EMULATED:
        axes_of = _nd._image_axes
        monkeypatch.setattr(_nd, "_image_axes", lambda *args: axes_of(*args) if args[-1] == np.float32 else None)


def is_for(gpu, call):
    arrays = {name: value for name, value in call.arguments.items() if isinstance(value, Drawn)}
    if isinstance(gpu, Torch) and any(a.base.dtype.name in ("uint16", "uint32", "uint64") for a in arrays.values()):
        return False  # PyTorch has few operations for them
    return not isinstance(gpu, Jax) or "output" not in arrays


def put(gpu, array):
    if isinstance(gpu, Torch) and array.layout == "reversed":  # PyTorch has no negative strides
        return gpu.put(array.on_host())
    return array.view(gpu.put(array.base))


def on_host(gpu, result):
    in_order = result.flags.c_contiguous if isinstance(gpu, Cupy) else isinstance(gpu, Jax) or result.is_contiguous()
    return gpu.get(result), in_order


def mixed(rng, gpu, call):
    """The call's arguments, of which one at least that decides about the place is on the GPU."""
    there = {name: rng.random() < 0.7 for name in call.arguments}
    there[call.arrays[0]] |= not any(there[name] for name in call.arrays)
    there["output"] = there.get("input", False)
    made = {}
    for name, value in call.arguments.items():
        made[name] = value if not isinstance(value, Drawn) else put(gpu, value) if there[name] else value.on_host()
    return made, [name for name in there if there[name]]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_calls(gpu, name):
    ours, theirs = functions(name)
    for seed in range(CALLS):
        rng = np.random.default_rng([seed, FUNCTIONS.index(name)])
        call = draw(rng, name)
        if not is_for(gpu, call):
            continue
        arguments, there = mixed(rng, gpu, call)
        mine, original = outcome(ours, arguments), outcome(theirs, call.made())
        wrong = difference(call, mine, original, arguments.get("output"), lambda y: on_host(gpu, y))
        assert wrong is None, f"seed {seed}, on the GPU {there}: {wrong}: {call.arguments}"


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["numpy.convolve", "numpy.correlate", "signal.convolve", "signal.correlate", "signal.oaconvolve"])
def test_the_result_is_on_the_gpu_if_one_of_two_arrays_is(gpu, name, mode):
    ours, _ = functions(name)
    for n, k in [(5, 9), (9, 5), (1, 9), (9, 1), (3, 700)]:
        x, h = drawn(n), drawn(k)
        wanted = ours(x, h, mode)
        for first, second in [(gpu.put(x), h), (x, gpu.put(h)), (gpu.put(x), gpu.put(h)), (gpu.put(x), h.tolist())]:
            got = gpu.get(ours(first, second, mode))
            assert_close(got.astype(np.float32), wanted, 50 + k)


def test_arrays_in_host_memory_are_taken_as_they_lie(gpu):
    x, h = drawn(5), drawn(40)
    wanted = tapline.numpy.convolve(x, h[::2])
    for beside in (h[::2], h[::2][::-1].copy()[::-1], h.astype(">f4")[::2], np.frombuffer(h.tobytes(), np.float32)[::2]):
        assert_close(gpu.get(tapline.numpy.convolve(gpu.put(x), beside)), wanted, 50)
        assert_close(gpu.get(tapline.signal.convolve(beside, gpu.put(x))), wanted, 50)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_numbers_for_modes(gpu, mode):
    x, h = drawn(9), drawn(4)
    for name in ("convolve", "correlate"):
        assert_close(gpu.get(getattr(tapline.numpy, name)(gpu.put(x), h, mode)), getattr(np, name)(x, h, mode), 20)


@pytest.mark.skipif(not EMULATED, reason="needs two GPUs, which the emulated engine has")
@pytest.mark.parametrize("kind", ["float32", "int16"])
def test_the_result_is_on_the_gpu_of_the_arrays(gpu, kind):
    x, h = (10 * drawn(9)).astype(kind), (10 * drawn(4)).astype(kind)
    with gpu.cupy.cuda.Device(1):
        there = gpu.put(h)
    assert there.device.id == 1
    for function in (tapline.numpy.convolve, tapline.signal.convolve, tapline.signal.correlate):
        for first, second in [(x, there), (there, x)]:
            got = function(first, second)
            assert got.device.id == 1
            assert_close(gpu.get(got), function(*(h if a is there else a for a in (first, second))), 50)
        with pytest.raises(ValueError, match=r"cuda:[01].*cuda:[01]"):
            function(gpu.put(x), there)


def test_interleaved_stacks(gpu):
    """The rows of several images take turns in memory; also where the result is written."""
    if isinstance(gpu, Jax):
        pytest.skip("JAX has no views")
    x, mask = drawn(6, 5, 7), drawn(3, 4)
    wanted = tapline.image(x.swapaxes(0, 1).copy(), mask)
    for into in (x.shape[1::-1], x.shape[:2]):
        out = gpu.empty((*into, 7), "float32")
        out = out if into == (5, 6) else out.swapaxes(0, 1)
        assert tapline.image(gpu.put(x).swapaxes(0, 1), mask, out=out) is out
        assert_close(gpu.get(out), wanted, 20)
    stack = gpu.put(x).swapaxes(0, 1)
    assert_close(gpu.get(tapline.ndimage.correlate(stack, mask[None])), tapline.ndimage.correlate(x.swapaxes(0, 1), mask[None]), 20)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32"])
def test_images_of_wide_integers_are_summed_in_float64(gpu, dtype):
    if isinstance(gpu, Torch) and dtype == "uint64":
        pytest.skip("PyTorch has few operations for it")
    image = np.full((5, 6), 2**30, dtype)
    for weights in (np.full((3, 3), 2**20), np.full((3, 3), 0.1)):
        if weights.dtype == np.int64 and dtype == "int32":
            continue  # the sums do not fit
        there = gpu.get(tapline.ndimage.correlate(gpu.put(image), weights))
        assert_close(there, tapline.ndimage.correlate(image, weights))
