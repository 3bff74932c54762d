"""The examples of the documentation give what they say."""

import doctest
import importlib

import numpy as np
import pytest

import tapline

MODULES = [tapline.numpy, tapline.signal, tapline.ndimage]
OBJECTS = {f"tapline.{name}": getattr(tapline, name) for name in ("Plan", "bench", "convolve", "correlate", "image", "info")}
OBJECTS |= {f"{module.__name__}.{name}": getattr(module, name) for module in MODULES for name in module.__all__}


@pytest.mark.parametrize("name", OBJECTS)
def test_examples(name):
    text = OBJECTS[name].__doc__
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert test.examples, f"{name} has no example"
    with np.printoptions(legacy=False):
        results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert results.failed == 0


@pytest.mark.parametrize(
    ("module", "needs"), [("dask", "dask.array"), ("xarray", "xarray"), ("zarr", "zarr"), ("mpi", "mpi4py.MPI")]
)
def test_examples_of_what_stands_on_others(module, needs, tmp_path, monkeypatch):
    pytest.importorskip(needs)
    monkeypatch.chdir(tmp_path)  # some write files
    tests = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(f"tapline.{module}"))
    examples = [test for test in tests if test.examples]
    assert len(examples) >= 2
    assert sum(doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed for test in examples) == 0
