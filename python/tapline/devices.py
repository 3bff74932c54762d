"""Signals whose parts lie in the memories of several GPUs of this process.

A list of arrays, one on each GPU and in their order, stands for the array that they are together along one axis. Each GPU computes
the outputs with the numbers of its samples; what a filter reaches of its neighbours goes from device to device meanwhile. The bits
are those of one GPU with everything. `tapline.convolve`, `tapline.correlate` and `tapline.image` take such lists, too. Arrays in
host memory need none of this: `tapline.convolve(x, taps, device="cuda:0,1")`.
"""

import math

import numpy as np

from tapline import _core
from tapline._gpu import images
from tapline._gpu.calls import handle, taps_in_host_memory
from tapline._gpu.libraries import c_strides, itemsize_of, library_of
from tapline._image_parts import arranged_taps, has_channels, is_correlation, origins_of
from tapline._remembered import remember

__all__ = ["ImagePlan", "Plan", "convolve", "correlate", "image"]

# Plans of calls, by all that decides them; the oldest go first. Each holds GPU memory.
_MAX_PLANS = 8
_plans: dict[tuple, "Plan"] = {}


class Plan:
    """The plan of an array in parts, whose executions allocate nothing but new outputs.

    ``plan(parts, out=None)`` takes and returns lists of arrays that lie as `lengths`, the samples of each GPU, and `devices`, their
    numbers, say; outputs have `output_lengths`. It follows the current stream of each GPU, and nothing waits for it.
    `algorithm`, `predicted_seconds` and `device_bytes` are what was chosen, what one execution should take and what the plan holds
    of the GPUs' memory.

    Parameters
    ----------
    shape : tuple of int
        Of the whole array.
    taps : array_like
        One filter, in one dimension.
    mode : str
        As for `tapline.convolve`, as are the options (boundary, constant, origin, accuracy, scale, bias, clamp, overflow, threads).
    devices : str
        "cuda:0,1" or "cuda:all", in the order of the parts.
    dtype : str or dtype
        Of the signal.
    axis : int
        That is cut and filtered.
    lengths : sequence of int, optional
        How many samples each GPU has. By default as evenly as whole blocks of the algorithm allow, which is the fastest.
    output_dtype : str or dtype, optional
        By default as `tapline.convolve` has it.
    correlation : bool
        Correlates instead.

    Examples
    --------
    >>> import cupy, numpy as np, tapline.devices  # doctest: +SKIP
    >>> plan = tapline.devices.Plan((2**28,), np.ones(127, "f4"), "same", devices="cuda:all")  # doctest: +SKIP
    >>> parts = []
    >>> for n, device in zip(plan.lengths, plan.devices):  # doctest: +SKIP
    ...     with cupy.cuda.Device(device):
    ...         parts.append(cupy.random.rand(n, dtype="f4"))
    >>> out = plan(parts)  # doctest: +SKIP
    >>> print(plan.explain())  # doctest: +SKIP
    """

    def __init__(
        self,
        shape,
        taps,
        mode="full",
        *,
        devices="cuda:all",
        dtype="float32",
        axis=-1,
        lengths=None,
        output_dtype=None,
        correlation=False,
        **options,
    ):
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"axis: {axis} of an array with {len(shape)} axes")
        axis %= len(shape)
        taps, taps_type = taps_in_host_memory(taps)
        if taps.ndim != 1:
            raise ValueError(f"taps: {taps.ndim} dimensions; parts on several GPUs share one filter of one dimension")
        total = shape[axis]
        cuts = [] if lengths is None else _cuts(lengths, total)
        before, after = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        names = [_name(d) for d in (dtype, output_dtype)]
        options = {name: value for name, value in options.items() if value is not None}
        plan = _core.DevicesPlan(
            {"mode": mode, "device": devices, **options},
            correlation,
            [before, total, after],
            names[0],
            taps,
            taps_type,
            names[1],
            cuts,
        )
        self._ready(plan, axis, shape, shape, names[0])

    def _ready(self, plan, axis, shape, output_shape, dtype):
        self._plan, self.axis, self.shape, self.dtype = plan, axis, tuple(shape), dtype
        self._output_shape = tuple(output_shape)
        parts = plan.parts
        self.devices = [int(device.removeprefix("cuda:")) for device, _, _ in parts]
        self.lengths, self.output_lengths = [n for _, n, _ in parts], [m for _, _, m in parts]
        self._lying = [self._expected(False), self._expected(True)]

    algorithm = property(lambda self: self._plan.algorithm)
    predicted_seconds = property(lambda self: self._plan.predicted_seconds)
    device_bytes = property(lambda self: self._plan.device_bytes)

    def explain(self):
        """The problem, the algorithm, what goes from device to device and by which way.

        Examples
        --------
        >>> print(plan.explain())  # doctest: +SKIP
        """
        return self._plan.explain()

    def _expected(self, output):
        """(shape, strides, type, device) of packed parts."""
        dtype = self._plan.output_type if output else self._plan.signal_type
        return [
            (shape, c_strides(shape, itemsize_of(dtype)), dtype, device)
            for shape, device in zip(self.shapes(output), self.devices, strict=True)
        ]

    def shapes(self, output=False):
        """Those of the parts of the signal, or of the output.

        Examples
        --------
        >>> import numpy as np, tapline.devices
        >>> plan = tapline.devices.Plan((3, 1000), np.ones(9), "same", devices="cuda:0,1")  # doctest: +SKIP
        >>> plan.shapes()  # doctest: +SKIP
        [(3, 500), (3, 500)]
        """
        shape, lengths = (self._output_shape, self.output_lengths) if output else (self.shape, self.lengths)
        return [(*shape[: self.axis], n, *shape[self.axis + 1 :]) for n in lengths]

    def __call__(self, signal, out=None):
        """The outputs of parts that lie as `lengths` says, on the current stream of each GPU; nothing waits for them."""
        library, places = _places(signal, "signal")
        if library.name == "JAX":
            raise TypeError("signal: JAX arrays on several GPUs are not taken; use CuPy or PyTorch")
        if not _are(places, self._lying[0]):
            signal, places = self._packed(library, signal, places)
        if out is None:
            out = [library.empty(shape, dtype, device) for shape, _, dtype, device in self._lying[1]]
        of_out, out_places = _places(out, "out")
        work = out
        if not _are(out_places, self._lying[1]):
            work, out_places = self._work(library, out, out_places)
        streams = [handle(library.stream(device)) for device in self.devices]
        self._plan.run([p.address for p in out_places], [p.address for p in places], streams)
        if work is not out:
            for x, y in zip(out, work, strict=True):
                if x is not y:
                    of_out.assign(x, y)
        return out

    def _packed(self, library, signal, places):
        """Parts in the type that is read, one sample after the other."""
        self._check(places, self.shapes(), "signal")
        if places[0].dtype != self._plan.signal_type:
            signal = [library.astype(x, self._plan.signal_type) for x in signal]
        signal = [library.contiguous(x) for x in signal]
        return signal, [library.place(x) for x in signal]

    def _work(self, library, out, places):
        """What is written where `out` has gaps."""
        self._check(places, self.shapes(True), "out")
        dtype = self._plan.output_type
        if any(p.dtype != dtype for p in places):
            raise TypeError(f"out: elements are {places[0].dtype}, the plan writes {dtype}")
        lying = zip(out, places, strict=True)
        work = [x if _is_packed(p) else library.empty(p.shape, dtype, p.device) for x, p in lying]
        return work, [library_of(x).place(x) for x in work]

    def _check(self, places, shapes, name):
        for i, (place, shape, device) in enumerate(zip(places, shapes, self.devices, strict=False)):
            if place.device != device:
                raise ValueError(f"{name}[{i}]: on cuda:{place.device}, the plan has cuda:{device} there; move it, or make a plan")
            if tuple(place.shape) != tuple(shape):
                raise ValueError(f"{name}[{i}]: its shape is {tuple(place.shape)}, the plan's part has {tuple(shape)}")
        if len(places) != len(shapes):
            raise ValueError(f"{name}: {len(places)} parts; the plan has {len(shapes)} devices")


