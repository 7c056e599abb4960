#!/usr/bin/env bash
# Reads at any offset and in any order return the same bytes as a sequential read.
. "$(dirname "$0")/lib.sh"
needs_mount

generate "$src/big.xray" --steps 2600
copy_sample "$src/small.xray"
# To render instants.csv of one thread, all threads' instants are walked. For that reason, jobs render its blocks.
python3 -c 'import json
print(json.dumps([{"ph": "i", "name": "mark", "ts": i, "pid": 1, "tid": 1 + i % 2} for i in range(200000)]))' >"$src/marks.json"
heavy=marks.json/threads/1%2F1/instants.csv
mount_source || exit 1
trace=big.xray/tables/trace.csv
mkdir "$work/plain"
for file in $trace big.xray/tables/values.csv big.xray/metrics/time/tree.txt small.xray/tables/trace.csv $heavy; do
    mkdir -p "$work/plain/$(dirname "$file")"
    cat "$mnt/$file" >"$work/plain/$file"
done
size=$(stat -c %s "$mnt/$trace")
ok "the fixture is of several MB" test "$size" -gt 5000000
ok "the fixture's file of one thread has more than 1.5 MB" test "$(stat -c %s "$work/plain/$heavy")" -gt 1500000

same_on_cold() {   # same_on_cold NAME SCRIPT: the script prints the same in a cold mount as on plain files
    local want have
    want=$(cd "$work/plain" && bash -c "$2" | sha256sum)
    cold
    have=$(cd "$mnt" && bash -c "$2" | sha256sum)
    is "$have" "$want" "$1: the same in a cold mount as on a plain file"
}

same_on_cold "tail -c 1000" "tail -c 1000 $trace"
same_on_cold "tail -n 100" "tail -n 100 $trace"
same_on_cold "tail -c +N" "tail -c +3000001 $trace"
same_on_cold "head -c" "head -c 100000 $trace"
same_on_cold "dd skip= in the middle" "dd if=$trace bs=4096 skip=777 count=3 status=none"
same_on_cold "dd of single bytes at odd offsets" \
    "for n in 1 4095 4097 131071 131073 1048577 2999999; do dd if=$trace bs=1 skip=\$n count=5 status=none; done"
same_on_cold "tac, from the end to the start" "tac $trace"
same_on_cold "tac of a small file" "tac small.xray/tables/trace.csv"
same_on_cold "dd beyond the end" "dd if=$trace bs=1M skip=4000 count=1 status=none"

cat >"$work/pieces.py" <<'P'
"""Reads pieces of a file in a shuffled order and compares each with the same piece of a plain copy."""
import os, random, sys
mount, plain, seed, n = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
want = open(plain, "rb").read()
fd, rnd = os.open(mount, os.O_RDONLY), random.Random(seed)
for _ in range(n):
    offset, size = rnd.randrange(len(want) + 100), rnd.choice((1, 10, 511, 4096, 70000, 300000))
    if os.pread(fd, size, offset) != want[offset:offset + size]:
        sys.exit("%d bytes at %d differ" % (size, offset))
P
for file in $trace big.xray/tables/values.csv big.xray/metrics/time/tree.txt; do
    cold
    ok "300 pieces of $(basename "$file") in any order are right" \
        python3 "$work/pieces.py" "$mnt/$file" "$work/plain/$file" 1 300
done
unmount && mount_source
ok "300 pieces are right on a second mount, which knows sizes and checkpoints from the cache" \
    python3 "$work/pieces.py" "$mnt/$trace" "$work/plain/$trace" 2 300
unmount && mount_source -o cache=1M
ok "300 pieces are right with a cache limit below the size of the file" \
    python3 "$work/pieces.py" "$mnt/$trace" "$work/plain/$trace" 3 300

cold
ok "100 pieces are right where blocks may be evicted before the reader takes them" \
    python3 "$work/pieces.py" "$mnt/$heavy" "$work/plain/$heavy" 4 100
cold
ok "reads of 1 MB are right where blocks may be evicted before the reader takes them" \
    cmp <(dd "if=$mnt/$heavy" bs=1M status=none) "$work/plain/$heavy"

cold
stat "$mnt/$trace" >/dev/null
bytes_read() { awk '/^rchar:/ { print $2 }' "/proc/$(server)/io"; }
before=$(bytes_read)
tail -c 1000 "$mnt/$trace" >/dev/null
read=$(($(bytes_read) - before))
ok "tail -c 1000 after the first stat reads little of the data ($read bytes)" \
    test "$read" -lt $(($(stat -c %s "$src/big.xray") / 4))

per_thread() {     # the threads' files, concatenated, are the whole table
    local dir
    head -n 1 "$mnt/big.xray/tables/trace.csv" | cut -d, -f2-
    awk -F, 'NR > 1 { print $NF }' "$mnt/big.xray/tables/threads.csv" | while read -r dir; do
        tail -n +2 "$mnt/big.xray/threads/$dir/trace.csv"
    done
}
is "$(per_thread | sha256sum)" "$(cut -d, -f2- "$work/plain/$trace" | sha256sum)" \
    "trace.csv of the threads, one after another, is trace.csv of the profile"

finish
