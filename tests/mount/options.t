#!/usr/bin/env bash
# Options: those of mount(8) are accepted, unknown options and invalid values are rejected with one line.
. "$(dirname "$0")/lib.sh"
needs_mount

copy_sample

# refused OPTIONS MESSAGE: mounting, and a command, end with status 2 and print this one line.
refused() {
    timeout 60 "$PROFILEFS" -o "$1" "$src" "$mnt" >"$work/said" 2>&1
    is "$?: $(cat "$work/said")" "2: profilefs: $2" "-o $1 is refused"
    timeout 60 "$PROFILEFS" -o "$1" cat "$src/$heat/info.txt" >"$work/said" 2>&1
    is "$?: $(cat "$work/said")" "2: profilefs: $2" "a command refuses -o $1"
    if is_mounted; then unmount; fi
}

# ---- options of mount(8)

of_mount="defaults auto noauto user user=me nouser users nousers owner noowner group nogroup nofail _netdev rw suid nosuid dev nodev exec noexec
    sync async dirsync atime noatime diratime nodiratime relatime norelatime strictatime nostrictatime lazytime nolazytime iversion noiversion
    mand nomand silent loud symfollow comment=archive x-systemd.automount x-gvfs-show X-mount.mkdir ro"
mount_source -o "$(tr -s ' \n' , <<<"$of_mount" | sed 's/,$//')" >"$work/said" 2>&1
is "$?: $(cat "$work/said")" "0: " "options of mount(8) are accepted silently"
ok "a mount with options of mount(8) works" timeout 20 test -d "$mnt/$heat/tables"
unmount
for option in noatime nodiratime relatime strictatime lazytime sync dirsync noexec; do
    mount_source -o $option >"$work/said" 2>&1
    is "$? $(is_mounted && echo mounted): $(cat "$work/said")" "0 mounted: " "-o $option is accepted silently"
    if [ $option = noexec ]; then
        like "$(awk -v at="$mnt" '$5 == at { print $6 }' /proc/self/mountinfo)" noexec "-o noexec keeps its meaning"
    fi
    unmount
done

# ---- unknown options

for option in bogus=1 bogus metrik=calls only_profile noatim relatime=1 x comment remount bind nosymfollow; do
    refused $option "$option: unknown option; see profilefs --help"
done
refused "noatime,bogus=1,ro" "bogus=1: unknown option; see profilefs --help"

# ---- values

for option in metric instr_map cache cache_dir cache_limit; do
    refused "$option=" "$option=: value is missing"
done
for size in "64 " " 64" "64M " "64 M" -1 " -1" +1 M x 64X 64MB 0x10 1e3 1.5G 20000000T 99999999999999999999; do
    refused "cache=$size" "cache=$size: invalid size"
    refused "cache_limit=$size" "cache_limit=$size: invalid size"
done
for size in 65536 64k 64K 64m 1G 1t; do
    ok "-o cache=$size is a size" "$PROFILEFS" -o "cache=$size,cache_limit=$size" cat "$src/$heat/info.txt"
done

finish
