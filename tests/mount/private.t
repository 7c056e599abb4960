#!/usr/bin/env bash
# Served data never widens an input's permissions, in any format: with allow_other, other users read only data from files that they
# may read themselves.
. "$(dirname "$0")/lib.sh"
needs_mount
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip_all "needs root and setpriv"
chmod 755 "$work"
cp -r "$archive"/. "$src"
find "$src" -type d -exec chmod 755 {} +
find "$src" -type f -exec chmod 600 {} +
# Prints the files below FOLDERs of which others can read a byte.
readable() {
    setpriv --reuid 65534 --regid 65534 --clear-groups find -L "$@" -type f -readable -exec grep -laE '.?' {} + 2>/dev/null
}

mount_source -o allow_other || skip_all "others are not let in"
formats=$(cut -d, -f1 "$mnt/.profilefs/profiles.csv" | sed 1d | sort -u | wc -l)
ok "the samples are of many formats" [ "$formats" -ge 20 ]
is "$(readable "$mnt")" "" "of profiles that only their owner may read, others read nothing, whatever the format"
unmount

find "$src" -type f -exec chmod 644 {} +
mount_source -o allow_other
is "$(cd "$mnt" && cut -d, -f6 .profilefs/profiles.csv | sed 1d | while read -r path; do
        [ -n "$(readable "$path/info.txt")" ] || echo "$path"; done)" "" "of profiles that all may read, others read at least info.txt"

# Profiles made from many files: each file is made private in turn.
each_private() {   # each_private PROFILE FILE...: prints the files after which others can still read something of the profile
    local profile=$1 file
    shift
    for file; do
        chmod 600 "$src/$file"
        find -L "$mnt/$profile" -type f -exec cat {} + >/dev/null 2>&1 # so that all inputs have been opened
        [ -z "$(readable "$mnt/$profile" -not -path '*/src/*' | head -n 1)" ] || echo "$file"
        chmod 644 "$src/$file"
    done
}
below() { (cd "$src" && find "$@" -type f); }
is "$(each_private otf2 $(below otf2 -name '*.otf2' -o -name '*.evt' -o -name '*.def'))" "" "an OTF2 archive is for those who may read all its files"
# (cct.db is excluded: it repeats profile.db, and no served data is made from it.)
for database in solver-2019 solver-2021 solver-2022-draft; do
    is "$(each_private "hpc/$database" $(below "hpc/$database" -not -path "*/src/*" -not -name cct.db))" "" \
        "a database is for those who may read all its files: $database"
done
is "$(each_private gpu/sizes/experiment $(below gpu/sizes -name '*.sqlite'))" "" \
    "an experiment over exports is for those who may read all of them"
is "$(each_private nightly/runs $(below nightly))" "" "the runs of a folder are for those who may read all its profiles"

finish
