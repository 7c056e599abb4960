# Sourced by the tests in this folder: mounts in a temporary directory, and TAP output.
#
# $src is an empty folder for profiles, $mnt the mount point, $work holds both and all other files of a test. cleanup removes the
# mount and $work at exit, whatever ended the test. PROFILEFS names the program under test.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
: "${PROFILEFS:=$top/build/profilefs}"
samples=$top/tests/samples
archive=$samples/archive
work=$(mktemp -d "${TMPDIR:-/tmp}/profilefs-test.XXXXXX")
src=$work/src mnt=$work/mnt
mkdir "$src" "$mnt"
export XDG_CACHE_HOME=$work/cache LC_ALL=C.UTF-8 TZ=UTC
unset PROFILEFS_OPTIONS

count=0 failed=0

# A server in the background has no stderr, so reports of sanitizers go to files, which finish reads.
for options in ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS LSAN_OPTIONS; do
    export $options="${!options-}:log_path=$work/sanitizer"
done

# ---- TAP

# ok NAME COMMAND...: the command succeeds.
ok() {
    local name=$1 status=0
    shift
    count=$((count + 1))
    "$@" >"$work/ok.out" 2>&1 || status=$?
    if [ $status -eq 0 ]; then
        echo "ok $count - $name"
    else
        echo "not ok $count - $name"
        { echo "exit status $status of: ${*:1:3}"; head -n 12 "$work/ok.out"; } | sed 's/^/#   /' >&2
        failed=$((failed + 1))
    fi
}

# is HAVE WANT NAME: two texts are equal.
is() {
    count=$((count + 1))
    if [ "$1" = "$2" ]; then
        echo "ok $count - $3"
    else
        echo "not ok $count - $3"
        printf 'have: %s\nwant: %s\n' "$1" "$2" | head -n 24 | cut -c1-400 | sed 's/^/#   /' >&2
        failed=$((failed + 1))
    fi
}

# like HAVE PATTERN NAME: a text matches an extended regular expression.
like() {
    count=$((count + 1))
    if grep -aqE -- "$2" <<<"$1"; then
        echo "ok $count - $3"
    else
        echo "not ok $count - $3"
        printf 'have: %s\nwant: /%s/\n' "$1" "$2" | head -n 24 | cut -c1-400 | sed 's/^/#   /' >&2
        failed=$((failed + 1))
    fi
}

# skip NAME WHY: counts a check that is impossible here, and prints it also on stderr, so that a summary shows it.
skip() {
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
    echo "# $(basename "$0"): skipped: $1: $2" >&2
}

# bounded COMMAND...: runs the command in a subshell, for 60 s at most. Then aborts the test's FUSE connections: requests that still
# wait get an error.
bounded() {
    local try job status=1
    ("$@") &
    job=$!
    for try in $(seq 600); do
        kill -0 "$job" 2>/dev/null || break
        sleep 0.1
    done
    if kill -0 "$job" 2>/dev/null; then
        echo "not finished after 60 s" >&2
        kill -KILL "$job"
    fi
    wait "$job" 2>/dev/null && status=0
    abort_connections
    return $status
}

# todo ISSUE NAME COMMAND...: a check that fails today because of the fault that ISSUE describes. It is reported as TODO, not as a
# failure. The command is bounded.
todo() {
    local issue=$1 name=$2 verdict="not ok"
    shift 2
    count=$((count + 1))
    bounded "$@" >"$work/todo.out" 2>&1 && verdict=ok
    echo "$verdict $count - $name # TODO issue $issue"
    head -n 6 "$work/todo.out" | sed 's/^/# /'
}

