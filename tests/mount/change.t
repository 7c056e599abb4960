#!/usr/bin/env bash
# After the source was rewritten, extended, truncated, deleted or replaced, the next open returns the new content, also for a shell
# whose working directory is inside the profile. Handles on the old version return old bytes or fail; they never return a mix.
. "$(dirname "$0")/lib.sh"
needs_mount

generate "$work/one" --steps 300 --seed 1 --pid 100
generate "$work/two" --steps 500 --seed 2 --pid 200
# expect PROFILE FILE: prints the expected text of a file in a profile.
expect() { "$PROFILEFS" cat "$1/$2"; }
for version in one two; do
    expect "$work/$version" tables/trace.csv >"$work/$version.trace"
    expect "$work/$version" tables/values.csv >"$work/$version.values"
done

p=$mnt/run.xray
fresh() {
    unmount
    rm -rf "$XDG_CACHE_HOME" "$src"
    mkdir "$src"
    cp "$work/one" "$src/run.xray"
    mount_source || exit 1
}
# Waits until the kernel's cache has expired: for a second it keeps whether a name is a folder or a file.
kind_settles() { sleep 1.1; }
serves() { cmp "$p/tables/trace.csv" "$work/$1.trace" && cmp "$p/tables/values.csv" "$work/$1.values"; }

fresh
ok "the first version is served" serves one
cat "$work/two" >"$src/run.xray"
ok "after a rewrite in place the next open gives the new content" serves two
is "$(stat -c %s "$p/tables/trace.csv")" "$(stat -c %s "$work/two.trace")" "after a rewrite in place stat gives the new size"

fresh
stat "$p/tables/trace.csv" >/dev/null
cp "$work/two" "$src/new" && mv "$src/new" "$src/run.xray"
ok "after a replacement by rename the next open gives the new content" serves two

fresh
serves one
cp -p "$work/two" "$work/same-time"
touch -r "$src/run.xray" "$work/same-time"
head -c "$(stat -c %s "$work/one")" "$work/two" >"$work/same-size"
"$PROFILEFS" cat "$work/same-size/tables/trace.csv" >"$work/same.trace"
touch -r "$src/run.xray" "$work/same-size"
cp --preserve=timestamps "$work/same-size" "$src/new" && mv "$src/new" "$src/run.xray"
ok "after a replacement by a file of equal size and time the next open gives the new content" \
    cmp "$p/tables/trace.csv" "$work/same.trace"

fresh
ls -l "$p/tables" >/dev/null
half=$(($(stat -c %s "$work/two") / 2))
head -c $half "$work/two" >"$src/run.xray"
"$PROFILEFS" cat "$src/run.xray/tables/trace.csv" >"$work/half.trace"
ok "after a rewrite with fewer bytes the next open gives the shorter version" cmp "$p/tables/trace.csv" "$work/half.trace"
tail -c +$((half + 1)) "$work/two" >>"$src/run.xray"
ok "after growth the next open gives all of the file" serves two

fresh
serves one
truncate -s 40000 "$src/run.xray"
"$PROFILEFS" cat "$src/run.xray/tables/trace.csv" >"$work/cut.trace"
ok "after a truncation the next open gives what is left" cmp "$p/tables/trace.csv" "$work/cut.trace"
like "$(cat "$p/tables/warnings.csv")" ',fatal,' "after a truncation warnings.csv says that reading ended there"
: >"$src/run.xray"
kind_settles
ok "after a truncation to nothing the file is a plain empty file or has an error" \
    bash -c "[ -f '$p' -a ! -s '$p' ] || cat '$p/error.txt'"

echo "one line" >"$src/notes.txt"
stat "$mnt/notes.txt" >/dev/null
echo "and a second one" >>"$src/notes.txt"
ok "the next open of a plain file that has grown since its look-up gives all of it" \
    cmp "$src/notes.txt" "$mnt/notes.txt"
stat "$mnt/notes.txt" >/dev/null
echo "less" >"$src/notes.txt"
ok "the next open of a plain file that has been cut since its look-up gives what is left" cmp "$src/notes.txt" "$mnt/notes.txt"
rm "$src/notes.txt"

fresh
serves one
rm "$src/run.xray"
is "$(cat "$p/tables/values.csv" 2>&1 >/dev/null | sed 's/.*: //')" "No such file or directory" \
    "the next open of a file of a deleted profile fails"
is "$(ls "$mnt")" "" "the folder of a deleted profile does not list it"
ok "a deleted profile is not found by its name" bash -c "! ls '$p' '$src/run.xray'"
cp "$work/two" "$src/run.xray"
ok "a deleted profile that is back with other content is served at once" serves two

