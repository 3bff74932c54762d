# %% [markdown]
# # A recording larger than memory
#
# 64 channels, written to a Zarr array by blocks, filtered along time from store to store in a small part of its size,
# interrupted on the way and gone on with. `python larger_than_memory.py FOLDER [MIB]` runs this page; output.txt is what it
# printed.

# %%
import pathlib
import resource
import sys

import numpy as np
import zarr

import tapline.dask
import tapline.zarr

folder = pathlib.Path(sys.argv[1])
mib = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
channels, rate = 64, 1000
samples = mib * 2**20 // 4 // channels

# %% [markdown]
# ## The recording: a tone of 3 Hz in each channel, and noise

# %%
recording = zarr.create_array(
    str(folder / "recording.zarr"),
    shape=(samples, channels),
    dtype="f4",
    chunks=(65_536, channels),
    dimension_names=("time", "channel"),
    attributes={"rate": rate, "units": "uV"},
    overwrite=True,
)
rng = np.random.default_rng(1)
for first in range(0, samples, 65_536):
    t = np.arange(first, min(first + 65_536, samples))[:, None] / rate
    noise = rng.standard_normal((len(t), channels), dtype=np.float32)
    recording[first : first + len(t)] = np.sin(2 * np.pi * (3 * t + np.arange(channels) / channels)) + noise
print(f"recording: {recording.shape}, {recording.nbytes / 2**20:.0f} MiB")

# %% [markdown]
# ## A low-pass at 10 Hz, 1,001 taps, in at most 64 MiB for samples at a time

# %%
cutoff, k = 10 / rate, 1001
t = np.arange(k) - k // 2
taps = (2 * cutoff * np.sinc(2 * cutoff * t) * np.hamming(k)).astype(np.float32)
options = {"mode": "same", "axis": 0, "boundary": "reflect", "memory": 64 << 20, "overwrite": False}
target = folder / "filtered.zarr"


class Interrupted(Exception):
    pass


def interrupt_half_way(done, regions):
    if done == regions // 2:
        raise Interrupted(f"after {done} of {regions} regions")


try:
    tapline.zarr.convolve(recording, target, taps, progress=interrupt_half_way, **options)
except Interrupted as reason:
    print("interrupted", reason)

# %% [markdown]
# The same call again does the regions that are left.

# %%
left = []
filtered = tapline.zarr.convolve(recording, target, taps, progress=lambda done, regions: left.append(done), **options)
print(f"gone on with: {len(left)} regions; {filtered.shape}, {dict(filtered.attrs)}")

# %% [markdown]
# ## Is it right? The bits of the whole, at the borders of regions as elsewhere

# %%
places = [0, 65_536 * 3 - 500, samples // 2, samples - 1000]
for first in places:
    lo, hi = max(first - 5000, 0), min(first + 6000, samples)
    window = np.asarray(recording[lo:hi, :3], np.float64)
    expected = tapline.convolve(window, taps.astype(np.float64), "same", axis=0, boundary="reflect")[first - lo : first - lo + 1000]
    error = np.abs(filtered[first : first + 1000, :3] - expected).max()
    print(f"at {first:>9}: largest error {error:.0e}")
kept = np.std(filtered[samples // 2 : samples // 2 + 100_000, 0]) / np.sqrt(0.5)
print(f"amplitude of the tone afterwards: {kept:.2f}")

# %% [markdown]
# ## The same through Dask, and what memory both took

# %%
import dask.array as da  # noqa: E402

lazy = tapline.dask.convolve(da.from_zarr(recording), taps, "same", axis=0, boundary="reflect")
part = slice(samples // 3, samples // 3 + 100_000)
same = np.array_equal(lazy[part].compute(), filtered[part])
print("Dask:", lazy, "\nthe same bits:", same)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"memory at most: {'less than half of' if peak < mib / 2 else 'more than half of'} the recording's")
