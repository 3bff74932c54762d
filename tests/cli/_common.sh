# Sourced by every test of the command. TAPLINE is the path of the built command; the test runs in a folder of its own.
set -u
: "${TAPLINE:?set TAPLINE to the path of the built command}"
TAPLINE=$(readlink -f "$TAPLINE")
tests=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")")
export LSAN_OPTIONS="suppressions=$tests/lsan.supp:print_suppressions=0"  # for builds with AddressSanitizer
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
    echo "FAIL: $*" >&2
    failures=$((failures + 1))
}

# The test's last command.
finish() {
    [ "$failures" -eq 0 ] && echo "ok"
    exit $((failures > 0))
}

# expect STATUS TEXT COMMAND...: the command ends with STATUS and says TEXT (a grep pattern) on standard error.
expect() {
    local status=$1 text=$2
    shift 2
    "$@" >stdout 2>stderr
    local got=$?
    [ "$got" -eq "$status" ] || fail "status $got instead of $status: $*; $(cat stderr)"
    grep -q -e "$text" stderr || fail "no '$text' from: $*; it said: $(cat stderr)"
}

succeed() {
    "$@" >stdout 2>stderr || fail "status $?: $*; $(cat stderr)"
}

# same A B: the files hold the same bytes.
same() { cmp -s "$1" "$2" || fail "$1 and $2 differ"; }

# lines FILE "1 2 3": the numbers of a text file.
lines() { [ "$(tr '\n' ' ' <"$1")" = "$2 " ] || fail "$1 holds $(tr '\n' ' ' <"$1"), expected $2"; }

# No file but the named ones is in the folder: nothing half written was left.
only() {
    local left
    left=$(for name in * .[!.]*; do
        [ -e "$name" ] || continue
        case " stdout stderr $* " in *" $name "*) ;; *) echo "$name" ;; esac
    done)
    [ -z "$left" ] || fail "left over: $left"
}

# npy DTYPE SHAPE FORTRAN <data >file: a version 1.0 .npy file; DTYPE as NumPy writes it, e.g. '<f4'.
npy() {
    local header="{'descr': '$1', 'fortran_order': $3, 'shape': $2, }"
    printf '\223NUMPY\001\000\166\000%-117s\n' "$header"
    cat
}

# ramp N: the bytes 0 1 2 ... as N unsigned bytes (N <= 128).
ramp() {
    local i
    for ((i = 0; i < $1; ++i)); do printf "\\$(printf %03o "$i")"; done
}

# wav CHANNELS FRAMES: a 16-bit, 8 kHz sound with something in it.
wav() {
    local bytes=$((2 * $1 * $2)) hex
    le() { printf "\\x$(printf %02x $(($1 & 255)))\\x$(printf %02x $(($1 >> 8 & 255)))\\x$(printf %02x $(($1 >> 16 & 255)))\\x$(printf %02x $(($1 >> 24 & 255)))"; }
    short() { printf "\\x$(printf %02x $(($1 & 255)))\\x$(printf %02x $(($1 >> 8 & 255)))"; }
    printf 'RIFF'; le $((36 + bytes)); printf 'WAVEfmt '; le 16; short 1; short "$1"; le 8000; le $((16000 * $1)); short $((2 * $1)); short 16
    printf 'data'; le "$bytes"
    awk -v n=$(($1 * $2)) 'BEGIN { s = 1; for (i = 0; i < n; ++i) { s = (s * 16807) % 2147483647; printf "%d\n", s % 16384 - 8192 } }' |
        awk '{ v = $1 < 0 ? $1 + 65536 : $1; printf "\\x%02x\\x%02x", v % 256, int(v / 256) }' >wav_bytes
    while IFS= read -r -n 4000 hex || [ -n "$hex" ]; do printf "$hex"; done <wav_bytes
    rm -f wav_bytes
}
