"""Who else can solve the problems of bench/cliffs.py: a peer is a line in PEERS.

A peer says where it runs, which modules it needs, which problems it does not take (and why), how many products a second it makes
at the very most if it sums directly, and makes a call whose result lies as tapline's does. What conversions and padding a caller
would have to do are part of the call.
"""

import dataclasses
import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import timing
from cliffs_case import Case, Function, Linear
from cliffs_problems import CONSTANT

PAD_MODES = {
    "zero": "constant",
    "constant": "constant",
    "reflect": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
}
NDIMAGE_MODES = {"zero": "constant"}  # the others have tapline's names
OF_TORCH = {"float32", "float64"}


@dataclasses.dataclass(frozen=True)
class Peer:
    """Another library's way to solve some of the problems."""

    name: str
    homes: tuple[str, ...]
    refuses: Callable[[Any], str]  # a reason; "" if it takes the case
    make: Callable[[Any], timing.Call]
    most_products: float = math.inf  # a second


def first_of(*reasons: tuple[bool, str]) -> str:
    """The first reason that holds."""
    return next((reason for holds, reason in reasons if holds), "")


def plain(case: Case) -> Any:
    """The samples in the type that sums are made in."""
    x = case.x
    return x if x.dtype == case.summed else x.astype(case.summed)


def padded(case: Linear, always: bool = False) -> tuple[Any, bool]:
    """(samples, whether they hold all that is beyond the ends)."""
    p, x = case.problem, plain(case)
    if p.boundary == "zero" and not always:
        return x, False
    before_after = [(0, 0)] * len(p.shape)
    for axis, k, origin, outputs in case.window:
        before_after[axis] = (origin, max(0, outputs + k - 1 - origin - p.shape[axis]))
    more = {"constant_values": CONSTANT} if p.boundary == "constant" else {}
    return case.home.xp.pad(x, before_after, mode=PAD_MODES[p.boundary], **more), True


def shortened(case: Linear, y: Any, of_padded: bool) -> Any:
    """The outputs that are asked for, of a full convolution or a valid one of padded samples."""
    index = [slice(None)] * len(case.shape)
    for axis, k, origin, outputs in case.window:
        first = 0 if of_padded else k - 1 - origin
        index[axis] = slice(first, first + outputs)
    return y[tuple(index)]


def of_signal_module(name: str) -> Callable[[Linear], timing.Call]:
    """A function of scipy.signal or cupyx.scipy.signal that takes axes."""

    def make(case: Linear) -> timing.Call:
        convolve = getattr(case.home.module("signal"), name)
        taps = case.home.xp.asarray(case.filters(case.host_taps))

        def call() -> Any:
            x, is_padded = padded(case)
            y = convolve(x, taps, "valid" if is_padded else "full", axes=case.problem.axes)
            return case.finished(shortened(case, y, is_padded), case.home.xp)

        return call

    return make


def direct(case: Linear) -> timing.Call:
    """convolve(method="direct") of cupyx.scipy.signal."""
    convolve = case.home.module("signal").convolve
    taps = case.home.xp.asarray(case.filters(case.host_taps))

    def call() -> Any:
        x, is_padded = padded(case)
        y = convolve(x, taps, "valid" if is_padded else "full", method="direct")
        return case.finished(shortened(case, y, is_padded), case.home.xp)

    return call


def numpy_convolve(case: Linear) -> timing.Call:
    """numpy.convolve of one signal."""
    taps = case.host_taps.reshape(-1)

    def call() -> Any:
        x, is_padded = padded(case)
        y = np.convolve(x.reshape(-1), taps, "valid" if is_padded else "full").reshape([-1 if n > 1 else 1 for n in case.shape])
        return case.finished(shortened(case, y, is_padded), np)

    return call


def ndimage_correlate(case: Linear) -> timing.Call:
    """correlate1d or correlate of scipy.ndimage or cupyx.scipy.ndimage."""
    p, ndimage = case.problem, case.home.module("ndimage")
    mode = NDIMAGE_MODES.get(p.boundary, p.boundary)
    taps = case.home.xp.asarray(np.flip(case.filters(case.host_taps)).copy())
    cval = float(CONSTANT if p.boundary == "constant" else 0)

    def call() -> Any:
        x = plain(case)
        if len(p.axes) == 1:
            y = ndimage.correlate1d(x, taps.reshape(-1), p.axes[0], x.dtype, mode, cval)
        else:
            y = ndimage.correlate(x, taps, x.dtype, mode, cval)
        return case.finished(y, case.home.xp)

    return call


