"""Pages whose code is run: the recipes (docs/recipes, notebooks in the percent format) and cells in pages of Markdown."""

import re
import sys
from functools import partial

from site_links import ROOT, SOURCE, write

sys.path.insert(0, str(ROOT / "scripts"))
import tutorial

RECIPES = {
    "neural_recording": "int16, 384 channels, time first: band-passed down its time axis without a transposition",
    "room_reverb": "one signal, a long filter for each ear",
    "template_matching": "a wave found below the noise",
    "image_gallery": "a batch of colour pictures in bytes",
    "long_filter": "262,144 taps on a GPU or, with the same lines, on the CPU",
    "pandas_series": "a share's prices, a whole frame, and xarray",
}


def recipe(name, draw=None):
    """The page of a recipe: its text, its code, what that printed and its plots."""
    return tutorial.page(draw, source=ROOT / "docs" / "recipes" / f"{name}.py", images="../images")


def write_recipes():
    folder = SOURCE / "images"
    folder.mkdir(parents=True, exist_ok=True)
    listed = []
    for name, meaning in RECIPES.items():
        text = recipe(name, partial(tutorial.draw, folder=folder))
        write(f"recipes/{name}.md", text)
        listed.append(f"| [{text.splitlines()[0].lstrip('# ')}]({name}.md) | {meaning} |")
    names = "\n".join(RECIPES)
    write(
        "recipes/index.md",
        "# Recipes\n\nEach was run when this site was built, and its results were checked. The files are notebooks in the percent "
        "format, in `docs/recipes`.\n\n| recipe | what it shows |\n|---|---|\n"
        + "\n".join(listed)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{names}\n```\n",
    )


def run_cells(text, name):
    """`text` with each {{cell: ...}} as its code and what that printed; the cells of a page share their variables."""
    variables: dict = {}

    def shown(match):
        code = match.group(1).strip("\n")
        output = tutorial.output_of(code, variables, name)
        return f"```python\n{code}\n```" + (f"\n\n```text\n{output}\n```" if output else "")

    return re.sub(r"\{\{cell:\n(.*?)\n\}\}", shown, text, flags=re.DOTALL)
