#!/usr/bin/env bash
# Tests the build as on other systems (32 bits, no compiler, other versions of libfuse), and the tour of scripts/try.
. "$(dirname "$0")/lib.sh"

build=$(dirname "$PROFILEFS")
for target in all install; do
    like "$(make -s -n -C "$top" BUILD="$work/32" CFLAGS=-m32 $target 2>&1)" \
        '^Makefile:[0-9]+: \*\*\* profilefs builds for 64-bit machines only: .* has no __int128 here\.  Stop\.$' "make $target for 32 bits is refused in one sentence"
done
ok "where there is no compiler, make says that instead" bash -c "! make -n -C '$top' BUILD='$work/none' CC=/nonexistent all 2>&1 | grep 64-bit"

# libfuse's header, with a warning in it.
mkdir "$work/fuse3" "$work/pkgconfig"
cp "$(pkg-config --variable=includedir fuse3)"/fuse3/*.h "$work/fuse3/"
printf '\nstruct pf_test_of_warnings { int a; ; };\n' >>"$work/fuse3/fuse_lowlevel.h"
printf 'Name: fuse3\nDescription: test\nVersion: 3.17.0\nLibs: -lfuse3\nCflags: -I%s/fuse3\n' "$work" >"$work/pkgconfig/fuse3.pc"
ok "warnings in the headers of libraries do not stop the build" \
    env PKG_CONFIG_PATH="$work/pkgconfig" make -s -C "$top" BUILD="$work/build" WERROR=-Werror CFLAGS=-O0 "$work/build/fs/main.o"
like "$(PKG_CONFIG_PATH="$work/pkgconfig" make -n -B -C "$top" BUILD="$work/build" "$work/build/fs/main.o")" "-isystem $work/fuse3" \
    "libfuse's header is included as a system header"

# Only since 3.17 does libfuse send the reply to FUSE_INIT as this program needs it. Thus the front ends are built for a version
# before 3.17 and for one after it; the header's macros define the version.
for minor in 14 18; do
    sed -i -E "s/(define FUSE_MINOR_VERSION) .*/\\1 $minor/" "$work/fuse3"/*.h
    rm -rf "$work/build"
    ok "the front ends build with the header of libfuse 3.$minor" \
        env PKG_CONFIG_PATH="$work/pkgconfig" make -s -C "$top" BUILD="$work/build" WERROR=-Werror CFLAGS=-O0 "$work/build/fs/"{main,fuse/mount,fuse/ops}.o
done

is "$(grep -oE '[a-z-]*-[0-9]+-dev' "$top/scripts/deps")" "" "scripts/deps asks for no version of a compiler's library"

# ---- the tour

mkdir "$work/bin"
printf '#!/bin/sh\necho no column >&2\nexit 127\n' >"$work/bin/column"
chmod +x "$work/bin/column"
try() { BUILD=$build PATH=$work/bin:$PATH timeout 300 "$top/scripts/try" </dev/null 2>&1; }
tour() { sed -n '/whatever wrote them/,/^Where next/p'; }
if ! try >"$work/tour" || ! grep -q 'Where next' "$work/tour"; then
    skip "the tour" "$(tail -n 1 "$work/tour")"
else
    if [ -w /dev/fuse ]; then
        ok "on a mount, the tour's question across formats has an answer without the program column" \
            test "$(tour <"$work/tour" | grep -cE '^ *[0-9.]+%? +[a-z0-9./-]+/primary/metric/hot.txt')" -ge 12
    fi
    if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
        export -f try; export build work top
        unshare -m bash -c 'touch "$work/empty" && mount --bind "$work/empty" /dev/fuse 2>/dev/null; mount -o remount,bind,ro /dev/fuse; try' >"$work/tour"
        like "$(cat "$work/tour")" '^No mount is possible here \(profilefs: failed to open /dev/fuse' \
            "without /dev/fuse the tour goes on without a mount"
        ok "without a mount the tour asks its question across formats" \
            bash -c "grep -c '^xray,time' '$work/tour' && grep -c '^[a-z-]*,.*stencil_row' '$work/tour'"
        is "$(tour <"$work/tour" | grep -oE '^(xray|cube|pprof|callgrind|collapsed),' | sort -u | wc -l)" 5 \
            "without a mount the tour's answer has rows of five formats"
    fi
fi
finish
