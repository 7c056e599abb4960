#!/usr/bin/env bash
# Readers of profiles that cannot be opened because of missing descriptors can be interrupted, and block no other readers.
. "$(dirname "$0")/lib.sh"
needs_mount
library=$(dirname "$PROFILEFS")/fail_io.so
[ -e "$library" ] || skip_all "no $library (built for the plain program only)"

for i in $(seq 11); do echo "main;work $i" >"$src/short$i.folded"; done
echo "main;work 1" >"$src/sound.folded"

# A mount in which opening the files short*.folded always fails with EMFILE once they have been recognised as profiles.
readers_wait() {
    local i try failed=0 readers=()
    FAIL_AT=1 FAIL_COUNT=1000000000 FAIL_CODE=24 FAIL_CALLS=o FAIL_BELOW=$src FAIL_NAME=short FAIL_SWITCH=1 \
        LD_PRELOAD=$(realpath "$library") mount_source || return 1
    stat "$mnt"/short*.folded >/dev/null || return 1
    kill -USR2 "$(server)"
    for i in $(seq 11); do
        env --default-signal cat "$mnt/short$i.folded/tables/values.csv" >/dev/null 2>&1 &
        readers+=($!)
    done
    sleep 1
    timeout -s KILL 5 cat "$mnt/.profilefs/status.txt" "$mnt/sound.folded/tables/values.csv" >/dev/null ||
        { echo "others wait too"; failed=1; }
    kill -INT "${readers[@]}" || return 1
    for try in $(seq 30); do
        kill -0 "${readers[@]}" 2>/dev/null || return $failed
        sleep 0.1
    done
    echo "they do not hear SIGINT"
    return 1
}
ok "readers that wait for descriptors hear SIGINT, and stop nobody else" readers_wait

finish
