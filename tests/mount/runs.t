#!/usr/bin/env bash
# runs/: texts about all profiles of one folder, and about their changes from run to run.
. "$(dirname "$0")/lib.sh"
needs_mount

mkdir "$src/nightly" "$src/one" "$src/taken" "$src/named"
for run in 1 2 3 9 10 11; do printf 'main;solve %s\nmain;io, disk 5\n' $((run < 9 ? 100 : 150)) >"$src/nightly/run$run.folded"; done
cp "$src/nightly/run1.folded" "$src/one/"
cp "$src/nightly/run1.folded" "$src/named/experiment"
cp "$src/nightly/run1.folded" "$src/taken/a.folded"
cp "$src/nightly/run2.folded" "$src/taken/b.folded"
echo mine >"$src/taken/runs"
mount_source || exit 1
r=$mnt/nightly/runs

is "$(ls "$mnt/nightly" | tail -n 1)" runs "a folder of several profiles has runs/"
is "$(ls "$mnt/one")" run1.folded "a folder of one has none"
is "$(ls "$mnt/named")" experiment "nor has one of one that is called as a profile made of a folder is"
is "$(cat "$mnt/taken/runs")" mine "a real entry of that name wins"
is "$(ls "$r" | tr '\n' ' ')" "changes export info.txt overview primary " "what stands in it"
is "$(tail -n +2 "$r/overview/profiles_summary.csv" | cut -d, -f1 | tr '\n' ' ')" \
    "run1.folded run2.folded run3.folded run9.folded run10.folded run11.folded " "runs are ordered as ls -v orders"
is "$(readlink "$r/primary/metric")" ../changes/samples "primary/metric leads to the metric that is primary in most"
is "$(grep ',solve$' "$r/primary/metric/function_changes.csv")" "100,150,50,50,100,125,150,25,6,run9.folded,solve" \
    "a function's first, last, change, share, min, mean, max, stddev, runs, and since when"
is "$(grep -c '"io, disk"$' "$r/primary/metric/function_values.csv")" 6 "the single values"
like "$(cat "$r/primary/metric/context_changes.csv")" '^100,150,50,50,.*,main;solve$' "call paths too"
like "$(cat "$r/primary/metric/changes.txt")" '\+50 .* run9\.folded  solve$' "and for eyes"
is "$(tail -n 2 "$r/primary/metric/changes.txt")" "$(printf '\ntotal: 105 to 155, +50 (+47.62%%)')" "which ends with the total"
is "$(readlink "$r/export") $(ls -A "$r" | grep -c '^\.')" ".export 0" "export leads to a folder that is not listed"
is "$(find "$r" -name '*.svg' | wc -l) $(find -L "$r" -name '*.svg' | wc -l)" "0 1" "so a walk that follows no links meets no pictures"
is "$(find -L "$r" -type f -exec stat -c %s {} + | awk '{ n += $1 } END { print n }')" "$(find -L "$r" -type f -exec cat {} + | wc -c)" "sizes are exact"
is "$("$PROFILEFS" cat "$src/nightly/runs/primary/metric/function_changes.csv")" "$(cat "$r/primary/metric/function_changes.csv")" "cat gives the same"

printf 'main;solve 400\n' >"$src/nightly/run12.folded"
sleep 12
like "$(cat "$r/info.txt")" '^Runs: 7$' "a new profile is a run ten seconds later"

mkdir "$src/many"
(cd "$src/many" && for i in $(seq 4097); do echo "main;f $i" >"$i.folded"; done)
is "$(ls -A "$mnt/many/runs")" info.txt "the runs of more than 4,096 profiles are not compared"
like "$(cat "$mnt/many/runs/info.txt")" '^Runs: more than 4096$' "and info.txt says so"
is "$(stat -c %s "$mnt/many/runs/info.txt")" "$(wc -c <"$mnt/many/runs/info.txt")" "its size is exact"
is "$(cat "$mnt/many/runs/overview/profiles_summary.csv" 2>&1 | sed 's/.*: //')" "No such file or directory" "there are no other files"
is "$(find "$mnt/many" -maxdepth 1 -name runs)" "$mnt/many/runs" "runs/ is listed"
rm "$src/many/1.folded"
sleep 11
like "$(cat "$mnt/many/runs/info.txt")" '^Runs: 4096$' "4,096 are compared"
unmount
mount_source -o no_runs || exit 1
is "$(ls "$mnt/nightly" | grep -c runs)" 0 "-o no_runs leaves it out"
finish
