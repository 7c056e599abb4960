/* SPDX-License-Identifier: MIT */
#include "formats/perun/tape.h"

#include <errno.h>
#include <stdlib.h>

int perun_tape_open(struct perun_tape *tape, uint64_t limit, struct pf_error *error)
{
    *tape = (struct perun_tape){.store = pf_store_new(limit), .pending = malloc(PERUN_TAPE_PENDING)};
    return tape->store && tape->pending ? 0 : pf_fail_memory(error);
}

void perun_tape_close(struct perun_tape *tape)
{
    pf_store_free(tape->store);
    free(tape->pending);
    *tape = (struct perun_tape){0};
}

int perun_tape_flush(struct perun_tape *tape, struct pf_error *error)
{
    size_t used = tape->used;
    tape->used = 0;
    return used ? pf_store_append(tape->store, tape->pending, used, error) : 0;
}

int perun_put(struct perun_tape *tape, const void *bytes, size_t size, struct pf_error *error)
{
    if (size > PERUN_TAPE_PENDING - tape->used && perun_tape_flush(tape, error))
        return -1;
    tape->size += size;
    if (size > PERUN_TAPE_PENDING)
        return pf_store_append(tape->store, bytes, size, error);
    memcpy(tape->pending + tape->used, bytes, size);
    tape->used += size;
    return 0;
}

int perun_put_varint(struct perun_tape *tape, uint64_t number, struct pf_error *error)
{
    enum { LONGEST = 10 };
    if (PERUN_TAPE_PENDING - tape->used < LONGEST && perun_tape_flush(tape, error))
        return -1;
    unsigned char *at = tape->pending + tape->used, *start = at;
    for (; number > 0x7f; number >>= 7)
        *at++ = (unsigned char)(number | 0x80);
    *at++ = (unsigned char)number;
    tape->used += (size_t)(at - start);
    tape->size += (size_t)(at - start);
    return 0;
}

static int put_tagged(struct perun_tape *tape, enum perun_tag tag, const void *bytes, size_t size,
                      struct pf_error *error)
{
    unsigned char all[1 + sizeof(pf_int128)] = {(unsigned char)tag};
    memcpy(all + 1, bytes, size);
    return perun_put(tape, all, 1 + size, error);
}

int perun_put_value(struct perun_tape *tape, const struct pf_cell *cell, struct pf_error *error)
{
    switch (cell->type) {
    case PF_INT:
        return perun_tape_flush(tape, error) ? -1 : perun_put_cell(tape, cell, error);
    case PF_UINT:
        return cell->u <= INT64_MAX
                   ? perun_put_cell(tape, &(struct pf_cell){.type = PF_INT, .u = cell->u}, error)
                   : put_tagged(tape, PERUN_TAG_UINT, &cell->u, 8, error);
    case PF_WIDE:
        return put_tagged(tape, PERUN_TAG_WIDE, cell->wide, sizeof *cell->wide, error);
    case PF_DOUBLE:
        return put_tagged(tape, PERUN_TAG_DOUBLE, &cell->d, 8, error);
    case PF_TEXT:
        if (put_tagged(tape, PERUN_TAG_TEXT, "", 0, error) || perun_put_number(tape, cell->size, error))
            return -1;
        return perun_put(tape, cell->text, cell->size, error);
    default:
        return put_tagged(tape, PERUN_TAG_ABSENT, "", 0, error);
    }
}

/* As many of the numbers as come before a double that is not verbatim, and fit into what is pending. An integer takes less
 * room than a verbatim number may. */
static size_t put_likely(struct perun_tape *tape, const struct pf_json_numeral *numerals, size_t n)
{
    size_t fit = (PERUN_TAPE_PENDING - tape->used) / PERUN_VERBATIM_ROOM, i = 0;
    unsigned char *start = tape->pending + tape->used, *at = start;
    n = n < fit ? n : fit;
    for (; i < n; i++) {
        const struct pf_json_numeral *numeral = &numerals[i];
        if (numeral->text)
            at = perun_write_verbatim(at, numeral->text, numeral->size);
        else if (numeral->value.type == PF_INT)
            at = perun_write_int(at, numeral->value.i);
        else
            break;
    }
    tape->used += (size_t)(at - start);
    tape->size += (size_t)(at - start);
    return i;
}

int perun_put_numerals(struct perun_tape *tape, const struct pf_json_numeral *numerals, size_t n,
                       struct pf_error *error)
{
    for (size_t i = 0; i < n;) {
        if (PERUN_TAPE_PENDING - tape->used < PERUN_VERBATIM_ROOM && perun_tape_flush(tape, error))
            return -1;
        i += put_likely(tape, numerals + i, n - i);
        if (i < n && !numerals[i].text && perun_put_cell(tape, &numerals[i++].value, error))
            return -1;
    }
    return 0;
}

int perun_tape_finish(struct perun_tape *tape, struct pf_error *error)
{
    int result = perun_tape_flush(tape, error);
    free(tape->pending);
    tape->pending = NULL;
    return result;
}

