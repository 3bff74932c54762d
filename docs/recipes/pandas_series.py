# %% [markdown]
# # Smooth a pandas series
#
# The prices of a share that come with matplotlib, by a Savitzky-Golay filter. `tapline.convolve` takes what NumPy takes; the
# index is put back by hand.

# %%
import matplotlib.cbook
import numpy as np
import pandas as pd
import tapline

rows = matplotlib.cbook.get_sample_data("goog.npz")["price_data"]
prices = pd.Series(rows["close"], index=pd.to_datetime(rows["date"]), name="close")
print(len(prices), "days from", prices.index[0].date(), "to", prices.index[-1].date())

# %%
from scipy.signal import savgol_coeffs, savgol_filter

taps = savgol_coeffs(31, 3)
smooth = pd.Series(tapline.convolve(prices, taps, "same", boundary="mirror"), prices.index, name="smoothed")
print(smooth.tail(3).round(2).to_string())
assert np.allclose(smooth, savgol_filter(prices, 31, 3, mode="mirror"))

# %% [markdown]
# A whole frame is filtered down its columns:

# %%
frame = pd.DataFrame({"open": rows["open"], "close": rows["close"]}, prices.index)
means = pd.DataFrame(tapline.convolve(frame, np.ones(5) / 5, "valid", axis=0), frame.index[4:], frame.columns)
print(means.tail(2).round(2).to_string())
assert np.allclose(means, frame.rolling(5).mean().dropna())

# %% [markdown]
# With xarray the same stands between `apply_ufunc` and its arrays, which keeps names and coordinates:
#
# ```python
# xr.apply_ufunc(lambda a: tapline.convolve(a, taps, "same", boundary="mirror"), array,
#                input_core_dims=[["time"]], output_core_dims=[["time"]])
# ```

# %% plot pandas_series
axes.plot(prices.index, prices, linewidth=0.4, label="close")
axes.plot(smooth.index, smooth, linewidth=1, label="smoothed")
axes.legend(loc="upper left")
