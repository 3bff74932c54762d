# tapline image: values, formats, alpha, several files, and bad input, which leaves nothing behind.
. "$(dirname "$0")/_common.sh"

body() { tail -c +129 "$1" | od -An -v -t "$2" | tr -s ' \n' '  ' | sed 's/^ *//;s/ *$//'; }
holds() { # FILE OD-TYPE NUMBERS
    [ "$(body "$1" "$2")" = "$3" ] || fail "$1 holds $(body "$1" "$2"), expected $3"
}
says() { head -c 128 "$1" | grep -aq -e "$2" || fail "$1's header is $(head -c 127 "$1" | tail -c +11), expected $2"; }
image() { succeed "$TAPLINE" image "$@"; }

# Values: the mask is turned unless --correlate; u8 saturates, --dtype and --bias keep what is below 0.
ramp 6 | npy '|u1' '(2, 3)' False >x.npy
image x.npy -o y.npy --mask 1
same x.npy y.npy
image x.npy -o y.npy --mask "0,0,1" --boundary zero
holds y.npy u1 "0 0 1 0 3 4"
image x.npy -o y.npy --mask "0,0,1" --boundary zero --correlate
holds y.npy u1 "1 2 0 4 5 0"
image x.npy -o y.npy --mask "0,0,1" --boundary zero --origin 0,0
holds y.npy u1 "0 1 2 3 4 5"
image x.npy -o y.npy --mask "1;2" --mode full --boundary zero
says y.npy '(3, 3)'
holds y.npy u1 "0 1 2 3 6 9 6 8 10"
image x.npy -o y.npy --mask=-1 --boundary nearest
holds y.npy u1 "0 0 0 0 0 0"
image x.npy -o y.npy --mask=-1 --dtype i16
holds y.npy d2 "0 -1 -2 -3 -4 -5"
image x.npy -o y.npy --mask=-1 --bias 10 --scale 2 --clamp 2,9
holds y.npy u1 "9 8 6 4 2 2"
image x.npy -o y.npy --mask sobel-x --dtype f32 --boundary nearest
holds y.npy f4 "4 8 4 4 8 4"
image x.npy -o y.npy --mask "0,0,1" --correlate --constant 9
holds y.npy u1 "1 2 9 4 5 9"
for rule in "nearest 1 2 2 4 5 5" "reflect 1 2 2 4 5 5" "mirror 1 2 1 4 5 4" "wrap 1 2 0 4 5 3"; do
    image x.npy -o y.npy --mask "0,0,1" --correlate --boundary ${rule%% *}
    holds y.npy u1 "${rule#* }"
done
# A mask larger than the image, and an image of one pixel.
image x.npy -o y.npy --mask box:9 --boundary zero --scale 81
holds y.npy u1 "15 15 15 15 15 15"
ramp 2 | tail -c 1 | npy '|u1' '(1, 1)' False >one.npy
image one.npy -o y.npy --mask gaussian:5
holds y.npy u1 "1"
# A mask a channel, and masks as files.
printf '\1\2\3\4\5\6' | npy '|u1' '(1, 2, 3)' False >colour.npy
printf '\1\2\0' | npy '|u1' '(3, 1, 1)' False >masks.npy
image colour.npy -o y.npy --mask masks.npy
holds y.npy u1 "1 4 0 4 10 0"
printf '\1\0\0\0\2\0\0\0' | npy '<i4' '(1, 2)' False >taps.npy
image x.npy -o y.npy --mask taps.npy --boundary zero
holds y.npy u1 "0 1 4 3 10 13"
# Types: integers beyond 16 bits and half floats become floating, complex masks make complex images.
printf '\1\0\0\0\2\0\0\0' | npy '<i4' '(1, 2)' False >i32.npy
image i32.npy -o y.npy --mask 0.5
says y.npy "'<f8'"
holds y.npy f8 "0.5 1"
printf '\0\0\200\77\0\0\0\100' | npy '<c8' '(1, 1)' False >complex.npy
image one.npy -o y.npy --mask complex.npy
says y.npy "'<c8'"
holds y.npy f4 "1 2"
given="x.npy y.npy one.npy colour.npy masks.npy taps.npy i32.npy complex.npy"
only $given

