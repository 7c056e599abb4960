#!/usr/bin/env bash
# Profiles in archives are like other profiles: views of all profiles include them, they change with the archive, and the archive's
# permissions apply to them.
. "$(dirname "$0")/lib.sh"
needs_mount

mkdir "$src/plain"
cp "$archive"/nightly/2026-05-0[1-4].folded "$archive/spans/page.cpuprofile" "$src/plain"
pack() { tar cf "$src/$1" -C "${2:-$src/plain}" . ; }   # pack NAME [FOLDER]
pack a.tar
tar czf "$src/a.tgz" -C "$src/plain" .
mkdir "$work/outer"
tar czf "$work/outer/inner.tgz" -C "$src/plain" .
pack outer.tar "$work/outer"

mount_source || exit 1

# ---- views of all profiles

for kind in a.tar a.tgz outer.tar/inner.tgz; do
    ok "$kind has runs/ as the folder has" diff -r "$mnt/plain/runs" "$mnt/$kind/runs"
done
ok "an archive without profiles has no runs/" [ ! -e "$mnt/outer.tar/runs" ]
# rows FILE COLUMN FOLDER: the rows about profiles in a folder, without the folder's name.
rows() { python3 - "$mnt/.profilefs/$1" "$2" "$3" <<'P'
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    folder, _, row["path"] = row["path"].rpartition("/")
    if folder == sys.argv[3]:
        print([row[name] for name in sys.argv[2].split(",")])
P
}
for kind in a.tar a.tgz outer.tar/inner.tgz; do
    is "$(rows profiles.csv format,bytes,confidence,path "$kind")" "$(rows profiles.csv format,bytes,confidence,path plain)" \
        "profiles.csv has the profiles in $kind"
    is "$(rows tables/summary.csv format,metric,total,top,path "$kind")" "$(rows tables/summary.csv format,metric,total,top,path plain)" \
        "summary.csv has the profiles in $kind"
    is "$(rows tables/functions.csv metric,exclusive,name,path "$kind")" "$(rows tables/functions.csv metric,exclusive,name,path plain)" \
        "functions.csv has the functions of the profiles in $kind"
done
is "$(rows tables/summary.csv path plain | wc -l)" 5 "summary.csv has a row for each profile of a folder"

# ---- change

total() { tail -n +2 "$1/tables/values.csv" | awk -F, '{ n += $4 } END { print n }'; }
mkdir "$work/v1" "$work/v2"
printf 'main;f 3\n' >"$work/v1/x.folded"
printf 'main;f 4\nmain;g 5\n' >"$work/v2/x.folded"
changes() {   # changes NAME COMMAND...: the command packs the folder given as its last argument
    local name=$1
    shift
    "$@" "$work/v1"
    is "$(total "$mnt/$name/x.folded")" 3 "$name has a profile"
    cd "$mnt/$name/x.folded" || exit 1
    exec 9<"$mnt/$name/x.folded/tables/values.csv"
    "$@" "$work/v2"
    sleep 1.1
    is "$(total "$mnt/$name/x.folded")" 9 "when $name is $changed, its profiles are new"
    is "$(total .)" 9 "a shell in a profile of $name, which is $changed, reads the new content"
    like "$(cat <&9 2>&1)" '^(thread,.*|.*Stale file handle)' "a file that is open gives its own version or ESTALE: $name"
    exec 9<&-
    cd "$work" || exit 1
}
in_place() { tar cf "$src/x.tar" -C "$1" x.folded; }
renamed() { tar cf "$work/x.tar" -C "$1" x.folded && mv "$work/x.tar" "$src/y.tar"; }
compressed() { tar czf "$work/x.tar.gz" -C "$1" x.folded && mv "$work/x.tar.gz" "$src/x.tar.gz"; }
nested() { tar czf "$work/in.tgz" -C "$1" x.folded && tar cf "$work/x.tar" -C "$work" in.tgz && mv "$work/x.tar" "$src/nest.tar"; }
changed=rewritten changes x.tar in_place
changed=replaced changes y.tar renamed
changed=replaced changes x.tar.gz compressed
changed=replaced changes nest.tar/in.tgz nested
rm "$src/x.tar.gz"
sleep 1.1
ok "when an archive is deleted, so are its profiles" bash -c "! cat '$mnt/x.tar.gz/x.folded/info.txt'"
unmount

source=$src/x.tar
in_place "$work/v1"
mount_source || exit 1
is "$(total "$mnt/x.folded")" 3 "a profile of an archive that is SOURCE is served"
in_place "$work/v2"
sleep 1.1
is "$(total "$mnt/x.folded")" 9 "when an archive that is SOURCE changes, its profiles are new"
unmount
source=$src

# ---- who may read

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && chmod 755 "$work" && mount_source -o allow_other 2>/dev/null; then
    as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
    # readable FOLDER...: prints the files below from which other users can read at least a byte.
    readable() { as_nobody find -L "$@" -type f -readable -exec grep -laE '.?' {} + 2>/dev/null; }
    for kind in a.tar a.tgz outer.tar; do
        as_nobody find "$mnt/$kind" >"$work/found" 2>&1
        ok "with allow_other, members of $kind are for all who may read it" as_nobody cat "$mnt/${kind/outer.tar/outer.tar/inner.tgz}/page.cpuprofile/info.txt"
        chmod 600 "$src/$kind"
        sleep 1.2
        is "$(readable "$mnt/$kind")" "" "members of $kind, once it is private, are for nobody else"
    done
    unmount
    mount_source -o allow_other
    is "$(readable "$mnt/a.tar" "$mnt/a.tgz" "$mnt/outer.tar")" "" "a fresh mount lets others read nothing of private archives"
    is "$(find "$mnt/a.tar" "$mnt/a.tgz/page.cpuprofile" -type f -readable | head -n 1 | wc -l)" 1 \
        "the mounter reads members of private archives"
    is "$(readable "$mnt/a.tar" "$mnt/a.tgz" "$mnt/outer.tar")" "" \
        "after the mounter has read private archives, others still read nothing of them"
    cp "$archive/stacks/heat.folded" "$work/heat.folded"
    gzip -c "$work/heat.folded" >"$src/private.folded.gz"
    xz -c "$work/heat.folded" >"$src/private.folded.xz"
    chmod 600 "$src"/private.*
    is "$(find "$mnt"/private.folded.* -name info.txt -path '*z/info.txt' -exec cat {} + | grep -c Format)" 2 \
        "the mounter reads private compressed profiles"
    is "$(readable "$mnt"/private.*)" "" "others read nothing of private compressed profiles"
    chmod 644 "$src/a.tgz"
    sleep 1.2
    ok "when the mode of an archive widens, others may read its members" as_nobody cat "$mnt/a.tgz/page.cpuprofile/info.txt"
    if command -v setfacl >/dev/null && setfacl -m u:1:- "$src/a.tgz" 2>/dev/null; then
        sleep 1.2
        as_other() { setpriv --reuid 1 --regid 1 --clear-groups "$@"; }
        ok "whom an access control list denies the archive reads no member" bash -c "! setpriv --reuid 1 --regid 1 --clear-groups cat '$mnt/a.tgz/page.cpuprofile/info.txt'"
    fi
    unmount
    source=$src/a.tar mount_source -o allow_other
    is "$(readable "$mnt")" "" "where SOURCE is a private archive, others read nothing"
    unmount
else
    skip "members are for those who may read the archive" "needs root, setpriv and a mount for others"
fi

finish
