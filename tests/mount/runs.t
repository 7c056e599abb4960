#!/usr/bin/env bash
# runs/ has texts about all profiles of one folder, and about their changes from run to run.
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
is "$(ls "$mnt/one")" run1.folded "a folder of one profile has no runs/"
is "$(ls "$mnt/named")" experiment "a folder of one profile named experiment has no runs/"
is "$(cat "$mnt/taken/runs")" mine "a file named runs in SOURCE is shown instead of runs/"
is "$(ls "$r" | tr '\n' ' ')" "changes export info.txt overview primary " "runs/ has these entries"
is "$(tail -n +2 "$r/overview/profiles_summary.csv" | cut -d, -f1 | tr '\n' ' ')" \
    "run1.folded run2.folded run3.folded run9.folded run10.folded run11.folded " "runs are ordered as ls -v orders"
is "$(readlink "$r/primary/metric")" ../changes/samples "primary/metric leads to the metric that is primary in most"
is "$(grep ',solve$' "$r/primary/metric/function_changes.csv")" "100,150,50,50,100,125,150,25,6,run9.folded,solve" \
    "function_changes.csv has a function's first, last, change, share, min, mean, max, stddev, runs, and since when"
is "$(grep -c '"io, disk"$' "$r/primary/metric/function_values.csv")" 6 "function_values.csv has a function's value of each run"
like "$(cat "$r/primary/metric/context_changes.csv")" '^100,150,50,50,.*,main;solve$' \
    "context_changes.csv has the changes of call paths"
like "$(cat "$r/primary/metric/changes.txt")" '\+50 .* run9\.folded  solve$' \
    "changes.txt has the changes with the run of their beginning"
is "$(tail -n 2 "$r/primary/metric/changes.txt")" "$(printf '\ntotal: 105 to 155, +50 (+47.62%%)')" \
    "changes.txt ends with the total"
is "$(readlink "$r/export") $(ls -A "$r" | grep -c '^\.')" ".export 0" "export leads to a folder that is not listed"
is "$(find "$r" -name '*.svg' | wc -l) $(find -L "$r" -name '*.svg' | wc -l)" "0 1" \
    "a walk that follows no links meets no pictures of runs"
is "$(find -L "$r" -type f -exec stat -c %s {} + | awk '{ n += $1 } END { print n }')" "$(find -L "$r" -type f -exec cat {} + | wc -c)" \
    "the sizes of all files in runs/ are exact"
is "$("$PROFILEFS" cat "$src/nightly/runs/primary/metric/function_changes.csv")" "$(cat "$r/primary/metric/function_changes.csv")" \
    "cat gives the same text of runs/ without a mount"

printf 'main;solve 400\n' >"$src/nightly/run12.folded"
sleep 12
like "$(cat "$r/info.txt")" '^Runs: 7$' "a new profile is a run ten seconds later"

mkdir "$src/many"
(cd "$src/many" && for i in $(seq 4097); do echo "main;f $i" >"$i.folded"; done)
is "$(ls -A "$mnt/many/runs")" info.txt "the runs of more than 4,096 profiles are not compared"
like "$(cat "$mnt/many/runs/info.txt")" '^Runs: more than 4096$' "info.txt says that there are more than 4,096 runs"
is "$(stat -c %s "$mnt/many/runs/info.txt")" "$(wc -c <"$mnt/many/runs/info.txt")" \
    "the size of info.txt about more than 4,096 runs is exact"
is "$(cat "$mnt/many/runs/overview/profiles_summary.csv" 2>&1 | sed 's/.*: //')" "No such file or directory" \
    "runs/ of more than 4,096 profiles has no other files than info.txt"
is "$(find "$mnt/many" -maxdepth 1 -name runs)" "$mnt/many/runs" "runs/ of more than 4,096 profiles is listed"
rm "$src/many/1.folded"
sleep 11
like "$(cat "$mnt/many/runs/info.txt")" '^Runs: 4096$' "the runs of 4,096 profiles are compared"
unmount
mount_source -o no_runs || exit 1
is "$(ls "$mnt/nightly" | grep -c runs)" 0 "-o no_runs leaves runs/ out"
finish
