#!/usr/bin/env bash
# The bundled samples are what their generator writes.
. "$(dirname "$0")/lib.sh"

python3 "$samples/gen_xray.py" --samples "$work/again"
python3 "$samples/gen_extrap.py" "$work/again/scaling/heat.txt"
while IFS= read -r file; do
    ok "$file is what the generator writes" cmp "$work/again/$file" "$archive/$file"
done < <(cd "$work/again" && find . -type f -printf '%P\n' | sort)
is "$(du -sk --apparent-size "$archive" | awk '{ print $1 < 1000 }')" 1 "the archive is below 1 MB"

finish
