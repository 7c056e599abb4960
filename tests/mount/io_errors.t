#!/usr/bin/env bash
# File calls may fail for reasons unrelated to the file. The answer is then complete or an error, and no error is cached.
. "$(dirname "$0")/lib.sh"

library=$(dirname "$PROFILEFS")/fail_io.so
[ -e "$library" ] || skip_all "no $library (built for the plain program only)"
library=$(realpath "$library")
runs=${PROFILEFS_RUNS:-6} # number of failing calls tried per command

# ---- commands

# run NUMBER COUNT CODE ARGS...: runs the program with COUNT calls failing from call NUMBER on. Its output goes to $work/out, and
# its exit status is returned.
run() {
    local at=$1 fails=$2 code=$3
    shift 3
    timeout 60 env FAIL_AT="$at" FAIL_COUNT="$fails" FAIL_CODE="$code" FAIL_BELOW="$src" COUNT_TO="$work/count" \
        LD_PRELOAD="$library" "$PROFILEFS" "$@" >"$work/out" 2>"$work/err"
}

# holds CODE ARGS...: whichever call fails, the command ends with its answer or an error message; the next command has the answer.
holds() {
    local code=$1 want all number count status more=1000000
    shift
    case $code in 23 | 24) more= ;; esac # one failure only: the program waits up to 20 s for a free descriptor
    rm -rf "$XDG_CACHE_HOME"
    run 0 0 0 "$@"
    want=$?
    all=$(cat "$work/count")
    cp "$work/out" "$work/whole"
    [ "$all" -gt 10 ] || { echo "only $all calls"; return 1; }
    for number in $(seq 1 $((all / runs + 1)) "$all") "$all"; do
        for count in 1 $more; do # one call fails, or all calls from this one on
            rm -rf "$XDG_CACHE_HOME"
            run "$number" "$count" "$code" "$@"
            status=$?
            if ! { [ $status = "$want" ] && cmp -s "$work/out" "$work/whole"; } && { [ $status -gt 3 ] || ! [ -s "$work/err" ]; }; then
                echo "call $number of $all ($count from there on) fails: status $status, another answer, no message"
                return 1
            fi
            run 0 0 0 "$@"
            status=$?
            [ $status = "$want" ] && cmp -s "$work/out" "$work/whole" && continue
            echo "call $number of $all ($count from there on) failed: status $status, the next command has another answer"
            return 1
        done
    done
}

cp -r "$archive/." "$src"
(cd "$src" && tar czf packed.tar.gz nightly && tar cf plain.tar stacks && zip -qr files.zip afsim)
sleep 0.1 # until files are old enough to be told apart by their times
while read -r command path; do
    ok "whichever file call fails, $command ends with its answer or an error: $path" holds 5 "$command" "$src/$path"
done <<'LIST'
cat 2026-03/xray-log.heat.Ab12Cd/metrics/time/functions.csv
cat afsim/coast.afperf/tables/measurements.csv
cat cube/heat.p4.r1/profile.cubex/tables/values.csv
cat cube/experiment/tables/values.csv
cat gpu/heat.sqlite/tables/kernels.csv
cat gpu/sizes/experiment/tables/values.csv
cat hpc/solver-2019/tables/values.csv
cat hpc/solver-2019/tables/trace.csv
cat hpc/solver-2021/tables/trace.csv
cat hpc/solver-2023/metrics/CPUTIME (sec) (I)/contexts.csv
cat perun/lookup.perf/tables/models.csv
cat scaling/heat.jsonl/tables/values.csv
cat scaling/heat.extra-p/tables/values.csv
cat stacks/heat.pb.gz/tables/values.csv
cat stacks/heat.perf.txt/tables/values.csv
cat spans/heat.speedscope.json/tables/values.csv
cat spans/page.cpuprofile/tables/values.csv
cat spans/server.trace.json.gz/tables/values.csv
cat valgrind/callgrind.out.4711/tables/values.csv
cat valgrind/massif.out.4713/tables/values.csv
cat otf2/tables/values.csv
cat nightly/runs/overview/profiles_summary.csv
cat nightly/runs/changes/samples/function_values.csv
cat packed.tar.gz/nightly/2026-05-02.folded/tables/values.csv
cat plain.tar/stacks/heat.pb.gz/tables/values.csv
cat files.zip/afsim/coast.afperf/tables/values.csv
check 2026-04/xray-log.heat.damaged
check hpc/solver-2021
check nightly
tree otf2
LIST
# Other errno values that say nothing about the file, for example of missing descriptors, a lost server or a lost device.
for code in 24 23 12 116 110 19 103 4; do
    ok "errno $code while a log's map is looked for gives the answer or an error" holds "$code" cat "$src/2026-03/$heat/metrics/time/functions.csv"
