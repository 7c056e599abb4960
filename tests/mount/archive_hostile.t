#!/usr/bin/env bash
# The intact part of a damaged or hostile archive is served, .profilefs/archives.csv reports the rest, and the mount survives.
. "$(dirname "$0")/lib.sh"
needs_mount
refuses() { ! "$@"; }

python3 - "$src" "$archive" <<'P'
import bz2, gzip, io, lzma, os, random, struct, sys, tarfile, zipfile, zlib
folder, archive = sys.argv[1:]
profile = open(archive + "/stacks/heat.folded", "rb").read()

def path(name): return os.path.join(folder, name)
def write(name, data): open(path(name), "wb").write(data)
def head(name, size, **more):
    info = tarfile.TarInfo(name)
    info.size = size
    for key, value in more.items():
        setattr(info, key, value)
    return info.tobuf(tarfile.USTAR_FORMAT)
def member(name, data, **more): return head(name, len(data), **more) + data + bytes(-len(data) % 512)
END = bytes(1024)

# Invalid names, devices, and a file and a folder of the same name.
write("names.tar", member("", b"empty\n") + head("/", 0, type=tarfile.DIRTYPE) + member(".", b"dot\n") + member("..", b"dots\n") +
      member("a//b", b"slashes\n") + member("x" * 90 + "/" + "y" * 90, b"long\n") + member("ok", b"ok\n") +
      head("null", 0, type=tarfile.CHRTYPE, devmajor=1, devminor=3) + head("disk", 0, type=tarfile.BLKTYPE, devmajor=8) +
      head("ok", 0, type=tarfile.DIRTYPE) + member("ok/below", b"below\n") + member("\xff\xfe", b"bytes\n") + END)
# Symbolic links in a circle and upwards, a member below a link, hard links to themselves and out of the archive.
write("links.tar", head("one", 0, type=tarfile.SYMTYPE, linkname="two") + head("two", 0, type=tarfile.SYMTYPE, linkname="one") +
      head("up", 0, type=tarfile.SYMTYPE, linkname="../../../../../../etc/passwd") + member("up/x", b"below a link\n") +
      head("self", 0, type=tarfile.LNKTYPE, linkname="self") + head("out", 0, type=tarfile.LNKTYPE, linkname="/etc/passwd") + END)

# Wrong sizes.
write("beyond.tar", member("first", b"first\n") + head("beyond", 1 << 32) + b"little\n")
write("negative.tar", member("first", b"first\n") + head("bad", 0).replace(b"00000000000\0", b"-0000000001\0", 1) + END)
write("checksum.tar", member("first", b"first\n") + b"\1" + member("second", b"second\n")[1:] + END)

# Encrypted members: a bit in both headers marks them.
def encrypted(method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as packed:
        packed.writestr("secret.folded", profile)
        packed.writestr("plain.folded", profile)
    data = bytearray(out.getvalue())
    data[6] |= 1
    at = data.index(b"PK\1\2")
    data[at + 8] |= 1
    return bytes(data)
write("stored.zip", encrypted(zipfile.ZIP_STORED))
write("deflated.zip", encrypted(zipfile.ZIP_DEFLATED))
with zipfile.ZipFile(path("bzip2.zip"), "w", zipfile.ZIP_BZIP2) as packed:
    packed.writestr("unknown", profile)
with zipfile.ZipFile(path("twice.zip"), "w") as packed:
    packed.writestr("x", "first\n")
    packed.writestr("x", "second\n")
    packed.writestr("../out", "out\n")
    packed.writestr("/abs", "abs\n")
# Many members that share the same bytes.
out = io.BytesIO()
with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
    packed.writestr("kernel", bytes(50 << 20))
data = out.getvalue()
at = data.index(b"PK\1\2")
entry, end = data[at:data.index(b"PK\5\6")], data[data.index(b"PK\5\6"):]
entries = b"".join(entry.replace(b"kernel", b"%06d" % i) for i in range(300))
write("overlap.zip", data[:at] + entries + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 300, 300, len(entries), at, 0))

