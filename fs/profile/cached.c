/* SPDX-License-Identifier: MIT */
#include "fs/profile/cached.h"

#include <stdlib.h>
#include <string.h>

#include "fs/profile/names.h"

enum { FIELDS_MAX = 640, BYTES_MAX = 144 * 1024 };

/*
 * The stored format. The number of a field is the pf_node_key of its node. A listing holds pf_node_key and name of each entry;
 * a size is a 64-bit number.
 */

void pf_cached_init(struct pf_cached *cached)
{
    *cached = (struct pf_cached){0};
    pf_lock_init(&cached->lock, PF_RANK_CACHED);
}

void pf_cached_free(struct pf_cached *cached)
{
    pf_buf_free(&cached->fields);
    pf_lock_destroy(&cached->lock);
}

/* ---- queries ------------------------------------------------------------------------------------ */

/*
 * Finds the field of a node: a folder's listing, or a file's text, or the file's size if no text is stored. Returns the field's bytes,
 * or NULL.
 */
static const char *find_cached_field(const struct pf_cached *cached, struct pf_node node,
                                     struct pf_field *field)
{
    uint64_t key = pf_node_key(node);
    struct pf_field other;
    const char *found = NULL;
    for (const char *at = NULL; (at = pf_fields_next(&cached->fields, at, &other));)
        if (other.number == key) {
            *field = other;
            found = at;
            if (field->type != PF_FIELD_SIZE)
                break;
        }
    return found;
}

/* The listing of a folder, ending at *end; NULL if it is not stored. */
static const char *cached_listing(const struct pf_cached *cached, struct pf_node folder, const char **end)
{
    struct pf_field field = {0};
    const char *found = find_cached_field(cached, folder, &field);
    if (!found || field.type != PF_FIELD_LISTING)
        return NULL;
    *end = found + field.size;
    return found;
}

/* Parses one entry of a listing; returns the position of the next entry. */
static const char *next_entry(const char *at, struct pf_node *node, const char **name)
{
    uint64_t key;
    memcpy(&key, at, sizeof key);
    *node = (struct pf_node){(unsigned)(key >> 32), (uint32_t)key};
    *name = at + sizeof key;
    return *name + strlen(*name) + 1;
}

bool pf_cached_wants_folder(struct pf_cached *cached, struct pf_node folder)
{
    struct pf_field field = {0};
    pf_lock_take(&cached->lock);
    bool room = cached->count < FIELDS_MAX && cached->fields.size + sizeof field <= BYTES_MAX;
    bool wants = room && !find_cached_field(cached, folder, &field);
    pf_lock_drop(&cached->lock);
    return wants;
}

bool pf_cached_has_folder(struct pf_cached *cached, struct pf_node folder)
{
    const char *end;
    pf_lock_take(&cached->lock);
    bool lists = cached_listing(cached, folder, &end) != NULL;
    pf_lock_drop(&cached->lock);
    return lists;
}

int pf_cached_get_entry(struct pf_cached *cached, struct pf_node folder, uint64_t number, char *name,
                        struct pf_node *entry)
{
    const char *end, *called = NULL;
    struct pf_node node;
    pf_lock_take(&cached->lock);
    const char *at = cached_listing(cached, folder, &end);
    int result = at ? 0 : -1;
    for (uint64_t i = 0; !result && at < end; i++) {
        at = next_entry(at, &node, &called);
        result = i == number;
    }
    if (result > 0) {
        *entry = node;
        strcpy(name, called);
    }
    pf_lock_drop(&cached->lock);
    return result;
}

int pf_cached_find(struct pf_cached *cached, struct pf_node folder, const char *name, struct pf_node *entry)
{
    const char *end, *called;
    struct pf_node node;
    pf_lock_take(&cached->lock);
    const char *at = cached_listing(cached, folder, &end);
    int result = at ? 0 : -1;
    while (!result && at < end) {
        at = next_entry(at, &node, &called);
        result = !strcmp(called, name);
    }
    if (result > 0)
        *entry = node;
    pf_lock_drop(&cached->lock);
    return result;
}

bool pf_cached_get_parent(struct pf_cached *cached, struct pf_node node, struct pf_node *parent, char *name)
{
    uint64_t key = pf_node_key(node);
    struct pf_field field = {0};
    struct pf_node entry;
    const char *called;
    bool found = false;
    pf_lock_take(&cached->lock);
    for (const char *at = NULL; !found && (at = pf_fields_next(&cached->fields, at, &field));) {
        const char *in = at;
        while (field.type == PF_FIELD_LISTING && !found && in < at + field.size) {
            in = next_entry(in, &entry, &called);
            found = pf_node_key(entry) == key;
        }
    }
    if (found) {
        *parent = (struct pf_node){(unsigned)(field.number >> 32), (uint32_t)field.number};
        strcpy(name, called);
    }
    pf_lock_drop(&cached->lock);
    return found;
}

