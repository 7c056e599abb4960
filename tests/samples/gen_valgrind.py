#!/usr/bin/env python3
"""Writes profiles of `heat`, an imaginary stencil code, like valgrind's tools. They have the same bytes every time.

gen_valgrind.py FOLDER

FOLDER/callgrind.out.4711     functions and calls, two threads, names compressed
FOLDER/cachegrind.out.4712    counts by function and line
FOLDER/massif.out.4713        the heap at 12 moments, with four trees, one of them the peak
"""
import os, sys

SWEEP, HALO, ROW = "heat::sweep(heat::Grid&)", "heat::exchange_halo(heat::Grid&)", "heat::stencil_row(double*, double const*)"
FILES = {"main": "heat.cc", "heat::solve(heat::Grid&, int)": "solve.cc", SWEEP: "solve.cc", ROW: "stencil.h",
         HALO: "halo.cc", "MPI_Waitall": "???", "heat::read_mesh(char const*)": "mesh.cc", "std::getline<char>": "istream.tcc"}
# Pairs of caller and callee, each with the number of calls.
CALLS = (("main", "heat::read_mesh(char const*)", 1), ("heat::read_mesh(char const*)", "std::getline<char>", 800),
         ("main", "heat::solve(heat::Grid&, int)", 1), ("heat::solve(heat::Grid&, int)", SWEEP, 40), (SWEEP, ROW, 10240),
         ("heat::solve(heat::Grid&, int)", HALO, 40), (HALO, "MPI_Waitall", 40))
# The functions' lines, each with its number and its costs: instructions, reads, writes.
COSTS = {"main": ((11, 24, 6, 9), (14, 8, 2, 3)), "heat::solve(heat::Grid&, int)": ((30, 4200, 1300, 620),),
         SWEEP: ((52, 163840, 40960, 10240), (55, 20480, 10240, 0)), ROW: ((9, 41943040, 15728640, 5242880), (10, 5242880, 0, 0)),
         HALO: ((20, 96000, 32000, 16000),), "MPI_Waitall": ((0, 1920000, 640000, 80000),),
         "heat::read_mesh(char const*)": ((71, 640000, 160000, 96000),), "std::getline<char>": ((15, 1228800, 409600, 204800),)}


def held(function, scale):
    """Returns the inclusive cost of a function."""
    own = [sum(line[i] for line in COSTS[function]) // scale for i in (1, 2, 3)]
    for caller, callee, _ in CALLS:
        if caller == function:
            own = [a + b for a, b in zip(own, held(callee, scale))]
    return own


def callgrind():
    out = ["# callgrind format", "version: 1", "creator: callgrind-3.19.0", "pid: 4711", "cmd:  ./heat 512 40"]
    for part, (thread, roots, scale) in enumerate(((1, list(COSTS), 1), (2, [SWEEP, ROW], 4))):
        numbers = {"fl": {}, "fn": {}}

        def name(kind, text):
            known = numbers[kind]
            if text in known:
                return "(%d)" % known[text]
            known[text] = len(known) + 1
            return "(%d) %s" % (known[text], text)

        out += ["part: 1", "thread: %d" % thread, "", "desc: Timerange: Basic block 0 - %d" % (9000000 // scale),
                "desc: Trigger: Program termination", "", "positions: line", "events: Ir Dr Dw", ""]
        totals = [0, 0, 0]
        for function in roots:
            out += ["fl=" + name("fl", FILES[function]), "fn=" + name("fn", function)]
            for line, *costs in COSTS[function]:
                costs = [c // scale for c in costs]
                totals = [a + b for a, b in zip(totals, costs)]
                out.append("%d %s" % (line, " ".join(map(str, costs))))
            for caller, callee, count in CALLS:
                if caller == function and callee in roots:
                    out += ["cfi=" + name("fl", FILES[callee]), "cfn=" + name("fn", callee), "calls=%d %d" % (count // scale, COSTS[callee][0][0]),
                            "* " + " ".join(map(str, held(callee, scale)))]
            out.append("")
        out += ["totals: " + " ".join(map(str, totals)), ""]
    return "\n".join(out)


def cachegrind():
    out = ["desc: I1 cache:         32768 B, 64 B, 8-way associative", "cmd: ./heat 512 40", "events: Ir Dr Dw "]
    for function, lines in COSTS.items():
        out += ["fl=" + FILES[function], "fn=" + function]
        out += ["%d %d %d %d" % line for line in lines]
    out.append("summary: " + " ".join(str(sum(line[i] for lines in COSTS.values() for line in lines)) for i in (1, 2, 3)))
    return "\n".join(out) + "\n"


ROOT = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc."


def massif():
    out = ["desc: --detailed-freq=4", "cmd: ./heat 512 40", "time_unit: i"]
    for n in range(12):
        grid, halo, rest = 2097152 * min(n, 4), 16384 * max(0, min(n - 4, 3)), 72704 if n else 0
        kind = "peak" if n == 8 else "detailed" if n % 4 == 1 else "empty"
        out += ["#-----------", "snapshot=%d" % n, "#-----------", "time=%d" % (n * 4700123), "mem_heap_B=%d" % (grid + halo + rest),
                "mem_heap_extra_B=%d" % (8 * n), "mem_stacks_B=0", "heap_tree=" + kind]
        if kind == "empty":
            continue
        out.append("n%d: %d %s" % (2 + (halo > 0), grid + halo + rest, ROOT))
        out += [" n1: %d 0x40123A: heat::Grid::Grid(int) (grid.cc:18)" % grid, "  n0: %d 0x401377: main (heat.cc:11)" % grid]
        if halo:
            out += [" n1: %d 0x4019C0: %s (halo.cc:20)" % (halo, HALO), "  n1: %d 0x4015E2: heat::solve(heat::Grid&, int) (solve.cc:30)" % halo,
                    "   n0: %d 0x401390: main (heat.cc:14)" % halo]
        out.append(" n0: %d 0x49277F9: ??? (in /usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30)" % rest)
    return "\n".join(out) + "\n"


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for name, text in (("callgrind.out.4711", callgrind()), ("cachegrind.out.4712", cachegrind()), ("massif.out.4713", massif())):
        with open(os.path.join(folder, name), "w") as out:
            out.write(text)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 2 else __doc__)
