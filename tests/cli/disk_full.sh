# A full disk: status 1, a message, the old file.
. "$(dirname "$0")/_common.sh"

head -c 3000000 /dev/zero | npy '|u1' '(3000000,)' False >x.npy
expect 1 "No space\|space" "$TAPLINE" convolve x.npy 1,2 -o /dev/full --to npy
"$TAPLINE" convolve x.npy 1,2 -o - >/dev/full 2>stderr
[ $? -eq 1 ] || fail "standard output is full: status 0"
grep -q "space" stderr || fail "standard output is full: $(cat stderr)"
"$TAPLINE" info >/dev/full 2>stderr
[ $? -eq 1 ] || fail "info to a full disk: status 0"
only x.npy

# The same on a small file system of our own, where that is allowed.
mkdir small
if mount -t tmpfs -o size=1m tmpfs small 2>/dev/null; then
    trap 'umount "$work/small"; rm -rf "$work"' EXIT
    echo old >small/out.npy
    expect 1 "space" "$TAPLINE" convolve x.npy 1,2 -o small/out.npy
    [ "$(ls -A small)" = out.npy ] && [ "$(cat small/out.npy)" = old ] || fail "left in the full file system: $(ls -lA small)"
    expect 1 "space" "$TAPLINE" convolve x.npy 1,2 -o small/new.npy
    [ "$(ls -A small)" = out.npy ] || fail "left in the full file system: $(ls -A small)"
fi
# A limit on the size of files is the same to us.
echo old >limited.npy
(
    ulimit -f 100
    trap '' XFSZ
    "$TAPLINE" convolve x.npy 1,2 -o limited.npy 2>stderr
    [ $? -eq 1 ]
) || fail "file size limit: $(cat stderr)"
[ "$(cat limited.npy)" = old ] || fail "file size limit: the old file is gone"
only x.npy small limited.npy
finish
