"""What bench/cliffs.py decides without measuring: problems, twins, what is drawn, what is compared, what a report says."""

import itertools
import json
import math
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent.parent / "bench"))

import cliffs
import cliffs_case
import cliffs_problems as problems
import cliffs_report as report


def first(count, seed=7, limit=1 << 20):
    return list(itertools.islice(problems.Grid(seed, limit, 1e8, on_gpu=False), count))


def test_the_same_seed_draws_the_same_problems_and_all_fit():
    drawn = first(60)
    assert drawn == first(60)
    assert drawn != first(60, seed=8)
    assert len(set(map(problems.key_of, drawn))) == 60
    assert all(problems.held_bytes(p) <= 1 << 20 for p in drawn)
    assert all(n >= 1 for p in drawn for n in problems.output_shape(p))
    assert {p.call in ("convolve", "image") for p in drawn} == {True, False}


def test_a_problem_survives_json():
    for p in first(40) + problems.fixed(4096, on_gpu=True) + problems.mapped(4096):
        again = problems.from_json(json.loads(problems.key_of(p)))
        assert again == p
        assert problems.describe(again) == problems.describe(p)


def test_the_fixed_list_has_no_problem_twice_and_the_map_all_layouts():
    names = [problems.describe(p) for p in problems.fixed(1, on_gpu=True)]
    assert len(set(names)) == len(names)
    assert "time first, 2^20 x 64 f32, 16,385 taps along axis 0" in names
    assert "one signal, 2^26 f32, 4,194,301 taps, full" in names
    assert "volume, 384 x 384 x 384 f32, correlate mask 7 x 7 x 7" in names
    assert {p.layout for p in problems.mapped(1)} == set(problems.LAYOUTS)


def test_twins_are_contiguous_and_of_the_type_of_the_sums():
    twin = problems.twin_of(problems.signal("time first", 64, 1000, 9))
    assert (twin.shape, twin.axes, twin.dtype, twin.layout) == ((64, 1000), (1,), "float32", "contiguous")
    assert problems.twin_of(problems.signal("contiguous rows", 64, 1000, 9)) is None
    assert problems.twin_of(problems.signal("one signal", 1, 1000, 9, boundary="reflect")) is None
    assert problems.twin_of(problems.signal("one signal", 1, 1000, 9, dtype="int16")).dtype == "float32"
    assert problems.twin_of(problems.signal("reversed view", 1, 1000, 9)).shape == (1000,)
    channels = problems.twin_of(problems.image((5, 20, 30, 3), (3, 3), axes=(1, 2)))
    assert (channels.shape, channels.axes) == ((15, 20, 30), (1, 2))
    to_bytes = problems.signal("one signal", 1, 1000, 9, epilogue="scale, bias and clamp to bytes")
    assert (problems.result_type(to_bytes), problems.result_type(problems.twin_of(to_bytes))) == (np.uint8, np.float32)


def test_bytes_count_what_moves():
    assert problems.moved_bytes(problems.signal("one signal", 1, 1000, 9)) == 8000
    assert problems.moved_bytes(problems.signal("one signal", 1, 1000, 9, dtype="uint8", mode="full")) == 1000 + 4 * 1008
    assert problems.moved_bytes(problems.signal("one signal, many filters", 10, 1000, 9)) == 4000 + 40000


@pytest.mark.parametrize("boundary", ["reflect", "mirror", "nearest", "wrap"])
def test_positions_beyond_the_ends_are_those_of_numpy_pad(boundary):
    mode = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap"}[boundary]
    for n in (1, 2, 7):
        wanted = np.pad(np.arange(n), 20, mode=mode)
        np.testing.assert_array_equal(cliffs_case.source(np.arange(-20, n + 20), n, boundary), wanted)
    np.testing.assert_array_equal(cliffs_case.source(np.arange(-1, 4), 3, "zero"), [-1, 0, 1, 2, -1])


def test_a_wrong_result_and_a_nan_are_found():
    pytest.importorskip("scipy")
    home, pool = cliffs_case.Home(), cliffs_case.Pool(1)
    case = cliffs_case.case_of(problems.signal("time first", 4, 500, 9, boundary="mirror"), home, pool)
    right = case.call()
    assert case.error(right) <= case.tolerance()
    assert case.error(np.roll(right, 1, 0)) > 0.1
    spoilt = right.copy()
    spoilt[3, 2] = np.nan
    assert not case.error(spoilt) <= case.tolerance()
    assert case.error(right[1:]) == math.inf


