#!/usr/bin/env bash
# Names in profiles become file names that every tool accepts, and that map back to the name.
. "$(dirname "$0")/lib.sh"
needs_mount

long=$(printf 'x%.0s' $(seq 300))
wide=$(printf 'ä%.0s' $(seq 150))
python3 - "$src/names.txt" "$long" "$wide" <<'P'
"""An Extra-P text file with a region for each name."""
import sys
names = ["main", "main->a/b", "main->.omp_outlined.", "main->..", "main->100%41", "main->50%", "main->50%zz", "main->\x01x\x7f",
         "main->gr\u00f6\u00dfe", "main->a,b", "main->say \"hi\"", "main->name~7", "main->name~x", "main->info.txt", "main->values.csv",
         "main->statistics.csv", "main->" + sys.argv[2], "main->" + sys.argv[3], "main->a b", "main->back\\slash", "main->->leaf",
         "info.txt", "-rf", "main->operator()(int&, T*)"]
with open(sys.argv[1], "wb") as out:
    out.write(b"PARAMETER p\nPOINTS 1 2 4\nMETRIC time\n")
    for name in names:
        out.write(b"REGION " + name.encode() + b"\nDATA 1\nDATA 2\nDATA 3\n")
    out.write(b"REGION main->caf\xe9\nDATA 1\nDATA 2\nDATA 3\n")
    out.write(b"METRIC flops/s\nREGION main\nDATA 1\nDATA 2\nDATA 3\n")
P
mount_source || exit 1
p=$mnt/names.txt
[ -d "$p/tables" ] || skip_all "Extra-P text is not known"

cat >"$work/table.py" <<'P'
"""Returns a table of a profile with the escapes in its text decoded."""
import csv, re
def byte(value):
    return chr(value if value < 0x80 else 0xdc00 + value)   # os.fsdecode maps bytes that are not UTF-8 like this
def unescape(text):
    return re.sub(r"\\(?:([nrt\\])|x([0-9A-Fa-f]{2}))",
                  lambda m: {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}[m[1]] if m[1] else byte(int(m[2], 16)), text)
def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [{key: unescape(text) for key, text in row.items()} for row in csv.DictReader(file)]
P

# folder NAME: prints the name of the folder that contexts.csv gives for the context NAME; if it ends in ~ and the id, ~ID instead.
folder() {
    PYTHONPATH=$work python3 - "$p" "$1" <<'P'
import os, sys, table
for row in table.rows(sys.argv[1] + "/tables/contexts.csv"):
    if row["name"] == sys.argv[2]:
        sys.stdout.buffer.write(os.fsencode(os.path.basename(row["dir"]).replace("~" + row["id"], "~ID")))
        break
P
}
is "$(folder a/b)" a%2Fb "a slash becomes %2F"
is "$(folder .omp_outlined.)" %2Eomp_outlined. "a leading point becomes %2E: nothing is hidden"
is "$(folder ..)" %2E. "the first of two points becomes %2E: the name is no way up"
is "$(folder 100%41)" 100%2541 "a percent sign before two hex digits becomes %25"
is "$(folder 50%)" 50% "any other percent sign stays"
is "$(folder 50%zz)" 50%zz "a percent sign before other characters than hex digits stays"
is "$(folder $'\x01x\x7f')" %01x%7F "control characters become %XX"
is "$(folder größe)" größe "UTF-8 stays"
is "$(folder $'caf\xe9')" caf%E9 "an invalid byte becomes %XX"
is "$(folder 'a,b')" 'a,b' "a comma stays"
is "$(folder 'say "hi"')" 'say "hi"' "quotes stay"
is "$(folder 'a b')" 'a b' "blanks stay"
is "$(folder 'back\slash')" 'back\slash' "a backslash stays"
is "$(folder 'operator()(int&, T*)')" 'operator()(int&, T*)' "the signature of a C++ function stays"
is "$(folder -rf)" -rf "a dash stays"
is "$(folder name~7)" name~7~ID "a name that ends like a suffix, with ~ and digits, gets a suffix"
is "$(folder name~x)" name~x "a name that ends with ~ and a letter gets no suffix"
is "$(folder values.csv)" values.csv~ID "a name equal to a file of ours gets a suffix"
is "$(folder statistics.csv)" statistics.csv~ID "a name equal to a file of the format's own gets a suffix"
is "$(folder '')" '~ID' "an empty name is its id"
is "$(folder "$long" | sed 's/~ID//; s/^x*$/x/')" x "a long name is cut"
is "$(find -L "$p" -printf '%f\n' | awk 'length($0) > 255' | LC_ALL=C awk '{ exit 1 }'; echo $?)" 0 "no name is longer than 255 bytes"
is "$(find "$p/contexts/" -type d -printf '%f\n' | iconv -f UTF-8 -t UTF-8 2>&1 >/dev/null)" "" "all names are UTF-8, long ones cut at a character"
is "$(ls "$p/metrics" | tr '\n' ' ')" "flops%2Fs time " "a slash in the name of a metric becomes %2F"
is "$(ls "$p/points" | tr '\n' ' ')" "p=1 p=2 p=4 " "a point is named by its parameters"

reachable() {
    PYTHONPATH=$work python3 - "$p" <<'P'
import os, sys, table
top = sys.argv[1]
rows, values = table.rows(top + "/tables/contexts.csv"), table.rows(top + "/tables/values.csv")
dirs = [row["dir"] for row in rows]
assert len(set(dirs)) == len(dirs), "two contexts share a folder"
for row in rows:
    path = os.path.join(top, "contexts", row["dir"])
    assert os.path.basename(path) in os.listdir(os.path.dirname(path)), path + " is not listed"
    text = open(os.path.join(path, "values.csv")).read().splitlines()
    want = sum(value["context"] == row["id"] for value in values)
    assert len(text) - 1 == want, "%s: %d values, want %d" % (path, len(text) - 1, want)
P
}
ok "every context's folder is listed, can be opened and holds its values" reachable
is "$(stat "$p/contexts/main/a%2fb" 2>&1 >/dev/null | sed 's/.*: //')" "No such file or directory" \
    "a folder is not found by another spelling of its name"
is "$(stat "$p/contexts/main/größe~99" 2>&1 >/dev/null | sed 's/.*: //')" "No such file or directory" \
    "a suffix on a name that has none in the listing is not found"
is "$(stat "$p/contexts/main/values.csv~999999" 2>&1 >/dev/null | sed 's/.*: //')" "No such file or directory" \
    "a suffix with another id is not found"

finish