# Decompression bombs: 4 GB of zeros, nested in other archives and on their own.
PIECE = 64 << 20
zeros = gzip.compress(bytes(PIECE), 9)
write("bomb.tar.gz", gzip.compress(member("first", b"first\n") + head("zeros", 64 * PIECE)) + zeros * 64 + gzip.compress(member("last", b"last\n") + END))
write("alone.folded.gz", zeros * 64)
write("alone.folded.xz", lzma.compress(bytes(PIECE)) * 64)
inner = gzip.compress(member("zeros", bytes(PIECE)) + END)
write("matryoshka.tgz", gzip.compress(member("inner.tgz", inner) + member("deep.tgz", gzip.compress(member("deeper.tgz", inner) + END)) + END))

# Damage in the middle of compressed streams.
random.seed(1)
body = member("first", b"first\n") + member("noise", random.randbytes(300000)) + member("last", b"last\n") + END
for end, pack in ("gz", gzip.compress), ("xz", lzma.compress):
    data = bytearray(pack(body))
    write("whole.tar." + end, data)
    data[len(data) // 2:len(data) // 2 + 64] = bytes(64)
    write("hurt.tar." + end, data)
    write("cut.tar." + end, data[:len(data) // 3])
write("nothing.tar.gz", gzip.compress(b""))
write("no.tar.gz", gzip.compress(b"no archive, but compressed text\n" * 100))
with zipfile.ZipFile(path("hurt.zip"), "w", zipfile.ZIP_DEFLATED) as packed:
    packed.writestr("first", "first\n")
    packed.writestr("noise", os.urandom(100) * 3000)
data = bytearray(open(path("hurt.zip"), "rb").read())
at = data.index(b"noise") + 60
data[at:at + 40] = b"\xff" * 40
write("hurt.zip", data)
write("headless.zip", data[:data.index(b"PK\1\2")])

# A file in a known format is a profile even if it has an archive's name. A zip file without an archive's suffix stays a file.
write("cube.tar", open(archive + "/cube/heat.p8.r1/profile.cubex", "rb").read())
with zipfile.ZipFile(path("classes.jar"), "w") as packed:
    packed.writestr("Main.class", b"class")
P

mount_source -o no_runs
is "$(find "$mnt/names.tar" -type f -printf '%P\n' | sort | tr '\n' ' ')" "a/b ok/below $(printf 'x%.0s' $(seq 90))/$(printf 'y%.0s' $(seq 90)) "$'\xc3\xbf\xc3\xbe ' \
    "a member without a name is left out, slashes are folded, a folder wins over a file of its name"
is "$(find "$mnt/names.tar" ! -type f ! -type d)" "" "devices are left out"
is "$(timeout 10 cat "$mnt/links.tar/one" 2>&1 | grep -c 'Too many levels')" 1 "symbolic links in a circle are shown"
ok "hard links to themselves and out of the archive lead to nothing" refuses cat "$mnt/links.tar/self" "$mnt/links.tar/out"
is "$(cat "$mnt/beyond.tar/first")" first "members before a wrong size are served"
is "$(stat -c %s "$mnt/beyond.tar/beyond")" 7 "the member with the wrong size ends with the archive"
for kind in negative checksum; do
    is "$(cat "$mnt/$kind.tar/first")" first "members before an invalid header are served: $kind"
done
for kind in stored deflated; do
    ok "an encrypted member cannot be read: $kind" refuses cat "$mnt/$kind.zip/secret.folded"
    is "$(grep Format "$mnt/$kind.zip/plain.folded/info.txt")" "Format: collapsed" \
        "members beside an encrypted one can be read: $kind"
done
ok "a member that is compressed in an unknown way cannot be read" refuses cat "$mnt/bzip2.zip/unknown"
is "$(cat "$mnt/twice.zip/x" "$mnt/twice.zip/out" "$mnt/twice.zip/abs" | tr '\n' ' ')" "second out abs " "the names of a zip obey the same rules"
is "$(cat "$mnt/bomb.tar.gz/first")" first "members before a decompression bomb are served"
ok "the first gigabyte of a decompression bomb can be read" cmp -n 1000000000 "$mnt/bomb.tar.gz/zeros" /dev/zero
ok "a decompression bomb is cut below 3 GB" test "$(stat -c %s "$mnt/bomb.tar.gz/zeros")" -lt $((3 << 30))
ok "members behind a decompression bomb are not served" refuses test -e "$mnt/bomb.tar.gz/last"
is "$(stat -c %F "$mnt/alone.folded.gz" "$mnt/alone.folded.xz" | sort -u)" "regular file" "files that unpack to nothing but zeros are looked at"
is "$(ls "$mnt/overlap.zip")" kernel "members that share their bytes are one"
ok "one of the members that share their bytes can be read" cmp -n 52428800 "$mnt/overlap.zip/kernel" /dev/zero
is "$(stat -c %s "$mnt/matryoshka.tgz/inner.tgz/zeros")" $((64 << 20)) "an archive in an archive is entered"
is "$(stat -c %F "$mnt/matryoshka.tgz/deep.tgz/deeper.tgz")" "regular file" "an archive in an archive in an archive is a file"
for end in gz xz; do
    is "$(cat "$mnt/whole.tar.$end/first" "$mnt/whole.tar.$end/last" | tr '\n' ' ')" "first last " \
        "members of a compressed stream that is whole are served: $end"
    is "$(cat "$mnt/hurt.tar.$end/first")" first "members before the damage of a compressed stream are served: $end"
    ok "members behind the cut of a compressed stream are not served: $end" refuses test -e "$mnt/cut.tar.$end/last"
done
is "$(cat "$mnt/hurt.zip/first")" first "damage in one member of a zip leaves the others readable"
ok "reading a damaged member of a zip ends with an error" refuses cat "$mnt/hurt.zip/noise"
ok "a zip without its directory is looked through" ls "$mnt/headless.zip"
is "$(ls -A "$mnt/nothing.tar.gz" "$mnt/no.tar.gz" 2>&1 | grep -cv :)" 1 \
    "a compressed file that turns out to be no archive is an empty folder"
is "$(grep Format "$mnt/cube.tar/info.txt")" "Format: cube" "a profile is recognised although it has an archive's name"
is "$(stat -c %F "$mnt/classes.jar")" "regular file" "a zip without an archive's suffix is a file"

cut -d, -f1-3 "$mnt/.profilefs/archives.csv" | sort -u >"$work/problems"
tells() { ok "archives.csv tells of $3" grep -qx "$1,$2,$3" "$work/problems"; }   # tells SEVERITY CODE ARCHIVE
tells warning bad-name names.tar
tells warning no-file names.tar
tells warning no-target links.tar
tells fatal cut beyond.tar
tells fatal damaged checksum.tar
tells error unreadable stored.zip
tells error unreadable deflated.zip
tells error unreadable bzip2.zip
tells fatal too-large bomb.tar.gz
tells fatal damaged hurt.tar.gz
tells fatal damaged hurt.tar.xz
tells fatal damaged cut.tar.gz
tells fatal damaged no.tar.gz
is "$(grep -E ',(whole|twice|matryoshka)' "$work/problems")" "" "archives.csv does not tell of intact archives"
ok "the server's memory stays small" test "$(awk '/^VmHWM/ { print $2 }' "/proc/$(server)/status")" -lt 400000
ok "the server survives all these archives" cat "$mnt/.profilefs/version"
unmount

for name in bomb.tar.gz names.tar no.tar.gz hurt.zip; do
    ok "SOURCE may be a hostile archive: $name" bash -c "timeout 60 '$PROFILEFS' ls '$src/$name'"
done

finish
