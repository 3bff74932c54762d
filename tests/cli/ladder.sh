# ladder: the CPU's rungs, JSON, report, peers, wrong arguments.
. "$(dirname "$0")/_common.sh"
export COLUMNS=80

ladder() { "$TAPLINE" ladder --device cpu --seconds 0 "$@"; }

# The puzzles: every rung reproduces the outputs that the write-ups print, in a table of its own.
for case in A A2 D; do
    succeed ladder --case $case
    grep -q "^$case: " stdout || fail "case $case has no table"
    for rung in "01 naive_loop" "02 blocked" "03 simd" "04 threads" "05 overlap_save"; do
        [ "$(grep -c "^$rung " stdout)" -eq 1 ] || fail "case $case lacks the row $rung"
    done
    grep -q "^copy of the signal .* 100%" stdout || fail "case $case has no row for the copy"
    grep -q WRONG stdout && fail "case $case: $(grep WRONG stdout)"
done
succeed ladder --case c # letters of either size
[ "$(awk 'length($0) > 80' stdout | wc -l)" -eq 0 ] || fail "lines longer than 80 columns: $(awk 'length($0) > 80' stdout)"
grep -q "n = 2^14, k = 32, mode full, convolution" stdout || fail "case C is another problem: $(cat stdout)"
# The naive one is the first rung, and its factor is 1.
awk '/^01 naive_loop/ { exit $5 == "1.00x" ? 0 : 1 }' stdout || fail "the naive loop is not once as fast as itself"

# A problem of one's own: every mode, a clamp, chosen rungs.
for mode in full same valid causal leading; do
    succeed ladder --length 4Ki --taps 7 --mode $mode --clamp -0.5,0.5 --only simd,01
    grep -q "mode $mode" stdout || fail "--mode $mode is not shown"
    [ "$(grep -c '^0[0-9] ' stdout)" -eq 2 ] || fail "--only gives other rungs: $(cat stdout)"
    grep -q "clamp -0.5..0.5" stdout || fail "the clamp is not shown"
done
TAPLINE_TARGET=scalar succeed ladder --length 1000 --taps 3 --only 02,03
grep -q "instruction set scalar" stdout || fail "TAPLINE_TARGET is not obeyed"

# JSON: one document; nothing else on standard output with -.
succeed ladder --case A --json ladder.json
succeed ladder --length 1e4 --taps 5 --mode same --only naive_loop,threads --json -
cp stdout own.json
for key in schema version date device lessons tables sweep; do
    grep -q "^ \"$key\":" own.json || fail "the document lacks $key"
done
for key in case problem output_length naive copy rows skipped; do grep -q "^   \"$key\":" own.json || fail "a table lacks $key"; done
for key in number name origin kind ok failure detail error tolerance seconds warm_seconds times_naive times_previous \
    gigabytes_per_second copy_fraction gflops; do
    [ "$(grep -c "^     \"$key\":" own.json)" -ge 2 ] || fail "a row lacks $key"
done
grep -q '"schema": "tapline-ladder-1"' own.json || fail "the schema's name is missing"
grep -q '"ok": false' own.json && fail "a rung is wrong"
head -c 1 own.json | grep -q '{' || fail "--json - begins with something else"
[ "$(grep -c '"length": 4096' own.json)" -ge 3 ] || fail "the sweep lacks 2^12"
if command -v python3 >/dev/null; then
    python3 - <<'PYTHON' || fail "the document is not what it should be"
import json
run = json.load(open("own.json"))
table, = run["tables"]
naive, threads = table["rows"]
assert run["device"]["engine"] == "cpu" and naive["times_naive"] == 1 and threads["error"] <= threads["tolerance"]
assert abs(threads["times_naive"] - naive["seconds"]["median"] / threads["seconds"]["median"]) < 1e-6 * threads["times_naive"]
assert abs(threads["copy_fraction"] - table["copy"]["seconds"]["median"] / threads["seconds"]["median"]) < 1e-9 + 1e-6 * threads["copy_fraction"]
assert abs(naive["gflops"] * naive["seconds"]["median"] - 2e-9 * 5 * 10000) < 1e-9
assert [p["length"] for p in run["sweep"]["copy"]] == [2**i for i in range(12, 25)]
PYTHON
fi

# Peers become rows of the table with their problem, and of no other.
cat >peers.json <<'PEERS'
{"schema": "tapline-peers-1", "rows": [{"name": "Num<Py>", "what": "numpy & friends", "length": 4096, "taps": 9, "mode": "full",
 "seconds": {"median": 0.25, "min": 0.25, "max": 0.25, "runs": 1}, "warm_seconds": null, "error": 1e-7}]}
PEERS
succeed ladder --length 4Ki --taps 9 --mode full --only simd --peers peers.json --report report.html
grep -q "^C7 Num<Py> .*250 ms" stdout || fail "the peer has no row"
succeed ladder --length 4Ki --taps 9 --mode same --only simd --peers peers.json
grep -q "^C7" stdout && fail "a peer's row in a table of another problem"

