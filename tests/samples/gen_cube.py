#!/usr/bin/env python3
"""Writes Cube profiles (.cubex) of `heat`, an imaginary stencil code. They have the same bytes every time.

gen_cube.py OUTDIR

Makes OUTDIR/heat.pP.r1/profile.cubex for P = 2, 4 and 8 MPI processes of two threads each, as Score-P would name and
write them. The metrics are visits, time (stored inclusive), shortest and longest times, bytes sent, and one without values.
"""
import argparse, os, struct
from xml.sax.saxutils import escape, quoteattr

CELLS, STEPS = 2048, 100

# Regions, each with name, source file, first line, paradigm and role.
REGIONS = (
    ("heat", "", 0, "measurement", "artificial"),
    ("int main(int, char**)", "src/main.cc", 41, "compiler", "function"),
    ("MPI_Init", "MPI", 0, "mpi", "function"),
    ("Mesh<double> read_mesh(const std::string&)", "src/mesh.cc", 17, "compiler", "function"),
    ("void solve(Mesh<double>&, unsigned)", "src/solve.cc", 88, "compiler", "function"),
    ("!$omp parallel @solve.cc:97", "src/solve.cc", 97, "openmp", "parallel"),
    ("!$omp for @solve.cc:99", "src/solve.cc", 99, "openmp", "loop"),
    ("void stencil_row(double*, const double*, unsigned)", "src/stencil.h", 12, "compiler", "function"),
    ("!$omp implicit barrier @solve.cc:110", "src/solve.cc", 110, "openmp", "implicit barrier"),
    ("void exchange_halo(Mesh<double>&)", "src/halo.cc", 25, "compiler", "function"),
    ("MPI_Sendrecv", "MPI", 0, "mpi", "point2point"),
    ("MPI_Allreduce", "MPI", 0, "mpi", "all2all"),
    ("MPI_Finalize", "MPI", 0, "mpi", "function"),
)

# Call paths in the order of the document, each with its region and depth.
PATHS = ((0, 0), (1, 1), (2, 2), (3, 2), (4, 2), (5, 3), (6, 4), (7, 5), (8, 5), (9, 3), (10, 4), (11, 3), (12, 2))
ALL_THREADS = (5, 6, 7, 8)      # indexes of the paths inside the parallel region

METRICS = (     # name, title, type of the rows, type of the values, unit
    ("visits", "Visits", "EXCLUSIVE", "UINT64", "occ"),
    ("time", "Time", "INCLUSIVE", "DOUBLE", "sec"),
    ("min_time", "Minimum Inclusive Time", "EXCLUSIVE", "MINDOUBLE", "sec"),
    ("max_time", "Maximum Inclusive Time", "EXCLUSIVE", "MAXDOUBLE", "sec"),
    ("bytes_sent", "Bytes sent", "EXCLUSIVE", "UINT64", "bytes"),
    ("io_bytes_read", "Bytes read", "INCLUSIVE", "UINT64", "bytes"),
)


def parent(path):
    return next((p for p in range(path, -1, -1) if PATHS[p][1] == PATHS[path][1] - 1), None)


def wide_order():
    """Returns the order of rows of metrics that are stored inclusive: the root, then the children of each path, path by path."""
    return [0] + [c for p in range(len(PATHS)) for c in range(len(PATHS)) if parent(c) == p]


