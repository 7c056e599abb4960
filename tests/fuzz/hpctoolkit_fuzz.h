/* SPDX-License-Identifier: MIT */
#ifndef HPCTOOLKIT_FUZZ_H
#define HPCTOOLKIT_FUZZ_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/driver.h"

/*
 * HPCToolkit databases with one file that holds anything: opening, loading, and walking all tables, whole and
 * restricted, over saved positions. An input with an odd first byte is the file; else it is a list of changes to the
 * bundled sample's, four bytes each: u16 where, u8 what to do, u8 how. Runs in the repository's folder.
 */

extern const struct pf_driver pf_hpctoolkit_driver;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SAMPLES "tests/samples/archive/hpc"

/* More rows than this are the same as fewer. */
enum { ROWS_MAX = 400, BYTES_MAX = 1 << 18 };

static inline void write_file(int folder, const char *name, const void *bytes, size_t size)
{
    /* A time to come: sources wait for what was written just now to grow older. */
    static const struct timespec times[2] = {{.tv_sec = INT32_MAX}, {.tv_sec = INT32_MAX}};
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || futimens(fd, times) || futimens(folder, times))
        abort();
    close(fd);
}

static inline size_t read_sample(const char *layout, const char *name, unsigned char bytes[BYTES_MAX])
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s/%s", SAMPLES, layout, name);
    int fd = open(path, O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, bytes, BYTES_MAX);
    if (got < 0)
        abort();
    close(fd);
    return (size_t)got;
}

/* A copy of the sample in memory's file system; `parent` becomes the folder that holds it as `db`. */
static inline int copy_sample(const char *layout, int *parent)
{
    static unsigned char bytes[BYTES_MAX];
    char name[] = "/dev/shm/fuzz.XXXXXX", path[300];
    *parent = mkdtemp(name) ? open(name, O_RDONLY | O_DIRECTORY) : -1;
    if (*parent < 0 || mkdirat(*parent, "db", 0700))
        abort();
    int folder = openat(*parent, "db", O_RDONLY | O_DIRECTORY);
    snprintf(path, sizeof path, "%s/%s", SAMPLES, layout);
    DIR *listing = opendir(path);
    const struct dirent *entry;
    if (folder < 0 || !listing)
        abort();
    while ((entry = readdir(listing)))
        if (entry->d_type == DT_REG)
            write_file(folder, entry->d_name, bytes, read_sample(layout, entry->d_name, bytes));
    closedir(listing);
    return folder;
}

/* Returns the new size. */
static inline size_t change(unsigned char *bytes, size_t size, const uint8_t *edit)
{
    size_t at = ((size_t)edit[0] | (size_t)edit[1] << 8) % (size + 1);
    size_t left = size - at;
    switch (edit[2] % 6) {
    case 0:
        memset(bytes + at, edit[3], left < 1 ? left : 1);
        break;
    case 1:
        memset(bytes + at, edit[3], left < 4 ? left : 4);
        break;
    case 2:
        memset(bytes + at, edit[3], left < 8 ? left : 8);
        break;
    case 3:
        if (left)
            bytes[at] = (unsigned char)(bytes[at] + edit[3]);
        break;
    case 4: /* moves what is there, so that offsets point elsewhere */
        if (edit[3] && left > edit[3])
            memmove(bytes + at, bytes + at + edit[3], left - edit[3]);
        break;
    default:
        return edit[3] % 8 ? size : at;
    }
    return size;
}

static inline size_t make_input(const char *layout, const char *file, const uint8_t *data, size_t size,
                                unsigned char bytes[BYTES_MAX])
{
    if (size && data[0] & 1) {
        size = size - 1 < BYTES_MAX ? size - 1 : BYTES_MAX;
        memcpy(bytes, data + 1, size);
        return size;
    }
    size_t made = read_sample(layout, file, bytes);
    for (size_t at = 1; at + 4 <= size; at += 4)
        made = change(bytes, made, data + at);
    return made;
}

