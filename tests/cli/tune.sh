# tune, and bench on a GPU: on an emulated engine whose times are made up, and without any.
. "$(dirname "$0")/_common.sh"

export TAPLINE_WISDOM=$work/cache/wisdom.json

# Without a GPU: the reason, and nothing written.
export TAPLINE_CUDA_LIBRARY=$work/no_such_library.so
expect 1 "no_such_library" "$TAPLINE" tune
expect 1 "no_such_library" "$TAPLINE" tune --device cuda:1
expect 1 "no_such_library" "$TAPLINE" bench --device cuda --lengths 100 --taps 3
expect 1 "Effort::measure" "$TAPLINE" tune --device cpu
expect 2 "dtypes" "$TAPLINE" tune --dtypes f32,i16
expect 2 "host" "$TAPLINE" bench --host --lengths 100 --taps 3
succeed "$TAPLINE" info
only
[ -n "${TAPLINE_EMULATED_CUDA:-}" ] || finish
export TAPLINE_CUDA_LIBRARY=$TAPLINE_EMULATED_CUDA

# The search: the default takes 2 us, the best 1.5 us, one more 3 us, one cannot be prepared.
expect 0 "do not fit" "$TAPLINE" tune --taps 3,9 --lengths 5000 --seconds 0 --json -
[ "$(wc -l <stdout)" -eq 2 ] || fail "2 problems gave $(wc -l <stdout) lines"
for key in device device_name driver version dtype length taps batch filters rung fastest copy_seconds policy seconds_median \
    seconds_median_warm default_seconds gain copy_fraction candidates; do
    [ "$(grep -c "\"$key\":" stdout)" -eq 2 ] || fail "tune lacks $key"
done
grep -q '"policy":{"vectors_per_thread":3,"threads_per_block":256,"tiles_per_block":-1,"windows_per_warp":0},"seconds_median":1.5e-06' stdout ||
    fail "not the fastest policy: $(cat stdout)"
grep -q '"threads_per_block": 256' cache/wisdom.json || fail "the wisdom file lacks the policy"
succeed "$TAPLINE" info
grep -q "wisdom.json (2 results)" stdout || fail "info: $(grep wisdom stdout)"

# A second run adds to the first, and a plan uses what was found: the emulated clock knows the policy.
succeed "$TAPLINE" tune --taps 9,33 --lengths 5000 --seconds 0
grep -q "+33.3%" stdout || fail "no gain in the table"
succeed "$TAPLINE" info
grep -q "(3 results)" stdout || fail "info: $(grep wisdom stdout)"
bench_seconds() {
    "$TAPLINE" bench --device cuda --lengths 5000 --taps "$1" --algorithms emulated_pieces --seconds 0 --json - 2>stderr |
        grep -o '"seconds_median":[^,]*'
}
[ "$(bench_seconds 9)" = '"seconds_median":1.5e-06' ] || fail "9 taps: $(bench_seconds 9), not the tuned policy's; $(cat stderr)"
[ "$(bench_seconds 5)" = '"seconds_median":2e-06' ] || fail "5 taps: $(bench_seconds 5), not the default's"
sed -i 's/"driver": [0-9]*/"driver": 1/' cache/wisdom.json
[ "$(bench_seconds 9)" = '"seconds_median":2e-06' ] || fail "wisdom of another driver was used"

# A damaged file: a warning, a new file, the old one kept.
echo '{"format": "tapline wisdom", ' >cache/wisdom.json
succeed "$TAPLINE" info
grep -q "wisdom.json (ignored: .*parse" stdout || fail "info does not say why: $(grep wisdom stdout)"
[ "$(bench_seconds 9)" = '"seconds_median":2e-06' ] || fail "a damaged file was used"
expect 0 "warning: .*ignored" "$TAPLINE" tune --taps 9 --lengths 5000 --seconds 0
grep -q '^{"format"' cache/wisdom.json.damaged || fail "the damaged file is gone"
[ "$(bench_seconds 9)" = '"seconds_median":1.5e-06' ] || fail "the new file is not used"
rm cache/wisdom.json.damaged

