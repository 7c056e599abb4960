#!/usr/bin/env python3
"""Write profiles of sampled call stacks, the same bytes every time: one run of `heat`, an imagined stencil code.

gen_stacks.py FOLDER

FOLDER/heat.folded       collapsed stacks
"""
import os, random, sys

# A stack, and how many samples out of a hundred are taken in it.
STACKS = (
    ("main;heat::solve(heat::Grid&, int);heat::step(heat::Grid&);heat::sweep(heat::Grid&);heat::stencil_row(double*, double const*)", 61),
    ("main;heat::solve(heat::Grid&, int);heat::step(heat::Grid&);heat::sweep(heat::Grid&)", 3),
    ("main;heat::solve(heat::Grid&, int);heat::step(heat::Grid&);heat::exchange_halo(heat::Grid&);MPI_Waitall", 17),
    ("main;heat::solve(heat::Grid&, int);heat::residual(heat::Grid const&)", 6),
    ("main;heat::write_checkpoint(int);write;[kernel]_[k]", 5),
    ("main;heat::read_mesh(char const*);std::getline<char>", 4),
    ("main", 1),
)


def samples(rng):
    """{stack: samples}: about a hundred a second, for 40 s."""
    return {stack: sum(rng.random() * 100 < share for _ in range(4000)) for stack, share in STACKS}


def folded(counts):
    return "".join("%s %d\n" % item for item in sorted(counts.items())).encode()


def main(folder):
    os.makedirs(folder, exist_ok=True)
    counts = samples(random.Random(20260401))
    for name, content in (("heat.folded", folded(counts)),):
        with open(os.path.join(folder, name), "wb") as out:
            out.write(content)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 2 else __doc__)
