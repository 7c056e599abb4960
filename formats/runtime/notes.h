/* SPDX-License-Identifier: MIT */
#ifndef PF_NOTES_H
#define PF_NOTES_H

#include "formats/driver.h"

/*
 * The warnings of a pass: held until the pass has succeeded, since one that is cancelled leaves no trace, then published as rows of
 * warnings.csv. Zeroed: none. For one thread. A struct pf_run (run.h) has notes of its own.
 *
 * At most PF_NOTES_MAX notes are kept, of one code at most PF_NOTES_ALIKE, so that one problem all over a file hides no other;
 * fatal ones always are. A last row `more` has the number of the others.
 */
enum { PF_NOTES_MAX = 1000, PF_NOTES_ALIKE = 500 };

/* warnings.csv's columns severity, code and text, all of static life. Where kinds come up more than once, a driver has a table of them. */
struct pf_note_kind {
    const char *severity, *code;
    const char *text; /* a sentence without full stop */
};

struct pf_notes {
    struct pf_note {
        struct pf_note_kind kind;
        int64_t line, offset;
        uint32_t number;
        char *more; /* owned; NULL: nothing */
    } * items;
    size_t count, room;
    struct pf_note_count {
        const char *code;
        uint32_t notes;
    } * counts;
    size_t n_counts, counts_room;
    uint64_t left_out;
    bool failed; /* memory ran out */
};

/*
 * Notes a problem in this line (0: not known), at this offset in bytes (-1: not known). `more` (NULL: nothing) is added to
 * the kind's text behind a colon, or is the text where the kind has none; it is cut at 200 bytes, between characters of UTF-8.
 * If memory runs out, pf_notes_publish says so.
 */
void pf_note(struct pf_notes *notes, const struct pf_note_kind *kind, int64_t line, int64_t offset,
             const char *more, ...) __attribute__((format(printf, 5, 6)));

/* Brings notes that a pass made out of order into the order of their places; those of one place stay as they are. */
void pf_notes_sort(struct pf_notes *notes);

/* Adds a row of the profile's warnings for each. 0, or -1 with *error filled. */
int pf_notes_publish(const struct pf_notes *notes, struct pf_model *model, struct pf_error *error);

void pf_notes_free(struct pf_notes *notes);

#endif
