/* SPDX-License-Identifier: MIT */
#include "fs/profile/dirnames.h"

#include <stdlib.h>

#include "formats/kit/hash.h"
#include "fs/profile/names.h"

struct pf_dirnames {
    struct pf_items items;
    uint32_t *slots; /* hash of (group, name) -> item + 1; of items with equal names only the first is here */
    uint32_t mask;
    unsigned char *suffixed; /* a bit an item: gets ~<id> */
    uint32_t *by_id;         /* items sorted by id; NULL where ids are the items' numbers */
};

static uint32_t group_of(const struct pf_dirnames *names, uint32_t item)
{
    return names->items.group ? names->items.group(names->items.of, item) : 0;
}

static uint64_t id_of(const struct pf_dirnames *names, uint32_t item)
{
    return names->items.id ? names->items.id(names->items.of, item) : item;
}

static size_t name_of(const struct pf_dirnames *names, uint32_t item, bool suffix, char *out)
{
    struct pf_cell text = names->items.text(names->items.of, item);
    bool some = text.type == PF_TEXT;
    return pf_name(out, some ? text.text : "", some ? text.size : 0, id_of(names, item), suffix);
}

static bool suffixed(const struct pf_dirnames *names, uint32_t item)
{
    return names->suffixed[item / 8] >> item % 8 & 1;
}

static void suffix(struct pf_dirnames *names, uint32_t item)
{
    names->suffixed[item / 8] |= (unsigned char)(1u << item % 8);
}

/* The slot of this name: that of the item that has it, or a free one. */
static uint32_t *slot_of(const struct pf_dirnames *names, uint32_t group, const char *name, size_t size)
{
    uint64_t hash = pf_hash(group, name, size);
    char other[PF_NAME_MAX + 1];
    for (uint32_t i = (uint32_t)hash;; i++) {
        uint32_t *slot = &names->slots[i & names->mask];
        if (!*slot)
            return slot;
        if (group_of(names, *slot - 1) == group && name_of(names, *slot - 1, false, other) == size &&
            !memcmp(name, other, size))
            return slot;
    }
}

static bool is_reserved(const struct pf_dirnames *names, const char *name)
{
    for (const char *const *reserved = names->items.reserved; reserved && *reserved; reserved++)
        if (!strcmp(name, *reserved))
            return true;
    return false;
}

static void add_item(struct pf_dirnames *names, uint32_t item)
{
    char name[PF_NAME_MAX + 1];
    size_t size = name_of(names, item, false, name);
    uint32_t *slot = slot_of(names, group_of(names, item), name, size);
    if (*slot) {
        suffix(names, item);
        suffix(names, *slot - 1);
    } else {
        *slot = item + 1;
    }
    if (is_reserved(names, name))
        suffix(names, item);
}

static int compare_ids(const void *a, const void *b, void *of)
{
    uint64_t x = id_of(of, *(const uint32_t *)a), y = id_of(of, *(const uint32_t *)b);
    return x < y ? -1 : x > y;
}

static int sort_by_id(struct pf_dirnames *names, struct pf_error *error)
{
    uint32_t n = names->items.count;
    names->by_id = malloc(((size_t)n + 1) * sizeof *names->by_id);
    if (!names->by_id)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < n; i++)
        names->by_id[i] = i;
    qsort_r(names->by_id, n, sizeof *names->by_id, compare_ids, names);
    return 0;
}

struct pf_dirnames *pf_dirnames_new(const struct pf_items *items, struct pf_error *error)
{
    struct pf_dirnames *names = calloc(1, sizeof *names);
    if (!names) {
        pf_fail_memory(error);
        return NULL;
    }
    names->items = *items;
    uint64_t slots = 16;
    while (slots < 2 * (uint64_t)items->count)
        slots *= 2;
    names->mask = (uint32_t)(slots - 1);
    names->slots = calloc(slots, sizeof *names->slots);
    names->suffixed = calloc((size_t)items->count / 8 + 1, 1);
    if (!names->slots || !names->suffixed || (items->id && sort_by_id(names, error))) {
        pf_fail_memory(error);
        pf_dirnames_free(names);
        return NULL;
    }
    for (uint32_t i = 0; i < items->count; i++)
        add_item(names, i);
    return names;
}

void pf_dirnames_free(struct pf_dirnames *names)
{
    if (!names)
        return;
    free(names->slots);
    free(names->suffixed);
    free(names->by_id);
    free(names);
}

size_t pf_dirname(const struct pf_dirnames *names, uint32_t item, char *out)
{
    return name_of(names, item, suffixed(names, item), out);
}

static uint32_t item_of_id(const struct pf_dirnames *names, uint64_t id)
{
    uint32_t n = names->items.count;
    if (!names->by_id)
        return id < n ? (uint32_t)id : PF_NO_ITEM;
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (id_of(names, names->by_id[middle]) < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && id_of(names, names->by_id[low]) == id ? names->by_id[low] : PF_NO_ITEM;
}

uint32_t pf_dirname_find(const struct pf_dirnames *names, uint32_t group, const char *name)
{
    char other[PF_NAME_MAX + 1];
    size_t size = strlen(name);
    uint64_t id;
    uint32_t item;
    if (pf_name_id(name, size, &id)) {
        item = item_of_id(names, id);
    } else {
        uint32_t slot = *slot_of(names, group, name, size);
        item = slot ? slot - 1 : PF_NO_ITEM;
    }
    bool found = item != PF_NO_ITEM && group_of(names, item) == group &&
                 pf_dirname(names, item, other) == size && !memcmp(name, other, size);
    return found ? item : PF_NO_ITEM;
}