/* Every text must be readable in full. */
static inline size_t touch(const struct pf_cell *cells, const struct pf_table *table)
{
    size_t sum = 1;
    for (size_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].role != PF_CONTEXT_NAME)
            sum += cells[i].type == PF_TEXT && cells[i].size ? (size_t)cells[i].text[cells[i].size - 1] : 1;
    return sum;
}

static inline void walk(struct pf_profile *profile, const struct pf_table *table, struct pf_restriction only)
{
    struct pf_cursor cursor = {.profile = profile, .table = table, .only = only};
    struct pf_cell cells[16] = {0};
    struct pf_error error;
    int got = table->ops->open(&cursor, &error);
    for (unsigned row = 1; !got && row <= ROWS_MAX; row++) {
        if (table->ops->next(&cursor, cells, &error) <= 0 || !touch(cells, table))
            break;
        char place[64];
        size_t saved = row % 7 ? 0 : table->ops->save(&cursor, place, sizeof place);
        if (saved > sizeof place || (saved && table->ops->restore(&cursor, place, saved, &error)))
            abort(); /* its own position must be good */
    }
    table->ops->close(&cursor);
}

static inline void walk_all(struct pf_profile *profile)
{
    int64_t last = (int64_t)profile->contexts->count - 1;
    for (size_t i = 0; i < profile->n_tables; i++) {
        const struct pf_table *table = &profile->tables[i];
        if (!table->ops)
            continue;
        walk(profile, table, PF_UNRESTRICTED);
        walk(profile, table, (struct pf_restriction){0, -1, -1, -1});
        walk(profile, table, (struct pf_restriction){-1, 0, -1, -1});
        walk(profile, table, (struct pf_restriction){-1, last, -1, -1});
        walk(profile, table, (struct pf_restriction){-1, last / 2, 0, -1});
    }
}

static inline void open_and_walk(int parent)
{
    struct pf_error error;
    struct pf_options options = {.cache = 1 << 20};
    struct pf_profile profile = {.driver = &pf_hpctoolkit_driver,
                                 .source = pf_source_new(parent, "db", &error),
                                 .options = &options,
                                 .info = pf_rows_new(2),
                                 .warnings = pf_rows_new(5)};
    if (!profile.source || !profile.info || !profile.warnings)
        abort();
    int failed = pf_hpctoolkit_driver.open(&profile, &error);
    for (enum pf_stage stage = PF_PARTITIONED; !failed && stage < PF_STAGES; stage++)
        failed = pf_hpctoolkit_driver.load(&profile, stage, NULL, &error);
    if (!failed)
        walk_all(&profile);
    pf_hpctoolkit_driver.close(&profile);
    pf_rows_free(profile.partitions.items);
    pf_rows_free(profile.partitions.fields);
    pf_rows_free(profile.warnings);
    pf_rows_free(profile.info);
    pf_tree_free(profile.contexts);
    pf_source_free(profile.source);
}

/* Tries an input as this file of two samples; which one, the first byte's second bit tells. */
static inline int fuzz(const char *const layouts[2], const char *file, const uint8_t *data, size_t size)
{
    static unsigned char bytes[BYTES_MAX];
    static int parents[2] = {-1, -1}, folders[2];
    unsigned which = size ? data[0] >> 1 & 1 : 0;
    if (parents[which] < 0)
        folders[which] = copy_sample(layouts[which], &parents[which]);
    size_t made = make_input(layouts[which], file, data, size, bytes);
    write_file(folders[which], file, bytes, made);
    int fd = openat(parents[which], "db", O_RDONLY | O_DIRECTORY);
    struct pf_probe probe = {.name = "db", .directory = true, .fd = fd};
    struct pf_verdict verdict = {0};
    pf_hpctoolkit_driver.probe(&probe, &verdict);
    close(fd);
    open_and_walk(parents[which]);
    return 0;
}

#endif
