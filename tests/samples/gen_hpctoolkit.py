#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes one measurement of a small parallel program as HPCToolkit databases of all four layouts.

    gen_hpctoolkit.py FOLDER

makes FOLDER/solver-2019 (experiment.xml 2.2 with a table of values and a trace for each thread), solver-2021 (experiment.xml
4.0 with profile.db, cct.db, trace.db), solver-2022-draft (meta.db as it was before its first release) and solver-2023
(meta.db 4.0). The program ran on two ranks with two threads each and on a GPU stream, which has no values. There are two
metrics. Times are multiples of 1/1024 and cycles are integers, so that every sum is exact.
"""
import os, struct, sys

TITLE = "solver"
EPOCH = 1700000000_000000000          # ns
METRICS = ("CPUTIME (sec)", "PAPI_TOT_CYC")
SCOPES = ("point", "function", "execution")
MODULES = ["/home/ana/solver/solver", "/usr/lib64/libmpi.so.12", "/usr/lib64/libc.so.6"]
FILES = ["src/home/ana/solver/main.c", "src/home/ana/solver/solver.c", "src/home/ana/solver/halo.cpp",
         "/usr/include/vec.h"]
# name, module, offset, file, line
FUNCTIONS = [("main", 0, 0x1180, 0, 8), ("solve", 0, 0x1300, 1, 4), ("dot", 0, 0, 3, 3),
             ("exchange<Halo &>", 0, 0x1500, 2, 2), ("MPI_Sendrecv", 1, 0x20a40, None, 0),
             ('operator"" _km', 0, 0x1700, 0, 2), ("worker, inner", 0, 0x1800, 1, 14), ("<gpu kernel>", None, 0, None, 0)]
SOURCES = {
    "main.c": '#include "solver.h"\n\nlong double operator_km(long double x)\n{\n    return x * 1000;\n}\n\n'
              "int main(void)\n{\n    for (int i = 0; i < 10; i++)\n        solve(i);\n    return report(3.0_km);\n}\n",
    "solver.c": '#include "solver.h"\n\n\nvoid solve(int step)\n{\n    for (int i = 0; i < N; i++) {\n        r[i] = b[i] - a[i] * x[i];\n'
                "        rho += dot(r, r);\n    }\n    exchange(step);\n}\n\n\nvoid worker(void)\n{\n    while (next())\n        x[i] += p[i];\n}\n",
    "halo.cpp": "\nvoid exchange(Halo &halo)\n{\n    MPI_Sendrecv(halo.out, N, MPI_DOUBLE, halo.peer);\n}\n",
}

# The calling-context tree. A context is (parent, kind, what, relation); its id is its index, and 0 is the database's root.
# The written databases have no contexts for instructions below a line, only their values.
ENTRY, FUNCTION, LOOP, LINE, INSTRUCTION = "entry", "function", "loop", "line", "instruction"
LEXICAL, CALL, INLINED = 0, 1, 2
TREE = [
    (None, "root", None, None),
    (0, ENTRY, 1, None),                                  # 1 main thread
    (1, FUNCTION, 0, CALL),                               # 2 main
    (2, LOOP, (0, 10, 0x1190), LEXICAL),                  # 3
    (3, LINE, (0, 11), LEXICAL),                          # 4
    (4, FUNCTION, 1, CALL),                               # 5 solve
    (5, LOOP, (1, 6, 0x1310), LEXICAL),                   # 6
    (6, LINE, (1, 7), LEXICAL),                           # 7
    (7, INSTRUCTION, (0, 0x1320), LEXICAL),               # 8
    (7, INSTRUCTION, (0, 0x1328), LEXICAL),               # 9
    (6, LINE, (1, 8), LEXICAL),                           # 10
    (10, FUNCTION, 2, INLINED),                           # 11 dot
    (11, LINE, (3, 5), LEXICAL),                          # 12
    (12, INSTRUCTION, (0, 0x1340), LEXICAL),              # 13
    (5, LINE, (1, 10), LEXICAL),                          # 14
    (14, FUNCTION, 3, CALL),                              # 15 exchange
    (15, LINE, (2, 4), LEXICAL),                          # 16
    (16, FUNCTION, 4, CALL),                              # 17 MPI_Sendrecv
    (17, INSTRUCTION, (1, 0x20a88), LEXICAL),             # 18 no line information
    (17, INSTRUCTION, (2, 0x9f310), CALL),                # 19 code without symbols, called
    (2, LINE, (0, 12), LEXICAL),                          # 20
    (20, FUNCTION, 5, CALL),                              # 21 operator"" _km
    (21, LINE, (0, 5), LEXICAL),                          # 22
    (22, INSTRUCTION, (0, 0x1710), LEXICAL),              # 23
    (0, ENTRY, 2, None),                                  # 24 application thread
    (24, FUNCTION, 6, CALL),                              # 25 worker
    (25, LINE, (1, 16), LEXICAL),                         # 26
    (26, INSTRUCTION, (0, 0x1820), LEXICAL),              # 27
]
# {(rank, thread): {context: (value of metric 0, value of metric 1)}} of the contexts at which samples were taken, in 1/1024.
POINTS = {
    (0, 0): {8: (4096, 900), 9: (1024, 300), 13: (2048, 500), 18: (96, 7), 19: (160, 31), 23: (3, 1)},
    (0, 1): {27: (6000, 1200)},
    (1, 0): {8: (3000, 800), 13: (2500, 640), 18: (1500, 90), 19: (250, 0)},
    (1, 1): {27: (5120, 1000)},
}
SAMPLES = {(0, 0): [7, 7, 12, 0, 17, 19, 22], (0, 1): [26, 26, 0], (1, 0): [7, 12, 18], (1, 1): []}
THREADS = [(1, 0), (0, 0), (0, 1), (1, 1)]           # unsorted, as in real databases


def elided(i):
    parent, kind, _, relation = TREE[i]
    return kind == INSTRUCTION and relation == LEXICAL and TREE[parent][1] == LINE


def propagate(points, metric, borders):
    """Returns {context: [point, function, execution]} of one thread and metric, without contexts whose values are all 0. A value
    counts for its ancestors in scope execution, and in scope function only up to the first relation that is in `borders`."""
    values = {}
    for at, measured in points.items():
        value = measured[metric] * (1 / 1024 if metric == 0 else 1000)
        if not value:
            continue
        values.setdefault(at, [0.0, 0.0, 0.0])[0] += value
        inside, i = True, at
        while i is not None:
            slot = values.setdefault(i, [0.0, 0.0, 0.0])
            slot[1] += value if inside else 0
            slot[2] += value
            inside = inside and TREE[i][3] is not None and TREE[i][3] not in borders
            i = TREE[i][0]
    return values


def measured(thread, scopes, borders=(CALL, INLINED)):
    """Returns [(context, metric id, value)] in ascending order. A metric id is scope + number of scopes * metric."""
    out = []
    for m in range(len(METRICS)):
        for context, slots in propagate(POINTS[thread], m, borders).items():
            out += [(context, m * len(scopes) + n, slots[SCOPES.index(s)]) for n, s in enumerate(scopes)
                    if slots[SCOPES.index(s)]]
    return sorted(out)


def summed(per_thread):
    total = {}
    for values in per_thread:
        for context, metric, value in values:
            total[context, metric] = total.get((context, metric), 0.0) + value
    return sorted((c, m, v) for (c, m), v in total.items())


def write(folder, name, data):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def write_sources(folder):
    for name, text in SOURCES.items():
        write(os.path.join(folder, "src/home/ana/solver"), name, text.encode())


class Bytes:
    """A file that is being written."""

    def __init__(self, reserved=0):
        self.data = bytearray(reserved)

    def align(self, n):
        self.data += bytes(-len(self.data) % n)
        return len(self.data)

    def add(self, fmt, *values):
        at = len(self.data)
        self.data += struct.pack(fmt, *values)
        return at

    def put(self, at, fmt, *values):
        struct.pack_into(fmt, self.data, at, *values)


# ---------------------------------------------------------------- meta.db and the files next to it

def contexts_with(values):
    out = []
    for context, metric, value in values:
        if not out or out[-1][0] != context:
            out.append((context, []))
        out[-1][1].append((metric, value))
    return out


class Meta:
    def __init__(self, folder, draft):
        self.folder, self.draft = folder, draft
        per_thread = [measured(t, SCOPES) for t in THREADS] + [[]]       # the last: the stream
        self.profiles = [summed(per_thread)] + per_thread
        write_sources(folder)
        write(folder, "meta.db", self.meta())
        write(folder, "profile.db", self.profile())
        write(folder, "cct.db", self.cct())
        write(folder, "trace.db", self.trace())

    def strings(self, out, texts):
        return {t: out.add("%ds" % (len(t.encode()) + 1), t.encode()) for t in texts}

    def meta(self):
        out = Bytes(0x90)
        sections = [None] * 8
        at = out.align(8)
        texts = {TITLE, "one step of the solver", "$$", "", *METRICS, *SCOPES, *KINDS, *MODULES, *FILES,
                 "main thread", "application thread", *(f[0] for f in FUNCTIONS)}
        text = self.strings(out, sorted(texts))
        sections[4] = (len(out.data) - at, at)
        at = out.align(8)
        out.add("<QQ", text[TITLE], text["one step of the solver"])
        sections[0] = (len(out.data) - at, at)
        at = out.align(8)
        out.add("<QB7x", at + 16, len(KINDS))
        for kind in KINDS:
            out.add("<Q", text[kind])
        sections[1] = (len(out.data) - at, at)
        sections[2] = self.draft_metrics(out, text) if self.draft else self.metrics(out, text)
        at = out.align(8)
        out.add("<QIH2x", at + 16, len(MODULES), 16)
        for m in MODULES:
            out.add("<I4xQ", 0, text[m])
        sections[5], modules = (len(out.data) - at, at), at + 16
        at = out.align(8)
        out.add("<QIH2x", at + 16, len(FILES), 16)
        for f in FILES:
            out.add("<I4xQ", f.startswith("src/"), text[f])
        sections[6], files = (len(out.data) - at, at), at + 16
        at = out.align(8)
        out.add("<QIH2x", at + 16, len(FUNCTIONS), 40)
        for name, module, offset, file, line in FUNCTIONS:
            out.add("<QQQQII", text[name], modules + 16 * module if module is not None else 0, offset,
                    files + 16 * file if file is not None else 0, line, 0)
        sections[7], functions = (len(out.data) - at, at), at + 16
        sections[3] = self.contexts(out, text, modules, files, functions)
        out.data[:16] = b"HPCTOOLKITmeta" + bytes((4, 0))
        for i, (size, at) in enumerate(sections):
            out.put(16 + 16 * i, "<QQ", size, at)
        out.data += b"_meta.db"
        return out.data

    def metrics(self, out, text):
        at = out.align(8)
        head = out.add("<QIBBB1xQHB5x", 0, len(METRICS), 32, 16, 24, 0, len(SCOPES), 16)
        scopes = [out.add("<QBB6x", text[s], i + 1 if s != "function" else 3, 255 if s != "function" else 0)
                  for i, s in enumerate(SCOPES)]
        lists = []
        for m in range(len(METRICS)):
            instances = [out.add("<QH6x", scopes[s], 3 * m + s) for s in range(len(SCOPES))]
            summaries = [out.add("<QQB1xH4x", scopes[s], text["$$"], 0, 3 * m + s) for s in range(len(SCOPES))]
            lists.append((instances[0], summaries[0]))
        first = len(out.data)
        for m, (instances, summaries) in zip(METRICS, lists):
            out.add("<QQQHH4x", text[m], instances, summaries, len(SCOPES), len(SCOPES))
        out.put(head, "<Q", first)
        out.put(head + 16, "<Q", scopes[0])
        return len(out.data) - at, at

    def draft_metrics(self, out, text):
        at = out.align(8)
        head = out.add("<QIBBB1x", 0, len(METRICS), 24, 24, 16)
        lists = []
        for m in range(len(METRICS)):
            summaries = [out.add("<QBxH4x", text["$$"], 0, 3 * m + s) for s in range(len(SCOPES))]
            lists.append([out.add("<QHHxxxxQ", text[scope], 1, 3 * m + s, summaries[s])
                          for s, scope in enumerate(SCOPES)][0])
        first = len(out.data)
        for m, scopes in zip(METRICS, lists):
            out.add("<QH6xQ", text[m], len(SCOPES), scopes)
        out.put(head, "<Q", first)
        return len(out.data) - at, at

    def context(self, out, i, text, modules, files, functions):
        """Returns the record of a listed context, with room for the offset of its children."""
        _, kind, what, relation = TREE[i]
        lexical = {FUNCTION: 0, LOOP: 1, LINE: 2, INSTRUCTION: 3}[kind]
        if kind == FUNCTION:
            flags, words = 1, struct.pack("<Q", functions + 40 * what)
        elif kind == LOOP:
            flags, words = 6, struct.pack("<QI4xQQ", files + 16 * what[0], what[1], modules, what[2])
        elif kind == LINE:
            flags, words = 2, struct.pack("<QI4x", files + 16 * what[0], what[1])
        else:
            flags, words = 4, struct.pack("<QQ", modules + 16 * what[0], what[1])
        at = out.add("<QQIBBBB", 0, 0, i, flags, relation, lexical, len(words) // 8)
        if not self.draft:
            out.add("<H6x", 1)
        out.data += words
        return at

    def contexts(self, out, text, modules, files, functions):
        children = {}
        for i in range(1, len(TREE)):
            parent = TREE[i][0]
            while elided(parent):
                parent = TREE[parent][0]
            if not elided(i):
                children.setdefault(parent, []).append(i)
        start = out.align(8)
        head = out.add("<QHB5x" if not self.draft else "<QQ", *((0, len(children[0]), 32) if not self.draft else (0, 0)))
        places, todo = {}, []
        if self.draft:                       # the draft has no entries: their contexts are children of the root
            tops = [c for entry in children[0] for c in children[entry]]
            first = len(out.data)
            for c in tops:
                places[c] = self.context(out, c, text, modules, files, functions)
            out.put(head, "<QQ", len(out.data) - first, first)
            todo = list(tops)
        else:
            out.put(head, "<Q", len(out.data))
            for e in children[0]:
                name = ("unknown entry", "main thread", "application thread")[TREE[e][2]]
                places[e] = out.add("<QQIH2xQ", 0, 0, e, TREE[e][2], text[name])
            todo = list(children[0])
        while todo:
            parent = todo.pop(0)
            if parent not in children:
                continue
            first = len(out.data)
            for c in children[parent]:
                places[c] = self.context(out, c, text, modules, files, functions)
            out.put(places[parent], "<QQ", len(out.data) - first, first)
            todo += children[parent]
        return len(out.data) - start, start

    def identity(self, out, p):
        if p == 0:
            return 0
        ids = [(1, 1, 0, 0x7f0101)]
        if p == len(self.profiles) - 1:
            ids += [(2, 0, 1, 1), (5, 0, 0, 0), (6, 0, 7, 7)]
        else:
            rank, thread = THREADS[p - 1]
            ids += [(2, 0, rank, rank), (3, 0, thread, thread)]
        at = out.add("<H6x", len(ids))
        for kind, flags, logical, physical in ids:
            out.add("<BxHIQ", kind, flags, logical, physical)
        return at

    def profile(self):
        out = Bytes(0x30)
        infos = out.add("<QIB3x", 0x40, len(self.profiles), 40 if self.draft else 48)
        stride = 40 if self.draft else 48
        records = len(out.data)
        out.data += bytes(stride * len(self.profiles))
        tuples = len(out.data)
        places = [self.identity(out, p) for p in range(len(self.profiles))]
        tuples_size = len(out.data) - tuples
        for p, values in enumerate(self.profiles):
            at = out.align(2)
            for _, metric, value in values:
                out.add("<Hd", metric, value)
            index_at, number = out.align(4), 0
            groups = contexts_with(values)
            for context, group in groups:
                out.add("<IQ", context, number)
                number += len(group)
            record = struct.pack("<QQI4xQQ", len(values), at, len(groups), index_at, places[p])
            if not self.draft:
                record += struct.pack("<I4x", p == 0)
            out.data[records + stride * p:records + stride * (p + 1)] = record
        out.data[:16] = b"HPCTOOLKITprof" + bytes((4, 0))
        out.put(16, "<QQQQ", records + stride * len(self.profiles) - infos, infos, tuples_size, tuples)
        out.data += b"_prof.db"
        return out.data

    def columns(self):
        """Returns {context: {metric: [(profile, value)]}}."""
        all_columns = {}
        for p, values in list(enumerate(self.profiles))[1:]:
            for context, metric, value in values:
                all_columns.setdefault(context, {}).setdefault(metric, []).append((p, value))
        return all_columns

    def cct(self):
        out, columns = Bytes(0x20), self.columns()
        out.add("<QIB3x", 0x30, len(TREE), 32)
        records = len(out.data)
        out.data += bytes(32 * len(TREE))
        for context in range(len(TREE)):
            column = columns.get(context, {})
            at = out.align(4)
            for metric in sorted(column):
                for p, value in column[metric]:
                    out.add("<Id", p, value)
            index_at, number = out.align(2), 0
            for metric in sorted(column):
                out.add("<HQ", metric, number)
                number += len(column[metric])
            out.put(records + 32 * context, "<QQH6xQ", number, at, len(column), index_at)
        out.data[:16] = b"HPCTOOLKITctxt" + bytes((4, 0))
        out.put(16, "<QQ", 16 + 32 * len(TREE), 0x20)
        out.data += b"__ctx.db"
        return out.data

    def trace(self):
        out = Bytes(0x20)
        times = [EPOCH, EPOCH + 10**7 * 10]
        out.add("<QIB3xQQ", 0x40, len(THREADS), 24, *times)
        records = len(out.data)
        out.data += bytes(24 * len(THREADS))
        for n, thread in enumerate(THREADS):
            at = out.align(8)
            for k, context in enumerate(SAMPLES[thread]):
                out.add("<QI", EPOCH + 10**7 * k + n, context)
            out.put(records + 24 * n, "<I4xQQ", n + 1, at, len(out.data))
        out.data[:16] = b"HPCTOOLKITtrce" + bytes((4, 0))
        out.put(16, "<QQ", 32 + 24 * len(THREADS), 0x20)
        out.data += b"trace.db"
        return out.data


KINDS = ("SUMMARY", "NODE", "RANK", "THREAD", "GPUDEVICE", "GPUCONTEXT", "GPUSTREAM", "CORE")

# ---------------------------------------------------------------- experiment.xml


def quoted(text):
    """Escapes an attribute as the programs do that write experiment.xml: a quote becomes a backslash and a quote."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', '\\"')