def as_pictures(x: Any, case: Case) -> Any:
    """The samples as OpenCV's images, (images, rows, columns[, channels])."""
    axes = case.problem.axes
    if len(axes) == 1:  # along rows, or down columns
        return x.reshape((1, 1, -1)) if x.ndim == 1 else x.reshape((-1, *x.shape[-2:]))
    behind = x.shape[axes[-1] + 1 :]
    return x.reshape((-1, *x.shape[axes[0] : axes[-1] + 1], *behind))


def of_opencv(filtered: Callable[[Any, Any], Any]) -> Callable[[Case], timing.Call]:
    """filtered(cv2, case) gives a function of one image and where its result goes."""

    def make(case: Case) -> timing.Call:
        cv2 = importlib.import_module("cv2")
        one = filtered(cv2, case)
        is_all = case.problem.call != "convolve" and case.type.char in "fdBH"  # it rounds and saturates as tapline.image does
        out = np.empty(case.shape, case.type if is_all else case.summed)
        to = as_pictures(out, case)

        def call() -> Any:
            x = case.x if case.x.dtype.char in "fdBHh" else plain(case)
            for picture, result in zip(as_pictures(np.ascontiguousarray(x), case), to, strict=True):
                one(picture, result)
            return case.finished(out, np) if isinstance(case, Linear) and not is_all else out

        return call

    return make


def border(cv2: Any, case: Case) -> int:
    """OpenCV's word for a boundary."""
    names = {"zero": "CONSTANT", "reflect": "REFLECT", "mirror": "REFLECT_101", "nearest": "REPLICATE"}
    return getattr(cv2, "BORDER_" + names[case.problem.boundary])


def filter2d(cv2: Any, case: Linear) -> Callable[[Any, Any], Any]:
    """cv2.filter2D, which correlates."""
    p = case.problem
    along_columns = len(p.axes) == 1 and len(p.shape) > 1 and p.axes[0] != len(p.shape) - 1
    mask = np.flip(case.host_taps)
    mask = np.ascontiguousarray(mask if mask.ndim == 2 else mask[:, None] if along_columns else mask[None])
    depth = -1 if p.call == "image" and case.type.char in "fdBH" else cv2.CV_64F if case.summed.char == "d" else cv2.CV_32F
    return lambda x, to: cv2.filter2D(x, depth, mask, dst=to, borderType=border(cv2, case))


# OpenCV's functions with the masks of those of ndimage.
PICTURES: dict[str, Callable[[Any, dict[str, Any], int], Callable[[Any, Any], Any]]] = {
    "laplace": lambda cv2, a, edge: lambda x, to: cv2.Laplacian(x, -1, dst=to, ksize=1, borderType=edge),
    "gaussian_filter": lambda cv2, a, edge: (
        lambda x, to: cv2.GaussianBlur(
            x, (2 * int(4 * a["sigma"] + 0.5) + 1,) * 2, a["sigma"], dst=to, sigmaY=a["sigma"], borderType=edge
        )
    ),
    "uniform_filter": lambda cv2, a, edge: lambda x, to: cv2.blur(x, (a["size"],) * 2, dst=to, borderType=edge),
    "sobel": lambda cv2, a, edge: lambda x, to: cv2.Sobel(x, -1, 1, 0, dst=to, ksize=3, borderType=edge),
}


def picture_function(cv2: Any, case: Function) -> Callable[[Any, Any], Any]:
    """A function of OpenCV that does what one of ndimage does."""
    return PICTURES[case.problem.call](cv2, case.arguments, border(cv2, case))


def rows_of_tensors(case: Linear, x: Any) -> Any:
    """(rows, 1, filtered axes) as PyTorch's convolutions want them."""
    p = case.problem
    tensor = case.home.tensor(x)
    last = tuple(range(-len(p.axes), 0))
    return tensor.movedim(p.axes, last).reshape(-1, 1, *(p.shape[axis] for axis in p.axes))


