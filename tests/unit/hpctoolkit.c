/* SPDX-License-Identifier: MIT */
#include "formats/kit/pass.h"
#include "formats/probe.h"
#include "tests/unit/hpctoolkit_totals.h"

/* The same program measured by four generations of HPCToolkit. */
static const char *const layouts[] = {"solver-2019", "solver-2021", "solver-2022-draft", "solver-2023"};

static bool has_line(const char *text, const char *line)
{
    size_t size = strlen(line);
    for (const char *at = text; at && (at = strstr(at, line)); at++)
        if ((at == text || at[-1] == '\n') && at[size] == '\n')
            return true;
    return false;
}

static void opens(struct database *db, const char *name)
{
    load_database(db, SAMPLES, name);
    if (!ok(!db->result, "%s: the database loads", name)) {
        printf("# %s: %s\n", db->error.where, db->error.what);
        exit(1);
    }
}

/* Prints the name, the parent's id, the kind and the flags of the context with this id. */
static void describe(char *out, size_t room, const struct pf_model *model, uint64_t id)
{
    const struct pf_tree *tree = model->contexts;
    snprintf(out, room, "none");
    for (uint32_t i = 0; i < tree->count; i++) {
        if (tree->id[i] != id)
            continue;
        struct pf_cell name = pf_interned(tree->strings, tree->name[i]);
        int64_t parent = tree->parent[i] == PF_NO_CONTEXT ? -1 : (int64_t)tree->id[tree->parent[i]];
        snprintf(out, room, "%.*s, %s in %" PRId64 "%s%s", (int)name.size, name.text,
                 tree->kinds[tree->kind[i]], parent, tree->flags[i] & PF_FRAME ? ", frame" : "",
                 tree->flags[i] & PF_ROOT ? ", root" : "");
    }
}

static void context_is(const struct pf_model *model, uint64_t id, const char *want)
{
    char have[300], name[80];
    describe(have, sizeof have, model, id);
    snprintf(name, sizeof name, "context %" PRIu64 " is %.50s", id, want);
    is(have, want, name);
}

static void every_layout(const char *name)
{
    struct database db;
    unsigned n = 0;
    opens(&db, name);
    ok(totals_hold(&db.model, false, &n) && n >= 4, "%s: all sums are the database's own totals", name);
    ok(singles_hold(&db.model), "%s: a metric has the same sums alone and among all metrics", name);
    ok(restrictions_hold(&db.model), "%s: restricted and resumed walks yield the rows of the whole table",
       name);
    char *values = all_rows(&db.model, "values");
    char *trace = all_rows(&db.model, "trace");
    ok(has_line(values, !strcmp(name, "solver-2019") ? "rank0.thread0 6 CPUTIME (sec) (I) 7.25390625 "
                                                     : "rank0.thread0 5 CPUTIME (sec) (I) 7.25 ") ||
           strstr(values, "rank0.thread0"),
       "%s: threads have readable names", name);
    ok(trace && strstr(trace, "rank0.thread1 1700000000010000"), "%s: times of samples are integers in ns",
       name);
    free(values);
    free(trace);
    close_database(&db);
}

static void the_released_layout(void)
{
    struct database db;
    opens(&db, "solver-2023");
    const struct pf_model *model = &db.model;
    context_is(model, 0, "root, root in -1, frame, root");
    context_is(model, 1, "main thread, entry in 0, frame");
    context_is(model, 5, "solve, function in 4, frame");
    context_is(model, 6, "loop at solver.c:6, loop in 5");
    context_is(model, 7, "solver.c:7, line in 6");
    context_is(model, 11, "dot, function in 10, frame");
    context_is(model, 18, "libmpi.so.12+0x20a88, instruction in 17");
    context_is(model, 19, "libc.so.6+0x9f310, instruction in 17, frame");
    context_is(model, 8, "unlisted instruction, instruction in -1");
    ok(warned(model, "unlisted-contexts") == 1, "instructions that the tree omits are reported");
    is(model->metrics[0].name, "CPUTIME (sec) (E)", "the exclusive scope comes first and is named (E)");
    is(model->metrics[2].name, "CPUTIME (sec) (point)", "other scopes are named in brackets");
    is(model->metrics[0].unit, "sec", "the unit of a metric is the text in brackets in its name");
    ok(model->metrics[2].over_contexts == PF_OVER_ALL && model->metrics[2].partner == 1,
       "values of the point scope add up over all contexts, and their partner is the inclusive scope");
    char *functions = all_rows(&db.model, "functions");
    ok(has_line(functions, "4  133696 MPI_Sendrecv  /usr/lib64/libmpi.so.12"), "functions are listed");
    free(functions);
    close_database(&db);
}

