#!/usr/bin/env bash
# Once it parses, the program can do little but read SOURCE: whatever a file makes of a parser.
. "$(dirname "$0")/lib.sh"

case $PROFILEFS in *san/*) skip_all "a sanitizer's reports need what the sandbox denies" ;; esac
copy_sample
probe=$("$PROFILEFS" --sandbox-test "$src" 2>&1)
status=$?
refused() {
    like "$probe" "^$1: (Permission denied|Operation not permitted)$" "the sandbox refuses to $1"
}
allowed() { like "$probe" "^$1: done$" "it allows to $1"; }
if ! grep -q '^Sandbox:.*no Landlock' <<<"$probe"; then
    for what in "read a file elsewhere" "list a folder elsewhere" "read a file elsewhere by way of /proc" "write into SOURCE" \
        "write elsewhere"; do refused "$what"; done
    is $status 0 "all of it at once"
else
    skip "what Landlock denies" "the kernel has no Landlock"
fi
for what in "change a mode" "truncate a file" "run a program" fork "make a socket" "trace a process" "signal a process" \
    "open a file by its handle" "start an io_uring" "make a namespace"; do refused "$what"; done
for what in "read SOURCE" "read /proc" "make a spill file" "start a thread"; do allowed "$what"; done

# ---- a mount

needs_mount
chmod 755 "$work"
mount_source || exit 1
cat "$mnt/$heat/metrics/time/hot.txt" >/dev/null
# words FIELD FILE...: what all threads have in common there.
words() { local field=$1; shift; sed -n "s/^$field:[[:space:]]*//p" "$@" | sort -u | tr '\n' ' '; }
threads=(/proc/"$(server)"/task/*/status)
ok "a mount has several threads" test ${#threads[@]} -gt 4
is "$(words NoNewPrivs "${threads[@]}")" "1 " "none of them can gain privileges"
is "$(words Seccomp "${threads[@]}")" "2 " "each has the filter of system calls"
for set in CapInh CapPrm CapEff CapAmb; do
    kept=$(words $set "${threads[@]}")
    ok "none has a capability but to read what the mounter can ($set: $kept)" \
        bash -c "[ '$kept' = '0000000000000000 ' ] || [ '$kept' = '0000000000000004 ' ]"
done
like "$(cat "$mnt/.profilefs/status.txt")" '^Sandbox: .*Landlock.*seccomp.*no new privileges' "status.txt tells what holds"

# Everything that a mount does beside reading works in there.
unmount
mount_source -o cache=64K || exit 1
ok "sums that spill to a file are served" cat "$mnt/$heat/metrics/time/functions.csv"
unmount
"$PROFILEFS" index "$src" >/dev/null 2>&1
ok "a cache file is written" test "$(find "$XDG_CACHE_HOME" -type f | wc -l)" -gt 0

# ---- what ends a mount

gone() {
    local try
    for try in $(seq 250); do is_mounted || return 0; sleep 0.02; done
    return 1
}
mount_source || exit 1
kill -9 "$(server)"
ok "when the server is killed, its mount is taken away" gone
if [ "$(id -u)" = 0 ]; then
    mount_source || exit 1
    id=$(server)
    umount "$mnt"
    mount -t tmpfs none "$mnt" # most likely by the same numbers
    for try in $(seq 250); do [ -e "/proc/$id" ] || break; sleep 0.02; done
    sleep 0.2
    like "$(cat /proc/self/mounts)" " $mnt tmpfs" "another mount at that place is left alone"
    umount "$mnt"

    mount_source || exit 1
    umount "$mnt" && mount_source # at once
    sleep 0.5
    ok "nor does the end of one server take away the mount of the next" test -d "$mnt/$heat/tables"
    unmount

    # ---- whose files are read: root's capability to read stays, and no more
    chmod 600 "$src/$heat"
    chown 65534 "$src/$heat"
    mount_source || exit 1
    ok "root's mount reads other people's files" cat "$mnt/$heat/info.txt"
    is "$(words CapEff /proc/"$(server)"/task/*/status)" "0000000000000004 " "by the one capability for it"
else
    skip "mounts by root" "needs root"
fi
finish
