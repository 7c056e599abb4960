#!/usr/bin/env bash
# The mount is read-only, has the attributes of its source, and passes other files through.
. "$(dirname "$0")/lib.sh"
needs_mount

copy_sample
chmod 600 "$src/$heat"
touch -d '2026-03-01 12:34:56.789 UTC' "$src/$heat"
mkdir "$src/sub" "$src/private"
chmod 700 "$src/private"
cp "$archive/scaling/xray-log.heat.p1" "$src/sub/run one,two.xray"
chmod 644 "$src/sub/run one,two.xray"
printf 'notes\n' >"$src/notes.txt"
head -c 300000 /dev/urandom >"$src/sub/blob.bin"
printf 'x' >"$src/sub/"$'odd\nname\xff'
: >"$src/empty"
printf '#!/bin/sh\n' >"$src/script.sh"
chmod 755 "$src/script.sh"
ln -s notes.txt "$src/link"
ln -s /etc/hostname "$src/outside"
ln -s nowhere "$src/dangling"
mkfifo "$src/pipe"
mount_source || exit 1
p=$mnt/$heat
ls "$p" >/dev/null || exit 1

# ---- read-only: errno names as in Python's errno module

refused() {   # refused NAME CODE: the python statement fails with EROFS
    is "$(cd "$mnt" && python3 -c "
import os, errno
try:
    $2
    print('done')
except OSError as e:
    print(errno.errorcode[e.errno])" 2>&1)" EROFS "$1 is refused with EROFS"
}
file=$heat/info.txt
refused "creating a file" "open('new', 'w')"
refused "creating a file inside a profile" "open('$heat/new', 'w')"
refused "writing a generated file" "os.open('$file', os.O_WRONLY)"
refused "opening for reading and writing" "os.open('$file', os.O_RDWR)"
refused "truncating on open" "os.open('$file', os.O_RDONLY | os.O_TRUNC)"
refused "truncate" "os.truncate('$file', 0)"
refused "unlink" "os.unlink('$file')"
refused "unlink of a passed-through file" "os.unlink('notes.txt')"
refused "mkdir" "os.mkdir('$heat/dir')"
refused "rmdir" "os.rmdir('$heat/tables')"
refused "rename" "os.rename('notes.txt', 'other')"
refused "rename of a generated file" "os.rename('$file', '$heat/other')"
refused "link" "os.link('notes.txt', 'other')"
refused "symlink" "os.symlink('a', 'b')"
refused "mknod" "os.mkfifo('fifo')"
refused "chmod" "os.chmod('$file', 0o777)"
refused "chown" "os.chown('$file', 1, 1)"
refused "utimes" "os.utime('$file')"
refused "setxattr" "os.setxattr('$file', 'user.a', b'b')"
refused "removexattr" "os.removexattr('$file', 'user.a')"

# ---- modes, owner, times

is "$(stat -c %a "$p" "$p/tables" "$p/info.txt" "$p/tables/values.csv" | tr '\n' ' ')" "500 500 400 400 " \
    "of a source with mode 0600 folders are 0500 and files 0400"
q="$mnt/sub/run one,two.xray"
is "$(stat -c %a "$q" "$q/metrics/time" "$q/metrics/time/hot.txt" | tr '\n' ' ')" "555 555 444 " \
    "of a source with mode 0644 folders are 0555 and files 0444"
is "$(stat -c %a "$mnt/private" "$mnt/notes.txt" "$mnt/script.sh" | tr '\n' ' ')" "700 644 755 " \
    "what is no profile keeps its mode"
is "$(stat -c '%u %g' "$p/tables/values.csv")" "$(stat -c '%u %g' "$src/$heat")" "the owner is the source's"
is "$(stat -c %y "$p/tables/values.csv")" "$(stat -c %y "$src/$heat")" "the time is the source's, to the nanosecond"
is "$(stat -c %y "$p")" "$(stat -c %y "$src/$heat")" "the folder of a profile has the source's time, to the nanosecond"
like "$(grep " $mnt " /proc/self/mounts)" 'fuse\.profilefs ro[, ].*default_permissions' \
    "the mount is a read-only fuse.profilefs with default_permissions"

for mode in 4755 2755 6711; do
    chmod $mode "$src/script.sh"
    sleep 1.1
    is "$(stat -c %a "$mnt/script.sh") $("$PROFILEFS" stat "$src/script.sh" | awk '/^Mode: / { print $2 }')" "$(printf '%o %04o' $((8#$mode & 8#1777)){,})" \
        "mode $mode is shown without set-user-ID and set-group-ID"
