#!/usr/bin/env python3
"""Runs the fuzzers and keeps what they learn: tests/fuzz/corpus/NAME/ and the numbers in tests/fuzz/executions.json.

  fuzz.py [--executions N | --seconds S] [--jobs J] [NAME...]    runs fuzzers (default: all, 60 seconds each), then keeps
  fuzz.py --keep [NAME...]                                       only merges what is in the build into the kept corpus
  fuzz.py --table                                                writes the table of docs/testing.md anew

A run starts from the kept corpus and from what earlier runs left in the build. Keeping merges both into the fewest, smallest inputs
that reach the same code. Executions are added to those of earlier runs, as the fuzzers themselves report them; --restart counts
a target from zero, for when the code that it tests has been rewritten. A finding ends that target's run: its input and the report
lie in build/fuzz/findings/, and the exit status is 1.

The build must be there: cmake --preset fuzz && cmake --build --preset fuzz --target fuzzers
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build/fuzz")
KEPT = os.path.join(ROOT, "tests/fuzz/corpus")
RECORD = os.path.join(ROOT, "tests/fuzz/executions.json")
PAGE = os.path.join(ROOT, "docs/testing.md")
FINDINGS = os.path.join(BUILD, "findings")
# As ctest runs them (tests/fuzz/CMakeLists.txt). Standard error is closed to the libraries, some of which complain at length.
OPTIONS = ["-max_len=4096", "-timeout=20", "-rss_limit_mb=1024", "-malloc_limit_mb=64", "-close_fd_mask=2"]
MOST_KEPT_BYTES = 200_000  # for each target
BEGIN, END = "<!-- made by scripts/fuzz.py from tests/fuzz/executions.json -->", "<!-- end -->"


def all_names():
    sources = os.listdir(os.path.join(ROOT, "tests/fuzz"))
    return sorted(match[1] for match in (re.fullmatch(r"fuzz_(\w+)\.cpp", name) for name in sources) if match)


def program(name):
    path = os.path.join(BUILD, "bin", "fuzz_" + name)
    if not os.path.exists(path):
        sys.exit(f"error: {path} is not built; cmake --preset fuzz && cmake --build --preset fuzz --target fuzzers")
    return path


def found_folder(name):
    return os.path.join(BUILD, "tests/fuzz/corpus", name)


def environment():
    """Files that take a stream's place are spooled to memory where that can be."""
    fast = "/dev/shm"
    return {**os.environ, "TMPDIR": fast} if os.access(fast, os.W_OK) else dict(os.environ)


def run(name, limit):
    """The executions that the fuzzer reports, and whether it found nothing."""
    for folder in (found_folder(name), os.path.join(KEPT, name), FINDINGS):
        os.makedirs(folder, exist_ok=True)
    log = os.path.join(FINDINGS, name + ".log")
    command = [
        program(name),
        limit,
        *OPTIONS,
        "-print_final_stats=1",
        f"-artifact_prefix={FINDINGS}/{name}-",
        found_folder(name),
        os.path.join(KEPT, name),
    ]
    with open(log, "wb") as output:
        status = subprocess.run(command, check=False, stdout=output, stderr=output, env=environment()).returncode
    with open(log, errors="replace") as output:
        counts = re.findall(r"^stat::number_of_executed_units:\s*(\d+)", output.read(), re.MULTILINE)
    executions = int(counts[-1]) if counts else 0
    print(f"{name}: {executions:,} executions" + (f", FOUND something (status {status}): {log}" if status else ""), flush=True)
    return executions, status == 0


def keep(name):
    """Merges the kept corpus and what was found into the fewest inputs, and puts those in the place of the kept ones."""
    kept = os.path.join(KEPT, name)
    os.makedirs(kept, exist_ok=True)
    seeds = os.path.join(BUILD, "tests/fuzz/seeds", name)
    with tempfile.TemporaryDirectory(dir=BUILD) as merged:
        sources = [folder for folder in (kept, seeds, found_folder(name)) if os.path.isdir(folder)]
        subprocess.run(
            [program(name), "-merge=1", "-set_cover_merge=1", *OPTIONS, merged, *sources],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        inputs = sorted(os.scandir(merged), key=lambda entry: (entry.stat().st_size, entry.name))
        size = sum(entry.stat().st_size for entry in inputs)
        while size > MOST_KEPT_BYTES:
            size -= inputs.pop().stat().st_size
        wanted = {entry.name for entry in inputs}
        for old in os.listdir(kept):
            if old not in wanted:
                os.remove(os.path.join(kept, old))
        for entry in inputs:
            shutil.copyfile(entry.path, os.path.join(kept, entry.name))
    print(f"{name}: keeps {len(wanted)} inputs, {size:,} bytes", flush=True)


def read_record():
    if not os.path.exists(RECORD):
        return {}
    with open(RECORD) as file:
        return json.load(file)


def add_executions(counts, restart=False):
    record = read_record()
    for name, executions in counts.items():
        record[name] = executions + (0 if restart else record.get(name, 0))
    with open(RECORD, "w") as file:
        json.dump(dict(sorted(record.items())), file, indent=1)
        file.write("\n")


def describe(name):
    """The first line of the source says what it does."""
    with open(os.path.join(ROOT, "tests/fuzz", f"fuzz_{name}.cpp")) as file:
        return file.readline().removeprefix("//").strip()


def write_table():
    record = read_record()
    rows = ["| target | executions | kept inputs | what it reads |", "|---|---|---|---|"]
    for name in all_names():
        folder = os.path.join(KEPT, name)
        inputs = len(os.listdir(folder)) if os.path.isdir(folder) else 0
        rows.append(f"| {name} | {record.get(name, 0):,} | {inputs} | {describe(name)} |")
    with open(PAGE) as file:
        text = file.read()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    with open(PAGE, "w") as file:
        file.write(before + BEGIN + "\n" + "\n".join(rows) + "\n" + END + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--executions", type=int, help="of each target")
    limit.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="targets side by side")
    parser.add_argument("--restart", action="store_true", help="count these targets from zero")
    parser.add_argument("--keep", action="store_true", help="run nothing, only keep")
    parser.add_argument("--table", action="store_true", help="run and keep nothing, only write the table")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(all_names()))
    arguments = parser.parse_args()
    names = arguments.names or all_names()
    for name in set(names) - set(all_names()):
        parser.error(f"no fuzzer is called {name}; there are {', '.join(all_names())}")

    clean = True
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        if not arguments.keep and not arguments.table:
            bound = f"-runs={arguments.executions}" if arguments.executions else f"-max_total_time={arguments.seconds}"
            results = dict(zip(names, pool.map(lambda name: run(name, bound), names), strict=True))
            add_executions({name: executions for name, (executions, _) in results.items()}, arguments.restart)
            clean = all(good for _, good in results.values())
        if not arguments.table:
            list(pool.map(keep, names))
    write_table()
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