def test_every_drawn_kind_is_measured_or_says_why_not():
    pytest.importorskip("scipy")
    home, pool = cliffs_case.Home(), cliffs_case.Pool(1)
    for p in first(30, limit=1 << 16) + problems.fixed(1 << 16, on_gpu=False)[::9]:
        case = cliffs_case.case_of(p, home, pool)
        try:
            result = case.call()
        except (NotImplementedError, TypeError, ValueError):
            continue
        assert case.error(result) <= case.tolerance(), problems.describe(p)


def test_twins_give_the_same_sums_and_differences_are_found(monkeypatch):
    home, pool = cliffs_case.Home(), cliffs_case.Pool(1)
    drawn = cliffs.pairs(problems.Grid(7, 1 << 16, 1e8, on_gpu=False))
    rows = [cliffs.measure_pair(*pair, home, pool) for pair in itertools.islice(drawn, 50)]
    assert not [row for row in rows if "wrong" in row]
    assert sum(row.get("difference") is not None for row in rows) > 10
    p = problems.signal("time first", 4, 500, 9, each=True)
    monkeypatch.setattr(cliffs, "laid_out", lambda x, axes, shape, xp: np.roll(x, 1, 0).reshape(shape))
    row = cliffs.measure_pair(p, problems.twin_of(p), home, pool)
    assert "wrong" in row
    assert f"wrong: {row['name']}" in cliffs.summary([row], 1)


def row(name, tapline, layout="time first", **others):
    p = problems.signal(layout, 64, 1000, 9)
    times = {"tapline": tapline, "copy": 1.0, **others}
    return {
        "set": "map",
        "name": name,
        "problem": json.loads(problems.key_of(p)),
        "figure": "min",
        "seconds": {key: {"median": 9.0, "min": t, "max": 10.0} for key, t in times.items()},
        "algorithm": "direct",
        "why": "fastest by the cost model: direct 1.5 us; textbook 2 ms; integer no (not both integers)",
        "error": {"tapline": 1e-7},
        "left_out": {"torch.fft": "not installed: torch"},
    }


def test_the_worst_come_first_and_are_counted():
    rows = [row("fine", 2.0, twin=2.0), row("peer", 2.0, **{"torch.fft": 1.0}), row("twin", 8.0, twin=2.0)]
    rows.append({"set": "map", "name": "not taken", "problem": rows[0]["problem"], "refused": "TypeError: no"})
    text = report.worst_text(rows)
    assert text.index("| twin |") < text.index("| peer |")
    assert "fine" not in text
    assert "direct: direct 1.5 us; textbook 2 ms" in text
    assert report.counts("all", rows) == ["all", "3", "1 (100%)", "1 (50%)", "1 (50%)", "50.0%", "1", "0"]
    assert "torch.fft was left out (not installed: torch)" in report.peers_text(rows)
    assert report.curves(rows, report.share) == {"time first": [(9, 0.125), (9, 0.5), (9, 0.5)]}


def test_results_are_kept_and_found_again(tmp_path):
    path, machine = tmp_path / "results.json", {"processor": "one", "home": "cpu", "date": "today"}
    p = problems.signal("one signal", 1, 100, 3)
    options = {"seed": 1, "busy": False}
    results = cliffs.Results(path, machine, options, resume=True)
    results.add({"problem": json.loads(problems.key_of(p)), "seconds": {"tapline": 1 / 3}}, "fixed")
    again = cliffs.Results(path, machine, options, resume=True)
    assert problems.key_of(p) in again.done
    assert again.data["rows"][0]["seconds"] == {"tapline": 0.3333}
    with pytest.raises(SystemExit, match="another machine"):
        cliffs.Results(path, machine | {"processor": "two"}, options, resume=True)
    with pytest.raises(SystemExit, match="or otherwise"):
        cliffs.Results(path, machine, options | {"busy": True}, resume=True)


def test_direct_sums_are_not_waited_for():
    rates = cliffs.Rates()
    peer = next(peer for peer in cliffs.PEERS if peer.name == "ndimage.correlate")
    assert rates.expected(peer, 2e9) == 1
    rates.learn(peer, 1e8, 1.0)
    assert rates.expected(peer, 2e9) == 10
    assert rates.expected(next(peer for peer in cliffs.PEERS if peer.name == "torch.fft"), 1e20) == 0
