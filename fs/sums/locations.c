/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/table.h"
#include "fs/sums/aggregate_private.h"
#include "fs/text/csv.h"
#include "fs/text/table.h"

/*
 * modules.csv, files.csv and lines.csv: exclusive values by load module, source file and source line.
 *
 * A context without a location of its own has that of the nearest context above it, up to its frame: an instruction has
 * the file of its line, a line has the module of its function. If a format's lines are not contexts, the format has a
 * table "lines", from which lines.csv is made.
 */

/* The sum over a source location: a load module or source file (which have only a name), or a source line. */
struct pf_location {
    union pf_number exclusive;
    uint32_t functions;  /* number of functions with a frame there; 0 for lines */
    uint32_t name, file; /* strings; PF_NO_STRING: none. For a line, `name` is its function */
    uint32_t line;       /* 0: none */
};

/* Modules, files or lines, numbered in order of first appearance. */
struct locations {
    const struct pf_values *values;
    enum pf_order_kind kind;
    struct pf_hash_table table;
    struct pf_location *all; /* by number */
    size_t n, room;
    bool real; /* the sums of locations are doubles */
};

/* A function that has a frame in a location. */
struct location_function {
    uint32_t location, name, file;
    uint8_t kind;
};

struct location_functions {
    struct pf_hash_table table;
    struct location_function *all;
    size_t n, room;
};

static bool is_same_location(const void *of, uint32_t number, const void *key)
{
    const struct pf_location *location = (const struct pf_location *)of + number, *other = key;
    return location->name == other->name && location->file == other->file && location->line == other->line;
}

/* Finds or adds a location and sets *number to its number. Returns 0, or -1 with *error filled. */
static int number_location(struct locations *locations, const struct pf_location *key, uint32_t *number,
                           struct pf_error *error)
{
    uint64_t hash = pf_siphash_number(((uint64_t)key->name << 32 | key->file) ^ (uint64_t)key->line << 20);
    int64_t known = pf_hash_find(&locations->table, hash, is_same_location, locations->all, key);
    if (known != PF_NOT_THERE) {
        *number = (uint32_t)known;
        return 0;
    }
    if (pf_array_room(&locations->all, &locations->room, locations->n, sizeof *key, error) ||
        pf_hash_add(&locations->table, hash, (uint32_t)locations->n, error))
        return -1;
    locations->all[locations->n] = *key;
    *number = (uint32_t)locations->n++;
    return 0;
}

static bool is_location_function(const void *of, uint32_t number, const void *key)
{
    const struct location_function *a = (const struct location_function *)of + number, *b = key;
    return a->location == b->location && a->name == b->name && a->file == b->file && a->kind == b->kind;
}

/* Counts the function of a frame for a location, unless the function is counted there already. Returns 0, or -1 with *error
 * filled. */
static int count_function(struct locations *locations, struct location_functions *functions,
                          uint32_t location, uint32_t context, struct pf_error *error)
{
    const struct pf_tree *tree = locations->values->tree;
    struct location_function key = {location, tree->name[context],
                                    tree->file ? pf_string_or_none(tree->strings, tree->file[context])
                                               : PF_NO_STRING,
                                    tree->kind[context]};
    uint64_t hash =
        pf_siphash_number(((uint64_t)key.name << 32 | key.file) ^ (uint64_t)location << 16 ^ key.kind);
    if (pf_hash_find(&functions->table, hash, is_location_function, functions->all, &key) != PF_NOT_THERE)
        return 0;
    if (pf_array_room(&functions->all, &functions->room, functions->n, sizeof key, error) ||
        pf_hash_add(&functions->table, hash, (uint32_t)functions->n, error))
        return -1;
    functions->all[functions->n++] = key;
    locations->all[location].functions++;
    return 0;
}

/* ---- modules and files -------------------------------------------------------------------------- */

/*
 * Adds each context's exclusive value to its module or file. `column`: the tree's modules or files, by context. at[] is scratch,
 * one item per context.
 */
