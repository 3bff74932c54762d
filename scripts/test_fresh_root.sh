#!/bin/bash
# Proves that `make demo` and `make test` work on a bare machine: a minimal root file system with nothing but git and make,
# in which first an ordinary user with sudo runs the demo, then root the tests.
#
#   sudo scripts/test_fresh_root.sh [--suite NAME --mirror URL] [--keep] [TARGET...]     default targets: demo test
#
# Without --suite the host's release and its package source are used. To try another release give both, and a mirror that
# has it. Needs root and debootstrap; takes about 1.2 GB and a few minutes beside the build itself.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=
mirror=
keep=no
targets=()
while [ $# -gt 0 ]; do
    case $1 in
        --suite) suite=$2 && shift 2 ;;
        --mirror) mirror=$2 && shift 2 ;;
        --keep) keep=yes && shift ;;
        -*) sed -n '2,/^set/{/^#/p}' "$0" >&2 && exit 2 ;;
        *) targets+=("$1") && shift ;;
    esac
done
[ ${#targets[@]} -gt 0 ] || targets=(demo test)
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
    echo "error: this needs root and debootstrap (apt-get install debootstrap)" >&2
    exit 1
fi
if { [ -n "$suite" ] && [ -z "$mirror" ]; } || { [ -z "$suite" ] && [ -n "$mirror" ]; }; then
    echo "error: --suite and --mirror belong together" >&2
    exit 2
fi

# A mount namespace of its own: whatever happens, nothing stays mounted on the host.
if [ -z "${TAPLINE_FRESH_ROOT:-}" ]; then
    export TAPLINE_FRESH_ROOT=1
    arguments=("${targets[@]}")
    [ "$keep" = no ] || arguments=(--keep "${arguments[@]}")
    [ -z "$suite" ] || arguments=(--suite "$suite" --mirror "$mirror" "${arguments[@]}")
    exec unshare --mount --propagation private "$0" "${arguments[@]}"
fi

id=$(. /etc/os-release && echo "$ID")
sources=() # lines of sources.list inside
if [ -n "$suite" ]; then
    sources=("deb $mirror $suite main universe")
    case $mirror in *debian*) sources=("deb $mirror $suite main") ;; esac
else
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    # What the distribution itself provides, as the host's apt knows it; third-party sources are left out.
    mapfile -t sources < <(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT) #$(ORIGIN)' 'Created-By: Packages' |
        grep -i "#$id\$" | sed 's/ #.*//' | sort -u)
    mirror=$(printf '%s\n' "${sources[@]}" | awk -v suite="$suite" '$3 == suite { print $2; exit }')
    if [ -z "$mirror" ]; then
        echo "error: apt knows no package source for $suite; run apt-get update first, or give --suite and --mirror" >&2
        exit 1
    fi
fi

script= # debootstrap finds its script by the suite's name; all of Ubuntu's are the same one
[ -e "/usr/share/debootstrap/scripts/$suite" ] || script=/usr/share/debootstrap/scripts/gutsy

root=$(mktemp -d "${TMPDIR:-/tmp}/tapline-root.XXXXXX")
chmod 755 "$root"
clean_up() {
    umount -R "$root/proc" "$root/dev/shm" 2>/dev/null || true
    [ "$keep" = yes ] && echo "kept: $root" || rm -rf --one-file-system "$root"
}
trap clean_up EXIT

step() { echo "==> $*"; }
inside() { # inside USER COMMAND...
    chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 \
        su "$1" -c "$2" </dev/null
}

step "a minimal $suite"
components=main
case ${sources[0]} in *universe*) components=main,universe ;; esac
# make and git are the documented prerequisite; sudo is for the first user.
debootstrap --variant=minbase --components="$components" --include=ca-certificates,git,make,sudo "$suite" "$root" "$mirror" $script >"$root.log" 2>&1 ||
    { tail -20 "$root.log"; exit 1; }
rm -f "$root.log"
printf '%s\n' "${sources[@]}" >"$root/etc/apt/sources.list"
# The host's way to the network: proxies and name resolution.
apt-config dump | grep -iE '^Acquire::(https?::|Check-)' >"$root/etc/apt/apt.conf.d/90host" || true
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/throw-away" # no fsync for every file of a root that is removed
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev/shm" 2>/dev/null || true
inside root 'useradd --create-home someone && echo "someone ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/someone'

step "the sources: what git tracks or would track"
mkdir "$root/home/someone/tapline"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do [ -f "$file" ] && printf '%s\0' "$file"; done |
    tar --null -cf - -T - | tar -xf - --no-same-owner -C "$root/home/someone/tapline"
inside root 'chown -R someone: /home/someone/tapline'

user=someone
for target in "${targets[@]}"; do
    step "make $target as $user on $suite"
    begin=$SECONDS
    inside "$user" "cd /home/someone/tapline && make $target"
    echo "make $target: $((SECONDS - begin)) s"
    [ "$target" != demo ] || ls -l "$root/home/someone/tapline/demo"
    user=root
done
step "make ${targets[*]}: works on a bare $suite"
