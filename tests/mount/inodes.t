#!/usr/bin/env bash
# Listings return the same inode numbers as stat.
. "$(dirname "$0")/lib.sh"
needs_mount

mkdir -p "$src/deep/er" "$src/many"
cp -r "$archive/nightly" "$archive/cube" "$src"
touch "$src/deep/file" "$src/deep/er/file"
ln -s file "$src/deep/link"
mkfifo "$src/deep/fifo"
tar -C "$archive" -cf "$src/packed.tar" nightly
for n in $(seq 300); do touch "$src/many/$n"; done

# same FOLDER...: each folder's entries and the folder itself (".") have the same inode number in listings as in look-ups.
same() {
    python3 - "$@" <<'PY'
import os, sys
bad = 0
for folder in sys.argv[1:]:
    # os.scandir omits "." and "..". `ls -ai` prints these too, with the numbers of the listing for entries that it need not stat.
    listed = [(entry.name, entry.inode()) for entry in os.scandir(folder)]
    for name, number in listed:
        if os.lstat(os.path.join(folder, name)).st_ino != number:
            print(folder, name, number, os.lstat(os.path.join(folder, name)).st_ino)
            bad += 1
    if not listed:
        print(folder, "is empty")
        bad += 1
sys.exit(bad > 0)
PY
}

folders() { printf '%s\n' "$mnt" "$mnt"/{deep,deep/er,nightly,many,cube,packed.tar,packed.tar/nightly,nightly/2026-05-01.folded}; }
mount_source || exit 1
mapfile -t all < <(folders)
ok "inode numbers of a listing are those of stat" same "${all[@]}"
ok "inode numbers of a listing are those of stat after all entries have been looked up" same "${all[@]}"
ok "inode numbers of listings without attributes, and of . and .., are those of stat" bash -c '
    for folder; do
        diff <(ls -ai "$folder" | awk "{ print \$1, \$2 }" | grep -E " (\.|link|file|[0-9]+|runs|er)$") \
            <(cd "$folder" && stat -c "%i %n" $(ls -a | grep -xE "\.|link|file|[0-9]+|runs|er")) || exit 1
    done' - "$mnt"/{deep,many,nightly}
is "$(stat -c %i "$mnt/deep")" "$(ls -ai "$mnt/deep/er" | awk '$2 == ".." { print $1 }')" \
    "the inode number of .. is that of the folder above"
before=$(stat -c %i "$mnt/nightly" "$mnt/nightly/2026-05-01.folded" "$mnt/nightly/runs")
echo "main 1" >>"$src/nightly/2026-05-01.folded"
sleep 1.1
is "$(stat -c %i "$mnt/nightly" "$mnt/nightly/2026-05-01.folded" "$mnt/nightly/runs")" "$before" \
    "a profile that changes keeps its inode number"
is "$(find "$mnt" -printf '%i\n' | sort | uniq -d | wc -l)" 0 "no two entries have the same inode number"

finish
