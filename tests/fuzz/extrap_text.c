/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as an Extra-P text file: probing, opening, loading, and walking all its tables, whole and
 * restricted, over saved positions. The first byte chooses the restriction and when positions are taken.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/driver.h"

extern const struct pf_driver pf_extrap_text_driver;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More rows than this are the same as fewer. */
enum { ROWS_MAX = 2000 };

/* The folder of the one file that all inputs are written to. */
static int folder(void)
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

static int write_input(const uint8_t *data, size_t size)
{
    int fd = openat(folder(), "study.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
    /* A time to come: sources wait for files that were written just now to grow older. */
    struct timespec times[2] = {{.tv_sec = INT32_MAX}, {.tv_sec = INT32_MAX}};
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || futimens(fd, times))
        abort();
    return fd;
}

static void probe(int fd, size_t size)
{
    static unsigned char head[PF_HEAD_MAX];
    struct pf_probe input = {.name = "study.txt", .size = size, .fd = fd, .bytes = head};
    struct pf_verdict verdict = {0};
    pf_extrap_text_driver.probe(&input, &verdict);
}

/* Every text must be readable in full. */
static size_t touch(const struct pf_cell *cells, const struct pf_table *table)
{
    size_t sum = 0;
    for (size_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].role != PF_PARTITION_FIELD && table->columns[i].role != PF_CONTEXT_NAME)
            sum += cells[i].type == PF_TEXT && cells[i].size ? (size_t)cells[i].text[cells[i].size - 1] : 1;
    return sum;
}

static void walk(struct pf_profile *profile, const struct pf_table *table, struct pf_restriction only,
                 unsigned hop)
{
    struct pf_cursor cursor = {.profile = profile, .table = table, .only = only};
    struct pf_cell cells[64];
    struct pf_error error;
    memset(cells, 0, sizeof cells);
    int got = table->ops->open(&cursor, &error);
    for (unsigned row = 1; !got && row <= ROWS_MAX; row++) {
        if (table->ops->next(&cursor, cells, &error) <= 0 || !touch(cells, table))
            break;
        if (row % hop)
            continue;
        char position[128];
        size_t saved = table->ops->save(&cursor, position, sizeof position);
        if (saved > sizeof position || table->ops->restore(&cursor, position, saved, &error) < 0)
            abort(); /* its own position must be good */
    }
    table->ops->close(&cursor);
}

static void walk_all(struct pf_profile *profile, unsigned choice)
{
    struct pf_restriction only = {choice & 1 ? 0 : -1, choice & 2 ? 0 : -1, choice & 4 ? 0 : -1};
    unsigned hop = 1 + (choice >> 3);
    for (size_t i = 0; i < profile->n_tables; i++) {
        walk(profile, &profile->tables[i], PF_UNRESTRICTED, hop);
        walk(profile, &profile->tables[i], only, hop);
    }
    walk(profile, profile->cells, only, hop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = size ? data[0] : 0;
    if (size) {
        data++;
        size--;
    }
    int fd = write_input(data, size);
    probe(fd, size);
    close(fd);

    struct pf_error error;
    struct pf_options options = {.cache = 1 << 20};
    struct pf_profile profile = {.driver = &pf_extrap_text_driver,
                                 .source = pf_source_new(folder(), "study.txt", &error),
                                 .options = &options,
                                 .info = pf_rows_new(2),
                                 .warnings = pf_rows_new(5)};
    if (!profile.source || !profile.info || !profile.warnings)
        abort();
    int failed = pf_extrap_text_driver.open(&profile, &error);
    for (enum pf_stage stage = PF_PARTITIONED; !failed && stage < PF_STAGES; stage++)
        failed = pf_extrap_text_driver.load(&profile, stage, NULL, &error);
    if (failed)
        abort(); /* there is no text that cannot be opened */
    walk_all(&profile, choice);
    pf_extrap_text_driver.close(&profile);
    pf_rows_free(profile.partitions.items);
    pf_rows_free(profile.partitions.fields);
    pf_rows_free(profile.warnings);
    pf_rows_free(profile.info);
    pf_tree_free(profile.contexts);
    pf_source_free(profile.source);
    return 0;
}
