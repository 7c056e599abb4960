/* SPDX-License-Identifier: MIT */
#include "formats/xray/stack.h"

#include <stdlib.h>

#include "formats/kit/array.h"

/* Ids below this are looked up in an array. */
enum { SMALL_IDS = 1 << 18 };

static bool is_function(const void *of, uint32_t number, const void *key)
{
    return ((const struct xray_seen *)of)[number].id == *(const uint32_t *)key;
}

uint32_t xray_stack_function_slowly(struct xray_stack *stack, uint32_t id, struct pf_error *error)
{
    uint64_t hash = pf_siphash_number(id);
    int64_t known = id < SMALL_IDS ? PF_NOT_THERE
                                   : pf_hash_find(&stack->others, hash, is_function, stack->functions, &id);
    uint32_t number = (uint32_t)stack->n_functions;
    if (known != PF_NOT_THERE)
        return (uint32_t)known;
    if (pf_array_room(&stack->functions, &stack->functions_room, number, sizeof *stack->functions, error))
        return XRAY_NO_FUNCTION;
    if (id >= SMALL_IDS
            ? pf_hash_add(&stack->others, hash, number, error)
            : pf_array_reach(&stack->numbers, &stack->numbers_room, id, sizeof *stack->numbers, error))
        return XRAY_NO_FUNCTION;
    if (id < SMALL_IDS)
        stack->numbers[id] = number + 1;
    stack->functions[stack->n_functions++] = (struct xray_seen){.id = id};
    return number;
}

int xray_stack_grow(struct xray_stack *stack, struct pf_error *error)
{
    if (pf_array_grow(&stack->calls, &stack->room, stack->depth + 2, sizeof *stack->calls, error))
        return -1;
    stack->calls[0] = (struct xray_call){.function = XRAY_NO_FUNCTION, .context = PF_NO_CONTEXT};
    return 0;
}

void xray_stack_free(struct xray_stack *stack)
{
    free(stack->functions);
    free(stack->numbers);
    pf_hash_free(&stack->others);
    free(stack->calls);
    *stack = (struct xray_stack){0};
}
