/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "fs/sums/aggregate_private.h"
#include "fs/text/csv.h"

/* The tables under metrics/, and the walk over records that serves all views except those whose whole text is made at once. */

/* ---- rows --------------------------------------------------------------------------------------- */

static void add_context(const struct pf_metric_walk *walk, uint32_t context, struct pf_buf *out)
{
    const struct pf_tree *tree = walk->model->contexts;
    struct pf_context_statistics it;
    pf_aggregate_context(walk->aggregate, walk->metric, context, &it);
    struct pf_cell cells[] = {pf_uint(pf_tree_id(tree, context)),
                              it.sum,
                              it.mean,
                              it.min,
                              it.max,
                              it.stddev,
                              it.imbalance,
                              pf_uint(it.count),
                              pf_interned(tree->strings, tree->name[context])};
    pf_csv_row(out, cells, sizeof cells / sizeof *cells, '\n');
}

/* Appends the header line at position 0. At position 1 + i, appends the row of the first context from index i on that has a value. */
static bool contexts_record(struct pf_metric_walk *walk, struct pf_buf *out)
{
    const struct pf_aggregate *aggregate = walk->aggregate;
    if (!walk->base.position) {
        pf_buf_str(out, "context,sum,mean,min,max,stddev,imbalance,count,name\n");
        walk->base.position = 1;
        return true;
    }
    size_t i = pf_context_next(&aggregate->metrics[walk->metric].contexts, walk->base.position - 1);
    if (i >= aggregate->n_contexts) {
        walk->base.position = walk->end;
        return false;
    }
    add_context(walk, (uint32_t)i, out);
    walk->base.position = i + 2;
    return true;
}

/* Returns the sum over a partition's contexts. It is 0 if the partition has no values, and absent if the metric does not add up
 * over contexts. */
static struct pf_cell partition_sum(const struct pf_metric_walk *walk, const struct pf_partition_sum *sum)
{
    static const union pf_number zero;
    if (walk->model->metrics[walk->metric].over_contexts == PF_OVER_NO_CONTEXTS)
        return pf_absent();
    return pf_number_cell(sum ? &sum->sum : &zero, walk->aggregate->metrics[walk->metric].real);
}

static bool partitions_record(struct pf_metric_walk *walk, struct pf_buf *out)
{
    const struct pf_partitions *partitions = &walk->model->partitions;
    uint64_t at = walk->base.position++;
    if (!at) {
        struct pf_cell head[] = {pf_string(partitions->singular), pf_string("sum"), pf_string("contexts")};
        pf_csv_row(out, head, sizeof head / sizeof *head, '\n');
        return true;
    }
    const struct pf_partition_sum *sum =
        pf_sparse_find(&walk->aggregate->metrics[walk->metric].partitions, sizeof *sum, at - 1);
    struct pf_cell cells[] = {pf_rows_at(partitions->items, at - 1)[1], partition_sum(walk, sum),
                              pf_uint(sum ? sum->contexts : 0)};
    pf_csv_row(out, cells, sizeof cells / sizeof *cells, '\n');
    return true;
}

void pf_function_cells(const struct pf_model *model, const struct pf_order *order, size_t i,
                       struct pf_cell cells[PF_FUNCTION_COLUMNS])
{
    const struct pf_function *it = &order->functions[i];
    const struct pf_metric *metric = &model->metrics[order->metric];
    const struct pf_tree *tree = model->contexts;
    cells[PF_FUNCTION_KIND] = pf_string(tree->kinds[it->kind]);
    cells[PF_FUNCTION_CONTEXTS] = pf_uint(it->contexts);
    for (int c = PF_FUNCTION_EXCLUSIVE; c <= PF_FUNCTION_INCLUSIVE_PERCENT; c++)
        cells[c] = pf_absent();
    cells[PF_FUNCTION_UNIT] = pf_string(metric->unit);
    cells[PF_FUNCTION_NAME] = pf_interned(tree->strings, it->name);
    cells[PF_FUNCTION_FILE] = pf_interned(tree->strings, it->file);
    if (!pf_adds_up(metric))
        return;
    cells[PF_FUNCTION_EXCLUSIVE] = pf_number_cell(&it->exclusive, order->exclusive_real);
    cells[PF_FUNCTION_EXCLUSIVE_PERCENT] =
        pf_percent_cell(&it->exclusive, order->exclusive_real, order->totals.exclusive);
    if (it->unknown)
        return;
    cells[PF_FUNCTION_INCLUSIVE] = pf_number_cell(&it->inclusive, order->inclusive_real);
    cells[PF_FUNCTION_INCLUSIVE_PERCENT] =
        pf_percent_cell(&it->inclusive, order->inclusive_real, order->totals.inclusive);
}

