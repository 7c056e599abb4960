#!/usr/bin/env bash
# Hundreds of thousands of nested calls cause no quadratic text, no unbounded recursion and no long waits.
. "$(dirname "$0")/lib.sh"
needs_mount

depth=300000
generate "$src/deep.xray" --nest $depth
mount_source || exit 1
p=$mnt/deep.xray

# within SECONDS NAME COMMAND...: the command ends within this time, chosen long enough for a busy machine.
within() {
    local seconds=$1 name=$2
    shift 2
    ok "$name" timeout "$seconds" "$@"
}
within 120 "stat of contexts.csv ends in time" stat "$p/tables/contexts.csv"
is "$(wc -l <"$p/tables/contexts.csv")" $((depth + 1)) "contexts.csv has a row for each context"
is "$(tail -n 1 "$p/tables/contexts.csv" | cut -d, -f3)" $((depth - 1)) "contexts.csv shows the depth of the deepest context"
ok "contexts.csv grows linearly: dir is empty beyond 4095 bytes" \
    test "$(stat -c %s "$p/tables/contexts.csv")" -lt $((depth * 60 + 4096 * 4096))
is "$(awk -F, 'NR > 1 && length($9) > 4095' "$p/tables/contexts.csv" | wc -l)" 0 "no dir is longer than 4095 bytes"
within 120 "tree.txt can be read" cat "$p/metrics/time/tree.txt"
ok "tree.txt does not indent without end" test "$(stat -c %s "$p/metrics/time/tree.txt")" -lt $((depth * 250))
within 200 "stacks.folded has a size" stat "$p/metrics/time/stacks.folded"
ok "stacks.folded grows linearly" test "$(stat -c %s "$p/metrics/time/stacks.folded")" -lt $((depth * 5000))
ok "a folded stack keeps 512 frames at each end" \
    test "$(timeout 120 tail -n 1 "$p/metrics/time/stacks.folded" | tr -cd ';' | wc -c)" -le 1030
is "$(awk -F, 'NR > 1 { print $2, $3 }' "$p/metrics/calls/functions.csv" | sort | tr '\n' ' ')" \
    "$((depth / 2)) $((depth / 2)) $((depth / 2)) $((depth / 2)) " "the flat profile counts both functions"

within 120 "find down to depth 300 ends" bash -c "[ \$(find '$p/contexts/' -maxdepth 300 -type d | wc -l) = 301 ]"
down() {
    python3 - "$p/contexts" 3000 <<'P'
"""Walks down N levels by file descriptors, beyond PATH_MAX, and reads a file there."""
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for level in range(int(sys.argv[2])):
    names = [n for n in os.listdir(fd) if not n.endswith((".csv", ".txt"))]
    below = os.open(names[0], os.O_RDONLY, dir_fd=fd)
    os.close(fd)
    fd = below
text = os.read(os.open("info.txt", os.O_RDONLY, dir_fd=fd), 4096)
sys.exit(not text)
P
}
ok "3000 levels down, far beyond PATH_MAX, files can be read" down
within 120 "after a walk 3000 levels down the mount still serves" ls "$p/metrics"

rss=$(awk '/VmHWM/ { print int($2 / 1024) }' "/proc/$(server)/status")
ok "memory stays in proportion to the contexts ($rss MB)" test "${rss:-9999}" -lt 1000

finish
