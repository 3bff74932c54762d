#!/usr/bin/env python3
"""Runs docs/tutorial.py and writes docs/tutorial.md with its outputs and plots (needs the Python module and matplotlib).

    build/python/env/bin/python scripts/tutorial.py

tests/python/test_tutorial.py runs it without plots and compares.
"""

import contextlib
import io
import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def cells(text):
    """(kind, argument, lines) of each cell of a notebook in the percent format."""
    for cell in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        head, _, body = cell.partition("\n")
        kind, _, argument = head.strip().partition(" ")
        yield kind, argument, body.strip("\n")


def page(draw=None):
    """The page as Markdown. `draw(name, code, variables)` makes a plot; without it plots are only referred to."""
    parts, variables = [], {}
    for kind, argument, body in cells((DOCS / "tutorial.py").read_text()):
        if kind == "[markdown]":
            parts.append(re.sub(r"^# ?", "", body, flags=re.MULTILINE))
        elif kind == "plot":
            if draw:
                draw(argument, body, variables)
            parts.append(f"![{argument}](images/{argument}.png)")
        else:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(body, "docs/tutorial.py", "exec"), variables)
            parts.append(f"```python\n{body}\n```")
            if printed.getvalue():
                parts.append(f"```\n{printed.getvalue().rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def draw(name, code, variables):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
    exec(compile(code, "docs/tutorial.py", "exec"), {**variables, "axes": axes})
    figure.savefig(DOCS / "images" / f"{name}.png", dpi=90, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    (DOCS / "tutorial.md").write_text(page(draw))
    print(f"written: {DOCS / 'tutorial.md'}", file=sys.stderr)
