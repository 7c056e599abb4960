#!/usr/bin/env bash
# Pictures under export/: of every sample, well-formed, of exact size, and as a browser shows them.
. "$(dirname "$0")/lib.sh"

needs_mount
source=$archive mount_source || exit 1

cd "$mnt" || exit 1
behind export -name '*.svg' | sort >"$work/pictures"
ok "profiles have pictures ($(wc -l <"$work/pictures"))" test "$(wc -l <"$work/pictures")" -gt 50
ok "every metric has a flame graph" test "$(grep -c '/flame.svg$' "$work/pictures")" \
    -eq "$(find . -path '*/metrics/*' -name functions.csv | wc -l)"
ok "experiments show how they scale" grep -q '^cube/experiment/export/time/scaling.svg$' "$work/pictures"
ok "what has a time line shows it" grep -q '^spans/build.trace.json/export/timeline.svg$' "$work/pictures"

python3 - "$work/pictures" >"$work/found" <<'END'
import os, sys, xml.etree.ElementTree as tree
for path in open(sys.argv[1]).read().split("\n")[:-1]:
    size, data = os.stat(path).st_size, open(path, "rb").read()
    if size != len(data):
        print(path, "is", len(data), "bytes, not", size)
    if len(data) > 2_000_000:
        print(path, "is larger than 2 MB")
    if not tree.fromstring(data).tag.endswith("svg"):
        print(path, "is no picture")
END
is "$(cat "$work/found")" "" "all are well-formed, small, and as large as they say"

if command -v chromium >/dev/null; then
    cp 2026-03/*Ab12Cd/export/time/flame.svg "$work/flame.svg"
    timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" \
        --dump-dom "file://$work/flame.svg" >"$work/dom" 2>/dev/null
    like "$(cat "$work/dom")" 'cursor: pointer' "a browser runs the script of a flame graph"
else
    skip "a browser runs the script of a flame graph" "chromium is not installed"
fi
cd / || exit 1

finish
