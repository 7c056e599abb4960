#!/usr/bin/env bash
# The index of an archive is made once, by a pass that reports progress, stops when it has no waiter left, and caches its result.
. "$(dirname "$0")/lib.sh"
needs_mount

# A tar of zeros, 2 GB when unpacked, with a file and a profile at its end. Unpacking takes long enough to be observed.
slow=$src/slow.tar.gz
python3 - "$archive/stacks/heat.folded" "$slow" <<'P'
import gzip, io, sys, tarfile
PIECE, PIECES = 64 << 20, 32
def head(name, size):
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.USTAR_FORMAT)
profile = open(sys.argv[1], "rb").read()
zeros = gzip.compress(bytes(PIECE), 1) # about a hundredth: archives that expand by more are cut off
with open(sys.argv[2], "wb") as out:
    out.write(gzip.compress(head("zeros", PIECE * PIECES)) + zeros * PIECES)
    out.write(gzip.compress(head("heat.folded", len(profile)) + profile + bytes(-len(profile) % 512 + 1024)))
P
mkdir "$src/beside"
cp "$archive/stacks/heat.folded" "$src/beside"
cp "$slow" "$work/whole.tar.gz"

status() { cat "$mnt/.profilefs/status.txt"; }
running() { status | grep -E "% (running|queued), [0-9]+ waiting: $1"; }
# wait_until COMMAND...: repeats the command until it succeeds. Fails after 2000 tries, or if $waiter ends first.
wait_until() {
    local try
    for try in $(seq 2000); do
        "$@" >/dev/null 2>&1 && return 0
        [ -z "${waiter-}" ] || kill -0 "$waiter" 2>/dev/null || return 1
        sleep 0.02
    done
    return 1
}
idle() { [ -z "$(running .)" ]; }
# stops NAME: checks that the only pass ends when its reader, the process $waiter, is killed.
stops() {
    kill -KILL "$waiter"
    wait "$waiter" 2>/dev/null
    waiter=
    ok "$1" wait_until idle
}

mount_source -o no_runs
background ls "$mnt/slow.tar.gz" >"$work/listed"
waiter=$!
ok "the index of an archive is a pass that status.txt tells of" wait_until running 'index of slow\.tar\.gz'
ok "status.txt tells how far the index of an archive is" \
    wait_until bash -c "grep -E '[1-9][0-9]?% running, [1-9] waiting: index of slow' '$mnt/.profilefs/status.txt'"
ok "readers of other profiles do not wait for an archive's index" cat "$mnt/beside/heat.folded/info.txt"
ok "stat of an archive does not wait for its index" stat "$mnt/slow.tar.gz"
ok "an archive's index runs on while others are served" running 'index of slow'
stops "the index of an archive stops when nobody waits for it any more"
background ls "$mnt/slow.tar.gz" >"$work/listed"
waiter=$!
ok "an index that was stopped is begun anew by the next reader" wait_until running 'index of slow\.tar\.gz'
ok "a reader that waits for an archive's index gets it" wait "$waiter"
waiter=
is "$(ls "$mnt/slow.tar.gz" | tr '\n' ' ')" "heat.folded zeros " "a listing of an archive has all members"
is "$(running .)" "" "an archive whose index is made needs no further pass"
unmount

# ---- cached

# The number of bytes that the server has read so far.
bytes_read() { awk '/^rchar:/ { print $2 }' "/proc/$(server)/io" 2>/dev/null; }
mount_source -o no_runs
if [ -n "$(bytes_read)" ]; then
    before=$(bytes_read)
    is "$(ls "$mnt/slow.tar.gz" | tr '\n' ' ')" "heat.folded zeros " "the next mount knows the members"
    ok "the next mount lists the members without reading the archive" \
        test $(($(bytes_read) - before)) -lt $(($(stat -c %s "$slow") / 4))
else
    skip "the next mount lists the members without reading the archive" "no /proc/PID/io"
fi
is "$(running .)" "" "the next mount lists the members without a pass"
unmount
tar czf "$slow" -C "$archive" README.txt
mount_source -o no_runs
is "$(ls "$mnt/slow.tar.gz")" README.txt "the cached index of an older version of an archive is not used"
unmount
cp "$work/whole.tar.gz" "$slow"
mount_source -o no_runs
tar czf "$work/other.tar.gz" -C "$archive" README.txt
ls "$mnt/slow.tar.gz" >/dev/null
unmount
python3 -c '
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute("UPDATE datum SET value = substr(value, 2) WHERE type = 5").rowcount)
db.commit()' "$XDG_CACHE_HOME/profilefs/profiles.db" >"$work/damaged"
is "$(cat "$work/damaged")" 1 "the index of the archive is in the cache"
mount_source -o no_runs
is "$(ls "$mnt/slow.tar.gz" | tr '\n' ' ')" "heat.folded zeros " "a damaged index is made again"

