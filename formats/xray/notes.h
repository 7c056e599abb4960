/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_NOTES_H
#define PF_XRAY_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "formats/driver.h"

/*
 * What is wrong with a log, collected while passes run and told once they are over: a pass that is stopped
 * must leave no trace in the profile.
 */
enum xray_note_kind {
    XRAY_NOTE_FILE_CUT,       /* the file ends inside the record at this offset */
    XRAY_NOTE_BUFFER_CUT,     /* the file ends inside this buffer; bytes missing */
    XRAY_NOTE_BEYOND_END,     /* this buffer's extents go past the end of the file; the extents */
    XRAY_NOTE_OVERLAP,        /* a buffer starts here, before the declared end of the one before */
    XRAY_NOTE_RESYNCHRONISED, /* no buffer where one is due; bytes skipped */
    XRAY_NOTE_NO_THREAD,      /* this buffer does not say whose it is */
    XRAY_NOTE_DUPLICATE,      /* this buffer stands in the file once more */
    XRAY_NOTE_BUFFER_SIZE,    /* header of version 1; the size as it stands there */
    XRAY_NOTE_CUT_RECORD,     /* a buffer ends inside this record */
    XRAY_NOTE_BAD_FUNCTION,   /* function record; kind */
    XRAY_NOTE_BAD_METADATA,   /* metadata record; kind */
    XRAY_NOTE_BAD_SIZE,       /* event; size */
    XRAY_NOTE_NESTED,         /* a buffer starts inside another that was taken as whole */
    XRAY_NOTE_NO_END,         /* version 1: this buffer has no EndOfBuffer */
    XRAY_NOTE_UNTIMED,        /* this buffer; number of records */
    XRAY_NOTE_STRAY,          /* this buffer; number of records */
    XRAY_NOTE_STRAY_ARGUMENT, /* basic logs: the first one; how many there are */
    XRAY_NOTE_UNKNOWN,        /* basic logs: the first one; how many there are */
    XRAY_NOTE_BLOCK_SIZE,     /* profiling: this block is smaller than its header; its size */
    XRAY_NOTE_BLOCK_CUT,      /* profiling: the file ends inside this block; bytes missing */
    XRAY_NOTE_CUT_IN_BLOCK,   /* profiling: a block ends inside this record */
    XRAY_NOTE_NO_PATH,        /* profiling: this record is of no function */
    XRAY_NOTE_LONG_PATH,      /* profiling: this record's path is not read; its functions */
    XRAY_NOTE_LONG_PAYLOAD,   /* this event; bytes not shown */
    XRAY_NOTE_MANY_ARGUMENTS, /* this function record; arguments not shown */
    XRAY_NOTE_NEGATIVE,       /* no offset; how often a context of a thread has negative ticks */
    XRAY_NOTE_KINDS
};

struct xray_note {
    uint64_t offset, detail;
    uint8_t kind; /* enum xray_note_kind */
};

/* Zero-initialised is empty. Holds a bounded number. */
struct xray_notes {
    struct xray_note *items;
    size_t count, room;
};

#define XRAY_NOWHERE UINT64_MAX /* the offset of what stands at no place */

/* 0, or -1 with *error filled. Beyond a thousand only what ends the reading is kept. */
int xray_note(struct xray_notes *notes, enum xray_note_kind kind, uint64_t offset, uint64_t detail,
              struct pf_error *error);
void xray_notes_free(struct xray_notes *notes);

/* Adds both lists to the profile's warnings, by offset. */
int xray_notes_tell(const struct xray_notes *a, const struct xray_notes *b, struct pf_profile *profile,
                    struct pf_error *error);

#endif
