#!/usr/bin/env bash
# Everyday tools give on a cold mount, byte for byte, what they give on a plain copy of the tree.
. "$(dirname "$0")/lib.sh"
needs_mount

copy_sample "$src/small.xray"
generate "$src/big.xray" --steps 1500
cp "$archive/README.txt" "$src"
mount_source || exit 1
plain=$work/plain
mkdir "$plain"
(cd "$mnt" && find . -path ./.profilefs -prune -o -type d -print0) | (cd "$plain" && xargs -0 mkdir -p)
(cd "$mnt" && find . -path ./.profilefs -prune -o -type f -print0) |
    while IFS= read -r -d '' file; do cat "$mnt/$file" >"$plain/$file"; done
(cd "$mnt" && find . -path ./.profilefs -prune -o -type l -print0) |
    while IFS= read -r -d '' link; do ln -s "$(readlink "$mnt/$link")" "$plain/$link"; done
ok "the fixture has a file of several MB" test "$(stat -c %s "$plain/big.xray/tables/trace.csv")" -gt 3000000

# tool NAME SCRIPT: runs SCRIPT at the top of each tree and compares its output, its exit status, and the files that it leaves in
# $O. $F is a file to work on: once a small table, once one of several MB. SCRIPT must succeed, because a tool that rejects its
# options would fail in the same way twice.
tool() {
    local name=$1 script=$2 program size where
    program=${3-${name%% *}}
    if ! command -v "$program" >/dev/null; then
        skip "$name" "$program is not installed"
        return
    fi
    for size in small big; do
        for where in plain mnt; do
            [ $where = plain ] || cold
            export O=$work/$where.out F=$size.xray/tables/trace.csv D=$size.xray P=$where
            rm -rf "$O" && mkdir "$O"
            (cd "${!where}" && timeout 120 bash -c "$script") >"$work/$where.stdout" 2>"$work/$where.stderr"
            echo "exit $?" | tee -a "$work/$where.stdout" >"$work/$where.status"
        done
        if grep -qx 'exit 0' "$work/plain.status" && cmp -s "$work/plain.stdout" "$work/mnt.stdout" &&
            diff -r --no-dereference "$work/plain.out" "$work/mnt.out" >/dev/null; then
            ok "$name gives the same in the mount as on a copy, $size file" true
        else
            ok "$name gives the same in the mount as on a copy, $size file" bash -c "cat '$work/plain.status'; cat '$work/mnt.stderr'
                cmp '$work/plain.stdout' '$work/mnt.stdout'; diff -rq --no-dereference '$work/plain.out' '$work/mnt.out'; false"
        fi
    done
}

