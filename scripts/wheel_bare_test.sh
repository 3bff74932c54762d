#!/bin/bash
# A wheel in a bare root: Debian or Ubuntu with Python and nothing else, no compiler and no network. Installed, used, timed.
#
#   sudo scripts/wheel_bare_test.sh WHEEL [SUITE [MIRROR]]      SUITE: a release (default: the host's) whose Python the wheel is for
#
# In a root whose Python is older than 3.10 the library is used by ctypes and the command alone: Debian 11 (bullseye) has the oldest C library that
# wheels are for. MIRROR: where another distribution's are: http://archive.ubuntu.com/ubuntu for noble, http://ports.ubuntu.com/ubuntu-ports on 64-bit ARM.
# Needs root and debootstrap; a wheel for another machine qemu-user-static, too, which runs the whole root.
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=$(realpath "$1")
suite=${2:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
machine=$(sed -E 's/.*manylinux_[0-9]+_[0-9]+_(.*)[.]whl/\1/' <<<"$wheel")
root=$(mktemp -d)
handler=
clean_up() {
    rm -rf "$root"
    [ -z "$handler" ] || echo -1 >"$handler"
}
trap clean_up EXIT
if [ "$machine" != "$(uname -m)" ]; then
    binfmt=/proc/sys/fs/binfmt_misc
    [ -e $binfmt/register ] || mount -t binfmt_misc none $binfmt
    if [ ! -e "$binfmt/qemu-$machine" ]; then
        cat "/usr/lib/binfmt.d/qemu-$machine.conf" >$binfmt/register
        handler=$binfmt/qemu-$machine
    fi
fi
declare -A debian=([x86_64]=amd64 [aarch64]=arm64)

# debootstrap finds its script by the suite's name; all of Ubuntu's are the same one.
script=
[ -e "/usr/share/debootstrap/scripts/$suite" ] || script=/usr/share/debootstrap/scripts/gutsy
components=main${3:+,universe}
debootstrap --arch="${debian[$machine]}" --variant=minbase --components="$components" --include=python3,python3-venv "$suite" "$root" \
    ${3:+"$3" $script} >"$root.log" || { tail "$root.log"; exit 1; }
rm "$root.log"
mkdir "$root/given"
cp "$wheel" tests/python/wheel_test.sh "$root/given/"
# With /proc, from which programs learn where they lie; in a mount namespace, so that nothing stays mounted.
inside() { unshare -n -m bash -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" env -i PATH=/usr/bin:/bin HOME=/root LANG=C.UTF-8 PIP_NO_INDEX=1 PIP_FIND_LINKS=/given "$@"; }
python=$(chroot "$root" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')

if [ "$(printf '%s\n' 3.10 "$python" | sort -V | head -1)" != 3.10 ]; then
    inside bash -ec 'python3 -m zipfile -e /given/tapline-*.whl /wheel && chmod +x /wheel/tapline/tapline-command && cd /tmp
/wheel/tapline/tapline-command --version
printf "1\n2\n3\n" >signal.txt
/wheel/tapline/tapline-command convolve signal.txt 1,1 -o out.txt --plot out.png 2>said
[ "$(tr "\n" " " <out.txt)" = "1 3 5 3 " ] && [ -s out.png ] && ! grep -i font said
python3 -c "
import ctypes, glob
library = ctypes.CDLL(glob.glob(\"/wheel/tapline/libtapline.so.*\")[0])
library.tapline_version.restype = ctypes.c_char_p
print(\"libtapline\", library.tapline_version().decode())"'
    echo "the command and the library work beside Python $python and $(inside ldd --version | head -1)"
    exit 0
fi

# NumPy for the root's interpreter, which has no network.
python3 -m pip download --quiet --disable-pip-version-check --dest "$root/given" --only-binary :all: --platform "manylinux_2_28_$machine" \
    --platform "manylinux_2_17_$machine" --platform "manylinux2014_$machine" \
    --python-version "$python" 'numpy>=2.0'

begin=$(date +%s%N)
inside bash -ec 'python3 -m venv /env && /env/bin/pip install -q /given/tapline-*.whl && /env/bin/python -c "
import numpy as np, tapline
signal = np.random.default_rng(0).standard_normal(100_000)
taps = np.hanning(301)
assert np.allclose(tapline.convolve(signal, taps), np.convolve(signal, taps))
plan = tapline.Plan(signal.shape, taps)
assert np.array_equal(plan(signal, np.empty(plan.output_shape)), tapline.convolve(signal, taps))"'
echo "from nothing to a first result: $((($(date +%s%N) - begin) / 1000000)) ms"
inside /env/bin/tapline --version
inside bash -ec 'cd /tmp && printf "1\n2\n3\n" >signal.txt && /env/bin/tapline convolve signal.txt 1,1 -o out.txt --plot out.png 2>said
[ -s out.png ] && ! grep -i font said' # a root without fonts: the wheel's own
inside bash -ec 'rm -rf /env; bash /given/wheel_test.sh /given/tapline-*.whl'
