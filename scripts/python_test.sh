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
    TAPLINE_EMULATED_CUDA=$build/tests/emulated_cuda/libemulated_cuda.so "$env/bin/python" -m pytest -q -p no:cacheprovider "$@"
}
if [ "$quick" = --quick ]; then
    own_tests tests/python
    exit
fi
# Three parts side by side: the module's tests, those of arrays in GPU memory (on the emulated engine), and NumPy's and SciPy's own. The last
# from a folder without settings for pytest: the tests are theirs, and so is how they run.
parts=()
part() { # part NAME COMMAND...
    "${@:2}" >"$wheels/$1.log" 2>&1 &
    parts+=("$!")
}
in_place() {
    cd "$wheels"
    PYTHONPATH=$OLDPWD/tests/python "$env/bin/python" -m pytest -q -p tapline_in_place -p no:cacheprovider -c /dev/null \
        --pyargs $("$env/bin/python" "$OLDPWD/tests/python/tapline_in_place.py")
}
part gpu own_tests tests/python/gpu
part in_place in_place
status=0
own_tests tests/python --ignore=tests/python/gpu || status=$?
for part in "${parts[@]}"; do wait "$part" || status=$?; done
cat "$wheels/gpu.log" "$wheels/in_place.log"
exit "$status"