bool pf_cached_get_file(struct pf_cached *cached, struct pf_node file, uint64_t *size, char **text)
{
    struct pf_field field = {0};
    pf_lock_take(&cached->lock);
    const char *bytes = find_cached_field(cached, file, &field);
    if (bytes && field.type == PF_FIELD_SIZE)
        memcpy(size, bytes, sizeof *size);
    else if (bytes)
        *size = field.size;
    if (text)
        *text = bytes && field.type == PF_FIELD_TEXT ? malloc((size_t)field.size + 1) : NULL;
    if (text && *text) {
        memcpy(*text, bytes, field.size);
        (*text)[field.size] = 0;
    }
    pf_lock_drop(&cached->lock);
    return bytes != NULL;
}

/* ---- adding data -------------------------------------------------------------------------------- */

/* Adds a field unless the node already has one. A stored size does not prevent adding a field of another type. */
static void put_cached_field(struct pf_cached *cached, enum pf_field_type type, struct pf_node node,
                             const void *bytes, size_t size)
{
    struct pf_buf *fields = &cached->fields;
    struct pf_field before;
    size_t whole = sizeof before + size;
    pf_lock_take(&cached->lock);
    bool there =
        find_cached_field(cached, node, &before) && (before.type != PF_FIELD_SIZE || type == PF_FIELD_SIZE);
    if (!there && cached->count < FIELDS_MAX && fields->size + whole <= BYTES_MAX &&
        pf_buf_reserve(fields, whole)) {
        pf_fields_add(fields, type, pf_node_key(node), bytes, size);
        cached->count++;
        cached->changed = true;
    }
    fields->failed = false;
    pf_lock_drop(&cached->lock);
}

void pf_cached_add_entry(struct pf_buf *entries, struct pf_node entry, const char *name)
{
    uint64_t key = pf_node_key(entry);
    pf_buf_add(entries, (const char *)&key, sizeof key);
    pf_buf_add(entries, name, strlen(name) + 1);
}

void pf_cached_put_folder(struct pf_cached *cached, struct pf_node folder, const struct pf_buf *entries)
{
    if (!entries->failed && entries->size <= BYTES_MAX)
        put_cached_field(cached, PF_FIELD_LISTING, folder, entries->data, entries->size);
}

void pf_cached_put_long_folder(struct pf_cached *cached, struct pf_node folder)
{
    put_cached_field(cached, PF_FIELD_LONG_LISTING, folder, NULL, 0);
}

void pf_cached_put_file(struct pf_cached *cached, struct pf_node file, uint64_t size, const char *text)
{
    if (text && size <= PF_CACHED_TEXT_MAX)
        put_cached_field(cached, PF_FIELD_TEXT, file, text, size);
    else
        put_cached_field(cached, PF_FIELD_SIZE, file, &size, sizeof size);
}

/* ---- serialisation ------------------------------------------------------------------------------ */

bool pf_cached_is_changed(struct pf_cached *cached)
{
    pf_lock_take(&cached->lock);
    bool changed = cached->changed;
    pf_lock_drop(&cached->lock);
    return changed;
}

void pf_cached_pack(struct pf_cached *cached, struct pf_buf *out)
{
    pf_lock_take(&cached->lock);
    pf_buf_add(out, cached->fields.data, cached->fields.size);
    cached->changed = false;
    pf_lock_drop(&cached->lock);
}

/* True if the bytes are entries with names of valid length. */
static bool is_listing(const char *at, size_t size)
{
    while (size > sizeof(uint64_t)) {
        size_t name = strnlen(at + sizeof(uint64_t), size - sizeof(uint64_t)),
               whole = sizeof(uint64_t) + name + 1;
        if (name > PF_NAME_MAX || whole > size)
            return false;
        at += whole;
        size -= whole;
    }
    return !size;
}

static bool is_cached_field(const struct pf_field *field, const char *bytes)
{
    switch (field->type) {
    case PF_FIELD_LISTING:
        return is_listing(bytes, field->size);
    case PF_FIELD_LONG_LISTING:
        return !field->size;
    case PF_FIELD_SIZE:
        return field->size == sizeof(uint64_t);
    case PF_FIELD_TEXT:
        return field->size <= PF_CACHED_TEXT_MAX;
    default:
        return false;
    }
}

bool pf_cached_unpack(struct pf_cached *cached, const char *bytes, size_t size)
{
    const struct pf_buf stored = {.data = (char *)(uintptr_t)bytes, .size = size};
    struct pf_field field = {0};
    if (!pf_fields_are_sound(bytes, size))
        return false;
    for (const char *at = NULL; (at = pf_fields_next(&stored, at, &field));)
        if (!is_cached_field(&field, at))
            return false;
    /* The database merges the fields of several processes, which together may exceed the limits. */
    for (const char *at = NULL; cached->count < FIELDS_MAX && (at = pf_fields_next(&stored, at, &field)) &&
                                cached->fields.size + field.size <= BYTES_MAX;
         cached->count++)
        pf_fields_add(&cached->fields, field.type, field.number, at, field.size);
    return !cached->fields.failed;
}
