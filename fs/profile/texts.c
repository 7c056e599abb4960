/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "fs/profile/profile_private.h"

/* The texts of a profile's files: looked up by node, measured and rendered by jobs. */

/* Limits for measuring on the thread of an operation: about a millisecond of work. */
enum { ROWS_AT_ONCE = 4096, BYTES_AT_ONCE = 512 * 1024 };

static struct pf_lines *walk_text(void *owner, struct pf_error *error)
{
    struct pf_file_text *text = owner;
    return pf_node_walk(text->profile, text->node, error);
}

static int need_text_block(void *owner, uint64_t start, struct pf_op *op);

static void text_free(struct pf_file_text *text)
{
    pf_owner_end(&text->owner);
    pf_text_close(&text->text);
    free(text);
}

static const char *text_name(const struct pf_owner *owner)
{
    return pf_source_name(((const struct pf_file_text *)owner)->profile->source);
}

static void release_text(struct pf_owner *owner)
{
    pf_file_text_release((struct pf_file_text *)owner);
}

static const struct pf_owner_type text_type = {release_text, text_name};

/* ---- sizes without texts ------------------------------------------------------------------------ */

/* Sizes are stored as pointer values in the map; + 1 because NULL means absent. */
static void *size_value(uint64_t size)
{
    return (void *)(uintptr_t)(size + 1);
}

/*
 * Stores the size of a text that is too short for checkpoints; of a cheap text, stores nothing. True if the text must
 * outlive its handles, because its checkpoints were expensive. Called with profile->lock held.
 */
static bool put_short_size(struct pf_profile *profile, struct pf_file_text *text)
{
    pf_assert_held(&profile->lock);
    uint64_t size;
    if (pf_is_cheap(&profile->model, text->node) || !pf_text_is_sized(&text->text, &size))
        return false;
    return size > PF_INTERVAL || !pf_map_put(&profile->sizes, pf_node_key(text->node), size_value(size));
}

/* ---- texts -------------------------------------------------------------------------------------- */

static struct pf_file_text *new_text(struct pf_profile *profile, struct pf_node node)
{
    struct pf_file_text *text = calloc(1, sizeof *text);
    if (!text)
        return NULL;
    pf_text_init(&text->text, atomic_fetch_add(&profile->env->next_text, 1), walk_text, text);
    pf_owner_init(&text->owner, &text_type, profile->env->pool);
    text->owner.references = 0;
    text->profile = profile;
    text->node = node;
    text->text.need = need_text_block;
    text->text.sized = pf_find_size(profile, node, &text->text.size);
    text->text.measured = text->text.size;
    if (pf_map_put(&profile->texts, pf_node_key(node), text))
        return text;
    text_free(text);
    return NULL;
}

struct pf_file_text *pf_file_text_of(struct pf_profile *profile, struct pf_node node)
{
    pf_lock_take(&profile->lock);
    struct pf_file_text *text = pf_map_get(&profile->texts, pf_node_key(node));
    if (!text)
        text = new_text(profile, node);
    if (text && atomic_fetch_add(&text->owner.references, 1) == 0)
        pf_profile_hold(profile);
    pf_lock_drop(&profile->lock);
    return text;
}

void pf_file_text_release(struct pf_file_text *text)
{
    struct pf_profile *profile = text->profile;
    pf_lock_take(&profile->lock);
    bool closed = atomic_fetch_sub(&text->owner.references, 1) == 1, last = closed && !text->outlives_handles;
    if (last)
        pf_map_remove(&profile->texts, pf_node_key(text->node));
    pf_lock_drop(&profile->lock);
    if (last)
        text_free(text);
    else if (closed)
        pf_text_close_idle(&text->text); /* there may be thousands of such texts: free their walks */
    if (closed)
        pf_profile_release(profile);
}

void pf_file_texts_free(struct pf_profile *profile)
{
    for (size_t i = 0; profile->texts.slots && i <= profile->texts.mask; i++)
        if (profile->texts.slots[i].value)
            text_free(profile->texts.slots[i].value);
    pf_map_free(&profile->texts);
    pf_map_free(&profile->sizes);
}

void pf_file_texts_each(struct pf_profile *profile,
                        void (*each)(void *arg, struct pf_node node, const struct pf_text *text), void *arg)
{
    pf_assert_held(&profile->lock);
    for (size_t i = 0; profile->texts.slots && i <= profile->texts.mask; i++) {
        struct pf_file_text *text = profile->texts.slots[i].value;
        if (!text)
            continue;
        pf_lock_take(&text->text.lock);
        if (text->outlives_handles && text->text.sized && !text->text.shared)
            each(arg, text->node, &text->text);
        pf_lock_drop(&text->text.lock);
    }
    for (size_t i = 0; profile->sizes.slots && i <= profile->sizes.mask; i++) {
        const struct pf_map_slot *slot = &profile->sizes.slots[i];
        uint64_t size = (uintptr_t)slot->value - 1;
        if (slot->value)
            each(arg, (struct pf_node){(unsigned)(slot->key >> 32), (uint32_t)slot->key},
                 &(struct pf_text){.size = size, .measured = size});
    }
}

