#!/usr/bin/env bash
# Names of an archive's members may have any bytes, in any locale and with any declared encoding.
. "$(dirname "$0")/lib.sh"
export LC_ALL=C

python3 - "$src" <<'P'
import io, os, stat, struct, sys, tarfile, zipfile, zlib
folder = sys.argv[1]
run = b"main;f 1\n"

def put(name, data): open(os.path.join(folder, name), "wb").write(data)

# Writes a zip file. A member is a tuple of name, flags, extra field, data and Unix mode.
def pack(name, *members, keep=None, method=0, system=3):
    out, directory = b"", b""
    for member, flags, extra, data, mode in members:
        raw = zlib.compressobj(9, 8, -15)
        packed = raw.compress(data) + raw.flush() if method == 8 else data
        common = struct.pack("<HHHHHIIIHH", 20, flags, method, 0, 0x5821, zlib.crc32(data), len(packed), len(data), len(member), len(extra))
        directory += b"PK\1\2" + bytes([20, system]) + common + struct.pack("<HHHII", 0, 0, 0, mode << 16, len(out)) + member + extra
        out += b"PK\3\4" + common + member + extra + packed
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(out), 0)
    put(name, out + (directory + end if keep is None else b"")[:keep])

FILE, LINK, DIR = stat.S_IFREG | 0o644, stat.S_IFLNK | 0o777, stat.S_IFDIR | 0o755
UTF8 = 1 << 11
def unicode(name, text, version=1, crc=None):
    body = struct.pack("<BI", version, zlib.crc32(name) if crc is None else crc) + text.encode()
    return struct.pack("<HH", 0x7075, len(body)) + body

members = [("Läufe/".encode(), UTF8, b"", b"", DIR), ("Läufe/a.folded".encode(), UTF8, b"", run, FILE), ("熱.folded".encode(), UTF8, b"", run, FILE),
           (b"plain.folded", 0, b"", run, FILE), ("Läufe/link".encode(), UTF8, b"", "größe.folded".encode(), LINK),
           (b"to", UTF8, b"", "Läufe/a.folded".encode(), LINK)]
pack("utf8.zip", *members)
pack("utf8-deflated.zip", *members[:4], method=8)
zipfile.ZIP64_LIMIT = 16
with zipfile.ZipFile(folder + "/utf8-64.zip", "w") as out:
    out.writestr("Läufe/a.folded", run)
    out.writestr("熱.folded", run)
zipfile.ZIP64_LIMIT = (1 << 31) - 1
with open(folder + "/utf8-junk.zip", "wb") as junk: # bytes after the end of the archive
    junk.write(open(folder + "/utf8.zip", "rb").read() + b"\n" * 100)
pack("utf8-cut.zip", *members, keep=0)
pack("no-mode.zip", ("Läufe/".encode(), UTF8, b"", b"", 0), ("Läufe/a.folded".encode(), UTF8, b"", run, 0))
pack("windows.zip", ("Läufe\\a.folded".encode(), UTF8, b"", run, 0), system=0)
pack("flagless.zip", ("größe.folded".encode(), 0, b"", run, FILE), ("größe.folded".encode("latin-1"), 0, b"", run, FILE))
pack("wrong-flag.zip", ("größe.folded".encode("latin-1"), UTF8, b"", run, FILE), (b"b.folded", 0, b"", run, FILE))
pack("infozip.zip", (b"gr__e.folded", 0, unicode(b"gr__e.folded", "größe.folded"), run, FILE),
     (b"old.folded", 0, unicode(b"old.folded", "täuschung", crc=1), run, FILE),
     (b"mixed.folded", 0, struct.pack("<HHI", 0x5855, 4, 0) + unicode(b"mixed.folded", "gemischt-ö.folded"), run, FILE))

def tar(name, format, encoding="utf-8"):
    with tarfile.open(os.path.join(folder, name), "w", format=format, encoding=encoding, errors="surrogateescape") as out:
        def add(member, data=b"", **more):
            info = tarfile.TarInfo(member)
            info.size = len(data)
            for key, value in more.items():
                setattr(info, key, value)
            out.addfile(info, io.BytesIO(data))
        add("Läufe/größe.folded", run)
        add("hart.folded", type=tarfile.LNKTYPE, linkname="Läufe/größe.folded")
        add("weich", type=tarfile.SYMTYPE, linkname="Läufe/größe.folded")
        add("lang/" + "ö" * 40 + "/" + "ü" * 40 + ".folded", run)
tar("ustar.tar", tarfile.USTAR_FORMAT)
tar("gnu.tar", tarfile.GNU_FORMAT)
tar("pax.tar", tarfile.PAX_FORMAT)
tar("latin1.tar", tarfile.GNU_FORMAT, "latin-1")

def simple(name, *members):
    with tarfile.open(os.path.join(folder, name), "w") as out:
        for member, type in members:
            info = tarfile.TarInfo(member)
            info.type, info.linkname = type, "elsewhere"
            info.size = len(run) if type == tarfile.REGTYPE else 0
            out.addfile(info, io.BytesIO(run))
