"""What the tests of arrays in GPU memory share: libraries, random arrays, comparison.

TAPLINE_TEST_EMULATED names the emulated engine: then the same tests run on a machine without a GPU, with a CuPy whose arrays lie
in the emulated memory (test_gpu_emulated.py does that).
"""

import importlib
import os

import numpy as np
import pytest

EMULATED = os.environ.get("TAPLINE_TEST_EMULATED")
if EMULATED:
    os.environ["TAPLINE_CUDA_LIBRARY"] = EMULATED
    os.environ["TAPLINE_EMULATED_ANY_LAYOUT"] = "1"
    import fake_cupy

    fake_cupy.install(EMULATED)

import tapline  # noqa: E402

HAS_GPU = tapline.info()["engines"][1]["available"]
on_real_gpu = pytest.mark.skipif(not HAS_GPU or bool(EMULATED), reason="needs a GPU")
needs_gpu = pytest.mark.skipif(
    not HAS_GPU and os.environ.get("TAPLINE_REQUIRE_GPU") != "1", reason=f"no GPU: {tapline.info()['engines'][1]['reason']}"
)


class Cupy:
    def __init__(self):
        self.cupy = importlib.import_module("cupy")
        if not EMULATED:
            self.cupy.zeros(1)

    def put(self, x):
        return self.cupy.asarray(x)

    def get(self, x):
        assert type(x) is self.cupy.ndarray, type(x)
        return x.get()

    def empty(self, shape, dtype):
        return self.cupy.empty(shape, dtype)


class Torch:
    def __init__(self):
        self.torch = importlib.import_module("torch")
        self.torch.zeros(1, device="cuda")

    def put(self, x):
        return self.torch.from_numpy(np.array(x, order="C")).cuda()  # also of no axes, or of one element in reverse

    def get(self, x):
        assert type(x) is self.torch.Tensor, type(x)
        assert x.is_cuda
        return x.cpu().numpy()

    def empty(self, shape, dtype):
        return self.torch.empty(shape, dtype=getattr(self.torch, np.dtype(dtype).name), device="cuda")


class Jax:
    def __init__(self):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.gpu = self.jax.devices("gpu")[0]

    def put(self, x):
        return self.jax.device_put(x, self.gpu)

    def get(self, x):
        assert isinstance(x, self.jax.Array), type(x)
        assert next(iter(x.devices())).platform == "gpu"
        return np.asarray(x)


def drawn(*shape, dtype="float32"):
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "complex64": 2e-6, "float64": 1e-14, "complex128": 1e-14}


def assert_close(got, wanted, scale=1.0):
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    if wanted.dtype.kind in "iub":
        assert (got == wanted).all()
        return
    bound = TOLERANCE[wanted.dtype.name] * scale * max(1.0, float(np.abs(wanted).max(initial=0)))
    assert np.abs(got.astype(np.complex128) - wanted).max(initial=0) <= bound
