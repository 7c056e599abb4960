/* SPDX-License-Identifier: MIT */
#ifndef FAKE_TABLES_H
#define FAKE_TABLES_H

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver.h"

/*
 * A profile whose rows are computed from their row numbers, for tests of rendering tables as text. Its tables:
 *   values  read by a cursor, ordered by partition: one row per context and metric; every fifth partition is empty
 *   events  read by a cursor, partitions and contexts in no order and absent in some rows
 *   notes   held in memory, with a column of partitions
 *   empty   held in memory, without rows
 */
enum { FAKE_VALUES, FAKE_EVENTS, FAKE_NOTES, FAKE_EMPTY, FAKE_TABLES, FAKE_METRICS = 2 };

struct fake_tables {
    uint32_t partitions, contexts;
    uint64_t events;
    struct pf_table tables[FAKE_TABLES];
    struct pf_metric metrics[FAKE_METRICS];
    struct pf_rows *notes, *empty;
    _Atomic int changes_left; /* how many more cursors over events will fail half-way with EAGAIN */
    _Atomic int64_t fact;     /* added to the times of events; changes with each EAGAIN */
    int fails;                /* if not 0: the errno value with which cursors over events fail half-way */
    _Atomic uint64_t walked;  /* number of rows that cursors have read */
};

static const char *const fake_kinds[] = {"function", NULL};

static const struct pf_column fake_values_columns[] = {
    {.name = "thread", .role = PF_PARTITION}, {.name = "cores, used", .role = PF_PARTITION_FIELD, .field = 1},
    {.name = "context", .role = PF_CONTEXT},  {.name = "metric", .role = PF_METRIC},
    {.name = "value", .role = PF_PLAIN},      {.name = "name", .role = PF_CONTEXT_NAME}};
static const struct pf_column fake_events_columns[] = {
    {.name = "time", .role = PF_PLAIN},        {.name = "context", .role = PF_CONTEXT},
    {.name = "thread", .role = PF_PARTITION},  {.name = "note", .role = PF_PLAIN},
    {.name = "name", .role = PF_CONTEXT_NAME}, {.name = "host", .role = PF_PARTITION_FIELD, .field = 0}};
static const struct pf_column fake_notes_columns[] = {{.name = "thread", .role = PF_PARTITION},
                                                      {.name = "note", .role = PF_PLAIN}};
static const struct pf_column fake_field_columns[] = {{.name = "host"}, {.name = "cores, used"}};

static struct fake_tables *fake_of(const struct pf_model *model)
{
    return model->state;
}

static const char *fake_note(uint64_t i)
{
    static const char *const notes[] = {"plain",       "a,b", "say \"hi\"", "two\nlines",
                                        "tab\tand \\", "",    "\x01"};
    return notes[i % 7];
}

static bool fake_has_values(uint64_t partition)
{
    return partition % 5 != 3;
}

/* ---- cursors ------------------------------------------------------------------------------------ */

struct fake_position {
    uint64_t partition, row;
};

/* Marks a table whose `data` points here as the table of values: its cursors can skip partitions. */
static const char fake_values;

static int fake_open_cursor(struct pf_cursor *cursor, struct pf_error *error)
{
    struct fake_position *at = calloc(1, sizeof *at);
    if (!at)
        return pf_fail_memory(error);
    if (cursor->only.partition > 0 && cursor->table->data == &fake_values)
        at->partition = (uint64_t)cursor->only.partition;
    cursor->state = at;
    return 0;
}

static bool fake_matches(int64_t only, const struct pf_cell *cell)
{
    return only < 0 || (cell->type == PF_INT && cell->i == only);
}