def laid_back(case: Linear, y: Any) -> Any:
    """A result of tensors as tapline's lies, with its epilogue."""
    p = case.problem
    others = [n for axis, n in enumerate(case.shape) if axis not in p.axes]
    y = y.reshape(*others, *(case.shape[axis] for axis in p.axes)).movedim(tuple(range(-len(p.axes), 0)), p.axes)
    if "scale" in case.options:
        y = y * case.options["scale"] + case.options["bias"]
    if "clamp" in case.options:
        y = y.clamp(*case.options["clamp"])
    if case.type.kind in "iu":
        limits = np.iinfo(case.type)
        y = y.round().clamp(limits.min, limits.max)
    torch = importlib.import_module("torch")
    return y.to(getattr(torch, case.type.name))


def torch_for(case: Linear) -> tuple[Any, str]:
    """PyTorch and the device; ImportError where it does not see the GPU."""
    torch = importlib.import_module("torch")
    if case.home.name == "cpu":
        return torch, "cpu"
    if not torch.cuda.is_available():
        raise ImportError("PyTorch sees no GPU", name="PyTorch with a GPU")
    return torch, "cuda"


def torch_convolution(case: Linear) -> timing.Call:
    """torch.nn.functional.conv1d or conv2d; a filter a row are groups."""
    torch, device = torch_for(case)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False  # f32 as tapline's
    p = case.problem
    convolve = torch.nn.functional.conv1d if len(p.axes) == 1 else torch.nn.functional.conv2d
    taps = np.moveaxis(case.host_taps, p.axes, range(-len(p.axes), 0)) if p.each else case.host_taps
    taps = np.flip(taps, tuple(range(-len(p.axes), 0))).reshape(-1, 1, *p.taps).astype(case.summed)
    weights = torch.from_numpy(np.ascontiguousarray(taps)).to(device)
    groups = taps.shape[0]
    ends: list[int] = []  # torch pads the last axis first
    for axis, k, origin, outputs in reversed(case.window):
        ends += [origin, outputs + k - 1 - origin - p.shape[axis]]

    def call() -> Any:
        x = rows_of_tensors(case, plain(case))
        x = x.transpose(0, 1) if groups > 1 else x
        if ends[::2] == ends[1::2]:
            y = convolve(x, weights, padding=tuple(ends[::-2]), groups=groups)
        else:
            y = convolve(torch.nn.functional.pad(x, ends), weights, groups=groups)
        return laid_back(case, y.transpose(0, 1) if groups > 1 else y)

    return call


def torch_transform(case: Linear) -> timing.Call:
    """One transform of everything, by torch.fft."""
    import scipy.fft

    torch, device = torch_for(case)
    p = case.problem
    sizes = [scipy.fft.next_fast_len(p.shape[axis] + k - 1, real=True) for axis, k, _, _ in case.window]
    axes = tuple(range(-len(p.axes), 0))
    taps = np.moveaxis(case.host_taps, p.axes, axes) if p.each else case.host_taps
    weights = torch.from_numpy(np.ascontiguousarray(taps).reshape(-1, 1, *p.taps).astype(case.summed)).to(device)
    forward, inverse = (torch.fft.fftn, torch.fft.ifftn) if case.summed.kind == "c" else (torch.fft.rfftn, torch.fft.irfftn)

    def call() -> Any:
        x = rows_of_tensors(case, plain(case))
        y = inverse(forward(x, sizes, axes) * forward(weights, sizes, axes), sizes, axes)
        for axis, (_, k, origin, outputs) in zip(axes, case.window, strict=True):
            y = y.narrow(axis, k - 1 - origin, outputs)
        return laid_back(case, y)

    return call


def same_function(case: Function) -> timing.Call:
    """The function of scipy.ndimage or cupyx.scipy.ndimage that tapline's stands in for."""
    arguments = dict(case.arguments)
    if "weights" in arguments:
        arguments["weights"] = case.home.xp.asarray(arguments["weights"])
    out = case.home.xp.empty(case.shape, case.type)
    function = functools.partial(getattr(case.home.module("ndimage"), case.problem.call), case.x, output=out, **arguments)

    def call() -> Any:
        function()
        return out

    return call


def not_linear(case: Case) -> str:
    """Functions of ndimage have peers of their own."""
    return first_of((not isinstance(case, Linear), "not a plain convolution"))


