#!/usr/bin/env bash
# The tree of one profile has the documented folders, files and header lines, and exact sizes.
. "$(dirname "$0")/lib.sh"
needs_mount

copy_sample
mount_source || exit 1
p=$mnt/$heat
ls "$p" >/dev/null || exit 1
t=$p/threads/$(first_thread "$p")

is "$(cd "$p" && ls)" "$(printf '%s\n' contexts export info.txt metrics primary tables threads)" \
    "a profile is a folder of views"
is "$(cd "$p/tables" && ls)" "$(printf '%s.csv\n' contexts durations metrics threads trace values warnings)" \
    "tables/ holds the tables of the profile"
is "$(cd "$p/metrics" && ls | tr '\n' ' ')" "calls open ticks ticks (inc) time time (inc) " \
    "metrics/ has a folder for each metric"
is "$(cd "$p/metrics/time" && ls | tr '\n' ' ')" \
    "bottom_up.txt callers.csv contexts.csv files.csv functions.csv groups.csv hot.txt info.txt lines.csv modules.csv stacks.folded summary.md threads.csv tree.txt " \
    "a metric's folder holds the aggregates"
is "$(cd "$t" && ls | tr '\n' ' ')" "durations.csv info.txt trace.csv values.csv " "a thread's folder holds the thread's share"
is "$(find "$p/contexts/" -mindepth 2 -maxdepth 2 -type f -printf '%f\n' | sort -u | tr '\n' ' ')" \
    "info.txt values.csv " "a context's folder holds the context's share"

ok "a format of call edges has no reversed tree" test ! -e "$mnt/valgrind/callgrind.out.4711/primary/metric/bottom_up.txt"

header() { head -n 1 "$p/$1"; }
is "$(header tables/metrics.csv)" \
    "id,name,unit,scope,type,over_contexts,over_partitions,partner,description,dir" "metrics.csv has these columns"
is "$(header tables/threads.csv)" \
    "id,name,pid,tid,buffers,events,unmatched_exits,implicit_exits,open_at_end,max_depth,first_tsc,last_tsc,dir" \
    "threads.csv has these columns"
is "$(header tables/contexts.csv)" "id,parent,depth,kind,line,name,file,module,dir,function" \
    "contexts.csv has these columns"
is "$(header tables/values.csv)" "thread,context,metric,value,name" "values.csv has these columns"
is "$(header tables/warnings.csv)" "line,offset,severity,code,text" "warnings.csv has these columns"
is "$(header tables/trace.csv)" "thread,time,tsc,cpu,event,function,depth,args,event_type,data,name" \
    "trace.csv has these columns"
like "$(header tables/durations.csv)" '^function,count,min,median,p90,p99,max,sum,name$' "durations.csv has these columns"
is "$(header metrics/time/contexts.csv)" "context,sum,mean,min,max,stddev,imbalance,count,name" \
    "metrics/M/contexts.csv has these columns"
is "$(header metrics/time/threads.csv)" "thread,sum,contexts" "metrics/M/threads.csv has these columns"
is "$(header metrics/time/functions.csv)" "kind,contexts,exclusive,inclusive,exclusive_percent,inclusive_percent,unit,name,file" \
    "metrics/M/functions.csv has these columns"
is "$(header metrics/time/callers.csv)" "contexts,exclusive,inclusive,caller,callee" "metrics/M/callers.csv has these columns"
is "$(head -n 1 "$t/values.csv")" "context,metric,value,name" "a thread's values.csv lacks the column thread"
is "$(head -n 1 "$t/trace.csv")" "time,tsc,cpu,event,function,depth,args,event_type,data,name" \
    "a thread's trace.csv lacks the column thread"
is "$(find "$p/contexts/" -name values.csv -exec head -qn 1 {} + | sort -u)" "thread,metric,value" \
    "a context's values.csv lacks the columns of the context"

