# Sound: format and rate are kept, every channel is filtered, clipping is counted.
. "$(dirname "$0")/_common.sh"

wav 1 3000 >mono.wav
wav 2 3000 >stereo.wav
succeed "$TAPLINE" convolve stereo.wav 1 -o same.wav
same stereo.wav same.wav
succeed "$TAPLINE" convolve stereo.wav 0,1 -o late.wav
[ "$(stat -c %s late.wav)" -eq 12048 ] || fail "full output of 3000 stereo frames and 2 taps has $(stat -c %s late.wav) bytes"
[ "$(tail -c +49 late.wav | md5sum)" = "$(tail -c +45 stereo.wav | md5sum)" ] || fail "a delay by one frame moves the samples by one frame"

# One filter a channel: left as it is, right silent.
printf '\0\0\200\77\0\0\0\0' | npy '<f4' '(2, 1)' False >left.npy
succeed "$TAPLINE" convolve stereo.wav left.npy -o left.wav
tail -c +45 left.wav | od -An -v -w4 -t d2 | awk '$2 != 0 { exit 1 }' || fail "the right channel is not silent"
tail -c +45 left.wav | od -An -v -w4 -t d2 | awk '{ print $1 }' >a
tail -c +45 stereo.wav | od -An -v -w4 -t d2 | awk '{ print $1 }' >b
same a b
expect 1 "2 filters.*1 channel" "$TAPLINE" convolve mono.wav left.npy -o none.wav
succeed "$TAPLINE" convolve stereo.wav stereo.wav -o squared.wav --scale 0.001 --mode same

# Cutoffs are in Hz, a room needs the rate, a long signal has the same bits from a file and from a pipe.
succeed "$TAPLINE" convolve stereo.wav lowpass:1000 -o low.wav --mode same --explain
expect 2 "4000 Hz" "$TAPLINE" convolve stereo.wav lowpass:4000 -o none.wav
succeed "$TAPLINE" convolve stereo.wav room:0.1 -o wet.wav
[ "$(stat -c %s wet.wav)" -eq $((44 + 4 * 3799)) ] || fail "0.1 s of room at 8 kHz"
succeed "$TAPLINE" convolve - room:0.1 -o piped.wav <stereo.wav
same wet.wav piped.wav
cat stereo.wav | "$TAPLINE" convolve - room:0.1 -o - >piped.wav || fail "pipe to pipe"
same wet.wav piped.wav
for format in flac ogg; do
    succeed "$TAPLINE" convolve stereo.wav room:0.1 -o wet.$format
    succeed "$TAPLINE" convolve wet.$format 1 -o back.wav
done

succeed "$TAPLINE" convolve mono.wav 100 -o loud.wav
grep -q "warning: [0-9]* samples.*clipped" stderr || fail "no warning about clipping: $(cat stderr)"
succeed "$TAPLINE" convolve mono.wav 100 -o loud.wav -q --json
[ -s stderr ] && fail "--quiet still warns"
grep -q '"clipped_samples": [1-9]' stdout || fail "no clipped samples in the report"
expect 1 "rate" "$TAPLINE" convolve mono.wav 1 -o none.wav --rate 44100
printf '0.5\n' >half.txt
expect 1 "rate" "$TAPLINE" convolve half.txt 1 -o none.wav
succeed "$TAPLINE" convolve half.txt 1 -o half.wav --rate 8000
rm -f a b
only mono.wav stereo.wav same.wav late.wav left.npy left.wav squared.wav low.wav wet.wav piped.wav wet.flac wet.ogg back.wav loud.wav \
    half.txt half.wav
finish
