#!/usr/bin/env bash
# The commands print without FUSE what the mount serves, and report the result by their exit status.
. "$(dirname "$0")/lib.sh"

copy_sample
mkdir "$src/sub"
cp "$archive/perun/lookup.perf" "$src/sub/"
cp "$archive/2026-04/xray-log.heat.damaged" "$src/sub/bad.xray"
printf 'notes\n' >"$src/notes.txt"
profilefs() { timeout 60 "$PROFILEFS" "$@"; }
status() { "$@" >"$work/stdout" 2>"$work/stderr"; echo $?; }
p=$src/$heat

# ---- commands without a mount

is "$(profilefs ls "$src")" "$(printf '%s\n' .profilefs/ notes.txt sub/ "$heat/")" \
    "ls of SOURCE shows what the mount's root holds, with a slash after folders"
is "$(profilefs ls "$p" | tr '\n' ' ')" "contexts export info.txt metrics/ primary/ tables/ threads/ " "ls of a profile shows its views"
is "$(profilefs ls "$p/tables" | sort | tr '\n' ' ')" \
    "contexts.csv durations.csv metrics.csv threads.csv trace.csv values.csv warnings.csv " \
    "ls of a folder inside a profile lists its files"
is "$(profilefs cat "$src/notes.txt")" notes "cat of a file that is not a profile prints the file"
like "$(profilefs cat "$p/info.txt")" '^Format: ' "cat of a generated file prints its text"
is "$(profilefs cat "$p/info.txt" "$src/notes.txt" | tail -n 1)" notes "cat takes several paths" 
is "$(cd "$src" && profilefs cat "$heat/tables/metrics.csv" | head -n 1 | cut -c1-8)" "id,name," \
    "a relative path may lead into a profile"
is "$(cd "$src/sub" && profilefs cat "../$heat/tables/metrics.csv" | head -n 1 | cut -c1-8)" "id,name," \
    "a relative path may have .. before the profile"
ln -s "$heat" "$src/latest"
ln -s ../notes.txt "$src/sub/back"
ln -s /etc/hostname "$src/outside"
ln -s nowhere "$src/dangling"
is "$(profilefs cat "$src/latest/info.txt")" "$(profilefs cat "$p/info.txt")" "a link to a profile is followed"
is "$(profilefs cat "$src/sub/back")" notes "a link to a file is followed"
is "$(cd "$src" && profilefs cat "$src/sub/../latest/tables/../info.txt")" "$(profilefs cat "$p/info.txt")" \
    "\`..\` inside a profile leads up"
is "$(profilefs cat "$src/dangling" 2>&1)" "profilefs: $src/dangling: No such file or directory" \
    "a link to nothing is reported as missing"
like "$(profilefs stat "$src/latest")" '^Type: link$' "stat of a link shows the link"
rm "$src/latest" "$src/sub/back" "$src/outside" "$src/dangling"
like "$(profilefs stat "$p/tables/trace.csv")" "$(profilefs cat "$p/tables/trace.csv" | wc -c)" "stat prints the exact size"
like "$(profilefs tree "$p")" 'hot\.txt' "tree shows the whole profile"
is "$(profilefs tree "$p" | grep -c 'values\.csv')" 4 "tree shows one values.csv per thread and one of the profile"
is "$(profilefs tree "$p" | grep -xE ' *\.?(contexts|export)/?')" "$(printf '  contexts\n  export')" "tree does not follow links"
root=$(profilefs ls "$p/contexts" | head -n 1)
like "$(profilefs cat "$p/contexts/$root/info.txt")" '^Name: ' "cat follows the link contexts"
is "$(profilefs cat "$p/.contexts/$root/info.txt")" "$(profilefs cat "$p/contexts/$root/info.txt")" \
    "cat gives the same text without the link contexts"
is "$(profilefs ls "$p/contexts" && profilefs ls "$p/contexts/../export/")" "$(profilefs ls "$p/.contexts" && profilefs ls "$p/.export")" \
    "ls follows the links contexts and export, also before \`..\`"
like "$(profilefs stat "$p/contexts")" '^Type: link$' "stat of the link contexts shows a link"
like "$(profilefs stat "$p/contexts/")" '^Type: directory$' \
    "stat of the link contexts with a slash shows the folder that it leads to"
is "$(status profilefs cat "$p/info.txt/")" 3 "a file with a slash after its name: status 3"
like "$(cat "$work/stderr")" 'neither a profile nor a folder$' "a file with a slash after its name is reported as no folder"

