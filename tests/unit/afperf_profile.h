/* SPDX-License-Identifier: MIT */
#ifndef AFPERF_PROFILE_H
#define AFPERF_PROFILE_H

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/driver.h"
#include "formats/model.h"
#include "tests/profile.h"
#include "tests/sound.h"

/* Opens AFPerf texts as profiles and prints their tables, for tests of the driver. */

extern const struct pf_driver pf_afperf_driver;

#define HEADER "# AFPerf v1     \n"

struct afperf_profile {
    int directory;
    char folder[40];
    struct pf_options options;
    struct pf_model model;
    int result; /* of opening or loading */
    struct pf_error error;
};

static inline void write_profile(int directory, const void *text, size_t size)
{
    int fd = openat(directory, "run.afperf", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size) {
        puts("Bail out! no test file");
        exit(1);
    }
    /* Sources wait up to 20 ms before they open a file that was just written; a future mtime avoids this. */
    struct timespec times[2] = {{.tv_sec = INT32_MAX}, {.tv_sec = INT32_MAX}};
    futimens(fd, times);
    close(fd);
}

/* Opens the file in p->directory and loads all stages. */
static inline void load_profile(struct afperf_profile *p)
{
    p->options = (struct pf_options){.cache = 1 << 20};
    p->result =
        profile_open(&p->model, &pf_afperf_driver, p->directory, "run.afperf", &p->options, &p->error);
    if (!p->result)
        p->result = pf_model_load(&p->model, PF_DERIVED, &p->error);
}

static inline void unload_profile(struct afperf_profile *p)
{
    profile_close(&p->model);
}

static inline void make_folder(struct afperf_profile *p)
{
    memset(p, 0, sizeof *p);
    strcpy(p->folder, "/tmp/afperf.XXXXXX");
    p->directory = mkdtemp(p->folder) ? open(p->folder, O_RDONLY | O_DIRECTORY) : -1;
}

static inline void remove_folder(struct afperf_profile *p)
{
    unlinkat(p->directory, "run.afperf", 0);
    close(p->directory);
    rmdir(p->folder);
}

static inline void set_up(struct afperf_profile *p, const void *text, size_t size)
{
    make_folder(p);
    write_profile(p->directory, text, size);
    load_profile(p);
}

static inline void tear_down(struct afperf_profile *p)
{
    unload_profile(p);
    remove_folder(p);
}

/* ---- tables as text ----------------------------------------------------------------------------- */

static inline void print_cell(FILE *out, const struct pf_model *model, const struct pf_column *column,
                              const struct pf_cell *cell)
{
    if (column->role == PF_CONTEXT && cell->type == PF_INT) {
        const struct pf_tree *tree = model->contexts;
        struct pf_cell name = pf_interned(tree->strings, tree->name[cell->i]);
        fprintf(out, "%.*s", (int)name.size, name.text);
    } else if (column->role == PF_METRIC) {
        fprintf(out, "%s", model->metrics[cell->i].name);
    } else if (cell->type == PF_TEXT) {
        fprintf(out, "%.*s", (int)cell->size, cell->text);
    } else if (cell->type == PF_DOUBLE) {
        fprintf(out, "%g", isnan(cell->d) ? fabs(cell->d) : cell->d);
    } else if (cell->type == PF_UINT) {
        fprintf(out, "%" PRIu64, cell->u);
    } else if (cell->type == PF_INT) {
        fprintf(out, "%" PRId64, cell->i);
    } else if (cell->type == PF_WIDE) {
        fprintf(out, "%.0Lf", (long double)*cell->wide);
    }
}

static inline const struct pf_table *table_of(const struct pf_model *model, const char *name)
{
    for (size_t i = 0; i < model->n_tables; i++)
        if (!strcmp(model->tables[i].name, name))
            return &model->tables[i];
    return NULL;
}

/* True if `columns`, a list separated by commas (NULL: all columns), holds the name. */
static inline bool wanted(const char *columns, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = columns; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, size) && (!at[size] || at[size] == ','))
            return true;
    return !columns;
}

static inline void print_row(FILE *out, const struct pf_model *model, const struct pf_column *columns,
                             size_t n, const struct pf_cell *cells, const char *only)
{
    const char *separator = "";
    for (size_t c = 0; c < n; c++) {
        if (columns[c].role == PF_CONTEXT_NAME || !wanted(only, columns[c].name))
            continue;
        fputs(separator, out);
        print_cell(out, model, &columns[c], &cells[c]);
        separator = ",";
    }
    fputc('\n', out);
}

