#!/usr/bin/env python3
"""The public interface as text: what tests/api holds must be what the library, tapline.h and the Python stubs say.

    scripts/public_api.py LIBRARY            says what differs, exit status 1
    scripts/public_api.py LIBRARY --write    takes in a change that was meant (docs/stability.md says what may change)

LIBRARY: a libtapline.so that g++ compiled; without it only C and Python are looked at.
"""

import argparse
import ast
import difflib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "api"
STUBS = ROOT / "python" / "tapline"


def cpp(library):
    """Names of exported symbols, but for those of private types."""
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    mangled = [line.split()[2] for line in listed.splitlines() if len(line.split()) == 3]
    names = subprocess.run(["c++filt"], input="\n".join(mangled), capture_output=True, text=True, check=True).stdout
    for long, short in (
        ("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"),
        ("std::basic_string_view<char, std::char_traits<char> >", "std::string_view"),
        (", 18446744073709551615ul>", ">"),
        ("[abi:cxx11]", ""),
    ):
        names = names.replace(long, short)
    return sorted({name for name in names.splitlines() if "::State::" not in name and "::core::" not in name})


def c():
    """The declarations of tapline.h."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / "tapline" / "tapline.h").read_text(), flags=re.DOTALL)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    kept = " ".join(line for line in lines if not line.startswith("#") and line not in ('extern "C" {', "}"))
    return [part.strip() for part in re.sub(r"([;{,]) ", r"\1\n", kept).splitlines() if part.strip()]


def _bare(value):
    if isinstance(value, ast.arg):
        return ast.arg(value.arg)
    return [_bare(entry) for entry in value] if isinstance(value, list) else value


def signature(node):
    """Names and defaults, without the types, of which overloads have several."""
    arguments = ast.unparse(ast.arguments(**{field: _bare(value) for field, value in ast.iter_fields(node.args)}))
    return re.sub(r"^self(, /)?(, )?", "", arguments)


def functions_of(body):
    """The last overload of each name, which takes the most; `other = name` has those of that name."""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in found:
            found.update((to.id, found[node.value.id]) for to in node.targets if isinstance(to, ast.Name))
    return found


def python():
    lines = []
    for stub in sorted(STUBS.glob("*.pyi")):
        module = "tapline" if stub.stem == "__init__" else f"tapline.{stub.stem}"
        body = ast.parse(stub.read_text()).body
        classes = [node for node in body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
        for owner, functions in [
            (module, functions_of(body)),
            *((f"{module}.{node.name}", functions_of(node.body)) for node in classes),
        ]:
            for name, node in sorted(functions.items()):
                is_property = any(getattr(mark, "id", "") == "property" for mark in node.decorator_list)
                if not name.startswith("_") or name in ("__init__", "__call__"):
                    lines.append(f"{owner}.{name}" + ("" if is_property else f"({signature(node)})"))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", nargs="?")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = {"c.txt": c(), "python.txt": python()}
    if options.library:
        found["cpp.txt"] = cpp(options.library)
    differs = False
    for name, lines in found.items():
        file = KEPT / name
        before = file.read_text().splitlines() if file.exists() else []
        if options.write:
            file.parent.mkdir(exist_ok=True)
            file.write_text("\n".join(lines) + "\n")
        elif before != lines:
            differs = True
            print(*difflib.unified_diff(before, lines, f"tests/api/{name}", "the tree", lineterm="", n=0), sep="\n")
    if differs:
        print(
            "The public interface has changed. If it was meant: scripts/public_api.py LIBRARY --write, and a line in CHANGELOG.md."
        )
    sys.exit(differs)


if __name__ == "__main__":
    main()
