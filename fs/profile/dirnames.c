/* SPDX-License-Identifier: MIT */
#include "fs/profile/dirnames.h"

#include <stdlib.h>

#include "formats/kit/table.h"
#include "fs/profile/names.h"

struct pf_dirnames {
    struct pf_items items;
    struct pf_hash_table table; /* by (group, name); of items with equal names only the first is here */
    unsigned char *suffixed;    /* a bit an item: gets ~<id> */
    uint32_t *by_id;            /* items sorted by id; NULL where ids are the items' numbers */
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

struct place {
    const char *name;
    size_t size;
    uint32_t group;
};

static bool stands_at(const void *of, uint32_t item, const void *key)
{
    const struct place *place = key;
    char other[PF_NAME_MAX + 1];
    return group_of(of, item) == place->group && name_of(of, item, false, other) == place->size &&
           !memcmp(place->name, other, place->size);
}

static bool is_reserved(const struct pf_dirnames *names, const char *name)
{
    for (const char *const *reserved = names->items.reserved; reserved && *reserved; reserved++)
        if (!strcmp(name, *reserved))
            return true;
    return false;
}

static int add_item(struct pf_dirnames *names, uint32_t item, struct pf_error *error)
{
    char name[PF_NAME_MAX + 1];
    struct place place = {name, name_of(names, item, false, name), group_of(names, item)};
    uint64_t hash = pf_siphash(place.group, name, place.size);
    int64_t first = pf_hash_find(&names->table, hash, stands_at, names, &place);
    if (first != PF_NOT_THERE) {
        suffix(names, item);
        suffix(names, (uint32_t)first);
    }
    if (is_reserved(names, name))
        suffix(names, item);
    return first == PF_NOT_THERE ? pf_hash_add(&names->table, hash, item, error) : 0;
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
    names->suffixed = calloc((size_t)items->count / 8 + 1, 1);
    int failed =
        names->suffixed ? pf_hash_reserve(&names->table, items->count, error) : pf_fail_memory(error);
    if (!failed && items->id)
        failed = sort_by_id(names, error);
    for (uint32_t i = 0; i < items->count && !failed; i++)
        failed = add_item(names, i, error);
    if (failed) {
        pf_dirnames_free(names);
        return NULL;
    }
    return names;
}

uint64_t pf_dirnames_bytes(const struct pf_dirnames *names)
{
    uint64_t count = names ? names->items.count : 0;
    return names ? sizeof *names + ((uint64_t)names->table.mask + 1) * 8 + count / 8 +
                       (names->by_id ? 4 * count : 0)
                 : 0;
}

void pf_dirnames_free(struct pf_dirnames *names)
{
    if (!names)
        return;
    pf_hash_free(&names->table);
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
        struct place place = {name, size, group};
        int64_t first = pf_hash_find(&names->table, pf_siphash(group, name, size), stands_at, names, &place);
        item = first == PF_NOT_THERE ? PF_NO_ITEM : (uint32_t)first;
    }
    bool found = item != PF_NO_ITEM && group_of(names, item) == group &&
                 pf_dirname(names, item, other) == size && !memcmp(name, other, size);
    return found ? item : PF_NO_ITEM;
}
