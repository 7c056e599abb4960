/* SPDX-License-Identifier: MIT */
#include "fs/sums/folded.h"

#include <stdlib.h>

#include "formats/kit/print.h"
#include "fs/sums/aggregate_private.h"
#include "fs/sums/units.h"
#include "fs/text/csv.h"

/* ---- values ------------------------------------------------------------------------------------- */

struct pf_folded_unit pf_folded_unit_of(const struct pf_model *model, unsigned m)
{
    const struct pf_metric *metric = &model->metrics[m];
    int exclusive = pf_partners_of(model, m).exclusive;
    bool real = !strcmp(model->metrics[exclusive < 0 ? (int)m : exclusive].type, "double");
    int64_t ns = pf_unit_ns(metric->unit);
    bool large = metric->most * (double)(ns ? ns : 1) >=
                 0x1p62; /* leaves room below 2^63 for rounding errors in sums */
    if (!pf_adds_up(metric))
        return (struct pf_folded_unit){.factor = 1, .prefix = "", .name = ""};
    if (ns)
        return (struct pf_folded_unit){ns, "", "ns", real, real || large};
    return (struct pf_folded_unit){real ? 1000000 : 1, real ? "1e-6" : "", metric->unit, real, real || large};
}

/* Converts a value to the unit of folded stacks, and rounds the result to an integer. Returns true with *folded set, or
 * false with *large set if the integer is too large for *folded. */
static bool fold(const struct pf_folded_unit *unit, const union pf_number *number, bool real,
                 pf_int128 *folded, double *large)
{
    if (!real && !__builtin_mul_overflow(number->i, unit->factor, folded))
        return true;
    *large = floor(pf_number_double(number, real) * (double)unit->factor + 0.5);
    if (fabs(*large) < 0x1p63)
        *folded = (int64_t)*large;
    else if (fabs(*large) < 0x1p100)
        *folded = (pf_int128)*large;
    else
        return false;
    return true;
}

bool pf_is_folded(const struct pf_folded_unit *unit, const union pf_number *number, bool real)
{
    pf_int128 folded;
    double large;
    return fold(unit, number, real, &folded, &large) ? folded > 0 : large > 0 && isfinite(large);
}

uint32_t pf_folded_value(const struct pf_folded_unit *unit, const union pf_number *number, bool real)
{
    pf_int128 folded;
    double large;
    return fold(unit, number, real, &folded, &large) && folded <= UINT32_MAX ? (uint32_t)folded : 0;
}

void pf_add_folded(const struct pf_folded_unit *unit, const union pf_number *number, bool real,
                   struct pf_buf *out)
{
    pf_int128 folded;
    double large;
    char *at = pf_buf_reserve(out, 400); /* upper bound of pf_print_double_plain's output */
    if (!at)
        return;
    char *end = fold(unit, number, real, &folded, &large) ? pf_print_wide(at, folded)
                                                          : pf_print_double_plain(at, large);
    out->size += (size_t)(end - at);
}

/* ---- call paths --------------------------------------------------------------------------------- */

int pf_find_outer(const struct pf_tree *tree, uint32_t **outer, struct pf_error *error)
{
    uint32_t deepest = 0;
    *outer = NULL;
    for (uint32_t i = 0; i < tree->count; i++)
        deepest = tree->depth[i] > deepest ? tree->depth[i] : deepest;
    if (deepest < 2 * PF_STACK_HALF)
        return 0;
    if (!(*outer = malloc((size_t)tree->count * sizeof **outer)))
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < tree->count; i++)
        (*outer)[i] = tree->depth[i] < PF_STACK_HALF ? i : (*outer)[tree->parent[i]];
    return 0;
}

/* Returns the offset of the blank before a number at the end of the name. Returns the name's size if the name does not end in
 * a blank and a number. */
static size_t blank_before_number(const struct pf_cell *name)
{
    size_t at = name->size;
    while (at && ((name->text[at - 1] >= '0' && name->text[at - 1] <= '9') || name->text[at - 1] == '.'))
        at--;
    return at && at < name->size && name->text[at - 1] == ' ' ? at - 1 : name->size;
}

/* Semicolons become colons. Blanks that readers of folded stacks would misread are escaped: readers strip blanks at the ends
 * of a name, and flamegraph.pl takes a number at the end of a name for a second value. */
void pf_folded_frame(struct pf_buf *out, const struct pf_cell *name)
{
    size_t from = 0, blank = blank_before_number(name);
    for (size_t i = 0; i < name->size; i++) {
        bool edge = i == 0 || i + 1 == name->size || i == blank;
        if (name->text[i] != ';' && !(name->text[i] == ' ' && edge))
            continue;
        pf_escape(out, name->text + from, i - from);
        pf_buf_str(out, name->text[i] == ';' ? ":" : "\\x20");
        from = i + 1;
    }
    pf_escape(out, name->text + from, name->size - from);
}

static void add_stack_name(struct pf_stack *stack, const struct pf_tree *tree, uint32_t string, bool first)
{
    struct pf_cell name = pf_interned(tree->strings, string);
    if (!first)
        pf_buf_char(&stack->text, ';');
    if (name.size)
        stack->add_name(&stack->text, &name);
    else
        pf_buf_str(&stack->text, "[unnamed]");
}

static void add_stack_frame(struct pf_stack *stack, const struct pf_tree *tree, uint32_t context, bool first)
{
    add_stack_name(stack, tree, tree->name[context], first);
}

void pf_stack_add(struct pf_stack *stack, const struct pf_tree *tree, uint32_t context, uint32_t name,
                  uint32_t depth)
{
    stack->text.size = depth ? stack->ends[depth - 1] : 0;
    add_stack_name(stack, tree, name, depth == 0);
    stack->frames[depth] = context;
    stack->ends[depth] = stack->text.size;
    stack->n = depth + 1;
}

/* Sets the text to the whole stack of a context. Reuses the text of the frames that the previous stack has in common with it. */
static void set_whole(struct pf_stack *stack, const struct pf_tree *tree, uint32_t context)
{
    uint32_t depth = tree->depth[context], common = 0;
    for (uint32_t c = context; c != PF_NO_CONTEXT && !common; c = tree->parent[c]) {
        uint32_t at = tree->depth[c];
        if (at < stack->n && stack->frames[at] == c)
            common = at + 1;
        stack->frames[at] = c;
    }
    stack->text.size = common ? stack->ends[common - 1] : 0;
    for (uint32_t i = common; i <= depth; i++) {
        add_stack_frame(stack, tree, stack->frames[i], i == 0);
        stack->ends[i] = stack->text.size;
    }
    stack->n = depth + 1;
}

static void add_innermost(struct pf_stack *stack, const struct pf_tree *tree, uint32_t context)
{
    uint32_t frames[PF_STACK_HALF];
    for (size_t n = PF_STACK_HALF; n-- > 0; context = tree->parent[context])
        frames[n] = context;
    for (size_t i = 0; i < PF_STACK_HALF; i++)
        add_stack_frame(stack, tree, frames[i], i == 0);
}

void pf_stack_set(struct pf_stack *stack, const struct pf_tree *tree, const uint32_t *outer, uint32_t context)
{
    bool whole = tree->depth[context] < 2 * PF_STACK_HALF;
    set_whole(stack, tree, whole ? context : outer[context]);
    if (whole)
        return;
    pf_buf_str(&stack->text, ";...;");
    add_innermost(stack, tree, context);
}
