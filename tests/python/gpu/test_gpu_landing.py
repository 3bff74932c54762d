"""The lines of the site's landing page, for each kind of array that they name."""

import importlib
import os
from pathlib import Path

import pytest

import tapline

ROOT = Path(__file__).resolve().parents[3]
EMULATED = "TAPLINE_TEST_EMULATED" in os.environ  # what stands for CuPy there has no sines
HAS_GPU = tapline.info()["engines"][1]["available"] and not EMULATED


@pytest.fixture
def landing(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts" / "site")
    return importlib.import_module("site_landing")


def test_numpy(landing):
    assert landing.tab_output() == "<class 'numpy.ndarray'> (1000000,) float64"


@pytest.mark.skipif(not HAS_GPU, reason="no GPU")
@pytest.mark.parametrize(("name", "package", "kind"), [("CuPy", "cupy", "cupy.ndarray"), ("PyTorch", "torch", "torch.Tensor")])
def test_on_a_gpu(landing, name, package, kind, capsys):
    library = pytest.importorskip(package)
    try:
        exec(landing.IMPORTS[name] + landing.LINES, {})
    finally:
        if package == "torch":
            library.set_default_device("cpu")
    assert kind in capsys.readouterr().out


def test_they_differ_in_one_line(landing):
    first, *others = (landing.IMPORTS[name] + landing.LINES for name in ("NumPy", "CuPy", "PyTorch"))
    for other in others:
        assert [a != b for a, b in zip(first.splitlines(), other.splitlines(), strict=True)].count(True) == 1
