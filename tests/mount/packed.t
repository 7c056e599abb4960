#!/usr/bin/env bash
# A compressed file (gzip, zstd, xz, bzip2) is served as the profile that it unpacks to, in any format.
. "$(dirname "$0")/lib.sh"

needs_mount

kinds="gz xz bz2"
! command -v zstd >"$work/which" || kinds="$kinds zst"

# pack KIND FROM TO
pack() {
    case $1 in
    gz) gzip -nc "$2" ;;
    xz) xz -c "$2" ;;
    bz2) bzip2 -c "$2" ;;
    zst) zstd -qc "$2" ;;
    esac >"$3"
}

# There is one profile of each single-file format. It is alone in its folder, because drivers may use files beside it.
formats="2026-03/xray-log.heat.Ab12Cd afsim/coast.afperf cube/heat.p8.r1/profile.cubex gpu/heat.sqlite
nightly/2026-05-01.folded perun/lookup.perf scaling/heat.extra-p scaling/heat.jsonl scaling/heat.txt
spans/build.trace.json spans/heat.speedscope.json spans/page.cpuprofile spans/page.heapprofile stacks/heat.perf.txt
valgrind/cachegrind.out.4712 valgrind/callgrind.out.4711 valgrind/massif.out.4713 2026-04/xray-log.heat.damaged"
for path in $formats; do
    name=${path##*/}
    mkdir "$src/$name" "$src/$name/packed"
    cp "$archive/$path" "$src/$name/$name"
    for kind in $kinds; do
        pack "$kind" "$archive/$path" "$src/$name/packed/$name.$kind"
    done
done
texts="nightly/2026-05-01.folded stacks/heat.perf.txt valgrind/cachegrind.out.4712 valgrind/callgrind.out.4711 valgrind/massif.out.4713"
for path in $texts; do
    name=${path##*/}
    mkdir "$src/$name/marked"
    { printf '\357\273\277' && cat "$archive/$path"; } >"$src/$name/marked/$name"
    pack gz "$src/$name/marked/$name" "$src/$name/marked/$name.gz"
done
awk 'BEGIN { srand(1); for (i = 0; i < 200000; i++) printf "main;step_%d;%x %d\n", i % 97, rand() * 2^31, i + 1 }' >"$work/long"
for kind in $kinds; do
    pack "$kind" "$archive/README.txt" "$src/text.$kind"
    pack "$kind" "$work/long" "$work/whole"
    head -c $(($(stat -c %s "$work/whole") * 3 / 4)) "$work/whole" >"$src/cut.folded.$kind"
done
head -c 20000 /dev/zero | tr '\0' x >"$work/x"
pack gz "$work/x" "$src/nothing.gz"

# same NAME SUFFIX: the packed copy NAME.SUFFIX is served with the same files, except in src/.
same() {
    diff -r --exclude=src "$mnt/$1/$1" "$mnt/$1/packed/$1.$2"
}

marked() {
    diff -r --exclude=warnings.csv "$mnt/$1/$1" "$mnt/$1/marked/$1$2"
}

# Drivers do not see the kind of compression, so only some formats are tested with all kinds, the others with one or two.
mount_source -o no_runs
turn=0
for path in $formats; do
    name=${path##*/}
    for kind in $kinds; do
        case $((turn++ % 3)),$name in
        0,* | *,xray-log.heat.Ab12Cd | *,heat.sqlite | *,profile.cubex)
            ok "$name.$kind shows what $name shows" same "$name" "$kind" ;;
        esac
    done
done
for path in $texts; do
    name=${path##*/}
    ok "a byte order mark changes nothing: $name" marked "$name" ""
    ok "a byte order mark changes nothing: $name.gz" marked "$name" .gz
done
for kind in $kinds; do
    ok "a compressed text that is no profile passes through: text.$kind" cmp "$src/text.$kind" "$mnt/text.$kind"
done
for kind in $kinds; do
    is "$(stat -c %F "$mnt/cut.folded.$kind")" directory "a compressed profile that is cut is a profile: $kind"
    like "$(cat "$mnt/cut.folded.$kind/tables/warnings.csv")" ',fatal,' "warnings.csv tells that a compressed profile is cut: $kind"
    ok "contexts before the cut of a compressed profile are there: $kind" \
        test "$(wc -l <"$mnt/cut.folded.$kind/tables/contexts.csv")" -gt 90000
done
pack gz "$archive/valgrind/massif.out.4713" "$src/gpu.gz"
is "$(stat -c %F "$mnt/gpu.gz")" directory "a compressed profile that appears in a mounted folder is recognised"
pack xz "$archive/stacks/heat.folded" "$work/new" && cp "$work/new" "$src/gpu.gz"
sleep 1.1
is "$(grep Format "$mnt/gpu.gz/info.txt")" "Format: collapsed" \
    "a compressed profile that changes is recognised anew, whatever its suffix says"
is "$(stat -c %Y "$mnt/gpu.gz/info.txt")" "$(stat -c %Y "$src/gpu.gz")" \
    "files of a compressed profile have the time of the compressed file"
unmount

mount_source -o no_archives,no_runs,cache=1M
ok "the limit of unpacked data does not change what is served of a database" same heat.sqlite xz
ok "the limit of unpacked data does not change what is served of a text" same heat.perf.txt bz2
unmount

is "$("$PROFILEFS" cat "$src/profile.cubex/packed/profile.cubex.xz/tables/metrics.csv" | head -n 1 | cut -d, -f1)" id \
    "cat prints a table of a compressed profile in a path"
cp "$archive/stacks/heat.folded" "$work/heat.folded"
pack bz2 "$work/heat.folded" "$work/heat.folded.bz2"
ok "compare takes a compressed profile" "$PROFILEFS" compare "$work/heat.folded" "$work/heat.folded.bz2"
ok "check takes a compressed profile" "$PROFILEFS" check "$work/heat.folded.bz2"

finish
