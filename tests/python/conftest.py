"""The library whose arrays the tests of arrays in GPU memory use."""

import os

import pytest

from gpu_arrays import EMULATED, Cupy, Jax, Torch


@pytest.fixture(scope="session", params=[Cupy, Torch, Jax] if not EMULATED else [Cupy], ids=lambda kind: kind.__name__.lower())
def gpu(request):
    try:
        return request.param()
    except Exception as error:  # not installed, or built without a GPU: each library says it in its own way
        if os.environ.get("TAPLINE_REQUIRE_GPU") == "1":
            raise
        pytest.skip(f"{request.param.__name__}: {error}")
