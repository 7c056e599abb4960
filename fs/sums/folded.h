/* SPDX-License-Identifier: MIT */
#ifndef PF_FOLDED_H
#define PF_FOLDED_H

#include "fs/sums/aggregate.h"
#include "fs/sums/number.h"
#include "fs/text/buf.h"

/* Folded stacks. Each line is a call path, as names joined by semicolons, and an integer value. */

/* ---- values ------------------------------------------------------------------------------------- */

/*
 * The unit of a metric's folded stacks, whose values are integers. Times are in ns, other integers are unchanged, and other
 * numbers are in millionths of the metric's unit. The unit does not depend on the metric's values, so that two runs are comparable.
 */
struct pf_folded_unit {
    int64_t factor;     /* values are multiplied by this */
    const char *prefix; /* prefix of the unit: "" or "1e-6" */
    const char *name;   /* "" for a metric without a unit */
    bool may_drop;      /* rounding to 0 may drop positive values */
    bool may_saturate;  /* values may exceed 64 bits */
};
struct pf_folded_unit pf_folded_unit_of(const struct pf_model *model, unsigned metric);

/* True if a value appears in the folded stacks, that is, if it rounds to at least 1. */
bool pf_is_folded(const struct pf_folded_unit *unit, const union pf_number *number, bool real);
/* The folded value, or 0 if it exceeds 32 bits. */
uint32_t pf_folded_value(const struct pf_folded_unit *unit, const union pf_number *number, bool real);
/* Appends the folded value in decimal digits, since readers of folded stacks accept only integers. */
void pf_add_folded(const struct pf_folded_unit *unit, const union pf_number *number, bool real,
                   struct pf_buf *out);

/* ---- call paths --------------------------------------------------------------------------------- */

/* A folded stack of more than 2 * PF_STACK_HALF frames shows only its outermost and innermost PF_STACK_HALF frames. */
enum { PF_STACK_HALF = 512 };

/* Finds where deep stacks are cut. (*outer)[i] is the last frame of context i before the cut: its ancestor at depth
 * PF_STACK_HALF - 1, or i itself if it is not deeper. The caller frees *outer, which is NULL if no stack is deep enough to be cut.
 * Returns 0, or -1 with *error filled. */
int pf_find_outer(const struct pf_tree *tree, uint32_t **outer, struct pf_error *error);

/* The text of a folded stack: names joined by semicolons. A new stack reuses the prefix that it shares with the previous one. */
struct pf_stack {
    void (*add_name)(
        struct pf_buf *out,
        const struct pf_cell *name); /* appends a nonempty name; an empty one becomes [unnamed] */
    struct pf_buf text;
    uint32_t n; /* items in frames[], which has only the outer half of a cut stack; 0: no stack yet */
    uint32_t frames[2 * PF_STACK_HALF]; /* contexts, outermost first */
    size_t ends[2 * PF_STACK_HALF];     /* offset in the text where each frame's name ends */
};

/* Sets the text to the stack of a context whose caller, at depth - 1, is a frame of the current stack. */
void pf_stack_add(struct pf_stack *stack, const struct pf_tree *tree, uint32_t context, uint32_t name,
                  uint32_t depth);

/* Sets the text to the stack of a context. All calls for one struct pf_stack must use the same tree and `outer` (see
 * pf_find_outer). */
void pf_stack_set(struct pf_stack *stack, const struct pf_tree *tree, const uint32_t *outer,
                  uint32_t context);

/* Appends a frame's name as stacks.folded prints it. */
void pf_folded_frame(struct pf_buf *out, const struct pf_cell *name);

#endif
