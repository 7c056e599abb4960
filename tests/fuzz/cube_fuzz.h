/* SPDX-License-Identifier: MIT */
#ifndef CUBE_FUZZ_H
#define CUBE_FUZZ_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/driver.h"

/*
 * Cube files: any bytes open, load and walk without harm. Walks over one thread and over one context are resumed at each
 * of their positions.
 */

extern const struct pf_driver pf_cube_driver;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More rows than this are the same as fewer. */
enum { ROWS_MAX = 500 };

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

static inline void put(int fd, const void *bytes, size_t size)
{
    if (write(fd, bytes, size) != (ssize_t)size)
        abort();
}

static inline void put_member(int fd, const char *name, const void *content, size_t size)
{
    static const char zeros[512];
    char block[512] = {0};
    memcpy(block, name, strlen(name));
    snprintf(block + 124, 12, "%011zo", size);
    block[156] = '0';
    memcpy(block + 257, "ustar", 6);
    put(fd, block, sizeof block);
    put(fd, content, size);
    put(fd, zeros, size % 512 ? 512 - size % 512 : 0);
}

static inline int create(void)
{
    int fd = openat(folder(), "fuzz.cubex", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        abort();
    return fd;
}

/* Every text must be readable in full. */
static inline size_t touch(const struct pf_cell *cells, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += cells[i].type == PF_TEXT && cells[i].size ? (size_t)cells[i].text[cells[i].size - 1] : 1;
    return sum;
}

static inline void walk(struct pf_profile *profile, struct pf_restriction only)
{
    const struct pf_table *table = profile->cells;
    struct pf_cursor cursor = {.profile = profile, .table = table, .only = only};
    struct pf_cell cells[8];
    struct pf_error error;
    memset(cells, 0, sizeof cells);
    int got = table->ops->open(&cursor, &error);
    for (unsigned row = 1; !got && row <= ROWS_MAX; row++) {
        got = table->ops->next(&cursor, cells, &error);
        if (got <= 0 || !touch(cells, table->n_columns))
            break;
        got = 0;
        char position[64];
        size_t saved = table->ops->save(&cursor, position, sizeof position);
        if (saved > sizeof position || table->ops->restore(&cursor, position, saved, &error) < 0)
            abort(); /* its own position must be good */
    }
    if (got < 0)
        abort(); /* damage ends tables, or leaves rows out */
    table->ops->close(&cursor);
}

static inline void read_all(struct pf_profile *profile)
{
    struct pf_cell cells[16];
    for (size_t i = 0; i < profile->n_tables; i++)
        for (size_t row = 0; profile->tables[i].rows && row < pf_rows_count(*profile->tables[i].rows); row++)
            touch(pf_rows_at(*profile->tables[i].rows, row), profile->tables[i].n_columns);
    for (size_t i = 0; i < profile->n_metrics; i++) {
        profile->metric_cells(profile, i, cells);
        touch(cells, profile->n_metric_columns);
    }
    for (uint32_t i = 0; i < profile->contexts->count; i++) {
        profile->context_cells(profile, i, cells);
        touch(cells, profile->n_context_columns);
    }
    for (size_t i = 0; i < profile->n_blobs; i++) {
        char bytes[100];
        struct pf_error error;
        if (pf_cube_driver.blob_read(profile, i, bytes, sizeof bytes, 50, &error) < 0)
            abort();
    }
    walk(profile, PF_UNRESTRICTED);
    walk(profile, (struct pf_restriction){0, -1, -1, -1});
    walk(profile, (struct pf_restriction){-1, 0, -1, -1});
    walk(profile, (struct pf_restriction){-1, 1, -1, -1});
}

/* Reads the file that has been written, and closes it. */
static inline void read_file(int fd)
{
    static unsigned char head[PF_HEAD_MAX];
    static struct pf_probe input;
    /* A time to come: sources wait for files that were written just now to grow older. */
    struct timespec times[2] = {{.tv_sec = INT32_MAX}, {.tv_sec = INT32_MAX}};
    struct pf_verdict verdict = {0};
    struct pf_error error;
    struct pf_options options = {.cache = 1 << 20};
    input = (struct pf_probe){
        .name = "fuzz.cubex", .size = (uint64_t)lseek(fd, 0, SEEK_END), .fd = fd, .bytes = head};
    pf_cube_driver.probe(&input, &verdict);
    futimens(fd, times);
    close(fd);
    struct pf_profile profile = {.driver = &pf_cube_driver,
                                 .source = pf_source_new(folder(), "fuzz.cubex", &error),
                                 .options = &options,
                                 .info = pf_rows_new(2),
                                 .warnings = pf_rows_new(5)};
    if (!profile.source || !profile.info || !profile.warnings)
        abort();
    int failed = pf_cube_driver.open(&profile, &error);
    for (enum pf_stage stage = PF_PARTITIONED; !failed && stage < PF_STAGES; stage++)
        failed = pf_cube_driver.load(&profile, stage, NULL, &error);
    if (failed)
        abort(); /* whatever is wrong is told in warnings */
    read_all(&profile);
    pf_cube_driver.close(&profile);
    pf_rows_free(profile.partitions.items);
    pf_rows_free(profile.partitions.fields);
    pf_rows_free(profile.warnings);
    pf_rows_free(profile.info);
    pf_tree_free(profile.contexts);
    pf_source_free(profile.source);
}

#endif
