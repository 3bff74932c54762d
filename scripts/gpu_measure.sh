#!/bin/bash
# Everything that is measured on a GPU, side by side on as many GPUs as there are. Results lie in DIR as they come: a run that is
# cut off leaves what it has.
#
#   GPU_BUNDLE=BUNDLE scripts/gpu_measure.sh DIR [PART...]     BUNDLE is of scripts/gpu_bundle.sh; PART is one of, default all:
#
#   host      the bars from ordinary memory to ordinary memory, before anything else works on that memory
#   tests     the GPU tests, then compute-sanitizer          (scripts/gpu_test.sh; the first GPU, and the last for those of two)
#   bars      the bars                                       (bench/gpu_bars.py; the second GPU)
#   choice    the sweep of choices                           (bench/gpu_choice.py; the third and the fourth)
#   ladder    the ladders of signals and images              (after the bars)
#   python    the Python module's tests and its benchmark    (after the choice; where tapline, pytest and CuPy can be imported)
#   scaling   several GPUs against one                       (bench/scaling.py; all of them, at the end; none where there is one)
#
#   GPU_MEASURE_SECONDS=N    ends what has not ended after so long (default 3600)
#   GPU_TEST_* and GPU_SANITIZER_* as for scripts/gpu_test.sh; GPU_BAR_SECONDS=N to measure a bar (0.2)
#
# DIR: receipt.json (as tests/gpu/receipt.json, with all that passed through here), gpu_choice.json, ladder*.json, gpu_python.json (as
# in bench/results) and what each part printed. With fewer than four GPUs the parts take turns on those that there are.
set -euo pipefail
cd "$(dirname "$0")/.."
parts=(host tests bars choice ladder python scaling)
if [ $# -lt 1 ] || [ -z "${GPU_BUNDLE:-}" ]; then
    echo "usage: GPU_BUNDLE=BUNDLE scripts/gpu_measure.sh DIR [${parts[*]}]" >&2
    exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
wanted=" ${*:-${parts[*]}} "
for part in $wanted; do
    if [[ " ${parts[*]} " != *" $part "* ]]; then
        echo "error: '$part' is none of ${parts[*]}" >&2
        exit 2
    fi
done
bundle=$(cd "$GPU_BUNDLE" && pwd)
tapline=$bundle/bin/tapline
[ -x "$tapline" ] || { echo "error: $tapline is missing; see scripts/gpu_bundle.sh" >&2 && exit 1; }
gpus=$(nvidia-smi -L | grep -c '^GPU' || true)
[ "$gpus" -gt 0 ] || { echo "error: nvidia-smi names no GPU" >&2 && exit 1; }
tree=$(cat "$bundle/tree")
end=$((SECONDS + ${GPU_MEASURE_SECONDS:-3600}))

wants() { [[ $wanted == *" $1 "* ]]; }
say() { echo "[$SECONDS s] $*"; }
# limited NAME COMMAND...: until the time is over; what it prints goes to DIR/NAME.log, its status to DIR/NAME.status.
limited() {
    local name=$1 left=$((end - SECONDS)) status=0
    shift
    [ "$left" -gt 0 ] || { say "$name: no time is left" && return 0; }
    timeout -k 5 "$left" "$@" >"$out/$name.log" 2>&1 || status=$?
    echo "$status" >"$out/$name.status"
    say "$name: status $status"
}
# The bundle's libraries, for its programs alone: a Python that is given them might not start.
cat >"$out/tapline" <<END
#!/bin/bash
bundle="$bundle"
source "$PWD/scripts/gpu_bundle_libraries.sh"
exec "$tapline" "\$@"
END
chmod +x "$out/tapline"
export TAPLINE_WISDOM=$out/wisdom.json # not what was once tuned here

bars() { # bars NAME OPTION...
    local name=$1
    shift
    limited "$name" python3 bench/gpu_bars.py --tapline "$out/tapline" --seconds "${GPU_BAR_SECONDS:-0.2}" --output "$out/$name.json" "$@"
}
tests() {
    local devices=0
    [ "$gpus" -eq 1 ] || devices=0,$((gpus - 1))
    CUDA_VISIBLE_DEVICES=$devices GPU_RECEIPT=$out/receipt.json GPU_TEST_LOGS=$out/tests GPU_TEST_STAGES="tests sanitizer" \
        limited tests scripts/gpu_test.sh
}
ladders() {
    local k
    limited ladder "$out/tapline" ladder --json "$out/ladder.json"
    for k in 15 31; do limited "ladder_image_sep_$k" "$out/tapline" ladder --image 4096x4096 --mask "$k" --separable --json "$out/ladder_image_sep_$k.json"; done
    for k in 3 5 7 15 31 63; do limited "ladder_image_$k" "$out/tapline" ladder --image 4096x4096 --mask "$k" --json "$out/ladder_image_$k.json"; done
}
choice() {
    local devices=cuda:$((2 % gpus))
    [ "$gpus" -lt 4 ] || devices=cuda:2,cuda:3
    limited choice python3 bench/gpu_choice.py measure --tapline "$out/tapline" --device "$devices" --output "$out/gpu_choice.json"
}
# One place for each GPU; parts that share one wait for each other.
on() { # on GPU PART...
    local gpu=$1
    shift
    (
        exec 9>"$out/gpu.$gpu"
        flock 9
        "$@"
    )
}

say "$gpus GPUs, tree ${tree:0:12}"
[ ! -f tests/gpu/receipt.json ] || [ -f "$out/receipt.json" ] || cp tests/gpu/receipt.json "$out/receipt.json"
if wants host; then CUDA_VISIBLE_DEVICES=0 bars host --only "host to host"; fi
jobs=()
if wants tests; then on 0 tests & jobs+=($!); fi
if wants bars || wants ladder; then
    (
        export CUDA_VISIBLE_DEVICES=$((1 % gpus))
        ! wants bars || on "$CUDA_VISIBLE_DEVICES" bars bars
        ! wants ladder || on "$CUDA_VISIBLE_DEVICES" ladders
    ) &
    jobs+=($!)
fi
if wants choice || wants python; then
    (
        ! wants choice || on $((2 % gpus)) choice
        wants python || exit 0
        if ! python3 -c 'import tapline, pytest, cupy' 2>"$out/python.log"; then
            say "python: $(tail -1 "$out/python.log")"
            exit 0
        fi
        CUDA_VISIBLE_DEVICES=$((2 % gpus)) XLA_PYTHON_CLIENT_PREALLOCATE=false on $((2 % gpus)) \
            limited pytest python3 -m pytest -q -p no:cacheprovider tests/python/gpu tests/python/test_torch.py &
        CUDA_VISIBLE_DEVICES=$((3 % gpus)) on $((3 % gpus)) limited gpu_python python3 bench/gpu_python.py --out "$out/gpu_python.json"
        wait
    ) &
    jobs+=($!)
fi
for job in "${jobs[@]}"; do wait "$job" || true; done

# All GPUs together, when nothing else runs on them.
if wants scaling && [ "$gpus" -gt 1 ] && python3 -c 'import tapline, cupy' 2>"$out/scaling.log"; then
    limited scaling python3 bench/scaling.py measure --out "$out/scaling.json"
    [ ! -f "$out/scaling.json" ] || limited scaling_bars python3 bench/scaling.py bars "$out/scaling.json" --output "$out/scaling_bars.json"
fi

device=$(nvidia-smi --query-gpu=name --format=csv,noheader -i 0)
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0)
# The one that was measured alone stands.
for name in bars host scaling_bars; do
    [ -f "$out/$name.json" ] || continue
    python3 scripts/gpu_receipt.py write --receipt "$out/receipt.json" --tree "$tree" --device "$device" --driver "$driver" \
        --bars "$out/$name.json" "$(cat "$out/$name.status")"
done
python3 scripts/gpu_receipt.py check --receipt "$out/receipt.json" --tree "$tree" || true
