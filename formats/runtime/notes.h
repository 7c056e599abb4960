/* SPDX-License-Identifier: MIT */
#ifndef PF_NOTES_H
#define PF_NOTES_H

#include "formats/driver.h"

/*
 * The warnings (notes) of a pass. They are held back until the pass has succeeded, then published as rows of warnings.csv; a cancelled
 * pass publishes none. A zeroed struct is empty. Not thread-safe. Each struct pf_run (run.h) has its own notes.
 *
 * At most PF_NOTES_MAX notes are kept, and at most PF_NOTES_ALIKE with the same code, so that a frequent problem does not crowd out the
 * others. Fatal notes are exempt, up to PF_NOTES_MAX per code. A last row with code `more` has the number of notes that were dropped.
 */
enum { PF_NOTES_MAX = 1000, PF_NOTES_ALIKE = 500 };

/*
 * The columns severity, code and text of warnings.csv. The strings have static storage. A driver keeps a table of the
 * kinds that it uses repeatedly.
 */
struct pf_note_kind {
    const char *severity, *code;
    const char *text; /* a sentence without full stop; NULL: the text is pf_note's `more` */
};

struct pf_notes {
    struct pf_note {
        struct pf_note_kind kind;
        int64_t line, offset;
        uint32_t number;
        char *more; /* owned; NULL: none */
    } * items;
    size_t count, room;
    struct pf_note_count {
        const char *code;
        uint32_t notes;
    } * counts;
    size_t n_counts, counts_room;
    uint64_t left_out;
    bool failed; /* out of memory: a note is missing */
};

/*
 * Adds a note about a line (0: unknown) and an offset in bytes (-1: unknown). `more` is a printf format, or NULL. Its
 * result is appended to the kind's text after a colon, or stands alone if the kind has no text. The result is cut to
 * fewer than 200 bytes at a UTF-8 character boundary. If memory runs out, pf_notes_publish fails.
 */
void pf_note(struct pf_notes *notes, const struct pf_note_kind *kind, int64_t line, int64_t offset,
             const char *more, ...) __attribute__((format(printf, 5, 6)));

/* Sorts notes by offset, then line. The sort is stable. For passes that do not read the file in order. */
void pf_notes_sort(struct pf_notes *notes);

/*
 * Adds a row to model->warnings for each note. Returns 0, or -1 with *error filled, after which some rows may have been
 * added.
 */
int pf_notes_publish(const struct pf_notes *notes, struct pf_model *model, struct pf_error *error);

/* Frees the notes and leaves them empty. */
void pf_notes_free(struct pf_notes *notes);

#endif
