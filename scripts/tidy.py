#!/usr/bin/env python3
"""clang-tidy over the sources of one build, several to a run, so that a header that many of them include is read once.

  tidy.py CLANG_TIDY BUILD SOURCE...     the sources are relative to the root of the repository

BUILD holds compile_commands.json. Sources of one room that are compiled alike are checked together, as one source that includes
them; where that is not clean each half is checked again, so that what is reported is said of single files. What clang-tidy says
of a main file alone, unused using declarations, is read off the text. The exit status is 1 if anything is reported.
"""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MOST_TOGETHER = 16
# Headers that are looked at, and sources where others include them; what kernels are made of is not (scripts/lint.sh).
OURS = (
    r"((include/tapline|src/(capi|cli|core|design|engines|gpu_host|io|reference)|python/src)/([a-z0-9_]+/)*[a-z0-9_]+\.hpp"
    r"|(src|python)/([a-z0-9_]+/)*[a-z0-9_]+\.cpp)$"
)


def flags_of(entry):
    """The arguments that tell what a source means; it includes what it needs, without a precompiled header."""
    words = shlex.split(entry["command"])[1:]
    kept = []
    skip = False
    for word in words:
        if skip or word in ("-c", "-Winvalid-pch", entry["file"]) or re.fullmatch(r"-O\d|-fPI[CE]", word):
            skip = False
        elif word in ("-o", "-MF", "-MT", "-MQ", "-include"):
            skip = True
        else:
            kept.append(word)
    return kept


def names_in(source):
    """What a source defines for itself, read off the lines that are not indented; members of classes are theirs."""
    with open(os.path.join(ROOT, source), encoding="utf-8") as file:
        text = file.read()
    types = re.findall(r"^(?:class|struct|enum class) (\w+)", text, re.MULTILINE)
    others = re.findall(
        r"^(?:\[\[\w+\]\] )?(?!class|struct|enum|namespace|using|template)[A-Za-z][^({=;\n]*?(?<!:)\b(\w+)\s*[({=;]",
        text,
        re.MULTILINE,
    )
    return {*types, *others}


def groups_of(build, sources):
    """Sources of one room that are compiled alike and do not define the same names."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = {os.path.relpath(entry["file"], ROOT): entry for entry in json.load(file)}
    missing = [source for source in sources if source not in entries]
    if missing:
        sys.exit(f"error: {build}/compile_commands.json has no command for {missing[0]}")
    groups: list[tuple[tuple[list[str], list[str]], list[str], set[str]]] = []
    for source in sorted(sources):
        key = (source.split("/")[:2], flags_of(entries[source]))
        names = names_in(source)
        for other, members, taken in groups:
            if other == key and len(members) < MOST_TOGETHER and not names & taken:
                members.append(source)
                taken.update(names)
                break
        else:
            groups.append((key, [source], set(names)))
    return [(flags, entries[members[0]]["directory"], members) for (_, flags), members, _ in groups]


def unused_usings(source):
    """Using declarations whose name the source does not mention again."""
    with open(os.path.join(ROOT, source), encoding="utf-8") as file:
        text = re.sub(r"//.*", "", file.read())
    names = re.findall(r"^\s*using [\w:]+::(\w+);", text, re.MULTILINE)
    return [
        f"{source}: using {name}: unused (misc-unused-using-decls)\n"
        for name in names
        if len(re.findall(rf"\b{name}\b", text)) == names.count(name)
    ]


def check(tidy, folder, flags, directory, members):
    """What is to be reported about the members."""
    if len(members) == 1:
        main = os.path.join(ROOT, members[0])
    else:
        handle, main = tempfile.mkstemp(suffix=".cpp", dir=folder, text=True)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines(f'#include "{ROOT}/{member}"  // NOLINT(bugprone-suspicious-include)\n' for member in members)
    command = [tidy, "--quiet", f"--config-file={ROOT}/.clang-tidy", f"--header-filter={OURS}", main, "--"]
    result = subprocess.run(
        [*command, *flags, "-Wno-unknown-warning-option"], cwd=directory, capture_output=True, text=True, check=False
    )
    if result.returncode == 0:
        return []
    if len(members) == 1:
        return [re.sub(r"^\d+ warnings generated.*\n", "", result.stdout + result.stderr, flags=re.MULTILINE)]
    half = len(members) // 2
    return [report for part in (members[:half], members[half:]) for report in check(tidy, folder, flags, directory, part)]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    tidy, build, sources = sys.argv[1], sys.argv[2], sys.argv[3:]
    groups = groups_of(build, sources)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        # The longest first, so that none is left for the end.
        work = sorted(groups, key=lambda group: -len(group[2]))
        reports = [report for found in pool.map(lambda group: check(tidy, folder, *group), work) for report in found]
    reports += [report for source in sources for report in unused_usings(source)]
    print("".join(reports), end="")
    return 1 if reports else 0


if __name__ == "__main__":
    sys.exit(main())
