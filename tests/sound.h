/* SPDX-License-Identifier: MIT */
#ifndef SOUND_H
#define SOUND_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver.h"
#include "formats/driver_extra.h"

/*
 * Checks the invariants of a loaded profile: the guarantees of formats/driver.h that the core relies on, whatever the file holds. Fuzz
 * targets check them for arbitrary bytes, unit tests for real profiles. A check returns a description of the violated invariant (a static
 * buffer or a literal), or NULL if all hold.
 */

#define SOUND __attribute__((unused)) static

enum {
    SOUND_COLUMNS = 600,         /* more than any driver declares */
    SOUND_POSITION = 256 * 1024, /* bytes; larger positions (of very deep stacks) are not checked */
};

/* Limits of the check. */
struct sound_limits {
    unsigned rows;    /* maximum number of rows per walk */
    unsigned hop;     /* every `hop` rows, a second cursor resumes from the saved position */
    unsigned resumes; /* maximum number of such second cursors per walk */
    bool twice;       /* the file stores values twice, by partition and by context; the copies may differ */
};

/* One walk over a table. */
struct sound_walk {
    struct pf_model *model;
    const struct pf_table *table;
    struct pf_restriction only;
    struct sound_limits limits;
    uint64_t hash; /* hash of the rows that match `match`, in order */
    struct pf_restriction match;
    bool whole; /* the walk ended before the limit */
    bool again; /* the walk failed with EAGAIN: its rows are out of date, and it must be repeated */
    char wrong[400];
};

/* ---- cells -------------------------------------------------------------------------------------- */

SOUND uint64_t sound_mix(uint64_t hash, uint64_t bits)
{
    return (hash ^ bits) * 1099511628211u + (bits >> 31);
}

/* Hashes the whole cell; this reads every byte of the cell, as printing does. */
SOUND uint64_t sound_cell(uint64_t hash, const struct pf_cell *cell)
{
    hash = sound_mix(hash, cell->type);
    if (cell->type == PF_TEXT)
        for (uint32_t i = 0; i < cell->size; i++)
            hash = sound_mix(hash, (unsigned char)cell->text[i]);
    else if (cell->type == PF_WIDE)
        hash = sound_mix(sound_mix(hash, (uint64_t)*cell->wide), (uint64_t)(*cell->wide >> 64));
    else if (cell->type != PF_ABSENT)
        hash = sound_mix(hash, cell->u);
    return hash;
}

SOUND bool sound_is_filled_by_core(const struct pf_column *column)
{
    return column->role == PF_PARTITION_FIELD || column->role == PF_CONTEXT_NAME;
}

/* Returns the number of items of the column's axis, or -1 if the column has no axis. */
SOUND int64_t sound_items(const struct pf_model *model, enum pf_role role)
{
    switch (role) {
    case PF_PARTITION:
        return model->partitions.items ? (int64_t)pf_rows_count(model->partitions.items) : 0;
    case PF_CONTEXT:
        return model->contexts ? model->contexts->count : 0;
    case PF_METRIC:
        return (int64_t)model->n_metrics;
    case PF_KEY:
        return (int64_t)pf_rows_count(pf_extra_of(model)->keys.items);
    default:
        return -1;
    }
}

/* True if the flags `plain` and `quoted` of a text cell are set only where they apply. */
SOUND bool sound_marks(const struct pf_cell *cell)
{
    struct pf_cell found = pf_text(cell->text, cell->size);
    pf_cell_mark(&found);
    return (!cell->plain || found.plain) && (!cell->quoted || found.quoted);
}

/* True if the cell is valid: absent or an index of an item if the column has an axis, otherwise not a text with wrong flags. */
SOUND bool sound_fits(const struct pf_model *model, const struct pf_column *column,
                      const struct pf_cell *cell)
{
    int64_t items = sound_items(model, column->role);
    if (items < 0)
        return cell->type != PF_TEXT || sound_marks(cell);
    return cell->type == PF_ABSENT || (cell->type == PF_INT && cell->i >= 0 && cell->i < items);
}

SOUND const char *sound_row(const struct pf_model *model, const struct pf_column *columns, size_t n,
                            const struct pf_cell *cells, uint64_t *hash)
{
    for (size_t i = 0; i < n; i++) {
        if (sound_is_filled_by_core(&columns[i]))
            continue;
        if (!sound_fits(model, &columns[i], &cells[i]))
            return columns[i].name;
        *hash = sound_cell(*hash, &cells[i]);
    }
    return NULL;
}

