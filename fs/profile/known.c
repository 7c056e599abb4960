/* SPDX-License-Identifier: MIT */
#include "fs/profile/known.h"

#include <stdlib.h>
#include <string.h>

#include "fs/profile/names.h"

enum { RECORDS_MAX = 640, BYTES_MAX = 144 * 1024 };

/* Header of a record, in front of the bytes; may be unaligned. */
struct record {
    uint64_t node;
    uint64_t size;  /* of a file; of a listing, the number of entries */
    uint32_t bytes; /* number of bytes that follow the header */
    enum { LISTING, SIZE, TEXT, LONG_LISTING } type;
};

void pf_known_init(struct pf_known *known)
{
    *known = (struct pf_known){0};
    pf_lock_init(&known->lock, PF_RANK_KNOWN);
}

void pf_known_free(struct pf_known *known)
{
    pf_buf_free(&known->records);
    pf_lock_destroy(&known->lock);
}

/* ---- queries ------------------------------------------------------------------------------------ */

/* The bytes of the record after the one at `at`; at NULL: the first record. Returns NULL at the end. */
static const char *next_record(const struct pf_known *known, const char *at, struct record *record)
{
    const struct pf_buf *records = &known->records;
    const char *next = at ? at + record->bytes : records->data;
    if (!records->size || next == records->data + records->size)
        return NULL;
    memcpy(record, next, sizeof *record);
    return next + sizeof *record;
}

/* The bytes of the record for a node: a listing, or for a file TEXT in preference to SIZE. NULL if there is no record. */
static const char *find(const struct pf_known *known, struct pf_node node, struct record *record)
{
    uint64_t key = pf_node_key(node);
    struct record other;
    const char *found = NULL;
    for (const char *at = NULL; (at = next_record(known, at, &other));)
        if (other.node == key) {
            *record = other;
            found = at;
            if (record->type != SIZE)
                break;
        }
    return found;
}

