/* SPDX-License-Identifier: MIT */
#ifndef EXTRAP_STUDY_H
#define EXTRAP_STUDY_H

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/driver.h"
#include "formats/model.h"
#include "formats/probe.h"
#include "tests/profile.h"
#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"

/* A profile that an Extra-P driver reads from a file of given bytes. */
struct study {
    const struct pf_driver *driver;
    char folder[64];
    int directory;
    struct pf_options options;
    struct pf_model model;
    int result; /* of opening and loading */
    struct pf_error error;
};

/* Opens the file without loading a stage. */
static void open_only(struct study *study, const struct pf_driver *driver, const void *bytes, size_t size)
{
    *study = (struct study){.driver = driver, .options = {.cache = 1 << 20}};
    temp_dir_make(study->folder);
    write_bytes(study->folder, "study", bytes, size);
    study->directory = open(study->folder, O_RDONLY | O_DIRECTORY);
    /* Sources wait up to 20 ms before they open a file that was just written; a future mtime avoids this. */
    struct timespec times[2] = {{.tv_sec = INT32_MAX}, {.tv_sec = INT32_MAX}};
    utimensat(study->directory, "study", times, 0);
    study->result =
        profile_open(&study->model, driver, study->directory, "study", &study->options, &study->error);
}

static void open_study(struct study *study, const struct pf_driver *driver, const void *bytes, size_t size)
{
    open_only(study, driver, bytes, size);
    if (!study->result)
        study->result = pf_model_load(&study->model, PF_DERIVED, &study->error);
}

__attribute__((unused)) static void open_text(struct study *study, const struct pf_driver *driver,
                                              const char *text)
{
    open_study(study, driver, text, strlen(text));
}

static void close_study(struct study *study)
{
    profile_close(&study->model);
    close(study->directory);
    temp_dir_remove(study->folder);
}

/* Returns the driver's confidence that the file is in its format. */
__attribute__((unused)) static unsigned confidence(const struct pf_driver *driver, const void *bytes,
                                                   size_t size)
{
    static unsigned char head[PF_HEAD_MAX];
    char folder[64];
    temp_dir_make(folder);
    write_bytes(folder, "study", bytes, size);
    int fd = open(path_in(folder, "study"), O_RDONLY);
    struct pf_probe probe = {.name = "study", .size = size, .fd = fd, .bytes = head};
    struct pf_probe_result result = {0};
    driver->probe(&probe, &result);
    close(fd);
    temp_dir_remove(folder);
    return result.confidence;
}

/* ---- rows as text ------------------------------------------------------------------------------- */

static void print_cell(FILE *out, struct pf_cell cell)
{
    if (cell.type == PF_TEXT)
        fprintf(out, "%.*s", (int)cell.size, cell.text);
    else if (cell.type == PF_DOUBLE)
        fprintf(out, "%g", isnan(cell.d) ? fabs(cell.d) : cell.d);
    else if (cell.type != PF_ABSENT)
        fprintf(out, "%jd", (intmax_t)cell.i);
}

static void print_path(FILE *out, const struct pf_tree *tree, uint32_t context)
{
    if (tree->parent[context] != PF_NO_CONTEXT) {
        print_path(out, tree, tree->parent[context]);
        fputs("->", out);
    }
    print_cell(out, pf_interned(tree->strings, tree->name[context]));
}

/* Prints a cell, with the name of a partition, context or metric instead of its index. */
static void print_role(FILE *out, const struct pf_model *model, enum pf_role role, struct pf_cell cell)
{
    if (role == PF_PARTITION)
        print_cell(out, pf_rows_at(model->partitions.items, (size_t)cell.i)[1]);
    else if (role == PF_CONTEXT)
        print_path(out, model->contexts, (uint32_t)cell.i);
    else if (role == PF_METRIC)
        fputs(model->metrics[cell.i].name, out);
    else
        print_cell(out, cell);
}

static void print_row(FILE *out, const struct pf_model *model, const struct pf_table *table,
                      const struct pf_cell *cells)
{
    const char *separator = "";
    for (size_t i = 0; i < table->n_columns; i++) {
        enum pf_role role = table->columns[i].role;
        if (role == PF_PARTITION_FIELD || role == PF_CONTEXT_NAME)
            continue;
        fputs(separator, out);
        print_role(out, model, role, cells[i]);
        separator = ",";
    }
    fputc('\n', out);
}

/* Replaces the cursor by a new one that resumes at its position. */
static void change_cursor(struct pf_cursor *cursor, struct pf_error *error)
{
    char position[256];
    size_t size = cursor->table->ops->save(cursor, position, sizeof position);
    struct pf_cursor other = {.model = cursor->model, .table = cursor->table, .only = cursor->only};
    if (cursor->table->ops->open(&other, error) || cursor->table->ops->restore(&other, position, size, error))
        puts("not ok - a cursor resumes at a saved position");
    cursor->table->ops->close(cursor);
    cursor->state = other.state;
}

/* Returns all rows of a table as text, which the caller frees. With `hops`, a new cursor resumes after each row. */
static char *rows_of(struct study *study, const struct pf_table *table, struct pf_restriction only, bool hops)
{
    char *text = NULL;
    size_t size;
    if (study->result) /* the file could not be opened */
        return strdup(study->error.what);
    FILE *out = open_memstream(&text, &size);
    struct pf_cursor cursor = {.model = &study->model, .table = table, .only = only};
    struct pf_cell cells[64];
    struct pf_error error;
    int got = table->ops->open(&cursor, &error);
    while (!got && (got = table->ops->next(&cursor, cells, &error)) > 0) {
        print_row(out, &study->model, table, cells);
        got = 0;
        if (hops)
            change_cursor(&cursor, &error);
    }
    if (got < 0)
        fprintf(out, "error: %s\n", error.what);
    table->ops->close(&cursor);
    fclose(out);
    return text;
}

static const struct pf_table *table_named(const struct study *study, const char *name)
{
    const struct pf_model *model = &study->model;
    if (!strcmp(name, "cells"))
        return model->values;
    for (size_t i = 0; i < model->n_tables; i++)
        if (!strcmp(model->tables[i].name, name))
            return &model->tables[i];
    puts("Bail out! no such table");
    exit(1);
}

/* Checks that a table has exactly these rows, in a single walk and in one that resumes after each row. */
__attribute__((unused)) static void has_rows_only(struct study *study, const char *table,
                                                  struct pf_restriction only, const char *want,
                                                  const char *name)
{
    char *have = rows_of(study, table_named(study, table), only, false);
    char *hopped = rows_of(study, table_named(study, table), only, true);
    is(have, want, name);
    if (strcmp(have, hopped) != 0)
        is(hopped, want, "a walk that resumes after each row yields the same rows");
    free(have);
    free(hopped);
}

__attribute__((unused)) static void has_rows(struct study *study, const char *table, const char *want,
                                             const char *name)
{
    has_rows_only(study, table, PF_UNRESTRICTED, want, name);
}

/* Checks all warnings; `want` has one line "LINE CODE" per warning. */
__attribute__((unused)) static void has_warnings(struct study *study, const char *want, const char *name)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < pf_rows_count(study->model.warnings); i++) {
        const struct pf_cell *cells = pf_rows_at(study->model.warnings, i);
        print_cell(out, cells[0]);
        fputc(' ', out);
        print_cell(out, cells[3]);
        fputc('\n', out);
    }
    fclose(out);
    is(text, want, name);
    free(text);
}

#endif
