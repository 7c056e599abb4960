/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver_extra.h"
#include "formats/model.h"
#include "fs/profile/names.h"
#include "fs/profile/profile_private.h"

/* Names of folders, files and links inside a profile, made when the stage that provides the items is loaded. */

/* Names and ids of items that are rows with the cells id and name. */
static struct pf_cell row_text(const void *of, uint32_t i)
{
    return pf_rows_at(of, i)[1];
}

static uint64_t row_id(const void *of, uint32_t i)
{
    const struct pf_cell *id = &pf_rows_at(of, i)[0];
    return id->type == PF_INT || id->type == PF_UINT ? id->u : i;
}

static struct pf_cell metric_text(const void *of, uint32_t i)
{
    return pf_string(((const struct pf_model *)of)->metrics[i].name);
}

static uint64_t metric_id(const void *of, uint32_t i)
{
    return (uint64_t)((const struct pf_model *)of)->metrics[i].id;
}

static struct pf_cell context_text(const void *of, uint32_t i)
{
    const struct pf_tree *tree = of;
    return pf_interned(tree->strings, tree->name[i]);
}

static uint32_t context_parent(const void *of, uint32_t i)
{
    return ((const struct pf_tree *)of)->parent[i];
}

static uint64_t context_id(const void *of, uint32_t i)
{
    return pf_tree_id(of, i);
}

static struct pf_cell blob_text(const void *of, uint32_t i)
{
    return pf_string(((const struct pf_model_extra *)of)->blobs[i].name);
}

static struct pf_cell link_text(const void *of, uint32_t i)
{
    return pf_string(((const struct pf_model_extra *)of)->links[i].name);
}

/*
 * Describes a set of items. `folder` is the kind of the items' folder if it also has generated entries, whose names are reserved.
 */
static struct pf_items items_of(const struct pf_model *model, enum pf_named named)
{
    const struct pf_model_extra *extra = pf_extra_of(model);
    const struct pf_rows *partitions = model->partitions.items, *keys = extra->keys.items;
    const struct pf_tree *tree = model->contexts;
    switch (named) {
    case PF_NAMED_PARTITIONS:
        return (struct pf_items){partitions, (uint32_t)pf_rows_count(partitions), row_text, .id = row_id};
    case PF_NAMED_METRICS:
        return (struct pf_items){model, (uint32_t)model->n_metrics, metric_text, .id = metric_id,
                                 .folder = PF_EXPORT};
    case PF_NAMED_CONTEXTS:
        return (struct pf_items){tree,
                                 tree->count,
                                 context_text,
                                 context_parent,
                                 tree->id ? context_id : NULL,
                                 .folder = PF_CONTEXT_DIR};
    case PF_NAMED_KEYS:
        return (struct pf_items){.of = keys, .count = (uint32_t)pf_rows_count(keys), .text = row_text};
    case PF_NAMED_BLOBS:
        return (struct pf_items){.of = extra, .count = (uint32_t)extra->n_blobs, .text = blob_text};
    default:
        return (struct pf_items){extra, (uint32_t)extra->n_links, link_text, .folder = PF_TOP};
    }
}

static int name_items(struct pf_profile *profile, enum pf_named named, struct pf_error *error)
{
    struct pf_items items = items_of(&profile->model, named);
    if (named == PF_NAMED_METRICS || named == PF_NAMED_CONTEXTS || named == PF_NAMED_LINKS) {
        items.reserved = pf_is_own_name;
        items.reserved_by = &profile->model;
    }
    profile->names[named] = pf_dirnames_new(&items, error);
    return profile->names[named] ? 0 : -1;
}

/* The stage that provides a set of items; PF_STAGES: the set is empty, or its items are named separately. */
static enum pf_stage comes_with(const struct pf_model *model, enum pf_named named)
{
    switch (named) {
    case PF_NAMED_PARTITIONS:
        return model->partitions.plural ? PF_PARTITIONED : PF_STAGES;
    case PF_NAMED_METRICS:
        return pf_metrics_stage(model);
    case PF_NAMED_KEYS:
        return pf_extra_of(model)->keys.plural ? PF_MODELLED : PF_STAGES;
    case PF_NAMED_BLOBS:
    case PF_NAMED_LINKS:
        return PF_OPENED;
    default:
        return PF_STAGES;
    }
}

struct wanted {
    const char *name;
    bool found;
};

static int note_wanted(void *arg, const char *name, unsigned char type)
{
    struct wanted *wanted = arg;
    (void)type;
    wanted->found |= !strcmp(name, wanted->name);
    return wanted->found;
}

/*
 * pf_model_extra.src is the name of a folder that sources of the format may have. Clears it if this source has no such
 * folder. The listing is recorded as an input, so a later appearance of the folder counts as a change.
 */
static int find_src(struct pf_model *model, struct pf_error *error)
{
    struct wanted wanted = {pf_extra_of(model)->src, false};
    if (!wanted.name)
        return 0;
    if (pf_source_list_folders(model->source, note_wanted, &wanted, error))
        return -1;
    if (!wanted.found)
        model->extra->src = NULL;
    return 0;
}

int pf_profile_name(struct pf_profile *profile, enum pf_stage stage, struct pf_error *error)
{
    if (stage == PF_OPENED && find_src(&profile->model, error))
        return -1;
    for (enum pf_named named = 0; named < PF_NAMED; named++)
        if (comes_with(&profile->model, named) == stage && name_items(profile, named, error))
            return -1;
    return 0;
}

static void measure_context_dirs(struct pf_profile *profile, uint16_t *size)
{
    const struct pf_tree *tree = profile->model.contexts;
    char name[PF_NAME_MAX + 1];
    for (uint32_t i = 0; i < tree->count; i++) {
        size_t n = pf_dirname(profile->names[PF_NAMED_CONTEXTS], i, name);
        uint32_t parent = tree->parent[i];
        if (parent != PF_NO_CONTEXT)
            n = size[parent] == UINT16_MAX ? UINT16_MAX : n + size[parent] + 1;
        size[i] = n > PF_CONTEXT_DIR_MAX ? UINT16_MAX : (uint16_t)n;
    }
}

int pf_profile_name_contexts(struct pf_profile *profile, struct pf_error *error)
{
    const struct pf_tree *tree = profile->model.contexts;
    if (!profile->model.partitions.plural)
        return 0;
    if (!tree)
        return pf_fail(error, EINVAL, "the driver has made no contexts");
    if (!profile->names[PF_NAMED_CONTEXTS] && name_items(profile, PF_NAMED_CONTEXTS, error))
        return -1;
    profile->context_dir_size = malloc(((size_t)tree->count + 1) * sizeof *profile->context_dir_size);
    if (!profile->context_dir_size)
        return pf_fail_memory(error);
    measure_context_dirs(profile, profile->context_dir_size);
    return 0;
}
