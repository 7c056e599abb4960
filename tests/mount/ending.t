#!/usr/bin/env bash
# However a mount ends or fails to start, its server, unmounter and readers end, and the mount is removed.
. "$(dirname "$0")/lib.sh"
needs_mount

${CC:-cc} -D_GNU_SOURCE -O1 -shared -fPIC -o "$work/shim.so" "$here/shim.c" 2>"$work/log" || skip_all "cannot build shim.c: $(head -n 1 "$work/log")"
export ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0"

# is_gone: checks that the mount is removed. Removes a mount that is left, so that it does not disturb the next test.
is_gone() {
    is_mounted || return 0
    abort_connection
    fusermount3 -uz "$mnt"
    return 1
}

# with "VARIABLE=VALUE..." COMMAND...: runs the command with the shim preloaded.
with() {
    local settings=$1
    shift
    # shellcheck disable=SC2086
    export $settings LD_PRELOAD="$work/shim.so"
    "$@"
    unset LD_PRELOAD ${settings//=*([^ ])/}
}
shopt -s extglob

# attempt [OPTION...]: mounts in the background; exit status and messages go to the file $outcome. (Reading a pipe would wait for
# the server.)
attempt() {
    mount_source "$@" >"$work/said" 2>&1
    outcome="$?: $(cat "$work/said")"
}

copy_sample

# ---- before the first access to the mount

for signal in TERM INT HUP; do
    with "SHIM_CHDIR_SIGNAL=$(kill -l $signal)" serve "$src" "$mnt"
    ok "SIG$signal before the first look ends the server" ended $!
    is "$left_with" 0 "the exit status after SIG$signal is 0"
    ok "after SIG$signal before the first look the mount is gone" is_gone
done
with "SHIM_CHDIR_SIGNAL=15" attempt
is "$outcome" "3: profilefs: server ended during mounting" "SIGTERM while mounting in the background is an error"
ok "SIGTERM while mounting in the background leaves no mount" is_gone
if [ "$(id -u)" = 0 ]; then # for other users, fusermount3 mounts
    with "SHIM_MOUNT_SIGNAL=9" attempt
    is "$outcome" "3: profilefs: server died during mounting" "SIGKILL right after the mount is made is an error"
    for try in $(seq 100); do is_mounted || break; sleep 0.1; done
    ok "SIGKILL right after the mount is made leaves no mount" is_gone
    export SHIM_MOUNT_FIRST="'$PROFILEFS' '$src' '$mnt'"
    with "SHIM_MOUNT_ERRNO=16" attempt
    is "${outcome%%:*}" 3 "a mount that fails is an error"
    ok "what another server mounts while a mount fails stays" grep -q Format "$mnt/$heat/info.txt"
    unmount
else
    skip "SIGKILL right after the mount is made" "needs root"
    skip "a mount that fails while another process mounts" "needs root"
fi

# ---- failures between mounting and serving

with "SHIM_CUSTOM_IO=95" attempt
is "$outcome" "0: " "a libfuse without custom I/O mounts"
ok "a mount by a libfuse without custom I/O serves" timeout 20 grep -q Format "$mnt/$heat/info.txt"
unmount
if [ "$(pkg-config --modversion fuse3 | cut -d. -f2)" -lt 17 ]; then
    with "SHIM_CUSTOM_IO=22" attempt
    is "$outcome" "3: profilefs: cannot set up the connection to the kernel: Invalid argument" "an error of custom I/O is reported"
    ok "an error of custom I/O leaves no mount" is_gone
else
    skip "an error of custom I/O" "not needed for this libfuse"
fi
with "SHIM_CHDIR_ERRNO=13" attempt
is "$outcome" "3: profilefs: /: Permission denied" "failing to leave the working directory is reported"
ok "failing to leave the working directory leaves no mount" is_gone
with "SHIM_CHDIR_ERRNO=13" serve "$src" "$mnt"
ok "failing to leave the working directory ends a server in the foreground" ended $!
is "$left_with" 3 "failing to leave the working directory in the foreground gives status 3"

# ---- failures in libfuse's reply to FUSE_INIT

attempt -o max_read=65536
like "$outcome" "^3: profilefs: .*read size" "an option that libfuse rejects late is an error that says why"
is "$(wc -l <"$work/said")" 1 "an option that libfuse rejects late gives a message of one line"
ok "an option that libfuse rejects late leaves no mount" is_gone
serve -o max_read=65536 "$src" "$mnt"
ended $!
is "$left_with" 3 "an option that libfuse rejects late gives status 3 in the foreground"

# ---- while readers wait

for n in $(seq 16); do
    seq -f "main;f%07.0f$n 1" 100000 >"$src/s$n.folded"
done
# end_with_readers COMMAND...: ends the mount by a command while 16 readers wait.
end_with_readers() {
    local readers=() id
    rm -rf "$XDG_CACHE_HOME"
    with "SHIM_READ_MS=400" serve -o no_runs "$src" "$mnt"
    id=$!
    for n in $(seq 16); do
        background timeout 30 cat "$mnt/s$n.folded/metrics/samples/functions.csv" >/dev/null 2>&1
        readers+=($!)
    done
    sleep 0.5
    waiting="$waiting $(awk '/s[0-9]+.folded/' "$mnt/.profilefs/status.txt" 2>/dev/null | grep -c .)"
    "$@" "$id"
    ended "$id"
    ends="$ends $left_with"
    for id in "${readers[@]}"; do
        ended "$id" || ends="$ends reader"
    done
    is_gone || ends="$ends mounted"
}
waiting='' ends=''
for try in 1 2 3 4; do end_with_readers kill -TERM; done
for try in 1 2 3; do end_with_readers kill -INT; done
for try in 1 2 3; do end_with_readers kill -HUP; done
is "$ends" " 0 0 0 0 0 0 0 0 0 0" "a signal ends a server and the 16 readers that wait for it, with status 0, ten times"
echo "# profiles at work:$waiting"
if [ "$(id -u)" = 0 ] && mountpoint -q /sys/fs/fuse/connections; then
    waiting='' ends=''
    for try in 1 2 3; do end_with_readers abort_connection; done
    is "$ends" " 0 0 0" "aborting the connection ends a server and the 16 readers that wait for it, three times"
else
    skip "aborting the connection" "needs root and fusectl"
fi
rm "$src"/s*.folded

# ---- descriptors

exec 7>"$work/log.of.caller" 8>"$work/lock"
flock 8
mount_source
open_files() { ls -l $(pgrep -f "^$PROFILEFS .*$mnt\$" | sed 's|.*|/proc/&/fd|') 2>/dev/null; }
exec 7>&- 8>&-
like "$(open_files)" "/dev/null" "descriptors of server and unmounter can be listed"
is "$(open_files | grep -e "$work/log.of.caller" -e "$work/lock")" "" "descriptors that the caller left open are closed"
ok "a lock whose descriptor the caller left open ends with the caller" flock -n "$work/lock" true
unmount

if [ "$(id -u)" = 0 ]; then
    for error in 38 1; do
        with "SHIM_NO_CLOSE_RANGE=$error" serve "$src" "$mnt"
        ok "without close_range (error $error) the mount works" timeout 20 test -d "$mnt/$heat/tables"
        kill -TERM $!
        ok "without close_range (error $error) a signal ends the server" ended $!
        ok "without close_range (error $error) a signal removes the mount" is_gone
        with "SHIM_NO_CLOSE_RANGE=$error" serve "$src" "$mnt"
        timeout 20 test -d "$mnt/$heat/tables" # answered after the unmounter is forked
        kill -KILL $!
        for try in $(seq 1000); do is_mounted || break; sleep 0.02; done
        ok "without close_range (error $error) the unmounter of a killed server unmounts" is_gone
        abort_connection # otherwise the next test would wait
        is_gone || fusermount3 -uz "$mnt"
    done
else
    skip "a kernel without close_range" "needs root"
fi

finish
