/* SPDX-License-Identifier: MIT */
#ifndef HPCTOOLKIT_DB_H
#define HPCTOOLKIT_DB_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/driver.h"
#include "formats/kit/print.h"
#include "tests/profile.h"
#include "tests/unit/tap.h"

/* Databases opened by the driver without the core, and copies of them that a test may damage. */

extern const struct pf_driver pf_hpctoolkit_driver;

#define SAMPLES "tests/samples/archive/hpc"

/* ---- opening ---------------------------------------------------------------------------------------- */

struct database {
    int folder;
    struct pf_options options;
    struct pf_model model;
    struct pf_error error;
    int result; /* of opening and loading */
};

/* Loads all stages of an open database, as the core does. Returns -1 on the first failure. */
static inline int load_all(struct database *db)
{
    for (enum pf_stage stage = PF_PARTITIONED; stage < PF_STAGES; stage++)
        if (pf_hpctoolkit_driver.load(&db->model, stage, &db->error))
            return -1;
    return 0;
}

/* Opens the database `name` in a folder, without loading it. */
static inline void open_database(struct database *db, const char *folder, const char *name)
{
    *db = (struct database){.options = {.cache = 1 << 20}};
    db->folder = open(folder, O_RDONLY | O_DIRECTORY);
    db->result = profile_open(&db->model, &pf_hpctoolkit_driver, db->folder, name, &db->options, &db->error);
}

static inline void load_database(struct database *db, const char *folder, const char *name)
{
    open_database(db, folder, name);
    if (!db->result)
        db->result = load_all(db);
}

static inline void close_database(struct database *db)
{
    profile_close(&db->model);
    close(db->folder);
}

/* ---- copies ------------------------------------------------------------------------------------------- */

struct copy {
    char folder[40]; /* the folder that contains the database folder `db` */
};

static inline void die(const char *what)
{
    printf("Bail out! %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Sources wait up to 20 ms before they open a file that was just written; a future mtime avoids this. */
static inline void from_the_future(int fd)
{
    static const struct timespec times[2] = {{.tv_sec = INT32_MAX}, {.tv_sec = INT32_MAX}};
    if (futimens(fd, times))
        die("futimens");
}

static inline void put_file(const struct copy *copy, const char *name, const void *bytes, size_t size)
{
    char path[400];
    snprintf(path, sizeof path, "%s/db/%s", copy->folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        die(path);
    from_the_future(fd);
    close(fd);
    snprintf(path, sizeof path, "%s/db", copy->folder);
    fd = open(path, O_RDONLY | O_DIRECTORY);
    from_the_future(fd);
    close(fd);
}

/* Returns the bytes of a file; the caller frees them. */
static inline unsigned char *get_file(const char *folder, const char *name, size_t *size)
{
    char path[600];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st))
        die(path);
    unsigned char *bytes = malloc((size_t)st.st_size + 1);
    if (!bytes || read(fd, bytes, (size_t)st.st_size) != st.st_size)
        die(path);
    bytes[st.st_size] = 0;
    close(fd);
    *size = (size_t)st.st_size;
    return bytes;
}

/* Makes an empty database folder. */
static inline void make_folder(struct copy *copy)
{
    char path[60];
    strcpy(copy->folder, "/tmp/hpctoolkit.XXXXXX");
    snprintf(path, sizeof path, "%s/db", mkdtemp(copy->folder));
    if (mkdir(path, 0700))
        die(path);
}

/* Copies the files of a database, except its subfolders. */
static inline void copy_database(struct copy *copy, const char *from)
{
    make_folder(copy);
    DIR *listing = opendir(from);
    const struct dirent *entry;
    if (!listing)
        die(from);
    while ((entry = readdir(listing))) {
        size_t size;
        if (entry->d_type == DT_DIR)
            continue;
        unsigned char *bytes = get_file(from, entry->d_name, &size);
        put_file(copy, entry->d_name, bytes, size);
        free(bytes);
    }
    closedir(listing);
}

static inline void remove_copy(const struct copy *copy)
{
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", copy->folder);
    if (system(command)) /* the path contains no special characters */
        die(command);
}

/* Returns the number of warnings that have this code. */
static inline unsigned warned(const struct pf_model *model, const char *code)
{
    unsigned n = 0;
    for (size_t i = 0; i < pf_rows_count(model->warnings); i++) {
        struct pf_cell cell = pf_rows_at(model->warnings, i)[3];
        n += cell.size == strlen(code) && !memcmp(cell.text, code, cell.size);
    }
    return n;
}

/* ---- tables ------------------------------------------------------------------------------------------- */

static inline const struct pf_table *table_named(const struct pf_model *model, const char *name)
{
    for (size_t i = 0; i < model->n_tables; i++)
        if (!strcmp(model->tables[i].name, name))
            return &model->tables[i];
    die(name);
    return NULL;
}

static inline void print_cell(FILE *out, const struct pf_model *model, enum pf_role role, struct pf_cell cell)
{
    char number[PF_NUMBER_MAX];
    if (role == PF_PARTITION)
        cell = pf_rows_at(model->partitions.items, (size_t)cell.i)[1];
    else if (role == PF_CONTEXT)
        cell = pf_uint(pf_tree_id(model->contexts, (uint32_t)cell.i));
    else if (role == PF_METRIC)
        cell = pf_string(model->metrics[cell.i].name);
    if (cell.type == PF_TEXT)
        fprintf(out, "%.*s", (int)cell.size, cell.text);
    else if (cell.type == PF_DOUBLE)
        fprintf(out, "%.*s", (int)(pf_print_double(number, cell.d) - number), number);
    else if (cell.type == PF_UINT)
        fprintf(out, "%" PRIu64, cell.u);
    else if (cell.type == PF_INT)
        fprintf(out, "%" PRId64, cell.i);
}

static inline bool matches(const struct pf_table *table, const struct pf_cell *cells,
                           struct pf_restriction only)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        enum pf_role role = table->columns[i].role;
        int64_t want = role == PF_PARTITION ? only.partition
                       : role == PF_CONTEXT ? only.context
                       : role == PF_METRIC  ? only.metric
                                            : -1;
        if (want >= 0 && cells[i].i != want)
            return false;
    }
    return true;
}

