/* SPDX-License-Identifier: MIT */
#include "fs/sums/aggregate_private.h"

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

/* Sets the text, keeping the prefix that the last stack has in common with this one. */
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