fresh
serves one
echo "just text now" >"$src/run.xray"
is "$(cat "$p")" "just text now" "a file that is no longer a profile is served unchanged"
cp "$work/one" "$src/run.xray"
kind_settles
ok "a file that is a profile again is served as one" serves one

fresh
cp "$work/two" "$src/second.xray"
is "$(ls "$mnt")" "$(printf 'run.xray\nruns\nsecond.xray')" "a second profile appears in its folder, and the two are runs"

# ---- a working directory inside

fresh
thread=$(first_thread "$p")
cd "$p/threads" && cd "$thread" || exit 1
old=$(cat values.csv)
generate "$work/three" --steps 77 --seed 3 --pid 100
cat "$work/three" >"$src/run.xray"
new=$("$PROFILEFS" cat "$src/run.xray/threads/$thread/values.csv")
ok "the two versions differ in values.csv of a thread" test "$old" != "$new"
is "$(cat values.csv)" "$new" "a shell inside a thread's folder reads the new content after a rewrite"
is "$(ls)" "$(printf '%s\n' durations.csv info.txt trace.csv values.csv)" \
    "a shell inside a thread's folder lists it after a rewrite"
cd "$p/metrics/time" || exit 1
cp "$work/one" "$src/new" && mv "$src/new" "$src/run.xray"
is "$(cat functions.csv)" "$("$PROFILEFS" cat "$work/one/metrics/time/functions.csv")" \
    "a shell inside a metric's folder reads the new content after a replacement"
root=$("$PROFILEFS" ls "$work/one/contexts" | head -n 1)
cd "$p/contexts" && cd "$root" || exit 1
is "$(pwd -P)/" "$p/.contexts/$root" "a shell enters a context's folder through the link"
cat values.csv >/dev/null
cat "$work/two" >"$src/run.xray"
is "$(cat values.csv)" "$("$PROFILEFS" cat "$work/two/contexts/$root/values.csv")" \
    "a shell inside a context's folder reads the new content after a rewrite"
ok "a shell inside a context's folder looks up the neighbours of .contexts after a rewrite" \
    test -d ../../.contexts -a -f ../../.export/profile.pb -a -L ../../contexts
is "$(cd -P ../../export && ls -A)" "$("$PROFILEFS" ls "$work/two/export" | sed 's|/$||' | sort)" \
    "a shell inside a context's folder lists another hidden folder after a rewrite"
cp "$work/one" "$src/new" && mv "$src/new" "$src/run.xray"
is "$(cat values.csv)" "$("$PROFILEFS" cat "$work/one/contexts/$root/values.csv")" \
    "a shell inside a context's folder reads the new content after a replacement"
rm "$src/run.xray"
ok "a shell inside a deleted profile gets errors, no hang" bash -c '! timeout 20 cat functions.csv'
cd "$work" || exit 1

# ---- open handles

cat >"$work/handle.py" <<'P'
"""Opens FILE, reads a piece, runs the shell command CHANGE, reads on. The bytes must be the OLD text or an
error; prints which."""
import errno, os, subprocess, sys
path, change, old = sys.argv[1], sys.argv[2], open(sys.argv[3], "rb").read()
fd = os.open(path, os.O_RDONLY)
have = os.read(fd, 10000)
subprocess.check_call(change, shell=True)
try:
    while True:
        piece = os.read(fd, 65536)
        if not piece:
            break
        have += piece
    print("old version" if have == old else "a mix: %d bytes, want %d" % (len(have), len(old)))
except OSError as e:
    told = errno.errorcode[e.errno]
    good = told in ("ESTALE", "EIO") and old.startswith(have)
    print("an error" if good else "%s after %d bytes" % (told, len(have)))
P
while_open() {
    fresh
    like "$(timeout 60 python3 "$work/handle.py" "$p/tables/trace.csv" "$2" "$work/one.trace")" \
        '^(old version|an error)$' "an open handle when the source is $1 gives old bytes or an error"
    ok "the mount is alive after an open handle was read while the source was $1" ls "$mnt"
}
while_open "rewritten" "cat '$work/two' >'$src/run.xray'"
while_open "truncated" "truncate -s 5000 '$src/run.xray'"
while_open "grown" "cat '$work/two' >>'$src/run.xray'"
while_open "deleted" "rm '$src/run.xray'"
while_open "replaced" "cp '$work/two' '$src/new'; mv '$src/new' '$src/run.xray'"
generate "$work/long.one" --steps 6000 --seed 1 --pid 100
generate "$work/longer" --steps 8000 --seed 2 --pid 200
head -c "$(stat -c %s "$work/long.one")" "$work/longer" >"$work/long.two"
expect "$work/long.one" tables/trace.csv >"$work/one.trace.long"
cp "$work/long.one" "$src/run.xray"
touch -r "$src/run.xray" "$work/reference"
like "$(timeout 60 python3 "$work/handle.py" "$p/tables/trace.csv" \
        "dd if='$work/long.two' of='$src/run.xray' conv=notrunc status=none; touch -r '$work/reference' '$src/run.xray'" \
        "$work/one.trace.long")" '^(old version|an error)$' \
    "an open handle when the source is rewritten at equal size and its time put back gives old bytes or an error"

