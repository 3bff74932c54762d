#!/usr/bin/env python3
"""The receipt script on small trees: what it covers, what it accepts, and what its last line says."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "scripts", "gpu_receipt.py")
CLEAN = """[==========] Running 3 tests from 1 test suite.
[==========] 3 tests from 1 test suite ran. (5 ms total)
[  PASSED  ] 3 tests.
========= {summary}
"""


class Tree(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = self.folder.name
        for path in [
            "include/a.hpp",
            "src/core/b.cpp",
            "src/cuda/x/c.cu",
            "tests/gpu/d.cpp",
            "tests/support/e.hpp",
            "src/cpu/f.cpp",
        ]:
            self.put(path, path)

    def number(self):
        self.files = getattr(self, "files", 0) + 1
        return self.files

    def put(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_script(self, *arguments):
        done = subprocess.run(
            [sys.executable, SCRIPT, *arguments, "--root", self.root], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    def hash(self):
        status, text = self.run_script("hash")
        self.assertEqual(status, 0)
        return text.strip()

    def write(self, *arguments):
        status, text = self.run_script("write", "--device", "A GPU", "--driver", "1.2", *arguments)
        self.assertEqual(status, 0, text)

    def receipt(self):
        with open(os.path.join(self.root, "tests/gpu/receipt.json"), encoding="utf-8") as file:
            return json.load(file)

    def check(self):
        status, text = self.run_script("check")
        self.assertNotIn("Traceback", text)
        return status, text.strip().splitlines()[-1]

    def results(self, results, status="0", listed=None):
        """Results by name: passed, failed or skipped."""
        suite = []
        for name, result in results.items():
            test = {"name": name, "classname": "Suite", "status": "RUN", "result": "COMPLETED", "time": "0.5s"}
            if result == "failed":
                test["failures"] = [{"failure": "/some/where/tests/gpu/a_test.cpp:7\nnot 1/2", "type": ""}]
            if result == "skipped":
                test.update(result="SKIPPED", skipped=[{"message": "one device only"}])
            suite.append(test)
        report = self.put(f"report{self.number()}.json", json.dumps({"testsuites": [{"name": "Suite", "testsuite": suite}]}))
        names = self.put(
            f"list{self.number()}",
            "Running main() from somewhere\nSuite.\n" + "".join(f"  {n}  # param\n" for n in listed or results),
        )
        return ["--tests", report, names, status]

    def bars(self, *met):
        rows = [{"name": f"bar {i}", "wanted": 0.97, "reached": 0.98 if m else 0.5, "met": m} for i, m in enumerate(met)]
        return ["--bars", self.put(f"bars{self.number()}.json", json.dumps({"bars": rows})), "0"]

    def sanitizer(self, tool, log, status="0"):
        return ["--sanitizer", tool, self.put(tool + ".log", log), status]

    def clean(self):
        return [
            *self.sanitizer("memcheck", CLEAN.format(summary="ERROR SUMMARY: 0 errors")),
            *self.sanitizer("racecheck", CLEAN.format(summary="RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)")),
        ]

    def all_well(self):
        return [*self.results({"A": "passed", "B": "skipped"}), *self.bars(True, True), *self.clean()]


class Hash(Tree):
    def test_changes_with_each_covered_file(self):
        seen = {self.hash()}
        for path in ["include/a.hpp", "src/core/b.cpp", "src/cuda/x/c.cu", "tests/gpu/d.cpp", "tests/support/e.hpp"]:
            self.put(path, "changed")
            seen.add(self.hash())
        self.put("src/cuda/new.cu", "")
        seen.add(self.hash())
        os.rename(os.path.join(self.root, "src/cuda/new.cu"), os.path.join(self.root, "src/cuda/other.cu"))
        seen.add(self.hash())
        self.assertEqual(len(seen), 8)

    def test_moving_text_between_files_changes_it(self):
        self.put("src/core/b.cpp", "ab")
        self.put("src/core/c.cpp", "c")
        before = self.hash()
        self.put("src/core/b.cpp", "a")
        self.put("src/core/c.cpp", "bc")
        self.assertNotEqual(self.hash(), before)

    def test_does_not_depend_on_what_it_does_not_cover(self):
        before = self.hash()
        for path in ["src/cpu/f.cpp", "tests/gpu/receipt.json", "tests/gpu/__pycache__/x.pyc", "src/core/.b.cpp.swp", "README.md"]:
            self.put(path, "other")
        self.assertEqual(self.hash(), before)


class Check(Tree):
    def test_all_well(self):
        self.write(*self.all_well())
        status, line = self.check()
        self.assertEqual(status, 0, line)
        self.assertIn("1 tests passed, 1 skipped, 2 bars met on A GPU", line)
        receipt = self.receipt()
        self.assertEqual(receipt["tests"]["results"]["Suite.B"]["reason"], "one device only")
        self.assertEqual(receipt["sanitizer"]["memcheck"]["last_passed"], self.hash())
        self.assertEqual(receipt["driver"], "1.2")

    def test_missing_and_damaged(self):
        self.assertEqual(self.check()[0], 1)
        self.assertIn("there is no tests/gpu/receipt.json", self.check()[1])
        for text in ["", "{", "[]", '{"format": 99}', "null"]:
            self.put("tests/gpu/receipt.json", text)
            status, line = self.check()
            self.assertEqual(status, 1, text)
            self.assertIn("receipt.json", line)

    def test_another_tree(self):
        self.write(*self.all_well())
        self.put("src/cuda/x/c.cu", "changed")
        status, line = self.check()
        self.assertEqual(status, 1)
        self.assertIn("run make gpu-test", line)
        self.put("src/cuda/x/c.cu", "src/cuda/x/c.cu")
        self.assertEqual(self.check()[0], 0)

    def test_a_failed_test(self):
        self.write(*self.all_well(), *self.results({"A": "passed", "B": "failed"}, "1"))
        self.assertEqual(self.receipt()["tests"]["results"]["Suite.B"]["reason"], "tests/gpu/a_test.cpp:7\nnot 1/2")
        status, line = self.check()
        self.assertEqual(status, 1)
        self.assertIn("1 of 2 tests do not hold, first Suite.B failed", line)

    def test_a_bar_that_is_not_met(self):
        self.write(*self.all_well(), *self.bars(True, False))
        status, line = self.check()
        self.assertEqual(status, 1)
        self.assertIn("1 of 2 bars do not hold, first bar 1: 0.5 instead of 0.97", line)

    def test_a_bar_that_is_not_reached_yet(self):
        rows = [
            {"name": "bar", "wanted": 0.97, "held": held, "reached": 0.5, "met": False, "holds": held <= 0.5} for held in (0.4, 0.6)
        ]
        for row, wanted_status, text in [
            (rows[0], 0, "0 bars met on A GPU, 2 not reached yet"),
            (rows[1], 1, "0.5 instead of 0.6"),
        ]:
            self.write(
                *self.all_well(),
                "--bars",
                self.put("bars.json", json.dumps({"bars": [row | {"name": "bar 0"}, row | {"name": "bar 1"}]})),
                "0",
            )
            status, line = self.check()
            self.assertEqual(status, wanted_status)
            self.assertIn(text, line)

    def test_bars_of_several_runs(self):
        def run(met, missing):
            row = {"name": "other", "wanted": 0.97, "reached": 0.98 if met else 0.5, "met": met}
            self.write("--bars", self.put("bars.json", json.dumps({"bars": [row], "missing": missing})), "0")
            return self.check()

        self.write(*self.all_well())
        self.assertEqual(run(True, ["bar 0", "bar 1", "bar 2"]), (1, "1 bars have not been measured, first bar 2"))
        status, line = run(False, ["bar 0", "bar 1"])
        self.assertEqual(status, 1)
        self.assertIn("1 of 3 bars do not hold, first other", line)
        status, line = run(True, [])
        self.assertEqual(status, 0)
        self.assertIn("3 bars met", line)

    def test_bars_of_several_gpus_stay_when_one_is_measured(self):
        self.write(*self.all_well())
        several = {"name": "2 GPUs, 127 taps, as many in all", "wanted": 0.55, "reached": 0.52, "met": True, "device": "TWO GPUs"}
        self.run_script("write", "--bars", self.put("several.json", json.dumps({"bars": [several], "missing": []})), "0")
        self.assertEqual((self.receipt()["device"], self.receipt()["driver"]), ("A GPU", "1.2"))
        self.write(*self.all_well())
        self.assertIn(several, self.receipt()["bars"]["bars"])
        self.assertEqual(self.receipt()["bars"]["missing"], [])
        status, line = self.check()
        self.assertEqual(status, 0)
        self.assertIn("3 bars met", line)

    def test_a_file_of_several_gpus_is_merged_by_one_command(self):
        measured = os.path.join(ROOT, "bench/results/scaling_h100_x2.json")
        receipt = os.path.join(self.root, "receipt.json")
        environment = {
            "PATH": os.environ["PATH"],
            "GPU_TEST_STAGES": "several",
            "GPU_SEVERAL_FILE": measured,
            "GPU_RECEIPT": receipt,
            "GPU_TEST_LOGS": os.path.join(self.root, "logs"),
        }
        done = subprocess.run(
            ["bash", os.path.join(ROOT, "scripts/gpu_test.sh")], env=environment, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(receipt, encoding="utf-8") as file:
            names = [bar["name"] for bar in json.load(file)["bars"]["bars"]]
        self.assertIn("2 GPUs, 65,535 taps, as many in all", names)
        self.assertIn("process group of 2, conv1d, 4,096 taps, forward and backward", names)

    def test_parts_that_are_missing(self):
        for parts, text in [
            ([], "no tests"),
            (self.results({"A": "passed"}), "no bars"),
            ([*self.results({"A": "passed"}), *self.bars(True)], "memcheck"),
            ([*self.results({"A": "skipped"}), *self.bars(True), *self.clean()], "every test was skipped"),
        ]:
            self.put("tests/gpu/receipt.json", "")
            self.write(*parts)
            status, line = self.check()
            self.assertEqual(status, 1)
            self.assertIn(text, line)

    def test_a_test_that_the_filter_left_out(self):
        self.write(*self.all_well())
        self.write(*self.results({"A": "passed"}, listed=["A", "B", "C"]))
        self.assertIn("1 of 3 tests do not hold, first Suite.C not run", self.check()[1])  # B was skipped before
        self.write(*self.results({"C": "passed"}, listed=["A", "B", "C"]))
        self.assertEqual(self.check()[0], 0)

    def test_a_crash_counts(self):
        self.write(*self.all_well())
        listing = self.put("list", "Suite.\n  A\n")
        self.write("--tests", os.path.join(self.root, "nothing.json"), listing, "139")
        status, line = self.check()
        self.assertEqual(status, 1)
        self.assertIn("status 139", line)
        self.write(*self.results({"A": "passed"}, "134"))  # a crash after the report
        self.assertIn("status 134", self.check()[1])


class Sanitizer(Tree):
    def row(self, tool="memcheck"):
        return self.receipt()["sanitizer"][tool]

    def test_errors_fail(self):
        self.write(*self.all_well(), *self.sanitizer("memcheck", CLEAN.format(summary="ERROR SUMMARY: 3 errors"), "99"))
        status, line = self.check()
        self.assertEqual(status, 1)
        self.assertIn("memcheck failed: 3 errors", line)

    def test_hazards_fail_even_with_status_0(self):
        log = CLEAN.format(summary="RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)")
        self.write(*self.all_well(), *self.sanitizer("racecheck", log))
        self.assertEqual(self.check()[0], 1)

    def test_a_failing_test_under_it_fails(self):
        log = CLEAN.format(summary="ERROR SUMMARY: 0 errors").replace("[  PASSED  ] 3", "[  PASSED  ] 2")
        self.write(*self.all_well(), *self.sanitizer("memcheck", log, "1"))
        self.assertEqual(self.check()[0], 1)

    def test_tests_that_were_all_filtered_away_do_not_pass(self):
        log = CLEAN.format(summary="ERROR SUMMARY: 0 errors").replace("] 3 tests", "] 0 tests")
        self.write(*self.all_well(), *self.sanitizer("memcheck", log))
        self.assertNotEqual(self.row()["result"], "passed")

    def test_could_not_run_keeps_what_it_last_passed_on(self):
        self.write(*self.all_well())
        passed_on = self.hash()
        self.put("src/core/b.cpp", "changed")
        denied = "========= Error: Target application could not be debugged: permission denied\n"
        self.write(
            *self.results({"A": "passed"}),
            *self.bars(True),
            *self.sanitizer("memcheck", denied, "1"),
            "--sanitizer",
            "racecheck",
            os.path.join(self.root, "none"),
            "compute-sanitizer is not installed",
        )
        self.assertEqual(self.row()["result"], "not run")
        self.assertIn("permission denied", self.row()["reason"])
        self.assertEqual(self.row()["last_passed"], passed_on)
        self.assertEqual(self.row("racecheck")["reason"], "compute-sanitizer is not installed")
        status, line = self.check()
        self.assertEqual(status, 0, line)
        self.assertIn(passed_on[:12], line)

    def test_too_slow_is_not_run(self):
        self.write(*self.all_well(), *self.sanitizer("memcheck", "[==========] Running 3 tests", "124"))
        self.assertEqual(self.row()["result"], "not run")


class Merging(Tree):
    def test_stages_of_one_tree_add_up(self):
        self.write(*self.results({"A": "passed"}))
        self.write(*self.bars(True))
        self.write(*self.clean())
        self.assertEqual(self.check()[0], 0)

    def test_a_changed_tree_drops_the_rest(self):
        self.write(*self.all_well())
        self.put("include/a.hpp", "changed")
        self.write(*self.bars(True))
        self.assertNotIn("tests", self.receipt())
        self.assertEqual(self.row_result(), "not run")
        self.assertEqual(self.check()[0], 1)

    def row_result(self):
        return self.receipt()["sanitizer"]["memcheck"]["result"]


if __name__ == "__main__":
    unittest.main()
