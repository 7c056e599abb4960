#!/usr/bin/env bash
# An archive is recognised by its own magic number: neither text nor names in it can make it a profile of another format.
. "$(dirname "$0")/lib.sh"

# The entries of a folder, without runs/.
ls_of() { "$PROFILEFS" ls "$1" | grep -vx runs/ | sort | tr '\n' ' '; }

# For each profile text: archives of each kind with this text as the first member and a profile as the second.
python3 - "$src" "$archive" <<'P'
import io, os, sys, tarfile, zipfile
folder, archive = sys.argv[1:]

def sample(*path):
    return open(os.path.join(archive, *path), "rb").read()

perf = b"".join(b"app 100/100 %d.000000: 1000 cycles: \n\t55d0 main (/bin/app)\n\n" % i for i in range(40))
texts = {
    "mon.perf": perf,
    "mon.folded": b"main;io 3\nmain;run 4\n" * 30,
    "callgrind.out.1": sample("valgrind", "callgrind.out.4711"),
    "cachegrind.out.1": sample("valgrind", "cachegrind.out.4712"),
    "massif.out.1": sample("valgrind", "massif.out.4713"),
    "trace.json": sample("spans", "build.trace.json"),
    "a.speedscope.json": sample("spans", "heat.speedscope.json"),
    "a.cpuprofile": sample("spans", "page.cpuprofile"),
    "lookup.perf": sample("perun", "lookup.perf"),
    "heat.txt": sample("scaling", "heat.txt"),
    "heat.jsonl": sample("scaling", "heat.jsonl"),
}
second = b"main;f 1\n"

def add(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))

