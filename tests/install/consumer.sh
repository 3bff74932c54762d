#!/bin/bash
# Installs into a folder, moves it, and builds examples/consumer against it, through find_package and through pkg-config. The CUDA
# engine, if it was built, lies beside the library and is found from there.
set -euo pipefail
: "${TAPLINE_SOURCE_DIR:?}" "${TAPLINE_BUILD_DIR:?}" "${TAPLINE_VERSION:?}" "${CMAKE:?}" "${CXX:?}"

work=$(mktemp -d "$TAPLINE_BUILD_DIR/consumer.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset DESTDIR

"$CMAKE" --install "$TAPLINE_BUILD_DIR" --prefix "$work/installed" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/installed" "$work/moved" # nothing may remember where it was installed first
prefix=$work/moved
if [ -z "${CMAKE_TOOLCHAIN_FILE:-}" ]; then unset CMAKE_TOOLCHAIN_FILE; fi
run=(env ${TAPLINE_EMULATOR:-}) # what was compiled for another processor runs under an emulator

expect() { # expect PATTERN OUTPUT: a line of the output matches the whole pattern
    grep -qxE "$1" <<<"$2" || { echo "expected '$1' in:"; echo "$2"; exit 1; }
}

echo "-- find_package"
# The consumer must not need what libtapline.so was built with.
"$CMAKE" -S "$TAPLINE_SOURCE_DIR/examples/consumer" -B "$work/build" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
"$CMAKE" --build "$work/build"
output=$("${run[@]}" "$work/build/consumer")
expect "tapline ${TAPLINE_VERSION//./\\.}: 1 4 7 6" "$output"
expect "tapline ${TAPLINE_VERSION//./\\.} from C: 1 4 7 6" "$("${run[@]}" "$work/build/consumer_c")"

echo "-- find_package refuses a version that is not compatible"
sed 's/find_package(tapline [0-9.]*/find_package(tapline 99.0/' "$TAPLINE_SOURCE_DIR/examples/consumer/CMakeLists.txt" >"$work/CMakeLists.txt"
mkdir "$work/wrong" && cp "$TAPLINE_SOURCE_DIR"/examples/consumer/main.* "$work/wrong/" && mv "$work/CMakeLists.txt" "$work/wrong/"
if "$CMAKE" -S "$work/wrong" -B "$work/wrong/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >"$work/wrong.log" 2>&1; then
    echo "version 99.0 was accepted"
    exit 1
fi
grep -q 'requested version "99.0"' "$work/wrong.log" || { cat "$work/wrong.log"; exit 1; }

echo "-- FetchContent: the library is a part of the project; the command and the tests are not"
# Compiling it all once more would take minutes; what a configured project would do takes seconds.
"$CMAKE" -S "$TAPLINE_SOURCE_DIR/examples/fetch_content" -B "$work/fetched" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" \
    -DFETCHCONTENT_SOURCE_DIR_TAPLINE="$TAPLINE_SOURCE_DIR" >"$work/fetched.log" || { cat "$work/fetched.log"; exit 1; }
grep -q "libtapline.so" <(ninja -C "$work/fetched" -t commands app) || { echo "FetchContent: the library is not built"; exit 1; }
if grep -qE "tapline_cli|tapline_unit_tests|[.]cu[.]o" <(ninja -C "$work/fetched" -t commands all); then
    echo "FetchContent: more is built than the library"
    exit 1
fi

echo "-- pkg-config"
pc=$(find "$prefix" -name tapline.pc)
export PKG_CONFIG_PATH=${pc%/*}
[ "$(pkg-config --modversion tapline)" = "$TAPLINE_VERSION" ]
# shellcheck disable=SC2046  # the flags are words
"$CXX" -std=c++20 -Wall -Wextra -Werror "$TAPLINE_SOURCE_DIR/examples/consumer/main.cpp" -o "$work/by_pkg_config" $(pkg-config --cflags --libs tapline)
libdir=$(pkg-config --variable=libdir tapline)
expect "tapline ${TAPLINE_VERSION//./\\.}: 1 4 7 6" "$(LD_LIBRARY_PATH=$libdir "${run[@]}" "$work/by_pkg_config")"

echo "-- the example with MPI, by find_package, in four processes, where there is one: also that of the Python module's tests"
mpirun=$(PATH=$PATH:$TAPLINE_SOURCE_DIR/build/python/env/bin command -v mpirun || true)
if [ -n "$mpirun" ] && [ -x "${mpirun%/*}/mpicxx" ]; then
    export OMPI_CXX=$CXX OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
    export OMPI_MCA_rmaps_base_oversubscribe=true PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    "$CMAKE" -S "$TAPLINE_SOURCE_DIR/examples/mpi" -B "$work/mpi" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_PREFIX_PATH="$prefix" \
        -DMPI_CXX_COMPILER="${mpirun%/*}/mpicxx" >"$work/mpi.log" && "$CMAKE" --build "$work/mpi" >>"$work/mpi.log" || { cat "$work/mpi.log"; exit 1; }
    expect "4 processes, .* the same bits as one plan; ([0-9]+) bytes sent, halos are \1" \
        "$("$mpirun" -n 4 "$work/mpi/mpi_convolve" 200000 501)"
fi

echo "-- the CUDA engine"
has_engine=${TAPLINE_HAS_ENGINE:-0}
has_lessons=$((has_engine * ${TAPLINE_HAS_COMMAND:-0}))  # for the command's ladder
is_there() { [ -e "$libdir/$1" ] && echo 1 || echo 0; }
[ "$has_engine $has_lessons" = "$(is_there libtapline_cuda.so) $(is_there libtapline_lessons.so)" ] || { ls "$libdir"; echo "The engine was built: $has_engine"; exit 1; }
# shellcheck disable=SC2046
"$CXX" -std=c++20 "$TAPLINE_SOURCE_DIR/tests/install/engines.cpp" -o "$work/engines" $(pkg-config --cflags --libs tapline)
find_engine() { LD_LIBRARY_PATH=$libdir TAPLINE_HAS_ENGINE=$1 bash "$TAPLINE_SOURCE_DIR/tests/install/engine.sh" "${run[@]}" "$work/engines"; }
find_engine "$has_engine"

if [ "${TAPLINE_HAS_COMMAND:-0}" = 1 ]; then
    echo "-- the command, its completion and its man page"
    expect ".*${TAPLINE_VERSION//./\\.}.*" "$(env -u LD_LIBRARY_PATH "${run[@]}" "$prefix/bin/tapline" --version)"
    bash -n "$prefix/share/bash-completion/completions/tapline"
    test -s "$prefix/share/man/man1/tapline.1"
    TAPLINE_HAS_ENGINE=$has_engine bash "$TAPLINE_SOURCE_DIR/tests/install/engine.sh" "${run[@]}" "$prefix/bin/tapline" info
fi

if [ "$has_engine" = 1 ]; then
    echo "-- without the CUDA engine"
    mv "$libdir/libtapline_cuda.so" "$work/"
    find_engine 0
fi
