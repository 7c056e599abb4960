#!/usr/bin/env bash
# Mounting and unmounting affect this mount only, whatever its name and however its server ends.
. "$(dirname "$0")/lib.sh"
needs_mount

copy_sample
name=$(basename "$mnt")

# ---- a relative mount point

for signal in TERM INT HUP; do
    cd "$work"
    serve src "$name"
    cd /
    ok "a mount at a relative mount point works (before SIG$signal)" timeout 20 test -d "$mnt/$heat/tables"
    kill -s $signal $!
    ok "SIG$signal ends the server of a relative mount point" ended $!
    ok "after SIG$signal the mount at a relative mount point is gone" bash -c "! grep -qF ' $mnt ' /proc/self/mounts"
done

if [ "$(id -u)" = 0 ] && [ ! -e "/$name.profilefs-test" ] && mkdir "/$name.profilefs-test" 2>/dev/null; then
    mkdir "$work/$name.profilefs-test"
    mount -t tmpfs none "/$name.profilefs-test"
    cd "$work"
    mnt=$work/$name.profilefs-test serve src "$name.profilefs-test"
    cd /
    ok "a mount works whose name is also a mount at the root of the system" timeout 20 test -d "$work/$name.profilefs-test/$heat"
    kill -TERM $!
    ended $!
    like "$(cat /proc/self/mounts)" " /$name.profilefs-test tmpfs" "a mount of that name at the root of the system stays"
    is "$(grep -cF "$work/$name.profilefs-test" /proc/self/mounts)" 0 "the mount below $name.profilefs-test is gone after SIGTERM"
    umount "/$name.profilefs-test"
    rmdir "/$name.profilefs-test"
else
    skip "a mount of that name at the root of the system" "needs root"
fi

# ---- read-ahead by the kernel

(timeout 60 "$PROFILEFS" "$src" "$mnt") || exit 1
ahead=/sys/class/bdi/$(mountpoint -d "$mnt")/read_ahead_kb
if [ -w "$ahead" ]; then
    timeout 20 ls "$mnt" >/dev/null
    is "$(cat "$ahead")" 2048 "the kernel asks for two of its largest requests ahead of a reader"
else
    skip "how far the kernel reads ahead" "only root may say"
fi
unmount

# ---- a mount point in SOURCE

mkdir "$src/inner" "$src/sub"
(cd "$src" && timeout 60 "$PROFILEFS" . inner) || exit 1
inner=$src/inner
is "$(cd "$inner" && timeout 20 find . -maxdepth 1 -not -name .profilefs | sort | tr '\n' ' ')" ". ./sub ./$heat " \
    "mounted below SOURCE, the mount shows all but itself"
is "$(timeout 20 cat "$inner/inner/info.txt" 2>&1 >/dev/null | sed 's/.*: //')" "No such file or directory" \
    "a mount point in SOURCE cannot be entered by name within the mount"
ok "a profile beside a mount point in SOURCE is served" timeout 20 cat "$inner/$heat/info.txt"
is "$(grep -c . <(timeout 20 cat "$inner/.profilefs/profiles.csv"))" 2 "a profile beside a mount point in SOURCE is listed once"
if [ "$(id -u)" = 0 ] && mount --bind "$inner" "$src/sub" 2>/dev/null; then
    ok "a bind mount of the mount in SOURCE is left out" bash -c "! timeout 20 ls '$inner/sub'"
    umount "$src/sub"
    sleep 1.1
else
    skip "a further mount of it in SOURCE" "needs root"
fi
mkdir "$src/second"
timeout 60 "$PROFILEFS" "$src" "$src/second" || exit 1
ok "two mounts in one SOURCE leave each other out" \
    bash -c "[ \"\$(timeout 20 ls '$inner' '$src/second' | grep -c -e inner -e second -e '^$heat')\" = 4 ]"
fusermount3 -u "$src/second"
fusermount3 -u "$inner"
rmdir "$src/second" "$inner" "$src/sub"

timeout 60 "$PROFILEFS" "$src" "$src" || exit 1
ok "a mount over SOURCE itself serves what lies below" timeout 20 cat "$src/$heat/info.txt"
fusermount3 -u "$src"

# ---- a mount point that is in use

odd="$work/a b"
mkdir "$odd" "$work/other"
for point in "$mnt" "$odd"; do
    timeout 60 "$PROFILEFS" "$src" "$point" || exit 1
    for source in "$src" "$work/other"; do
        message=$(timeout 60 "$PROFILEFS" "$source" "$point" 2>&1)
        is "$?: $message" "3: profilefs: $point: $src is already mounted here" "a second mount at one mount point is refused"
    done
    (cd "$work" && timeout 60 "$PROFILEFS" "$src" "./other/../${point##*/}") >"$work/said" 2>&1
    is "$?" 3 "a second mount at one mount point is refused under another path"
    is "$(grep -cF "${point//"$work/a b"/$work/a\\040b} " /proc/self/mounts)" 1 \
        "the first mount stays after a second one is refused"
    ok "the first mount serves after a second one is refused" timeout 20 test -d "$point/$heat/tables"
    while fusermount3 -u "$point" 2>/dev/null; do :; done
done
if [ "$(id -u)" = 0 ] && mount -t tmpfs none "$work/other"; then
    ok "a mount over a file system of another kind works" timeout 60 "$PROFILEFS" "$src" "$work/other"
    fusermount3 -u "$work/other"
    umount "$work/other"
else
    skip "a mount over a file system of another kind" "needs root"
fi
unset source

# ---- no FUSE

without_fuse() { unshare -m bash -c 'mount -t tmpfs -o nodev none /dev && eval "$1"; exec "$0" "$2" "$3"' "$PROFILEFS" "$1" "$src" "$mnt" 2>&1; }
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    hint='; `profilefs tree` and `profilefs cat` need no mount'
    message=$(without_fuse :)
    is "$?: $message" "3: profilefs: failed to open /dev/fuse: No such file or directory$hint" \
        "a failure without /dev/fuse names the commands that need no mount"
    message=$(without_fuse "mknod /dev/fuse c 10 229")
    is "$?: $message" "3: profilefs: failed to open /dev/fuse: Permission denied$hint" \
        "a failure to open /dev/fuse names the commands that need no mount"
else
    skip "mounting without /dev/fuse" "needs root and mount namespaces"
fi

# ---- killed servers

mount_source || exit 1
kill -9 $(pgrep -f "^$PROFILEFS .*$mnt\$" | sort -rn) # the higher id first: the unmounter, which would unmount
for try in $(seq 250); do is_mounted || break; stat -f "$mnt" >/dev/null 2>&1 || break; sleep 0.02; done
message=$(timeout 60 "$PROFILEFS" "$src" "$mnt" 2>&1 >/dev/null)
is "$message" "profilefs: $mnt: stale mount (its server died): removed" "mounting over the stale mount of a killed server reports its removal"
ok "a mount that replaced a stale one works" test -d "$mnt/$heat/tables"
is "$(grep -cF " $mnt " /proc/self/mounts)" 1 "a mount that replaced a stale one is the only one at its mount point"
unmount

finish
