"""The examples of the documentation give what they say."""

import doctest

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