# PNG and JPEG, told by content; through pipes; 16 bits; alpha.
printf '\12\24\36\50' | npy '|u1' '(1, 1, 4)' False >four.npy
printf '\12\24\36' | npy '|u1' '(1, 1, 3)' False >three.npy
image three.npy -o p.png --mask 1
image p.png -o y.npy --mask 2
holds y.npy u1 "20 40 60"
cp p.png p.jpg
image p.jpg -o y.npy --mask 1
same y.npy three.npy
cat p.png | "$TAPLINE" image - -o - --mask 1 >q.png || fail "through a pipe"
same p.png q.png
image p.png -o y.npy --mask 257 --dtype u16
holds y.npy u2 "2570 5140 7710"
image y.npy -o deep.png --mask 1
image deep.png -o z.npy --mask 1
same y.npy z.npy
image p.png -o q.jpg --mask 1 --quality 100
image q.jpg -o y.npy --mask 1 --bias -1000
holds y.npy u1 "0 0 0"
# Grey and alpha, 8 bits, 1 x 2, byte by byte: (100, 50), (200, 150).
{
    printf '\211PNG\r\n\32\n\0\0\0\15IHDR\0\0\0\2\0\0\0\1\10\4\0\0\0\136\53\267\1'
    printf '\0\0\0\20IDAT\170\1\1\5\0\372\377\0\144\62\310\226\4\121\1\365\353\304\327\24'
    printf '\0\0\0\0IEND\256\102\140\202'
} >alpha.png
image alpha.png -o y.npy --mask "0.5,0.5" --boundary zero
holds y.npy u1 "50 50 150 150"
image alpha.png -o y.npy --mask "0.5,0.5" --boundary zero --alpha filter
holds y.npy u1 "50 25 150 100"
image alpha.png -o y.npy --mask "0.5,0.5" --boundary zero --alpha drop
holds y.npy u1 "50 150"
image alpha.png -o y.npy --mask 1 --dtype u16 --scale 257
holds y.npy u2 "25700 12850 51400 38550"
image alpha.png -o y.npy --mask 1 --mode full
given+=" four.npy three.npy p.png p.jpg q.png deep.png z.npy q.jpg alpha.png"
only $given

# Several files, into a folder that is made; what fails does not stop the others.
mkdir in
for name in a.png b.png c.png; do cp p.png in/$name; done
head -c 60 p.png >in/bad.png
image in/a.png in/b.png in/c.png -o out --mask 1 --threads 3
for name in a.png b.png c.png; do same p.png out/$name; done
[ -s stderr ] && fail "a progress line without a terminal: $(cat stderr)"
image in/a.png in/b.png -o arrays/ --mask 1 --to npy
same arrays/b.npy three.npy
image in/a.png -o arrays --mask 1
same arrays/a.png p.png
expect 1 "bad.png.*cut off" "$TAPLINE" image in/a.png in/bad.png in/c.png -o some --mask 1
grep -q "1 of 3 images failed; the others are written" stderr || fail "says: $(cat stderr)"
[ "$(ls some)" = "$(printf 'a.png\nc.png')" ] || fail "in the folder: $(ls -A some)"
expect 1 "2 of 2 images failed" "$TAPLINE" image in/bad.png nothing.png -o none --mask 1
rm -rf out arrays some
given+=" in"
only $given
if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1; then
    script -qec "$TAPLINE image in/a.png in/b.png in/c.png -o out --mask 1" /dev/null >terminal </dev/null
    grep -q "of 3 images" terminal || fail "no progress line on a terminal: $(cat terminal)"
    script -qec "$TAPLINE image in/a.png in/b.png in/c.png -o out --mask 1 -q" /dev/null >terminal </dev/null
    grep -q "images" terminal && fail "a progress line in spite of -q"
    rm -rf out terminal
fi

# Reports.
succeed "$TAPLINE" image in/a.png -o y.png --mask gaussian:1 --json --explain
grep -q '"algorithm"' stdout || fail "--json: $(cat stdout)"
grep -q "^algorithm: " stderr || fail "--explain: $(cat stderr)"
if command -v python3 >/dev/null; then
    python3 - stdout <<'END' || fail "--json says something else"
import json, sys
report = json.load(open(sys.argv[1]))
image = report["images"][0]
assert report["mask"]["height"] == 9 and report["failed"] == 0 and report["seconds"] > 0
assert image["input"]["format"] == "png" and image["output"]["dtype"] == "u8" and image["origin"] == [4, 4]
END
fi
rm -f y.png