# Images: their own problems, in the same file.
succeed "$TAPLINE" tune --image 40x50x3,64x64 --mask 5x4 --separable --seconds 0 --json images.jsonl
[ "$(grep -c '"mask_height":5,"mask_width":4' images.jsonl)" -eq "$(wc -l <images.jsonl)" ] || fail "tune of images: $(cat images.jsonl)"
grep -q '"height":40,"width":50,"channels":3' images.jsonl || fail "tune of images lacks their sizes: $(cat images.jsonl)"
expect 2 "excludes" "$TAPLINE" tune --image 64x64 --lengths 5000
expect 2 "requires --image" "$TAPLINE" tune --mask 3
rm images.jsonl

# A wrong kernel is reported and not kept, however fast.
TAPLINE_EMULATED_WRONG=1 expect 1 "512 threads.*wrong result" "$TAPLINE" tune --taps 9 --lengths 5000 --seconds 0
grep -q '"threads_per_block": 512' cache/wisdom.json && fail "a wrong kernel was kept"
grep -q '"threads_per_block": 256' cache/wisdom.json || fail "the right one was not kept"

# A place that cannot be written.
echo x >file
TAPLINE_WISDOM=$work/file/wisdom.json expect 1 "TAPLINE_WISDOM" "$TAPLINE" tune --taps 3 --lengths 500 --seconds 0
TAPLINE_WISDOM=/dev/null expect 1 "TAPLINE_WISDOM" "$TAPLINE" tune --taps 3 --lengths 500 --seconds 0
[ -c /dev/null ] || fail "/dev/null was replaced"
rm file
[ "$(ls -A cache | tr '\n' ' ')" = "wisdom.json wisdom.json.lock " ] || fail "left over: $(ls -A cache)"

# bench: the CPU's fields and the GPU's; every type; batches; host to host.
succeed "$TAPLINE" bench --device cuda --lengths 5000 --taps 3 --seconds 0 --algorithms all --host --json cases.jsonl
[ "$(wc -l <cases.jsonl)" -eq 3 ] || fail "3 rungs gave $(wc -l <cases.jsonl) lines"
for key in device dtype length taps batch filters mode algorithm chosen error seconds_median seconds_min seconds_max runs copy_seconds \
    copy_fraction streaming_copy_seconds threads instruction_set predicted_seconds workspace_bytes gflops seconds_median_warm \
    copy_seconds_warm copy_fraction_warm device_name driver detail host upload_bytes_per_second download_bytes_per_second \
    copy_bytes_per_second bytes_per_second fraction; do
    [ "$(grep -c "\"$key\":" cases.jsonl)" -eq 3 ] || fail "bench lacks $key"
done
for dtype in f16 bf16 f32 f64 complex64 complex128; do
    for mode in full causal valid; do
        succeed "$TAPLINE" bench --device cuda:1 --lengths 999 --taps 7 --seconds 0 --dtype $dtype --mode $mode --batch 5 --per-row
    done
done
for dtype in f16 bf16; do
    succeed "$TAPLINE" bench --device cuda --lengths 999 --taps 7 --seconds 0 --dtype $dtype --rounded-taps --json -
    grep -q '"rounded_taps":true.*"detail":"[^"]*one thread, narrow taps"' stdout || fail "taps were not rounded: $(cat stdout)"
    succeed "$TAPLINE" bench --device cuda --lengths 999 --taps 7 --seconds 0 --dtype $dtype --json -
    grep -q '"rounded_taps":false.*"detail":"[^"]*one thread"' stdout || fail "taps were rounded: $(cat stdout)"
    succeed "$TAPLINE" tune --lengths 999 --taps 7 --seconds 0 --dtypes $dtype --rounded-taps --json -
    grep -q '"narrow_taps":true' stdout || fail "tuned with other taps: $(cat stdout)"
done
expect 2 "rounded-taps" "$TAPLINE" tune --lengths 999 --taps 7 --seconds 0 --dtypes bf16,f32 --rounded-taps
expect 1 "CUDA devices" "$TAPLINE" bench --device cuda:2 --lengths 100 --taps 3
only cases.jsonl cache
finish
