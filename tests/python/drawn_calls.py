"""Calls of the drop-ins drawn at random: any function, element types, shapes (no axes, no elements, axes of length 1), layouts and
arguments, good and bad; and the comparison of what tapline and the original make of one call.

Not drawn is what the original answers with memory that it does not own, or as the C compiler likes.
"""

import dataclasses
import importlib
import re
import typing
import warnings

import numpy as np

FLOATS = ("float32", "float64", "complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
MODES = ("full", "same", "valid")
BOUNDARIES = ("nearest", "wrap", "reflect", "mirror", "constant", "grid-mirror", "grid-wrap", "grid-constant")
UPFIRDN_MODES = ("constant", "wrap", "edge", "smooth", "symmetric", "reflect", "antisymmetric", "antireflect", "line")

NAMES = {
    "numpy": "convolve correlate",
    "signal": "convolve correlate fftconvolve oaconvolve convolve2d correlate2d upfirdn choose_conv_method",
    "ndimage": "convolve1d correlate1d convolve correlate gaussian_filter1d gaussian_filter uniform_filter1d uniform_filter "
    "sobel prewitt laplace",
}
FUNCTIONS = tuple(f"{module}.{name}" for module, names in NAMES.items() for name in names.split())

ORIGINALS = {"numpy": "numpy", "signal": "scipy.signal", "ndimage": "scipy.ndimage"}


@dataclasses.dataclass
class Drawn:
    """An argument that is an array: view(base)."""

    base: np.ndarray
    layout: str
    view: typing.Callable

    def on_host(self):
        return self.view(self.base.copy())

    def __repr__(self):
        x = self.on_host()
        return f"<{self.layout} {x.dtype}{list(x.shape)}>"


@dataclasses.dataclass
class Call:
    function: str
    arguments: dict
    arrays: tuple[str, ...]  # of which one at least decides where the result lies

    def made(self, put=Drawn.on_host):
        """The arguments, each drawn array as `put` makes it."""
        return {name: put(value) if isinstance(value, Drawn) else value for name, value in self.arguments.items()}


def _identity(x):
    return x


def _every_second(x):
    return x[..., ::2]


def _reversed(x):
    return x[(slice(None, None, -1),) * x.ndim]


def _transposed(x):
    return x.T


def _interleaved(x):
    return x.swapaxes(0, 1)


def array(rng, shape, dtype, small=False):
    """A drawn array of so many elements in any layout. `small`: values whose filtered sums fit every type."""
    layouts = ["plain", "plain"]
    if len(shape) > 0:
        layouts += ["every second", "reversed"]
    if len(shape) > 1:
        layouts += ["transposed", "interleaved"]
    layout = str(rng.choice(layouts))
    view: typing.Callable = _identity
    if layout == "every second":
        shape, view = (*shape[:-1], 2 * shape[-1]), _every_second
    elif layout == "reversed":
        view = _reversed
    elif layout == "transposed":
        shape, view = shape[::-1], _transposed
    elif layout == "interleaved":
        shape, view = (shape[1], shape[0], *shape[2:]), _interleaved
    return Drawn(np.array(_values(rng, shape, np.dtype(dtype), small)), layout, view)


def _values(rng, shape, dtype, small):
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0, 4 if small else 100, shape).astype(dtype)
    x = rng.standard_normal(shape)
    if dtype.kind == "c":
        return (x + 1j * rng.standard_normal(shape)).astype(dtype)
    return (np.abs(x) if small else x).astype(dtype)


def spread(rng, shape, dtype, put=np.asarray):
    """An array of so many elements, zeros, whose axes lie in memory in any order, any of them reversed or with gaps. `put`: into
    the memory that it shall be of."""
    order = rng.permutation(len(shape))
    steps = [int(rng.choice((1, 1, 1, 2, -1))) for _ in shape]
    base = put(np.zeros([shape[a] * abs(steps[a]) for a in order], dtype))
    return base.transpose(*np.argsort(order).tolist())[tuple(slice(None, None, step) for step in steps)]


def dtype(rng):
    kinds = rng.random()
    return str(rng.choice(FLOATS if kinds < 0.6 else INTEGERS if kinds < 0.85 else ("bool", "float16")))


def _length(rng, longest):
    chance = rng.random()
    return 0 if chance < 0.03 else 1 if chance < 0.25 else int(rng.integers(1, longest + 1))


