/* SPDX-License-Identifier: MIT */
#include "formats/xray/stack.h"

#include <errno.h>

#include "formats/kit/array.h"

/* Slots are numbered by 32 bits, and there are two for each function. */
#define FUNCTIONS_MAX ((uint32_t)1 << 30)

static int grow_functions(struct xray_functions *functions, struct pf_error *error)
{
    if (functions->room >= FUNCTIONS_MAX)
        return pf_fail(error, EFBIG, "too many functions");
    uint32_t room = functions->room ? functions->room * 2 : 256;
    if (pf_array_resize(&functions->seen, room, sizeof *functions->seen, error))
        return -1;
    uint32_t *slots = calloc((size_t)room * 2, sizeof *slots);
    if (!slots)
        return pf_fail_memory(error);
    free(functions->slots);
    functions->slots = slots;
    functions->mask = room * 2 - 1;
    functions->room = room;
    for (uint32_t number = 0; number < functions->count; number++) {
        uint32_t i = xray_functions_hash(functions->seen[number].id);
        while (slots[i & functions->mask])
            i++;
        slots[i & functions->mask] = number + 1;
    }
    return 0;
}

uint32_t xray_functions_add(struct xray_functions *functions, uint32_t id, struct pf_error *error)
{
    if (functions->count == functions->room && grow_functions(functions, error))
        return XRAY_NO_FUNCTION;
    uint32_t i = xray_functions_hash(id);
    while (functions->slots[i & functions->mask])
        i++;
    functions->seen[functions->count] = (struct xray_seen){.id = id};
    functions->slots[i & functions->mask] = functions->count + 1;
    return functions->count++;
}

int xray_stack_grow(struct xray_stack *stack, struct pf_error *error)
{
    if (pf_array_grow(&stack->calls, &stack->room, stack->room + 1, sizeof *stack->calls, error))
        return -1;
    stack->calls[0] = XRAY_NO_FUNCTION;
    return 0;
}

void xray_functions_free(struct xray_functions *functions)
{
    free(functions->slots);
    free(functions->seen);
    *functions = (struct xray_functions){0};
}

void xray_stack_free(struct xray_stack *stack)
{
    xray_functions_free(&stack->functions);
    free(stack->calls);
    *stack = (struct xray_stack){0};
}
