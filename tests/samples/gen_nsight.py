#!/usr/bin/env python3
"""Writes exports of Nsight Systems (SQLite) about `heat`, an imaginary stencil code, on a GPU. They have the same bytes every time.

gen_nsight.py OUT [--cells N] [--steps N] [--sampled] [--seed N]      one export
gen_nsight.py --samples FOLDER                                        the bundled ones, in FOLDER/gpu

Tables and columns are those of an export of 2022, as far as readers use them. By default, the program is instrumented by
Extra-Prof, whose NVTX ranges hold the call paths of its functions. With --sampled, Nsight took a call chain at each call of CUDA's
API. A second thread copies every tenth mesh to the host, to write it to a file.
"""
import argparse, os, random, sqlite3

TABLES = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE EXPORT_META_DATA (name TEXT NOT NULL, value TEXT);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL REFERENCES StringIds(id), priority INTEGER, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL REFERENCES StringIds(id), returnValue INTEGER NOT NULL,
  callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER NOT NULL, blockX INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  value INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  syncType INTEGER NOT NULL, eventId INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER,
  textId INTEGER, domainId INTEGER, uint32Value INTEGER);
CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, unresolved INTEGER,
  originalIP INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));
"""
PID = 1 << 56 | 4711 << 24          # machine 1, process 4711
MAIN, WRITER = PID | 4711, PID | 4713
NO_STREAM = 0xffffffff
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
COMPUTE, OUTPUT = 13, 14            # streams


class Export:
    """The events of one run. Times are in ns since the session began."""

    def __init__(self, path, cells, steps, sampled, seed):
        self.path, self.cells, self.steps, self.sampled = path, cells, steps, sampled
        self.scatter = random.Random(seed)
        self.strings, self.rows, self.correlation, self.chain = {}, {}, 100, 0
        self.busy = {COMPUTE: 0, OUTPUT: 0}      # per stream: time at which it becomes idle
        self.clock = {MAIN: 2_000_000, WRITER: 9_000_000}
        self.stack = {MAIN: [], WRITER: []}

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings) + 1)

    def add(self, table, *row):
        self.rows.setdefault(table, []).append(row)

    def spend(self, thread, mean):
        self.clock[thread] += int(mean * self.scatter.lognormvariate(0, 0.1)) + 1

    def enter(self, thread, name):
        self.stack[thread].append((name, self.clock[thread]))
        self.spend(thread, 400)

    def leave(self, thread):
        self.spend(thread, 300)
        path = "->".join(name for name, _ in self.stack[thread])
        _, start = self.stack[thread].pop()
        if not self.sampled:
            self.add("NVTX_EVENTS", start, self.clock[thread], 59, path, thread, None, 1, len(self.stack[thread]))

    def call(self, thread, name, mean):
        """Adds a call of the API. Returns its correlation id."""
        self.correlation += 1
        start, chain = self.clock[thread], None
        self.spend(thread, mean)
        if self.sampled:
            chain, self.chain = self.chain, self.chain + 1
            frames = [name.split("_v")[0]] + [frame for frame, _ in reversed(self.stack[thread])] + ["_start"]
            for depth, frame in enumerate(frames):
                self.add("CUDA_CALLCHAINS", chain + 1, self.string(frame), self.string("heat"), None, 4096 + depth, depth)
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start, self.clock[thread], 0, thread, self.correlation, self.string(name), 0,
                 chain)
        self.spend(thread, 150)
        return self.correlation

    def work(self, thread, stream, mean):
        """Adds an operation of about `mean` ns that is submitted to the stream now. Returns the time at which it starts."""
        start = max(self.busy[stream], self.clock[thread] + 1500)
        self.busy[stream] = end = start + int(mean * self.scatter.lognormvariate(0, 0.05)) + 1
        return start, end

    def launch(self, thread, kernel, arguments, mean):
        correlation = self.call(thread, "cudaLaunchKernel_v7000", 5200)
        start, end = self.work(thread, COMPUTE, mean)
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", start, end, 0, 1, COMPUTE, correlation, PID, self.string(kernel + arguments),
                 self.string(kernel), (self.cells * self.cells + 255) // 256, 256)

    def copy(self, thread, stream, kind, size):
        correlation = self.call(thread, "cudaMemcpyAsync_v3020", 7800)
        start, end = self.work(thread, stream, 900 + size / 12)
        host = 1 if kind == HOST_TO_DEVICE else 2
        self.add("CUPTI_ACTIVITY_KIND_MEMCPY", start, end, 0, 1, stream, correlation, PID, size, kind, host, 3 - host)

    def clear(self, thread, size):
        correlation = self.call(thread, "cudaMemsetAsync_v3020", 6100)
        start, end = self.work(thread, COMPUTE, 800 + size / 200)
        self.add("CUPTI_ACTIVITY_KIND_MEMSET", start, end, 0, 1, COMPUTE, correlation, PID, 0, size, 2)

    def wait(self, thread, stream):
        start = self.clock[thread]
        correlation = self.call(thread, "cudaStreamSynchronize_v3020", 900)
        self.clock[thread] = max(self.clock[thread], self.busy[stream])
        self.rows["CUPTI_ACTIVITY_KIND_RUNTIME"][-1] = (start, self.clock[thread] - 100) + \
            self.rows["CUPTI_ACTIVITY_KIND_RUNTIME"][-1][2:]
        self.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start + 200, max(self.clock[thread] - 200, start + 300), 0, 1, stream,
                 correlation, PID, 3, NO_STREAM)

    def step(self, number):
        mesh = 8 * self.cells * self.cells
        self.enter(MAIN, "Solver::step")
        self.launch(MAIN, "stencil", "(double const*, double*, int)", mesh / 90)
        self.launch(MAIN, "boundary", "(double*, int)", 1800 + self.cells / 8)
        if number % 5 == 4:
            self.enter(MAIN, "Solver::residual")
            self.launch(MAIN, "reduce", "(double const*, double*, int)", mesh / 300)
            self.copy(MAIN, COMPUTE, DEVICE_TO_HOST, 8)
            self.wait(MAIN, COMPUTE)
            self.leave(MAIN)
        self.leave(MAIN)
        if number % 10 == 9:
            self.clock[WRITER] = max(self.clock[WRITER], self.clock[MAIN])
            self.enter(WRITER, "Writer::run")
            self.copy(WRITER, OUTPUT, DEVICE_TO_HOST, mesh)
            self.wait(WRITER, OUTPUT)
            self.spend(WRITER, mesh / 2)
            self.leave(WRITER)

    def run(self):
        mesh = 8 * self.cells * self.cells
        if not self.sampled:
            self.add("NVTX_EVENTS", 1_000_000, None, 75, "de.tu-darmstadt.parallel.extra_prof", MAIN, None, 1, None)
        self.enter(MAIN, "main")
        self.enter(MAIN, "read_mesh")
        self.call(MAIN, "cudaMalloc_v3020", 190_000)
        self.call(MAIN, "cudaMalloc_v3020", 60_000)
        self.spend(MAIN, mesh * 2)
        self.copy(MAIN, COMPUTE, HOST_TO_DEVICE, mesh)
        self.clear(MAIN, mesh)
        self.leave(MAIN)
        self.enter(MAIN, "solve")
        for number in range(self.steps):
            self.step(number)
        self.leave(MAIN)
        self.call(MAIN, "cudaDeviceSynchronize_v3020", 12_000)
        self.enter(MAIN, "clean_up")
        self.call(MAIN, "cudaFree_v3020", 90_000)
        self.call(MAIN, "cudaFree_v3020", 70_000)
        self.leave(MAIN)
        self.leave(MAIN)

    def write(self):
        self.run()
        self.add("EXPORT_META_DATA", "EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems")
        self.add("EXPORT_META_DATA", "EXPORT_PRODUCT_VERSION", "2022.1.1.61")
        self.add("EXPORT_META_DATA", "EXPORT_SCHEMA_VERSION", "2.9.1")
        self.add("EXPORT_META_DATA", "EXPORT_TIME_UTC", "2026-04-02T09:30:00")
        self.add("TARGET_INFO_GPU", 1 << 56, 0, "Imagined GPU", "0000:01:00.0")
        self.add("ThreadNames", self.string("heat"), 10, MAIN)
        self.add("ThreadNames", self.string("writer"), 10, WRITER)
        for text, number in self.strings.items():
            self.add("StringIds", number, text)
        if os.path.exists(self.path):
            os.remove(self.path)
        db = sqlite3.connect(self.path)
        db.executescript("PRAGMA page_size=1024; PRAGMA journal_mode=OFF;" + TABLES)
        for table, rows in self.rows.items():
            db.executemany("INSERT INTO %s VALUES (%s)" % (table, ",".join("?" * len(rows[0]))), rows)
        for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type='table'").fetchall():
            if table not in self.rows:      # an export only has tables with rows
                db.execute("DROP TABLE " + table)
        db.commit()
        db.execute("VACUUM")
        db.close()
        with open(self.path, "r+b") as file:
            file.seek(96)
            file.write((3040001).to_bytes(4, "big"))    # number of the SQLite version that wrote last: fixed, so that every version gives the same bytes


def write_samples(folder):
    os.makedirs(os.path.join(folder, "gpu"), exist_ok=True)
    Export(os.path.join(folder, "gpu", "heat.sqlite"), 2048, 40, False, 1).write()
    Export(os.path.join(folder, "gpu", "heat-sampled.sqlite"), 1024, 10, True, 2).write()
    for cells in (512, 1024, 2048):
        point = os.path.join(folder, "gpu", "sizes", "heat.n%d.r1" % cells)
        os.makedirs(point, exist_ok=True)
        Export(os.path.join(point, "heat.sqlite"), cells, 5, False, cells).write()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT", nargs="?")
    parser.add_argument("--samples", metavar="FOLDER")
    parser.add_argument("--cells", type=int, default=2048, metavar="N", help="along a side of the mesh")
    parser.add_argument("--steps", type=int, default=40, metavar="N")
    parser.add_argument("--sampled", action="store_true")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    if arguments.samples:
        write_samples(arguments.samples)
    elif arguments.out:
        Export(arguments.out, arguments.cells, arguments.steps, arguments.sampled, arguments.seed).write()
    else:
        parser.error("OUT or --samples FOLDER is needed")


if __name__ == "__main__":
    main()
