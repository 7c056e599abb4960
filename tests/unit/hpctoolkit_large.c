/* SPDX-License-Identifier: MIT */
#include "formats/kit/bytes.h"
#include "tests/unit/hpctoolkit_db.h"

/* Databases that are too large to be scanned are served in part. The test extends files by holes. */

/* THREAD: offset of the first thread's record in the sample's profile.db; VALUES: offset in the record of its pointer to values. */
enum { THREAD = 0x40 + 48, VALUES = 8 };

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
    put_number(bytes + pf_u64(bytes + THREAD + VALUES, false), 0x63, 2);
    put_file(&copy, "profile.db", bytes, size);
    free(bytes);
    stretch(&copy, "profile.db", 8 << 20);
    load_database(&db, copy.folder, "db");
    char *rows = db.result ? NULL : all_rows(&db.model, "values");
    ok(rows && warned(&db.model, "unknown-metric") == 1 && strstr(rows, "metric 99"),
       "a metric that nothing tells of is kept in a large database, too, where threads begin with it");
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
       "%s: without an index, too, each context has the values that the whole table has", layout);
    close_database(&db);
}

int main(void)
{
    large_with_unknown_metric();
    contexts_without_index("solver-2023");
    contexts_without_index("solver-2022-draft");
    contexts_without_index("solver-2021");
    return done();
}
