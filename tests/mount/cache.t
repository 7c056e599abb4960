#!/usr/bin/env bash
# What passes found is kept in one cache file a profile; losing or corrupting it costs speed only.
. "$(dirname "$0")/lib.sh"
needs_mount

generate "$src/big.xray" --steps 4000 --threads 4
mount_source || exit 1
p=$mnt/big.xray
ls "$p/tables" >/dev/null
is "$(find "$XDG_CACHE_HOME" -type f 2>/dev/null | wc -l)" 0 "mounting and listing write no cache file"
stat "$p/tables/trace.csv" >/dev/null
ok "the first stat of a file makes a pass" test "$(passes)" -ge 1
find "$p" -type f -exec cat {} + >"$work/text"
size=$(stat -c %s "$p/tables/trace.csv")
unmount

is "$(find "$XDG_CACHE_HOME" -type f | wc -l)" 1 "a profile that was read has one cache file, and no temporary ones"
is "$(dirname "$(find "$XDG_CACHE_HOME" -type f)")" "$XDG_CACHE_HOME/profilefs" "in \$XDG_CACHE_HOME/profilefs"
cache=$(find "$XDG_CACHE_HOME" -type f)
is "$(stat -c %a "$cache" "$(dirname "$cache")" | tr '\n' ' ')" "600 700 " "only its owner can read it"
cp "$cache" "$work/kept"

mount_source
is "$(stat -c %s "$p/tables/trace.csv")" "$size" "a second mount knows the size from it"
is "$(passes)" 0 "without a pass"

same_text() { find "$p" -type f -exec cat {} + | cmp - "$work/text"; }
ok "the text of a second mount is the same" same_text

# with COMMAND: a mount whose cache file the command has changed serves the same
with() {
    local name=$1
    shift
    unmount
    rm -rf "$XDG_CACHE_HOME"
    mkdir -p "$(dirname "$cache")"
    cp "$work/kept" "$cache"
    "$@"
    mount_source
    ok "$name: the text is the same" same_text
}
length=$(stat -c %s "$work/kept")
with "an empty cache file" truncate -s 0 "$cache"
with "a cache file cut in the middle" truncate -s $((length / 2)) "$cache"
with "a cache file cut by one byte" truncate -s $((length - 1)) "$cache"
with "a cache file with a tail of rubbish" bash -c "head -c 1000 /dev/urandom >>'$cache'"
with "a cache file of rubbish" bash -c "head -c $length /dev/urandom >'$cache'"
with "a cache file that is a folder" bash -c "rm '$cache'; mkdir '$cache'"
with "a cache file that is a dangling link" ln -sf /nonexistent/file "$cache"
flip() { python3 -c '
import random, sys
data, rnd = bytearray(open(sys.argv[1], "rb").read()), random.Random(int(sys.argv[2]))
for _ in range(1 + int(sys.argv[2]) % 3):
    data[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)
open(sys.argv[1], "wb").write(data)' "$cache" "$1"; }
for n in 1 2 3 4 5 6; do
    with "a cache file with flipped bits ($n)" flip "$n"
done

# other profile, same cache name: the key holds what the text depends on
unmount
generate "$work/other" --steps 300
cat "$work/other" >"$src/big.xray"
cp "$work/kept" "$cache" 2>/dev/null || { rm -rf "$cache"; cp "$work/kept" "$cache"; }
mount_source
is "$(sha256sum <"$p/tables/trace.csv")" "$("$PROFILEFS" cat "$work/other/tables/trace.csv" | sha256sum)" \
    "a cache file of an older version of the source is not believed"

unmount
rm -rf "$XDG_CACHE_HOME"
: >"$XDG_CACHE_HOME"
mount_source
ok "where no cache can be written, everything is served" \
    cmp "$p/tables/trace.csv" <(XDG_CACHE_HOME=$work/elsewhere "$PROFILEFS" cat "$work/other/tables/trace.csv")
unmount
ok "and unmounting works" bash -c "! mountpoint -q '$mnt'"
rm -f "$XDG_CACHE_HOME"

finish
