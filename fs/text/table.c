/* SPDX-License-Identifier: MIT */
#include "fs/text/table.h"

#include <stdlib.h>

#include "formats/driver_extra.h"
#include "formats/runtime/numbered.h"
#include "fs/text/csv.h"
#include "fs/text/row.h"

/* ---- tables held in pf_rows: the position is the row's number ----------------------------------- */

static const struct pf_rows *rows_of(const struct pf_cursor *cursor)
{
    return pf_table_rows(cursor->table);
}

static int rows_open(struct pf_cursor *cursor, struct pf_error *error)
{
    cursor->state = calloc(1, sizeof(uint64_t));
    return cursor->state ? 0 : pf_fail_memory(error);
}

static bool lets_through(const struct pf_cursor *cursor, const struct pf_cell *row)
{
    for (size_t c = 0; c < cursor->table->n_columns; c++) {
        enum pf_role role = cursor->table->columns[c].role;
        int64_t only = role == PF_PARTITION ? cursor->only.partition
                       : role == PF_CONTEXT ? cursor->only.context
                       : role == PF_METRIC  ? cursor->only.metric
                       : role == PF_KEY     ? cursor->only.key
                                            : -1;
        if (only >= 0 && (row[c].type != PF_INT || row[c].i != only))
            return false;
    }
    return true;
}

static int rows_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    (void)error;
    uint64_t *at = cursor->state;
    while (*at < pf_rows_count(rows_of(cursor))) {
        const struct pf_cell *row = pf_rows_at(rows_of(cursor), (*at)++);
        if (lets_through(cursor, row)) {
            memcpy(cells, row, cursor->table->n_columns * sizeof *cells);
            return 1;
        }
    }
    return 0;
}

static size_t rows_save(const struct pf_cursor *cursor, void *saved, size_t room)
{
    return pf_position_save(cursor->state, sizeof(uint64_t), saved, room);
}

static int rows_restore(struct pf_cursor *cursor, const void *saved, size_t size, struct pf_error *error)
{
    return pf_position_restore(cursor->state, sizeof(uint64_t), saved, size, error);
}

static void rows_close(struct pf_cursor *cursor)
{
    free(cursor->state);
    cursor->state = NULL;
}

static const struct pf_cursor_ops rows_cursor = {
    .open = rows_open,
    .next = rows_next,
    .save = rows_save,
    .restore = rows_restore,
    .close = rows_close,
};

const struct pf_cursor_ops *pf_table_ops(const struct pf_table *table)
{
    return table->ops ? table->ops : &rows_cursor;
}

int pf_table_column(const struct pf_table *table, enum pf_role role)
{
    for (size_t c = 0; c < table->n_columns; c++)
        if (table->columns[c].role == role)
            return (int)c;
    return -1;
}

int pf_table_column_named(const struct pf_table *table, const char *name)
{
    for (size_t c = 0; c < table->n_columns; c++)
        if (!strcmp(table->columns[c].name, name))
            return (int)c;
    return -1;
}

/* ---- rows with the model's names filled in ------------------------------------------------------ */

/* A column whose cells come from the model: the driver's cell holds an index, or is absent. */
struct filled {
    unsigned column;
    enum pf_role role;
    unsigned field;
};

/* A cursor, and the cells of its current row as they are printed. */
struct table_walk {
    struct pf_cursor cursor;
    const struct pf_cursor_ops *ops;
    struct pf_cell *cells;
    struct pf_cell *
        metric_names; /* only if the table has a metric column; other tables may be read before metrics exist */
    size_t n_metrics;
    struct filled *filled; /* columns of the partition, then of the context, then the others */
    size_t n_partition, n_named, n_filled; /* ends of these ranges of filled[] */
    struct pf_cell *named;                 /* cells of filled[0 .. n_named) in the current row */
    size_t partition_size,
        context_size; /* bytes of the partition's and of the context's cells in the current row, with a comma each */
    int partition_column, context_column; /* -1: none */
    int64_t partition, context;           /* of the current row; -1: none */
    bool opened;
};

static void walk_close(struct table_walk *walk)
{
    if (walk->opened)
        walk->ops->close(&walk->cursor);
    free(walk->cells);
    free(walk->metric_names);
    free(walk->filled);
    free(walk->named);
}

static bool is_partition_role(enum pf_role role)
{
    return role == PF_PARTITION || role == PF_PARTITION_FIELD;
}