def tables():
    out = ["<LoadModuleTable>"]
    out += ['<LoadModule i="%d" n="%s"/>' % (i + 1, quoted(m)) for i, m in enumerate(MODULES)]
    out += ["</LoadModuleTable>", "<FileTable>", '<File i="2147483647" n="&lt;unknown file&gt;"/>']
    out += ['<File i="%d" n="%s"/>' % (i + 1, "./" + f if f.startswith("src/") else f) for i, f in enumerate(FILES)]
    out += ["</FileTable>", "<ProcedureTable>"]
    out += ['<Procedure i="%d" n="%s" v="%s"/>' % (i + 10, quoted(f[0]), hex(f[2]) if f[2] else "0")
            for i, f in enumerate(FUNCTIONS)]
    out += ['<Procedure i="7" n="&lt;program root&gt;" v="0" f="1"/>', '<Procedure i="8" n="&lt;thread root&gt;" v="0" f="1"/>',
            '<Procedure i="9" n="&lt;unknown procedure&gt; 0x9f310 [libc.so.6]" v="0x9f310" f="1"/>']
    return out + ["</ProcedureTable>"]


def procedure(kind, what):
    return what + 10 if kind == FUNCTION else what + 6 if kind == ENTRY else 9


class Xml4:
    """A database with experiment.xml 4.0, big-endian files of values, and a cct.db with intact blocks."""

    SCOPES = ("function", "execution")
    IDS = {0: 1, 1: 2, 2: 4, 3: 5}                       # of (function, execution) of both metrics, in threads
    SUMMARY = {0: 256, 1: 512, 2: 1024, 3: 1280}

    def __init__(self, folder):
        per_thread = [measured(t, self.SCOPES) for t in THREADS]
        self.profiles = [[(c, self.SUMMARY[m], v) for c, m, v in summed(per_thread)]]
        self.profiles += [[(c, self.IDS[m], v) for c, m, v in values] for values in per_thread]
        write_sources(folder)
        write(folder, "experiment.xml", "\n".join(self.xml() + [""]).encode())
        write(folder, "profile.db", self.profile())
        write(folder, "cct.db", self.cct())
        write(folder, "trace.db", self.trace())

    def metrics(self):
        out = ["<MetricTable>"]
        for m, name in enumerate(METRICS):
            for k, (letter, scope) in enumerate((("E", "exclusive"), ("I", "inclusive"))):
                stored, shown = self.SUMMARY[2 * m + k], self.SUMMARY[2 * m + k] + 255
                out += ['<Metric i="%d" o="%d" n="%s:PARTIAL:0 (%s)" md="%s" v="derived-incr" t="%s" show="4" show-percent="0">'
                        % (stored, stored, name, letter, name, scope),
                        '<MetricFormula t="combine" frm="sum($%d, $%d)"/>' % (stored, stored),
                        '<Info><NV n="units" v="events"/></Info>', "</Metric>"]
                for n, (statistic, formula) in enumerate((("Sum", "$%d"), ("Mean", "$%%d / %d" % len(THREADS)))):
                    out += ['<Metric i="%d" o="%d" n="%s:%s (%s)" md="%s" v="derived-incr" t="%s" show="1" show-percent="1">'
                            % (shown - n, shown - n, name, statistic, letter, name, scope),
                            '<MetricFormula t="view" frm="%s"/>' % (formula % stored),
                            '<Info><NV n="units" v="events"/></Info>', "</Metric>"]
        out += ["</MetricTable>", "<MetricDBTable>"]
        for m, name in enumerate(METRICS):
            out += ['<MetricDB i="%d" n="%s (I)"/>' % (self.IDS[2 * m + 1], name),
                    '<MetricDB i="%d" n="%s (E)"/>' % (self.IDS[2 * m], name)]
        return out + ["</MetricDBTable>"]

    def element(self, i, children):
        """Returns the lines of a context and its descendants. The instruction of a call encloses the frame that is called."""
        _, kind, what, relation = TREE[i]
        below = [line for c in children.get(i, []) for line in self.element(c, children)]
        if kind in (ENTRY, FUNCTION):
            function = FUNCTIONS[what] if kind == FUNCTION else None
            n = procedure(kind, what)
            file, line = (function[3], function[4]) if function else (None, 0)
            text = 'PF i="%d" s="%d" n="%d" f="%d" l="%d" lm="%d"' % (
                i, n, n, file + 1 if file is not None else 2147483647, line, function[1] + 1 if function and function[1] is not None else 1)
            return ["<%s>" % text] + below + ["</PF>"]
        if kind == LOOP:
            return ['<L i="%d" s="%d" v="0" f="%d" l="%d">' % (i, 100 + i, what[0] + 1, what[1])] + below + ["</L>"]
        if kind == INSTRUCTION and relation == CALL:
            return ['<PF i="%d" s="9" n="9" l="0" f="2147483647" lm="%d">' % (i, what[0] + 1),
                    '<S i="-%d" s="9" l="0" v="%s" it="%d"/>' % (i, hex(what[1]), i), "</PF>"]
        address = "0" if kind == LINE else hex(what[1])
        line = what[1] if kind == LINE else 0
        attributes = 'i="%d" it="%d" l="%d"  s="%d" v="%s"%s' % (
            i, i, line, 100 + i, address, ' f="%d"' % (what[0] + 1) if kind == LINE else "")
        return ["<C %s>" % attributes] + below + ["</C>"] if below else ["<S %s/>" % attributes]

    def children(self):
        children = {}
        for i in range(1, len(TREE)):
            if not elided(i):
                children.setdefault(TREE[i][0], []).append(i)
        return children

    def xml(self):
        times = [EPOCH, EPOCH + 10**8]
        out = ['<?xml version="1.0"?>', '<HPCToolkitExperiment version="4.0">', '<Header n="%s">' % TITLE, "<Info/>", "</Header>",
               '<SecCallPathProfile i="0" n="%s">' % TITLE, "<SecHeader>", "<IdentifierNameTable>"]
        out += ['<Identifier i="%d" n="%s"/>' % (i, k) for i, k in enumerate(KINDS)]
        out += ["</IdentifierNameTable>"] + self.metrics()
        out += ["<TraceDBTable>", '<TraceDB i="0" db-min-time="%d" db-max-time="%d" u="1000000000"/>' % tuple(times),
                "</TraceDBTable>"] + tables() + ["<Info/>", "</SecHeader>", "<SecCallPathProfileData>"]
        children = self.children()
        for i in children[0]:
            out += self.element(i, children) + ["<!-- EXMLv4: /home/ana/--solver -->"]
        return out + ["</SecCallPathProfileData>", "</SecCallPathProfile>", "</HPCToolkitExperiment>"]

    def header(self, out, magic, count, sections):
        out.data[:16] = magic
        out.put(16, ">BBIH", 1, 0, count, len(sections))
        for i, (size, at) in enumerate(sections):
            out.put(24 + 16 * i, ">QQ", size, at)

    def profile(self):
        out = Bytes(128)
        records = len(out.data)
        out.data += bytes(52 * len(self.profiles))
        tuples, places = out.align(8), []
        for p in range(len(self.profiles)):
            ids = [(0, 0, 0)] if p == 0 else [(1, 0x7f0101, 0), (0xc002, THREADS[p - 1][0], THREADS[p - 1][0]),
                                              (0xc003, THREADS[p - 1][1], THREADS[p - 1][1])]
            places.append(out.add(">H", len(ids)))
            for kind, physical, logical in ids:
                out.add(">HQQ", kind, physical, logical)
        size = len(out.data) - tuples
        out.align(8)
        for p in list(range(1, len(self.profiles))) + [0]:
            values, at, number = self.profiles[p], len(out.data), 0
            groups = contexts_with(values)
            for _, group in groups:
                for metric, value in reversed(group):             # unsorted, as in files of that time
                    out.add(">dH", value, metric)
            for context, group in groups:
                out.add(">IQ", context, number)
                number += len(group)
            out.add(">IQ", 0x656e6421, number)
            out.put(records + 52 * p, ">QQQQQIQ", places[p], 0, 0, 0, len(values), len(groups), at)
        self.header(out, b"HPCPROF-profdb__", len(self.profiles), [(52 * len(self.profiles), records), (size, tuples)])
        out.data += b"tfBDFORP"
        return out.data

    def cct(self):
        out, columns = Bytes(128), {}
        for p, values in list(enumerate(self.profiles))[1:]:
            for context, metric, value in values:
                columns.setdefault(context, {}).setdefault(metric, []).append((p, value))
        records = len(out.data)
        out.data += bytes(22 * len(TREE))
        out.align(8)
        for context in range(len(TREE)):
            column, at, number = columns.get(context, {}), len(out.data), 0
            for metric in sorted(column):
                for p, value in column[metric]:
                    out.add(">dI", value, p)
            for metric in sorted(column):
                out.add(">HQ", metric, number)
                number += len(column[metric])
            if column:
                out.add(">HQ", 0x6564, number)
            out.put(records + 22 * context, ">IQHQ", context, number, len(column), at)
        self.header(out, b"HPCPROF-cctdb___", len(TREE), [(22 * len(TREE), records)])
        out.data += b"rtfBDTCC"
        return out.data

    def trace(self):
        out = Bytes(128)
        records = len(out.data)
        out.data += bytes(22 * len(THREADS))
        for n, thread in enumerate(THREADS):
            at = out.align(8)
            for k, context in enumerate(SAMPLES[thread]):
                out.add(">QI", EPOCH + 10**7 * k + n, context)
            out.put(records + 22 * n, ">IHQQ", n + 1, 0, at, len(out.data))
        self.header(out, b"HPCPROF-tracedb_", len(THREADS), [(22 * len(THREADS), records)])
        return out.data