like "$(profilefs formats)" 'xray' "formats lists the formats"
like "$(profilefs --version)" '^profilefs [0-9]+\.[0-9]+' "--version prints the version"
like "$(profilefs --help)" 'SOURCE MOUNTPOINT' "--help shows how to mount"
is "$(status profilefs --help)$(wc -c <"$work/stderr")" 00 "--help goes to stdout with status 0"
is "$(status profilefs check "$p")" 0 "check of a sound profile: status 0"
is "$(status profilefs check "$src/sub/bad.xray")" 1 "check of a damaged profile: status 1"
like "$(cat "$work/stdout" "$work/stderr")" '[0-9]{3,}' "check of a damaged profile prints the offset of the damage"
is "$(status profilefs check "$p" "$src/sub/bad.xray")" 1 "check of several profiles: status 1 if one is damaged"
like "$(cat "$work/stdout" "$work/stderr")" 'bad\.xray' "check of several profiles names the damaged one"
is "$(status profilefs check "$src/notes.txt")" 1 "check of a file that is not a profile: status 1"

# anchor MIDDLE: writes a Cube file whose anchor.xml has, between two elements, the value of the Python expression MIDDLE.
anchor() {
    python3 - "$work/odd.cubex" "$1" <<'P'
import io, sys, tarfile
xml = ('<?xml version="1.0"?><cube version="4.4"><metrics><metric id="0" type="EXCLUSIVE"><disp_name>Time</disp_name>'
       '<uniq_name>time</uniq_name><dtype>DOUBLE</dtype><uom>sec</uom></metric></metrics>'
       '<program><region id="0" mod="" begin="1" end="2"><name>f</name></region>' + eval(sys.argv[2]) +
       '<cnode id="0" calleeId="0"></cnode></program><system></system></cube>').encode()
with tarfile.open(sys.argv[1], "w") as archive:
    member = tarfile.TarInfo("anchor.xml")
    member.size = len(xml)
    archive.addfile(member, io.BytesIO(xml))
P
}
# is_checked_soon MIDDLE: checking such a file takes less than 8 s of processor time.
is_checked_soon() {
    local status
    anchor "$1"
    (ulimit -t 8 && "$PROFILEFS" check "$work/odd.cubex")
    status=$?
    echo "status $status"
    [ $status -le 1 ]
}
ok "XML with a few stray < and a tag of many attributes is checked" \
    is_checked_soon '"<x " + " ".join("a%d=\"\"" % i for i in range(100)) + "></x>" + "<" * 100 + ">"'
ok "XML is checked in time linear in stray <" is_checked_soon '("<" * 900000 + ">") * 4'
ok "XML is checked in time linear in the attributes of a tag" \
    is_checked_soon '("<x " + " ".join("a%d=\"\"" % i for i in range(100000)) + "></x>") * 8'

cp -r "$archive/hpc/solver-2023" "$work/database"
mkdir -p "$work/database/metrics"
like "$(profilefs ls "$work/database/metrics")" '/$' "a path into a directory that is a profile leads to the served files, not to the directory's"
like "$(profilefs check "$work/database")" "^$work/database: warning: unlisted" "a directory that is a profile can be checked"

XDG_CACHE_HOME=$work/index.cache profilefs index "$src" >"$work/stdout" 2>&1
ok "index writes its results to the cache" test -s "$work/index.cache/profilefs/profiles.db"
like "$(XDG_CACHE_HOME=$work/index.cache profilefs index --report "$src" 2>&1)" "$heat" "index --report names the profiles"

# Stop the process for ten seconds, the interval between reports of progress.
mkdir "$work/long"
awk 'BEGIN { for (i = 0; i < 300000; i++) printf "main;step_%d;%x %d\n", i % 97, i * 7919 % 1000003, i + 1 }' >"$work/long/a.folded"
cp "$work/long/a.folded" "$work/long/b.folded"
"$PROFILEFS" index "$work/long" >"$work/stdout" 2>"$work/stderr" &
indexer=$!
sleep 0.1
kill -STOP $indexer
sleep 10.2
kill -CONT $indexer
wait $indexer
like "$(head -n 1 "$work/stderr")" "^profilefs: $work/long: [0-2] profiles in 1[0-9] s, now at [0-9]+% of [ab].folded$" \
    "without a terminal, index reports progress every ten seconds"
ok "without a terminal, index reports progress at most every ten seconds" \
    awk '/ in .* s, now at / { lines++ } / passes, / { sub(/ s, problems.*/, ""); exit !(lines <= $NF / 10) }' "$work/stderr"

# ---- summary

script=$archive/stacks/heat.perf.txt
is "$(profilefs summary "$script")" "$(profilefs cat "$script/primary/metric/summary.md")" "summary prints the primary metric's summary.md"
is "$(profilefs summary "$p" --metric calls)" "$(profilefs cat "$p/metrics/calls/summary.md")" \
    "summary --metric prints another metric's summary.md"