tool "cat" 'cat $F'
tool "cat of many files" 'cat $D/tables/*.csv $D/metrics/*/*.csv'
tool "dd" 'dd if=$F bs=64k status=none'
tool "dd skip=" 'dd if=$F bs=1000 skip=77 count=9 status=none'
tool "dd iflag=fullblock" 'dd if=$F bs=1M iflag=fullblock status=none'
tool "grep" 'grep -n custom $F'
tool "grep -r" 'grep -rc "#10" . --include="*.csv" --exclude-dir=.profilefs | sort'
tool "grep -c of one thread" 'grep -c enter $D/threads/*/trace.csv'
tool "rg" 'rg -c ",enter," $F'
tool "rg --mmap" 'rg --mmap -c ",exit," $F'
tool "rg of a folder" 'rg -c --sort path ",enter," $D'
tool "find -size" 'find . -path ./.profilefs -prune -o -type f -size +100k -print | sort'
tool "find -empty" 'find . -path ./.profilefs -prune -o -type f -empty -print | sort'
tool "find -exec" 'find $D -name info.txt -exec cat {} + | sort'
tool "tar" 'tar -cf $O/t --sort=name $D && tar -xOf $O/t | sha256sum; rm $O/t'
tool "rsync" 'rsync -r --exclude=.profilefs $D $O'
tool "rsync --checksum against a copy" 'cp -r --no-preserve=mode $D $O; rsync -rcni --omit-dir-times $D $O'
tool "cp" 'cp $F $O/copy'
tool "cp -r" 'cp -r --no-preserve=mode $D $O'
tool "cp --sparse" 'cp --sparse=always $F $O/copy'
tool "cp --reflink=auto" 'cp --reflink=auto $F $O/copy'
tool "install" 'install -m 644 $F $O/copy'
tool "wc -c" 'wc -c $F'
tool "wc -l" 'wc -l $F $D/tables/values.csv'
tool "tail -n" 'tail -n 5 $F'
tool "tail -c" 'tail -c 999 $F'
tool "tail -n +" 'tail -n +7 $F'
tool "head -n" 'head -n 12 $F'
tool "head -n -" 'head -n -3 $F'
tool "head -c -" 'head -c -1000 $F'
tool "tac" 'tac $F'
tool "split -n" 'split -n l/4 $F $O/part'
tool "split -n r/" 'split -n 5 $F $O/part'
tool "csplit" 'csplit -s -f $O/part $F 100 200'
tool "less" 'less -FX $F | head -n 50'
tool "less at the end" 'less -FX +G $D/info.txt'
tool "more" 'more $D/info.txt'
tool "diff" 'cp $F $O/copy; diff $F $O/copy'
tool "diff -q" 'diff -q $F $D/tables/values.csv; [ $? = 1 ]'
tool "diff -q of equals" 'cp $F $O/copy; diff -q $F $O/copy'
tool "diff -r" 'diff -rq small.xray/metrics big.xray/metrics | sort'
tool "cmp" 'cp $F $O/copy; cmp $F $O/copy'
tool "sort" 'sort -t, -k4,4n $F'
tool "sort -u" 'sort -u -t, -k5,5 $F'
tool "uniq" 'cut -d, -f5 $F | uniq -c'
tool "join" 'join -t, <(tail -n +2 $D/tables/contexts.csv | sort -t, -k1,1) <(tail -n +2 $D/metrics/time/contexts.csv | sort -t, -k1,1)'
tool "comm" 'comm -12 <(cut -d, -f5 $F | sort) <(cut -d, -f5 $D/threads/*/trace.csv | sort)'
tool "cut" 'cut -d, -f2,5 $F'
tool "paste" 'paste -d, $D/tables/threads.csv $D/tables/metrics.csv'
tool "shuf" 'shuf --random-source=/dev/zero -n 20 $F'
tool "mawk" 'mawk -F, "{ n[\$5]++ } END { for (e in n) print e, n[e] }" $F | sort'
tool "gawk" 'gawk -F, "{ n[\$6] += \$2 } END { for (e in n) print e, n[e] }" $F | sort'
tool "sed" 'sed -n "s/,enter,/,E,/p" $F'
tool "tr" 'tr , "\t" <$F'
tool "od" 'od -c $F | tail -n 5'
tool "strings" 'strings -n 8 $F | head'
tool "git hash-object" 'git hash-object $F'
tool "git diff --no-index" 'git diff --no-index $D/tables/threads.csv $D/tables/metrics.csv; [ $? = 1 ]'
tool "git diff --no-index of large files" '(cat $F; echo) >$O/more; git diff --no-index --numstat $F $O/more | cut -f1,2'
tool "git add" 'cd $O && git init -q . && git --work-tree=$OLDPWD/$D add -A && git ls-files -s; rm -rf .git'
tool "sha256sum" 'sha256sum $F'
tool "md5sum" 'md5sum $D/tables/*.csv'
tool "cksum" 'cksum $F'
tool "file" 'file -b $F $D/info.txt'
tool "zip" 'find $D -type f | sort | zip -q -@ $O/z.zip && unzip -p $O/z.zip | sha256sum; rm $O/z.zip'
tool "gzip" 'gzip -c $F | gzip -dc'
tool "bzip2" 'bzip2 -c $F | bzip2 -dc'
tool "xz" 'xz -0 -c $F | xz -dc'
tool "zstd" 'zstd -q -c $F | zstd -dc'
tool "cpio" 'find $D -type f | sort | cpio -o --quiet | cpio -t --quiet'
tool "stat" 'stat -c "%s %F" $F'
tool "du --apparent-size" 'du -b $F'
tool "test -s" 'test -s $F && echo has bytes'
tool "realpath" 'realpath --relative-to=. $F'
tool "jq" 'jq -R -s "split(\"\n\") | length" $F'
tool "sqlite3 .import" 'sqlite3 :memory: ".mode csv" ".import $F t" "select event, count(*), sum(time) from t group by event"'
tool "perl" 'perl -F, -ane "\$n{\$F[4]}++; END { print qq(\$_ \$n{\$_}\n) for sort keys %n }" $F'
tool "perl -s" 'perl -e "print -s shift" $F'
tool "busybox cat" 'busybox cat $F'
tool "busybox cp" 'busybox cp $F $O/copy'
tool "busybox tail" 'busybox tail -c 500 $F'
tool "busybox wc" 'busybox wc $F'
tool "busybox tar" 'busybox tar -cf - $F | tar -xO'
tool "xargs" 'find $D -name values.csv -print0 | sort -z | xargs -0 -P2 -n4 wc -c | grep -v total | sort'

python() { tool "python: $1" "python3 -c \"import os, sys, mmap, shutil, csv; f = os.environ['F']; o = os.environ['O']; $2\"" python3; }
python "read" "sys.stdout.write(open(f).read())"
python "readlines" "print(sum(len(l) for l in open(f)))"
python "seek to the end" "h = open(f, 'rb'); print(h.seek(0, 2)); h.seek(-50, 2); print(h.read())"
python "mmap" "h = open(f, 'rb'); m = mmap.mmap(h.fileno(), 0, access=mmap.ACCESS_READ); print(len(m), m.rfind(b'enter'), m[-60:])"
python "private mmap" "h = open(f, 'rb'); m = mmap.mmap(h.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ); print(hash(bytes(m)) != 0, len(m))"
python "shutil.copy" "shutil.copyfile(f, o + '/copy')"
python "shutil.copytree" "shutil.copytree(os.environ['D'] + '/metrics', o + '/m')"
python "sendfile" "h = open(f, 'rb'); t = open(o + '/copy', 'wb'); n = os.fstat(h.fileno()).st_size; i = 0
while i < n: i += os.sendfile(t.fileno(), h.fileno(), i, n - i)"
python "csv" "print(sum(int(r['depth']) for r in csv.DictReader(open(f, newline=''))))"
python "os.walk" "print(sorted((b, sorted(d + s)) for b, d, s in os.walk(os.environ['D'])))"
python "pread at the end" "h = os.open(f, 0); print(os.pread(h, 100, os.path.getsize(f) - 10))"

finish
