/* SPDX-License-Identifier: MIT */
#include "formats/kit/strings.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/hash.h"

enum { CHUNK = 64 * 1024 };

struct chunk {
    struct chunk *next;
    size_t used, room;
    char bytes[];
};

struct pf_strings {
    struct pf_cell *cells; /* string i */
    uint32_t count, room;
    uint32_t *slots; /* open addressing: index + 1, 0 is free */
    uint32_t mask;
    struct chunk *chunks;
};

struct pf_strings *pf_strings_new(void)
{
    struct pf_strings *strings = calloc(1, sizeof *strings);
    if (!strings)
        return NULL;
    strings->mask = 63;
    strings->slots = calloc((size_t)strings->mask + 1, sizeof *strings->slots);
    if (!strings->slots) {
        free(strings);
        return NULL;
    }
    return strings;
}

void pf_strings_free(struct pf_strings *strings)
{
    if (!strings)
        return;
    for (struct chunk *chunk = strings->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(strings->cells);
    free(strings->slots);
    free(strings);
}

static uint32_t *slot_of(const struct pf_strings *strings, const char *text, size_t size)
{
    for (uint32_t i = (uint32_t)pf_hash(0, text, size);; i++) {
        uint32_t *slot = &strings->slots[i & strings->mask];
        if (!*slot)
            return slot;
        const struct pf_cell *cell = &strings->cells[*slot - 1];
        if (cell->size == size && !memcmp(cell->text, text, size))
            return slot;
    }
}

static int grow_slots(struct pf_strings *strings)
{
    uint32_t mask = strings->mask * 2 + 1;
    uint32_t *slots = calloc((size_t)mask + 1, sizeof *slots);
    if (!slots)
        return -1;
    free(strings->slots);
    strings->slots = slots;
    strings->mask = mask;
    for (uint32_t i = 0; i < strings->count; i++)
        *slot_of(strings, strings->cells[i].text, strings->cells[i].size) = i + 1;
    return 0;
}

/* A copy of the text that never moves. */
static char *keep(struct pf_strings *strings, const char *text, size_t size)
{
    struct chunk *chunk = strings->chunks;
    if (!chunk || chunk->room - chunk->used < size + PF_PADDING) {
        size_t room = size + PF_PADDING > CHUNK ? size + PF_PADDING : CHUNK;
        chunk = malloc(sizeof *chunk + room);
        if (!chunk)
            return NULL;
        chunk->used = 0;
        chunk->room = room;
        chunk->next = strings->chunks;
        strings->chunks = chunk;
    }
    char *copy = chunk->bytes + chunk->used;
    if (size)
        memcpy(copy, text, size);
    memset(copy + size, 0, PF_PADDING);
    chunk->used += size + PF_PADDING;
    return copy;
}

uint32_t pf_intern(struct pf_strings *strings, const char *text, size_t size, struct pf_error *error)
{
    if (size > UINT32_MAX) {
        pf_fail(error, EFBIG, "a name of %zu bytes is too long", size);
        return PF_NO_STRING;
    }
    uint32_t *slot = slot_of(strings, text, size);
    if (*slot)
        return *slot - 1;
    if (strings->count == strings->room) {
        uint32_t room = strings->room ? strings->room * 2 : 64;
        if (room <= strings->room || room >= PF_NO_STRING ||
            pf_array_resize(&strings->cells, room, sizeof *strings->cells, error))
            goto no_memory;
        strings->room = room;
    }
    if (strings->count >= strings->mask / 2) {
        if (grow_slots(strings))
            goto no_memory;
        slot = slot_of(strings, text, size);
    }
    char *copy = keep(strings, text, size);
    if (!copy)
        goto no_memory;
    struct pf_cell *cell = &strings->cells[strings->count];
    *cell = pf_text(copy, size);
    pf_cell_mark(cell);
    cell->padded = cell->plain;
    *slot = ++strings->count;
    return strings->count - 1;
no_memory:
    pf_fail_memory(error);
    return PF_NO_STRING;
}

struct pf_cell pf_interned(const struct pf_strings *strings, uint32_t id)
{
    return id < strings->count ? strings->cells[id] : pf_absent();
}

uint32_t pf_strings_count(const struct pf_strings *strings)
{
    return strings->count;
}