# Ends the FUSE connections of all mounts of this test: waiting requests get an error. Needs root.
abort_connections() {
    local device
    mountpoint -q /sys/fs/fuse/connections || mount -t fusectl none /sys/fs/fuse/connections
    for device in $(awk -v top="$work/" 'index($5, top) == 1 && / - fuse/ { split($3, a, ":"); print a[2] }' /proc/self/mountinfo); do
        echo 1 >"/sys/fs/fuse/connections/$device/abort"
    done
}

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# finish: every test ends by this call, which unmounts, prints the plan and exits.
finish() {
    cd /
    unmount
    case $PROFILEFS in
        *san/*) ok "the sanitizers have nothing to report" bash -c "! grep -hE -A9 'SUMMARY|ERROR|runtime error' '$work'/sanitizer.*" ;;
    esac
    echo "1..$count"
    [ $failed -eq 0 ]
    exit
}

# ---- mounting

# mount_source [OPTION...]: mounts $src (or $source, if set) at $mnt.
mount_source() {
    timeout 60 "$PROFILEFS" "$@" "${source:-$src}" "$mnt"
}

# Reads the kernel's table of mounts, because a broken mount does not answer.
is_mounted() { grep -qF " $mnt " /proc/self/mounts; }

# Prints the id of the process that serves the mount.
server() { pgrep -f "^$PROFILEFS .*$mnt\$" | head -n 1; }

# Unmounts and waits for the server to end, because it writes to the cache at its end.
unmount() {
    local try id
    id=$(server)
    for try in $(seq 50); do
        is_mounted || break
        fusermount3 -u "$mnt" 2>/dev/null || sleep 0.1
    done
    if is_mounted; then fusermount3 -uz "$mnt"; fi
    # A zombie has ended too; it has no command line.
    for try in $(seq 250); do
        [ -n "$id" ] && [ -n "$(tr -d '\0' 2>/dev/null <"/proc/$id/cmdline")" ] || return 0
        sleep 0.02
    done 2>/dev/null
    echo "# the server is still there 5 s after unmounting" >&2
}

# cold [OPTION...]: mounts anew, without a cache database and without pages or memory of an earlier mount.
cold() {
    unmount
    rm -rf "$XDG_CACHE_HOME"
    mount_source "$@"
}

# serve [OPTION...] SOURCE MOUNTPOINT: starts `profilefs -f`, with its id in $!, and waits until $mnt is mounted or the server has
# ended. The server's output goes to server.log, because prove waits for all processes that hold the test's output.
# Leaks are not reported, because the kernel sends no RELEASE for files that are open when a server is ended.
serve() {
    local try
    setsid env --default-signal ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" "$PROFILEFS" -f "$@" </dev/null >"$work/server.log" 2>&1 &
    server_ids="${server_ids-} $!"
    for try in $(seq 500); do
        is_mounted || ! kill -0 $! 2>/dev/null && return
        sleep 0.02
    done
}

# ended ID: succeeds if the process ends within 20 s, and kills it otherwise. Its exit status, or `killed`, is in $left_with.
ended() {
    local try
    for try in $(seq 1000); do
        kill -0 "$1" 2>/dev/null || break
        sleep 0.02
    done
    if kill -KILL "$1" 2>/dev/null; then
        echo "# process $1 did not end" >&2
        left_with=killed
        return 1
    fi
    wait "$1" 2>/dev/null
    left_with=$?
}

# abort_connection: makes waiting requests and all further accesses to $mnt fail.
abort_connection() {
    local minor
    minor=$(awk -v at="$mnt" '$5 == at { sub(/.*:/, "", $3); print $3 }' /proc/self/mountinfo | tail -n 1)
    [ -n "$minor" ] && echo 1 2>/dev/null >"/sys/fs/fuse/connections/$minor/abort"
}

# background COMMAND...: starts a process, which is killed at exit; its id is in $!.
background() {
    "$@" &
    background_ids="${background_ids-} $!"
}

cleanup() {
    local id
    for id in ${background_ids-}; do kill "$id" 2>/dev/null; done
    for id in ${server_ids-}; do kill -KILL -- "-$id" 2>/dev/null; done # with their unmounters
    cd /
    abort_connection
    unmount 2>/dev/null
    chmod -R u+rwx "$work" 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

[ -x "$PROFILEFS" ] || { echo "Bail out! no program at $PROFILEFS: run make first"; exit 1; }
needs_mount() {
    [ -r /dev/fuse ] && [ -w /dev/fuse ] || skip_all "no /dev/fuse"
    command -v fusermount3 >/dev/null || skip_all "no fusermount3"
}

# ---- fixtures

heat=xray-log.heat.Ab12Cd       # the sample that most tests use

copy_sample() { cp "$archive/2026-03/$heat" "${1:-$src/$heat}"; }

# generate FILE OPTION...: writes a trace by the bundled generator.
generate() { python3 "$samples/gen_xray.py" "$@"; }

# first_thread PROFILE: the folder of its first thread.
first_thread() { awk -F, 'NR == 2 { print $NF }' "$1/tables/threads.csv"; }

# behind NAME TEST...: prints the paths of all files behind the links NAME (such as contexts or export) below the current folder.
behind() { find . -name "$1" -type l -print0 | find -H -files0-from - -type f "${@:2}" -print | sed 's|^\./||'; }

# passes: the number of passes over data that this mount has made.
passes() { awk '/^Passes run: / { print $3 }' "$mnt/.profilefs/status.txt"; }

# milliseconds COMMAND...: the duration of the command.
milliseconds() {
    local start end
    start=$(date +%s%N)
    "$@" >/dev/null 2>&1
    end=$(date +%s%N)
    echo $(((end - start) / 1000000))
}
