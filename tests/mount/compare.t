#!/usr/bin/env bash
# `profilefs compare` reports what grew and what shrank, and can be the gate of a CI run.
. "$(dirname "$0")/lib.sh"

profilefs() { timeout 60 "$PROFILEFS" "$@"; }
status() { "$@" >"$work/stdout" 2>"$work/stderr"; echo $?; }
cd "$src" || exit 1
stacks() { printf 'main;%s\n' "${@:2}" >"$1.folded"; }
stacks before 'parse 40' 'solve 50' 'io 10'
stacks same 'parse 40' 'solve 50' 'io 10'
stacks after 'parse 20' 'solve 80' 'io 10' 'log 5' 'odd name, (int) 1'

profilefs compare before.folded after.folded >"$work/both"
like "$(cat "$work/both")" '^samples, by function: before.folded to after.folded, total 100 to 116$' \
    "the first line has the metric, the files and their totals"
is "$(awk '/^grew/,/^$/' "$work/both" | awk 'NR > 2 && NF { print $1, $2, $NF }')" "$(printf '%s\n' '+30 +60.00% solve' '+5 new log' '+1 new (int)')" \
    "functions that grew are listed, most first, and new ones without a share"
is "$(awk '/^shrank/,/^$/' "$work/both" | awk 'NR > 2 && NF { print $1, $2, $NF }')" '-20 -50.00% parse' \
    "functions that shrank are listed"
is "$(tail -n 1 "$work/both")" "total: 100 to 116, +16 (+16.00%)" "the last line has the totals"
is "$(status profilefs compare before.folded same.folded --fail 0)" 0 "where nothing changed, --fail 0 gives status 0"
like "$(cat "$work/stdout")" '^nothing grew$' "where nothing changed, the output says that nothing grew"

# ---- the gate

is "$(status profilefs compare before.folded after.folded --fail 10)" 4 \
    "if a function grew by more than --fail allows, the status is 4"
is "$(sed -n '/^grew by more/,$p' "$work/stdout" | tail -n +2 | sort | tr '\n' ' ')" "log solve " \
    "functions that grew by more than --fail allows are named, new ones among them"
is "$(status profilefs compare --fail 60 --min 5 before.folded after.folded)" 0 \
    "growth up to --fail is allowed, and functions below --min are left aside"
is "$(status profilefs compare --fail=10 --min=0 before.folded after.folded)" 4 "--min 0 leaves no function aside"
is "$(grep -c 'odd name' "$work/stdout")" 2 "names of functions may have blanks and commas"
is "$(status profilefs compare after.folded before.folded --fail 100)" 0 "--fail compares the last profile against the first"

# ---- several runs, contexts, metrics

for run in 1 2 3 4 5 6; do stacks "r$run" "f $((run < 4 ? 10 : 20))" 'g 5'; done
like "$(profilefs compare r1.folded r2.folded r3.folded r4.folded r5.folded r6.folded)" '^ +\+10 +\+100\.00% +10 +20  r4\.folded  f$' \
    "of several profiles, the first one with the new value is named"
like "$(profilefs compare --by contexts before.folded after.folded)" '  main;solve$' "--by contexts compares call paths"
is "$(status profilefs compare --metric samples before.folded after.folded)" 0 "--metric names the metric"
is "$(status profilefs compare --metric nope before.folded after.folded)" 1 "--metric with an unknown name: status 1"
like "$(cat "$work/stderr")" '^profilefs: before.folded: no metric nope; available: samples$' "an unknown metric is reported with the available ones"

# ---- formats

