/* SPDX-License-Identifier: MIT */
#ifndef PROFILE_FILE_H
#define PROFILE_FILE_H

#include "formats/driver.h"
#include "formats/kit/print.h"
#include "formats/probe.h"
#include "tests/profile.h"
#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"

/* Opens a file, alone in a temporary folder, with a driver, and prints the tables as text. */

struct file {
    char folder[64];
    int directory;
    struct pf_model model;
    struct pf_options options;
    struct pf_error error;
    bool opened, loaded;
};

#define PROFILE_FILE __attribute__((unused)) static

/* Returns `before`, then `part` `n` times, then `after`; the caller frees the text. */
PROFILE_FILE char *repeated(const char *before, const char *part, size_t n, const char *after)
{
    size_t size = strlen(part);
    char *text = malloc(strlen(before) + n * size + strlen(after) + 1), *at = stpcpy(text, before);
    for (size_t i = 0; i < n; i++, at += size)
        memcpy(at, part, size);
    strcpy(at, after);
    return text;
}

/* Writes the bytes to a file, opens it, and loads the stages up to PF_MODELLED, as far as they succeed. */
PROFILE_FILE void file_open(struct file *file, const struct pf_driver *driver, const char *name,
                            const void *bytes, size_t size, uint64_t cache)
{
    memset(file, 0, sizeof *file);
    temp_dir_make(file->folder);
    write_bytes(file->folder, name, bytes, size);
    file->directory = open(file->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    file->options.cache = cache;
    file->opened = !profile_open(&file->model, driver, file->directory, name, &file->options, &file->error);
    file->loaded = file->opened && !driver->load(&file->model, PF_PARTITIONED, &file->error) &&
                   !driver->load(&file->model, PF_MODELLED, &file->error);
}

PROFILE_FILE void file_close(struct file *file)
{
    profile_close(&file->model);
    close(file->directory);
    temp_dir_remove(file->folder);
}

PROFILE_FILE void print_cell(FILE *out, const struct pf_cell *cell)
{
    char number[PF_NUMBER_MAX];
    const char *end = number;
    if (cell->type == PF_TEXT)
        fprintf(out, "%.*s", (int)cell->size, cell->text);
    if (cell->type == PF_TEXT || cell->type == PF_ABSENT)
        return;
    end = cell->type == PF_INT    ? pf_print_int(number, cell->i)
          : cell->type == PF_UINT ? pf_print_uint(number, cell->u)
          : cell->type == PF_WIDE ? pf_print_wide(number, *cell->wide)
                                  : pf_print_double(number, cell->d);
    fprintf(out, "%.*s", (int)(end - number), number);
}

/* Prints the names of a context's path, root first, separated by `>`. */
PROFILE_FILE void print_path(FILE *out, const struct pf_tree *tree, uint32_t context)
{
    if (tree->parent[context] != PF_NO_CONTEXT) {
        print_path(out, tree, tree->parent[context]);
        fputc('>', out);
    }
    struct pf_cell name = pf_interned(tree->strings, tree->name[context]);
    print_cell(out, &name);
}

PROFILE_FILE void print_row(FILE *out, const struct pf_model *model, const struct pf_table *table,
                            const struct pf_cell *cells)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        enum pf_role role = table->columns[i].role;
        if (role == PF_CONTEXT_NAME)
            continue;
        if (i)
            fputc(',', out);
        if (role == PF_PARTITION)
            print_cell(out, &pf_rows_at(model->partitions.items, (size_t)cells[i].i)[1]);
        else if (role == PF_CONTEXT)
            print_path(out, model->contexts, (uint32_t)cells[i].i);
        else if (role == PF_METRIC)
            fputs(model->metrics[cells[i].i].name, out);
        else
            print_cell(out, &cells[i]);
    }
    fputc('|', out);
}

PROFILE_FILE void print_rows(FILE *out, const struct pf_model *model, const struct pf_table *table)
{
    for (size_t i = 0; i < pf_rows_count(pf_table_rows(table)); i++)
        print_row(out, model, table, pf_rows_at(pf_table_rows(table), i));
}

/* Returns all rows of a table that match a restriction; after every `hop` rows a new cursor resumes at the saved position. */
PROFILE_FILE char *table_text(struct pf_model *model, const char *name, struct pf_restriction only,
                              unsigned hop)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t t = 0; t < model->n_tables; t++) {
        const struct pf_table *table = &model->tables[t];
        if (strcmp(table->name, name) != 0)
            continue;
        if (!table->ops) {
            print_rows(out, model, table);
            continue;
        }
        struct pf_cursor cursor = {.model = model, .table = table, .only = only};
        struct pf_cell cells[300];
        struct pf_error error;
        if (table->ops->open(&cursor, &error))
            abort();
        for (unsigned row = 1; table->ops->next(&cursor, cells, &error) > 0; row++) {
            print_row(out, model, table, cells);
            if (row % hop)
                continue;
            char position[4096];
            size_t saved = table->ops->save(&cursor, position, sizeof position);
            table->ops->close(&cursor);
            cursor.state = NULL;
            if (table->ops->open(&cursor, &error) || table->ops->restore(&cursor, position, saved, &error))
                fputs("(not restored)", out);
        }
        table->ops->close(&cursor);
    }
    fclose(out);
    return text;
}

PROFILE_FILE void table_is(struct file *file, const char *table, const char *want, const char *name)
{
    char *have =
        file->loaded ? table_text(&file->model, table, PF_UNRESTRICTED, 1000) : strdup(file->error.what);
    is(have, want, name);
    free(have);
}

/* Checks the severities and codes of all warnings. */
PROFILE_FILE void warnings_are(struct file *file, const char *want, const char *name)
{
    char *have = NULL;
    size_t size;
    FILE *out = open_memstream(&have, &size);
    for (size_t i = 0; i < pf_rows_count(file->model.warnings); i++) {
        const struct pf_cell *row = pf_rows_at(file->model.warnings, i);
        fprintf(out, "%.*s %.*s|", (int)row[2].size, row[2].text, (int)row[3].size, row[3].text);
    }
    fclose(out);
    is(have, want, name);
    free(have);
}

/* Returns the driver's confidence that a file with this name and these first bytes is in its format. */
PROFILE_FILE unsigned sureness(const struct pf_driver *driver, const char *name, const void *bytes,
                               size_t size)
{
    static unsigned char head[PF_HEAD_MAX];
    struct pf_probe probe = {.name = name, .size = size, .fd = -1, .bytes = head};
    struct pf_probe_result result = {0};
    memcpy(head, bytes, probe.have = size < PF_HEAD_MAX ? size : PF_HEAD_MAX);
    pf_probe_ask(&probe, driver, &result);
    return result.confidence;
}

#endif
