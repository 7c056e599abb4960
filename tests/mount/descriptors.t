#!/usr/bin/env bash
# With many profiles and few descriptors, reads may be slower, but do not fail.
. "$(dirname "$0")/lib.sh"
needs_mount

for n in 1 2 3 4 5 6 7 8; do
    cp -r "$archive" "$src/copy$n"
done
walk() { (cd "$mnt" && find . -path ./.profilefs -prune -o -maxdepth 5 -type f -name '*s.csv' -print0 | sort -z | xargs -0 md5sum); }
mount_source || exit 1
walk >"$work/want" 2>&1
unmount
rm -rf "$XDG_CACHE_HOME"
(ulimit -n 64 && mount_source) || exit 1
ok "with 64 descriptors all files can be read, one by one" cmp "$work/want" <(walk 2>&1)
ok "with 64 descriptors a walk of four levels meets no error" bash -c "[ -z \"\$(find '$mnt' -maxdepth 4 2>&1 >/dev/null)\" ]"
side_by_side() {
    for n in 1 2 3 4 5 6 7 8; do
        grep -rc . "$mnt/copy$n" --include='*.txt' 2>&1 >/dev/null &
    done
    wait
}
is "$(side_by_side)" "" "with 64 descriptors eight walks side by side meet no error"
# Readers that hold files open must be served while others wait for descriptors; otherwise no descriptor is ever released.
unmount
rm -rf "$XDG_CACHE_HOME"
(ulimit -n 64 && mount_source) || exit 1
many_readers() {
    timeout 50 python3 - "$mnt" <<'PY'
import glob, os, random, sys, threading
profiles = [os.path.dirname(path) for path in glob.glob(sys.argv[1] + "/copy*/*/*/info.txt") if "/runs/" not in path]
wrong = []
def read(seed):
    chance = random.Random(seed)
    for _ in range(40):
        path = chance.choice(profiles) + "/" + chance.choice(("info.txt", "tables/metrics.csv", "tables/contexts.csv"))
        try:
            with open(path, "rb") as file:
                file.read()
        except OSError as error:
            wrong.append("%s: %s" % (path[-60:], error.strerror))
threads = [threading.Thread(target=read, args=(seed,)) for seed in range(64)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(profiles), "profiles", wrong[:5], len(wrong))
sys.exit(len(wrong) > 0 or len(profiles) < 100)
PY
}
ok "with 64 descriptors 64 readers of 40 files each meet no error" many_readers
finish
