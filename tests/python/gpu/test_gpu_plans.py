"""Arrays in GPU memory: tapline.Plan, and taps prepared once."""

import concurrent.futures
import threading

import numpy as np
import pytest

import tapline
from gpu_arrays import EMULATED, Jax, assert_close, drawn, needs_gpu

pytestmark = needs_gpu


def test_plans(gpu):
    x, h = drawn(4, 100), drawn(9)
    plan = tapline.Plan(x.shape, h, "causal", dtype="float32")
    for _ in range(2):
        assert_close(gpu.get(plan(gpu.put(x))), plan(x), 12)
    if not isinstance(gpu, Jax):
        out = gpu.empty(x.shape, "float32")
        assert plan(gpu.put(x), out) is out
        assert_close(gpu.get(out), plan(x), 12)
        with pytest.raises(TypeError, match="the plan writes float32"):
            plan(gpu.put(x), gpu.empty(x.shape, "float64"))
    with pytest.raises(TypeError, match="the plan is for float32"):
        plan(gpu.put(x.astype(np.float64)))
    with pytest.raises(ValueError, match="not the plan's"):
        plan(gpu.put(x[:2]))
    with pytest.raises(ValueError, match="the plan is for device='cpu'"):
        tapline.Plan(x.shape, h, dtype="float32", device="cpu")(gpu.put(x))
    half = tapline.Plan(x.shape, h.astype(np.float16), dtype="float16")
    assert_close(gpu.get(half(gpu.put(x.astype(np.float16)))), half(x.astype(np.float16)), 12)
    integers = tapline.Plan(9, np.array([1, 2]), dtype="int32", overflow="wrap")
    x = np.arange(9, dtype=np.int32)
    assert_close(gpu.get(integers(gpu.put(x))), integers(x))


def test_taps_of_recent_calls_are_prepared_once(gpu):
    tapline.clear_plan_cache()
    x, h = gpu.put(drawn(100)), drawn(9)
    for _ in range(3):
        tapline.convolve(x, h)
    assert tapline._core.plan_cache_size() == 1


def kinds_of_strides(gpu, x):
    """(the signal on the host, the same on the GPU) as it lies in memory in several ways; JAX has one."""
    n = x.shape[1] // 2
    there = gpu.put(x)
    halves = [
        (x[:, :n], there[:, :n]),
        (x[:, ::2], there[:, ::2]),
        (x[:, n:], there[:, n:]),
        (x[::-1, :n].copy(), gpu.put(x[::-1, :n])),
    ]
    return [(x[:, :n], gpu.put(x[:, :n]))] if isinstance(gpu, Jax) else halves


@pytest.mark.parametrize("k", [9, 700])
def test_a_plan_is_arranged_once_for_each_kind_of_strides(gpu, k):
    x, h = drawn(4, 1600), drawn(k)
    plan = tapline.Plan((4, 800), h, "same", dtype="float32")
    cases = [(mine, there, plan(mine)) for mine, there in kinds_of_strides(gpu, x)]
    for _, there, wanted in cases:
        assert_close(gpu.get(plan(there)), wanted, 4 * k**0.5)
    tapline.clear_plan_cache()
    for _ in range(2):
        for _, there, wanted in cases:
            assert_close(gpu.get(plan(there)), wanted, 4 * k**0.5)
            if not isinstance(gpu, Jax):
                out = gpu.empty((4, 800), "float32")
                assert_close(gpu.get(plan(there, out)), wanted, 4 * k**0.5)
    assert tapline._core.plan_cache_size() == 0  # nobody asked for a plan, so no tap was looked at
    call = plan._on_gpu("float32", "cuda:0")
    assert call is plan._on_gpu("float32", "cuda:0")
    assert call.arrange((3200, 4), (3200, 4)) is call.arrange((3200, 4), (3200, 4))
    assert call.arrange((6400, 8), (3200, 4)) is not call.arrange((3200, 4), (3200, 4))


def test_more_kinds_of_strides_than_a_plan_remembers(gpu):
    if isinstance(gpu, Jax):
        pytest.skip("JAX has no views")
    x, h = drawn(2, 1000), drawn(9)
    plan, there = tapline.Plan((2, 50), h, "same", dtype="float32"), gpu.put(x)
    for _ in range(2):
        for step in range(1, 20):
            assert_close(gpu.get(plan(there[:, : 50 * step : step])), plan(x[:, : 50 * step : step]), 12)


def test_a_plan_for_several_types_and_devices(gpu):
    x, h = drawn(3, 100), drawn(9)
    plan = tapline.Plan(x.shape, h, "same", dtype="float32")
    for _ in range(2):
        for dtype in ("float32", "float16", "int16"):
            signal = (10 * x).astype(dtype)
            assert_close(gpu.get(plan(gpu.put(signal))), plan(signal), 200)
    if EMULATED:
        with gpu.cupy.cuda.Device(1):
            there = gpu.put(x)
        assert plan(there).device.id == 1
        assert_close(gpu.get(plan(there)), plan(x), 12)


@pytest.mark.parametrize("k", [9, 700])
def test_threads_share_a_plan(gpu, k):
    if isinstance(gpu, Jax):
        pytest.skip("JAX has no views")
    x, h = drawn(4, 1600), drawn(k)
    cases = kinds_of_strides(gpu, x)
    wanted = [tapline.convolve(mine, h, "same") for mine, _ in cases]
    for _ in range(5):  # each begins with a plan that has not been arranged
        plan = tapline.Plan((4, 800), h, "same", dtype="float32")
        tapline.clear_plan_cache()
        barrier = threading.Barrier(8)

        def work(number, plan=plan, barrier=barrier):
            barrier.wait()
            return [(i % len(cases), gpu.get(plan(cases[i % len(cases)][1]))) for i in range(number, number + 12)]

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for results in pool.map(work, range(8)):
                for case, got in results:
                    assert_close(got, wanted[case], 4 * k**0.5)


def test_taps_that_differ_in_one_place_are_other_filters(gpu):
    x, h = drawn(100), drawn(20_000)  # so many are not hashed one by one
    there = gpu.put(x)
    for place in (0, 1, 777, 10_000, 19_998, 19_999):
        h[place] += 3
        assert_close(gpu.get(tapline.convolve(there, h)), tapline.convolve(x, h), 300)
        assert_close(tapline.convolve(x, h), np.convolve(x.astype(float), h).astype(np.float32), 300)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_integers_are_widened_while_they_are_read(gpu, dtype):
    rng = np.random.default_rng(3)
    x = rng.integers(0, 100, (6, 500)).astype(dtype)
    there = gpu.put(x)
    for taps, boundary in ((5, "zero"), (33, "reflect"), (400, "wrap"), (5, "constant")):
        constant = {"constant": 2.5} if boundary == "constant" else {}
        for axis in (0, 1):
            h = drawn(taps if axis == 1 else min(taps, 6))
            plan = tapline.Plan(x.shape, h, mode="same", axis=axis, boundary=boundary, dtype=dtype, **constant)
            for mine, theirs in ((x, there), (np.ascontiguousarray(x.T).T, gpu.put(np.ascontiguousarray(x.T)).T)):
                for _ in range(2):
                    assert_close(gpu.get(plan(theirs)), plan(mine), 200)
