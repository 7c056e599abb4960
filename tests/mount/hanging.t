#!/usr/bin/env bash
# A folder or file of SOURCE that does not answer blocks its own readers only.
. "$(dirname "$0")/lib.sh"
needs_mount
[ "$(id -u)" = 0 ] || skip_all "for root: others may not end the connection of a file system that hangs"
program=$(dirname "$PROFILEFS")/hanging
[ -x "$program" ] || skip_all "no $program"

hung=$src/hung          # mount point of the hanging file system, below SOURCE
control=$work/control   # names the requests that are not answered

# start_hanging [OPTION...]: mounts SOURCE anew, with folders sound/ and hung/; all requests are answered until hang is called.
start_hanging() {
    local i
    end_hanging
    rm -rf "$XDG_CACHE_HOME" # errors of an earlier test may be cached
    mkdir -p "$hung" "$src/sound" || return 1
    for i in $(seq 20); do printf 'main;work %d\n' "$i" >"$src/sound/$i.folded"; done
    echo none >"$control"
    "$program" "$hung" "$control" &
    for i in $(seq 100); do
        is_hung_mounted && break
        sleep 0.05
    done
    is_hung_mounted && mount_source "$@" && stat "$mnt/hung" >/dev/null
}

# Reads the kernel's table of mounts: accessing the mount itself may hang.
is_hung_mounted() { grep -qF " $hung " /proc/self/mounts; }

# hang REQUEST...: from now on, requests of these kinds in hung/ are not answered.
hang() { echo "$*" >"$control"; }

# Ends both mounts, whatever their state.
end_hanging() {
    abort_connections
    unmount
    umount -l "$hung"
} 2>/dev/null
trap 'end_hanging; cleanup' EXIT

# A server that ends while threads hang does not join them.
export TSAN_OPTIONS="$TSAN_OPTIONS:report_thread_leaks=0"

# answers NAME COMMAND...: the command succeeds within 5 s.
answers() { timeout -s KILL 5 "${@:2}" >/dev/null 2>&1 || { echo "$1 hangs" >&2; return 1; }; }

# others_are_served N FOLDER...: a text of sound/N.folded, listings of FOLDERs with all sizes, and the status are served.
others_are_served() {
    local id ids=() failed=0
    answers "status.txt" cat "$mnt/.profilefs/status.txt" & ids+=($!)
    answers "a text elsewhere" cat "$mnt/sound/$1.folded/tables/values.csv" & ids+=($!)
    answers "a listing" ls -l "${@:2}" & ids+=($!)
    for id in "${ids[@]}"; do wait "$id" || failed=1; done
    return $failed
}

# hang_readers COUNT COMMAND...: starts COUNT copies of the command with ids in $readers. `%` stands for the number of the copy.
hang_readers() {
    local i count=$1
    shift
    readers=()
    for i in $(seq "$count"); do
        env --default-signal "${@//%/$i}" >/dev/null 2>&1 & # the shell starts them with SIGINT ignored
        readers+=($!)
    done
    sleep 1
}

# readers_end SIGNAL: the signal ends each process in $readers within 5 s.
readers_end() {
    local try left
    kill -s "$1" "${readers[@]}"
    for try in $(seq 50); do
        left=0
        for id in "${readers[@]}"; do ! kill -0 "$id" 2>/dev/null || left=$((left + 1)); done
        [ $left -gt 0 ] || return 0
        sleep 0.1
    done
    echo "$left readers are still there" >&2
    return 1
}

# server_ends: SIGTERM ends the server within 5 s, and the mount is removed.
server_ends() {
    local id try
    id=$(server)
    kill "$id"
    for try in $(seq 50); do
        is_mounted || [ -n "$(tr -d '\0' 2>/dev/null <"/proc/$id/cmdline")" ] || return 0
        sleep 0.1
    done
    echo "the server or its mount is still there" >&2
    return 1
}

# hung_at REQUEST COUNT COMMAND...: while COUNT copies of the command hang at that request, other readers are served; SIGINT ends each
# copy, and SIGTERM ends the server.
hung_at() {
    local failed=0 folders=("$mnt/sound")
    start_hanging || return 1
    hang "$1"
    case $1 in lookup | open | read) folders+=("$mnt") ;; esac # `getattr` would block the listing of $mnt, as in SOURCE
    hang_readers "${@:2}"
    others_are_served 1 "${folders[@]}" && readers_end INT && server_ends || failed=1
    end_hanging
    return $failed
}

ok "16 look-ups in a folder that does not answer stop nobody else" bounded hung_at lookup 16 stat "$mnt/hung/%.folded"
ok "40 files that hang at their attributes stop nobody else" bounded hung_at getattr 40 cat "$mnt/hung/%.folded/info.txt"
ok "40 files that hang when opened stop nobody else" bounded hung_at open 40 cat "$mnt/hung/%.folded/info.txt"
ok "100 files that hang when read stop nobody else" bounded hung_at read 100 cat "$mnt/hung/%.folded/info.txt"

