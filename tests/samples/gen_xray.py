#!/usr/bin/env python3
"""Writes XRay FDR traces (version 5, little-endian) of a small imaginary program. They have the same bytes every time.

gen_xray.py OUT [--threads N] [--steps N] [--seed N] [--pid N]    a run of `heat`, a stencil code
gen_xray.py OUT --nest N                                          one thread, N calls nested in each other
gen_xray.py --samples DIR                                         the archive that the project bundles

A step of `heat` is about 1.5 KB of trace for the main thread and 0.7 KB for each worker.
"""
import argparse, os, random, struct

FREQUENCY = 2_400_000_000       # ticks per second
BUFFER = 16384                  # bytes per buffer, the runtime's default
START = 9_000_000_000_000       # ticks since boot when tracing starts

# The functions of the program; a function's id in the trace is its position in this list, from 1.
NAMES = ("main", "heat::read_mesh(char const*)", "heat::refine(heat::Cell&, int)", "heat::solve(heat::Grid&, int)",
         "heat::step(heat::Grid&)", "heat::exchange_halo(int)", "heat::pack(heat::Face const&)", "heat::unpack(heat::Face&)",
         "heat::sweep(heat::Grid&)", "heat::stencil_row(double*, double const*)", "heat::residual(heat::Grid const&)",
         "heat::reduce(double)", "heat::write_checkpoint(int)", "heat::compress(std::vector<char, std::allocator<char> >&)",
         "heat::worker()", "heat::run_task(heat::Task)", "heat::wait()", "heat::start_tracing()")
(MAIN, READ_MESH, REFINE, SOLVE, STEP, EXCHANGE_HALO, PACK, UNPACK, SWEEP, STENCIL_ROW, RESIDUAL, REDUCE,
 WRITE_CHECKPOINT, COMPRESS, WORKER, RUN_TASK, WAIT, START_TRACING) = range(1, len(NAMES) + 1)


def metadata(kind, data):
    """Returns a metadata record, which has one byte of kind and 15 of data."""
    return bytes([kind << 1 | 1]) + data.ljust(15, b"\0")


