# Bad input: the right exit status, a message that helps, nothing written.
. "$(dirname "$0")/_common.sh"

printf '1\n2\n4\n' >x.txt
: >empty.txt
printf '1\nabc\n' >bad.txt
ramp 4 | npy '<f4' '(9,)' False >short.npy
ramp 0 | npy '<f4' '(0,)' False >empty.npy
printf 'not a sound' >bad.wav
printf 'not an array' >bad.npy
mkdir folder
given="x.txt empty.txt bad.txt short.npy empty.npy bad.wav bad.npy folder"
usage() { # TEXT ARGUMENTS...
    local text=$1
    shift
    expect 2 "$text" "$TAPLINE" "$@"
    grep -q "^tapline: " stderr || fail "no 'tapline: ' in front: $(cat stderr)"
    grep -q "Try 'tapline.* --help'" stderr || fail "no hint: $(cat stderr)"
    only $given
}
failed() {
    local text=$1
    shift
    expect 1 "$text" "$TAPLINE" "$@"
    grep -q "^tapline: " stderr || fail "no 'tapline: ' in front: $(cat stderr)"
    only $given
}

usage "subcommand"
usage "nonsense" nonsense
usage "TAPS" convolve x.txt
usage "output" convolve x.txt 1
usage "nonsense" convolve x.txt 1 -o y.txt --nonsense
usage "full, same, valid" convolve x.txt 1 -o y.txt --mode sane
usage "mirror" convolve x.txt 1 -o y.txt --boundary symmetric
usage "element type" convolve x.txt 1 -o y.txt --dtype float23
usage "standard, strict" convolve x.txt 1 -o y.txt --accuracy exact
usage "number" convolve x.txt 1 -o y.txt --scale nan
usage "number" convolve x.txt 1 -o y.txt --bias nan
usage "LO <= HI" convolve x.txt 1 -o y.txt --clamp 2,1
usage "LO <= HI" convolve x.txt 1 -o y.txt --clamp nan,1
usage "LO <= HI" convolve x.txt 1 -o y.txt --clamp 1
usage "whole number" convolve x.txt 1 -o y.txt --origin 1.5
usage "1024" convolve x.txt 1 -o y.txt --threads -1
usage "1024" convolve x.txt 1 -o y.txt --threads 100000
usage "error or wrap" convolve x.txt 1 -o y.txt --overflow saturate
usage "boundary constant" convolve x.txt 1 -o y.txt --boundary wrap --constant 1
usage "samples a second" convolve x.txt 1 -o y.txt --rate 0
usage "not a format" convolve x.txt 1 -o y.txt --to mp5
usage ".png" convolve x.txt 1 -o y.txt --plot picture.jpg
usage "standard output" convolve x.txt 1 -o - --json
usage "standard input" convolve - - -o y.txt
usage "finite number" convolve x.txt 1,,2 -o y.txt
usage "gaussian:SIGMA" convolve x.txt gaussian:0 -o y.txt
usage "gaussian:SIGMA" convolve x.txt gaussian:-1 -o y.txt
usage "0 and 0.5" convolve x.txt lowpass:3000 -o y.txt
usage "use 11" convolve x.txt highpass:0.1,10 -o y.txt
usage "savgol:K,ORDER" convolve x.txt savgol:3,5 -o y.txt
usage "rate" convolve x.txt room:2 -o y.txt
usage "did you mean lowpass:0.1,9? (lowpass:CUTOFF" convolve x.txt lowpas:0.1,9 -o y.txt
usage "did you mean gaussian:2?" convolve x.txt gausian:2 -o y.txt
usage "its form is box:K" convolve x.txt box -o y.txt
usage "filters are gaussian, box" convolve x.txt hamming:5 -o y.txt
usage "did you mean convolve?" convole x.txt 1 -o y.txt
failed "box.npy" convolve x.txt box.npy -o y.txt
usage "positive numbers" bench --lengths 0
usage "positive numbers" bench --taps 3,x
usage "not all, auto or one of" bench --lengths 10 --taps 3 --algorithms nonsense

failed "empty" convolve empty.txt 1 -o y.txt
failed "empty" convolve empty.npy 1 -o y.npy
failed "empty" convolve x.txt empty.txt -o y.txt
failed "nothing.wav" convolve nothing.wav 1 -o y.wav
failed "nothing.npy" convolve x.txt nothing.npy -o y.txt
failed "folder" convolve folder 1 -o y.txt
failed "abc\|line 2" convolve bad.txt 1 -o y.txt
failed "short.npy" convolve short.npy 1 -o y.npy
failed "bad.npy" convolve bad.npy 1 -o y.npy
failed "bad.wav" convolve bad.wav 1 -o y.wav
failed "valid" convolve x.txt 1,2,3,4 -o y.txt --mode valid
failed "valid" convolve - 1,2,3,4 -o y.txt --mode valid <x.txt
failed "axis" convolve x.txt 1 -o y.txt --axis 1
failed "none/y.txt" convolve x.txt 1 -o none/y.txt
failed "none/p.png" convolve x.txt 1 -o y.txt --plot none/p.png
failed "folder" convolve x.txt 1 -o folder
failed "format\|extension" convolve x.txt 1 -o y.nonsense
failed "device" convolve x.txt 1 -o y.txt --device nonsense
failed "algorithm" convolve x.txt 1 -o y.txt --algorithm nonsense
failed "none" bench --lengths 10 --taps 3 --json none/x
TAPLINE_TARGET=nonsense failed "nonsense" convolve x.txt 1 -o y.txt
if ! "$TAPLINE" info --json | grep -q '"name": "cuda:0"'; then
    failed "cuda" convolve x.txt 1 -o y.txt --device cuda
fi
# A limit on memory is a message, not a crash. (Sanitizers need terabytes of address space.)
if ! ldd "$TAPLINE" | grep -q "lib[at]san"; then
    (
        ulimit -v 400000
        "$TAPLINE" bench --lengths 2^30 --taps 3 >stdout 2>stderr
        [ $? -eq 1 ]
    ) || fail "out of memory: $(cat stderr)"
    grep -q "allocate\|memory" stderr || fail "out of memory says: $(cat stderr)"
fi
finish
