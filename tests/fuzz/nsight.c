/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as an Nsight Systems export: probing, opening, loading, and walking all tables, whole and restricted, over
 * saved positions. Whatever the database says, no byte of it runs, and no row comes without end. The last byte
 * chooses the restriction and when positions are taken.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/driver.h"

extern const struct pf_driver pf_nsight_driver;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More rows than this are the same as fewer. */
enum { ROWS_MAX = 1000 };

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
    int fd = openat(folder(), "export.sqlite", O_RDWR | O_CREAT | O_TRUNC, 0600);
    /* A time to come: sources wait for files that were written just now to grow older. */
    struct timespec times[2] = {{.tv_sec = INT32_MAX}, {.tv_sec = INT32_MAX}};
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || futimens(fd, times))
        abort();
    return fd;
}

static void probe(int fd, size_t size)
{
    static unsigned char head[PF_HEAD_MAX];
    struct pf_probe input = {.name = "export.sqlite", .size = size, .fd = fd, .bytes = head};
    struct pf_verdict verdict = {0};
    pf_nsight_driver.probe(&input, &verdict);
}

/* Every text must be readable in full. */
static size_t touch(const struct pf_cell *cells, const struct pf_table *table)
{
    size_t sum = 1;
    for (size_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].role != PF_CONTEXT_NAME)
            sum += cells[i].type == PF_TEXT && cells[i].size ? (size_t)cells[i].text[cells[i].size - 1] : 1;
    return sum;
}

/* A context that a row names must be there. */
static void check_context(const struct pf_profile *profile, const struct pf_cell *cells,
                          const struct pf_table *table)
{
    for (size_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].role == PF_CONTEXT && cells[i].type != PF_ABSENT &&
            (cells[i].i < 0 || cells[i].i >= profile->contexts->count))
            abort();
}

static void walk(struct pf_profile *profile, const struct pf_table *table, struct pf_restriction only,
                 unsigned hop)
{
    struct pf_cursor cursor = {.profile = profile, .table = table, .only = only};
    struct pf_cell cells[16] = {0};
    struct pf_error error;
    int got = table->ops->open(&cursor, &error);
    for (unsigned row = 1; !got && row <= ROWS_MAX; row++) {
        if (table->ops->next(&cursor, cells, &error) <= 0 || !touch(cells, table))
            break;
        check_context(profile, cells, table);
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
    struct pf_restriction only = {choice & 1 ? 0 : -1, choice & 2 ? 0 : -1, choice & 4 ? 0 : -1, -1};
    unsigned hop = 1 + (choice >> 3);
    for (size_t i = 0; i < profile->n_tables; i++) {
        const struct pf_table *table = &profile->tables[i];
        for (size_t row = 0; !table->ops && row < pf_rows_count(*table->rows) && row < ROWS_MAX; row++) {
            touch(pf_rows_at(*table->rows, row), table);
            check_context(profile, pf_rows_at(*table->rows, row), table);
        }
        if (!table->ops)
            continue;
        walk(profile, table, PF_UNRESTRICTED, hop);
        walk(profile, table, only, hop);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* The last byte, so that the samples are seeds as they are. */
    unsigned choice = size ? data[size - 1] : 0;
    int fd = write_input(data, size);
    probe(fd, size);
    close(fd);

    struct pf_error error;
    struct pf_options options = {.cache = 1 << 20};
    struct pf_profile profile = {.driver = &pf_nsight_driver,
                                 .source = pf_source_new(folder(), "export.sqlite", &error),
                                 .options = &options,
                                 .info = pf_rows_new(2),
                                 .warnings = pf_rows_new(5)};
    if (!profile.source || !profile.info || !profile.warnings)
        abort();
    int failed = pf_nsight_driver.open(&profile, &error);
    bool opened = !failed;
    for (enum pf_stage stage = PF_PARTITIONED; !failed && stage < PF_STAGES; stage++)
        failed = pf_nsight_driver.load(&profile, stage, NULL, &error);
    if (opened && failed)
        abort(); /* damage in a database that can be opened is told, not failed for */
    if (!failed)
        walk_all(&profile, choice);
    pf_nsight_driver.close(&profile);
    pf_rows_free(profile.partitions.items);
    pf_rows_free(profile.partitions.fields);
    pf_rows_free(profile.warnings);
    pf_rows_free(profile.info);
    pf_tree_free(profile.contexts);
    pf_source_free(profile.source);
    return 0;
}
