#!/usr/bin/env bash
# The commands in docs/tables.md work, for DuckDB, SQLite, pandas and Miller.
tools_cache=${XDG_CACHE_HOME:-$HOME/.cache}
. "$(dirname "$0")/lib.sh"
needs_mount

packages=$tools_cache/profilefs-tests
# DuckDB guesses the type of a column from its first rows. In all of these, the function's name is a number; the last rows have words
# that tools take for NaN or missing values.
{ for i in $(seq 30000); do echo "$i 1"; done; printf 'nan 900\nNULL 10\nNA 20\n'; } >"$src/odd.folded"
mount_source || exit 1
cd "$mnt/odd.folded/metrics/samples" || exit 1
document() { grep -F "| $1 |" "$top/docs/tables.md"; }
ok "the fixture has names that tools take for something else" grep -qE '(^|,)nan(,|$)' functions.csv

if command -v sqlite3 >/dev/null; then
    import=(-cmd '.import --csv functions.csv v')
    is "$(sqlite3 "${import[@]}" :memory: 'SELECT sum(CAST(exclusive AS REAL)), typeof(exclusive) FROM v')" "30930.0|text" "SQLite: numbers are cast from text"
    like "$(document SQLite)" 'import --csv .*CAST\(value AS REAL\)' "docs/tables.md gives this command for SQLite"
else
    skip "SQLite" "it is not installed"
fi
if /usr/bin/python3 -c 'import pandas' 2>/dev/null; then
    line=$(document pandas | grep -o 'read_csv([^`]*')
    names="print(sorted(set(pandas.${line/(file/(\"functions.csv\"}.name.astype(str)) & {'nan', 'NULL', 'NA'}))"
    is "$(/usr/bin/python3 -c "import pandas; $names")" "['NA', 'NULL', 'nan']" "pandas keeps the names of functions with the documented options"
    is "$(/usr/bin/python3 -c "import pandas; print(pandas.read_csv('functions.csv').name.isna().sum())")" 3 \
        "without the documented options pandas loses three names"
else
    skip "pandas" "it is not installed"
fi
if command -v mlr >/dev/null; then
    is "$(mlr --icsv --ocsv --headerless-csv-output sort -nr exclusive then head -n 1 then cut -f name functions.csv)" nan "Miller sorts numbers by -nr"
else
    skip "Miller" "it is not installed"
fi
if command -v node >/dev/null && [ -d "$packages/node_modules/@duckdb" ]; then
    cat >"$work/ask.mjs" <<'M'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
const { DuckDBInstance } = createRequire(resolve(process.argv[2], 'package.json'))('@duckdb/node-api')
const connection = await (await DuckDBInstance.create(':memory:')).connect()
console.log(String((await connection.runAndReadAll(process.argv[3])).getRows()))
M
    line=$(document DuckDB | grep -o "read_csv([^\`]*" | head -n 1)
    is "$(cd "$mnt" && node "$work/ask.mjs" "$packages" "SELECT sum(exclusive), count(DISTINCT filename) FROM $line" 2>&1 | tail -n 1)" "30930,1" \
        "DuckDB reads a folder of profiles with the documented options"
else
    skip "DuckDB" "it is not installed"
fi
finish