/* ---- reading ------------------------------------------------------------------------------------ */

void perun_head_free(struct perun_head *head)
{
    free(head->buffer);
    head->buffer = NULL;
}

void perun_head_seek(struct perun_head *head, uint64_t offset)
{
    if (offset >= head->base && offset - head->base <= head->have) {
        head->at = (size_t)(offset - head->base);
        return;
    }
    head->base = offset;
    head->at = head->have = 0;
}

int perun_head_fill(struct perun_head *head, size_t size, struct pf_error *error)
{
    uint64_t from = perun_head_tell(head), left = from < head->tape->size ? head->tape->size - from : 0;
    const unsigned char *memory = pf_store_memory(head->tape->store);
    if (size > left)
        return pf_fail(error, EINVAL, "not a position");
    if (memory) {
        head->base = 0;
        head->window = memory;
        head->at = (size_t)from;
        head->have = (size_t)head->tape->size;
        return 0;
    }
    size_t room = head->room ? head->room : PERUN_HEAD_ROOM;
    if (size > room || !head->buffer) {
        room = size > room ? size : room;
        unsigned char *buffer = realloc(head->buffer, room);
        if (!buffer)
            return pf_fail_memory(error);
        head->buffer = buffer;
        head->room = room;
    }
    head->base = from;
    head->at = 0;
    head->have = room < left ? room : (size_t)left;
    head->window = head->buffer;
    return pf_store_read(head->tape->store, from, head->buffer, head->have, error);
}

int perun_get_varint(struct perun_head *head, uint64_t *number, struct pf_error *error)
{
    *number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const unsigned char *byte = perun_get(head, 1, error);
        if (!byte)
            return -1;
        *number |= (uint64_t)(*byte & 0x7f) << shift;
        if (*byte < 0x80)
            return 0;
    }
    return pf_fail(error, EINVAL, "not a position");
}

static int get_text(struct perun_head *head, struct pf_cell *cell, struct pf_error *error)
{
    uint64_t size;
    if (perun_get_number(head, &size, error))
        return -1;
    if (size > UINT32_MAX)
        return pf_fail(error, EINVAL, "not a position");
    const unsigned char *bytes = perun_get(head, size ? (size_t)size : 0, error);
    *cell = pf_text((const char *)bytes, (size_t)size);
    cell->plain = bytes && pf_text_is_plain(cell->text, cell->size);
    return bytes || !size ? 0 : -1;
}

/* A verbatim number, behind its tag. */
static int get_verbatim(struct perun_head *head, size_t size, struct pf_cell *cell, struct pf_error *error)
{
    const unsigned char *bytes = perun_get(head, size, error);
    if (!bytes)
        return -1;
    memset(head->verbatim, 0, sizeof head->verbatim);
    memcpy(head->verbatim, bytes, size);
    *cell = pf_padded(head->verbatim, size);
    return 0;
}

static int get_int(struct perun_head *head, unsigned size, struct pf_cell *cell, struct pf_error *error)
{
    const unsigned char *bytes = perun_get(head, size, error);
    uint64_t value = 0;
    for (unsigned i = 0; bytes && i < size; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    unsigned above = 64 - 8 * size;
    *cell = pf_int((int64_t)(value << above) >> above);
    return bytes ? 0 : -1;
}

static int get_bytes(struct perun_head *head, void *bytes, size_t size, struct pf_error *error)
{
    const unsigned char *at = perun_get(head, size, error);
    if (at)
        memcpy(bytes, at, size);
    return at ? 0 : -1;
}

int perun_get_shown_value(struct perun_head *head, struct pf_cell *cell, struct pf_error *error)
{
    const unsigned char *byte = perun_get(head, 1, error);
    if (!byte)
        return -1;
    unsigned tag = *byte;
    *cell = pf_absent();
    switch (tag) {
    case PERUN_TAG_ABSENT:
        return 0;
    case PERUN_TAG_UINT:
        cell->type = PF_UINT;
        return get_bytes(head, &cell->u, sizeof cell->u, error);
    case PERUN_TAG_DOUBLE:
        cell->type = PF_DOUBLE;
        return get_bytes(head, &cell->d, sizeof cell->d, error);
    case PERUN_TAG_WIDE:
        *cell = pf_wide(&head->wide);
        return get_bytes(head, &head->wide, sizeof head->wide, error);
    case PERUN_TAG_TEXT:
        return get_text(head, cell, error);
    default:
        if (perun_is_verbatim(tag))
            return get_verbatim(head, tag - PERUN_TAG_VERBATIM, cell, error);
        return tag <= PERUN_TAG_INT_8 ? get_int(head, tag, cell, error)
                                      : pf_fail(error, EINVAL, "not a position");
    }
}

int perun_get_value(struct perun_head *head, struct pf_cell *cell, struct pf_error *error)
{
    if (perun_get_shown_value(head, cell, error))
        return -1;
    if (cell->type == PF_TEXT && cell->padded)
        *cell = pf_json_verbatim_number(cell->text, cell->size);
    return 0;
}
