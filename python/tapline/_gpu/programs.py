"""Filters of arrays in GPU memory with as many outputs as samples, for tapline.ndimage: passes over one to three axes each, in
place as the arrays lie, integers widened while they are read. A call that is made again runs what was arranged for it.

What the engine does not do in one execution a pass is refused by `filtered`, which then has done nothing.
"""

import functools
import inspect
import math
import threading
import typing

import numpy as np

from tapline import _core, _gpu, _host_calls
from tapline._gpu import calls
from tapline._gpu.libraries import c_strides, ends_of, library_of, meet
from tapline._gpu.passes import are_sooner, rounded_passes
from tapline._remembered import NotKept, frozen, frozen_arguments, remember

# Weights that add up to 1 give a sum that is a few times 1e-16 off: so much of it is added before it is truncated.
NUDGE = 1e-14

# Sums of integers that may be truncated in the engine: the nudge stays far below 1, and half of one is exact beside them.
_MAX_TRUNCATED = 2**36

# Sums of integers below this are exact in float32, in any order.
_MAX_EXACT_IN_SINGLE = 2**24

# Sums of integers below this are exact in float32, and so is their quotient's integral part beside this nudge.
_MAX_TRUNCATED_IN_SINGLE = 2**21
_NUDGE_IN_SINGLE = 2**-22

# The image that the passes of two axes become has fewer taps a side: finding its singular values would cost more than it saves.
_MAX_FUSED_TAPS = 257

# And of a volume, of which no product of lines is sought.
_MAX_VOLUME_TAPS = 7

# Lines of floats across memory are images too where they have so many taps: kernels for images filter columns on tensor cores.
_IMAGE_LINE_TAPS = range(33, 129)

# What an execution takes the host, which short ones do not hide.
_EXECUTION_SECONDS = 3e-6

# Types whose lines may be one: nothing is rounded between them but what floating-point sums are anyway.
_FUSED_TYPES = frozenset({"float32", "float64"})


class _Recorder(threading.local):
    """What became of the call that is under way: whoever asks once and gets a program has done all of it."""

    asked = 0
    program: typing.Any = None


_recorder = _Recorder()


class Line(typing.NamedTuple):
    """Correlation along one or more axes; `weights` has an axis for each of them, divided by `divisor`."""

    axes: tuple[int, ...]
    weights: np.ndarray
    origins: tuple[int, ...]
    boundaries: tuple[str, ...]
    divisor: int = 1


def filtered(image, output, lines, constant=0.0, unit_sums=False):
    """Writes one line's result after the other's to `output`, an Array as `image`, rounded to its type each time as SciPy does.
    False where that is not done. `unit_sums`: a constant beyond the ends is the same after each line."""
    _recorder.asked += 1
    library = image.library
    if hasattr(library, "written") or not library.makes_arrays or output.library is not library or image.size == 0:
        return False
    if output.device != image.device or library.may_share_memory(image.own, output.own):
        return False
    lines = [short for line in lines if (short := _without_ones(line)) is not None] or [lines[0]]
    place, to = library.place(image.own), library.place(output.own)
    refused = _key_of_lines(place, to, lines, constant, unit_sums)
    if refused in _refused:
        return False
    program = _program(place, to, lines, constant, unit_sums)
    if program is None:
        if refused is not None:
            remember(_refused, refused, True, _MAX_PROGRAMS)
        return False
    program.run(library, place, image.own, output.own, to.address)
    _recorder.program = program
    return True


def _without_ones(line):
    """The line without axes of a single weight that is on its output; None where nothing is left and the weight is 1."""
    kept = [i for i, (k, origin) in enumerate(zip(line.weights.shape, line.origins, strict=True)) if k > 1 or origin != 0]
    if len(kept) == len(line.axes):
        return line
    if not kept:
        if line.weights.item() == line.divisor:
            return None
        kept = [0]
    axes, origins, boundaries = (tuple(values[i] for i in kept) for values in (line.axes, line.origins, line.boundaries))
    return Line(axes, line.weights.reshape([line.weights.shape[i] for i in kept]), origins, boundaries, line.divisor)


