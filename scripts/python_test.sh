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
source scripts/python_module.sh
python_env "$env" $python_module_packages

python_module "$build" "$wheels" "$env"

engine=
[ ! -f "$build/bin/libtapline_cuda.so" ] || engine=expected
EXPECT_CUDA_ENGINE=$engine PYTHON=$python tests/python/wheel_test.sh "$wheels"/tapline-*.whl
scripts/sdist_test.sh
own_tests() {
    TAPLINE_EMULATED_CUDA=$build/tests/emulated_cuda/libemulated_cuda.so "$env/bin/python" -m pytest -q -p no:cacheprovider tests/python
}
if [ "$quick" = --quick ]; then
    own_tests
    exit
fi
# NumPy's and SciPy's own tests meanwhile, on another core. From a folder without settings for pytest: the tests are theirs, and so is how they run.
log=$wheels/in_place.log
(
    in_place=$PWD/tests/python
    cd "$wheels"
    PYTHONPATH=$in_place "$env/bin/python" -m pytest -q -p tapline_in_place -p no:cacheprovider -c /dev/null \
        --pyargs $("$env/bin/python" "$in_place/tapline_in_place.py")
) >"$log" 2>&1 &
others=$!
status=0
own_tests || status=$?
wait "$others" || status=$?
cat "$log"
exit "$status"
