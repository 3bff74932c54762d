"""Arrays in GPU memory: what their libraries ask for, streams, waiting and graphs."""

import subprocess
import sys

import numpy as np
import pytest

import tapline
from gpu_arrays import Cupy, Jax, Torch, assert_close, drawn, needs_gpu, on_real_gpu

pytestmark = needs_gpu


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
    with pytest.raises(TypeError, match=r"cupy\.asarray"):
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
    assert torch.equal(tapline.convolve(x, h.cpu(), "same"), y)
    assert tapline.convolve(x, h.float()).dtype == torch.float32
    assert tapline.convolve(x, h, dtype="float32").dtype == torch.float32
    jnp = pytest.importorskip("jax").numpy
    z = tapline.convolve(
        jnp.asarray(x.float().cpu().numpy(), jnp.bfloat16), jnp.asarray(h.float().cpu().numpy(), jnp.bfloat16), "same"
    )
    assert z.dtype == jnp.bfloat16
    assert np.abs(np.asarray(z.astype("float32")) - wanted).max() < 2**-8 * np.abs(wanted).max()


@on_real_gpu
def test_tensors_that_require_a_gradient_are_refused():
    torch = Torch().torch
    x = torch.ones(20, device="cuda", requires_grad=True)
    with pytest.raises(ValueError, match=r"tapline\.torch\.conv1d"):
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
