# %% [markdown]
# # Band-pass a recording of 384 channels
#
# A probe in a brain gives 384 channels of int16, time first, at 30 kHz. Spikes lie between 300 and 6,000 Hz. Here is one second
# of such a recording, made up: slow waves that all channels share, noise, and spikes on some of them.

# %%
import numpy as np
import tapline

rate, channels = 30_000, 384
rng = np.random.default_rng(0)
t = np.arange(rate) / rate
recording = 40 * rng.standard_normal((t.size, channels), dtype=np.float32)
recording += (900 * np.sin(2 * np.pi * 8 * t))[:, None].astype(np.float32)
spike = (-400 * np.diff(np.hanning(32), prepend=0) * 10).astype(np.float32)
spike_times = np.sort(rng.choice(np.arange(500, t.size - 500, 200), 30, replace=False))
for at in spike_times:
    recording[at : at + 32, 100:110] += spike[:, None]
recording = recording.round().astype(np.int16)
print(recording.shape, recording.dtype, f"{recording.nbytes / 2**20:.0f} MiB")

# %% [markdown]
# One call filters down the time axis. Nothing is transposed: samples of one moment lie side by side, and so they are computed.
# The samples are read as int16, summed in float32, rounded and saturated into int16 in the same pass.

# %%
from scipy.signal import firwin

taps = firwin(301, [300, 6000], fs=rate, pass_zero=False).astype(np.float32)
filtered = np.empty_like(recording)
tapline.convolve(recording, taps, "same", axis=0, boundary="mirror", out=filtered)
print("level before and after:", recording.std().round(), filtered.std().round(1))

# %% [markdown]
# The same by SciPy in float64, for one channel; what differs is the rounding to whole numbers. Then the spikes, by a threshold.

# %%
from scipy import ndimage

exact = ndimage.convolve1d(recording[:, 105].astype(np.float64), taps.astype(np.float64), mode="mirror")
print("largest difference:", np.abs(exact - filtered[:, 105]).max().round(2))
below = filtered[:, 100:110].mean(1) < -200
found = np.flatnonzero(below[1:] & ~below[:-1])
found = found[np.diff(found, prepend=-1000) > 60]
print(f"{found.size} of {spike_times.size} spikes found")
assert np.abs(exact - filtered[:, 105]).max() < 0.51
assert found.size == spike_times.size

# %% plot neural_recording
part = slice(0, 6000)
axes.plot(t[part], recording[part, 105], linewidth=0.6, label="recorded")
axes.plot(t[part], filtered[part, 105], linewidth=0.8, label="300 to 6,000 Hz")
axes.set(xlabel="seconds")
axes.legend(loc="upper right")
