#!/usr/bin/env python3
"""Write an Extra-P text file: a scaling study of `heat`, an imagined stencil code, the same bytes every time.

gen_extrap.py OUT [--repetitions N] [--seed N]

Two parameters: p processes, n cells along one side of the square mesh. Times are seconds without those of
functions called (exclusive), per process, as a profiler reports them; they scatter by about one percent, those
of communication by more. Calls are exact.
"""
import argparse, math, random

PROCESSES = (4, 16, 64, 256)
CELLS = (1024, 2048, 4096)
STEPS = 100         # of the solver, in every run

# Call path; seconds and calls per process as functions of p and n; scatter of the time.
MODEL = (
    ("main", lambda p, n: 0.021, lambda p, n: 1, 0.01),
    ("main->read_mesh", lambda p, n: 0.4e-7 * n * n + 0.0015 * math.log2(p), lambda p, n: 1, 0.03),
    ("main->solve", lambda p, n: 0.0042 * STEPS / 100, lambda p, n: 1, 0.01),
    ("main->solve->sweep", lambda p, n: 1.9e-9 * STEPS * n * n / p, lambda p, n: STEPS, 0.008),
    ("main->solve->sweep->stencil_row", lambda p, n: 7.4e-9 * STEPS * n * n / p,
     lambda p, n: STEPS * n // math.isqrt(p), 0.008),
    ("main->solve->exchange_halo", lambda p, n: STEPS * (2.5e-5 + 6e-9 * n / math.isqrt(p)), lambda p, n: 4 * STEPS, 0.06),
    ("main->solve->residual->reduce", lambda p, n: STEPS * 1.1e-5 * math.log2(p), lambda p, n: STEPS, 0.08),
    ("main->write_checkpoint", lambda p, n: 0.9e-8 * n * n + 0.00031 * p, lambda p, n: STEPS // 50, 0.05),
)


def write_study(out, repetitions, scatter):
    points = [(p, n) for n in CELLS for p in PROCESSES]
    print("# Scaling study of heat: p processes, n cells along a side; seconds and calls per process", file=out)
    print("PARAMETER p n", file=out)
    for n in CELLS:
        print("POINTS", *("(%d %d)" % point for point in points if point[1] == n), file=out)
    for path, seconds, calls, spread in MODEL:
        print("\nREGION", path, file=out)
        print("METRIC time", file=out)
        for p, n in points:
            print("DATA", *("%.6g" % (seconds(p, n) * scatter.lognormvariate(0, spread)) for _ in range(repetitions)), file=out)
        print("METRIC calls", file=out)
        for p, n in points:
            print("DATA", *[calls(p, n)] * repetitions, file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("--repetitions", type=int, default=3, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    with open(arguments.out, "w", encoding="ascii", newline="\n") as out:
        write_study(out, arguments.repetitions, random.Random(arguments.seed))


if __name__ == "__main__":
    main()
