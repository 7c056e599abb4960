#!/usr/bin/env bash
# `make install` installs all files, and mount(8) finds the helper.
. "$(dirname "$0")/lib.sh"

build=$(dirname "$PROFILEFS")
make -s -C "$top" BUILD="$build" DESTDIR="$work/dest" PREFIX=/usr install >"$work/log" 2>&1 ||
    skip_all "cannot install from $build: $(tail -n 1 "$work/log")"
like "$(make -n -C "$top" BUILD="$work/fresh" DESTDIR="$work/dest2" install 2>/dev/null)" '^building with link-time optimisation in .*/fresh/optimised' \
    "make install announces a second build"
is "$(make -s -C "$top" BUILD="$build" DESTDIR="$work/dest2" PREFIX=/usr install | grep -c 'building once')" 0 \
    "make install announces no second build when it is done"
rm -r "$work/dest2"
is "$(cd "$work/dest" && find . -type f -not -path '*/doc/*' | sort)" "$(printf '%s\n' ./sbin/mount.profilefs ./usr/bin/profilefs \
    ./usr/share/bash-completion/completions/profilefs ./usr/share/fish/vendor_completions.d/profilefs.fish \
    ./usr/share/man/man1/profilefs.1 ./usr/share/zsh/site-functions/_profilefs)" "make install DESTDIR= PREFIX= installs these files"
is "$(cd "$work/dest/usr/share/doc/profilefs" && ls | tr '\n' ' ')" \
    "CHANGELOG.md README.md agents.md archives.md cluster.md compare.md examples formats formats.md limits.md security.md tables.md tree.md " \
    "make install installs the documents for users"
is "$(ls "$work/dest/usr/share/doc/profilefs/formats")" "$(ls "$top/docs/formats")" "make install installs one document per format"
like "$("$work/dest/usr/bin/profilefs" --version)" '^profilefs ' "the program that make install installs runs"
ok "the man page has no errors" bash -c "out=\$(man --warnings=w -l '$work/dest/usr/share/man/man1/profilefs.1' 2>&1 >/dev/null); echo \"\$out\"; [ -z \"\$out\" ]"
synopsis=$(man -l "$work/dest/usr/share/man/man1/profilefs.1" 2>/dev/null | col -b | sed -n '/^SYNOPSIS/,/^DESCRIPTION/p')
for command in $("$PROFILEFS" --help | awk '$1 == "ls" { on = 1 } !NF { on = 0 } on { print $1 }'); do
    for word in "$command" $("$PROFILEFS" "$command" --help | grep -o '^  --[a-z]*'); do
        ok "the man page's synopsis has $word of $command" grep -qwF -e "$word" <<<"${synopsis//‐/-}"
    done
done
ok "bash takes the completion" bash -n "$work/dest/usr/share/bash-completion/completions/profilefs"
is "$(bash -c '. "$0"; COMP_WORDS=(profilefs ch); COMP_CWORD=1; COMPREPLY=(); _profilefs; echo "${COMPREPLY[@]}"' \
    "$work/dest/usr/share/bash-completion/completions/profilefs")" check "the installed completion of bash completes a command"
like "$(make -n -C "$top" BUILD="$build" DESTDIR="$work/dest" install | grep fish)" "$work/dest/etc/fish/completions/" \
    "make install without PREFIX puts the completion of fish where fish looks"
make -s -C "$top" BUILD="$build" DESTDIR="$work/dest" PREFIX=/usr uninstall
is "$(find "$work/dest" -type f)" "" "make uninstall removes all files"

# ---- the Debian package

if command -v dpkg-shlibdeps >/dev/null && package=$(cd "$top" && BUILD="$build" scripts/deb 2>"$work/log" | tail -n 1) &&
    package=$(cd "$top" && realpath "$package"); then
    mkdir -p "$work/root/var/lib/dpkg/"{info,updates}
    touch "$work/root/var/lib/dpkg/"{status,available}
    inside() { dpkg --root="$work/root" --log=/dev/null --force-not-root --force-depends --force-script-chrootless "$@" 2>&1; }
    ok "the package installs" inside -i "$package"
    like "$("$work/root/usr/bin/profilefs" cat "$archive/2026-03/$heat/info.txt")" '^Format: ' "the program of the package runs"
    like "$(dpkg-deb -f "$package" Depends)" 'libfuse3.*fuse3$' "the package depends on the program's libraries and on fusermount3"
    is "$(dpkg-deb -f "$package" Version)" "$("$PROFILEFS" --version | sed 's/^profilefs \([^ ]*\).*/\1/')" \
        "the version of the package is the program's"
    mkdir -p "$work/root/var/tmp/profilefs-0" "$work/root/var/tmp/profilefs-1000" "$work/root/var/tmp/profilefs-kept" "$work/elsewhere"
    ln -s "$work/elsewhere" "$work/root/var/tmp/profilefs-1001"
    ok "the package can be removed" inside -r profilefs
    is "$(find "$work/root" -type f -not -path '*/var/lib/dpkg/*')" "" "the removed package leaves no file"
    is "$(ls "$work/root/var/tmp" | tr '\n' ' ')$(ls -d "$work/elsewhere")" "profilefs-1001 profilefs-kept $work/elsewhere" \
        "the removed package leaves no folder of temporary files, and other entries of /var/tmp stay"
    first=$(sha256sum "$package")
    sleep 1.1
    (cd "$top" && umask 077 && TZ=Asia/Tokyo BUILD="$build" scripts/deb >/dev/null 2>&1)
    is "$(sha256sum "$package")" "$first" "the same commit makes the same package again"
    is "$(date -u -d "$(dpkg-deb --fsys-tarfile "$package" | tar --utc --full-time -tvf - | awk '{ print $4, $5 }' | sort -u)" +%s)" \
        "$(git -C "$top" log -1 --format=%ct)" "all files of the package have the commit's time"
    dpkg-deb -x "$package" "$work/unpacked"
    ok "the program of the package does not hold the path that it was built in" \
        bash -c "! grep -qF '$top' '$work/unpacked/usr/bin/profilefs'"
    if command -v lintian >/dev/null; then
        is "$(lintian --allow-root --fail-on none "$package" 2>/dev/null | grep '^E:')" "" "lintian finds no errors"
    else
        skip "lintian" "it is not installed"
    fi
