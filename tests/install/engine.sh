#!/bin/bash
# Whether a program finds the CUDA engine that it should (TAPLINE_HAS_ENGINE=1) or says that there is none (0), whatever lies in
# the current folder. Found means loaded: without a GPU the engine itself then tells that there is none.
#
#   engine.sh PROGRAM [ARGUMENT...]     prints a line "engine cuda..." with the reason
set -euo pipefail
unset TAPLINE_CUDA_LIBRARY
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir lib lib64 bin
for place in . lib lib64 bin; do echo "not a library" >$place/libtapline_cuda.so; done
line=$("$@" | grep -E '^engine cuda')
echo "$line"
if grep -qF -e "$folder" -e "invalid ELF header" <<<"$line"; then
    echo "it looked in the current folder"
    exit 1
fi
absent=$(grep -cF "no libtapline_cuda.so beside" <<<"$line" || true)
if [ "$absent" = "${TAPLINE_HAS_ENGINE:?}" ]; then
    echo "the engine is there: $TAPLINE_HAS_ENGINE"
    exit 1
fi
