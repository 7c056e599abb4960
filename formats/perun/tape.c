/* SPDX-License-Identifier: MIT */
#include "formats/perun/tape.h"

#include <errno.h>
#include <stdlib.h>

/* Written to the store in pieces of this size. */
#define PENDING ((size_t)64 * 1024)

/* The first byte of a value: one of these, or 0x80 and an integer from 0 to 127. */
enum { ABSENT, INT_1, INT_2, INT_4, INT_8, UINT_8, WIDE_16, DOUBLE_8, TEXT, SMALL = 0x80 };

int perun_tape_open(struct perun_tape *tape, uint64_t limit, struct pf_error *error)
{
    *tape = (struct perun_tape){.store = pf_store_new(limit), .pending = malloc(PENDING)};
    return tape->store && tape->pending ? 0 : pf_fail_memory(error);
}

void perun_tape_close(struct perun_tape *tape)
{
    pf_store_free(tape->store);
    free(tape->pending);
    *tape = (struct perun_tape){0};
}

static int flush(struct perun_tape *tape, struct pf_error *error)
{
    size_t used = tape->used;
    tape->used = 0;
    return used ? pf_store_append(tape->store, tape->pending, used, error) : 0;
}

int perun_put(struct perun_tape *tape, const void *bytes, size_t size, struct pf_error *error)
{
    if (size > PENDING - tape->used && flush(tape, error))
        return -1;
    tape->size += size;
    if (size > PENDING)
        return pf_store_append(tape->store, bytes, size, error);
    memcpy(tape->pending + tape->used, bytes, size);
    tape->used += size;
    return 0;
}

int perun_put_number(struct perun_tape *tape, uint64_t number, struct pf_error *error)
{
    unsigned char bytes[10];
    size_t size = 0;
    for (; number > 0x7f; number >>= 7)
        bytes[size++] = (unsigned char)(number | 0x80);
    bytes[size++] = (unsigned char)number;
    return perun_put(tape, bytes, size, error);
}

static int put_tagged(struct perun_tape *tape, unsigned char tag, const void *bytes, size_t size,
                      struct pf_error *error)
{
    unsigned char all[1 + sizeof(pf_int128)] = {tag};
    memcpy(all + 1, bytes, size);
    return perun_put(tape, all, 1 + size, error);
}

static int put_int(struct perun_tape *tape, int64_t value, struct pf_error *error)
{
    if (value >= 0 && value < SMALL)
        return put_tagged(tape, (unsigned char)(SMALL | value), "", 0, error);
    if (value == (int8_t)value)
        return put_tagged(tape, INT_1, &(int8_t){(int8_t)value}, 1, error);
    if (value == (int16_t)value)
        return put_tagged(tape, INT_2, &(int16_t){(int16_t)value}, 2, error);
    if (value == (int32_t)value)
        return put_tagged(tape, INT_4, &(int32_t){(int32_t)value}, 4, error);
    return put_tagged(tape, INT_8, &value, 8, error);
}

int perun_put_cell(struct perun_tape *tape, const struct pf_cell *cell, struct pf_error *error)
{
    switch (cell->type) {
    case PF_INT:
        return put_int(tape, cell->i, error);
    case PF_UINT:
        return cell->u <= INT64_MAX ? put_int(tape, cell->i, error)
                                    : put_tagged(tape, UINT_8, &cell->u, 8, error);
    case PF_WIDE:
        return put_tagged(tape, WIDE_16, cell->wide, sizeof *cell->wide, error);
    case PF_DOUBLE:
        return put_tagged(tape, DOUBLE_8, &cell->d, 8, error);
    case PF_TEXT:
        if (put_tagged(tape, TEXT, "", 0, error) || perun_put_number(tape, cell->size, error))
            return -1;
        return perun_put(tape, cell->text, cell->size, error);
    default:
        return put_tagged(tape, ABSENT, "", 0, error);
    }
}

int perun_tape_finish(struct perun_tape *tape, struct pf_error *error)
{
    int result = flush(tape, error);
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

/* Makes at least `size` bytes stand in the window from `at` on. */
static int fill(struct perun_head *head, size_t size, struct pf_error *error)
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

const unsigned char *perun_get(struct perun_head *head, size_t size, struct pf_error *error)
{
    if (head->have - head->at < size && fill(head, size, error))
        return NULL;
    const unsigned char *bytes = head->window + head->at;
    head->at += size;
    return bytes;
}

int perun_get_number(struct perun_head *head, uint64_t *number, struct pf_error *error)
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
    return bytes || !size ? 0 : -1;
}

#define GET(type, maker)                                                                                     \
    do {                                                                                                     \
        type value;                                                                                          \
        if (!(bytes = perun_get(head, sizeof value, error)))                                                 \
            return -1;                                                                                       \
        memcpy(&value, bytes, sizeof value);                                                                 \
        *cell = maker(value);                                                                                \
        return 0;                                                                                            \
    } while (0)

int perun_get_cell(struct perun_head *head, struct pf_cell *cell, struct pf_error *error)
{
    const unsigned char *bytes = perun_get(head, 1, error);
    if (!bytes)
        return -1;
    unsigned char tag = *bytes;
    if (tag >= SMALL) {
        *cell = pf_int(tag - SMALL);
        return 0;
    }
    switch (tag) {
    case INT_1:
        GET(int8_t, pf_int);
    case INT_2:
        GET(int16_t, pf_int);
    case INT_4:
        GET(int32_t, pf_int);
    case INT_8:
        GET(int64_t, pf_int);
    case UINT_8:
        GET(uint64_t, pf_uint);
    case DOUBLE_8:
        GET(double, pf_double);
    case WIDE_16:
        if (!(bytes = perun_get(head, sizeof head->wide, error)))
            return -1;
        memcpy(&head->wide, bytes, sizeof head->wide);
        *cell = pf_wide(&head->wide);
        return 0;
    case TEXT:
        return get_text(head, cell, error);
    default:
        *cell = pf_absent();
        return 0;
    }
}