is "$(profilefs summary "$script" "$p" | grep -E '^(==>|# )')" "==> $script <==
# task-clock:ppp (ns)
==> $p <==
# time (ns)" "summary of several profiles puts the path before each page"
is "$(status profilefs summary "$archive/README.txt")" 3 "summary of a file that is not a profile: status 3"
is "$(cat "$work/stderr")" "profilefs: $archive/README.txt: not a profile with measurements" \
    "summary of a file that is not a profile prints the reason"
is "$(status profilefs summary "$archive")$(cat "$work/stderr")" "3profilefs: $archive: not a profile with measurements" \
    "summary of a folder: status 3 and a message"
is "$(status profilefs summary "$archive/none")$(cat "$work/stderr")" "3profilefs: $archive/none: No such file or directory" \
    "summary of a missing file reports it as missing"
is "$(status profilefs ls "$archive/README.txt/tables")$(cat "$work/stderr")" \
    "3profilefs: $archive/README.txt/tables: a part of the path is neither a profile nor a folder" "a file that is not a profile cannot be listed"

# ---- status and errors

is "$(status profilefs)" 2 "no arguments: usage, status 2"
is "$(status profilefs --nonsense)" 2 "an unknown option: status 2"
is "$(cat "$work/stderr")" "profilefs: --nonsense: unknown option; see profilefs --help" \
    "the message about an unknown option names it"
is "$(status profilefs check --nonsense "$p")" 2 "an unknown option of a command: status 2"
is "$(cat "$work/stderr")" "profilefs: --nonsense: unknown option; see profilefs check --help" \
    "the message about an unknown option of a command names it"
is "$(status profilefs index --help)$(head -n 1 "$work/stdout")" "0Usage: profilefs [-o OPTIONS] index [--report] SOURCE" \
    "index --help prints the usage of index"
for command in $(profilefs --help | awk '$1 == "ls" { on = 1 } !NF { on = 0 } on { print $1 }'); do
    is "$(profilefs $command --help | awk '/^Options:/ { part = "o" } /^Exit status:/ { part = "s" } /^  / { print part $1 }' |
        grep -xE 'o-o|o-h|s[0-3]' | tr '\n' ' ')" "o-o o-h s0 s1 s2 s3 " "$command --help lists options and exit statuses"
    is "$(profilefs $command --help | head -n 1 | grep -o -e '--[a-z]*' | sort)" \
        "$(profilefs $command --help | grep -o '^  --[a-z]*' | tr -d ' ' | sort)" \
        "the usage line of $command --help has all options that it lists"
done
like "$(profilefs compare --help)" '^  4 .*--fail' "compare --help names its own exit status"
is "$(status profilefs chek "$p")" 2 "a misspelt command: status 2"
like "$(cat "$work/stderr")" "^profilefs: chek: .*did you mean 'check'\?$" "a misspelt command is reported with a suggestion"
is "$(profilefs cat "$p/info.txt" -o metric=calls | grep Primary)" "$(profilefs -o metric=calls cat "$p/info.txt" | grep Primary)" \
    "options may follow the command"
status profilefs check "$src" >/dev/null
like "$(cat "$work/stdout")" "^$src/sub/bad\.xray: " "check of a folder names the profile"
is "$(cat "$work/stderr")" "profilefs: checked: 3 profiles, problems in 1" \
    "check of a folder ends with the numbers of profiles and problems"
status profilefs index "$src" >/dev/null
like "$(tail -n 1 "$work/stderr")" "^profilefs: $src: 3 profiles, [0-9]+ passes, [0-9.]+ s, problems in 1$" "index ends with a summary"
is "$(status profilefs cat)" 2 "cat without a path: status 2"
is "$(status profilefs "$src")" 2 "SOURCE without a mount point: status 2"
is "$(cat "$work/stderr")" "profilefs: MOUNTPOINT is missing; see profilefs --help" \
    "the message about a missing mount point names it"
is "$(status profilefs cat "$p/nothing.csv")" 3 "a path that does not exist: status 3"
is "$(cat "$work/stderr")" "profilefs: $p/nothing.csv: No such file or directory" \
    "an error message is one line: the path and the reason"
is "$(cat "$work/stdout" | wc -c)" 0 "cat of a path that does not exist prints nothing to stdout"
is "$(status profilefs ls "$src/nowhere")" 3 "ls of nothing: status 3"
is "$(status profilefs cat "$p/tables")" 3 "cat of a folder: status 3"
like "$(cat "$work/stderr")" 'Is a directory' "cat of a folder reports that it is a directory"
is "$(status profilefs "$src/nowhere" "$mnt")" 3 "mounting a missing SOURCE: status 3"
is "$(wc -l <"$work/stderr")" 1 "mounting a missing SOURCE prints one line on stderr"
is "$(status profilefs "$src" "$work/nowhere")" 3 "mounting at nothing: status 3"
is "$(status profilefs -o nonsense=1 "$src" "$mnt")" 2 "an unknown -o option: status 2"
is "$(status profilefs -o cache=lots "$src" "$mnt")" 2 "an invalid cache size: status 2"
is "$(bash -c 'set -o pipefail; "$0" cat "$1" | head -c 10 >/dev/null; echo ${PIPESTATUS[0]}' "$PROFILEFS" "$p/tables/trace.csv")" 141 \
    "a closed pipe ends cat quietly"
