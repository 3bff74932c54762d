#!/usr/bin/env python3
"""Gathers the site's pages in build/site/source, runs the code in them, and lets Sphinx make build/site/html of them.

    build/site/env/bin/python scripts/site/site_build.py [COMMAND]      COMMAND: the program tapline; its help becomes a page

Any warning of Sphinx or Doxygen, a link that leads nowhere among them, and any recipe that fails is an error.
"""

import os
import shutil
import subprocess
import sys
import time

from site_course import write_course
from site_cpp import write_cpp
from site_landing import machine, plot, tab_output, tabs
from site_links import FAMILIES, PAGES, ROOT, SOURCE, place, write
from site_python import write_python
from site_recipes import run_cells, write_recipes

import tapline

HTML = ROOT / "build" / "site" / "html"
COMMANDS = ("convolve", "image", "info", "bench", "tune", "ladder")


def write_command(command):
    def help_of(*arguments):
        run = subprocess.run(
            [command, *arguments, "--help"], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "100"}
        )
        return f"```text\n{run.stdout.rstrip()}\n```\n"

    parts = [
        "# The command\n",
        "What `tapline --help` and `tapline COMMAND --help` print; `man tapline` has the same after an installation.\n",
        help_of(),
    ]
    parts += [f"## tapline {name}\n\n{help_of(name)}" for name in COMMANDS]
    write("reference/command.md", "\n".join(parts))


def write_reference(command):
    listed = write_python() + write_cpp()
    write_command(command)
    listed.append(("command.md", "The command", "`tapline` and its subcommands"))
    rows = "\n".join(f"| [{name}]({file}) | {meaning} |" for file, name, meaning in listed)
    tree = "\n".join(file.partition(".")[0] for file, _, _ in listed)
    write("reference/index.md", f"# Reference\n\n| | |\n|---|---|\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n")


def write_internals():
    docs = [path for path, page in PAGES.items() if page.startswith("internals/") and path not in FAMILIES]
    titles = {path: path.read_text().splitlines()[0].lstrip("# ") for path in [*docs, *FAMILIES]}
    parts = ["# Internals\n", "How tapline is built, for those who change it.\n", "| | |\n|---|---|"]
    parts += [
        f"| [{titles[path]}]({PAGES[path].removeprefix('internals/')}) | `{path.relative_to(ROOT)}` |"
        for path in [*docs, *FAMILIES]
    ]
    tree = "\n".join(PAGES[path].removeprefix("internals/").removesuffix(".md") for path in [*docs, *FAMILIES])
    write("internals/index.md", "\n".join(parts) + f"\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n")


def place_pages():
    for path, page in PAGES.items():
        if page == "course/index.md":
            continue
        text = path.read_text()
        if page == "index.md":
            for name, value in (
                ("peers_plot", plot()),
                ("peers_machine", machine()),
                ("tabs", tabs()),
                ("tab_output", tab_output()),
            ):
                text = text.replace("{{" + name + "}}", value)
        place(path, page, run_cells(text, page))


def build():
    arguments = [
        "-b",
        "html",
        "-W",
        "--keep-going",
        "-q",
        "-j",
        "auto",
        "-d",
        str(HTML.parent / "doctrees"),
        str(SOURCE),
        str(HTML),
    ]
    environment = {**os.environ, "TAPLINE_VERSION": tapline.__version__}
    subprocess.run([sys.executable, "-m", "sphinx", *arguments], check=True, env=environment)


def main(command):
    begin = time.perf_counter()
    shutil.rmtree(HTML, ignore_errors=True)
    shutil.copytree(ROOT / "docs" / "site" / "static", SOURCE / "static", dirs_exist_ok=True)
    shutil.copy(ROOT / "docs" / "site" / "conf.py", SOURCE / "conf.py")
    write_recipes()
    write_reference(command)
    write_course()
    place_pages()
    write_internals()
    gathered = time.perf_counter()
    build()
    end = time.perf_counter()
    print(
        f"{len(list(HTML.rglob('*.html')))} pages in {end - begin:.0f} s, of which the code in them took {gathered - begin:.0f} s"
    )
    print(f"written: {HTML.relative_to(ROOT) / 'index.html'}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tapline")
