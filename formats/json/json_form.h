/* SPDX-License-Identifier: MIT */
#ifndef PF_JSON_FORM_H
#define PF_JSON_FORM_H

#include "formats/json/json.h"

/*
 * Objects of a list are mostly written alike: the same names in the same order, with the same blanks, and many of the same
 * values. The form of one is its text with gaps for the values that differ. Whether the next object has that form takes
 * a few comparisons of memory, where reading its tokens takes several times as long.
 */
enum { PF_JSON_FORM_TEXT = 1024, PF_JSON_FORM_GAPS = 16 };

struct pf_json_form {
    size_t n_gaps;
    struct {
        size_t end;  /* in text, of what stands before the gap; behind the last gap: of all */
        bool string; /* the gap is for what stands between quotes; else for a number */
    } parts[PF_JSON_FORM_GAPS + 1];
    unsigned lines;               /* how many end inside the object */
    char text[PF_JSON_FORM_TEXT]; /* all but the gaps */
};

/* What becomes of a member. The form is not made if its value is something else. */
enum pf_json_gap {
    PF_JSON_NO_FORM,
    PF_JSON_FIXED, /* any value but objects and arrays; a part of the form */
    PF_JSON_NUMBER_GAP,
    PF_JSON_STRING_GAP,
    PF_JSON_ANY_GAP /* one of these two */
};

/*
 * Makes the form of the object that text[0 .. size) begins with. `choose` is asked about each member by its name, in
 * their order; `part` is a reader that reads nothing else (see pf_json_text). False: it is none, or too large: then
 * *form is not to be used.
 */
bool pf_json_form_learn(struct pf_json_form *form, struct pf_json *part, const char *text, size_t size,
                        enum pf_json_gap (*choose)(void *arg, const struct pf_json_token *name), void *arg);

/*
 * Takes the next value if it has the form: cells[i] is what stands in gap i. A verbatim number (see pf_json_numeral) is
 * text, which is padded; others of few digits are an integer or double. What stands between quotes is ASCII text without
 * escapes. Texts are valid until the reader's next call. False: nothing was taken, which says nothing of
 * what follows.
 */
bool pf_json_form_match(struct pf_json *json, const struct pf_json_form *form, struct pf_cell *cells);

#endif
