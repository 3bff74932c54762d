"""Pages of the repository as pages of the site: which file becomes which page, and links between them."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "build" / "site" / "source"

FAMILIES = sorted(path for path in (ROOT / "src" / "cuda" / "families").rglob("*.md"))


def _pages():
    pages = {path: f"{path.stem}.md" for path in (ROOT / "docs").glob("*.md")}
    pages |= {path: f"{path.stem}.md" for path in (ROOT / "docs" / "site").glob("*.md")}
    pages |= {ROOT / f"{name}.md": f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")}
    for name in ("architecture", "adding_an_algorithm", "adding_a_lesson", "testing", "dependencies"):
        pages[ROOT / "docs" / f"{name}.md"] = f"internals/{name}.md"
    for path in FAMILIES:
        name = "_".join(path.relative_to(ROOT / "src" / "cuda" / "families").with_suffix("").parts)
        pages[path] = f"internals/family_{name.removesuffix('_README')}.md"
    pages[ROOT / "lessons" / "README.md"] = "course/index.md"
    pages[ROOT / "lessons" / "detours.md"] = "course/detours.md"
    return pages


PAGES = _pages()  # a file of the repository -> the page's path below SOURCE


def place(path, page, text):
    """Writes the page for the file at `path`. Links to other pages follow them, links to pictures bring them along, and what
    is linked but not on the site becomes its name."""

    def follow(match):
        mark, label, target = match.groups()
        if re.match(r"[a-z]+:|#", target) or target.startswith("/"):
            return match.group(0)
        file, _, anchor = target.partition("#")
        found = (path.parent / file).resolve()
        here = SOURCE / Path(page).parent
        if found in PAGES:
            return f"{mark}[{label}]({os.path.relpath(SOURCE / PAGES[found], here)}{'#' + anchor if anchor else ''})"
        if mark:
            copy = SOURCE / "images" / found.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(found.read_bytes())
            return f"![{label}]({os.path.relpath(copy, here)})"
        if (SOURCE / Path(page).parent / file).suffix in (".md", ".rst") and path.is_relative_to(ROOT / "docs" / "site"):
            return match.group(0)  # a page that is made
        if not found.exists():
            raise FileNotFoundError(f"{path}: links to {target}, which is not there")
        return f"`{found.relative_to(ROOT)}`" if label.strip("`") in target else f"{label} (`{found.relative_to(ROOT)}`)"

    parts = re.split(r"(^```.*?^```$|`[^`\n]+`)", text, flags=re.MULTILINE | re.DOTALL)  # code has no links
    parts[::2] = [re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", follow, part) for part in parts[::2]]
    write(page, "".join(parts))


def write(page, text):
    file = SOURCE / page
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text() != text:  # Sphinx reads again what is newer
        file.write_text(text)
