#!/usr/bin/env bash
# Damaged and hostile files are served up to the damage, with warnings. The program neither crashes nor hangs.
. "$(dirname "$0")/lib.sh"

cp "$archive/2026-04/xray-log.heat.damaged" "$src/bad.xray"
: >"$src/empty.xray"
head -c 33 "$archive/2026-03/$heat" >"$src/header.xray"
printf '\005\000\001\000' >"$src/magic.xray"
head -c 100000 /dev/urandom >"$src/random.xray"

if [ -w /dev/fuse ]; then
    mount_source || exit 1
    p=$mnt/bad.xray
    is "$(ls "$p" | tr '\n' ' ')" "contexts export info.txt metrics primary tables threads " "a damaged trace is a profile with all its views"
    ok "what came before the damage is served" test "$(wc -l <"$p/tables/trace.csv")" -gt 500
    like "$(cat "$p/tables/warnings.csv")" '^[0-9]*,[0-9]+,(warning|error),' "warnings.csv tells where the damage is"
    like "$(cat "$p/tables/warnings.csv")" '^[0-9]*,[0-9]+,fatal,' "warnings.csv tells that the file ends inside a record"
    ok "a trace that ends after its header is a profile or a plain file" \
        bash -c "cat '$mnt/header.xray/tables/warnings.csv' || cat '$mnt/header.xray/error.txt' || cmp '$mnt/header.xray' '$src/header.xray'"
    ok "four bytes of magic are no profile, or one with an error" \
        bash -c "cat '$mnt/magic.xray/error.txt' || cmp '$mnt/magic.xray' '$src/magic.xray'"
    ok "an empty file passes through" cmp "$mnt/empty.xray" "$src/empty.xray"
    ok "random bytes pass through" cmp "$mnt/random.xray" "$src/random.xray"
    chmod 000 "$src/bad.xray"
    ls "$mnt" >/dev/null
    ok "an unreadable profile does not harm the others" ls "$mnt"
    unmount
else
    skip "damage on a mount" "no /dev/fuse"
fi

# ---- samples that are cut or have flipped bits, read by the commands

# The exit status may be 0 (served), 1 (problem in the data) or 3 (no such file: it is no longer a profile).
cat >"$work/harm.py" <<'P'
"""Damages FILE in N ways ('cut' or 'flip'), walks each result with the commands, prints the failures."""
import os, random, resource, subprocess, sys
program, path, way, n, scratch = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]
data, rnd = open(path, "rb").read(), random.Random(path.rsplit("/", 1)[1] + way)
target = os.path.join(scratch, os.path.basename(path))
views = ["info.txt", "tables/warnings.csv", "tables/trace.csv", "tables/values.csv", "tables/points.csv",
         "tables/functions.csv", "tables/durations.csv", "tables/statistics.csv", "metrics/time/tree.txt", "metrics/time/functions.csv"]
def limits():
    if "asan" not in program and "tsan" not in program:      # sanitizers reserve terabytes
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
bad = 0
for i in range(n):
    if way == "cut":
        harmed = data[:(len(data) * i // n) + rnd.randrange(3)]
    else:
        harmed = bytearray(data)
        for _ in range(rnd.choice((1, 1, 2, 8))):
            harmed[rnd.randrange(len(harmed))] ^= 1 << rnd.randrange(8)
    with open(target, "wb") as out:
        out.write(harmed)
    command = [program, "cat", target] if i % 10 == 9 else [program, "cat"] + [target + "/" + v for v in views]
    for args in (command, [program, "check", target])[:1 + (i % 5 == 0)]:
        try:
            run = subprocess.run(args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=20, preexec_fn=limits)
            wrong = run.returncode not in (0, 1, 3) and "status %d: %s" % (run.returncode, run.stderr[-300:])
        except subprocess.TimeoutExpired:
            wrong = "hangs"
        if wrong:
            bad += 1
            print("%s %d, %s: %s" % (way, i, args[1], wrong))
sys.exit(bad > 0)
P
mkdir "$work/scratch"
# harm CUTS FLIPS: damages each file whose path is on stdin.
harm() {
    local sample name
    while IFS= read -r sample; do
        name=${sample#"$samples"/}
        ok "$name cut at $1 lengths" python3 "$work/harm.py" "$PROFILEFS" "$sample" cut "$1" "$work/scratch"
        ok "$name with random flips, $2 times" python3 "$work/harm.py" "$PROFILEFS" "$sample" flip "$2" "$work/scratch"
    done
}
flips=60
case $PROFILEFS in *san/*) flips=20 ;; esac     # ten times slower with sanitizers; fuzzing covers more
find "$archive" -type f \( -name 'xray-log*' -o -path '*/scaling/heat.txt' \) | sort >"$work/many"
harm 20 $flips <"$work/many"
# Unit tests damage the files of the other formats everywhere; here a few of them go through the whole program.
find "$archive" -type f \( -name '*.afperf' -o -name '*.perf' -o -name '*.extra-p' -o -name '*.jsonl' \
    -o -path '*heat.p2*' -name '*.cubex' -o -path '*/gpu/heat.sqlite' \) | sort >"$work/few"
harm 8 15 <"$work/few"

finish