# Bad input: the right status, a message that helps, nothing written.
usage() { # TEXT ARGUMENTS...
    local text=$1
    shift
    expect 2 "$text" "$TAPLINE" image "$@"
    only $given
}
failed() {
    local text=$1
    shift
    expect 1 "$text" "$TAPLINE" image "$@"
    only $given
}
usage "IN" -o y.png --mask 1
usage "mask" x.npy -o n.npy
usage "output" x.npy --mask 1
usage "row 2 has 1 taps" x.npy -o n.npy --mask "1,2;3"
usage "gaussian:SIGMA" x.npy -o n.npy --mask gaussian:0,-1
usage "whole number, or Y,X" x.npy -o n.npy --mask 1 --origin 1,2,3
usage "keep, filter, drop" x.npy -o n.npy --mask 1 --alpha no
usage "1 to 100" x.npy -o n.npy --mask 1 --quality 0
usage "0 to 9" x.npy -o n.npy --mask 1 --compression 10
usage "not png, jpg or npy" x.npy -o n.npy --mask 1 --to gif
usage "boundary constant" x.npy -o n.npy --mask 1 --boundary wrap --constant 1
usage "standard output" x.npy -o - --mask 1 --json
usage "standard output" x.npy one.npy -o - --mask 1
usage "need a folder" x.npy one.npy -o z.npy --mask 1
usage "both become" x.npy in/../x.npy -o none --mask 1
usage "standard input" - one.npy -o none --mask 1
failed "valid" x.npy -o n.npy --mask box:4 --mode valid
failed "valid" one.npy -o n.npy --mask 1,2 --mode valid
failed "does not tell a format" x.npy -o n.gif --mask 1
failed "No such file" nothing.png -o n.png --mask 1
failed "No such file" x.npy -o n.png --mask nothing.npy
failed "is a picture" x.npy -o n.png --mask p.png
failed "2 masks\|3 masks" x.npy -o n.npy --mask masks.npy
failed "No such file\|none/n.png" x.npy -o none/n.png --mask 1
failed "u8 or u16" complex.npy -o n.png --mask 1
failed "write .png" deep.png -o n.jpg --mask 1
failed "alpha drop" alpha.png -o n.jpg --mask 1
failed "device" x.npy -o n.npy --mask 1 --device cuda:99
failed "algorithm" x.npy -o n.npy --mask 1 --algorithm nonsense
failed "cut off" in/bad.png -o n.png --mask 1
failed "neither" in/../alpha.png -o n.png --mask <(echo)
# 100,000 x 100,000 pixels in 57 bytes.
{
    printf '\211PNG\r\n\32\n\0\0\0\15IHDR\0\1\206\240\0\1\206\240\10\2\0\0\0\47\60\234\237'
    printf '\0\0\0\0IDAT\65\257\6\36'
    printf '\0\0\0\0IEND\256\102\140\202'
} >huge.png
ramp 4 | npy '<f4' '(100000, 100000)' False >huge.npy
given+=" huge.png huge.npy"
failed "100000 x 100000" huge.png -o n.png --mask 1
failed "truncated" huge.npy -o n.npy --mask 1
# The old file stays when writing fails.
echo old >old.png
given+=" old.png"
failed "cut off" in/bad.png -o old.png --mask 1
[ "$(cat old.png)" = old ] || fail "the old file is gone"
if [ "$(id -u)" -ne 0 ]; then
    chmod 444 old.png
    failed "ermission" p.png -o old.png --mask 1
fi
"$TAPLINE" image p.png -o - --mask 1 >/dev/full 2>stderr
[ $? -eq 1 ] || fail "standard output is full: status 0"
grep -q "space" stderr || fail "standard output is full: $(cat stderr)"
cat "$BASH" "$BASH" "$BASH" | head -c 3000000 | npy '|u1' '(1000, 1000, 3)' False >noise.npy
(
    ulimit -f 100
    trap '' XFSZ
    for name in old.png n.npy n.jpg; do
        "$TAPLINE" image noise.npy -o $name --mask 1 2>stderr
        [ $? -eq 1 ] || exit 1
    done
) || fail "file size limit: $(cat stderr)"
[ "$(cat old.png)" = old ] || fail "file size limit: the old file is gone"
given+=" noise.npy"
only $given
# The same bytes for any number of threads.
image noise.npy -o one.png --mask gaussian:3 --threads 1
image noise.npy -o many.png --mask gaussian:3 --threads 4
same one.png many.png
finish