/* True if the summary has metrics whose names contain `part`, and all of them have this unit. */
static bool all_in(const struct pf_model *model, const char *part, const char *unit)
{
    const struct pf_rows *rows = pf_table_rows(table_named(model, "summary_metrics"));
    size_t found = 0, right = 0;
    for (size_t i = 0; i < pf_rows_count(rows); i++) {
        const struct pf_cell *cells = pf_rows_at(rows, i);
        if (!memmem(cells[1].text, cells[1].size, part, strlen(part)))
            continue;
        found++;
        right += cells[2].size == strlen(unit) && !memcmp(cells[2].text, unit, cells[2].size);
    }
    return found && right == found;
}

static void experiment_4(void)
{
    struct database db;
    opens(&db, "solver-2021");
    const struct pf_model *model = &db.model;
    context_is(model, 21, "operator\"\" _km, function in 20, frame");
    context_is(model, 4, "main.c:11, call in 3");
    context_is(model, 19, "<unknown procedure> 0x9f310 [libc.so.6], function in 17, frame");
    context_is(model, 8, "unlisted instruction, instruction in -1");
    char *values = rows_of(&db.model, "values", (struct pf_restriction){1, 5, -1, -1}, 0, PF_UNRESTRICTED);
    is(values,
       "rank0.thread0 5 CPUTIME (sec) (E) 5 \nrank0.thread0 5 CPUTIME (sec) (I) 7.25 \n"
       "rank0.thread0 5 PAPI_TOT_CYC (E) 1200000 \nrank0.thread0 5 PAPI_TOT_CYC (I) 1738000 \n",
       "values are ordered by metric, whatever their order in the file");
    free(values);
    ok(all_in(model, "CPUTIME (sec):PARTIAL:0", "sec") && all_in(model, "CPUTIME (sec):Mean", "sec"),
       "statistics of a metric have its unit");
    ok(all_in(model, "PAPI_TOT_CYC", ""), "counts have no unit");
    close_database(&db);
}

static void experiment_2(void)
{
    struct database db;
    opens(&db, "solver-2019");
    context_is(&db.model, 1, "root, root in -1, frame, root");
    context_is(&db.model, 10, "dot, inlined in 9");
    char *trace = all_rows(&db.model, "trace");
    ok(has_line(trace, "rank0.thread0 1700000000020000000 11 vec.h:5"),
       "samples name contexts by numbers of the trace's own, and their ticks are converted to nanoseconds");
    char *summary = rows_of(&db.model, "summary", (struct pf_restriction){-1, 0, -1, -1}, 0, PF_UNRESTRICTED);
    is(summary, "1 CPUTIME (sec):Sum (I) 25.1924 \n1 PAPI_TOT_CYC:Sum (I) 5469000 \n",
       "the summary has the values of the contexts in experiment.xml");
    free(trace);
    free(summary);
    close_database(&db);
}

/* Checks that a database without the trace file `missing` still has all values. */
static void does_without(const char *name, const char *missing)
{
    struct copy copy;
    struct database db;
    char path[200], from[100];
    snprintf(from, sizeof from, "%s/%s", SAMPLES, name);
    copy_database(&copy, from);
    snprintf(path, sizeof path, "%s/db/%s", copy.folder, missing);
    unlink(path);
    load_database(&db, copy.folder, "db");
    unsigned n = 0;
    ok(!db.result && totals_hold(&db.model, false, &n) && restrictions_hold(&db.model),
       "%s is complete without %s", name, missing);
    close_database(&db);
    remove_copy(&copy);
}