done
chmod 755 "$src/script.sh"
like "$(awk -v at="$mnt" '$5 == at { print $6 }' /proc/self/mountinfo)" '^ro,nosuid,nodev' "set-user-ID files and devices have no effect"

# ---- files that are not profiles

is "$(find "$mnt" -maxdepth 2 -not -path "$p/*" -not -path "$mnt/sub/run*/*" -not -path "$mnt/.profilefs*" -printf '%P%y\n' | sort)" \
   "$(cd "$src" && find . -printf '%P%y\n' | sed "s/^\(.*heat.Ab12Cd\)f/\1d/; s/xrayf/xrayd/" | sort)" \
    "everything in SOURCE appears at the same path, with any bytes in its name"
for name in notes.txt sub/blob.bin empty script.sh; do
    ok "$name passes through byte for byte" cmp "$src/$name" "$mnt/$name"
    is "$(stat -c '%s %Y' "$mnt/$name")" "$(stat -c '%s %Y' "$src/$name")" "$name keeps size and time"
done
is "$(readlink "$mnt/link") $(cat "$mnt/link")" "notes.txt notes" "a symbolic link inside SOURCE is shown and works"
is "$(readlink "$mnt/dangling")" nowhere "a dangling link is shown"
is "$(readlink "$mnt/outside")" /etc/hostname "a link that leaves SOURCE is shown as a link"
is "$(stat -c %F "$mnt/pipe")" fifo "a fifo is shown as one, without opening it"

rm -rf "$src/private" && ln -s /etc "$src/private"
ok "a folder replaced by a link to outside does not lead outside" \
    bash -c "[ \"\$(readlink '$mnt/private')\" = /etc ] || ! ls '$mnt/private/passwd'"

mkdir "$src/.profilefs"
cp "$archive/2026-03/$heat" "$src/.profilefs/hidden.xray"
cp "$archive/2026-03/$heat" "$src/sub/odd"$'\xff'
like "$(cat "$mnt/.profilefs/profiles.csv")" 'sub/odd\\xFF,' "the list of profiles is UTF-8, whatever bytes names have"
ok "the list of profiles leaves out a folder .profilefs of SOURCE" bash -c "! grep hidden '$mnt/.profilefs/profiles.csv'"
rm -r "$src/.profilefs" "$src/sub/odd"$'\xff'

# ---- -o only_profiles

unmount
mount_source -o only_profiles
is "$(cd "$mnt" && ls)" "$(printf '%s\n' sub "$heat" | sort)" "-o only_profiles leaves other files out of the root"
is "$(ls "$mnt/sub")" "run one,two.xray" "-o only_profiles leaves other files out of sub-folders"
is "$(cat "$mnt/notes.txt" 2>&1 >/dev/null | sed 's/.*: //')" "No such file or directory" \
    "a file that -o only_profiles leaves out cannot be opened"
unmount

# ---- options that would enable set-user-ID files and devices

for options in suid,dev nosuid,suid,nodev,dev user,suid,dev; do
    mount_source -o $options
    like "$(awk -v at="$mnt" '$5 == at { print $6 }' /proc/self/mountinfo)" '^ro,nosuid,nodev' \
        "-o $options leaves the mount ro,nosuid,nodev"
    unmount
done

