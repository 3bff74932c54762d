"""Calls for arrays in GPU memory: what must lie where, how types are settled, one execution on the library's current stream.

The result is an array of the signal's library, made by that library's allocator; nothing waits for it.
"""

import math

import numpy as np

from tapline import _core
from tapline._gpu.libraries import c_strides, itemsize_of, library_of, name_of
from tapline._remembered import remember

# A loop of more launches than this is slower than copying the signal to C order, which needs one launch.
_MANY_EXECUTIONS = 16

# Sums of images below this are exact in float64.
_EXACT_LIMIT = 2**53

# Taps in GPU memory as they were when they were last read, by place; the oldest go first. Longer ones are not worth their memory.
_MAX_RECENT_TAPS = 32
_MAX_RECENT_BYTES = 1 << 20
_recent_taps: dict[tuple, np.ndarray] = {}

# Calls that read their taps where they lie, by all that decides what is executed; None: the algorithm needs the taps' values.
_MAX_CALLS = 32
_calls = _core.gpu_calls  # clear_plan_cache() forgets them
_PLAIN = {str, int, bool, float, complex}  # whose text tells them apart

_OPTIONS = frozenset({"mode", "axis", "boundary", "constant", "origin", "accuracy", "scale", "bias", "clamp", "threads"})


def check_places(values, subject="signal"):
    """The signal's library and place, the place of `out`, if any, and that of a signal's taps if this library has them in GPU
    memory; ValueError where arrays lie in different memories.

    `subject`: what the signal is called in `values` and in messages."""
    signal, taps, out = values[subject], values.get("taps"), values.get("out")
    taps_there, out_there = taps is not None and _core.is_on_gpu(taps), out is not None and _core.is_on_gpu(out)
    if not _core.is_on_gpu(signal):
        other = "taps" if taps_there else "out"
        device = library_of(values[other]).place(values[other]).device
        raise ValueError(
            f"{subject}: in host memory, but {other} is on cuda:{device}; move the {subject} there "
            "(cupy.asarray, torch's .to, jax.device_put) or the other to host memory"
        )
    library = library_of(signal)
    place = library.place(signal)
    to = library_of(out).place(out) if out_there else None
    is_beside = taps_there and subject == "signal" and library_of(taps) is library
    of_taps = library.place(taps) if is_beside else None
    device = of_taps.device if of_taps is not None else _device_of_taps(taps) if taps_there else place.device
    if device != place.device:
        raise ValueError(f"taps: on cuda:{device}, the {subject} is on cuda:{place.device}; move one of them")
    if to is not None and to.device != place.device:
        raise ValueError(f"out: on cuda:{to.device}, the {subject} is on cuda:{place.device}; move one of them")
    if to is not None and library.name == "JAX" and library_of(out) is not library:
        raise ValueError(f"out: the {subject} is a JAX array, and JAX has no stream for what is written elsewhere; leave out away")
    if out is not None and to is None:
        raise ValueError(f"out: in host memory, the {subject} is on cuda:{place.device}; give an array there, or copy the result")
    device = values.get("device", "auto")
    if device not in ("auto", "cuda", f"cuda:{place.device}") or (device == "cuda" and place.device != 0):
        raise ValueError(
            f"device: {device!r}, but the {subject} is on cuda:{place.device}; leave device away, or move the {subject}"
        )
    return library, place, to, of_taps


def _device_of_taps(taps):
    if hasattr(taps, "__dlpack_device__"):
        return taps.__dlpack_device__()[1]
    return library_of(taps).place(taps).device


def taps_in_host_memory(taps) -> tuple[np.ndarray, str]:
    """(array, the name of its type). Taps on a GPU are copied, which waits for them; bfloat16, which NumPy has not, is widened."""
    dtype = "bfloat16" if "bfloat16" in str(getattr(taps, "dtype", "")) else None
    if _core.is_on_gpu(taps):
        taps = library_of(taps).to_host(taps)
    elif dtype is not None:
        taps = taps.detach().float().numpy() if hasattr(taps, "detach") else np.asarray(taps, np.float32)
    else:
        taps = np.asarray(taps)
    return taps, dtype or name_of(taps.dtype)


def _is_too_long_to_keep(taps):
    """What the host would make of them, each time anew, a GPU makes sooner."""
    return isinstance(taps, np.ndarray) and taps.dtype.kind in "fc" and _core.is_too_long_to_keep(taps.nbytes)


def _is_integer(dtype):
    return dtype == "bool" or dtype.startswith(("int", "uint"))


