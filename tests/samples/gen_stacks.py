#!/usr/bin/env python3
"""Writes profiles of sampled call stacks of `heat`, an imaginary stencil code. They have the same bytes every time.

gen_stacks.py ARCHIVE

ARCHIVE/stacks/heat.folded       collapsed stacks
ARCHIVE/stacks/heat.pb.gz        the same stacks as pprof's profile.proto, with times, two threads and lines
ARCHIVE/stacks/heat.perf.txt     the first seconds as `perf script` prints them
ARCHIVE/nightly/DATE.folded      collapsed stacks of ten nights, since the seventh of which one function takes twice as long
"""
import os, random, sys, zlib

# Stacks, each with its average number per hundred samples.
STACKS = (
    ("main;heat::solve(heat::Grid&, int);heat::step(heat::Grid&);heat::sweep(heat::Grid&);heat::stencil_row(double*, double const*)", 61),
    ("main;heat::solve(heat::Grid&, int);heat::step(heat::Grid&);heat::sweep(heat::Grid&)", 3),
    ("main;heat::solve(heat::Grid&, int);heat::step(heat::Grid&);heat::exchange_halo(heat::Grid&);MPI_Waitall", 17),
    ("main;heat::solve(heat::Grid&, int);heat::residual(heat::Grid const&)", 6),
    ("main;heat::write_checkpoint(int);write;[kernel]_[k]", 5),
    ("main;heat::read_mesh(char const*);std::getline<char>", 4),
    ("main", 1),
)


def samples(rng, stacks=STACKS):
    """Returns {stack: samples} of 40 s with about a hundred samples per second."""
    return {stack: sum(rng.random() * 100 < share for _ in range(4000)) for stack, share in stacks}


def nights():
    """Yields (date, stacks with their shares) of each night."""
    for day in range(1, 11):
        slower = [(stack, 2 * share if "residual" in stack and day >= 7 else share) for stack, share in STACKS]
        yield "2026-05-%02d" % day, slower


def folded(counts):
    return "".join("%s %d\n" % item for item in sorted(counts.items())).encode()


# ---- pprof

def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def message(*fields):
    """Returns a message of these fields: (number, value), where the value is an int, bytes, or a list of ints to be packed."""
    out = b""
    for number, value in fields:
        if isinstance(value, list):
            value = b"".join(map(varint, value))
        out += varint(number << 3) + varint(value) if isinstance(value, int) else varint(number << 3 | 2) + varint(len(value)) + value
    return out


class Strings(dict):
    """The string table, which maps each text to its index."""
    def __missing__(self, text):
        self[text] = len(self)
        return self[text]


def pprof(counts):
    strings = Strings({"": 0})
    names = Strings()
    period = 10_000_000     # ns per sample
    file, samples, lines = strings["heat.cpp"], b"", b""
    for stack, count in sorted(counts.items()):
        frames = [names[name] + 1 for name in stack.split(";")]
        for thread in (1, 2):
            share = count // 3 if thread == 2 else count - count // 3
            label = message((1, strings["thread id"]), (3, 4700 + thread))
            samples += message((2, message((1, frames[::-1]), (2, [share, share * period]), (3, label))))
    for i, name in enumerate(names):
        line = message((1, i + 1), (2, 17 * i + 20))
        lines += message((4, message((1, i + 1), (2, 1), (3, 0x401000 + 64 * i), (4, line))))
        lines += message((5, message((1, i + 1), (2, strings[name]), (3, strings[name]), (4, file), (5, 17 * i + 12))))
    types = [message((1, strings[kind]), (2, strings[unit])) for kind, unit in (("samples", "count"), ("cpu", "nanoseconds"))]
    mapping = message((1, 1), (2, 0x400000), (3, 0x480000), (5, strings["/opt/heat/bin/heat"]), (7, 1))
    head = message(*((1, kind) for kind in types), (3, mapping))
    tail = message(*((6, text.encode()) for text in strings), (9, 1775000000 * 10**9), (10, 40 * 10**9), (11, types[1]), (12, period))
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(head + samples + lines + tail) + packer.flush()


# ---- perf script

def perf_script(rng):
    lines = ["# ========\n", "# hostname : node17\n", "# cmdline : /usr/bin/perf record -e task-clock -g ./heat 2048\n", "# ========\n", "#\n"]
    stacks, shares = zip(*STACKS)
    for i in range(120):
        stack = rng.choices(stacks, shares)[0].split(";")
        lines.append("heat %5d %5d.%06d:   10000000 task-clock:ppp: \n" % (4701 + i % 2, 812, 400000 + 4321 * i))
        for name in reversed(stack):
            dso = "[kernel.kallsyms]" if name.endswith("_[k]") else "/usr/lib/libmpi.so.40" if name.startswith("MPI") else "/opt/heat/bin/heat"
            lines.append("\t%16x %s+0x%x (%s)\n" % (0x401000 + 64 * len(name), name.removesuffix("_[k]"), 4 * len(name), dso))
        lines.append("\n")
    return "".join(lines).encode()


def main(archive):
    counts = samples(random.Random(20260401))
    files = {"stacks/heat.folded": folded(counts), "stacks/heat.pb.gz": pprof(counts), "stacks/heat.perf.txt": perf_script(random.Random(20260402))}
    for date, stacks in nights():
        files["nightly/%s.folded" % date] = folded(samples(random.Random(date), stacks))
    for name, content in files.items():
        path = os.path.join(archive, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(content)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 2 else __doc__)
