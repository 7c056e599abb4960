#!/usr/bin/env bash
# .profilefs/tables holds all profiles: a row each, their primary metrics' functions, their warnings.
. "$(dirname "$0")/lib.sh"
needs_mount

copy_sample
mkdir "$src/sub"
printf 'main;f 3\nmain;g,h 1\n' >"$src/sub/a b.folded"
cp "$archive/2026-04/xray-log.heat.damaged" "$src/sub/bad.xray"
head -c 30 "$src/$heat" >"$src/sub/cut.xray"
echo text >"$src/notes.txt"
mount_source || exit 1
t=$mnt/.profilefs/tables

is "$(ls "$t" | tr '\n' ' ')" "functions.csv summary.csv warnings.csv " "tables/ holds three tables"
is "$(head -n 1 "$t/summary.csv")" \
    "format,mtime,partitions,contexts,metric,unit,total,top_percent,warnings,worst,top,path,message" "columns of summary.csv"
is "$(head -n 1 "$t/functions.csv")" "format,metric,unit,exclusive,inclusive,exclusive_percent,name,path" "columns of functions.csv"
is "$(head -n 1 "$t/warnings.csv")" "line,offset,severity,code,path,text" "columns of warnings.csv"
is "$(stat -c %s "$t/functions.csv")" "$(wc -c <"$t/functions.csv")" "sizes are exact"

rows() {
    python3 - "$t/$1" <<'P'
import csv, sys
for r in csv.DictReader(open(sys.argv[1])):
    print({k: v for k, v in r.items() if k != "mtime"} if "mtime" in r else r)
P
}
is "$(rows summary.csv | grep -c "'path'")" "$(tail -n +2 "$mnt/.profilefs/profiles.csv" | wc -l)" "summary.csv has a row for each profile"
like "$(rows summary.csv)" "'partitions': '1', 'contexts': '3', 'metric': 'samples', 'unit': '', 'total': '4', 'top_percent': '75', 'warnings': '0', 'worst': '', 'top': 'f', 'path': 'sub/a b.folded', 'message': ''" \
    "with its primary metric, that one's total, and the function that holds the most"
like "$(rows summary.csv | grep bad.xray)" "'worst': 'fatal'" "the worst of its warnings is told"
is "$(awk -F, -v OFS=, 'NR > 1 { print $3, $4, $5, $8, $9 }' "$mnt/$heat/primary/metric/functions.csv" | head -n 3 | wc -l)" 3 "a profile has functions"
is "$(rows functions.csv | grep -c "'path': '$heat'")" "$(tail -n +2 "$mnt/$heat/primary/metric/functions.csv" | wc -l)" \
    "functions.csv has all rows of each profile's primary metric"
like "$(rows functions.csv)" "'exclusive': '1', 'inclusive': '1', 'exclusive_percent': '25', 'name': 'g,h', 'path': 'sub/a b.folded'" "as they stand there"
is "$(rows warnings.csv | grep -c bad.xray)" "$(tail -n +2 "$mnt/sub/bad.xray/tables/warnings.csv" | wc -l)" "warnings.csv has all rows of each profile's"
is "$(stat -c %a "$t" "$t/summary.csv" | tr '\n' ' ')" "500 400 " "they are for whom has mounted them alone: not everybody may read every profile"

# ---- a snapshot

exec 3<"$t/summary.csv"
printf 'main;new 9\n' >"$src/sub/new.folded"
is "$(grep -c new.folded <&3)" 0 "a handle keeps its snapshot"
exec 3<&-
sleep 11
is "$(grep -c new.folded "$t/summary.csv")" 1 "what is new is there ten seconds later"
inode=$(stat -c %i "$t/summary.csv")
sleep 11
is "$(stat -c %i "$t/summary.csv")" "$inode" "where nothing has changed nothing is made anew"
is "$("$PROFILEFS" cat "$src/.profilefs/tables/functions.csv")" "$(cat "$t/functions.csv")" "cat gives the same without a mount"

# ---- what is kept

unmount
rm -rf "$XDG_CACHE_HOME"
mount_source || exit 1
cat "$t/functions.csv" >"$work/cold"
unmount
mount_source || exit 1
is "$(cat "$t/functions.csv")" "$(cat "$work/cold")" "a second mount serves the same"
is "$(passes)" 0 "without a pass over a profile"
printf 'main;f 5\nmain;newer 1\n' >"$src/sub/a b.folded"
unmount
mount_source || exit 1
is "$(grep -c 'newer,sub/a b.folded$' "$t/functions.csv")/$(passes)" 1/1 "but for what has changed"
unmount
rm -rf "$XDG_CACHE_HOME"
"$PROFILEFS" index "$src" >"$work/index" 2>&1
mount_source || exit 1
is "$(grep -c 'newer,sub/a b.folded$' "$t/functions.csv")/$(passes)" 1/0 "after index, the first mount needs none"
finish
