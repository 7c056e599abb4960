/* SPDX-License-Identifier: MIT */
#include "fs/cache/fields.h"

#include "fs/map.h"

void pf_fields_add(struct pf_buf *fields, enum pf_field_type type, uint64_t number, const void *bytes,
                   size_t size)
{
    size_t begun = pf_fields_begin(fields, type, number);
    pf_buf_add(fields, bytes, size);
    pf_fields_end(fields, begun);
}

size_t pf_fields_begin(struct pf_buf *fields, enum pf_field_type type, uint64_t number)
{
    struct pf_field field = {number, type, 0};
    pf_buf_add(fields, (const char *)&field, sizeof field);
    return fields->size;
}

void pf_fields_end(struct pf_buf *fields, size_t begun)
{
    size_t size = fields->size - begun;
    fields->failed |= size > UINT32_MAX;
    if (!fields->failed)
        memcpy(fields->data + begun - sizeof(uint32_t), &(uint32_t){(uint32_t)size}, sizeof(uint32_t));
}

const char *pf_fields_next(const struct pf_buf *fields, const char *at, struct pf_field *field)
{
    const char *next = at ? at + field->size : fields->data;
    if (!fields->size || next == fields->data + fields->size)
        return NULL;
    memcpy(field, next, sizeof *field);
    return next + sizeof *field;
}

bool pf_fields_are_sound(const char *bytes, size_t size)
{
    struct pf_field field = {0};
    while (size >= sizeof field) {
        memcpy(&field, bytes, sizeof field);
        if (field.size > size - sizeof field)
            return false;
        bytes += sizeof field + field.size;
        size -= sizeof field + field.size;
    }
    return !size;
}

/* ---- merging ------------------------------------------------------------------------------------ */

/* Packs type and number into a key. A number has at most 40 bits (pf_node_key); if two keys collided, the stored field would be lost. */
static uint64_t field_key_of(const struct pf_field *field)
{
    return field->number ^ (uint64_t)field->type << 48;
}

static struct pf_buf facts_of(const struct pf_buf *fields)
{
    struct pf_field field = {0};
    for (const char *at = NULL; (at = pf_fields_next(fields, at, &field));)
        if (field.type == PF_FIELD_FACTS)
            return (struct pf_buf){.data = (char *)(uintptr_t)at, .size = field.size};
    return (struct pf_buf){0};
}

static bool depend_on_same_facts(const struct pf_buf *some, const struct pf_buf *others)
{
    struct pf_buf facts = facts_of(some), other = facts_of(others);
    return facts.size == other.size && (!facts.size || !memcmp(facts.data, other.data, facts.size));
}

void pf_fields_merge(struct pf_buf *fields, const char *stored, size_t size, size_t limit)
{
    const struct pf_buf others = {.data = (char *)(uintptr_t)stored, .size = size};
    struct pf_map own = {0};
    struct pf_field field = {0};
    bool failed =
        fields->failed || !pf_fields_are_sound(stored, size) || !depend_on_same_facts(fields, &others);
    for (const char *at = NULL; !failed && (at = pf_fields_next(fields, at, &field));)
        failed = !pf_map_put(&own, field_key_of(&field), &own);
    for (const char *at = NULL; !failed && (at = pf_fields_next(&others, at, &field));)
        if (!pf_map_get(&own, field_key_of(&field)) && fields->size + sizeof field + field.size <= limit)
            pf_fields_add(fields, field.type, field.number, at, field.size);
    pf_map_free(&own);
}
