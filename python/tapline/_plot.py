"""Pictures of filters: with matplotlib where a figure is asked for, as a few lines of SVG where a notebook shows a plan."""

import html

import numpy as np

_FLOOR = -120.0  # dB: below it a curve says nothing
_DRAWN = 2048  # points of a curve at most
_CURVES = 8  # filters of a bank that are drawn


def _rows(taps):
    rows = np.asarray(taps)
    if rows.ndim == 0 or rows.size == 0:
        raise ValueError(f"taps: an array of shape {rows.shape}; a filter needs at least one coefficient")
    if rows.dtype.kind not in "biufc":
        raise TypeError(f"taps: elements are {rows.dtype}; give numbers")
    return rows.reshape(-1, rows.shape[-1])[:_CURVES]


def _response(row):
    """Frequencies as fractions of the sampling rate, and the gain in dB: of real taps the upper half only."""
    size = max(1024, 1 << (4 * row.size - 1).bit_length()) if row.size < 1 << 18 else 1 << (row.size - 1).bit_length()
    wide = row.astype(np.complex128 if row.dtype.kind == "c" else np.float64)
    if row.dtype.kind == "c":
        frequencies, spectrum = np.fft.fftshift(np.fft.fftfreq(size)), np.fft.fftshift(np.fft.fft(wide, size))
    else:
        frequencies, spectrum = np.fft.rfftfreq(size), np.fft.rfft(wide, size)
    with np.errstate(divide="ignore"):
        return frequencies, np.maximum(20 * np.log10(np.abs(spectrum)), _FLOOR)


def _thinned(x, y):
    """At most so many points, the lowest and the highest of each stretch."""
    step = -(-len(x) // (_DRAWN // 2))
    if step < 2:
        return x, y
    whole = len(x) // step * step
    stretches = y[:whole].reshape(-1, step)
    picks = np.sort(np.stack([stretches.argmin(1), stretches.argmax(1)], 1), 1) + np.arange(0, whole, step)[:, None]
    return x[picks.ravel()], y[picks.ravel()]


def plot_taps(taps, rate=None, axes=None):
    """Draw a filter: its taps and its magnitude response. Needs matplotlib.

    Parameters
    ----------
    taps : array_like
        One filter, or several, of which the last axis is the filters'; the first eight are drawn.
    rate : float, optional
        Samples a second; then frequencies are in Hz and not fractions of the sampling rate.
    axes : pair of matplotlib.axes.Axes, optional
        Where to draw taps and response; by default in a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError, TypeError
        For taps that are none.

    Examples
    --------
    >>> import tapline
    >>> figure = tapline.plot_taps([0.25, 0.5, 0.25], rate=48_000)  # doctest: +SKIP
    """
    rows = _rows(taps)
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot_taps needs matplotlib: pip install matplotlib") from error
    if axes is None:
        _, axes = pyplot.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
    left, right = axes
    few = rows.shape[1] <= 64
    for row in rows:
        parts = [row.real, row.imag] if row.dtype.kind == "c" else [row]
        for part in parts:
            left.plot(
                *_thinned(np.arange(row.size), part.astype(np.float64)), marker="o" if few else None, markersize=3, linewidth=1
            )
        frequencies, gain = _response(row)
        right.plot(*_thinned(frequencies * (rate or 1), gain), linewidth=1)
    left.set(xlabel="tap", ylabel="value", title=f"{rows.shape[1]:,} taps")
    right.set(xlabel="frequency (Hz)" if rate else "frequency / sampling rate", ylabel="gain (dB)", title="response")
    for one in (left, right):
        one.grid(alpha=0.3)
    return left.figure


def _curve(x, y, left, width, height):
    x, y = _thinned(x, y)
    low, high = float(np.min(y)), float(np.max(y))
    span = high - low or 1.0
    across = left + (x - x[0]) / (float(x[-1] - x[0]) or 1.0) * width
    down = 4 + (high - y) / span * (height - 8)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
    return f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.2"/>', low, high


def plan_html(plan):
    """The HTML of a plan in a notebook: no scripts, no colours but the page's own."""
    row = _rows(plan.taps)[0]
    width, height, gap = 300, 90, 40
    drawn = ""
    if np.all(np.isfinite(row)):
        real = np.abs(row) if row.dtype.kind == "c" else row
        at = np.arange(row.size) if row.size > 1 else np.arange(2)
        shape, _, _ = _curve(at, np.broadcast_to(real, at.shape).astype(np.float64), 0, width, height)
        frequencies, gain = _response(row)
        gain = np.maximum(gain, gain.max() - 100)
        response, low, high = _curve(frequencies, gain, width + gap, width, height)
        label = 'font-size="11" fill="currentColor"'
        drawn = (
            f'<svg viewBox="0 0 {2 * width + gap} {height + 20}" width="{2 * width + gap}" style="max-width:100%">{shape}{response}'
            f'<text x="0" y="{height + 15}" {label}>{row.size:,} taps</text>'
            f'<text x="{width + gap}" y="{height + 15}" {label}>response: {low:.0f} to {high:.0f} dB, '
            f"at {round(frequencies[0], 1):g} to 0.5 of the rate</text></svg>"
        )
    facts = html.escape(plan.explain().rstrip())
    title = '<strong style="display:block">tapline.Plan</strong>'
    return f'<div>{title}{drawn}<pre style="margin:0.3em 0;white-space:pre-wrap">{facts}</pre></div>'
