/* SPDX-License-Identifier: MIT */
#include "formats/kit/strings.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/table.h"

/* Most pools hold a few words and some hold millions, so chunks grow from FIRST_CHUNK to LAST_CHUNK bytes. */
enum { FIRST_CHUNK = 512, LAST_CHUNK = 64 * 1024, FIRST_CELLS = 8 };

struct string_chunk {
    struct string_chunk *next;
    size_t used, room;
    char bytes[];
};

struct pf_strings {
    struct pf_cell *cells; /* string i */
    size_t room;
    uint32_t count;
    struct pf_hash_table table;
    struct string_chunk *chunks;
    size_t bytes; /* size of all chunks */
};

struct pf_strings *pf_strings_new(void)
{
    return calloc(1, sizeof(struct pf_strings));
}

void pf_strings_free(struct pf_strings *strings)
{
    if (!strings)
        return;
    for (struct string_chunk *chunk = strings->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(strings->cells);
    pf_hash_free(&strings->table);
    free(strings);
}

struct string_text {
    const char *bytes;
    size_t size;
};

static bool is_text(const void *of, uint32_t number, const void *key)
{
    const struct pf_cell *cell = &((const struct pf_strings *)of)->cells[number];
    const struct string_text *text = key;
    return cell->size == text->size && !memcmp(cell->text, text->bytes, text->size);
}

/* Copies the text to memory that never moves. */
static char *strings_retain(struct pf_strings *strings, const char *text, size_t size)
{
    struct string_chunk *chunk = strings->chunks;
    if (!chunk || chunk->room - chunk->used < size + 1) {
        size_t room = chunk ? 2 * chunk->room : FIRST_CHUNK;
        if (room > LAST_CHUNK)
            room = LAST_CHUNK;
        if (room < size + 1)
            room = size + 1;
        chunk = malloc(sizeof *chunk + room);
        if (!chunk)
            return NULL;
        chunk->used = 0;
        chunk->room = room;
        chunk->next = strings->chunks;
        strings->chunks = chunk;
        strings->bytes += sizeof *chunk + room;
    }
    char *copy = chunk->bytes + chunk->used;
    if (size)
        memcpy(copy, text, size);
    copy[size] = 0;
    chunk->used += size + 1;
    return copy;
}

uint32_t pf_intern(struct pf_strings *strings, const char *text, size_t size, struct pf_error *error)
{
    if (size > UINT32_MAX) {
        pf_fail(error, EFBIG, "a name of %zu bytes is too long", size);
        return PF_NO_STRING;
    }
    struct string_text key = {text, size};
    uint64_t hash = pf_siphash(0, text, size);
    int64_t known = pf_hash_find(&strings->table, hash, is_text, strings, &key);
    if (known != PF_NOT_THERE)
        return (uint32_t)known;
    if (strings->count == strings->room &&
        pf_array_grow(&strings->cells, &strings->room, strings->room ? strings->room + 1 : FIRST_CELLS,
                      sizeof *strings->cells, error))
        return PF_NO_STRING;
    char *copy = strings_retain(strings, text, size);
    if (!copy) {
        pf_fail_memory(error);
        return PF_NO_STRING;
    }
    struct pf_cell *cell = &strings->cells[strings->count];
    *cell = pf_text(copy, size);
    pf_cell_mark(cell);
    if (pf_hash_add(&strings->table, hash, strings->count, error))
        return PF_NO_STRING;
    return strings->count++;
}

uint32_t pf_string_of(const struct pf_strings *strings, const char *text, size_t size)
{
    struct string_text key = {text, size};
    int64_t known = pf_hash_find(&strings->table, pf_siphash(0, text, size), is_text, strings, &key);
    return known == PF_NOT_THERE ? PF_NO_STRING : (uint32_t)known;
}

struct pf_cell pf_interned(const struct pf_strings *strings, uint32_t id)
{
    return id < strings->count ? strings->cells[id] : pf_absent();
}

uint32_t pf_strings_count(const struct pf_strings *strings)
{
    return strings->count;
}

uint64_t pf_strings_bytes(const struct pf_strings *strings)
{
    return sizeof *strings + strings->bytes + strings->room * sizeof *strings->cells +
           (strings->table.slots ? ((uint64_t)strings->table.mask + 1) * sizeof *strings->table.slots : 0);
}