class Old:
    """A database with experiment.xml 2.2. Its contexts are numbered in the order of the document and hold the summary's values."""

    def __init__(self, folder):
        self.next, self.numbers, self.traced = 1, {0: 1}, set()
        # an exclusive value of a frame includes the values of the functions inlined into it
        self.values = {t: measured(t, ("function", "execution"), (CALL,)) for t in THREADS}
        self.summary = {(c, m): v for c, m, v in summed(self.values.values())}
        write_sources(folder)
        body = self.below(0)
        head = ['<?xml version="1.0"?>', "<!DOCTYPE HPCToolkitExperiment [",
                "<!-- (v)ma-range-set: [beg-end), [beg-end)... -->", "<!ELEMENT HPCToolkitExperiment (Header)>", "]>",
                '<HPCToolkitExperiment version="2.2">', '<Header n="%s">' % TITLE, "  <Info/>", "</Header>",
                '<SecCallPathProfile i="0" n="%s">' % TITLE, "<SecHeader>"] + self.metrics()
        head += ["<TraceDBTable>", '<TraceDB i="0" db-glob="*.hpctrace" db-header-sz="32" u="1000000"/>', "</TraceDBTable>"]
        body = head + tables() + ["</SecHeader>", "<SecCallPathProfileData>"] + self.m(0) + body
        body += ["</SecCallPathProfileData>", "</SecCallPathProfile>", "</HPCToolkitExperiment>", ""]
        write(folder, "experiment.xml", "\n".join(body).encode())
        for thread in THREADS:
            name = "1.solver-%06d-%03d-7f0101-4711-0" % thread
            write(folder, name + ".metric-db", self.table(thread))
            write(folder, name + ".hpctrace", self.trace(thread))

    def metrics(self):
        out = ["<MetricTable>"]
        for m, name in enumerate(METRICS):
            for k, (letter, scope) in enumerate((("E", "exclusive"), ("I", "inclusive"))):
                i = 10 + 2 * m + k
                out += ['<Metric i="%d" n="%s:Sum (%s)" v="derived-incr" t="%s" partner="%d" show="1" show-percent="1">'
                        % (i, name, letter, scope, i ^ 1), '<MetricFormula t="combine" frm="sum($%d, $%d)"/>' % (i, i),
                        '<MetricFormula t="finalize" frm="$%d"/>' % i, "</Metric>"]
        out += ["</MetricTable>", "<MetricDBTable>"]
        for m, name in enumerate(METRICS):
            for k, (letter, scope) in enumerate((("E", "exclusive"), ("I", "inclusive"))):
                out += ['<MetricDB i="%d" n="%s (%s)" t="%s" partner="%d" db-glob="*.metric-db" db-id="%d" db-num-metrics="4" db-header-sz="24"/>'
                        % (2 * m + k, name, letter, scope, (2 * m + k) ^ 1, 2 * m + k)]
        return out + ["</MetricDBTable>"]

    def m(self, i):
        return ["".join('<M n="%d" v="%.6g"/>' % (10 + m, self.summary[i, m]) for m in range(4) if (i, m) in self.summary)]

    def below(self, parent):
        out = []
        for i, (above, kind, what, relation) in enumerate(TREE):
            if above != parent or elided(i):
                continue
            self.next += 1
            self.numbers[i] = self.next
            called = kind in (ENTRY, FUNCTION) or relation == CALL
            tag = "PF" if called and relation != INLINED else "Pr" if called else "L" if kind == LOOP else "S"
            if tag in ("PF", "Pr"):
                n, function = procedure(kind, what), FUNCTIONS[what] if kind == FUNCTION else (None, 0, 0, None, 0)
                attributes = 'i="%d" s="%d" l="%d" lm="%d" f="%d" n="%d"%s' % (
                    self.next, n, function[4], function[1] + 1, function[3] + 1 if function[3] is not None else 2147483647, n,
                    ' a="1"' if tag == "Pr" else "")
            else:
                line = what[1] if kind in (LINE, LOOP) else 0
                file = ' f="%d"' % (what[0] + 1) if tag == "L" else ""
                attributes = 'i="%d" s="%d" l="%d"%s' % (self.next, 100 + i, line, file)
            has_children = any(t[0] == i and not elided(n) for n, t in enumerate(TREE))
            if tag == "S":
                tag = "C" if has_children else "S"
                attributes += "" if has_children else ' it="%d"' % (1000 + i)
                self.traced.update(() if has_children else (i,))
            out += ["<%s %s>" % (tag, attributes)] + self.m(i) + self.below(i) + ["</%s>" % tag]
        return out

    def table(self, thread):
        rows = [[0.0] * 4 for _ in range(self.next)]
        for context, metric, value in self.values[thread]:
            if context in self.numbers:
                rows[self.numbers[context] - 1][metric] = value
        data = b"HPCPROF-metricdb__00.10b" + struct.pack(">II", len(rows), 4)
        return data + b"".join(struct.pack(">4d", *row) for row in rows)

    def trace(self, thread):
        data = b"HPCRUN-trace______01.01b" + struct.pack(">Q", 0)
        return data + b"".join(struct.pack(">QI", EPOCH // 1000 + 10000 * k, 1000 + c) for k, c in enumerate(SAMPLES[thread]) if c in self.traced)


def main(argv):
    if len(argv) != 2:
        sys.exit(__doc__)
    Old(os.path.join(argv[1], "solver-2019"))
    Xml4(os.path.join(argv[1], "solver-2021"))
    Meta(os.path.join(argv[1], "solver-2022-draft"), True)
    Meta(os.path.join(argv[1], "solver-2023"), False)


main(sys.argv)
