#!/usr/bin/env bash
# Anything that happens to the cache's files under a live mount only costs time.
. "$(dirname "$0")/lib.sh"
needs_mount

folder=$XDG_CACHE_HOME/profilefs
for i in $(seq 30); do
    mkdir "$src/d$i"
    copy_sample "$src/d$i/log"
done
text=metrics/time/hot.txt
"$PROFILEFS" cat "$src/d1/log/$text" >"$work/want"

# serves FROM TO: checks the texts of the profiles with these numbers.
serves() {
    local i
    for i in $(seq "$1" "$2"); do
        timeout 20 cmp "$work/want" "$mnt/d$i/log/$text" || return 1
    done
}
# begin: starts a mount that has its database open.
begin() {
    cold
    "$PROFILEFS" index "$src" 2>/dev/null && serves 1 3
}

cut_beside_the_database() {
    local turn file
    begin || return 1
    for turn in $(seq 9); do
        for file in "$folder"/profiles.db-*; do
            [ ! -f "$file" ] || truncate -s 0 "$file"
        done
        serves $((3 * turn + 1)) $((3 * turn + 3)) || return 1
    done
}
ok "cutting the files beside the database costs speed only" cut_beside_the_database

cut_the_database() {
    local turn
    begin || return 1
    for turn in $(seq 9); do
        truncate -s $((turn % 2 * 5000)) "$folder/profiles.db"
        serves $((3 * turn + 1)) $((3 * turn + 3)) || return 1
    done
}
ok "cutting the database costs speed only" cut_the_database

# open_as_sqlite DATABASE: does the first step of SQLite when it opens a database in WAL mode: truncates -shm if it can lock byte
# 128, that is if no other process has the database open. (SQLite then enlarges -shm; without this step, timing does not matter.)
open_as_sqlite() {
    [ ! -e "$1-shm" ] || python3 -c '
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 128)
        file.truncate(3)
        print("-shm is not locked any more")
    except BlockingIOError:
        pass' "$1-shm"
}

# A process loses its POSIX locks of a file when it closes any descriptor of the file, for example after a read through a mount of
# the home folder.
read_through_the_mount() {
    XDG_CACHE_HOME=$src/.cache
    folder=$XDG_CACHE_HOME/profilefs
    ulimit -n 64 # few descriptors: profiles are closed early, and their results written to the cache
    cold
    serves 1 24 || return 1
    open_as_sqlite "$folder/profiles.db"
    serves 25 26 || return 1
    cat "$mnt"/.cache/profilefs/profiles.db* >/dev/null
    open_as_sqlite "$folder/profiles.db"
    serves 27 30
}
ok "reading the database through the mount costs speed only" read_through_the_mount

finish
