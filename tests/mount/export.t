#!/usr/bin/env bash
# Files under export/ have exact sizes, and the tools that read their formats find the same totals in them.
. "$(dirname "$0")/lib.sh"

needs_mount
source=$archive mount_source || exit 1

cd "$mnt" || exit 1
behind export \( -name profile.pb -o -name trace.json \) | sort >"$work/exports"
find . -path '*/tables/metrics.csv' -printf '%P\n' >"$work/metrics"
python3 - "$work/metrics" >"$work/adding" <<'END'
import csv, sys
for path in open(sys.argv[1]).read().split("\n")[:-1]:
    with open(path) as file:
        if any(row["over_contexts"] in ("all", "frames") and row["over_partitions"] not in ("min", "max", "none")
               for row in csv.DictReader(file)):
            print(path.removesuffix("/tables/metrics.csv"))
END
is "$(sed -n 's|/export/profile.pb$||p' "$work/exports" | sort | diff - <(sort "$work/adding"))" "" \
    "every profile with a metric that adds up has export/profile.pb"
is "$(ls scaling/heat.txt/export | grep -c profile.pb) $(test -s scaling/heat.txt/export/profile.pb && echo there)" "0 there" \
    "an experiment, whose metrics do not add up, does not list its export/profile.pb"
is "$(sed -n 's|/export/trace.json$||p' "$work/exports")" \
    "$(find . -path '*/tables/trace.csv' -printf '%P\n' | sed 's|/tables/trace.csv$||' | sort)" \
    "every profile with a time line has export/trace.json"

python3 - "$work/exports" >"$work/found" <<'END'
import json, os, sys
for path in open(sys.argv[1]).read().split("\n")[:-1]:
    size, data = os.stat(path).st_size, open(path, "rb").read()
    if size != len(data):
        print(path, "is", len(data), "bytes, not", size)
    if path.endswith(".pb"):
        continue
    stacks, threads = {}, set()
    for event in json.loads(data)["traceEvents"]:
        stack = stacks.setdefault(event.get("tid"), [])
        if event["ph"] == "M":
            threads.add(event.get("tid"))
        elif event["tid"] not in threads:
            print(path, "has a thread without a name")
        if event["ph"] == "B":
            stack.append(event["ts"])
        elif event["ph"] == "E" and (not stack or stack.pop() > event["ts"]):
            print(path, "ends what has not begun, at", event["ts"])
    if len(threads) < 2:
        print(path, "has no threads")
END
is "$(cat "$work/found")" "" "exported files have their exact sizes, and calls in trace.json end in the order in which they began"

# profilefs reads its own exported files.
mkdir "$work/again"
cp stacks/heat.pb.gz/export/profile.pb "$work/again/heat.pb"
cp stacks/heat.perf.txt/export/profile.pb "$work/again/perf.pb"
cp spans/build.trace.json/export/trace.json "$work/again/build.json"
again() { "$PROFILEFS" cat "$work/again/$1/$2"; }
is "$(again heat.pb metrics/cpu/functions.csv | cut -d, -f 1-8)" \
    "$(cut -d, -f 1-8 stacks/heat.pb.gz/metrics/cpu/functions.csv)" "a profile for pprof has the same functions"
is "$(again perf.pb metrics/samples/stacks.folded | sort)" "$(sort stacks/heat.perf.txt/metrics/samples/stacks.folded)" \
    "a profile for pprof has the same stacks"
durations() { awk -F, 'NR > 1 && $3 != "" { print $3, $4 }'; }
is "$(again build.json tables/trace.csv | durations)" "$(durations <spans/build.trace.json/tables/trace.csv)" \
    "trace events have the same durations"

# saturated FOLDED: prints info.txt's line about values beyond 64 bits.
saturated() { printf "$1" >"$work/again/a.folded"; again a.folded metrics/samples/info.txt | grep Saturated; }
is "$(saturated 'a 9223372036854775808\nb 99999999999999999999\nc 5\n')" "Saturated: 2" "info.txt counts values beyond 64 bits"
is "$(saturated 'a 9223372036854775807\na 1\nc 5\n')" "Saturated: 1" "info.txt counts sums beyond 64 bits"
is "$(saturated 'a 9223372036854775807\nc 5\n')" "" "info.txt has no line Saturated if no value exceeds 64 bits"
is "$(saturated 'a 99999999999999.5\nc 5\n')" "Saturated: 1" "info.txt counts fractions beyond 64 bits"
# A pprof profile with one sample type, and a sample for each pair of arguments: location and value.
python3 - "$work/again/sums.pb" 1 $((2 ** 63 - 1)) 1 1 2 $((-2 ** 63)) 2 -1 3 7 <<'END'
import sys
def varint(n):
    n, out = n % 2 ** 64, bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))
def number(field, n): return varint(field << 3) + varint(n)
def content(field, data): return varint(field << 3 | 2) + varint(len(data)) + data
data = content(1, number(1, 1) + number(2, 2)) + b"".join(content(6, s) for s in (b"", b"cpu", b"ns", b"f1", b"f2", b"f3"))
for i in 1, 2, 3:
    data += content(5, number(1, i) + number(2, 2 + i)) + content(4, number(1, i) + content(4, number(1, i)))
pairs = list(map(int, sys.argv[2:]))
for i, value in zip(pairs[::2], pairs[1::2]):
    data += content(2, number(1, i) + number(2, value))
open(sys.argv[1], "wb").write(data)
END
is "$(again sums.pb metrics/cpu/info.txt | grep Saturated)" "Saturated: 2" "info.txt counts values below the least of 64 bits"
again sums.pb export/profile.pb >"$work/again/clamped.pb"
is "$(again clamped.pb tables/values.csv | cut -d, -f 4,5)" "$(printf '%s\n' value,name $((2 ** 63 - 1)),f1 $((-2 ** 63)),f2 7,f3)" \
    "export/profile.pb has the nearest 64-bit values of sums that exceed 64 bits"

if command -v go >/dev/null; then
    export PPROF_TMPDIR=$work
    top() { go tool pprof -top -symbolize=none -nodecount=0 -nodefraction=0 -edgefraction=0 -sample_index="$2" -unit=ns "$1" 2>/dev/null | sed '1,/flat%/d'; }
    is "$(top stacks/heat.pb.gz/export/profile.pb cpu)" "$(top "$archive/stacks/heat.pb.gz" cpu)" \
        "pprof shows the same for a profile and for its export"
    cp 2026-03/*Ab12Cd/export/profile.pb "$work/xray.pb"
    is "$(top "$work/xray.pb" time | awk '{ sum += $1 } END { printf "%d\n", sum }')" \
        "$(awk '{ sum += $NF } END { printf "%d\n", sum }' 2026-03/*Ab12Cd/metrics/time/stacks.folded)" \
        "pprof adds up times of another format to the same"
else
    skip "pprof shows the same for a profile and for its export" "go is not installed: scripts/deps --peers"
    skip "pprof adds up times of another format to the same" "go is not installed: scripts/deps --peers"
fi
cd / || exit 1

finish
