#!/usr/bin/env bash
# Many concurrent readers get the same bytes as a single one.
. "$(dirname "$0")/lib.sh"
needs_mount

generate "$src/a.xray" --steps 600 --seed 1
generate "$src/b.xray" --steps 600 --seed 2
copy_sample "$src/c.xray"
mount_source || exit 1
(cd "$mnt" && find -L ./*.xray -type f -exec sha256sum {} + | sort -k2) >"$work/want"
ok "the fixture has many files" test "$(wc -l <"$work/want")" -gt 200

reader() {      # reads all files in an order of its own and compares each with the expected bytes
    local seed=$1
    cd "$mnt" && shuf --random-source=<(yes "$seed") "$work/want" | sha256sum --quiet -c -
}
together() {
    local n ids=() bad=0
    for n in $(seq "$1"); do
        reader "$n" >"$work/reader.$n" 2>&1 &
        ids+=($!)
    done
    for n in "${ids[@]}"; do wait "$n" || bad=1; done
    cat "$work"/reader.*
    return $bad
}
cold
ok "eight readers of all files on a cold mount get the right bytes" together 8
ok "eight readers of all files on a warm mount get the right bytes" together 8
cold -s
ok "eight readers of all files on a cold mount with -s get the right bytes" together 8

statters() {
    local n
    for n in $(seq 20); do (cd "$mnt" && find . -path ./.profilefs -prune -o -type f -printf '%s %p\n' | sort) >"$work/sizes.$n" & done
    wait
    [ "$(sha256sum "$work"/sizes.* | cut -d' ' -f1 | sort -u | wc -l)" = 1 ]
}
cold
ok "twenty walks with stat on a cold mount agree" statters

pieces() {
    python3 - "$mnt/a.xray/tables/trace.csv" <<'P'
"""Sixteen threads read pieces of one open file at random offsets and compare them."""
import os, random, sys, threading
path = sys.argv[1]
want, fd, wrong = open(path, "rb").read(), os.open(path, os.O_RDONLY), []
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
def work(seed):
    rnd = random.Random(seed)
    for _ in range(100):
        at, size = rnd.randrange(len(want)), rnd.choice((100, 5000, 200000))
        if os.pread(fd, size, at) != want[at:at + size]:
            wrong.append(at)
threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
[t.start() for t in threads]
[t.join() for t in threads]
sys.exit(bool(wrong))
P
}
cold
ok "sixteen threads on one handle read the right pieces" pieces

churn() {       # opens and closes while other processes list and stat
    local n
    for n in 1 2 3 4; do
        (for _ in $(seq 60); do head -c 10 "$mnt/b.xray/tables/trace.csv"; ls -R "$mnt/c.xray/contexts/"; done >/dev/null) &
    done
    wait
    [ -s "$mnt/b.xray/tables/trace.csv" ]
}
ok "opening, listing and closing side by side works" churn

cold
for n in 1 2 3 4; do background cat "$mnt/a.xray/tables/trace.csv" >/dev/null; done
ok "unmounting in the midst of reading ends cleanly" bash -c "sleep 0.02; fusermount3 -uz '$mnt'"
wait
sleep 0.5
is "$(server)" "" "after unmounting in the midst of reading the server has ended"

finish