else
    skip "a Debian package" "no dpkg-shlibdeps: $(tail -n 1 "$work/log")"
fi

# mount(8) runs helpers only as root and only from /sbin. This test adds the project's helper to /sbin, in a mount namespace of
# its own.
copy_sample
if [ "$(id -u)" = 0 ] && [ -w /dev/fuse ] && unshare -m true 2>/dev/null && [ -x /sbin/mount.fuse3 ]; then
    make -s -C "$top" BUILD="$build" DESTDIR="$work/dest" PREFIX=/usr install >/dev/null
    in_namespace() {    # with our program in /usr/bin and our helper in /sbin
        unshare -m bash -c '
            mkdir -p "$0/bin.up" "$0/bin.work" "$0/sbin.up" "$0/sbin.work"
            cp "$0/dest/usr/bin/profilefs" "$0/bin.up/"
            cp "$0/dest/sbin/mount.profilefs" "$0/sbin.up/"
            mount -t overlay overlay -o "lowerdir=/usr/bin,upperdir=$0/bin.up,workdir=$0/bin.work" /usr/bin &&
            mount -t overlay overlay -o "lowerdir=$(realpath /sbin),upperdir=$0/sbin.up,workdir=$0/sbin.work" "$(realpath /sbin)" || exit 77
            cd /; eval "$1"; status=$?; umount "$2" 2>/dev/null; exit $status' "$work" "$1" "$mnt"
    }
    in_namespace true
    if [ $? = 77 ]; then
        skip "mount -t profilefs" "no overlay mount here"
    else
        ok "mount -t profilefs works" in_namespace "mount -t profilefs '$src' '$mnt' && grep Format '$mnt/$heat/info.txt'"
        ok "mount -t fuse.profilefs with options works" \
            in_namespace "mount -t fuse.profilefs -o ro,allow_other,metric=calls '$src' '$mnt' && grep 'Primary: calls' '$mnt/$heat/info.txt'"
        ok "an fstab line with options of mount's own works" in_namespace \
            "echo '$src $mnt profilefs noauto,user,x-systemd.automount,_netdev,only_profiles 0 0' >'$work/fstab' && mount -T '$work/fstab' '$mnt' && grep Format '$mnt/$heat/info.txt'"
        flags="grep -F ' $mnt ' /proc/self/mountinfo | grep -E ' ro,nosuid,nodev[ ,]'"
        for type in profilefs fuse.profilefs; do
            ok "mount -t $type is nosuid,nodev" in_namespace "mount -t $type -o allow_other '$src' '$mnt' && $flags"
            ok "mount -t $type -o suid,dev is nosuid,nodev" in_namespace "mount -t $type -o suid,dev '$src' '$mnt' && $flags"
            ok "a mount of type $type from fstab with suid,dev is nosuid,nodev" in_namespace \
                "echo '$src $mnt $type defaults,suid,dev 0 0' >'$work/fstab' && mount -T '$work/fstab' '$mnt' && $flags"
            ok "options of fstab about times, devices and users are accepted silently with type $type" in_namespace \
                "echo '$src $mnt $type noatime,nodiratime,relatime,strictatime,lazytime,nouser,async,exec,nofail,comment=x,x-gvfs-hide 0 0' >'$work/fstab' &&
                out=\$(mount -T '$work/fstab' '$mnt' 2>&1) && [ -z \"\$out\" ] && $flags"
        done
        ok "mount -t profilefs fails for a mount point that does not exist" \
            in_namespace "! mount -t profilefs '$src' '$work/nowhere'"
    fi
else
    skip "mount -t profilefs" "needs root and mount namespaces"
fi

finish
