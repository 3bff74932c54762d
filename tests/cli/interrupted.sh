# A run that is interrupted leaves the old file and nothing else.
. "$(dirname "$0")/_common.sh"

echo old >out.txt
cp out.txt old.txt
for signal in INT TERM HUP; do
    mkfifo pipe
    # A job of a non-interactive shell ignores SIGINT; env gives it back its default.
    env --default-signal=INT "$TAPLINE" convolve pipe 1 -o out.txt --from txt 2>stderr &
    job=$!
    exec 3>pipe
    for ((i = 0; i < 3000; ++i)); do echo $i; done >&3
    # The temporary file tells that the run is under way.
    for ((i = 0; i < 100; ++i)); do
        [ "$(find . -type f ! -name stderr ! -name stdout ! -name out.txt ! -name old.txt | wc -l)" -gt 0 ] && break
        sleep 0.05
    done
    [ "$i" -lt 100 ] || fail "$signal: the run never began"
    kill -$signal $job
    wait $job 2>/dev/null
    status=$?
    exec 3>&-
    rm -f pipe
    [ $status -gt 128 ] || fail "$signal: status $status"
    same out.txt old.txt
    only out.txt old.txt
done
finish
