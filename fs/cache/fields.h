/* SPDX-License-Identifier: MIT */
#ifndef PF_FIELDS_H
#define PF_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/text/buf.h"

/*
 * Fields are small data of one origin that are packed into one datum of the cache. This is several times as fast as one database row per
 * field. A field is a header followed by bytes, unaligned. The stored form is the same as the form in memory. Not thread-safe.
 */
struct pf_field {
    uint64_t number; /* of a node, table, ...; `type` and `number` are the key */
    uint32_t type;   /* enum pf_field_type */
    uint32_t size;   /* of the bytes that follow the header */
};

/* Types of fields. The database stores these numbers, so they must not change. */
enum pf_field_type {
    PF_FIELD_FACTS, /* facts of the driver, on which the other fields of the datum depend */
    PF_FIELD_LISTING,
    PF_FIELD_LONG_LISTING, /* a listing that is too long to be kept; no bytes */
    PF_FIELD_SIZE,
    PF_FIELD_TEXT,
    PF_FIELD_TABLE_SIZES,
    PF_FIELD_CHECKPOINTS,
    PF_FIELD_METRICS,
    PF_FIELD_SUMMARY,
    PF_FIELD_ROWS,
};

/* Appends a field. Sets fields->failed if memory runs out. */
void pf_fields_add(struct pf_buf *fields, enum pf_field_type type, uint64_t number, const void *bytes,
                   size_t size);

/* Appends the header of a field; the caller then appends the bytes, and calls pf_fields_end with the returned position. */
size_t pf_fields_begin(struct pf_buf *fields, enum pf_field_type type, uint64_t number);
/* Ends the field. Sets fields->failed if the bytes exceed 4 GB. */
void pf_fields_end(struct pf_buf *fields, size_t begun);

/*
 * Returns the bytes of the next field and sets *field to its header. `at`: the bytes of the current field, or NULL to get the first
 * field. Returns NULL at the end. The fields must be sound (pf_fields_are_sound).
 */
const char *pf_fields_next(const struct pf_buf *fields, const char *at, struct pf_field *field);

/* True if the bytes are a whole number of fields. Their contents are not checked. */
bool pf_fields_are_sound(const char *bytes, size_t size);

/*
 * Appends the stored fields whose keys are not in `fields`, up to a total size of `limit` bytes. No-op if the stored bytes are not sound,
 * or depend on other facts.
 */
void pf_fields_merge(struct pf_buf *fields, const char *stored, size_t size, size_t limit);

#endif
