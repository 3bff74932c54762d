"""A pytest plugin: puts tapline's functions in the place of NumPy's and SciPy's and runs their own, unmodified tests.

    python -m pytest -p tapline_in_place --pyargs $(python tests/python/tapline_in_place.py)

Each exception below is named, has a reason, and must really fail. The run fails if there are more than 3% of them, if a named
test does not exist any more, or if too few calls reached tapline.
"""

import importlib
from collections import Counter

import pytest

# The tests that the functions below are held to.
TESTS = {
    "numpy._core.tests.test_numeric": ["TestConvolve", "TestCorrelate"],
    "scipy.signal.tests.test_signaltools": [
        "TestConvolve",
        "TestConvolve2d",
        "TestFFTConvolve",
        "TestOAConvolve",
        "TestAllFreqConvolves",
        "TestCorrelateReal",
        "TestCorrelate",
        "TestCorrelateComplex",
        "TestCorrelate2d",
        "test_convolve_longdtype_input",
        "test_correlation_lags",
        "test_correlation_lags_invalid_mode",
        "test_choose_conv_method",
        "test_choose_conv_method_2",
    ],
    "scipy.signal.tests.test_upfirdn": ["TestUpfirdn", "test_output_len_long_input"],
    "scipy.ndimage.tests.test_filters": [
        "TestNdimageFilters",
        "TestThreading",
        "test_bad_convolve_and_correlate_origins",
        "test_gaussian_filter_float16",
        "test_gaussian_radius",
        "test_gaussian_radius_invalid",
        "test_gaussian_truncate",
        "test_gh_5430",
        "test_multiple_modes",
        "test_multiple_modes_gaussian_gradient_magnitude",
        "test_multiple_modes_gaussian_laplace",
        "test_multiple_modes_laplace",
        "test_multiple_modes_prewitt",
        "test_multiple_modes_sequentially",
        "test_multiple_modes_sobel",
        "test_multiple_modes_uniform",
        "test_orders_gauss",
        "test_ticket_701",
        "test_uniform_filter1d_roundoff_errors",
        "test_valid_origins1",
        "test_valid_origins2",
    ],
}

# Of TestNdimageFilters, which tests every filter of ndimage: these are about the functions that tapline has.
# fmt: off
NDIMAGE = (
    "correlate", "convolve", "gauss", "filter_axes", "derivative", "invalid", "subset", "mismatch", "prewitt", "sobel", "laplace",
    "uniform", "magnitude", "extend", "generic",
)
# fmt: on

# name of a test (a beginning of it will do) -> why tapline's answer is another one
SINGLE = "float32 images are filtered in float32, not in float64; the error is some 1e-7 of the values"
EXCEPTIONS = {
    "TestNdimageFilters::test_gaussian_laplace01[numpy-float32]": SINGLE,
    "TestNdimageFilters::test_gaussian_laplace01[numpy-complex64]": SINGLE,
    "TestNdimageFilters::test_gaussian_laplace02[numpy-float32]": SINGLE,
    "TestNdimageFilters::test_gaussian_laplace02[numpy-complex64]": SINGLE,
    "test_gaussian_filter_float16[": "it wants an error for float16 images; here they are filtered, in float32, and rounded once",
    "TestFFTConvolve::test_fft_nan[": "it wants a warning that NaN spoils the result; with tapline it stays in its window",
}

calls = Counter()
found = Counter()
counts = Counter()


def counted(name, function):
    def wrapper(*args, **kwargs):
        calls[name] += 1
        return function(*args, **kwargs)

    wrapper.__name__ = function.__name__
    wrapper.__doc__ = function.__doc__
    return wrapper


def keep_capabilities(original, replacement):
    """SciPy's test suite keeps a table of what each function can do with other array libraries."""
    try:
        from scipy._lib._array_api import xp_capabilities_table as table
    except ImportError:  # before SciPy 1.16
        return
    if original in table:
        table[replacement] = table[original]


def pytest_configure(config):
    from tapline import _fallback

    _fallback.prefer_faster = False  # only what tapline cannot take over may go to SciPy
    for place in ("numpy", "scipy.signal", "scipy.ndimage"):
        theirs = importlib.import_module(place)
        ours = importlib.import_module(f"tapline.{place.split('.')[-1]}")
        for name in ours.__all__:
            replacement = counted(f"{place}.{name}", getattr(ours, name))
            keep_capabilities(getattr(theirs, name), replacement)
            setattr(theirs, name, replacement)


def exception_of(item):
    for name, reason in EXCEPTIONS.items():
        if item.nodeid.split("::", 1)[1].startswith(name):
            return name, reason
    return None


def pytest_collection_modifyitems(config, items):
    ours = [i for i in items if "TestNdimageFilters" not in i.nodeid or any(word in i.name for word in NDIMAGE)]
    dropped = [i for i in items if i not in set(ours)]
    config.hook.pytest_deselected(items=dropped)
    items[:] = ours
    for item in items:
        exception = exception_of(item)
        if exception:
            found[exception[0]] += 1
            item.add_marker(pytest.mark.xfail(reason=exception[1], strict=True))


def pytest_runtest_logreport(report):
    if report.when == "call":
        counts["xfailed" if hasattr(report, "wasxfail") else report.outcome] += 1


def problems():
    """What is wrong with the run as a whole."""
    from tapline import _fallback

    ran = counts["passed"] + counts["failed"] + counts["xfailed"]
    exceptions = sum(found.values())
    if ran and exceptions > 0.03 * ran:
        yield f"{exceptions} exceptions among {ran} tests are more than 3%"
    for name in EXCEPTIONS:
        if ran > 1000 and not found[name]:
            yield f"no test is called {name} any more"
    if ran and sum(calls.values()) < ran:
        yield f"only {sum(calls.values())} calls reached tapline's functions"
    if sum(_fallback.asked.values()) > 0.1 * sum(calls.values()):
        yield f"{sum(_fallback.asked.values())} of {sum(calls.values())} calls were handed on"


def pytest_sessionfinish(session):
    if list(problems()):
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter):
    from tapline import _fallback

    terminalreporter.write_line(
        f"tapline in place: {sum(calls.values())} calls of {len(calls)} functions, {sum(_fallback.asked.values())} handed on "
        f"({dict(_fallback.asked)}); {sum(found.values())} named exceptions"
    )
    for problem in problems():
        terminalreporter.write_line(f"PROBLEM: {problem}", red=True)


if __name__ == "__main__":
    print(" ".join(f"{module}::{name}" for module, names in TESTS.items() for name in names))