class _Program:
    """What was arranged for arrays of one kind: (execution, where from, where to), 0 the image, 1 the output, 2 memory between."""

    def __init__(self, steps, place, to, seconds):
        self.steps, self.shape, self.dtype, self.seconds = steps, to.shape, to.dtype, seconds
        self.ends = ends_of(place), ends_of(to)
        self.workspace_bytes = max(arranged.workspace_bytes for arranged, _, _ in steps)
        self.needs_between = any(2 in places for _, *places in steps)

    def algorithms(self):
        return [arranged.algorithm for arranged, _, _ in self.steps]

    def run(self, library, place, image, output, address):
        device = place.device
        between = library.empty(self.shape, self.dtype, device) if self.needs_between else None
        workspace = library.empty((self.workspace_bytes,), "uint8", device) if self.workspace_bytes > 0 else None
        stream = calls.handle(library.stream(device))
        addresses = (place.address, address, 0 if between is None else library.address(between, stream)[0])
        scratch = 0 if workspace is None else library.address(workspace, stream)[0]
        for arranged, source, target in self.steps:
            arranged.run(addresses[target], addresses[source], scratch, stream)
        return output


def _program(place, to, lines, constant, unit_sums):
    best = _of_lines(place, to, [(line, None) for line in lines], constant)
    fuses = (place.dtype == to.dtype and place.dtype in _FUSED_TYPES) or _are_sums_of_integers(place.dtype, to.dtype, lines)
    fusions = _fusions(lines, constant, unit_sums) if fuses else []
    for fused in fusions:
        other = _of_lines(place, to, [(line, None) for line in fused], constant)
        if best is None or (other is not None and other.seconds < best.seconds):
            best = other
    passes = rounded_passes(place, to, lines, constant)
    rounded = None if passes is None else _of_lines(place, to, passes, constant)
    if best is None or (rounded is not None and are_sooner(place, lines, rounded, best)):
        return rounded
    return best


def _are_sums_of_integers(dtype, of_output, lines):
    """Whether lines of an integer image add up whole multiples: they keep low bits each, and may as well do so once."""
    if np.dtype(dtype).kind not in "iu" or np.dtype(of_output).kind not in "iu":
        return False
    return all(line.divisor == 1 and line.weights.dtype.kind != "c" and _are_whole(line.weights) for line in lines)


def _are_whole(weights):
    return weights.dtype.kind in "iub" or bool(np.isfinite(weights).all() and (weights == np.rint(weights)).all())


def _fusions(lines, constant, unit_sums):
    """The lines with two of them, over the axes whose samples lie closest, as one over both, and with three as one; none where that
    changes the result."""
    if len(lines) < 2 or any(len(line.axes) > 1 for line in lines):
        return
    if not unit_sums and constant != 0 and any("constant" in line.boundaries for line in lines):
        return
    ordered = sorted(lines, key=lambda line: line.axes)
    if all(line.weights.size < _MAX_FUSED_TAPS for line in ordered[-2:]):
        yield [line for line in lines if all(line is not other for other in ordered[-2:])] + [_product(ordered[-2:])]
    if len(lines) == 3 and all(line.weights.size <= _MAX_VOLUME_TAPS for line in lines):
        yield [_product(ordered)]


def _product(lines):
    """Lines one after the other as one."""
    weights = functools.reduce(np.multiply.outer, (line.weights / line.divisor for line in lines))
    axes, origins, boundaries = (sum(parts, ()) for parts in zip(*((a, o, b) for a, _, o, b, _ in lines), strict=True))
    return Line(axes, weights, origins, boundaries)


def cross(ndim):
    """The sum of second differences along each axis as one mask."""
    mask = np.zeros((3,) * ndim)
    for axis in range(ndim):
        mask[tuple(slice(None) if a == axis else 1 for a in range(ndim))] += [1, -2, 1]
    return mask


def sums_cross_at_once(image, output, axes):
    """Whether second differences along the axes are one execution with `cross`, not one for each axis."""
    integers = image.dtype.kind in "iu" and output.dtype.kind in "iu" and image.dtype.itemsize <= 4
    return len(axes) in (2, 3) and (integers or image.dtype.kind in "fc")


def _of_lines(place, to, parts, constant):
    """`parts`: pairs of a line and what is executed for it, None where that is to be found."""
    between = to._replace(strides=c_strides(to.shape, np.dtype(to.dtype).itemsize))
    lies, steps, source, seconds = {0: place, 1: to, 2: between}, [], 0, 0.0
    for i, (line, execution) in enumerate(parts):
        target = 1 if (len(parts) - 1 - i) % 2 == 0 else 2
        arranged = execution or _arranged(lies[source], lies[target], line, constant)
        if arranged is None:
            return None
        seconds += arranged.predicted_seconds + _EXECUTION_SECONDS
        steps.append((arranged, source, target))
        source = target
    return _Program(steps, place, to, seconds)


