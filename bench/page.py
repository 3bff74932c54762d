"""How the generated pages of docs/ are written: tables, and numbers with their units."""

import json
import math
import pathlib
from collections.abc import Iterable, Sequence

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
IMAGES = DOCS / "images"
RESULTS = ROOT / "bench" / "results"


def read(path: pathlib.Path | str) -> dict:
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def write(name: str, text: str, docs: pathlib.Path = DOCS) -> None:
    docs.mkdir(parents=True, exist_ok=True)
    (docs / name).write_text(text, encoding="utf-8")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> str:
    """`align` has a letter for each column, l or r; without it all are l."""
    rules = {"l": "---", "r": "---:"}
    lines = ["| " + " | ".join(head) + " |", "|" + "".join(rules[side] + "|" for side in align or "l" * len(head))]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def seconds_text(seconds: float) -> str:
    for factor, unit in ((1e9, "ns"), (1e6, "us"), (1e3, "ms")):
        if seconds * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def share_text(share: float) -> str:
    percent = 100 * share
    return f"{percent:,.1f}%" if percent >= 0.995 else f"{percent:.2g}%"


def times_text(factor: float) -> str:
    if not factor:
        return ""
    return number_text(factor)


def number_text(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


def count_text(count: int) -> str:
    power = int(math.log2(count))
    return f"2^{power}" if count >= 16384 and 2**power == count else f"{count:,}"
