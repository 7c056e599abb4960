/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/hpctoolkit/read.h"
#include "formats/kit/numbered.h"
#include "formats/kit/position.h"

/* ---- tables of measurements: the cursor ---------------------------------------------------------- */

/*
 * One cursor walks them all. Rows stand in groups, groups in threads (a summary is as one thread): a group is what a thread has in
 * a context, a row of a dense table of 2.x, or all samples of a thread. A kind says what its groups and their rows are.
 */
struct position {
    uint64_t row; /* the next one of the group, which may have fewer */
    uint32_t thread, group;
};

struct walk {
    struct hpc_state *state;
    const struct pf_tree *tree;
    struct pf_restriction only;
    struct position at;
    uint32_t first, end;    /* threads */
    bool entered;           /* it stands in thread at.thread: blocks and files are ready */
    bool open;              /* it stands in group at.group, whose rows are */
    uint64_t rows;          /* so many, */
    uint32_t context;       /* of this context */
    struct hpc_group group; /* the values, if they are few */
    struct hpc_block_walk block;
    struct hpc_column column; /* over one context */
    struct hpc_window window;
    struct hpc_part *part; /* of 2.x: the file that is being read, or NULL */
};

struct kind {
    struct pf_cursor_ops ops;
    bool of_threads;                                              /* else of a summary */
    uint32_t (*groups)(const struct walk *walk, uint32_t thread); /* at most */
    /* Opens group at.group of the thread, or the first one behind it that has rows. 1; 0: there is none; -1: *error filled. */
    int (*enter)(struct walk *walk, struct pf_error *error);
    /* Fills the cells of a row. 1; 0: it is not wanted; -1: *error filled. */
    int (*row)(struct walk *walk, uint64_t row, struct pf_cell *cells, struct pf_error *error);
};

/* The ops are the first member. */
static const struct kind *kind_of(const struct pf_cursor *cursor)
{
    return (const struct kind *)(const void *)cursor->table->ops;
}

static void leave_thread(struct walk *walk)
{
    walk->entered = walk->open = false;
    walk->window.have = 0;
    if (walk->part)
        hpc_part_release(walk->state->parts, walk->part);
    walk->part = NULL;
}

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(cursor->profile);
    struct walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    walk->state = state;
    walk->tree = cursor->profile->contexts;
    walk->only = cursor->only;
    walk->end = kind_of(cursor)->of_threads ? state->threads.count : 1;
    if (walk->only.partition >= 0 && (uint64_t)walk->only.partition < walk->end) {
        walk->first = walk->at.thread = (uint32_t)walk->only.partition;
        walk->end = walk->first + 1;
    }
    if (walk->only.context >= 0 && (uint64_t)walk->only.context >= walk->tree->count)
        walk->end = 0;
    return 0;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    const struct kind *kind = kind_of(cursor);
    struct walk *walk = cursor->state;
    for (;;) {
        while (walk->open && walk->at.row < walk->rows) {
            int got = kind->row(walk, walk->at.row++, cells, error);
            if (got)
                return got;
        }
        if (walk->open)
            walk->at = (struct position){.thread = walk->at.thread, .group = walk->at.group + 1};
        walk->open = false;
        if (walk->at.thread >= walk->end)
            return 0;
        int more = kind->enter(walk, error);
        if (more < 0)
            return -1;
        walk->entered = walk->open = more;
        if (more)
            continue;
        leave_thread(walk);
        walk->at = (struct position){.thread = walk->at.thread + 1};
    }
}

static size_t save_walk(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    return pf_position_save(&walk->at, sizeof walk->at, blob, room);
}