def _arranged(place, to, line, constant):
    """One line's execution, by the kernels for signals or by those for images: whichever is sooner."""
    best = _arranged_over(place, to, line, constant)
    image = _as_image(place, line) if _may_be_image(place, line) else None
    other = _arranged_over(place, to, image, constant) if image is not None else None
    if best is None or (other is not None and other.predicted_seconds < best.predicted_seconds):
        return other
    return best


def _may_be_image(place, line):
    dtype = np.dtype(place.dtype)
    if dtype.kind in "iu":
        return True
    across = len(line.axes) == 1 and abs(place.strides[line.axes[0]]) != dtype.itemsize
    return across and dtype == np.float32 and line.weights.size in _IMAGE_LINE_TAPS


def _as_image(place, line):
    """A line over one axis as one over that and the axis beside it whose samples lie closest, of one weight there."""
    others = [axis for axis, length in enumerate(place.shape) if length > 1 and axis not in line.axes]
    if len(line.axes) != 1 or not others:
        return None
    beside = min(others, key=lambda axis: abs(place.strides[axis]))
    return Line((*line.axes, beside), line.weights.reshape(-1, 1), (*line.origins, 0), line.boundaries * 2, line.divisor)


def _arranged_over(place, to, line, constant):
    how = _sums(np.dtype(place.dtype), np.dtype(to.dtype), line.weights, line.divisor, constant, "constant" in line.boundaries)
    if how is None or len(line.axes) > 3:
        return None
    taps, options, as_in_c = how
    if "constant" in line.boundaries:
        options |= {"boundary": "constant", "constant": complex(constant) if "complex" in place.dtype else float(constant)}
    options["device"] = f"cuda:{place.device}"
    axes = list(zip(line.axes, line.origins, line.boundaries, strict=True))
    arranged = _gpu_filter(place, to, axes, taps, options, as_in_c)
    if arranged is None and as_in_c and taps.dtype == np.float64:
        arranged = _sums_cut_off(place, to, axes, taps, options)
    return arranged


def _gpu_filter(place, to, axes, taps, options, as_in_c):
    try:
        # The engine's correlation conjugates; convolution with reversed taps does not.
        return _core.gpu_filter(place[:3], to[:3], axes, np.flip(taps), options, as_in_c)
    except (NotImplementedError, TypeError):
        return None


