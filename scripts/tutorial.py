#!/usr/bin/env python3
"""Runs docs/tutorial.py and writes docs/tutorial.md with its outputs and plots (needs the Python module and matplotlib).

    build/python/env/bin/python scripts/tutorial.py
    python3 scripts/tutorial.py --gpu                  # where a GPU and CuPy are: its cells, too

What the cells for a GPU printed is kept in docs/tutorial_gpu.json, beside their code: a cell that was changed since is an error
without --gpu. tests/python/test_tutorial.py runs all this without plots and compares.
"""

import argparse
import contextlib
import io
import json
import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
RECORD = DOCS / "tutorial_gpu.json"


def cells(text):
    """(kind, argument, lines) of each cell of a notebook in the percent format."""
    for cell in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        head, _, body = cell.partition("\n")
        kind, _, argument = head.strip().partition(" ")
        yield kind, argument, body.strip("\n")


def output_of(body, variables, name="docs/tutorial.py"):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(body, name, "exec"), variables)
    return printed.getvalue().rstrip()


def recorded(code):
    for cell in json.loads(RECORD.read_text()):
        if cell["code"] == code:
            return cell["output"]
    raise RuntimeError(f"{RECORD} has no output of this cell; run scripts/tutorial.py --gpu on a machine with a GPU:\n{code}")


def page(draw=None, record=None, source=DOCS / "tutorial.py", images="images"):
    """The page as Markdown. `draw(name, code, variables)` makes a plot; without it plots are only referred to. `record`: a list
    that gets what cells for a GPU print; without it they are not run, and their kept outputs are taken."""
    parts: list[str] = []
    variables: dict = {}
    for kind, argument, body in cells(source.read_text()):
        if kind == "[markdown]":
            parts.append(re.sub(r"^# ?", "", body, flags=re.MULTILINE))
        elif kind in ("plot", "plot_gpu"):
            if draw and (kind == "plot" or record is not None):
                draw(argument, body, variables)
            parts.append(f"![{argument}]({images}/{argument}.png)")
        else:
            output = output_of(body, variables, source.name) if kind != "gpu" or record is not None else recorded(body)
            if kind == "gpu" and record is not None:
                record.append({"code": body, "output": output})
            parts.append(f"```python\n{body}\n```")
            if output:
                parts.append(f"```\n{output}\n```")
    return "\n\n".join(parts) + "\n"


def draw(name, code, variables, folder=DOCS / "images"):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
    exec(compile(code, "docs/tutorial.py", "exec"), {**variables, "axes": axes})
    figure.savefig(folder / f"{name}.png", dpi=90, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpu", action="store_true", help="run the cells for a GPU, too, and keep what they print")
    record: list | None = [] if parser.parse_args().gpu else None
    text = page(draw, record)
    if record is not None:
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
    (DOCS / "tutorial.md").write_text(text)
    print(f"written: {DOCS / 'tutorial.md'}", file=sys.stderr)