# wait_for_pass COUNT: starts COUNT readers of different names; returns when all wait for one pass, which hangs.
wait_for_pass() {
    local try waiting
    stat "$mnt/hung/900.folded/.contexts" >/dev/null || return 1
    hang read
    hang_readers "$1" stat "$mnt/hung/900.folded/.contexts/%"
    for try in $(seq 50); do
        waiting=$(sed -n 's/.*running, \([0-9]*\) waiting: .*900\.folded/\1/p' "$mnt/.profilefs/status.txt")
        [ "${waiting:-0}" -lt "$1" ] || return 0
        sleep 0.1
    done
    echo "${waiting:-none} of $1 readers wait for the pass" >&2
    return 1
}

# one_pass COUNT [OPTION...]: while COUNT readers wait for one pass of a mount with these options, others are served; SIGINT ends
# each reader, and SIGTERM ends the server.
one_pass() {
    local failed=0
    start_hanging "${@:2}" && wait_for_pass "$1" || return 1
    others_are_served 1 "$mnt/sound" || failed=1
    readers_end INT || failed=1
    server_ends || failed=1
    end_hanging
    return $failed
}
ok "while 1,100 readers wait for one pass, others are served, and SIGINT ends each" bounded one_pass 1100
ok "while 12 readers wait for the one pass of -s, others are served, and SIGINT ends each" bounded one_pass 12 -s

# A server that ends has written its results to the cache: the next mount needs no pass for them.
ends_with_waiters() {
    local failed=0 text=$mnt/sound/1.folded/metrics/samples/functions.csv
    start_hanging || return 1
    cat "$text" >/dev/null || return 1
    wait_for_pass 300 || return 1
    hang lookup read
    hang_readers 20 stat "$mnt/hung/50%.folded"
    server_ends || failed=1
    abort_connections
    umount -l "$hung"
    mount_source || return 1
    stat "$text" >/dev/null || failed=1
    [ "$(passes)" = 0 ] || { echo "$(passes) passes run again" >&2; failed=1; }
    end_hanging
    return $failed
}
ok "SIGTERM ends a server on which 300 requests wait and 20 hang, and what it knows is kept" bounded ends_with_waiters

# With fewer threads than readers, no thread receives the kernel's FUSE_INTERRUPT requests.
few_threads() {
    local failed=0
    start_hanging || return 1
    echo 40 >"$group/pids.max"
    echo "$(server)" >"$group/cgroup.procs"
    stat "$mnt/hung/900.folded/.contexts" >/dev/null
    hang read
    hang_readers 100 stat "$mnt/hung/900.folded/.contexts/%"
    readers_end INT || failed=1
    others_are_served 4 "$mnt/sound" || failed=1
    hang_readers 100 stat "$mnt/hung/900.folded/.contexts/%"
    server_ends || failed=1
    end_hanging
    return $failed
}

# limited_group: makes the control group $group, which can limit the number of threads, in cgroup v1 or v2.
limited_group() {
    local root
    for root in /sys/fs/cgroup/pids /sys/fs/cgroup; do
        group=$root/profilefs-test.$$
        mkdir "$group" 2>/dev/null || continue
        [ ! -w "$group/pids.max" ] || return 0
        rmdir "$group"
    done
    return 1
}
if limited_group; then
    ok "with 40 threads at most, SIGINT ends 100 readers, others are served then, and SIGTERM ends the server" bounded few_threads
    rmdir "$group"
else
    skip "a limit on threads" "no control group with pids.max can be made"
fi

# The file system stops answering while its profiles are open and idle.
hung_while_idle() {
    local failed=0
    start_hanging || return 1
    cat "$mnt"/hung/{1,2,3}.folded/tables/values.csv >/dev/null || return 1
    hang lookup getattr open read
    sleep 12
    hang_readers 12 stat "$mnt/hung/1.folded/tables/values.csv" "$mnt/hung/%.folded"
    others_are_served 2 "$mnt/sound" || failed=1
    end_hanging
    return $failed
}
ok "an idle profile whose folder stops answering stops nobody else" bounded hung_while_idle

# Few descriptors are left, and closing the idle profiles of a folder hangs.
hung_when_closed() {
    local i failed=0
    ulimit -n 128
    start_hanging || return 1
    cat "$mnt"/hung/{1..25}.folded/tables/values.csv >/dev/null || return 1
    hang close
    for i in $(seq 20); do
        answers "a text elsewhere" cat "$mnt/sound/$i.folded/tables/values.csv" || { failed=1; break; }
    done
    end_hanging
    return $failed
}
ok "idle profiles that hang when closed stop nobody else" bounded hung_when_closed

# After 10 s, a mount checks once more the profiles that runs/ compares.
hung_members() {
    local failed=0
    start_hanging || return 1
    cat "$mnt/hung/runs/info.txt" >/dev/null && exec 9<"$mnt/hung/runs" || return 1
    hang lookup getattr
    sleep 11
    hang_readers 12 stat /proc/self/fd/9/% # the open folder avoids a look-up of hung/
    others_are_served 3 "$mnt/sound" && readers_end INT || failed=1
    end_hanging
    return $failed
}
ok "members of runs/ that hang stop nobody else" bounded hung_members

finish
