#!/usr/bin/env python3
"""scripts/gpu_measure.sh with programs that only pretend: which GPU each part has, that parts of one GPU take turns, and that
a run that is cut off leaves what it has."""

import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "gpu_measure.sh"

# Tells when it ran and on which GPU; the ladder's results are empty, and no bar can be measured.
TAPLINE = """#!/bin/bash
echo "begin $1 ${CUDA_VISIBLE_DEVICES:-all}" >>"$CALLS"
sleep "${PRETENDED_SECONDS:-0.02}"
while [ $# -gt 0 ]; do [ "$1" != --json ] || [ "$2" = - ] || echo '{}' >"$2"; shift; done
echo "end" >>"$CALLS"
"""
NVIDIA_SMI = """#!/bin/bash
if [ "$1" = -L ]; then for ((i = 0; i < GPUS; ++i)); do echo "GPU $i: pretended"; done; else echo pretended; fi
"""


class Measure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.program("path/nvidia-smi", NVIDIA_SMI)
        self.program("bundle/bin/tapline", TAPLINE)
        (self.root / "bundle/tree").write_text("0123456789abcdef\n", encoding="utf-8")

    def program(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def run_script(self, *arguments, gpus=4, **environment):
        variables = (
            os.environ
            | {
                "PATH": f"{self.root / 'path'}:{os.environ['PATH']}",
                "GPUS": str(gpus),
                "CALLS": str(self.root / "calls"),
                "GPU_BUNDLE": str(self.root / "bundle"),
            }
            | environment
        )
        done = subprocess.run(["bash", SCRIPT, *arguments], env=variables, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def results(self):
        return self.root / "results"

    def test_arguments(self):
        self.assertEqual(self.run_script()[0], 2)
        self.assertEqual(self.run_script("results", GPU_BUNDLE="")[0], 2)
        status, text = self.run_script(str(self.results()), "bar")
        self.assertEqual(status, 2)
        self.assertIn("'bar' is none of host tests bars", text)
        status, text = self.run_script(str(self.results()), "bars", gpus=0)
        self.assertEqual(status, 1)
        self.assertIn("nvidia-smi names no GPU", text)

    def test_each_part_has_its_gpu(self):
        status, text = self.run_script(str(self.results()), "host", "ladder")
        self.assertEqual(status, 0, text)
        calls = (self.root / "calls").read_text(encoding="utf-8").splitlines()
        self.assertIn("begin bench 0", calls)  # host
        self.assertEqual(calls.count("begin ladder 1"), 9)  # signals, eight kinds of images
        for name in ["ladder", "ladder_image_3", "ladder_image_sep_31"]:
            self.assertEqual((self.results() / f"{name}.status").read_text(encoding="utf-8"), "0\n")
            self.assertEqual((self.results() / f"{name}.json").read_text(encoding="utf-8"), "{}\n")
        receipt = json.loads((self.results() / "receipt.json").read_text(encoding="utf-8"))
        self.assertEqual(receipt["tree"], "0123456789abcdef")
        self.assertIn("the receipt holds no tests", text)

    def test_parts_of_one_gpu_take_turns(self):
        status, text = self.run_script(str(self.results()), "bars", "choice", "ladder", gpus=1)
        self.assertEqual(status, 0, text)
        calls = (self.root / "calls").read_text(encoding="utf-8").splitlines()
        self.assertGreater(len(calls), 40)
        for begin, end in zip(calls[::2], calls[1::2], strict=True):
            self.assertTrue(begin.startswith("begin") and end == "end", f"{begin}, {end}")

    def test_what_is_cut_off_leaves_what_it_has(self):
        begin = time.monotonic()
        status, text = self.run_script(str(self.results()), "ladder", PRETENDED_SECONDS="2", GPU_MEASURE_SECONDS="3")
        self.assertEqual(status, 0, text)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertTrue((self.results() / "ladder.json").exists())
        self.assertFalse((self.results() / "ladder_image_63.json").exists())
        self.assertIn("no time is left", text)


if __name__ == "__main__":
    unittest.main()