def call(function, **values):
    """tapline.convolve or correlate (`function`) where an array is in GPU memory."""
    library, place, to, of_taps = check_places(values)
    signal, taps, out, dtype = values["signal"], values["taps"], values.get("out"), values.get("dtype")
    wanted = None if dtype is None else getattr(dtype, "name", None) or np.dtype(dtype).name
    options = {name: value for name, value in values.items() if name in _OPTIONS and value is not None}
    if out is not None:
        if wanted is not None and wanted != to.dtype:
            raise ValueError(f"dtype: {wanted}, but out has {to.dtype}; leave dtype away")
        wanted = to.dtype

    def execute(taps, taps_dtype, out):
        if _is_integer(place.dtype) and _is_integer(taps_dtype):
            exact = {**options, "overflow": values.get("overflow") or "error"}
            return _integers(function, library, place, signal, taps, taps_dtype, wanted, exact, out)
        return _execute(function, library, place, signal, taps, taps_dtype, wanted, options, out)

    there = taps
    if of_taps is None and hasattr(library, "start_copy") and _is_too_long_to_keep(taps):
        there = library.from_host(np.ascontiguousarray(taps), place.device)
        of_taps = library.place(there)
    if of_taps is not None:
        made = _call_with_taps_there(function, place, of_taps, wanted, to, options) if library.makes_arrays else None
        if made is not None:
            planned, arranged, as_they_lie = made
            if not as_they_lie:
                if len(of_taps.shape) > 1:
                    there = library.moveaxis(there, options.get("axis", -1), -1)
                there = library.contiguous(library.astype(there, planned.taps_type))
            if out is None:
                return launch(library, place, signal, arranged, library, _new_output(library, place, planned), None, there)
            check_out(library_of(out), to, planned.output_shape)
            return launch(library, place, signal, arranged, library_of(out), out, out, there)
        if there is taps and hasattr(library, "start_copy"):
            return _with_taps_copied(library, taps, execute, out)
    return execute(*taps_in_host_memory(taps), out)


def _execute(function, library, place, signal, taps, taps_dtype, wanted, options, out):
    """One call with its taps in host memory. Integers beside real taps are widened while they are read, where a kernel does that;
    else they are converted first."""
    arguments = (function, place.shape, place.dtype, taps, taps_dtype, wanted, f"cuda:{place.device}", options)
    if _is_integer(place.dtype):
        try:
            return run(library, place, signal, _core.GpuCall(*arguments, True), out)
        except NotImplementedError:
            pass
    return run(library, place, signal, _core.GpuCall(*arguments, False), out)


def _new_output(library, place, planned):
    return library.empty(planned.output_shape, planned.output_type, place.device)


def _call_with_taps_there(function, place, taps, wanted, to, options):
    """(a call whose plan reads the taps in GPU memory, the same arranged, whether it reads the array that was given): nothing
    depends on their values, so that nobody waits for them. Taps of another type, or with gaps between them, are converted there
    first. None where the algorithm needs them beforehand, or the signal would have to be converted or copied."""
    if not taps.shape or 0 in taps.shape or not _PLAIN.issuperset(map(type, options.values())):
        return None
    if _is_integer(place.dtype) and (_is_integer(taps.dtype) or "constant" in options):
        return None
    key = (function, place[:4], taps[:3], wanted, to and to[:3], str(options))
    if key not in _calls:
        made = _make_call(function, place, taps, wanted, to, options)
        remember(_calls, key, made, _MAX_CALLS)
    return _calls.get(key)


def _make_call(function, place, taps, wanted, to, options):
    shape, device = tuple(taps.shape), f"cuda:{place.device}"
    try:
        made = _core.GpuCall(function, place.shape, place.dtype, shape, taps.dtype, wanted, device, options, True)
        if made.signal_type != place.dtype or (to is not None and to.shape != made.output_shape):
            return None
        strides = c_strides(made.output_shape, np.dtype(made.output_type).itemsize) if to is None else to.strides
        arranged = made.arrange(_read_strides(place), strides)
    except NotImplementedError:
        return None
    if not arranged.can_be_read or not arranged.can_be_written or arranged.executions != 1:
        return None
    axis = options.get("axis", -1) % len(shape) if len(shape) > 1 else 0
    packed = axis == len(shape) - 1 and _read_strides(taps) == tuple(
        0 if count == 1 else step for count, step in zip(shape, c_strides(shape, itemsize_of(taps.dtype)), strict=True)
    )
    return made, arranged, made.taps_type == taps.dtype and packed


def _with_taps_copied(library, taps, execute, out):
    """The plan needs the taps' values. Waiting for them would leave the GPU without work, so the call goes ahead with those that
    were there the last time, and goes again if they have changed: on one stream, before anyone can read the result."""
    place = library.place(taps)
    bytes_of_taps = math.prod(place.shape) * 8
    if _is_integer(place.dtype) or bytes_of_taps > _MAX_RECENT_BYTES:  # integers' values decide how the sums are taken
        return execute(*taps_in_host_memory(taps), out)
    copy, wait = library.start_copy(taps)
    key = (library.name, place)
    guess = _recent_taps.get(key)
    if guess is not None:
        out = execute(guess, place.dtype, out)
        wait()
        if np.array_equal(guess.view(np.uint8), np.ascontiguousarray(copy).view(np.uint8)):
            return out
    wait()
    values = np.array(copy, order="C")
    remember(_recent_taps, key, values, _MAX_RECENT_TAPS)
    return execute(values, place.dtype, out)