static int restore_walk(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    const struct kind *kind = kind_of(cursor);
    struct walk *walk = cursor->state;
    uint32_t threads = kind->of_threads ? walk->state->threads.count : 1;
    struct position at;
    if (pf_position_restore(&at, sizeof at, blob, size, error))
        return -1;
    if (at.thread > threads || at.thread < walk->first ||
        (at.thread < threads && walk->only.context < 0 && at.group > kind->groups(walk, at.thread)))
        return pf_position_refuse(error);
    leave_thread(walk);
    hpc_column_close(&walk->column);
    walk->column.state = NULL;
    walk->at = at;
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    struct walk *walk = cursor->state;
    if (!walk)
        return;
    leave_thread(walk);
    hpc_window_close(&walk->window);
    hpc_block_leave(&walk->block);
    hpc_column_close(&walk->column);
    free(walk->group.values);
    free(walk);
    cursor->state = NULL;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct walk *walk = cursor->state;
    if (walk->at.thread >= walk->end)
        return 1;
    uint32_t groups = kind_of(cursor)->groups(walk, walk->at.thread);
    double inside = walk->at.group >= groups ? 1
                    : groups > 1             ? (double)walk->at.group / groups
                    : walk->open             ? (double)walk->at.row / (double)walk->rows
                                             : 0;
    return (walk->at.thread - walk->first + inside) / (walk->end - walk->first);
}

#define WALK                                                                                                 \
    {                                                                                                        \
        open_walk, next_row, save_walk, restore_walk, close_walk, progress                                   \
    }

/* Goes on to a group of the thread; false if that lies behind the walk. */
static bool go_to(struct walk *walk, uint64_t group)
{
    if (group < walk->at.group)
        return false;
    if (group > walk->at.group)
        walk->at = (struct position){.thread = walk->at.thread, .group = (uint32_t)group};
    return true;
}

static const struct hpc_thread *thread_of(const struct walk *walk)
{
    return &walk->state->threads.items[walk->at.thread];
}

/* Makes the file of 2.x ready that the walk reads. 0, or -1 with *error filled. */
static int use_part(struct walk *walk, uint32_t part, struct pf_error *error)
{
    if (!walk->part)
        walk->part = hpc_part_use(walk->state->parts, part, &walk->window.input, error);
    return walk->part ? 0 : -1;
}

/* ---- values and summary of profile.db ------------------------------------------------------------ */

/* Columns of the table "values": thread by thread, in each by ascending context id, in each by ascending metric id. */
enum { THREAD, CONTEXT, METRIC, VALUE, NAME };

static const struct pf_column values_columns[] = {
    [THREAD] = {"thread", PF_PARTITION, 0}, [CONTEXT] = {"context", PF_CONTEXT, 0},
    [METRIC] = {"metric", PF_METRIC, 0},    [VALUE] = {"value", PF_PLAIN, 0},
    [NAME] = {"name", PF_CONTEXT_NAME, 0},
};

static int set_value(const struct walk *walk, uint32_t metric, double value, struct pf_cell *cells)
{
    cells[THREAD] = pf_int(walk->at.thread);
    cells[CONTEXT] = pf_int(walk->context);
    cells[METRIC] = pf_int(metric);
    cells[VALUE] = pf_double(value);
    return 1;
}

/* Goes through a block: groups are its pairs, those with values of metrics in `known`. */
static int enter_block(struct walk *walk, const struct hpc_block *block, const struct hpc_by_id *known,
                       struct pf_error *error)
{
    uint32_t id;
    uint64_t first, end;
    int more;
    if (!walk->entered)
        hpc_block_enter(&walk->block, walk->state, block, walk->at.group);
    walk->entered = true;
    while ((more = hpc_block_next(&walk->block, &id, &first, &end, error)) > 0) {
        go_to(walk, walk->block.entry - 1);
        walk->context = hpc_idmap_find(&walk->state->model.ids, id);
        if (walk->context == HPC_NO_NUMBER) /* as in a damaged database; told when contexts were read */
            continue;
        if (hpc_block_values(&walk->block, first, end, known, &walk->group, error))
            return -1;
        walk->rows = walk->group.count;
        if (walk->rows)
            return 1;
    }
    return more;
}

