/* SPDX-License-Identifier: MIT */
#include <sys/resource.h>

#include "tests/unit/hpctoolkit_db.h"

/* Tests how files of databases of version 2.x are assigned to threads. */

#define SOLVER SAMPLES "/solver-2019"

static void move(const struct copy *copy, const char *from, const char *to)
{
    char old[200], new[200];
    snprintf(old, sizeof old, "%s/db/%s", copy->folder, from);
    snprintf(new, sizeof new, "%s/db/%s", copy->folder, to);
    if (rename(old, new))
        die(old);
}

static void drop(const struct copy *copy, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/db/%s", copy->folder, name);
    if (unlink(path))
        die(path);
}

/* Returns the rows of a thread without their first word, the name of the thread. */
static char *of_thread(struct pf_model *model, const char *table, int64_t thread)
{
    char *rows = rows_of(model, table, (struct pf_restriction){thread, -1, -1, -1}, 0, PF_UNRESTRICTED);
    char *out = rows;
    for (const char *at = rows; rows && *at;) {
        const char *end = strchr(at, '\n') + 1;
        at = strchr(at, ' ');
        memmove(out, at, (size_t)(end - at));
        out += end - at;
        at = end;
    }
    if (out)
        *out = 0;
    return rows;
}

static bool same_thread(struct pf_model *a, int64_t x, struct pf_model *b, int64_t y, const char *table)
{
    char *have = of_thread(a, table, x), *want = of_thread(b, table, y);
    bool same = have && want && *want && !strcmp(have, want);
    free(have);
    free(want);
    return same;
}

/* Renames the files of the first thread of rank 1, which then belongs to another process with rank 0. */
static void processes_of_one_rank(void)
{
    struct copy copy;
    struct database db, single;
    copy_database(&copy, SOLVER);
    move(&copy, "1.solver-000001-000-7f0101-4711-0.metric-db", "1.solver-000000-000-7f0101-5000-0.metric-db");
    move(&copy, "1.solver-000001-000-7f0101-4711-0.hpctrace", "1.solver-000000-000-7f0101-5000-0.hpctrace");
    drop(&copy, "1.solver-000000-000-7f0101-4711-0.hpctrace");
    load_database(&db, copy.folder, "db");
    load_database(&single, SAMPLES, "solver-2019");
    ok(!db.result && same_thread(&db.model, 1, &single.model, 2, "values") &&
           same_thread(&db.model, 1, &single.model, 2, "trace"),
       "each of two processes with the same rank has the trace in its own file");
    char *none = db.result ? NULL : of_thread(&db.model, "trace", 0);
    is(none, "", "a process without a trace file has no trace");
    free(none);
    close_database(&db);
    close_database(&single);
    remove_copy(&copy);
}

static void trace_without_values(void)
{
    struct copy copy;
    struct database db, single;
    copy_database(&copy, SOLVER);
    drop(&copy, "1.solver-000000-000-7f0101-4711-0.metric-db");
    load_database(&db, copy.folder, "db");
    load_database(&single, SAMPLES, "solver-2019");
    ok(!db.result && pf_rows_count(db.model.partitions.items) == 4 &&
           same_thread(&db.model, 3, &single.model, 0, "trace"),
       "a thread that has only a trace is listed after those with values");
    close_database(&db);
    close_database(&single);
    remove_copy(&copy);
}

/* The order of file names can differ from the order of ranks and threads. */
static void traces_out_of_order(void)
{
    struct copy copy;
    struct database db, single;
    copy_database(&copy, SOLVER);
    move(&copy, "1.solver-000000-000-7f0101-4711-0.metric-db", "2.solver-000000-000-7f0101-4711-0.metric-db");
    move(&copy, "1.solver-000000-000-7f0101-4711-0.hpctrace", "2.solver-000000-000-7f0101-4711-0.hpctrace");
    drop(&copy, "1.solver-000000-001-7f0101-4711-0.hpctrace");
    drop(&copy, "1.solver-000001-000-7f0101-4711-0.hpctrace");
    drop(&copy, "1.solver-000001-001-7f0101-4711-0.hpctrace");
    load_database(&db, copy.folder, "db");
    load_database(&single, SAMPLES, "solver-2019");
    ok(!db.result && pf_rows_count(db.model.partitions.items) == 4 &&
           same_thread(&db.model, 3, &single.model, 0, "values") &&
           same_thread(&db.model, 3, &single.model, 0, "trace"),
       "each thread has its own trace, in whatever order the files are listed");
    close_database(&db);
    close_database(&single);
    remove_copy(&copy);
}

