/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_JSON_VALUES_H
#define PF_EXTRAP_JSON_VALUES_H

#include "formats/extrap/stored.h"

/* What both JSON forms and saved experiments are read with. */
struct pf_json_study {
    struct pf_study *study;
    struct pf_experiment *experiment; /* the study's */
    struct pf_json *json;
    bool damaged; /* where the text was last read */
    bool noted;   /* that it is damaged somewhere */
};

/* Notes a problem at a token. 0 or -1. */
int pf_json_study_note(struct pf_json_study *reader, enum pf_problem problem,
                       const struct pf_json_token *token, const char *what, struct pf_error *error);

/* Notes what the JSON reader has failed with, once. 1: reading is over; -1: it was something else. */
int pf_json_study_damage(struct pf_json_study *reader, struct pf_error *error);

/*
 * The next token. Returns its event; -1: *error filled. Ends a walk over a container also where the text is damaged:
 * that is noted, and looks like PF_JSON_END.
 */
int pf_json_study_next(struct pf_json_study *reader, struct pf_json_token *token, struct pf_error *error);
int pf_json_study_skip(struct pf_json_study *reader, struct pf_json_token *token, struct pf_error *error);

/* Passes over the rest of a value that began with this token. 0 or -1. */
int pf_json_study_ignore(struct pf_json_study *reader, const struct pf_json_token *token,
                         struct pf_error *error);

/* Reads the array of parameters' names whose first token is given. */
int pf_json_study_parameters(struct pf_json_study *reader, const struct pf_json_token *start,
                             struct pf_error *error);

/* The coordinates of a point, an array of numbers or one. */
struct pf_json_point {
    double coordinates[PF_PARAMETERS_MAX];
    unsigned count; /* more than PF_PARAMETERS_MAX are counted, not kept */
    bool broken;    /* one was no number */
};
int pf_json_study_point(struct pf_json_study *reader, const struct pf_json_token *start,
                        struct pf_json_point *point, struct pf_error *error);

/* The number of the point, added if new; notes a wrong number of coordinates. PF_NO_POINT with *error filled. */
uint32_t pf_json_study_add_point(struct pf_json_study *reader, const struct pf_json_point *point,
                                 const struct pf_json_token *at, struct pf_error *error);

/*
 * The context of a call path, without the tags that old versions wrote behind a byte 3. PF_NO_CONTEXT with *error
 * filled.
 */
uint32_t pf_json_study_callpath(struct pf_json_study *reader, const struct pf_json_token *name,
                                struct pf_error *error);

/* How the measurements of a series are read, each from its object, whose first token is given. */
struct pf_json_measurements {
    int (*read)(struct pf_json_study *reader, const struct pf_json_token *start, uint32_t series, void *arg,
                struct pf_error *error);
    void *arg;
    bool last_wins; /* a later call path or metric of the same name takes the place of the earlier one */
};

/* Reads {call path: {metric: [measurement, ...]}}, whose first token is given. 0 or -1. (json_series.c) */
int pf_json_study_measurements(struct pf_json_study *reader, const struct pf_json_token *start,
                               const struct pf_json_measurements *kind, struct pf_error *error);

#endif
