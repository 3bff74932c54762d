# tapline bench --image: every algorithm is checked and timed; the JSON is that of signals with the sizes of image and mask.
. "$(dirname "$0")/_common.sh"

for dtype in f32 f64 complex64 u8 u16; do
    succeed "$TAPLINE" bench --image 70x50x3,64x64 --mask 3,5x2 --algorithms all --dtype $dtype --seconds 0 --json $dtype.jsonl
    # direct, overlap_save and textbook at least, for two images and two masks
    [ "$(wc -l <$dtype.jsonl)" -ge 12 ] || fail "$dtype: $(wc -l <$dtype.jsonl) cases"
    [ "$(grep -c '"chosen":true' $dtype.jsonl)" -eq 4 ] || fail "$dtype: one algorithm is chosen in each case"
done
succeed "$TAPLINE" bench --image 64x64 --mask 15 --separable --algorithms separable --seconds 0 --json separable.jsonl
if command -v python3 >/dev/null; then
    python3 - <<'END' || fail "the JSON says something else"
import json
rows = [json.loads(line) for line in open("f32.jsonl")]
for row in rows:
    assert row["length"] == row["height"] * row["width"] * row["channels"], row
    assert row["taps"] == row["mask_height"] * row["mask_width"], row
    assert row["device"] == "cpu" and row["copy_seconds"] > 0 and row["runs"] >= 3, row
    assert abs(row["copy_fraction"] - row["copy_seconds"] / row["seconds_median"]) < 1e-9, row
    assert 0 < row["error"] < 1e-5, row
assert {(row["mask_height"], row["mask_width"]) for row in rows} == {(3, 3), (5, 2)}
assert {row["algorithm"] for row in rows} >= {"direct", "overlap_save", "textbook"}
assert json.loads(open("separable.jsonl").read())["algorithm"] == "separable"
END
fi
succeed "$TAPLINE" bench --image 64x64 --mask 3 --seconds 0
grep -q "64x64 *3x3 *direct \*" stdout || fail "the table: $(cat stdout)"

given="f32.jsonl f64.jsonl complex64.jsonl u8.jsonl u16.jsonl separable.jsonl"
expect 2 "sizes such as" "$TAPLINE" bench --image 64
expect 2 "sizes such as" "$TAPLINE" bench --image 64x0
expect 2 "sizes such as" "$TAPLINE" bench --image 64x64 --mask 3x3x3
expect 2 "requires --image" "$TAPLINE" bench --mask 3
expect 2 "excludes" "$TAPLINE" bench --image 64x64 --taps 3
expect 2 "excludes" "$TAPLINE" bench --image 64x64 --batch 2
TAPLINE_CUDA_LIBRARY=/nowhere/libtapline_cuda.so expect 1 "not available" "$TAPLINE" bench --image 64x64 --device cuda
if [ -n "${TAPLINE_EMULATED_CUDA:-}" ]; then
    export TAPLINE_CUDA_LIBRARY=$TAPLINE_EMULATED_CUDA
    succeed "$TAPLINE" bench --image 64x64x3 --mask 3,5x4 --device cuda --seconds 0
    grep -q "64x64x3 *5x4 *emulated_image \*" stdout || fail "the GPU's table: $(cat stdout)"
    succeed "$TAPLINE" bench --image 64x64x3 --mask 3 --device cuda --seconds 0 --host --json -
    grep -q '"host":{"error":' stdout || fail "no times from host memory to host memory: $(cat stdout)"
    succeed "$TAPLINE" ladder --image 40x50x3 --mask 5x4 --separable --boundary mirror --seconds 0
    grep -q "^emulated_image_whole " stdout || fail "the GPU's ladder: $(cat stdout)"
    unset TAPLINE_CUDA_LIBRARY
fi
succeed "$TAPLINE" ladder --image 64x64 --mask 7 --device cpu --seconds 0 --only direct,overlap_save
grep -q "^overlap_save " stdout || fail "the CPU's ladder: $(cat stdout)"
succeed "$TAPLINE" ladder --image 64x48x3 --mask 5 --device cpu --seconds 0 --boundary wrap --json ladder.json --report ladder.html
grep -q '"schema": "tapline-ladder-image-1"' ladder.json || fail "the ladder's JSON of images: $(head -c 300 ladder.json)"
grep -q 'copy of the image' ladder.html || fail "the ladder's page of images"
rm ladder.json ladder.html
expect 2 "HxWxC" "$TAPLINE" ladder --image 64
expect 2 "signals" "$TAPLINE" ladder --image 64x64 --taps 3
expect 2 "need --image" "$TAPLINE" ladder --mask 3
expect 2 "not all, auto or one of" "$TAPLINE" bench --image 64x64 --mask 3 --algorithms nonsense
expect 2 "real taps" "$TAPLINE" bench --image 64x64 --mask 3 --separable --complex-taps --dtype complex64
expect 1 "separable" "$TAPLINE" bench --image 64x64 --mask 9 --algorithms separable --json none.jsonl
expect 1 "valid" "$TAPLINE" bench --image 4x4 --mask 5 --mode valid --json none.jsonl
only $given
finish