static bool is_context_role(enum pf_role role)
{
    return role == PF_CONTEXT || role == PF_CONTEXT_NAME;
}

static void list_filled(struct table_walk *walk, const struct pf_table *table, bool partition, bool context)
{
    for (unsigned c = 0; c < table->n_columns; c++) {
        const struct pf_column *column = &table->columns[c];
        if (column->role != PF_PLAIN && is_partition_role(column->role) == partition &&
            is_context_role(column->role) == context)
            walk->filled[walk->n_filled++] = (struct filled){c, column->role, column->field};
    }
}

/* Lists all filled columns. Sets partition_size and context_size as if the cells were absent: no row has been read yet. */
static void list_all_filled(struct table_walk *walk, const struct pf_table *table)
{
    list_filled(walk, table, true, false);
    walk->partition_size = walk->n_partition = walk->n_filled;
    list_filled(walk, table, false, true);
    walk->n_named = walk->n_filled;
    walk->context_size = walk->n_named - walk->n_partition;
    list_filled(walk, table, false, false);
}

static int walk_open(struct table_walk *walk, struct pf_model *model, const struct pf_table *table,
                     struct pf_restriction only, struct pf_error *error)
{
    *walk = (struct table_walk){.cursor = {.model = model, .table = table, .only = only},
                          .ops = pf_table_ops(table),
                          .partition = -1,
                          .context = -1,
                          .partition_column = pf_table_column(table, PF_PARTITION),
                          .context_column = pf_table_column(table, PF_CONTEXT)};
    walk->cells = calloc(table->n_columns + 1, sizeof *walk->cells);
    walk->n_metrics = pf_table_has(table, PF_METRIC) ? model->n_metrics : 0;
    walk->metric_names = calloc(walk->n_metrics + 1, sizeof *walk->metric_names);
    walk->filled = calloc(table->n_columns + 1, sizeof *walk->filled);
    walk->named = calloc(table->n_columns + 1, sizeof *walk->named);
    if (!walk->cells || !walk->metric_names || !walk->filled || !walk->named) {
        walk_close(walk);
        return pf_fail_memory(error);
    }
    list_all_filled(walk, table);
    for (size_t m = 0; m < walk->n_metrics; m++) {
        walk->metric_names[m] = pf_string(model->metrics[m].name);
        pf_cell_mark(&walk->metric_names[m]);
    }
    walk->opened = true;
    if (walk->ops->open(&walk->cursor, error)) {
        walk_close(walk);
        return -1;
    }
    return 0;
}

static struct pf_cell partition_cell(const struct pf_partitions *partitions, int64_t i,
                                     const struct filled *filled)
{
    bool field = filled->role == PF_PARTITION_FIELD;
    const struct pf_rows *rows = field ? partitions->fields : partitions->items;
    if (i < 0 || (uint64_t)i >= pf_rows_count(rows))
        return pf_absent();
    return pf_rows_at(rows, (size_t)i)[field ? filled->field : 1];
}

/* Returns a metric's or key's cell as it is printed: the name instead of the index. */
static struct pf_cell model_cell(const struct table_walk *walk, const struct filled *filled)
{
    const struct pf_model *model = walk->cursor.model;
    const struct pf_cell *cell = &walk->cells[filled->column];
    const struct pf_rows *keys = pf_extra_of(model)->keys.items;
    bool metric = filled->role == PF_METRIC;
    uint64_t known = metric ? walk->n_metrics : pf_rows_count(keys);
    if (cell->type != PF_INT || cell->u >= known)
        return pf_absent();
    return metric ? walk->metric_names[cell->i] : pf_rows_at(keys, (size_t)cell->i)[1];
}

static int64_t index_in(const struct pf_cell *cells, int column)
{
    return column >= 0 && cells[column].type == PF_INT ? cells[column].i : -1;
}

/* Caches the partition's cells in walk->named, since rows mostly come in runs of one partition. */
static void name_partition(struct table_walk *walk, int64_t partition)
{
    walk->partition = partition;
    walk->partition_size = walk->n_partition;
    for (size_t i = 0; i < walk->n_partition; i++) {
        walk->named[i] = partition_cell(&walk->cursor.model->partitions, partition, &walk->filled[i]);
        walk->partition_size += pf_row_cell_size(&walk->named[i]);
    }
}

