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
        profile) continue ;;  # its times are given as unsigned numbers, which they are not
    esac
    cases+=("xray/$case")
done
for case in "${cases[@]}"; do
    ok "$case agrees with its oracle" timeout 120 python3 "$check" "$mnt" "$corpus" "$case" -v
done

for folder in xray extrap/text; do
    ok "every size in $folder is exact" python3 "$here/sizes.py" "$mnt/$folder" before
done

finish
