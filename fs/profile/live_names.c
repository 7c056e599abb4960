/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/profile/live_private.h"
#include "fs/profile/names.h"

/* Names of folders, files and links inside a profile, made when the stage is loaded that they come from. */

static struct pf_cell partition_text(const void *of, uint32_t i)
{
    return pf_rows_at(((const struct pf_partitions *)of)->items, i)[1];
}

static uint64_t partition_id(const void *of, uint32_t i)
{
    const struct pf_cell *id = &pf_rows_at(((const struct pf_partitions *)of)->items, i)[0];
    return id->type == PF_INT || id->type == PF_UINT ? id->u : i;
}

static struct pf_cell metric_text(const void *of, uint32_t i)
{
    return pf_string(((const struct pf_profile *)of)->metrics[i].name);
}

static uint64_t metric_id(const void *of, uint32_t i)
{
    return (uint64_t)((const struct pf_profile *)of)->metrics[i].id;
}

static struct pf_cell context_text(const void *of, uint32_t i)
{
    const struct pf_tree *tree = of;
    return pf_interned(tree->strings, tree->name[i]);
}

static uint32_t context_group(const void *of, uint32_t i)
{
    return ((const struct pf_tree *)of)->parent[i];
}

static uint64_t context_id(const void *of, uint32_t i)
{
    return pf_tree_id(of, i);
}

static struct pf_cell key_text(const void *of, uint32_t i)
{
    return pf_rows_at(((const struct pf_keys *)of)->items, i)[1];
}

static struct pf_cell blob_text(const void *of, uint32_t i)
{
    return pf_string(((const struct pf_profile *)of)->blobs[i].name);
}

static struct pf_cell link_text(const void *of, uint32_t i)
{
    return pf_string(((const struct pf_profile *)of)->links[i].name);
}

/* Names the items; those that stand beside files of ours, in folders of this kind, must not be called like one. */
static int name_items(struct pf_live *live, enum pf_named named, struct pf_items items, int folder,
                      struct pf_error *error)
{
    if (folder >= 0 && !live->reserved[named]) {
        live->reserved[named] = pf_reserved_names(&live->profile, (unsigned)folder);
        if (!live->reserved[named])
            return pf_fail_memory(error);
    }
    items.reserved = live->reserved[named];
    live->names[named] = pf_dirnames_new(&items, error);
    return live->names[named] ? 0 : -1;
}

int pf_live_name_partitions(struct pf_live *live, struct pf_error *error)
{
    const struct pf_partitions *partitions = &live->profile.partitions;
    if (!partitions->plural)
        return 0;
    struct pf_items items = {.of = partitions,
                             .count = (uint32_t)pf_rows_count(partitions->items),
                             .text = partition_text,
                             .id = partition_id};
    return name_items(live, PF_NAMED_PARTITIONS, items, -1, error);
}

int pf_live_name_metrics(struct pf_live *live, struct pf_error *error)
{
    struct pf_items items = {.of = &live->profile,
                             .count = (uint32_t)live->profile.n_metrics,
                             .text = metric_text,
                             .id = metric_id};
    return name_items(live, PF_NAMED_METRICS, items, PF_EXPORT, error);
}

int pf_live_name_keys(struct pf_live *live, struct pf_error *error)
{
    const struct pf_keys *keys = &live->profile.keys;
    struct pf_items items = {.of = keys, .count = (uint32_t)pf_rows_count(keys->items), .text = key_text};
    return name_items(live, PF_NAMED_KEYS, items, -1, error);
}

/* What is known when the profile is opened. */
int pf_live_name_carried(struct pf_live *live, struct pf_error *error)
{
    const struct pf_profile *profile = &live->profile;
    struct pf_items blobs = {.of = profile, .count = (uint32_t)profile->n_blobs, .text = blob_text};
    struct pf_items links = {.of = profile, .count = (uint32_t)profile->n_links, .text = link_text};
    return name_items(live, PF_NAMED_BLOBS, blobs, -1, error) ||
                   name_items(live, PF_NAMED_LINKS, links, PF_TOP, error)
               ? -1
               : 0;
}

static void measure_context_dirs(struct pf_live *live, uint16_t *size)
{
    const struct pf_tree *tree = live->profile.contexts;
    char name[PF_NAME_MAX + 1];
    for (uint32_t i = 0; i < tree->count; i++) {
        size_t n = pf_dirname(live->names[PF_NAMED_CONTEXTS], i, name);
        uint32_t parent = tree->parent[i];
        if (parent != PF_NO_CONTEXT)
            n = size[parent] == UINT16_MAX ? UINT16_MAX : n + size[parent] + 1;
        size[i] = n > PF_CONTEXT_DIR_MAX ? UINT16_MAX : (uint16_t)n;
    }
}

int pf_live_name_contexts(struct pf_live *live, struct pf_error *error)
{
    const struct pf_tree *tree = live->profile.contexts;
    if (!live->profile.partitions.plural)
        return 0;
    if (!tree)
        return pf_fail(error, EINVAL, "the driver has made no contexts");
    struct pf_items items = {.of = tree,
                             .count = tree->count,
                             .text = context_text,
                             .group = context_group,
                             .id = tree->id ? context_id : NULL};
    if (!live->names[PF_NAMED_CONTEXTS] && name_items(live, PF_NAMED_CONTEXTS, items, PF_CONTEXT_DIR, error))
        return -1;
    live->context_dir_size = malloc(((size_t)tree->count + 1) * sizeof *live->context_dir_size);
    if (!live->context_dir_size)
        return pf_fail_memory(error);
    measure_context_dirs(live, live->context_dir_size);
    return 0;
}

size_t pf_live_context_dir(const struct pf_live *live, uint32_t context, char *out)
{
    const struct pf_tree *tree = live->profile.contexts;
    size_t size = live->context_dir_size[context];
    if (size == UINT16_MAX)
        return 0;
    char name[PF_NAME_MAX + 1];
    for (size_t end = size; context != PF_NO_CONTEXT; context = tree->parent[context]) {
        size_t n = pf_dirname(live->names[PF_NAMED_CONTEXTS], context, name);
        memcpy(out + end - n, name, n);
        end -= n;
        if (end)
            out[--end] = '/';
    }
    out[size] = 0;
    return size;
}
