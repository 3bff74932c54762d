#!/usr/bin/env python3
"""The receipt of the GPU tests: tests/gpu/receipt.json says what was run on a GPU, on which tree, and how it ended.

  gpu_receipt.py hash                      the hash of the tree that a receipt is about
  gpu_receipt.py write [RESULT...]         merges results into the receipt; a receipt of another tree is replaced
  gpu_receipt.py names LIST [--only|--but PATTERN]   the tests of a list as a GoogleTest filter; with --lines as several, to be run
                                           side by side: a line a test, the slowest of the receipt first, the quick ones together
  gpu_receipt.py check                     one line; exit status 0 where the receipt covers the tree and all in it holds, else 1

Results of `write`:
  --tests REPORTS LIST STATUS      GoogleTest's JSON reports, comma-separated, the output of --gtest_list_tests, and 0 or the exit
                                   status of a program that failed
  --sanitizer TOOL LOG STATUS      compute-sanitizer's output; STATUS may be a reason why it was not started
  --bars FILE STATUS               {"bars": [{"name", "wanted", "held", "reached", "met", "holds", ...}], "missing": [NAME]} and the
                                   program's exit status

The hash covers include/, lessons/, src/core, src/cuda, src/gpu_host, tests/gpu and tests/support as they lie there, in git or not.
"""

import argparse
import datetime
import fnmatch
import hashlib
import json
import math
import os
import re
import sys
import tempfile

FORMAT = 1
COVERED = ["include", "lessons", "src/core", "src/cuda", "src/gpu_host", "tests/gpu", "tests/support"]
RECEIPT = "tests/gpu/receipt.json"
QUICK_SECONDS = 1  # a process takes as long to start
# Rows that must be there for the receipt to hold.
SANITIZERS = ["memcheck", "racecheck"]


def covered_files(root):
    """Paths relative to root, sorted. Without what editors and interpreters leave, the receipt, and the emulated engine's folder,
    which no test on a GPU uses."""
    paths = []
    for top in COVERED:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = [name for name in folders if not name.startswith((".", "__pycache__", "emulated"))]
            paths += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    hidden = [path for path in paths if os.path.basename(path).startswith(".") or path.endswith((".pyc", "~"))]
    return sorted(set(paths) - {RECEIPT, *hidden})


def tree_hash(root):
    digest = hashlib.sha256()
    files = covered_files(root)
    if not files:
        raise SystemExit(f"error: no sources below {root}")
    for path in files:
        with open(os.path.join(root, path), "rb") as file:
            contents = file.read()
        digest.update(f"{path}\0{len(contents)}\0".encode())
        digest.update(contents)
    return digest.hexdigest()


def read_receipt(path):
    """The receipt, or None if there is none. A damaged one counts as none when it is written, not when it is checked."""
    with open(path, encoding="utf-8") as file:
        receipt = json.load(file)
    if not isinstance(receipt, dict) or receipt.get("format") != FORMAT:
        raise ValueError("is not a receipt of this format")
    return receipt


