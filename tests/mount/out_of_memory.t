#!/usr/bin/env bash
# Memory may run out at any allocation. The program then reports an error or gives a complete answer; it never crashes, hangs or
# silently omits data.
. "$(dirname "$0")/lib.sh"

library=$(dirname "$PROFILEFS")/fail_alloc.so
[ -e "$library" ] || skip_all "no $library (built for the plain program only)"
library=$(realpath "$library")
export XDG_CACHE_HOME=$work/none # a file, not a folder: nothing is cached between runs
touch "$work/none"
runs=${PROFILEFS_RUNS:-25} # number of failing allocations tried per command

# run NUMBER COUNT ARGS...: runs the program with COUNT allocations failing from NUMBER on. Its output goes to $work/out, and its
# exit status is returned.
run() {
    local at=$1 fails=$2
    shift 2
    timeout 20 env FAIL_AT="$at" FAIL_COUNT="$fails" COUNT_TO="$work/count" LD_PRELOAD="$library" "$PROFILEFS" "$@" \
        >"$work/out" 2>"$work/err"
}

# holds ARGS...: after any number of successful allocations, the command ends with its answer or with an error.
holds() {
    local want number count status all
    run 0 0 "$@"
    want=$?
    all=$(cat "$work/count")
    cp "$work/out" "$work/whole"
    [ "$all" -gt 50 ] || { echo "only $all allocations"; return 1; }
    for number in $(seq 1 $((all / runs + 1)) "$all"); do
        for count in 1 1000000; do # one allocation fails, or all from this one on
            run "$number" "$count" "$@"
            status=$?
            case $status in
                3) continue ;; # reported as out of memory
                "$want") cmp -s "$work/out" "$work/whole" && continue ;;
            esac
            echo "allocation $number of $all ($count from there on) fails: status $status"
            tail -n 3 "$work/err"
            return 1
        done
    done
}

while read -r command path; do
    ok "wherever memory runs out, $command ends with its answer or an error: $path" holds "$command" "$archive/$path"
done <<'LIST'
cat 2026-03/xray-log.heat.Ab12Cd/tables/trace.csv
cat 2026-03/xray-log.heat.Ab12Cd/metrics/time/stacks.folded
cat 2026-03/xray-log.heat.Ab12Cd/metrics/time/functions.csv
cat afsim/coast.afperf/tables/measurements.csv
cat afsim/coast.afperf/metrics/time/tree.txt
cat cube/heat.p4.r1/profile.cubex/tables/values.csv
cat cube/experiment/tables/statistics.csv
cat gpu/heat.sqlite/tables/kernels.csv
cat hpc/solver-2019/tables/values.csv
cat hpc/solver-2021/tables/trace.csv
cat hpc/solver-2023/metrics/CPUTIME (sec) (I)/contexts.csv
cat perun/lookup.perf/tables/resources.csv
cat perun/lookup.perf/tables/models.csv
cat scaling/heat.jsonl/tables/values.csv
cat scaling/heat.extra-p/tables/models.csv
check afsim/coast.afperf
check cube/heat.p4.r1/profile.cubex
check gpu/heat.sqlite
check hpc/solver-2021
check perun/lookup.perf
check 2026-04/xray-log.heat.damaged
tree perun
LIST

# ---- a mount

# contents: names and checksums of everything that the mount shows of the profile.
contents() {
    (cd "$mnt/heat.jsonl" && find -L . -print0 | sort -z && find -L . -type f -print0 | sort -z | xargs -0 md5sum) 2>/dev/null | md5sum
}

# recovers NUMBER: a mount shows everything a while after 30 allocations of its server failed, from NUMBER on. (A transient
# error is reported for two seconds before a new attempt, and it takes several attempts until all thirty have failed.)
recovers() {
    local have try
    FAIL_AT=$1 FAIL_COUNT=30 LD_PRELOAD=$library mount_source || return 1
    for try in $(seq 80); do
        have=$(contents)
        [ "$have" = "$want" ] && break
        sleep 0.4
    done
    unmount
    [ "$have" = "$want" ]
}

if [ -w /dev/fuse ]; then
    cp "$archive/scaling/heat.jsonl" "$src/"
    mount_source || exit 1
    want=$(contents)
    unmount
    for number in 160 200 300 900; do
        ok "a mount shows all again when memory is back that was gone at allocation $number" recovers "$number"
    done
else
    skip "mounts" "no /dev/fuse"
fi

finish
