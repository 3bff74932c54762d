#!/bin/bash
# tapline beside everybody who convolves: bench/results/peers_cpu.json (with a GPU: peers_gpu.json) and docs/peers.md.
#
#   scripts/bench_peers.sh [ARGUMENT of bench/peers.py measure...]
#
# PRESET names the build, which must have `tapline` and `tapline_cli` (default: default). The peers of a CPU come from PyPI into build/peers/env,
# once. PEERS: more of them, e.g. "torch" (3 GB) or, on a GPU, "cupy-cuda13x torch jax[cuda13]". PEERS_ENV: an environment that has what is
# wanted, nanobind and scikit-build-core too, used as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/build/${PRESET:-default}
env=${PEERS_ENV:-$PWD/build/peers/env}

source scripts/python_env.sh
source scripts/python_module.sh
packages="nanobind scikit-build-core numpy scipy opencv-python-headless soxr"
[ "$(uname -m)" != x86_64 ] || packages+=" ipp mkl"
[ -n "${PEERS_ENV:-}" ] || python_env "$env" $packages ${PEERS:-}
python_module "$build" "$PWD/build/peers/wheels" "$env"
[ ! -e /dev/nvidia0 ] || scripts/peers_native.sh || echo "note: no peers in CUDA C++"
"$env/bin/python" bench/peers.py measure "$@"
[ "$(uname -m)" != x86_64 ] || "$env/bin/python" bench/peers_threads.py "$build"
"$env/bin/python" bench/peers.py report