static bool functions_record(struct pf_metric_walk *walk, struct pf_buf *out)
{
    uint64_t at = walk->base.position++;
    if (!at) {
        pf_buf_str(out,
                   "kind,contexts,exclusive,inclusive,exclusive_percent,inclusive_percent,unit,name,file\n");
        return true;
    }
    struct pf_cell cells[PF_FUNCTION_COLUMNS];
    pf_function_cells(walk->model, walk->order, at - 1, cells);
    pf_csv_row(out, cells, PF_FUNCTION_COLUMNS, '\n');
    return true;
}

static bool callers_record(struct pf_metric_walk *walk, struct pf_buf *out)
{
    uint64_t at = walk->base.position++;
    if (!at) {
        pf_buf_str(out, "contexts,exclusive,inclusive,caller,callee\n");
        return true;
    }
    const struct pf_order *order = walk->order;
    const struct pf_function *it = &order->functions[at - 1];
    bool edges = order->strings != NULL; /* edges have an inclusive value only */
    bool sums = pf_adds_up(&walk->model->metrics[walk->metric]);
    const struct pf_strings *strings = edges ? order->strings : walk->model->contexts->strings;
    struct pf_cell cells[] = {
        edges ? pf_absent() : pf_uint(it->contexts),
        sums && !edges ? pf_number_cell(&it->exclusive, order->exclusive_real) : pf_absent(),
        sums || edges ? pf_number_cell(&it->inclusive, order->inclusive_real) : pf_absent(),
        pf_interned(strings, it->file),
        pf_interned(strings, it->name),
    };
    pf_csv_row(out, cells, sizeof cells / sizeof *cells, '\n');
    return true;
}

/* ---- the views ---------------------------------------------------------------------------------- */

/* The kind of records of a view. All views except stacks.folded have a header line before the records. */
enum items { CONTEXTS, PARTITIONS, FUNCTIONS, HOTTEST, CALLERS, MODULES, FILES, LINES, STACKS };

static const struct table_view {
    pf_metric_record *record;
    enum items items;
    pf_metric_text *text; /* makes the whole text at once; used instead of a walk */
} views[PF_METRIC_VIEWS] = {
    [PF_METRIC_CONTEXTS] = {contexts_record, CONTEXTS, NULL},
    [PF_METRIC_PARTITIONS] = {partitions_record, PARTITIONS, NULL},
    [PF_METRIC_FUNCTIONS] = {functions_record, FUNCTIONS, NULL},
    [PF_METRIC_CALLERS] = {callers_record, CALLERS, NULL},
    [PF_METRIC_HOT] = {pf_hot_record, HOTTEST, NULL},
    [PF_METRIC_TREE] = {.text = pf_tree_text},
    [PF_METRIC_BOTTOM_UP] = {.text = pf_bottom_up_text},
    [PF_METRIC_MODULES] = {pf_modules_record, MODULES, NULL},
    [PF_METRIC_FILES] = {pf_files_record, FILES, NULL},
    [PF_METRIC_LINES] = {pf_lines_record, LINES, NULL},
    [PF_METRIC_GROUPS] = {.text = pf_groups_text},
    [PF_METRIC_FOLDED] = {pf_folded_record, STACKS, NULL},
};

static int next_view_row(struct pf_walk *base, struct pf_buf *out, struct pf_error *error)
{
    struct pf_metric_walk *walk = (struct pf_metric_walk *)base;
    bool more = walk->base.position < walk->end && walk->record(walk, out);
    return out->failed ? pf_fail_memory(error) : more;
}

