#!/usr/bin/env bash
# The tables in .profilefs/tables cover all profiles: a row for each one, the functions of its primary metric, and its warnings.
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
    "format,mtime,partitions,contexts,metric,unit,total,top_percent,warnings,worst,top,path,message" "summary.csv has these columns"
is "$(head -n 1 "$t/functions.csv")" "format,metric,unit,exclusive,inclusive,exclusive_percent,name,path" \
    "functions.csv has these columns"
is "$(head -n 1 "$t/warnings.csv")" "line,offset,severity,code,path,text" "warnings.csv has these columns"
is "$(stat -c %s "$t/functions.csv")" "$(wc -c <"$t/functions.csv")" "the size of functions.csv is exact"

rows() {
    python3 - "$t/$1" <<'P'
import csv, sys
for r in csv.DictReader(open(sys.argv[1])):
    print({k: v for k, v in r.items() if k != "mtime"} if "mtime" in r else r)
P
}
is "$(rows summary.csv | grep -c "'path'")" "$(tail -n +2 "$mnt/.profilefs/profiles.csv" | wc -l)" "summary.csv has a row for each profile"
like "$(rows summary.csv)" "'partitions': '1', 'contexts': '3', 'metric': 'samples', 'unit': '', 'total': '4', 'top_percent': '75', 'warnings': '0', 'worst': '', 'top': 'f', 'path': 'sub/a b.folded', 'message': ''" \
    "a row of summary.csv has the primary metric, its total, and the function that holds the most"
like "$(rows summary.csv | grep bad.xray)" "'worst': 'fatal'" "summary.csv has the most severe of a profile's warnings"
is "$(awk -F, -v OFS=, 'NR > 1 { print $3, $4, $5, $8, $9 }' "$mnt/$heat/primary/metric/functions.csv" | head -n 3 | wc -l)" 3 \
    "the sample has at least three functions"
is "$(rows functions.csv | grep -c "'path': '$heat'")" "$(tail -n +2 "$mnt/$heat/primary/metric/functions.csv" | wc -l)" \
    "functions.csv has all rows of each profile's primary metric"
like "$(rows functions.csv)" "'exclusive': '1', 'inclusive': '1', 'exclusive_percent': '25', 'name': 'g,h', 'path': 'sub/a b.folded'" \
    "functions.csv has a profile's values and names unchanged"
is "$(rows warnings.csv | grep -c bad.xray)" "$(tail -n +2 "$mnt/sub/bad.xray/tables/warnings.csv" | wc -l)" "warnings.csv has all rows of each profile's"
is "$(stat -c %a "$t" "$t/summary.csv" | tr '\n' ' ')" "500 400 " "only the mounter may read them, because other users may not read every profile"

# ---- a snapshot

exec 3<"$t/summary.csv"
printf 'main;new 9\n' >"$src/sub/new.folded"
is "$(grep -c new.folded <&3)" 0 "a handle keeps its snapshot"
exec 3<&-
sleep 11
is "$(grep -c new.folded "$t/summary.csv")" 1 "a new profile is listed ten seconds later"
inode=$(stat -c %i "$t/summary.csv")
sleep 11
is "$(stat -c %i "$t/summary.csv")" "$inode" "without a change the tables are not made again"
is "$("$PROFILEFS" cat "$src/.profilefs/tables/functions.csv")" "$(cat "$t/functions.csv")" \
    "cat gives the same functions.csv without a mount"

# ---- cached

unmount
rm -rf "$XDG_CACHE_HOME"
mount_source || exit 1
cat "$t/functions.csv" >"$work/cold"
unmount
mount_source || exit 1
is "$(cat "$t/functions.csv")" "$(cat "$work/cold")" "a second mount serves the same"
is "$(passes)" 0 "a second mount serves the tables without a pass over a profile"
printf 'main;f 5\nmain;newer 1\n' >"$src/sub/a b.folded"
unmount
mount_source || exit 1
is "$(grep -c 'newer,sub/a b.folded$' "$t/functions.csv")/$(passes)" 1/4 \
    "a second mount needs four passes over a profile that has changed: three stages and the aggregates"
