#!/bin/bash
# The C library and what else programs in a wheel stand on, of a system older than this one: what is linked against it runs there and on all
# that came later. `make wheels` asks for it; no root is needed.
#
#   scripts/old_system.sh FOLDER MACHINE       MACHINE: x86_64 or aarch64; MIRROR names another of Debian's mirrors
#
# FOLDER gets packages of Debian 11 (glibc 2.31, GCC 10's libstdc++), unpacked, and beside them
#   link/   what g++ is told to find first (-L): libstdc++.so, which is the old one, with what it lacks from this compiler's archive
#   given/  links to the libraries that go into a wheel
#   owners  which package a library is of: its licence is in usr/share/doc
# Programs are compiled with this system's headers and linked with --sysroot=FOLDER -LFOLDER/link (TAPLINE_OLD_SYSTEM of CMake).
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,12s/^# \?//p' "$0"; exit 2; }
mkdir -p "$1"
folder=$(realpath "$1")
machine=$2
declare -A debian=([x86_64]=amd64 [aarch64]=arm64)
packages="libc6-dev libstdc++6 libgcc-s1 libsndfile1 libpng16-16 libjpeg62-turbo libcairo2 libfontconfig1 fonts-dejavu-core"
triple=$machine-linux-gnu
compiler=g++
[ "$machine" = "$(uname -m)" ] || compiler=$triple-g++
[ ! -e "$folder/complete" ] || exit 0
: >"$folder/owners"

# apt with lists, state and cache of its own, in which nothing is installed.
apt=$folder/apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/none"
: >"$apt/status"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e $keyring ] || { echo "FAILED: no $keyring (package debian-archive-keyring)" >&2; exit 1; }
mirror=${MIRROR:-http://deb.debian.org/debian}
echo "deb [signed-by=$keyring] $mirror bullseye main" >"$apt/sources.list"
old_apt() {
    apt-get -q -y -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts="$apt/none" -o Dir::Etc::Preferences="$apt/none/none" \
        -o Dir::Etc::PreferencesParts="$apt/none" -o Dir::State::Lists="$apt/lists" -o Dir::State::Status="$apt/status" -o Dir::Cache="$apt/cache" \
        -o APT::Architecture="${debian[$machine]}" -o APT::Architectures="${debian[$machine]}" -o APT::Sandbox::User= -o Debug::NoLocking=1 \
        -o Acquire::Check-Valid-Until=false "$@"
}
old_apt update >"$apt/log" 2>&1 && old_apt install --no-install-recommends --download-only $packages >>"$apt/log" 2>&1 ||
    { tail "$apt/log" >&2; exit 1; }
for package in "$apt"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$folder"
    name=$(dpkg-deb -f "$package" Package)
    dpkg-deb -c "$package" | sed -nE "s|.*/(lib[^/ ]*[.]so[.][^/ ]*)( -> .*)?$|\1 $name|p" >>"$folder/owners"
done
find "$folder" -type l -lname '/*' | while read -r link; do ln -sfn "$folder$(readlink "$link")" "$link"; done

# This compiler's libstdc++ has functions that the old one lacks: they come from its archive, into the program. Its headers ask whether there
# are threads, which the old C library does not say: there may be.
mkdir -p "$folder/link" "$folder/given"
$compiler -x c -c -fPIC -o "$folder/link/old_glibc.o" - <<<'__attribute__((visibility("hidden"))) char __libc_single_threaded;'
cp "$($compiler -print-file-name=libstdc++.a)" "$folder/link/"
# In a linker script below --sysroot the paths are its own.
echo "INPUT(/usr/lib/$triple/libstdc++.so.6 /link/libstdc++.a /link/old_glibc.o AS_NEEDED(-lpthread -ldl -lrt -lm))" >"$folder/link/libstdc++.so"
for library in "$folder/usr/lib/$triple"/*.so.* "$folder/lib/$triple"/*.so.*; do
    case $(basename "$library") in
        libc.* | libm.* | libmvec.* | libdl.* | librt.* | libpthread.* | ld-* | libstdc++.* | libgcc_s.* | lib*_db.* | libnss_* | libnsl* | libresolv.* | libutil.* | libanl.* | libBrokenLocale.* | libcrypt.*) ;;
        *) ln -sf "$library" "$folder/given/" ;;
    esac
done
rm -rf "$apt"
touch "$folder/complete"
