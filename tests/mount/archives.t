#!/usr/bin/env bash
# Archives are folders of their members: a member is served like a file outside of an archive.
. "$(dirname "$0")/lib.sh"

needs_mount
refuses() { ! "$@"; }

packed=$src
cp -r "$archive" "$packed/plain"
find "$packed/plain" -exec touch -d @1700000000 {} + # times are served too, and zip has even seconds only
tar cf "$packed/a.tar" -C "$packed/plain" .
tar czf "$packed/a.tar.gz" -C "$packed/plain" .
tar czf "$packed/a.tgz" -C "$packed/plain" .
tar cJf "$packed/a.tar.xz" -C "$packed/plain" .
python3 - "$packed/plain" "$packed/a.zip" <<'PYTHON'
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[2], "w") as out:
    for base, _, files in os.walk(sys.argv[1]):
        if base != sys.argv[1]:
            out.write(base, os.path.relpath(base, sys.argv[1]))
        for i, name in enumerate(sorted(files)):
            path = os.path.join(base, name)
            out.write(path, os.path.relpath(path, sys.argv[1]), zipfile.ZIP_DEFLATED if i % 2 else zipfile.ZIP_STORED)
PYTHON
kinds="a.tar a.tar.gz a.tgz a.tar.xz a.zip"
if command -v zstd >"$work/zstd"; then
    tar c -C "$packed/plain" . | zstd -q >"$packed/a.tar.zst"
    kinds="$kinds a.tar.zst"
fi

mkdir "$work/inner"
cp "$packed/a.tgz" "$work/inner/inner.tgz"
tar czf "$packed/inner.tar.gz" -C "$work/inner" inner.tgz
cp "$packed/a.tgz" "$packed/private.tgz"
chmod 600 "$packed/private.tgz"
truncate -s 1M "$work/inner/holes"
echo middle >>"$work/inner/holes"
truncate -s 3M "$work/inner/holes"
cp "$archive/README.txt" "$work/inner/behind"
sparse="sparse.tar sparse.tgz"
tar cSf "$packed/sparse.tar" -C "$work/inner" holes behind
tar czSf "$packed/sparse.tgz" -C "$work/inner" holes behind
for version in 0.0 0.1 1.0; do
    tar cSf "$packed/sparse-$version.tar" --format=posix --sparse-version=$version -C "$work/inner" holes behind
    sparse="$sparse sparse-$version.tar"
done
cut=$(($(stat -c %s "$packed/sparse.tar") - 10240)) # after the header of the first member
head -c "$((cut > 1024 ? 1024 : cut))" "$packed/sparse.tar" >"$packed/cut-sparse.tar"

python3 - "$packed" <<'PYTHON'
import io, os, sys, tarfile, zipfile
folder = sys.argv[1]

def add(tar, name, data=b"x", **more):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    tar.addfile(info, io.BytesIO(data))