/* True if the row matches the restriction. */
SOUND bool sound_matches(const struct pf_table *table, const struct pf_cell *cells,
                         struct pf_restriction only)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        enum pf_role role = table->columns[i].role;
        int64_t want = role == PF_PARTITION ? only.partition
                       : role == PF_CONTEXT ? only.context
                       : role == PF_METRIC  ? only.metric
                       : role == PF_KEY     ? only.key
                                            : -1;
        if (want >= 0 && (cells[i].type != PF_INT || cells[i].i != want))
            return false;
    }
    return true;
}

/* ---- walks -------------------------------------------------------------------------------------- */

SOUND bool sound_wrong(struct sound_walk *walk, const char *what, const char *more)
{
    snprintf(walk->wrong, sizeof walk->wrong, "%s of %s [%d %d %d %d]: %s", what, walk->table->name,
             (int)walk->only.partition, (int)walk->only.context, (int)walk->only.metric, (int)walk->only.key,
             more);
    return false;
}

/* Resumes from a saved position, which must yield the next row, and from a damaged copy of it, which must not crash. */
SOUND bool sound_resume(struct sound_walk *walk, char *blob, size_t size, int got, uint64_t want)
{
    struct pf_cell cells[SOUND_COLUMNS] = {0};
    struct pf_error error = {0};
    const struct pf_cursor_ops *ops = walk->table->ops;
    struct pf_cursor cursor = {.model = walk->model, .table = walk->table, .only = walk->only};
    uint64_t hash = 0;
    int again = ops->open(&cursor, &error) ? -1 : 0;
    if (!again && !(again = ops->restore(&cursor, blob, size, &error)))
        again = ops->next(&cursor, cells, &error);
    if (again > 0)
        sound_row(walk->model, walk->table->columns, walk->table->n_columns, cells, &hash);
    ops->close(&cursor);
    if (again < 0 && error.code == EAGAIN)
        return true;
    if (again != got || (got > 0 && hash != want))
        return sound_wrong(walk, "another row from a saved position",
                           again < 0      ? error.what
                           : again == got ? ""
                                          : "end");

    cursor = (struct pf_cursor){.model = walk->model, .table = walk->table, .only = walk->only};
    blob[want % size] ^= 0x55;
    if (!ops->open(&cursor, &error) && !ops->restore(&cursor, blob, size, &error))
        for (int i = 0; i < 3 && ops->next(&cursor, cells, &error) > 0; i++)
            for (size_t c = 0; c < walk->table->n_columns; c++)
                hash = sound_is_filled_by_core(&walk->table->columns[c]) ? hash : sound_cell(hash, &cells[c]);
    ops->close(&cursor);
    return true;
}

SOUND bool sound_rows(struct sound_walk *walk, struct pf_cursor *cursor, char *blob)
{
    static struct pf_cell cells[SOUND_COLUMNS];
    struct pf_error error = {0};
    const struct pf_table *table = walk->table;
    unsigned resumes = 0;
    memset(cells, 0, sizeof cells);
    for (unsigned row = 0; row < walk->limits.rows; row++) {
        bool tried = row % walk->limits.hop == walk->limits.hop / 2 && resumes < walk->limits.resumes;
        size_t saved = tried ? table->ops->save(cursor, blob, SOUND_POSITION) : 0;
        uint64_t hash = 0;
        int got = table->ops->next(cursor, cells, &error);
        walk->again = got < 0 && error.code == EAGAIN;
        if (got < 0)
            return walk->again || sound_wrong(walk, "a walk", error.what);
        const char *wrong =
            got > 0 ? sound_row(walk->model, table->columns, table->n_columns, cells, &hash) : NULL;
        if (wrong)
            return sound_wrong(walk, "a cell that does not fit its column", wrong);
        if (got > 0 && !sound_matches(table, cells, walk->only))
            return sound_wrong(walk, "a row", "does not belong to the restriction");
        if (got > 0 && sound_matches(table, cells, walk->match))
            walk->hash = sound_mix(walk->hash, hash);
        if (saved && saved <= SOUND_POSITION) {
            resumes++;
            if (!sound_resume(walk, blob, saved, got, hash))
                return false;
        }
        if (!got) {
            walk->whole = true;
            return true;
        }
    }
    return true;
}