def _largest_sum(dtype, taps):
    """What no sum of samples of an integer type under integer taps (NumPy's) can pass."""
    bits = 1 if dtype == "bool" else np.iinfo(dtype).bits
    return 2 ** (bits if dtype.startswith(("u", "b")) else bits - 1) * sum(abs(int(t)) for t in taps.ravel())


def sums_are_exact(dtype, taps):
    """Whether a GPU takes the sums of an integer type under these taps as they are: float64 holds samples and sums."""
    return (dtype == "bool" or np.iinfo(dtype).bits <= 32) and _largest_sum(dtype, taps) < _EXACT_LIMIT


def _integers(function, library, place, signal, taps, taps_dtype, wanted, options, out):
    """Exact sums of integers. What a library has no operations for is executed as it lies."""
    arguments = (function, place.shape, place.dtype, taps, taps_dtype, wanted, f"cuda:{place.device}", options)
    return run(library, place, signal, _core.GpuCall(*arguments, False), out)


def call_plan(plan, signal, out):
    """A tapline.Plan for an array in GPU memory."""
    library, place, to, _ = check_places({"signal": signal, "out": out})
    if place.shape != plan.shape:
        raise ValueError("signal: its shape is not the plan's; make a plan for it, or use convolve()")
    planned = plan._on_gpu(place.dtype, f"cuda:{place.device}")
    if to is not None and to.dtype != planned.output_type:
        raise TypeError(f"out: elements are {to.dtype}, the plan writes {planned.output_type}")
    return run(library, place, signal, planned, out, to)


def run(library, place, signal, planned, out, to=None):
    """Executes `planned`; converts and copies on the GPU only what the engine cannot read or write as it lies. `to`: the place of
    `out`."""
    if planned.signal_type != place.dtype:
        signal = library.astype(signal, planned.signal_type)
        place = library.place(signal)
    shape = tuple(planned.output_shape)
    work = library.empty(shape, planned.output_type, place.device) if out is None else out
    of_work = library if out is None else library_of(out)
    to = to or of_work.place(work)
    if out is not None:
        check_out(of_work, to, shape)
    arranged = planned.arrange(_read_strides(place), to.strides)
    many = arranged.executions > _MANY_EXECUTIONS
    copy_in, copy_out = many or not arranged.can_be_read, many or not arranged.can_be_written
    if copy_in:
        signal = library.contiguous(signal)
        place = library.place(signal)
    if copy_out:
        of_work, work = library, library.empty(shape, planned.output_type, place.device)
        to = library.place(work)
    if copy_in or copy_out:
        arranged = planned.arrange(_read_strides(place), to.strides)
    if arranged.executions == 0:
        return work
    return launch(library, place, signal, arranged, of_work, work, out)


def launch(library, place, signal, arranged, of_work, work, out, taps=None):
    """Executes what is `arranged` on the library's stream into `work`, an array of `of_work`; then into `out`, if that is another
    one. `taps`: an array of `library`, for a call that reads them where they lie."""
    workspace = library.empty((arranged.workspace_bytes,), "uint8", place.device) if arranged.workspace_bytes > 0 else None
    keep = [arranged, work, signal, workspace, taps]

    def write(stream):
        at = []
        for owner, array in ((of_work, work), (library, signal), (library, workspace), (library, taps)):
            address, held = (0, None) if array is None else owner.address(array, stream)
            at.append(address)
            keep.append(held)
        if taps is None:
            at.pop()
        arranged.run(*at[:3], handle(stream), *at[3:])

    if hasattr(library, "written"):
        return library.written(work, write, keep)
    write(library.stream(place.device) if hasattr(library, "stream") else library.stream_of(signal))
    if work is not out and out is not None:
        library_of(out).assign(out, work)
        return out
    return work


def handle(stream):
    """As the engine takes it: cudaStreamLegacy (1, what DLPack and the CUDA array interface say) is its null stream."""
    return 0 if stream in (None, 1) else stream


def check_out(library, place, shape):
    if library.name == "JAX":
        raise ValueError("out: JAX arrays cannot be changed; leave out away")
    if place.shape != shape:
        raise ValueError(f"out: its shape is {place.shape}; this problem's output has {shape}")


def _read_strides(place):
    return tuple(0 if count == 1 else stride for stride, count in zip(place.strides, place.shape, strict=True))
