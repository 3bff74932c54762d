#!/bin/bash
# Installs a wheel into a virtual environment with nothing else in it, and uses what it brings from another folder.
#
#   tests/python/wheel_test.sh WHEEL        PYTHON names the interpreter (default: python3)
#
# EXPECT_CUDA_ENGINE: if not empty, the wheel must hold the CUDA engine and find it.
# NumPy is the one thing that pip may add. SciPy must not be there: this is also the test of life without it.
set -euo pipefail
wheel=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" # nothing of the source tree may help
unset PYTHONPATH

"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install --quiet --disable-pip-version-check "$wheel"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

installed=$(env/bin/python -m pip list --format=freeze --disable-pip-version-check | grep -Ev '^(pip|setuptools|wheel)==' | sed 's/==.*//' | sort | tr '\n' ' ')
[ "$installed" = "numpy tapline " ] || fail "the wheel brought: $installed"

env/bin/python -I - <<'PYTHON'
import numpy as np
import tapline

x, h = np.random.default_rng(0).standard_normal(5000), np.ones(300) / 300
assert np.abs(tapline.convolve(x, h) - np.convolve(x, h)).max() < 1e-12
assert np.abs(tapline.signal.convolve(x, h, "same") - np.convolve(x, h, "same")).max() < 1e-12
assert tapline.ndimage.sobel(np.eye(4)).shape == (4, 4)
assert tapline.image(np.ones((4, 5), np.uint8), np.ones((2, 2))).dtype == np.uint8
assert tapline.Plan(x.size, h)(x).shape == (5299,)
assert tapline.info()["version"] == tapline.__version__
try:
    tapline.signal.convolve(x.astype(np.longdouble), h)
except TypeError as error:
    assert "install SciPy" in str(error), error
else:
    raise AssertionError("longdouble without SciPy")
print("the module works")
PYTHON

# The CUDA engine: found beside the library, so that what is said is about the driver or the GPU.
if [ -n "${EXPECT_CUDA_ENGINE:-}" ]; then
    env/bin/python -I - <<'PYTHON'
import pathlib
import tapline

assert (pathlib.Path(tapline.__file__).parent / "libtapline_cuda.so").exists(), "the wheel has no CUDA engine"
engine = tapline.info()["engines"][1]
assert engine["available"] or "driver" in engine["reason"] or "GPU" in engine["reason"], engine
print("the CUDA engine is found:", engine["reason"] or engine["devices"])
PYTHON
fi

# The command: the same one by its script and by its module, with its exit status.
version=$(env/bin/python -c 'import tapline; print(tapline.__version__)')
env/bin/python -m tapline --version | grep -qF "$version" || fail "python -m tapline --version"
printf '1\n2\n3\n' >signal.txt
env/bin/tapline convolve signal.txt 1,1 -o out.npy
env/bin/python -c 'import numpy; assert numpy.load("out.npy").ravel().tolist() == [1, 3, 5, 3], numpy.load("out.npy")'
if env/bin/python -m tapline nonsense 2>/dev/null; then fail "a wrong subcommand succeeded"; fi
echo "the command works"

# Nothing is left behind.
env/bin/python -m pip uninstall --quiet --yes tapline
[ -z "$(find env -path '*tapline*' -not -name '*.pyc' -type f)" ] || fail "left behind: $(find env -path '*tapline*' -type f | head)"
echo "the wheel installs and goes"
