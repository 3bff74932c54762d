"""The module can be compiled for Python's stable ABI (scripts/wheels.sh), though most builds are for one version and see more."""

import re
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "python" / "src"
# What reaches into objects, or came to the stable ABI after 3.12, and what to write instead.
BEYOND = {
    r"Py(Tuple|List|Bytes|ByteArray|Float|Unicode|Sequence_Fast)_(GET|SET|AS)_[A-Z_]+": "PyTuple_GetItem, PyFloat_AsDouble ...",
    r"PySequence_Fast_[A-Z_]+": "PySequence_Size, PySequence_GetItem",
    r"PyUnicode_AsUTF8\(": "PyUnicode_AsUTF8AndSize",
    r"PyObject_Call(OneArg|MethodNoArgs|MethodOneArg)": "PyObject_Vectorcall, PyObject_VectorcallMethod",
    r"\bPy_complex\b|PyComplex_AsCComplex": "PyComplex_RealAsDouble, PyComplex_ImagAsDouble",
    r"PyMem_Raw\w+|PyDimMem_\w+|PyArray_IntpConverter": "PyArray_IntpFromSequence",
    r"->\s*(tp|ob)_\w+": "PyType_GetSlot, Py_TYPE",
}


def test_nothing_beyond_the_stable_abi():
    for path in sorted(SOURCES.rglob("*.?pp")):
        text = re.sub(r"//.*", "", path.read_text())
        for pattern, instead in BEYOND.items():
            found = re.search(pattern, text)
            assert found is None, f"{path.relative_to(SOURCES)}: {found.group()}; write {instead}"