def shape(rng, ndim, longest=9):
    return tuple(_length(rng, longest) for _ in range(ndim))


def _with_more_axes(rng, *shapes):
    """The shapes, now and then with more axes of length 1, at the same places."""
    while shapes[0] and len(shapes[0]) < 5 and rng.random() < 0.12:
        at = int(rng.integers(len(shapes[0]) + 1))
        shapes = tuple((*s[:at], 1, *s[at:]) for s in shapes)
    return shapes


def _pick(rng, values, bad, chance=0.04):
    return bad if rng.random() < chance else values[int(rng.integers(len(values)))]


def _axes_of(rng, ndim):
    """None, one axis, several, or what is no axes."""
    chance = rng.random()
    if chance < 0.4 or ndim == 0:
        return None
    if chance < 0.6:
        return int(rng.integers(ndim))  # SciPy's ndimage takes negative ones in a sequence alone
    if chance < 0.65:
        return [ndim]
    if chance < 0.7:
        return [0, 0]
    if chance < 0.72:
        return []
    return [int(a) for a in rng.permutation(ndim)[: int(rng.integers(1, ndim + 1))]]


def _two(rng, names, dimensions, longest=9):
    ndim = int(rng.choice(dimensions))
    other = ndim if rng.random() < 0.94 else max(ndim - 1, 0)
    first, second = shape(rng, ndim, longest), shape(rng, other, longest)
    if rng.random() < 0.5:  # one holds the other, as mode 'valid' wants it
        first = tuple(max(a, b) for a, b in zip(first, second, strict=False)) + first[len(second) :]
    if len(dimensions) > 1 and max(dimensions) > 2:
        first, second = _with_more_axes(rng, first, second)
    kinds = [dtype(rng), dtype(rng)]
    if rng.random() < 0.5:
        kinds[1] = kinds[0]
    return {name: array(rng, s, kind) for name, s, kind in zip(names, (first, second), kinds, strict=True)}


def _of_numpy(rng, name):
    arguments = _two(rng, ("a", "v"), (0, 1, 1, 1, 1, 1, 1, 2), 40)
    if name != "numpy.correlate" and rng.random() < 0.2:
        return arguments
    return arguments | {"mode": _pick(rng, MODES, "sane")}


def _of_signal(rng, name):
    arguments = _two(rng, ("in1", "in2"), (0, 1, 1, 2, 2, 3), 12) | {"mode": _pick(rng, MODES, "sane")}
    if name.endswith(("fftconvolve", "oaconvolve")):
        return arguments | {"axes": _axes_of(rng, arguments["in1"].base.ndim)}
    if name == "signal.choose_conv_method":
        return arguments
    return arguments | {"method": _pick(rng, ("auto", "direct", "fft"), "slow")}


def _of_two_dimensions(rng, _):
    arguments = _two(rng, ("in1", "in2"), (1, 2, 2, 2, 2, 2), 12) | {"mode": _pick(rng, MODES, "sane")}
    fill = _pick(rng, (0, 0, 1, 2.0), [1, 2])
    sizes = [arguments[name].on_host().shape for name in ("in1", "in2")]
    boundary = _pick(rng, ("fill", "pad", "wrap", "circular", "symm", "symmetric"), "mirrored")
    if len(sizes[0]) == len(sizes[1]) == 2 and not all(a >= b for a, b in zip(*sizes, strict=True)):
        boundary = "fill"  # SciPy reads outside of arrays that are smaller than the filter
    return arguments | {"boundary": boundary, "fillvalue": fill}


def _of_upfirdn(rng, _):
    (x,) = _with_more_axes(rng, shape(rng, int(rng.choice((0, 1, 1, 2, 2, 3))), 12))
    h = shape(rng, 1 if rng.random() < 0.95 else 2, 9)
    mode = _pick(rng, UPFIRDN_MODES, "sane")
    if 0 in x or (1 in x and mode in ("reflect", "antireflect", "line", "smooth")):
        mode = "constant"  # in others SciPy reads what is not there, or divides by zero
    return {
        "h": array(rng, h, dtype(rng)),
        "x": array(rng, x, dtype(rng)),
        "up": _pick(rng, (1, 2, 3, 5), 0),
        "down": _pick(rng, (1, 2, 3, 4), 0),
        "axis": int(rng.integers(-len(x), len(x))) if x and rng.random() < 0.96 else len(x) or -1,
        "mode": mode,
        "cval": 1.5 if mode == "constant" and rng.random() < 0.3 else 0,
    }


