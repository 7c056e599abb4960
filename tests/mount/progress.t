#!/usr/bin/env bash
# status.txt reports the progress of each pass.
. "$(dirname "$0")/lib.sh"
needs_mount

# These files make passes so long that status.txt can be read while a pass is between 0 % and 100 %.
awk 'BEGIN { srand(1); for (i = 0; i < 800000; i++) printf "main;step_%d;%x %d\n", i % 97, rand() * 2^31, i + 1 }' >"$src/long.folded"
for folder in $(seq 60); do
    mkdir "$src/$folder"
    for file in $(seq 60); do echo "main;work $file" >"$src/$folder/$file.folded"; done
done
mount_source || exit 1

cat >"$work/watch.py" <<'P'
"""Polls status.txt until COMMAND has ended. OK if a pass of that title was seen at some point between 0 % and 100 %."""
import re, subprocess, sys
status, title = sys.argv[1:3]
process = subprocess.Popen(sys.argv[3:], stdout=subprocess.DEVNULL)
seen = []
while process.poll() is None:
    with open(status) as file:
        seen += [int(n) for n, what in re.findall(r"(\d+)% running, \d+ waiting: (.*)", file.read()) if what.startswith(title)]
process.wait()
print(f"{title}: seen {len(seen)} times, at {sorted(set(seen))}")
sys.exit(not any(0 < n < 100 for n in seen))
P
# watch TITLE FILE: a pass of that title runs during a stat of FILE and reports progress.
watch() {
    python3 "$work/watch.py" "$mnt/.profilefs/status.txt" "$1" stat "$mnt/$2"
}

ok "status.txt shows the progress of a pass over a model" watch "model of long" long.folded/tables/contexts.csv
ok "status.txt shows the progress of a pass over aggregates" watch "aggregates of long" long.folded/metrics/samples/threads.csv
cold
stat "$mnt/long.folded/metrics/samples/threads.csv" >/dev/null
ok "status.txt shows the progress of a pass over the size of a text" watch "sizes of long" long.folded/metrics/samples/contexts.csv
cold
ok "status.txt shows the progress of a pass over the list of profiles" watch "list of profiles" .profilefs/profiles.csv

finish