# ---- under load: readers run while the source changes all the time

cat >"$work/watch.py" <<'P'
"""Reads FILE repeatedly for SECONDS; every whole read must be one of the given versions or an error. A read during one of the
writes that are listed in SLOW may be a mix."""
import os, sys, time
path, seconds, slow, texts = sys.argv[1], float(sys.argv[2]), sys.argv[3], {open(name, "rb").read() for name in sys.argv[4:]}
def overlaps_slow_write(start, end):
    with open(slow) as file:
        return any(float(begun) < end and start < float(ended) for begun, ended in map(str.split, file))
limit, good, errors, skipped = time.monotonic() + seconds, 0, 0, 0
while time.monotonic() < limit:
    start = time.monotonic()
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        errors += 1
        continue
    if text in texts:
        good += 1
        continue
    end = time.monotonic()
    time.sleep(1) # until the write has ended and is listed
    if not overlaps_slow_write(start, end):
        sys.exit("a mix of %d bytes after %d good reads" % (len(text), good))
    skipped += 1
print(good, "good reads,", errors, "errors,", skipped, "mixes during slow writes")
sys.exit(good == 0)
P
fresh
swapping() { # until $work/stop exists: killing it could leave a copy half written
    until [ -e "$work/stop" ]; do
        cp "$work/two" "$src/new" && mv "$src/new" "$src/run.xray"
        sleep 0.05
        cp "$work/one" "$src/new" && mv "$src/new" "$src/run.xray"
        sleep 0.05
    done
}
background swapping 2>/dev/null
swapper=$!
readers=()
for n in 1 2 3; do
    timeout 60 python3 "$work/watch.py" "$p/tables/trace.csv" 4 /dev/null "$work/one.trace" "$work/two.trace" >"$work/watch.$n" 2>&1 &
    readers+=($!)
done
for n in 1 2 3; do
    wait "${readers[n - 1]}"
    ok "reader $n of a file that is replaced all the time never gets a mix" \
        bash -c "cat '$work/watch.$n'; grep -q 'good reads, ' '$work/watch.$n'"
done
: >"$work/stop"
wait $swapper
cp "$work/two" "$src/new" && mv "$src/new" "$src/run.xray"
ok "when the changes end, the last version is served" serves two

# Rewritten in place at the same size, with the old mtime restored: only the ctime shows the change. A write sets the ctime at its
# beginning, and a file that has not changed for 20 ms is taken for complete. If the writer is preempted for longer in the middle of
# a write, a reader cannot know that the file is a mix.
cat >"$work/rewrite.py" <<'P'
"""Writes the bytes of the given files into FILE in turn, each in one call, forever; keeps FILE's mtime. Lists in SLOW the writes
that took more than 10 ms: monotonic times of beginning and end."""
import os, sys, time
path, versions = sys.argv[1], [open(name, "rb").read() for name in sys.argv[3:]]
before = os.stat(path)
fd = os.open(path, os.O_WRONLY)
with open(sys.argv[2], "a") as slow:
    while True:
        for bytes in versions:
            begun = time.monotonic()
            os.pwrite(fd, bytes, 0)
            os.utime(fd, ns=(before.st_atime_ns, before.st_mtime_ns))
            ended = time.monotonic()
            if ended - begun > 0.01:
                print(begun, ended, file=slow, flush=True)
            time.sleep(0.1)
P
fresh
: >"$work/slow"
background python3 "$work/rewrite.py" "$src/run.xray" "$work/slow" "$work/same-size" "$work/one"
rewriter=$!
readers=()
for n in 1 2 3; do
    timeout 120 python3 "$work/watch.py" "$p/tables/trace.csv" "${PROFILEFS_TEST_SECONDS:-10}" "$work/slow" \
        "$work/one.trace" "$work/same.trace" >"$work/watch.$n" 2>&1 &
    readers+=($!)
done
for n in 1 2 3; do
    wait "${readers[n - 1]}"
    ok "reader $n of a file that is rewritten in place with its time put back never gets a mix" \
        bash -c "cat '$work/watch.$n'; grep -q 'good reads, ' '$work/watch.$n'"
done
kill $rewriter; wait $rewriter 2>/dev/null

finish
