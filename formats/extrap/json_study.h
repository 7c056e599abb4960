/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_JSON_STUDY_H
#define PF_EXTRAP_JSON_STUDY_H

#include "formats/extrap/study.h"
#include "formats/json/walk.h"

/*
 * What JSON forms and saved experiments are read with: walks (json/walk.h) that fill a struct of the reader's, whose first member
 * this is. What comes before damage is kept.
 */
struct pf_json_study {
    struct pf_study *study;
    struct pf_json *json;
    bool damaged;                      /* the text is, which was noted */
    uint32_t context, metric, series;  /* what is being read belongs to */
    pf_json_taker *each, *measurement; /* see pf_json_by_metric and pf_json_series */
    double *values;                    /* see pf_json_take_values; owned */
    size_t n_values, room_values;
};

/* Begins to read what `read` gives, or, if that is NULL, study->input. */
void pf_json_study_open(struct pf_json_study *reader, struct pf_study *study, pf_json_read *read, void *arg,
                        unsigned flags);
void pf_json_study_close(struct pf_json_study *reader);

/* A walk of this reader. */
struct pf_json_walk pf_json_study_walk(struct pf_json_study *reader);

/* Reads the object that the whole text is. */
void pf_json_study_read(struct pf_json_study *reader, const struct pf_json_member *members);

/* Reads the array at a place. */
void pf_json_study_array(struct pf_json_study *reader, struct pf_json_place place, pf_json_taker *take);

/* Notes a problem at a token. Returns 0. */
int pf_json_study_note(const struct pf_json_study *reader, struct pf_note_kind problem,
                       const struct pf_json_token *at, const char *what);

/* True if the token is a number, or a string that Python's float() takes, or a fraction as "3/2". */
bool pf_study_number(const struct pf_json_token *token, double *value);

/* Notes a name that was cut or had bytes replaced. */
void pf_study_check_text(struct pf_study *study, const struct pf_json_token *token);

/* The context of a call path, without the tags that old versions wrote behind a byte 3; the metric of a name. */
uint32_t pf_json_study_callpath(struct pf_json_study *reader, const struct pf_json_token *name);
uint32_t pf_json_study_metric(struct pf_json_study *reader, const struct pf_json_token *name);

/* ---- takers ------------------------------------------------------------------------------------- */

/* A number. What is none leaves it as it is. */
struct pf_json_amount {
    double value;
    bool known;
};
pf_json_taker pf_json_take_amount;

/* The coordinates of a point: an array of numbers, or one. */
struct pf_json_point {
    struct pf_point of;
    bool known; /* it was read to its end */
};
pf_json_taker pf_json_take_point;

/* The parameters' names. */
pf_json_taker pf_json_take_parameters;

/* Numbers, to reader->values: one alone, or arrays of any depth. What is none is noted and passed over. */
pf_json_taker pf_json_take_values;

/* Adds what reader->values holds to a series. starts: see pf_study_begin. */
void pf_json_study_add(struct pf_json_study *reader, uint32_t series, uint32_t point, bool starts);

/*
 * The object {call path: {metric: VALUE}} that the token begins: sets reader->context and ->metric for each value, which `take`
 * reads. Its token is the metric's name.
 */
int pf_json_by_metric(const struct pf_json_walk *walk, pf_json_taker *take);

/*
 * For such a `take`: an array of measurements, which `measurement` gets one by one (not what is no object), with reader->series
 * set. anew: see pf_study_series.
 */
int pf_json_series(const struct pf_json_walk *walk, bool anew, pf_json_taker *measurement);

#endif
