"""bench/timing.py and bench/command.py, which every figure of the documentation goes through."""

import importlib.util
import math
import pathlib
import sys

import numpy as np
import pytest

BENCH = pathlib.Path(__file__).parent.parent.parent / "bench"


def load(name):
    spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCH / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


timing, command = load("timing"), load("command")


class Stream:
    """A GPU's stream whose clock only goes on while something runs there."""

    def __init__(self):
        self.now, self.log = 0.0, []

    def make(self):
        stream = self

        class Event:
            def record(self):
                self.at = stream.now

            def synchronize(self):
                stream.log.append("waited")

        return Event()

    def work(self):
        self.log.append("work")
        self.now += 2

    def flush(self):
        self.log.append("flush")
        self.now += 1000

    def events(self):
        return timing.Events(self.make, lambda begin, end: end.at - begin.at, self.flush)


def test_what_is_wrong_is_not_timed():
    x = np.arange(1, 5, dtype=np.float32)
    assert timing.require("same", timing.relative_error(x, x.astype(np.float64)), 0) == 0
    assert timing.relative_error(0 * x, 0 * x) == 0
    assert timing.relative_error(x, 0 * x) == np.inf
    with pytest.raises(RuntimeError, match=r"mine: relative error 1\.0e\+00, allowed 1\.0e-05"):
        timing.require("mine", timing.relative_error(2 * x, x), 1e-5)
    with pytest.raises(RuntimeError, match="mine: relative error nan"):
        timing.require("mine", math.nan, 1e-5)


def test_repeats_at_least_at_most_and_for_a_time():
    ran = []
    assert len(timing.repeat(lambda: ran.append(1), 0, least=4)) == len(ran) == 4
    assert len(timing.repeat(lambda: None, 1e9, least=1, most=7)) == 7
    assert timing.repeat(lambda: None, 0, least=3, clock=lambda call: 5.0) == [5.0] * 3


def test_calls_take_turns():
    ran = []
    times = timing.in_turns({"a": lambda: ran.append("a"), "b": lambda: ran.append("b")}, 3)
    assert "".join(ran) == "ababab"
    assert [len(each) for each in times.values()] == [3, 3]
    assert timing.medians({"a": [3, 1, 2], "b": [4, 5, 60]}, 10) == {"a": 20, "b": 50}
    assert timing.spread([3, 1, 8], 1e3) == {"median": 3000, "min": 1000, "max": 8000}


def test_between_events_only_the_work_counts():
    stream = Stream()
    events = stream.events()
    assert events(stream.work, 5) == pytest.approx(2e-3)
    assert stream.log == ["work"] * 5 + ["waited"]
    stream.log.clear()
    assert timing.repeat(stream.work, 0, least=2, clock=events.cold) == pytest.approx([2e-3] * 2)
    assert stream.log == ["flush", "work", "waited"] * 2


def test_runs_are_of_as_many_calls_as_the_time_allows():
    stream = Stream()
    assert timing.paced(stream.work, stream.events(), runs=3, seconds=60e-3) == pytest.approx([2e-3] * 3)
    assert stream.log.count("work") == 2 + 1 + 3 * 10
    stream.log.clear()
    timing.paced(stream.work, stream.events(), runs=1, seconds=0)
    assert stream.log.count("work") == 2 + 1 + 1


def test_the_command_says_what_went_wrong():
    def python(code):
        return [sys.executable, "-c", code]

    assert command.run(python('print(\'{"taps": 3}\\n{"taps": 4}\')')) == [{"taps": 3}, {"taps": 4}]
    for code, words in (("import sys; sys.exit('first\\nlast line')", "^last line$"), ("import sys; sys.exit(3)", "^status 3$")):
        with pytest.raises(command.BenchError, match=words):
            command.run(python(code))
    with pytest.raises(command.BenchError, match="Expecting"):
        command.run(python("print('no JSON')"))
    with pytest.raises(command.BenchError, match="more than 0 s"):
        command.run(python("import time; time.sleep(60)"), timeout=0.05)
    with pytest.raises(command.BenchError, match="No such file"):
        command.run(["/no/such/program"])
