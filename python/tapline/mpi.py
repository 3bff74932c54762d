"""Convolution of arrays whose parts lie in the processes of an MPI communicator.

`import tapline.mpi` needs mpi4py. Each process has a stretch of one axis and gets the outputs of the same numbers; neighbours
exchange what the filter reaches and nothing else. The bits are those of one process with everything.
"""

import pickle
import time

import numpy as np
from mpi4py import MPI

from tapline import _parts
from tapline._parts import exchange

__all__ = ["convolve", "correlate"]

_TAG = 7211


def convolve(x, taps, mode="full", *, axis=-1, comm=None, timeout=None, **options):
    """`tapline.convolve` along an axis that is cut among the processes of `comm`.

    Parameters
    ----------
    x : array_like
        This process's part: at least one sample along `axis`; the other axes are as long in all processes.
    taps, mode, axis, **options
        As for `tapline.convolve`, the same in all processes: one filter of one axis. `threads` is 1 unless it is given.
    comm : mpi4py.MPI.Comm
        By default COMM_WORLD; all of its processes call.
    timeout : float, optional
        Seconds after which a process that does not answer is an error in the others; by default they wait as MPI does.

    Returns
    -------
    numpy.ndarray
        The outputs with the numbers of this process's samples; of mode 'full' the last process has the k - 1 further ones, of mode
        'valid' the last ones have fewer or none.

    Raises ValueError in all processes where they do not agree about the problem, before anything else is sent, and TimeoutError
    where one of them does not answer within `timeout`: messages are then still on their way, and comm.Abort() is what is left.

    Examples
    --------
    >>> import numpy as np, tapline.mpi  # mpirun -n 4 python3 this.py
    >>> part = np.ones(1000)  # of 4,000 samples
    >>> tapline.mpi.convolve(part, [0.5, 0.5], "same").shape
    (1000,)
    """
    return _convolve(x, taps, mode, axis, _Limited(comm, timeout), options, False)


def correlate(x, taps, mode="full", *, axis=-1, comm=None, timeout=None, **options):
    """`tapline.correlate` along an axis that is cut among the processes of `comm`; see `convolve`.

    Examples
    --------
    >>> import numpy as np, tapline.mpi  # mpirun -n 4 python3 this.py
    >>> tapline.mpi.correlate(np.ones(1000), [-1, 0, 1], "same").shape
    (1000,)
    """
    return _convolve(x, taps, mode, axis, _Limited(comm, timeout), options, True)


class _Limited:
    """A communicator whose calls take so many seconds at most, all of them together."""

    def __init__(self, comm, timeout):
        self.comm = MPI.COMM_WORLD if comm is None else comm
        self.rank, self.timeout = self.comm.rank, timeout
        self._end = None if timeout is None else time.monotonic() + timeout

    def wait(self, requests):
        if self._end is None:
            MPI.Request.Waitall(requests)
            return
        pause = 1e-6
        while not MPI.Request.Testall(requests):
            if time.monotonic() > self._end:
                raise TimeoutError(f"comm: a process has not answered within {self.timeout:g} s; end the others with comm.Abort()")
            time.sleep(pause)
            pause = min(2 * pause, 1e-3)

    def allgather(self, value):
        if self._end is None:
            return self.comm.allgather(value)
        data = np.frombuffer(pickle.dumps(value), np.uint8)
        sizes = np.empty(self.comm.size, np.int32)
        self.wait([self.comm.Iallgather(np.array([data.size], np.int32), sizes)])
        everything = np.empty(sizes.sum(), np.uint8)
        self.wait([self.comm.Iallgatherv(data, [everything, sizes, MPI.BYTE])])
        ends = np.cumsum(sizes)
        return [pickle.loads(everything[end - n : end].tobytes()) for n, end in zip(sizes, ends, strict=True)]


def _convolve(x, taps, mode, axis, limited, options, correlation):
    x = np.asarray(x)
    options.setdefault("threads", 1)
    try:
        local = (x.shape[:axis], x.shape[axis], x.shape[axis:][1:], x.dtype.str)
    except IndexError:
        local = None
    everybody = limited.allgather(local)
    sizes, shape = _agreed(everybody, x, axis)
    spec = _parts.signal_filter(shape, x.dtype, taps, mode, axis, correlation=correlation, **options)
    fingerprints = limited.allgather(spec.fingerprint)
    if len(set(fingerprints)) > 1:
        other = next(rank for rank, f in enumerate(fingerprints) if f != fingerprints[0])
        raise ValueError(
            f"taps, mode or options: processes 0 and {other} ask for different convolutions; give all of them the same"
        )
    axis = spec.axes[0]
    cuts = exchange.cuts_of(sizes)
    parts = spec.parts(axis, cuts)
    window = _with_halos(x, axis, [0, *cuts], parts, limited)
    part = parts[limited.rank]
    if part.is_empty:
        return np.empty([0 if a == axis else n for a, n in enumerate(spec.output_shape)], spec.output_dtype)
    return spec.compute(window, [_parts.range_of(part)])


def _agreed(everybody, x, axis):
    if any(e is None for e in everybody):
        raise ValueError(f"axis: {axis} of an array with {x.ndim} axes")
    if len({(before, after, dtype) for before, _, after, dtype in everybody}) > 1:
        raise ValueError("x: its other axes or types are not the same in all processes")
    sizes = [n for _, n, _, _ in everybody]
    shape = list(x.shape)
    shape[axis] = sum(sizes)
    return sizes, tuple(shape)


def _with_halos(x, axis, begins, parts, limited):
    """This process's window: its own samples and those that others sent."""
    own, comm = limited.rank, limited.comm
    requests = []
    incoming = []
    for m in exchange.messages_of(parts):
        cut = (slice(None),) * axis + (slice(m.first - begins[m.sender], m.last - begins[m.sender]),)
        if m.sender == own and m.receiver != own:
            data = np.ascontiguousarray(x[cut])
            requests.append((comm.Isend(_bytes(data), dest=m.receiver, tag=_TAG), data))
        elif m.receiver == own:
            if m.sender == own:
                incoming.append((m, x[cut]))
                continue
            shape = list(x.shape)
            shape[axis] = m.last - m.first
            data = np.empty(shape, x.dtype)
            requests.append((comm.Irecv(_bytes(data), source=m.sender, tag=_TAG), data))
            incoming.append((m, data))
    limited.wait([request for request, _ in requests])
    shape = list(x.shape)
    shape[axis] = parts[own].window[1] - parts[own].window[0]
    return _parts.assemble(shape, x.dtype, (axis,), ([[[(m.place, m.step)], data] for m, data in incoming]))


def _bytes(array):
    return [array.reshape(-1).view(np.uint8), MPI.BYTE]
