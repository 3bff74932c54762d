"""What copies alone take from host memory through several GPUs and back: pageable memory, pinned memory, GPU, pinned, pageable,
without a kernel. What tapline takes from host to host is measured against it."""

import concurrent.futures
import os

import numpy as np

import timing

CHUNK_BYTES = 8 << 20
MOST_THREADS = 12  # a GPU; more are not faster


class Lane:
    """A thread's pinned buffers and its place on a GPU."""

    def __init__(self, cupy, device):
        self.cupy, self.device = cupy, device
        with cupy.cuda.Device(device):
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self.there = cupy.empty(CHUNK_BYTES, np.uint8)
        self.to, self.back = (np.frombuffer(cupy.cuda.alloc_pinned_memory(CHUNK_BYTES), np.uint8, CHUNK_BYTES) for _ in range(2))

    def copy(self, y, x, chunks):
        runtime = self.cupy.cuda.runtime
        with self.cupy.cuda.Device(self.device):
            for first in chunks:
                n = min(CHUNK_BYTES, x.size - first)
                np.copyto(self.to[:n], x[first : first + n])
                runtime.memcpyAsync(self.there.data.ptr, self.to.ctypes.data, n, 1, self.stream.ptr)
                runtime.memcpyAsync(self.back.ctypes.data, self.there.data.ptr, n, 2, self.stream.ptr)
                self.stream.synchronize()
                np.copyto(y[first : first + n], self.back[:n])


def through_gpus(cupy, y, x, devices, runs):
    """Seconds of y = x by way of the first `devices` GPUs, all of the machine's threads shared among them; the best of some numbers
    of threads."""
    x, y = x.view(np.uint8), y.view(np.uint8)
    found = []
    cores = len(os.sched_getaffinity(0))
    for threads in sorted({max(min(MOST_THREADS, cores // devices) // part, 1) for part in (1, 2)}):
        lanes = [Lane(cupy, device) for device in range(devices) for _ in range(threads)]
        chunks = range(0, x.size, CHUNK_BYTES)
        shares = [chunks[i * len(chunks) // len(lanes) : (i + 1) * len(chunks) // len(lanes)] for i in range(len(lanes))]
        with concurrent.futures.ThreadPoolExecutor(len(lanes)) as pool:

            def once(pool=pool, lanes=lanes, shares=shares):
                list(pool.map(lambda lane, own: lane.copy(y, x, own), lanes, shares))

            y[:] = 0
            once()
            if not np.array_equal(x, y):
                raise RuntimeError("the copy is not the original")
            found.append(timing.spread(timing.repeat(once, 0, least=runs, most=runs)))
    return min(found, key=lambda t: t["median"])


def between_arrays(y, x, runs):
    """Seconds of y = x by all threads, without a GPU: what the host's memory can."""
    threads = len(os.sched_getaffinity(0))
    n = -(-x.size // threads)
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:

        def once():
            list(pool.map(lambda i: np.copyto(y[i * n : (i + 1) * n], x[i * n : (i + 1) * n]), range(threads)))

        once()
        return timing.spread(timing.repeat(once, 0, least=runs, most=runs))


def bar_of(devices, one, seconds, copies_of_one, copies):
    """Which bar holds where `devices` GPUs take `seconds` and one takes `one`, and what is reached of it: 0.9 a GPU of one's speed
    where the host's memory lets copies alone gain as much, else 0.9 of the speed of copies alone. A bar is met from 1 on."""
    wanted = 0.9 * devices
    if copies_of_one / copies >= wanted:
        return {"bar": f"{wanted:g} times one GPU", "reached": one / seconds / wanted}
    return {"bar": "0.9 of copies alone", "reached": copies / seconds / 0.9}