/* Walks the table once. Returns false with walk->wrong set if an invariant is violated. */
SOUND bool sound_walk(struct sound_walk *walk)
{
    static char blob[SOUND_POSITION];
    struct pf_error error = {0};
    struct pf_cursor cursor = {.model = walk->model, .table = walk->table, .only = walk->only};
    walk->hash = 0;
    walk->whole = walk->again = false;
    bool fine = walk->table->ops->open(&cursor, &error) == 0;
    if (!fine)
        sound_wrong(walk, "no cursor", error.what);
    else
        fine = sound_rows(walk, &cursor, blob);
    walk->table->ops->close(&cursor);
    return fine;
}

/* ---- the whole profile -------------------------------------------------------------------------- */

/* True if the core shows the table in the folder of an item that `only` names. It restricts cursors only over such tables. */
SOUND bool sound_stands_in(const struct pf_table *table, struct pf_restriction only)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        enum pf_role role = table->columns[i].role;
        if ((role == PF_PARTITION && only.partition >= 0) || (role == PF_CONTEXT && only.context >= 0) ||
            (role == PF_KEY && only.key >= 0))
            return true;
    }
    return (table->flags & PF_ONLY_IN_METRICS) && only.metric >= 0;
}

/* Checks that a restricted cursor yields the matching rows of the whole table, in their order. */
SOUND const char *sound_table(struct pf_model *model, const struct pf_table *table,
                              struct pf_restriction only, struct sound_limits limits)
{
    static struct sound_walk all, part;
    const unsigned parts_alone = PF_ONLY_IN_PARTITIONS | PF_ONLY_IN_METRICS | PF_ONLY_IN_KEYS;
    all = part = (struct sound_walk){
        .model = model, .table = table, .only = PF_UNRESTRICTED, .match = only, .limits = limits};
    part.only = only;
    if (!(table->flags & parts_alone) && (!sound_walk(&all) || (all.again && !sound_walk(&all))))
        return all.wrong;
    if (sound_stands_in(table, only) && !sound_walk(&part))
        return part.wrong;
    if (all.whole && part.whole && all.hash != part.hash && !(limits.twice && only.context >= 0)) {
        sound_wrong(&part, "rows", "others than the whole table has");
        return part.wrong;
    }
    return NULL;
}

SOUND const char *sound_held(const struct pf_model *model, const struct pf_table *table)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < pf_rows_count(pf_table_rows(table)); i++) {
        const char *wrong =
            sound_row(model, table->columns, table->n_columns, pf_rows_at(pf_table_rows(table), i), &hash);
        if (wrong)
            return wrong;
    }
    return NULL;
}

SOUND const char *sound_contexts(const struct pf_model *model)
{
    const struct pf_tree *tree = model->contexts;
    struct pf_cell cells[64] = {0};
    uint64_t hash = 0;
    for (uint32_t i = 0; tree && i < tree->count; i++) {
        uint32_t parent = tree->parent[i];
        struct pf_cell name = pf_interned(tree->strings, tree->name[i]);
        if (parent != PF_NO_CONTEXT && (parent >= i || tree->depth[i] != tree->depth[parent] + 1))
            return "a context before its parent, or at the wrong depth";
        if (parent == PF_NO_CONTEXT && tree->depth[i])
            return "a root at a depth";
        hash = sound_cell(hash, &name);
        if (model->context_cells) {
            model->context_cells(model, i, cells);
            if (sound_row(model, model->context_columns, model->n_context_columns, cells, &hash))
                return "a context's own cell";
        }
    }
    return NULL;
}

SOUND const char *sound_metrics(const struct pf_model *model)
{
    struct pf_cell cells[64] = {0};
    uint64_t hash = 0;
    for (size_t i = 0; i < model->n_metrics; i++) {
        const struct pf_metric *metric = &model->metrics[i];
        if (!metric->name || !metric->unit || !metric->scope || !metric->type || !metric->description)
            return "a metric without name, unit, scope, type or description";
        if (metric->partner != PF_NO_PARTNER &&
            (metric->partner < 0 || (size_t)metric->partner >= model->n_metrics || metric->partner == (int)i))
            return "a metric with a partner that is none";
        for (size_t j = i > 50 ? i - 50 : 0; j < i; j++)
            if (!strcmp(metric->name, model->metrics[j].name))
                return "two metrics of one name";
        if (model->metric_cells) {
            model->metric_cells(model, i, cells);
            if (sound_row(model, model->metric_columns, model->n_metric_columns, cells, &hash))
                return "a metric's own cell";
        }
    }
    return NULL;
}

