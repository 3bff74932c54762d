"""Python's reference: signatures from the stubs, texts from the docstrings."""

import ast
import inspect
import re
import sys
import textwrap

from site_links import ROOT, write
from sphinx.ext.napoleon import Config, NumpyDocstring

import tapline

sys.path.insert(0, str(ROOT / "scripts"))
from public_api import functions_of, signature

PACKAGE = ROOT / "python" / "tapline"
CONFIG = Config(napoleon_use_rtype=False, napoleon_use_ivar=True)

MODULES = {
    "tapline": "tapline's own functions: one axis is filtered, the others are rows; images have two.",
    "tapline.ndimage": "In place of scipy.ndimage: the same names, arguments, defaults, result types and errors.",
    "tapline.signal": "In place of scipy.signal: the same names, arguments, defaults, result types and errors.",
    "tapline.numpy": "In place of NumPy's convolve and correlate.",
    "tapline.torch": "For PyTorch: depthwise convolution with gradients. Needs PyTorch.",
    "tapline.dask": "Dask arrays, lazily, chunk by chunk. Needs Dask.",
    "tapline.xarray": "`DataArray.tapline`: along dimensions by name. Needs xarray.",
    "tapline.zarr": "From store to store, larger than memory: Zarr, `.npy`, HDF5. Needs zarr or h5py for theirs.",
    "tapline.mpi": "Arrays whose parts lie in the processes of an MPI communicator. Needs mpi4py.",
    "tapline.devices": "Arrays and images whose parts lie on several GPUs of one process. Needs CuPy or PyTorch.",
}
# Read without importing what they need.
STANDING_ON_OTHERS = ("tapline.torch", "tapline.dask", "tapline.xarray", "tapline.zarr", "tapline.mpi", "tapline.devices")


def _stub(module):
    name = "__init__" if module == "tapline" else module.partition(".")[2]
    return ast.parse((PACKAGE / f"{name}.pyi").read_text())


def _rst(doc):
    return str(NumpyDocstring(inspect.cleandoc(doc), CONFIG))


def _entry(directive, head, doc, members=""):
    body = textwrap.indent(f"{_rst(doc)}\n\n{members}", "   ")
    return f".. py:{directive}:: {head}\n\n{body}\n"


def _plan(node):
    parts = []
    functions = functions_of(node.body)
    for name, method in functions.items():
        doc = getattr(tapline.Plan, name).__doc__
        if name == "__init__" or (name.startswith("_") and name != "__call__"):
            continue
        is_property = any(isinstance(mark, ast.Name) and mark.id == "property" for mark in method.decorator_list)
        if is_property:
            kind = ast.unparse(method.returns)
            parts.append(f".. py:property:: {name}\n   :type: {kind}\n\n   {doc}\n")
        else:
            parts.append(_entry("method", f"{name}({signature(method)})", _plain(doc)))
    return f"Plan({signature(functions['__init__'])})", "\n".join(parts)


def _plain(doc):
    """Without the signature that nanobind puts in front."""
    first, _, rest = doc.partition("\n")
    return rest.lstrip("\n") if re.match(r"\w+\(.*\) -> ", first) else doc


def _source(module):
    return ast.parse((PACKAGE / f"{module.partition('.')[2]}.py").read_text())


def _read_class(node, source):
    """A class of a module that is read: its methods in the order of the stub."""
    written = functions_of(source.body)
    parts = [
        _entry("method", f"{name}({signature(method)})", ast.get_docstring(written[name]))
        for name, method in functions_of(node.body).items()
        if not name.startswith("_")
    ]
    made = functions_of(node.body).get("__init__")
    head = node.name if made is None else f"{node.name}({signature(made)})"
    return _entry("class", head, ast.get_docstring(source), "\n".join(parts))


def _module_doc(module):
    if module == "tapline":
        return tapline.__doc__
    return ast.get_docstring(_source(module))


def _module(module):
    tree = _stub(module)
    is_read = module in STANDING_ON_OTHERS
    read = (
        {node.name: node for node in _source(module).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))} if is_read else {}
    )
    parts = [f"{module}\n{'=' * len(module)}\n", f".. py:module:: {module}\n", _rst(_module_doc(module)), ""]
    for name, node in sorted(functions_of(tree.body).items()):
        if name.startswith("_"):
            continue
        doc = ast.get_docstring(read[name]) if is_read else _plain(getattr(_found(module), name).__doc__)
        parts.append(_entry("function", f"{name}({signature(node)})", doc))
    for node in tree.body:
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        if is_read:
            parts.append(_read_class(node, read[node.name]))
        elif node.name == "Plan":
            head, members = _plan(node)
            parts.append(_entry("class", head, tapline.Plan.__doc__, members))
    return "\n".join(parts)


def _found(module):
    return tapline if module == "tapline" else getattr(tapline, module.partition(".")[2])


def write_python():
    for module in MODULES:
        write(f"reference/{module.replace('.', '_')}.rst", _module(module))
    return [(f"{module.replace('.', '_')}.rst", f"`{module}`", meaning) for module, meaning in MODULES.items()]
