/* SPDX-License-Identifier: MIT */
#include "formats/kit/bytes.h"
#include "formats/kit/pass.h"
#include "tests/unit/cpu_limit.h"
#include "tests/unit/hpctoolkit_db.h"

/*
 * Databases that are too large to be scanned are served in part. The test makes files large by holes. Files whose records refer to the same
 * bytes many times take no more time than others.
 */

/*
 * THREAD is the offset of the first thread's record in the sample's profile.db. POINTER is the offset of the pointer to values in that
 * record.
 */
enum { THREAD = 0x40 + 48, POINTER = 8 };

static void put_number(unsigned char *at, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(number >> 8 * i);
}

/* Extends a file of the copy to this size by a hole. */
static void stretch(const struct copy *copy, const char *name, off_t size)
{
    char path[100];
    snprintf(path, sizeof path, "%s/db/%s", copy->folder, name);
    int fd = open(path, O_WRONLY);
    if (fd < 0 || ftruncate(fd, size))
        die(path);
    from_the_future(fd);
    close(fd);
}

static void large_with_unknown_metric(void)
{
    struct copy copy;
    struct database db;
    size_t size;
    copy_database(&copy, SAMPLES "/solver-2023");
    unsigned char *bytes = get_file(SAMPLES "/solver-2023", "profile.db", &size);
    put_number(bytes + pf_u64(bytes + THREAD + POINTER, false), 0x63, 2);
    put_file(&copy, "profile.db", bytes, size);
    free(bytes);
    stretch(&copy, "profile.db", 8 << 20);
    load_database(&db, copy.folder, "db");
    char *rows = db.result ? NULL : all_rows(&db.model, "values");
    ok(rows && warned(&db.model, "unknown-metric") == 1 && strstr(rows, "metric 99"),
       "a large database keeps a metric that is not declared");
    free(rows);
    close_database(&db);
    remove_copy(&copy);
}

/* Skips the stage that builds the index of contexts, as if there were too many of them to index. */
static void contexts_without_index(const char *layout)
{
    struct database db;
    open_database(&db, SAMPLES, layout);
    for (enum pf_stage stage = PF_PARTITIONED; stage < PF_DERIVED && !db.result; stage++)
        db.result = pf_hpctoolkit_driver.load(&db.model, stage, &db.error);
    ok(!db.result && restrictions_hold(&db.model),
       "%s: without an index, each context has the values of the whole table", layout);
    close_database(&db);
}

/* ---- many references to the same bytes -------------------------------------------------------------- */

static struct pf_pass pass;

/* Loads one stage of a database in a pass of its own. */
static void load_stage(struct database *db, enum pf_stage stage)
{
    pass = (struct pf_pass){0};
    struct pf_pass *before = pf_pass_begin(&pass);
    if (!db->result)
        db->result = pf_hpctoolkit_driver.load(&db->model, stage, &db->error);
    pf_pass_end(before);
}

/* Writes a profile.db in which the records of all threads refer to the same pairs of contexts and values. */
static void put_threads(const struct copy *copy, size_t threads, size_t pairs)
{
    enum { SECTION = 0x40, RECORDS = 0x50, RECORD = 48, PAIR = 12, FIRST_CONTEXT = 100000, METRIC = 0x63 };
    size_t at = RECORDS + threads * RECORD, values = at + pairs * PAIR, size = values + pairs * 10 + 8;
    unsigned char *bytes = calloc(1, size);
    if (!bytes)
        die("calloc");
    memcpy(bytes, "HPCTOOLKITprof\4", 15);
    put_number(bytes + 24, SECTION, 8);
    put_number(bytes + SECTION, RECORDS, 8);
    put_number(bytes + SECTION + 8, threads, 4);
    put_number(bytes + SECTION + 12, RECORD, 1);
    for (size_t i = 0; i < threads; i++) {
        put_number(bytes + RECORDS + i * RECORD, pairs, 8);
        put_number(bytes + RECORDS + i * RECORD + 8, values, 8);
        put_number(bytes + RECORDS + i * RECORD + 16, pairs, 4);
        put_number(bytes + RECORDS + i * RECORD + 24, at, 8);
    }
    for (size_t i = 0; i < pairs; i++) {
        put_number(bytes + at + i * PAIR, FIRST_CONTEXT + i, 4);
        put_number(bytes + at + i * PAIR + 4, i, 8);
        put_number(bytes + values + i * 10, METRIC, 2);
        put_number(bytes + values + i * 10 + 2, UINT64_C(0x3ff0000000000000), 8); /* 1.0 */
    }
    memcpy(bytes + size - 8, "_prof.db", 8);
    put_file(copy, "profile.db", bytes, size);
    free(bytes);
}