def visits(path, processes, thread):
    if thread and path not in ALL_THREADS:
        return 0
    return {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 12: 1, 7: STEPS * CELLS // processes // 2, 10: 2 * STEPS}.get(path, STEPS)


def exclusive_time(path, processes, rank, thread):
    """Returns seconds. Ranks in the middle have more neighbours, and the last rank has more rows of the mesh."""
    if not visits(path, processes, thread):
        return 0.0
    row = 7.4e-9 * CELLS * (1.1 if rank == processes - 1 else 1)
    inner = 0 < rank < processes - 1
    return {0: 2e-5, 1: 0.0021, 2: 0.031 + 0.002 * processes, 3: 0.4e-7 * CELLS * CELLS, 4: 0.0042, 5: 0.0009,
            6: 2e-6 * STEPS, 7: row * visits(7, processes, thread), 8: 1.5e-5 * STEPS * (1 + thread),
            9: 0.0005, 10: STEPS * (2.5e-5 + (6e-9 * CELLS if inner else 3e-9 * CELLS)),
            11: STEPS * 1.1e-5 * processes.bit_length(), 12: 0.0007}[path]


def inclusive_time(path, *where):
    children = (c for c in range(len(PATHS)) if parent(c) == path)
    return exclusive_time(path, *where) + sum(inclusive_time(c, *where) for c in children)


def value(metric, path, processes, rank, thread):
    name, count = METRICS[metric][0], visits(path, processes, thread)
    if name == "visits":
        return count
    if name == "time":
        return inclusive_time(path, processes, rank, thread)
    if name == "bytes_sent":
        return 8 * CELLS * count * (1 if path == 10 else 0)
    mean = inclusive_time(path, processes, rank, thread) / count if count else 0.0
    return mean * (0.75 if name == "min_time" else 1.5)


def anchor(processes):
    def element(name, text):
        return "<%s>%s</%s>\n" % (name, escape(str(text)), name)

    out = ['<?xml version="1.0" encoding="UTF-8"?>\n<cube version="4.4">\n']
    for key, text in (("Creator", "gen_cube.py"), ("Cube Version", "4.8.2"), ("CUBE_CT_AGGR", "SUM")):
        out.append("<attr key=%s value=%s/>\n" % (quoteattr(key), quoteattr(text)))
    out.append("<doc>\n</doc>\n<metrics>\n")
    for i, (name, title, kind, dtype, unit) in enumerate(METRICS):
        out += ['<metric id="%d" type="%s">\n' % (i, kind), element("disp_name", title), element("uniq_name", name),
                element("dtype", dtype), element("uom", unit), "<url></url>\n<descr></descr>\n</metric>\n"]
    out.append("</metrics>\n<program>\n")
    for i, (name, file, line, paradigm, role) in enumerate(REGIONS):
        out += ['<region id="%d" mod="%s" begin="%d" end="-1">\n' % (i, file, line or -1), element("name", name),
                element("mangled_name", name), element("paradigm", paradigm), element("role", role),
                "<url></url>\n<descr></descr>\n</region>\n"]
    open_paths = 0
    for i, (region, depth) in enumerate(PATHS):
        out.append("</cnode>\n" * (open_paths - depth))
        out.append('<cnode id="%d" calleeId="%d">\n' % (i, region))
        open_paths = depth + 1
    out.append("</cnode>\n" * open_paths + "</program>\n<system>\n")
    out.append('<systemtreenode Id="0">\n' + element("name", "cluster") + element("class", "machine"))
    for node in range((processes + 3) // 4):
        out.append('<systemtreenode Id="%d">\n' % (node + 1) + element("name", "node%02d" % node) + element("class", "node"))
        for rank in range(4 * node, min(4 * node + 4, processes)):
            out += ['<locationgroup Id="%d">\n' % rank, element("name", "MPI Rank %d" % rank), element("rank", rank),
                    element("type", "process")]
            for thread in range(2):
                out += ['<location Id="%d">\n' % (2 * rank + thread),
                        element("name", "OMP thread %d" % thread if thread else "Master thread"),
                        element("rank", thread), element("type", "thread"), "</location>\n"]
            out.append("</locationgroup>\n")
        out.append("</systemtreenode>\n")
    out.append("</systemtreenode>\n</system>\n</cube>\n")
    return "".join(out).encode()


def header(name, size):
    block = bytearray(512)
    block[0:len(name)] = name.encode()
    block[100:108], block[108:116], block[116:124] = b"0000600\0", b"0000000\0", b"0000000\0"
    block[124:136], block[136:148] = b"%011o\0" % size, b"%011o\0" % 0
    block[148:156], block[156:157], block[257:265] = b" " * 8, b"0", b"ustar\00000"
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def member(name, data):
    """Returns a member of the archive. As in Cube's own archives, a block of zeros follows data that fill their last block."""
    return header(name, len(data)) + data + b"\0" * (512 - len(data) % 512)


def profile(processes):
    threads = [(rank, thread) for rank in range(processes) for thread in range(2)]
    out = b""
    for m, (_, _, kind, dtype, _) in enumerate(METRICS):
        order = wide_order() if kind == "INCLUSIVE" else range(len(PATHS))
        rows = [[value(m, path, processes, *thread) for thread in threads] for path in order] if m < 5 else []
        kept = [i for i, row in enumerate(rows) if any(row)]
        if not kept:
            continue
        data = b"".join(struct.pack("<%d%s" % (len(threads), "Q" if dtype == "UINT64" else "d"), *rows[i]) for i in kept)
        index = b"CUBEX.INDEX" + struct.pack("<IHBI%dI" % len(kept), 1, 0, 1, len(kept), *kept)
        out += member("%d.data" % m, b"CUBEX.DATA" + data) + member("%d.index" % m, index)
    return out + member("anchor.xml", anchor(processes)) + b"\0" * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUTDIR")
    arguments = parser.parse_args()
    for processes in (2, 4, 8):
        folder = os.path.join(arguments.out, "heat.p%d.r1" % processes)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "profile.cubex"), "wb") as out:
            out.write(profile(processes))


if __name__ == "__main__":
    main()
