#!/bin/bash
# Installs from the distribution what a task needs and does nothing if all of it is there.
#
#   scripts/install_dependencies.sh GROUP...      groups: build test python demo lint sanitize docs site deb wheels aarch64 all
#   scripts/install_dependencies.sh --list GROUP...   prints the package names instead
#
# aarch64 is a cross compiler with 64-bit ARM's libraries beside the machine's own and an emulator; `all` leaves it out. Its libraries come from
# where the distribution has them, which is one more line of sources on Ubuntu (its ports).
# The names are valid on Debian 12 and Ubuntu 24.04. TAPLINE_NO_INSTALL=1 only reports what is missing.
set -euo pipefail

build_libraries="libhwy-dev libsndfile1-dev libpng-dev libjpeg-dev libcairo2-dev libfontconfig-dev libgtest-dev"
build="g++ cmake ninja-build pkg-config libcli11-dev nlohmann-json3-dev $build_libraries"
declare -A groups=(
    [build]="$build"
    [test]="$build python3" # the receipt of the GPU tests
    [python]="$build python3-dev python3-venv" # the rest comes from PyPI into build/python/env (scripts/python_test.sh)
    [demo]="$build alsa-utils" # the recordings in /usr/share/sounds/alsa
    [lint]="$build clang-format clang-tidy python3-venv" # ruff and mypy come from PyPI into build/python/lint (scripts/lint.sh)
    [sanitize]="$build clang libclang-rt-dev"
    [docs]="doxygen"
    [deb]="$build dpkg-dev lintian"
    [wheels]="debian-archive-keyring fonts-dejavu-core" # of the older system that they are linked against (scripts/old_system.sh), and what plots are written in
    [aarch64]="$build g++-aarch64-linux-gnu qemu-user $(printf '%s:arm64 ' $build_libraries)"
    [site]="doxygen chromium" # the rest comes from PyPI into build/site/env (scripts/site/site.sh)
)

list_only=no
if [ "${1:-}" = --list ]; then
    list_only=yes
    shift
fi
if [ $# -eq 0 ]; then
    echo "usage: scripts/install_dependencies.sh [--list] build|test|python|demo|lint|sanitize|docs|site|deb|wheels|aarch64|all ..." >&2
    exit 2
fi

wanted=""
for group in "$@"; do
    if [ "$group" = all ]; then
        for each in "${!groups[@]}"; do [ "$each" = aarch64 ] || wanted+=" ${groups[$each]}"; done
    elif [ -n "${groups[$group]:-}" ]; then
        wanted+=" ${groups[$group]}"
    else
        echo "install_dependencies.sh: unknown group '$group'; one of: ${!groups[*]} all" >&2
        exit 2
    fi
done
wanted=$(printf '%s\n' $wanted | sort -u)
if [ "$list_only" = yes ]; then
    echo "$wanted"
    exit 0
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "note: this is not Debian or Ubuntu, so nothing is installed. Needed (Debian's names):" $wanted >&2
    exit 0
fi

is_installed() {
    # "install ok installed": a removed package that left its configuration behind does not count.
    dpkg-query -W -f='${Status}\n' "$1" 2>/dev/null | grep -q '^install ok installed$'
}

missing=()
for package in $wanted; do
    is_installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "${TAPLINE_NO_INSTALL:-0}" != 0 ]; then
    echo "note: not installed: ${missing[*]} (TAPLINE_NO_INSTALL is set)" >&2
    exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "error: these packages are missing and you are neither root nor have sudo. As root, run:" >&2
        echo "  apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi

apt() {
    # `env` because sudo drops variables; the lock is waited for, since fresh machines update themselves at boot.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

have_candidates() {
    local package
    for package in "$@"; do
        apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [0-9]' || return 1
    done
}

echo "installing: ${missing[*]}"
updated=no
if [[ " ${missing[*]} " == *:arm64* ]] && ! dpkg --print-foreign-architectures | grep -qx arm64; then
    "${as_root[@]}" dpkg --add-architecture arm64
    apt update || true
    updated=yes
fi
if ! have_candidates "${missing[@]}"; then
    apt update || true # one broken third-party source must not stop the rest
    updated=yes
fi
if ! apt install --no-install-recommends "${missing[@]}"; then
    # Package lists that have grown old name files that the mirror no longer has.
    [ "$updated" = no ] || exit 1
    apt update || true
    apt install --no-install-recommends "${missing[@]}"
fi
