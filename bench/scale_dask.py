"""Zarr to Zarr by Dask against one process that reads, convolves and writes chunk by chunk: time and memory, as JSON lines.

    python bench/scale_dask.py FOLDER [--side 20000] [--chunk 2500] [--peers] [--out bench/results/dask_NAME.json]

`bench/scaling.py report` takes what --out writes. Writes a random float32 array into FOLDER once, then filters it with a Gaussian
of sigma 5. `--peers` also measures dask-image and SciPy under map_overlap, each way in a process of its own.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import numpy as np

import timing


def gaussian(sigma):
    t = np.arange(-4 * sigma, 4 * sigma + 1)
    line = np.exp(-0.5 * (t / sigma) ** 2)
    return line / line.sum()


def prepare(path, side, chunk):
    import zarr

    if path.exists():
        return
    x = zarr.create_array(str(path), shape=(side, side), dtype="f4", chunks=(chunk, chunk), compressors=None)
    rng = np.random.default_rng(1)
    for i in range(0, side, chunk):
        for j in range(0, side, chunk):
            part = np.shape(x[i : i + chunk, j : j + chunk])
            x[i : i + chunk, j : j + chunk] = rng.standard_normal(part, dtype=np.float32)


def stored(y, target):
    """The best that Dask and Zarr have for it: their own to_zarr compresses, which takes a third of the time, and compares all of
    each chunk with the fill value."""
    import zarr

    settings = {"chunks": y.chunksize, "compressors": None, "config": {"write_empty_chunks": True}}
    y.store(zarr.create_array(str(target), shape=y.shape, dtype=y.dtype, **settings), lock=False, compute=True)


def stored_by_tapline(y, target):
    import tapline.dask

    tapline.dask.to_zarr(y, target)


def by_dask(function, store=stored):
    def run(source, target):
        import dask
        import dask.array as da

        with dask.config.set(scheduler="threads", num_workers=2):
            store(function(da.from_zarr(str(source))), target)

    return run


def copied(source, target):
    """What the machine takes for the same files without any filter, by two threads."""

    def copy(path):
        with open(path, "rb", buffering=0) as file, open(target / "-".join(path.parts[-2:]), "wb", buffering=0) as out:
            content = own.__dict__.setdefault("buffer", bytearray(path.stat().st_size))
            file.readinto(content)
            out.write(content)

    own = threading.local()
    target.mkdir()
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        list(threads.map(copy, sorted(path for path in source.glob("c/*/*"))))


def in_memory(function):
    """From chunks that are there to chunks: what no store takes part in."""

    def run(source, _):
        import dask
        import dask.array as da

        with dask.config.set(scheduler="threads", num_workers=2):
            x = da.from_zarr(str(source)).persist()
            function(x).persist()  # memory comes from the system once
            begin, used = time.perf_counter(), time.process_time()
            function(x).persist()
            return time.perf_counter() - begin, time.process_time() - used

    return run


def tapline_dask(x):
    import tapline.dask

    g = gaussian(5).astype(np.float32)
    return tapline.dask.image(x, np.outer(g, g), boundary="reflect")


def dask_image(x):
    from dask_image.ndfilters import gaussian_filter

    return gaussian_filter(x, 5)


def scipy_overlap(x):
    from scipy.ndimage import gaussian_filter

    return x.map_overlap(gaussian_filter, sigma=5, depth=20, boundary="reflect", dtype=x.dtype)


def one_process(source, target):
    """What Dask is measured against: the same chunks in turn, all threads inside tapline."""
    import tapline.zarr

    g = gaussian(5).astype(np.float32)
    tapline.zarr.image(source, target, np.outer(g, g), boundary="reflect", memory=1)


def peak_mib():
    """Of this process, which getrusage() takes for as large as the one that started it."""
    lines = pathlib.Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


MEMORY_BYTES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

WAYS = {
    "copies alone": copied,
    "one process": one_process,
    "tapline.dask": by_dask(tapline_dask, stored_by_tapline),
    "tapline.dask, stored as dask-image's": by_dask(tapline_dask),
    "dask-image": by_dask(dask_image),
    "map_overlap and SciPy": by_dask(scipy_overlap),
    "tapline.dask, in memory": in_memory(tapline_dask),
    "dask-image, in memory": in_memory(dask_image),
    "map_overlap and SciPy, in memory": in_memory(scipy_overlap),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--side", type=int, default=20_000)
    parser.add_argument("--chunk", type=int, default=2_500)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--way", help="this one alone, in this process")
    a = parser.parse_args()
    source, target = a.folder / f"in_{a.side}_{a.chunk}.zarr", a.folder / "out.zarr"
    if a.way:
        import dask.array  # noqa: F401
        import zarr

        import tapline.dask
        import tapline.zarr  # noqa: F401

        # What comes once: modules that Dask imports with its first computation, threads.
        small, read = a.folder / "in_500_250.zarr", bytearray(1 << 20)
        prepare(small, 500, 250)
        shutil.rmtree(target, ignore_errors=True)
        WAYS[a.way](small, target)
        shutil.rmtree(target, ignore_errors=True)
        os.sync()
        # Each way finds the source in the system's cache, as far as it fits there.
        for path in source.glob("c/*/*"):
            with open(path, "rb", buffering=0) as file:
                while file.readinto(read):
                    pass
        begin, used = time.perf_counter(), time.process_time()
        own = WAYS[a.way](source, target)
        peak = peak_mib()
        seconds, cpu = own or (time.perf_counter() - begin, time.process_time() - used)
        print(
            json.dumps({"way": a.way, "side": a.side, "chunk": a.chunk, "seconds": seconds, "cpu_seconds": cpu, "peak_mib": peak})
        )
        return
    prepare(source, a.side, a.chunk)
    results = {}
    lines = []
    for _ in range(a.repeat):
        for way in WAYS if a.peers else list(WAYS)[:3]:
            if way.endswith("in memory") and 3 * a.side**2 * 4 > MEMORY_BYTES:  # the input and two outputs
                continue
            call = [sys.executable, __file__, str(a.folder), "--side", str(a.side), "--chunk", str(a.chunk), "--way", way]
            lines.append(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
            print(lines[-1], end="", flush=True)
            if way.endswith(("in memory", "alone")):
                continue
            import zarr

            y = zarr.open_array(str(target), mode="r")
            results[way] = np.asarray(y[:: a.side // 50, :])
    one = results["one process"]
    same = all(np.array_equal(one, result) for way, result in results.items() if way.startswith("tapline"))
    apart = max((float(np.abs(one - result).max()) for way, result in results.items() if not way.startswith("tapline")), default=0)
    print(json.dumps({"same_bits": same, "largest_difference_from_peers": apart}))
    if a.out:
        result = {
            "machine": timing.machine(),
            "dask": [json.loads(line) for line in lines],
            "same_bits": same,
            "largest_difference_from_peers": apart,
        }
        a.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
