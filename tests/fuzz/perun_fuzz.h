/* SPDX-License-Identifier: MIT */
#ifndef PERUN_FUZZ_H
#define PERUN_FUZZ_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/driver.h"

/* Any bytes as a file of one of the Perun drivers: probed, opened, loaded, all tables walked over saved positions. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More rows than this are the same as fewer. */
enum { ROWS_MAX = 2000 };

/* The folder of the one file that all inputs are written to. */
static inline int fuzz_folder(void)
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

static inline int fuzz_write(const char *name, const uint8_t *data, size_t size)
{
    int fd = openat(fuzz_folder(), name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    /* A time to come: sources wait for files that were written just now to grow older. */
    struct timespec times[2] = {{.tv_sec = INT32_MAX}, {.tv_sec = INT32_MAX}};
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || futimens(fd, times))
        abort();
    return fd;
}

/* Every text must be readable in full. */
static inline size_t fuzz_touch(const struct pf_cell *cells, const struct pf_table *table)
{
    size_t sum = 1;
    for (size_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].role != PF_CONTEXT_NAME && cells[i].type == PF_TEXT && cells[i].size)
            sum += (size_t)(unsigned char)cells[i].text[0] + (unsigned char)cells[i].text[cells[i].size - 1];
    return sum;
}

static inline void fuzz_walk(struct pf_profile *profile, const struct pf_table *table,
                             struct pf_restriction only, unsigned hop)
{
    struct pf_cursor cursor = {.profile = profile, .table = table, .only = only};
    static struct pf_cell cells[512];
    static char position[65536];
    struct pf_error error;
    if (!table->ops)
        return;
    int got = table->ops->open(&cursor, &error);
    for (unsigned row = 1; !got && row <= ROWS_MAX; row++) {
        if (table->ops->next(&cursor, cells, &error) <= 0 || !fuzz_touch(cells, table))
            break;
        if (row % hop)
            continue;
        size_t saved = table->ops->save(&cursor, position, sizeof position);
        if (saved <= sizeof position && table->ops->restore(&cursor, position, saved, &error) < 0)
            abort(); /* its own position must be good */
    }
    table->ops->close(&cursor);
}

static inline void fuzz_load(struct pf_profile *profile, unsigned choice)
{
    struct pf_error error;
    struct pf_restriction only = {choice & 1 ? 0 : -1, choice & 2 ? 0 : -1, choice & 4 ? 0 : -1, -1};
    for (enum pf_stage stage = PF_PARTITIONED; stage < PF_STAGES; stage++)
        if (profile->driver->load(profile, stage, NULL, &error))
            return;
    for (size_t i = 0; i < profile->n_tables; i++) {
        fuzz_walk(profile, &profile->tables[i], PF_UNRESTRICTED, 1 + (choice >> 3));
        fuzz_walk(profile, &profile->tables[i], only, 1 + (choice >> 3));
    }
}

static inline void fuzz_one(const struct pf_driver *driver, const char *name, const uint8_t *data,
                            size_t size, unsigned choice)
{
    static unsigned char head[PF_HEAD_MAX];
    int fd = fuzz_write(name, data, size);
    struct pf_probe probe = {.name = name, .size = size, .fd = fd, .bytes = head};
    struct pf_verdict verdict = {0};
    driver->probe(&probe, &verdict);
    close(fd);
    struct pf_error error;
    /* Little memory at times, so that tapes and sums spill. */
    struct pf_options options = {.cache = choice & 8 ? 4096 : 1 << 20};
    struct pf_profile profile = {.driver = driver,
                                 .source = pf_source_new(fuzz_folder(), name, &error),
                                 .options = &options,
                                 .info = pf_rows_new(2),
                                 .warnings = pf_rows_new(5)};
    if (!profile.source || !profile.info || !profile.warnings)
        abort();
    if (!driver->open(&profile, &error))
        fuzz_load(&profile, choice);
    driver->close(&profile);
    pf_rows_free(profile.partitions.items);
    pf_rows_free(profile.partitions.fields);
    pf_rows_free(profile.warnings);
    pf_rows_free(profile.info);
    pf_tree_free(profile.contexts);
    pf_source_free(profile.source);
}

#endif
