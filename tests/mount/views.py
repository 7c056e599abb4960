"""Compares the views of a profile with its values.csv and contexts.csv. For each behaviour prints True or False, its name, and the
problems, separated by tabs."""
import csv, math, os, sys
from collections import defaultdict

top = sys.argv[1]


def table(path):
    with open(os.path.join(top, path), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def report(name, problems):
    problems = list(problems)
    print("%s\t%s\t%s" % (not problems, name, "; ".join(map(str, problems[:3]))))


def near(a, b):
    a, b = float(a), float(b)
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-300)


values, contexts, threads, metrics, trace = (table("tables/%s.csv" % t) for t in "values contexts threads metrics trace".split())
by_id = {c["id"]: c for c in contexts}
unique = lambda rows, *keys: len({tuple(r[k] for k in keys) for r in rows}) == len(rows)

report("ids and names are unique", [t for t, rows, key in (
    ("contexts", contexts, "id"), ("threads", threads, "name"), ("threads", threads, "id"), ("metrics", metrics, "name"))
    if not unique(rows, key)])
report("values have unique keys", [] if unique(values, "thread", "context", "metric") else ["doubled keys"])
report("a root has depth 0, a child one more than its parent", (
    c for c in contexts if int(c["depth"]) != (int(by_id[c["parent"]]["depth"]) + 1 if c["parent"] else 0)))
report("a context's folder lies in its parent's", (
    c for c in contexts if os.path.dirname(c["dir"]) != (by_id[c["parent"]]["dir"] if c["parent"] else "")))
report("name beside a context is the context's", (v for v in values if v["name"] != by_id[v["context"]]["name"]))

# ---- shares

def without(rows, *keys):
    return [tuple(v for k, v in r.items() if k not in keys) for r in rows]

def share(rows, key, value):
    return [r for r in rows if r[key] == value]

report("a thread's values.csv is its share of the whole, in the same order", (
    t["name"] for t in threads
    if without(table("threads/%s/values.csv" % t["dir"])) != without(share(values, "thread", t["name"]), "thread")))
report("a thread's trace.csv is its share of the whole", (
    t["name"] for t in threads
    if without(table("threads/%s/trace.csv" % t["dir"])) != without(share(trace, "thread", t["name"]), "thread")))
report("a context's values.csv is its share of the whole", (
    c["dir"] for c in contexts
    if without(table("contexts/%s/values.csv" % c["dir"])) != without(share(values, "context", c["id"]), "context", "name")))
report("values stand thread by thread, in the order of threads.csv",
       [] if [v["thread"] for v in values] == [t["name"] for t in threads for v in share(values, "thread", t["name"])] else ["order"])

# ---- the time line

first = min((int(e["tsc"]) for e in trace), default=0)
report("trace.csv: times are whole ns since the first event", (
    e for e in trace if int(e["time"]) != (int(e["tsc"]) - first) * 10**9 // 2_400_000_000))
calls = defaultdict(int)
for v in share(values, "metric", "calls"):
    calls[v["thread"]] += int(v["value"])
ends = lambda t: sum(e["event"] in ("exit", "tail-exit") for e in share(trace, "thread", t["name"]))
report("a call is an entry with an exit: calls of a thread = exits - unmatched exits + implicit exits", (
    t["name"] for t in threads
    if calls[t["name"]] != ends(t) - int(t["unmatched_exits"]) + int(t["implicit_exits"])))
report("threads.csv counts the events", (
    t["name"] for t in threads if int(t["events"]) != len(share(trace, "thread", t["name"]))))

# ---- time adds up

amount = {(v["thread"], v["context"], v["metric"]): float(v["value"]) for v in values}
children = defaultdict(list)
for c in contexts:
    children[c["parent"]].append(c["id"])
# A call that is still open has no time, but its children do.
opened = {(v["thread"], v["context"]) for v in share(values, "metric", "open") if float(v["value"])}
report("ticks (inc) = ticks + ticks (inc) of the children, where no call is left open", (
    key for key, value in amount.items() if key[2] == "ticks (inc)" and key[:2] not in opened
    and not near(value, amount.get((key[0], key[1], "ticks"), 0)
                 + sum(amount.get((key[0], c, "ticks (inc)"), 0) for c in children[key[1]]))))
report("time is ticks in ns", (
    key for key, value in amount.items() if key[2] in ("ticks", "ticks (inc)")
    and not near(amount[key[0], key[1], key[2].replace("ticks", "time")], value * 1e9 / 2.4e9)))

# ---- aggregates

def aggregates(metric):
    folder = "metrics/%s/" % metric["dir"]
    cells = defaultdict(list)
    for v in share(values, "metric", metric["name"]):
        cells[v["context"]].append(float(v["value"]))
    holders = len({v["thread"] for v in share(values, "metric", metric["name"])})
    rows = table(folder + "contexts.csv")
    wrong = [r for r in rows if r["count"] != str(len(cells[r["context"]]))]
    for r in rows:
        x = cells[r["context"]]
        if not x:
            continue
        mean = math.fsum(x) / len(x)
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in x) / len(x))
        want = {"sum": math.fsum(x), "mean": mean, "min": min(x), "max": max(x)}
        wrong += [(r, k, v) for k, v in want.items() if r[k] == "" or not near(r[k], v)]
        if abs(float(r["stddev"]) - deviation) > 1e-6 * max(mean, deviation, 1e-300):
            wrong.append((r, "stddev", deviation))
        if mean and not near(r["imbalance"], max(x) * holders / math.fsum(x)):
            wrong.append((r, "imbalance", max(x) * holders / math.fsum(x)))
    if {r["context"] for r in rows} < set(cells):
        wrong.append("contexts missing")
    report(metric["name"] + ": contexts.csv is sum, mean, min, max, stddev, imbalance, count over the threads", wrong)

    wrong = []
    top_level = {"all": lambda c: True, "roots": lambda c: not by_id[c]["parent"]}.get(metric["over_contexts"])
    for r in table(folder + "threads.csv") if top_level else ():
        want = math.fsum(float(v["value"]) for v in share(share(values, "metric", metric["name"]), "thread", r["thread"]) if top_level(v["context"]))
        if not near(r["sum"] or 0, want):
            wrong.append((r, want))
    report(metric["name"] + ": threads.csv adds up over the contexts as over_contexts says", wrong)

