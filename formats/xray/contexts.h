/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_CONTEXTS_H
#define PF_XRAY_CONTEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"
#include "formats/xray/stack.h"

/*
 * The calls of one thread, added up by calling context while its events go by. An entry opens a call in the
 * context of the calls around it, an exit closes it. This is where the model pass spends its time: all that
 * a call needs to be counted stands in one record, which is as large as a cache line.
 */
struct xray_context {
    uint64_t calls;     /* completed ones; what follows is of these */
    uint64_t ticks;     /* without the calls inside; modulo 2^64, as the next, so that no file can overflow */
    uint64_t ticks_inc; /* with the calls inside */
    uint64_t min, max; /* ticks of the shortest and the longest; min is UINT64_MAX where there are no calls */
    uint32_t wraps;    /* how often ticks_inc went past 2^64 */
    uint32_t parent;   /* index; lower than this context's */
    uint32_t id;       /* of its function */
    uint32_t function; /* the number that the function has in this thread */
    uint32_t merged;   /* for who merges threads: its index in the profile's tree */
};

/* An open call. */
struct xray_call {
    uint64_t entered; /* TSC */
    uint64_t inside;  /* ticks of the calls that it has made and that are closed */
    uint64_t id;      /* of its function; UINT64_MAX: there is none, this is the place outside all calls */
    uint32_t context;
};

/* Context 0 and call 0 are the place outside all calls. */
struct xray_contexts {
    struct xray_context *items; /* in the order of their first entries, so callers first; owned */
    uint32_t count, room;
    uint64_t *slots; /* hash of (parent, id): some bits of the hash << 32 | index; 0: free; owned */
    unsigned shift;  /* a hash's slot is hash >> shift */

    struct xray_call *calls; /* calls[1 .. depth]: those open, outermost first; owned */
    size_t depth, calls_room;
    struct xray_functions functions; /* seen in this thread, and how many calls of each are open */

    uint64_t unmatched; /* exits of functions that were not open, which have been ignored */
    uint64_t implicit;  /* calls closed by the exit of a call around them: left by an exception or a jump */
    size_t max_depth;
};

/* Contexts without calls. 0, or -1 with ENOMEM in *error; either way to be freed. */
int xray_contexts_init(struct xray_contexts *contexts, struct pf_error *error);
void xray_contexts_free(struct xray_contexts *contexts);

/* Closes the nearest open call of this function, which is not the innermost one, and those inside it. */
void xray_contexts_unwind(struct xray_contexts *contexts, uint32_t id, uint64_t tsc);

/* Adds the context that a free slot is for. Its index, or 0 with *error filled. */
uint32_t xray_contexts_add(struct xray_contexts *contexts, uint32_t parent, uint32_t id,
                           struct pf_error *error);

/* Makes room for one more open call. 0, or -1 with *error filled. */
int xray_contexts_grow_calls(struct xray_contexts *contexts, struct pf_error *error);

static inline uint64_t xray_contexts_hash(uint32_t parent, uint32_t id)
{
    return ((uint64_t)parent << 32 | id) * UINT64_C(0x9e3779b97f4a7c15);
}

/* What a slot holds of a hash: bits that hardly depend on which slot it is. */
static inline uint64_t xray_contexts_tag(uint64_t hash)
{
    return hash >> 16 << 32;
}

/* The context of this function called from `parent`, added if new. Its index, or 0 with *error filled. */
static inline uint32_t xray_contexts_child(struct xray_contexts *contexts, uint32_t parent, uint32_t id,
                                           struct pf_error *error)
{
    uint64_t hash = xray_contexts_hash(parent, id), tag = xray_contexts_tag(hash);
    uint64_t mask = UINT64_MAX >> contexts->shift;
    for (uint64_t i = hash >> contexts->shift;; i = (i + 1) & mask) {
        uint64_t slot = contexts->slots[i];
        if (!slot)
            return xray_contexts_add(contexts, parent, id, error);
        if (((slot ^ tag) >> 32) != 0)
            continue;
        const struct xray_context *context = &contexts->items[(uint32_t)slot];
        if (context->parent == parent && context->id == id)
            return (uint32_t)slot;
    }
}

/* An entry. 0, or -1 with *error filled. */
static inline int xray_contexts_enter(struct xray_contexts *contexts, uint32_t id, uint64_t tsc,
                                      struct pf_error *error)
{
    uint32_t context = xray_contexts_child(contexts, contexts->calls[contexts->depth].context, id, error);
    if (!context)
        return -1;
    if (contexts->depth + 1 >= contexts->calls_room && xray_contexts_grow_calls(contexts, error))
        return -1;
    contexts->calls[++contexts->depth] = (struct xray_call){.entered = tsc, .id = id, .context = context};
    contexts->functions.seen[contexts->items[context].function].open++;
    if (contexts->depth > contexts->max_depth)
        contexts->max_depth = contexts->depth;
    return 0;
}

/* Ends the innermost call, of which there must be one. Clocks may step back, so its duration is the
 * difference of the two TSCs whatever its sign. */
static inline void xray_contexts_close(struct xray_contexts *contexts, uint64_t tsc)
{
    struct xray_call *call = &contexts->calls[contexts->depth--];
    struct xray_context *context = &contexts->items[call->context];
    uint64_t duration = tsc > call->entered ? tsc - call->entered : call->entered - tsc;
    call[-1].inside += duration;
    context->calls++;
    context->ticks += duration - call->inside;
    context->ticks_inc += duration;
    context->wraps += context->ticks_inc < duration;
    context->min = duration < context->min ? duration : context->min;
    context->max = duration > context->max ? duration : context->max;
    contexts->functions.seen[context->function].open--;
}

/* An exit: nearly always of the innermost call. */
static inline void xray_contexts_leave(struct xray_contexts *contexts, uint32_t id, uint64_t tsc)
{
    if (contexts->calls[contexts->depth].id == id)
        xray_contexts_close(contexts, tsc);
    else
        xray_contexts_unwind(contexts, id, tsc);
}

#endif
