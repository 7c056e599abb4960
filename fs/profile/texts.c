/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "fs/profile/profile_private.h"

/* The texts of a profile's files, by node. */

static struct pf_walk *walk_text(void *owner, struct pf_error *error)
{
    struct pf_file_text *text = owner;
    return pf_node_walk(text->profile, text->node, error);
}

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

static struct pf_file_text *new_text(struct pf_profile *profile, struct pf_node node)
{
    struct pf_file_text *text = calloc(1, sizeof *text);
    if (!text)
        return NULL;
    pf_text_init(&text->text, atomic_fetch_add(&profile->env->next_text, 1), walk_text, text);
    pf_owner_init(&text->owner, &text_type, profile->env->pool, 0);
    text->profile = profile;
    text->node = node;
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

/* Takes ownership of the checkpoints, unless it returns false: the text is already measured. */
static bool restore_text(struct pf_file_text *file, uint64_t size, uint64_t measured,
                         const struct pf_checkpoints *checkpoints)
{
    struct pf_text *text = &file->text;
    pf_lock_take(&file->profile->lock);
    pf_lock_take(&text->lock);
    bool unmeasured = !text->sized;
    if (unmeasured) {
        text->own = *checkpoints;
        text->size = size;
        text->measured = measured;
        text->sized = true;
        file->outlives_handles = true;
    }
    pf_lock_drop(&text->lock);
    pf_lock_drop(&file->profile->lock);
    return unmeasured;
}

bool pf_file_text_restore(struct pf_profile *profile, struct pf_node node, uint64_t size, uint64_t measured,
                          struct pf_checkpoints *checkpoints)
{
    if (!checkpoints->count && size == measured) {
        pf_checkpoints_free(checkpoints); /* frees the arrays, which are allocated even if empty */
        pf_lock_take(&profile->lock);
        bool done = pf_put_size(profile, node, size);
        pf_lock_drop(&profile->lock);
        return done;
    }
    struct pf_file_text *text = pf_file_text_of(profile, node);
    bool done = text && restore_text(text, size, measured, checkpoints);
    if (!done)
        pf_checkpoints_free(checkpoints);
    if (text)
        pf_file_text_release(text);
    return done;
}