class ImagePlan(Plan):
    """The plan of images in parts, which are stretches of rows: `tapline.image` of what lies on several GPUs. It is used as `Plan`.

    Parameters
    ----------
    shape : tuple of int
        Of the whole array: (..., rows, columns), with ``channel_axis=-1`` (..., rows, columns, channels).
    taps : array_like
        The mask as `tapline.image` takes it; as are mode, channel_axis and the options (boundary, constant, accuracy, scale, bias,
        clamp, threads).
    devices : str
        "cuda:0,1" or "cuda:all", in the order of the parts.
    dtype : str or dtype
        Of the images.
    origin : int or (int, int), optional
        Row and column of the tap that sits on the output.
    operation : {'convolution', 'correlation'}
    lengths : sequence of int, optional
        How many rows each GPU has. By default as evenly as whole blocks of the algorithm allow.
    output_dtype : str or dtype, optional
        By default the images', complex with complex taps.

    Examples
    --------
    >>> import numpy as np, tapline.devices
    >>> plan = tapline.devices.ImagePlan((4096, 4096), np.ones((5, 5)), devices="cuda:0,1")  # doctest: +SKIP
    >>> plan.lengths  # doctest: +SKIP
    [2048, 2048]
    >>> out = plan([upper, lower])  # doctest: +SKIP
    """

    def __init__(
        self,
        shape,
        taps,
        mode="same",
        *,
        devices="cuda:all",
        dtype="float32",
        channel_axis=None,
        origin=None,
        operation="convolution",
        lengths=None,
        output_dtype=None,
        **options,
    ):
        correlation = is_correlation(operation)
        channels = has_channels(len(shape), channel_axis)
        taps = arranged_taps(taps_in_host_memory(taps)[0], shape[-1] if channels else None)
        axis = len(shape) - 2 - channels
        read, written = images.types_of(_name(dtype), _name(output_dtype), taps.dtype.kind == "c")
        options = {"mode": mode} | {name: tuple(v) if name == "clamp" else v for name, v in options.items() if v is not None}
        rows, columns = _core.image_size({"mode": mode}, *shape[axis : axis + 2], *taps.shape[-2:])
        output_shape = (*shape[:axis], rows, columns, *shape[axis + 2 :])

        def outline(shape, dtype):
            four = (math.prod(shape[:axis]), *shape[axis : axis + 2], shape[-1] if channels else 1)
            return four, c_strides(four, itemsize_of(dtype)), dtype

        plan = _core.DevicesPlan.of_images(
            options | {"device": devices},
            correlation,
            outline(shape, read),
            outline(output_shape, written),
            taps,
            *origins_of(origin),
            [] if lengths is None else _cuts(lengths, shape[axis]),
        )
        self._ready(plan, axis, shape, output_shape, read)