def _image(rng):
    (x,) = _with_more_axes(rng, shape(rng, int(rng.choice((0, 1, 1, 2, 2, 2, 3, 3))), 9))
    return array(rng, x, dtype(rng), small=True)


def _output(rng, image):
    """For `output`: nothing, a type, its name, or an array, now and then of another shape."""
    x = image.on_host()
    chance = rng.random()
    if chance < 0.5:
        return None
    kinds = ("complex64", "complex128") if x.dtype.kind == "c" else ("float32", "float64", "int32", "uint8", "complex64")
    kind = str(rng.choice(kinds))
    if chance < 0.6:
        return np.dtype(kind).type
    if chance < 0.7:
        return kind
    size = x.shape if rng.random() < 0.95 else (*x.shape, 1)
    return array(rng, size, kind if chance < 0.85 else x.dtype)


def _weights(rng, size, image, output):
    """Whole numbers where the result may be an integer type, whose truncation is the last bit's choice."""
    to = output.base.dtype if isinstance(output, Drawn) else np.dtype(output or image.base.dtype)
    if to.kind in "iub" or image.base.dtype.kind in "iub":
        return array(rng, size, str(rng.choice(("int64", "int8", "float64"))) if to.kind in "iub" else "float32", small=True)
    return array(rng, size, str(rng.choice(("float32", "float64", "complex64", "complex128", "int16", "float16"))))


def _whole(drawn):
    drawn.base = np.rint(drawn.base).astype(drawn.base.dtype)
    return drawn


