"""What a newcomer meets first: show_config, how plans show themselves, plots, progress."""

import io
import json
import sys
import types

import numpy as np
import pytest

import tapline
from tapline._tools import progress as _progress


def test_show_config_prints_what_was_found(capsys):
    assert tapline.show_config() is None
    text = capsys.readouterr().out
    assert text.startswith("tapline ")
    assert tapline.__version__ in text
    for word in ("engine cpu", "engine cuda", "instruction set", "threads", "packages"):
        assert word in text
    config = tapline.show_config("dicts")
    json.dumps(config)
    assert config["packages"]["numpy"] == np.__version__
    for engine in config["engines"]:  # what was not found comes with what to do
        assert engine["available"] or any(engine["reason"] in line for line in config["advice"])
    with pytest.raises(ValueError, match="'stdout' or 'dicts'"):
        tapline.show_config("yaml")


@pytest.mark.parametrize("word", ["info", "--version"])
def test_info_needs_no_command(word, capsys, monkeypatch):
    from tapline import __main__
    from tapline._tools import info

    monkeypatch.setattr(info, "command_path", lambda: None)
    monkeypatch.setattr(sys, "argv", ["tapline", word])
    __main__.main()
    text = capsys.readouterr().out
    assert "engine cpu" in text
    assert "TAPLINE_BUILD_CLI=ON" in text
    monkeypatch.setattr(sys, "argv", ["tapline", "convolve"])
    with pytest.raises(SystemExit, match="has no command"):
        __main__.main()


def test_a_plan_shows_itself():
    plan = tapline.Plan((4, 100), np.ones(7, np.float32) / 7, "same", dtype="float32")
    assert repr(plan).startswith("<tapline.Plan: same convolution of ")
    assert repr(plan).endswith(f"; {plan.algorithm} on {plan.device}>")
    assert plan.taps.dtype == np.float32
    assert plan.taps.tolist() == [float(np.float32(1) / np.float32(7))] * 7
    plan.taps[:] = 0  # a copy
    assert plan(np.ones((4, 100), np.float32))[0, 50] == pytest.approx(1)


@pytest.mark.parametrize(
    "taps",
    [
        [1.0],
        [0.0, 0.0],
        np.hanning(100_000),
        [1 + 1j, 2.0],
        [1, -2, 1],
        [np.inf, 1.0],
        np.ones((2, 3)),
    ],
    ids=["one", "zeros", "long", "complex", "integers", "infinite", "a filter a row"],
)
def test_the_html_of_a_plan(taps):
    taps = np.asarray(taps)
    html = tapline.Plan((2, 200_000), taps, "full", dtype=np.result_type(taps, "f4"))._repr_html_()
    assert html.count("<div>") == html.count("</div>") == 1
    assert "algorithm:" in html
    assert "nan" not in html
    assert ("<svg" in html) == bool(np.all(np.isfinite(taps)))
    assert len(html) < 120_000


def test_plots():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    figure = tapline.plot_taps([0.25, 0.5, 0.25], rate=48_000)
    left, right = figure.axes
    assert left.lines[0].get_ydata().tolist() == [0.25, 0.5, 0.25]
    frequencies, gain = right.lines[0].get_data()
    assert frequencies[0] == 0
    assert frequencies[-1] == 24_000
    assert gain[0] == pytest.approx(0, abs=1e-9)
    assert gain[len(gain) // 2] == pytest.approx(-6.02, abs=0.1)
    assert tapline.Plan(50, [1.0, 2.0]).plot().axes[0].lines[0].get_ydata().tolist() == [1, 2]
    assert len(tapline.plot_taps(np.ones((20, 3))).axes[0].lines) == 8
    pyplot.close("all")


def test_plots_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        tapline.plot_taps([1.0])
    with pytest.raises(ValueError, match="at least one"):
        tapline.plot_taps([])
    with pytest.raises(TypeError, match="give numbers"):
        tapline.plot_taps(["a"])


def test_progress_is_called():
    seen = []
    tapline.bench(1000, [3, 5], seconds=0.001, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(TypeError, match="progress"):
        tapline.bench(1000, 3, seconds=0.001, progress=7)


def test_a_bar_after_two_seconds(monkeypatch):
    bars = []

    class Bar:
        def __init__(self, **options):
            self.n = options["initial"]
            bars.append(self)

        def update(self):
            self.n += 1

        def close(self):
            self.closed = True

    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    monkeypatch.setattr(_progress.importlib.util, "find_spec", lambda name: name)
    now = [0.0]
    monkeypatch.setattr(_progress.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(_progress, "_is_watched", lambda: True)
    with _progress.Progress(4) as steps:
        steps.step()
        assert not bars  # nothing is said of what is quick
        now[0] = 2.1
        for _ in range(3):
            steps.step()
    assert bars[0].n == 4
    assert bars[0].closed
    monkeypatch.setattr(_progress, "_is_watched", lambda: False)
    with _progress.Progress(4) as steps:
        now[0] = 9.0
        for _ in range(4):
            steps.step()
    assert len(bars) == 1


def test_nobody_watches_a_file(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert "ipykernel" in sys.modules or not _progress._is_watched()
