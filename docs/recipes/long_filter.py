# %% [markdown]
# # A very long filter, on a GPU if there is one
#
# A filter of 262,144 taps over four million samples. With CuPy the arrays lie in GPU memory, and so does the result; without it
# the same lines run on the CPU. Only the import knows.

# %%
try:
    import cupy as xp
except ImportError:
    import numpy as xp
import numpy as np
import tapline

n, k = 1 << 22, 1 << 18
rng = np.random.default_rng(0)
signal = xp.asarray(rng.standard_normal(n, dtype=np.float32))
taps = (rng.standard_normal(k) * np.exp(-np.arange(k) / 40_000) / 200).astype(np.float32)

# %% [markdown]
# Taps are best given as a NumPy array, also beside a signal on a GPU: they are prepared once, and a plan keeps them.
# `plan(signal, out)` allocates nothing; on a GPU it is put on CuPy's current stream and waits for nothing.

# %%
plan = tapline.Plan(n, taps, "causal", dtype="float32")
out = xp.empty(plan.output_shape, np.float32)
plan(signal, out)
print(plan)

# %% [markdown]
# Some outputs, summed up in float64:

# %%
host, result = np.asarray(signal), np.asarray(out)
places = rng.integers(k, n, 20)
exact = np.array([host[o - k + 1 : o + 1][::-1].astype(float) @ taps.astype(float) for o in places])
error = np.abs(result[places] - exact).max() / np.abs(exact).max()
print("relative error below 1e-6:", bool(error < 1e-6))
assert error < 1e-6
