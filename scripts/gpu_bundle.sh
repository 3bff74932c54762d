#!/bin/bash
# Collects what the GPU tests and benchmarks need on a machine that has the driver but no development packages: the programs and
# every shared library of theirs that does not belong to glibc, stripped.
#
#   scripts/gpu_bundle.sh DIR       then, there: GPU_BUNDLE=DIR scripts/gpu_test.sh
#
#   DIR/bin   tapline, tapline_gpu_tests, libtapline_cuda.so, libtapline_lessons.so, libtapline_solve.so (for its test)
#   DIR/lib   libraries (LD_LIBRARY_PATH); DIR/lib/fallback   GCC's, for a system without: a newer one's tools need its own
#   DIR/scripts, DIR/bench   to run them without this tree     DIR/tree   its hash
#
# BUILD is the built tree (default build/$PRESET); nothing is compiled here.
set -euo pipefail
if [ $# -ne 1 ]; then
    echo "usage: scripts/gpu_bundle.sh DIR" >&2
    exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
build=${BUILD:-build/${PRESET:-default}}
most_bytes=$((80 << 20))

rm -rf "$out/bin" "$out/lib" "$out/scripts" "$out/bench" "$out/tree"
mkdir -p "$out/bin" "$out/lib/fallback" "$out/scripts" "$out/bench"
for program in tapline tapline_gpu_tests libtapline_cuda.so libtapline_lessons.so libtapline_solve.so; do
    if [ ! -e "$build/bin/$program" ]; then
        echo "error: $build/bin/$program is missing; build it first (it needs nvcc)" >&2
        exit 1
    fi
    newer=$(find include examples lessons src/core src/cuda src/gpu_host tests/gpu tests/support -newer "$build/bin/$program" -type f ! -name receipt.json \
        \( -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' \) -print -quit)
    [ -z "$newer" ] || newest=$newer
    cp -L "$build/bin/$program" "$out/bin/"
done
[ -z "${newest:-}" ] || echo "note: $newest is newer than a program; was everything built?" >&2

# The loader and what glibc consists of come with every system and must be its own.
is_glibc() { [[ $1 =~ ^(ld-linux.*|libc|libm|libmvec|libdl|libpthread|librt|libresolv|libutil|libnsl|libanl|libBrokenLocale)\.so ]]; }
for file in "$out"/bin/*; do ldd "$file" | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $2 == "=>" && $3 == "not" { print "missing " $1 }'; done |
    sort -u | while read -r library missing; do
    if [ "$library" = missing ]; then
        echo "error: the library $missing is not found" >&2
        exit 1
    fi
    name=$(basename "$library")
    case $name in
        libstdc++.so.* | libgcc_s.so.*) cp -L "$library" "$out/lib/fallback/$name" ;;
        *) is_glibc "$name" || cp -L "$library" "$out/lib/$name" ;;
    esac
done
strip --strip-unneeded "$out"/bin/* "$out"/lib/*.so* "$out"/lib/fallback/*

cp scripts/gpu_test.sh scripts/gpu_receipt.py scripts/gpu_bundle_libraries.sh "$out/scripts/"
cp bench/*.py "$out/bench/"
python3 scripts/gpu_receipt.py hash >"$out/tree"

bytes=$(du -sb "$out" | cut -f1)
echo "$out: $((bytes >> 10)) KiB, $(find "$out/lib" -type f | wc -l) libraries"
if [ "$bytes" -gt "$most_bytes" ]; then
    echo "error: larger than 80 MiB" >&2
    du -ab "$out" | sort -rn | head >&2
    exit 1
fi
