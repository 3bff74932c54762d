#!/bin/bash
# The peers in CUDA C++, for the GPU that is there: build/peers/native. cuFFTDx's headers come from PyPI (nvidia-mathdx); MATX names a checkout of
# MatX, which is left out without it. NATIVE_ARCHITECTURE: for another GPU, e.g. 90a.
#
#   scripts/peers_native.sh
set -euo pipefail
cd "$(dirname "$0")/.."
out=build/peers/native
options=(-O3 "-arch=${NATIVE_ARCHITECTURE:+sm_}${NATIVE_ARCHITECTURE:-native}" -shared -Xcompiler=-fPIC)
mkdir -p $out
if [ ! -d $out/headers ]; then
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest $out nvidia-mathdx
    python3 -m zipfile -e $out/nvidia_mathdx-*.whl $out/headers
fi
nvcc -std=c++17 "${options[@]}" -DCUFFTDX_DISABLE_CUTLASS_DEPENDENCY -I $out/headers/nvidia/mathdx/include bench/native/cufftdx_overlap_save.cu \
    -o $out/libpeer_cufftdx.so
versions="\"cuFFTDx of nvidia-mathdx\": \"$(basename $out/nvidia_mathdx-*.whl | cut -d- -f2)\""
if [ -n "${MATX:-}" ]; then
    versions+=", \"MatX\": \"$(git -C "$MATX" log -1 --format=%h)\""
    nvcc -std=c++20 "${options[@]}" --expt-relaxed-constexpr --extended-lambda -I "$MATX/include" bench/native/matx_convolve.cu -lcufft \
        -o $out/libpeer_matx.so
fi
echo "{$versions}" >$out/versions.json