/* Checks that each item has a name that differs from the names of the 50 items before it. */
SOUND const char *sound_named(const struct pf_rows *items)
{
    for (size_t i = 0; items && i < pf_rows_count(items); i++) {
        const struct pf_cell *a = pf_rows_at(items, i);
        if (a[1].type != PF_TEXT)
            return "an item without a name";
        for (size_t j = i > 50 ? i - 50 : 0; j < i; j++) {
            const struct pf_cell *b = pf_rows_at(items, j);
            if (a[1].size == b[1].size && !memcmp(a[1].text, b[1].text, a[1].size))
                return "two items of one name";
        }
    }
    return NULL;
}

SOUND const char *sound_partitions(const struct pf_model *model)
{
    const struct pf_partitions *partitions = &model->partitions;
    uint64_t hash = 0;
    if (!partitions->plural)
        return NULL;
    if (!partitions->items)
        return "partitions without items";
    if (partitions->n_fields &&
        (!partitions->fields || pf_rows_count(partitions->fields) != pf_rows_count(partitions->items)))
        return "partitions without fields";
    for (size_t i = 0; partitions->n_fields && i < pf_rows_count(partitions->fields); i++)
        if (sound_row(model, partitions->field_columns, partitions->n_fields,
                      pf_rows_at(partitions->fields, i), &hash))
            return "a partition's field";
    return sound_named(partitions->items);
}

SOUND const char *sound_blobs(struct pf_model *model)
{
    char bytes[300];
    struct pf_error error;
    for (size_t i = 0; i < pf_extra_of(model)->n_blobs; i++)
        for (uint64_t offset = 0; offset < 1000; offset += 290)
            if (pf_driver_extra_of(model->driver)->blob_read(model, i, bytes, sizeof bytes, offset, &error) < 0)
                return "a blob that cannot be read";
    return NULL;
}

/* Checks that the driver adds no line to info.txt that the core writes, except Title, which replaces the core's line. */
SOUND const char *sound_info(const struct pf_model *model)
{
    const char *taken[] = {"Format",
                           "Version",
                           "Metrics",
                           "Primary",
                           model->partitions.singular ? "Partition" : NULL,
                           model->time_unit ? "Time unit" : NULL};
    for (size_t i = 0; i < pf_rows_count(model->info); i++) {
        const struct pf_cell *key = pf_rows_at(model->info, i);
        for (size_t t = 0; t < sizeof taken / sizeof *taken; t++)
            if (taken[t] && key->size == strlen(taken[t]) && !memcmp(key->text, taken[t], key->size))
                return "a line of info.txt that is the core's";
    }
    return NULL;
}

/* Checks a profile whose stages are all loaded; cursors are restricted to each item of `only` in turn. */
SOUND const char *sound_profile(struct pf_model *model, struct pf_restriction only,
                                struct sound_limits limits)
{
    const char *wrong = sound_contexts(model);
    if (!wrong)
        wrong = sound_info(model);
    if (!wrong)
        wrong = sound_metrics(model);
    if (!wrong)
        wrong = sound_partitions(model);
    if (!wrong)
        wrong = sound_named(pf_extra_of(model)->keys.items);
    for (size_t i = 0; !wrong && i < model->n_tables; i++) {
        const struct pf_table *table = &model->tables[i];
        if (!table->ops) {
            wrong = sound_held(model, table);
            continue;
        }
        const struct pf_restriction each[] = {{only.partition, -1, -1, -1},
                                              {-1, only.context, -1, -1},
                                              {-1, -1, only.metric, -1},
                                              {-1, -1, -1, only.key}};
        for (size_t e = 0; !wrong && e < sizeof each / sizeof *each; e++)
            wrong = sound_table(model, table, each[e], limits);
    }
    return wrong ? wrong : sound_blobs(model);
}

#endif
