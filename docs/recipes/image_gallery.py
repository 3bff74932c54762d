# %% [markdown]
# # Blur a gallery in one batch
#
# Twenty-four colour pictures of one size in one array of bytes, (pictures, rows, columns, colours). The picture is one that
# comes with matplotlib; the others are cut out of it.

# %%
import matplotlib.cbook
import matplotlib.pyplot as plt
import numpy as np
import tapline

photo = plt.imread(matplotlib.cbook.get_sample_data("grace_hopper.jpg"))
rng = np.random.default_rng(0)
corners = [(int(rng.integers(photo.shape[0] - 256)), int(rng.integers(photo.shape[1] - 256))) for _ in range(24)]
gallery = np.stack([photo[y : y + 256, x : x + 256] for y, x in corners])
print(gallery.shape, gallery.dtype)

# %% [markdown]
# A Gaussian mask, one call: bytes in, bytes out, rounded and saturated; the colours stay where they are. That the mask is a
# product of a column and a row is found by `tapline.image` itself.

# %%
line = np.exp(-0.5 * (np.arange(-12, 13) / 4) ** 2)
mask = np.outer(line, line) / line.sum() ** 2
soft = tapline.image(gallery, mask, channel_axis=-1, boundary="reflect")
print(soft.shape, soft.dtype)

# %% [markdown]
# The same by SciPy in float64, to the last rounding:

# %%
from scipy import ndimage

exact = ndimage.convolve(gallery[0, :, :, 1].astype(float), mask, mode="reflect")
print("largest difference:", np.abs(soft[0, :, :, 1] - exact).max().round(2))
assert np.abs(soft[0, :, :, 1] - exact).max() < 0.51

# %% plot image_gallery
axes.imshow(np.vstack([np.hstack(gallery[:6]), np.hstack(soft[:6])]))
axes.axis("off")