static void threads_can_be_cancelled(void)
{
    enum { THREADS = 10000 };
    struct copy copy;
    struct database db;
    copy_database(&copy, SAMPLES "/solver-2023");
    put_threads(&copy, THREADS, 0);
    open_database(&db, copy.folder, "db");
    load_stage(&db, PF_PARTITIONED);
    ok(!db.result && atomic_load(&pass.total) == THREADS && atomic_load(&pass.done) == 8192,
       "naming of threads can be cancelled");
    close_database(&db);
    remove_copy(&copy);
}

static void unlisted_contexts_can_be_cancelled(void)
{
    enum { CONTEXTS = 10000 };
    struct copy copy;
    struct database db;
    copy_database(&copy, SAMPLES "/solver-2023");
    put_threads(&copy, 1, CONTEXTS);
    open_database(&db, copy.folder, "db");
    load_stage(&db, PF_PARTITIONED);
    load_stage(&db, PF_MODELLED);
    ok(!db.result && atomic_load(&pass.total) == CONTEXTS && atomic_load(&pass.done) == 8192,
       "adding of contexts without a description can be cancelled");
    close_database(&db);
    remove_copy(&copy);
}

/* All threads' blocks are the same bytes of the file. Blocks may take twice the file's size in all, so the third and later ones are cut. */
static void overlapping_blocks(void)
{
    enum { THREADS = 400, PAIRS = 4000 };
    struct copy copy;
    struct database db;
    uint64_t rows = 0, most = 2 * (0x58 + THREADS * 48 + PAIRS * 22) / 22;
    copy_database(&copy, SAMPLES "/solver-2023");
    put_threads(&copy, THREADS, PAIRS);
    load_database(&db, copy.folder, "db");
    char *text = db.result ? NULL : all_rows(&db.model, "values");
    for (const char *at = text; at && (at = strchr(at, '\n')); at++)
        rows++;
    ok(rows >= PAIRS && rows <= most && warned(&db.model, "broken-block"),
       "blocks that overlap are cut where all of them exceed twice the file");
    free(text);
    close_database(&db);
    remove_copy(&copy);
}

static void load_and_close(void *folder)
{
    struct database db;
    load_database(&db, folder, "db");
    close_database(&db);
}

/* Replaces the list of files in meta.db by one in which all files have the same path. */
static void shared_path(void)
{
    enum { FILES = 16 + 16 * 6 + 8, RECORD = 16, N = 120000, TEXT = 64000 };
    struct copy copy;
    size_t size;
    copy_database(&copy, SAMPLES "/solver-2023");
    unsigned char *bytes = get_file(SAMPLES "/solver-2023", "meta.db", &size);
    size_t records = (size + 15) / 16 * 16, text = records + (size_t)N * RECORD, all = text + TEXT + 1;
    unsigned char *more = calloc(1, all), *list = more + pf_u64(bytes + FILES, false);
    if (!more)
        die("calloc");
    memcpy(more, bytes, size);
    free(bytes);
    put_number(list, records, 8);
    put_number(list + 8, N, 4);
    put_number(list + 12, RECORD, 2);
    memset(more + text, 'x', TEXT);
    for (size_t i = 0; i < N; i++)
        put_number(more + records + i * RECORD + 8, text, 8);
    put_file(&copy, "meta.db", more, all);
    free(more);
    ok(returns_within(4, load_and_close, copy.folder), "a long path of many files is read once");
    remove_copy(&copy);
}