with tarfile.open(folder + "/hostile.tar", "w") as tar:
    add(tar, "../../above", b"above\n")
    add(tar, "/absolute", b"absolute\n")
    add(tar, "twice", b"first\n")
    add(tar, "twice", b"second\n")
    add(tar, "a/../../b/./c", b"c\n")
    add(tar, "link", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd")
    add(tar, "hard", b"", type=tarfile.LNKTYPE, linkname="twice")
    add(tar, "lost", b"", type=tarfile.LNKTYPE, linkname="nowhere")
    add(tar, "pipe", b"", type=tarfile.FIFOTYPE)
    add(tar, "line\nbreak", b"line\n")
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w") as nested:
        add(nested, "deep/inside", b"inside\n")
        add(nested, "main;f", b"no profile\n")
        add(nested, "deeper.tar", open(folder + "/a.tar", "rb").read(2048))
    add(tar, "nested.tar", inner.getvalue())
whole = open(folder + "/a.tar", "rb").read()
open(folder + "/cut.tar", "wb").write(whole[:len(whole) // 2])
packed = open(folder + "/a.tar.gz", "rb").read()
open(folder + "/cut.tar.gz", "wb").write(packed[:len(packed) // 2])
open(folder + "/text.tar", "w").write("no archive\n")
with zipfile.ZipFile(folder + "/liar.zip", "w", zipfile.ZIP_DEFLATED) as out:
    out.writestr("long", "x" * 100000)
data = bytearray(open(folder + "/liar.zip", "rb").read())
at = data.index(b"PK\1\2")
data[at + 24:at + 28] = data[22:26] = (200000).to_bytes(4, "little")
open(folder + "/liar.zip", "wb").write(data)
PYTHON

# Prints the names and hashes of all files that are served below a folder.
all_of() { (cd "$1" && find . ! -type f && find . -type f -exec sha256sum {} +) | sort; }
mount_source
all_of "$mnt/plain" >"$work/plain"
for kind in $kinds; do
    ok "$kind holds what the folder holds" diff "$work/plain" <(all_of "$mnt/$kind")
    is "$(stat -c %F "$mnt/$kind")" directory "$kind is a folder"
done
is "$(stat -c %Y "$mnt/a.tar/README.txt")" 1700000000 "members have times of their own"
is "$(cat "$mnt/hostile.tar/above" "$mnt/hostile.tar/absolute" "$mnt/hostile.tar/b/c")" "above
absolute
c" "what would lead out of an archive stays in it"
is "$(cat "$mnt/hostile.tar/twice" "$mnt/hostile.tar/hard")" "second
second" "of two members of one name the last counts, for its other names too"
is "$(readlink "$mnt/hostile.tar/link")" /etc/passwd "symbolic links in an archive are shown"
ok "pipes in an archive are not shown" refuses test -e "$mnt/hostile.tar/pipe"
is "$(cat "$mnt/hostile.tar/line%0Abreak")" line "control characters in names are escaped"
is "$(cat "$mnt/hostile.tar/nested.tar/deep/inside")" inside "an archive in an archive is entered"
is "$(stat -c %F "$mnt/hostile.tar/nested.tar/deeper.tar")" "regular file" "an archive two archives deep is a file"
is "$(cat "$mnt/text.tar")" "no archive" "a file that only has the name passes through"
ok "what comes before the cut of a tar is there" diff -q "$mnt/plain/2026-03/heat.yaml" "$mnt/cut.tar/2026-03/heat.yaml"
ok "what comes before the cut of a compressed tar is there" ls "$mnt/cut.tar.gz/2026-03"
ok "a member that says that it is longer than it is can't be read" refuses cat "$mnt/liar.zip/long"
problems=$(cut -d, -f1-3 "$mnt/.profilefs/archives.csv")
is "$(head -n 1 "$mnt/.profilefs/archives.csv")" severity,code,path,text "archives.csv has these columns"
is "$(grep hostile.tar <<<"$problems")" "warning,no-target,hostile.tar
warning,no-file,hostile.tar" "archives.csv names the kinds of members that are left out"
is "$(grep cut.tar <<<"$problems" | sort -u)" "fatal,cut,cut.tar
fatal,cut,cut.tar.gz
fatal,damaged,cut.tar
fatal,damaged,cut.tar.gz" "archives.csv tells of an archive that is cut"
is "$(grep -cE ',(a\.|text)' <<<"$problems")" 0 \
    "archives.csv tells nothing of whole archives, nor of a file that only has an archive's name"
tar cf "$packed/a.tar" -C "$archive" README.txt
sleep 1.2
is "$(ls "$mnt/a.tar")" README.txt "an archive that is rewritten shows what is in it now"
unmount

# The next mounts use the cached indexes of the archives. They serve the same bytes with little memory and with few descriptors.
mount_source -o cache=64K
ok "little room to unpack to changes nothing" diff -r "$mnt/plain/nightly" "$mnt/a.tgz/nightly"
ok "little room to unpack to changes nothing for members that are compressed one by one" \
    diff -r "$mnt/plain/nightly" "$mnt/a.zip/nightly"
is "$(cat "$mnt/inner.tar.gz/inner.tgz/README.txt")" "$(cat "$archive/README.txt")" "a compressed archive in a compressed one is entered"
is "$(stat -c %a "$mnt/private.tgz" "$mnt/private.tgz/README.txt" | tr '\n' ' ')" "500 400 " "who may not read the archive may read nothing in it"
for kind in $sparse; do
    ok "a member that leaves out zeros has them: $kind" cmp "$work/inner/holes" "$mnt/$kind/holes"
    is "$(tail -c 9 "$mnt/$kind/holes" | md5sum)" "$(head -c 9 /dev/zero | md5sum)" \
        "the end of a member that leaves out zeros has them: $kind"
    ok "the member behind one that leaves out zeros is whole: $kind" cmp "$work/inner/behind" "$mnt/$kind/behind"
done
ok "reading a cut member that leaves out zeros ends with an error" refuses cat "$mnt/cut-sparse.tar/holes"
unmount
(ulimit -n 64 && mount_source && diff -r "$mnt/plain/nightly" "$mnt/a.tar.xz/nightly" &&
    find "$mnt/a.zip" "$mnt/a.tgz" -type f -size +0 >"$work/found" && unmount) >"$work/few" 2>&1
is "$(wc -c <"$work/few")" 0 "64 descriptors are enough"

mount_source -o no_archives
is "$(stat -c %F "$mnt/a.tar.gz")" "regular file" "-o no_archives shows an archive as a file"
ok "-o no_archives passes an archive's bytes through" cmp "$mnt/a.tar.gz" "$packed/a.tar.gz"
unmount

source=$packed/a.tar.gz mount_source
is "$(cat "$mnt/README.txt")" "$(cat "$archive/README.txt")" "SOURCE may be an archive"
is "$(head -n 1 "$mnt/stacks/heat.folded/info.txt" "$mnt/afsim/coast.afperf/info.txt" | grep Format | tr '\n' ' ')" \
    "Format: collapsed Format: afperf " "the profiles in an archive that is SOURCE are served"
is "$("$PROFILEFS" cat "$packed/a.zip/stacks/heat.folded/tables/metrics.csv" | head -n 1 | cut -d, -f1)" id "the commands enter archives too"
unmount

finish
