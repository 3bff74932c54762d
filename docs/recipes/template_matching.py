# %% [markdown]
# # Find a template in noise
#
# A matched filter: correlate a long, noisy recording with the wave that is looked for, and see where the result stands out. The
# wave is a chirp of 4,096 samples, and it is hidden, below the noise, at five places among a million samples.

# %%
import numpy as np
import tapline

rng = np.random.default_rng(0)
n, k = 1_000_000, 4096
t = np.arange(k) / k
template = (np.hanning(k) * np.sin(2 * np.pi * (50 * t + 400 * t**2))).astype(np.float32)
places = [12_345, 250_000, 400_321, 777_777, 950_001]
recording = rng.standard_normal(n, dtype=np.float32)
for at in places:
    recording[at : at + k] += 0.4 * template
print(f"the template's level is {20 * np.log10(0.4 * template.std()):.0f} dB below the noise")

# %% [markdown]
# `valid` keeps the positions where the template lies inside the recording, so an index is a place. `scale` is applied in the
# same pass: here it makes the noise in the result 1.

# %%
scores = tapline.correlate(recording, template, "valid", scale=1 / np.linalg.norm(template))
print(scores.shape, "noise of", scores.std().round(2))

# %% [markdown]
# Peaks above six times the noise:

# %%
from scipy.signal import find_peaks

peaks, _ = find_peaks(scores, height=6, distance=k)
print(peaks.tolist(), [float(score) for score in scores[peaks].round(1)])
assert np.abs(peaks - places).max() <= 2

# %% plot template_matching
axes.plot(scores, linewidth=0.3)
axes.plot(peaks, scores[peaks], "o", markersize=4)
axes.set(xlabel="position", ylabel="score")