/* ---- formulas --------------------------------------------------------------------------------------- */

enum { METRICS = 15000, FORMULAS = 450, SUMMED = 20, OPERANDS = 140 };

static void put_metrics(const struct copy *copy)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs("<HPCToolkitExperiment version=\"4.0\"><SecCallPathProfile n=\"x\"><SecHeader><MetricTable>", out);
    for (int i = 0; i < METRICS; i++)
        fprintf(out, "<Metric i=\"%d\" n=\"m%d\"/>", i, i);
    for (int i = 0; i < FORMULAS; i++) {
        fprintf(out, "<Metric i=\"%d\" n=\"f%d\"><MetricFormula t=\"view\" frm=\"0", METRICS + i, i);
        for (int k = 0; k < OPERANDS; k++)
            fprintf(out, "+$%d", METRICS - 1 - k);
        fputs("\"/></Metric>", out);
    }
    fputs("</MetricTable><LoadModuleTable/></SecHeader></SecCallPathProfile></HPCToolkitExperiment>", out);
    fclose(out);
    put_file(copy, "experiment.xml", text, size);
    free(text);
}

static void put_big(unsigned char *at, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(number >> 8 * (size - 1 - i));
}

/* Writes a profile.db whose summary has the value 1 of each metric in each of SUMMED contexts. */
static void put_summary(const struct copy *copy)
{
    enum {
        RECORD = 40,
        VALUES = 100,
        N = METRICS * SUMMED,
        PAIRS = VALUES + N * 10,
        ALL = PAIRS + (SUMMED + 1) * 12
    };
    unsigned char *bytes = calloc(1, ALL);
    if (!bytes)
        die("calloc");
    memcpy(bytes, "HPCPROF-profdb__\4", 17);
    put_big(bytes + 18, 1, 4);
    put_big(bytes + 32, RECORD, 8);
    put_big(bytes + RECORD + 32, N, 8);
    put_big(bytes + RECORD + 40, SUMMED, 4);
    put_big(bytes + RECORD + 44, VALUES, 8);
    for (size_t i = 0; i < N; i++) {
        put_big(bytes + VALUES + i * 10, UINT64_C(0x3ff0000000000000), 8); /* 1.0 */
        put_big(bytes + VALUES + i * 10 + 8, i % METRICS, 2);
    }
    for (size_t i = 0; i <= SUMMED; i++) {
        put_big(bytes + PAIRS + i * 12, i < SUMMED ? i + 1 : 0x656e6421, 4);
        put_big(bytes + PAIRS + i * 12 + 4, i * METRICS, 8);
    }
    put_file(copy, "profile.db", bytes, ALL);
    free(bytes);
}

static void compute(void *folder)
{
    struct database db;
    load_database(&db, folder, "db");
    char *rows = db.result ? NULL : all_rows(&db.model, "statistics");
    const char *third = rows ? strstr(rows, "\n20 f449 140 \n") : NULL;
    free(rows);
    close_database(&db);
    _exit(third == NULL);
}

static void formulas(void)
{
    struct copy copy;
    make_folder(&copy);
    put_metrics(&copy);
    put_summary(&copy);
    ok(returns_within(4, compute, copy.folder), "operands of a formula are found at once");
    remove_copy(&copy);
}

int main(void)
{
    large_with_unknown_metric();
    contexts_without_index("solver-2023");
    contexts_without_index("solver-2022-draft");
    contexts_without_index("solver-2021");
    threads_can_be_cancelled();
    unlisted_contexts_can_be_cancelled();
    overlapping_blocks();
    shared_path();
    formulas();
    return done();
}