def convolve(signal, taps, mode="full", *, axis=-1, out=None, dtype=None, **options):
    """`tapline.convolve` of an array in parts.

    Parameters
    ----------
    signal : list of arrays
        CuPy's or PyTorch's, one on each GPU in the order of the samples, of any lengths along `axis` but 0.
    taps, mode, axis, dtype, **options
        As for `tapline.convolve`; one filter of one dimension.
    out : list of arrays, optional
        For the outputs, each beside its samples.

    Returns
    -------
    list of arrays
        The outputs with the numbers of each part's samples; of mode 'full' the last part has the k - 1 further ones, of mode
        'valid' the last ones have fewer or none.

    Examples
    --------
    >>> import numpy as np, tapline.devices, torch  # doctest: +SKIP
    >>> parts = [torch.ones(1000, device=f"cuda:{d}") for d in range(2)]  # doctest: +SKIP
    >>> [len(y) for y in tapline.devices.convolve(parts, np.ones(9, "f4"))]  # doctest: +SKIP
    [1000, 1008]
    """
    return _call(False, signal, taps, mode, axis, out, dtype, options)


def correlate(signal, taps, mode="full", *, axis=-1, out=None, dtype=None, **options):
    """`tapline.correlate` of an array in parts, which lie as `convolve` takes them.

    Examples
    --------
    >>> import numpy as np, tapline.devices
    >>> tapline.devices.correlate([first, second], np.ones(9), "same", boundary="wrap")  # doctest: +SKIP
    """
    return _call(True, signal, taps, mode, axis, out, dtype, options)


def image(image, taps, mode="same", *, channel_axis=None, origin=None, operation="convolution", out=None, dtype=None, **options):
    """`tapline.image` of images in parts, which are stretches of rows.

    Parameters
    ----------
    image : list of arrays
        CuPy's or PyTorch's, one on each GPU, (..., rows, columns) or, with ``channel_axis=-1``, (..., rows, columns, channels);
        they differ in their rows only.
    taps, mode, channel_axis, origin, operation, dtype, **options
        As for `tapline.image`.
    out : list of arrays, optional
        For the outputs, each beside its rows.

    Returns
    -------
    list of arrays
        The rows with the numbers of each part's; of mode 'full' the last part has the further ones.

    Examples
    --------
    >>> import numpy as np, tapline.devices
    >>> smooth = tapline.devices.image([upper, lower], np.ones((5, 5)), boundary="nearest", scale=1 / 25)  # doctest: +SKIP
    """
    _, places = _places(image, "image")
    ndim = len(places[0].shape)
    axis = ndim - 2 - has_channels(ndim, channel_axis)
    return _planned(
        ImagePlan,
        ("image", image, places, axis),
        (taps, mode, out, dtype, options),
        channel_axis=channel_axis,
        origin=origin,
        operation=operation,
    )


