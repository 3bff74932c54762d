# info and bench: what scripts rely on.
. "$(dirname "$0")/_common.sh"

succeed "$TAPLINE" info
grep -q "copy speed" stdout || fail "info without copy speed"
grep -q "cuda" stdout || fail "info does not say what became of CUDA"
succeed "$TAPLINE" info --json
for key in version engines instruction_sets instruction_set threads wisdom copy_bytes_per_second; do
    grep -q "\"$key\":" stdout || fail "info --json lacks $key"
done
TAPLINE_TARGET=scalar "$TAPLINE" info --json | grep -q '"instruction_set": "scalar"' || fail "TAPLINE_TARGET is not obeyed"

succeed "$TAPLINE" bench --lengths 1000,2^12 --taps 3,33 --seconds 0 --json cases.jsonl
[ "$(wc -l <cases.jsonl)" -eq 4 ] || fail "4 cases gave $(wc -l <cases.jsonl) lines"
for key in device dtype length taps mode algorithm chosen error seconds_median seconds_min seconds_max copy_seconds copy_fraction \
    streaming_copy_seconds threads instruction_set predicted_seconds workspace_bytes gflops; do
    [ "$(grep -c "\"$key\":" cases.jsonl)" -eq 4 ] || fail "bench lacks $key"
done
grep -q '"length":4096,"taps":33' cases.jsonl || fail "2^12 is not 4096"
[ "$(grep -c '"chosen":true' cases.jsonl)" -eq 4 ] || fail "auto is what is chosen"
succeed "$TAPLINE" bench --lengths 4Ki --taps 5 --seconds 0 --algorithms all --threads 1 --json -
[ "$(grep -c '^{.*}$' stdout)" -eq "$(wc -l <stdout)" ] || fail "--json - prints more than objects"
[ "$(grep -c '"chosen":true' stdout)" -eq 1 ] || fail "one of all is chosen"
[ "$(wc -l <stdout)" -gt 1 ] || fail "all is more than one"
for dtype in f64 complex64 complex128 i16 u8; do
    for mode in full valid; do
        succeed "$TAPLINE" bench --lengths 1e3 --taps 7 --seconds 0 --dtype $dtype --mode $mode
    done
done
succeed "$TAPLINE" bench --lengths 1e3 --taps 7 --seconds 0 --dtype complex64 --complex-taps
expect 2 "rounded-taps: only for signals of f16 or bf16, not of f32" "$TAPLINE" bench --lengths 100 --taps 3 --rounded-taps
expect 1 "textbook\|cannot" "$TAPLINE" bench --lengths 1000 --taps 7 --seconds 0 --algorithms integer
only cases.jsonl
finish