static const char *find_listing(const struct pf_known *known, struct pf_node folder, struct record *listing)
{
    const char *found = find(known, folder, listing);
    return found && listing->type == LISTING ? found : NULL;
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

bool pf_known_wants(struct pf_known *known, struct pf_node folder)
{
    struct record record;
    pf_lock_take(&known->lock);
    bool room = known->count < RECORDS_MAX && known->records.size + sizeof record <= BYTES_MAX;
    bool wants = room && !find(known, folder, &record);
    pf_lock_drop(&known->lock);
    return wants;
}

bool pf_known_lists(struct pf_known *known, struct pf_node folder)
{
    struct record listing;
    pf_lock_take(&known->lock);
    bool lists = find_listing(known, folder, &listing) != NULL;
    pf_lock_drop(&known->lock);
    return lists;
}

int pf_known_entry(struct pf_known *known, struct pf_node folder, uint64_t number, char *name,
                   struct pf_node *entry)
{
    struct record listing;
    const char *called = NULL;
    pf_lock_take(&known->lock);
    const char *at = find_listing(known, folder, &listing);
    int result = !at ? -1 : number < listing.size;
    for (uint64_t i = 0; result > 0 && i <= number; i++)
        at = next_entry(at, entry, &called);
    if (result > 0)
        strcpy(name, called);
    pf_lock_drop(&known->lock);
    return result;
}

int pf_known_find(struct pf_known *known, struct pf_node folder, const char *name, struct pf_node *entry)
{
    struct record listing;
    struct pf_node node;
    const char *called;
    pf_lock_take(&known->lock);
    const char *at = find_listing(known, folder, &listing);
    int result = at ? 0 : -1;
    for (uint64_t i = 0; !result && i < listing.size; i++) {
        at = next_entry(at, &node, &called);
        result = !strcmp(called, name);
    }
    if (result > 0)
        *entry = node;
    pf_lock_drop(&known->lock);
    return result;
}

bool pf_known_parent(struct pf_known *known, struct pf_node node, struct pf_node *parent, char *name)
{
    uint64_t key = pf_node_key(node);
    struct record record;
    struct pf_node entry;
    const char *called;
    bool found = false;
    pf_lock_take(&known->lock);
    for (const char *at = NULL; !found && (at = next_record(known, at, &record));) {
        const char *in = at;
        for (uint64_t i = 0; record.type == LISTING && !found && i < record.size; i++) {
            in = next_entry(in, &entry, &called);
            found = pf_node_key(entry) == key;
        }
    }
    if (found) {
        *parent = (struct pf_node){(unsigned)(record.node >> 32), (uint32_t)record.node};
        strcpy(name, called);
    }
    pf_lock_drop(&known->lock);
    return found;
}

bool pf_known_file(struct pf_known *known, struct pf_node file, uint64_t *size, char **text)
{
    struct record record;
    pf_lock_take(&known->lock);
    const char *bytes = find(known, file, &record);
    if (bytes)
        *size = record.size;
    if (text)
        *text = bytes && record.type == TEXT ? malloc(record.size + 1) : NULL;
    if (text && *text) {
        memcpy(*text, bytes, record.size);
        (*text)[record.size] = 0;
    }
    pf_lock_drop(&known->lock);
    return bytes != NULL;
}

/* ---- adding facts ------------------------------------------------------------------------------- */

/* Adds a record unless the store already has the same fact or a larger one. */
static void add(struct pf_known *known, const struct record *record, const char *bytes)
{
    struct pf_node node = {(unsigned)(record->node >> 32), (uint32_t)record->node};
    struct pf_buf *records = &known->records;
    struct record before;
    size_t size = sizeof *record + record->bytes;
    pf_lock_take(&known->lock);
    bool there = find(known, node, &before) && (before.type != SIZE || record->type == SIZE);
    if (!there && known->count < RECORDS_MAX && records->size + size <= BYTES_MAX &&
        pf_buf_reserve(records, size)) {
        pf_buf_add(records, (const char *)record, sizeof *record);
        pf_buf_add(records, bytes, record->bytes);
        known->count++;
        known->changed = true;
    }
    records->failed = false;
    pf_lock_drop(&known->lock);
}

void pf_known_list(struct pf_buf *entries, struct pf_node entry, const char *name)
{
    uint64_t key = pf_node_key(entry);
    pf_buf_add(entries, (const char *)&key, sizeof key);
    pf_buf_add(entries, name, strlen(name) + 1);
}

void pf_known_add_folder(struct pf_known *known, struct pf_node folder, uint32_t count,
                         const struct pf_buf *entries)
{
    struct record record = {pf_node_key(folder), count, (uint32_t)entries->size, LISTING};
    if (!entries->failed && entries->size <= BYTES_MAX)
        add(known, &record, entries->data);
}

void pf_known_add_long_folder(struct pf_known *known, struct pf_node folder)
{
    struct record record = {pf_node_key(folder), 0, 0, LONG_LISTING};
    add(known, &record, NULL);
}

void pf_known_add_file(struct pf_known *known, struct pf_node file, uint64_t size, const char *text)
{
    bool whole = text && size <= PF_KNOWN_TEXT_MAX;
    struct record record = {pf_node_key(file), size, whole ? (uint32_t)size : 0, whole ? TEXT : SIZE};
    add(known, &record, text);
}

/* ---- serialisation ------------------------------------------------------------------------------ */

bool pf_known_is_changed(struct pf_known *known)
{
    pf_lock_take(&known->lock);
    bool changed = known->changed;
    pf_lock_drop(&known->lock);
    return changed;
}

void pf_known_pack(struct pf_known *known, struct pf_buf *out)
{
    pf_lock_take(&known->lock);
    pf_pack_u64(out, known->records.size);
    pf_buf_add(out, known->records.data, known->records.size);
    known->changed = false;
    pf_lock_drop(&known->lock);
}

/* True if the bytes are exactly `entries` entries with names of valid length. */
static bool is_listing(const char *at, size_t size, uint64_t entries)
{
    for (; entries && size > sizeof(uint64_t); entries--) {
        size_t name = strnlen(at + sizeof(uint64_t), size - sizeof(uint64_t)),
               whole = sizeof(uint64_t) + name + 1;
        if (name > PF_NAME_MAX || whole > size)
            return false;
        at += whole;
        size -= whole;
    }
    return !entries && !size;
}

static bool is_sound(struct pf_unpack *in, unsigned *records)
{
    for (; in->at < in->end; ++*records) {
        struct record record;
        const void *head = pf_unpack_bytes(in, sizeof record);
        if (head)
            memcpy(&record, head, sizeof record);
        const char *bytes = head ? pf_unpack_bytes(in, record.bytes) : NULL;
        bool sound = bytes && (record.type == LISTING ? is_listing(bytes, record.bytes, record.size)
                               : record.type == TEXT  ? record.bytes == record.size
                                                      : record.type <= LONG_LISTING && !record.bytes);
        if (!sound)
            return false;
    }
    return true;
}

bool pf_known_unpack(struct pf_known *known, struct pf_unpack *in)
{
    uint64_t size = pf_unpack_u64(in);
    const char *bytes = in->at;
    unsigned records = 0;
    if (in->failed || size != (uint64_t)(in->end - bytes) || !is_sound(in, &records))
        return false;
    pf_buf_add(&known->records, bytes, size);
    known->count = records;
    return !known->records.failed;
}
