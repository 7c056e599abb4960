#!/usr/bin/env bash
# A larger collection of real profiles with what other tools say about them: a case is one line. Where the
# collection is, PROFILEFS_SHARED tells; it is no part of the project.
. "$(dirname "$0")/lib.sh"
needs_mount

[ -n "${PROFILEFS_SHARED-}" ] || skip_all "PROFILEFS_SHARED is not set"
corpus=$PROFILEFS_SHARED/corpus check=$PROFILEFS_SHARED/check/oracle.py
[ -d "$corpus" ] && [ -f "$check" ] || skip_all "no corpus in $PROFILEFS_SHARED"

source=$corpus mount_source || exit 1
cases=(extrap/text)
for oracle in "$corpus"/xray/*.oracle; do
    case=$(basename "$oracle" .oracle)
    case $case in
        basic-* | gen-basic-* | llvm-basic-* | *-big-endian | profile) continue ;;  # formats to come
    esac
    cases+=("xray/$case")
done
for case in "${cases[@]}"; do
    ok "$case agrees with its oracle" timeout 120 python3 "$check" "$mnt" "$corpus" "$case" -v
done

sizes_are_exact() {
    find "$mnt/xray" "$mnt/extrap/text" -type f -printf '%s %p\n' | while read -r size path; do
        [ "$(cat "$path" | wc -c)" = "$size" ] || { echo "$path: stat says $size"; return 1; }
    done
}
ok "every size is exact" sizes_are_exact

finish
