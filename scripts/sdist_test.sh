#!/bin/bash
# Makes the source distribution and configures what it holds, without a network.
#
#   scripts/sdist_test.sh [--build]      --build: also compile the wheel from it, which takes as long as `pip install .`
#
# Needs build/python/env (scripts/python_test.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/build/python/env/bin/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

offline=(env http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 PIP_NO_INDEX=1)
if unshare -rn true 2>/dev/null; then offline+=(unshare -rn); fi

"$python" -c 'import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])' "$work" >/dev/null
tar -xzf "$work"/tapline-*.tar.gz -C "$work"
source=$(echo "$work"/tapline-*/)
size=$(stat -c %s "$work"/tapline-*.tar.gz)
[ "$size" -lt 6000000 ] || { echo "FAILED: the source distribution has $size bytes"; exit 1; }
for file in LICENSE pyproject.toml CMakeLists.txt include/tapline/tapline.h python/tapline/__init__.pyi docs/tapline.1; do
    [ -f "$source/$file" ] || { echo "FAILED: no $file in the source distribution"; exit 1; }
done
"${offline[@]}" cmake -S "$source" -B "$work/build" -G Ninja -DTAPLINE_PYTHON=ON -DTAPLINE_CUDA=off -DPython_EXECUTABLE="$python" >"$work/log" ||
    { cat "$work/log"; exit 1; }
echo "the source distribution, $((size / 1024)) KiB, configures without a network"
if [ "${1:-}" = --build ]; then
    "${offline[@]}" "$python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$work/wheels" "$work"/tapline-*.tar.gz
    PYTHON=${PYTHON:-python3} tests/python/wheel_test.sh "$work"/wheels/tapline-*.whl
fi
