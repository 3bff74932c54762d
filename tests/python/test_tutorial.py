"""The outputs in docs/tutorial.md are those that docs/tutorial.py prints."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_tutorial_is_current():
    spec = importlib.util.spec_from_file_location("tutorial", ROOT / "scripts" / "tutorial.py")
    tutorial = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tutorial)
    page = tutorial.page()
    assert page.count("```python") >= 8
    assert page == (ROOT / "docs" / "tutorial.md").read_text(), "run scripts/tutorial.py"
    for line in page.splitlines():
        if line.startswith("!["):
            assert (ROOT / "docs" / line.split("(")[1].rstrip(")")).stat().st_size > 1000
