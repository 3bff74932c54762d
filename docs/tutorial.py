# %% [markdown]
# # Tutorial: filters from Python
#
# This page is docs/tutorial.py, a notebook in the percent format; its outputs and plots were made by `scripts/tutorial.py`, and a
# test runs it again and compares. Open the file as a notebook to change it.
#
# ## An electrocardiogram: drift and hum away
#
# Ten seconds at 500 samples a second: a heart beat, the slow drift of breathing, 50 Hz from the mains, and noise.

# %%
import numpy as np

import tapline
from tapline import ndimage

rate = 500
rng = np.random.default_rng(1)
t = np.arange(10 * rate) / rate
beat = sum(
    a * np.exp(-0.5 * (((t * 1.2) % 1 - at) / width) ** 2)
    for a, at, width in [(0.15, 0.2, 0.03), (-0.12, 0.34, 0.01), (1, 0.37, 0.012), (-0.2, 0.40, 0.012), (0.3, 0.65, 0.05)]
)
ecg = beat + 0.4 * np.sin(2 * np.pi * 0.25 * t) + 0.15 * np.sin(2 * np.pi * 50 * t) + 0.03 * rng.standard_normal(t.size)

# %% [markdown]
# A mean over 20 ms is one period of the hum, so it takes the hum out. The drift is what is left under a wide Gaussian; beyond the
# ends the signal is mirrored, so that nothing pulls the ends towards zero.

# %%
period = rate // 50
smooth = tapline.convolve(ecg, np.full(period, 1 / period), "same", boundary="reflect")
drift = ndimage.gaussian_filter1d(smooth, 0.6 * rate, mode="reflect")
clean = smooth - drift
print(f"error before {np.std(ecg - beat):.2f}, after {np.std(clean - beat):.2f}")

# %% plot tutorial_ecg
axes.plot(t[:2000], ecg[:2000], lw=0.7, color="0.6", label="recorded")
axes.plot(t[:2000], clean[:2000], lw=1.2, label="filtered")
axes.set_xlabel("seconds")
axes.legend()

# %% [markdown]
# Where are the beats? Correlate with one of them, and look for the peaks.

# %%
template = clean[100:220] - clean[100:220].mean()
score = tapline.correlate(clean, template, "same")
middle = score[1:-1]
peaks = 1 + np.flatnonzero((middle > score[:-2]) & (middle > score[2:]) & (middle > 0.5 * score.max()))
print(len(peaks), "beats,", np.round(60 * rate / np.diff(peaks).mean(), 1), "a minute")

# %% [markdown]
# ## A room
#
# Two seconds of speech-like noise in a room whose echo lasts a second: 48,000 taps. Nothing changes but the number; the plan says
# what it chose.

# %%
rate = 48_000
dry = (rng.standard_normal(2 * rate) * (np.sin(2 * np.pi * 1.5 * np.arange(2 * rate) / rate) > 0.3)).astype(np.float32)
room = (rng.standard_normal(rate) * np.exp(-6.9 * np.arange(rate) / rate)).astype(np.float32)
room[0] = 20
wet = tapline.convolve(dry, room, "causal")
plan = tapline.Plan(dry.shape, room, "causal", dtype=np.float32)
print(plan.algorithm.startswith(("overlap_save", "partitioned")), np.abs(plan(dry) - wet).max())

# %% [markdown]
# The same plan on both channels, or on sixty-four, is one call: every axis but the filtered one is rows. With `taps` of as many
# axes each row has a filter of its own.

# %%
ears = np.stack([room, np.roll(room, 20)])
print(tapline.convolve(dry[None], ears, "causal").shape)

# %% plot tutorial_room
axes.plot(np.arange(dry.size) / rate, wet / np.abs(wet).max(), lw=0.3, label="in the room")
axes.plot(np.arange(dry.size) / rate, dry / np.abs(dry).max() / 2, lw=0.3, label="dry")
axes.set_xlabel("seconds")
axes.legend(loc="lower right")