def write_atomically(path, receipt):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".receipt")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(receipt, file, indent=1, ensure_ascii=False)
            file.write("\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def listed_tests(text):
    """Names from --gtest_list_tests; a line at the margin is a suite. Disabled tests are left out."""
    names, suite = [], ""
    for printed in text.splitlines():
        line = printed.split("#")[0].rstrip()
        if not line or line.startswith("Running main"):
            continue
        if not line.startswith(" "):
            suite = line
        elif "DISABLED_" not in suite + line:
            names.append(suite + line.strip())
    return names


def test_result(test):
    """(name, entry) of one test of GoogleTest's report, or None if the filter left it out."""
    if test.get("status") == "NOTRUN" or test.get("result") == "SUPPRESSED":
        return None
    entry = {"result": "passed", "seconds": float(str(test.get("time", "0")).rstrip("s"))}
    messages = [failure.get("failure", "") for failure in test.get("failures", [])]
    if messages:
        # A path of the machine that compiled the test says nothing elsewhere.
        entry.update(result="failed", reason=re.sub(r"/\S*/(?=tests/)", "", messages[0])[:2000])
    elif test.get("result") == "SKIPPED":
        skips = [skip.get("message", "") for skip in test.get("skipped", [])]
        entry.update(result="skipped", reason=(skips[0] if skips else "")[:500])
    return test["classname"] + "." + test["name"], entry


def merge_tests(section, report_paths, list_path, status):
    with open(list_path, encoding="utf-8", errors="replace") as file:
        names = listed_tests(file.read())
    results = {name: entry for name, entry in section.get("results", {}).items() if name in names}
    try:
        for report_path in filter(None, report_paths.split(",")):
            with open(report_path, encoding="utf-8", errors="replace") as file:
                report = json.load(file)
            for suite in report.get("testsuites", []):
                results.update(filter(None, (test_result(test) for test in suite.get("testsuite", []))))
        section.pop("broken", None)
    except (OSError, ValueError) as error:
        section["broken"] = f"the test program ended with status {status} and left no report ({error})"
    if status != 0 and "broken" not in section and not any(entry["result"] == "failed" for entry in results.values()):
        section["broken"] = f"the test program ended with status {status} though no test failed"
    for name in names:
        results.setdefault(name, {"result": "not run"})
    section["counts"] = {}
    for entry in results.values():
        section["counts"][entry["result"]] = section["counts"].get(entry["result"], 0) + 1
    section["results"] = {name: results[name] for name in names}


def merge_sanitizer(section, log_path, status, tree, date):
    """Passed, failed, or why it could not be run; `last_passed` stays what it was unless it passed now."""
    try:
        with open(log_path, encoding="utf-8", errors="replace") as file:
            log = file.read()
    except OSError:
        log = ""
    summary = re.findall(r"=+ (?:ERROR|RACECHECK) SUMMARY: (.*)", log)
    ran = re.findall(r"^\[==========\] (\d+) tests? from .* ran", log, re.MULTILINE)
    passed = re.findall(r"^\[  PASSED  \] (\d+) tests?", log, re.MULTILINE)
    for key in ("reason", "summary", "tests"):
        section.pop(key, None)
    section.update(tree=tree, date=date)
    if summary:
        section["summary"] = summary[-1]
    if ran:
        section["tests"] = int(ran[-1])
    clean = bool(summary) and re.match(r"0 (errors|hazards)", summary[-1]) is not None
    if status == "0" and clean and passed and int(passed[-1]) > 0:
        section.update(result="passed", last_passed=tree, last_passed_date=date)
    elif summary and not clean:
        section.update(result="failed", reason=summary[-1])
    elif not status.isdigit():
        section.update(result="not run", reason=status)
    elif status == "124":
        section.update(result="not run", reason="it did not end within its time")
    elif ran and not re.search(r"=+ Error|Internal|not supported", log):
        section.update(result="failed", reason=f"the tests ended with status {status} under it")
    else:
        lines = [line for line in log.splitlines() if line.strip()]
        said = next(
            (line for line in lines if re.search(r"=+ .*(Error|Internal|not supported|denied)", line)),
            lines[-1] if lines else "nothing",
        )
        section.update(result="not run", reason=f"status {status}; it said: {said.lstrip('= ')[:500]}")
    section.setdefault("last_passed", None)


def merge_bars(section, path, status):
    """Bars may be measured in several runs of one tree: each run's rows replace those of the same name."""
    section.pop("broken", None)
    rows = {bar["name"]: bar for bar in section.get("bars", [])}
    try:
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
        if not run.get("bars"):
            raise ValueError("it holds no bars")
    except (OSError, ValueError) as error:
        section["broken"] = f"the bars ended with status {status}: {error}"
        return
    rows.update({bar["name"]: bar for bar in run["bars"]})
    section["bars"] = list(rows.values())
    section["missing"] = [name for name in run.get("missing", []) if name not in rows]


def write(options):
    tree = options.tree or tree_hash(options.root)
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        receipt = read_receipt(options.receipt)
    except (OSError, ValueError):
        receipt = {}
    sanitizer = receipt.get("sanitizer", {})
    device, driver = ((getattr(options, name) or receipt.get(name, "unknown")) for name in ("device", "driver"))
    if receipt.get("tree") != tree:
        # Only what the sanitizer last passed on outlives a change of the tree.
        kept = {tool: {key: row.get(key) for key in ("last_passed", "last_passed_date")} for tool, row in sanitizer.items()}
        receipt = {
            "sanitizer": {tool: {"result": "not run", "reason": "not run on this tree", **row} for tool, row in kept.items()}
        }
    where = {"date": date, "device": device, "driver": driver}
    receipt.update(format=FORMAT, tree=tree, **where)
    if options.tests:
        section = receipt.setdefault("tests", {})
        merge_tests(section, options.tests[0], options.tests[1], int(options.tests[2]))
        section.update(where)
    for tool, log, status in options.sanitizer or []:
        row = receipt.setdefault("sanitizer", {}).setdefault(tool, {})
        merge_sanitizer(row, log, status, tree, date)
        row.update(device=device)
    if options.bars:
        section = receipt.setdefault("bars", {})
        merge_bars(section, options.bars[0], options.bars[1])
        section.update(where)
    order = ["format", "tree", "date", "device", "driver", "tests", "sanitizer", "bars"]
    write_atomically(options.receipt, {key: receipt[key] for key in order if key in receipt})
    return 0


def first_fault(receipt, tree):
    """Why the receipt does not cover the tree or does not hold, or None."""
    if receipt.get("tree") != tree:
        return f"the receipt is about the tree {str(receipt.get('tree'))[:12]}, this one is {tree[:12]}: run make gpu-test"
    tests = receipt.get("tests", {})
    if not tests.get("results"):
        return "the receipt holds no tests"
    if tests.get("broken"):
        return tests["broken"]
    bad = [f"{name} {entry['result']}" for name, entry in tests["results"].items() if entry["result"] in ("failed", "not run")]
    if bad:
        return f"{len(bad)} of {len(tests['results'])} tests do not hold, first {bad[0]}"
    if not any(entry["result"] == "passed" for entry in tests["results"].values()):
        return "every test was skipped"
    bars = receipt.get("bars", {})
    if bars.get("broken"):
        return bars["broken"]
    if not bars.get("bars"):
        return "the receipt holds no bars"
    if bars.get("missing"):
        return f"{len(bars['missing'])} bars have not been measured, first {bars['missing'][0]}"
    missed = [bar for bar in bars["bars"] if bar.get("holds", bar.get("met")) is not True]
    if missed:
        first = missed[0]
        return (
            f"{len(missed)} of {len(bars['bars'])} bars do not hold, first {first.get('name')}: "
            f"{first.get('reached')} instead of {first.get('held', first.get('wanted'))}"
        )
    for tool in SANITIZERS:
        row = receipt.get("sanitizer", {}).get(tool)
        if row is None:
            return f"the receipt does not say what {tool} found"
        if row.get("result") == "failed":
            return f"{tool} failed: {row.get('reason')}"
    return None


def summary(receipt):
    tests, bars = receipt["tests"]["results"], receipt["bars"]["bars"]
    skipped = sum(entry["result"] == "skipped" for entry in tests.values())
    text = f"the receipt covers the tree: {len(tests) - skipped} tests passed"
    if skipped:
        text += f", {skipped} skipped"
    met = sum(bar.get("met") is True for bar in bars)
    text += f", {met} bars met on {receipt.get('device')}"
    if met < len(bars):
        text += f", {len(bars) - met} not reached yet"
    for tool in SANITIZERS:
        row = receipt["sanitizer"][tool]
        text += f"; {tool} {row['result']}"
        if row["result"] != "passed":
            last = row.get("last_passed")
            text += f" ({row.get('reason')}; last passed on {last[:12] if last else 'none'})"
    return text


def check(options):
    try:
        receipt = read_receipt(options.receipt)
    except FileNotFoundError:
        print(f"there is no {os.path.relpath(options.receipt, options.root)}: run make gpu-test on a machine with a GPU")
        return 1
    except (OSError, ValueError) as error:
        print(f"{os.path.relpath(options.receipt, options.root)}: {error}")
        return 1
    fault = first_fault(receipt, options.tree or tree_hash(options.root))
    print((fault or summary(receipt)).replace("\n", " "))
    return 1 if fault else 0


def names(options):
    with open(options.list, encoding="utf-8") as file:
        chosen = listed_tests(file.read())
    if options.only:
        chosen = [name for name in chosen if fnmatch.fnmatchcase(name, options.only)]
    if options.but:
        chosen = [name for name in chosen if not fnmatch.fnmatchcase(name, options.but)]
    if not options.lines:
        print(":".join(chosen) or "-*")
        return 0
    try:
        known = read_receipt(options.receipt).get("tests", {}).get("results", {})
    except (OSError, ValueError):
        known = {}
    seconds = {name: known.get(name, {}).get("seconds", math.inf) for name in chosen}
    quick = [name for name in chosen if seconds[name] < QUICK_SECONDS]
    for name in sorted(set(chosen) - set(quick), key=lambda name: (-seconds[name], name)):
        print(name)
    if quick:
        print(":".join(quick))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["hash", "names", "write", "check"])
    parser.add_argument("list", nargs="?", help="of names: the output of --gtest_list_tests")
    parser.add_argument("--only", metavar="PATTERN", help="of names: those that match")
    parser.add_argument("--but", metavar="PATTERN", help="of names: those that do not")
    parser.add_argument("--lines", action="store_true", help="of names: a filter for each test that takes long")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))), help="the source tree")
    parser.add_argument("--receipt", help="default: ROOT/" + RECEIPT)
    parser.add_argument("--tree", help="the hash, where the sources are not at hand")
    parser.add_argument("--device", help="default: the receipt's; --driver likewise")
    parser.add_argument("--driver")
    parser.add_argument("--tests", nargs=3, metavar=("REPORT", "LIST", "STATUS"))
    parser.add_argument("--sanitizer", nargs=3, action="append", metavar=("TOOL", "LOG", "STATUS"))
    parser.add_argument("--bars", nargs=2, metavar=("FILE", "STATUS"))
    options = parser.parse_args()
    options.receipt = options.receipt or os.path.join(options.root, RECEIPT)
    if options.command == "hash":
        print(tree_hash(options.root))
        return 0
    if options.command == "names":
        return names(options)
    return write(options) if options.command == "write" else check(options)


if __name__ == "__main__":
    sys.exit(main())