/* Caches the context's cells in walk->named, after those of the partition. */
static void name_context(struct table_walk *walk, int64_t context)
{
    const struct pf_tree *tree = walk->cursor.model->contexts;
    bool known = tree && context >= 0 && context < tree->count;
    walk->context = context;
    walk->context_size = walk->n_named - walk->n_partition;
    for (size_t i = walk->n_partition; i < walk->n_named; i++) {
        walk->named[i] = !known ? pf_absent()
                         : walk->filled[i].role == PF_CONTEXT
                             ? pf_uint(pf_tree_id(tree, (uint32_t)context))
                             : pf_interned(tree->strings, tree->name[context]);
        walk->context_size += pf_row_cell_size(&walk->named[i]);
    }
}

/* Reads the next row: the driver's cells into walk->cells; updates walk->named. */
static inline int walk_step(struct table_walk *walk, struct pf_error *error)
{
    int more = walk->ops->next(&walk->cursor, walk->cells, error);
    if (more <= 0)
        return more;
    int64_t partition = index_in(walk->cells, walk->partition_column);
    int64_t context = index_in(walk->cells, walk->context_column);
    if (partition != walk->partition)
        name_partition(walk, partition);
    if (context != walk->context)
        name_context(walk, context);
    return more;
}

/* Moves to the next row and fills in its cells as they are printed. */
static inline int walk_next(struct table_walk *walk, struct pf_error *error)
{
    int more = walk_step(walk, error);
    if (more <= 0)
        return more;
    for (size_t i = 0; i < walk->n_named; i++)
        walk->cells[walk->filled[i].column] = walk->named[i];
    for (size_t i = walk->n_named; i < walk->n_filled; i++)
        walk->cells[walk->filled[i].column] = model_cell(walk, &walk->filled[i]);
    return more;
}

/* ---- lines -------------------------------------------------------------------------------------- */

struct slice_walk {
    struct pf_walk base;
    struct table_walk walk;
    bool started; /* past the header */
    bool ended;   /* the cursor is at its end and must not be advanced again */
    size_t n_printed;
    unsigned printed[]; /* the columns that are printed */
};

static bool dropped(const struct pf_table_slice *slice, enum pf_role role)
{
    switch (role) {
    case PF_PARTITION:
    case PF_PARTITION_FIELD:
        return slice->only.partition >= 0;
    case PF_CONTEXT:
    case PF_CONTEXT_NAME:
        return slice->only.context >= 0;
    case PF_METRIC:
        return slice->only.metric >= 0;
    case PF_KEY:
        return slice->only.key >= 0;
    case PF_PLAIN:
    case PF_GROUP:
        break;
    }
    return false;
}

static void add_header(struct slice_walk *view, struct pf_buf *out)
{
    for (size_t k = 0; k < view->n_printed; k++) {
        struct pf_cell name = pf_string(view->walk.cursor.table->columns[view->printed[k]].name);
        pf_csv_cell(out, &name);
        pf_buf_char(out, k + 1 < view->n_printed ? ',' : '\n');
    }
    view->started = true;
}

/* Limits of a record: several short rows form one record, to amortise the cost of the calls between modules. */
enum { ROWS_AT_ONCE = 16, BYTES_AT_ONCE = 1024 };

static int next_lines(struct pf_walk *base, struct pf_buf *out, struct pf_error *error)
{
    struct slice_walk *view = (struct slice_walk *)base;
    if (!view->started) {
        add_header(view, out);
        return 1;
    }
    size_t start = out->size;
    int rows = 0;
    while (!view->ended && rows < ROWS_AT_ONCE && out->size - start < BYTES_AT_ONCE) {
        int more = walk_next(&view->walk, error);
        if (more < 0)
            return -1;
        view->ended = !more;
        if (more)
            pf_row_add(out, view->walk.cells, view->printed, view->n_printed);
        rows += more;
    }
    return rows > 0;
}

static int measure_line(struct pf_walk *base, uint64_t *size, struct pf_error *error)
{
    struct slice_walk *view = (struct slice_walk *)base;
    if (!view->started) {
        struct pf_buf out = {0};
        add_header(view, &out);
        *size += out.size;
        int failed = out.failed ? pf_fail_memory(error) : 0;
        pf_buf_free(&out);
        return failed ? -1 : 1;
    }
    int more = walk_next(&view->walk, error);
    if (more > 0)
        *size += pf_row_measure(view->walk.cells, view->printed, view->n_printed);
    return more;
}

static size_t save_lines(const struct pf_walk *base, void *saved, size_t room)
{
    const struct slice_walk *view = (const struct slice_walk *)base;
    return view->started ? view->walk.ops->save(&view->walk.cursor, saved, room) : 0;
}

