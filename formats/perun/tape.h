/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_TAPE_H
#define PF_PERUN_TAPE_H

#include <endian.h>

#include "formats/json/json.h"
#include "formats/kit/store.h"

/*
 * Bytes that one pass writes and later ones read: numbers as varints, values of fields as small as they are. In
 * memory up to a limit, in an unlinked file beyond. What is written is never read back by another process.
 *
 * A value is a byte that tells its kind and what follows: an integer as 1 to 8 bytes, least significant first, as
 * many as it needs with its sign; a double, or a wide integer, in the machine's order; text behind its size. Most numbers
 * are verbatim (see pf_json_numeral): kept as they are written, so that they need not be made text again to be shown.
 */
enum perun_tag {
    PERUN_TAG_ABSENT,
    PERUN_TAG_INT, /* and up to PERUN_TAG_INT_8: of as many bytes as the tag's number says */
    PERUN_TAG_INT_8 = 8,
    PERUN_TAG_UINT,
    PERUN_TAG_WIDE,
    PERUN_TAG_DOUBLE,
    PERUN_TAG_TEXT,
    PERUN_TAG_VERBATIM, /* and further: a number of as many characters as the tag is above this one */
    PERUN_TAG_VERBATIM_MAX = PERUN_TAG_VERBATIM + PF_PADDING,
};

/* Written to the store in pieces of this size. */
#define PERUN_TAPE_PENDING ((size_t)64 * 1024)

struct perun_tape {
    struct pf_store *store; /* owned */
    unsigned char *pending; /* what is not in the store yet: PERUN_TAPE_PENDING bytes */
    size_t used;
    uint64_t size; /* written in all */
};

int perun_tape_open(struct perun_tape *tape, uint64_t limit, struct pf_error *error);
void perun_tape_close(struct perun_tape *tape); /* also one that is zeroed */

int perun_put(struct perun_tape *tape, const void *bytes, size_t size, struct pf_error *error);
/* Puts what is pending into the store. */
int perun_tape_flush(struct perun_tape *tape, struct pf_error *error);
/* A number of any size. */
int perun_put_varint(struct perun_tape *tape, uint64_t number, struct pf_error *error);

static inline int perun_put_number(struct perun_tape *tape, uint64_t number, struct pf_error *error)
{
    if (number > 0x7f || tape->used == PERUN_TAPE_PENDING)
        return perun_put_varint(tape, number, error);
    tape->pending[tape->used++] = (unsigned char)number;
    tape->size++;
    return 0;
}

/* Any cell. */
int perun_put_value(struct perun_tape *tape, const struct pf_cell *cell, struct pf_error *error);

/* The bytes that an integer takes, its tag with it, and room to write them. */
enum { PERUN_INT_ROOM = 1 + sizeof(int64_t) };

/* Writes PERUN_INT_ROOM bytes whatever the number; returns the end of those that count. */
static inline unsigned char *perun_write_int(unsigned char *at, int64_t number)
{
    uint64_t magnitude = (uint64_t)(number < 0 ? ~number : number), bytes = htole64((uint64_t)number);
    size_t size = (size_t)(72 - __builtin_clzll(magnitude | 1)) / 8; /* a bit for the sign, rounded up */
    *at = (unsigned char)size;
    memcpy(at + 1, &bytes, sizeof bytes);
    return at + 1 + size;
}

static inline int perun_put_cell(struct perun_tape *tape, const struct pf_cell *cell, struct pf_error *error)
{
    if (cell->type != PF_INT || PERUN_TAPE_PENDING - tape->used < PERUN_INT_ROOM)
        return perun_put_value(tape, cell, error);
    unsigned char *start = tape->pending + tape->used, *end = perun_write_int(start, cell->i);
    tape->used += (size_t)(end - start);
    tape->size += (size_t)(end - start);
    return 0;
}

/* A verbatim number: its tag and text. Writes PERUN_VERBATIM_ROOM bytes whatever its size; returns the end of those that count. */
enum { PERUN_VERBATIM_ROOM = 1 + PF_PADDING };

static inline unsigned char *perun_write_verbatim(unsigned char *at, const char *text, size_t size)
{
    *at = (unsigned char)(PERUN_TAG_VERBATIM + size);
    memcpy(at + 1, text, PF_PADDING);
    return at + 1 + size;
}

static inline int perun_put_verbatim(struct perun_tape *tape, const char *text, size_t size,
                                     struct pf_error *error)
{
    if (PERUN_TAPE_PENDING - tape->used < PERUN_VERBATIM_ROOM && perun_tape_flush(tape, error))
        return -1;
    perun_write_verbatim(tape->pending + tape->used, text, size);
    tape->used += 1 + size;
    tape->size += 1 + size;
    return 0;
}

