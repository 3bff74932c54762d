#!/bin/bash
# The GPU tests, compute-sanitizer and the bars on this machine's first GPU, then the bars of several GPUs on all of them; results go
# to tests/gpu/receipt.json.
#
#   scripts/gpu_test.sh                      builds with nvcc what is missing, then runs everything
#   GPU_BUNDLE=DIR scripts/gpu_test.sh       runs the programs of DIR (scripts/gpu_bundle.sh): no development packages needed
#
#   GPU_TEST_STAGES="tests sanitizer bars several"   which of them; the receipt keeps the others' results if they are of the same tree.
#                                            several: where there are two GPUs or more and Python has tapline, CuPy and PyTorch
#   GPU_SEVERAL_FILE=FILE                    of several: what bench/scaling.py measured on a run of this tree; alone it needs no GPU
#   GPU_TEST_FILTER=PATTERN                  which tests (GoogleTest's filter)
#   GPU_TEST_CASES=N                         how many drawn problems (default 9000);   GPU_TEST_JOBS=N  processes at a time (4)
#   GPU_SANITIZER_SECONDS=N                  at most so long for each tool (default 150);   GPU_BAR_SECONDS=N  to measure a bar (0.2)
#   GPU_BAR_ONLY=TEXT                        only bars whose name contains it; those of other runs of the same tree stay
#   GPU_RECEIPT=FILE                         another receipt;   GPU_TEST_LOGS=DIR  where the logs go (default build/gpu_test)
#
# The exit status is 0 only if everything that ran passed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
stages=${GPU_TEST_STAGES:-tests sanitizer bars several}
logs=${GPU_TEST_LOGS:-build/gpu_test}
preset=${PRESET:-default}
for stage in $stages; do
    case $stage in
        tests | sanitizer | bars | several) ;;
        *)
            echo "error: GPU_TEST_STAGES: '$stage' is none of tests sanitizer bars several" >&2
            exit 2
            ;;
    esac
done
mkdir -p "$logs"
logs=$(cd "$logs" && pwd)
unset TAPLINE_CUDA_LIBRARY # only the engine of this tree counts

receipt_options=()
[ -z "${GPU_RECEIPT:-}" ] || receipt_options+=(--receipt "$GPU_RECEIPT")
measured=${GPU_SEVERAL_FILE:-}
if [ -n "$measured" ] && [ "${stages// /}" = several ]; then
    : # it needs no programs, and no GPU, so that the receipt's stays its
elif [ -n "${GPU_BUNDLE:-}" ]; then
    bundle=$(cd "$GPU_BUNDLE" && pwd)
    bin=$bundle/bin
    source scripts/gpu_bundle_libraries.sh
    tree=$(cat "$bundle/tree")
    if [ -d src/cuda ] && [ "$(python3 scripts/gpu_receipt.py hash)" != "$tree" ]; then
        echo "error: $bundle was made from another tree; run scripts/gpu_bundle.sh again" >&2
        exit 1
    fi
    receipt_options+=(--tree "$tree")
else
    scripts/install_dependencies.sh build
    cmake --preset "$preset" -DTAPLINE_CUDA=on # also where CI has built quickly
    cmake --build "build/$preset" -j "${JOBS:-$(nproc)}" --target tapline_cli tapline_gpu_tests tapline_cuda tapline_lessons tapline_solve
    bin=$root/build/$preset/bin
fi
if [ -n "${bin:-}" ]; then
    for program in tapline tapline_gpu_tests libtapline_cuda.so; do
        if [ ! -e "$bin/$program" ]; then
            echo "error: $bin/$program is missing: was it built with nvcc?" >&2
            exit 1
        fi
    done

    device=unknown
    driver=unknown
    if command -v nvidia-smi >/dev/null; then
        device=$(nvidia-smi --query-gpu=name --format=csv,noheader -i 0 2>/dev/null | head -1) || device=unknown
        driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0 2>/dev/null | head -1) || driver=unknown
    fi
    receipt_options+=(--device "${device:-unknown}" --driver "${driver:-unknown}")
    echo "device: $device, driver $driver"
fi
rm -f "$logs/wisdom.json"
export TAPLINE_REQUIRE_GPU=1 TAPLINE_WISDOM=$logs/wisdom.json # not what was once tuned here

failed=0
receipt() { python3 scripts/gpu_receipt.py write "${receipt_options[@]}" "$@"; }

