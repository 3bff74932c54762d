"""Arrays in GPU memory: tapline.Plan, and taps prepared once."""

import numpy as np
import pytest
import tapline

from gpu_arrays import Jax, assert_close, drawn, needs_gpu

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
    with pytest.raises(TypeError, match="integers are exact in host memory"):
        tapline.Plan(9, np.array([1, 2]), dtype="int32")(gpu.put(np.arange(9, dtype=np.int32)))


def test_taps_of_recent_calls_are_prepared_once(gpu):
    tapline.clear_plan_cache()
    x, h = gpu.put(drawn(100)), drawn(9)
    for _ in range(3):
        tapline.convolve(x, h)
    assert tapline._core.plan_cache_size() == 1
