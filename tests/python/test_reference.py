"""The reference is whole: no public name without a description, an example, and a signature in the stubs; pages whose lines run."""

import ast
import doctest
import importlib.util
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import tapline

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "tapline"
MODULES = {"tapline": tapline, "tapline.numpy": tapline.numpy, "tapline.signal": tapline.signal, "tapline.ndimage": tapline.ndimage}
NAMES = [(module, name) for module, found in MODULES.items() for name in found.__all__ if callable(getattr(found, name))]
MEMBERS = [name for name in dir(tapline.Plan) if not name.startswith("_")]


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


public_api = load("public_api", ROOT / "scripts" / "public_api.py")


def first_line(doc):
    """Behind the signature that nanobind puts in front."""
    lines = [line for line in inspect.cleandoc(doc).splitlines() if line.strip()]
    return lines[1] if " -> " in lines[0] and len(lines) > 1 else lines[0]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_name_is_described_with_an_example(module, name):
    doc = getattr(MODULES[module], name).__doc__
    assert doc, name
    assert first_line(doc).endswith("."), f"{module}.{name}: the first line is no sentence: {doc!r}"
    assert doctest.DocTestParser().get_examples(doc), f"{module}.{name}: no example"


@pytest.mark.parametrize("name", MEMBERS)
def test_every_member_of_a_plan_is_described_and_used(name):
    doc = getattr(tapline.Plan, name).__doc__
    assert doc, name
    assert first_line(doc).endswith("."), f"Plan.{name}: {doc!r}"
    assert ">>>" in doc or re.search(rf"plan\.{name}\b", tapline.Plan.__doc__), f"Plan.{name}: no example"


def functions(path):
    """(name, node) of a file's public functions and of its classes' methods."""
    body = ast.parse(path.read_text()).body
    classes = [("", body), *((f"{node.name}.", node.body) for node in body if isinstance(node, ast.ClassDef))]
    found = [(f"{owner}{name}", node) for owner, nodes in classes for name, node in public_api.functions_of(nodes).items()]
    return {name: node for name, node in found if not name.rpartition(".")[2].startswith("_")}


def classes(path):
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize("module", ["torch", "dask", "xarray", "zarr", "mpi", "devices"])
def test_what_stands_on_others_is_described_and_typed(module):
    """Read, not imported: PyTorch, Dask, xarray, zarr, MPI and several GPUs need not be there."""
    typed, written = functions(PACKAGE / f"{module}.pyi"), functions(PACKAGE / f"{module}.py")
    public = re.search(r"__all__ = \[(.*?)\]", (PACKAGE / f"{module}.py").read_text()).group(1)
    named = {name.partition(".")[0] for name in typed} | classes(PACKAGE / f"{module}.pyi")
    assert named == set(re.findall(r"\w+", public))
    for name, node in typed.items():
        told, real = (inspect.signature(compiled(each)) for each in (node, written[name]))
        assert list(told.parameters) == list(real.parameters), name
        defaults = [(p.name, p.default) for p in real.parameters.values() if not isinstance(p.default, Named)]
        assert all(told.parameters[each].default == default for each, default in defaults), name
        doc = ast.get_docstring(written[name]) or ""
        assert ">>>" in doc, f"tapline.{module}.{name}"
        assert first_line(doc).endswith((".", ":")) or "." in doc.partition("\n\n")[0], f"tapline.{module}.{name}"


class Named:
    """A default that is a name of its module."""


def compiled(node):
    """A function with a node's arguments, without their types."""
    for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]:
        if argument is not None:
            argument.annotation = None
    arguments = ast.unparse(node.args)
    names = {each.id for each in ast.walk(node.args) if isinstance(each, ast.Name)}
    return eval(f"lambda {arguments}: None", {name: Named() for name in names})


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_parameter_is_described(module, name):
    found = getattr(MODULES[module], name)
    doc = found.__doc__
    if module != "tapline":  # the originals' parameters are the originals' to describe
        return
    if isinstance(found, type):
        return  # "parameters are those of convolve, but for these"
    node = functions(PACKAGE / "__init__.pyi")[name]
    arguments = [a.arg for a in [*node.args.args, *node.args.kwonlyargs]]
    described = set(re.findall(r"\w+", " ".join(re.findall(r"^([\w, ]+)(?: : |\n    )", inspect.cleandoc(doc), re.MULTILINE))))
    assert not [a for a in arguments if a not in described], f"{name}: {arguments} beside {described}"


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "recipes").glob("*.py")), ids=lambda path: path.stem)
def test_recipes_run(path):
    pytest.importorskip("matplotlib")
    if "pandas" in path.stem:
        pytest.importorskip("pandas")
    page = load("tutorial", ROOT / "scripts" / "tutorial.py").page(source=path)
    assert "assert" in page  # each checks itself
    assert page.startswith("# ")
    assert page.count("```python") >= 3


def test_the_cells_of_the_first_page_run():
    text = (ROOT / "docs" / "site" / "start.md").read_text()
    variables = {}
    cells = re.findall(r"\{\{cell:\n(.*?)\n\}\}", text, re.DOTALL)
    for cell in cells:
        exec(cell, variables)
    assert len(cells) >= 4


def test_the_words_of_other_tools():
    """The lines of docs/coming_from.md for NumPy, SciPy and MATLAB give what they say."""
    signal = pytest.importorskip("scipy.signal")
    ndimage = pytest.importorskip("scipy.ndimage")
    rng = np.random.default_rng(0)
    x, h, even = rng.standard_normal(200), rng.standard_normal(9), rng.standard_normal(8)

    def same(a, b):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)

    same(tapline.convolve(x, h), np.convolve(x, h))
    same(tapline.convolve(x, h, "same"), np.convolve(x, h, "same"))
    same(tapline.correlate(x, h, "valid"), np.correlate(x, h, "valid"))
    padded = np.convolve(np.pad(x, 4, "reflect"), h, "valid")
    same(tapline.convolve(x, h, "same", boundary="mirror"), padded)
    same(tapline.convolve(x, h, "causal"), signal.lfilter(h, 1, x))
    inside = slice(20, -20)
    same(tapline.convolve(x, np.convolve(h, h[::-1]), "same", boundary="mirror")[inside], signal.filtfilt(h, 1, x)[inside])
    same(tapline.convolve(x, h, "same", boundary="reflect"), ndimage.convolve1d(x, h))
    # MATLAB: the central part of the full convolution begins at its element ceil((k - 1) / 2), counted from 0.
    full = np.convolve(x, even)
    same(tapline.convolve(x, even, "same", origin=8 // 2 - 1), full[4 : 4 + x.size])
    image, mask = rng.standard_normal((20, 30)), rng.standard_normal((3, 5))
    same(tapline.image(image, mask), signal.convolve2d(image, mask, "same"))
    for ours, theirs in (("nearest", "nearest"), ("reflect", "reflect"), ("mirror", "mirror")):
        same(tapline.image(image, mask, boundary=ours, operation="correlation"), ndimage.correlate(image, mask, mode=theirs))
    same(tapline.ndimage.gaussian_filter(image, 2, mode="mirror", axes=(0, 1)), ndimage.gaussian_filter(image, 2, mode="mirror"))
