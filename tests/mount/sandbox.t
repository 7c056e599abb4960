#!/usr/bin/env bash
# The program parses in a sandbox: even if a file exploits a parser, it can do little except read SOURCE. (tests/unit/sandbox.c tries
# the denied calls.)
. "$(dirname "$0")/lib.sh"

case $PROFILEFS in *san/*) skip_all "a sanitizer's reports need what the sandbox denies" ;; esac
copy_sample
# ---- a mount

needs_mount
chmod 755 "$work"
mount_source || exit 1
cat "$mnt/$heat/metrics/time/hot.txt" >/dev/null
# words FIELD FILE...: prints the distinct values of the field in these status files.
words() { local field=$1; shift; sed -n "s/^$field:[[:space:]]*//p" "$@" | sort -u | tr '\n' ' '; }
threads=(/proc/"$(server)"/task/*/status)
ok "a mount has several threads" test ${#threads[@]} -gt 4
is "$(words NoNewPrivs "${threads[@]}")" "1 " "no thread can gain privileges"
is "$(words Seccomp "${threads[@]}")" "2 " "each thread has the filter of system calls"
filters=$(words Seccomp_filters "${threads[@]}")
if [ -n "$filters" ]; then is "$filters" "2 " "each thread has the filter of newer system calls"; else skip "the number of filters" "Linux 5.9"; fi
for set in CapInh CapPrm CapEff CapAmb; do
    kept=$(words $set "${threads[@]}")
    ok "no thread has a capability except reading what the mounter can read ($set: $kept)" \
        bash -c "[ '$kept' = '0000000000000000 ' ] || [ '$kept' = '0000000000000004 ' ]"
done
like "$(cat "$mnt/.profilefs/status.txt")" '^Sandbox: .*Landlock.*seccomp.*no new privileges' "status.txt lists the active layers"

# The sandbox allows the operations that a mount needs in addition to reading.
unmount
mount_source -o cache=64K || exit 1
ok "sums that spill to a file are served" cat "$mnt/$heat/metrics/time/functions.csv"
unmount
"$PROFILEFS" index "$src" >/dev/null 2>&1
ok "the program writes the cache in its sandbox" test "$(find "$XDG_CACHE_HOME" -type f | wc -l)" -gt 0

# ---- the end of a mount

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
    mount -t tmpfs none "$mnt" # most likely with the same mount id
    for try in $(seq 250); do [ -e "/proc/$id" ] || break; sleep 0.02; done
    sleep 0.2
    like "$(cat /proc/self/mounts)" " $mnt tmpfs" "another mount at the same path is not touched"
    umount "$mnt"

    mount_source || exit 1
    umount "$mnt" && mount_source # immediately
    sleep 0.5
    ok "the end of one server does not take away the mount of the next" test -d "$mnt/$heat/tables"
    unmount

    # ---- permissions: root keeps only its capability to read
    chmod 600 "$src/$heat"
    chown 65534 "$src/$heat"
    mount_source || exit 1
    ok "root's mount reads other people's files" cat "$mnt/$heat/info.txt"
    is "$(words CapEff /proc/"$(server)"/task/*/status)" "0000000000000004 " "root's mount keeps only the capability to read"
else
    skip "mounts by root" "needs root"
fi
finish
