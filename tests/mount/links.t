#!/usr/bin/env bash
# The mount shows the current targets and sizes of SOURCE's symbolic links.
. "$(dirname "$0")/lib.sh"
needs_mount

mkdir "$src/2026-04" "$src/2026-05-long" "$src/down"
touch "$src/2026-04/april" "$src/2026-05-long/may"
ln -s 2026-04 "$src/latest"
ln -s ../2026-04/april "$src/down/file"
ln -s /somewhere/else "$src/away"
mkdir "$work/packed"
ln -s some/target/that/is/not/there "$work/packed/link"
tar -C "$work/packed" -cf "$src/one.tar" link
mount_source || exit 1

# link NAME: prints the link's target and size in the mount.
link() { echo "$(readlink "$mnt/$1") $(stat -c %s "$mnt/$1")"; }

is "$(link latest)" "2026-04 7" "a link shows its target and the target's length"
is "$(ls "$mnt/latest")" april "a link leads to its target"
ln -sfn 2026-05-long "$src/latest"
is "$(readlink "$mnt/latest")" 2026-05-long "a link that is pointed elsewhere shows its new target at once"
is "$(stat -c %s "$mnt/latest")" 12 "a link that is pointed elsewhere shows the length of its new target"
is "$(ls "$mnt/latest")" may "a link that is pointed elsewhere leads to its new target"
ln -sfn x "$src/latest"
is "$(link latest)" "x 1" "a link that is pointed to a shorter target shows it and its length"
ln -sfn ../2026-05-long/may "$src/down/file"
is "$(link down/file)" "../2026-05-long/may 19" "a changed link below a folder shows its new target and the length"
ln -sfn /elsewhere "$src/away"
is "$(link away)" "/elsewhere 10" "a changed link to outside SOURCE shows its new target and the length"
# A process that holds the link itself open asks by its inode, not by its name.
is "$(python3 - "$mnt/latest" "$src/latest" <<'PY'
import os, sys
held = os.open(sys.argv[1], os.O_PATH | os.O_NOFOLLOW)
os.unlink(sys.argv[2])
os.symlink("a-longer-target", sys.argv[2])
print(os.readlink("", dir_fd=held), os.fstat(held).st_size)
PY
)" "a-longer-target 15" "a program that holds a link open sees its new target and the length"
rm "$src/latest"
mkdir "$src/latest"
touch "$src/latest/inside"
sleep 1.1
is "$(ls "$mnt/latest")" inside "a folder that has taken a link's place is entered"

is "$(link one.tar/link)" "some/target/that/is/not/there 29" "a link in an archive has its target's length"
is "$(tar -C "$mnt" -cf - down one.tar | tar -tvf - | grep -c -- '->')" 2 "tar packs links"

finish