static int sum_by_column(struct locations *locations, const uint32_t *column, uint32_t *at,
                         struct location_functions *functions, struct pf_error *error)
{
    const struct pf_values *values = locations->values;
    const struct pf_tree *tree = values->tree;
    for (uint32_t i = 0; i < values->n; i++) {
        bool head = pf_is_function_head(tree, i);
        uint32_t own = column ? pf_string_or_none(tree->strings, column[i]) : PF_NO_STRING, number;
        at[i] = own != PF_NO_STRING || head ? own : at[tree->parent[i]];
        if (!values->present[i])
            continue;
        struct pf_location key = {.name = at[i], .file = PF_NO_STRING};
        if (number_location(locations, &key, &number, error) ||
            (head && count_function(locations, functions, number, i, error)))
            return -1;
        pf_number_add(&locations->all[number].exclusive, &values->exclusive[i], values->exclusive_real);
    }
    return 0;
}

static int sum_columns(struct pf_values *values, struct locations *locations, struct pf_error *error)
{
    const struct pf_tree *tree = values->tree;
    struct location_functions functions = {0};
    int result = sum_by_column(locations, locations->kind == PF_BY_MODULE ? tree->module : tree->file,
                               values->scratch, &functions, error);
    pf_hash_free(&functions.table);
    free(functions.all);
    return result;
}

/* ---- lines of contexts -------------------------------------------------------------------------- */

/* Arrays by context. */
struct location_lines {
    uint32_t *head; /* head of the context's function */
    uint32_t *line; /* the context whose line applies; PF_NO_CONTEXT: none */
    uint32_t *file; /* the source file that applies; PF_NO_STRING: none */
};

/* Makes the exclusive values of contexts disjoint. If an exclusive metric adds up over frames, a frame's value includes the
 * values of the frame's loops and lines. The value of each loop or line is therefore subtracted from the nearest context above
 * it that belongs to the frame and has a value. */
static void subtract_nested(struct pf_values *values, const uint32_t *head)
{
    const struct pf_tree *tree = values->tree;
    int metric = values->partners.exclusive;
    uint32_t *nearest = values->scratch;
    if (metric == PF_NO_PARTNER || values->aggregate->model->metrics[metric].over_contexts != PF_OVER_FRAMES)
        return;
    memset(values->exclusive, 0, values->n * sizeof *values->exclusive);
    for (uint32_t i = 0; i < values->n; i++) {
        union pf_number part = {0};
        nearest[i] = head[i] == i ? PF_NO_CONTEXT : nearest[tree->parent[i]];
        bool stored = pf_values_stored(values, metric, i, values->exclusive_real, &part);
        if (!(tree->flags[head[i]] & PF_FRAME) || !(stored || tree->flags[i] & PF_FRAME))
            continue;
        pf_number_add(&values->exclusive[i], &part, values->exclusive_real);
        if (nearest[i] != PF_NO_CONTEXT)
            pf_number_subtract(&values->exclusive[nearest[i]], &part, values->exclusive_real);
        nearest[i] = i;
    }
}

static void find_lines(const struct pf_tree *tree, uint32_t n, struct location_lines *lines)
{
    for (uint32_t i = 0; i < n; i++) {
        bool head = pf_is_function_head(tree, i), has_line = tree->line && tree->line[i];
        uint32_t parent = tree->parent[i];
        uint32_t file = tree->file ? pf_string_or_none(tree->strings, tree->file[i]) : PF_NO_STRING;
        lines->head[i] = head ? i : lines->head[parent];
        lines->file[i] = file != PF_NO_STRING || head ? file : lines->file[parent];
        lines->line[i] = has_line ? i : head ? PF_NO_CONTEXT : lines->line[parent];
    }
}

static int add_lines(struct locations *locations, const struct location_lines *lines, struct pf_error *error)
{
    const struct pf_values *values = locations->values;
    const struct pf_tree *tree = values->tree;
    for (uint32_t i = 0; i < values->n; i++) {
        uint32_t line = lines->line[i], number;
        struct pf_location key = {.name = PF_NO_STRING, .file = PF_NO_STRING};
        if (!values->present[i])
            continue;
        if (line != PF_NO_CONTEXT)
            key = (struct pf_location){.name = pf_string_or_none(tree->strings, tree->name[lines->head[i]]),
                                       .file = lines->file[line],
                                       .line = tree->line[line]};
        if (number_location(locations, &key, &number, error))
            return -1;
        pf_number_add(&locations->all[number].exclusive, &values->exclusive[i], values->exclusive_real);
    }
    return 0;
}

