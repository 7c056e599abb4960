#!/usr/bin/env bash
# Tools that walk the whole tree do not meet a folder per context, because contexts and export are links to folders that no listing
# shows. Tools that enter or follow the links find everything.
. "$(dirname "$0")/lib.sh"
needs_mount

mkdir "$src/wide" "$src/one"
# contexts N: prints a profile with N contexts, nested ten deep.
contexts() { awk -v n="$1" 'BEGIN { for (i = 0; i < n / 10; i++) { s = "f" i; for (k = 1; k < 10; k++) s = s ";g" k; print s, 1 } }'; }
contexts 6000 >"$src/wide/run.folded"
contexts 10 >"$src/one/run.folded"
printf 'main;f 1\n' >"$src/one/other.folded"
mount_source || exit 1
wide=$mnt/wide/run.folded one=$mnt/one/run.folded
hidden() { find "$1" -path '*/.*' | grep -v "^$1$"; }

is "$(readlink "$wide/contexts" "$wide/export" | tr '\n' ' ')" ".contexts .export " "contexts and export are links"
is "$(stat -c '%F %a %s %h' "$wide/contexts" "$wide/export" | tr '\n' ' ')" "symbolic link 777 9 1 symbolic link 777 7 1 " \
    "the links contexts and export are as long as their targets"
is "$(ls -A "$wide" | tr '\n' ' ')" "contexts export info.txt metrics primary tables threads " "ls -A shows no hidden folder"
is "$(stat -c %F "$wide/.contexts" "$wide/.export" | uniq)" directory \
    ".contexts and .export are folders although they are not listed"
is "$(stat -c %i "$wide/.contexts")" "$(stat -L -c %i "$wide/contexts")" "the link contexts leads to the folder .contexts"
ok "no other folder has .contexts, .export or a hidden metrics/" \
    bash -c "! ls -d '$wide/tables/.contexts' '$wide/.metrics' '$mnt/wide/.export' 2>/dev/null"

names() { find "$1" | wc -l; }
is "$(names "$wide")" "$(names "$one")" "find meets as many names in a profile of 6000 contexts as in one of 10"
ok "ls -R prints as many lines for a profile of 6000 contexts as for one of 10" \
    test "$(ls -R "$wide" | wc -l)" -eq "$(ls -R "$one" | wc -l)"
is "$(hidden "$mnt/wide")" "" "find meets no hidden folder"
ok "os.walk meets no hidden folder" python3 - "$wide" <<'P'
import os, sys
sys.exit(any("/.contexts" in base or "/.export" in base for base, _, _ in os.walk(sys.argv[1])))
P
opened() { strace -f -qq -e trace=openat -o "$work/trace" "$@" >/dev/null 2>&1; grep -c O_RDONLY "$work/trace"; }
if command -v strace >/dev/null; then
    ok "grep -r opens as few files" test "$(opened grep -r nothing "$wide")" -lt 200
else
    skip "grep -r opens as few files" "strace is not installed"
fi
is "$(cd "$wide" && grep -rl 'g9' . | grep -E 'contexts/|export/')" "" "grep -r finds nothing behind the links"
is "$(cd "$wide" && du -a . | wc -l)" "$(names "$wide")" "du counts what find meets"

# Some tools copy the links, others follow them.
mkdir "$work/copy"
tar -cf "$work/links.tar" -C "$mnt/wide" run.folded
is "$(tar -tf "$work/links.tar" | wc -l)" "$(names "$wide")" "tar packs the links"
cp -a "$wide" "$work/copy/links"
is "$(readlink "$work/copy/links/contexts") $(names "$work/copy/links")" ".contexts $(names "$wide")" "cp -a copies the links"
if command -v rsync >/dev/null; then
    rsync -a "$wide/" "$work/copy/synced"
    is "$(readlink "$work/copy/synced/export") $(names "$work/copy/synced")" ".export $(names "$wide")" "rsync -a copies the links"
else
    skip "rsync -a copies the links" "rsync is not installed"
fi
cd "$one" || exit 1
want=$(find .contexts/ .export/ -type f | sed 's|^\./||; s|^\.||' | sort)
behind() { (cd "$1" && find contexts export -type f | sort); }
ok "there is something behind the links" test "$(wc -l <<<"$want")" -gt 20
is "$(find -L contexts export -type f | sort)" "$want" "find -L reaches all files behind the links"
is "$(grep -Rlc '' contexts export | sort)" "$want" "grep -R reads all files behind the links"
cp -rL "$one" "$work/copy/all"
is "$(behind "$work/copy/all")" "$want" "cp -rL copies all files behind the links"
ok "cp -rL copies the contexts byte for byte" diff -r "$work/copy/all/contexts" "$one/.contexts"
mkdir "$work/untarred"
tar -chf - -C "$mnt/one" run.folded | tar -xf - -C "$work/untarred"
is "$(behind "$work/untarred/run.folded")" "$want" "tar -h packs all files behind the links"
is "$(cd contexts/f0/g1 && pwd -P && ls | tr '\n' ' ')" "$(printf '%s\n' "$one/.contexts/f0/g1" "g2 info.txt values.csv ")" \
    "a shell can go into a context"
is "$(cd contexts && cd -P .. && pwd -P)" "$one" "a shell in contexts can go back up"
cd "$work" || exit 1

# ---- runs/

r=$mnt/one/runs
is "$(ls -A "$r" | tr '\n' ' ')" "changes export info.txt overview primary " "runs/ lists no hidden folder"
is "$(readlink "$r/export") $(stat -c '%F %a %s' "$r/export")" ".export symbolic link 777 7" "export of runs/ is a link"
is "$(ls "$r/export/")" "$(ls "$r/changes")" "export of runs/ leads to a folder with one folder per metric"
is "$(hidden "$r")" "" "find meets no hidden folder in runs/"

# ---- a mount that has the profile in its cache

ls -l "$wide" "$wide/contexts/" >/dev/null
unmount
mount_source || exit 1
is "$(ls -A "$wide" | tr '\n' ' ')" "contexts export info.txt metrics primary tables threads " "a later mount lists the same"
is "$(stat -c '%F %s' "$wide/contexts" "$wide/.contexts" | tr '\n' ' ')" "symbolic link 9 directory 0 " \
    "a later mount finds entries that it does not list"
is "$(ls "$wide/contexts/" | wc -l)" 600 "a later mount lists the content of contexts"
unmount

# ---- SOURCE is a profile

source=$src/one/run.folded mount_source || exit 1
is "$(ls -A "$mnt" | tr '\n' ' ')" ".profilefs contexts export info.txt metrics primary tables threads " \
    "the root of a mounted profile lists no hidden folder"
ok "at the root of a mounted profile the links lead to hidden folders" \
    test -d "$mnt/.contexts" -a -f "$mnt/contexts/f0/info.txt" -a -f "$mnt/export/profile.pb"
finish