done

# ---- a mount

needs_mount
rm -rf "${src:?}"/*
cp "$archive"/nightly/*-0[1-4].folded "$src"
sleep 0.1

# faulty_mount NAME [VARIABLE=VALUE...]: mounts. The server's calls for files with this name fail between two calls of toggle.
faulty_mount() {
    unmount
    rm -rf "$XDG_CACHE_HOME"
    env FAIL_AT=1 FAIL_COUNT=1000000000 FAIL_BELOW="$src" FAIL_SWITCH=1 FAIL_NAME="$@" LD_PRELOAD="$library" \
        timeout 60 "$PROFILEFS" "$src" "$mnt"
}
toggle() { kill -USR2 "$(server)"; }

one=2026-05-02.folded
texts="$one/tables/values.csv .profilefs/profiles.csv .profilefs/tables/summary.csv .profilefs/tables/functions.csv
runs/overview/profiles_summary.csv runs/changes/samples/function_values.csv"
mount_source || exit 1
for text in $texts; do
    mkdir -p "$(dirname "$work/want/$text")"
    cp "$mnt/$text" "$work/want/$text" || exit 1
done

# whole_or_not TEXT: reading fails, or the text is the same as without faults, or a row in it gives the reason.
whole_or_not() {
    cat "$mnt/$1" >"$work/out" 2>"$work/err" || return 0
    cmp -s "$work/out" "$work/want/$1" || grep -qE 'error|timed out|Stale' "$work/out"
}
# again TEXT: the text is complete after some seconds at most.
again() {
    local try
    for try in $(seq 75); do
        cmp -s "$mnt/$1" "$work/want/$1" && return 0
        sleep 0.2
    done
    diff "$mnt/$1" "$work/want/$1"
}

# Pairs of failing calls and errno: reads fail with EIO (5), opens with ETIMEDOUT (110), stats with ESTALE (116).
for fault in r:5 o:110 s:116; do
    calls=${fault%:*} code=${fault#*:}
    faulty_mount "$one" FAIL_CODE="$code" FAIL_CALLS="$calls" || exit 1
    head -n 1 "$mnt/$one/info.txt" >/dev/null
    toggle
    for text in $texts; do
        ok "errno $code of calls '$calls' for one of four profiles: $text is whole or says so" whole_or_not "$text"
    done
    toggle
    for text in $texts; do
        ok "after errno $code of calls '$calls', $text is whole a little later" again "$text"
    done
    unmount
    mount_source || exit 1
    ok "after errno $code of calls '$calls', values.csv is whole in the next mount" again "$one/tables/values.csv"
done

# listed: ls succeeds and names runs/ and all profiles, even the one that cannot be examined.
listed() {
    local names
    names=$(ls "$mnt" 2>&1) || { echo "$names"; return 1; }
    [ "$names" = "$(ls "$src"; echo runs)" ] || { echo "$names"; return 1; }
}
faulty_mount "$one" FAIL_CODE=5 || exit 1
toggle
ok "a folder with a file that gives I/O errors can be listed" listed
like "$(ls -l "$mnt" 2>&1 >/dev/null)" "$one.*Input/output error" "ls -l reports the I/O error for the file that gives it"
toggle

finish
