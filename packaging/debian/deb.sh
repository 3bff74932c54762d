#!/bin/bash
# Makes Debian packages of an installed tree: libtapline<SOVERSION> (the library and, if it was built, the CUDA engine), libtapline-dev and
# tapline (the command). `make deb` runs it.
#
#   packaging/debian/deb.sh BUILD OUT      BUILD: a build folder with what `make install` needs; OUT: where the packages go
#
# lintian looks at them where it is installed; what it calls an error fails.
set -euo pipefail
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

version=$(sed -n 's/^project(tapline VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
release=$version-1
soversion=${version%.*}
# A build by the cross compiler (preset aarch64) makes packages for its machine.
if readelf -h "$build/libtapline.so" 2>/dev/null | grep -q AArch64; then eval "$(dpkg-architecture -aarm64 -s 2>/dev/null)"; fi
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
architecture=$(dpkg-architecture -qDEB_HOST_ARCH)
date=$(git -C "$root" log -1 --format=%cd --date=rfc2822 2>/dev/null || date -R)
maintainer="The tapline authors <tapline@example.org>"

cmake -S "$root" -B "$build" -DCMAKE_INSTALL_LIBDIR="lib/$multiarch" -DCMAKE_INSTALL_PREFIX=/usr >/dev/null
cmake --build "$build" --target tapline_installed
DESTDIR=$work/all cmake --install "$build" --prefix /usr --strip >/dev/null

# move PACKAGE PATTERN...: what matches below the installed tree goes into the package.
move() {
    local package=$1 file
    shift
    for file in "$@"; do
        mkdir -p "$work/$package/$(dirname "$file")"
        mv "$work/all/$file" "$work/$package/$file"
    done
}
cd "$work/all"
lib=usr/lib/$multiarch
runtime=libtapline$soversion
move "$runtime" "$lib"/libtapline.so.*
for engine in "$lib"/libtapline_cuda.so "$lib"/libtapline_lessons.so; do [ ! -f "$engine" ] || move "$runtime" "$engine"; done
move libtapline-dev usr/include "$lib/libtapline.so" "$lib/cmake" "$lib/pkgconfig"
gzip -9n usr/share/man/man1/tapline.1
move tapline usr/bin/tapline usr/share/man/man1/tapline.1.gz usr/share/bash-completion/completions/tapline
cd "$work"

needs() { # needs PACKAGE FILE...: what its programs and libraries are linked with
    local package=$1
    shift
    mkdir -p debian
    printf 'Source: tapline\n\nPackage: %s\nArchitecture: any\n' "$package" >debian/control
    echo "libtapline $soversion $runtime (= $release)" >debian/shlibs.local
    dpkg-shlibdeps -O --ignore-missing-info -l"$work/$runtime/$lib" "$@" 2>/dev/null | sed -n 's/^shlibs:Depends=//p'
}

# package NAME SECTION DEPENDS SUMMARY TEXT
package() {
    local name=$1 folder=$work/$1 doc=$work/$1/usr/share/doc/$1
    mkdir -p "$doc" "$folder/DEBIAN"
    {
        printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: tapline\n\n'
        printf 'Files: *\nCopyright: 2026 The tapline authors\nLicense: Expat\n'
        sed -n '5,$p' "$root/LICENSE" | sed 's/^$/./; s/^/ /'
    } >"$doc/copyright"
    printf 'tapline (%s) unstable; urgency=medium\n\n  * Version %s; CHANGELOG.md of the sources says what changed.\n\n -- %s  %s\n' \
        "$release" "$version" "$maintainer" "$date" | gzip -9n >"$doc/changelog.Debian.gz"
    {
        printf 'Package: %s\nSource: tapline\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$name" "$release" "$architecture" "$maintainer"
        printf 'Installed-Size: %s\nSection: %s\nPriority: optional\n' "$(du -sk --exclude=DEBIAN "$folder" | cut -f1)" "$2"
        [ -z "$3" ] || printf 'Depends: %s\n' "$3"
        [ "$name" != "$runtime" ] || printf 'Multi-Arch: same\n'
        printf 'Description: %s\n%s\n' "$4" "$5"
    } >"$folder/DEBIAN/control"
    if [ "$name" = "$runtime" ]; then
        printf 'libtapline %s %s (= %s)\n' "$soversion" "$runtime" "$release" >"$folder/DEBIAN/shlibs"
        printf 'activate-noawait ldconfig\n' >"$folder/DEBIAN/triggers"
    fi
    (cd "$folder" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$folder/DEBIAN/md5sums"
    find "$folder" -type d -exec chmod 755 {} +
    find "$folder" -type f ! -path '*/usr/bin/*' -exec chmod 644 {} +
    dpkg-deb --root-owner-group --build "$folder" "$out/${name}_${release}_$architecture.deb" >/dev/null
}

text=" tapline convolves signals and images with filters of any length at close
 to the speed at which the memory could merely copy the data, on CPUs and,
 with the CUDA engine, on NVIDIA GPUs."
package "$runtime" libs "$(needs "$runtime" "$runtime/$lib"/libtapline.so.*)" "convolution at the price of a copy" "$text"
package libtapline-dev libdevel "$runtime (= $release)" "convolution at the price of a copy (headers)" "$text
 .
 This package has what programs are compiled with."
package tapline utils "$(needs tapline tapline/usr/bin/tapline)" "convolution at the price of a copy (command)" "$text
 .
 This package has the command."
ls -l "$out"/*.deb
if command -v lintian >/dev/null; then
    # No bug of Debian's asks for these packages, and symbols files are for archives that follow them.
    lintian --fail-on error --suppress-tags initial-upload-closes-no-bugs,no-symbols-control-file "$out"/*_"$release"_*.deb
    echo "lintian found no error"
fi