# %% [markdown]
# ## An image
#
# Discs with noise, as bytes. Smoothing and the gradient by the drop-ins for scipy.ndimage; `out=` rounds, saturates and scales in
# the same pass.

# %%
y, x = np.mgrid[0:256, 0:256]
image = sum(80 * ((x - cx) ** 2 + (y - cy) ** 2 < r**2) for cx, cy, r in [(80, 90, 50), (150, 150, 70), (190, 60, 30)])
image = np.clip(image + 15 * rng.standard_normal(image.shape), 0, 255).astype(np.uint8)
calm = ndimage.gaussian_filter(image.astype(np.float32), 2)
edges = np.hypot(ndimage.sobel(calm, 0), ndimage.sobel(calm, 1))
levels = np.empty(image.shape, np.uint8)
tapline.convolve(edges, [0.25, 0.5, 0.25], "same", boundary="nearest", out=levels, scale=255 / edges.max())
print(calm.dtype, levels.dtype, levels.max())

# %% plot tutorial_image
axes.imshow(np.hstack([image, calm.astype(np.uint8), levels]), cmap="gray")
axes.set_axis_off()

# %% [markdown]
# ## Integers and missing samples
#
# Integers are exact, and an overflow is an error unless wrapping is asked for. A NaN reaches the outputs whose window holds it, and
# no others, also through an FFT.

# %%
try:
    tapline.convolve(np.array([2**62, 2**62]), [1, 1])
except ValueError as problem:
    print(type(problem).__name__)
print(tapline.convolve(np.array([200, 100], np.uint8), np.array([2], np.uint8), dtype=np.uint8, overflow="wrap"))
long = np.ones(100_000)
long[50_000] = np.nan
print(np.isnan(tapline.convolve(long, np.ones(3000) / 3000, "same")).sum())

# %% [markdown]
# ## On a GPU
#
# `device="auto"`, the default, takes the GPU where host memory to host memory is faster that way; `device="cuda"` insists.
# `tapline.info()` says what there is, and why a GPU is not used.

# %%
print([engine["name"] for engine in tapline.info()["engines"]])

# %% [markdown]
# Arrays that are on a GPU stay there. Here it is a matched filter: a chirp of 65,535 samples was sent, and its echoes lie in 2^24
# samples of noise, each far below it. `correlate` is given a CuPy array and gives one; nothing is copied to the host until the
# echoes' places are printed. (These outputs and the plot were made on a machine with a GPU: `scripts/tutorial.py --gpu`.)

# %% gpu
import cupy

k, n = 65_535, 1 << 24
chirp = np.sin(np.pi * 0.4 * np.arange(k) ** 2 / k).astype(np.float32)
recording = cupy.asarray(np.random.default_rng(2).standard_normal(n, dtype=np.float32))
for place, strength in [(3_000_000, 0.1), (9_500_000, 0.08), (9_503_000, 0.06), (15_000_000, 0.05)]:
    recording[place : place + k] += strength * cupy.asarray(chirp)
echo = tapline.correlate(recording, chirp, "valid", scale=2 / k)
print(
    type(echo), echo.shape, "by", tapline.Plan(n, chirp, "valid", dtype="float32", device="cuda", operation="correlation").algorithm
)

# %% gpu
strong = cupy.flatnonzero(echo > 0.035).get()
print([int(near[np.argmax(echo[near].get())]) for near in np.split(strong, 1 + np.flatnonzero(np.diff(strong) > 100))])

# %% [markdown]
# The same on the CPU, from a copy in host memory:

# %% gpu
there = tapline.correlate(recording.get(), chirp, "valid", scale=2 / k, device="cpu")
print(f"largest difference: {np.abs(echo.get() - there).max():.0e}")

# %% plot_gpu tutorial_gpu
part = slice(9_490_000, 9_515_000)
axes.plot(np.arange(part.start, part.stop), recording[part].get() / 20, lw=0.2, color="0.7", label="recorded, / 20")
axes.plot(np.arange(part.start, part.stop), echo[part].get(), lw=0.8, label="matched filter")
axes.set_xlabel("sample")
axes.legend()