/* Prints the rows of a table; after every `hop` rows (0: never) a new cursor resumes at the saved position. */
static inline void print_walk(FILE *out, struct pf_model *model, const struct pf_table *table,
                              struct pf_restriction only, const char *columns, unsigned hop)
{
    struct pf_cursor cursor = {.model = model, .table = table, .only = only};
    struct pf_cell cells[32];
    struct pf_error error;
    int got = table->ops->open(&cursor, &error);
    for (unsigned row = 1; !got && (got = table->ops->next(&cursor, cells, &error)) > 0; row++) {
        print_row(out, model, table->columns, table->n_columns, cells, columns);
        got = 0;
        if (!hop || row % hop)
            continue;
        char position[256];
        size_t saved = table->ops->save(&cursor, position, sizeof position);
        table->ops->close(&cursor);
        cursor.state = NULL;
        got = table->ops->open(&cursor, &error);
        if (!got)
            got = table->ops->restore(&cursor, position, saved, &error);
    }
    if (got < 0)
        fprintf(out, "error: %s\n", error.what);
    table->ops->close(&cursor);
}

static inline void print_rows(FILE *out, const struct pf_model *model, const struct pf_table *table,
                              const char *columns)
{
    for (size_t i = 0; i < pf_rows_count(pf_table_rows(table)); i++)
        print_row(out, model, table->columns, table->n_columns, pf_rows_at(pf_table_rows(table), i), columns);
}

/* Returns these columns of a table (NULL: all) as lines of text; the caller frees it. */
static inline char *dump(struct pf_model *model, const char *name, struct pf_restriction only,
                         const char *columns, unsigned hop)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const struct pf_table *table = table_of(model, name);
    if (!table)
        fputs("no such table\n", out);
    else if (table->ops)
        print_walk(out, model, table, only, columns, hop);
    else
        print_rows(out, model, table, columns);
    fclose(out);
    return text;
}

/* Returns each warning as "line severity code"; the caller frees the text. */
static inline char *dump_warnings(const struct pf_model *model)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < pf_rows_count(model->warnings); i++) {
        const struct pf_cell *cells = pf_rows_at(model->warnings, i);
        fprintf(out, "%" PRId64 " %.*s %.*s\n", cells[0].i, (int)cells[2].size, cells[2].text,
                (int)cells[3].size, cells[3].text);
    }
    fclose(out);
    return text;
}

/* Returns these columns of the table of runs as text; the caller frees it. */
static inline char *dump_runs(const struct pf_model *model, const char *columns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const struct pf_partitions *runs = &model->partitions;
    for (size_t i = 0; i < pf_rows_count(runs->fields); i++)
        print_row(out, model, runs->field_columns, runs->n_fields, pf_rows_at(runs->fields, i), columns);
    fclose(out);
    return text;
}

/* ---- soundness ---------------------------------------------------------------------------------- */

/* Returns the sum of a run's values of a metric over the contexts with this flag. */
static inline pf_int128 sum_of(struct pf_model *model, int64_t run, int64_t metric, unsigned flag)
{
    struct pf_cursor cursor = {.model = model, .table = model->values, .only = {run, -1, metric, -1}};
    struct pf_cell cells[8];
    struct pf_error error;
    pf_int128 sum = 0;
    if (cursor.table->ops->open(&cursor, &error) == 0)
        while (cursor.table->ops->next(&cursor, cells, &error) > 0)
            if (model->contexts->flags[cells[1].i] & flag)
                sum += cells[3].type == PF_WIDE
                           ? *cells[3].wide
                           : (pf_int128)(cells[3].type == PF_UINT ? cells[3].u : (uint64_t)cells[3].i);
    cursor.table->ops->close(&cursor);
    return sum;
}

static inline size_t nesting_column(const struct pf_partitions *runs)
{
    size_t i = 0;
    while (strcmp(runs->field_columns[i].name, "nesting") != 0)
        i++;
    return i;
}

/* True if, in each run whose regions nest, the exclusive times add up to the inclusive times of the roots. */
static inline bool times_add_up(struct pf_model *model)
{
    const struct pf_partitions *runs = &model->partitions;
    for (size_t i = 0; i < pf_rows_count(runs->fields); i++) {
        const struct pf_cell *nesting = &pf_rows_at(runs->fields, i)[nesting_column(runs)];
        if (*nesting->text != 'g' && /* "geometry" */
            (sum_of(model, (int64_t)i, 1, PF_FRAME) != sum_of(model, (int64_t)i, 2, PF_ROOT) ||
             sum_of(model, (int64_t)i, 3, PF_FRAME) != sum_of(model, (int64_t)i, 4, PF_ROOT)))
            return false;
    }
    return true;
}

/* Returns the first broken invariant of a loaded profile, or NULL. Every `hop` rows, a second cursor resumes from the saved position. */
static inline const char *unsound(struct pf_model *model, unsigned hop)
{
    const struct sound_limits limits = {.rows = 20000, .hop = hop, .resumes = 12};
    const struct pf_restriction first = {0, 0, 0, -1};
    const struct pf_restriction last = {(int64_t)pf_rows_count(model->partitions.items) - 1,
                                        (int64_t)model->contexts->count - 1, (int64_t)model->n_metrics - 1,
                                        -1};
    const char *wrong = last.partition >= 0 && last.context >= 0 ? sound_profile(model, first, limits) : NULL;
    if (!wrong)
        wrong = sound_profile(model, last, limits);
    return wrong || times_add_up(model) ? wrong : "times that do not add up";
}

#endif