class Thread:
    """A traced thread with its clock in ticks and the buffers that it has filled."""

    def __init__(self, pid, tid, start, seed):
        self.pid, self.tid, self.clock, self.last = pid, tid, start, start
        self.cpu = tid % 8
        self.random = random.Random(seed)
        self.buffers = []       # (first clock, bytes after the extents record)
        self.new_buffer()

    def new_buffer(self):
        microseconds = self.clock * 1_000_000 // FREQUENCY
        self.body = bytearray()
        self.body += metadata(0, struct.pack("<i", self.tid))
        self.body += metadata(4, struct.pack("<qi", microseconds // 1_000_000, microseconds % 1_000_000))
        self.body += metadata(9, struct.pack("<i", self.pid))
        self.body += metadata(2, struct.pack("<HQ", self.cpu, self.clock))
        self.buffers.append((self.clock, self.body))
        self.last = self.clock

    def room(self, size):
        """Starts a new buffer unless `size` bytes and a clock record still fit into the current one."""
        if len(self.body) + 16 + 16 + size > BUFFER:
            self.new_buffer()

    def delta(self):
        """Returns the ticks since the last record. If they exceed 31 bits, adds a record that sets the clock and returns 0."""
        ticks = self.clock - self.last
        if ticks > 0x7FFFFFFF:
            self.body += metadata(3, struct.pack("<Q", self.clock))
            ticks = 0
        self.last = self.clock
        return ticks

    def record(self, kind, function, size=8):
        self.room(size)
        delta = self.delta()
        self.body += struct.pack("<II", function << 4 | kind << 1, delta)

    def enter(self, function, argument=None):
        if argument is None:
            self.record(0, function)
        else:
            self.record(3, function, 24)
            self.body += metadata(6, struct.pack("<Q", argument))

    def exit(self, function, tail=False):
        self.record(2 if tail else 1, function)

    def event(self, payload):
        """Adds a custom event, a message that the program logs."""
        self.room(16 + len(payload))
        delta = self.delta()
        self.body += metadata(5, struct.pack("<ii", len(payload), delta)) + payload

    def work(self, microseconds):
        """Lets about `microseconds` pass. Occasionally the thread moves to another processor."""
        self.clock += int(microseconds * (0.8 + 0.4 * self.random.random()) * FREQUENCY / 1_000_000)
        if self.random.random() < 0.004:
            self.room(16)
            self.cpu = (self.cpu + 3) % 8
            self.body += metadata(2, struct.pack("<HQ", self.cpu, self.clock))
            self.last = self.clock

    def call(self, function, microseconds, argument=None):
        self.enter(function, argument)
        self.work(microseconds)
        self.exit(function)


def refine(thread, level):
    """Halves the mesh repeatedly by recursion, which is deeper where the mesh is finer."""
    thread.enter(REFINE, level)
    thread.work(9)
    for _ in range(2 if level < 4 else 0):
        refine(thread, level + 1)
    if level == 4 and thread.random.random() < 0.3:
        refine(thread, level + 1)
    thread.exit(REFINE)


def exchange_halo(thread, threads):
    for neighbour in range(min(2, threads - 1)):
        thread.enter(EXCHANGE_HALO, neighbour)
        thread.call(PACK, 11)
        thread.work(40)
        thread.call(UNPACK, 12)
        thread.exit(EXCHANGE_HALO)


def step(thread, number, threads, rows):
    thread.enter(STEP)
    exchange_halo(thread, threads)
    thread.enter(SWEEP)
    for _ in range(rows):
        thread.call(STENCIL_ROW, 18)
        thread.work(1)
    thread.exit(SWEEP)
    if number % 5 == 4:
        thread.enter(RESIDUAL)
        thread.work(30)
        thread.call(REDUCE, 25 * threads)
        thread.exit(RESIDUAL)
    if number % 20 == 19:
        thread.enter(WRITE_CHECKPOINT, number)
        thread.event(b"checkpoint %d: 1 file, \"heat.%04d\"\n" % (number // 20, number))
        thread.call(COMPRESS, 900)
        thread.work(2500)
        thread.exit(WRITE_CHECKPOINT)
    thread.exit(STEP)


def main_thread(thread, threads, steps):
    thread.exit(START_TRACING)          # has no entry, because the function was entered before tracing began
    thread.enter(MAIN)
    thread.call(READ_MESH, 4000)
    refine(thread, 0)
    thread.enter(SOLVE, steps)
    for number in range(steps):
        step(thread, number, threads, 96 // threads)
    thread.exit(SOLVE)
    thread.exit(MAIN)


def worker_thread(thread, threads, steps):
    thread.enter(WORKER)                # has no exit, because the function still runs when the trace is written
    thread.work(4500)
    for _ in range(steps):
        thread.enter(RUN_TASK)
        for _ in range(96 // threads):
            thread.call(STENCIL_ROW, 20)
        thread.exit(RUN_TASK, tail=True)
        thread.call(WAIT, 300 * (1 + thread.tid % 3) / threads)


def heat(threads, steps, seed, pid):
    """Returns all threads of one run."""
    team = [Thread(pid, pid + n, START + n * 70_000, seed * 1000 + n) for n in range(threads)]
    main_thread(team[0], threads, steps)
    for thread in team[1:]:
        worker_thread(thread, threads, steps)
    return team


def nested(depth, pid):
    """Returns one thread with `depth` nested calls of two functions that call each other."""
    thread = Thread(pid, pid, START, 0)
    for level in range(depth):
        thread.clock += 24
        thread.enter(1 + level % 2)
    for level in reversed(range(depth)):
        thread.clock += 24
        thread.exit(1 + level % 2)
    return [thread]


def write(path, team):
    """Orders the buffers as in the runtime's ring: by time, with the last part in front. Threads are interleaved."""
    buffers = sorted((clock, thread.tid, body) for thread in team for clock, body in thread.buffers)
    turn = len(buffers) // 3
    with open(path, "wb") as out:
        out.write(struct.pack("<HHIQQQ", 5, 1, 3, FREQUENCY, BUFFER, 0))
        for _, _, body in buffers[-turn:] + buffers[:-turn] if turn else buffers:
            out.write(metadata(7, struct.pack("<Q", len(body))) + body)


def damage(path):
    """Puts a record of an unknown kind into the second buffer, and ends the file within a record."""
    with open(path, "r+b") as file:
        file.seek(32 + 1 + 0)
        (extents,) = struct.unpack("<Q", file.read(8))
        file.seek(32 + 16 + extents + 16 + 64 + 800)
        file.write(b"\x0e")
        file.seek(0, os.SEEK_END)
        file.truncate(file.tell() - 1003)


def write_map(path):
    """Writes the program's functions as `llvm-xray extract -symbolize` prints them: the map that gives a trace its names."""
    with open(path, "w") as out:
        out.write("---\n")
        for number, name in enumerate(NAMES, 1):
            for kind, offset in (("function-enter", 0), ("function-exit", 0x80)):
                out.write("- { id: %d, address: 0x%X, function: 0x%X, kind: %s, always-instrument: true, "
                          "function-name: '%s', version: 2 }\n"
                          % (number, 0x201000 + number * 256 + offset, 0x201000 + number * 256, kind, name))
        out.write("...\n")


def samples(folder):
    """Writes the bundled traces. A run is {name: (threads, steps, seed)}; the suffixes are like those that a runtime makes up at random."""
    runs = {
        "2026-03/xray-log.heat.Ab12Cd": (3, 40, 1),
        "2026-03/xray-log.heat.k9WzRt": (3, 40, 2),
        "2026-04/xray-log.heat.damaged": (3, 25, 3),
        "scaling/xray-log.heat.p1": (1, 20, 4),
        "scaling/xray-log.heat.p2": (2, 20, 5),
        "scaling/xray-log.heat.p4": (4, 20, 6),
    }
    for pid, (name, (threads, steps, seed)) in enumerate(runs.items(), 4711):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, heat(threads, steps, seed, pid))
        if name.endswith("damaged"):
            damage(path)
    for name in ("2026-03", "scaling"):
        write_map(os.path.join(folder, name, "heat.yaml"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?")
    parser.add_argument("--samples", metavar="DIR")
    parser.add_argument("--threads", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pid", type=int, default=4711)
    parser.add_argument("--nest", type=int, default=0)
    options = parser.parse_args()
    if options.samples:
        samples(options.samples)
    elif not options.out:
        parser.error("OUT or --samples DIR is needed")
    elif options.nest:
        write(options.out, nested(options.nest, options.pid))
    else:
        write(options.out, heat(options.threads, options.steps, options.seed, options.pid))


if __name__ == "__main__":
    main()