speedscope() {
    printf '{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"main"},{"name":"solve"}]},"profiles":['
    printf '{"type":"sampled","name":"p","unit":"%s","startValue":0,"endValue":%s,"samples":[[0,1],[0]],"weights":[%s,%s]}]}\n' "$1" $(($2 + $3)) $2 $3
}
speedscope microseconds 8000 2000 >clock.speedscope.json
speedscope bytes 8000 2000 >bytes.speedscope.json
printf '{"nodes":[{"id":1,"callFrame":{"functionName":"main","url":"","lineNumber":-1},"children":[2]},' >v8.cpuprofile
printf '{"id":2,"callFrame":{"functionName":"solve","url":"a.js","lineNumber":3}}],"startTime":0,"endTime":14000,' >>v8.cpuprofile
printf '"samples":[2,1,2],"timeDeltas":[0,12000,2000]}\n' >>v8.cpuprofile
perf() {
    for i in $(seq "$1"); do
        printf 'app  7 1.%06d:     %s cpu-clock:u: \n\t  1 solve (/bin/app)\n\t  2 main (/bin/app)\n\n' "$i" "$2"
    done
}
perf 3 4000000 >clock.perf.txt
is "$(status profilefs compare clock.speedscope.json v8.cpuprofile)" 0 "times of two formats are compared whatever they are called"
like "$(cat "$work/stdout")" ' solve$' "functions of two formats are matched by name"
is "$(status profilefs compare v8.cpuprofile clock.speedscope.json clock.perf.txt)" 0 "times of three formats are compared"
is "$(status profilefs compare clock.speedscope.json bytes.speedscope.json)" 1 "times and bytes are not compared"
like "$(cat "$work/stderr")" '^profilefs: bytes.speedscope.json: no metric [a-z]+ \(.+\); available: .*\(bytes\)' \
    "the message about a missing metric lists the available ones with their units"
is "$(status profilefs compare clock.speedscope.json bytes.speedscope.json --metric nope)" 1 \
    "--metric with an unknown name is not replaced by another metric"

# ---- paths that are not on disk

tar -cf runs.tar before.folded after.folded
is "$(profilefs compare runs.tar/before.folded runs.tar/after.folded/ | tail -n +2)" "$(tail -n +2 "$work/both")" "members of an archive are compared"
is "$(status profilefs compare runs.tar/before.folded runs.tar/absent.folded)" 1 "a missing member of an archive: status 1"
is "$(cat "$work/stderr")" "profilefs: runs.tar/absent.folded: no such profile" \
    "the message about a missing member of an archive names it"
if [ -w /dev/fuse ]; then
    mount_source || exit 1
    is "$(profilefs compare "$mnt/before.folded" "$mnt/after.folded" | tail -n +2)" "$(tail -n +2 "$work/both")" "profiles in a mount are compared"
    is "$(cd "$mnt" && profilefs compare ./before.folded/ "$src/after.folded" | tail -n +2)" "$(tail -n +2 "$work/both")" \
        "a profile in a mount, given by a relative path, is compared with one outside"
    is "$(profilefs compare "$mnt/runs.tar/before.folded" "$mnt/after.folded" | tail -n +2)" "$(tail -n +2 "$work/both")" \
        "members of an archive in a mount are compared"
    like "$(profilefs compare "$mnt/before.folded" "$mnt/after.folded")" "by function: $mnt/before.folded to $mnt/after.folded," \
        "profiles are named by the paths given on the command line"
    is "$(profilefs check "$mnt/before.folded" 2>&1)" "profilefs: checked: 1 profiles, problems in 0" \
        "check takes the path of a profile in a mount"
    is "$(profilefs index "$mnt/before.folded" 2>&1 | sed 's/ profiles.*//')" "profilefs: $mnt/before.folded: 1" \
        "index takes the path of a profile in a mount"
    unmount
    deep="$src/deep, e\\r"
    mkdir "$deep"; mv before.folded after.folded "$deep/"
    timeout 60 "$PROFILEFS" "$deep/after.folded" "$mnt" || exit 1
    is "$(profilefs compare "$deep/before.folded" "$mnt" | tail -n +2)" "$(tail -n +2 "$work/both")" \
        "the mount point of a single profile is compared as that profile"
    unmount
    mv "$deep"/* .; rmdir "$deep"
else
    skip "profiles in a mount" "no /dev/fuse"
fi

# ---- paths that cannot be compared

cp "$archive/2026-04/xray-log.heat.damaged" damaged.xray
is "$(status profilefs compare damaged.xray damaged.xray --fail 1)" 1 "a damaged profile: status 1"
like "$(cat "$work/stderr")" '^profilefs: damaged.xray: damaged' "the message about a damaged profile names the file"
echo words >notes.txt
is "$(status profilefs compare before.folded notes.txt)" 1 "a file that is no profile: status 1"
is "$(status profilefs compare before.folded absent)" 1 "a file that does not exist: status 1"
is "$(status profilefs compare before.folded)" 2 "one file only: status 2"
is "$(status profilefs compare before.folded same.folded --fail much)" 2 "--fail with a word: status 2"
is "$(status profilefs compare before.folded same.folded --by day)" 2 "--by with an unknown word: status 2"
finish