R, D, L = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE
simple("file-folder.tar", ("a.folded", R), ("a.folded/inner.folded", R))
simple("file-dir.tar", ("sub/a", R), ("sub/a", D))
simple("link-folder.tar", ("a", L), ("a/inner.folded", R))
simple("folder-file.tar", ("a/inner.folded", R), ("a", R))
simple("twice.tar", ("a.folded", R), ("a.folded", R), ("d", D), ("d", D), ("d/x.folded", R))
simple("deep.tar", ("/".join(["d"] * 1500) + "/a.folded", R), ("/".join(["d"] * 3000) + "/a.folded", R), ("b.folded", R))
P

names() { "$PROFILEFS" ls "$src/$1" | grep -vx runs/ | LC_ALL=C sort | tr '\n' ' '; }
is "$(names utf8.zip)" "Läufe/ plain.folded/ to 熱.folded/ " "a zip's names that are declared UTF-8 are there"
is "$(names utf8.zip/Läufe)" "a.folded/ link " "names in folders of a zip that are declared UTF-8 are there"
is "$(names utf8-deflated.zip) $(names utf8-deflated.zip/Läufe)" "Läufe/ plain.folded/ 熱.folded/  a.folded/ " \
    "names of compressed members that are declared UTF-8 are there"
is "$(names utf8-64.zip) $(names utf8-64.zip/Läufe)" "Läufe/ 熱.folded/  a.folded/ " "names in the headers of ZIP64 are there"
is "$(names utf8-junk.zip)" "$(names utf8.zip)" "names are there where bytes follow the archive"
is "$(names utf8-cut.zip) $(names utf8-cut.zip/Läufe)" "Läufe/ plain.folded/ to 熱.folded/  a.folded/ link " \
    "names of a zip without a directory come from the members' headers"
like "$("$PROFILEFS" cat "$src/utf8.zip/Läufe/a.folded/info.txt")" "^Format" "a member with a UTF-8 name can be read"
is "$(names no-mode.zip) $(names no-mode.zip/Läufe)" "Läufe/  a.folded/ " "a name that ends in a slash is a folder's"
is "$(names windows.zip) $(names windows.zip/Läufe)" "Läufe/  a.folded/ " "Windows' backslashes are between names"
is "$(names flagless.zip)" "$(printf 'gr\366\337e.folded/ größe.folded/ ' | tr ' ' '\n' | LC_ALL=C sort | tr '\n' ' ')" "names that declare nothing keep their bytes"
is "$(names wrong-flag.zip)" "$(printf 'b.folded/ gr\366\337e.folded/ ')" "names that are wrongly declared UTF-8 keep their bytes"
is "$(names infozip.zip)" "gemischt-ö.folded/ größe.folded/ old.folded/ " "Info-ZIP's Unicode path counts if it belongs to the name"
for tar in ustar gnu pax; do
    is "$(names $tar.tar) $(names $tar.tar/Läufe)" "Läufe/ hart.folded/ lang/ weich  größe.folded/ " \
        "UTF-8 names in a tar of the form $tar are there"
    like "$("$PROFILEFS" cat "$src/$tar.tar/hart.folded/info.txt")" "^Format" "a hard link to a UTF-8 name can be read ($tar)"
    like "$(names $tar.tar/lang)" "^(ö){40}/ $" "long names are whole ($tar)"
done
is "$(names latin1.tar)" "$(printf 'L\344ufe/ hart.folded/ lang/ weich ')" "names in a tar that are not UTF-8 keep their bytes"

check() { "$PROFILEFS" check "$src/$1" 2>"$work/stderr"; echo "status $?"; }
for sound in utf8 utf8-deflated no-mode flagless wrong-flag infozip; do
    is "$(check $sound.zip)" "status 0" "nothing is wrong with $sound.zip"
done
for sound in ustar gnu pax latin1 twice; do
    is "$(check $sound.tar)" "status 0" "nothing is wrong with $sound.tar"
done
for lost in file-folder:a.folded file-dir:sub/a link-folder:a; do
    is "$(check ${lost%:*}.tar)" "$src/${lost%:*}.tar: warning: replaced: ${lost#*:}: a later folder has the same name: skipped
status 1" "check tells of the member that a later folder replaces in ${lost%:*}.tar"
done
like "$(check folder-file.tar)" "folder-file.tar: warning: folder: a: also a folder: file skipped" \
    "check tells of a file that has the name of an earlier folder"
like "$(check deep.tar)" "deep.tar: warning: bad-name: d/d/" "check tells of a path that is too long to be opened"
like "$(cat "$work/stderr")" "checked: 2 profiles, problems in 1" \
    "check of an archive counts its other members and the archive itself"
like "$(check .)" "^$src/./file-folder.tar: warning: replaced" "check of a folder names the archive"

if [ -w /dev/fuse ] && command -v fusermount3 >"$work/which"; then
    mount_source
    is "$(readlink "$mnt/utf8.zip/to") $(readlink "$mnt/utf8.zip/Läufe/link")" "Läufe/a.folded größe.folded" "targets of links keep their bytes"
    is "$(stat -c %s "$mnt/utf8.zip/to" "$mnt/pax.tar/weich" | tr '\n' ' ')" "15 21 " "the size of a link is that of its target"
    is "$(find "$mnt/deep.tar" -name 'a.folded' -prune | wc -l)" 1 "a deep member is found"
    like "$(cat "$mnt/.profilefs/archives.csv")" "^warning,replaced,file-folder.tar," "archives.csv lists the replaced member"
else
    skip "names of members in a mount" "no /dev/fuse"
fi
finish