unmount
rm -rf "$XDG_CACHE_HOME"
"$PROFILEFS" index "$src" >"$work/index" 2>&1
mount_source || exit 1
is "$(grep -c 'newer,sub/a b.folded$' "$t/functions.csv")/$(passes)" 1/0 "after index, the first mount needs no pass"

# ---- units: times are in ns, whatever the profile's unit is

unmount
mkdir "$src/units"
# For each unit, there are two pprof profiles with one sample each. A Cube file has values that are doubles in seconds.
python3 - "$src/units" <<'P'
import sys
UNITS = "ns nsec nanosecond nanoseconds us usec \u00b5s \u03bcs microseconds ms msec milliseconds s sec secs second seconds min h bytes ticks".split()
def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])
def field(number, value):
    return varint(number << 3) + varint(value) if isinstance(value, int) else varint(number << 3 | 2) + varint(len(value)) + value
for i, unit in enumerate(UNITS):
    for value in (7, 2**62):
        profile = field(1, field(1, 1) + field(2, 2)) + field(2, field(1, b"\x01") + field(2, varint(value)))
        profile += field(4, field(1, 1) + field(4, field(1, 1))) + field(5, field(1, 1) + field(2, 3))
        for text in ("", "cpu", unit, "main"):
            profile += field(6, text.encode())
        open("%s/%02d.%d.pb" % (sys.argv[1], i, value != 7), "wb").write(profile)
P
cp "$(find "$archive" -name '*.cubex' | head -n 1)" "$src/units/"
mount_source || exit 1
cat >"$work/units.py" <<'P'
"""Compares tables about all profiles, and profiles_summary.csv of a folder, with the profiles' own tables; prints the differences."""
import csv, os, sys
from fractions import Fraction
mount, folder = sys.argv[1:]
NS = {"ns": 1, "nsec": 1, "nanosecond": 1, "nanoseconds": 1, "us": 10**3, "usec": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3,
      "microseconds": 10**3, "ms": 10**6, "msec": 10**6, "milliseconds": 10**6, "s": 10**9, "sec": 10**9, "secs": 10**9,
      "second": 10**9, "seconds": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
def rows(*path):
    return list(csv.DictReader(open(os.path.join(mount, *path), newline="")))
def times(cell, unit, real):
    if not cell or real:
        return cell and repr(float(cell) * NS.get(unit, 1))
    return str(int(cell) * NS.get(unit, 1))
seen = set()
functions = rows(".profilefs/tables/functions.csv")
summaries = [(r["path"], r) for r in rows(".profilefs/tables/summary.csv")]
summaries += [(folder + "/" + r["run"], r) for r in rows(folder, "runs/overview/profiles_summary.csv")]
for path, summary in summaries:
    if not summary["metric"]:
        continue
    metric = next(m for m in rows(path, "tables/metrics.csv") if m["name"] == summary["metric"])
    unit, real = metric["unit"], metric["type"] == "double"
    wanted = "ns" if unit in NS else unit
    seen.add(unit)
    if summary["unit"] != wanted:
        print(path, "unit", summary["unit"], "want", wanted)
    if not real:
        total = sum(int(r["exclusive"]) for r in rows(path, "primary/metric/functions.csv") if r["exclusive"]) * NS.get(unit, 1)
        if summary["total"] != str(total):
            print(path, "total", summary["total"], "want", total)
    want = [(wanted, times(r["exclusive"], unit, real), times(r["inclusive"], unit, real), r["exclusive_percent"], r["name"])
            for r in rows(path, "primary/metric/functions.csv")]
    have = [(r["unit"], *(r[c] and repr(float(r[c])) if real else r[c] for c in ("exclusive", "inclusive")), r["exclusive_percent"], r["name"])
            for r in functions if r["path"] == path]
    if want != have:
        print(path, next((w, h) for w, h in zip(want + [None], have + [None]) if w != h))
missing = set(NS) - seen
print("seen:", "all units" if not missing else missing)
P
is "$(python3 "$work/units.py" "$mnt" units)" "seen: all units" "tables that span profiles have times in ns, exactly, and other units as they are"
like "$(cat "$t/functions.csv")" '^pprof,cpu,ns,16602069666338596454400000000000,16602069666338596454400000000000,100,main,units/18\.1\.pb$' \
    "times in ns that exceed 64 bits are exact"
finish
