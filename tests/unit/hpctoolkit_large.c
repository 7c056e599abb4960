/* SPDX-License-Identifier: MIT */
#include "tests/unit/hpctoolkit_db.h"

/* Databases that are too large to be looked through: what is told of them all the same. Their files are mostly holes. */

/* Where the bundled sample's profile.db has the record of its first thread, and cct.db that of the root; and what is in them. */
enum { THREAD = 0x40 + 48, N_VALUES = 0, VALUES = 8, N_CONTEXTS = 16, PAIRS = 24 };
enum { ROOT = 0x30, STRIDE = 32, RECORDS = 0x28 };

/* More pairs than are always looked through. */
enum { PAIRS_MANY = 2000000, PAIR = 12, VALUE = 10 };

static void put_number(unsigned char *at, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(number >> 8 * i);
}

/* Makes a file of the copy this long, with a hole behind what it has, in which `bytes` stand at `at`. */
static void stretch(const struct copy *copy, const char *name, off_t size, const void *bytes, size_t n,
                    off_t at)
{
    char path[100];
    snprintf(path, sizeof path, "%s/db/%s", copy->folder, name);
    int fd = open(path, O_WRONLY);
    if (fd < 0 || ftruncate(fd, size) || pwrite(fd, bytes, n, at) != (ssize_t)n)
        die(path);
    from_the_future(fd);
    close(fd);
}

/* The values of the first thread are said to stand in the hole, and all values to be the root's. */
static void say_many(const struct copy *copy)
{
    size_t size;
    uint64_t others = 0;
    unsigned char *bytes = get_file(SAMPLES "/solver-2023", "profile.db", &size);
    uint32_t profiles;
    memcpy(&profiles, bytes + 0x38, sizeof profiles);
    for (uint32_t i = 2; i < profiles; i++) {
        uint64_t values;
        memcpy(&values, bytes + 0x40 + (size_t)i * 48, sizeof values);
        others += values;
    }
    put_number(bytes + THREAD + N_VALUES, PAIRS_MANY, 8);
    put_number(bytes + THREAD + VALUES, size, 8);
    put_number(bytes + THREAD + N_CONTEXTS, PAIRS_MANY, 4);
    put_number(bytes + THREAD + PAIRS, size + (uint64_t)PAIRS_MANY * VALUE, 8);
    put_file(copy, "profile.db", bytes, size);
    free(bytes);
    bytes = get_file(SAMPLES "/solver-2023", "cct.db", &size);
    uint32_t contexts;
    memcpy(&contexts, bytes + RECORDS, sizeof contexts);
    for (uint32_t i = 0; i < contexts; i++)
        put_number(bytes + ROOT + (size_t)i * STRIDE, i ? 0 : PAIRS_MANY + others, 8);
    put_file(copy, "cct.db", bytes, size);
    free(bytes);
    stretch(copy, "cct.db", 100000000, "", 0, 0);
}

static void large_blocks(bool broken)
{
    struct copy copy;
    struct database db;
    size_t size;
    unsigned char last[PAIR];
    copy_database(&copy, SAMPLES "/solver-2023");
    free(get_file(SAMPLES "/solver-2023", "profile.db", &size));
    say_many(&copy);
    put_number(last, broken ? 3 : PAIRS_MANY - 1, 4);
    put_number(last + 4, PAIRS_MANY - 1, 8);
    off_t end = (off_t)size + (off_t)PAIRS_MANY * (VALUE + PAIR);
    stretch(&copy, "profile.db", end, last, sizeof last, end - PAIR);
    load_database(&db, copy.folder, "db");
    unsigned told = warned(&db.profile, "broken-block");
    if (broken)
        ok(!db.result && told == 1,
           "a large block whose last context cannot be is looked through and told of");
    else
        ok(!db.result && !told && !warned(&db.profile, "cct"),
           "one that ends as it should is left for when it is read");
    close_database(&db);
    remove_copy(&copy);
}

static void large_with_unknown_metric(void)
{
    struct copy copy;
    struct database db;
    size_t size;
    uint64_t values;
    copy_database(&copy, SAMPLES "/solver-2023");
    unsigned char *bytes = get_file(SAMPLES "/solver-2023", "profile.db", &size);
    memcpy(&values, bytes + THREAD + VALUES, sizeof values);
    put_number(bytes + values, 0x63, 2);
    put_file(&copy, "profile.db", bytes, size);
    free(bytes);
    stretch(&copy, "profile.db", 8 << 20, "", 0, 0);
    load_database(&db, copy.folder, "db");
    char *rows = db.result ? NULL : all_rows(&db.profile, "values");
    ok(rows && warned(&db.profile, "unknown-metric") == 1 && strstr(rows, "metric 99"),
       "a metric that nothing tells of is kept in a large database, too, where threads begin with it");
    free(rows);
    close_database(&db);
    remove_copy(&copy);
}

/* Only a database with so much in profile.db has its contexts read from cct.db. */
static void contexts_of_large(const char *layout)
{
    struct copy copy;
    struct database db;
    size_t size;
    char path[100];
    snprintf(path, sizeof path, SAMPLES "/%s", layout);
    copy_database(&copy, path);
    stretch(&copy, "profile.db", 17 << 20, "", 0, 0);
    load_database(&db, copy.folder, "db");
    ok(!db.result && restrictions_hold(&db.profile),
       "%s: each context of a large database has the values that the whole table has", layout);
    close_database(&db);
    unsigned char *bytes = get_file(path, "cct.db", &size);
    memset(bytes + size * 3 / 4, 0, size / 4 - 8);
    put_file(&copy, "cct.db", bytes, size);
    free(bytes);
    load_database(&db, copy.folder, "db");
    ok(!db.result && restrictions_hold(&db.profile), "%s: so it has where blocks of cct.db are broken",
       layout);
    close_database(&db);
    remove_copy(&copy);
}

int main(void)
{
    large_blocks(true);
    large_blocks(false);
    large_with_unknown_metric();
    contexts_of_large("solver-2023");
    contexts_of_large("solver-2022-draft");
    contexts_of_large("solver-2021");
    return done();
}