/*
 * Returns the rows of a table, one per line, for the caller to free; NULL if the walk fails. If `hop` > 0, the position is saved after
 * every `hop` rows and a new cursor resumes there. Rows that do not match `filter` are left out.
 */
static inline char *rows_of(struct pf_model *model, const char *name, struct pf_restriction only,
                            unsigned hop, struct pf_restriction filter)
{
    const struct pf_table *table = table_named(model, name);
    struct pf_cursor cursor = {.model = model, .table = table, .only = only};
    struct pf_cell cells[16] = {0};
    struct pf_error error;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int more = table->ops->open(&cursor, &error);
    for (unsigned row = 1; !more && (more = table->ops->next(&cursor, cells, &error)) > 0; row++) {
        more = 0;
        for (size_t i = 0; matches(table, cells, filter) && i < table->n_columns; i++) {
            if (table->columns[i].role != PF_CONTEXT_NAME)
                print_cell(out, model, table->columns[i].role, cells[i]);
            fputc(i + 1 < table->n_columns ? ' ' : '\n', out);
        }
        if (hop && row % hop == 0) {
            unsigned char place[64];
            size_t saved = table->ops->save(&cursor, place, sizeof place);
            table->ops->close(&cursor);
            cursor = (struct pf_cursor){.model = model, .table = table, .only = only};
            more = table->ops->open(&cursor, &error) || table->ops->restore(&cursor, place, saved, &error)
                       ? -1
                       : 0;
        }
    }
    table->ops->close(&cursor);
    fclose(out);
    if (more < 0) {
        printf("# %s: %s\n", name, error.what);
        free(text);
        return NULL;
    }
    return text;
}

static inline char *all_rows(struct pf_model *model, const char *name)
{
    return rows_of(model, name, PF_UNRESTRICTED, 0, PF_UNRESTRICTED);
}

/* ---- invariants of every database ----------------------------------------------------------------------- */

static inline bool same_rows(struct pf_model *model, const char *name, struct pf_restriction only,
                             unsigned hop)
{
    char *want = rows_of(model, name, PF_UNRESTRICTED, 0, only);
    char *have = rows_of(model, name, only, hop, PF_UNRESTRICTED);
    bool same = want && have && !strcmp(want, have);
    free(want);
    free(have);
    return same;
}

/* True if walks restricted to a thread, a context or both, resumed or not, yield the matching rows of the whole table. */
static inline bool restrictions_hold(struct pf_model *model)
{
    bool hold = same_rows(model, "values", PF_UNRESTRICTED, 3);
    size_t threads = pf_rows_count(model->partitions.items);
    for (size_t t = 0; t < threads; t++)
        hold = same_rows(model, "values", (struct pf_restriction){(int64_t)t, -1, -1, -1}, t % 5) && hold;
    for (uint32_t c = 0; c < model->contexts->count; c++) {
        hold = same_rows(model, "values", (struct pf_restriction){-1, c, -1, -1}, c % 3) && hold;
        hold = same_rows(model, "summary", (struct pf_restriction){-1, c, -1, -1}, c % 2) && hold;
        if (threads)
            hold = same_rows(model, "values", (struct pf_restriction){c % threads, c, -1, -1}, 1) && hold;
    }
    return hold;
}

#endif