for name, data in texts.items():
    base = os.path.join(folder, name)
    os.makedirs(base)
    open(os.path.join(base, name), "wb").write(data)
    for ending, mode in ((".tar", "w"), (".tar.gz", "w:gz"), (".tgz", "w:gz"), (".tar.xz", "w:xz"), (".bin", "w")):
        with tarfile.open(base + "/runs" + ending, mode) as tar:
            add(tar, name, data)
            add(tar, "z.folded", second)
    for ending, method in (("-stored.zip", zipfile.ZIP_STORED), ("-deflated.zip", zipfile.ZIP_DEFLATED)):
        with zipfile.ZipFile(base + "/runs" + ending, "w", method) as out:
            out.writestr(name, data)
            out.writestr("z.folded", second)
    with tarfile.open(base + "/inner.tar", "w") as tar:
        add(tar, "inner.tgz", open(base + "/runs.tgz", "rb").read())
    # A NUL byte at the beginning, or many NUL bytes, make a file binary; a single one is damage.
    end = data.index(b"\n", min(100, len(data) // 4)) if b"\n" in data else len(data) // 2
    open(base + "/binary-begin", "wb").write(data[:min(end, 200)] + b"\0" + data[min(end, 200):])
    open(base + "/binary-after", "wb").write(data + bytes(len(data)))
    open(base + "/damaged", "wb").write(data * (1 + 2000 // len(data)) + b"\0\1garbage\n" if b"\n" in data else data)
P

for name in "$src"/*; do
    kind=$(basename "$name")
    like "$("$PROFILEFS" ls "$src/$kind")" "^$kind/\$" "$kind is a profile"
    command -v zstd >"$work/which" && zstd -q "$src/$kind/runs.tar" -o "$src/$kind/runs.tar.zst"
    for file in "$src/$kind"/runs*[!n]; do # all except runs.bin
        is "$(ls_of "$file")" "$(printf '%s\n' "$kind/" z.folded/ | sort | tr '\n' ' ')" "$(basename "$file") that begins with $kind is an archive"
    done
    is "$(ls_of "$src/$kind/inner.tar/inner.tgz")" "$(printf '%s\n' "$kind/" z.folded/ | sort | tr '\n' ' ')" "$kind is found in an archive in an archive"
    like "$("$PROFILEFS" ls "$src/$kind")" '^runs.bin$' "a tar of another name that begins with $kind is a plain file"
    like "$("$PROFILEFS" ls "$src/$kind")" '^binary-begin$' "$kind with a NUL byte at its beginning is a plain file"
    like "$("$PROFILEFS" ls "$src/$kind")" '^binary-after$' "$kind before as many NUL bytes is a plain file"
    case $kind in
        *.perf | massif* | call* | cache* | heat*) like "$("$PROFILEFS" ls "$src/$kind")" '^damaged/$' "$kind with a damaged line is a profile" ;;
    esac
done

# ---- formats that are archives

mkdir "$src/own"
python3 - "$src/own" "$archive" <<'P'
import io, os, sys, tarfile, zipfile
folder, archive = sys.argv[1:]
extrap = open(archive + "/scaling/heat.extra-p", "rb").read()
cubex = open(archive + "/cube/heat.p2.r1/profile.cubex", "rb").read()
for name, data in (("a.extra-p", extrap), ("b.zip", extrap), ("c", extrap), ("d.cubex", cubex), ("e.tar", cubex), ("f", cubex)):
    open(os.path.join(folder, name), "wb").write(data)
text = zipfile.ZipFile(io.BytesIO(extrap)).read("experiment.json")
cut = io.BytesIO()
with zipfile.ZipFile(cut, "w", zipfile.ZIP_DEFLATED) as out:
    out.writestr("experiment.json", text)
open(folder + "/g.zip", "wb").write(cut.getvalue()[:-200])
with zipfile.ZipFile(folder + "/h.zip", "w") as out:
    out.writestr("values/1.folded", "main;f 1\n")
    out.writestr("experiment.json", text)
    out.comment = b"c" * 5000
zipfile.ZIP64_LIMIT = 16 # 64-bit sizes and offsets everywhere
with zipfile.ZipFile(folder + "/i.zip", "w", zipfile.ZIP_DEFLATED) as out:
    out.writestr("values/1.folded", "main;f 1\n")
    out.writestr("experiment.json", text)
zipfile.ZIP64_LIMIT = (1 << 31) - 1
with tarfile.open(folder + "/packed.tgz", "w:gz") as tar:
    for name in ("a.extra-p", "d.cubex"):
        tar.add(os.path.join(folder, name), name)

# Archives that merely contain Extra-P's names.
def pack(name, *members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(os.path.join(folder, name), "w", method) as out:
        for member, data in members:
            out.writestr(member, data)
run = ("a.folded", "main;io 3\n")
pack("sub.zip", run, ("results/experiment.json", '{"x":1}'))
pack("bak.zip", run, ("experiment.json.bak", "x"))
pack("other.zip", run, ("experiment.json", '{"seed":1}'))
pack("other-first.zip", ("experiment.json", '{"seed":1}'), run, method=zipfile.ZIP_DEFLATED)
pack("text.zip", run, ("notes.txt", "see experiment.json and Extra-P VALUES"))
pack("values.zip", ("values/0.vals", "1 2 3"), run)
with zipfile.ZipFile(folder + "/comment.zip", "w") as out:
    out.writestr(*run)
    out.comment = b"experiment.json PK\5\6"
data = open(folder + "/text.zip", "rb").read()
open(folder + "/text-cut.zip", "wb").write(data[:data.index(b"PK\1\2")])
P
for name in a.extra-p b.zip c g.zip h.zip i.zip; do
    like "$("$PROFILEFS" cat "$src/own/$name/info.txt")" '^Format: *extrap-experiment' "Extra-P's archive is a profile, called $name"
done
for name in d.cubex e.tar f; do
    like "$("$PROFILEFS" cat "$src/own/$name/info.txt")" '^Format: *cube' "Cube's archive is a profile, called $name"
done
is "$(ls_of "$src/own/packed.tgz")" "a.extra-p/ d.cubex/ " "archives of Extra-P and Cube are profiles in an archive"
for name in sub bak other other-first text values comment text-cut; do
    like "$("$PROFILEFS" ls "$src/own/$name.zip")" '^a.folded/$' "$name.zip, which only mentions Extra-P's names, is an archive"
done
finish
