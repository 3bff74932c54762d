"""bench/cliffs.py with arrays in GPU memory: that its calls run there and are checked. On the emulated GPU, too, where a clock
stands in for events and nobody has cupyx or PyTorch."""

import argparse
import pathlib
import sys
import time

import pytest

from gpu_arrays import EMULATED, needs_gpu

pytestmark = needs_gpu
pytest.importorskip("scipy")
cupy = pytest.importorskip("cupy")
sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "bench"))

import cliffs  # noqa: E402
import cliffs_case  # noqa: E402
import cliffs_problems as problems  # noqa: E402


class Event:
    def record(self):
        self.at = time.perf_counter()

    def synchronize(self):
        pass


@pytest.fixture
def home(monkeypatch):
    if EMULATED:
        monkeypatch.setattr(cupy.cuda, "Event", Event)
        monkeypatch.setattr(cupy.cuda, "get_elapsed_time", lambda a, b: 1e3 * (b.at - a.at), raising=False)
        monkeypatch.setattr(cupy, "copyto", lambda to, x: to.__setitem__(slice(None), x), raising=False)
        monkeypatch.setattr(cliffs_case.Gpu, "release", lambda self: None)
        monkeypatch.setattr(cupy.cuda.runtime, "getDeviceProperties", lambda device: {"name": b"emulated"}, raising=False)
    return cliffs_case.Gpu()


FEW = [
    *(problems.signal(layout, max(kind.rows, 2), 300, 9) for layout, kind in problems.LAYOUTS.items()),
    problems.signal("one signal", 1, 3000, 9, on_device=True),
    problems.signal("one signal", 1, 3000, 31, dtype="float16", boundary="mirror"),
    problems.signal("one signal", 1, 3000, 31, dtype="int16", mode="full"),
    problems.image((40, 50), (5, 7)),
    problems.image((40, 50), (3, 3), dtype="uint8"),
    problems.function("gaussian_filter", (40, 50), sigma=2),
]


@pytest.mark.parametrize("problem", FEW, ids=problems.describe)
def test_a_problem_is_checked_and_timed(home, problem):
    options = argparse.Namespace(patience=0, problem_seconds=1e-3, busy=False)
    row = cliffs.measure_problem(problem, home, cliffs_case.Pool(1), cliffs.Rates(), options)
    assert "failed" not in row, row
    assert "twin_failed" not in row, row
    assert "refused" not in row, row
    assert {"tapline", "copy"} <= row["seconds"].keys()
    assert ("twin" in row["seconds"]) == (problems.twin_of(problem) is not None)
    if problem.call == "convolve":
        assert row["algorithm"]
    assert all(reason.startswith("not installed") for reason in row["left_out"].values()) or not EMULATED, row["left_out"]


def test_the_machine_is_the_gpu(home):
    assert home.machine()["home"] == "gpu"
    assert home.machine()["processor"]