static int sum_lines(struct pf_values *values, struct locations *locations, struct pf_error *error)
{
    size_t n = (size_t)values->n + 1;
    struct location_lines lines = {calloc(n, sizeof(uint32_t)), calloc(n, sizeof(uint32_t)),
                                   calloc(n, sizeof(uint32_t))};
    int result;
    if (lines.head && lines.line && lines.file) {
        find_lines(values->tree, values->n, &lines);
        subtract_nested(values, lines.head);
        result = add_lines(locations, &lines, error);
    } else {
        result = pf_fail_memory(error);
    }
    free(lines.head);
    free(lines.line);
    free(lines.file);
    return result;
}

/* ---- lines of the format's own table ------------------------------------------------------------ */

struct line_columns {
    int metric, value, line, name, file;
};

static const struct pf_table *find_line_table(const struct pf_model *model, struct line_columns *columns)
{
    for (size_t t = 0; t < model->n_tables; t++) {
        const struct pf_table *table = &model->tables[t];
        *columns =
            (struct line_columns){pf_table_column(table, PF_METRIC), pf_table_column_named(table, "value"),
                                  pf_table_column_named(table, "line"), pf_table_column_named(table, "name"),
                                  pf_table_column_named(table, "file")};
        if (!strcmp(table->name, "lines") && columns->metric >= 0 && columns->value >= 0 &&
            columns->line >= 0 && columns->name >= 0 && columns->file >= 0)
            return table;
    }
    return NULL;
}

/* Interns a text cell in the order's own strings; an empty cell becomes PF_NO_STRING. Returns 0, or -1 with
 * *error filled. */
static int intern_cell(struct pf_strings *strings, const struct pf_cell *cell, uint32_t *number,
                       struct pf_error *error)
{
    *number = PF_NO_STRING;
    if (cell->type != PF_TEXT || !cell->size)
        return 0;
    *number = pf_intern(strings, cell->text, cell->size, error);
    return *number == PF_NO_STRING ? -1 : 0;
}

static int add_line_row(struct locations *locations, struct pf_strings *strings,
                        const struct line_columns *columns, const struct pf_cell *cells,
                        struct pf_error *error)
{
    union pf_number value;
    bool real;
    uint32_t number;
    const struct pf_cell *line = &cells[columns->line];
    struct pf_location key = {.line = line->type == PF_INT ? (uint32_t)line->i : 0};
    if (!pf_number_of_cell(&cells[columns->value], &value, &real))
        return 0;
    if (intern_cell(strings, &cells[columns->name], &key.name, error) ||
        intern_cell(strings, &cells[columns->file], &key.file, error) ||
        number_location(locations, &key, &number, error))
        return -1;
    if (real && !locations->real) {
        for (size_t i = 0; i < locations->n; i++)
            locations->all[i].exclusive = pf_number_real(locations->all[i].exclusive);
        locations->real = true;
    }
    if (locations->real && !real)
        value = pf_number_real(value);
    pf_number_add(&locations->all[number].exclusive, &value, locations->real);
    return 0;
}

/* Adds the table's rows of the metric. Returns 0, or -1 with *error filled. */
static int read_line_table(struct locations *locations, struct pf_strings *strings,
                           const struct pf_table *table, const struct line_columns *columns,
                           struct pf_error *error)
{
    const struct pf_cursor_ops *ops = pf_table_ops(table);
    struct pf_model *model = (struct pf_model *)locations->values->aggregate->model;
    struct pf_cursor cursor = {.model = model, .table = table, .only = PF_UNRESTRICTED};
    struct pf_cell *cells = calloc(table->n_columns + 1, sizeof *cells);
    cursor.only.metric = locations->values->metric;
    if (!cells)
        return pf_fail_memory(error);
    int more = ops->open(&cursor, error) ? -1 : 1;
    while (more > 0) {
        more = ops->next(&cursor, cells, error);
        const struct pf_cell *metric = &cells[columns->metric];
        if (more > 0 && metric->type == PF_INT && metric->i == locations->values->metric &&
            add_line_row(locations, strings, columns, cells, error))
            more = -1;
    }
    ops->close(&cursor);
    free(cells);
    return more;
}

/* ---- order -------------------------------------------------------------------------------------- */

struct location_sort {
    const struct pf_strings *strings;
    bool real;
};

