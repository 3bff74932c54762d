"""Convolution of arrays whose parts lie in the processes of an MPI communicator.

`import tapline.mpi` needs mpi4py. Each process has a stretch of one axis and gets the outputs of the same numbers; neighbours
exchange what the filter reaches and nothing else. The bits are those of one process with everything.
"""

import numpy as np
from mpi4py import MPI

from tapline import _exchange, _parts

__all__ = ["convolve", "correlate"]

_TAG = 7211


def convolve(x, taps, mode="full", *, axis=-1, comm=None, **options):
    """`tapline.convolve` along an axis that is cut among the processes of `comm`.

    Parameters
    ----------
    x : array_like
        This process's part: at least one sample along `axis`; the other axes are as long in all processes.
    taps, mode, axis, **options
        As for `tapline.convolve`, the same in all processes: one filter of one axis. `threads` is 1 unless it is given.
    comm : mpi4py.MPI.Comm
        By default COMM_WORLD; all of its processes call.

    Returns
    -------
    numpy.ndarray
        The outputs with the numbers of this process's samples; of mode 'full' the last process has the k - 1 further ones, of mode
        'valid' the last ones have fewer or none.

    Raises ValueError in all processes where they do not agree about the problem, before anything else is sent.

    Examples
    --------
    >>> import numpy as np, tapline.mpi  # mpirun -n 4 python3 this.py
    >>> part = np.ones(1000)  # of 4,000 samples
    >>> tapline.mpi.convolve(part, [0.5, 0.5], "same").shape
    (1000,)
    """
    return _convolve(x, taps, mode, axis, comm, options, False)


def correlate(x, taps, mode="full", *, axis=-1, comm=None, **options):
    """`tapline.correlate` along an axis that is cut among the processes of `comm`; see `convolve`.

    Examples
    --------
    >>> import numpy as np, tapline.mpi  # mpirun -n 4 python3 this.py
    >>> tapline.mpi.correlate(np.ones(1000), [-1, 0, 1], "same").shape
    (1000,)
    """
    return _convolve(x, taps, mode, axis, comm, options, True)


def _convolve(x, taps, mode, axis, comm, options, correlation):
    comm = MPI.COMM_WORLD if comm is None else comm
    x = np.asarray(x)
    options.setdefault("threads", 1)
    try:
        local = (x.shape[:axis], x.shape[axis], x.shape[axis:][1:], x.dtype.str)
    except IndexError:
        local = None
    everybody = comm.allgather(local)
    sizes, shape = _agreed(everybody, x, axis)
    spec = _parts.signal_filter(shape, x.dtype, taps, mode, axis, correlation=correlation, **options)
    fingerprints = comm.allgather(spec.fingerprint)
    if len(set(fingerprints)) > 1:
        other = next(rank for rank, f in enumerate(fingerprints) if f != fingerprints[0])
        raise ValueError(
            f"taps, mode or options: processes 0 and {other} ask for different convolutions; give all of them the same"
        )
    axis = spec.axes[0]
    cuts = _exchange.cuts_of(sizes)
    parts = spec.parts(axis, cuts)
    window = _with_halos(x, axis, [0, *cuts], parts, comm)
    part = parts[comm.rank]
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


def _with_halos(x, axis, begins, parts, comm):
    """This process's window: its own samples and those that others sent."""
    own = comm.rank
    requests = []
    incoming = []
    for m in _exchange.messages_of(parts):
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
    MPI.Request.Waitall([request for request, _ in requests])
    shape = list(x.shape)
    shape[axis] = parts[own].window[1] - parts[own].window[0]
    return _parts.assemble(shape, x.dtype, (axis,), ([[[(m.place, m.step)], data] for m, data in incoming]))


def _bytes(array):
    return [array.reshape(-1).view(np.uint8), MPI.BYTE]