if [ -c /dev/full ]; then
    is "$("$PROFILEFS" cat "$p/tables/trace.csv" 2>"$work/stderr" >/dev/full; echo $?)" 3 "writing to a full disk: status 3"
    like "$(cat "$work/stderr")" 'No space left' "the message about a full disk gives the reason"
fi
is "$(profilefs -o metric=calls cat "$p/info.txt" 2>/dev/null | grep ^Primary || profilefs cat -o metric=calls "$p/info.txt" | grep ^Primary)" \
    "Primary: calls" "-o metric= chooses the primary metric"

# ---- comparison with the mount

if [ -w /dev/fuse ]; then
    mount_source || exit 1
    same() {
        (cd "$mnt" && find -L . -path ./.profilefs -prune -o -type f -print0) | while IFS= read -r -d '' file; do
            "$PROFILEFS" cat "$src/$file" | cmp - "$mnt/$file" || return 1
        done
    }
    ok "cat gives for every file what the mount gives" same
    is "$(cd "$src" && profilefs ls "$heat/metrics" | sort)" "$(ls -p "$mnt/$heat/metrics" | sort)" "ls lists what the mount lists"

    # ---- .profilefs
    is "$(ls "$mnt/.profilefs" | tr '\n' ' ')" "AGENTS.md README.txt archives.csv profiles.csv status.txt tables version " ".profilefs/ tells about the mount"
    is "$(head -n 1 "$mnt/.profilefs/profiles.csv")" "format,version,bytes,mtime,confidence,path,message" \
        "profiles.csv has these columns"
    is "$(tail -n +2 "$mnt/.profilefs/profiles.csv" | cut -d, -f6 | sort | tr '\n' ' ')" "sub/bad.xray sub/lookup.perf $heat " \
        "profiles.csv lists the profiles"
    is "$(awk -F, -v p="$heat" '$6 == p { print $3 }' "$mnt/.profilefs/profiles.csv")" "$(stat -c %s "$p")" \
        "profiles.csv has the sizes of the profiles"
    is "$(cat "$mnt/.profilefs/status.txt" | wc -c)" "$(stat -c %s "$mnt/.profilefs/status.txt")" "status.txt has a fixed length"
    ok "status.txt changes with time" bash -c "a=\$(cat '$mnt/.profilefs/status.txt'); sleep 1.2; [ \"\$a\" != \"\$(cat '$mnt/.profilefs/status.txt')\" ]"
    like "$(cat "$mnt/.profilefs/version")" '[0-9]+\.[0-9]+' "version names the version"
    like "$(cat "$mnt/.profilefs/README.txt")" 'tables/' "README.txt explains the tree"
    like "$(cat "$mnt/.profilefs/AGENTS.md")" 'primary/metric/summary.md' "AGENTS.md says what to read first"
    ok "AGENTS.md has at most 4 KB" test "$(stat -c %s "$mnt/.profilefs/AGENTS.md")" -le 4096
    is "$(profilefs cat "$src/.profilefs/README.txt")" "$(cat "$mnt/.profilefs/README.txt")" \
        "cat shows the files of .profilefs without a mount"
    unmount

    # ---- mounting
    timeout 20 "$PROFILEFS" -f "$src" "$mnt" &
    foreground=$!
    for _ in $(seq 50); do is_mounted && break; sleep 0.1; done
    ok "-f stays in the foreground and serves" grep -q Format "$mnt/$heat/info.txt"
    kill -TERM $foreground
    wait $foreground
    is "$?" 0 "SIGTERM ends a server in the foreground with status 0"
    ok "SIGTERM unmounts the mount of a server in the foreground" bash -c "! mountpoint -q '$mnt'"
    ok "a mount with -s, one thread for passes, serves texts" \
        bash -c "'$PROFILEFS' -s '$src' '$mnt' && grep -q ^thread '$mnt/$heat/tables/values.csv'"
    unmount
    (cd "$work" && "$PROFILEFS" src mnt)
    ok "relative paths can be mounted" grep -q Format "$mnt/$heat/info.txt"
    unmount
    (cd "$src" && "$PROFILEFS" . "$mnt") && ok "the folder one stands in can be mounted" ls "$mnt/$heat"
    unmount
else
    skip "comparison with the mount" "no /dev/fuse"
fi

finish
