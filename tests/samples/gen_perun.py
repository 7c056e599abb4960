#!/usr/bin/env python3
"""Writes a pending profile and a small store, as Perun leaves them in a project. They have the same bytes every time.

gen_perun.py FOLDER

FOLDER/lookup.perf         trace collector: calls of two containers' functions, with regression models
FOLDER/.perun/jobs/        a pending profile of the time collector, and .index
FOLDER/.perun/objects/     two stored profiles of the memory collector and the index of one version

The project, `heat`, is imaginary. Amounts scatter around the values of the models.
"""
import argparse, hashlib, json, math, os, random, struct, zlib

ORIGIN = "5a1c0f3de9b27c64180f5be2d73a0c9e41b86d22"
START = 1772000000


def trace_profile(rng):
    """Returns calls of functions whose durations depend on the size of their input. The models are least-squares fits."""
    resources, types, models = {}, {}, []
    for uid, cost in (("List::find(int)", lambda n: 0.4 + 0.021 * n), ("Tree::find(int)", lambda n: 0.9 + 0.35 * math.log(n + 1)),
                      ("Tree::insert(int)", lambda n: 1.6 + 0.42 * math.log(n + 1))):
        sizes = [4 * i for i in range(1, 61)]
        amounts = [round(cost(n) * (1 + rng.gauss(0, 0.05)), 3) for n in sizes]
        key = uid + "#0"
        resources[key] = {"amount": amounts, "structure-unit-size": sizes, "call-order": list(range(len(sizes)))}
        types[key] = {"uid": uid, "type": "mixed", "subtype": "time delta", "tid": 4711, "workload": "lookup.in"}
        for model, scale in (("linear", float), ("logarithmic", math.log)):
            b0, b1, r = fit([scale(n) for n in sizes], amounts)
            models.append({"uid": uid, "model": model, "method": "full", "r_square": r, "x_start": sizes[0], "x_end": sizes[-1],
                           "coeffs": [{"name": "b1", "value": b1}, {"name": "b0", "value": b0}]})
    return {"origin": ORIGIN, "resources": resources, "models": models,
            "header": {"type": "mixed", "cmd": "./lookup", "args": "", "workload": "lookup.in", "units": {"mixed(time delta)": "us"}},
            "collector_info": {"name": "trace", "params": {"sampling": [{"func": "Tree::find(int)", "sample": 20}]}},
            "postprocessors": [{"name": "regression_analysis", "params": {"method": "full"}}], "resource_type_map": types}


def fit(xs, ys):
    n, mx, my = len(xs), sum(xs) / len(xs), sum(ys) / len(ys)
    sxy, sxx = sum((x - mx) * (y - my) for x, y in zip(xs, ys)), sum((x - mx) ** 2 for x in xs)
    b1 = sxy / sxx
    b0 = my - b1 * mx
    rest = sum((y - b0 - b1 * x) ** 2 for x, y in zip(xs, ys))
    return round(b0, 6), round(b1, 6), round(1 - rest / sum((y - my) ** 2 for y in ys), 6)


def memory_profile(rng, cells):
    """Returns allocations and deallocations in snapshots of 25 ms. Stacks begin with the innermost function."""
    frame = lambda function, line: {"source": "heat.c", "function": function, "line": line}
    main = frame("main", 212)
    stacks = ([frame("read_mesh", 57), main], [frame("make_row", 31), frame("make_grid", 40), main],
              [frame("halo_buffer", 118), frame("exchange_halo", 131), frame("solve", 160), main])
    snapshots, held, address = [], [], 0x55d0c8a012a0
    for i in range(6):
        resources = []
        for j in range(9):
            stack = stacks[0] if i == 0 else stacks[1] if i < 3 else stacks[2]
            amount = cells * 8 if stack is not stacks[2] else 4 * (64 + rng.randrange(64))
            address += 16 + (amount + 15) // 16 * 16
            held.append((address, stack))
            resources.append({"type": "memory", "subtype": "malloc", "amount": amount, "address": address, "trace": stack, "uid": stack[0]})
            if i > 2 and rng.random() < 0.7:
                gone, where = held.pop()
                resources.append({"type": "memory", "subtype": "free", "amount": 0, "address": gone, "trace": where, "uid": where[0]})
        snapshots.append({"time": "%.6f" % (0.025 * (i + 1)), "resources": resources})
    return {"header": {"type": "memory", "cmd": "./heat", "args": "-n %d" % cells, "workload": "", "units": {"memory": "B"}},
            "collector_info": {"name": "memory", "params": {"sampling": 0.025}}, "postprocessors": [], "snapshots": snapshots}


def time_profile(rng):
    resources, types = {}, {}
    for kind, seconds in (("real", 2.31), ("user", 2.12), ("sys", 0.17)):
        key = "./heat#" + kind
        resources[key] = {"amount": [round(seconds * (1 + rng.gauss(0, 0.02)), 3) for _ in range(5)], "order": [1, 2, 3, 4, 5]}
        types[key] = {"uid": "./heat", "type": "time", "subtype": kind, "command": "./heat"}
    return {"origin": ORIGIN, "resources": resources, "resource_type_map": types, "models": [],
            "header": {"type": "time", "cmd": "./heat", "args": "-n 1024", "workload": "", "units": {"time": "s"}},
            "collector_info": {"name": "time", "params": {"warmup": 3, "repeat": 5}}, "postprocessors": []}


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(data)


def store(objects, kind, data):
    """Writes a compressed object, which is named by the SHA-1 of the uncompressed data. Returns this name."""
    plain = b"profile %s %d\0" % (kind.encode(), len(data)) + data
    sha = hashlib.sha1(plain).hexdigest()
    write(os.path.join(objects, sha[:2], sha[2:]), zlib.compress(plain))
    return sha


def index(entries):
    """Returns an index of version 2 in the layout before the label was added."""
    out = b"pidx" + struct.pack("<ii", 2, len(entries))
    for time, sha, path, strings in entries:
        out += struct.pack("<I", time) + bytes.fromhex(sha) + path.encode() + b"\0"
        out += b"".join(struct.pack("<I", len(s)) + s.encode() for s in strings)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    folder = parser.parse_args().folder
    rng = random.Random(20260401)
    perun = os.path.join(folder, ".perun")
    write(os.path.join(folder, "lookup.perf"), json.dumps(trace_profile(rng), indent=2).encode())
    job = "heat-time-2026-04-01-09-30-00.perf"
    write(os.path.join(perun, "jobs", job), json.dumps(time_profile(rng), indent=2).encode())
    # An entry of jobs/.index identifies a job by the SHA-1 of the absolute path of the job's file.
    of_path = hashlib.sha1(b"/home/me/heat/.perun/jobs/" + job.encode()).hexdigest()
    write(os.path.join(perun, "jobs", ".index"), index([(START + 86400, of_path, job, ("time", "./heat", "", "time", ""))]))
    entries = []
    for n, cells in enumerate((1024, 2048)):
        sha = store(os.path.join(perun, "objects"), "memory", json.dumps(memory_profile(rng, cells)).encode())
        entries.append((START + 60 * n, sha, "heat-memory-%d.perf" % cells, ("memory", "./heat", "", "memory", "")))
    write(os.path.join(perun, "objects", ORIGIN[:2], ORIGIN[2:]), index(entries))
    write(os.path.join(perun, "local.yml"), b"vcs:\n  type: git\n  url: ../\n")


if __name__ == "__main__":
    main()
