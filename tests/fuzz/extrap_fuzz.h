/* SPDX-License-Identifier: MIT */
#ifndef EXTRAP_FUZZ_H
#define EXTRAP_FUZZ_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/driver.h"

/*
 * Any bytes as a file of an Extra-P driver: probing, opening, loading, and walking all its tables, whole and restricted,
 * over saved positions. The first byte chooses the restriction and when positions are taken.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More rows than this are the same as fewer. */
enum { ROWS_MAX = 2000 };

/* In place of the C library's: a source waits for files written just now to grow old enough for their times to
 * tell of changes, which would be all the time that fuzzing has. */
int nanosleep(const struct timespec *wait, struct timespec *left)
{
    (void)wait;
    (void)left;
    return 0;
}

/* The folder of the one file that all inputs are written to. */
static inline int folder(void)
{
    static int directory = -1;
    if (directory < 0) {
        char name[] = "/dev/shm/fuzz.XXXXXX";
        directory = mkdtemp(name) ? open(name, O_RDONLY | O_DIRECTORY) : -1;
        if (directory < 0)
            abort();
    }
    return directory;
}

static inline void write_input(const uint8_t *data, size_t size)
{
    int fd = openat(folder(), "study", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd))
        abort();
}

static inline void probe(const struct pf_driver *driver, size_t size)
{
    static unsigned char head[PF_HEAD_MAX];
    int fd = openat(folder(), "study", O_RDONLY);
    struct pf_probe input = {.name = "study.json", .size = size, .fd = fd, .bytes = head};
    struct pf_verdict verdict = {0};
    driver->probe(&input, &verdict);
    close(fd);
}

/* Every text must be readable in full. */
static inline size_t touch(const struct pf_cell *cells, const struct pf_table *table)
{
    size_t sum = 1;
    for (size_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].role != PF_PARTITION_FIELD && table->columns[i].role != PF_CONTEXT_NAME)
            sum += cells[i].type == PF_TEXT && cells[i].size ? (unsigned char)cells[i].text[cells[i].size - 1]
                                                             : 1;
    return sum;
}

static inline void walk(struct pf_profile *profile, const struct pf_table *table, struct pf_restriction only,
                        unsigned hop)
{
    struct pf_cursor cursor = {.profile = profile, .table = table, .only = only};
    struct pf_cell *cells = calloc(table->n_columns + 1, sizeof *cells);
    struct pf_error error;
    int got = table->ops->open(&cursor, &error);
    for (unsigned row = 1; !got && row <= ROWS_MAX; row++) {
        if (table->ops->next(&cursor, cells, &error) <= 0 || !touch(cells, table))
            break;
        if (row % hop)
            continue;
        char position[256];
        size_t saved = table->ops->save(&cursor, position, sizeof position);
        if (saved > sizeof position || table->ops->restore(&cursor, position, saved, &error) < 0)
            abort(); /* its own position must be good */
        position[row % saved] ^= 0x55;
        struct pf_cursor other = {.profile = profile, .table = table, .only = only};
        if (table->ops->open(&other, &error) == 0 &&
            table->ops->restore(&other, position, saved, &error) == 0)
            table->ops->next(&other, cells, &error); /* one from a damaged cache may fail, not crash */
        table->ops->close(&other);
    }
    table->ops->close(&cursor);
    free(cells);
}

static inline void walk_all(struct pf_profile *profile, unsigned choice)
{
    struct pf_restriction only = {choice & 1 ? 0 : -1, choice & 2 ? 0 : -1, choice & 4 ? 0 : -1, -1};
    unsigned hop = 1 + (choice >> 3);
    for (size_t i = 0; i < profile->n_tables; i++) {
        walk(profile, &profile->tables[i], PF_UNRESTRICTED, hop);
        walk(profile, &profile->tables[i], only, hop);
    }
    walk(profile, profile->cells, only, hop);
}

/* The driver must open it, unless it may fail. */
static inline void read_study(const struct pf_driver *driver, const uint8_t *data, size_t size, bool may_fail)
{
    unsigned choice = size ? data[0] : 0;
    if (size) {
        data++;
        size--;
    }
    write_input(data, size);
    probe(driver, size);
    struct pf_error error;
    struct pf_options options = {.cache = 1 << 20};
    struct pf_profile profile = {.driver = driver,
                                 .source = pf_source_new(folder(), "study", &error),
                                 .options = &options,
                                 .info = pf_rows_new(2),
                                 .warnings = pf_rows_new(5)};
    if (!profile.source || !profile.info || !profile.warnings)
        abort();
    int failed = driver->open(&profile, &error);
    for (enum pf_stage stage = PF_PARTITIONED; !failed && stage < PF_STAGES; stage++)
        failed = driver->load(&profile, stage, NULL, &error);
    if (failed && !may_fail)
        abort();
    if (!failed)
        walk_all(&profile, choice);
    driver->close(&profile);
    pf_rows_free(profile.partitions.items);
    pf_rows_free(profile.partitions.fields);
    pf_rows_free(profile.warnings);
    pf_rows_free(profile.info);
    pf_tree_free(profile.contexts);
    pf_source_free(profile.source);
}

#endif
