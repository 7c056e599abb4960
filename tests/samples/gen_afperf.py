#!/usr/bin/env python3
"""Writes an AFPerf file with the profile of an imaginary air-defence simulation. It has the same bytes every time.

gen_afperf.py OUT [--runs N] [--frames N] [--seed N] [--gzip]

Runs of one scenario go on side by side and write into one file. A frame is a region with the phases of a time step
inside. Reading scripts and writing the replay are sections, whose intervals overlap frames. Each frame has measurements of
free memory at its start and end and of the events handled in it; each run has one of the place where it ran. The last run
was paused in a debugger and killed inside a frame.
"""
import argparse, gzip, random

PHASES = (("detect", (("radar scan", 9), ("line of sight", 14))), ("track", (("associate", 6), ("filter", 4))),
          ("move platforms", (("route", 3),)), ("weapons", ()))
TICK = 1000         # nanoseconds per unit of the phases' weights


class Run:
    def __init__(self, number, chance):
        self.id, self.chance, self.time = 0x5AFE0000 + number, chance, 40_000_000 + 7_000 * number
        self.next_region, self.memory, self.interval = 0x1000 * (number + 1), 6144.0, 0

    def record(self, name, *fields):
        return "%s,%s\n" % (name, ",".join('"%s"' % f.replace('"', '""') if "," in f or '"' in f else f
                                            for f in map(str, fields)))

    def pass_time(self, weight):
        self.time += int(weight * TICK * self.chance.lognormvariate(0, 0.2)) + 1

    def begin(self, number, platforms):
        run = hex(self.id)
        yield self.record("RunInfo", hex(self.time), "nanoseconds", 1777190400.25 + number, "1.0.0", run, "mission",
                          "2.9.0", 'scenario=coast;platforms=%d;note=runs "as is", no GUI' % platforms)
        for type_id, name, datatype, units, summary in (
                (1, "Free Memory", "double", "MiB", "memory that the machine has left"),
                (2, "Events Handled", "int64", "count", "events taken off the queue"),
                (3, "Hostname", "string", "text", "")):
            yield self.record("MeasurementType", "", run, hex(type_id), name, datatype, units, summary, "")
        for section, label in ((0xA, "read scripts"), (0xB, "write replay")):
            yield self.record("SectionInfo", "", run, hex((self.id << 4) + section), label, "component=io")
        yield self.record("RunPoint", self.time, run, "0x3", "node%02d" % (number + 3))
        yield from self.section(0xA, 900)

    def section(self, section, weight):
        self.interval += 1
        yield self.record("SectionStart", self.time, hex((self.id << 4) + section), self.interval)
        self.pass_time(weight)
        yield self.record("SectionStop", self.time, hex((self.id << 4) + section), self.interval)

    def region(self, label, weight, parts=(), tags="", measured=False, stops=True):
        region, self.next_region = self.next_region, self.next_region + 1
        yield self.record("RegionStart", self.time, hex(self.id), hex(region), label, tags)
        if measured:
            yield self.record("RegionPoint", self.time, hex(region), "0x1", "%.3f" % self.memory)
        self.pass_time(weight)
        for part in parts:
            yield from self.region(*part)
        if not stops:
            return
        yield self.record("RegionStop", self.time, hex(region))
        if measured:
            self.memory -= self.chance.random() / 4
            yield self.record("RegionPoint", self.time, hex(region), "0x1", "%.3f" % self.memory, "0x2",
                              self.chance.randrange(20, 90))

    def frame(self, number, killed):
        parts = [(label, 2, [(inner, weight) for inner, weight in inside]) for label, inside in PHASES]
        yield from self.region("frame", 1, parts, "frame=%d" % number, measured=True, stops=not killed)
        if number % 8 == 7:
            yield from self.section(0xB, 12)

    def pause(self):
        start, self.time = self.time, self.time + 3_000_000
        yield self.record("PauseResume", self.time, start, hex(self.id))


def write(out, runs, frames, seed):
    out("# AFPerf v1     \n")
    all_runs = [Run(n, random.Random(seed * 1000 + n)) for n in range(runs)]
    for n, run in enumerate(all_runs):
        out("".join(run.begin(n, 12 * (n + 1))))
    for frame in range(frames):
        for n, run in enumerate(all_runs):
            last = n == runs - 1
            if last and frame == frames // 2:
                out("".join(run.pause()))
            out("".join(run.frame(frame, last and frame == frames - 1)))
    for run in all_runs[:-1]:
        out(run.record("RunAggregate", run.time, 40_000_000, hex(run.id), "mean", "0x2", 55))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("--runs", type=int, default=3, metavar="N")
    parser.add_argument("--frames", type=int, default=24, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--gzip", action="store_true")
    arguments = parser.parse_args()
    text = []
    write(text.append, arguments.runs, arguments.frames, arguments.seed)
    data = "".join(text).encode("utf-8")
    with open(arguments.out, "wb") as out:
        if arguments.gzip:
            with gzip.GzipFile("", "wb", fileobj=out, mtime=0) as packed:
                packed.write(data)
        else:
            out.write(data)


if __name__ == "__main__":
    main()
