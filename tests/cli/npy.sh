# NumPy arrays in, NumPy arrays out: types, shapes, axes, memory order, one filter a row.
. "$(dirname "$0")/_common.sh"

body() { tail -c +129 "$1" | od -An -v -t "$2" | tr -s ' \n' '  ' | sed 's/^ *//;s/ *$//'; }
holds() { # FILE OD-TYPE NUMBERS
    [ "$(body "$1" "$2")" = "$3" ] || fail "$1 holds $(body "$1" "$2"), expected $3"
}
says() { head -c 128 "$1" | grep -aq -e "$2" || fail "$1's header is $(head -c 127 "$1" | tail -c +11), expected $2"; }

# Integers with integer taps are exact and become i64, or what is asked for.
ramp 6 | npy '|u1' '(6,)' False >u8.npy
succeed "$TAPLINE" convolve u8.npy 1,-1 -o out.npy
says out.npy "'<i8'.*(7,)"
holds out.npy d8 "0 1 1 1 1 1 -5"
succeed "$TAPLINE" convolve u8.npy 100,0 -o out.npy --dtype u8 --mode causal --overflow wrap
holds out.npy u1 "0 100 200 44 144 244"
expect 1 "overflow\|fit" "$TAPLINE" convolve u8.npy 100,0 -o none.npy --dtype u8
only u8.npy out.npy
# With fractions they become floating.
succeed "$TAPLINE" convolve u8.npy 0.5 -o out.npy
says out.npy "'<f4'"
holds out.npy f4 "0 0.5 1 1.5 2 2.5"
succeed "$TAPLINE" convolve u8.npy 0.5 -o out.npy --dtype i16
holds out.npy d2 "0 0 1 2 2 2"
succeed "$TAPLINE" convolve u8.npy 1 -o out.npy --dtype f64
says out.npy "'<f8'"

# Rows, columns, and the same in Fortran order.
ramp 6 | npy '|u1' '(2, 3)' False >c.npy
printf '\0\3\1\4\2\5' | npy '|u1' '(2, 3)' True >f.npy
for a in c f; do
    succeed "$TAPLINE" convolve $a.npy 1,1 -o $a-rows.npy --dtype u8
    succeed "$TAPLINE" convolve $a.npy 1,1 -o $a-columns.npy --dtype u8 --axis 0
    says $a-rows.npy '(2, 4)'
    says $a-columns.npy '(3, 3)'
done
holds c-rows.npy u1 "0 1 3 2 3 7 9 5"
holds f-rows.npy u1 "0 3 1 7 3 9 2 5"
holds c-columns.npy u1 "0 1 2 3 5 7 3 4 5"
holds f-columns.npy u1 "0 3 3 1 5 4 2 7 5"
says f-rows.npy "'fortran_order': True"

# One filter a row.
printf '\1\0\0\1' | npy '|u1' '(2, 2)' False >taps.npy
succeed "$TAPLINE" convolve c.npy taps.npy -o out.npy --dtype u8
holds out.npy u1 "0 1 2 0 0 3 4 5"
ramp 9 | npy '|u1' '(3, 3)' False >three.npy
expect 1 "2 filters.*3" "$TAPLINE" convolve three.npy taps.npy -o none.npy

# Complex stays complex; a complex filter makes a real signal complex.
printf '\0\0\200\77\0\0\0\100' | npy '<c8' '(1,)' False >complex.npy
succeed "$TAPLINE" convolve complex.npy 2 -o out.npy
says out.npy "'<c8'"
holds out.npy f4 "2 4"
printf '\0\0\200\77' | npy '<f4' '(1,)' False >one.npy
succeed "$TAPLINE" convolve one.npy complex.npy -o out.npy
holds out.npy f4 "1 2"
succeed "$TAPLINE" convolve one.npy complex.npy -o out.npy --correlate
holds out.npy f4 "1 -2"
expect 1 "complex" "$TAPLINE" convolve complex.npy 1 -o none.npy --dtype f32

# NumPy to text and raw.
succeed "$TAPLINE" convolve u8.npy 1 -o out.txt
lines out.txt "0 1 2 3 4 5"
succeed "$TAPLINE" convolve u8.npy 1.0 -o out.f32
succeed "$TAPLINE" convolve out.f32 1 -o again.txt
lines again.txt "0 1 2 3 4 5"
finish