for metric in metrics:
    aggregates(metric)

exclusive = defaultdict(list)
for v in share(values, "metric", "ticks"):
    exclusive[v["name"]].append(float(v["value"]))
rows = table("metrics/ticks/functions.csv")
report("functions.csv: a function's exclusive value is the sum over its contexts", (
    r for r in rows if not near(r["exclusive"] or 0, math.fsum(exclusive[r["name"]]))))
report("functions.csv: every function stands there once", [] if unique(rows, "name") and {r["name"] for r in rows} >= set(exclusive) else ["missing"])

def outermost(context):
    name, at = by_id[context]["name"], by_id[context]["parent"]
    while at:
        if by_id[at]["name"] == name:
            return False
        at = by_id[at]["parent"]
    return True

inclusive = defaultdict(list)
for v in share(values, "metric", "ticks (inc)"):
    if outermost(v["context"]):
        inclusive[v["name"]].append(float(v["value"]))
report("functions.csv: a function's inclusive value counts its outermost occurrences only", (
    (r, math.fsum(inclusive[r["name"]])) for r in rows if not near(r["inclusive"] or 0, math.fsum(inclusive[r["name"]]))))

# ---- text

def folded(metric):
    total = 0.0
    for line in open(os.path.join(top, "metrics", metric, "stacks.folded")):
        stack, value = line.rsplit(" ", 1)
        total += float(value)
    return total

total = math.fsum(float(v["value"]) for v in share(values, "metric", "ticks"))
report("stacks.folded adds up to the exclusive total", [] if near(folded("ticks"), total) else [(folded("ticks"), total)])
pairs = table("metrics/ticks/callers.csv")
called = {(by_id[c["parent"]]["name"] if c["parent"] else "", c["name"]) for c in contexts}
report("callers.csv has each pair of caller and callee once", [] if {(r["caller"], r["callee"]) for r in pairs} == called and len(pairs) == len(called) else ["%d pairs" % len(pairs)])
report("callers.csv adds up to the exclusive total", [] if near(math.fsum(float(r["exclusive"]) for r in pairs), total) else [total])
lines = open(os.path.join(top, "metrics/ticks/stacks.folded")).read().splitlines()
report("stacks.folded: frames joined by semicolons, a blank, a number", (
    line for line in lines if not line.rsplit(" ", 1)[0] or not line.rsplit(" ", 1)[1].isdigit()))
hot = open(os.path.join(top, "metrics/time/hot.txt")).read()
names = [line.split()[-1] for line in hot.splitlines() if line.split() and line.split()[-1] in {c["name"] for c in contexts}]
report("hot.txt lists every function once, hottest first", [] if len(names) == len(set(names)) and set(names) == {c["name"] for c in contexts}
       and names[0] == max(exclusive, key=lambda n: math.fsum(exclusive[n])) else [names])
report("hot.txt has pprof's columns", [] if any(line.split() == "flat flat% sum% cum cum% name".split() for line in hot.splitlines()) else [hot[:200]])
tree = open(os.path.join(top, "metrics/time/tree.txt")).read()
own = table("metrics/time/contexts.csv")
least = math.fsum(float(r["sum"]) for r in own) / 1000
report("tree.txt has a line for every context that holds 0.1 %", (r["name"] for r in own if float(r["sum"]) >= least and r["name"] not in tree))