/* Of one context, each thread has one group. */
static int enter_column(struct walk *walk, struct pf_error *error)
{
    uint32_t thread;
    walk->context = (uint32_t)walk->only.context;
    if (!walk->column.state &&
        hpc_column_open(&walk->column, walk->state, walk->context, (uint32_t)walk->tree->id[walk->context],
                        walk->at.thread + (walk->at.group > 0), error))
        return -1;
    int more = hpc_column_next(&walk->column, &thread, &walk->group, error);
    if (more <= 0 || thread >= walk->end) {
        walk->at.thread = walk->end - 1;
        return more < 0 ? -1 : 0;
    }
    if (thread != walk->at.thread)
        walk->at = (struct position){.thread = thread};
    walk->rows = walk->group.count;
    return 1;
}

static uint32_t pairs_of(const struct walk *walk, uint32_t thread)
{
    return walk->state->threads.items[thread].block.n_contexts;
}

static int enter_values(struct walk *walk, struct pf_error *error)
{
    return walk->only.context >= 0
               ? enter_column(walk, error)
               : enter_block(walk, &thread_of(walk)->block, &walk->state->metrics.by_id, error);
}

static int values_row(struct walk *walk, uint64_t row, struct pf_cell *cells, struct pf_error *error)
{
    const struct hpc_group_value *value = &walk->group.values[row];
    uint32_t metric = hpc_metric_at(&walk->state->metrics.by_id, value->metric);
    (void)error;
    return pf_wanted(walk->only.metric, metric) ? set_value(walk, metric, value->value, cells) : 0;
}

static const struct kind values = {WALK, true, pairs_of, enter_values, values_row};

/* Columns of the table "summary" (and "statistics", which is computed from it): by ascending context id, then metric id. */
enum { SUM_CONTEXT, SUM_METRIC, SUM_VALUE, SUM_NAME };

static const struct pf_column summary_columns[] = {
    [SUM_CONTEXT] = {"context", PF_CONTEXT, 0},
    [SUM_METRIC] = {"metric", PF_PLAIN, 0},
    [SUM_VALUE] = {"value", PF_PLAIN, 0},
    [SUM_NAME] = {"name", PF_CONTEXT_NAME, 0},
};

static int set_summary(const struct walk *walk, uint64_t metric, double value, struct pf_cell *cells)
{
    cells[SUM_CONTEXT] = pf_int(walk->context);
    cells[SUM_METRIC] = pf_string(walk->state->summary_metrics.items[metric].name);
    cells[SUM_VALUE] = pf_double(value);
    return 1;
}

static uint32_t summary_pairs(const struct walk *walk, uint32_t thread)
{
    (void)thread;
    return walk->state->summary.n_contexts;
}

/* Of one context only its pair is read. */
static int enter_summary(struct walk *walk, struct pf_error *error)
{
    const struct hpc_state *state = walk->state;
    struct hpc_block block = state->summary;
    uint32_t pair;
    bool single = walk->block.single = walk->only.context >= 0;
    if (single && walk->entered)
        return 0;
    if (single && hpc_block_find(state, &block, (uint32_t)walk->tree->id[walk->only.context], &pair, error))
        return -1;
    if (single && (pair == block.n_contexts || !go_to(walk, pair)))
        return 0;
    int more = enter_block(walk, &block, &state->summary_metrics.by_id, error);
    return more > 0 && single && walk->context != walk->only.context ? 0 : more;
}

static int summary_row(struct walk *walk, uint64_t row, struct pf_cell *cells, struct pf_error *error)
{
    const struct hpc_group_value *value = &walk->group.values[row];
    (void)error;
    return set_summary(walk, hpc_metric_at(&walk->state->summary_metrics.by_id, value->metric), value->value,
                       cells);
}

static const struct kind summary = {WALK, false, summary_pairs, enter_summary, summary_row};

static double operand(void *arg, uint32_t id, bool *known)
{
    const struct hpc_group *group = arg;
    for (size_t i = 0; i < group->count; i++)
        if (group->values[i].metric == id) {
            *known = true;
            return group->values[i].value;
        }
    return 0;
}

/* Rows are the summary's metrics: those that can be computed from the group. */
static int enter_statistics(struct walk *walk, struct pf_error *error)
{
    int more = enter_summary(walk, error);
    walk->rows = walk->state->summary_metrics.count;
    return more;
}

