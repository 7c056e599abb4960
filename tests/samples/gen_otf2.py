#!/usr/bin/env python3
"""Writes the OTF2 archive of a run of `heat`, an imaginary stencil code, on two ranks, as Score-P would. It has the same bytes every time.

gen_otf2.py FOLDER

FOLDER/traces.otf2, traces.def, traces/{0,1}.{def,evt}
"""
import os, struct, sys

REGIONS = ("main", "heat::solve(heat::Grid&, int)", "heat::sweep(heat::Grid&)", "MPI_Isend", "MPI_Recv", "MPI_Init", "MPI_Finalize")
MAIN, SOLVE, SWEEP, SEND, RECV, INIT, FINALIZE = range(7)
STRINGS = ("", "Master thread", "MPI Rank 0", "MPI Rank 1", "heat.cc", "PAPI_TOT_INS", "#", "MPI_COMM_WORLD") + REGIONS
TICKS = 1999999999      # per second; as on real machines, a tick is not a whole number of ns
BEGIN = 7 * TICKS


def number(n):
    size = (n.bit_length() + 7) // 8
    return bytes([size]) + n.to_bytes(size, "little")


def record(kind, *parts):
    body = b"".join(p if isinstance(p, bytes) else number(p) for p in parts)
    assert len(body) < 255
    return bytes([kind, len(body)]) + body


byte = lambda n: bytes([n])
text = lambda s: s.encode() + b"\0"
UNDEFINED = b"\xff"


def chunk(first, last):
    return b"\x03B" + struct.pack("<QQ", first, last)


def anchor(count):
    return (b"\x03BOTF2\0\3\2" + bytes([2, 3, 0]) + struct.pack("<QQ", 1048576, 4194304) + bytes([1, 1]) + struct.pack("<QQ", 2, count)
            + text("") + text("Score-P 7.1") + text("heat on two ranks") + struct.pack("<IQ", 0, 4711) + bytes(8) + b"\x02\x01\x00")


def definitions(events):
    out = chunk(0, 0) + record(5, TICKS, BEGIN, TICKS)
    out += b"".join(record(10, i, text(s)) for i, s in enumerate(STRINGS))
    for rank in range(2):
        out += record(13, rank, 2 + rank, byte(1), 0)
        out += record(14, rank, 1, byte(1), events[rank], rank)
    for i in range(len(REGIONS)):
        mpi = REGIONS[i].startswith("MPI_")
        out += record(15, i, 8 + i, 0, byte(0), 0 if mpi else 4, 0 if mpi else 11 * i + 9, 0, 8 + i, byte(1), byte(4 if mpi else 2), 0)
    out += record(19, 0, 5, 0, byte(1), byte(0), byte(4), byte(1), 0, 6) + record(20, 0, byte(1), 0, byte(0), byte(1))
    out += record(18, 0, 0, byte(0), 2, 0, 1, byte(4), byte(4), 0) + record(18, 1, 0, byte(0), 2, 0, 1, byte(5), byte(4), 0)
    out += record(22, 0, 7, 1, UNDEFINED)
    return out + b"\x02\x01"


class Rank:
    def __init__(self, rank):
        self.rank, self.now, self.last, self.instructions, self.events, self.out = rank, BEGIN + 1000 * rank, None, 10**6, 0, b""

    def event(self, data):
        if self.last != self.now:
            self.out += b"\x05" + struct.pack("<Q", self.now)
        self.out += data
        self.last, self.events = self.now, self.events + 1

    def count(self):
        self.event(record(31, 0, byte(1), byte(4), self.instructions))

    def enter(self, region):
        self.count()
        self.event(b"\x0c" + number(region))

    def leave(self, region, ticks):
        self.now += ticks
        self.instructions += ticks * (3 if region == SWEEP else 1)
        self.count()
        self.event(b"\x0d" + number(region))

    def run(self):
        self.enter(MAIN)
        self.enter(INIT)
        self.leave(INIT, 200001)
        self.enter(SOLVE)
        for step in range(12):
            self.enter(SWEEP)
            self.leave(SWEEP, 48000 + 37 * step + 9000 * self.rank)
            self.enter(SEND)
            self.event(record(15, 1 - self.rank, 0, 1, 8192, step))
            self.leave(SEND, 300)
            self.enter(RECV)
            self.leave_recv(step)
        self.leave(SOLVE, 500)
        self.enter(FINALIZE)
        self.leave(FINALIZE, 1500)
        self.leave(MAIN, 700)
        return chunk(1, self.events) + self.out + b"\x02\x01"

    def leave_recv(self, step):
        self.now += 700 if self.rank else 9400
        self.event(record(18, 1 - self.rank, 0, 1, 8192))
        self.leave(RECV, 100)


def own(rank):
    """Returns the definitions of one rank. The second rank's clock is 40 ticks late at first, and 52 ticks at the end."""
    out = chunk(0, 0)
    if rank:
        out += b"".join(record(6, struct.pack("<Q", BEGIN + at), more, struct.pack("<d", 0)) for at, more in ((0, 40), (2000000, 52)))
    return out + b"\x02\x01"


def main(folder):
    os.makedirs(os.path.join(folder, "traces"), exist_ok=True)
    ranks = [Rank(0), Rank(1)]
    files = {"traces/%d.evt" % r.rank: r.run() for r in ranks}
    files.update({"traces/%d.def" % r.rank: own(r.rank) for r in ranks})
    files["traces.def"] = definitions([r.events for r in ranks])
    files["traces.otf2"] = anchor(1 + len(STRINGS) + 4 + len(REGIONS) + 2 + 2 + 1)      # records other than chunks and ends
    for name, content in files.items():
        with open(os.path.join(folder, name), "wb") as out:
            out.write(content)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 2 else __doc__)
