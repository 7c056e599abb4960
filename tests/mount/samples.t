#!/usr/bin/env bash
# The bundled samples are identical to the output of their generators.
. "$(dirname "$0")/lib.sh"

python3 "$samples/gen_xray.py" --samples "$work/again"
mkdir -p "$work"/again/{hpc,cube,gpu,afsim,perun}
python3 "$samples/gen_extrap.py" "$work/again/scaling/heat.txt"
python3 "$samples/gen_extrap.py" "$work/again/scaling/heat.extra-p"
python3 "$samples/gen_extrap.py" "$work/again/scaling/heat.jsonl" --repetitions 2
python3 "$samples/gen_hpctoolkit.py" "$work/again/hpc"
python3 "$samples/gen_cube.py" "$work/again/cube"
python3 "$samples/gen_nsight.py" --samples "$work/again"
python3 "$samples/gen_afperf.py" "$work/again/afsim/coast.afperf"
python3 "$samples/gen_perun.py" "$work/again/perun"
python3 "$samples/gen_stacks.py" "$work/again"
python3 "$samples/gen_valgrind.py" "$work/again/valgrind"
python3 "$samples/gen_otf2.py" "$work/again/otf2"
python3 "$samples/gen_spans.py" "$work/again/spans"
# Other versions of zlib and SQLite write the same content in other bytes: skip their files there.
libraries=$(python3 -c 'import sqlite3, zlib; print(zlib.ZLIB_RUNTIME_VERSION, sqlite3.sqlite_version)')
while IFS= read -r file; do
    case $file:$libraries in
        *:"1.2.13 3.40.1") ;;
        *.cubex:* | *.extra-p:* | *.gz:* | *.sqlite:*)
            skip "$file is what the generator writes" "written with zlib 1.2.13 and SQLite 3.40.1, here are $libraries"
            continue
            ;;
    esac
    ok "$file is what the generator writes" cmp "$work/again/$file" "$archive/$file"
done < <(cd "$work/again" && find . -type f -printf '%P\n' | sort)
is "$(du -sk --apparent-size "$archive" | awk '{ print $1 < 1000 }')" 1 "the archive is below 1 MB"

finish
