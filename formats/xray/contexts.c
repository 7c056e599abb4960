/* SPDX-License-Identifier: MIT */
#include "formats/xray/contexts.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"

/* At most half of the slots are taken; there are 2^SLOTS_MIN of them at first. */
enum { SLOTS_MIN = 8, HASH_BITS = 64 };
#define CONTEXTS_MAX ((uint32_t)1 << 31)

static size_t slot_count(const struct xray_contexts *contexts)
{
    return (size_t)1 << (HASH_BITS - contexts->shift);
}

/* Puts a context that has none into a slot. */
static void place(struct xray_contexts *contexts, uint32_t index)
{
    const struct xray_context *context = &contexts->items[index];
    uint64_t hash = xray_contexts_hash(context->parent, context->id);
    uint64_t mask = UINT64_MAX >> contexts->shift, i = hash >> contexts->shift;
    while (contexts->slots[i])
        i = (i + 1) & mask;
    contexts->slots[i] = xray_contexts_tag(hash) | index;
}

/* Twice the slots, or the first ones. */
static int grow_slots(struct xray_contexts *contexts, struct pf_error *error)
{
    unsigned shift = contexts->slots ? contexts->shift - 1 : HASH_BITS - SLOTS_MIN;
    uint64_t *slots = calloc((size_t)1 << (HASH_BITS - shift), sizeof *slots);
    if (!slots)
        return pf_fail_memory(error);
    free(contexts->slots);
    contexts->slots = slots;
    contexts->shift = shift;
    for (uint32_t i = 1; i < contexts->count; i++)
        place(contexts, i);
    return 0;
}

static int grow_items(struct xray_contexts *contexts, struct pf_error *error)
{
    if (contexts->room >= CONTEXTS_MAX)
        return pf_fail(error, EFBIG, "too many contexts");
    uint32_t room = contexts->room ? contexts->room * 2 : 64;
    if (pf_array_resize(&contexts->items, room, sizeof *contexts->items, error))
        return -1;
    contexts->room = room;
    return 0;
}

int xray_contexts_grow_calls(struct xray_contexts *contexts, struct pf_error *error)
{
    return pf_array_grow(&contexts->calls, &contexts->calls_room, contexts->calls_room + 1,
                         sizeof *contexts->calls, error);
}

int xray_contexts_init(struct xray_contexts *contexts, struct pf_error *error)
{
    *contexts = (struct xray_contexts){.count = 1};
    if (grow_items(contexts, error) || grow_slots(contexts, error) ||
        xray_contexts_grow_calls(contexts, error))
        return -1;
    contexts->items[0] = (struct xray_context){.min = UINT64_MAX};
    contexts->calls[0] = (struct xray_call){.id = UINT64_MAX};
    return 0;
}

void xray_contexts_free(struct xray_contexts *contexts)
{
    free(contexts->items);
    free(contexts->slots);
    free(contexts->calls);
    xray_functions_free(&contexts->functions);
    *contexts = (struct xray_contexts){0};
}

uint32_t xray_contexts_add(struct xray_contexts *contexts, uint32_t parent, uint32_t id,
                           struct pf_error *error)
{
    uint32_t function = xray_functions_find(&contexts->functions, id);
    if (function == XRAY_NO_FUNCTION)
        function = xray_functions_add(&contexts->functions, id, error);
    if (function == XRAY_NO_FUNCTION || (contexts->count == contexts->room && grow_items(contexts, error)))
        return 0;
    uint32_t index = contexts->count;
    contexts->items[index] =
        (struct xray_context){.min = UINT64_MAX, .parent = parent, .id = id, .function = function};
    if (contexts->count >= slot_count(contexts) / 2 && grow_slots(contexts, error))
        return 0;
    contexts->count++;
    place(contexts, index);
    return index;
}

void xray_contexts_unwind(struct xray_contexts *contexts, uint32_t id, uint64_t tsc)
{
    uint32_t function = xray_functions_find(&contexts->functions, id);
    if (function == XRAY_NO_FUNCTION || !contexts->functions.seen[function].open) {
        contexts->unmatched++;
        return;
    }
    while (contexts->calls[contexts->depth].id != id) {
        xray_contexts_close(contexts, tsc);
        contexts->implicit++;
    }
    xray_contexts_close(contexts, tsc);
}