/* Many numbers at once. */
int perun_put_numerals(struct perun_tape *tape, const struct pf_json_numeral *numerals, size_t n,
                       struct pf_error *error);

/* To be called once when all is written, before the first read. */
int perun_tape_finish(struct perun_tape *tape, struct pf_error *error);

/*
 * Reads a finished tape from any place on, through a buffer (or in place, where the tape is in memory). Zeroed and
 * given a tape, it stands at the start. For one thread.
 */
struct perun_head {
    const struct perun_tape *tape;
    uint64_t base; /* offset of window[0] */
    const unsigned char *window;
    size_t at, have;               /* in the window */
    unsigned char *buffer;         /* owned; NULL until it is needed */
    size_t room;                   /* of the buffer; 0: PERUN_HEAD_ROOM */
    pf_int128 wide;                /* of the last cell that is one */
    char verbatim[2 * PF_PADDING]; /* the last number that is shown, if it stood at the window's end */
};

#define PERUN_HEAD_ROOM ((size_t)64 * 1024)

void perun_head_free(struct perun_head *head);
void perun_head_seek(struct perun_head *head, uint64_t offset);

static inline uint64_t perun_head_tell(const struct perun_head *head)
{
    return head->base + head->at;
}

/* Makes at least `size` bytes stand in the window from `at` on; -1 with *error filled if they are not there. */
int perun_head_fill(struct perun_head *head, size_t size, struct pf_error *error);

/* `size` bytes, valid until the next call; NULL with *error filled if they are not there. */
static inline const unsigned char *perun_get(struct perun_head *head, size_t size, struct pf_error *error)
{
    if (head->have - head->at < size && perun_head_fill(head, size, error))
        return NULL;
    const unsigned char *bytes = head->window + head->at;
    head->at += size;
    return bytes;
}

/* A number of any size. */
int perun_get_varint(struct perun_head *head, uint64_t *number, struct pf_error *error);

static inline int perun_get_number(struct perun_head *head, uint64_t *number, struct pf_error *error)
{
    if (head->at < head->have && head->window[head->at] < 0x80) {
        *number = head->window[head->at++];
        return 0;
    }
    return perun_get_varint(head, number, error);
}

/* How much is in the window if a value is there whole, and what may be read behind it. */
enum { PERUN_VALUE_ROOM = 1 + 2 * PF_PADDING };

static inline bool perun_is_verbatim(unsigned tag)
{
    return tag > PERUN_TAG_VERBATIM && tag <= PERUN_TAG_VERBATIM_MAX;
}

/* Any value. */
int perun_get_value(struct perun_head *head, struct pf_cell *cell, struct pf_error *error);

/* Text and wide integers of the cell are valid until the next call. */
static inline int perun_get_cell(struct perun_head *head, struct pf_cell *cell, struct pf_error *error)
{
    uint64_t bytes;
    if (head->have - head->at >= PERUN_VALUE_ROOM) {
        const unsigned char *at = head->window + head->at;
        unsigned tag = *at;
        if (perun_is_verbatim(tag)) {
            *cell = pf_json_verbatim_number((const char *)at + 1, tag - PERUN_TAG_VERBATIM);
            head->at += 1 + tag - PERUN_TAG_VERBATIM;
            return 0;
        }
        memcpy(&bytes, at + 1, sizeof bytes);
        if (tag - PERUN_TAG_INT < PERUN_TAG_INT_8) {
            unsigned above = 64 - 8 * tag; /* bits that are not the number's */
            *cell = pf_int((int64_t)(le64toh(bytes) << above) >> above);
            head->at += 1 + tag;
            return 0;
        }
        if (tag == PERUN_TAG_DOUBLE) {
            *cell = (struct pf_cell){.type = PF_DOUBLE, .u = bytes};
            head->at += 1 + sizeof bytes;
            return 0;
        }
    }
    return perun_get_value(head, cell, error);
}

/* The same, but text for a verbatim number: to be shown. */
int perun_get_shown_value(struct perun_head *head, struct pf_cell *cell, struct pf_error *error);

static inline int perun_get_shown(struct perun_head *head, struct pf_cell *cell, struct pf_error *error)
{
    if (head->have - head->at < PERUN_VALUE_ROOM)
        return perun_get_shown_value(head, cell, error);
    const unsigned char *at = head->window + head->at;
    unsigned tag = *at;
    if (!perun_is_verbatim(tag))
        return perun_get_cell(head, cell, error);
    *cell = pf_padded((const char *)at + 1, tag - PERUN_TAG_VERBATIM);
    head->at += 1 + tag - PERUN_TAG_VERBATIM;
    return 0;
}

#endif