static int fake_next_value(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct fake_tables *fake = fake_of(cursor->model);
    struct fake_position *at = cursor->state;
    (void)error;
    for (; at->partition < fake->partitions; at->partition++, at->row = 0) {
        if (cursor->only.partition >= 0 && at->partition != (uint64_t)cursor->only.partition)
            return 0;
        while (fake_has_values(at->partition) && at->row < FAKE_METRICS * (uint64_t)fake->contexts) {
            uint64_t row = at->row++;
            cells[0] = pf_int((int64_t)at->partition);
            cells[2] = pf_int((int64_t)(row / FAKE_METRICS));
            cells[3] = pf_int((int64_t)(row % FAKE_METRICS));
            cells[4] = row % 3 ? pf_int((int64_t)(row * row % 100003) - 50) : pf_double((double)row / 7);
            atomic_fetch_add_explicit(&fake->walked, 1, memory_order_relaxed);
            if (fake_matches(cursor->only.context, &cells[2]) && fake_matches(cursor->only.metric, &cells[3]))
                return 1;
        }
    }
    return 0;
}

static int fake_next_event(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct fake_tables *fake = fake_of(cursor->model);
    struct fake_position *at = cursor->state;
    while (at->row < fake->events) {
        uint64_t row = at->row++;
        if (row == fake->events / 2 && fake->fails)
            return pf_fail(error, fake->fails, "the table can't be read");
        if (row == fake->events / 2 && fake->changes_left > 0) {
            atomic_fetch_sub(&fake->changes_left, 1);
            atomic_fetch_add(&fake->fact, 900);
            return pf_fail(error, EAGAIN, "rows were made from a wrong fact");
        }
        cells[0] = pf_int((int64_t)(row * 3) + fake->fact);
        cells[1] = row % 11 == 5 ? pf_absent() : pf_int((int64_t)(row * 7 % fake->contexts));
        cells[2] = row % 13 == 6 ? pf_absent() : pf_int((int64_t)(row * 5 % fake->partitions));
        cells[3] = pf_string(fake_note(row));
        atomic_fetch_add_explicit(&fake->walked, 1, memory_order_relaxed);
        if (fake_matches(cursor->only.context, &cells[1]) && fake_matches(cursor->only.partition, &cells[2]))
            return 1;
    }
    return 0;
}

static size_t fake_save(const struct pf_cursor *cursor, void *saved, size_t room)
{
    if (room >= sizeof(struct fake_position))
        memcpy(saved, cursor->state, sizeof(struct fake_position));
    return sizeof(struct fake_position);
}

static int fake_restore(struct pf_cursor *cursor, const void *saved, size_t size, struct pf_error *error)
{
    if (size != sizeof(struct fake_position))
        return pf_fail(error, EINVAL, "not a position");
    memcpy(cursor->state, saved, size);
    return 0;
}

static void fake_close_cursor(struct pf_cursor *cursor)
{
    free(cursor->state);
    cursor->state = NULL;
}

static const struct pf_cursor_ops fake_values_ops = {
    .open = fake_open_cursor,
    .next = fake_next_value,
    .save = fake_save,
    .restore = fake_restore,
    .close = fake_close_cursor,
};
static const struct pf_cursor_ops fake_events_ops = {
    .open = fake_open_cursor,
    .next = fake_next_event,
    .save = fake_save,
    .restore = fake_restore,
    .close = fake_close_cursor,
};

/* ---- the model ---------------------------------------------------------------------------------- */