static void close_view_walk(struct pf_walk *base)
{
    struct pf_metric_walk *walk = (struct pf_metric_walk *)base;
    if (walk->order)
        pf_order_release(walk->aggregate, walk->order);
    if (walk->stack)
        pf_buf_free(&walk->stack->text);
    free(walk->stack);
    free(walk);
}

static double walk_progress(const struct pf_walk *base)
{
    const struct pf_metric_walk *walk = (const struct pf_metric_walk *)base;
    return walk->end ? (double)base->position / (double)walk->end : 0;
}

static const struct pf_walk_ops walk_ops = {
    .next = next_view_row,
    .close = close_view_walk,
    .progress = walk_progress,
};

/* The walk over stacks.folded. Consecutive stacks share most of their frames, so adding up lengths is cheap. */
static const struct pf_walk_ops stack_walk_ops = {
    .next = next_view_row,
    .measure = pf_folded_measure,
    .close = close_view_walk,
    .progress = walk_progress,
};

static uint64_t view_item_count(const struct pf_metric_walk *walk, enum items items)
{
    switch (items) {
    case PARTITIONS:
        return walk->aggregate->n_partitions;
    case FUNCTIONS:
    case CALLERS:
        return walk->order->n_functions;
    case HOTTEST: /* one more line, for the functions that are not listed */
        return walk->order->n_functions > PF_HOT_FUNCTIONS ? PF_HOT_FUNCTIONS + 1 : walk->order->n_functions;
    case MODULES:
    case FILES:
    case LINES:
        return walk->order->n_locations;
    case STACKS:
        return walk->order->n_folded;
    case CONTEXTS:
        break;
    }
    return walk->aggregate->n_contexts;
}

/* Gets the order that the view needs, and sets walk->end. */
static int prepare_view(struct pf_metric_walk *walk, enum items items, struct pf_error *error)
{
    struct pf_aggregate *aggregate = walk->aggregate;
    if (items == STACKS) {
        if (!(walk->stack = calloc(1, sizeof *walk->stack)))
            return pf_fail_memory(error);
        walk->stack->add_name = pf_folded_frame;
    }
    walk->folded_unit = pf_folded_unit_of(walk->model, walk->metric);
    static const enum pf_order_kind kinds[] = {
        [FUNCTIONS] = PF_BY_FUNCTION, [HOTTEST] = PF_BY_FUNCTION, [CALLERS] = PF_BY_CALLER,
        [MODULES] = PF_BY_MODULE,     [FILES] = PF_BY_FILE,       [LINES] = PF_BY_LINE,
        [STACKS] = PF_BY_STACK};
    bool needed = items != CONTEXTS && items != PARTITIONS;
    if (needed && !(walk->order = pf_order_get(aggregate, walk->metric, kinds[items], error)))
        return -1;
    walk->end = (items != STACKS) + view_item_count(walk, items);
    return 0;
}

static struct pf_walk *short_text_walk(struct pf_aggregate *aggregate, unsigned metric, pf_metric_text *text,
                                       struct pf_error *error)
{
    struct pf_buf out = {0};
    if (!text(aggregate, metric, &out, error))
        return pf_walk_of_text(&out, error);
    pf_buf_free(&out);
    return NULL;
}

struct pf_walk *pf_metric_view_walk(struct pf_aggregate *aggregate, unsigned metric, enum pf_metric_view view,
                                    struct pf_error *error)
{
    if (metric >= aggregate->model->n_metrics || (unsigned)view >= PF_METRIC_VIEWS) {
        pf_fail(error, EINVAL, "there is no such view of metric %u", metric);
        return NULL;
    }
    if (views[view].text)
        return short_text_walk(aggregate, metric, views[view].text, error);
    struct pf_metric_walk *walk = calloc(1, sizeof *walk);
    if (!walk) {
        pf_fail_memory(error);
        return NULL;
    }
    *walk =
        (struct pf_metric_walk){.base = {.ops = views[view].items == STACKS ? &stack_walk_ops : &walk_ops},
                                .record = views[view].record,
                                .aggregate = aggregate,
                                .model = aggregate->model,
                                .metric = metric};
    if (prepare_view(walk, views[view].items, error)) {
        close_view_walk(&walk->base);
        return NULL;
    }
    return &walk->base;
}