static int restore_lines(struct pf_walk *base, const void *saved, size_t size, struct pf_error *error)
{
    struct slice_walk *view = (struct slice_walk *)base;
    view->started = true;
    view->ended = false;
    return view->walk.ops->restore(&view->walk.cursor, saved, size, error);
}

static void close_lines(struct pf_walk *base)
{
    struct slice_walk *view = (struct slice_walk *)base;
    walk_close(&view->walk);
    free(view);
}

static double lines_progress(const struct pf_walk *base)
{
    const struct table_walk *walk = &((const struct slice_walk *)base)->walk;
    return walk->ops->progress ? walk->ops->progress(&walk->cursor) : 0;
}

static const struct pf_walk_ops table_lines_ops = {next_lines,    measure_line, save_lines,
                                                   restore_lines, close_lines,  lines_progress};

struct pf_walk *pf_table_walk(struct pf_model *model, const struct pf_table_slice *slice,
                              struct pf_error *error)
{
    const struct pf_table *table = slice->table;
    struct slice_walk *view = calloc(1, sizeof *view + table->n_columns * sizeof *view->printed);
    if (!view) {
        pf_fail_memory(error);
        return NULL;
    }
    view->base.ops = &table_lines_ops;
    for (unsigned c = 0; c < table->n_columns; c++)
        if (!dropped(slice, table->columns[c].role))
            view->printed[view->n_printed++] = c;
    if (walk_open(&view->walk, model, table, slice->only, error)) {
        free(view);
        return NULL;
    }
    return &view->base;
}

/* ---- measuring ---------------------------------------------------------------------------------- */

struct pf_measure {
    struct table_walk walk;
    size_t n_plain;
    unsigned plain[]; /* columns whose cells are printed unchanged */
};

struct pf_measure *pf_measure_new(struct pf_model *model, const struct pf_table *table, int64_t partition,
                                  struct pf_error *error)
{
    struct pf_measure *measure = calloc(1, sizeof *measure + table->n_columns * sizeof *measure->plain);
    if (!measure) {
        pf_fail_memory(error);
        return NULL;
    }
    struct pf_restriction only = PF_UNRESTRICTED;
    only.partition = partition;
    if (walk_open(&measure->walk, model, table, only, error)) {
        free(measure);
        return NULL;
    }
    for (unsigned c = 0; c < table->n_columns; c++)
        if (table->columns[c].role == PF_PLAIN)
            measure->plain[measure->n_plain++] = c;
    return measure;
}

int pf_measure_next(struct pf_measure *measure, struct pf_row_size *size, struct pf_error *error)
{
    struct table_walk *walk = &measure->walk;
    int more = walk_step(walk, error);
    if (more <= 0)
        return more;
    size_t full = walk->partition_size + walk->context_size +
                  pf_row_measure(walk->cells, measure->plain, measure->n_plain);
    for (size_t i = walk->n_named; i < walk->n_filled; i++) {
        struct pf_cell cell = model_cell(walk, &walk->filled[i]);
        full += pf_row_cell_size(&cell) + 1;
    }
    *size = (struct pf_row_size){.full = full,
                                 .partition = walk->partition_size,
                                 .context = walk->context_size,
                                 .partition_index = walk->partition,
                                 .context_index = walk->context};
    return 1;
}

size_t pf_measure_save(const struct pf_measure *measure, void *saved, size_t room)
{
    return measure->walk.ops->save(&measure->walk.cursor, saved, room);
}

double pf_measure_progress(const struct pf_measure *measure)
{
    const struct table_walk *walk = &measure->walk;
    return walk->ops->progress ? walk->ops->progress(&walk->cursor) : 0;
}

void pf_measure_free(struct pf_measure *measure)
{
    if (!measure)
        return;
    walk_close(&measure->walk);
    free(measure);
}

static void add_size(struct pf_row_size *size, enum pf_role role, size_t cell)
{
    size->full += cell + 1;
    if (is_partition_role(role))
        size->partition += cell + 1;
    else if (is_context_role(role))
        size->context += cell + 1;
}

struct pf_row_size pf_header_size(const struct pf_table *table)
{
    struct pf_row_size size = {.partition_index = -1, .context_index = -1};
    for (size_t c = 0; c < table->n_columns; c++) {
        struct pf_cell name = pf_string(table->columns[c].name);
        add_size(&size, table->columns[c].role, pf_csv_cell_size(&name));
    }
    return size;
}
