/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_JSON_STUDY_H
#define PF_EXTRAP_JSON_STUDY_H

#include "formats/extrap/study.h"
#include "formats/json/walk.h"

/*
 * Shared base of the readers of JSON forms and saved experiments. Each reader has a struct of its own that begins with this
 * one, is owned by the run, and is filled by JSON walks (json/walk.h). Data before a damaged place are kept. One thread at a
 * time uses a reader.
 */
struct pf_json_study {
    struct pf_study *study;
    struct pf_json *json;
    bool damaged;                      /* the text is damaged, which has been noted */
    uint32_t context, metric, series;  /* of the value being read */
    pf_json_taker *each, *measurement; /* see pf_json_by_metric and pf_json_measurements */
    bool replaces;                     /* see pf_json_measurements */
    PF_LIST(double) values;            /* see pf_json_take_values */
};

/*
 * Makes a reader's struct of `size` bytes, which the run owns. The struct is zeroed except for the base. The reader reads
 * its text with `read`, whose argument is the struct, or from study->input if `read` is NULL. `flags` are enum
 * pf_json_flags.
 */
void *pf_json_study_open(struct pf_study *study, size_t size, pf_json_read *read, unsigned flags);

/* Returns a walk that fills this reader. */
struct pf_json_walk pf_json_study_walk(struct pf_json_study *reader);

/* Reads the whole text, which must be a single object. */
void pf_json_study_read(struct pf_json_study *reader, const struct pf_json_member *members);

/* Calls `take` for each element of the array at `place`. If `place` is zeroed, the text has no such array, and this is a no-op. */
void pf_json_study_array(struct pf_json_study *reader, struct pf_json_place place, pf_json_taker *take);

/* Notes a problem at the position of a token. Returns 0. */
int pf_json_study_note(const struct pf_json_study *reader, struct pf_note_kind problem,
                       const struct pf_json_token *at, const char *what);

/*
 * Returns true and sets *value if the token is a number, a string that Python's float() accepts, or a fraction like
 * "3/2".
 */
bool pf_study_number(const struct pf_json_token *token, double *value);

/* Adds a note if the name in a token was cut off or has replaced bytes. */
void pf_study_check_text(struct pf_study *study, const struct pf_json_token *token);

/*
 * Finds or adds the context of a call path. Ignores the tags that old versions append to a call path after a byte of
 * value 3.
 */
uint32_t pf_json_study_callpath(struct pf_json_study *reader, const struct pf_json_token *name);
/* Finds or adds a metric. Returns its number. */
uint32_t pf_json_study_metric(struct pf_json_study *reader, const struct pf_json_token *name);

/* ---- takers ------------------------------------------------------------------------------------- */

/* pf_json_take_amount takes a number. It leaves the amount unchanged if the value is not a number. */
struct pf_json_amount {
    double value;
    bool known;
};
pf_json_taker pf_json_take_amount;

/* pf_json_take_point takes the coordinates of a point, which are an array of numbers or a single number. */
struct pf_json_point {
    struct pf_point of;
    bool known; /* the value has been read to its end */
};
pf_json_taker pf_json_take_point;

/* Takes the array of parameter names. */
pf_json_taker pf_json_take_parameters;

/* Sets reader->values to the numbers in a value, which is a number, or an array of any depth. Notes and skips other values. */
pf_json_taker pf_json_take_values;

/* Adds the numbers of reader->values to a series. For `starts`, see pf_study_begin. */
void pf_json_study_add(struct pf_json_study *reader, uint32_t series, uint32_t point, bool starts);

/*
 * Walks an object {call path: {metric: VALUE}}. For each VALUE, sets reader->context and reader->metric and calls
 * `take`, whose token is the metric's name.
 */
int pf_json_by_metric(const struct pf_json_walk *walk, pf_json_taker *take);

/*
 * Walks an object {call path: {metric: [MEASUREMENT, ...]}}. For each measurement that is an object, sets reader->series
 * and calls `measurement`. For `replaces`, see pf_study_series.
 */
int pf_json_measurements(const struct pf_json_walk *walk, bool replaces, pf_json_taker *measurement);

#endif
