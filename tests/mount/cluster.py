#!/usr/bin/env python3
"""cluster.py MOUNT MOUNT: prints the time of each function over all runs of an archive that is split over two mounts.

Starts a scheduler and one worker per half, as on a cluster. Each worker reads the archive's table on its own mount and adds up
there, so that only sums are transferred. Prints `function,time` in ns, largest first.
"""
import subprocess
import sys
import tempfile
import time

import pandas
from distributed import Client


def time_by_function(mount):
    table = pandas.read_csv(mount + "/.profilefs/tables/functions.csv", dtype={"name": str}, keep_default_na=False,
                            na_values={"exclusive": [""]})
    times = table[(table["metric"] == "time") & (table["unit"] == "ns")]
    return times.groupby("name")["exclusive"].sum()


def main(mounts):
    running = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            contact = folder + "/scheduler.json"
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
            running.append(subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
                 "--no-dashboard", "--scheduler-file", contact], **quiet))
            for number in range(len(mounts)):
                running.append(subprocess.Popen(
                    [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", contact, "--name",
                     "half-%d" % number, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard"], **quiet))
            while running[0].poll() is None:
                try:
                    client = Client(scheduler_file=contact, timeout=30)
                    break
                except (FileNotFoundError, ValueError):     # not written yet
                    time.sleep(0.05)
            with client:
                client.wait_for_workers(len(mounts), timeout=60)
                parts = [client.submit(time_by_function, mount, workers=["half-%d" % number], pure=False)
                         for number, mount in enumerate(mounts)]
                total = pandas.concat(client.gather(parts)).groupby(level=0).sum()
        finally:
            for process in running:
                process.terminate()
            for process in running:
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:   # a worker may still wait for a scheduler that has already ended
                    process.kill()
                    process.wait()
    for name, ns in sorted(total.items(), key=lambda item: (-item[1], item[0])):
        print("%s,%d" % (name, ns))


if __name__ == "__main__":
    main(sys.argv[1:])
