/* SPDX-License-Identifier: MIT */
#include "fs/profile/names.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kit/print.h"
#include "formats/kit/table.h"
#include "formats/kit/utf8.h"

/* A unit is the output for one character. The longest is that for a C1 control character: two bytes, escaped as %XX each. */
enum { UNIT_MAX = 6, ID_MAX = 20 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_control(const uint8_t *text, size_t size)
{
    return size == 1 ? text[0] < 0x20 || text[0] == 0x7f : size == 2 && text[0] == 0xc2 && text[1] < 0xa0;
}

/* True if a character must be escaped; `first`: the character begins the name. */
static bool is_forbidden(const char *text, size_t size, size_t character, bool first)
{
    if (*text == '%')
        return size >= 3 && is_hex(text[1]) && is_hex(text[2]);
    return *text == '/' || (*text == '.' && first) || is_control((const uint8_t *)text, character);
}

static size_t put_percent(char *out, const char *text, size_t size)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)text[i];
        *out++ = '%';
        *out++ = hex[byte >> 4];
        *out++ = hex[byte & 15];
    }
    return size * 3;
}

/* True for printable ASCII without a special meaning in names: the fast path. */
static inline bool is_ordinary(char c)
{
    return c >= ' ' && c <= '~' && c != '/' && c != '.' && c != '%';
}

/*
 * Writes the escaped form of the text's first character (or first byte, if that is invalid UTF-8), consumes that
 * character, and returns the number of bytes written.
 */
static inline size_t put_unit(char out[UNIT_MAX], const char **text, size_t *size, bool first)
{
    const char *from = *text;
    if (is_ordinary(*from)) {
        *out = *from;
        ++*text;
        --*size;
        return 1;
    }
    size_t wrong, character = pf_utf8((const unsigned char *)from, *size, &wrong);
    bool as_it_is = character && !is_forbidden(from, *size, character, first);
    size_t taken = character ? character : 1;
    *text += taken;
    *size -= taken;
    if (!as_it_is)
        return put_percent(out, from, taken);
    memcpy(out, from, taken);
    return taken;
}

/* True if a name ends in ~ and digits of any value; *digits is the number of digits. */
static bool ends_like_suffix(const char *name, size_t size, size_t *digits)
{
    size_t start = size;
    while (start > 0 && is_digit(name[start - 1]))
        start--;
    *digits = size - start;
    return *digits > 0 && start > 0 && name[start - 1] == '~';
}

size_t pf_name(char *out, const char *text, size_t size, uint64_t id, bool suffix)
{
    size_t limit = PF_NAME_MAX - 1 - pf_uint_size(id); /* maximum length of the part before the suffix */
    size_t length = 0, cut = 0;
    suffix |= size == 0;
    while (size > 0) {
        char unit[UNIT_MAX];
        size_t n = put_unit(unit, &text, &size, length == 0);
        if (length + n > PF_NAME_MAX) {
            suffix = true;
            break;
        }
        memcpy(out + length, unit, n);
        length += n;
        if (length <= limit)
            cut = length;
    }
    size_t digits;
    if (suffix || ends_like_suffix(out, length, &digits)) {
        char number[PF_NUMBER_MAX];
        size_t n = (size_t)(pf_print_uint(number, id) - number);
        out[cut] = '~';
        memcpy(out + cut + 1, number, n);
        length = cut + 1 + n;
    }
    out[length] = '\0';
    return length;
}

bool pf_name_id(const char *name, size_t size, uint64_t *id)
{
    size_t digits;
    if (!ends_like_suffix(name, size, &digits) || digits > ID_MAX)
        return false;
    const char *at = name + size - digits;
    if (*at == '0' && digits > 1)
        return false;
    uint64_t value = 0;
    for (; at < name + size; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *id = value;
    return true;
}

/* ---- names of a set of items -------------------------------------------------------------------- */

struct pf_dirnames {
    struct pf_items items;
    struct pf_hash_table table; /* by (parent, name); holds only the first of several items with equal names */
    unsigned char *suffixed;    /* one bit per item: the name gets ~<id> */
    uint32_t *by_id;            /* items sorted by id; NULL if ids equal item numbers */
};

static uint32_t item_parent(const struct pf_dirnames *names, uint32_t item)
{
    return names->items.parent ? names->items.parent(names->items.of, item) : 0;
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

struct named {
    const char *name;
    size_t size;
    uint32_t parent;
};

static bool item_has_name(const void *of, uint32_t item, const void *key)
{
    const struct named *named = key;
    char other[PF_NAME_MAX + 1];
    return item_parent(of, item) == named->parent && name_of(of, item, false, other) == named->size &&
           !memcmp(named->name, other, named->size);
}

static int add_item(struct pf_dirnames *names, uint32_t item, struct pf_error *error)
{
    char name[PF_NAME_MAX + 1];
    struct named named = {name, name_of(names, item, false, name), item_parent(names, item)};
    uint64_t hash = pf_siphash(named.parent, name, named.size);
    int64_t first = pf_hash_find(&names->table, hash, item_has_name, names, &named);
    if (first != PF_NOT_THERE) {
        suffix(names, item);
        suffix(names, (uint32_t)first);
    }
    const struct pf_items *items = &names->items;
    if (items->reserved && items->reserved(items->reserved_by, items->folder, name))
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

uint32_t pf_dirname_find(const struct pf_dirnames *names, uint32_t parent, const char *name)
{
    char other[PF_NAME_MAX + 1];
    size_t size = strlen(name);
    uint64_t id;
    uint32_t item;
    if (pf_name_id(name, size, &id)) {
        item = item_of_id(names, id);
    } else {
        struct named named = {name, size, parent};
        int64_t first =
            pf_hash_find(&names->table, pf_siphash(parent, name, size), item_has_name, names, &named);
        item = first == PF_NOT_THERE ? PF_NO_ITEM : (uint32_t)first;
    }
    bool found = item != PF_NO_ITEM && item_parent(names, item) == parent &&
                 pf_dirname(names, item, other) == size && !memcmp(name, other, size);
    return found ? item : PF_NO_ITEM;
}