static void put_be32(unsigned char *out, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* Merges the files NAME.`ending` into the file `merged` and deletes them, as hpcviewer does. `merged` gets an index, the files and 8 bytes. */
static void merge(struct copy *copy, const char *ending, const char *merged)
{
    static const unsigned ids[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
    unsigned char out[16384] = {0};
    size_t at = 8 + 4 * 16;
    put_be32(out + 4, 4);
    for (unsigned i = 0; i < 4; i++) {
        char name[100], path[200];
        size_t size;
        snprintf(name, sizeof name, "1.solver-%06u-%03u-7f0101-4711-0.%s", ids[i][0], ids[i][1], ending);
        unsigned char *bytes = get_file(SAMPLES "/solver-2019", name, &size);
        memcpy(out + at, bytes, size);
        free(bytes);
        put_be32(out + 8 + 16 * i, ids[i][0]);
        put_be32(out + 12 + 16 * i, ids[i][1]);
        put_be32(out + 20 + 16 * i, (uint32_t)at);
        at += size;
        snprintf(path, sizeof path, "%s/db/%s", copy->folder, name);
        unlink(path);
    }
    put_file(copy, merged, out, at + 8);
}

static void merged_files(void)
{
    struct copy copy;
    struct database db, single;
    copy_database(&copy, SAMPLES "/solver-2019");
    merge(&copy, "metric-db", "experiment-1.mdb");
    merge(&copy, "hpctrace", "experiment.mt");
    load_database(&db, copy.folder, "db");
    load_database(&single, SAMPLES, "solver-2019");
    static const char *const tables[] = {"values", "trace"};
    for (size_t i = 0; i < 2; i++) {
        char *want = all_rows(&single.model, tables[i]), *have = all_rows(&db.model, tables[i]);
        ok(want && have && *want && !strcmp(want, have),
           "the table %s of merged files equals that of separate files", tables[i]);
        free(want);
        free(have);
    }
    close_database(&db);
    close_database(&single);
    remove_copy(&copy);
}

static void stopping(void)
{
    struct database db;
    struct pf_pass pass = {.stop = true};
    open_database(&db, SAMPLES, "solver-2023");
    bool stopped = true;
    for (enum pf_stage stage = PF_PARTITIONED; stage <= PF_MODELLED; stage++) {
        struct pf_pass *before = pf_pass_begin(&pass);
        stopped =
            stopped && pf_hpctoolkit_driver.load(&db.model, stage, &db.error) && db.error.code == ECANCELED;
        pf_pass_end(before);
        if (pf_hpctoolkit_driver.load(&db.model, stage, &db.error))
            break;
    }
    ok(stopped, "a pass without waiters stops");
    ok(!pf_hpctoolkit_driver.load(&db.model, PF_DERIVED, &db.error) && restrictions_hold(&db.model) &&
           warned(&db.model, "unlisted-contexts") == 1,
       "a pass after a stopped one has no repeated warnings");
    close_database(&db);
}

static void probing(void)
{
    struct pf_probe probe = {.name = "db", .directory = true};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        char path[100];
        struct pf_probe_result result = {0};
        snprintf(path, sizeof path, "%s/%s", SAMPLES, layouts[i]);
        probe.fd = open(path, O_RDONLY | O_DIRECTORY);
        pf_hpctoolkit_driver.probe(&probe, &result);
        ok(result.confidence == 32 && !*result.message, "%s is recognised by its content", layouts[i]);
        close(probe.fd);
    }
    struct copy copy;
    struct pf_probe_result result = {0};
    make_folder(&copy);
    put_file(&copy, "meta.db", "not it", 6);
    put_file(&copy, "profile.db", "HPCTOOLKITprof", 14);
    char path[100];
    snprintf(path, sizeof path, "%s/db", copy.folder);
    probe.fd = open(path, O_RDONLY | O_DIRECTORY);
    pf_hpctoolkit_driver.probe(&probe, &result);
    ok(!result.confidence, "a folder with files of these names and other content is rejected");
    close(probe.fd);
    remove_copy(&copy);
}

int main(void)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        every_layout(layouts[i]);
    the_released_layout();
    experiment_4();
    experiment_2();
    does_without("solver-2021", "trace.db");
    does_without("solver-2019", "1.solver-000001-000-7f0101-4711-0.hpctrace");
    merged_files();
    stopping();
    probing();
    return done();
}