# ---- reading

background cmp -n 1000000 -i 1000000000:0 "$mnt/slow.tar.gz/zeros" /dev/zero
waiter=$!
ok "unpacking a member up to a far offset is a pass" wait_until running 'unpacking a file'
ok "a reader that waits for unpacking gets the member's bytes" wait "$waiter"
waiter=
is "$(cat "$mnt/slow.tar.gz/heat.folded/tables/values.csv" | md5sum)" "$(md5sum <"$mnt/beside/heat.folded/tables/values.csv")" \
    "a profile behind 2 GB of zeros is served"
unmount

# Opening a compressed profile outside of archives unpacks the whole file if the driver needs the unpacked size.
python3 - "$archive/2026-03/$heat" "$src/long.xray.gz" <<'P'
import gzip, sys
with open(sys.argv[2], "wb") as out:
    out.write(gzip.compress(open(sys.argv[1], "rb").read()) + gzip.compress(bytes(64 << 20), 1) * 32)
P
mount_source -o no_runs
background cat "$mnt/long.xray.gz/info.txt" >"$work/shown"
waiter=$!
ok "opening a compressed profile is a pass" wait_until bash -c "grep -E '[1-9][0-9]?% running, [1-9] waiting: opening long' '$mnt/.profilefs/status.txt'"
stops "opening a compressed profile stops when nobody waits for it"
background cat "$mnt/long.xray.gz/info.txt" >"$work/shown"
waiter=$!
ok "an opening that was stopped is begun anew by the next reader" wait_until running 'opening long'
ok "a reader that waits for the opening of a profile ends without an error" wait "$waiter"
waiter=
like "$(cat "$work/shown")" '^Format: xray' "a profile whose first opening was stopped is served"
# The file changes while the profile's folder is held open. Then a look-up through the old folder opens the new version.
changed() {
    local waiter
    exec 9<"$mnt/long.xray.gz"
    touch "$src/long.xray.gz"
    sleep 1.1
    ls /proc/self/fd/9/ >/dev/null &
    waiter=$!
    local failed=0
    wait_until running 'opening long' || { echo "the folder was listed without such a pass"; failed=1; }
    kill -KILL "$waiter"
    exec 9<&-
    return $failed
}
ok "opening the new version of a compressed profile is a pass" changed
unmount
rm "$src/long.xray.gz"

# spilled: prints the size of the server's unlinked files, which are the cache of unpacked data.
spilled() { stat -Lc '%h %s' "/proc/$(server)/fd"/* 2>/dev/null | awk '$1 == 0 { n += $2 } END { print n + 0 }'; }
mount_source -o no_runs,cache=8M
ok "a member larger than the cache of unpacked data can be read" cmp -n 200000000 "$mnt/slow.tar.gz/zeros" /dev/zero
ok "the cache of unpacked data stays within its limit" test "$(spilled)" -le $((8 << 20))
unmount

# ---- members that are stored uncompressed and read in place

python3 - "$archive/stacks/heat.folded" "$src/huge.tar" <<'P'
import sys, tarfile
SIZE = 1 << 30
def head(name, size):
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)
profile = open(sys.argv[1], "rb").read()
with open(sys.argv[2], "wb") as out:
    for i in range(10):
        out.write(head("blob%d" % i, SIZE))
        out.seek(SIZE, 1)
    out.write(head("heat.folded", len(profile)) + profile + bytes(-len(profile) % 512 + 1024))
P
mount_source -o no_runs
ok "a profile in a tar of 10 GB is served" grep -q . "$mnt/huge.tar/heat.folded/primary/metric/functions.csv"
read=$(bytes_read)
ok "serving one profile of a large tar reads little of the other members" test "${read:-0}" -lt 4000000
unmount

# ---- SOURCE itself

rm -rf "$XDG_CACHE_HOME"
source=$slow
background timeout 300 "$PROFILEFS" -f -o no_runs "$source" "$mnt"
ok "where SOURCE is an archive, mounting does not wait for its index" wait_until is_mounted
background ls "$mnt" >"$work/listed"
waiter=$!
ok "where SOURCE is an archive, its index is a pass that status.txt tells of" wait_until running 'index of the archive'
ok "where SOURCE is an archive, a listing of the root waits for the index" wait "$waiter"
waiter=
is "$(ls "$mnt" | tr '\n' ' ')" "heat.folded zeros " "the root of a mounted archive holds its members"
unmount

finish