# ---- users

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && mount_source -o allow_other 2>/dev/null; then
    chmod 755 "$work"
    as() { local id=$1; shift; setpriv --reuid "$id" --regid "$id" --clear-groups "$@"; }
    as_nobody() { as 65534 "$@"; }
    denied() { ok "$1" bash -c "! setpriv --reuid 65534 --regid 65534 --clear-groups cat '$2' 2>/dev/null"; }
    cp "$(readlink -f "$(command -v id)")" "$src/id" && chmod 6755 "$src/id"
    is "$(as_nobody "$mnt/id" -u) $(as_nobody "$mnt/id" -g)" "65534 65534" "a set-user-ID program of root's runs as its caller"
    if mknod -m 666 "$src/zero" c 1 5 2>/dev/null; then
        denied "a device in SOURCE cannot be opened" "$mnt/zero"
    else
        skip "a device in SOURCE" "mknod is not allowed here"
    fi
    rm -f "$src/id" "$src/zero"
    denied "with allow_other, others cannot read a profile that only its owner may read" "$p/info.txt"
    ok "with allow_other, others can read a profile that all may read" as_nobody cat "$q/info.txt"
    is "$(stat -c %a "$mnt/.profilefs" "$mnt/.profilefs/profiles.csv" | tr '\n' ' ')" "500 400 " \
        ".profilefs is the mounter's: it names what stands in folders that not all may enter"
    denied "others cannot read the list of profiles" "$mnt/.profilefs/profiles.csv"
    unmount

    # Profiles that are directories which anyone may list, with one file each that only its owner may read.
    for file in $(cd "$archive/hpc/solver-2023" && ls | grep 'db$'); do
        db=$src/$file.private
        cp -r "$archive/hpc/solver-2023" "$db"
        chmod -R u+rwX,go+rX "$db"
        chmod 600 "$db/$file"
    done
    cp -r "$archive/hpc/solver-2023" "$src/open"
    chmod -R u+rwX,go+rX "$src/open"
    mount_source -o allow_other
    for db in "$mnt"/*.private; do
        is "$(as_nobody find -L "$db" -type f -not -path '*/src/*' -exec cat {} + 2>/dev/null | wc -c)" 0 \
            "of a database whose $(basename "$db" .private) is private, others read nothing"
    done
    ok "a database whose files all may read is served to all" as_nobody bash -c "cat '$mnt/open/tables/values.csv' | grep -q ."
    unmount

    # Views of several profiles, all public or one of them private.
    mkdir "$src/two" "$src/some"
    for db in two/a two/b some/a; do cp -r "$src/open" "$src/$db"; done
    cp -r "$src/profile.db.private" "$src/some/b"
    chmod 755 "$src/two" "$src/some"
    mount_source -o allow_other
    ok "data about profiles that everyone may read are served to everyone" \
        as_nobody bash -c "cat '$mnt/two/runs/primary/metric/function_changes.csv' | grep -q ."
    is "$(as_nobody find -L "$mnt/some/runs" -mindepth 2 -type f -exec cat {} + 2>/dev/null | wc -c)" 0 "of runs one of which is private others read nothing"
    ok "of runs one of which is private the mounter reads everything" \
        bash -c "cat '$mnt/some/runs/primary/metric/function_changes.csv' | grep -q ."
    unmount
    rm -r "$src/two" "$src/some"
    # An experiment, which is made from profiles in subfolders: all public, then one private.
    cp -r "$archive/cube" "$archive/scaling" "$src/"
    chmod -R u+rwX,go+rX "$src/cube" "$src/scaling"
    mount_source -o allow_other
    ok "an experiment over profiles that all may read is served to all" as_nobody cat "$mnt/cube/experiment/tables/points.csv"
    unmount
    find "$src/cube" -name '*.cubex' | head -n 1 | xargs chmod 600
    mount_source -o allow_other
    is "$(as_nobody find -L "$mnt/cube/experiment" -type f -exec cat {} + 2>/dev/null | wc -c)" 0 \
        "of an experiment over profiles one of which is private others read nothing"
    unmount
    rm -r "$src/cube" "$src/scaling"
    mount_source -o allow_other

    # The owner of a private file may read the profile, also if someone else has mounted it.
    chown 1234 "$src/meta.db.private/meta.db"
    mount_source -o allow_other
    ok "the owner of a private file reads what is made from it" as 1234 cat "$mnt/meta.db.private/info.txt"
    is "$(stat -c '%u %a' "$mnt/meta.db.private/info.txt")" "1234 400" \
        "what is made from a private file belongs to the file's owner, with mode 0400"
    chmod 644 "$src/meta.db.private/meta.db"
    ok "when the mode of a private file widens, others may read" as_nobody cat "$mnt/meta.db.private/tables/metrics.csv"
    chmod 600 "$src/meta.db.private/meta.db"
    denied "when the mode of a file narrows again, others cannot read any more" "$mnt/meta.db.private/tables/metrics.csv"

    if command -v setfacl >/dev/null && setfacl -m u:65534:- "$src/sub/run one,two.xray" "$src/notes.txt" 2>/dev/null; then
        sleep 1.1
        denied "whom an access control list shuts out cannot read the profile" "$q/info.txt"
        denied "whom an access control list shuts out cannot read a file that passes through" "$mnt/notes.txt"
        is "$(stat -c %a "$mnt/notes.txt" "$q/info.txt" | tr '\n' ' ')" "600 400 " \
            "an access control list that shuts someone out takes the bits of all but the owner"
    else
        skip "access control lists" "no setfacl, or a file system without them"
    fi
else
    skip "permissions of other users" "needs root"
fi

finish