static int statistics_row(struct walk *walk, uint64_t row, struct pf_cell *cells, struct pf_error *error)
{
    const struct hpc_formula *formula = walk->state->summary_metrics.items[row].formula;
    double value;
    (void)error;
    return formula && hpc_formula_value(formula, operand, &walk->group, &value)
               ? set_summary(walk, row, value, cells)
               : 0;
}

static const struct kind statistics = {WALK, false, summary_pairs, enter_statistics, statistics_row};

/* ---- values and summary of 2.x ------------------------------------------------------------------- */

/*
 * A dense table a thread: row r, which is a group here, holds what context r + 1 has, eight bytes a column. Most are zero, which
 * stands for nothing.
 */
enum { CELL = 8, ROOM = 64 * 1024 };

static int enter_dense(struct walk *walk, struct pf_error *error)
{
    const struct hpc_thread *thread = thread_of(walk);
    walk->window.room = ROOM;
    if (walk->only.context >= 0) {
        walk->context = (uint32_t)walk->only.context;
        uint64_t id = walk->tree->id[walk->context];
        if (!id || id - 1 >= thread->block.n_contexts || !go_to(walk, id - 1))
            return 0;
    } else {
        while (walk->at.group < thread->block.n_contexts &&
               (walk->context = hpc_idmap_find(&walk->state->model.ids, (uint64_t)walk->at.group + 1)) ==
                   HPC_NO_NUMBER)
            go_to(walk, (uint64_t)walk->at.group + 1);
        if (walk->at.group >= thread->block.n_contexts)
            return 0;
    }
    walk->rows = thread->columns;
    return use_part(walk, thread->part, error) ? -1 : 1;
}

/* The next value of the row that is not zero. */
static int dense_row(struct walk *walk, uint64_t column, struct pf_cell *cells, struct pf_error *error)
{
    const struct hpc_thread *thread = thread_of(walk);
    uint64_t row = thread->block.values + walk->at.group * walk->rows * CELL;
    uint64_t end = walk->only.context >= 0 ? row + walk->rows * CELL
                                           : thread->block.values + thread->block.n_values * CELL;
    for (; column < walk->rows; column++) {
        const unsigned char *bytes = hpc_window_at(&walk->window, row + column * CELL, CELL, end, error);
        if (!bytes)
            return -1;
        uint32_t metric = hpc_metric_at(&walk->state->columns, (uint32_t)column);
        double value = hpc_f64(bytes, true);
        if (value == 0 || metric == HPC_NO_NUMBER || !pf_wanted(walk->only.metric, metric))
            continue;
        walk->at.row = column + 1;
        return set_value(walk, metric, value, cells);
    }
    walk->at.row = column;
    return 0;
}

static const struct kind dense = {WALK, true, pairs_of, enter_dense, dense_row};

/* The summary's values stand among the contexts of experiment.xml: groups are contexts. */
static uint32_t kept_contexts(const struct walk *walk, uint32_t thread)
{
    const struct hpc_model *model = &walk->state->model;
    (void)thread;
    return model->summary.room < model->contexts ? (uint32_t)model->summary.room : model->contexts;
}

static int enter_kept(struct walk *walk, struct pf_error *error)
{
    const struct hpc_run *runs = walk->state->model.summary.runs;
    uint32_t end = kept_contexts(walk, 0);
    (void)error;
    if (walk->only.context >= 0) {
        if (walk->only.context >= end || !go_to(walk, (uint64_t)walk->only.context))
            return 0;
        end = walk->at.group + 1;
    }
    while (walk->at.group < end && !runs[walk->at.group].count)
        go_to(walk, (uint64_t)walk->at.group + 1);
    if (walk->at.group >= end)
        return 0;
    walk->context = walk->at.group;
    walk->rows = runs[walk->context].count;
    return 1;
}

static int kept_row(struct walk *walk, uint64_t row, struct pf_cell *cells, struct pf_error *error)
{
    const struct hpc_old_summary *kept = &walk->state->model.summary;
    struct hpc_old_value value;
    uint64_t at = (kept->runs[walk->context].first + row) * sizeof value;
    return pf_store_read(kept->values, at, &value, sizeof value, error)
               ? -1
               : set_summary(walk, value.metric, value.value, cells);
}

