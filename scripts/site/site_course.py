"""The course: a page for each rung of the ladder, with its idea, its figures and its code."""

import difflib
import json
import re

from site_links import ROOT, SOURCE, place, write

RESULTS = ROOT / "bench" / "results"
IMAGE_LESSONS = ("01_basic", "02_constant_memory", "03_tiled")


def _seconds(value):
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def _times(value):
    return "" if not value else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _figures(data, number):
    """Rows of a table: what the rung reached in each case."""
    rows = []
    for table in data["tables"]:
        found = [row for row in table["rows"] if row["number"] == number and "seconds" in row]
        if not found:
            continue
        seconds = found[0]["seconds"]["median"]
        share = table["copy"]["seconds"]["median"] / seconds
        problem = table["problem"]
        times = found[0].get("times_naive")
        rows.append(
            f"| {table['case']}: n = {problem['length']:,}, k = {problem['taps']:,}, mode {problem['mode']} | {_seconds(seconds)} "
            f"| {100 * share:.2g}% | {_times(times)} |"
        )
    if not rows:
        return ""
    device = f"{data['device']['description']}, {data['date']}, tapline {data['version']}"
    head = "| case | time | share of the copy's speed | times the naive rung |\n|---|---:|---:|---:|\n"
    return (
        f"## Reached\n\n{device}; checked, then timed with a cold cache. [All rungs, case by case](../ladder.md).\n\n{head}"
        + "\n".join(rows)
        + "\n"
    )


def _learned():
    """What each rung teaches, in the words of lessons/README.md: the last column of its tables."""
    text = (ROOT / "lessons" / "README.md").read_text()
    return {number: words.strip() for number, words in re.findall(r"^\| \[(\d\d) \w+\].*\| (.*) \|$", text, re.MULTILINE)}


def _code(source):
    return f"## Code\n\n`{source}`:\n\n```cuda\n{(ROOT / source).read_text().rstrip()}\n```\n"


def _difference(before, source):
    one, two = ((ROOT / path).read_text().splitlines() for path in (before, source))
    lines = list(difflib.unified_diff(one, two, before, source, lineterm="", n=2))
    if not 0 < len(lines) < 150:
        return ""
    body = "\n".join(lines)
    return f"````{{dropdown}} The difference to the rung before\n```diff\n{body}\n```\n````\n\n"


def _lesson(data, lesson, before, learned):
    name = f"{lesson['number']} {lesson['name'].replace('_', ' ')}"
    facts = [("Idea", "idea"), ("Changed", "changed"), ("Requires", "requires"), ("Limited by", "limited_by")]
    parts = [f"# {name}\n", "\n\n".join(f"**{head}.** {lesson[key]}" for head, key in facts) + "\n"]
    if lesson["number"] in learned:
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", learned[lesson["number"]])
        parts.append(f"```{{admonition}} What to learn\n{words}\n```\n")
    parts.append(_figures(data, lesson["number"]))
    both = before is not None and before.startswith("lessons/") and lesson["source"].startswith("lessons/")
    parts.append((_difference(before, lesson["source"]) if both else "") + _code(lesson["source"]))
    return "\n".join(parts)


def _image_lesson(stem):
    text = (ROOT / "lessons" / "images" / f"{stem}.cuh").read_text()
    found = re.search(r"\nIdea: (.*)\nChanged: (.*)\nRequires: (.*)\nLimited by: (.*)\n\)", text, re.DOTALL)
    assert found is not None, stem
    parts = (" ".join(part.split()) for part in found.groups())
    body = "\n\n".join(
        f"**{head}.** {part}" for head, part in zip(("Idea", "Changed", "Requires", "Limited by"), parts, strict=True)
    )
    title = stem.replace("_", " ")
    return f"# Images {title}\n\n{body}\n\n[Figures of the whole ladder of images](../ladder_images.md).\n\n" + _code(
        f"lessons/images/{stem}.cuh"
    )


def write_course():
    data = json.loads((RESULTS / "ladder.json").read_text())
    learned = _learned()
    names, before = [], None
    for lesson in data["lessons"]:
        if not re.match(r"\d\d$", lesson["number"]) or not (ROOT / lesson["source"]).exists():
            continue
        name = f"{lesson['number']}_{lesson['name']}"
        write(f"course/{name}.md", _lesson(data, lesson, before, learned))
        names.append(name)
        before = lesson["source"]
    for stem in IMAGE_LESSONS:
        write(f"course/images_{stem}.md", _image_lesson(stem))
        names.append(f"images_{stem}")
    text = (ROOT / "lessons" / "README.md").read_text()
    # Lessons are pages here: [14 tiled](14_tiled.cuh) and those that lie among the families.
    text = re.sub(r"\[(\d\d (\w+))\]\([^)]*\)", lambda m: f"{m[1]}@@{m[1].replace(' ', '_')}@@", text)
    place(
        ROOT / "lessons" / "README.md",
        "course/index.md",
        text + "\n```{toctree}\n:hidden:\n\n" + "\n".join([*names, "detours"]) + "\n```\n",
    )
    page = SOURCE / "course" / "index.md"
    known = set(names)
    page.write_text(re.sub(r"(\d\d \w+)@@(\w+)@@", lambda m: f"[{m[1]}]({m[2]}.md)" if m[2] in known else m[1], page.read_text()))
