/* SPDX-License-Identifier: MIT */
#ifndef XRAY_FUZZ_H
#define XRAY_FUZZ_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/driver.h"

/*
 * XRay files: any bytes open, load and walk without harm. Each target gives its input the first bytes of one
 * kind of file, so that the records are reached; every walk is resumed at some positions and must go on as it
 * did.
 */

extern const struct pf_driver pf_xray_driver;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline uint64_t hash_row(const struct pf_cell *cells, size_t n)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < n; i++) {
        if (cells[i].type == PF_TEXT)
            for (uint32_t c = 0; c < cells[i].size; c++)
                hash = (hash ^ (unsigned char)cells[i].text[c]) * 1099511628211u;
        else if (cells[i].type == PF_WIDE)
            hash = (hash ^ (uint64_t)*cells[i].wide) * 1099511628211u;
        else if (cells[i].type != PF_ABSENT)
            hash = (hash ^ cells[i].u) * 1099511628211u;
    }
    return hash;
}

/* The row that follows a saved position must be the one that followed it then. */
static inline void resume(struct pf_profile *profile, const struct pf_table *table, const void *blob,
                          size_t size, uint64_t want)
{
    struct pf_cell cells[16] = {0};
    struct pf_error error;
    struct pf_cursor cursor = {.profile = profile, .table = table, .only = PF_UNRESTRICTED};
    if (table->ops->open(&cursor, &error) || table->ops->restore(&cursor, blob, size, &error) ||
        table->ops->next(&cursor, cells, &error) != 1 || hash_row(cells, table->n_columns) != want)
        abort();
    table->ops->close(&cursor);
}

static inline void walk(struct pf_profile *profile, const struct pf_table *table)
{
    static unsigned char blob[8192];
    struct pf_cell cells[16] = {0};
    struct pf_error error = {0};
    struct pf_cursor cursor = {.profile = profile, .table = table, .only = PF_UNRESTRICTED};
    int more = table->ops->open(&cursor, &error) ? -1 : 1;
    for (uint64_t row = 0; more > 0; row++) {
        size_t saved = row % 16 == 5 ? table->ops->save(&cursor, blob, sizeof blob) : 0;
        more = table->ops->next(&cursor, cells, &error);
        if (more > 0 && saved && saved <= sizeof blob)
            resume(profile, table, blob, saved, hash_row(cells, table->n_columns));
    }
    table->ops->close(&cursor);
    if (more < 0 && error.code == EAGAIN)
        walk(profile, table); /* once: the start of time is right now */
    else if (more < 0)
        abort();
}

static inline void read_log(struct pf_profile *profile)
{
    struct pf_error error;
    if (pf_xray_driver.open(profile, &error))
        return;
    for (enum pf_stage stage = PF_PARTITIONED; stage < PF_STAGES; stage++)
        if (pf_xray_driver.load(profile, stage, NULL, &error))
            abort();
    for (size_t i = 0; i < profile->n_tables; i++)
        walk(profile, &profile->tables[i]);
}

/* Reads the file that has these first bytes, and then those of the input behind as many. */
static inline void read_bytes(const unsigned char *head, size_t head_size, const uint8_t *data, size_t size)
{
    /* What was written just now is waited for, but not what is from the future: 4102444800 is in 2100. */
    static const struct timespec future[2] = {{.tv_sec = 4102444800}, {.tv_sec = 4102444800}};
    char folder[] = "/dev/shm/xray-fuzz.XXXXXX";
    if (size < head_size || !mkdtemp(folder))
        return;
    int directory = open(folder, O_RDONLY | O_DIRECTORY);
    int fd = openat(directory, "log", O_WRONLY | O_CREAT, 0600);
    size_t rest = size - head_size;
    bool written = write(fd, head, head_size) == (ssize_t)head_size &&
                   write(fd, data + head_size, rest) == (ssize_t)rest && !futimens(fd, future) &&
                   !futimens(directory, future);
    close(fd);
    struct pf_error error;
    struct pf_options options = {.cache = 1 << 20};
    struct pf_profile profile = {.driver = &pf_xray_driver,
                                 .options = &options,
                                 .source = pf_source_new(directory, "log", &error),
                                 .info = pf_rows_new(2),
                                 .warnings = pf_rows_new(5)};
    if (written && profile.source)
        read_log(&profile);
    pf_xray_driver.close(&profile);
    pf_rows_free(profile.partitions.items);
    pf_rows_free(profile.partitions.fields);
    pf_tree_free(profile.contexts);
    pf_rows_free(profile.warnings);
    pf_rows_free(profile.info);
    pf_source_free(profile.source);
    unlinkat(directory, "log", 0);
    close(directory);
    rmdir(folder);
}

#endif