static const struct kind old_summary = {WALK, false, kept_contexts, enter_kept, kept_row};

/* ---- traces -------------------------------------------------------------------------------------- */

enum { TRACE_THREAD, TRACE_TIME, TRACE_CONTEXT, TRACE_NAME, TRACE_ROOM = HPC_SAMPLE * 10922 };

static const struct pf_column trace_columns[] = {
    [TRACE_THREAD] = {"thread", PF_PARTITION, 0},
    [TRACE_TIME] = {"time", PF_PLAIN, 0},
    [TRACE_CONTEXT] = {"context", PF_PLAIN, 0},
    [TRACE_NAME] = {"name", PF_PLAIN, 0},
};

static uint32_t one_group(const struct walk *walk, uint32_t thread)
{
    (void)walk, (void)thread;
    return 1;
}

static int enter_trace(struct walk *walk, struct pf_error *error)
{
    const struct hpc_thread *thread = thread_of(walk);
    walk->rows = walk->at.group ? 0 : thread->samples;
    if (walk->at.row >= walk->rows)
        return 0;
    walk->window.room = TRACE_ROOM;
    if (walk->state->layout == HPC_OLD)
        return use_part(walk, thread->trace_part, error) ? -1 : 1;
    walk->window.input = walk->state->trace_db;
    return 1;
}

/* In ns; absent if that is too large a number. */
static struct pf_cell time_of(const struct hpc_state *state, uint64_t ticks)
{
    enum { SECOND = 1000000000 };
    if (!state->ticks_per_second || state->ticks_per_second == SECOND)
        return pf_uint(ticks);
    pf_int128 ns = (pf_int128)ticks * SECOND / (pf_int128)state->ticks_per_second;
    return ns <= (pf_int128)UINT64_MAX ? pf_uint((uint64_t)ns) : pf_absent();
}

static int trace_row(struct walk *walk, uint64_t row, struct pf_cell *cells, struct pf_error *error)
{
    const struct hpc_state *state = walk->state;
    const struct hpc_thread *thread = thread_of(walk);
    size_t size = thread->data_centric ? HPC_SAMPLE_DATA : HPC_SAMPLE;
    const unsigned char *bytes = hpc_window_at(&walk->window, thread->trace + row * size, size,
                                               thread->trace + thread->samples * size, error);
    if (!bytes)
        return -1;
    const struct hpc_idmap *ids = state->layout == HPC_OLD ? &state->model.traced : &state->model.ids;
    uint32_t id = pf_u32(bytes + 8, state->big_endian), context = hpc_idmap_find(ids, id);
    bool known = context != HPC_NO_NUMBER;
    cells[TRACE_THREAD] = pf_int(walk->at.thread);
    cells[TRACE_TIME] = time_of(state, pf_u64(bytes, state->big_endian));
    cells[TRACE_CONTEXT] = pf_uint(known ? walk->tree->id[context] : id);
    cells[TRACE_NAME] = known ? pf_interned(walk->tree->strings, walk->tree->name[context]) : pf_absent();
    return 1;
}

static const struct kind trace = {WALK, true, one_group, enter_trace, trace_row};

/* ---- modules, files, functions ----------------------------------------------------------------------- */

enum { MODULES, FILES, FUNCTIONS };

static const struct pf_column module_columns[] = {{"id", PF_PLAIN, 0}, {"name", PF_PLAIN, 0}};
static const struct pf_column file_columns[] = {
    {"id", PF_PLAIN, 0}, {"copied", PF_PLAIN, 0}, {"name", PF_PLAIN, 0}};
static const struct pf_column function_columns[] = {{"id", PF_PLAIN, 0},     {"line", PF_PLAIN, 0},
                                                    {"offset", PF_PLAIN, 0}, {"name", PF_PLAIN, 0},
                                                    {"file", PF_PLAIN, 0},   {"module", PF_PLAIN, 0}};

