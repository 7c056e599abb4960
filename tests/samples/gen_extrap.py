#!/usr/bin/env python3
"""Writes an Extra-P input, a scaling study of `heat`, an imaginary stencil code. It has the same bytes every time.

gen_extrap.py OUT [--repetitions N] [--seed N]

OUT's suffix selects the format: .txt (text), .talpas, .jsonl (JSON Lines), .json, .extra-p (an experiment as Extra-P saves it,
with stored values and one model per call path).

The two parameters are the number p of processes and the number n of cells along one side of the square mesh. Times are exclusive
seconds per process, as a profiler reports them. They scatter by about one percent, those of communication by more. Numbers of calls
are exact.
"""
import argparse, io, json, math, random, statistics, struct, zipfile

PROCESSES = (4, 16, 64, 256)
CELLS = (1024, 2048, 4096)
STEPS = 100         # number of solver steps in every run

# Call paths, each with seconds and calls per process as functions of p and n, and the scatter of the time.
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


# The models of times: {call path: {index of a parameter: (kind, exponent) of its term}}.
TERMS = {
    "main->read_mesh": {1: ("polynomial", 2)}, "main->solve->sweep": {0: ("polynomial", -1), 1: ("polynomial", 2)},
    "main->solve->sweep->stencil_row": {0: ("polynomial", -1), 1: ("polynomial", 2)},
    "main->solve->exchange_halo": {0: ("polynomial", "-1/2"), 1: ("polynomial", 1)},
    "main->solve->residual->reduce": {0: ("logarithm", 1)}, "main->write_checkpoint": {1: ("polynomial", 2)},
}
POINTS = [(p, n) for n in CELLS for p in PROCESSES]


def measurements(repetitions, scatter):
    """Returns {call path: {metric: [values of each point]}}. Times have six digits."""
    study = {}
    for path, seconds, calls, spread in MODEL:
        study[path] = {
            "time": [[float("%.6g" % (seconds(p, n) * scatter.lognormvariate(0, spread))) for _ in range(repetitions)]
                     for p, n in POINTS],
            "calls": [[calls(p, n)] * repetitions for p, n in POINTS],
        }
    return study


def write_text(out, study):
    print("# Scaling study of heat: p processes, n cells along a side; seconds and calls per process", file=out)
    print("PARAMETER p n", file=out)
    for n in CELLS:
        print("POINTS", *("(%d %d)" % point for point in POINTS if point[1] == n), file=out)
    for path, metrics in study.items():
        print("\nREGION", path, file=out)
        for metric, points in metrics.items():
            print("METRIC", metric, file=out)
            for values in points:
                print("DATA", *("%.6g" % v if metric == "time" else v for v in values), file=out)


def write_lines(out, study, talpas):
    """Writes JSON Lines, one per value. Those of a run stand together, as programs append them."""
    for number, (p, n) in enumerate(POINTS):
        for repetition in range(len(study["main"]["time"][0])):
            for path, metrics in study.items():
                for metric, points in metrics.items():
                    line = {"params": {"p": p, "n": n}, "callpath": path, "metric": metric, "value": points[number][repetition]}
                    if talpas:
                        line = {"parameters": line.pop("params"), **line}
                    text = json.dumps(line, separators=(",", ":"))
                    print(text.replace(",", ";") if talpas else text, file=out)


def write_json(out, study):
    series = lambda points: [{"point": list(at), "values": values} for at, values in zip(POINTS, points)]
    json.dump({"parameters": ["p", "n"],
               "measurements": {path: {m: series(v) for m, v in metrics.items()} for path, metrics in study.items()}}, out, indent=1)


def basis(term, point):
    value = 1.0
    for parameter, (kind, exponent) in term.items():
        power = float(exponent) if not isinstance(exponent, str) else int(exponent[:-2]) / int(exponent[-1])
        value *= (math.log2(point[parameter]) if kind == "logarithm" else point[parameter]) ** power
    return value


def model(path, points):
    """Returns the least-squares line through the points' means over the model's basis."""
    means = [statistics.fmean(values) for values in points]
    term = TERMS.get(path)
    constant, slope = statistics.fmean(means), 0.0
    if term:
        x = [basis(term, at) for at in POINTS]
        middle = statistics.fmean(x)
        slope = sum((a - middle) * (y - constant) for a, y in zip(x, means)) / sum((a - middle) ** 2 for a in x)
        constant -= slope * middle
    fitted = [constant + slope * basis(term, at) if term else constant for at in POINTS]
    rss = sum((y - f) ** 2 for y, f in zip(means, fitted))
    smape = 200 * statistics.fmean(abs(y - f) / (abs(y) + abs(f)) for y, f in zip(means, fitted))
    function = {"constant_coefficient": constant, "$type": "ConstantFunction"}
    if term:
        pairs = {str(i): {"coefficient": 1.0, "simple_terms": [{"term_type": kind, "exponent": exponent}]}
                 for i, (kind, exponent) in term.items()}
        function = {"constant_coefficient": constant, "$type": "MultiParameterFunction",
                    "compound_terms": [{"coefficient": slope, "parameter_term_pairs": pairs}]}
    return {"hypothesis": {"function": function, "RSS": rss, "rRSS": rss / sum(y * y for y in means), "SMAPE": smape, "AR2": 1.0,
                           "RE": smape / 200, "$type": "MultiParameterHypothesis" if term else "ConstantHypothesis"}}


def array(values):
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%dd" % len(values), *values)


def write_experiment(out, study):
    kept, offsets, series = io.BytesIO(b"Extra-P VALUES\0\0"), [], {}
    kept.seek(16)
    for path, metrics in study.items():
        for metric, points in metrics.items():
            for at, values in zip(POINTS, points):
                series.setdefault(path, {}).setdefault(metric, []).append({
                    "coordinate": list(at), "median": statistics.median(values), "mean": statistics.fmean(values),
                    "minimum": min(values), "maximum": max(values), "std": statistics.pstdev(values),
                    "repetitions": len(values), "values": [0, len(offsets)]})
                offsets.append(kept.tell())
                kept.write(array(values))
    models = {path: {"time": model(path, metrics["time"])} for path, metrics in study.items()}
    text = json.dumps({"Extra-P": "4.2.5", "scaling": "weak", "parameters": ["p", "n"], "measurements": series,
                       "modelers": [{"name": "Default", "modeler": {"$type": "MultiParameterModeler"}, "models": models}]})
    index = b"Extra-P INDEX\0\0\0" + struct.pack("<Q%dQ" % len(offsets), len(offsets), *offsets)
    with zipfile.ZipFile(out, "w") as archive:
        for name, data, packing in (("values/0.vals", kept.getvalue(), zipfile.ZIP_STORED), ("values/0.indx", index, zipfile.ZIP_STORED),
                                    ("experiment.json", text, zipfile.ZIP_DEFLATED)):
            archive.writestr(zipfile.ZipInfo(name), data, packing)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("--repetitions", type=int, default=3, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    study = measurements(arguments.repetitions, random.Random(arguments.seed))
    if arguments.out.endswith(".extra-p"):
        write_experiment(arguments.out, study)
        return
    with open(arguments.out, "w", encoding="ascii", newline="\n") as out:
        if arguments.out.endswith(".json"):
            write_json(out, study)
        elif arguments.out.endswith((".jsonl", ".talpas")):
            write_lines(out, study, arguments.out.endswith(".talpas"))
        else:
            write_text(out, study)


if __name__ == "__main__":
    main()