static int highest_first(const void *a, const void *b, void *context)
{
    const struct location_sort *by = context;
    const struct pf_location *x = a, *y = b;
    int order = pf_number_compare(&y->exclusive, &x->exclusive, by->real);
    if (!order)
        order = pf_compare_strings(by->strings, x->name, y->name);
    if (!order)
        order = pf_compare_strings(by->strings, x->file, y->file);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int make_locations(struct pf_values *values, struct pf_order *order, struct locations *locations,
                          struct pf_error *error)
{
    struct line_columns columns;
    const struct pf_table *table =
        locations->kind == PF_BY_LINE ? find_line_table(values->aggregate->model, &columns) : NULL;
    if (locations->kind != PF_BY_LINE)
        return sum_columns(values, locations, error);
    if (table) {
        if (!(order->strings = pf_strings_new()))
            return pf_fail_memory(error);
        if (read_line_table(locations, order->strings, table, &columns, error))
            return -1;
        if (locations->n)
            return 0;
        pf_strings_free(order->strings);
        order->strings = NULL;
    }
    return sum_lines(values, locations, error);
}

int pf_order_locations(struct pf_values *values, struct pf_order *order, struct pf_error *error)
{
    struct locations locations = {.values = values, .kind = order->kind, .real = values->exclusive_real};
    int result = make_locations(values, order, &locations, error);
    struct location_sort sort = {order->strings ? order->strings : values->tree->strings, locations.real};
    if (!result && locations.n > 1)
        qsort_r(locations.all, locations.n, sizeof *locations.all, highest_first, &sort);
    pf_hash_free(&locations.table);
    order->locations = locations.all;
    order->n_locations = locations.n;
    order->exclusive_real = locations.real;
    order->bytes = (uint64_t)locations.room * sizeof *locations.all +
                   (order->strings ? pf_strings_bytes(order->strings) : 0);
    return result;
}

/* ---- rows --------------------------------------------------------------------------------------- */

static const struct pf_strings *walk_strings(const struct pf_metric_walk *walk)
{
    return walk->order->strings ? walk->order->strings : walk->model->contexts->strings;
}

/* Fills the cells exclusive, exclusive_percent and unit of a location. */
static void add_sums(const struct pf_metric_walk *walk, const struct pf_location *location,
                     struct pf_cell cells[3])
{
    const struct pf_order *order = walk->order;
    const struct pf_metric *metric = &walk->model->metrics[walk->metric];
    bool adds = pf_adds_up(metric);
    cells[0] = adds ? pf_number_cell(&location->exclusive, order->exclusive_real) : pf_absent();
    cells[1] = adds ? pf_percent_cell(&location->exclusive, order->exclusive_real, order->totals.exclusive)
                    : pf_absent();
    cells[2] = pf_string(metric->unit);
}

static void add_column_row(const struct pf_metric_walk *walk, uint64_t at, struct pf_buf *out)
{
    const struct pf_location *location = &walk->order->locations[at];
    struct pf_cell cells[5] = {
        pf_uint(location->functions), [4] = pf_interned(walk_strings(walk), location->name)};
    add_sums(walk, location, cells + 1);
    pf_csv_row(out, cells, 5, '\n');
}

bool pf_modules_record(struct pf_metric_walk *walk, struct pf_buf *out)
{
    uint64_t at = walk->base.position++;
    if (at)
        add_column_row(walk, at - 1, out);
    else
        pf_buf_str(out, "functions,exclusive,exclusive_percent,unit,module\n");
    return true;
}

bool pf_files_record(struct pf_metric_walk *walk, struct pf_buf *out)
{
    uint64_t at = walk->base.position++;
    if (at)
        add_column_row(walk, at - 1, out);
    else
        pf_buf_str(out, "functions,exclusive,exclusive_percent,unit,file\n");
    return true;
}

bool pf_lines_record(struct pf_metric_walk *walk, struct pf_buf *out)
{
    uint64_t at = walk->base.position++;
    if (!at) {
        pf_buf_str(out, "exclusive,exclusive_percent,unit,line,name,file\n");
        return true;
    }
    const struct pf_location *location = &walk->order->locations[at - 1];
    struct pf_cell cells[6] = {[3] = location->line ? pf_uint(location->line) : pf_absent(),
                               pf_interned(walk_strings(walk), location->name),
                               pf_interned(walk_strings(walk), location->file)};
    add_sums(walk, location, cells);
    pf_csv_row(out, cells, 6, '\n');
    return true;
}
