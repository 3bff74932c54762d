"""Upsample, filter, downsample as products of matrices, for a change of rate by a fraction: 48 to 44.1 kHz.

Outputs that are a period apart (`up` outputs for `down` samples) have the same taps and read windows a period apart. So a
number of neighbouring outputs of each period is the matrix of these windows, which is only another view of the signal, times a
matrix that holds each output's taps where its window has them, and zeros elsewhere.
"""

import math

import numpy as np

# What a product takes in NumPy's matrix products, by bytes of a sample; what an element of the taps' matrices takes to make, a
# sample to be copied between zeros, and a call. Measured on a 2-core machine.
_PRODUCT_SECONDS_PER_BYTE = 1.3e-11
_ELEMENT_SECONDS = 2e-8
_SAMPLE_SECONDS = 2e-9
_GROUP_SECONDS = 3e-5
_MOST_ELEMENTS = 1 << 22  # of the taps' matrices
_LEAST_OUTPUTS = 8  # of a period, that are made together


class Periods:
    """How outputs of upfirdn are cut: `up` outputs for `down` samples is a period here, `together` of them are a product."""

    def __init__(self, count, up, down):
        common = math.gcd(up, down)
        self.count, self.factor, self.rate = count, up, down
        self.deep = -(-count // up)  # taps of an output
        per_output = down / up
        # Half as many samples again as an output has taps.
        self.together = max(_LEAST_OUTPUTS, math.ceil(self.deep / 2 / per_output))
        self.wide = math.ceil(self.together * per_output) + self.deep
        times = max(1, math.ceil(max(min(self.wide, 256) / (down // common), self.together / (up // common))))
        self.up, self.down = times * up // common, times * down // common
        self.together = min(self.together, self.up)
        self.elements = self.wide * self.up

    def seconds(self, rows, n, outputs, itemsize):
        """What all of it takes; infinite where the matrices of taps are too large."""
        if self.elements > _MOST_ELEMENTS:
            return math.inf
        products = rows * (outputs + self.up) * self.wide
        groups = math.ceil(self.up / self.together) * math.ceil(self.wide / self.down)
        return (
            products * itemsize * _PRODUCT_SECONDS_PER_BYTE
            + rows * (n + outputs) * _SAMPLE_SECONDS
            + self.elements * _ELEMENT_SECONDS
            + groups * _GROUP_SECONDS
        )

    def taps_of(self, h, place, first):
        """The matrix for the outputs r of a period whose (sample, phase) are `place`; its rows are samples from `first` on."""
        sample, phase = place
        wide = int(sample[-1]) - first + 1
        back = sample[None, :] - (first + np.arange(wide))[:, None]
        tap = phase[None, :] + back * self.factor
        inside = (back >= 0) & (tap < self.count)
        return np.where(inside, h[np.where(inside, tap, 0)], h.dtype.type(0))


def upfirdn(x, h, up, down, shift, outputs, periods):
    """y[m] = sum_j h[j] * u[m * down + shift - j] along rows; u is x with up - 1 zeros between the samples.

    None where a sample or a tap is not finite: others' zeros would spread it.
    """
    if not (np.isfinite(h).all() and np.isfinite(x).all()):
        return None
    if x.dtype.kind == "c" and h.dtype.kind != "c":
        y = np.empty((len(x), outputs), x.dtype)
        for part, of in ((y.real, x.real), (y.imag, x.imag)):
            part[...] = upfirdn(of, h, up, down, shift, outputs, periods)
        return y
    sample, phase = np.divmod(np.arange(periods.up) * down + shift, up)
    count = -(-outputs // periods.up)
    first = int(sample[0]) - periods.deep + 1
    last = (count - 1) * periods.down + int(sample[-1]) + 1
    padded = np.zeros((len(x), last - first), x.dtype)
    begin, end = max(first, 0), min(last, x.shape[-1])
    if end > begin:
        padded[:, begin - first : end - first] = x[:, begin:end]
    y = np.empty((len(x), count, periods.up), x.dtype)
    row, step = padded.strides
    for r in range(0, periods.up, periods.together):
        group = slice(r, r + periods.together)
        begin = int(sample[r]) - periods.deep + 1
        taps = periods.taps_of(h, (sample[group], phase[group]), begin)
        # A row of a matrix may not begin before the row above has ended.
        for w in range(0, len(taps), periods.down):
            part = taps[w : w + periods.down]
            windows = np.lib.stride_tricks.as_strided(
                padded[:, begin - first + w :], (len(x), count, len(part)), (row, periods.down * step, step), writeable=False
            )
            if w == 0:
                np.matmul(windows, part, out=y[:, :, group])
            else:
                y[:, :, group] += windows @ part
    return y.reshape(len(x), -1)[:, :outputs]
