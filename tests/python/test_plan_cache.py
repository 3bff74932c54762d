"""The cache of plans: what stays, what it says of itself, its limit."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tapline

DEFAULT = 1 << 30


@pytest.fixture(autouse=True)
def empty_cache():
    tapline.clear_plan_cache()
    yield
    tapline.set_plan_cache_limit(DEFAULT)
    tapline.clear_plan_cache()


def held():
    return tapline.info()["plan_cache"]


def seen(call):
    """(hits, misses) of a call."""
    before = held()
    call()
    after = held()
    return after["hits"] - before["hits"], after["misses"] - before["misses"]


def test_it_says_what_it_holds():
    x, h = np.arange(50.0), np.ones(7)
    assert (held()["plans"], held()["host_bytes"], held()["device_bytes"], held()["limit_bytes"]) == (0, 0, 0, DEFAULT)
    assert seen(lambda: tapline.convolve(x, h)) == (0, 1)
    assert seen(lambda: tapline.convolve(x, h.copy())) == (1, 0)
    assert held()["plans"] == 1
    assert held()["host_bytes"] >= h.nbytes
    assert held()["preparation_seconds"] > 0


def test_signals_and_images_share_it():
    image, mask = np.ones((20, 30), np.float32), np.arange(9.0).reshape(3, 3)
    assert seen(lambda: tapline.image(image, mask)) == (0, 1)
    assert seen(lambda: tapline.image(image, mask)) == (1, 0)
    mask[0, 0] = 5  # another mask in the same array
    got = tapline.image(image, mask, "valid")
    assert got[0, 0] == mask.sum()
    assert seen(lambda: tapline.convolve(image, mask[0])) == (0, 1)
    assert held()["plans"] == 3


def test_options_and_layouts_are_plans_of_their_own():
    x, h = np.arange(60.0).reshape(6, 10), np.ones(3)
    calls = [
        lambda: tapline.convolve(x, h),
        lambda: tapline.convolve(x, h, "same"),
        lambda: tapline.convolve(x, h, axis=0),
        lambda: tapline.convolve(x[:, ::2], h),
        lambda: tapline.convolve(x, h, scale=2.0),
        lambda: tapline.convolve(x, h, scale=2.0, bias=1.0),
        lambda: tapline.convolve(x, h, boundary="constant", constant=1.0),
        lambda: tapline.convolve(x, h, boundary="constant", constant=2.0),
        lambda: tapline.convolve(x, h, clamp=(0, 9)),
        lambda: tapline.convolve(x, h, clamp=(0, 8)),
        lambda: tapline.convolve(x, h, accuracy="strict"),
        lambda: tapline.convolve(x.astype(np.float32), h.astype(np.float32)),
        lambda: tapline.correlate(x, h),
    ]
    for call in calls:
        assert seen(call) == (0, 1)
    for call in calls:
        assert seen(call) == (1, 0)


def test_the_limit_is_kept():
    x = np.arange(50.0)
    tapline.set_plan_cache_limit(1 << 20)
    for seed in range(20):
        tapline.convolve(x, np.random.default_rng(seed).standard_normal(5000), "causal")
        assert held()["host_bytes"] + held()["device_bytes"] <= 1 << 20
    assert 0 < held()["plans"] < 20
    tapline.set_plan_cache_limit(0)
    assert held()["plans"] == 0
    tapline.convolve(x, np.ones(3))
    assert held()["plans"] == 0


def test_many_plans_have_an_end():
    x = np.arange(50.0)
    for k in range(1, 400):
        tapline.convolve(x, np.ones(k))
    assert 200 < held()["plans"] < 400


def test_what_cost_much_for_its_bytes_stays():
    """A mask's singular values take milliseconds, and its plan few bytes; a long filter that is summed takes none."""
    image, mask = np.ones((300, 300), np.float32), np.random.default_rng(1).standard_normal((31, 31)).astype(np.float32)
    tapline.image(image, mask)
    tapline.set_plan_cache_limit(2 << 20)
    for seed in range(60):
        tapline.convolve(np.ones(3), np.random.default_rng(seed).standard_normal(20_000), "same")
    assert seen(lambda: tapline.image(image, mask)) == (1, 0)
    assert held()["plans"] < 20


def test_the_environment_sets_the_limit():
    code = "import tapline; print(tapline.info()['plan_cache']['limit_bytes'])"
    for text, wanted in (("12345", 12345), ("0", 0), ("", DEFAULT), ("many", DEFAULT), ("-1", DEFAULT)):
        answer = subprocess.run(
            [sys.executable, "-c", code],
            env=dict(os.environ, TAPLINE_PLAN_CACHE_BYTES=text),
            capture_output=True,
            text=True,
            check=True,
        )
        assert int(answer.stdout) == wanted