like "$(cat "$p/info.txt")" '^Format: ' "info.txt names the format"
like "$(cat "$p/info.txt")" '^Version: 5$' "info.txt names the version"
like "$(cat "$p/info.txt")" '^Primary: time$' "info.txt names the primary metric"
is "$(grep -vcE '^[A-Za-z][A-Za-z ()_-]*: ' "$p/info.txt")" 0 "every line of info.txt is Key: value"
like "$(cat "$p/metrics/time/info.txt")" 'ns' "a metric's info.txt has its unit"
is "$(readlink "$p/primary/metric")" ../metrics/time "primary/metric leads to the primary metric"
ok "tables are read through primary/metric" cmp -s "$p/primary/metric/functions.csv" "$p/metrics/time/functions.csv"
is "$(cd "$p/metrics" && grep -l '^Primary: yes$' */info.txt)" time/info.txt "only the primary metric's info.txt is marked as such"
like "$(cat "$p/metrics/time/info.txt")" '^Folded: ns$' "a metric's info.txt has the unit of stacks.folded"
is "$(grep -vcE '^.* [1-9][0-9]*$' "$p/metrics/time/stacks.folded")" 0 "the values of stacks.folded are positive integers"

# ---- sizes

sizes_are_exact() { python3 "$here/sizes.py" "$mnt" "${1:-before}"; }
cold
ok "on a cold mount the size that stat gives is what reading yields, for every file" sizes_are_exact
ok "on a warm mount the size that stat gives is what reading yields, for every file" sizes_are_exact
unmount && mount_source
ok "on a second mount with the cache the size that stat gives is what reading yields, for every file" sizes_are_exact
cold
ok "reading without a stat before gives the same number of bytes" sizes_are_exact after

is "$(find -L "$mnt" -type f -size 0 | wc -l)" 0 "no generated file is empty: a table without rows has its header"
is "$(find -L "$mnt" -type f ! -name '*.*' ! -path '*/.profilefs/*' | wc -l)" 0 "every generated file has an extension"
is "$(stat -c '%h %b' "$p/tables/trace.csv")" "1 $((($(stat -c %s "$p/tables/trace.csv") + 511) / 512))" \
    "a file has one link and as many blocks as its size needs"
is "$(find -L "$mnt" -name '*.csv' -exec awk 'BEGIN { RS = "^$" } !/\n$/ { print FILENAME }' {} \;)" "" \
    "every table ends with a line feed"
is "$(find -L "$mnt" -name '*.csv' -exec grep -lP '[\x00-\x09\x0b-\x1f\x7f]' {} +)" "" \
    "no table holds a control character but line feeds"
is "$(grep -c . "$p/tables/trace.csv")" "$(python3 -c '
import csv, sys
print(sum(1 for row in csv.reader(open(sys.argv[1], newline=""))))' "$p/tables/trace.csv")" "one row is one line"
is "$(find -L "$mnt" | sort | uniq -d | wc -l) $(find "$mnt" "$p/contexts/" "$p/export/" -type d -printf '%i\n' | sort | uniq -d | wc -l)" "0 0" \
    "no name and no folder's inode appears twice"

# ---- the column dir leads to every table

dirs_exist() {   # dirs_exist TABLE FOLDER
    python3 -c '
import csv, os, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
missing = [row["dir"] for row in rows if not row["dir"] or not os.path.isdir(os.path.join(sys.argv[2], row["dir"]))]
print("no folder", missing[:3])
sys.exit(not rows or bool(missing))' "$p/tables/$1" "$p/$2"
}
ok "threads.csv: dir is a folder in threads/" dirs_exist threads.csv threads
ok "contexts.csv: dir is a folder in contexts/" dirs_exist contexts.csv contexts
ok "metrics.csv: dir is a folder in metrics/" dirs_exist metrics.csv metrics
is "$(($(wc -l <"$p/tables/contexts.csv") - 1))" "$(find "$p/contexts/" -mindepth 1 -type d | wc -l)" \
    "there is a folder for every context"

# ---- SOURCE may be a profile itself

unmount
source=$src/$heat mount_source
is "$(ls "$mnt" | tr '\n' ' ')" "contexts export info.txt metrics primary tables threads " \
    "with a single profile as SOURCE the mount's root is the profile"
ok "with a single profile as SOURCE its tables can be read" grep -q '^thread,' "$mnt/tables/values.csv"
unmount

ok "a SOURCE that does not exist is refused" \
    bash -c "! '$PROFILEFS' '$src/nothing' '$mnt' 2>/dev/null && ! mountpoint -q '$mnt'"

finish
