#!/usr/bin/env bash
# Results of passes and probes are cached in one database; losing or corrupting it only costs time.
. "$(dirname "$0")/lib.sh"
needs_mount

generate "$src/big.xray" --steps 500 --threads 4
mount_source || exit 1
p=$mnt/big.xray
ls "$p/tables" >/dev/null
is "$(find "$XDG_CACHE_HOME" -type f 2>/dev/null | wc -l)" 0 "mounting and listing write nothing"
stat "$p/tables/trace.csv" >/dev/null
ok "the first stat of a file makes a pass" test "$(passes)" -ge 1
find -L "$p" -type f -exec cat {} + >"$work/text"
size=$(stat -c %s "$p/tables/trace.csv")
unmount

folder=$XDG_CACHE_HOME/profilefs db=$folder/profiles.db
is "$(find "$XDG_CACHE_HOME" -type f -size +0)" "$db" "there is one database in \$XDG_CACHE_HOME/profilefs"
is "$(stat -c %a "$db" "$folder" | tr '\n' ' ')" "600 700 " "only the owner can read the database"
mkdir "$work/kept"
cp "$db" "$work/kept"

mount_source
is "$(stat -c %s "$p/tables/trace.csv")" "$size" "a second mount knows a file's size from the database"
is "$(passes)" 0 "a second mount gives a known size without a pass"

same_text() { find -L "$p" -type f -exec cat {} + | cmp - "$work/text"; }
ok "the text of a second mount is the same" same_text

# with NAME COMMAND...: checks that a new mount serves the same text after the command has changed the database.
with() {
    local name=$1
    shift
    unmount
    rm -rf "$XDG_CACHE_HOME"
    mkdir -p "$folder"
    cp "$work/kept/profiles.db" "$db"
    "$@"
    mount_source
    ok "the text of a mount is the same with a database that is changed like this: $name" same_text
}
flip() { python3 -c '
import random, sys
data, rnd = bytearray(open(sys.argv[1], "rb").read()), random.Random(int(sys.argv[2]))
for _ in range(1 + int(sys.argv[2]) % 3):
    data[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)
open(sys.argv[1], "wb").write(data)' "$1" "$2"; }
length=$(stat -c %s "$work/kept/profiles.db")
with "empty" truncate -s 0 "$db"
with "cut in the middle" truncate -s $((length / 2)) "$db"
with "cut by one byte" truncate -s $((length - 1)) "$db"
with "with a tail of rubbish" bash -c "head -c 1000 /dev/urandom >>'$db'"
with "rubbish" bash -c "head -c $length /dev/urandom >'$db'"
with "a folder" bash -c "rm '$db'; mkdir '$db'"
with "a dangling link" ln -sf /nonexistent/file "$db"
for n in 1 2 3 4 5 6 7 8; do
    with "flipped bits ($n)" flip "$db" "$n"
done
with "unchanged" true
python3 -c '
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1]); db.execute("BEGIN IMMEDIATE"); print("locked", flush=True); time.sleep(60)' "$db" >"$work/locked" &
locker=$!
until [ -s "$work/locked" ]; do sleep 0.1; done
ok "while the database is locked, the text is the same" same_text
unmount
mount_source
ok "at a mount whose database is locked, the text is the same" same_text
kill $locker
wait $locker 2>/dev/null

# Two mounts use the cache at once.
mkdir "$work/mnt2"
"$PROFILEFS" "$src" "$work/mnt2"
both() {
    (find -L "$p" -type f -exec cat {} + | cmp - "$work/text") &
    (find -L "$work/mnt2/big.xray" -type f -exec cat {} + | cmp - "$work/text") &
    wait -n && wait -n
}
ok "two mounts may share the database" both
fusermount3 -u "$work/mnt2"

# Another profile takes the path of the cached one.
unmount
generate "$work/other" --steps 300
cat "$work/other" >"$src/big.xray"
rm -rf "$folder"
mkdir "$folder"
cp "$work"/kept/* "$folder"
mount_source
is "$(sha256sum <"$p/tables/trace.csv")" "$("$PROFILEFS" cat "$work/other/tables/trace.csv" | sha256sum)" \
    "cached results of an older version of a profile are not used"

unmount
like "$("$PROFILEFS" cache)" '^Entries: [1-9]' "profilefs cache shows the number of entries"
"$PROFILEFS" cache clear
like "$("$PROFILEFS" cache | tr '\n' ' ')" 'Entries: 0 ' "profilefs cache clear removes all entries"
"$PROFILEFS" -o "cache_dir=$work/other-cache" "$src" "$mnt"
cat "$p/info.txt" >/dev/null
unmount
ok "-o cache_dir= puts the database into that folder" test -s "$work/other-cache/profiles.db"
like "$("$PROFILEFS" cache | tr '\n' ' ')" 'Entries: 0 ' "with -o cache_dir= nothing is written to the usual database"
is "$("$PROFILEFS" -o cache_limit=lots "$src" "$mnt" 2>&1; echo $?)" "profilefs: cache_limit=lots: invalid size
2" "-o cache_limit= refuses a limit that is no size"

# Network, overlay and FUSE file systems get another device number each time they are mounted.
program=$(dirname "$PROFILEFS")/hanging # gives each file the same inode and times
other_device() {
    local devices=() turn source
    rm -rf "$XDG_CACHE_HOME"
    source=$work/other-device
    mkdir "$source"
    for turn in 1 2; do
        "$program" "$source" /nonexistent & # the second turn mounts over the first one and gets another device number
        until [ "$(grep -cF " $source " /proc/self/mounts)" = $turn ]; do sleep 0.05; done
        devices+=("$(stat -c %d "$source")")
        mount_source || return 1
        cat "$mnt/1.folded/tables/values.csv" >/dev/null || return 1
        passes >"$work/passes"
        unmount
    done
    echo "devices ${devices[*]}, $(cat "$work/passes") passes of the second mount"
    [ "${devices[0]}" != "${devices[1]}" ] && [ "$(cat "$work/passes")" = 0 ]
}
if [ -x "$program" ]; then
    ok "a second mount finds the texts of a source whose device number has changed" other_device
    while fusermount3 -uz "$work/other-device" 2>/dev/null; do :; done
else
    skip "a second mount of another device" "no $program"
fi

rm -rf "$XDG_CACHE_HOME"
: >"$XDG_CACHE_HOME"
mount_source
ok "where no cache can be written, everything is served" \
    cmp "$p/tables/trace.csv" <(XDG_CACHE_HOME=$work/elsewhere "$PROFILEFS" cat "$work/other/tables/trace.csv")
unmount
ok "where no cache can be written, unmounting works" bash -c "! mountpoint -q '$mnt'"
rm -f "$XDG_CACHE_HOME"

finish
