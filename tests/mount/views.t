#!/usr/bin/env bash
# In the views of one profile, shares agree with the total, and aggregates with the values.
. "$(dirname "$0")/lib.sh"
needs_mount

copy_sample
cp "$archive/2026-04/xray-log.heat.damaged" "$src/bad.xray"
generate "$src/wide.xray" --threads 12 --steps 40
mount_source || exit 1
for profile in "$heat" bad.xray wide.xray; do
    while IFS=$'\t' read -r passed name problem; do
        ok "$profile: $name" bash -c "echo ${problem@Q}; [ $passed = True ]"
    done < <(python3 "$here/views.py" "$mnt/$profile" 2>&1)
done
unmount

mount_source -o metric=calls
like "$(cat "$mnt/$heat/info.txt")" '^Primary: calls$' "-o metric=NAME chooses the primary metric"
unmount
if mkdir "$work/locale" && localedef -i de_DE -f UTF-8 "$work/locale/de_DE.UTF-8" 2>/dev/null; then
    LOCPATH=$work/locale LC_ALL=de_DE.UTF-8 LC_NUMERIC=de_DE.UTF-8 mount_source 2>/dev/null
    ok "a locale with a decimal comma changes nothing" grep -qE ',[0-9]+\.[0-9]+,' "$mnt/$heat/metrics/time/contexts.csv"
else
    skip "a locale with a decimal comma" "no localedef"
fi

finish
