#!/usr/bin/env python3
"""Writes profiles with a time line, of a build and of a web page of an imaginary code, `heat`. They have the same bytes every time.

gen_spans.py FOLDER

FOLDER/build.trace.json          trace events, as compilers and PyTorch's profiler write them: slices, counters, instants
FOLDER/server.trace.json.gz      the array form with begins and ends of calls and asynchronous events; its end is missing
FOLDER/heat.speedscope.json      speedscope's own format: a thread with events, one with samples
FOLDER/page.cpuprofile           V8's sampled profile of a page that draws the grid
FOLDER/page.heapprofile          V8's sampled profile of what that page has allocated
"""
import gzip, json, os, random, sys


def text(value):
    return (json.dumps(value, separators=(",", ":")) + "\n").encode()


def build(rng):
    """Returns nested slices of two compilers side by side, with ns as decimals of µs."""
    events = [{"ph": "M", "pid": 7, "tid": 7, "name": "process_name", "args": {"name": "make"}}]
    for tid, files in ((7, ("solve.cc", "mesh.cc", "main.cc")), (8, ("halo.cc", "io.cc"))):
        at = 1000
        for file in files:
            front, back = rng.randrange(20000, 90000), rng.randrange(10000, 60000)
            events.append({"ph": "X", "pid": 7, "tid": tid, "ts": at, "dur": front + back + 150.25, "name": "ExecuteCompiler", "args": {"detail": file}})
            events.append({"ph": "X", "pid": 7, "tid": tid, "ts": at + 50.125, "dur": front, "name": "Frontend"})
            inner = at + 60
            while inner < at + front - 9000:
                took = rng.randrange(500, 9000)
                events.append({"ph": "X", "pid": 7, "tid": tid, "ts": inner, "dur": took, "name": rng.choice(("Source", "InstantiateFunction", "ParseClass"))})
                inner += took
            events.append({"ph": "X", "pid": 7, "tid": tid, "ts": at + front + 100, "dur": back, "name": "Backend"})
            events.append({"ph": "C", "pid": 7, "tid": tid, "ts": at, "name": "memory", "args": {"MB": rng.randrange(60, 300)}})
            at += front + back + 2000
        events.append({"ph": "i", "pid": 7, "tid": tid, "ts": at, "s": "t", "name": "done"})
        events.append({"ph": "M", "pid": 7, "tid": tid, "name": "thread_name", "args": {"name": "job %d" % (tid - 6)}})
    return text({"traceEvents": events, "displayTimeUnit": "ms"})


def server(rng):
    """Returns requests that begin and end one by one, with asynchronous waits beside the stack."""
    events, at = [], 40_000_000
    for request in range(40):
        where = {"pid": 12, "tid": 12}
        events.append({"ph": "B", "ts": at, "name": "request", "cat": "http", **where})
        events.append({"ph": "b", "ts": at + 20, "name": "read", "cat": "fs", "id": "0x%x" % (request + 1), **where})
        events.append({"ph": "B", "ts": at + 30, "name": rng.choice(("render", "query")), **where})
        at += rng.randrange(900, 4000)
        events.append({"ph": "E", "ts": at, **where})
        events.append({"ph": "e", "ts": at + 5, "name": "read", "cat": "fs", "id": "0x%x" % (request + 1), **where})
        events.append({"ph": "E", "ts": at + 60, "name": "request", **where})
        at += 200
    body = "[" + ",\n".join(json.dumps(event) for event in events) + ",\n"
    return gzip.compress(body.encode(), mtime=0)


def speedscope(rng):
    frames = [{"name": name, "file": "heat.cc", "line": line} for name, line in
              (("main", 12), ("solve", 40), ("step", 55), ("sweep", 71), ("exchange_halo", 102), ("write_checkpoint", 140))]
    events, at = [{"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 1, "at": 0.5}], 1.0
    for _ in range(12):
        for frame in (3, 4):
            events.append({"type": "O", "frame": 2, "at": at})
            events.append({"type": "O", "frame": frame, "at": at + 0.125})
            at += rng.randrange(4, 40) / 8
            events.append({"type": "C", "frame": frame, "at": at})
            events.append({"type": "C", "frame": 2, "at": at + 0.25})
            at += 0.25
    events += [{"type": "C", "frame": 1, "at": at}, {"type": "C", "frame": 0, "at": at + 1}]
    stacks = [[0], [0, 1], [0, 1, 2, 3], [0, 1, 2, 4], [0, 5]]
    samples = [rng.choice(stacks) for _ in range(60)]
    return text({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames}, "profiles": [
        {"type": "evented", "name": "rank 0", "unit": "milliseconds", "startValue": 0, "endValue": at + 1, "events": events},
        {"type": "sampled", "name": "rank 1", "unit": "milliseconds", "startValue": 0, "endValue": 60, "samples": samples, "weights": [1] * 60}],
        "name": "heat", "exporter": "gen_spans.py"})


# Functions, each with its line and the index of its caller.
FUNCTIONS = (("(root)", -1, None), ("", 0, 0), ("draw", 3, 1), ("colour", 20, 2), ("fillRect", -1, 2), ("update", 31, 1), ("(idle)", -1, 0), ("(garbage collector)", -1, 0))


def call_frame(name, line):
    return {"functionName": name, "scriptId": "9" if line >= 0 else "0", "url": "https://heat.example/page.js" if line >= 0 else "", "lineNumber": line, "columnNumber": line}


def cpuprofile(rng):
    nodes = [{"id": i + 1, "callFrame": call_frame(name, line), "hitCount": 0} for i, (name, line, above) in enumerate(FUNCTIONS)]
    for i, (name, line, above) in enumerate(FUNCTIONS):
        if above is not None:
            nodes[above].setdefault("children", []).append(i + 1)
    samples = [rng.choice((4, 4, 4, 5, 3, 6, 7, 8)) for _ in range(400)]
    for sample in samples:
        nodes[sample - 1]["hitCount"] += 1
    deltas = [rng.randrange(800, 1400) for _ in samples]
    return text({"nodes": nodes, "startTime": 5_000_000, "endTime": 5_000_000 + sum(deltas) + 1000, "samples": samples, "timeDeltas": deltas})


def heapprofile(rng):
    nodes = [{"callFrame": call_frame(name, line), "selfSize": rng.randrange(1, 900) * 16 if line >= 0 else 0, "id": i + 1, "children": []}
             for i, (name, line, above) in enumerate(FUNCTIONS[:6])]
    for node, (name, line, above) in zip(nodes, FUNCTIONS):
        if above is not None:
            nodes[above]["children"].append(node)
    return text({"head": nodes[0]})


def main(folder):
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(20260402)
    for name, content in (("build.trace.json", build(rng)), ("server.trace.json.gz", server(rng)), ("heat.speedscope.json", speedscope(rng)),
                          ("page.cpuprofile", cpuprofile(rng)), ("page.heapprofile", heapprofile(rng))):
        with open(os.path.join(folder, name), "wb") as out:
            out.write(content)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 2 else __doc__)
