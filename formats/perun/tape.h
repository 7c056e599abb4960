/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_TAPE_H
#define PF_PERUN_TAPE_H

#include "formats/cell.h"
#include "formats/store.h"

/*
 * Bytes that one pass writes and later ones read: numbers as varints, values of fields as small as they are. In
 * memory up to a limit, in an unlinked file beyond. What is written is never read back by another process, so
 * it is in the machine's byte order.
 */
struct perun_tape {
    struct pf_store *store; /* owned */
    unsigned char *pending; /* what is not in the store yet */
    size_t used;
    uint64_t size; /* written in all */
};

int perun_tape_open(struct perun_tape *tape, uint64_t limit, struct pf_error *error);
void perun_tape_close(struct perun_tape *tape); /* also one that is zeroed */

int perun_put(struct perun_tape *tape, const void *bytes, size_t size, struct pf_error *error);
int perun_put_number(struct perun_tape *tape, uint64_t number, struct pf_error *error);
/* Text takes its size and 1 to 3 bytes, small integers 1 or 2, other numbers as much as their type. */
int perun_put_cell(struct perun_tape *tape, const struct pf_cell *cell, struct pf_error *error);
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
    size_t at, have;       /* in the window */
    unsigned char *buffer; /* owned; NULL until it is needed */
    size_t room;           /* of the buffer; 0: PERUN_HEAD_ROOM */
    pf_int128 wide;        /* of the last cell that is one */
};

#define PERUN_HEAD_ROOM ((size_t)64 * 1024)

void perun_head_free(struct perun_head *head);
void perun_head_seek(struct perun_head *head, uint64_t offset);

static inline uint64_t perun_head_tell(const struct perun_head *head)
{
    return head->base + head->at;
}

/* `size` bytes, valid until the next call; NULL with *error filled if they are not there. */
const unsigned char *perun_get(struct perun_head *head, size_t size, struct pf_error *error);
int perun_get_number(struct perun_head *head, uint64_t *number, struct pf_error *error);
/* Text and wide integers of the cell are valid until the next call. */
int perun_get_cell(struct perun_head *head, struct pf_cell *cell, struct pf_error *error);

#endif
