# %% [markdown]
# # Put a recording into a room
#
# A room is a filter: what a microphone hears after a clap. Here is a dry sound, five plucked strings, and a room of 1.5 seconds
# in stereo; with files, the whole of this page is `tapline convolve dry.wav room.wav -o wet.wav`.

# %%
import numpy as np
import tapline

rate = 44_100
rng = np.random.default_rng(0)
dry = np.zeros(4 * rate, np.float32)
for i, pitch in enumerate([220, 277.2, 329.6, 440, 554.4]):
    t = np.arange(rate) / rate
    note = np.exp(-5 * t) * sum(np.sin(2 * np.pi * pitch * h * t) / h**2 for h in range(1, 6))
    begin = i * rate // 2
    dry[begin : begin + rate] += 0.3 * note.astype(np.float32)

length = int(1.5 * rate)
room = rng.standard_normal((2, length)) * 10 ** (-3 * np.arange(length) / length)  # 60 dB down at its end
room = (room / np.linalg.norm(room, axis=1, keepdims=True)).astype(np.float32)
print(f"{dry.size:,} samples, {length:,} taps for each ear")

# %% [markdown]
# Two rows of filters over one signal: it broadcasts, as NumPy would. The output is longer than the sound, since the room rings
# on.

# %%
wet = tapline.convolve(np.broadcast_to(dry, (2, dry.size)), room)
print(wet.shape, wet.dtype)

# %% [markdown]
# What it should be, in float64, and a WAV file.

# %%
import io

from scipy.io import wavfile
from scipy.signal import fftconvolve

exact = fftconvolve(dry[None].astype(float), room.astype(float), axes=1)
error = np.linalg.norm(wet - exact) / np.linalg.norm(exact)
print("relative error below 1e-6:", bool(error < 1e-6))
file = io.BytesIO()  # or a path
wavfile.write(file, rate, (wet / np.abs(wet).max()).T)
print(f"{file.tell() / 2**20:.1f} MiB of WAV")
assert error < 1e-6

# %% plot room_reverb
axes.plot(np.arange(wet.shape[1]) / rate, wet[0], linewidth=0.4, label="in the room")
axes.plot(np.arange(dry.size) / rate, dry, linewidth=0.4, label="dry")
axes.set(xlabel="seconds")
axes.legend(loc="upper right")