# A process for each test that takes long, several at a time, since most of the time goes into the reference on the CPU; a process
# at a time for the tests that use up or lose the device.
alone='Loss.*'
run_tests() { # run_tests NUMBER FILTER
    "$bin/tapline_gpu_tests" --gtest_output="json:$logs/tests.$1.json" --gtest_filter="$2" >"$logs/tests.$1.log" 2>&1
}
stage_tests() {
    local status=0 jobs=${GPU_TEST_JOBS:-4} filter=${GPU_TEST_FILTER:-*} i few many=()
    rm -f "$logs"/tests*.json "$logs"/tests*.log
    "$bin/tapline_gpu_tests" --gtest_list_tests >"$logs/tests.list"
    "$bin/tapline_gpu_tests" --gtest_list_tests --gtest_filter="$filter" >"$logs/tests.wanted"
    few=$(python3 scripts/gpu_receipt.py names "$logs/tests.wanted" --only "$alone")
    mapfile -t many < <(python3 scripts/gpu_receipt.py names "$logs/tests.wanted" --but "$alone" --lines)
    echo "==> tests"
    export TAPLINE_PROPERTY_CASES=${GPU_TEST_CASES:-9000} bin logs
    export -f run_tests
    for i in "${!many[@]}"; do printf '%s\0%s\0' "$i" "${many[$i]}"; done |
        xargs -0 -r -n 2 -P "$jobs" bash -c 'run_tests "$@"' run_tests || status=$?
    run_tests "${#many[@]}" "$few" || status=$?
    cat "$logs"/tests.?*.log >"$logs/tests.log"
    grep -E '^\[  (FAILED|SKIPPED) |^\[  PASSED  |Failure$' "$logs/tests.log" || true
    receipt --tests "$(printf '%s,' $(seq -f "$logs/tests.%g.json" 0 "${#many[@]}"))" "$logs/tests.list" "$status"
    [ "$status" -eq 0 ] || failed=1
}

# A few problems for each rung, without guard zones so that the tool sees the first byte past a buffer.
sanitizer_filter='Modes/AwkwardSizes.*:Rungs.NanAndInfinityReachTheirWindowsOnly:OwnCases.*:Shards/Property.*'
sanitizer_filter+=':OverlapSave.Overflow:DepthwiseTest.InfiniteTapsMeetOnlySamplesThatAreThere'
sanitizer_filter+='-OwnCases.BBroadcastBlockAtItsLargest:OwnCases.EClampedCorrelation'

find_sanitizer() {
    command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer /usr/local/cuda/compute-sanitizer/compute-sanitizer 2>/dev/null | head -1
}

stage_sanitizer() {
    local tool status program pids=() seconds=${GPU_SANITIZER_SECONDS:-150}
    program=$(find_sanitizer || true)
    # Both at a time: the tools work on the CPU for the most part.
    for tool in memcheck racecheck; do
        : >"$logs/$tool.log"
        [ -n "$program" ] || continue
        TAPLINE_PROPERTY_CASES=${GPU_SANITIZER_CASES:-48} TAPLINE_GPU_GUARD_BYTES=0 timeout -k 10 "$seconds" "$program" --tool "$tool" \
            --error-exitcode 99 "$bin/tapline_gpu_tests" --gtest_filter="$sanitizer_filter" >"$logs/$tool.log" 2>&1 &
        pids+=($!)
    done
    # Each is in a process group of its own: who ends this script would leave them at work.
    trap '[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null; exit 143' TERM INT
    for tool in memcheck racecheck; do
        echo "==> compute-sanitizer $tool"
        status="compute-sanitizer is not installed"
        if [ -n "$program" ]; then
            status=0
            wait "${pids[0]}" || status=$?
            pids=("${pids[@]:1}")
            tail -5 "$logs/$tool.log"
        fi
        receipt --sanitizer "$tool" "$logs/$tool.log" "$status"
        # A machine where the tool cannot work does not fail the run: the receipt says so, and what it last passed on.
        python3 - "${GPU_RECEIPT:-tests/gpu/receipt.json}" "$tool" <<'END' || failed=1
import json, sys
row = json.load(open(sys.argv[1]))["sanitizer"][sys.argv[2]]
print(f"{sys.argv[2]}: {row['result']}" + (f" ({row['reason']})" if row.get("reason") else ""))
sys.exit(row["result"] == "failed")
END
    done
    trap - TERM INT
}

stage_bars() {
    local status=0
    echo "==> bars"
    rm -f "$logs/bars.json"
    python3 bench/gpu_bars.py --tapline "$bin/tapline" --seconds "${GPU_BAR_SECONDS:-0.2}" --only "${GPU_BAR_ONLY:-}" \
        --output "$logs/bars.json" 2>&1 | tee "$logs/bars.log" || status=$?
    receipt --bars "$logs/bars.json" "$status"
    [ "$status" -eq 0 ] || failed=1
}

stage_several() {
    local status=0 gpus
    echo "==> several GPUs"
    if [ -z "$measured" ]; then
        gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true)
        if [ "$gpus" -lt 2 ]; then
            echo "$gpus GPUs: what the receipt says of several stays"
            return
        fi
        if ! python3 -c 'import cupy, torch, tapline.torch' 2>"$logs/several.log"; then
            echo "not measured: $(tail -1 "$logs/several.log")"
            return
        fi
        measured=$logs/scaling.json
        rm -f "$measured"
        TAPLINE_CUDA_LIBRARY=$bin/libtapline_cuda.so python3 bench/scaling.py measure --out "$measured" 2>&1 | tee "$logs/several.log" || status=$?
    fi
    rm -f "$logs/several.json"
    python3 bench/scaling_bars.py "$measured" --output "$logs/several.json" || status=$?
    receipt --bars "$logs/several.json" "$status"
    [ "$status" -eq 0 ] || failed=1
}

for stage in $stages; do "stage_$stage"; done
echo "receipt: ${GPU_RECEIPT:-tests/gpu/receipt.json}"
python3 scripts/gpu_receipt.py check "${receipt_options[@]}" || true
exit "$failed"