/* A file merged by hpcviewer has a single part: the values of a thread whose own file still exists. */
static void merged_and_single(void)
{
    static const unsigned char head[24] = {[7] = 1, [23] = sizeof head};
    struct copy copy;
    struct database db, single;
    size_t size;
    copy_database(&copy, SOLVER);
    unsigned char *bytes = get_file(SOLVER, "1.solver-000000-000-7f0101-4711-0.metric-db", &size);
    unsigned char *merged = calloc(1, sizeof head + size + 8);
    if (!merged)
        die("calloc");
    memcpy(merged, head, sizeof head);
    memcpy(merged + sizeof head, bytes, size);
    put_file(&copy, "experiment-1.mdb", merged, sizeof head + size + 8);
    free(merged);
    free(bytes);
    load_database(&db, copy.folder, "db");
    load_database(&single, SAMPLES, "solver-2019");
    ok(!db.result && same_thread(&db.model, 0, &single.model, 0, "values") &&
           same_thread(&db.model, 0, &single.model, 0, "trace"),
       "files from which a merged file was made are not counted again");
    ok(warned(&db.model, "part") == 1, "files from which a merged file was made are reported");
    close_database(&db);
    close_database(&single);
    remove_copy(&copy);
}

/* Returns the number of read calls of this process so far; 0 if the kernel does not count them. */
static unsigned long long read_calls(void)
{
    unsigned long long calls = 0;
    FILE *io = fopen("/proc/self/io", "r");
    if (io && fscanf(io, "rchar: %*u wchar: %*u syscr: %llu", &calls) != 1)
        calls = 0;
    if (io)
        fclose(io);
    return calls;
}

/* A merged file with more parts than the driver keeps; no part is a table of values. */
static void too_many_parts(void)
{
    enum { MOST = 1 << 20, PARTS = MOST + 100, SIZE = 8 + 16 * PARTS + 8 };
    struct copy copy;
    struct database db;
    copy_database(&copy, SOLVER);
    unsigned char *merged = calloc(1, SIZE);
    if (!merged)
        die("calloc");
    merged[5] = PARTS >> 16;
    merged[6] = PARTS >> 8 & 0xff;
    merged[7] = PARTS & 0xff;
    put_file(&copy, "experiment-1.mdb", merged, SIZE);
    free(merged);
    unsigned long long before = read_calls();
    load_database(&db, copy.folder, "db");
    unsigned long long calls = read_calls() - before;
    ok(!db.result && pf_rows_count(db.model.partitions.items) == MOST + 3,
       "a million parts of a merged file are read");
    bool found = false;
    for (size_t i = 0; i < pf_rows_count(db.model.warnings); i++) {
        struct pf_cell text = pf_rows_at(db.model.warnings, i)[4];
        found |= memmem(text.text, text.size, "the others are skipped", 22) != NULL;
    }
    ok(found, "further parts of a merged file are reported");
    ok(calls < 10000, "records of a merged file are read in batches");
    close_database(&db);
    remove_copy(&copy);
}

/* Returns the value of a line of info.txt, or NULL if there is no such line. Valid until the next call. */
static const char *info_of(const struct pf_model *model, const char *key)
{
    static char value[100];
    for (size_t i = 0; i < pf_rows_count(model->info); i++) {
        const struct pf_cell *row = pf_rows_at(model->info, i);
        snprintf(value, sizeof value, "%.*s", (int)row[1].size, row[1].text);
        if (row[0].size == strlen(key) && !memcmp(row[0].text, key, row[0].size))
            return value;
    }
    return NULL;
}

/* A database without files of threads, which writers omitted by default. */
static void summary_alone(void)
{
    struct copy copy;
    struct database db;
    copy_database(&copy, SOLVER);
    load_database(&db, copy.folder, "db");
    ok(!db.result && !info_of(&db.model, "Values"),
       "info.txt of a database with files of threads does not mention them");
    close_database(&db);
    drop(&copy, "1.solver-000000-000-7f0101-4711-0.metric-db");
    drop(&copy, "1.solver-000000-001-7f0101-4711-0.metric-db");
    drop(&copy, "1.solver-000001-000-7f0101-4711-0.metric-db");
    drop(&copy, "1.solver-000001-001-7f0101-4711-0.metric-db");
    load_database(&db, copy.folder, "db");
    is(db.result ? NULL : info_of(&db.model, "Values"), "summary.csv alone: there are no files of threads",
       "info.txt of a database without files of threads says where the values come from");
    char *summary = db.result ? NULL : rows_of(&db.model, "summary", PF_UNRESTRICTED, 0, PF_UNRESTRICTED);
    ok(summary && *summary && !pf_rows_count(db.model.warnings),
       "values of a database without files of threads have no warnings");
    free(summary);
    close_database(&db);
    remove_copy(&copy);
}

/* After the database is open, opening further files fails with EMFILE. */
static void no_descriptors(void)
{
    struct database db;
    struct rlimit limit, none;
    open_database(&db, SAMPLES, "solver-2019");
    int next = dup(db.folder);
    getrlimit(RLIMIT_NOFILE, &limit);
    none = (struct rlimit){(rlim_t)next, limit.rlim_max};
    close(next);
    setrlimit(RLIMIT_NOFILE, &none);
    int result = db.result ? 0 : load_all(&db);
    setrlimit(RLIMIT_NOFILE, &limit);
    ok(result && db.error.code == EMFILE,
       "running out of descriptors is an error, not a missing thread");
    close_database(&db);
}

int main(void)
{
    processes_of_one_rank();
    trace_without_values();
    traces_out_of_order();
    merged_and_single();
    too_many_parts();
    summary_alone();
    no_descriptors();
    return done();
}