# The report: one page that fetches nothing, with what others wrote escaped.
head -c 15 report.html | grep -q '<!DOCTYPE html>' || fail "the report is no page"
tail -n 1 report.html | grep -q '</html>$' || fail "the report is not complete"
grep -q 'C7 Num&lt;Py&gt;' report.html || fail "the peer's name is not in the report"
grep -q 'Num<Py>' report.html && fail "the report does not escape"
grep -qE '<script|<link|<img|https?://|@import|url\(' report.html && fail "the report needs something from elsewhere"
[ "$(grep -o '<svg' report.html | wc -l)" -ge 4 ] || fail "the report lacks drawings"
[ "$(grep -o '<svg' report.html | wc -l)" -eq "$(grep -o '</svg>' report.html | wc -l)" ] || fail "a drawing is not closed"
grep -q 'id="lengths"' report.html || fail "the report lacks the lengths"
grep -q '<dt>Idea</dt>' report.html || fail "the report lacks the lessons"
grep -qE 'nan|inf"' report.html && fail "a drawing holds no number"

# A GPU, emulated on host memory by a library that the tests build: cold and warm times, the search, a wrong rung.
emulated=$(dirname "$TAPLINE")/../tests/emulated_cuda/libemulated_cuda.so
if [ -e "$emulated" ]; then
    emulated=$(readlink -f "$emulated")
    gpu() { TAPLINE_CUDA_LIBRARY=$emulated "$TAPLINE" ladder --seconds 0 "$@"; }
    COLUMNS=120 succeed gpu --case C --device auto --json gpu.json --report gpu.html
    grep -q "^cuda:0: Emulated GPU" stdout || fail "auto does not take the GPU"
    grep -q "^rung .* time .*warm L2" stdout || fail "no column for the warm cache"
    grep -q "^autotuned  *C6 " stdout || fail "no row for the search"
    grep -q "autotuned is emulated_pieces: " stdout || fail "the search does not say what it found"
    [ "$(awk 'length($0) > 120' stdout | wc -l)" -eq 0 ] || fail "lines longer than 120 columns"
    if [ -e "$(dirname "$emulated")/libtapline_lessons.so" ]; then
        grep -q "^emulated_lesson " stdout || fail "the lessons are not there: $(cat stdout)"
    else
        grep -q "no lessons: " stdout || fail "nothing says why the lessons are not there: $(cat stdout)"
    fi
    [ "$(grep -c '"warm_seconds": {' gpu.json)" -ge 5 ] || fail "no warm times in the document"
    succeed gpu --case D --device cuda:1 --only emulated_whole
    grep -q "autotuned" stdout && fail "--only does not leave out the search"
    TAPLINE_EMULATED_WRONG=1 expect 1 "WRONG: autotuned, case A" gpu --case A --json wrong.json
    grep -q "^autotuned  *C6 *WRONG" stdout || fail "a wrong rung is not shown as WRONG"
    grep -q '"ok": false' wrong.json || fail "a wrong rung is not in the document"
    TAPLINE_CUDA_MEMORY_LIMIT=1000 expect 1 "memory" gpu --case C
    # 1 MiB holds 2^16 samples and their outputs: the sweep ends there.
    TAPLINE_CUDA_MEMORY_LIMIT=1048576 succeed gpu --length 4Ki --taps 3 --only emulated_whole --json gpu.json
    grep -q '"length": 65536' gpu.json || fail "the sweep ends before memory does"
    grep -q '"length": 262144' gpu.json && fail "the sweep goes on without memory"
    TAPLINE_EMULATED_WRONG=1 expect 1 "WRONG" gpu --case A --only C6
    rm -f gpu.json gpu.html wrong.json
fi

# A report that cannot be written fails before the work; an old one stays.
mkdir folder
expect 1 "folder" ladder --case A --report folder
expect 1 "missing/report.html" ladder --case A --report missing/report.html
expect 1 "missing/run.json" ladder --case A --json missing/run.json
[ ! -s stdout ] || fail "measured before the file's name was tried"
echo old >old.html
expect 1 "peers.jsn" ladder --case A --report old.html --peers peers.jsn
[ "$(cat old.html)" = old ] || fail "a failed run changed the old report"

# What cannot be meant.
expect 2 "not one of A, A2, B, C, D, E, ours" ladder --case F
expect 2 "positive" ladder --length 0
expect 2 "positive" ladder --taps -3
expect 2 "full, same, valid" ladder --mode around
expect 2 "LO below HI" ladder --clamp 1,0
expect 2 "two numbers" ladder --clamp 1
expect 2 "naive_loop" ladder --only naive
expect 2 "seconds" ladder --seconds -1
expect 2 "seconds" ladder --tune-seconds long
expect 2 "standard output" ladder --case A --json - --report -
expect 1 "valid" ladder --length 3 --taps 4 --mode valid
expect 1 "auto, cpu, cuda, cuda:N" "$TAPLINE" ladder --device tpu
TAPLINE_CUDA_LIBRARY=/nowhere/libtapline_cuda.so expect 1 "not available" "$TAPLINE" ladder --device cuda
echo '{"schema": "else", "rows": []}' >bad.json
expect 1 "schema" ladder --case A --peers bad.json
echo '{"schema": "tapline-peers-1", "rows": [{"name": "x"}]}' >bad.json
expect 1 "bad.json.*gpu_peers" ladder --case A --peers bad.json
echo '{"schema"' >bad.json
expect 1 "bad.json" ladder --case A --peers bad.json

only ladder.json own.json report.html peers.json old.html bad.json folder
finish
