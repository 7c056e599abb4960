/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_JSON_STUDY_H
#define PF_EXTRAP_JSON_STUDY_H

#include "formats/extrap/study.h"
#include "formats/json/json.h"

/*
 * What JSON forms and saved experiments are read with. Where the text is damaged, that is noted once, and reading looks as if
 * all values had ended there; so it does when the study has failed.
 */
struct pf_json_study {
    struct pf_study *study;
    struct pf_json *json;
    struct pf_json_token token; /* the last one */
    bool damaged;               /* where the text was last read */
    bool noted;                 /* that it is damaged somewhere */
};

/* A JSON reader over study->input. NULL: out of memory, and the study has failed. */
struct pf_json *pf_study_json(struct pf_study *study, unsigned flags);

/* Notes a problem at a token, but not where the text is damaged: what looks wrong there is only what is missing. */
void pf_json_study_note(struct pf_json_study *reader, enum pf_problem problem, const struct pf_json_token *at,
                        const char *what);

/* Takes what the JSON reader has failed with for the end of all values. */
void pf_json_study_damage(struct pf_json_study *reader);

/* The next token, or value; its event. */
enum pf_json_event pf_json_study_next(struct pf_json_study *reader);
enum pf_json_event pf_json_study_skip(struct pf_json_study *reader);

/* To the next member of an object, whose name is the token then; false: there is none. */
static inline bool pf_json_study_member(struct pf_json_study *reader)
{
    return pf_json_study_next(reader) == PF_JSON_NAME;
}

/* To the next element of an array; false: there is none. The second passes over what is no simple value. */
static inline bool pf_json_study_element(struct pf_json_study *reader)
{
    return pf_json_study_next(reader) != PF_JSON_ARRAY_END && reader->token.event != PF_JSON_END;
}

static inline bool pf_json_study_simple(struct pf_json_study *reader)
{
    return pf_json_study_skip(reader) != PF_JSON_ARRAY_END && reader->token.event != PF_JSON_END;
}

/* Passes over the rest of the value that began with the last token. */
void pf_json_study_ignore(struct pf_json_study *reader);

/* True if the last token begins an object or array, as it should; else the value is passed over, and noted (`what`; NULL: not). */
bool pf_json_study_is(struct pf_json_study *reader, enum pf_json_event event, const char *what);

/* True if the token is a number, or a string that Python's float() takes, or a fraction as "3/2". */
bool pf_study_number(const struct pf_json_token *token, double *value);

/* Notes a name that was cut or had bytes replaced. */
void pf_study_check_text(struct pf_study *study, const struct pf_json_token *token);

/* Reads the array of parameters' names that the last token begins. */
void pf_json_study_parameters(struct pf_json_study *reader);

/* The coordinates of a point, an array of numbers or one, that the last token begins. */
struct pf_json_point {
    double coordinates[PF_PARAMETERS_MAX];
    unsigned count; /* more than PF_PARAMETERS_MAX are counted, not kept */
    bool broken;    /* one was no number */
};
void pf_json_study_point(struct pf_json_study *reader, struct pf_json_point *point);

/* The context of the call path that the last token is, without the tags that old versions wrote behind a byte 3. */
uint32_t pf_json_study_callpath(struct pf_json_study *reader);
/* The metric that the last token is. */
uint32_t pf_json_study_metric(struct pf_json_study *reader);

/* How the measurements of a series are read, each from its object, which the last token begins. */
struct pf_json_measurements {
    void (*read)(struct pf_json_study *reader, uint32_t series, void *arg);
    void *arg;
    bool last_wins; /* a later call path or metric of the same name takes the place of the earlier one */
};

/* Reads {call path: {metric: [measurement, ...]}}, which the last token begins. */
void pf_json_study_measurements(struct pf_json_study *reader, const struct pf_json_measurements *kind);

#endif
