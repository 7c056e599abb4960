#!/usr/bin/env python3
"""Checks that other readers of CSV see the tables' content. Tables are read without any option.

usage: analytics.py pandas|duckdb LIST [TOOLS]

LIST holds the paths of CSV files, one per line; TOOLS is the folder of DuckDB's package for Node.js. For each folder of tables
one line goes to stdout: True or False, the folder, and the differences, separated by tabs. Names of columns and numbers of rows
are compared with the result of Python's csv module; columns that hold only numbers must be numeric for the reader.
"""
import csv, itertools, json, os, subprocess, sys

csv.field_size_limit(1 << 30)

# Columns of lists: some lists look like a number.
LISTS = {"args"}


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text and text == text.strip()


def by_csv(path):
    """Returns [columns, number of rows, names of the columns that hold only numbers]."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        columns = next(rows)
        count, numbers, filled = 0, set(range(len(columns))), set()
        for row in rows:
            if len(row) != len(columns):
                raise SystemExit("%s: a row of %d cells, not %d" % (path, len(row), len(columns)))
            count += 1
            filled.update(i for i, cell in enumerate(row) if cell)
            numbers = {i for i in numbers if not row[i] or is_number(row[i])}
    return [columns, count, sorted(columns[i] for i in numbers & filled)]


def by_pandas(paths):
    import pandas
    for path in paths:
        try:
            table = pandas.read_csv(path)
        except Exception as error:      # any exception of the reader is reported as the result
            yield str(error)
            continue
        numbers = sorted(name for name in table.columns if pandas.api.types.is_numeric_dtype(table[name]))
        yield [list(table.columns), len(table), numbers]


def by_duckdb(paths, tools):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "analytics.mjs")
    done = subprocess.run(["node", script, tools], input="\n".join(paths), stdout=subprocess.PIPE, text=True, check=True)
    return map(json.loads, done.stdout.splitlines())


def of_folders(path):
    """Returns the columns that DuckDB makes from folders KEY=VALUE (Hive partitioning). These are points with one parameter."""
    return [folder.split("=")[0] for folder in path.split("/")[:-1] if folder.count("=") == 1]


def difference(path, want, have):
    if isinstance(have, str):
        return have
    extra = len(want[0])
    have[0][extra:] = [name for name in have[0][extra:] if name not in of_folders(path)]
    for what, w, h in zip(("columns", "rows"), want, have):
        if w != h:
            return "%s: want %s, have %s" % (what, w, h)
    missed = set(want[2]) - set(have[2]) - LISTS
    if missed:
        return "numbers are not taken for numbers in %s" % sorted(missed)
    return None


def main():
    reader, listing = sys.argv[1:3]
    with open(listing, encoding="utf-8") as file:
        paths = sorted(file.read().splitlines())
    found = by_pandas(paths) if reader == "pandas" else by_duckdb(paths, sys.argv[3])
    answers = list(zip(paths, found))
    if len(answers) != len(paths):
        raise SystemExit("%s told of %d tables, not %d" % (reader, len(answers), len(paths)))
    # The folder directly below a profile: tables, threads, contexts, metrics, ...
    place = lambda answer: "/".join(answer[0].split("/")[:-1][:3])
    for folder, tables in itertools.groupby(sorted(answers, key=place), place):
        tables = list(tables)
        problems = [(path, difference(path, by_csv(path), have)) for path, have in tables]
        problems = ["%s: %s" % (path, problem) for path, problem in problems if problem]
        print("%s\t%d tables of %s\t%s" % (not problems, len(tables), folder, "; ".join(problems[:5])))


main()
