/* SPDX-License-Identifier: MIT */
#include "formats/kit/print.h"
#include "fs/sums/aggregate_private.h"
#include "fs/sums/readable.h"
#include "fs/text/csv.h"

/* The line-by-line views of a metric that are not tables: hot.txt and stacks.folded. */

/* ---- hot.txt ------------------------------------------------------------------------------------ */

static size_t column_width(const struct pf_metric_walk *walk)
{
    return walk->order->width < 10 ? 10 : walk->order->width;
}

static void add_hot_head(const struct pf_metric_walk *walk, struct pf_buf *out)
{
    static const union pf_number zero;
    const struct pf_order *order = walk->order;
    const struct pf_metric *metric = &walk->model->metrics[walk->metric];
    size_t n = order->n_functions < PF_HOT_FUNCTIONS ? order->n_functions : PF_HOT_FUNCTIONS;
    const union pf_number *shown = n ? &order->functions[n - 1].running : &zero;
    pf_buf_str(out, "Showing nodes accounting for ");
    pf_add_with_unit(out, metric, shown, order->exclusive_real);
    pf_buf_str(out, ", ");
    pf_add_percent(out, pf_number_double(shown, order->exclusive_real), order->totals.exclusive, 0);
    pf_buf_str(out, " of ");
    pf_add_total_line(out, walk->aggregate, walk->metric, order->totals.metric);
    pf_add_right(out, "flat", 4, column_width(walk));
    pf_buf_str(out, "   flat%    sum% ");
    pf_add_right(out, "cum", 3, column_width(walk));
    pf_buf_str(out, "    cum%  name\n");
}

static void add_hot_function(const struct pf_metric_walk *walk, const struct pf_function *function,
                             struct pf_buf *out)
{
    const struct pf_order *order = walk->order;
    double whole = order->totals.exclusive;
    struct pf_cell name = pf_interned(walk->model->contexts->strings, function->name);
    pf_add_number(out, &function->exclusive, order->exclusive_real, column_width(walk));
    pf_buf_char(out, ' ');
    pf_add_percent(out, pf_number_double(&function->exclusive, order->exclusive_real), whole,
                   PF_PERCENT_WIDTH);
    pf_buf_char(out, ' ');
    pf_add_percent(out, pf_number_double(&function->running, order->exclusive_real), whole, PF_PERCENT_WIDTH);
    pf_buf_char(out, ' ');
    pf_add_inclusive(out, &function->inclusive, order->inclusive_real, function->unknown,
                     order->totals.inclusive, column_width(walk), 1);
    pf_buf_str(out, "  ");
    pf_add_name(out, &name);
    pf_buf_char(out, '\n');
}

bool pf_hot_record(struct pf_metric_walk *walk, struct pf_buf *out)
{
    const struct pf_order *order = walk->order;
    if (pf_add_sums_missing(out, walk->model, walk->metric)) {
        walk->base.position = walk->end;
        return true;
    }
    uint64_t at = walk->base.position++;
    if (!at)
        add_hot_head(walk, out);
    else if (at <= PF_HOT_FUNCTIONS)
        add_hot_function(walk, &order->functions[at - 1], out);
    else {
        size_t more = order->n_functions - PF_HOT_FUNCTIONS;
        pf_buf_printf(out, "(%zu more function%s: functions.csv)\n", more, more == 1 ? "" : "s");
    }
    return true;
}

/* ---- stacks.folded ------------------------------------------------------------------------------ */

/* Returns the line at the walk's position, and advances the walk. Sets walk->stack to the stack of the line. */
static const struct pf_folded_line *next_folded(struct pf_metric_walk *walk)
{
    const struct pf_tree *tree = walk->model->contexts;
    struct pf_stack *stack = walk->stack;
    uint64_t at = walk->base.position++;
    const struct pf_folded_line *line = &walk->order->folded[at];
    /* If the caller has no line, depth is PF_NO_DEPTH. Otherwise all lines since the caller's are in its subtree
     * (preorder), so the stack still begins with the caller's frames. */
    if (walk->stack_position == at && line->depth <= stack->n && line->depth < 2 * PF_STACK_HALF)
        pf_stack_add(stack, tree, line->context, line->name, line->depth);
    else
        pf_stack_set(stack, tree, walk->order->outer, line->context);
    walk->stack_position = at + 1;
    return line;
}

bool pf_folded_record(struct pf_metric_walk *walk, struct pf_buf *out)
{
    const struct pf_order *order = walk->order;
    const struct pf_folded_line *line = next_folded(walk);
    const struct pf_buf *stack = &walk->stack->text;
    char *at = pf_buf_reserve(out, stack->size + PF_NUMBER_MAX + 2);
    if (!at || stack->failed) {
        out->failed = true;
        return true;
    }
    memcpy(at, stack->data, stack->size);
    at += stack->size;
    *at++ = ' ';
    if (line->value)
        at = pf_print_uint(at, line->value);
    out->size = (size_t)(at - out->data);
    if (!line->value)
        pf_add_folded(&walk->folded_unit, &order->exclusive[line->context], order->exclusive_real, out);
    pf_buf_char(out, '\n');
    return true;
}

int pf_folded_measure(struct pf_walk *base, uint64_t *size, struct pf_error *error)
{
    struct pf_metric_walk *walk = (struct pf_metric_walk *)base;
    const struct pf_order *order = walk->order;
    if (base->position >= walk->end)
        return 0;
    const struct pf_folded_line *line = next_folded(walk);
    struct pf_buf large = {0};
    if (!line->value)
        pf_add_folded(&walk->folded_unit, &order->exclusive[line->context], order->exclusive_real, &large);
    *size += walk->stack->text.size + 2 + (line->value ? pf_uint_size(line->value) : large.size);
    bool failed = walk->stack->text.failed || large.failed;
    pf_buf_free(&large);
    return failed ? pf_fail_memory(error) : 1;
}
