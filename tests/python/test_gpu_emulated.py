"""test_gpu.py on the emulated engine, which a build of the tests holds; TAPLINE_EMULATED_CUDA names it."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


def test_on_the_emulated_engine():
    engine = os.environ.get("TAPLINE_EMULATED_CUDA", "")
    if not os.path.exists(engine):
        pytest.skip("the emulated engine was not built")
    environment = dict(os.environ, TAPLINE_TEST_EMULATED=engine, TAPLINE_REQUIRE_GPU="1")
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / "test_gpu.py")],
        env=environment, capture_output=True, text=True, cwd=HERE,
    )
    assert answer.returncode == 0, answer.stdout[-5000:]
    assert " passed" in answer.stdout