def _call(correlation, signal, taps, mode, axis, out, dtype, options):
    _, places = _places(signal, "signal")
    ndim = len(places[0].shape)
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis: {axis} of an array with {ndim} axes")
    given = ("signal", signal, places, axis % ndim)
    return _planned(Plan, given, (taps, mode, out, dtype, options), axis=axis % ndim, correlation=correlation)


def _planned(kind, given, asked, **more):
    """The outputs of a plan of this kind, which a former call may have made. `given`: the argument's name, the parts, their places,
    the axis that is cut."""
    name, parts, places, axis = given
    taps, mode, out, dtype, options = asked
    shape, lengths = _joined(places, axis, name)
    device = options.pop("device", "auto")
    devices = "cuda:" + ",".join(str(p.device) for p in places)
    if device not in ("auto", devices):
        raise ValueError(f"device: {device!r}, but the {name}'s parts are on {devices}; leave device away")
    wanted = _name(dtype)
    if out is not None:
        of_out = _places(out, "out")[1][0].dtype
        if wanted not in (None, of_out):
            raise ValueError(f"dtype: {wanted}, but out has {of_out}; leave dtype away")
        wanted = of_out
    host_taps, taps_type = taps_in_host_memory(taps)
    values = (host_taps.tobytes(), host_taps.shape, taps_type, shape, lengths, places[0].dtype, wanted)
    key = (kind, mode, devices, *values, repr(sorted((options | more).items())))
    plan = _plans.pop(key, None)
    if plan is None:
        plan = kind(
            shape,
            taps if taps_type == "bfloat16" else host_taps,
            mode,
            devices=devices,
            dtype=places[0].dtype,
            lengths=lengths,
            output_dtype=wanted,
            **more,
            **options,
        )
    remember(_plans, key, plan, _MAX_PLANS)
    return plan(parts, out)


def _joined(places, axis, name):
    """The shape of the array that parts are together, and their lengths along `axis`. ValueError where they differ in more."""

    def others(p):
        return [n for a, n in enumerate(p.shape) if a != axis]

    first = places[0]
    for i, p in enumerate(places):
        if len(p.shape) != len(first.shape) or others(p) != others(first) or p.dtype != first.dtype:
            raise ValueError(
                f"{name}[{i}]: {p.dtype} of shape {tuple(p.shape)} beside {first.dtype} of {tuple(first.shape)}; "
                f"parts differ along axis {axis} only"
            )
    lengths = tuple(p.shape[axis] for p in places)
    return (*first.shape[:axis], sum(lengths), *first.shape[axis + 1 :]), lengths


def _name(dtype):
    """That of a type, also of one that NumPy does not know; None of None."""
    if dtype is None or dtype == "bfloat16":
        return dtype
    return getattr(dtype, "name", None) or np.dtype(dtype).name


def _places(arrays, name):
    """The library of the arrays and where each lies. TypeError for what is no list of one library's arrays on GPUs."""
    if not isinstance(arrays, (list, tuple)) or not arrays:
        raise TypeError(f"{name}: give a list of arrays, one on each GPU")
    for i, x in enumerate(arrays):
        if not _core.is_on_gpu(x):
            raise TypeError(f"{name}[{i}]: not in GPU memory; all parts of a list are")
    library = library_of(arrays[0])
    kind = type(arrays[0])
    if any(type(x) is not kind and library_of(x) is not library for x in arrays):
        raise TypeError(f"{name}: arrays of different libraries; convert them to one")
    return library, [library.place(x) for x in arrays]


def _are(places, expected):
    """Whether arrays lie as a plan's parts do."""
    return len(places) == len(expected) and all(p[:4] == e for p, e in zip(places, expected, strict=True))


def _cuts(lengths, total):
    if any(n < 1 for n in lengths) or sum(lengths) != total:
        raise ValueError(f"lengths: {list(lengths)} of {total} samples; each GPU has at least one, and all together have all")
    return np.cumsum(lengths)[:-1].tolist()


def _is_packed(place):
    strides = c_strides(place.shape, itemsize_of(place.dtype))
    return all(n == 1 or a == b for n, a, b in zip(place.shape, place.strides, strides, strict=True))
