/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_H
#define PF_PERUN_H

#include "formats/driver.h"
#include "formats/json/json.h"
#include "formats/perun/tape.h"

/*
 * Perun profiles. One pass reads the JSON, whose regions stand in any order, and writes what resources there are
 * to tapes (data.h), small and in file order; all tables are made from these.
 */

#define PERUN_NONE UINT32_MAX

/* ---- problems, kept until a load has succeeded -------------------------------------------------- */

enum { PERUN_NOTES_MAX = 200 };

struct perun_note {
    int64_t line, offset;
    const char *severity, *code; /* static */
    char text[200];
};

struct perun_notes {
    struct perun_note list[PERUN_NOTES_MAX];
    size_t count;
    uint64_t more;    /* that are not listed; a fatal one always is */
    const char *full; /* the last code of which there were too many */
};

void perun_note(struct perun_notes *notes, int64_t line, int64_t offset, const char *severity,
                const char *code, const char *format, ...) __attribute__((format(printf, 6, 7)));
int perun_notes_publish(const struct perun_notes *notes, struct pf_profile *profile, struct pf_error *error);

/* ---- fields ------------------------------------------------------------------------------------- */

/* Fields with a meaning; all others follow in order of first appearance. */
enum perun_known_field {
    PERUN_TIME,
    PERUN_TID,
    PERUN_THREAD,
    PERUN_AMOUNT,
    PERUN_EXCLUSIVE,
    PERUN_NCALLS,
    PERUN_SIZE, /* structure-unit-size */
};

struct perun_field {
    uint32_t name; /* in the strings */
    bool identity; /* tells resources apart: no metric */
    bool reserved; /* called as a column that resources.csv has anyway: only in `other` */
    bool seen;     /* somewhere, with a value */
    bool texts;    /* one of which is a text */
    int column;    /* of resources.csv, or -1: in `other` */
};

/* As many different names of fields as are told apart. */
#define PERUN_FIELDS_MAX 20000u

struct perun_fields {
    struct perun_field *list;
    uint32_t count, room;
    uint32_t *slots; /* string -> field + 1 */
    uint32_t mask;
};

int perun_fields_init(struct perun_fields *fields, struct pf_strings *strings, struct pf_error *error);
void perun_fields_free(struct perun_fields *fields);
/* The field of this name; PERUN_NONE without an error: there are too many; -1 in the result: *error filled. */
int perun_field_of(struct perun_fields *fields, struct pf_strings *strings, const char *name, size_t size,
                   uint32_t *field, struct pf_error *error);

#endif
