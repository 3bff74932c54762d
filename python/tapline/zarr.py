"""Convolution from store to store of arrays larger than memory: Zarr, `.npy` files, HDF5.

`import tapline.zarr` needs zarr only for Zarr arrays and h5py only for HDF5. Regions of the target that are whole chunks of it
are read with what the filter reaches beside them, convolved and written one after the other; a run that was interrupted goes on
where it stopped. The bits are those of one convolution over everything.
"""

import argparse
import itertools
import math
import sys

import numpy as np

from tapline import _parts
from tapline._parts import stores, windows
from tapline._tools import progress as _progress

__all__ = ["convolve", "correlate", "image"]

# Of a region's input and output together, where the caller says nothing.
_MEMORY_BYTES = 256 << 20


def convolve(source, target, taps, mode="full", *, axis=-1, memory=_MEMORY_BYTES, progress="auto", overwrite=False, chunks=None,
             **options):  # fmt: skip
    """`tapline.convolve` along an axis of an array in a store.

    Parameters
    ----------
    source : str, os.PathLike, zarr.Array, h5py.Dataset or numpy.ndarray
        Never written. A path ends in .zarr, in .npy (read as a memory map), or in .h5 or .hdf5, then followed by ':' and the
        name of the dataset.
    target : str, os.PathLike, zarr store, zarr.Array, h5py.Dataset or numpy.ndarray
        A path or store is made like the source: for Zarr with its compressors, filters, attributes and names of dimensions. One
        that is there already is an error unless it is this run's, interrupted (`overwrite` replaces it). An array must have the
        result's shape; it is written as it is, and an interrupted run begins again.
    memory : int
        Bytes that a region's input and output may take together; at least one chunk of the target is done at once. Beside them a
        chunk's length of the source across a region is kept for the next one.
    progress : function, 'auto' or None
        Called as ``progress(done, regions)`` after each region; 'auto': a bar of tqdm after two seconds, where tqdm is installed
        and somebody watches.
    chunks : tuple of int, optional
        Of a new target; by default the source's.

    The other arguments are those of `tapline.convolve`.

    Returns
    -------
    The target, opened.

    Raises ValueError where source and target do not fit each other or the interrupted run was another problem's, FileExistsError
    where the target is somebody's, and OSError where it cannot be written.

    Examples
    --------
    >>> import numpy as np, tapline.zarr
    >>> np.save("recording.npy", np.arange(6.0))
    >>> tapline.zarr.convolve("recording.npy", "smooth.npy", [0.5, 0.5], "valid")[:]
    memmap([0.5, 1.5, 2.5, 3.5, 4.5])
    """
    return _run(source, target, lambda x: _parts.signal_filter(x.shape, x.dtype, taps, mode, axis, **options),
                memory, progress, overwrite, chunks)  # fmt: skip


def correlate(source, target, taps, mode="full", *, axis=-1, memory=_MEMORY_BYTES, progress="auto", overwrite=False, chunks=None,
              **options):  # fmt: skip
    """`tapline.correlate` from store to store; see `convolve`.

    Examples
    --------
    >>> import numpy as np, tapline.zarr
    >>> np.save("recording.npy", np.arange(6.0))
    >>> tapline.zarr.correlate("recording.npy", "slope.npy", [-1, 0, 1], "valid")[:]
    memmap([2., 2., 2., 2.])
    """
    make = lambda x: _parts.signal_filter(x.shape, x.dtype, taps, mode, axis, correlation=True, **options)  # noqa: E731
    return _run(source, target, make, memory, progress, overwrite, chunks)


def image(source, target, taps, mode="same", *, channel_axis=None, operation="convolution", memory=_MEMORY_BYTES, progress="auto",
          overwrite=False, chunks=None, **options):  # fmt: skip
    """`tapline.image` from store to store: rows and columns are the last two axes, with ``channel_axis=-1`` those before the last.

    Examples
    --------
    >>> import numpy as np, tapline.zarr
    >>> np.save("stack.npy", np.ones((2, 4, 5)))
    >>> tapline.zarr.image("stack.npy", "sums.npy", np.ones((3, 3)), "valid")[0, 0]
    memmap([9., 9., 9.])
    """
    if operation not in ("convolution", "correlation"):
        raise ValueError(f"operation: {operation!r}; one of 'convolution', 'correlation'")
    options["correlation"] = operation == "correlation"
    return _run(source, target, lambda x: _parts.image_filter(x.shape, x.dtype, taps, mode, channel_axis, **options),
                memory, progress, overwrite, chunks)  # fmt: skip


