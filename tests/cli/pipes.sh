# Standard input and output, every format: the same bits as with files, boundary wrap too.
. "$(dirname "$0")/_common.sh"

head -c 200000 "$BASH" | npy '|u1' '(200000,)' False >x.npy
head -c 200000 "$BASH" | od -An -v -w1 -t u1 | tr -d ' ' >x.txt
for boundary in zero wrap mirror; do
    for taps in 0.5,1,2 gaussian:40; do
        options="--mode same --boundary $boundary"
        succeed "$TAPLINE" convolve x.npy $taps -o file.npy $options
        cat x.npy | "$TAPLINE" convolve - $taps -o - $options >pipe.npy || fail "npy through a pipe"
        same file.npy pipe.npy
        succeed "$TAPLINE" convolve x.txt $taps -o file.txt $options
        cat x.txt | "$TAPLINE" convolve - $taps -o - $options >pipe.txt || fail "text through a pipe"
        same file.txt pipe.txt
        [ "$(wc -l <file.txt)" -eq 200000 ] || fail "text has $(wc -l <file.txt) lines"
    done
done
succeed "$TAPLINE" convolve x.npy 0.5 -o x.f32
cat x.f32 | "$TAPLINE" convolve - 1,2 -o - --from f32 --to npy >pipe.npy || fail "raw through a pipe"
succeed "$TAPLINE" convolve x.f32 1,2 -o file.npy
same <(tail -c +129 file.npy) <(tail -c +129 pipe.npy)
printf '1,2\n' | tr ',' '\n' >taps.txt
succeed "$TAPLINE" convolve x.f32 - -o other.npy <taps.txt
same file.npy other.npy
# The input may be the output.
succeed "$TAPLINE" convolve x.f32 1,2 -o reference.f32
succeed "$TAPLINE" convolve x.f32 1,2 -o x.f32
same x.f32 reference.f32
# A reader that goes away early ends the run without a word or a file.
"$TAPLINE" convolve x.txt 1 -o - 2>stderr | head -n 1 >first
[ "$(cat first)" = 127 ] || fail "head of a pipe: $(cat first)"
only x.npy x.txt file.npy pipe.npy file.txt pipe.txt x.f32 taps.txt other.npy reference.f32 first
finish
