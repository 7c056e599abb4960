/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_STACK_H
#define PF_XRAY_STACK_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "formats/kit/error.h"

/*
 * The open calls of a thread. Functions are numbered in the order in which they were first seen, so that
 * other things about them can be kept in arrays: their ids have 32 bits and may be anything.
 */
#define XRAY_NO_FUNCTION UINT32_MAX

struct xray_functions {
    uint32_t *slots; /* hash of the id -> number + 1 */
    uint32_t mask;
    uint32_t count, room;
    struct xray_seen {
        uint32_t id;
        uint32_t open; /* how many calls of it are open in this stack */
    } * seen;
};

struct xray_stack {
    struct xray_functions functions;
    /* calls[1 .. depth]: numbers of functions, outermost first. calls[0] is XRAY_NO_FUNCTION, so that the
     * innermost call can be looked at without asking whether there is one. */
    uint32_t *calls;
    size_t depth, room;
};

/* Makes room for one more function, and its number. XRAY_NO_FUNCTION with *error filled. */
uint32_t xray_functions_add(struct xray_functions *functions, uint32_t id, struct pf_error *error);

/* Makes room for more calls. 0, or -1 with *error filled. */
int xray_stack_grow(struct xray_stack *stack, struct pf_error *error);

void xray_functions_free(struct xray_functions *functions);
void xray_stack_free(struct xray_stack *stack);

static inline uint32_t xray_functions_hash(uint32_t id)
{
    return (uint32_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* The number of a function, or XRAY_NO_FUNCTION if it has not been seen. */
static inline uint32_t xray_functions_find(const struct xray_functions *functions, uint32_t id)
{
    if (!functions->slots)
        return XRAY_NO_FUNCTION;
    for (uint32_t i = xray_functions_hash(id);; i++) {
        uint32_t slot = functions->slots[i & functions->mask];
        if (!slot)
            return XRAY_NO_FUNCTION;
        if (functions->seen[slot - 1].id == id)
            return slot - 1;
    }
}

static inline int xray_stack_push(struct xray_stack *stack, uint32_t function, struct pf_error *error)
{
    if (stack->depth + 1 >= stack->room && xray_stack_grow(stack, error))
        return -1;
    stack->calls[++stack->depth] = function;
    stack->functions.seen[function].open++;
    return 0;
}

static inline void xray_stack_pop(struct xray_stack *stack)
{
    stack->functions.seen[stack->calls[stack->depth--]].open--;
}

/*
 * How many calls there are around the nearest open call of this function, SIZE_MAX if none is open. Costs no
 * more than closing the calls inside it will: a trace may hold a million open calls and a million exits of
 * none of them.
 */
static inline size_t xray_stack_find(const struct xray_stack *stack, uint32_t function)
{
    if (!stack->functions.seen[function].open)
        return SIZE_MAX;
    size_t i = stack->depth;
    while (stack->calls[i] != function)
        i--;
    return i - 1;
}

static inline void xray_stack_clear(struct xray_stack *stack)
{
    while (stack->depth)
        xray_stack_pop(stack);
}

#endif
