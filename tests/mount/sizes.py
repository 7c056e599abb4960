"""Reads every regular file below FOLDER and compares the number of bytes with stat's size, taken `before` or `after` reading. Prints
the differences; exit status 1 if there are any, or if there is no file. .profilefs/status.txt, which changes all the time, is
skipped."""
import os, sys

folder, when = sys.argv[1:]
LINKS = {"contexts", "export"}      # names of links in a profile to folders that are not listed


def files(fd, path):
    """Yields the folder, name and path of each file below an open folder. A path from the top may be too long to open the file by it."""
    with os.scandir(fd) as entries:     # no stat here, so that no size is requested: the listing has the types
        entries = sorted(((entry.name, entry.is_dir(follow_symlinks=entry.name in LINKS), entry.is_file(follow_symlinks=False))
                          for entry in entries))
    for name, is_folder, is_file in entries:
        if is_folder:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
            yield from files(below, path + "/" + name)
            os.close(below)
        elif is_file and not (name == "status.txt" and path.endswith("/.profilefs")):
            yield fd, name, path


count = wrong = 0
for at, name, path in files(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), folder):
    size = os.stat(name, dir_fd=at).st_size if when == "before" else None
    with open(os.open(name, os.O_RDONLY, dir_fd=at), "rb") as file:
        have = sum(map(len, iter(lambda: file.read(1 << 20), b"")))
    size = os.stat(name, dir_fd=at).st_size if when == "after" else size
    count += 1
    if size != have:
        wrong += 1
        print("%s/%s: stat says %d, reading gives %d" % (path, name, size, have))
print(count, "files,", wrong, "wrong")
sys.exit(wrong > 0 or count == 0)
