#!/usr/bin/env bash
# Compares a larger collection of real profiles with results of other tools, by one check per case. PROFILEFS_SHARED names the
# collection, which is not part of the project.
. "$(dirname "$0")/lib.sh"
needs_mount

[ -n "${PROFILEFS_SHARED-}" ] || skip_all "PROFILEFS_SHARED is not set"
corpus=$PROFILEFS_SHARED/corpus check=$PROFILEFS_SHARED/check/oracle.py
[ -d "$corpus" ] && [ -f "$check" ] || skip_all "no corpus in $PROFILEFS_SHARED"

# Known differences and their reasons.
known() {
    case $1 in
        xray/profile) echo "its times are given as unsigned numbers, which they are not" ;;
        *) false ;;
    esac
}

# agrees FORMAT/CASE: the findings list this case as ok.
agrees() { grep -q "^ok   $1 " "$work/findings" || { grep "^FAIL $1:" "$work/findings"; false; }; }

source=$corpus mount_source || exit 1
for folder in "$corpus"/{xray,extrap/*,hpctoolkit,afperf,perun,cube}; do
    [ -d "$folder" ] || continue
    format=${folder#"$corpus"/}
    timeout 300 python3 "$check" "$mnt" "$corpus" "$format" -v >"$work/findings" 2>&1
    for oracle in "$folder"/*.oracle; do
        case=$format/$(basename "$oracle" .oracle)
        if why=$(known "$case"); then
            skip "$case agrees with its oracle" "$why"
        else
            ok "$case agrees with its oracle" agrees "$case"
        fi
    done
    ok "every size in $format is exact" python3 "$here/sizes.py" "$mnt/$format" before
done

finish
