"""Reads every regular file below FOLDER and compares how many bytes come with what stat says, `before` or
`after` reading. Prints what differs; exit status 1 if anything does, or if there is no file."""
import os, sys

folder, when = sys.argv[1:]


def files(folder):
    with os.scandir(folder) as entries:     # types come from the listing: nothing is asked for its size here
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False):
                yield from files(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.path


count = wrong = 0
for path in files(folder):
    size = os.stat(path).st_size if when == "before" else None
    with open(path, "rb") as file:
        have = sum(map(len, iter(lambda: file.read(1 << 20), b"")))
    size = os.stat(path).st_size if when == "after" else size
    count += 1
    if size != have:
        wrong += 1
        print("%s: stat says %d, reading gives %d" % (path, size, have))
print(count, "files,", wrong, "wrong")
sys.exit(wrong > 0 or count == 0)
