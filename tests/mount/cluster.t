#!/usr/bin/env bash
# An archive that is split in two halves, each mounted separately, is queried as one by Dask's distributed scheduler.
. "$(dirname "$0")/lib.sh"
needs_mount

dask=
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import pandas, distributed' 2>/dev/null; then dask=$python; fi
done
if [ -z "$dask" ]; then
    skip "two workers answer what one would" "python3-distributed is not installed"
    finish
fi

mkdir -p "$work/halves/1" "$work/halves/2" "$work/mounts/1" "$work/mounts/2"
cp -r "$archive/2026-03" "$work/halves/1"
cp -r "$archive"/afsim "$archive"/cube "$work/halves/2"
for half in 1 2; do
    "$PROFILEFS" "$work/halves/$half" "$work/mounts/$half" || exit 1
done
trap 'fusermount3 -u "$work/mounts/1"; fusermount3 -u "$work/mounts/2"; cleanup' EXIT

ask() { "$dask" "$here/cluster.py" "$work/mounts/1" "$work/mounts/2" >"$work/two"; } # the scheduler warns of slow machines on stderr
ok "two workers answer" ask
"$dask" - "$work/mounts"/*/.profilefs/tables/functions.csv >"$work/one" <<'END'
import csv, sys
total = {}
for path in sys.argv[1:]:
    for row in csv.DictReader(open(path, newline="")):
        if row["metric"] == "time" and row["unit"] == "ns" and row["exclusive"]:
            total[row["name"]] = total.get(row["name"], 0) + float(row["exclusive"])
for name, ns in sorted(total.items(), key=lambda item: (-item[1], item[0])):
    print("%s,%d" % (name, ns))
END
ok "functions of both halves are among the answer" test "$(wc -l <"$work/two")" -gt 10
is "$(cat "$work/two")" "$(cat "$work/one")" "two workers answer what one would"
finish
