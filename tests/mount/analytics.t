#!/usr/bin/env bash
# Analysis tools read the mounted files unchanged: DuckDB and pandas read every table without options, flamegraph.pl reads every
# file of collapsed stacks. (scripts/deps --test installs the tools.)
packages=${XDG_CACHE_HOME:-$HOME/.cache}/profilefs-tests
. "$(dirname "$0")/lib.sh"
needs_mount

cp -r "$archive"/. "$src"
# A profile whose functions have names that may confuse a reader of CSV or of stacks.
mkdir "$src/odd"
copy_sample "$src/odd/$heat"
python3 - "$archive/2026-03/heat.yaml" "$src/odd/heat.yaml" <<'END'
import itertools, re, sys
names = ["op,(a, \"b\")", "\"", "''", "a;b", " blank ", "NULL", "nan", "12", "#x", "loop 3", "é\\n|", "1e5", "true", "2026-11-21"]
given = {}
def renamed(match):
    name = given.setdefault(match[1], names[len(given) % len(names)])
    return "function-name: '%s'" % name.replace("'", "''")
text = open(sys.argv[1]).read()
open(sys.argv[2], "w").write(re.sub(r"function-name: ('(?:[^']|'')*'|[^,}]*[^,} ])", renamed, text))
END
mount_source || exit 1
ok "the odd names are served" grep -qE ',"op,\(a, ""b""\)",' "$mnt/odd/$heat/tables/contexts.csv"

# ---- tables

cd "$mnt" || exit 1
{ find . -name '*.csv' -printf '%P\n'; behind contexts -name '*.csv'; } >"$work/tables"

# tables READER PYTHON: checks that the reader, which runs in this Python, reads all tables; one check per folder.
tables() {
    local passed what problem seen=0
    while IFS=$'\t' read -r passed what problem; do
        ok "$1 reads $what" bash -c "echo ${problem@Q}; [ $passed = True ]"
        seen=$((seen + $(grep -oE '^[0-9]+' <<<"$what")))
    done < <("$2" "$here/analytics.py" "$1" "$work/tables" "$packages" 2>&1)
    is "$seen" "$(wc -l <"$work/tables")" "$1 reads all tables of the mount"
}

# pandas is installed for the system's Python, which need not be the first in PATH.
pandas=
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import pandas' 2>/dev/null; then pandas=$python; fi
done
if [ -n "$pandas" ]; then
    tables pandas "$pandas"
else
    skip "pandas reads every table" "pandas is not installed"
fi
if ! command -v node >/dev/null; then
    skip "DuckDB reads every table" "Node.js is not installed"
elif [ ! -d "$packages/node_modules/@duckdb/node-api" ]; then
    skip "DuckDB reads every table" "no @duckdb/node-api in $packages"
else
    tables duckdb python3
fi

# ---- stacks

# flamegraph FILE: flamegraph.pl accepts every line, and the picture's total is the sum of the values.
flamegraph() {
    local want have
    want=$(awk '{ sum += $NF } END { printf "%.0f", sum }' "$1")
    perl "$painter" "$1" >"$work/svg" 2>"$work/complaints" || { cat "$work/complaints"; return 1; }
    grep -i ignored "$work/complaints" && return 1
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$work/svg" || return
    have=$(grep -oE '>all \([0-9,]+ samples' "$work/svg" | tr -dc 0-9)
    echo "want: $want samples, have: $have"
    [ "$have" = "$want" ]
}

painter=$(command -v flamegraph.pl || echo /usr/share/perl5/Devel/NYTProf/flamegraph.pl)
if [ ! -f "$painter" ]; then
    skip "flamegraph.pl takes the stacks" "flamegraph.pl is not installed"
else
    empty=0
    while IFS= read -r stacks; do
        # flamegraph.pl rejects an empty picture.
        if [ -s "$stacks" ]; then ok "flamegraph.pl takes $stacks" flamegraph "$stacks"; else empty=$((empty + 1)); fi
    done < <(find . -name stacks.folded -printf '%P\n' | sort)
    ok "less than half of the stacks are empty ($empty)" test $((empty * 2)) -lt "$(find . -name stacks.folded | wc -l)"
fi

finish