def not_by_transforms(case: Case) -> str:
    """What floating transforms cannot give."""
    return not_linear(case) or first_of((case.summed.kind in "iu", "exact integers"))


def not_ndimage(case: Case) -> str:
    """What correlate and correlate1d do not take."""
    p = case.problem
    return not_by_transforms(case) or first_of(
        (p.mode != "same", "only mode same"),
        (p.each, "one filter for all rows"),
        (any(k > n for n, k in zip((p.shape[a] for a in p.axes), p.taps, strict=True)), "more taps than samples"),
    )


def not_opencv(case: Case) -> str:
    """What cv2.filter2D does not take."""
    p = case.problem
    return not_ndimage(case) or first_of(
        (case.summed.kind == "c", "real numbers only"),
        (p.boundary in ("wrap", "constant"), f"no boundary {p.boundary}"),
        (len(p.shape) > 2 and p.axes == (len(p.shape) - 1,), "rows and columns only"),
        (max(p.shape[1:], default=1) > 2**20 and len(p.axes) == 2, "images only"),
    )


def not_pictures(case: Case) -> str:
    """Which functions of ndimage OpenCV does not have."""
    p = case.problem
    odd = dict(p.arguments).get("size", 1) % 2 == 1
    return first_of(
        (isinstance(case, Linear) or p.call not in PICTURES, "no such function in OpenCV"),
        (len(p.shape) != 2, "images only"),
        (p.call in ("sobel", "laplace") and case.type.kind in "iu", "saturates where SciPy wraps"),
        (case.type.char not in "fdBHh" or not odd, "other types or sizes"),
    )


def not_torch(case: Case) -> str:
    """What PyTorch's convolutions do not take."""
    p = case.problem
    return not_by_transforms(case) or first_of(
        (case.summed.name not in OF_TORCH, "real numbers only"),
        (p.boundary != "zero", "only zeros beyond the ends"),
        (p.view in ("reversed", "shared"), "no such strides"),
        (case.type.name not in OF_TORCH | {"float16", "uint8"}, f"no {case.type.name}"),
    )


def not_torch_transform(case: Case) -> str:
    """What a transform of everything does not take."""
    p = case.problem
    return not_by_transforms(case) or first_of(
        (p.boundary != "zero", "only zeros beyond the ends"),
        (p.view in ("reversed", "shared"), "no such strides"),
        (case.type.name == "uint16", "no uint16"),
    )


BOTH, CPU, GPU = ("cpu", "gpu"), ("cpu",), ("gpu",)
DIRECT, ON_GPU = 5e10, 3e13  # products a second that no direct sum of two cores, or of a GPU, passes

PEERS = [
    Peer("signal.oaconvolve", BOTH, not_by_transforms, of_signal_module("oaconvolve")),
    Peer("signal.fftconvolve", BOTH, not_by_transforms, of_signal_module("fftconvolve")),
    Peer(
        "signal.convolve, direct",
        GPU,
        lambda case: not_by_transforms(case) or first_of((case.problem.each, "one filter for all rows")),
        direct,
        ON_GPU,
    ),
    Peer(
        "numpy.convolve",
        CPU,
        lambda case: (
            not_linear(case)
            or first_of(
                (len(case.problem.axes) > 1 or math.prod(case.shape) != max(case.shape) or case.problem.each, "one signal only")
            )
        ),
        numpy_convolve,
        1.5e10,
    ),
    Peer("ndimage.correlate", CPU, not_ndimage, ndimage_correlate, 2e9),
    Peer("ndimage.correlate", GPU, not_ndimage, ndimage_correlate, ON_GPU),
    Peer("cv2.filter2D", CPU, not_opencv, of_opencv(filter2d), math.inf),
    Peer("torch convolution", CPU, not_torch, torch_convolution, DIRECT),
    Peer("torch convolution", GPU, not_torch, torch_convolution, ON_GPU),
    Peer("torch.fft", BOTH, not_torch_transform, torch_transform),
    Peer(
        "ndimage, the same function", BOTH, lambda case: first_of((isinstance(case, Linear), "a plain convolution")), same_function
    ),
    Peer("OpenCV, the same function", CPU, not_pictures, of_opencv(picture_function)),
]

NAMES = tuple(dict.fromkeys(peer.name for peer in PEERS))  # some have a line for each home