/* Sets the attributes that a model has after its driver has opened the profile. */
__attribute__((unused)) static void fake_tables_open(struct fake_tables *fake, struct pf_model *model)
{
    static const char *const names[] = {"time", "bytes, \"moved\""};
    fake->tables[FAKE_VALUES] = (struct pf_table){.name = "values",
                                                  .columns = fake_values_columns,
                                                  .n_columns = 6,
                                                  .stage = PF_MODELLED,
                                                  .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION,
                                                  .ops = &fake_values_ops,
                                                  .data = &fake_values};
    fake->tables[FAKE_EVENTS] = (struct pf_table){.name = "events",
                                                  .columns = fake_events_columns,
                                                  .n_columns = 6,
                                                  .stage = PF_MODELLED,
                                                  .ops = &fake_events_ops};
    fake->tables[FAKE_NOTES] = (struct pf_table){.name = "notes",
                                                 .columns = fake_notes_columns,
                                                 .n_columns = 2,
                                                 .stage = PF_DERIVED,
                                                 .data = &fake->notes};
    fake->tables[FAKE_EMPTY] = (struct pf_table){.name = "empty",
                                                 .columns = fake_notes_columns,
                                                 .n_columns = 2,
                                                 .stage = PF_DERIVED,
                                                 .data = &fake->empty};
    for (int m = 0; m < FAKE_METRICS; m++)
        fake->metrics[m] = (struct pf_metric){.name = names[m],
                                              .unit = m ? "B" : "s",
                                              .scope = "exclusive",
                                              .type = "double",
                                              .description = "",
                                              .partner = PF_NO_PARTNER};
    model->state = fake;
    model->partitions = (struct pf_partitions){
        .singular = "thread", .plural = "threads", .field_columns = fake_field_columns, .n_fields = 2};
    model->metrics = fake->metrics;
    model->n_metrics = FAKE_METRICS;
    model->tables = fake->tables;
    model->n_tables = FAKE_TABLES;
    model->values = &fake->tables[FAKE_VALUES];
    model->value_column = 4;
}

static int fake_load_partitions(struct fake_tables *fake, struct pf_model *model, struct pf_error *error)
{
    static const char *const hosts[] = {"alpha", "beta, gamma", "\"delta\""};
    model->partitions.items = pf_rows_new(2);
    model->partitions.fields = pf_rows_new(2);
    for (uint32_t p = 0; p < fake->partitions; p++) {
        char name[32];
        snprintf(name, sizeof name, p % 3 ? "thread %u" : "node, %u", p);
        struct pf_cell item[] = {pf_int(p), pf_string(name)};
        struct pf_cell fields[] = {pf_string(hosts[p % 3]), pf_int(p * p)};
        if (pf_rows_add(model->partitions.items, item, error) ||
            pf_rows_add(model->partitions.fields, fields, error))
            return -1;
    }
    return 0;
}

static int fake_load_contexts(struct fake_tables *fake, struct pf_model *model, struct pf_error *error)
{
    struct pf_tree *tree = model->contexts = pf_tree_new(fake_kinds);
    for (uint32_t c = 0; c < fake->contexts; c++) {
        char name[64];
        snprintf(name, sizeof name, c % 4 == 2 ? "f<int, %u>(\"x\")" : "main %u", c / 2);
        uint32_t id = pf_intern(tree->strings, name, strlen(name), error);
        pf_tree_add(tree, c ? (c - 1) / 3 : PF_NO_CONTEXT, id, id, 0, PF_FRAME, error);
    }
    return pf_tree_finish(tree, error);
}

static int fake_load_notes(struct fake_tables *fake, struct pf_error *error)
{
    fake->notes = pf_rows_new(2);
    fake->empty = pf_rows_new(2);
    for (uint32_t i = 0; i < 40 && fake->partitions; i++) {
        struct pf_cell cells[] = {i % 6 == 1 ? pf_absent() : pf_int(i * 3 % fake->partitions),
                                  pf_string(fake_note(i))};
        if (pf_rows_add(fake->notes, cells, error))
            return -1;
    }
    return 0;
}

__attribute__((unused)) static int fake_tables_load(struct fake_tables *fake, struct pf_model *model,
                                                    enum pf_stage stage, struct pf_error *error)
{
    switch (stage) {
    case PF_PARTITIONED:
        return fake_load_partitions(fake, model, error);
    case PF_MODELLED:
        return fake_load_contexts(fake, model, error);
    case PF_DERIVED:
        return fake_load_notes(fake, error);
    default:
        return 0;
    }
}

/* Frees what the driver owns; the core owns the rest. */
__attribute__((unused)) static void fake_tables_close(struct fake_tables *fake)
{
    pf_rows_free(fake->notes);
    pf_rows_free(fake->empty);
}

#endif
