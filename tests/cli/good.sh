# What the command is for: right numbers for every kind of filter, mode, boundary and epilogue.
. "$(dirname "$0")/_common.sh"

printf '1\n2\n4\n' >x.txt
convolve() { # OUT-NUMBERS TAPS OPTIONS...
    local want=$1
    shift
    succeed "$TAPLINE" convolve x.txt "$@" -o y.txt
    lines y.txt "$want"
}
convolve "1 1 2 -4" 1,-1
convolve "1 2 4" 1
convolve "1 2" 1,-1 --mode valid
convolve "1 1 2" 1,-1 --mode causal
convolve "1 2 -4" 1,-1 --mode leading
convolve "1 1 2" 1,-1 --mode same
convolve "2 0 -2" -1,0,1 --correlate --mode same --boundary mirror --origin 0 --clamp -2,2
convolve "-3 1 2" 1,-1 --mode same --boundary wrap
convolve "-9 1 2" 1,-1 --mode same --constant 10
convolve "0 1 2" 1,-1 --mode same --boundary nearest
convolve "0 1 2" 1,-1 --mode same --boundary reflect
convolve "-1 1 2" 1,-1 --mode same --boundary mirror
convolve "3 3 5 -7" 1,-1 --scale 2 --bias 1
convolve "0.5 1 2" .5
convolve "-0.5 -1 -2" -.5

# Written filters.
succeed "$TAPLINE" convolve x.txt box:2 -o y.txt
lines y.txt "0.5 1.5 3 2"
succeed "$TAPLINE" convolve x.txt savgol:3,2 -o y.txt --mode same
succeed "$TAPLINE" convolve x.txt gaussian:0.1 -o y.txt
lines y.txt "1 2 4"
for taps in lowpass:0.1 highpass:0.2,11 bandpass:0.1,0.2 bandstop:0.1,0.2,9; do
    succeed "$TAPLINE" convolve x.txt "$taps" -o y.txt
    succeed "$TAPLINE" convolve x.txt "$taps" -o z.txt
    same y.txt z.txt
done
succeed "$TAPLINE" convolve x.txt lowpass:100,9 -o y.txt --rate 1000
succeed "$TAPLINE" convolve x.txt lowpass:0.1,9 -o z.txt
same y.txt z.txt
# A file that is named like a filter.
printf '5\n' >1,2
succeed "$TAPLINE" convolve x.txt ./1,2 -o y.txt --from txt
lines y.txt "5 10 20"
rm -f ./1,2

# Reports.
succeed "$TAPLINE" convolve x.txt 1,-1 -o y.txt --explain
grep -q "algorithm:" stderr || fail "--explain says nothing"
succeed "$TAPLINE" convolve x.txt 1,-1 -o y.txt --json
[ "$(head -c 1 stdout)" = "{" ] && [ "$(tail -c 2 stdout)" = "}" ] || fail "--json is no object"
for key in input taps output algorithm device threads reason seconds samples_per_second clipped_samples; do
    grep -q "\"$key\":" stdout || fail "--json lacks $key"
done
for plot in p.png p.svg; do
    succeed "$TAPLINE" convolve x.txt 1,-1 -o y.txt --plot $plot
    [ -s $plot ] || fail "no $plot"
done

# Where the system has no fonts: those beside the program, and without them a picture with no words, which is said.
mkdir -p beside/fonts none
echo "<fontconfig><dir>$PWD/none</dir><cachedir>$PWD/none</cachedir></fontconfig>" >none/fonts.conf
expect 0 "no fonts were found" env FONTCONFIG_FILE="$PWD/none/fonts.conf" "$TAPLINE" convolve x.txt 1,-1 -o y.txt --plot p.png
wordless=$(wc -c <p.png)
cp "$TAPLINE" beside/tapline && cp "$(find /usr/share/fonts -name '*Sans*.ttf' | sort | head -1)" beside/fonts
for configuration in none/fonts.conf none/at_all; do
    succeed env FONTCONFIG_FILE="$PWD/$configuration" LD_LIBRARY_PATH="$(dirname "$TAPLINE")/..${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        beside/tapline convolve x.txt 1,-1 -o y.txt --plot p.png
    ! grep -i font stderr || fail "fonts beside the program are not taken with $configuration"
    [ "$(wc -c <p.png)" -gt "$wordless" ] || fail "a picture with words is no larger than one without"
done
rm -r none beside
head -c 4 p.png | grep -q PNG || fail "p.png is no PNG"
grep -q "<svg" p.svg || fail "p.svg is no SVG"
only x.txt y.txt z.txt p.png p.svg

# Every command explains itself.
for command in "" convolve info bench; do
    succeed "$TAPLINE" $command --help
    [ "$(wc -l <stdout)" -gt 8 ] || fail "--help of '$command' says little"
done
succeed "$TAPLINE" --version
head -1 stdout | grep -q '^tapline [0-9]*\.[0-9]*\.[0-9]*$' || fail "--version: $(cat stdout)"
grep -q '^engine cpu  *cpu: .' stdout || fail "--version names no engine: $(cat stdout)"
finish