bool pf_file_text_restore(struct pf_profile *profile, struct pf_node node, uint64_t size, uint64_t measured,
                          struct pf_checkpoints *checkpoints)
{
    if (!checkpoints->count && size == measured) {
        pf_checkpoints_free(checkpoints); /* arrays of length 0 are allocated, too */
        pf_lock_take(&profile->lock);
        bool done = pf_map_put(&profile->sizes, pf_node_key(node), size_value(size));
        pf_lock_drop(&profile->lock);
        return done;
    }
    struct pf_file_text *text = pf_file_text_of(profile, node);
    if (!text || text->text.sized) {
        if (text)
            pf_file_text_release(text);
        pf_checkpoints_free(checkpoints);
        return false;
    }
    text->text.own = *checkpoints;
    text->text.size = size;
    text->text.measured = measured;
    text->text.sized = true;
    text->outlives_handles = true;
    pf_file_text_release(text);
    return true;
}

/* ---- jobs --------------------------------------------------------------------------------------- */

/* Upper bound of the number of rows, for a file of the values table whose rows can be located directly; UINT64_MAX: no bound. */
static uint64_t most_rows(struct pf_profile *profile, struct pf_node node)
{
    const struct pf_model *model = &profile->model;
    unsigned base = pf_table_base(node.kind);
    if (&model->tables[pf_table_of(node.kind)] != model->cells || !pf_is_seekable(model, node))
        return UINT64_MAX;
    return base == PF_TABLE_OF_CONTEXT     ? model->n_metrics * pf_rows_count(model->partitions.items)
           : base == PF_TABLE_OF_PARTITION ? model->n_metrics * (uint64_t)pf_profile_context_count(profile)
                                           : UINT64_MAX;
}

/* True if the file has few enough rows to walk them on the thread of an operation. */
static bool is_short_text(struct pf_profile *profile, struct pf_node node)
{
    const struct pf_model *model = &profile->model;
    if (pf_is_cheap(model, node))
        return true;
    if (pf_table_of(node.kind) >= 0)
        return most_rows(profile, node) < ROWS_AT_ONCE;
    if (node.kind == PF_BLOB || node.kind == PF_TIMELINE_SVG || node.kind == PF_TRACE_JSON)
        return false;
    return pf_rows_count(model->partitions.items) < ROWS_AT_ONCE &&
           pf_profile_context_count(profile) < ROWS_AT_ONCE;
}

/* True if the whole file is short, or the range left to measure up to text->until. */
static bool measures_short(struct pf_owner *owner, uint64_t number)
{
    struct pf_file_text *text = (struct pf_file_text *)owner;
    (void)number;
    return is_short_text(text->profile, text->node) ||
           (pf_text_is_sized(&text->text, NULL) && !pf_is_heavy(&text->profile->model, text->node) &&
            pf_text_distance(&text->text, atomic_load(&text->until)) <= BYTES_AT_ONCE);
}

static int run_measure(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct pf_file_text *text = (struct pf_file_text *)owner;
    struct pf_profile *profile = text->profile;
    uint64_t start = pf_now_ns();
    bool counts = !measures_short(owner, number);
    if (pf_text_measure(&text->text, atomic_load(&text->until), error))
        return -1;
    pf_lock_take(&profile->lock);
    text->outlives_handles = put_short_size(profile, text);
    pf_lock_drop(&profile->lock);
    if (!pf_profile_intact(profile))
        return pf_fail(error, ESTALE, "the file has changed");
    if (counts)
        pf_profile_note_pass(profile, start);
    return 0;
}

static const struct pf_work measure_work = {"sizes of", PF_WORK_MEASURE, measures_short, run_measure};

int pf_file_text_measure(struct pf_file_text *text, uint64_t until, struct pf_op *op)
{
    uint64_t before = atomic_load(&text->until);
    while (before < until && !atomic_compare_exchange_weak(&text->until, &before, until))
        ;
    return pf_need(op, &measure_work, &text->owner, 0);
}

static bool renders_short(struct pf_owner *owner, uint64_t start)
{
    struct pf_file_text *text = (struct pf_file_text *)owner;
    (void)start;
    return !pf_is_heavy(&text->profile->model, text->node);
}

static int run_block(struct pf_owner *owner, uint64_t start, struct pf_error *error)
{
    struct pf_file_text *text = (struct pf_file_text *)owner;
    return pf_pass_step(0, 1, error) ? -1
                                     : pf_text_render(&text->text, text->profile->env->blocks, start, error);
}

static const struct pf_work block_work = {"text of", PF_WORK_BLOCKS, renders_short, run_block};

static int need_text_block(void *owner, uint64_t start, struct pf_op *op)
{
    struct pf_file_text *text = owner;
    return pf_need(op, &block_work, &text->owner, start);
}
