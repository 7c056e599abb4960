/* SPDX-License-Identifier: MIT */
#include "fs/profile/names.h"
#include "fs/profile/profile_private.h"

/* The tree inside a profile: the entries of a folder, and the folder of a node. */

/*
 * The number of items in a folder, and the node number of the i-th. Only folders of contexts read model->contexts,
 * since a pass may still be building the contexts while other folders are listed.
 */
static uint64_t item_count(const struct pf_model *model, struct pf_node folder, unsigned item)
{
    if (folder.kind == PF_CONTEXTS)
        return model->contexts->roots;
    if (folder.kind != PF_CONTEXT_DIR)
        return pf_count_of(model, item);
    const uint32_t *first = &model->contexts->first[folder.item];
    return first[1] - first[0];
}

static uint32_t item_at(const struct pf_model *model, struct pf_node folder, uint64_t i)
{
    if (folder.kind == PF_CONTEXTS)
        return model->contexts->root[i];
    if (folder.kind != PF_CONTEXT_DIR)
        return (uint32_t)i;
    return model->contexts->child[model->contexts->first[folder.item] + i];
}

static bool folder_item(struct pf_profile *profile, struct pf_node folder, uint64_t i, char *name,
                        struct pf_node *entry)
{
    const struct pf_named_folder *named = pf_named_folder(folder.kind);
    if (!named || i >= item_count(pf_profile_model(profile), folder, named->item))
        return false;
    *entry = (struct pf_node){named->item, item_at(pf_profile_model(profile), folder, i)};
    pf_dirname(pf_profile_names(profile, named->named), entry->item, name);
    return true;
}

bool pf_folder_entry(struct pf_profile *profile, struct pf_node folder, uint64_t number, char *name,
                     struct pf_node *entry)
{
    int cached = pf_cached_get_entry(&profile->cached, folder, number, name, entry);
    if (cached >= 0)
        return cached;
    struct pf_own own;
    uint64_t n = 0;
    for (size_t at = 0; pf_next_own(pf_profile_model(profile), folder.kind, &at, &own); n++)
        if (n == number) {
            pf_put_own_name(&own, name);
            *entry = (struct pf_node){own.kind, folder.item};
            return true;
        }
    return folder_item(profile, folder, number - n, name, entry);
}

bool pf_folder_find(struct pf_profile *profile, struct pf_node folder, const char *name, struct pf_node *entry)
{
    int cached = pf_cached_find(&profile->cached, folder, name, entry);
    if (cached >= 0)
        return cached;
    *entry = (struct pf_node){.item = folder.item};
    if (pf_find_own(pf_profile_model(profile), folder.kind, name, &entry->kind))
        return true;
    const struct pf_named_folder *named = pf_named_folder(folder.kind);
    if (!named || !item_count(pf_profile_model(profile), folder, named->item))
        return false;
    uint32_t group = folder.kind == PF_CONTEXTS      ? PF_NO_CONTEXT
                     : folder.kind == PF_CONTEXT_DIR ? folder.item
                                                     : 0;
    *entry = (struct pf_node){named->item, pf_dirname_find(pf_profile_names(profile, named->named), group, name)};
    return entry->item != PF_NO_ITEM;
}

bool pf_node_parent(struct pf_profile *profile, struct pf_node node, struct pf_node *parent, char *name)
{
    if (node.kind == PF_TOP)
        return false;
    if (pf_cached_get_parent(&profile->cached, node, parent, name))
        return true;
    *parent = pf_folder_of(pf_profile_model(profile), node);
    const struct pf_named_folder *named = pf_folder_of_items(node.kind);
    if (named) {
        pf_dirname(pf_profile_names(profile, named->named), node.item, name);
        return true;
    }
    struct pf_own own;
    for (size_t at = 0; pf_next_own(pf_profile_model(profile), parent->kind, &at, &own);)
        if (own.kind == node.kind) {
            pf_put_own_name(&own, name);
            return true;
        }
    return false;
}