class _SumsCutOff:
    """Sums in float64 that become integers in an execution of their own, where no algorithm for so many taps does both."""

    algorithm = "sums_cut_off"

    def __init__(self, sums, cut, sums_bytes):
        self.sums, self.cut, self.sums_bytes = sums, cut, -(-sums_bytes // 256) * 256
        self.workspace_bytes = self.sums_bytes + max(sums.workspace_bytes, cut.workspace_bytes)
        self.predicted_seconds = sums.predicted_seconds + cut.predicted_seconds + _EXECUTION_SECONDS

    def run(self, target, source, scratch, stream):
        self.sums.run(scratch, source, scratch + self.sums_bytes, stream)
        self.cut.run(target, scratch, scratch + self.sums_bytes, stream)


def _sums_cut_off(place, to, axes, taps, options):
    between = to._replace(dtype="float64", strides=c_strides(to.shape, 8))
    sums = _gpu_filter(place, between, axes, taps, options, False)
    last = len(to.shape) - 1
    one = {"device": options["device"]}
    cut = None if sums is None else _gpu_filter(between, to, [(last, 0, "nearest")], np.ones(1), one, True)
    return None if cut is None else _SumsCutOff(sums, cut, 8 * math.prod(to.shape))


def _sums(dtype, of_output, weights, divisor, constant, has_constant):
    """(taps, options, as_in_c) with which the engine forms the sums that tapline.ndimage promises; None where it cannot. as_in_c:
    sums become integers as a C cast makes them, without their fraction and with their low bits."""
    if weights.dtype.kind == "c" and dtype.kind != "c":
        return None
    if dtype.kind in "iub":
        if np.iscomplexobj(constant) or weights.dtype.kind == "c":
            return None
        if has_constant and not _holds(dtype, float(constant)):
            return None
        if of_output.kind in "iub":
            return _integer_sums(dtype, of_output, weights, divisor)
        return ((weights / divisor).astype(np.float64), {}, False) if of_output.char in "fd" else None
    single = dtype.char in "efF" and of_output.char in "efF"
    if of_output.kind != dtype.kind or (dtype.char in "efF") != single or (of_output.char == "e" and dtype.char not in "ef"):
        return None
    real = np.float32 if single else np.float64
    return (weights / divisor).astype(np.result_type(real, np.complex64) if weights.dtype.kind == "c" else real), {}, False


def _integer_sums(dtype, of_output, weights, divisor):
    """Of integers: exact, or truncated."""
    if of_output.kind == "b" or not np.isfinite(weights).all():
        return None
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    not_negative = low == 0 and bool((weights >= 0).all())
    largest = max(high, -low) * float(np.abs(weights).sum())
    fits = largest / divisor * (1 + NUDGE) < np.iinfo(of_output).max + 1 and (of_output.kind == "i" or not_negative)
    exact = _are_whole(weights) and calls.sums_are_exact(dtype.name, np.rint(weights).astype(np.int64))
    strict = {"accuracy": "strict"} if exact else {}
    if exact and divisor == 1:
        if fits:
            return weights.astype(np.float32 if largest < _MAX_EXACT_IN_SINGLE else np.float64), strict, False
        return np.rint(weights).astype(np.int64), {}, True
    if largest / divisor >= _MAX_TRUNCATED:
        return None
    if fits and not_negative:
        # The engine rounds to even: half below the sum's next integer that is its integral part.
        return weights.astype(np.float64), strict | {"scale": (1 + NUDGE) / divisor, "bias": -0.5}, False
    if exact and largest <= _MAX_TRUNCATED_IN_SINGLE:
        return weights.astype(np.float32), strict | {"scale": (1 + _NUDGE_IN_SINGLE) / divisor}, True
    return weights.astype(np.float64), strict | {"scale": (1 + NUDGE) / divisor}, True


def _holds(dtype, constant):
    if dtype.kind == "b":
        return constant in (0, 1)
    return constant.is_integer() and abs(constant) < 2**53 and np.iinfo(dtype).min <= constant <= np.iinfo(dtype).max


# Programs by all that decides them; the oldest go first.
_MAX_PROGRAMS = 64
_MAX_KEPT_WEIGHTS = 1 << 16  # bytes
_programs: dict[tuple, _Program] = _core.gpu_programs  # clear_plan_cache() forgets them


# What no program was found for, which takes longer to find out than many calls take.
_refused: dict[tuple, bool] = {}


def _key_of_lines(place, to, lines, constant, unit_sums):
    try:
        weights = tuple((line[0], frozen(line[1], _MAX_KEPT_WEIGHTS), line[2:]) for line in lines)
        return place[:4], to[:4], weights, frozen(constant), unit_sums
    except NotKept:
        return None


def remembers(function):
    """A function of tapline.ndimage whose calls are remembered, as _gpu.returns_the_callers_kind()."""
    name = function.__name__
    names = list(inspect.signature(function).parameters)
    at = names.index("output") - 1
    plain = _gpu.returns_the_callers_kind(function)

    @functools.wraps(function)
    def wrapper(input, *args, **kwargs):
        if type(input) is np.ndarray:
            return _host_calls.run(plain, name, at, input, args, kwargs)
        if not _core.is_on_gpu(input):
            return plain(input, *args, **kwargs)
        library = library_of(input)
        if not hasattr(library, "stream"):
            return plain(input, *args, **kwargs)
        output = kwargs.get("output", args[at] if len(args) > at else None)
        try:
            place = library.place(input)
            to = library.place(output) if output is not None and library_of(output) is library else None
            if output is not None and to is None:
                raise NotKept
            key = (
                library.name,
                name,
                place[:4],
                to and to[:4],
                frozen_arguments(args, at, kwargs, _MAX_KEPT_WEIGHTS),
            )
        except (NotKept, AttributeError):
            return plain(input, *args, **kwargs)
        program = _programs.get(key)
        if program is not None and (to is None or not meet(place, program.ends[0], to, program.ends[1])):
            if to is None:
                output = library.empty(program.shape, program.dtype, place.device)
            return program.run(library, place, input, output, to.address if to else library.address(output, 0)[0])
        _recorder.asked, _recorder.program = 0, None
        result = plain(input, *args, **kwargs)
        if _recorder.asked == 1 and _recorder.program is not None:
            remember(_programs, key, _recorder.program, _MAX_PROGRAMS)
        return result

    return wrapper


def factored(weights, axes, origins, boundary, parts):
    """A line for each axis of a mask that is a product."""
    lines = []
    for axis, part, origin in zip(axes, parts, origins, strict=True):
        lines.append(Line((axis,), np.ascontiguousarray(part).reshape(-1), (origin,), (boundary,)))
    return sorted(lines, key=lambda line: math.prod(line.weights.shape))