def _of_ndimage(rng, name):
    image = _image(rng)
    if name.endswith(("sobel", "prewitt", "laplace")) and image.base.dtype in (np.bool_, np.uint64):
        image.base = image.base.astype(np.int32)  # negative numbers as bools, and as uint64 twice
    ndim = image.base.ndim
    output = _output(rng, image)
    arguments: dict = {"input": image, "output": output, "cval": float(rng.integers(0, 3))}
    arguments["mode"] = _pick(rng, BOUNDARIES, "sane")
    short = name.removeprefix("ndimage.")
    axis = int(rng.integers(-ndim, ndim)) if ndim and rng.random() < 0.97 else ndim
    if short in ("convolve1d", "correlate1d", "gaussian_filter1d", "uniform_filter1d", "sobel", "prewitt"):
        arguments["axis"] = axis
    if short in ("convolve1d", "correlate1d"):
        k = shape(rng, 1 if rng.random() < 0.97 else 2, 7)
        arguments["weights"] = _whole(_weights(rng, k, image, output))
        arguments["origin"] = int(rng.integers(-(k[0] // 2) - (rng.random() < 0.05), (k[0] - 1) // 2 + 1)) if k[0] else 0
    elif short in ("convolve", "correlate"):
        axes = _axes_of(rng, ndim)
        filtered = ndim if axes is None else np.size(axes)
        k = shape(rng, filtered, 5) if rng.random() < 0.95 else (2,) * (filtered + 1)
        arguments["weights"] = _whole(_weights(rng, k, image, output))
        arguments["axes"] = axes
        arguments["origin"] = 0 if rng.random() < 0.5 else [int(rng.integers(-(s // 2), (s - 1) // 2 + 1)) if s else 0 for s in k]
    elif short == "gaussian_filter1d":
        arguments |= {"sigma": float(rng.uniform(0.3, 2)), "order": int(_pick(rng, (0, 0, 1, 2), -1))}
    elif short == "gaussian_filter":
        arguments |= {"sigma": float(rng.uniform(0.3, 2)), "axes": _axes_of(rng, ndim)}
    elif short == "uniform_filter1d":
        size = int(_pick(rng, (1, 2, 3, 5), 0))
        arguments |= {"size": size, "origin": int(rng.integers(-(size // 2), (size - 1) // 2 + 1)) if size else 0}
    elif short == "uniform_filter":
        arguments |= {"size": int(_pick(rng, (1, 2, 3, 5), 0)), "axes": _axes_of(rng, ndim)}
    elif short == "laplace":
        arguments["axes"] = _axes_of(rng, ndim)
    return arguments


def draw(rng, function):
    """A call of one of FUNCTIONS."""
    if function.startswith("numpy."):
        return Call(function, _of_numpy(rng, function), ("a", "v"))
    if function.startswith("ndimage."):
        return Call(function, _of_ndimage(rng, function), ("input",))
    if function == "signal.upfirdn":
        return Call(function, _of_upfirdn(rng, function), ("x",))
    if function.endswith("2d"):
        return Call(function, _of_two_dimensions(rng, function), ("in1", "in2"))
    return Call(function, _of_signal(rng, function), ("in1", "in2"))


def functions(name):
    """(tapline's, the original) of one of FUNCTIONS."""
    module, _, short = name.partition(".")
    return (getattr(importlib.import_module(place), short) for place in (f"tapline.{module}", ORIGINALS[module]))


def outcome(function, arguments):
    """What the call returns, or the exception that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(**arguments)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is compared
            return error


# Relative to the largest sample times the sum of the weights, by the bytes of a real number.
TOLERANCE = {2: 2e-3, 4: 4e-6, 8: 1e-12}

# Types that SciPy refuses and tapline takes: float16, bool of several axes, complex outputs of real images.
_REFUSED_TYPES = re.compile("not supported|nsupported type|not available for this type")


def _scale(call):
    scale = 1.0
    for name, value in call.arguments.items():
        if isinstance(value, Drawn) and name != "output" and value.base.size > 0:
            magnitudes = np.abs(value.base.astype(complex))
            scale *= float(magnitudes.max() if name in ("a", "in1", "x", "input") else magnitudes.sum())
    return max(scale, 1.0)


def _has_halves(call):
    return any(isinstance(v, Drawn) and v.base.dtype == np.float16 for v in call.arguments.values())


def _text(result):
    return f"{result.dtype}{list(result.shape)}" if hasattr(result, "dtype") else repr(result)


def _difference_of_errors(call, ours, theirs):
    if isinstance(theirs, Exception) and isinstance(ours, type(theirs)):
        return None
    refused = isinstance(theirs, Exception) and not isinstance(ours, Exception)
    if refused and (_has_halves(call) or _REFUSED_TYPES.search(str(theirs))):
        return None
    return f"{_text(ours)}, not {_text(theirs)}"


def _difference_of_values(call, mine, theirs):
    bytes_of = [v.base.real.dtype.itemsize for v in call.arguments.values() if isinstance(v, Drawn) and v.base.dtype.kind in "fc"]
    if theirs.dtype.kind in "biu":
        if theirs.dtype.kind == "b" and call.arguments.get("method") == "fft":
            return None  # SciPy takes the rounding errors of its FFT for True
        # Weights that add up to 1 - 1e-16: SciPy truncates a sum of equal samples to one less, once for each axis.
        allowed = theirs.ndim if "sigma" in call.arguments else 0
        wrong = np.abs(mine.astype(float) - (theirs.view(np.uint8) != 0 if theirs.dtype.kind == "b" else theirs)).max(initial=0)
        return None if wrong <= allowed else f"off by {wrong}"
    bound = TOLERANCE[min([*bytes_of, theirs.real.dtype.itemsize])] * _scale(call)
    error = np.abs(mine.astype(complex) - theirs).max(initial=0)
    return None if error <= bound else f"off by {error}, more than {bound}"


def difference(call, ours, theirs, output=None, to_host=None):
    """What is wrong with the outcome `ours` beside that of the original, in words, or None. `output`: the array that ours was given
    to write to, if any. `to_host`: (array, in C order) of a result that must lie elsewhere; else ours must be of theirs' type."""
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        return _difference_of_errors(call, ours, theirs)
    if not isinstance(theirs, (np.ndarray, np.generic)):
        return None if ours == theirs else f"{ours!r}, not {theirs!r}"
    if isinstance(call.arguments.get("output"), Drawn) and ours is not output:
        return "the output is not returned"
    if to_host is None and type(ours) is not type(theirs):
        return f"{type(ours)}, not {type(theirs)}"
    mine, is_contiguous = (ours, ours.flags.c_contiguous) if to_host is None else to_host(ours)
    if _text(mine) != _text(theirs):
        return f"{_text(mine)}, not {_text(theirs)}"
    if theirs.flags.c_contiguous and not is_contiguous:
        return "the result is not in C order"
    return _difference_of_values(call, mine, theirs)