static void set_function(const struct pf_strings *strings, const struct hpc_function *function,
                         struct pf_cell *cells)
{
    cells[0] = pf_uint(function->id);
    cells[1] = function->line ? pf_uint(function->line) : pf_absent();
    cells[2] = function->offset == HPC_NO_OFFSET ? pf_absent() : pf_uint(function->offset);
    cells[3] = pf_interned(strings, function->name);
    cells[4] = pf_interned(strings, function->file);
    cells[5] = pf_interned(strings, function->module);
}

static int begin_list(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct hpc_model *model = &hpc_state(cursor->profile)->model;
    (void)error;
    numbers->end = cursor->table->user == FUNCTIONS ? model->functions.count
                   : cursor->table->user == FILES   ? model->files.count
                                                    : model->modules.count;
    return 0;
}

static int list_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                    struct pf_error *error)
{
    const struct hpc_model *model = &hpc_state(cursor->profile)->model;
    const struct pf_strings *strings = cursor->profile->contexts->strings;
    bool files = cursor->table->user == FILES;
    (void)own, (void)error;
    if (cursor->table->user == FUNCTIONS) {
        set_function(strings, &model->functions.items[number], cells);
        return 1;
    }
    const struct hpc_place *place = &(files ? &model->files : &model->modules)->items[number];
    cells[0] = pf_uint(place->id);
    if (files)
        cells[1] = pf_uint(place->copied);
    cells[1 + files] = pf_interned(strings, place->path);
    return 1;
}

static const struct pf_numbered list = {PF_NUMBERED, .begin = begin_list, .row = list_row};

/* ---- all of them --------------------------------------------------------------------------------- */

#define COLUMNS(array) .columns = (array), .n_columns = sizeof(array) / sizeof *(array)
#define BY_THREAD      (PF_BY_PARTITION | PF_SEEKS_PARTITION)

static const struct pf_table all_tables[] = {
    {"values", COLUMNS(values_columns), .flags = BY_THREAD | PF_SEEKS_CONTEXT, .ops = &values.ops},
    {"trace", COLUMNS(trace_columns), .flags = BY_THREAD, .ops = &trace.ops},
    {"summary", COLUMNS(summary_columns), .flags = PF_SEEKS_CONTEXT, .ops = &summary.ops},
    {"summary_metrics", COLUMNS(hpc_summary_metric_columns)},
    {"modules", COLUMNS(module_columns), .ops = &list.ops, .user = MODULES},
    {"files", COLUMNS(file_columns), .ops = &list.ops, .user = FILES},
    {"functions", COLUMNS(function_columns), .ops = &list.ops, .user = FUNCTIONS},
    {"statistics", COLUMNS(summary_columns), .flags = PF_SEEKS_CONTEXT, .ops = &statistics.ops},
};
enum { VALUES_TABLE, SUMMARY_TABLE = 2, SUMMARY_METRICS, TABLES = sizeof all_tables / sizeof *all_tables };

int hpc_set_tables(struct pf_profile *profile, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(profile);
    struct pf_table *tables = state->tables = malloc(sizeof all_tables);
    if (!tables)
        return pf_fail_memory(error);
    memcpy(tables, all_tables, sizeof all_tables);
    for (size_t i = 0; i < TABLES; i++)
        tables[i].stage = PF_MODELLED;
    tables[SUMMARY_METRICS].stage = PF_OPENED;
    tables[SUMMARY_METRICS].rows = &state->summary_metrics.rows;
    /* The index from contexts to threads' blocks, where cct.db is of no use. */
    if (state->profile_db)
        tables[VALUES_TABLE].context_stage = PF_DERIVED;
    if (state->layout == HPC_OLD) { /* its values and summary are read otherwise */
        tables[VALUES_TABLE].ops = &dense.ops;
        tables[SUMMARY_TABLE].ops = &old_summary.ops;
    }
    profile->tables = profile->cells = tables;
    profile->n_tables =
        TABLES - (state->layout != HPC_XML4); /* it alone has statistics, which are not stored */
    profile->cells_value = VALUE;
    return 0;
}