def _run(source, target, make_filter, memory, progress, overwrite, chunks):
    _progress.check(progress)
    x = stores.opened(source)
    if len(x.shape) == 0 or math.prod(x.shape) == 0:
        raise ValueError(f"source: shape {tuple(x.shape)}; give at least one sample")
    spec = make_filter(x)
    shape, dtype = spec.output_shape, spec.output_dtype
    problem = f"{spec.fingerprint:016x} {tuple(x.shape)} {x.dtype} {spec.options.get('mode')} axes {spec.axes}"
    with stores.target(target, x, shape, dtype, chunks, problem, overwrite) as out:
        cuts = _regions(spec, out.chunks, dtype, memory)
        spans: list = [list(itertools.pairwise([0, *cut, n])) for cut, n in zip(cuts, shape, strict=True)]
        for axis in spec.axes:
            spans[axis] = [windows.span_of(part) for part in spec.output_parts(axis, cuts[axis])]
        regions = list(itertools.product(*spans))
        out.begin(len(regions))
        source = windows.Windows(x, spec.axes)
        with _progress.Progress(len(regions), progress, "tapline.zarr", out.done) as steps:
            for number, region in enumerate(regions):
                if out.is_done(number):
                    continue
                following = regions[number + 1] if number + 1 < len(regions) else None
                values = spec.compute(source.window(region, following), windows.ranges_of(spec.axes, region))
                out.write(windows.outputs_of(region), values)
                out.finish_region(number)
                steps.step()
        return out.finish()


def _regions(spec, chunks, dtype, memory):
    """Cuts of the outputs along each axis: multiples of the target's chunks, as many of them together as fit `memory`.

    From the last axis on, so that a region is long where memory is contiguous. Along a filtered axis a part should be longer
    than what it reads beside it, or it would read much twice.
    """
    shape = spec.output_shape
    element = dtype.itemsize + spec.dtype.itemsize
    # No more parts of an axis than it has samples.
    least = [c * math.ceil(n / (c * samples)) for c, n, samples in zip(chunks, shape, spec.shape, strict=True)]
    sizes = [min(size, n) for size, n in zip(least, shape, strict=True)]

    def bytes_of(sizes):
        total = 1
        for axis, n in enumerate(sizes):
            total *= n + (spec.taps.shape[spec.axes.index(axis) - len(spec.axes)] - 1 if axis in spec.axes else 0)
        return total * element

    for axis in sorted(range(len(shape)), key=lambda a: (a not in spec.axes, -a)):
        while sizes[axis] < shape[axis]:
            larger = [*sizes]
            larger[axis] = min(sizes[axis] + chunks[axis] * max(sizes[axis] // chunks[axis], 1), shape[axis])
            if bytes_of(larger) > memory:
                break
            sizes = larger
    return [list(range(size, n, size)) for size, n in zip(sizes, shape, strict=True)]


def main(arguments=None):
    """`tapline convolve in.zarr -o out.zarr`: what the command hands on."""
    parser = argparse.ArgumentParser(
        prog="tapline convolve", description="Convolve an array in a store (Zarr, .npy, HDF5) into another."
    )
    parser.add_argument("source", metavar="SIGNAL", help="in.zarr, in.npy or in.h5:/NAME")
    parser.add_argument("taps", metavar="TAPS", help="a .npy or text file, or numbers with commas; of two axes: an image's mask")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the target, of the same kinds")
    parser.add_argument("--mode", default="full", choices=["full", "same", "valid", "causal", "leading"])
    parser.add_argument("--boundary", default="zero", choices=["zero", "constant", "nearest", "reflect", "mirror", "wrap"])
    parser.add_argument("--constant", type=float, default=None)
    parser.add_argument("--origin", type=int, default=None)
    parser.add_argument("--axis", type=int, default=-1)
    parser.add_argument("--correlate", action="store_true", help="taps are not reversed")
    parser.add_argument("--accuracy", default="standard", choices=["standard", "strict", "fast"])
    parser.add_argument("--dtype", default=None, help="of the output")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--bias", type=float, default=0.0)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--memory", type=float, default=_MEMORY_BYTES / 2**20, help="MiB of a region's input and output")
    parser.add_argument("--overwrite", action="store_true", help="replace a target that is there")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    a = parser.parse_args(arguments)
    options = {"mode": a.mode, "boundary": a.boundary, "constant": a.constant, "origin": a.origin, "accuracy": a.accuracy,
               "dtype": a.dtype, "scale": a.scale, "bias": a.bias, "threads": a.threads, "memory": int(a.memory * 2**20),
               "overwrite": a.overwrite}  # fmt: skip
    options["progress"] = None
    if not a.quiet and sys.stderr.isatty():
        options["progress"] = lambda done, all_of: print(f"\r{done} of {all_of} regions", end="", file=sys.stderr, flush=True)
    try:
        taps = _taps(a.taps)
        if taps.ndim == 2:
            image(a.source, a.output, taps, operation="correlation" if a.correlate else "convolution", **options)
        else:
            (correlate if a.correlate else convolve)(a.source, a.output, taps, axis=a.axis, **options)
    except (ValueError, TypeError, OSError, NotImplementedError, ImportError) as error:
        print(f"tapline: {error}", file=sys.stderr)
        return 1
    if options["progress"] is not None:
        print(file=sys.stderr)
    return 0


def _taps(text):
    if text.endswith(".npy"):
        return np.load(text, allow_pickle=False)
    try:
        return np.array([float(value) for value in text.split(",")])
    except ValueError:
        pass
    try:
        return np.loadtxt(text)
    except OSError as error:
        raise ValueError(f"{text}: neither a file of taps nor numbers with commas") from error


if __name__ == "__main__":
    sys.exit(main())
