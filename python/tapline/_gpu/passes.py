"""Lines over neighbouring axes of images of small integers as one execution, which rounds between them as executions one after the
other do."""

import itertools
import math

import numpy as np

from tapline import _core
from tapline._gpu.libraries import c_strides

_TYPES = frozenset({"uint8", "uint16", "int16"})

# Of so few pixels an execution takes what a launch does: the fewer the better, whatever is predicted of them.
_FEW_PIXELS = 400_000

# Kernels for signals and for bytes take less than predicted (H200: of uint8, 4096 x 4096 under 9 weights 39 us, not 57, by
# direct_bytes).
_SURELY_SOONER = 0.8

# Sums of whole multiples over both axes at once are slow only there: sobel of int16, 2,963 x 2,963, takes 38 us instead of 86
# (H200), while 4096 x 4096 takes 55 by integer_tiles.
_LEAST_OF_WHOLE_SUMS = 4_300_000
_PIXELS_OF_A_WORD = 4


class RoundedPasses:
    """A line down the columns of images, and one along their rows where there is one."""

    workspace_bytes = 0
    algorithm = "rounded_passes"

    def __init__(self, call):
        self._call, self.predicted_seconds = call, call.predicted_seconds

    def run(self, target, source, _scratch, stream):
        self._call.run(target, source, stream)


def rounded_passes(place, to, lines, constant):
    """Pairs of a line and what is executed for it and the next one, or for it alone, in their order; an execution that is None is
    still to be arranged. None where no two lines are one execution, and a line alone is none."""
    if place.dtype != to.dtype or place.dtype not in _TYPES or len(lines) > 3 or np.iscomplexobj(constant):
        return None
    if any(len(line.axes) != 1 or not _is_taken(line, constant, place.dtype) for line in lines):
        return None
    if len(lines) == 1:  # of bytes a kernel of their own does one
        alone = _arranged(place, to, lines, constant) if place.dtype != "uint8" else None
        return None if alone is None else [(lines[0], alone)]
    if _may_change_places(lines, constant):
        if len(lines) == 3:  # as one mask they are summed at once
            return None
        lines = sorted(lines, key=lambda line: line.axes)
    axes = tuple(line.axes[0] for line in lines)
    if axes != tuple(range(axes[-1] - len(axes) + 1, axes[-1] + 1)) or axes[-1] != len(place.shape) - 1:
        return None
    if len(lines) == 2:
        both = _arranged(place, to, lines, constant)
        return None if both is None else [(lines[0], both)]
    between = to._replace(strides=c_strides(to.shape, np.dtype(to.dtype).itemsize))
    both = _arranged(between, to, lines[1:], constant)
    return None if both is None else [(lines[0], _arranged(place, between, lines[:1], constant)), (lines[1], both)]


def are_sooner(place, lines, rounded, others):
    """Whether a program with rounded_passes() in it is sooner than another one."""
    pixels = math.prod(place.shape)
    if _are_whole_multiples(lines):
        return pixels > _LEAST_OF_WHOLE_SUMS and place.shape[-1] % _PIXELS_OF_A_WORD != 0
    if len(lines) > 1 and pixels <= _FEW_PIXELS:
        return True
    surely = _SURELY_SOONER if len(lines) == 1 or "direct_bytes" in others.algorithms() else 1
    return rounded.seconds < surely * others.seconds


def _are_whole_multiples(lines):
    return all(line.divisor == 1 and bool((line.weights == np.rint(line.weights)).all()) for line in lines)


def _is_taken(line, constant, dtype):
    if line.weights.dtype.kind not in "iubf" or not np.isfinite(line.weights).all():
        return False
    if "constant" not in line.boundaries:
        return True
    limits = np.iinfo(dtype)
    return float(constant).is_integer() and limits.min <= constant <= limits.max


def _may_change_places(lines, constant):
    """Whether the order of the lines is that of sums that keep their low bits."""
    if constant != 0 and any("constant" in line.boundaries for line in lines):
        return False
    return _are_whole_multiples(lines)


def _as_one(shape, *strides):
    """(count, strides) of axes that step as one does in each array; None where they do not."""
    kept = [axis for axis, count in enumerate(shape) if count > 1]
    for one in strides:
        if any(one[axis] != one[after] * shape[after] for axis, after in itertools.pairwise(kept)):
            return None
    return math.prod(shape), *(one[kept[-1]] if kept else 0 for one in strides)


def _arranged(place, to, lines, constant):
    """Lines over an axis and the last one, or over an axis beside which all that follow are one row, or over the last one alone."""
    axis, itemsize = lines[0].axes[0], np.dtype(place.dtype).itemsize
    passes = [(line.weights.ravel().tolist(), line.origins[0], line.boundaries[0], line.divisor) for line in lines]
    if axis == len(place.shape) - 1:  # nothing goes down the columns of all rows
        passes.insert(0, ([], 0, "reflect", 1))
        rows = _as_one(place.shape[:axis], place.strides[:axis], to.strides[:axis])
        images, columns = (1, 0, 0), (place.shape[axis], place.strides[axis], to.strides[axis])
    else:
        rows = (place.shape[axis], place.strides[axis], to.strides[axis])
        beside = slice(axis + 1, None)
        images = _as_one(place.shape[:axis], place.strides[:axis], to.strides[:axis])
        columns = _as_one(place.shape[beside], place.strides[beside], to.strides[beside])
    if images is None or rows is None or columns is None or any(stride not in (0, itemsize) for stride in columns[1:]):
        return None
    strides = (images[1], rows[1], images[2], rows[2])
    if any(stride % itemsize != 0 for stride in strides):
        return None
    sizes = (images[0], rows[0], columns[0], *(stride // itemsize for stride in strides))
    try:
        call = _core.gpu_passes(sizes, place.dtype, passes, float(constant), place.device)
    except NotImplementedError:
        return None
    return RoundedPasses(call)
